"""``logcumsumexp``, differences, integrals, covariances, ``renorm``, and sums that skip NaN."""

from __future__ import annotations

import math
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.dtypes import bool_, float32, get_default_dtype, int64
from ..base.errors import ArgumentError, DimError, DTypeError, RangeError, ShapeError
from ..dispatch.arguments import require_tensors
from ..dispatch.lowerings import prepared
from ..dispatch.prepared import recording_run
from ..ops.core import composite
from ..ops.expr import scalar
from ..ops.kinds import counted, explained
from ..ops.shapes import wrap
from ..tensors.arrays import checked_values
from ..tensors.batch_levels import is_batched
from ..tensors.tensor import Tensor

__all__: list[str] = []

_function: Callable

# ---- running logarithms of sums ----------------------------------------------------------------------------------------


@prepared("logcumsumexp")
def _quick_logcumsumexp(op, layouts, attributes):
    return recording_run("running_logsumexp", *layouts, attributes["dim"])


def logcumsumexp(input, dim):
    """log(sum(exp(x))) of the elements up to each along dim, without overflow."""
    return scalar.running_logsumexp(input, dim)


composite("logcumsumexp", logcumsumexp, out=True, doc=logcumsumexp.__doc__)

# ---- differences, integrals --------------------------------------------------------------------------------------------


def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The n-th differences of neighbours along dim, of input with ``prepend`` before it and ``append`` behind; for n = 0 the input.

    Raises:
        DimError: a 0-d tensor. RangeError: n < 0.
    """
    require_tensors("diff", input)
    if not input.ndim:
        raise DimError("diff: input has no dimensions, expected at least one.")
    n = counted("diff", "n", n)
    if n == 0:
        return input.clone()
    parts = [x for x in (prepend, input, append) if x is not None]
    x = CALLS["cat"](parts, dim) if len(parts) > 1 else input
    size = x.shape[wrap("diff", dim, x.ndim)]
    for _ in range(min(n, size)):
        size = max(size - 1, 0)
        later, earlier = x.slice(dim, 1, None, 1), x.slice(dim, 0, size, 1)
        x = scalar.logical_xor(later, earlier) if x.dtype is bool_ else later - earlier
    return x


def spacings(name: str, y, x, dx, dim: int):
    """The distances between neighbours: a number, or a tensor that broadcasts.

    Raises:
        ShapeError: x does not have a point for each of y's.
    """
    if x is None:
        return 1.0 if dx is None else without_weight(dx, y)
    size = y.shape[dim]
    if x.ndim == 1:
        if x.shape[0] != size:
            raise ShapeError(f"{name}: x has {x.shape[0]} points, y has {size} along dimension {dim}.")
        return diff(x).reshape((-1,) + (1,) * (y.ndim - dim - 1))
    own = dim - y.ndim + x.ndim
    return diff(x, 1, own)


def without_weight(dx, y):
    """A distance that is a tensor without dimensions, in the dtype that a number would have beside ``y``."""
    if not isinstance(dx, Tensor) or dx.ndim or dx.dtype.is_complex or not dx.dtype.differentiable:
        return dx
    return dx.to_dtype(y.dtype if y.dtype.differentiable else get_default_dtype())


def areas(name: str, y, x, dx, dim: int):
    """The areas of the trapezoids between neighbours, and the dimension along which they lie, from the end."""
    require_tensors(name, y)
    if dx is not None and x is not None:
        raise ArgumentError(f"{name}: got x and dx. Hint: leave one out.")
    dim = wrap(name, dim, y.ndim)
    size = y.shape[dim]
    y = y if y.dtype.differentiable else y.to(int64)  # small integers are added up as in ``sum``
    pairs = y.slice(dim, 1, None, 1) + y.slice(dim, 0, max(size - 1, 0), 1)
    return pairs * spacings(name, y, x, dx, dim) / 2, dim - y.ndim


def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral along dim by the trapezoidal rule: of points at ``x``, or ``dx`` (1) apart."""
    if x is None and (dx is None or isinstance(dx, (int, float))) and isinstance(y, Tensor) and y.dtype.differentiable:
        at = wrap("trapezoid", dim, y.ndim)
        if y.ndim and y.shape[at] > 1:  # one pass over the points
            total = CALLS["halved_ends_sum"](y, at)
            return total if dx is None or dx == 1 else total * dx
    between_points, dim = areas("trapezoid", y, x, dx, dim)
    return between_points.sum(dim)


