"""Copies and conversions on a GPU."""

from __future__ import annotations

from ...base.calls import CALLS
from ...dispatch.device_copies import copy_step, one_step, reach_of
from ...dispatch.device_plans import device_plan
from ...tensors.layout import layout_of
from ...tensors.tensor import native, new_tensor
from ..copy import converted_layout
from .registry import lowering

__all__: list[str] = []


@lowering("contiguous_copy")
def _contiguous(op, layouts, attributes):
    (x,) = layouts
    return (x.like(),), one_step(copy_step(x, x.like()))


@lowering("to_dtype")
def _to_dtype(op, layouts, attributes):
    target = converted_layout(layouts[0], attributes["dtype"])
    return (target,), one_step(copy_step(layouts[0], target))


@lowering("clone_like")
def _clone_like(op, layouts, attributes):
    target = attributes["layout"]
    if not target.dense and not target.expanded and target.numel:
        return into_gaps
    target = target if target.dense else target.like()
    return (target,), one_step(copy_step(layouts[0], target))


def into_gaps(op, tensors, attributes):
    """A copy with strides that leave gaps, in memory that reaches as far as they do."""
    layout, source = attributes["layout"], tensors[0]
    extent = 1 + reach_of(layout.shape, layout.strides)
    memory = CALLS["new_full"](layout_of(layout.dtype, (extent,), None, layout.device), 0)
    copy = new_tensor(memory._storage_, layout)
    native.into(device_plan((layout,), (source.layout,), one_step(copy_step(source.layout, layout))), copy, source)
    return copy
