"""log and its family: x = 2**k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), log x = k ln 2 + f + log_tail(f)."""
# ruff: noqa: F821  (constants and polynomials: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import fabs, fbits, fma, iadd, ibits, ishl, ishr, isub, where
from .tables import BY_DTYPE


def exponent(x):
    """k, an integer, for a normal x > 0: one subtraction on the bits, then the exponent field."""
    return ishr(isub(ibits(x), SQRT_HALF_BITS), MANTISSA_BITS)


def split_log(x):
    """``(k, f)``, floats, with x = 2**k (1 + f); subnormal numbers are scaled first.

    k becomes a float by the inverse of the magic-number rounding; the same subtraction takes off what scaling added.
    """
    tiny = x < SMALLEST_NORMAL
    y = where(tiny, x * GROW, x)
    k = exponent(y)
    f = fbits(isub(ibits(y), ishl(k, MANTISSA_BITS))) - 1.0
    return fbits(iadd(k, ROUND_BITS)) - where(tiny, ROUND_AND_GROW, ROUND), f


def at_the_ends(x, value):
    """``value`` = log x for 0 < x < inf; what a logarithm is elsewhere."""
    return where(x > 0.0, where(x < INF, value, x), where(x == 0.0, -INF, NAN))


def log(x):
    """The natural logarithm."""
    k, f = split_log(x)
    return at_the_ends(x, fma(k, LN2_HI, f + fma(k, LN2_LO, log_tail(f))))


def log2(x):
    """The logarithm to base 2; exact at the powers of two, where f = 0."""
    k, f = split_log(x)
    return at_the_ends(x, k + fma(f, LOG2E_HI, fma(log_tail(f), LOG2E_HI, f * LOG2E_LO)))


def log10(x):
    """The logarithm to base 10; k log10(2) and f log10(e) are added with the rounding error kept (fast two-sum)."""
    k, f = split_log(x)
    large, product = k * LOG10_2_HEAD, f * LOG10E_HI
    rest = fma(log_tail(f), LOG10E_HI, fma(f, LOG10E_HI, -product) + fma(f, LOG10E_LO, k * LOG10_2_TAIL))
    total = large + product
    return at_the_ends(x, total + ((product - (total - large)) + rest))


def log1p(x):
    """log(1 + x): f = x 2**-k + (2**-k - 1) is rounded once, whatever 1 + x loses."""
    u = 1.0 + x
    k = exponent(u)
    shrink = fbits(ishl(isub(EXPONENT_BIAS, k), MANTISSA_BITS))
    f = where(x < BIG, fma(x, shrink, shrink - 1.0), fbits(isub(ibits(u), ishl(k, MANTISSA_BITS))) - 1.0)
    n = fbits(iadd(k, ROUND_BITS)) - ROUND
    y = fma(n, LN2_HI, f + fma(n, LN2_LO, log_tail(f)))
    return where(fabs(x) < TINY, x, at_the_ends(u, y))


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
