"""Relatives of the error function, gamma functions, Bessel functions, the Hurwitz zeta function and sinc.

Branch-free but for ``zeta_precise``, see NOTE [Guards]; tests/kernels/test_special.py
measures how far each is from the truth.
"""

# ruff: noqa: F821  (constants and polynomials: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import copysign, fabs, floor, fma, ibits, isub, rint, sqrt, where
from .constants import BY_DTYPE
from .exponential import exp, exp_in_range
from .logarithm import log, log_in_range
from .power import pow_
from .trigonometric import cos, sin, tan

# ---- the error function's relatives --------------------------------------------------------------------------------------


def erfcx_quotient(a):
    """(a - 4) / (a + 4), with what the roundings lose put back: the polynomial of it is steep (4.3 -> 2.6 ulp)."""
    difference, total = a - 4.0, a + 4.0
    reciprocal = 1.0 / total
    q = difference * reciprocal
    lost = (a - (difference + 4.0)) - q * (a - (total - 4.0))
    return fma(fma(-q, total, difference) + lost, reciprocal, q)


def erfcx_positive(a):
    """e**(a**2) erfc(a) for a >= 0, by a polynomial of (a - 4) / (a + 4) over 1 + 2 a.

    Source: M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x", 1981.
    """
    bounded = where(a < BIG, a, BIG)
    value = erfcx_scaled(erfcx_quotient(bounded)) / fma(2.0, bounded, 1.0)
    return where(a < BIG, value, 0.5 * erfcx_scaled(1.0) / a)


def exp_of_square(a, sign):
    """e**(sign a**2): what a * a loses is put back to first order."""
    square = a * a
    lost = fma(a, a, -square)
    power = exp(sign * square)
    return where((power > 0.0) & (power < INF), fma(power, sign * lost, power), power)


def erfc(x):
    """1 - erf(x), to full relative precision for large x."""
    a = fabs(x)
    bounded = where(a > ERFC_ZERO, ERFC_ZERO, a)
    tail = exp_of_square(bounded, -1.0) * erfcx_positive(bounded)
    return where(x < 0.0, 2.0 - tail, tail)


def erfc_in_range(x):
    """``erfc`` of |x| <= 9, the same bits."""
    a = fabs(x)
    square = a * a
    power = exp_in_range(-square)
    tail = fma(power, -fma(a, a, -square), power) * (erfcx_scaled(erfcx_quotient(a)) / fma(2.0, a, 1.0))
    return where(x < 0.0, 2.0 - tail, tail)


def erfc_leaves_range(x):
    """Negative where ``erfc_in_range`` is wrong, and for NaN."""
    return isub(ibits(9.0), ibits(fabs(x)))


def erfcx(x):
    """e**(x**2) erfc(x)."""
    value = erfcx_positive(fabs(x))
    return where(x < 0.0, 2.0 * exp_of_square(x, 1.0) - value, value)


def erfinv_magnitude(x, w):
    """erfinv(x) for 0 <= x <= 1 with w = -log(1 - x**2), which may be known better than x is."""
    s = sqrt(w)
    far = where(s < 4.0, erfinv_middle(s - 3.125), erfinv_far(s - 5.125))
    ratio = where(w < 5.0, erfinv_near(w - 2.5), far)
    return where(s < 6.25, x * ratio, s * erfinv_tail(1.0 / where(s < 6.25, 6.25, s) - 0.1))


def erfinv(x):
    """The number whose error function is x; infinite at -1 and 1, NaN beyond."""
    a = fabs(x)
    inside = where(a < 1.0, a, 0.0)
    value = copysign(erfinv_magnitude(inside, -log((1.0 - inside) * (1.0 + inside))), x)
    return where(a < 1.0, value, where(a == 1.0, copysign(INF, x), NAN))


def erfinv_in_range(x):
    """``erfinv`` of |x| <= 0.996, where one polynomial does, the same bits."""
    a = fabs(x)
    return copysign(a * erfinv_near(-log_in_range((1.0 - a) * (1.0 + a)) - 2.5), x)


def erfinv_leaves_range(x):
    """Negative where ``erfinv_in_range`` is wrong, and for NaN."""
    return isub(ibits(0.996), ibits(fabs(x)))


def ndtri(x):
    """The number below which a standard normal variable is with probability x: -inf at 0, inf at 1, NaN beyond."""
    is_inside = (x > 0.0) & (x < 1.0)
    p = where(is_inside, x, 0.5)
    least = where(p < 0.5, p, 1.0 - p)
    value = SQRT2 * copysign(erfinv_magnitude(1.0 - 2.0 * least, -log(4.0 * least * (1.0 - least))), p - 0.5)
    return where(is_inside, value, where(x == 0.0, -INF, where(x == 1.0, INF, NAN)))


