"""The monoids that reductions fold with, written once for the loops of the CPU (``templates/folds.py``) and of CUDA
(``cuda/reductions.py``).

An operation's declaration names its monoid, and says what an element counts as (``term``) and what becomes of the total
(``finish``): see ``ops.core.General``. Here is the algebra: a number to begin with, and how two numbers become one. How a target
holds what it has folded so far is its loops' choice, from what is said here:

    the CPU     float sums and products in float64 (complex128); blocks of a float64 sum carry their rounding error;
                extrema as integer keys, of which the maximum vectorises (``templates/keys.py``)
    CUDA        sums in the operand's own precision, each addition's rounding error carried; extrema by comparison

NOTE [Carried sums]: a sum in two numbers, the total and the rounding errors of its additions (TwoSum), is as good as one of double
the precision. A core of the CPU adds float64 as fast as it loads float32, so it carries errors between blocks alone, and only of
float64. A GPU has few units for float64: it carries the error of every float32 addition; six additions an element where there was
one, and the kernel still waits for memory. So the results of the two differ in the last bit.

NOTE [Reordered sums]: inside a block the CPU's compiler may reorder what is combined, which is how the loop vectorises. It does so
once, at compile time; the bits of a result never depend on a run, or on the number of threads.
"""

# ruff: noqa: F821  (where, where_index and copysign are bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import math
from typing import Callable, NamedTuple

import numpy as np

__all__ = [
    "MONOIDS",
    "Monoid",
    "add_carried",
    "carried_total",
    "first_greatest",
    "first_smallest",
    "greater_float",
    "last_greatest",
    "last_smallest",
    "merge_carried",
    "smaller_float",
]


class Monoid(NamedTuple):
    """An associative function of two numbers, and the number that leaves every other one as it is.

    Attributes:
        name: as declarations say it.
        identity: what a fold of nothing gives.
        combine: ``(x, y) -> number``, a scalar function; of a position beside each number, if ``indexed``, as
            ``(x, i, y, j) -> (number, position)``.
        operator: Python's, that ``combine`` is, if it is one. Of complex numbers there are folds by operators alone.
        whole: the identity of int64, where ``identity`` is none.
        carries: sums, of which loops may carry the rounding errors: NOTE [Carried sums].
        repeats: an element that counts n times adds n times itself.
        shared: threads may fold parts of one result.
        eights: before accumulators of these dtypes the CPU combines eight elements;
        narrow: in the elements' own precision.
        order: "greatest" or "smallest" for an extremum, else "".
        indexed: what is kept is the position of the extremum.
    """

    name: str
    identity: float
    combine: Callable
    operator: str = ""
    whole: int | None = None
    carries: bool = False
    repeats: bool = False
    shared: bool = False
    eights: tuple[str, ...] = ()
    narrow: bool = False
    order: str = ""
    indexed: bool = False

    def start(self, dtype: str) -> int | float | np.uint64:
        """The identity, in an accumulator of that dtype.

        >>> MONOIDS["greatest"].start("float32"), MONOIDS["sum"].start("int64")
        (-inf, 0)
        """
        if dtype == "uint64":  # as one: beside an int it would become a float
            least_or_most = {"greatest": 0, "smallest": (1 << 64) - 1}
            return np.uint64(least_or_most[self.order] if self.order else int(self.identity))
        if dtype != "int64":
            return float(self.identity)
        return int(self.identity) if self.whole is None else self.whole


# ---- two numbers become one --------------------------------------------------------------------------------------------


def add(x, y):
    """The sum."""
    return x + y


def multiply(x, y):
    """The product."""
    return x * y


def either(x, y):
    """Whether one of two flags is raised."""
    return x | y


def both(x, y):
    """Whether both flags are raised."""
    return x & y


def greater(x, y):
    """The greater; NaN wins, and stays: a comparison with it is false."""
    return where((y > x) | (y != y), y, x)


def smaller(x, y):
    """The smaller; NaN wins."""
    return where((y < x) | (y != y), y, x)


def greater_float(x, y):
    """The greater of two floats; of zeros of both signs that without one, as their keys say (``templates/keys.py``)."""
    return where((y > x) | (y != y) | ((y == x) & (copysign(1.0, x) < 0.0)), y, x)


def smaller_float(x, y):
    """The smaller of two floats; of zeros of both signs the negative one."""
    return where((y < x) | (y != y) | ((y == x) & (copysign(1.0, y) < 0.0)), y, x)


def first_greatest(x, i, y, j):
    """The greater of two and its position: NaN is the greatest, of equals the first."""
    later = (y > x) | ((y != y) & (x == x)) | (((y == x) | ((y != y) & (x != x))) & (j < i))
    return where(later, y, x), where_index(later, j, i)


def first_smallest(x, i, y, j):
    """The smaller of two and its position: NaN is the smallest, of equals the first."""
    later = (y < x) | ((y != y) & (x == x)) | (((y == x) | ((y != y) & (x != x))) & (j < i))
    return where(later, y, x), where_index(later, j, i)


def last_greatest(x, i, y, j):
    """As ``first_greatest``, of equals the later one: the second operand."""
    later = (y >= x) | (y != y)
    return where(later, y, x), where_index(later, j, i)


def last_smallest(x, i, y, j):
    """As ``first_smallest``, of equals the later one: the second operand."""
    later = (y <= x) | (y != y)
    return where(later, y, x), where_index(later, j, i)


# ---- sums that carry their errors --------------------------------------------------------------------------------------


def add_carried(total, carry, x):
    """``total + x``, the rounding error of which goes to ``carry`` (Knuth's TwoSum)."""
    new = total + x
    seen = new - total
    return new, carry + ((total - (new - seen)) + (x - seen))


def merge_carried(total, carry, later, later_carry):
    """The sum of two such sums."""
    new = total + later
    seen = new - total
    return new, (carry + later_carry) + ((total - (new - seen)) + (later - seen))


def carried_total(total, carry):
    """The sum; beside an infinite total the carry is not a number."""
    return total + carry if carry == carry else total


_LEAST, _GREATEST = -(2**63), 2**63 - 1
MONOIDS = {
    monoid.name: monoid
    for monoid in (
        Monoid("sum", 0.0, add, "+", carries=True, repeats=True, shared=True, eights=("float64", "complex128"), narrow=True),
        # One product waits for the last one, and Numba's complex ones do not vectorise: eight side by side.
        Monoid("product", 1.0, multiply, "*", eights=("complex128",)),
        Monoid("any", 0, either, "|"),
        Monoid("all", 1, both, "&"),
        Monoid("greatest", -math.inf, greater, whole=_LEAST, shared=True, order="greatest"),
        Monoid("smallest", math.inf, smaller, whole=_GREATEST, shared=True, order="smallest"),
        Monoid("first greatest", -math.inf, first_greatest, whole=_LEAST, order="greatest", indexed=True),
        Monoid("first smallest", math.inf, first_smallest, whole=_GREATEST, order="smallest", indexed=True),
    )
}
