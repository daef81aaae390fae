"""Sobol's sequence: torch's numbers, and its state."""

from __future__ import annotations

import copy
import pickle

import pytest

import nbgrad
from nbgrad.quasirandom import SobolEngine

pytest.importorskip("scipy")

FIRST = [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.375, 0.375], [0.875, 0.875]]


def test_the_numbers_are_torchs():
    """Those of torch 2.13, in two dimensions, drawn in pieces."""
    points = SobolEngine(2)
    drawn = nbgrad.cat([points.draw(), points.draw(3), points.draw(2)])
    assert drawn.tolist() == FIRST and drawn.dtype is nbgrad.float32 and points.num_generated == 6
    assert points.reset().draw(2).tolist() == FIRST[:2]
    assert points.reset().fast_forward(3).draw(3).tolist() == FIRST[3:]


def test_dtypes_and_results_that_are_given():
    out = nbgrad.empty(0, dtype=nbgrad.float64)
    assert SobolEngine(2).draw(3, out=out) is out and out.tolist() == FIRST[:3]
    assert SobolEngine(2).draw(2, dtype=nbgrad.float64).dtype is nbgrad.float64


def test_scrambled_points():
    """They are in the cube, in balance, and decided by the seed, or by ``manual_seed``."""
    x = SobolEngine(3, scramble=True, seed=7).draw(256)
    assert 0 <= x.min() and x.max() < 1
    assert nbgrad.histc(x[:, 1], 16, 0, 1).tolist() == [16.0] * 16
    assert x.equal(SobolEngine(3, scramble=True, seed=7).draw(256)) and not x.equal(SobolEngine(3, True, 8).draw(256))
    found = []
    for _ in range(2):
        nbgrad.manual_seed(5)
        found.append(SobolEngine(2, scramble=True).draw(4))
    assert found[0].equal(found[1])
    points = SobolEngine(2, scramble=True)
    assert points.draw(4).equal(points.reset().draw(4))


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("scramble", [False, True])
def test_copies_go_on_where_the_first_was(copied, scramble):
    points = SobolEngine(2, scramble=scramble)
    points.draw(3)
    other = copied(points)
    assert points.draw(2).equal(other.draw(2)) and other.num_generated == 5


def test_powers_of_two():
    points = SobolEngine(2)
    assert points.draw_base2(2).tolist() == FIRST[:4]
    assert points.draw_base2(2).shape == (4, 2)
    points.draw(1)
    with pytest.raises(nbgrad.RangeError, match="no power of two"):
        points.draw_base2(2)
    assert points.num_generated == 9


def test_text():
    assert repr(SobolEngine(2)) == "SobolEngine(dimension=2)"
    assert repr(SobolEngine(2, True, 3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: SobolEngine(0), "1 to 21201"),
        (lambda: SobolEngine(30000), "1 to 21201"),
        (lambda: SobolEngine("2"), "expected an int"),
        (lambda: SobolEngine(2).draw(0), "expected 1 to"),
        (lambda: SobolEngine(2).draw(2.5), "expected an int"),
        (lambda: SobolEngine(2).draw(2**31), "the points left"),
        (lambda: SobolEngine(2).draw(2, dtype=nbgrad.int64), "float32 or float64"),
        (lambda: SobolEngine(2).draw_base2(-1), "from 0"),
        (lambda: SobolEngine(2).fast_forward(-1), "expected 0 to"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(nbgrad.NbgradError, match=message):
        call()
