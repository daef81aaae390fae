"""The incomplete gamma functions, on arrays in double precision."""
from __future__ import annotations

import math
from functools import cache

import numpy as np

from ..dtypes import result_dtype
from ..errors import DTypeError
from ..interop import values_of
from ..ops.core import composite
from ..ops.expr import scalar
from ..rules import lowering
from .compositions import broadcast_tensors, require_tensors, shared

__all__: list[str] = []

MOST_TERMS = 20_000
LOG_GAMMA, ERFC = (np.frompyfunc(function, 1, 1) for function in (math.lgamma, math.erfc))
EULER = 0.5772156649015329
LARGE, HUGE = 10.0, 1e6         # from where on Stirling's series has all digits; the expansion in powers of 1 / a
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# Of 1 / d - 1 / eta in powers of eta. Source: N. M. Temme, "The asymptotic expansion of the incomplete gamma functions", 1979.
TEMME = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515)


def log_less_itself(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """log(1 + d) - d for d = x / a - 1, by r = d / (2 + d) where that is a difference of equals."""
    d = (x - a) / a
    r = np.where(np.abs(d) < 0.5, d / (2 + d), 0.0)
    total = np.zeros_like(r)
    for k in range(13, -1, -1):
        total = total * r * r + 1 / (2 * k + 3)
    return np.where(np.abs(d) < 0.5, 2 * r * r * r * total - d * r, np.log(x / a) - d)


def factor(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x**a e**-x / gamma(a): where a is large in terms of its distance from x, so that no great numbers cancel."""
    small = np.exp(a * np.log(x) - x - np.asarray(LOG_GAMMA(a), float))
    wide = np.maximum(a, LARGE)
    stirling = sum(c / wide ** (2 * k + 1) for k, c in enumerate(STIRLING))
    large = np.sqrt(wide / (2 * math.pi)) * np.exp(wide * log_less_itself(wide, x) - stirling)
    return np.where(a < LARGE, small, large)


@cache
def zeta_less_one(k: int) -> float:
    """zeta(k) - 1 for k >= 2, by Euler and Maclaurin."""
    n = 60
    tail = n ** (1 - k) / (k - 1) + n ** -k / 2 + k * n ** (-k - 1) / 12 - k * (k + 1) * (k + 2) * n ** (-k - 3) / 720
    return math.fsum([*(m ** -k for m in range(2, n)), tail])


def log_gamma_of_one_and(a: np.ndarray) -> np.ndarray:
    """log gamma(1 + a) for 0 < a < 1, to full relative precision where it is tiny. Source: Abramowitz and Stegun, 6.1.33."""
    terms = np.zeros_like(a)
    for k in range(52, 1, -1):
        terms = a * ((-1) ** k * zeta_less_one(k) / k + terms)
    return a * (1 - EULER + terms) - np.log1p(a)


def upper_of_small(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The upper function for a < 1 and x < a + 1, where it may be tiny: 1 - x**a / gamma(1 + a) without cancellation."""
    power, term, rest, n = a * np.log(x) - log_gamma_of_one_and(a), np.ones_like(x), np.zeros_like(x), 0
    while n < 60:
        n += 1
        term = -term * x / n
        rest = rest + term / (a + n)
    return -np.expm1(power) - np.exp(power) * a * rest


def uniform(a: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray:
    """Either function for a great a: the error function's complement, and what is left, in powers of 1 / a."""
    d = (x - a) / a
    exponent = np.minimum(log_less_itself(a, x), 0.0)
    eta = np.copysign(np.sqrt(-2 * exponent), d)
    near = np.abs(eta) < 0.1
    polynomial = np.polyval(TEMME[::-1], np.where(near, eta, 0.0))
    correction = np.where(near, polynomial, 1 / np.where(near, 1.0, d) - 1 / np.where(near, 1.0, eta)) - 1 / (540 * a)
    rest = np.exp(a * exponent) / np.sqrt(2 * math.pi * a) * correction
    sign = 1 if upper else -1
    return 0.5 * ERFC(sign * eta * np.sqrt(a / 2)).astype(float) + sign * rest


def series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The sum over n of x**n / (a (a + 1) ... (a + n)), for x < a + 1."""
    term = 1 / a
    total, n = term.copy(), 0
    while n < MOST_TERMS and (np.abs(term) > np.abs(total) * 1e-17).any():
        n += 1
        term = term * x / (a + n)
        total = total + term
    return total


def fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Legendre's continued fraction for x >= a + 1, by Lentz's method (W. J. Lentz, 1976)."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    value = d.copy()
    for n in range(1, MOST_TERMS):
        weight, b = -n * (n - a), b + 2
        d, c = 1 / (weight * d + b), b + weight / c
        step = d * c
        value = value * step
        if (np.abs(step - 1) < 4e-16).all():        # further steps would only add up roundings
            break
    return value


def regularised(a: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray:
    """The lower incomplete gamma function over the whole one, or the upper; NaN where they are not defined."""
    out = np.full(a.shape, np.nan)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    below, huge = x < a + 1, a > HUGE
    small = inside & below & (a < 1) & upper
    for chosen, is_upper in ((inside & below & ~huge & ~small, False), (inside & ~below & ~huge, True)):
        if chosen.any():
            p, q = a[chosen], x[chosen]
            value = (fraction if is_upper else series)(p, q) * factor(p, q)
            out[chosen] = value if upper is is_upper else 1 - value
    out[small] = upper_of_small(a[small], x[small])
    out[inside & huge] = uniform(a[inside & huge], x[inside & huge], upper)
    zero = ((x == 0) & (a > 0)) | ((a == np.inf) & (x >= 0) & (x < np.inf))
    one = ((a == 0) & (x > 0)) | ((x == np.inf) & (a >= 0) & (a < np.inf))
    out[zero], out[one] = float(upper), float(not upper)
    return out


@lowering("igamma_pair", "igammac_pair", style="run")
def _incomplete_gamma(op, tensors, attributes):
    a, x = (np.asarray(values_of(t), np.float64) for t in tensors)
    with np.errstate(all="ignore"):
        found = regularised(np.atleast_1d(a), np.atleast_1d(x), op.name == "igammac_pair").reshape(a.shape)
    layout = tensors[0].layout
    return shared(found.astype(layout.descr), tensors[0], layout.dtype)


def pair(name: str, input, other) -> tuple:
    """Both operands in one floating dtype and shape.

    Raises:
        DTypeError: they are not floating.
    """
    require_tensors(name, input, other)
    dtype = input.dtype if input.dtype is other.dtype else result_dtype([(x.dtype, x.ndim) for x in (input, other)])
    if not dtype.is_floating_point:
        raise DTypeError(f"{name}: not defined for {dtype}, expected a floating dtype.")
    return tuple(x if x.dtype is dtype else x.to(dtype) for x in broadcast_tensors(input, other))


def igamma(input, other):
    """The regularised lower incomplete gamma function of order ``input`` at ``other``; differentiable by the second operand.

    Raises:
        DTypeError: not floating. NotSupportedError: from backward by the first operand.
    """
    return scalar.igamma_pair(*pair("igamma", input, other))


def igammac(input, other):
    """The regularised upper incomplete gamma function: 1 - igamma, to full precision where that is small.

    Raises:
        DTypeError: not floating. NotSupportedError: from backward by the first operand.
    """
    return scalar.igammac_pair(*pair("igammac", input, other))


for _function in (igamma, igammac):
    composite(_function.__name__, _function, out=True, doc=str(_function.__doc__))
