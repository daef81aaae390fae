"""The programs of softmax, its family, and losses by class: what a row is folded to, and what becomes of its elements.

A row of scores is folded to its greatest score and the sum of the exponentials of all, relative to that one, in a single pass; the
sum carries its rounding errors. See NOTE [Infinite maxima] of ``kernels/templates/softmax.py``.
"""

# ruff: noqa: F821  (exp, log, fabs, where, EXP_NORMAL, greatest, INF and NAN are bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import math
from functools import cache

from ...ops.core import OPS
from ..monoids import add_carried, carried_total, merge_carried
from ..scalars import FUNCTIONS
from ..scalars.exponential import exp_in_range
from ..templates.softmax import finite_or_zero, larger, shifted
from .accumulators import Accumulator, Around, accumulator
from .moments import AROUND_MEAN, absorb_moments, element_of_moments, merge_moments
from .rows import RowProgram

__all__ = ["logsumexp_accumulator", "program_of"]

NAMES = (("exp", FUNCTIONS["exp"]), ("log", FUNCTIONS["log"]), ("INF", math.inf), ("NAN", math.nan))


# ---- scores ------------------------------------------------------------------------------------------------------------


def element_of_scores(x):
    """A score counts as itself."""
    return x


def absorb_score(top, total, carry, x):
    """One score more: it adds its exponential, or all others shrink."""
    small = exp(-fabs(where(x == top, 0.0, x - top)))
    lower = x <= top
    total, carry = where(lower, total, total * small), where(lower, carry, carry * small)
    total, carry = add_carried(total, carry, where(lower, small, 1.0))
    return larger(x, top), total, carry


def merge_scores(top, total, carry, later_top, later_total, later_carry):
    """The scores of both."""
    small = exp(-fabs(where(later_top == top, 0.0, later_top - top)))
    lower = later_top <= top
    own, other = where(lower, 1.0, small), where(lower, small, 1.0)
    total, carry = merge_carried(total * own, carry * own, later_total * other, later_carry * other)
    return larger(later_top, top), total, carry


def greater_score(x, y):
    """The greater of two; NaN wins."""
    return greatest(x, y)


def score_itself(x, origin, share):
    """The greatest of all is one of them."""
    return x


def greatest_itself(top, origin):
    """The greatest of all."""
    return top


def pivot_of_scores(top):
    """What exponentials are relative to."""
    return finite_or_zero(top)


def exponential_below(x, m):
    """The exponential of x - m, for a score x that is no greater than m, or infinite."""
    return exp(x - m)


def addend_below(x, m):
    """The exponential of x - m, or the smallest normal number if it is less: added to 1 and more, both change nothing.

    ``settled`` sees to infinite scores.
    """
    return exp_in_range(greatest(x - m, -EXP_NORMAL))


def scores_around(top, m, count, total):
    """Several scores."""
    return top, total, 0.0


AROUND_TOP = Around(
    greater_score, score_itself, greater_score, -math.inf, greatest_itself, pivot_of_scores, addend_below, 1, scores_around
)


def settled(top, total, carry):
    """``(m, total)``: the greatest score where it is finite, else 0, and the sum of the exponentials relative to that."""
    return finite_or_zero(top), where(fabs(top) == INF, exp(top), carried_total(total, carry))


def finish_logsumexp(top, total, carry):
    """The logarithm of the sum of exponentials."""
    m, whole = settled(top, total, carry)
    return m + log(whole)


@cache
def logsumexp_accumulator(dtype: str) -> Accumulator:
    """The accumulators of scores."""
    return Accumulator(
        "logsumexp",
        dtype,
        element_of_scores,
        (dtype,) * 3,
        (-math.inf, 0.0, 0.0),
        absorb_score,
        merge_scores,
        finish_logsumexp,
        NAMES,
        around=AROUND_TOP,
    )


def softmax_numbers(top, total, carry):
    """By what exponentials are multiplied."""
    return where(fabs(top) == INF, NAN, 1.0 / carried_total(total, carry))


def softmax_of(e, scale):
    """An element's share, from its exponential."""
    return e * scale


def log_softmax_numbers(top, total, carry):
    """The greatest score, and the logarithm of the sum."""
    return where(fabs(top) == INF, NAN, top), log(carried_total(total, carry))


def log_softmax_of(x, m, shift):
    """The logarithm of an element's share."""
    return shifted(x, m, shift)


# ---- cotangents --------------------------------------------------------------------------------------------------------


def product_of(g, y):
    """A cotangent times the result."""
    return g * y


def first_of(g, y):
    """A cotangent."""
    return g


def total_number(total, carry):
    """The sum."""
    return carried_total(total, carry)


def softmax_cotangent(g, y, dot):
    """Of a score, from that of its share."""
    return (g - dot) * y


def log_softmax_cotangent(g, y, total):
    """Of a score, from that of its logarithmic share."""
    return g - exp(y) * total


# ---- standardised rows -------------------------------------------------------------------------------------------------


def standardise_numbers(count, mean, mean_carry, squares, squares_carry, n, eps):
    """The mean in two numbers, and 1 over the deviation."""
    return mean, mean_carry, 1.0 / sqrt(carried_total(squares, squares_carry) / n + eps)


def standardised(x, mean, mean_carry, r):
    """An element in deviations from the mean."""
    return shifted(x, mean, mean_carry) * r


