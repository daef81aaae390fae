"""Order statistics, histograms, differences and covariances, written in operations.

Those whose work is choosing (quantiles, the k-th smallest) pick elements by index: that is their gradient, of every order.
"""
from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import float32, float64, int64
from ..base.errors import ArgumentError, DimError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import mode, special
from ..dispatch.arguments import require_tensors
from ..dispatch.lowerings import GeneralPlan, prepared
from ..dispatch.prepared import run_beneath
from ..graph.edges import needs_gradient, requires_grad
from ..lowering.counts import Histogram, limits
from ..lowering.reduce import ready
from ..lowering.refused import refused
from ..lowering.sort import in_order, is_brief, is_short, order_plan
from ..ops.core import composite
from ..ops.expr import scalar
from ..ops.kinds import constant_number, counted, explained
from ..ops.reduce import Extremum, kept_shape
from ..ops.shapes import wrap
from ..tensors.arrays import tensor_of, values_of
from ..tensors.levels import is_batched, whole as whole_batch
from ..tensors.tensor import Tensor, native
from .functions import made, without_dim

__all__: list[str] = []

_function: Callable

# ---- orders ------------------------------------------------------------------------------------------------------------


def kthvalue(input, k, dim=-1, keepdim=False):
    """(values, indices) of the k-th smallest element along dim, counted from 1; NaN counts as the greatest number.

    Raises:
        RangeError: there is no k-th element.
    """
    require_tensors("kthvalue", input)
    size = input.shape[wrap("kthvalue", dim, input.ndim)] if input.ndim else 1
    if not 1 <= k <= size:
        raise RangeError(f"kthvalue: k = {k} is out of range for dimension {dim}, expected 1 to {size}.")
    order = scalar.top_indices(input, k, dim, False) if input.ndim else input.argsort(dim, False, True)
    found = order.narrow(dim, k - 1, 1) if input.ndim else order
    values = scalar.pick(input, found, dim, bool(keepdim) or not input.ndim, "KthvalueBackward0")
    return Extremum(values, without_dim(found, keepdim, dim))


def msort(input):
    """Sorted along the first dimension."""
    return input.sort(0).values


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def require_quantiles(name: str, input, q, interpolation: str) -> None:
    """Refuse what has no quantiles.

    Raises:
        RangeError: an unknown interpolation, no elements, q outside of [0, 1]. DTypeError, ShapeError: see the messages.
    """
    if interpolation not in INTERPOLATIONS:
        raise RangeError(f"{name}: interpolation is {interpolation!r}, expected one of {', '.join(INTERPOLATIONS)}.")
    if input.dtype not in (float32, float64):
        raise DTypeError(f"{name}: input is {input.dtype}, expected float32 or float64.")
    if not input.numel():
        raise RangeError(f"{name}: input has no elements.")
    if q.ndim > 1:
        raise ShapeError(f"{name}: q has {q.ndim} dimensions, expected a number or a vector.")
    if q.dtype is not input.dtype:
        raise DTypeError(f"{name}: q is {q.dtype}, expected {input.dtype}, the dtype of input.")
    levels = values_of(whole_batch(q).detach())
    if not ((levels >= 0) & (levels <= 1)).all():
        raise RangeError(f"{name}: q is {levels.tolist()}, expected numbers from 0 to 1.")


def quantiles(name: str, ignore_nan: bool) -> Callable:
    """``quantile``, of all elements or of those that are not NaN."""
    def function(input, q, dim=None, keepdim=False, *, interpolation="linear"):
        require_tensors(name, input)
        if not isinstance(q, Tensor):
            q = made("tensor", q, dtype=input.dtype)
        require_quantiles(name, input, q, interpolation)
        of_all = dim is None
        rows = input.reshape((-1,)) if of_all or not input.ndim else input.movedim(wrap(name, dim, input.ndim), -1)
        rows = sorted_values(rows)
        missing = scalar.isnan(rows)
        if ignore_nan:
            ranks = q.reshape((-1,)) * (scalar.logical_not(missing).sum(-1, True) - 1).clamp_min(0).to(input.dtype)
        else:       # NaN is sorted to the end: where there is one, it is chosen
            ranks = scalar.where(missing.any(-1, True), rows.shape[-1] - 1.0, q.reshape((-1,)) * (rows.shape[-1] - 1))
        values = between(rows, ranks.expand(*rows.shape[:-1], q.numel()), interpolation)
        values = values.movedim(-1, 0)
        if keepdim and input.ndim:
            values = values.reshape((-1, *(1,) * input.ndim)) if of_all else values.unsqueeze(dim if dim < 0 else dim + 1)
        return values.squeeze_dim(0) if not q.ndim else values
    function.__name__ = function.__qualname__ = name
    return function


