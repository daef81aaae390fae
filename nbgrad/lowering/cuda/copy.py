"""Copies and conversions on a GPU."""

from __future__ import annotations

from functools import partial

from ...dispatch.device_copies import copy_step, one_step
from ...dispatch.device_plans import device_plan
from ...dispatch.lowerings import GeneralPlan
from ...tensors.layout import Layout
from ..copy import converted_layout, into_gaps
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
        return partial(into_gaps, copy_plan)
    target = target if target.dense else target.like()
    return (target,), one_step(copy_step(layouts[0], target))


def copy_plan(source: Layout, target: Layout) -> GeneralPlan:
    """The launch that writes the elements of one layout into another."""
    return device_plan((target,), (source,), one_step(copy_step(source, target)))