def absorb_pair(count, mean, mean_carry, squares, squares_carry, other, other_carry, joint, joint_carry, g, x):
    """A cotangent and its element more: moments of elements, mean of cotangents, products of both around their means."""
    away = (g - other) - other_carry
    count, mean, mean_carry, squares, squares_carry = absorb_moments(count, mean, mean_carry, squares, squares_carry, x)
    other, other_carry = add_carried(other, other_carry, away / count)
    joint, joint_carry = add_carried(joint, joint_carry, away * ((x - mean) - mean_carry))
    return count, mean, mean_carry, squares, squares_carry, other, other_carry, joint, joint_carry


def merge_pairs(
    count, mean, mean_carry, squares, squares_carry, other, other_carry, joint, joint_carry,
    later, later_mean, later_mean_carry, later_squares, later_squares_carry,
    later_other, later_other_carry, later_joint, later_joint_carry,
):  # fmt: skip
    """The pairs of both."""
    both = count + later
    share = where(both > 0.0, later / both, 0.0)
    mean, mean_carry = where(count > 0.0, mean, later_mean), where(count > 0.0, mean_carry, later_mean_carry)
    other, other_carry = where(count > 0.0, other, later_other), where(count > 0.0, other_carry, later_other_carry)
    apart = (later_mean - mean) + (later_mean_carry - mean_carry)
    others_apart = (later_other - other) + (later_other_carry - other_carry)
    joint, joint_carry = merge_carried(joint, joint_carry, later_joint, later_joint_carry)
    joint, joint_carry = add_carried(joint, joint_carry, apart * others_apart * (count * share))
    other, other_carry = add_carried(other, other_carry, others_apart * share)
    count, mean, mean_carry, squares, squares_carry = merge_moments(
        count, mean, mean_carry, squares, squares_carry, later, later_mean, later_mean_carry, later_squares, later_squares_carry
    )
    return count, mean, mean_carry, squares, squares_carry, other, other_carry, joint, joint_carry


def standardise_cotangent_numbers(count, mean, mean_carry, squares, squares_carry, other, other_carry, joint, joint_carry, n, eps):
    """The mean in two numbers, 1 over the deviation, the mean cotangent, and how cotangents follow elements."""
    r = 1.0 / sqrt(carried_total(squares, squares_carry) / n + eps)
    return mean, mean_carry, r, other + other_carry, carried_total(joint, joint_carry) / n * r * r


def standardise_cotangent(g, x, mean, mean_carry, r, shift, slope):
    """Of an element, from that of the standardised one."""
    return r * shifted(g, shift, slope * shifted(x, mean, mean_carry))


# ---- losses by class ---------------------------------------------------------------------------------------------------


def cross_entropy_number(top, total, carry, target, picked, ignore, classes):
    """The loss of a row: 0 where its target is ignored, NaN where that is no class."""
    m, whole = settled(top, total, carry)
    loss = (m - picked) + log(whole)
    return where((target >= 0) & (target < classes) & (target != ignore), loss, where(target == ignore, 0.0, NAN))


def cross_entropy_numbers(top, total, carry, target, g, ignore, classes):
    """What exponentials are multiplied by, the row's cotangent, the target; -1 where it counts for nothing."""
    m, whole = settled(top, total, carry)
    counts = (target >= 0) & (target < classes) & (target != ignore)
    return g / whole, g, where_index(counts, target, -1)


def cross_entropy_cotangent(e, i, scale, g, target):
    """Of a score, from its exponential."""
    share = e * scale
    return where(target < 0, 0.0, where(i == target, share - g, share))


@cache
def program_of(name: str, dtype: str) -> RowProgram:
    """The program of an operation in a compute dtype."""
    scores = logsumexp_accumulator(dtype)._replace(name=name)
    if name in ("softmax", "cross_entropy_rows_backward"):  # of which exponentials are the results
        scores = scores._replace(around=AROUND_TOP._replace(term=exponential_below))
    if name == "softmax":
        return RowProgram(scores, softmax_numbers, (dtype,), softmax_of, terms=True)
    if name == "log_softmax":
        return RowProgram(scores, log_softmax_numbers, (dtype,) * 2, log_softmax_of)
    if name == "cross_entropy_rows":
        return RowProgram(scores, cross_entropy_number, (dtype,), None, ("int64",), integers=2, picks=True)
    if name == "cross_entropy_rows_backward":
        kinds, sides = (dtype, dtype, "int64"), ("int64", "")
        return RowProgram(scores, cross_entropy_numbers, kinds, cross_entropy_cotangent, sides, 0, 2, indexed=True, terms=True)
    if name in ("softmax_backward", "log_softmax_backward"):
        soft = name == "softmax_backward"
        of = accumulator(OPS["sum"], dtype)._replace(name=name, term=product_of if soft else first_of)
        return RowProgram(of, total_number, (dtype,), softmax_cotangent if soft else log_softmax_cotangent, names=NAMES)
    pairs = name == "standardise_backward"
    of = Accumulator(
        name,
        dtype,
        element_of_moments,
        (dtype,) * (9 if pairs else 5),
        (0.0,) * (9 if pairs else 5),
        absorb_pair if pairs else absorb_moments,
        merge_pairs if pairs else merge_moments,
        element_of_moments,
        pairs=pairs,
        around=None if pairs else AROUND_MEAN,
    )
    if pairs:
        return RowProgram(of, standardise_cotangent_numbers, (dtype,) * 5, standardise_cotangent, values=2)
    return RowProgram(of, standardise_numbers, (dtype,) * 3, standardised, values=2)