def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integrals up to each point but the first, by the trapezoidal rule."""
    between_points, dim = areas("cumulative_trapezoid", y, x, dx, dim)
    return between_points.cumsum(dim)


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """The derivative along dimensions by central differences, one-sided of order ``edge_order`` at the ends.

    Args:
        spacing: a number (1 unless given), one for each dimension, or a vector of coordinates for each.
        dim: an int or several; all by default.

    Returns:
        A tensor for each dimension, in a tuple.

    Raises:
        RangeError: the edge order is neither 1 nor 2; spacings do not go with the dimensions. ShapeError: too few points.
    """
    require_tensors("gradient", input)
    dims = tuple(range(input.ndim)) if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    dims = tuple(wrap("gradient", d, input.ndim) for d in dims)
    if edge_order not in (1, 2):
        raise RangeError(f"gradient: edge_order is {edge_order}, expected 1 or 2.")
    spacing = 1 if spacing is None else spacing
    steps = tuple(spacing) if isinstance(spacing, (tuple, list)) else (spacing,) * len(dims)
    if len(steps) != len(dims) or len(set(dims)) != len(dims):
        raise RangeError(f"gradient: {len(steps)} spacings for dimensions {list(dims)}, expected one for each.")
    for d in dims:
        if input.shape[d] <= edge_order:
            raise ShapeError(f"gradient: dimension {d} has {input.shape[d]} points, expected at least {edge_order + 1}.")
    x = input if input.dtype.differentiable else input.to(float32)
    return tuple(derivative(x, d, step, edge_order) for d, step in zip(dims, steps))


def derivative(x, dim: int, spacing, edge_order: int):
    """The derivative along one dimension: that of the parabola through a point and its neighbours, at distances h and k."""
    size = x.shape[dim]
    if isinstance(spacing, (int, float)):
        return evenly_spaced(x, dim, spacing, edge_order)
    if isinstance(spacing, Tensor) and spacing.ndim:
        if spacing.shape != (size,):
            raise ShapeError(f"gradient: {list(spacing.shape)} coordinates for a dimension of size {size}.")
        steps = diff(spacing).reshape((-1,) + (1,) * (x.ndim - dim - 1))
    else:
        steps = x.detach().new_ones((size - 1,) + (1,) * (x.ndim - dim - 1)) * spacing
    slopes = (x.slice(dim, 1, None, 1) - x.slice(dim, 0, size - 1, 1)) / steps
    first, last = slopes.slice(dim, 0, 1, 1), slopes.slice(dim, size - 2, None, 1)
    if size == 2:
        return CALLS["cat"]([first, last], dim)
    h, k = steps.slice(dim - x.ndim, 0, size - 2, 1), steps.slice(dim - x.ndim, 1, None, 1)
    before = slopes.slice(dim, 0, size - 2, 1)
    bends = (slopes.slice(dim, 1, None, 1) - before) / (h + k)
    if edge_order == 2:
        first = first - (bends * h).slice(dim, 0, 1, 1)
        last = last + (bends * k).slice(dim, size - 3, None, 1)
    return CALLS["cat"]([first, before + bends * h, last], dim)


def evenly_spaced(x, dim: int, step: float, edge_order: int):
    """The derivative along one dimension, of points that are ``step`` apart."""
    size = x.shape[dim]

    def points(start: int, stop: int):
        return x.slice(dim, start, stop, 1)

    first, last = (points(1, 2) - points(0, 1)) / step, (points(size - 1, size) - points(size - 2, size - 1)) / step
    if size == 2:
        return CALLS["cat"]([first, last], dim)
    if edge_order == 2:
        second, before = (points(2, 3) - points(1, 2)) / step, (points(size - 2, size - 1) - points(size - 3, size - 2)) / step
        first, last = first - (second - first) / 2, last + (last - before) / 2
    return CALLS["cat"]([first, (points(2, size) - points(0, size - 2)) / (2 * step), last], dim)


composite("diff", diff, out=True, doc=str(diff.__doc__))
for _function in (trapezoid, cumulative_trapezoid):
    composite(
        _function.__name__, _function, method=False, doc=_function.__doc__, aliases=("trapz",) if _function is trapezoid else ()
    )
composite("gradient", gradient, method=False, doc=str(gradient.__doc__))

# ---- covariances, norms --------------------------------------------------------------------------------------------------


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables in rows and observations in columns.

    Args:
        correction: taken off the number of observations.
        fweights: how often each observation came, whole numbers. aweights: how much each one counts.

    Raises:
        ShapeError: more than 2 dimensions, or weights that are not one for each observation. DTypeError: weights of another kind.
    """
    require_tensors("cov", input)
    if input.ndim > 2:
        raise ShapeError(f"cov: expected at most 2 dimensions, got {input.ndim}.")
    x = input.reshape((1, -1)) if input.ndim < 2 else input
    x = x if x.dtype.differentiable else x.to(float32)
    weights = observation_weights(x, fweights, aweights)
    count = x.shape[1] if weights is None else weights.sum()
    mean = x.mean(1, True) if weights is None else (x * weights).sum(1, True) / count
    if weights is not None and aweights is not None:
        freedom: Any = count - correction * (weights * aweights).sum() / count if correction else count
    else:
        freedom = count - correction
    freedom = freedom.clamp_min(0) if isinstance(freedom, Tensor) else max(freedom, 0)
    centred = x - mean
    right = centred if weights is None else centred * weights
    turned = right.t().conj() if x.dtype.is_complex else right.t()
    product = centred.mm(turned.resolve_conj())
    product = product / freedom if isinstance(freedom, Tensor) or freedom else product * math.inf
    return product.squeeze()


