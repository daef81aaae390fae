"""Medians, modes, running extrema, quantiles: elements chosen by their order.

Each finds indices and picks the elements there by an operation, whose gradient, of any order, is theirs.
"""

from __future__ import annotations

from typing import Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import float32, float64, int64
from ..base.errors import DimError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import mode, special, traces
from ..creation import factories
from ..dispatch.arguments import require_tensors
from ..dispatch.device_requirements import require
from ..dispatch.lowerings import GeneralPlan, prepared
from ..dispatch.rules import record_result, run_plan
from ..graph.edges import requires_grad
from ..lowering.arranged import runs_as_it_lies
from ..lowering.scan import running_plan
from ..lowering.sort import in_order, is_brief, is_short, order_plan
from ..ops.core import OPS, composite
from ..ops.expr import scalar
from ..ops.extrema import EXTREMUM_OF
from ..ops.kinds import explained
from ..ops.reduce import kept_shape
from ..ops.shapes import wrap
from ..tensors.arrays import tensor_of, values_of
from ..tensors.batch_levels import whole as whole_batch
from ..tensors.storage import CPU
from ..tensors.tensor import Tensor, native

__all__: list[str] = []


def without_dim(x, keepdim: bool, dim: int):
    """Without a dimension of size 1, unless it is kept."""
    return x if keepdim or not x.ndim else x.squeeze_dim(dim)


def statistic(name: str, indices: Callable, whole: bool):
    """``name(x, dim, keepdim)`` from a function of indices; of all elements where no dim is given."""
    node, kind = name.capitalize() + "Backward", EXTREMUM_OF[name]

    def function(input, dim=None if whole else -1, keepdim=False):
        require_tensors(name, input)
        if dim is None:
            if input.dtype.is_floating_point and 0 in input.shape:
                return input.mean()  # NaN, with the gradient of no elements
            flat = input.reshape((-1,))
            return scalar.shared_pick(flat, indices(flat, 0), 0, node + "0")
        found = indices(input, dim)
        values = scalar.pick(input, found, dim, bool(keepdim) or not input.ndim, node + ("1" if whole else "0"))
        return kind(values, without_dim(found, keepdim, dim))

    function.__name__ = function.__qualname__ = name
    return function


@prepared("median", "nanmedian", "mode")
def _quick_statistic(op, layouts, attributes):
    (x,), dim, name = layouts, attributes["dim"], op.name
    ignoring = int(name == "nanmedian")
    if dim is not None:
        node = f"{name.capitalize()}Backward{int(name != 'mode')}"
        return in_order(x, dim, attributes["keepdim"], node, "mode" if name == "mode" else "median", ignoring)
    if not (runs_as_it_lies(x) and is_brief(row := x.like(None, (x.numel,)), 0)):
        return None
    flat = order_plan(row, 0, "median", (), (1,), ignoring)
    plan, fresh, node = GeneralPlan(flat.record, flat.outs, (x,)), native.fresh, f"{name.capitalize()}Backward0"
    shared, reshape, shape = OPS["shared_pick"], CALLS["reshape"], (-1,)

    def quick(x, *rest):
        if x._needs_grad_ and mode.enabled and requires_grad(x):
            x = reshape(x, shape)
            value, index = fresh(flat, x)
            attributes = {"dim": 0, "node": node}
            record_result(shared, run_plan(shared, (x, index), attributes, value)[0], (x, index), value)
            return value
        return fresh(plan, x)[0]

    return quick


composite(
    "median",
    statistic("median", lambda x, dim: scalar.median_indices(x, dim, False), True),
    out=True,
    doc="The lower median of all elements, its gradient shared by those that tie; along dim (values, indices). NaN if "
    "there is one.",
)
composite(
    "nanmedian",
    statistic("nanmedian", lambda x, dim: scalar.median_indices(x, dim, True), True),
    out=True,
    doc="The lower median of what is not NaN; along dim (values, indices).",
)
composite(
    "mode",
    statistic("mode", lambda x, dim: scalar.mode_indices(x, dim), False),
    out=True,
    doc="(values, indices) of the most frequent value along dim, the smallest of several; the index is its last. No NaN "
    "equals another: where no number comes twice the first NaN is returned.",
)


def cummax(input, dim):
    """(values, indices) of the greatest element up to each along dim; of equal ones the last."""
    indices = scalar.running_indices(input, dim, True)
    return EXTREMUM_OF["cummax"](scalar.gather(input, dim, indices), indices)


def cummin(input, dim):
    """(values, indices) of the smallest element up to each along dim; of equal ones the last."""
    indices = scalar.running_indices(input, dim, False)
    return EXTREMUM_OF["cummin"](scalar.gather(input, dim, indices), indices)