def sorted_values(rows):
    """Sorted along the last dimension; where nothing is recorded, without the indices, which take longer."""
    if special or rows.layout.special or is_short(rows.layout, rows.ndim - 1) or mode.enabled and needs_gradient(rows):
        return rows.sort(-1).values
    return tensor_of(np.sort(values_of(rows), axis=-1), rows, rows.layout.dtype)


def between(rows, ranks, interpolation: str):
    """The values at ranks, which may lie between two elements, of sorted rows."""
    if interpolation == "nearest":
        return rows.gather(-1, scalar.round(ranks).to(int64))
    low = scalar.floor(ranks.detach())
    if interpolation == "lower":
        return rows.gather(-1, low.to(int64))
    high = scalar.ceil(ranks.detach()).to(int64)
    if interpolation == "higher":
        return rows.gather(-1, high)
    weights = ranks - low if interpolation == "linear" else scalar.eq(ranks, ranks).to(rows.dtype) * 0.5
    return scalar.lerp(rows.gather(-1, low.to(int64)), rows.gather(-1, high), weights)


@prepared("kthvalue")
def _quick_kthvalue(op, layouts, attributes):
    return in_order(*layouts, attributes["dim"], attributes["keepdim"], "KthvalueBackward0", "kth", attributes["k"] - 1)


composite("kthvalue", explained(kthvalue), out=True, doc=str(kthvalue.__doc__))
composite("msort", msort, out=True, doc=msort.__doc__)
composite("quantile", quantiles("quantile", False), out=True,
          doc="The q-quantiles of all elements or along dim, q a number or a vector of numbers from 0 to 1; NaN if there is one.")
composite("nanquantile", quantiles("nanquantile", True), out=True,
          doc="The q-quantiles of what is not NaN, of all elements or along dim.")

@prepared("quantile", "nanquantile")
def _quick_quantile(op, layouts, attributes):
    (x,), q, dim, keepdim = layouts, attributes["q"], attributes["dim"], attributes["keepdim"]
    if attributes["interpolation"] != "linear" or type(q) not in (int, float) or not (x.ndim and ready(x)):
        return None
    dims = tuple(range(x.ndim)) if dim is None else (wrap(op.name, dim, x.ndim),)
    seen, along = (x.like(None, (x.numel,)), 0) if dim is None else (x, dims[0])
    if not is_brief(seen, along):
        return None
    shape, ignoring = kept_shape(x.shape, dims, bool(keepdim)), int(op.name == "nanquantile")
    found = order_plan(seen, along, "quantile", shape, shape, ignoring, False, float(q))
    plan, fresh = GeneralPlan(found.record, found.outs, (x,)), native.fresh

    def quick(x, *rest):
        return None if x._needs_grad_ and mode.enabled and requires_grad(x) else fresh(plan, x)[0]
    return quick


# ---- running logarithms of sums ----------------------------------------------------------------------------------------


@prepared("logcumsumexp")
def _quick_logcumsumexp(op, layouts, attributes):
    return run_beneath("running_logsumexp", *layouts, attributes["dim"])


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
        x = scalar.logical_xor(later, earlier) if str(x.dtype).endswith("bool") else later - earlier
    return x


def spacings(name: str, y, x, dx, dim: int):
    """The distances between neighbours: a number, or a tensor that broadcasts.

    Raises:
        ShapeError: x does not have a point for each of y's.
    """
    if x is None:
        return 1.0 if dx is None else dx
    size = y.shape[dim]
    if x.ndim == 1:
        if x.shape[0] != size:
            raise ShapeError(f"{name}: x has {x.shape[0]} points, y has {size} along dimension {dim}.")
        return diff(x).reshape((-1,) + (1,) * (y.ndim - dim - 1))
    own = dim - y.ndim + x.ndim
    return diff(x, 1, own)


def areas(name: str, y, x, dx, dim: int):
    """The areas of the trapezoids between neighbours, and the dimension along which they lie, from the end."""
    require_tensors(name, y)
    if dx is not None and x is not None:
        raise ArgumentError(f"{name}: got x and dx. Hint: leave one out.")
    dim = wrap(name, dim, y.ndim)
    size = y.shape[dim]
    pairs = y.slice(dim, 1, None, 1) + y.slice(dim, 0, max(size - 1, 0), 1)
    return pairs * spacings(name, y, x, dx, dim) / 2, dim - y.ndim


