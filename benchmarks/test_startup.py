"""What a process pays before its first gradient: every sample is a fresh interpreter."""

from __future__ import annotations

import tempfile

import pytest

from benchmarks.harness import SelfMeasured
from benchmarks.peers import child

IMPORT = """
from time import perf_counter
start = perf_counter()
import {library}
print(perf_counter() - start)
"""

FIRST_GRADIENT = """
from time import perf_counter
import {library} as lib
start = perf_counter()
x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
(x * x).tanh().sum().backward()
assert x.grad is not None
print(perf_counter() - start)
"""

FIRST_COLD_OP = """
from time import perf_counter
import nbgrad
x = nbgrad.tensor([1.0, 2.0, 3.0])
start = perf_counter()
x.exp()
print(perf_counter() - start)
"""


@pytest.fixture
def warm_cache():
    """A kernel cache of this test's own, filled by the processes that run before the clock does."""
    with tempfile.TemporaryDirectory() as folder:
        yield folder


def in_child(code, **variables):
    """A candidate: what the child measured of itself."""
    return SelfMeasured(lambda: child(code, **variables))


def in_child_with_empty_cache(code):
    """A candidate that finds no compiled kernel."""

    def measure():
        with tempfile.TemporaryDirectory() as folder:
            return child(code, NBGRAD_CACHE_DIR=folder)

    return SelfMeasured(measure)


def rounds_of(settings):
    """Processes to start for each candidate."""
    return 3 if settings.quick else 9


def test_import(compare, settings):
    """``import nbgrad``, NumPy's import included."""
    candidates = {library: in_child(IMPORT.format(library=library)) for library in ("nbgrad", "torch", "numpy")}
    candidates["jax"] = in_child(IMPORT.format(library="jax.numpy"))
    compare("import nbgrad", candidates, inner=1, rounds=rounds_of(settings), limit=0.2)


def test_import_leaves_numba_alone(summarise, warm_cache):
    """``import nbgrad``, and a gradient whose kernels are in the cache, load no part of Numba."""
    count = "import sys\nprint(sum(name.partition('.')[0] == 'numba' for name in sys.modules))"
    imported = child(f"import nbgrad\n{count}")
    gradient = FIRST_GRADIENT.format(library="nbgrad").replace("print(perf_counter() - start)", count)
    child(gradient, NBGRAD_CACHE_DIR=warm_cache)
    used = child(gradient, NBGRAD_CACHE_DIR=warm_cache)
    summarise("Numba modules loaded by import nbgrad", {"nbgrad": [float(imported)]}, limit=0, unit="modules")
    summarise("Numba modules loaded by a warm gradient", {"nbgrad": [float(used)]}, limit=0, unit="modules")


def test_first_gradient_of_a_warm_process(compare, settings, warm_cache):
    """From the end of the import to the first gradient, with the kernels on disk."""
    candidates = {
        library: in_child(FIRST_GRADIENT.format(library=library), NBGRAD_CACHE_DIR=warm_cache) for library in ("nbgrad", "torch")
    }
    for candidate in candidates.values():
        candidate.call()
    compare("first gradient of a warm process", candidates, inner=1, rounds=rounds_of(settings), limit=0.05)


def test_first_op_of_a_cold_process(compare, settings):
    """The first op when nothing is on disk, with Numba's own import already paid."""
    candidates = {"nbgrad": in_child_with_empty_cache(FIRST_COLD_OP)}
    compare("first op of a cold process, Numba imported", candidates, inner=1, rounds=rounds_of(settings), limit=0.15)


def test_first_gradient_of_a_cold_process(compare, settings):
    """The whole of it, Numba's import included, when nothing is on disk."""
    timer, imports, start, *work = FIRST_GRADIENT.strip().splitlines()
    whole = "\n".join([timer, start, imports, *work])
    candidates = {library: in_child_with_empty_cache(whole.format(library=library)) for library in ("nbgrad", "torch")}
    compare("import and first gradient of a cold process", candidates, inner=1, rounds=rounds_of(settings))
