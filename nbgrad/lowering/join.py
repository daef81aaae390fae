"""Results assembled from operands: concatenation, cotangents of views, flips. All are one launch of ``place``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.dtypes import result_dtype
from ..base.errors import ArgumentError, ShapeError
from ..dispatch.lowerings import GeneralPlan, for_sizes, lowering, prepared
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.gather import triangle
from ..kernels.templates.join import fold, place
from ..native.plans import PARALLEL, pack_record, taken_apart
from ..ops import shapes
from ..tensors.layout import Layout, contiguous_strides, layout_of, like_strides
from ..tensors.memory_format import strides_of
from ..tensors.overlap import overlaps_itself
from ..tensors.tensor import Tensor, native
from .copy import _as_bits as as_bits, copier, copy_plan

__all__ = ["place_plan", "Part"]

# Elements from which a launch lets other Python threads run, and uses threads where its units allow it; elements a
# share.
PARALLEL_FROM, GRAIN = 1 << 15, 1 << 13

MOST_PARTS = 22  # what `place` is given in one launch


@late
def place_address() -> int:
    """Address of the kernel."""
    return address(Program("place", place, None))


class Part:
    """Where one operand goes.

    Attributes:
        layout: of what is read.
        shape, strides, offset: the part of the result that it fills, in elements.
        first: of the operand, the first element that is read.
    """

    __slots__ = ("layout", "shape", "strides", "offset", "first")

    def __init__(self, layout: Layout, shape: tuple, strides: tuple, offset: int, first: int = 0):
        self.layout, self.shape, self.strides, self.offset, self.first = layout, shape, strides, offset, first


def place_plan(out: Layout, parts: list[Part], zero: bool, whole: Layout | None = None) -> GeneralPlan:
    """The launch that fills ``out`` from parts; ``zero``: they do not cover it. ``whole``: all are parts of one operand."""
    itemsize, entries, params = out.dtype.itemsize, list[Any](), list[Any]()
    first = 8 * (2 + 6 * len(parts))
    for k, part in enumerate(parts):
        plan = copy_plan(part.layout, layout_of(out.dtype, part.shape, part.strides, out.device))
        kernel, units, words = taken_apart(plan)
        entries += [
            kernel,
            units,
            part.offset * itemsize,
            first + 8 * len(params),
            k if whole is None else 0,
            part.first * part.layout.dtype.itemsize,
        ]
        params += words
    head = (out.numel * itemsize if zero else 0, len(parts), *entries)
    # One unit of work: the flag only lets other Python threads run during a large copy.
    flags = PARALLEL if out.numel >= PARALLEL_FROM else 0
    layouts = tuple(part.layout for part in parts) if whole is None else (whole,)
    record = pack_record(place_address(), 1, 1, 1, (0,) * len(layouts), flags, (*head, *params))
    return GeneralPlan(record, (out.template,), layouts)


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


def zeros_plan(out: Layout, operand: Layout) -> GeneralPlan:
    """The launch for an operand without elements: zeros."""
    head = (out.numel * out.dtype.itemsize, 0)
    return GeneralPlan(pack_record(place_address(), 1, 1, 1, (0,), 0, head), (out.template,), (operand,))


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


# ---- joining and rearranging ---------------------------------------------------------------------------------------


def joined_strides(layouts: tuple, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Those of the result of ``cat``: channels last where every operand has them so, else row by row."""
    rows = contiguous_strides(shape)
    if len(shape) not in (4, 5):
        return rows
    order = (0, *range(2, len(shape)), 1)
    for layout in layouts:
        if layout.strides == contiguous_strides(layout.shape) or layout.strides != strides_of(layout.shape, order):
            return rows
    return strides_of(shape, order)


def joined_parts(op, layouts: tuple, dim: int) -> tuple[tuple, list[Part | None]]:
    """The shape of ``cat`` and where its operands go; operands of shape (0,) go nowhere.

    Raises:
        ShapeError: sizes differ in another dimension than ``dim``.
    """
    filled = [layout for layout in layouts if layout.shape != (0,)]
    if not filled:
        return (0,), []
    first = filled[0]
    if not first.ndim:
        raise ShapeError(f"{op.name}: 0-d tensors cannot be concatenated. Hint: stack.")
    dim = shapes.wrap(op.name, dim, first.ndim)
    for layout in filled:
        if layout.ndim != first.ndim or any(a != b for d, (a, b) in enumerate(zip(layout.shape, first.shape)) if d != dim):
            raise ShapeError(
                f"{op.name}: shapes {list(first.shape)} and {list(layout.shape)} must match except in dimension {dim}."
            )
    shape = (*first.shape[:dim], sum(layout.shape[dim] for layout in filled), *first.shape[dim + 1 :])
    strides, start, parts = joined_strides(layouts, shape), 0, []
    for layout in layouts:
        used = layout.shape != (0,)
        parts.append(Part(layout, layout.shape, strides, start * strides[dim]) if used and layout.numel else None)
        start += layout.shape[dim] if used else 0
    return shape, parts


