"""The libraries that take part, each on one thread, and the helpers that let one program serve several of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import nbgrad

__all__ = ["BOTH", "both", "child", "grad_of", "gradient_in_jax", "jax", "threads"]

BOTH: dict[str, ModuleType] = {"nbgrad": nbgrad, "torch": torch}

for library in BOTH.values():
    library.set_num_threads(1)


def both(program: Callable[..., Callable[[], Any]], *args: Any) -> dict[str, Callable[[], Any]]:
    """Candidates from a program written once: ``program(lib, *args)`` prepares its data and returns what to time."""
    return {name: program(lib, *args) for name, lib in BOTH.items()}


def grad_of(lib: ModuleType) -> Callable[..., tuple[Any, ...]]:
    """``grad(outputs, inputs, ...)``: the one name that nbgrad and torch keep in different places."""
    return lib.autograd.grad if lib is torch else lib.grad


def jax() -> ModuleType:
    """JAX with 64-bit types allowed; imported (about a second) by the benchmarks that use it."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def gradient_in_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of ``function`` compiled by JAX; a call waits for its answer, which JAX alone would not."""
    compiled = jax().jit(jax().grad(function))
    return lambda *args: jax().block_until_ready(compiled(*args))


def threads() -> dict[str, object]:
    """How many threads each library uses unless a benchmark says otherwise."""
    variables = {name: os.environ.get(name) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NPROC")}
    return {"nbgrad": nbgrad.get_num_threads(), "torch": torch.get_num_threads(), **variables}


def child(code: str, **variables: str) -> Any:
    """Run ``code`` in a fresh interpreter that can import nbgrad; what it prints, read as JSON.

    The thread limits of this package are lifted there: a child sees the machine as a user's process does.

    Raises:
        RuntimeError: the child failed; the message holds its standard error.
    """
    path = os.pathsep.join(filter(None, [str(Path(nbgrad.__file__).parent.parent), os.environ.get("PYTHONPATH")]))
    inherited = {
        key: value for key, value in os.environ.items() if key not in ("OPENBLAS_NUM_THREADS", "NPROC", "PYTHONDONTWRITEBYTECODE")
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env={**inherited, "PYTHONPATH": path, **variables}, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"child: exit status {done.returncode}, expected 0.\n{done.stderr}")
    return json.loads(done.stdout)
