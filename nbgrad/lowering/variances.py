"""Variances and deviations, by two passes over memory."""

from __future__ import annotations

import math
from itertools import pairwise

from ..base.calls import CALLS
from ..base.errors import DTypeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.variances import deviation_of, variance_loop, variance_of
from ..ops.core import General
from ..ops.reduce import kept_shape, reduced_dims
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .arranged import arranged_call, runs_as_it_lies
from .lines import split_launch
from .reduce import kept_first

__all__ = ["variance_dims"]


@late
def variance_kernel(name: str, dtype: str, by_columns: bool) -> int:
    """Address of the kernel of a variance, or of its root."""
    made, bindings = variance_loop(dtype, by_columns)
    finish = variance_of if name == "variance" else deviation_of
    return address(Program(name, made, None, (*bindings, ("finish", finish)), True))


def variance_dims(op: General, x: Layout, attributes: dict) -> tuple[tuple[int, ...], Layout]:
    """The dimensions over which a variance is taken, and the layout of the variances."""
    if not x.dtype.is_floating_point:
        raise DTypeError(f"{op.name}: expected a floating tensor, got {x.dtype}. Hint: x.to(nbgrad.float32).")
    dims = reduced_dims("var", x.ndim, attributes["dim"])
    return dims, x.like(None, kept_shape(x.shape, dims, attributes["keepdim"]))


@lowering("variance", "deviation")
def _variance(op, layouts, attributes):
    x = layouts[0]
    dims, out = variance_dims(op, x, attributes)
    correction = attributes["correction"]
    if not runs_as_it_lies(x):
        return arranged_call
    if not float(correction).is_integer():
        return lambda op, tensors, attributes: rescaled(op, tensors[0], math.prod(x.shape[d] for d in dims), attributes)
    kept = [d for d in range(x.ndim) if d not in dims]
    if dims and kept and dims[0] == 0 and kept == list(range(kept[0], kept[-1] + 1)) and dims[-1] > kept[-1]:
        segments, rows, length = (math.prod(x.shape[a:b]) for a, b in pairwise((0, kept[0], kept[-1] + 1, x.ndim)))
        split, by_columns = (rows, length, 1), False
    elif not dims or dims == tuple(range(dims[0], dims[-1] + 1)):
        first, last = (dims[0], dims[-1] + 1) if dims else (x.ndim, x.ndim)
        split, segments = (math.prod(x.shape[:first]), math.prod(x.shape[first:last]), math.prod(x.shape[last:])), 1
        by_columns = split[2] > 1
    else:
        return lambda op, tensors, attributes: reordered(op, tensors[0], dims, attributes)
    if split[1] * segments == 0:
        return lambda op, tensors, attributes: CALLS["new_full"](out, math.nan)
    code, own = variance_kernel(op.name, x.dtype.name, by_columns), (int(correction), segments, split[0] * split[1])
    return GeneralPlan(split_launch(code, split, 1, by_columns, *own, segments=segments), (out.template,), layouts)


def rescaled(op, x: Tensor, count: int, attributes: dict) -> Tensor:
    """A variance or deviation with a correction that is no whole number: from that without one."""
    freedom = max(count - attributes["correction"], 0.0)
    scale = count / freedom if freedom else math.inf
    raw = CALLS[op.name](x, **{**attributes, "correction": 0})
    return CALLS["mul"](raw, scale if op.name == "variance" else math.sqrt(scale))


def reordered(op, x: Tensor, dims: tuple[int, ...], attributes: dict) -> Tensor:
    """Reduce dimensions that lie apart: bring them to the end."""
    shape = kept_shape(x.layout.shape, dims, attributes["keepdim"])
    y = CALLS["contiguous_copy"](kept_first(x, dims))
    last = tuple(range(x.layout.ndim - len(dims), x.layout.ndim))
    return CALLS["view_shape"](CALLS[op.name](y, **{**attributes, "dim": last, "keepdim": False}), shape)