def check_members(op, members) -> tuple[Tensor, ...]:
    """The operands of a variadic operation, as a tuple."""
    if isinstance(members, Tensor):
        raise ArgumentError(f"{op.public}: expected a sequence of tensors, got a Tensor. Hint: {op.public}([x]).")
    members = tuple(members)
    if not members:
        raise ShapeError(f"{op.public}: expected at least one tensor.")
    for k, x in enumerate(members):
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{op.public}: tensors[{k}] must be a Tensor, got {type(x).__name__}.")
    return members


def check_member_layouts(op, layouts: Any) -> tuple[Layout, ...]:
    """The layouts of the operands of a variadic operation, at least one."""
    if not isinstance(layouts, (tuple, list)):
        raise ArgumentError(f"{op.public}: expected a sequence of tensors, got a Tensor. Hint: {op.public}([x]).")
    if not layouts:
        raise ShapeError(f"{op.public}: expected at least one tensor.")
    return tuple(layouts)


MOST_CAT_PLANS = 1024


@lru_cache(maxsize=MOST_CAT_PLANS)
def cat_plan(op, layouts: tuple, dim: int) -> tuple:
    """The launch of ``cat`` and the positions of the operands that it reads; or None and the result without
    elements."""
    if all(layout.numel for layout in layouts):
        whole = cat_launch(op, layouts, dim)
        return whole, tuple(range(len(layouts))), whole.outs[0].layout
    out, parts = cat_parts(op, layouts, dim)
    used = tuple(k for k, part in enumerate(parts) if part is not None)
    plan = place_plan(out, [part for part in parts if part is not None], zero=False) if used else None
    return plan, used, out


@for_sizes()
def cat_launch(op, layouts: tuple, dim: int) -> GeneralPlan:
    """The launch of ``cat`` of operands that all have elements."""
    out, parts = cat_parts(op, layouts, dim)
    return place_plan(out, [part for part in parts if part is not None], zero=False)


def cat_parts(op, layouts: tuple, dim: int) -> tuple[Layout, list[Part | None]]:
    """The layout of the result of ``cat`` and where its operands go."""
    dtype = result_dtype([(layout.dtype, 1) for layout in layouts], [])
    shape, parts = joined_parts(op, layouts, dim)
    return layout_of(dtype, shape, joined_strides(layouts, shape), layouts[0].device), parts


@lowering("cat", style="run")
def _cat(op, tensors, attributes):
    members, dim = check_members(op, tensors[0]), attributes["dim"]
    if len(members) > MOST_PARTS and len({x.layout.dtype for x in members}) > 1:  # no group has a narrower dtype than all have
        dtype = result_dtype([(x.layout.dtype, 1) for x in members], [])
        members = tuple([CALLS["to_dtype"](x, dtype) for x in members])
    while len(members) > MOST_PARTS:
        # In groups: every element moves once a level, and three levels join 10,000 tensors.
        members = tuple(_cat(op, (members[k : k + MOST_PARTS],), attributes) for k in range(0, len(members), MOST_PARTS))
    plan, used, out = cat_plan(op, tuple([x.layout for x in members]), dim)
    if plan is None:
        return CALLS["new_full"](out, 0)
    return native.fresh(plan, *(members if len(used) == len(members) else [members[k] for k in used]))


@prepared("cat", "stack")
def _quick_join(op, layouts, attributes):
    (members,), dim, fresh = layouts, attributes["dim"], native.fresh
    if not all(layout.numel for layout in members):
        return None
    if len(members) > MOST_PARTS:
        return quick_groups(op, members, dim)
    if op.name == "cat":
        plan = cat_plan(op, members, dim)[0]
    else:
        plan = stack_plan(members, shapes.wrap("stack", dim, members[0].ndim + 1))

    def quick(tensors, dim):
        return fresh(plan, *tensors)

    quick.plan = plan  # all that it is
    return quick


MOST_QUICK = 1024  # operands of a join whose launches are kept


