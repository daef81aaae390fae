"""sin, cos, tan and their inverses.

x = n pi / 2 + r with |r| <= pi / 4: three parts of pi / 2 are subtracted with fma (Cody and Waite), the first exactly,
the others with one rounding each. Beyond ``ANGLE_MAX`` that no longer suffices: ``angle_is_huge`` says so, and the
``*_precise`` functions multiply by enough bits of 2 / pi in integer digits (Payne and Hanek). They branch, and work on
scalars only.
"""

# ruff: noqa: F821  (constants and polynomials: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import copysign, fabs, fbits, fma, iand, ibits, ishl, ishr, isub, ixor, sqrt, to_float, where, widen
from .constants import BY_DTYPE


def reduce_angle(x):
    """``(n, r)``: an integer, of which the low bits are right, and the rest."""
    shifted = fma(x, TWO_OVER_PI, ROUND)
    k = shifted - ROUND
    return ibits(shifted), fma(-k, HALF_PI_LO, fma(-k, HALF_PI_MID, fma(-k, HALF_PI_HI, x)))


def reduce_angle_finely(x):
    """``reduce_angle`` with the rest in two words, ``(n, r, r_lo)``: the tangent magnifies what r loses."""
    shifted = fma(x, TWO_OVER_PI, ROUND)
    k = shifted - ROUND
    first = fma(-k, HALF_PI_HI, x)
    product = k * HALF_PI_MID
    product_lo = fma(k, HALF_PI_MID, -product)
    second = first - product
    shadow = second - first
    lost = (first - (second - shadow)) - (product + shadow)
    tail = fma(-k, HALF_PI_LO, lost - product_lo)
    r = second + tail
    return ibits(shifted), r, tail - (r - second)


def sin_near(r):
    """sin r for |r| <= pi / 4."""
    z = r * r
    return fma(r * z, sin_tail(z), r)


def cos_near(r):
    """cos r for |r| <= pi / 4."""
    z = r * r
    return fma(z * z, cos_tail(z), fma(-0.5, z, 1.0))


def flip_sign(value, n):
    """-value where bit 1 of n is set: each second quadrant."""
    return fbits(ixor(ibits(value), ishl(ishr(n, 1), SIGN_SHIFT)))


def sin_of(n, r):
    """sin(r + n pi / 2)."""
    return flip_sign(where(iand(n, 1) == 0, sin_near(r), cos_near(r)), n)


def cos_of(n, r):
    """cos(r + n pi / 2): the sine a quadrant on."""
    return flip_sign(where(iand(n, 1) == 0, cos_near(r), sin_near(r)), isub(n, -1))


def tan_of(n, r, r_lo):
    """tan r = t, and -1 / t a quadrant on; a quotient of sin and cos would round once more."""
    z = r * r
    t = r + fma(r * z, tan_tail(z), fma(r_lo, z, r_lo))
    even = iand(n, 1) == 0
    return where(even, t, -1.0) / where(even, 1.0, t)


def sin(x):
    """sin x for |x| < ANGLE_MAX."""
    n, r = reduce_angle(x)
    return where(x == 0.0, x, sin_of(n, r))


def cos(x):
    """cos x for |x| < ANGLE_MAX."""
    n, r = reduce_angle(x)
    return cos_of(n, r)


def tan(x):
    """tan x for |x| < ANGLE_MAX."""
    n, r, r_lo = reduce_angle_finely(x)
    return where(x == 0.0, x, tan_of(n, r, r_lo))


def angle_is_huge(x):
    """True where the fast functions are wrong (an infinite angle is NaN for both)."""
    return (fabs(x) > ANGLE_MAX) & (fabs(x) < INF)


def significand_digits(x):
    """``(d0, d1, d2, d3, q)`` with |x| = (d0 + d1 B + d2 B**2 + d3 B**3) B**q, B = 2**24, on scalars."""
    bits = widen(ibits(fabs(x)))
    shift = (bits >> MANTISSA_BITS) - (EXPONENT_BIAS + MANTISSA_BITS)
    q = shift // LIMB_BITS
    s = shift - q * LIMB_BITS
    m = (bits & (2**MANTISSA_BITS - 1)) | 2**MANTISSA_BITS
    low = (m & LIMB_MASK) << s
    high = ((m >> LIMB_BITS) << s) + (low >> LIMB_BITS)
    return low & LIMB_MASK, high & LIMB_MASK, (high >> LIMB_BITS) & LIMB_MASK, high >> 2 * LIMB_BITS, q


