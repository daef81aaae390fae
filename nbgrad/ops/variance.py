"""Variances and deviations over dimensions."""

from __future__ import annotations

import math

from ..base.errors import ArgumentError
from .core import composite, reduction
from .expr import scalar
from .reduce import count_of, numpy_spelling, quotient_or_zero
from .spellings import as_list

__all__: list[str] = []


def freedom(x_shape, dim, correction) -> float:
    """Elements less the correction, at least 0."""
    return float(max(count_of(x_shape, dim) - correction, 0))


def ratio(x: float, y: float) -> float:
    """x / y as IEEE has it for x > 0."""
    return x / y if y else math.inf


def variance_cotangent(g, x, x_shape, dim, correction):
    """2 g (x - mean) / (n - correction)."""
    g = g * ratio(2.0, freedom(x_shape, dim, correction))
    return scalar.spread(g, x_shape, dim) * (x - scalar.mean(x, dim, True))


def deviation_cotangent(g, x, out, x_shape, dim, correction):
    """The cotangent of the variance from that of its root; 0 where the deviation is 0."""
    g = quotient_or_zero(g, out * 2)
    return variance_cotangent(g, x, x_shape, dim, correction)


reduction(
    "variance",
    lambda x, dim, correction, keepdim: x,
    {"x": variance_cotangent},
    method=False,
    function=False,
    node="VarBackward0",
    public="var",
    forms={"dim": as_list},
    doc="Mean squared distance from the mean, in two passes.",
    aten="var.correction",
)
reduction(
    "deviation",
    lambda x, dim, correction, keepdim: x,
    {"x": deviation_cotangent},
    method=False,
    function=False,
    node="StdBackward0",
    public="std",
    forms={"dim": as_list},
    doc="Root of the variance.",
    aten="std.correction",
)


def spread_arguments(dim, unbiased, correction) -> tuple:
    """``(dim, correction)`` from torch's spellings: ``var(False)`` is ``var(unbiased=False)``."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        try:
            correction = 1 if unbiased is None else int(unbiased)
        except (TypeError, ValueError):
            raise ArgumentError(f"var: unbiased must be a bool, got {unbiased!r}.") from None
    return tuple(dim) if isinstance(dim, list) else dim, correction


def var(x, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None):
    """Variance over dimensions, divided by n - correction (1 unless given); of complex numbers that of both parts, added."""
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_spelling("var", dim, axis, keepdim, keepdims)
    arguments = spread_arguments(dim, unbiased, correction)
    if x.dtype.is_complex:
        return scalar.variance(scalar.real(x), *arguments, keepdim) + scalar.variance(scalar.imag(x), *arguments, keepdim)
    return scalar.variance(x, *arguments, keepdim)


def std(x, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None):
    """Standard deviation over dimensions: the root of ``var``; its gradient is 0 where it is 0."""
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_spelling("std", dim, axis, keepdim, keepdims)
    arguments = spread_arguments(dim, unbiased, correction)
    if x.dtype.is_complex:
        return scalar.modulus(
            scalar.deviation(scalar.real(x), *arguments, keepdim), scalar.deviation(scalar.imag(x), *arguments, keepdim)
        )
    return scalar.deviation(x, *arguments, keepdim)


def var_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Variance and mean over dimensions."""
    mean = x.mean(None if isinstance(dim, bool) else dim, keepdim)
    return var(x, dim, unbiased, keepdim, correction=correction), mean


def std_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Standard deviation and mean over dimensions."""
    mean = x.mean(None if isinstance(dim, bool) else dim, keepdim)
    return std(x, dim, unbiased, keepdim, correction=correction), mean


for _function in (var, std, var_mean, std_mean):
    composite(
        _function.__name__,
        _function,
        method=_function in (var, std),
        out=True,
        doc=_function.__doc__,
        joint=_function in (var_mean, std_mean),
    )
