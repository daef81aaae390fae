"""Copies and conversions: one kernel for every element size, one for every pair of dtypes."""
from __future__ import annotations

from ..dispatch import CALLS
from ..dtypes import DType, complex128, int16, int32, int64, uint8
from ..layout import Layout, layout_of
from ..ops.expr import symbol
from ..rules import GeneralPlan, lowering
from ..tensor import native, new_tensor
from .elementwise import Formula, direct_record, elementwise_plan

__all__ = ["copy_plan"]

IDENTITY = Formula("copy", (("x", False),), (symbol("x"),))
# Bits are copied as integers: half types and floats share kernels with them.
_BY_SIZE = {1: uint8, 2: int16, 4: int32, 8: int64, 16: complex128}


def _as_bits(layout: Layout) -> Layout:
    return layout_of(_BY_SIZE[layout.dtype.itemsize], layout.shape, layout.strides, layout.device)


def bits_record(itemsize: int) -> bytes:
    """The record that copies elements of that size as they lie."""
    return direct_record(IDENTITY, _BY_SIZE[itemsize].compute, (False,), (False,), 0)


def copy_plan(source: Layout, target: Layout) -> GeneralPlan:
    """The launch that writes ``source``'s elements, converted, into ``target``'s layout; the shapes broadcast."""
    if source.dtype is target.dtype and (source.conj, source.neg) == (target.conj, target.neg):
        if source.shape == target.shape and source.strides == target.strides and source.dense:
            return GeneralPlan(bits_record(source.dtype.itemsize), (target.template,), (source,))
        bits, out = _as_bits(source), _as_bits(target)
        plan = elementwise_plan(IDENTITY, bits.dtype, (bits,), (out,), plan_type=GeneralPlan)
        plan.outs, plan.layouts = (target.template,), (source,)
        return plan
    return elementwise_plan(IDENTITY, target.dtype, (source,), (target,), plan_type=GeneralPlan)


@lowering("contiguous_copy")
def _contiguous(op, layouts, attributes):
    return copy_plan(layouts[0], layouts[0].like())


@lowering("to_dtype")
def _to_dtype(op, layouts, attributes):
    source, dtype = layouts[0], attributes["dtype"]
    assert isinstance(dtype, DType)
    strides = source.strides if source.dense else None
    return copy_plan(source, layout_of(dtype, source.shape, strides, source.device))


@lowering("clone_like")
def _clone_like(op, layouts, attributes):
    target = attributes["layout"]
    if target.dense:
        return copy_plan(layouts[0], target)
    if target.expanded or not target.numel:
        return copy_plan(layouts[0], target.like())
    return into_gaps


def into_gaps(op, tensors, attributes):
    """A copy with strides that leave gaps, as a detached slice has them: in memory that reaches as far as they do."""
    layout, source = attributes["layout"], tensors[0]
    extent = 1 + sum((size - 1) * stride for size, stride in zip(layout.shape, layout.strides))
    memory = CALLS["new_full"](layout_of(layout.dtype, (extent,), None, layout.device), 0)
    copy = new_tensor(memory._storage_, layout)
    native.into(copy_plan(source.layout, layout), copy, source)
    return copy
