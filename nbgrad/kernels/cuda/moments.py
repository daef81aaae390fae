"""Accumulators of mean and variance: how many elements there were, their mean, and the sum of the squares around it, each of the
last two with its rounding errors (NOTE [Carried sums] of ``kernels/monoids.py``).

Two such triples become one without looking at elements again, so a row may be cut anywhere.

Source: Welford, "Note on a method for calculating corrected sums of squares and products", 1962; Chan, Golub, LeVeque, "Updating
formulae and a pairwise algorithm for computing sample variances", 1979.
"""

# ruff: noqa: F821  (where and finished are bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache

from ..monoids import add_carried, carried_total, merge_carried
from ..templates.variances import deviation_of, variance_of
from .accumulators import Accumulator, Around

__all__ = ["AROUND_MEAN", "absorb_moments", "merge_moments", "variance_accumulator"]


def element_of_moments(x):
    """An element counts as itself. (Its name says that a kernel takes many registers: ``NEEDS_MORE`` of build.py.)"""
    return x


def absorb_moments(count, mean, mean_carry, squares, squares_carry, x):
    """One element more."""
    count = count + 1.0
    away = (x - mean) - mean_carry
    mean, mean_carry = add_carried(mean, mean_carry, away / count)
    squares, squares_carry = add_carried(squares, squares_carry, away * ((x - mean) - mean_carry))
    return count, mean, mean_carry, squares, squares_carry


def merge_moments(
    count, mean, mean_carry, squares, squares_carry, later, later_mean, later_mean_carry, later_squares, later_squares_carry
):
    """The elements of both."""
    both = count + later
    share = where(both > 0.0, later / both, 0.0)
    # No elements have no mean: from 0 another one may be so far that nothing is left of its carry, or that squares overflow.
    mean, mean_carry = where(count > 0.0, mean, later_mean), where(count > 0.0, mean_carry, later_mean_carry)
    apart = where(later > 0.0, (later_mean - mean) + (later_mean_carry - mean_carry), 0.0)
    mean, mean_carry = add_carried(mean, mean_carry, apart * share)
    squares, squares_carry = merge_carried(squares, squares_carry, later_squares, later_squares_carry)
    squares, squares_carry = add_carried(squares, squares_carry, apart * apart * (count * share))
    return both, mean, mean_carry, squares, squares_carry


def finish_variance(count, mean, mean_carry, squares, squares_carry, freedom):
    """What becomes of the sum of squares."""
    return finished(carried_total(squares, squares_carry), freedom)


def half_way(x, y):
    """The mean of two, which does not overflow."""
    return x * 0.5 + y * 0.5


def share_of_mean(x, origin, share):
    """What an element adds to the mean, beyond the first one: of equal elements nothing, and no sum overflows."""
    return (x - origin) * share


def add(x, y):
    """The sum."""
    return x + y


def mean_itself(mean):
    """The mean, as it is rounded."""
    return mean


def terms_around_mean(x, mean):
    """What is left of an element, and its square."""
    away = x - mean
    return away, away * away


def moments_around_mean(rounded, mean, count, away, squares):
    """The moments of several elements: what is left around the mean, on average, is what its rounding left out."""
    drift = away / count
    return count, mean, drift, squares - away * drift, 0.0


AROUND_MEAN = Around(half_way, share_of_mean, add, 0.0, add, mean_itself, terms_around_mean, 2, moments_around_mean)


@cache
def variance_accumulator(name: str, dtype: str) -> Accumulator:
    """The accumulators of a variance or deviation, whose value is the count less the correction."""
    finished = {"variance": variance_of, "deviation": deviation_of}[name]
    return Accumulator(
        name,
        dtype,
        element_of_moments,
        (dtype,) * 5,
        (0.0,) * 5,
        absorb_moments,
        merge_moments,
        finish_variance,
        (("finished", finished),),
        values=1,
        around=AROUND_MEAN,
    )
