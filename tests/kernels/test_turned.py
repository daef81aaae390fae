"""Operands whose neighbours are not the result's: iterations by tiles give NumPy's elements, whatever is left of a tile."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.dispatch.lowerings import GeneralPlan
from nbgrad.dispatch.plans import turned_rows
from nbgrad.kernels.templates.turned import ROWS, TILE
from nbgrad.lowering.copy import copy_plan
from nbgrad.lowering.index_walks import changed_plan
from nbgrad.lowering.placing import Part, place_plan
from nbgrad.native.plans import pack_record, taken_apart
from nbgrad.tensors.layout import layout_of

DTYPES = ["bool", "uint8", "int16", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(8, 8), (9, 8), (16, 41), (65, 33), (130, 70)]


def numbers(shape, name, seed=0):
    """Small numbers that all dtypes have; truth values too."""
    return np.random.default_rng(seed).integers(0, 2 if name == "bool" else 100, shape).astype(name)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_of_transposes(name, shape):
    """Squares, and what is left beside and below them."""
    a = numbers(shape, name)
    x = nbgrad.tensor(a)
    assert np.array_equal(x.t().contiguous().numpy(), a.T)
    assert np.array_equal(nbgrad.empty(*shape[::-1], dtype=x.dtype).copy_(x.t()).numpy(), a.T)


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1), (1, 0, 2)], ids=str)
@pytest.mark.parametrize("cut", [slice(None), slice(1, None), slice(None, None, 2)], ids=["whole", "offset", "strided"])
def test_operands_of_every_order(order, cut):
    """One that is turned, one that is not, one that is broadcast, and a number."""
    a, b = numbers((12, 21, 34), "float32"), numbers((12, 21, 34), "float32", 1)
    turned, straight = a.transpose(order)[:, cut], b.transpose(order)[:, cut].copy()
    x, y = nbgrad.tensor(a).permute(order)[:, cut], nbgrad.tensor(straight)
    row = nbgrad.tensor(straight[0, 0])
    found = nbgrad.where(x > y, x * y, row) + 2.5
    assert np.array_equal(found.numpy(), np.where(turned > straight, turned * straight, straight[0, 0]) + np.float32(2.5))


@pytest.mark.parametrize(
    "name, target",
    [(name, target) for name in ("float16", "float32", "int16") for target in DTYPES] + [("complex128", "complex64")],
)
def test_conversions_on_the_way(name, target):
    """Elements become those of the result's dtype, tile by tile."""
    a = numbers((33, 50), name)
    assert np.array_equal(nbgrad.tensor(a).t().to(getattr(nbgrad, target)).numpy(), a.T.astype(target))


def test_writes_in_place():
    """Over a matrix, and over a transposed one, of which the other operand is the turned one."""
    a, b = numbers((40, 40), "float64"), numbers((40, 40), "float64", 1)
    x, y = nbgrad.tensor(a), nbgrad.tensor(b)
    x.add_(y.t())
    assert np.array_equal(x.numpy(), a + b.T)
    x.t().mul_(y)
    assert np.array_equal(x.numpy(), (a + b.T) * b.T)


def test_lazy_bits():
    """A conjugate that is turned is conjugated on the way."""
    a = numbers((20, 30), "complex64") + 1j * numbers((20, 30), "complex64", 1)
    assert np.array_equal(nbgrad.tensor(a).mH.contiguous().numpy(), a.conj().T)


def test_threads_share_tiles():
    """All of them are done, once, whoever does them."""
    a = numbers((1100, 1300), "float32")
    x = nbgrad.tensor(a).t()
    assert np.array_equal((x + 1).contiguous().numpy(), a.T + 1) and np.array_equal(x.contiguous().numpy(), a.T)


@pytest.mark.parametrize(
    "steps, wanted",
    [
        ([(40, 4), (40, 4)], None),  # both along rows
        ([(40, 4), (4, 40)], 0),
        ([(40, 4), (0, 40)], None),  # broadcast down, strided across
        ([(40, 4), (4, 0)], None),  # one element of each row
        ([(40, 4), (4, -40)], 0),
        ([(4, 40), (40, 4)], None),  # of the result
    ],
    ids=str,
)
def test_who_is_turned(steps, wanted):
    """An operand that is contiguous along another dimension than the last."""
    assert turned_rows(1, [(4, False), (4, False)], (10, 10), steps) == wanted
    assert turned_rows(1, [(4, False), (4, True)], (10, 10), steps) is None
    assert turned_rows(1, [(4, False), (4, False)], (10, 7), steps) is None


def test_tiles_are_whole():
    """Of elements of every size, and as many bytes."""
    assert all(TILE % (size * rows) == 0 and TILE // (size * rows) >= 8 for size, rows in ROWS.items())


def test_launches_of_several_kernels_do_each_tile_once():
    """A join, and a copy that is written to, take over how many tiles a copy has. As many as elements would do all of it anew."""
    x = nbgrad.rand(130, 70).t().layout
    out = layout_of(x.dtype, x.shape, None, x.device)
    _, tiles, _ = taken_apart(copy_plan(x, out))
    rows = ROWS[4]
    assert tiles == -(-130 // (TILE // 4 // rows)) * -(-70 // rows)
    _, _, (_, parts, _, count, *_) = taken_apart(place_plan(out, [Part(x, x.shape, out.strides, 0)], False))
    assert (parts, count) == (1, tiles)
    turned, index = nbgrad.rand(130, 70).t(), nbgrad.tensor([[1] * 130])
    whole = turned.scatter(0, index, 1.0)
    assert nbgrad.equal(turned.scatter(0, index, 2.0), turned.contiguous().scatter(0, index, 2.0)) and whole[1].sum() == 130
    writer = GeneralPlan(pack_record(0, 1, 1, 2, (0, 0), 0, (7,)), (), (index.layout, out))
    _, _, (_, _, count, *_) = taken_apart(changed_plan(x, out, writer))
    assert count == tiles