def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral along dim by the trapezoidal rule: of points at ``x``, or ``dx`` (1) apart."""
    if x is None and (dx is None or type(dx) in (int, float)) and isinstance(y, Tensor) and y.dtype.differentiable:
        at = wrap("trapezoid", dim, y.ndim)
        if y.ndim and y.shape[at] > 1:      # one pass over the points
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
    if type(spacing) in (int, float):
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
    composite(_function.__name__, _function, method=False, doc=_function.__doc__,
              aliases=("trapz",) if _function is trapezoid else ())
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
        if not is_batched(weights) and (values_of(weights.detach()) < 0).any():
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
    is_usual = type(p) in (int, float) and p == 2 and input.dtype.is_floating_point
    lengths = scalar.norm2(input, others, True) if is_usual else input.norm(p, others, True)
    factors = scalar.renorm_factor(lengths, maxnorm)
    return input * (factors if factors.dtype is input.dtype else factors.to(input.dtype))


for _function in (cov, corrcoef, renorm):
    composite(_function.__name__, explained(_function), out=_function is renorm, doc=str(_function.__doc__))

# ---- counts --------------------------------------------------------------------------------------------------------------


def require_real(name: str, input) -> None:
    """Refuse what has no order.

    Raises:
        ArgumentError: no tensor. DTypeError: a complex one.
    """
    require_tensors(name, input)
    if input.dtype.is_complex:
        raise DTypeError(f"{name}: complex numbers have no order, got {input.dtype}.")


def span_of(name: str, array: np.ndarray, given) -> tuple[float, float]:
    """The interval of ``histogram``: given, or that of the elements; half a unit to both sides of a single number."""
    if given is None:
        given = (float(array.min()), float(array.max())) if array.size else (0.0, 1.0)
    low, high = given
    return (low - 0.5, high + 0.5) if low == high else limits(name, array, low, high, 0.5)


def histc(input, bins=100, min=0, max=0):
    """How many elements lie in each of ``bins`` equal intervals from min to max (of the elements if both are 0).

    The derivative is 0: counts do not change with small changes of the elements.

    Raises:
        RangeError: no interval, or bins < 1.
    """
    require_real("histc", input)
    if bins < 1:
        raise RangeError(f"histc: bins is {bins}, expected at least 1.")
    ends = (float(constant_number("histc", *end)) for end in (("min", min), ("max", max)))
    return scalar.bin_counts(input.detach(), bins, *ends)


def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """(hist, bin_edges): the numbers or weights of the elements between edges, given or equally spaced.

    Differentiating it, by elements, edges or weights, is refused.

    Raises:
        RangeError: no interval, or bins < 1. ShapeError: weights that are not one for each element.
    """
    require_real("histogram", input)
    array = values_of(input.detach()).reshape(-1)
    if weight is not None and weight.shape != input.shape:
        raise ShapeError(f"histogram: weight has shape {list(weight.shape)}, input {list(input.shape)}.")
    if isinstance(bins, Tensor):
        edges = values_of(bins.detach())
    else:
        if bins < 1:
            raise RangeError(f"histogram: bins is {bins}, expected at least 1.")
        low, high = span_of("histogram", array, range)
        edges = np.linspace(low, high, bins + 1)
        edges = edges.astype(array.dtype) if input.dtype.is_floating_point else edges       # so that an element may be one
    weights = None if weight is None else values_of(weight.detach()).reshape(-1)
    counts, _ = np.histogram(array, edges, weights=weights, density=density)
    found = (tensor_of(each, input).to(input.dtype) for each in (counts.astype(np.float64), edges))
    return Histogram(*(refused("histogram", "HistogramBackward0", each, input, bins, weight) for each in found))


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Elements (with ``dim``, slices) without those that repeat their neighbour before them; refuses to be differentiated."""
    require_tensors("unique_consecutive", input)
    array = values_of(input.detach())
    if dim is not None and not array.ndim:
        raise DimError("unique_consecutive: input has no dimensions. Hint: dim=None.")
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, wrap("unique_consecutive", dim, array.ndim), 0)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    values = rows[new] if dim is None else np.moveaxis(rows[new], 0, dim)
    places = np.cumsum(new) - 1
    inverse = places.reshape(array.shape) if dim is None else places
    counts = np.diff(np.append(np.flatnonzero(new), len(rows)))
    wanted = tuple(tensor_of(each, input) for each, asked in ((values, True), (inverse.astype(np.int64), return_inverse),
                                                           (counts.astype(np.int64), return_counts)) if asked)
    refused("unique_consecutive", "UniqueConsecutiveBackward0", wanted[0], input)
    return wanted if len(wanted) > 1 else wanted[0]


for _function in (histc, histogram, unique_consecutive):
    composite(_function.__name__, explained(_function), out=_function in (histc, histogram), doc=str(_function.__doc__))
