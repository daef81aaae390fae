"""Results put together from operands, on a GPU: concatenation, cotangents of views, flips, triangles, overlapping sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ...base.calls import CALLS
from ...dispatch.device_copies import Move, copy_step, in_vectors, index_bits, move_of, move_step, one_step, with_single
from ...dispatch.device_fills import zeros_step
from ...kernels.cuda.access import compute_dtype, vector_lanes
from ...kernels.cuda.accumulators import accumulator
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.moves import MOST_JOINED, fold_overlaps, join, join_args, join_grid, triangle
from ...kernels.cuda.steps import Step, Steps, operand, out
from ...kernels.cuda.templates import collapse, index_source, strided_args, strided_grid
from ...ops import shapes
from ...ops.core import OPS
from ...tensors.layout import Layout, layout_of
from ...tensors.overlap import overlaps_itself
from ...tensors.tensor import Tensor
from ..join import block_parts, cat_parts, check_member_layouts, padded_part, stacked_parts
from ..placing import Part
from ..rearranging import copied, diagonal_of, flipped_part, in_one_row, is_in_one_row, moved_by, repeated, rolled_parts
from ..view_cotangents import as_strided_backward, as_strided_within, reach, region
from .registry import lowering

__all__ = ["fold_steps", "place_steps"]

# ---- parts -------------------------------------------------------------------------------------------------------------


def place_steps(whole: Layout, parts: Iterable[tuple[int, Part]], zero: bool) -> Steps:
    """``whole`` filled from parts, each of the operand of that number; ``zero``: they do not cover it."""
    itemsize, groups = whole.dtype.itemsize, dict[Move, list[tuple[int, Part]]]()
    for k, part in parts:
        move = move_of(part.layout, layout_of(whole.dtype, part.shape, part.strides, whole.device))
        groups.setdefault(move, []).append((k, part))
    steps = [zeros_step(whole.numel * itemsize, itemsize)] if zero else []
    for move, members in groups.items():
        for at in range(0, len(members), MOST_JOINED):
            some = members[at : at + MOST_JOINED]
            steps.append(part_step(move, *some[0], itemsize) if len(some) == 1 else join_step(move, some))
    return Steps(tuple(step for step in steps if step is not None))


def part_step(move: Move, k: int, part: Part, itemsize: int) -> Step | None:
    """The launch that puts one part in its place."""
    read, write = operand(k, part.first * part.layout.dtype.itemsize), out(0, part.offset * itemsize)
    return move_step(move, part.shape, part.strides, part_strides(part), read, write)


def part_strides(part: Part) -> tuple[int, ...]:
    """Of what is read, over the part's shape."""
    layout = part.layout
    return layout.strides if layout.shape == part.shape else shapes.expanded(layout, part.shape)[1]


