"""The incomplete gamma functions, on arrays in double precision."""
from __future__ import annotations

import math

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
LOG_GAMMA = np.frompyfunc(math.lgamma, 1, 1)


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
        if (np.abs(step - 1) < 1e-16).all():
            break
    return value


def regularised(a: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray:
    """The lower incomplete gamma function over the whole one, or the upper; NaN where they are not defined."""
    out = np.full(a.shape, np.nan)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    for chosen, is_upper in ((inside & (x < a + 1), False), (inside & (x >= a + 1), True)):
        if chosen.any():
            p, q = a[chosen], x[chosen]
            value = (fraction if is_upper else series)(p, q) * np.exp(p * np.log(q) - q - LOG_GAMMA(p).astype(float))
            out[chosen] = value if upper is is_upper else 1 - value
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