def quick_groups(op, members: tuple, dim: int):
    """A join of more operands than one launch takes: each launch writes its part of the result; None for too many."""
    if len(members) > MOST_QUICK:
        return None
    made: Any  # the layout of the result, and where the operands go
    if op.name == "cat":
        made = cat_parts(op, members, dim)
    else:
        made = stacked_parts(members, shapes.wrap("stack", dim, members[0].ndim + 1))
    out, parts = made
    groups = [slice(k, k + MOST_PARTS) for k in range(0, len(members), MOST_PARTS)]
    (first, plan), *others = [(group, place_plan(out, parts[group], zero=False)) for group in groups]
    fresh, into = native.fresh, native.into

    def quick(tensors, dim):
        result = fresh(plan, *tensors[first])
        for group, launch in others:
            into(launch, result, *tensors[group])
        result._storage_.version = 0  # nobody has seen it yet
        return result

    return quick


@lowering("stack", style="run")
def _stack(op, tensors, attributes):
    members = check_members(op, tensors[0])
    dim = shapes.wrap("stack", attributes["dim"], members[0].layout.ndim + 1)
    if len(members) > MOST_PARTS or not members[0].layout.numel:
        stack_shape(tuple([x.layout for x in members]), dim)
        return CALLS["cat"](tuple(CALLS["unsqueeze"](x, dim) for x in members), dim)
    return native.fresh(stack_plan(tuple([x.layout for x in members]), dim), *members)


def stack_shape(layouts: tuple, dim: int) -> tuple[int, ...]:
    """The shape of ``stack``.

    Raises:
        ShapeError: the operands' differ.
    """
    shape = layouts[0].shape
    for layout in layouts:
        if layout.shape != shape:
            raise ShapeError(f"stack: shapes {list(shape)} and {list(layout.shape)} must be equal.")
    return (*shape[:dim], len(layouts), *shape[dim:])


@lru_cache(maxsize=MOST_CAT_PLANS)
@for_sizes()
def stack_plan(layouts: tuple, dim: int) -> GeneralPlan:
    """The launch of ``stack``: every operand has its place along the new dimension."""
    return place_plan(*stacked_parts(layouts, dim), zero=False)


def stacked_parts(layouts: tuple, dim: int) -> tuple[Layout, list[Part]]:
    """The layout of the result of ``stack`` and where its operands go."""
    shape = stack_shape(layouts, dim)
    out = layout_of(result_dtype([(layout.dtype, 1) for layout in layouts], []), shape, None, layouts[0].device)
    strides = (*out.strides[:dim], *out.strides[dim + 1 :])
    return out, [Part(layout, layout.shape, strides, k * out.strides[dim]) for k, layout in enumerate(layouts)]


@lru_cache(maxsize=MOST_CAT_PLANS)
def blocks_plan(layouts: tuple) -> tuple[GeneralPlan | None, tuple[int, ...], Layout]:
    """The launch of ``blocks`` and the positions of the operands that it reads; without elements None, and the result's layout."""
    out, parts = block_parts(layouts)
    used = tuple(k for k, part in enumerate(parts) if part is not None)
    return place_plan(out, [part for part in parts if part is not None], zero=True) if used else None, used, out


def block_parts(layouts: tuple) -> tuple[Layout, list[Part | None]]:
    """The layout of the result of ``blocks`` and where its operands go; those without elements go nowhere."""
    sizes = [shapes.as_block(layout.shape) for layout in layouts]
    dtype = result_dtype([(layout.dtype, 1) for layout in layouts], [])
    out = layout_of(dtype, (sum(h for h, _ in sizes), sum(w for _, w in sizes)), None, layouts[0].device)
    parts, place, width = list[Part | None](), 0, out.shape[1]
    for layout, size in zip(layouts, sizes):
        parts.append(Part(layout, size, out.strides, place) if layout.numel else None)
        place += size[0] * width + size[1]
    return out, parts


@lowering("blocks", style="run")
def _blocks(op, tensors, attributes):
    members = check_members(op, tensors[0])
    while len(members) > MOST_PARTS:
        members = tuple(_blocks(op, (members[k : k + MOST_PARTS],), attributes) for k in range(0, len(members), MOST_PARTS))
    plan, used, out = blocks_plan(tuple([x.layout for x in members]))
    return CALLS["new_full"](out, 0) if plan is None else native.fresh(plan, *[members[k] for k in used])


