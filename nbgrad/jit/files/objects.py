"""Which objects of machine code a saved function needs: those that a process asks for that loads it and runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any, Sequence

import numpy as np

from ...base.errors import NbgradError
from ...kernels.cpu.store import loader
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from ..ir.literals import Type

__all__ = ["needed_objects", "rehearse"]

LONGEST = 300  # seconds
SCRIPT = "import sys; from nbgrad.jit.files.objects import rehearse; rehearse(sys.argv[1])"


def needed_objects(path: str) -> list[str]:
    """The keys of objects that a process needs that loads a function; nothing where it cannot be found out."""
    places = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    command = [sys.executable, "-c", SCRIPT, path]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, env=environment)
        found: list[str] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else []
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return []
    return found


def rehearse(path: str) -> None:
    """Load a function, run each of its programs, and print the keys of the objects that this has asked for."""
    before = set(loader().keys())
    from ..loading import load

    for variant in load(path).variants:
        run(variant.program, variant.parts.kinds)
        if variant.backward is not None:
            for program in variant.backward.programs.values():
                run(program)
    print("\n" + json.dumps(sorted(set(loader().keys()) - before)))


def run(program: Any, kinds: Sequence[type] = ()) -> None:
    """Run a program on some numbers, as far as it goes with them; ``kinds`` are those of the first inputs, numbers among them."""
    pairs = zip_longest(kinds, program.graph.inputs)
    inputs = [0.5 if kind is float else 1 if kind is int else numbers_in(value.layout) for kind, value in pairs]
    try:
        outs = program.assembled.run(*inputs)
        if outs is not None:
            program.leaves(outs, inputs)
    except NbgradError:
        pass


def numbers_in(layout: Layout) -> Tensor:
    """A tensor that no kernel has filled: with larger numbers on diagonals, so that decompositions of it exist."""
    array = np.full(layout.shape, 0.5).astype(layout.dtype.numpy)
    if array.ndim > 1 and layout.dtype.differentiable:
        n = min(array.shape[-2:])
        array[..., range(n), range(n)] += n
    x: Tensor = Type(layout).value_of_array(array).data
    return x
