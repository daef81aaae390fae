"""Copies and conversions on a GPU."""

from __future__ import annotations

from ...base.calls import CALLS
from ...base.dtypes import DType
from ...dispatch.lowerings import GeneralPlan, lowering
from ...dispatch.plans import elementwise_plan
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import native, new_tensor
from ..copy import IDENTITY

__all__ = ["copy_on_gpu"]


def copy_on_gpu(source: Layout, target: Layout) -> GeneralPlan:
    """The launch that writes ``source``'s elements, converted, into ``target``'s layout; the shapes broadcast."""
    return elementwise_plan(IDENTITY, target.dtype, (source,), (target,), plan_type=GeneralPlan)


@lowering("contiguous_copy", device="cuda")
def _contiguous(op, layouts, attributes):
    return copy_on_gpu(layouts[0], layouts[0].like())


@lowering("to_dtype", device="cuda")
def _to_dtype(op, layouts, attributes):
    source, dtype = layouts[0], attributes["dtype"]
    assert isinstance(dtype, DType)
    strides = source.strides if source.dense else None
    return copy_on_gpu(source, layout_of(dtype, source.shape, strides, source.device))


@lowering("clone_like", device="cuda")
def _clone_like(op, layouts, attributes):
    target = attributes["layout"]
    if target.dense:
        return copy_on_gpu(layouts[0], target)
    if target.expanded or not target.numel:
        return copy_on_gpu(layouts[0], target.like())
    return into_gaps


def into_gaps(op, tensors, attributes):
    """A copy with strides that leave gaps, in memory that reaches as far as they do."""
    layout, source = attributes["layout"], tensors[0]
    extent = 1 + sum((size - 1) * stride for size, stride in zip(layout.shape, layout.strides))
    memory = CALLS["new_full"](layout_of(layout.dtype, (extent,), None, layout.device), 0)
    copy = new_tensor(memory._storage_, layout)
    native.into(copy_on_gpu(source.layout, layout), copy, source)
    return copy
