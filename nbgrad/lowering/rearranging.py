"""Flips, shifts, repeats and triangles."""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.errors import ShapeError
from ..dispatch.lowerings import GeneralPlan, lowering
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.gather import triangle
from ..native.plans import PARALLEL, pack_record
from ..ops import shapes
from ..tensors.layout import Layout, layout_of, like_strides
from .copy import as_bits, copy_plan
from .placing import GRAIN, PARALLEL_FROM, Part, place_plan, zeros_plan

__all__: list[str] = []


@lowering("flip_dims")
def _flip(op, layouts, attributes):
    (x,), (out, part) = layouts, flipped_part(layouts[0], attributes["dims"])
    return place_plan(out, [part], zero=False) if x.numel else zeros_plan(out, x)


def flipped_part(x: Layout, dims: tuple) -> tuple[Layout, Part]:
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