@prepared("blocks")
def _quick_blocks(op, layouts, attributes):
    members, fresh = layouts[0], native.fresh
    if len(members) > MOST_PARTS or not all(layout.numel for layout in members):
        return None
    plan = blocks_plan(members)[0]
    return lambda tensors: fresh(plan, *tensors)


@lowering("zero_pad")
def _zero_pad(op, layouts, attributes):
    (x,) = layouts
    out, part = padded_part(x, tuple(map(shapes.as_int, attributes["pad"])))
    return zeros_plan(out, x) if part is None else place_plan(out, [part], zero=part.layout.numel < out.numel, whole=x)


def padded_part(x: Layout, pad: tuple[int, ...]) -> tuple[Layout, Part | None]:
    """The layout of the result of ``pad`` and where what is kept of the operand goes; None if that is nothing.

    Raises:
        ShapeError: more is taken than there is.
    """
    sizes, kept, first, place = list(x.shape), list(x.shape), 0, []
    for k in range(0, len(pad), 2):
        d, before, after = x.ndim - 1 - k // 2, pad[k], pad[k + 1]
        sizes[d] += before + after
        kept[d] += min(before, 0) + min(after, 0)
        if sizes[d] < 0 or kept[d] < 0:
            raise ShapeError(f"pad: {before} and {after} elements cannot be taken from dimension {d} of size {x.shape[d]}.")
        first += max(-before, 0) * x.strides[d]
        place.append((d, max(before, 0)))
    out = x.like(shape=tuple(sizes))
    if 0 in kept:
        return out, None
    part = layout_of(x.dtype, tuple(kept), x.strides, x.device, x.conj, x.neg)
    offset = sum(before * out.strides[d] for d, before in place)
    return out, Part(part, part.shape, out.strides, offset, first)


@lowering("flip_dims")
def _flip(op, layouts, attributes):
    (x,), (out, part) = layouts, flipped_part(op, layouts[0], attributes["dims"])
    return place_plan(out, [part], zero=False) if x.numel else zeros_plan(out, x)


def flipped_part(op, x: Layout, dims: tuple) -> tuple[Layout, Part]:
    """The layout of ``flip``, which goes through memory as ``x`` does, and where the elements go.

    Raises:
        ShapeError: a dimension is named twice.
    """
    wrapped = [shapes.wrap("flip", d, x.ndim) for d in dims]
    if len(set(wrapped)) != len(wrapped):
        raise ShapeError(f"flip: {list(dims)} names a dimension twice.")
    out = x.like() if x.expanded else layout_of(x.dtype, x.shape, like_strides(x.shape, x.strides), x.device)
    strides, offset = list(out.strides), 0
    for d in wrapped if x.ndim and x.numel else ():
        offset += (x.shape[d] - 1) * strides[d]
        strides[d] = -strides[d]
    return out, Part(x, x.shape, tuple(strides), offset)


@lowering("roll")
def _roll(op, layouts, attributes):
    x, shifts, dims = layouts[0], attributes["shifts"], attributes["dims"]
    if is_in_one_row(shifts, dims):
        return in_one_row if x.numel else copied
    moved = moved_by(x, shifts, dims)
    return copied if moved is None else place_plan(x.like(), rolled_parts(x, moved), zero=False, whole=x)


def is_in_one_row(shifts: Any, dims: Any) -> bool:
    """Whether ``roll`` moves the elements in a row.

    Raises:
        ShapeError: by more than one shift.
    """
    if dims is not None and (hasattr(dims, "__index__") or len(dims)):
        return False
    if not hasattr(shifts, "__index__") and len(shifts) != 1:
        raise ShapeError(f"roll: {len(shifts)} shifts of all elements in a row, expected one. Hint: dims names dimensions.")
    return True


def moved_by(x: Layout, shifts: Any, dims: Any) -> list[int] | None:
    """By how many places ``roll`` moves along each dimension; None where there is nothing to move.

    Raises:
        ShapeError: not as many shifts as dimensions.
    """
    shifts = (shifts,) if hasattr(shifts, "__index__") else tuple(shifts)
    dims = (dims,) if hasattr(dims, "__index__") else tuple(dims)
    if len(shifts) != len(dims):
        raise ShapeError(f"roll: {len(shifts)} shifts and {len(dims)} dims; expected as many of each.")
    if not dims or not x.numel or not x.ndim:
        for dim in dims:
            shapes.wrap("roll", dim, x.ndim)
        return None
    moved = [0] * x.ndim
    for shift, dim in zip(shifts, dims):
        moved[shapes.wrap("roll", dim, x.ndim)] += shapes.as_int(shift)
    return moved


