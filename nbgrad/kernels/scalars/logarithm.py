"""log and its family: x = 2**k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), log x = k ln 2 + f + log_tail(f)."""

# ruff: noqa: F821  (constants and polynomials: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import fabs, fbits, fma, iadd, ibits, ior, ishl, ishr, isub, where
from .constants import BY_DTYPE


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


def split_normal(x):
    """``split_log`` for normal x > 0."""
    k = exponent(x)
    return fbits(iadd(k, ROUND_BITS)) - ROUND, fbits(isub(ibits(x), ishl(k, MANTISSA_BITS))) - 1.0


def is_not_normal(x):
    """Negative for everything but normal 0 < x < inf: what one difference misses by wrapping around, the other finds."""
    return ior(isub(ibits(x), SMALLEST_BITS), isub(LARGEST_BITS, ibits(x)))


def at_the_ends(x, value):
    """``value`` = log x for 0 < x < inf; what a logarithm is elsewhere."""
    return where(x > 0.0, where(x < INF, value, x), where(x == 0.0, -INF, NAN))


def natural(k, f):
    """log(2**k (1 + f))."""
    return fma(k, LN2_HI, f + fma(k, LN2_LO, log_tail(f)))


def binary(k, f):
    """log2(2**k (1 + f)); exact where f = 0."""
    return k + fma(f, LOG2E_HI, fma(log_tail(f), LOG2E_HI, f * LOG2E_LO))


def decimal(k, f):
    """log10(2**k (1 + f)): k log10(2) and f log10(e) are added with the rounding error kept (fast two-sum)."""
    large, product = k * LOG10_2_HEAD, f * LOG10E_HI
    rest = fma(log_tail(f), LOG10E_HI, fma(f, LOG10E_HI, -product) + fma(f, LOG10E_LO, k * LOG10_2_TAIL))
    total = large + product
    return total + ((product - (total - large)) + rest)


def log(x):
    """The natural logarithm."""
    k, f = split_log(x)
    return at_the_ends(x, natural(k, f))


def log2(x):
    """The logarithm to base 2; exact at the powers of two."""
    k, f = split_log(x)
    return at_the_ends(x, binary(k, f))


def log10(x):
    """The logarithm to base 10."""
    k, f = split_log(x)
    return at_the_ends(x, decimal(k, f))


def log_in_range(x):
    """``log`` of normal x > 0, the same bits."""
    k, f = split_normal(x)
    return natural(k, f)


def log2_in_range(x):
    """``log2`` of normal x > 0, the same bits."""
    k, f = split_normal(x)
    return binary(k, f)


def log10_in_range(x):
    """``log10`` of normal x > 0, the same bits."""
    k, f = split_normal(x)
    return decimal(k, f)


def log1p(x):
    """log(1 + x): f = x 2**-k + (2**-k - 1) is rounded once, whatever 1 + x loses."""
    u = 1.0 + x
    k = exponent(u)
    shrink = fbits(ishl(isub(EXPONENT_BIAS, k), MANTISSA_BITS))
    f = where(x < BIG, fma(x, shrink, shrink - 1.0), fbits(isub(ibits(u), ishl(k, MANTISSA_BITS))) - 1.0)
    n = fbits(iadd(k, ROUND_BITS)) - ROUND
    return where(fabs(x) < TINY, x, at_the_ends(u, natural(n, f)))


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