# ---- gamma functions ---------------------------------------------------------------------------------------------------


def from_integer(x):
    """x less the nearest integer: exact, and of the same sine and tangent of pi x but for the sine's sign."""
    return x - rint(x)


def lgamma_large(x):
    """log gamma(x) for x >= 8: Stirling's series."""
    return (x - 0.5) * (log(x) - 1.0) + (HALF_LOG_2PI_LESS_HALF + stirling(1.0 / (x * x)) / x)


def lgamma_small(x):
    """log gamma(x) for 0 < x < 8: moved into [1.5, 2.5) by factors, whose logarithm is added."""
    y, product = x, 1.0
    for _ in range(6):
        is_above = y >= 2.5
        y = where(is_above, y - 1.0, y)
        product = where(is_above, product * y, product)
    for _ in range(2):
        is_below = y < 1.5
        product = where(is_below, product * y, product)
        y = where(is_below, y + 1.0, y)
    t = where(x < 0.5, x, where(x < 1.5, x - 1.0, y - 2.0))  # exact: y may be rounded
    moved = log(product)
    return fma(t, lgamma_middle(t), where(x < 1.5, -moved, moved))


def lgamma(x):
    """The logarithm of the magnitude of the gamma function; infinite at 0 and the negative integers.

    Below 0: gamma(x) gamma(-x) = -pi / (x sin(pi x)).
    """
    a = fabs(x)
    value = where(a < 8.0, lgamma_small(where(a < 8.0, a, 2.0)), lgamma_large(where(a < 8.0, 8.0, a)))
    value = where(a == INF, INF, value)
    sine = fabs(sin(PI_HI * from_integer(a)))
    reflected = LOG_PI - log(a * sine) - value
    reflected = where(sine == 0.0, INF, where(a < TINY, value, reflected))
    return where(x < 0.0, where(a == INF, INF, reflected), value)


def digamma_positive(x):
    """The derivative of log gamma for x > 0: by recurrence at 8 or more, by its asymptotic series there."""
    y, numerator, denominator = x, 0.0, 1.0
    for _ in range(8):
        is_small = y < 8.0
        numerator = where(is_small, fma(numerator, y, denominator), numerator)
        denominator = where(is_small, denominator * y, denominator)
        y = where(is_small, y + 1.0, y)
    z = 1.0 / (y * y)
    return log(y) - 0.5 / y - z * digamma_tail(z) - numerator / denominator


def digamma(x):
    """The derivative of log gamma: -inf at 0 (inf at -0), NaN at the negative integers, as torch."""
    below = x <= 0.0
    value = digamma_positive(where(below, 1.0 - x, where(x == INF, 8.0, x)))
    r = from_integer(x)
    value = where(below, value - PI_HI / tan(PI_HI * where(below, r, 0.25)), value)
    value = where(below & (r == 0.0), NAN, value)
    return where(x == 0.0, copysign(INF, -x), where(x == INF, INF, value))


def trigamma_positive(x):
    """The second derivative of log gamma for x > 0."""
    y, total = x, 0.0
    for _ in range(8):
        is_small = y < 8.0
        total = total + where(is_small, 1.0 / (y * y), 0.0)
        y = where(is_small, y + 1.0, y)
    z = 1.0 / (y * y)
    return (1.0 / y + 0.5 * z + z / y * trigamma_tail(z)) + total


def trigamma(x):
    """The second derivative of log gamma; infinite at 0 and the negative integers."""
    below = x < 0.5
    value = trigamma_positive(where(below, 1.0 - x, x))
    sine = sin(PI_HI * where(below, from_integer(x), 0.5))
    ratio = PI_HI / sine
    return where(below, ratio * ratio - value, value)


def zeta_rest(x, y):
    """The sum from y on, by Euler and Maclaurin: the integral, half of the first term, and eight terms of the series.

    Each of those is the one before times (x + 2k - 1) (x + 2k) / y**2 and the ratio of B_2k / (2k)! to the one before.
    """
    z = 1.0 / (y * y)
    series = 1.0 - 0.025329132 * (x + 13.0) * (x + 14.0) * z
    series = 1.0 - 0.025325610907304 * (x + 11.0) * (x + 12.0) * z * series
    series = 1.0 - 0.0253114682543254 * (x + 9.0) * (x + 10.0) * z * series
    series = 1.0 - 0.025252525252525252 * (x + 7.0) * (x + 8.0) * z * series
    series = 1.0 - 0.025 * (x + 5.0) * (x + 6.0) * z * series
    series = 1.0 - 0.023809523809523808 * (x + 3.0) * (x + 4.0) * z * series
    series = 1.0 - 0.016666666666666666 * (x + 1.0) * (x + 2.0) * z * series
    return pow_(y, -x) * (y / (x - 1.0) + 0.5 + 0.08333333333333333 * x / y * series)


