"""What JAX and CuPy do for some rows, where they are installed: without a goal, to know where the others are.

They are timed until all is done, on streams of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .programs import numbers_of

__all__ = ["others", "program_of"]

Program = Callable[[Any], Callable[[], Any]]


def of_arrays(function: Callable[..., Any], count: int = 1) -> Callable[..., Program]:
    """A function of so many arrays of normal numbers, whose sizes a row says."""

    def sized(*shape: int) -> Program:
        def program(lib: Any) -> Callable[[], Any]:
            f, operands = lib.compiled(function), [lib.array(numbers_of(shape, seed)) for seed in range(count)]
            return lambda: lib.note(f(lib.np, *operands))

        return program

    return sized


def softmax(np_: Any, x: Any) -> Any:
    e = np_.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# By the row's name.
PROGRAMS: dict[str, Callable[..., Program]] = {
    "add": of_arrays(lambda np_, x, y: x + y, 2),
    "exp": of_arrays(lambda np_, x: np_.exp(x)),
    "tanh": of_arrays(lambda np_, x: np_.tanh(x)),
    "sum": of_arrays(lambda np_, x: x.sum()),
    "cumsum": of_arrays(lambda np_, x: np_.cumsum(x)),
    "sort of 16M": of_arrays(lambda np_, x: np_.sort(x)),
    "tanh(2x + 1) exp(-x²), compiled": of_arrays(lambda np_, x: np_.tanh(x * 2 + 1) * np_.exp(-x * x)),
    "sum of rows": of_arrays(lambda np_, x: x.sum(1)),
    "sum of columns": of_arrays(lambda np_, x: x.sum(0)),
    "softmax 65536x1024": of_arrays(softmax),
    "product 4096 float32": of_arrays(lambda np_, x, y: x @ y, 2),
}


def program_of(row: Any) -> Program | None:
    """What others do for a row."""
    return None if row.name not in PROGRAMS or row.sizes is None else PROGRAMS[row.name](*row.sizes)


def others() -> dict[str, Any]:
    """Those that are installed and see a GPU."""
    found = {}
    for name, make in {"jax": jax_library, "cupy": cupy_library}.items():
        try:
            found[name] = make()
        except Exception:  # not installed, or for another driver
            continue
    return found


def jax_library() -> Any:
    """JAX, which compiles each function; products have the precision of their operands."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    if jax.default_backend() != "gpu":
        raise ImportError("it sees no GPU")
    jax.config.update("jax_default_matmul_precision", "highest")
    last: list[Any] = []

    def note(x: Any) -> Any:
        last[:] = [x]
        return x

    def wait() -> None:
        for x in last:
            x.block_until_ready()

    cuda = SimpleNamespace(synchronize=wait, empty_cache=last.clear)
    compiled = lambda function: jax.jit(function, static_argnums=0)
    return SimpleNamespace(np=jax.numpy, array=jax.numpy.asarray, compiled=compiled, note=note, cuda=cuda)


def cupy_library() -> Any:
    """CuPy, which launches a kernel for each call."""
    import cupy

    cupy.zeros(1).sum().item()
    cuda = SimpleNamespace(synchronize=cupy.cuda.Device().synchronize, empty_cache=cupy.get_default_memory_pool().free_all_blocks)
    return SimpleNamespace(np=cupy, array=cupy.asarray, compiled=lambda function: function, note=np.shape, cuda=cuda)
