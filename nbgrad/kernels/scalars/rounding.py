"""Rounding, remainders, classification and order: what needs no polynomial."""

# ruff: noqa: F821  (constants: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import ceil, copysign, fabs, fbits, floor, fma, iadd, iand, ibits, ior, ishl, ishr, isub, rint, sqrt, trunc, where
from .constants import BY_DTYPE


# A primitive under its own name is bound by instantiate; these make it a function like the others.
def floor_(x):
    """The largest integer that is not above x."""
    return floor(x)


def ceil_(x):
    """The smallest integer that is not below x."""
    return ceil(x)


def trunc_(x):
    """x without its fraction."""
    return trunc(x)


def round_(x):
    """Half to even."""
    return rint(x)


def sqrt_(x):
    """The square root; NaN below 0."""
    return sqrt(x)


# NOTE [Numbers of half types]: what a half type would store, as a number of float32. kernels/convert.py has the same rounding for
# the bits in memory; going there and back takes longer in loops that keep the number. That both agree on numbers of all exponents
# and on ties is decided by tests/kernels/test_scalars.py.
def nearest_float16(x):
    """x rounded to a number that float16 has: half to even, of a float32."""
    size = fabs(x)
    bits = ibits(size)
    normal = fbits(iand(iadd(iadd(bits, 0xFFF), iand(ishr(bits, 13), 1)), -0x2000))
    # Adding 0.5 aligns the last bit of the sum with that of the smallest numbers.
    near = where(size < 6.103515625e-05, (size + 0.5) - 0.5, normal)
    near = where(size >= 65520.0, fbits(0x7F800000), near)
    return copysign(where(x != x, x, near), x)


def nearest_bfloat16(x):
    """x rounded to a number that bfloat16 has: half to even, of a float32."""
    bits = ibits(x)
    return where(x != x, x, fbits(iand(iadd(iadd(bits, 0x7FFF), iand(ishr(bits, 16), 1)), -0x10000)))


def fabs_(x):
    """The absolute value: the sign bit cleared."""
    return fabs(x)


def copysign_(x, y):
    """The magnitude of x with the sign bit of y."""
    return copysign(x, y)


def hypot(x, y):
    """sqrt(x**2 + y**2) without overflow: the greater one times the root of 1 + ratio**2; infinite where either is."""
    a, b = fabs(x), fabs(y)
    big, small = where(a > b, a, b), where(a > b, b, a)
    ratio = where(big == 0.0, small, small / big)  # small is 0 there, or NaN
    return where((a == INF) | (b == INF), INF, big * sqrt(fma(ratio, ratio, 1.0)))


def over_square(x, y):
    """y / (x**2 + y**2), without overflow on the way; 0 at 0 and at infinity."""
    a, b = fabs(x), fabs(y)
    big = where(a > b, a, b)
    scale = 1.0 / where(big > SMALLEST_NORMAL, big, SMALLEST_NORMAL)
    u, v = x * scale, y * scale
    value = v / fma(u, u, v * v) * scale
    return where((x == x) & ((big == 0.0) | (big == INF)), 0.0, value)


def rsqrt(x):
    """1 / sqrt x: two roundings."""
    return 1.0 / sqrt(x)


def isnan(x):
    """Whether x is NaN, which alone differs from itself."""
    return x != x


def isinf(x):
    """Whether x is an infinity of either sign."""
    return fabs(x) == INF


def isfinite(x):
    """Whether x is neither infinite nor NaN."""
    return fabs(x) < INF


def sign(x):
    """-1, 0 or 1; 0 for NaN, as torch."""
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, 0.0))


def maximum(x, y):
    """The larger; NaN if either is."""
    return where((x > y) | (x != x), x, y)


def minimum(x, y):
    """The smaller; NaN if either is."""
    return where((x < y) | (x != x), x, y)


def quotient_is_huge(x, y):
    """True where ``fmod``, ``remainder`` and ``floor_divide`` are wrong: the quotient has more digits than a float."""
    a, b = fabs(x), fabs(y)
    return (b > 0.0) & (a < INF) & (a >= b * QUOTIENT_MAX)