def zeta_at_the_ends(x, q, value):
    """``value`` for x > 1 and q that is no pole; what the zeta function is elsewhere."""
    is_pole = (q <= 0.0) & (floor(q) == q)
    value = where(is_pole, INF, where((q < 0.0) & (floor(x) != x), NAN, value))
    return where(x == 1.0, INF, where(x < 1.0, NAN, where(q == INF, 0.0, value)))


def zeta(x, q):
    """The Hurwitz zeta function, sum over k of (k + q)**-x, for x > 1: ten terms and the rest.

    NaN for x < 1 and for q < 0 unless x is whole; infinite for x = 1 and at q = 0, -1, ... Source: Abramowitz and Stegun, 23.2.
    """
    y, total = q, 0.0
    for _ in range(10):
        total = total + pow_(y, -x)
        y = y + 1.0
    return zeta_at_the_ends(x, q, total + zeta_rest(x, y))


def zeta_is_far(x, q):
    """True where ten terms do not lead to positive numbers of some size."""
    return q < 0.0


def zeta_precise(x, q):
    """zeta on scalars, everywhere: as many terms as it takes."""
    y, total, steps = q, 0.0 * q, 0
    while (y < 10.0) & (steps < 100000):
        total = total + pow_(y, -x)
        y = y + 1.0
        steps = steps + 1
    return where(q < 0.0, zeta_at_the_ends(x, q, total + zeta_rest(x, y)), zeta(x, q))


# ---- the sine over its argument -----------------------------------------------------------------------------------------


def turned(x, value):
    """``value`` at x less the nearest integer, as the sine and cosine of pi x have it: negative for odd integers."""
    whole = rint(x)
    return value * (1.0 - 2.0 * fabs(whole - 2.0 * rint(0.5 * whole)))


def sinc(x):
    """sin(pi x) / (pi x); 1 at 0, and exactly 0 at the other integers."""
    value = turned(x, sin(PI_HI * from_integer(x))) / (PI_HI * x)
    return where(x == 0.0, 1.0, where(fabs(x) == INF, 0.0, value))


def sinc_slope(x):
    """The derivative of sinc, (cos(pi x) - sinc(x)) / x; by its power series near 0, where that is a difference of equals."""
    is_near = fabs(x) < 0.5
    near, far = where(is_near, x, 0.0), where(is_near, 1.0, x)
    square, series, k = PI_HI * near * (PI_HI * near), 1.0, 9.0
    for _ in range(9):  # the ratio of neighbouring terms is -square / (2 k (2 k + 3))
        series = 1.0 - square * series * (0.5 / (k * (2.0 * k + 3.0)))
        k = k - 1.0
    beyond = where(fabs(far) == INF, 0.0, (turned(far, cos(PI_HI * from_integer(far))) - sinc(far)) / far)
    return where(is_near, -PI_HI * PI_HI / 3.0 * near * series, beyond)


# ---- modified Bessel functions -----------------------------------------------------------------------------------------


def i0e(x):
    """e**-|x| I_0(x): polynomials of x**2 up to 8 and of 1 / x beyond."""
    a = fabs(x)
    near, far = where(a < 8.0, a, 8.0), where(a < 8.0, 8.0, a)
    eighth = 0.125 * near
    return where(a < 8.0, exp(-near) * i0_near(eighth * eighth), i0_far(8.0 / far) / sqrt(far))


def i1e(x):
    """e**-|x| I_1(x)."""
    a = fabs(x)
    near, far = where(a < 8.0, a, 8.0), where(a < 8.0, 8.0, a)
    eighth = 0.125 * near
    value = where(a < 8.0, exp(-near) * near * i1_near(eighth * eighth), i1_far(8.0 / far) / sqrt(far))
    return copysign(value, x)


def i0(x):
    """The modified Bessel function of order 0; e**|x| in two factors, which overflow no sooner than the result."""
    a = fabs(x)
    near, far = where(a < 8.0, a, 8.0), where(a < 8.0, 8.0, where(a == INF, 2000.0, a))
    eighth, root = 0.125 * near, exp(0.5 * far)
    return where(a < 8.0, i0_near(eighth * eighth), where(a == INF, INF, root * (i0_far(8.0 / far) / sqrt(far)) * root))


def i1(x):
    """The modified Bessel function of order 1."""
    a = fabs(x)
    near, far = where(a < 8.0, a, 8.0), where(a < 8.0, 8.0, where(a == INF, 2000.0, a))
    eighth, root = 0.125 * near, exp(0.5 * far)
    value = where(a < 8.0, near * i1_near(eighth * eighth), where(a == INF, INF, root * (i1_far(8.0 / far) / sqrt(far)) * root))
    return copysign(value, x)


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
