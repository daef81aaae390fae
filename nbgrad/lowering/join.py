"""Results assembled from operands: concatenation, cotangents of views, flips. All are one launch of ``place``."""
from __future__ import annotations

import struct
from functools import lru_cache

from ..dispatch import CALLS
from ..dtypes import result_dtype
from ..errors import ArgumentError, ShapeError
from ..kernels.cpu.build import Program, address
from ..kernels.cpu.launch import MOST_OPERANDS, PARALLEL, pack_record
from ..kernels.templates.join import fold, place
from ..layout import Layout, contiguous_strides, layout_of
from ..ops import shapes
from ..rules import GeneralPlan, lowering
from ..tensor import Tensor, native
from .copy import copy_plan
from .elementwise import PARALLEL_FROM

__all__ = ["place_plan", "Part"]

# What `place` may be given in one launch: its result and its inputs.
MOST_PARTS = MOST_OPERANDS - 2


@lru_cache(maxsize=1)
def place_address() -> int:
    """Address of the kernel."""
    return address(Program("place", place, None))


class Part:
    """Where one operand goes.

    Attributes:
        layout: the operand's.
        shape, strides, offset: the part of the result that it fills, in elements.
    """

    __slots__ = ("layout", "shape", "strides", "offset")

    def __init__(self, layout: Layout, shape: tuple, strides: tuple, offset: int):
        self.layout, self.shape, self.strides, self.offset = layout, shape, strides, offset


def place_plan(out: Layout, parts: list[Part], zero: bool) -> GeneralPlan:
    """The launch that fills ``out`` from parts; ``zero``: they do not cover it."""
    itemsize, entries, params = out.dtype.itemsize, [], b""
    first = 8 * (2 + 4 * len(parts))
    for part in parts:
        plan = copy_plan(part.layout, layout_of(out.dtype, part.shape, part.strides, out.device))
        kernel, units = struct.unpack_from("2q", plan.record)
        entries += [kernel, units, part.offset * itemsize, first + len(params)]
        params += plan.record[8 * 9:]
    head = struct.pack(f"{2 + len(entries)}q", out.numel * itemsize if zero else 0, len(parts), *entries)
    # One unit of work: the flag only lets other Python threads run during a large copy.
    flags = PARALLEL if out.numel >= PARALLEL_FROM else 0
    record = pack_record(place_address(), 1, 1, 1, (0,) * len(parts), flags, head + params)
    return GeneralPlan(record, (out.template,), tuple(part.layout for part in parts))


# ---- cotangents of views -------------------------------------------------------------------------------------------

VIEW_OF = {
    "slice_backward": lambda x, dim, start, end, step: shapes.sliced(x, dim, start, end, step),
    "select_backward": lambda x, dim, index: shapes.selected(x, dim, index),
    "diagonal_backward": lambda x, offset, dim1, dim2: shapes.diagonal_of(x, offset, dim1, dim2),
    "unfold_backward": lambda x, dimension, size, step: shapes.unfolded(x, dimension, size, step),
}


def region(op, g: Layout, shape: tuple, attributes: tuple):
    """The part of a result of that shape that ``g`` belongs to."""
    whole = layout_of(g.dtype, tuple(shape), None, g.device)
    part, strides, offset = VIEW_OF[op.name](whole, *attributes)
    if part != g.shape:
        raise ShapeError(f"{op.name}: the cotangent has shape {list(g.shape)}, expected {list(part)}.")
    return whole, part, strides, offset


@lowering("slice_backward", "select_backward", "diagonal_backward")
def _embed(op, layouts, attributes):
    g = layouts[0]
    _, *rest = attributes.values()
    whole, part, strides, offset = region(op, g, attributes["shape"], tuple(rest))
    return place_plan(whole, [Part(g, part, strides, offset)] if g.numel else [], zero=True) if g.numel else zeros_plan(whole, g)


def zeros_plan(out: Layout, operand: Layout) -> GeneralPlan:
    """The launch for an operand without elements: zeros."""
    head = struct.pack("2q", out.numel * out.dtype.itemsize, 0)
    return GeneralPlan(pack_record(place_address(), 1, 1, 1, (0,), 0, head), (out.template,), (operand,))


# ---- overlapping sums ----------------------------------------------------------------------------------------------

def fold_into(g: Tensor, strides: tuple, first: int, total: int) -> Tensor:
    """A flat tensor of ``total`` elements: the sum of ``g`` laid over it with ``strides`` from element ``first`` on."""
    layout = g.layout
    if layout.dtype.name in ("float16", "bfloat16"):
        from ..dtypes import float32
        return CALLS["to_dtype"](fold_into(CALLS["to_dtype"](g, float32), strides, first, total), layout.dtype)
    out = layout_of(layout.dtype, (total,), None, layout.device)
    shape, steps, own = layout.shape or (1,), strides or (0,), layout.strides or (0,)
    words = (total, layout.numel, len(shape), first, *shape, *steps, *own)
    kernel = address(Program("fold", fold(layout.dtype.compute), None))
    plan = GeneralPlan(pack_record(kernel, 1, 1, 1, (0,), 0, struct.pack(f"{len(words)}q", *words)), (out.template,), (layout,))
    return native.fresh(plan, g)


def reach(shape: tuple, strides: tuple) -> int:
    """Elements between the first and the last one of a layout; 0 for an empty one."""
    return 0 if 0 in shape else sum((s - 1) * t for s, t in zip(shape, strides))


def may_overlap(shape: tuple, strides: tuple) -> bool:
    """Whether two positions of a layout may share an element."""
    extent = 1
    for stride, size in sorted((t, s) for s, t in zip(shape, strides) if s != 1):
        if stride < extent:
            return True
        extent = stride * (size - 1) + extent
    return False


@lowering("unfold_backward", style="run")
def _unfold_backward(op, tensors, attributes):
    g, = tensors
    shape, *rest = attributes.values()
    whole, _, strides, offset = region(op, g.layout, shape, tuple(rest))
    return CALLS["reshape"](fold_into(g, strides, offset, whole.numel), whole.shape)


@lowering("as_strided_backward", style="run")
def _as_strided_backward(op, tensors, attributes):
    g, = tensors
    layout, stride, offset = attributes["layout"], tuple(attributes["stride"]), attributes["offset"]
    # Both geometries lie in one flat buffer: the operand's elements and what the view reached, before or beyond them.
    own = max(0, -offset)
    total = max(own + reach(layout.shape, layout.strides), own + offset + reach(g.layout.shape, stride)) + 1
    flat = fold_into(g, stride, own + offset, total)
    if may_overlap(layout.shape, layout.strides) and layout.numel:
        ones = CALLS["new_full"](layout_of(g.layout.dtype, layout.shape, None, layout.device), 1)
        counts = fold_into(ones, layout.strides, own, total)
        flat = CALLS["div"](flat, CALLS["maximum"](counts, 1))
    part = CALLS["as_strided"](flat, layout.shape, layout.strides, own)
    return CALLS["clone_like"](part, layout if layout.dense else layout.like(g.layout.dtype))


@lowering("reshape_copy")
def _reshape_copy(op, layouts, attributes):
    source = layouts[0]
    plan = copy_plan(source, source.like())
    shape = shapes.infer_shape("reshape", attributes["shape"], source.numel)
    plan.outs = (source.like(shape=shape).template,)
    return plan