def observation_weights(x, fweights, aweights):
    """The product of both kinds of weights, or None."""
    for name, weights, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if weights is None:
            continue
        if weights.ndim != 1 or weights.shape[0] != x.shape[1]:
            raise ShapeError(f"cov: {name} has shape {list(weights.shape)}, expected [{x.shape[1]}].")
        if weights.dtype.differentiable is whole:
            raise DTypeError(f"cov: {name} is {weights.dtype}, expected {'whole' if whole else 'floating'} numbers.")
        values = None if is_batched(weights) else checked_values(weights.detach())
        if values is not None and (values < 0).any():
            raise RangeError(f"cov: {name} has negative numbers.")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


def corrcoef(input):
    """Correlation coefficients of variables in rows and observations in columns."""
    require_tensors("corrcoef", input)
    if input.ndim > 2:
        raise ShapeError(f"corrcoef: expected at most 2 dimensions, got {input.ndim}.")
    c = cov(input)
    if not c.ndim:
        return c / c
    deviations = scalar.sqrt(c.diagonal().real if c.dtype.is_complex else c.diagonal())
    c = c / deviations.unsqueeze(-1) / deviations.unsqueeze(0)
    return c if c.dtype.is_complex else c.clamp(-1, 1)


def renorm(input, p, dim, maxnorm):
    """Slices of dim whose p-norm is greater than ``maxnorm`` scaled down to it.

    Raises:
        RangeError: p is not positive, or maxnorm negative. ShapeError: less than 2 dimensions.
    """
    require_tensors("renorm", input)
    if p <= 0 or maxnorm < 0:
        raise RangeError(f"renorm: p is {p}, maxnorm is {maxnorm}, expected p > 0 and maxnorm >= 0.")
    if input.ndim < 2:
        raise ShapeError(f"renorm: expected at least 2 dimensions, got {input.ndim}.")
    dim = wrap("renorm", dim, input.ndim)
    others = tuple(d for d in range(input.ndim) if d != dim)
    is_usual = isinstance(p, (int, float)) and p == 2 and input.dtype.is_floating_point
    lengths = scalar.norm2(input, others, True) if is_usual else input.norm(p, others, True)
    factors = scalar.renorm_factor(lengths, maxnorm)
    return input * (factors if factors.dtype is input.dtype else factors.to(input.dtype))


for _function in (cov, corrcoef):
    composite(_function.__name__, explained(_function), doc=str(_function.__doc__))
composite("renorm", explained(renorm), inplace="result", out=True, doc=str(renorm.__doc__))

# ---- sums and means of what is not NaN --------------------------------------------------------------------------------


def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """Sum over dimensions of what is not NaN."""
    own = input.dtype
    if own.is_floating_point and (dtype is None or dtype is own):
        return scalar.sum_of_numbers(input, dim, keepdim)
    return (scalar.where(scalar.isnan(input), 0, input) if own.differentiable else input).sum(dim, keepdim, dtype=dtype)


def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """Mean over dimensions of what is not NaN."""
    total = nansum(input, dim, keepdim, dtype=dtype)
    return total / scalar.logical_not(scalar.isnan(input)).sum(dim, keepdim)


for _function in (nansum, nanmean):
    composite(_function.__name__, _function, out=True, doc=_function.__doc__)
