"""Signs move outwards, where rounding and zeros do not see it."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit.passes.eliminate_dead import eliminate_dead
from nbgrad.jit.passes.move_signs import move_signs
from tests.jit.passes.before_after import SPECIAL, passed

X, Y = (nbgrad.tensor(x.ravel()) for x in np.meshgrid(SPECIAL, [*SPECIAL, 0.1, 3.0]))


def moved(graph):
    """Signs moved, and those dropped that nobody reads any more."""
    move_signs(graph)
    eliminate_dead(graph)


@pytest.mark.parametrize(
    ("fn", "left"),
    [
        (lambda x, y: -x * -y, ["mul"]),
        (lambda x, y: -x / -y, ["div"]),
        (lambda x, y: x + -y, ["sub"]),
        (lambda x, y: -x + y, ["sub"]),
        (lambda x, y: x - -y, ["add"]),
        (lambda x, y: -x * y, ["mul", "neg"]),
        (lambda x, y: x / -y, ["div", "neg"]),
        (lambda x, y: -x * y * y - y, ["mul", "mul", "neg", "sub"]),
        (lambda x, y: y - -x * y * y, ["mul", "mul", "add"]),
        (lambda x, y: x * -1 + y, ["sub"]),
        (lambda x, y: -x * 0.3 + y, ["mul", "add"]),
        (lambda x, y: -(x * 0) + y, ["mul", "add"]),
        (lambda x, y: 3 / -x + y, ["div", "add"]),
        (lambda x, y: (-x).abs() + (-y).square(), ["abs", "square", "add"]),
    ],
)
def test_signs_move_outwards(fn, left):
    """Every pair of special values, and pairs that are rounded."""
    for dtype in (nbgrad.float64, nbgrad.float32, nbgrad.float16):
        assert sorted(passed(moved, fn, X.to(dtype), Y.to(dtype))) == sorted(left)


@pytest.mark.parametrize("fn", [lambda x, y: -(x + y), lambda x, y: -(x - y), lambda x, y: -x - y, lambda x, y: (-x).sum() * y])
def test_signs_stay_within_sums(fn):
    """0 - 0 has one sign, whoever is taken from whom."""
    assert len(passed(moved, fn, X, Y)) >= 2
    assert "neg" in passed(moved, fn, X, Y)


def test_signs_of_integers_and_complex_numbers_stay():
    """Quotients of integers are rounded down; products of complex numbers are sums."""
    n = nbgrad.arange(1, 5)
    z = nbgrad.complex(nbgrad.ones(2), nbgrad.zeros(2))
    assert passed(moved, lambda n: -n * n, n) == ["neg", "mul"]
    assert passed(moved, lambda z: -z * z, z) == ["neg", "mul"]


def test_a_sign_that_others_read_stays_where_it_is():
    """Moving it would be one more."""
    assert passed(moved, lambda x, y: ((z := -x), z * y), X, Y) == ["neg", "mul"]


def test_a_result_keeps_its_layout():
    """A difference the other way round may lie in memory the other way round."""
    a, b = nbgrad.ones(2, 3), nbgrad.ones(3, 2).t()
    passed(moved, lambda a, b: -a + b, a, b)
    passed(moved, lambda a, b: -b + a, a, b)
