"""What a first kernel of a GPU costs, compiled and from disk; and what a launch costs on the emulated device. No GPU is needed."""

from __future__ import annotations

import tempfile

import pytest

from benchmarks.test_startup import in_child, in_child_with_empty_cache, rounds_of

FIRST_KERNEL = """
from time import perf_counter
from nbgrad.cubins.operations import named
operation = named("mul", "float32")
start = perf_counter()
from nbgrad.kernels.cuda import build, store, templates
template = templates.elementwise(operation.inputs, operation.outputs)
kernel, stored = store.load_or_build(build.Recipe(template, operation.scalar, "float32"))
print(perf_counter() - start)
"""

# The median of single launches, each waited for.
LAUNCHES = """
from time import perf_counter
import numpy as np
from nbgrad.cubins.operations import named
from nbgrad.kernels.cuda import build, host, templates
gpu, operation = host.Gpu(), named("mul", "float32")
template = templates.elementwise(operation.inputs, operation.outputs)
function = gpu.load(gpu.build(build.Recipe(template, operation.scalar, "float32")))
x, out = gpu.upload(np.ones(16, np.float32)), gpu.empty(64)
operands = int(out.handle), int(x.handle), int(x.handle), 16
spent = []
for _ in range(5000):
    start = perf_counter()
    gpu.launch(function, (1,), *operands)
    gpu.stream.sync()
    spent.append(perf_counter() - start)
print(sorted(spent)[2500])
"""


@pytest.fixture
def cubins():
    """A cache of this test's own."""
    with tempfile.TemporaryDirectory() as folder:
        yield folder


def test_first_kernel_of_a_cold_process(compare, settings):
    """From an operation to its cubin: the compiler's own import, PTX, the linker."""
    compare("first CUDA kernel, cold", {"nbgrad": in_child_with_empty_cache(FIRST_KERNEL)}, inner=1, rounds=rounds_of(settings))


def test_first_kernel_from_disk(compare, settings, cubins):
    """The same with the cubin on disk: no compiler is loaded."""
    candidate = in_child(FIRST_KERNEL, NBGRAD_CACHE_DIR=cubins)
    candidate.call()
    compare("first CUDA kernel, from disk", {"nbgrad": candidate}, inner=1, rounds=rounds_of(settings), limit=0.05)


def test_launch_on_the_emulated_device(compare, settings):
    """A kernel of 16 elements, each access looked at, from the queue to its end."""
    candidate = in_child(LAUNCHES, NBGRAD_CUDA="emulated")
    compare("launch of 16 elements on the emulated device", {"nbgrad": candidate}, inner=1, rounds=rounds_of(settings), limit=60e-6)
