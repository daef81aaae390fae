"""exp and its family: x = n ln 2 + r with |r| <= ln 2 / 2, e**x = 2**n (1 + p), p = e**r - 1.

Everything here is branch-free; NaN passes through every clamp, because a comparison with it is false.
"""

# ruff: noqa: F821  (constants and polynomials: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import copysign, fabs, fbits, fma, iadd, iand, ibits, ishl, ishr, isub, where
from .constants import BY_DTYPE
from .logarithm import log1p


def pow2(n):
    """2**n for the exponents of normal numbers; n may have garbage above its low bits."""
    return fbits(ishl(iadd(n, EXPONENT_BIAS), MANTISSA_BITS))


def split_exp(x):
    """``(n, p)`` with e**x = 2**n (1 + p); ln 2 is subtracted in two parts (Cody and Waite), the first exactly.

    The low bits of n are the integer: those of ``x / ln 2 + ROUND``, whose high bits nobody reads.
    """
    shifted = fma(x, LOG2_E, ROUND)
    k = shifted - ROUND
    r = fma(-k, LN2_LO, fma(-k, LN2_HI, x))
    return ibits(shifted), fma(r * r, exp_tail(r), r)


def split_expm1(x):
    """``split_exp`` for x >= 0, with -0.21 < r < 0.49: 2 p + 1 loses digits where r < 0, so n = 1 begins later."""
    shifted = fma(x, LOG2_E, -0.2) + ROUND
    k = shifted - ROUND
    r = fma(-k, LN2_LO, fma(-k, LN2_HI, x))
    return ibits(shifted), fma(r * r, expm1_tail(r), r)


def scale(p, n):
    """(1 + p) 2**n in two factors: one alone would overflow at the top and flush the subnormals at the bottom."""
    half = ishr(n, 1)
    first = pow2(half)
    return fma(first, p, first) * pow2(isub(n, half))


def exp(x):
    """e**x."""
    n, p = split_exp(where(x > EXP_MAX, EXP_MAX, where(x < EXP_MIN, EXP_MIN, x)))
    return scale(p, n)


def exp_in_range(x):
    """e**x where e**-|x| is normal: no clamp, no second factor; the same bits as ``exp``."""
    n, p = split_exp(x)
    power = pow2(n)
    return fma(power, p, power)


def exp_leaves_range(x):
    """Negative where ``exp_in_range`` is wrong, and for NaN."""
    return isub(EXP_NORMAL_BITS, iand(ibits(x), MAGNITUDE_BITS))


def exp2(x):
    """2**x; exact at the integers."""
    y = where(x > EXP2_MAX, EXP2_MAX, where(x < EXP2_MIN, EXP2_MIN, x))
    shifted = y + ROUND
    f = y - (shifted - ROUND)
    r = fma(f, LN2_HI, f * LN2_LO)
    return scale(fma(r * r, exp_tail(r), r), ibits(shifted))


def expm1(x):
    """e**x - 1, without cancellation near 0; computed at half size: 2**n overflows no sooner than the result."""
    n, p = split_exp(where(x > EXPM1_MAX, EXPM1_MAX, where(x < EXPM1_MIN, EXPM1_MIN, x)))
    half = pow2(isub(n, 1))
    y = fma(half, p, half - 0.5)
    return where(fabs(x) < TINY, x, y + y)


def sinh(x):
    """(m + m / (m + 1)) / 2 with m = e**|x| - 1, computed from m / 4, which does not overflow."""
    a = fabs(x)
    n, p = split_expm1(where(a > EXP_MAX, EXP_MAX, a))
    quarter = pow2(isub(n, 2))
    q = fma(quarter, p, quarter - 0.25)
    y = q + q / fma(4.0, q, 1.0)
    return copysign(where(a < TINY, a, y + y), x)


def cosh(x):
    """h + 1 / (4 h) with h = e**|x| / 2."""
    a = fabs(x)
    n, p = split_exp(where(a > EXP_MAX, EXP_MAX, a))
    h = scale(p, isub(n, 1))
    return h + 0.25 / h


def tanh(x):
    """m / (m + 2) with m = e**(2 |x|) - 1: no cancellation near 0, odd, signed zero kept."""
    a = fabs(x)
    clamped = where(a > TANH_ONE, TANH_ONE, a)
    n, p = split_expm1(clamped + clamped)
    power = pow2(n)
    return copysign(tanh_quotient(fma(power, p, power - 1.0)), x)


def exp_of_minus(a):
    """e**-a for a >= 0."""
    n, p = split_exp(-where(a > -EXP_MIN, -EXP_MIN, a))
    return scale(p, n)


def sigmoid(x):
    """1 / (1 + e**-x), from e**-|x|: neither side overflows, and the small one keeps its digits down to subnormals."""
    e = exp_of_minus(fabs(x))
    return where(x < 0.0, e, 1.0) / (1.0 + e)


def softplus(x):
    """log(1 + e**x)."""
    return where(x < 0.0, 0.0, x) + log1p(exp_of_minus(fabs(x)))


def erf(x):
    """1 - e**-Q(|x|); in float64 only from 1 on, and x (1 + P(x**2)) below."""
    a = fabs(x)
    n, p = split_exp(-erf_exponent(where(a > ERF_ONE, ERF_ONE, a)))
    tail = pow2(n)
    return copysign(erf_joined(a, fma(-tail, p, 1.0 - tail)), x)


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
