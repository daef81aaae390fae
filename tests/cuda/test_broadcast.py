"""Elementwise operations of operands that are spread along the result, or lie the other way round: the CPU's bits."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.kernels.cuda.templates import strided
from nbgrad.kernels.cuda.turned import turned

from .emulation import on_gpus


def numbers(*shape):
    """Small whole numbers, which all dtypes hold."""
    made = np.random.default_rng(len(shape)).integers(-8, 9, shape)
    return nbgrad.tensor(made.astype(np.float32))


# Spread along rows, columns, both; of a batch; a row of no whole vectors; rows with gaps, and gaps that are no whole vectors.
SPREAD = [
    (numbers(6, 8), numbers(8)),
    (numbers(6, 8), numbers(6, 1)),
    (numbers(6, 1), numbers(1, 8)),
    (numbers(2, 1, 3, 4), numbers(5, 1, 4)),
    (numbers(2, 3, 16), numbers(3, 1)),
    (numbers(5, 7), numbers(5, 1)),
    (numbers(6, 16)[:, :8], numbers(6, 1)),
    (numbers(6, 9)[:, :8], numbers(8)),
    (numbers(6, 9)[:, 1:], numbers(6, 1)),
]
# Tiles and parts of tiles; a batch that both have, or one; dimensions between.
TURNED = [
    (numbers(33, 70), lambda: numbers(70, 33).t()),
    (numbers(32, 64), lambda: numbers(64, 32).t()),
    (numbers(3, 20, 35), lambda: numbers(3, 35, 20).transpose(1, 2)),
    (numbers(3, 20, 35), lambda: numbers(35, 20).t()),
    (numbers(20, 3, 35), lambda: numbers(35, 3, 20).permute(2, 1, 0)),
]
OPERATIONS = {"product": lambda x, y: x * y, "choice": lambda x, y: nbgrad.where(x > y, x, y)}
CASES = [("product", "float32"), ("product", "bfloat16"), ("choice", "int64")]


def agree(function, *tensors):
    """A call has the CPU's bits."""
    found, expected = function(*(x.cuda() for x in tensors)).cpu(), function(*tensors)
    assert found.shape == expected.shape and found.dtype is expected.dtype
    np.testing.assert_array_equal(found.float().numpy(), expected.float().numpy())


@on_gpus
@pytest.mark.parametrize("name, dtype", CASES)
def test_operands_that_are_spread(name, dtype):
    """What is the same along a vector is loaded once."""
    before = strided.cache_info().currsize
    for x, y in SPREAD:
        x, y = (each.to(getattr(nbgrad, dtype)) for each in (x, y))
        agree(OPERATIONS[name], x, y)
        agree(OPERATIONS[name], y, x)
    assert strided.cache_info().currsize > before


@on_gpus
@pytest.mark.parametrize("name, dtype", CASES)
def test_operands_that_are_turned(name, dtype):
    """They come through shared memory, a tile at a time."""
    before = turned.cache_info().currsize
    for x, make in TURNED:
        x, y = x.to(getattr(nbgrad, dtype)), make().to(getattr(nbgrad, dtype))
        agree(OPERATIONS[name], x, y)
        agree(OPERATIONS[name], y, x)
    assert turned.cache_info().currsize > before


@on_gpus
def test_results_written_over_their_operands():
    """In place, beside a column, and beside what is turned; what is turned itself is written where it lies."""
    x, column, other = numbers(40, 36), numbers(40, 1), numbers(36, 40)
    for y in (column, other.t()):
        agree(lambda x, y: x.clone().mul_(y), x, y)
        agree(lambda x, y: x.clone().t().mul_(y.expand(40, 36).t()).t(), x, y)
