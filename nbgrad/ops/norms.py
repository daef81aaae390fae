"""Norms over dimensions."""

from __future__ import annotations

import math

from ..base.errors import ArgumentError, DTypeError, LinAlgError, RangeError
from .core import composite, reduction
from .expr import scalar
from .kinds import constant_number
from .reduce import cast, numpy_spelling, quotient_or_zero, wide
from .spellings import as_list

__all__: list[str] = []


def norm2_cotangent(g, x, out, x_shape, dim):
    """g x / out; 0 where the norm is 0."""
    return scalar.spread(quotient_or_zero(g, out), x_shape, dim) * x


def power_norm_cotangent(g, x, out, x_shape, p, dim):
    """g sign(x) (|x| / out)**(p - 1); 0 where x is 0, or the norm: of what is tiny, or, for p < 0, of a zero among others."""
    relative = scalar.where(x == 0, 1.0, scalar.abs(x) / scalar.spread(scalar.where(out == 0, 1.0, out), x_shape, dim))
    return scalar.spread(scalar.where(out == 0, 0.0, g), x_shape, dim) * scalar.sign(x) * relative ** (p - 1)


reduction(
    "sum_of_numbers",
    lambda x, dim=None, keepdim=False: x,
    {"x": lambda g, x, x_shape, dim: scalar.where(scalar.isnan(x), 0, scalar.spread(g, x_shape, dim))},
    monoid="sum",
    term=lambda x: scalar.where(x == x, x, 0.0),
    near=True,
    method=False,
    function=False,
    node="NansumBackward0",
    public="nansum",
    forms={"dim": as_list},
    doc="Sum of what is not NaN.",
)
reduction(
    "norm1",
    lambda x, dim, keepdim: x,
    {"x": lambda g, x, x_shape, dim: scalar.spread(g, x_shape, dim) * scalar.sign(x)},
    monoid="sum",
    term=lambda x: scalar.abs(x),
    method=False,
    function=False,
    node="LinalgVectorNormBackward0",
    public="norm",
    shows={"ord": 1},
    forms={"dim": as_list},
    doc="Sum of magnitudes.",
)
reduction(
    "norm2",
    lambda x, dim, keepdim: x,
    {"x": norm2_cotangent},
    monoid="sum",
    term=lambda x: x * x,
    finish=lambda total, count: scalar.sqrt(total),
    method=False,
    function=False,
    node="LinalgVectorNormBackward0",
    public="norm",
    shows={"ord": 2},
    forms={"dim": as_list},
    doc="Euclidean length.",
)
reduction(
    "power_norm",
    lambda x, p, dim, keepdim: x,
    {"x": power_norm_cotangent},
    method=False,
    function=False,
    node="LinalgVectorNormBackward0",
    public="norm",
    forms={"dim": as_list},
    doc="(sum |x|**p)**(1/p).",
)


def norm(x, p="fro", dim=None, keepdim=False, dtype=None, *, axis=None, keepdims=None):
    """The p-norm over dimensions: p any number, inf, -inf, or "fro" (2); "nuc" of matrices, the sum of their singular values.

    Its subgradient at 0 is 0.
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_spelling("norm", dim, axis, keepdim, keepdims)
    if dtype is not None:
        x = cast(x, dtype)
    if not x.dtype.differentiable:
        raise DTypeError(f"norm: expected a floating or complex tensor, got {x.dtype}. Hint: pass dtype=nbgrad.float32.")
    if p == "nuc":
        try:
            return scalar.nuclear_norm(x, dim, keepdim)
        except LinAlgError as error:
            raise error.of("norm") from None
    if x.dtype.is_complex:
        x = scalar.abs(x)
    p = constant_number("norm", "p", p)
    p = 2 if p in ("fro", None) else p
    if isinstance(p, str):
        raise RangeError(f"norm: p = {p!r}, expected a number, inf, -inf, 'fro' or 'nuc'.")
    dim = tuple(dim) if isinstance(dim, list) else dim
    if p in (1, 2):
        return (scalar.norm1 if p == 1 else scalar.norm2)(x, dim, keepdim)
    if p == 0:
        count = cast(x.count_nonzero(dim, keepdim), x.dtype)
        return count._apply("counted_of", (count, x.sum(dim, keepdim))) if x.dtype.differentiable else count
    try:
        infinite = math.isinf(p)
    except TypeError:
        raise ArgumentError(f"norm: p must be a number, inf, -inf or 'fro', got {type(p).__name__}.") from None
    if infinite:
        return (scalar.amax if p > 0 else scalar.amin)(scalar.abs(x), () if dim is None else dim, keepdim)
    return cast(scalar.power_norm(wide(x), float(p), dim, keepdim), x.dtype)


composite("norm", norm, out=True, doc=norm.__doc__)
