"""asinh, acosh and atanh: log1p of what is left when the 1 is taken out, so that small results keep their digits."""

# ruff: noqa: F821  (constants: BY_DTYPE, bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from ..prims import copysign, fabs, fma, sqrt, where
from .constants import BY_DTYPE
from .logarithm import log, log1p
from .rounding import hypot


def asinh(x):
    """log1p(a + a**2 / (1 + sqrt(1 + a**2))) with the sign of x; log 2a where that would overflow."""
    a = fabs(x)
    inside = where(a > HUGE, 1.0, a)
    near = log1p(inside + inside * (inside / (1.0 + hypot(1.0, inside))))
    return copysign(where(a > HUGE, log(a) + 0.6931471805599453, near), x)


def acosh(x):
    """log1p(t + sqrt(t (t + 2))) with t = x - 1; NaN below 1, log 2x where that would overflow."""
    far = x > BIG
    t = where(far, 1.0, x) - 1.0
    near = log1p(t + sqrt(fma(t, t, t + t)))
    return where(x < 1.0, NAN, where(far, log(x) + 0.6931471805599453, near))


def atanh(x):
    """log1p(2 a / (1 - a)) / 2 with the sign of x; NaN beyond 1."""
    a = fabs(x)
    return copysign(0.5 * log1p((a + a) / (1.0 - a)), x)


globals().update(BY_DTYPE["float64"])  # as in prims.py: the functions can be called as they stand