def remainder_of_magnitudes(a, b):
    """a mod b for 0 <= a < QUOTIENT_MAX b: exact, for the quotient is off by one at most, and too large."""
    r = fma(-trunc(a / b), b, a)
    r = where(r < 0.0, r + b, r)
    return where(a < b, a, r)  # also where b is infinite


def fmod(x, y):
    """The remainder of the truncated quotient, with the sign of x; exact."""
    return copysign(remainder_of_magnitudes(fabs(x), fabs(y)), x)


def fmod_precise(x, y):
    """fmod on scalars, everywhere: long division, QUOTIENT_MAX at a time."""
    a, b = fabs(x), fabs(y)
    if not quotient_is_huge(x, y):
        return fmod(x, y)
    divisor = b
    while a >= divisor * QUOTIENT_MAX:
        divisor *= QUOTIENT_MAX
    while divisor > b:
        a = remainder_of_magnitudes(a, divisor)
        divisor /= QUOTIENT_MAX
    return copysign(remainder_of_magnitudes(a, b), x)


def with_sign_of_divisor(m, y):
    """A truncated remainder made a floored one: Python's rule."""
    return where((m != 0.0) & ((m < 0.0) != (y < 0.0)), m + y, m)


def remainder(x, y):
    """The remainder of the floored quotient, with the sign of y."""
    return with_sign_of_divisor(fmod(x, y), y)


def remainder_precise(x, y):
    """remainder on scalars, everywhere."""
    return with_sign_of_divisor(fmod_precise(x, y), y)


def floored_quotient(m, x, y):
    """floor(x / y), given m = fmod(x, y); x / y itself where y is 0.

    (x - m) / y is a whole number but for rounding: the nearest whole number is taken.
    """
    q = (x - m) / y
    q = where((m != 0.0) & ((m < 0.0) != (y < 0.0)), q - 1.0, q)
    below = floor(q)
    whole = where(q - below > 0.5, below + 1.0, below)
    whole = where(q == 0.0, copysign(0.0, x / y), whole)
    return where(y == 0.0, x / y, whole)


def floor_divide(x, y):
    """The floored quotient, as torch rounds it."""
    return floored_quotient(fmod(x, y), x, y)


def floor_divide_precise(x, y):
    """floor_divide on scalars, everywhere."""
    return floored_quotient(fmod_precise(x, y), x, y)


def trunc_divide(x, y):
    """The quotient without its fraction, as torch rounds it."""
    return trunc(x / y)


# ---- neighbours, significands and exponents ---------------------------------------------------------------------------


def nextafter(x, y):
    """The next number after x in the direction of y: one step of the bits, which are in the order of the magnitudes."""
    i = ibits(x)
    grows = ((y > x) & (x > 0.0)) | ((y < x) & (x < 0.0))
    value = fbits(where(grows, iadd(i, 1), isub(i, 1)))
    value = where(x == 0.0, copysign(fbits(ior(iand(i, 0), 1)), y), value)
    return where((x != x) | (y != y), x + y, where(x == y, y, value))


def binary_exponent(x):
    """e of x = m 2**e with 1/2 <= |m| < 1; 0 for 0, infinities and NaN."""
    a = fabs(x)
    is_tiny = a < SMALLEST_NORMAL
    k = isub(ishr(ibits(where(is_tiny, a * GROW, a)), MANTISSA_BITS), EXPONENT_BIAS - 1)
    e = fbits(iadd(k, ROUND_BITS)) - where(is_tiny, ROUND_AND_GROW, ROUND)
    return where((a > 0.0) & (a < INF), e, 0.0)


def limited(n):
    """n moved to where 2**n is a normal number."""
    least, most = 3.0 - EXP2_MAX, EXP2_MAX - 2.0
    return where(n < least, least, where(n > most, most, n))


def power_of_two(n):
    """2**n for a whole number n that is ``limited``."""
    return fbits(ishl(iadd(isub(ibits(n + ROUND), ROUND_BITS), EXPONENT_BIAS), MANTISSA_BITS))


def ldexp(x, n):
    """x * 2**n for a whole number n: by up to three factors, since 2**n alone may be out of range where the result is not."""
    whole = rint(where(n == n, n, 0.0))
    first = limited(whole)
    second = limited(whole - first)
    third = limited(whole - first - second)
    value = x * power_of_two(first) * power_of_two(second) * power_of_two(third)
    return where(n == n, value, n)


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
