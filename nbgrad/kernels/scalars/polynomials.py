"""Orthogonal polynomials of a degree that is data, by their recurrences: one loop over the degrees for each element.

Degrees are cut to whole numbers; below 0 there is no polynomial, and the value is 0. Above 100,000 it is NaN: a loop must end.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import trunc, where
from .constants import BY_DTYPE


def settled(n, whole, value):
    """``value`` for a degree that was reached."""
    return where(whole < 0.0, 0.0, where(whole <= 100000.0, value, NAN))  # noqa: F821  (bound by instantiate)


def chebyshev(x, n, slope, shift):
    """p_n with p_0 = 1, p_1 = slope x + shift, p_(k+1) = 2 x p_k - p_(k-1)."""
    whole, last, value, k = trunc(n), 1.0, slope * x + shift, 1.0
    while (k < whole) & (k < 100000.0):
        last, value = value, 2.0 * x * value - last
        k = k + 1.0
    return settled(n, whole, where(whole < 1.0, 1.0, value))


def gegenbauer(x, n, order):
    """C_n of that order; of 1 Chebyshev's of the second kind, of 1/2 Legendre's. Source: DLMF 18.9.1."""
    whole, last, value, k = trunc(n), 0.0, 1.0, 0.0
    while (k < whole) & (k < 100000.0):
        k = k + 1.0
        product = x * value
        last, value = value, (2.0 * product - last) + (2.0 * order - 2.0) * (product - last) / k
    return settled(n, whole, value)


def hermite(x, n, scale):
    """p_n with p_(k+1) = scale (x p_k - k p_(k-1)): He_n of scale 1, H_n of 2."""
    whole, last, value, k = trunc(n), 0.0, 1.0, 0.0
    while (k < whole) & (k < 100000.0):
        last, value = value, scale * (x * value - k * last)
        k = k + 1.0
    return settled(n, whole, value)


def laguerre(x, n, order):
    """L_n of that order. Source: DLMF 18.9.1."""
    whole, last, value, k = trunc(n), 0.0, 1.0, 0.0
    while (k < whole) & (k < 100000.0):
        last, value = value, ((2.0 * k + 1.0 + order - x) * value - (k + order) * last) / (k + 1.0)
        k = k + 1.0
    return settled(n, whole, value)


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
