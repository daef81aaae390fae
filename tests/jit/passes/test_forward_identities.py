"""What gives what one of its operands is, to the last bit, is not called."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit.passes.forward_identities import forward_identities
from tests.jit.passes.before_after import SPECIAL, passed

X = nbgrad.tensor(SPECIAL)
N = nbgrad.arange(3)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x * 1,
        lambda x: 1.0 * x,
        lambda x: x / 1,
        lambda x: x**1,
        lambda x: x - 0.0,
        lambda x: x + -0.0,
        lambda x: -0.0 + x,
        lambda x: x.neg().neg(),
        lambda x: x.clone(),
        lambda x: x.to(nbgrad.float64, copy=True),
        lambda x: x * nbgrad.ones(8, dtype=nbgrad.float64),
    ],
)
@pytest.mark.parametrize("dtype", [nbgrad.float64])
def test_identities_of_floating_numbers(fn, dtype):
    """Of all special values; what reads them reads the operand."""
    assert passed(forward_identities, lambda x: fn(x).exp(), X.to(dtype)).count("exp") == 1
    assert len(passed(forward_identities, lambda x: fn(x).exp(), X.to(dtype))) <= 2


@pytest.mark.parametrize("fn", [lambda x: x + 0.0, lambda x: x + 0, lambda x: x - -0.0, lambda x: 0 - x, lambda x: 1 / x])
def test_what_changes_the_sign_of_a_zero_stays(fn):
    """-0.0 + 0.0 is 0.0."""
    assert len(passed(forward_identities, lambda x: fn(x).exp(), X)) == 2


def test_a_sum_with_zero_of_integers_is_one():
    """They have one zero."""
    assert passed(forward_identities, lambda n: (n + 0) * (n - 0), N) == ["mul"]


def test_what_changes_dtype_or_layout_stays():
    """A product with 1.0 of integers, a copy in another order, a broadcast."""
    a = nbgrad.ones(3, 3)
    assert passed(forward_identities, lambda n: (n * 1.0).exp(), N) == ["mul", "exp"]
    assert passed(forward_identities, lambda a: a.t().contiguous().exp(), a)[-2:] == ["contiguous_copy", "exp"]
    assert passed(forward_identities, lambda a: (a[0] * nbgrad.ones(3, 3)).exp(), a) == ["select", "mul", "exp"]


def test_twice_is_once():
    """And signs that cancel."""
    assert passed(forward_identities, lambda x: x.abs().abs() + x.floor().floor(), X) == ["abs", "floor", "add"]


def test_a_result_is_no_argument():
    """A copy that is returned stays one."""
    f = nbgrad.jit.compile(lambda x: (x.clone(), x * 1), fullgraph=True)
    for _ in range(2):
        a, b = f(X)
        a.zero_()
        b.zero_()
    np.testing.assert_array_equal(X.numpy(), SPECIAL)


def test_what_was_written_is_what_is_read():
    """The row of a matrix, behind the write to it."""

    def fn(x):
        y = nbgrad.zeros(2, 8, dtype=nbgrad.float64)
        y[0] = x.exp()
        return y[0] * 2

    made = passed(forward_identities, fn, X)
    assert "mul" in made
