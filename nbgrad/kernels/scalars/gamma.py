"""The incomplete gamma functions over the whole one, P(a, x) and Q(a, x) = 1 - P(a, x); for float64, which operations compute in.

Inside of a box of orders and arguments they are branch-free: sums and fractions of a fixed number of terms, as quotients whose
numerator and denominator are found together, so that each has one division. Everywhere else as many terms as it takes, one element
at a time: see NOTE [Guards].
"""

# ruff: noqa: F821  (constants and polynomials: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import copysign, fabs, sqrt, where
from .constants import BY_DTYPE
from .exponential import exp, expm1
from .logarithm import log, log1p
from .special import erfc, lgamma_large, lgamma_small


def lgamma_of_one_and(a):
    """log gamma(1 + a) for a >= 0, to full relative precision where it is tiny."""
    near = where(a < 0.5, a, 0.5)
    y = 1.0 + a
    far = where(y < 8.0, lgamma_small(where(y < 8.0, y, 2.0)), lgamma_large(where(y < 8.0, 8.0, y)))
    return where(a < 0.5, near * lgamma_middle(near) - log1p(near), far)


def lower_sum(a, x):
    """The sum over n of x**n / ((a + 1) ... (a + n)): P(a, x) gamma(a + 1) e**x / x**a. Source: DLMF 8.7.1."""
    p, q, b = 1.0, 1.0, a + 48.0
    for _ in range(48):
        q = b * q
        p = q + x * p
        b = b - 1.0
    return p / q


def upper_fraction(a, x):
    """Q(a, x) gamma(a) e**x / x**a by its continued fraction. Source: DLMF 8.9.2, contracted to every second convergent."""
    n, p, q = 64.0, x + (129.0 - a), 1.0
    for _ in range(64):
        p, q = (x + (2.0 * n - 1.0 - a)) * p + n * (a - n) * q, p
        n = n - 1.0
    return q / p


def small_rest(a, x):
    """a times the sum over n >= 1 of (-x)**n / (n! (a + n)) for x <= 2: P(a, x) gamma(a + 1) / x**a - 1. DLMF 8.7.3."""
    total, common, term, n = 0.0 * a, 1.0 + 0.0 * a, 1.0 + 0.0 * x, 1.0
    for _ in range(26):
        term = term * (-x * (1.0 / n))
        b = a + n
        total = total * b + term * common
        common = common * b
        n = n + 1.0
    return a * (total / common)


def lower_gamma(a, x):
    """P(a, x) for 0 < a <= 16, 0 < x <= 10,000."""
    power = exp(a * log(x) - x - lgamma_of_one_and(a))
    is_low = (x < a + 1.0) | (x < 2.0)
    return where(is_low, power * lower_sum(a, where(is_low, x, 1.0)), 1.0 - power * a * upper_fraction(a, where(is_low, 32.0, x)))


def upper_gamma(a, x):
    """Q(a, x) for 0 < a <= 16, 0 < x <= 10,000."""
    logarithm = a * log(x) - lgamma_of_one_and(a)
    power = exp(logarithm - x)
    is_low = (x < a + 1.0) | (x < 2.0)
    low = where(is_low, x, 1.0)
    of_small = -expm1(logarithm) - exp(logarithm) * small_rest(a, where(low < 2.0, low, 1.0))
    below = where(a < 1.0, of_small, 1.0 - power * lower_sum(a, low))
    return where(is_low, below, power * a * upper_fraction(a, where(is_low, 32.0, x)))


def gamma_is_far(a, x):
    """True outside of the box; NaN is inside, and passes through."""
    return (a <= 0.0) | (a > 16.0) | (x <= 0.0) | (x > 10000.0)


# ---- everywhere ----------------------------------------------------------------------------------------------------------


