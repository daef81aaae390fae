"""What is not zero, and moves through masks, on the emulated device."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import ShapeError
from nbgrad.lowering.cuda import masks
from tests.cuda.lowered import assert_same, on_cpu, on_cuda, run_all, sample

TILE = 2048


def mask(*shape, seed=0, share=0.4):
    """Truth values."""
    return nbgrad.asarray(np.random.default_rng(seed).random(shape) < share)


def positions(x, apart=False, seed=0):
    """What ``nonzero`` does, with the number of positions read between its two launches."""
    outs, steps = masks.sums_steps(x.layout)[0], masks.sums_steps(x.layout)[1]
    (starts,) = run_all((outs,), steps, [x], seed)
    outs, steps = masks.positions_steps(x.layout, x.layout.shape, int(starts[-1]), apart)
    return run_all(outs, steps, [x, starts], seed)


@pytest.mark.parametrize("shape", [(1,), (7,), (TILE,), (TILE + 1,), (3, 700), (2, 3, 5)])
@pytest.mark.parametrize("seed", range(2))
def test_positions(shape, seed):
    """In row-major order, rows or a tensor a dimension."""
    x = mask(*shape)
    assert_same(positions(x, seed=seed)[0], nbgrad.nonzero(x))
    for found, expected in zip(positions(x, True), nbgrad.nonzero(x, as_tuple=True)):
        assert_same(found, expected)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float32", "float64", "complex64"])
def test_positions_of_every_dtype(dtype):
    """NaN is not zero, -0.0 is."""
    x = sample((50,), dtype, low=-1, high=2)
    if dtype.startswith("float"):
        x[3], x[4] = float("nan"), -0.0
    assert_same(positions(x)[0], nbgrad.nonzero(x))


def test_many_tiles():
    """More tiles than one block scans by itself."""
    n = TILE * 40
    x = mask(n, share=0.01)
    many = masks.sums_before.__globals__["scan_steps"].__globals__
    before, many["SCANNED_AT_ONCE"] = many["SCANNED_AT_ONCE"], 8
    try:
        assert_same(positions(x)[0], nbgrad.nonzero(x))
    finally:
        many["SCANNED_AT_ONCE"] = before


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex128"])
def test_masked_scatter(dtype):
    """Elements of the source, one after another; operands that broadcast, and in any layout."""
    x, chosen, source = sample((4, 6), dtype), mask(4, 6), sample((30,), dtype, seed=1)
    for operands in ((x, chosen, source), (x.t(), chosen.t(), source[::2].contiguous()), (x[0], chosen, source)):
        assert_same(on_cuda("masked_scatter", *operands), on_cpu("masked_scatter", *operands))


def test_too_few_elements_are_told():
    """How many are selected; nothing is written."""
    x, chosen, source = sample((4, 6)), mask(4, 6), sample((3,))
    for call in (on_cpu, on_cuda):
        with pytest.raises(ShapeError, match=f"the mask selects {int(chosen.sum())} elements, source has 3"):
            call("masked_scatter", x, chosen, source)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_cotangents_through_masks(dtype):
    """Of selections, and of what was scattered."""
    chosen = mask(4, 6)
    g = sample((int(chosen.sum()),), dtype)
    assert_same(
        on_cuda("masked_select_backward", g, shape=(4, 6), mask=chosen),
        on_cpu("masked_select_backward", g, shape=(4, 6), mask=chosen),
    )
    wide = sample((4, 6), dtype)
    for shape in ((30,), (5, 2)):
        assert_same(
            on_cuda("masked_scatter_backward", wide, chosen, shape=shape),
            on_cpu("masked_scatter_backward", wide, chosen, shape=shape),
        )
