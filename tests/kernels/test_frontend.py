"""How kernels are compiled: with little of Numba, whole, and with the collector at rest."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbgrad
from nbgrad.base.collector import CollectorPause
from nbgrad.kernels.cpu import frontend
from nbgrad.kernels.instantiate import part_of_loop

FIRST_KERNEL = """
import gc, sys
import nbgrad
x = nbgrad.tensor([1.0, 2.0])
assert abs(x.exp().sum().item() - 10.1073) < 1e-4
print(*[name for name in ("numba.np.arraymath", "numba.typed.typeddict", "scipy.linalg") if name in sys.modules])
print(nbgrad.cache.info().compiled, gc.isenabled())
"""


def test_the_first_kernel_loads_no_arrays_of_numba(tmp_path):
    """A process that compiles its first kernels loads what Numba knows of scalars; the collector is on again afterwards."""
    environment = {**os.environ, "NBGRAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(nbgrad.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", FIRST_KERNEL], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    loaded, state = done.stdout.split("\n")[:2]
    assert loaded == ""
    assert int(state.split()[0]) >= 2 and state.split()[1] == "True"


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(enabled):
    """It rests while something is compiled, and is then what it was before, after an error too."""
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError), CollectorPause():
            assert not gc.isenabled()
            raise ZeroDivisionError
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("made", [lambda function: function, part_of_loop])
def test_what_a_kernel_calls_is_part_of_it(made):
    """A function that a kernel calls leaves no symbol behind: it was inlined, or its text was."""
    from numba import types

    twice = frontend.inlined(made(lambda x: x + x))
    scope = {"twice": twice}
    exec("def kernel(start, stop, args):\n    for i in range(start, twice(stop)):\n        args[i] = args[twice(i)]\n", scope)
    signature = types.void(types.int64, types.int64, types.CPointer(types.voidptr))
    library, symbol = frontend.compile_kernel(scope["kernel"], signature, False, made is part_of_loop)
    library.emit()
    called = [f.name for f in library._final_module.functions if not f.is_declaration]
    assert called == [symbol]