def join_step(move: Move, members: Sequence[tuple[int, Part]]) -> Step:
    """The launch that puts several parts in their places."""
    walks = list[tuple]()
    for _, part in members:
        order = sorted(range(len(part.shape)), key=lambda d: -abs(part.strides[d]))
        both = [[each[d] for d in order] for each in (part.strides, part_strides(part))]
        sizes, steps = collapse([part.shape[d] for d in order], both)
        walks.append((part.offset, sizes, steps))
    ndim = max(len(sizes) for _, sizes, _ in walks)
    bits = max(index_bits(sizes, *steps) for _, sizes, steps in walks)
    bits = max(bits, 64 if any(offset + reach(sizes, steps[0]) >= 1 << 31 for offset, sizes, steps in walks) else 32)
    count = 1 << (len(members) - 1).bit_length()
    pointers = (out(), *(operand(k, part.first * part.layout.dtype.itemsize) for k, part in members))
    pointers += (pointers[1],) * (count - len(members))

    def joined(lanes: int) -> Step:
        told = list[tuple[int, int, tuple, tuple, tuple]]()
        for offset, sizes, steps in walks:
            sizes, steps = in_vectors(lanes, sizes, steps) or (sizes, steps)
            front = ndim - len(sizes)
            told.append((math.prod(sizes), offset // lanes, (1,) * front + sizes, *((0,) * front + tuple(s) for s in steps)))
        told += [(0, 0, (1,) * ndim, (0,) * ndim, (0,) * ndim)] * (count - len(members))
        recipe = Recipe(join(move.source, move.target, count, ndim, lanes, bits), move.scalar, move.dtype, index_source(bits))
        return Step(recipe, join_grid(each[0] for each in told), pointers, (), tuple(join_args(told)))

    lanes = vector_lanes((move.source, move.target))
    while lanes > 1 and not all(
        offset % lanes == 0 and part.first % lanes == 0 and in_vectors(lanes, sizes, steps)
        for (offset, sizes, steps), (_, part) in zip(walks, members)
    ):
        lanes //= 2
    return with_single(joined, lanes)


# ---- cotangents of views -------------------------------------------------------------------------------------------


@lowering("slice_backward", "select_backward", "diagonal_backward")
def _embed(op, layouts, attributes):
    (g,) = layouts
    _, *rest = attributes.values()
    whole, part, strides, offset = region(op, g, attributes["shape"], tuple(rest))
    parts = [(0, Part(g, part, strides, offset))] if g.numel else []
    return (whole,), place_steps(whole, parts, zero=g.numel < whole.numel)


@lowering("zero_pad")
def _zero_pad(op, layouts, attributes):
    whole, part = padded_part(layouts[0], tuple(map(shapes.as_int, attributes["pad"])))
    return (whole,), place_steps(whole, [] if part is None else [(0, part)], zero=part is None or part.layout.numel < whole.numel)


# ---- overlapping sums ----------------------------------------------------------------------------------------------


def fold_steps(g: Layout, steps: tuple[int, ...], first: int, whole: Layout) -> Steps:
    """``whole``, dense, with ``g`` laid over it with ``steps`` from element ``first`` on; what overlaps is summed."""
    if not overlaps_itself(g.shape, steps):
        return place_steps(whole, [(0, Part(g, g.shape, steps, first))] if g.numel else [], zero=g.numel < whole.numel)
    dims = [dim for dim in zip(g.shape, steps, g.strides) if dim[0] > 1]
    dims.sort(key=lambda dim: (dim[1] != 0, -dim[1]))  # steps of 0 in front
    counts, far = list[int](), sum((size - 1) * step for size, step, _ in dims)
    for size, step, own in dims:
        far -= (size - 1) * step
        counts += [size, step, own, far]
    of = accumulator(OPS["sum"], compute_dtype(g.dtype.name))
    recipe = Recipe(fold_overlaps(of, g.dtype.name, len(dims)), of.term, of.dtype, of.source())
    return one_step(Step(recipe, strided_grid(whole.numel), (out(), operand()), (), (whole.numel, first, *counts)))


@lowering("unfold_backward")
def _unfold_backward(op, layouts, attributes):
    (g,) = layouts
    shape, *rest = attributes.values()
    whole, _, strides, offset = region(op, g, shape, tuple(rest))
    return (whole,), fold_steps(g, strides, offset, whole)


@lowering("as_strided_backward")
def _as_strided_backward(op, layouts, attributes):
    (g,) = layouts
    layout, stride, offset = attributes["layout"], tuple(attributes["stride"]), attributes["offset"]
    if layout.dense and offset >= 0 and offset + reach(g.shape, stride) < layout.numel:
        whole = layout_of(g.dtype, layout.shape, layout.strides, layout.device)
        return (whole,), fold_steps(g, stride, offset, whole)
    return lambda op, tensors, attributes: as_strided_backward(tensors[0], attributes, folded)


def folded(g: Tensor, steps: tuple, first: int, total: int) -> Tensor:
    """A flat tensor of ``total`` elements: the sum of ``g`` laid over it with ``steps`` from element ``first`` on."""
    flat = layout_of(g.layout.dtype, (total,), None, g.layout.device)
    return CALLS["as_strided_backward"](g, flat, g.layout.shape, tuple(steps), first)


@lowering("as_strided_within")
def _as_strided_within(op, layouts, attributes):
    return lambda op, tensors, attributes: as_strided_within(tensors[0], attributes, folded)


@lowering("reshape_copy")
def _reshape_copy(op, layouts, attributes):
    (source,) = layouts
    shape = shapes.infer_shape("reshape", attributes["shape"], source.numel)
    return (source.like(shape=shape),), one_step(copy_step(source, source.like()))


# ---- joining and rearranging ---------------------------------------------------------------------------------------


@lowering("cat")
def _cat(op, layouts, attributes):
    members = check_member_layouts(op, layouts[0])
    whole, parts = cat_parts(op, members, attributes["dim"])
    return (whole,), place_steps(whole, used(parts), zero=False)


@lowering("stack")
def _stack(op, layouts, attributes):
    members = check_member_layouts(op, layouts[0])
    whole, parts = stacked_parts(members, shapes.wrap("stack", attributes["dim"], members[0].ndim + 1))
    return (whole,), place_steps(whole, used(parts), zero=False)


@lowering("blocks")
def _blocks(op, layouts, attributes):
    whole, parts = block_parts(check_member_layouts(op, layouts[0]))
    return (whole,), place_steps(whole, used(parts), zero=True)


def used(parts: Sequence[Part | None]) -> list[tuple[int, Part]]:
    """The parts with elements, and of which operand each is."""
    return [(k, part) for k, part in enumerate(parts) if part is not None and part.layout.numel]


@lowering("flip_dims")
def _flip(op, layouts, attributes):
    (x,) = layouts
    out, part = flipped_part(x, attributes["dims"])
    return (out,), place_steps(out, used([part]), zero=False)


@lowering("roll")
def _roll(op, layouts, attributes):
    x, shifts, dims = layouts[0], attributes["shifts"], attributes["dims"]
    if is_in_one_row(shifts, dims):
        return in_one_row if x.numel else copied
    moved = moved_by(x, shifts, dims)
    parts = [Part(x, x.shape, x.like().strides, 0)] if moved is None else rolled_parts(x, moved)
    return (x.like(),), place_steps(x.like(), [(0, part) for part in parts if part.layout.numel], zero=False)


@lowering("repeat_sizes")
def _repeat(op, layouts, attributes):
    whole, spread = repeated(layouts[0], tuple(map(shapes.as_int, attributes["repeats"])))
    return (whole,), one_step(copy_step(spread, whole.like(shape=spread.shape)))


@lowering("tril", "triu")
def _triangle(op, layouts, attributes):
    (x,) = layouts
    diagonal, whole = diagonal_of(op, x, attributes["diagonal"]), x.like()
    if not x.numel:
        return (whole,), Steps(())
    *batch, rows, columns = x.shape
    dims = [dim for dim in zip(x.shape, x.strides, (0,) * len(batch) + (1, 0), (0,) * len(batch) + (0, 1)) if dim[0] > 1]
    sizes, *steps = zip(*(dims or [(1, 0, 0, 0)]))
    sizes, steps = collapse(sizes, steps)
    move, bits = move_of(x, whole), index_bits(sizes, *steps)
    template = triangle(move.source, move.target, len(sizes), op.name == "triu", bits)
    recipe = Recipe(template, move.scalar, move.dtype, index_source(bits))
    counts = (x.numel, diagonal, *strided_args(sizes, steps))
    return (whole,), one_step(Step(recipe, strided_grid(x.numel), (out(), operand()), (), counts))