@prepared("cummax", "cummin")
def _quick_running(op, layouts, attributes):
    (x,), dim = layouts, attributes["dim"]
    if not (x.ndim and x.numel and runs_as_it_lies(x)):
        return None
    plan, gather, fresh, new = running_plan(x, dim, op.name == "cummax", True), OPS["gather"], native.fresh, tuple.__new__
    kind = EXTREMUM_OF[op.name]

    def quick(x, dim):
        out = values, indices = fresh(plan, x)
        if x._needs_grad_ and mode.enabled and requires_grad(x):
            given = {"dim": dim, "index": indices, "sparse_grad": False}
            made_by, guarded = run_plan(gather, (x,), given, values)
            record_result(gather, made_by, (x,), values, guarded)
        return new(kind, out)

    return quick


for _extremum in (cummax, cummin):
    composite(_extremum.__name__, _extremum, pure=True, out=True, doc=_extremum.__doc__)


# ---- the k-th smallest, quantiles -------------------------------------------------------------------------------------


def kthvalue(input, k, dim=-1, keepdim=False):
    """(values, indices) of the k-th smallest element along dim, counted from 1; NaN counts as the greatest number.

    Raises:
        RangeError: there is no k-th element. DimError: there is none at all.
    """
    require_tensors("kthvalue", input)
    size = input.shape[wrap("kthvalue", dim, input.ndim)] if input.ndim else 1
    if not size:
        raise DimError(f"kthvalue: dimension {dim} of {list(input.shape)} has no elements.")
    if not 1 <= k <= size:
        raise RangeError(f"kthvalue: k = {k} is out of range for dimension {dim}, expected 1 to {size}.")
    order = scalar.top_indices(input, k, dim, False) if input.ndim else input.argsort(dim, False, True)
    found = order.narrow(dim, k - 1, 1).contiguous() if input.ndim else order
    values = scalar.pick(input, found, dim, bool(keepdim) or not input.ndim, "KthvalueBackward0")
    return EXTREMUM_OF["kthvalue"](values, without_dim(found, keepdim, dim))


@prepared("kthvalue")
def _quick_kthvalue(op, layouts, attributes):
    return in_order(*layouts, attributes["dim"], attributes["keepdim"], "KthvalueBackward0", "kth", attributes["k"] - 1)


def msort(input):
    """Sorted along the first dimension."""
    return input.sort(0).values


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def require_quantiles(name: str, input, q, interpolation: str) -> None:
    """Refuse what has no quantiles.

    Raises:
        RangeError: an unknown interpolation, no elements, q outside of [0, 1] (on a GPU when it is waited for).
        DTypeError, ShapeError: see the messages.
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
    levels = whole_batch(q).detach()
    if levels.layout.memory is not None and not traces:
        require(scalar.logical_and(levels >= 0, levels <= 1).all(), RangeError, f"{name}: q is not from 0 to 1.")
    elif not ((values_of(levels) >= 0) & (values_of(levels) <= 1)).all():
        raise RangeError(f"{name}: q is {values_of(levels).tolist()}, expected numbers from 0 to 1.")


def quantiles(name: str, ignore_nan: bool) -> Callable:
    """``quantile``, of all elements or of those that are not NaN."""

    def function(input, q, dim=None, keepdim=False, *, interpolation="linear"):
        require_tensors(name, input)
        given = q if isinstance(q, Tensor) else factories.tensor(q, dtype=input.dtype, device=CPU)
        require_quantiles(name, input, given, interpolation)
        q = given if given is q else given.to(input.device)
        of_all = dim is None
        rows = input.reshape((-1,)) if of_all or not input.ndim else input.movedim(wrap(name, dim, input.ndim), -1)
        rows = sorted_values(rows)
        missing = scalar.isnan(rows)
        if ignore_nan:
            ranks = q.reshape((-1,)) * (scalar.logical_not(missing).sum(-1, True) - 1).clamp_min(0).to(input.dtype)
        else:  # NaN is sorted to the end: where there is one, it is chosen
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
    layout = rows.layout
    if special or layout.special or layout.memory is not None or is_short(layout, rows.ndim - 1):
        return rows.sort(-1).values
    if mode.enabled and requires_grad(rows):
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


composite("kthvalue", explained(kthvalue), out=True, doc=str(kthvalue.__doc__))
composite("msort", msort, out=True, doc=msort.__doc__)
composite(
    "quantile",
    quantiles("quantile", False),
    out=True,
    doc="The q-quantiles of all elements or along dim, q a number or a vector of numbers from 0 to 1; NaN if there is one.",
)
composite(
    "nanquantile", quantiles("nanquantile", True), out=True, doc="The q-quantiles of what is not NaN, of all elements or along dim."
)


@prepared("quantile", "nanquantile")
def _quick_quantile(op, layouts, attributes):
    (x,), q, dim, keepdim = layouts, attributes["q"], attributes["dim"], attributes["keepdim"]
    if attributes["interpolation"] != "linear" or type(q) not in (int, float) or not (x.ndim and runs_as_it_lies(x)):
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
