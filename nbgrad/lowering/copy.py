"""Copies and conversions: one kernel for every element size, one for every pair of dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import DType, complex128, int16, int32, int64, uint8
from ..dispatch.formulas import Formula
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import direct_record, elementwise_code, elementwise_plan
from ..kernels.cpu.build import Program, address
from ..kernels.late import Code, late
from ..kernels.templates.scan import repeat_loop
from ..native.plans import pack_record
from ..ops.expr import symbol
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native, new_tensor

__all__ = ["as_bits", "converted_layout", "copy_plan"]

IDENTITY = Formula("copy", (("x", False),), (symbol("x"),))
# Bits are copied as integers: half types and floats share kernels with them.
_BY_SIZE = {1: uint8, 2: int16, 4: int32, 8: int64, 16: complex128}


def as_bits(layout: Layout) -> Layout:
    """The layout of the same memory in elements that are copied as they are, of the same size."""
    return layout_of(_BY_SIZE[layout.dtype.itemsize], layout.shape, layout.strides, layout.device)


def bits_record(itemsize: int) -> bytes:
    """The record that copies elements of that size as they lie."""
    return direct_record(IDENTITY, _BY_SIZE[itemsize].compute, (False,), (False,), 0)


def copier(itemsize: int) -> Code:
    """The kernel of that record."""
    return elementwise_code(IDENTITY, _BY_SIZE[itemsize].compute, (False,), 0)


def copy_plan(source: Layout, target: Layout) -> GeneralPlan:
    """The launch that writes ``source``'s elements, converted, into ``target``'s layout; the shapes broadcast."""
    if source.dtype is target.dtype and (source.conj, source.neg) == (target.conj, target.neg):
        if source.shape == target.shape and source.strides == target.strides and source.dense:
            return GeneralPlan(bits_record(source.dtype.itemsize), (target.template,), (source,))
        bits, out = as_bits(source), as_bits(target)
        plan = elementwise_plan(IDENTITY, bits.dtype, (bits,), (out,), plan_type=GeneralPlan)
        plan.outs, plan.layouts = (target.template,), (source,)
        return plan
    return elementwise_plan(IDENTITY, target.dtype, (source,), (target,), plan_type=GeneralPlan)


NARROW = 64  # elements side by side below which the iterator spends most of its time between them


@late
def repeat_kernel(compute: str) -> int:
    """Address of the kernel."""
    return address(Program("repeat", repeat_loop(compute), None))


def repeat_plan(x: Layout, rows: int, count: int, width: int, shape: tuple) -> GeneralPlan:
    """The launch that makes ``[rows, count, width]`` of ``[rows, width]``, in the shape of the result."""
    kernel = repeat_kernel(_BY_SIZE[x.dtype.itemsize].compute)
    record = pack_record(kernel, 1, 1, 1, (0,), 0, (count, width, rows))
    return GeneralPlan(record, (x.like(None, shape).template,), (x,))


def repeated_dim(layout: Layout) -> int | None:
    """The one dimension along which a contiguous tensor has been expanded; None where there is more to it."""
    dims = [d for d, (size, step) in enumerate(zip(layout.shape, layout.strides)) if size > 1 and not step]
    if len(dims) != 1 or layout.conj or layout.neg or not layout.numel:
        return None
    step = 1
    for d in range(layout.ndim - 1, -1, -1):
        if d != dims[0] and layout.shape[d] > 1:
            if layout.strides[d] != step:
                return None
            step *= layout.shape[d]
    return dims[0]


@lowering("contiguous_copy")
def _contiguous(op, layouts, attributes):
    (x,) = layouts
    d = repeated_dim(x) if x.expanded else None
    if d is not None and (width := math.prod(x.shape[d + 1 :])) < NARROW:
        return repeat_plan(x, math.prod(x.shape[:d]), x.shape[d], width, x.shape)
    return copy_plan(x, x.like())


@lowering("to_dtype")
def _to_dtype(op, layouts, attributes):
    return copy_plan(layouts[0], converted_layout(layouts[0], attributes["dtype"]))


def converted_layout(source: Layout, dtype: DType) -> Layout:
    """The layout of a conversion's result: in the order of the operand, where that has no gaps."""
    return layout_of(dtype, source.shape, source.strides if source.dense else None, source.device)


@lowering("clone_like")
def _clone_like(op, layouts, attributes):
    target = attributes["layout"]
    if target.dense:
        return copy_plan(layouts[0], target)
    if target.expanded or not target.numel:
        return copy_plan(layouts[0], target.like())
    return partial(into_gaps, copy_plan)


def into_gaps(plan_of: Callable[[Layout, Layout], GeneralPlan], op: Any, tensors: tuple, attributes: dict) -> Tensor:
    """A copy with strides that leave gaps, as a detached slice has them: in memory that reaches as far as they do.

    Args:
        plan_of: of the launch that writes the elements of one layout into another.
    """
    layout, source = attributes["layout"], tensors[0]
    extent = 1 + sum((size - 1) * stride for size, stride in zip(layout.shape, layout.strides))
    memory = CALLS["new_full"](layout.like(None, (extent,)), 0)
    copy = new_tensor(memory._storage_, layout)
    native.into(plan_of(source.layout, layout), copy, source)
    return copy
