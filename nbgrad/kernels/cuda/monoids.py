"""What reductions fold with: accumulators, and scalar functions that start, extend, merge and finish them.

NOTE [Wide sums]: a float sum carries the rounding errors of its additions in a second accumulator (TwoSum), through the
threads, the shuffles and the partial results. That is as good as summing in double the precision, without one float64
instruction in a float32 kernel: the result is within about one rounding whatever the length. Six additions an element
where there was one; the kernel still waits for memory.

NOTE [Complex accumulators]: a complex reduction folds real and imaginary parts in accumulators of their own: threads
shuffle words, and a carry is dropped beside the part that is infinite, not beside both.
"""
# ruff: noqa: F821  (where and where_index are bound by instantiate)
from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from ...base.dtypes import dtype_of
from ...base.errors import KernelError
from .access import Function

__all__ = ["Monoid", "folds", "monoid", "MONOIDS"]


class Monoid(NamedTuple):
    """What a reduction folds with; its functions are scalar functions over the accumulators ``state``.

    Attributes:
        name: of the reduction.
        state: dtypes of the accumulators, each a compute dtype.
        identity: their values before the first element.
        absorb: ``(*state, x) -> state``; with ``indexed``, ``(*state, i, x)``.
        merge: ``(*state, *state) -> state``; the second operand is the later one.
        finish: ``(*state, *values) -> result``.
        indexed: whether ``absorb`` is told the element's index along the reduced dimension.
        values: how many operands by value ``finish`` takes.
    """

    name: str
    state: tuple[str, ...]
    identity: tuple
    absorb: Function
    merge: Function
    finish: Function
    indexed: bool = False
    values: int = 0

    def source(self) -> dict:
        """The names that a reduction template takes from its monoid."""
        identities = {f"IDENTITY{s}": start for s, start in enumerate(self.identity)}
        return {"absorb": self.absorb, "merge": self.merge, "finish": self.finish, **identities}


def _two_sum(x, y):
    """``(s, e)`` with s = fl(x + y) and s + e = x + y exactly (Knuth)."""
    s = x + y
    y_seen = s - x
    return s, (x - (s - y_seen)) + (y - y_seen)


def _sum_absorb(total, carry, x):
    total, error = _two_sum(total, x)
    return total, carry + error


def _sum_merge(total, carry, later, later_carry):
    total, error = _two_sum(total, later)
    return total, (carry + later_carry) + error


def _sum_finish(total, carry):
    return where(carry == carry, total + carry, total)  # the carry beside an infinite total is NaN: drop it


def _mean_finish(total, carry, count):
    return _sum_finish(total, carry) / count


def _complex_sum_absorb(re, im, re_carry, im_carry, z):
    re, re_carry = _sum_absorb(re, re_carry, z.real)
    im, im_carry = _sum_absorb(im, im_carry, z.imag)
    return re, im, re_carry, im_carry


def _complex_sum_merge(re, im, re_carry, im_carry, later_re, later_im, later_re_carry, later_im_carry):
    re, re_carry = _sum_merge(re, re_carry, later_re, later_re_carry)
    im, im_carry = _sum_merge(im, im_carry, later_im, later_im_carry)
    return re, im, re_carry, im_carry


def _complex_sum_finish(re, im, re_carry, im_carry):
    return complex(_sum_finish(re, re_carry), _sum_finish(im, im_carry))


def _complex_mean_finish(re, im, re_carry, im_carry, count):
    return complex(_mean_finish(re, re_carry, count), _mean_finish(im, im_carry, count))


def _complex_mul(re, im, later_re, later_im):
    return re * later_re - im * later_im, re * later_im + im * later_re


def _complex_mul_absorb(re, im, z):
    return _complex_mul(re, im, z.real, z.imag)


def _complex_parts(re, im):
    return complex(re, im)


def _add(x, y):
    return x + y


def _mul(x, y):
    return x * y


def _same(x):
    return x


def _max(x, y):
    return where((y > x) | (y != y), y, x)  # NaN wins, and stays: a comparison with it is false


def _min(x, y):
    return where((y < x) | (y != y), y, x)


def _any_absorb(found, x):
    return where_index(x, 1, found)


def _all_absorb(held, x):
    return where_index(x, held, 0)


def _or(x, y):
    return x | y


def _and(x, y):
    return x & y


def _truth(x):
    return x != 0


