"""Pools on a GPU: one launch for the windows, two for the way back of a maximum, with the CPU's places. Emulated, in a child."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.nn import functional as F

from .emulation import launches, on_gpus

slow = pytest.mark.slow
# Of each: the pool, the shape of its input, launches forward and back.
CASES = {
    "maxima that overlap": (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), (2, 2, 7, 6), 1, 2),
    "means of padded windows": (lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 2, 7, 6), 1, 1),
    "dilated maxima": (lambda x: F.max_pool2d(x, 2, 1, 1, (2, 3)), (1, 2, 5, 7), 1, 2),
    "maxima of lines": (lambda x: F.max_pool1d(x, 3, 1), (3, 9), 1, 2),
    "maxima of volumes": (lambda x: F.max_pool3d(x, 2, (1, 2, 1)), (1, 1, 3, 4, 3), 1, 2),
    "adaptive maxima": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), (2, 5, 7), 1, 2),
    "adaptive means": (lambda x: F.adaptive_avg_pool1d(x, 3), (2, 1, 8), 1, 1),
    "means of elements": (lambda x: F.avg_pool2d(x, 2, 2, 1, True, False), (2, 3, 5, 5), 1, 1),
    "sums": (lambda x: F.avg_pool2d(x, (1, 3), divisor_override=-1), (1, 4, 6), 1, 1),
}


def numbers(shape: tuple[int, ...], dtype: nbgrad.dtype) -> nbgrad.Tensor:
    """Whole numbers, so that maxima come several times, with NaN and infinities among them."""
    found = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float64)
    found.flat[5::13], found.flat[4::17] = -np.inf, np.nan
    return nbgrad.tensor(found, dtype=dtype)


@on_gpus
@pytest.mark.parametrize("dtype", [nbgrad.float32, *(pytest.param(x, marks=slow) for x in (nbgrad.bfloat16, nbgrad.float64))])
@pytest.mark.parametrize("name", CASES)
def test_pools_are_those_of_the_cpu(name, dtype):
    """Values, and gradients of a transposed operand too; NaN, infinities and equal elements give theirs to the same place."""
    pool, shape, forward, back = CASES[name]
    rounding = {nbgrad.bfloat16: 2e-2, nbgrad.float32: 1e-6, nbgrad.float64: 1e-14}[dtype]
    for seen in (lambda x: x, lambda x: x.mT):
        found = []
        for device in ("cuda", "cpu"):
            x = numbers(shape, dtype).to(device).requires_grad_()
            y = pool(seen(x))
            g = nbgrad.arange(y.numel(), device=device).reshape(y.shape).to(dtype)
            found.append([z.detach().cpu().double().numpy() for z in (y, *nbgrad.grad(y, x, g))])
        for one, other in zip(*found):
            np.testing.assert_allclose(one, other, rtol=rounding, atol=rounding)
    x = numbers(shape, dtype).cuda().requires_grad_()
    y, g = pool(x), nbgrad.ones_like(pool(x).detach())
    assert launches(lambda: pool(x)) == forward and launches(lambda: nbgrad.grad(y, x, g)) == back
