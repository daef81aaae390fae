"""Cotangents of views: placed among zeros, or added up where a view shows elements more than once."""

from __future__ import annotations

from typing import Callable

from ..base.calls import CALLS
from ..base.errors import ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering, prepared
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.join import fold
from ..native.plans import PARALLEL, pack_record
from ..ops import shapes
from ..tensors.layout import Layout, layout_of
from ..tensors.overlap import overlaps_itself
from ..tensors.tensor import Tensor, native
from .copy import copier, copy_plan
from .placing import PARALLEL_FROM, Part, place_address, place_plan, zeros_plan

__all__: list[str] = []


# ---- cotangents of views -------------------------------------------------------------------------------------------


def region(op, g: Layout, shape: tuple, attributes: tuple):
    """The part of a result of that shape that ``g`` belongs to."""
    whole = layout_of(g.dtype, tuple(shape), None, g.device)
    part, strides, offset = op.part(whole, *attributes)
    if part != g.shape:
        raise ShapeError(f"{op.name}: the cotangent has shape {list(g.shape)}, expected {list(part)}.")
    return whole, part, strides, offset


@lowering("slice_backward", "select_backward", "diagonal_backward")
def _embed(op, layouts, attributes):
    g = layouts[0]
    _, *rest = attributes.values()
    whole, part, strides, offset = region(op, g, attributes["shape"], tuple(rest))
    if not g.numel:
        return zeros_plan(whole, g)
    if g.contiguous and strides == g.strides and not g.special:
        return block_plan(whole, g, offset)
    return place_plan(whole, [Part(g, part, strides, offset)], zero=True)


def block_plan(out: Layout, g: Layout, offset: int) -> GeneralPlan:
    """Zeros around elements that lie one after the other: what ``place_plan`` gives, sooner."""
    size = out.dtype.itemsize
    words = out.numel * size, 1, copier(size), g.numel, offset * size, 8 * 8, 0, 0
    record = pack_record(place_address(), 1, 1, 1, (0,), PARALLEL if out.numel >= PARALLEL_FROM else 0, words)
    return GeneralPlan(record, (out.template,), (g,))


# ---- overlapping sums ----------------------------------------------------------------------------------------------


def fold_into(g: Tensor, strides: tuple, first: int, total: int) -> Tensor:
    """A flat tensor of ``total`` elements: the sum of ``g`` laid over it with ``strides`` from element ``first`` on."""
    layout = g.layout
    if layout.dtype.name in ("float16", "bfloat16"):
        from ..base.dtypes import float32

        return CALLS["to_dtype"](fold_into(CALLS["to_dtype"](g, float32), strides, first, total), layout.dtype)
    return native.fresh(fold_plan(layout, strides, first, layout_of(layout.dtype, (total,), None, layout.device)), g)


@late
def fold_kernel(compute: str) -> int:
    """Address of the kernel that sums what lies at one place."""
    return address(Program("fold", fold(compute), None))


def fold_plan(g: Layout, strides: tuple, first: int, out: Layout) -> GeneralPlan:
    """The launch that sums ``g``, laid over the elements of a dense result with ``strides`` from element ``first`` on."""
    shape, steps, own = g.shape or (1,), strides or (0,), g.strides or (0,)
    words = (out.numel, g.numel, len(shape), first, *shape, *steps, *own)
    record = pack_record(fold_kernel(g.dtype.compute), 1, 1, 1, (0,), 0, words)
    return GeneralPlan(record, (out.template,), (g,))


def added_up(g: Layout, out: Layout, strides: tuple, first: int) -> GeneralPlan | None:
    """The launch that gives ``out`` of one part, zeros elsewhere; what overlaps is summed, of half types in several steps."""
    if not g.numel:
        return None
    if not overlaps_itself(g.shape, strides):
        return place_plan(out, [Part(g, g.shape, strides, first)], zero=g.numel < out.numel)
    return fold_plan(g, strides, first, out) if g.dtype.compute == g.dtype.name else None


def reach(shape: tuple, strides: tuple) -> int:
    """Elements between the first and the last one of a layout; 0 for an empty one."""
    return 0 if 0 in shape else sum((s - 1) * t for s, t in zip(shape, strides))


