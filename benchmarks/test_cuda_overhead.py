"""What a call costs where tensors are on a GPU, without the driver's share: it returns at once. No GPU is needed."""

from __future__ import annotations

import pytest

from benchmarks.test_startup import in_child, rounds_of

# Of many short blocks the quickest: what a call costs where nothing else runs on the processor.
PROGRAM = """
from time import perf_counter
import nbgrad
from nbgrad.kernels.cuda.emulated.driver import install
from nbgrad.tensors.heaps import heap_on
x, y, r = (nbgrad.ones(16, device="cuda", requires_grad=k == 2) for k in range(3))
request = heap_on(0).request
def nothing(): pass
def call(): {call}
def spent(function, blocks=2000, inner=200):
    best = 1.0
    for _ in range(blocks):
        start = perf_counter()
        for _ in range(inner):
            function()
        best = min(best, perf_counter() - start)
    return best / inner
call()
nbgrad.cuda.synchronize()
install().at_once("cuLaunchKernel", "cuCtxSetCurrent")
print(spent(call) - spent(nothing))
"""
# Seconds that a call may take.
CALLS = {
    "allocation and free": ("request(64)", 100e-9),
    "product": ("x * y", 0.6e-6),
    "product with its node": ("r * y", 0.8e-6),
    "slice": ("x[2:]", None),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_on_a_gpu(name, compare, settings):
    """16 elements, one launch, or none."""
    code, limit = CALLS[name]
    candidate = in_child(PROGRAM.format(call=code), NBGRAD_CUDA="emulated")
    compare(f"GPU: {name}, without the driver", {"nbgrad": candidate}, inner=1, rounds=rounds_of(settings), limit=limit)