def reduce_huge_angle(x):
    """``reduce_angle_finely`` for ANGLE_MAX < |x| < inf, on scalars.

    The digit of weight B**-i of x 2 / pi is a sum of products d[j] L[q + j + i], L those of 2 / pi. Digits of weight
    B and above are multiples of 2**24 quadrants and never computed; the sum starts at the lowest, in two words.
    """
    d0, d1, d2, d3, q = significand_digits(x)
    carry, head, tail, weight = 0, 0.0, 0.0, LOWEST_WEIGHT
    for i in range(DIGITS, -1, -1):
        at = q + i + 1  # the table starts with two zeros: digits -1 and 0
        column = carry + (
            d0 * TWO_OVER_PI_LIMBS[at]
            + d1 * TWO_OVER_PI_LIMBS[at + 1]
            + d2 * TWO_OVER_PI_LIMBS[at + 2]
            + d3 * TWO_OVER_PI_LIMBS[at + 3]
        )
        digit = column & LIMB_MASK
        carry = column >> LIMB_BITS
        if i == 1 and digit > LIMB_MASK // 2:  # round to the nearest quadrant
            digit -= LIMB_MASK + 1
            carry += 1
        if i > 0:
            term = to_float(digit) * weight
            total = term + head
            tail += head - (total - term)
            head = total
            weight *= LIMB_BASE
    product = head * HALF_PI_HI
    product_lo = fma(head, HALF_PI_HI, -product) + fma(head, HALF_PI_MID, tail * HALF_PI_HI)
    r = product + product_lo
    r_lo = product_lo - (r - product)
    return (-column, -r, -r_lo) if x < 0.0 else (column, r, r_lo)


def sin_precise(x):
    """sin x on scalars, everywhere."""
    if angle_is_huge(x):
        n, r, _ = reduce_huge_angle(x)
        return sin_of(n, r)
    return sin(x)


def cos_precise(x):
    """cos x on scalars, everywhere."""
    if angle_is_huge(x):
        n, r, _ = reduce_huge_angle(x)
        return cos_of(n, r)
    return cos(x)


def tan_precise(x):
    """tan x on scalars, everywhere."""
    if angle_is_huge(x):
        n, r, r_lo = reduce_huge_angle(x)
        return tan_of(n, r, r_lo)
    return tan(x)


def asin_near(x, z):
    """asin x for |x| below ASIN_NEAR, from z = x**2."""
    return fma(x * z, asin_tail(z), x)


def asin(x):
    """asin x; beyond ASIN_NEAR by pi/2 - 2 asin(sqrt((1 - |x|) / 2))."""
    a = fabs(x)
    near = a < ASIN_NEAR
    z = where(near, a * a, fma(a, -0.5, 0.5))
    y = asin_near(where(near, a, sqrt(z)), z)
    return copysign(where(near, y, HALF_PI_HI - (y + y - HALF_PI_MID)), x)


def acos(x):
    """acos x; beyond ASIN_NEAR by 2 asin(sqrt((1 - |x|) / 2)), and its distance from pi for negative x."""
    a = fabs(x)
    near = a < ASIN_NEAR
    z = where(near, a * a, fma(a, -0.5, 0.5))
    y = asin_near(where(near, x, sqrt(z)), z)
    far = where(x < 0.0, PI_HI - (y + y - PI_LO), y + y)
    return where(near, HALF_PI_HI - (y - HALF_PI_MID), far)


def atan_near(t):
    """atan t for |t| <= tan(pi / 8)."""
    z = t * t
    return fma(t * z, atan_tail(z), t)


def atan(x):
    """atan x: one division moves every range to |t| <= tan(pi / 8)."""
    a = fabs(x)
    low, high = a < TAN_EIGHTH_PI, a > TAN_3_EIGHTH_PI
    middle = where(high, -1.0, a - 1.0) / where(high, a, a + 1.0)
    t = where(low, a, middle)
    y = where(high, HALF_PI_HI, QUARTER_PI_HI) + (atan_near(t) + where(high, HALF_PI_MID, QUARTER_PI_LO))
    return copysign(where(low, atan_near(t), y), x)


def atan2(y, x):
    """The angle of (x, y), with C99's special cases: the quotient is taken in the octant next to an axis."""
    a, b = fabs(x), fabs(y)
    swapped = b > a
    top, bottom = where(swapped, a, b), where(swapped, b, a)
    # The sum below must not overflow, and a quotient of two infinities, or of two zeros, is 1 or 0.
    shrink = where(bottom > HUGE, 0.25, 1.0)
    both_infinite = top == INF
    top = where(both_infinite, 1.0, top * shrink)
    bottom = where(both_infinite, 1.0, where(bottom == 0.0, 1.0, bottom * shrink))
    middle = top > TAN_EIGHTH_PI * bottom
    t = where(middle, top - bottom, top) / where(middle, top + bottom, bottom)
    angle = atan_near(t)
    angle = where(middle, QUARTER_PI_HI + (angle + QUARTER_PI_LO), angle)
    # Rounded once, and beside the second axis the same from both sides: x is 0.0 or -0.0.
    left = ibits(x) < 0
    axis = where(swapped, HALF_PI_HI, where(left, PI_HI, 0.0))
    rest = where(swapped, HALF_PI_MID, where(left, PI_LO, 0.0))
    angle = axis + (where(swapped ^ left, -angle, angle) + rest)
    return where((x != x) | (y != y), x + y, copysign(angle, y))


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