def rolled_parts(x: Layout, shifts: list[int]) -> list[Part]:
    """Every part of ``x`` between the places where dimensions are cut, and where it goes."""
    parts: list[tuple[tuple[int, ...], int, int]] = [((), 0, 0)]  # shape, place in x, place in the result
    strides = x.like().strides
    for size, own, step, shift in zip(x.shape, x.strides, strides, shifts):
        cut = -shift % size
        pieces = ((size - cut, cut, 0), (cut, 0, size - cut)) if cut else ((size, 0, 0),)
        parts = [
            ((*shape, length), source + start * own, target + to * step)
            for shape, source, target in parts
            for length, start, to in pieces
        ]
    return [
        Part(layout_of(x.dtype, shape, x.strides, x.device, x.conj, x.neg), shape, strides, target, source)
        for shape, source, target in parts
    ]


def copied(op, tensors, attributes):
    """A copy: nothing is moved."""
    return CALLS["clone"](tensors[0])


def in_one_row(op, tensors, attributes):
    """Roll the elements in one row."""
    x, shifts = tensors[0], attributes["shifts"]
    shift = shifts[0] if isinstance(shifts, (tuple, list)) else shifts
    return CALLS["reshape"](CALLS["roll"](CALLS["reshape"](x, (-1,)), shift, 0), x.layout.shape)


@lowering("repeat_sizes")
def _repeat(op, layouts, attributes):
    x, repeats = layouts[0], tuple(map(shapes.as_int, attributes["repeats"]))
    out, spread = repeated(x, repeats)
    if not out.numel:
        return lambda op, tensors, attributes: CALLS["new_full"](out, 0)
    plan = copy_plan(spread, out.like(shape=spread.shape))
    plan.outs, plan.layouts = (out.template,), (x,)
    return plan


def repeated(x: Layout, repeats: tuple[int, ...]) -> tuple[Layout, Layout]:
    """The layout of the result of ``repeat``, and the operand with each dimension as two, along the first of which it stands.

    Raises:
        ShapeError: too few repeats, or a negative one.
    """
    if len(repeats) < x.ndim:
        raise ShapeError(f"repeat: {len(repeats)} repeats given for {x.ndim} dimensions; expected at least as many.")
    if any(r < 0 for r in repeats):
        raise ShapeError(f"repeat: repeats must be >= 0, got {list(repeats)}.")
    new = len(repeats) - x.ndim
    shape, strides = (1,) * new + x.shape, (0,) * new + x.strides
    out = x.like(shape=tuple([r * s for r, s in zip(repeats, shape)]))
    wide = tuple([size for pair in zip(repeats, shape) for size in pair])
    spread = tuple([step for stride in strides for step in (0, stride)])
    return out, layout_of(x.dtype, wide, spread, x.device, x.conj, x.neg)


@lowering("tril", "triu")
def _triangle(op, layouts, attributes):
    (layout,) = layouts
    diagonal = diagonal_of(op, layout, attributes["diagonal"])
    if not layout.numel:
        return copied
    if not layout.contiguous or layout.conj or layout.neg:
        return lambda op, tensors, attributes: CALLS[op.name](CALLS["contiguous_copy"](tensors[0]), **attributes)
    return triangle_plan(layout, diagonal, op.name == "triu")


def diagonal_of(op, layout: Layout, diagonal: Any) -> int:
    """The diagonal of ``tril`` and ``triu``, within the matrix.

    Raises:
        ShapeError: no matrix.
    """
    if layout.ndim < 2:
        raise ShapeError(f"{op.name}: expected a matrix or a batch of them, got {layout.ndim} dimensions.")
    if not layout.numel:
        return 0
    *_, rows, columns = layout.shape
    return max(min(shapes.as_int(diagonal), columns), -rows)


@late
def triangle_kernel(bits: str) -> int:
    """Address of the kernel."""
    return address(Program("triangle", triangle(bits), None))


def triangle_plan(layout: Layout, diagonal: int, upper: bool) -> GeneralPlan:
    """The launch that copies a triangle of row-major matrices."""
    *_, rows, columns = layout.shape
    kernel = triangle_kernel(as_bits(layout).dtype.name)
    words, units = (rows, columns, diagonal, int(upper)), layout.numel // columns
    flags = PARALLEL if layout.numel >= PARALLEL_FROM else 0
    record = pack_record(kernel, units, max(1, GRAIN // columns), 1, (0,), flags, words)
    return GeneralPlan(record, (layout.template,), (layout,))
