"""Concatenations, stacks, blocks along a diagonal, zeros around a block: one launch of ``place``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import result_dtype
from ..base.errors import ArgumentError, ShapeError
from ..dispatch.lowerings import GeneralPlan, for_sizes, lowering, prepared
from ..ops import shapes
from ..tensors.layout import Layout, contiguous_strides, layout_of
from ..tensors.memory_format import strides_of
from ..tensors.tensor import Tensor, native
from .placing import MOST_PARTS, Part, place_plan, zeros_plan

__all__: list[str] = []


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