@lowering("unfold_backward", style="run")
def _unfold_backward(op, tensors, attributes):
    (g,) = tensors
    shape, *rest = attributes.values()
    whole, _, strides, offset = region(op, g.layout, shape, tuple(rest))
    return CALLS["reshape"](fold_into(g, strides, offset, whole.numel), whole.shape)


@prepared("unfold_backward")
def _quick_unfold_backward(op, layouts, attributes):
    (g,) = layouts
    shape, *rest = attributes.values()
    whole, _, strides, offset = region(op, g, shape, tuple(rest))
    plan, fresh = added_up(g, whole, strides, offset), native.fresh
    return None if plan is None else lambda g, *attributes: fresh(plan, g)


@prepared("as_strided_backward")
def _quick_as_strided_backward(op, layouts, attributes):
    (g,) = layouts
    layout, stride, offset = attributes["layout"], attributes["stride"], attributes["offset"]
    if not layout.dense or offset < 0 or offset + reach(g.shape, stride) >= layout.numel:
        return None
    out = layout_of(g.dtype, layout.shape, layout.strides, layout.device)
    plan, fresh = added_up(g, out, stride, offset), native.fresh
    return None if plan is None else lambda g, *attributes: fresh(plan, g)


def flat_geometry(layout: Layout, size: tuple, stride: tuple, offset: int) -> tuple[int, int]:
    """The flat buffer in which an operand and what as_strided shows of its memory lie: where the operand begins, and its length.

    What the view reaches before or behind the operand is no element of it.
    """
    if 0 in size:
        return 0, reach(layout.shape, layout.strides) + 1
    own = max(0, -offset)
    return own, max(own + reach(layout.shape, layout.strides), own + offset + reach(size, stride)) + 1


Fold = Callable[[Tensor, tuple, int, int], Tensor]  # as ``fold_into``


def shared_out(flat: Tensor, layout: Layout, own: int, fold: Fold) -> Tensor:
    """The buffer with what several positions of the operand share divided by their number."""
    if not (overlaps_itself(layout.shape, layout.strides) and layout.numel):
        return flat
    ones = CALLS["new_full"](layout_of(flat.layout.dtype, layout.shape, None, layout.device), 1)
    return CALLS["div"](flat, CALLS["maximum"](fold(ones, layout.strides, own, flat.layout.numel), 1))


def as_strided_backward(g: Tensor, attributes: dict, fold: Fold) -> Tensor:
    """The transpose of ``as_strided`` through the memory that operand and view reach together."""
    layout, stride, offset = attributes["layout"], tuple(attributes["stride"]), attributes["offset"]
    own, total = flat_geometry(layout, g.layout.shape, stride, offset)
    flat = shared_out(fold(g, stride, own + offset, total), layout, own, fold)
    part = CALLS["as_strided"](flat, layout.shape, layout.strides, own)
    # Without lazy bits: a cotangent is computed.
    strides = layout.strides if layout.dense else None
    return CALLS["clone_like"](part, layout_of(g.layout.dtype, layout.shape, strides, layout.device))


def as_strided_within(x: Tensor, attributes: dict, fold: Fold) -> Tensor:
    """What ``as_strided`` would show of a tensor with another layout."""
    layout, offset = attributes["layout"], attributes["offset"]
    size, stride = tuple(attributes["size"]), tuple(attributes["stride"])
    own, total = flat_geometry(layout, size, stride, offset)
    flat = shared_out(fold(x, layout.strides, own, total), layout, own, fold)
    return CALLS["contiguous_copy"](CALLS["as_strided"](flat, size, stride, own + offset))


@lowering("as_strided_backward", style="run")
def _as_strided_backward(op, tensors, attributes):
    return as_strided_backward(tensors[0], attributes, fold_into)


@lowering("as_strided_within", style="run")
def _as_strided_within(op, tensors, attributes):
    return as_strided_within(tensors[0], attributes, fold_into)


@lowering("reshape_copy")
def _reshape_copy(op, layouts, attributes):
    source = layouts[0]
    plan = copy_plan(source, source.like())
    shape = shapes.infer_shape("reshape", attributes["shape"], source.numel)
    plan.outs = (source.like(shape=shape).template,)
    return plan