def log_less_itself(a, x):
    """log(1 + d) - d for d = x / a - 1, by r = d / (2 + d) where that is a difference of equals."""
    d = (x - a) / a
    if fabs(d) >= 0.5:
        return log(x / a) - d
    r, total, k = d / (2.0 + d), 0.0, 29.0
    while k > 2.0:
        total = total * r * r + 1.0 / k
        k = k - 2.0
    return 2.0 * r * r * r * total - d * r


def gamma_power(a, x):
    """x**a e**-x / gamma(a) for a > 16: in terms of the distance of x from a, so that no great numbers cancel (Stirling)."""
    z = 1.0 / (a * a)
    stirling = (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z / 1188.0)))) / a
    return sqrt(a / 6.283185307179586) * exp(a * log_less_itself(a, x) - stirling)


def uniform(a, x, upper):
    """Either function for a great a: the error function's complement, and what is left, in powers of 1 / a.

    Source: N. M. Temme, "The asymptotic expansion of the incomplete gamma functions", 1979; DLMF 8.12.
    """
    d = (x - a) / a
    exponent = log_less_itself(a, x)
    exponent = where(exponent > 0.0, 0.0, exponent)
    eta = copysign(sqrt(-2.0 * exponent), d)
    if fabs(eta) < 0.1:
        near = 1.0 / 2835.0 + eta * (-139.0 / 777600.0 + eta * (1.0 / 25515.0))
        correction = -1.0 / 3.0 + eta * (1.0 / 12.0 + eta * (-2.0 / 135.0 + eta * (1.0 / 864.0 + eta * near)))
    else:
        correction = 1.0 / d - 1.0 / eta
    correction = correction - 1.0 / (540.0 * a)
    rest = exp(a * exponent) / sqrt(6.283185307179586 * a) * correction
    sign = where(upper, 1.0, -1.0)
    return 0.5 * erfc(sign * eta * sqrt(a / 2.0)) + sign * rest


def lower_terms(a, x):
    """The sum over n of x**n / (a (a + 1) ... (a + n)), for x < a + 1."""
    term = 1.0 / a
    total, n = term, 1.0
    while (n < 20000.0) & (term > total * 1e-17):
        term = term * x / (a + n)
        total = total + term
        n = n + 1.0
    return total


def upper_steps(a, x):
    """The continued fraction for x >= a + 1, by Lentz's method (W. J. Lentz, 1976)."""
    b = x + 1.0 - a
    c, d = 1e30, 1.0 / b
    value, step, n = d, 0.0, 1.0
    while (n < 20000.0) & (fabs(step - 1.0) >= 4e-16):
        weight = -n * (n - a)
        b = b + 2.0
        d = 1.0 / (weight * d + b)
        c = b + weight / c
        step = d * c
        value = value * step
        n = n + 1.0
    return value


def incomplete_gamma(a, x, upper):
    """P or Q; NaN where they are not defined."""
    at_zero, at_one = where(upper, 1.0, 0.0), where(upper, 0.0, 1.0)
    if not gamma_is_far(a, x):
        return upper_gamma(a, x) if upper else lower_gamma(a, x)
    if not ((a >= 0.0) & (x >= 0.0)):
        return NAN
    if (a == 0.0) | (a == INF) | (x == 0.0) | (x == INF):
        if (a > 0.0) & (x < INF):
            return at_zero
        return at_one if (x > 0.0) & (a < INF) else NAN
    if a > 1e6:
        return uniform(a, x, upper)
    if a <= 16.0:  # x > 10,000
        return at_one
    if x < a + 1.0:
        value = lower_terms(a, x) * gamma_power(a, x)
        return 1.0 - value if upper else value
    value = upper_steps(a, x) * gamma_power(a, x)
    return value if upper else 1.0 - value


def lower_gamma_precise(a, x):
    """P on scalars, everywhere."""
    return incomplete_gamma(a, x, False)


def upper_gamma_precise(a, x):
    """Q on scalars, everywhere."""
    return incomplete_gamma(a, x, True)


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
