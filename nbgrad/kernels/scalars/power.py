"""pow: the logarithm to base 2 in two words, times y, and 2 to the power of that."""

# ruff: noqa: F821  (constants and polynomials: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import fabs, fma, ibits, rint, where
from .constants import BY_DTYPE
from .exponential import scale
from .logarithm import split_log


def log2_in_two_words(a):
    """log2 a as an unevaluated sum of two floats, for a > 0, to some 2**-10 of an ulp.

    Source: log(1 + f) = s (2 + 2/3 z + z**2 T(z)), s = f / (2 + f), z = s**2; all but z**2 T(z) in two words.
    """
    k, f = split_log(a)
    d = f + 2.0
    d_lo = f - (d - 2.0)
    reciprocal = 1.0 / d
    s = f * reciprocal
    s_lo = fma(-s, d_lo, fma(-s, d, f)) * reciprocal
    z = s * s
    z_lo = fma(2.0 * s, s_lo, fma(s, s, -z))
    w = z * THIRD2_HI
    w_lo = fma(z * z, pow_tail(z), fma(z_lo, THIRD2_HI, fma(z, THIRD2_LO, fma(z, THIRD2_HI, -w))))
    u = 2.0 + w
    u_lo = (w - (u - 2.0)) + w_lo
    p = s * u
    p_lo = fma(s, u, -p) + fma(s, u_lo, s_lo * u)
    q = p * LOG2E_HI
    q_lo = fma(p, LOG2E_LO, fma(p, LOG2E_HI, -q)) + p_lo * LOG2E_HI
    head = k + q
    return head, (q - (head - k)) + q_lo


def pow_magnitude(a, y):
    """a**y for a > 0: 2**(y log2 a), the exponent carried in two words."""
    head, tail = log2_in_two_words(a)
    e = y * head
    e_lo = where(fabs(e) < -EXP2_MIN, fma(y, tail, fma(y, head, -e)), 0.0)
    e = where(e > EXP2_MAX, EXP2_MAX, where(e < EXP2_MIN, EXP2_MIN, e))
    shifted = e + ROUND
    f = (e - (shifted - ROUND)) + e_lo
    r = fma(f, LN2_HI, f * LN2_LO)
    return scale(fma(r * r, exp_tail(r), r), ibits(shifted))


def pow_(x, y):
    """x**y with the special cases of C99 (annex F): 1**y = x**0 = 1 even for NaN, signs by the parity of y."""
    a = fabs(x)
    value = pow_magnitude(a, y)
    # |x| is 0 or inf: one of them is below 1, and so decides with the sign of y.
    value = where((a == 0.0) | (a == INF), where((a < 1.0) == (y < 0.0), INF, 0.0), value)
    value = where(a == 1.0, 1.0, value)
    broken, half_broken = rint(y) != y, rint(0.5 * y) != 0.5 * y
    value = where((broken < half_broken) & (ibits(x) < 0), -value, value)  # y is odd, and x has a sign
    value = where(broken & (x < 0.0) & (a < INF), NAN, value)
    value = where((x != x) | (y != y), x + y, value)
    return where((x == 1.0) | (y == 0.0), 1.0, value)


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