def _argmax(x, i, y, j):
    """The larger and its index: NaN is the largest, of equals the first."""
    later = (y > x) | ((y != y) & (x == x)) | (((y == x) | ((y != y) & (x != x))) & (j < i))
    return where(later, y, x), where_index(later, j, i)


def _argmin(x, i, y, j):
    later = (y < x) | ((y != y) & (x == x)) | (((y == x) | ((y != y) & (x != x))) & (j < i))
    return where(later, y, x), where_index(later, j, i)


def _argmax_absorb(x, i, j, y):
    return _argmax(x, i, y, j)


def _argmin_absorb(x, i, j, y):
    return _argmin(x, i, y, j)


def _index(x, i):
    return i


_INT64 = (-2**63, 2**63 - 1)
_COMPLEX = ("complex64", "complex128")


def _plain(name, dtype, identity, combine, **more):
    return Monoid(name, (dtype,), (identity,), combine, combine, _same, **more)


def _sum(name, dtype):
    if dtype == "int64":
        return _plain("sum", dtype, 0, _add)
    if dtype in _COMPLEX:
        finish = _complex_mean_finish if name == "mean" else _complex_sum_finish
        state = (dtype_of(dtype).to_real().name,) * 4
        return Monoid(name, state, (0.0,) * 4, _complex_sum_absorb, _complex_sum_merge, finish, values=int(name == "mean"))
    finish = _mean_finish if name == "mean" else _sum_finish
    return Monoid(name, (dtype, dtype), (0.0, 0.0), _sum_absorb, _sum_merge, finish, values=int(name == "mean"))


def _extreme(name, dtype):
    low, high = _INT64 if dtype == "int64" else (-math.inf, math.inf)
    return _plain(name, dtype, *((low, _max) if name == "max" else (high, _min)))


def _arg_extreme(name, dtype):
    low, high = _INT64 if dtype == "int64" else (-math.inf, math.inf)
    start, absorb, merge = (low, _argmax_absorb, _argmax) if name == "argmax" else (high, _argmin_absorb, _argmin)
    # The index of no element at all is the largest, so that any element, even one equal to `start`, comes before it.
    return Monoid(name, (dtype, "int64"), (start, _INT64[1]), absorb, merge, _index, indexed=True)


def _truth_value(name, dtype):
    if name == "any":
        return Monoid(name, ("int64",), (0,), _any_absorb, _or, _truth)
    return Monoid(name, ("int64",), (1,), _all_absorb, _and, _truth)


def _product(name, dtype):
    if dtype in _COMPLEX:
        real = dtype_of(dtype).to_real().name
        return Monoid(name, (real, real), (1.0, 0.0), _complex_mul_absorb, _complex_mul, _complex_parts)
    return _plain(name, dtype, 1 if dtype == "int64" else 1.0, _mul)


MONOIDS = {
    "sum": _sum, "mean": _sum, "max": _extreme, "min": _extreme, "argmax": _arg_extreme, "argmin": _arg_extreme,
    "any": _truth_value, "all": _truth_value, "prod": _product,
}


def folds(name: str, dtype: str) -> bool:
    """Whether there is the reduction ``name`` in compute dtype ``dtype``: integers have no mean, complex numbers no order.

    >>> folds("sum", "complex64"), folds("max", "complex64"), folds("mean", "int64")
    (True, False, False)
    """
    if dtype in _COMPLEX:
        return name in ("sum", "mean", "prod")
    return name in MONOIDS and dtype in ("float32", "float64", "int64") and (name, dtype) != ("mean", "int64")


@cache
def monoid(name: str, dtype: str) -> Monoid:
    """The reduction ``name`` in compute dtype ``dtype`` (float32, float64, int64; sum, mean and prod also complex).

    ``any`` and ``all`` fold truth values: load the operand as bool, or map it with ``x != 0``. ``mean`` takes the count
    by value. An empty row gives the identity.

    Raises:
        KernelError: no such reduction, or not in that dtype.
    """
    if not folds(name, dtype):
        raise KernelError(f"reduce: no {name} in {dtype}; there are {', '.join(MONOIDS)} in float32, float64 and int64 "
                          f"(mean: floating), sum, mean and prod in complex dtypes. Hint: integers are summed, and "
                          f"divided elementwise; the moduli of complex numbers have an order.")
    return MONOIDS[name](name, dtype)
