"""What is not zero, and moves through masks, on a GPU.

Where a result is as long as elements are true, the program waits once: for their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from ...base.calls import CALLS
from ...base.dtypes import bool_, int64
from ...base.errors import DTypeError, ShapeError
from ...dispatch.device_copies import copy_step, one_step
from ...dispatch.device_fills import zeros_step
from ...dispatch.device_plans import device_plan
from ...kernels.cuda.access import Function, compute_dtype
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.faults import fault_number
from ...kernels.cuda.masks import nonzero, nonzero_complex, pack, positions, spread, truth
from ...kernels.cuda.moves import bits_of, fits_32
from ...kernels.cuda.steps import ERRORS, Place, Step, Steps, Workspace, operand, out
from ...kernels.cuda.templates import index_source, strided_args
from ...ops.shapes import expanded
from ...tensors.layout import Layout, broadcast_shapes, layout_of
from ...tensors.tensor import Tensor, native
from ..index_writers import WRITERS_ON_GPU, check_same_dtype
from .index_writers import target_of
from .orders import sums_before, tiles_over
from .registry import lowering

__all__ = ["finder_on_gpu"]


def counted_as(x: Layout) -> tuple[str, str, Function]:
    """``(dtype in memory, dtype of computation, whether an element counts)``."""
    if x.dtype is bool_:
        return "bool", "int64", truth
    name = x.dtype.name
    return name, compute_dtype(name), nonzero_complex if x.dtype.is_complex else nonzero


def sums_steps(x: Layout) -> tuple[Layout, Steps]:
    """How many elements of a contiguous operand count before each tile, and in all: the layout of the result, and the steps."""
    name, compute, scalar = counted_as(x)
    tiles, space = tiles_over(x.numel), Workspace()
    made, steps = sums_before(operand(), name, "int64", x.numel, scalar, compute, space)
    in_result = lambda place: out(0, place.offset - made.offset) if place.kind == "work" else place
    moved = [step._replace(pointers=tuple(map(in_result, step.pointers))) for step in steps] if len(steps) == 2 else None
    if moved is not None:
        return layout_of(int64, (tiles + 1,), None, x.device), Steps(tuple(moved))
    sums = layout_of(int64, (tiles + 1,), None, x.device)
    copied = copy_step(sums, sums, made, out())
    assert copied is not None
    return sums, Steps((*steps, copied), space.size)


def positions_steps(x: Layout, shape: tuple[int, ...], count: int, apart: bool) -> tuple[tuple[Layout, ...], Steps]:
    """The positions of what counts in a contiguous operand seen in a shape: of operand 0, with the sums as operand 1."""
    name, compute, scalar = counted_as(x)
    outs = (
        (layout_of(int64, (count,), None, x.device),) * len(shape)
        if apart
        else (layout_of(int64, (count, len(shape)), None, x.device),)
    )
    if not count or not shape:
        return outs, Steps(())
    bits = fits_32(x.numel)
    recipe = Recipe(positions(name, len(shape), apart, bits), scalar, compute, index_source(bits))
    pointers = (*(out(k) for k in range(len(outs))), operand(0), operand(1))
    return outs, one_step(Step(recipe, (tiles_over(x.numel),), pointers, (), (x.numel, count, *strided_args(shape, ()))))


@lru_cache(maxsize=512)
def finder_on_gpu(x: Layout, apart: bool, flat: bool = False) -> Callable:
    """``find(x)``: the positions of what is not zero, of all elements in a row if ``flat``; ``apart``: a tensor a dimension."""
    whole, shape = x.like(), (x.numel,) if flat else x.shape or ((1,) if apart else ())
    sums = device_plan((sums_steps(whole)[0],), (whole,), sums_steps(whole)[1]) if x.numel else None
    plans = dict[int, object]()

    def find(x: Tensor):
        x = x if x.layout is whole else CALLS["contiguous_copy"](x)
        starts = None if sums is None else native.fresh(sums, x)
        count = 0 if starts is None else int(CALLS["select"](starts, 0, starts.layout.numel - 1).item())
        if count not in plans:
            if len(plans) > 64:
                plans.clear()
            outs, steps = positions_steps(whole, shape, count, apart)
            plans[count] = device_plan(outs, (whole, starts.layout if starts is not None else whole), steps)
        found = native.fresh(plans[count], x, x if starts is None else starts)
        return found

    return find


@lowering("nonzero_places")
def _nonzero_places(op, layouts, attributes):
    return lambda op, tensors, attributes: finder_on_gpu(tensors[0].layout, False)(tensors[0])


# ---- moves -------------------------------------------------------------------------------------------------------------


def check_mask(op: str, mask) -> None:
    """Refuse a mask that is none."""
    if type(mask) is not Layout or mask.dtype is not bool_:
        got = mask.dtype.name if type(mask) is Layout else type(mask).__name__
        raise DTypeError(f"{op}: mask must be a bool tensor, got {got}.")


class Prepared:
    """Operands of a shape, row by row in memory, and the steps that make them so."""

    def __init__(self) -> None:
        self.space, self.steps = Workspace(), list[Step]()

    def row_major(self, x: Layout, place: Place, shape: tuple[int, ...]) -> Place:
        """Where an operand that broadcasts to a shape lies row by row."""
        if x.contiguous and x.shape == shape and not (x.conj or x.neg):
            return place
        wide = layout_of(x.dtype, shape, expanded(x, shape)[1], x.device, x.conj, x.neg)
        to = self.space.take(wide.numel * wide.dtype.itemsize)
        step = copy_step(wide, wide.like(), place, to)
        self.steps += [] if step is None else [step]
        return to

    def sums(self, mask: Place, n: int) -> Place:
        """Where the sums before tiles of a mask are."""
        found, steps = sums_before(mask, "bool", "int64", n, truth, "int64", self.space)
        self.steps += steps
        return found

    def spread(
        self,
        target: Layout,
        mask: Place,
        source: Place,
        room: int,
        other: Place | None = None,
        checked: bool = False,
        to: Place | None = None,
    ) -> None:
        """Elements of a source where a mask is true."""
        n, dtype = target.numel, bits_of(target.dtype.itemsize)
        sums, counts = self.sums(mask, n), [n, room]
        pointers = [to or out(), mask, sums, source, *([] if other is None else [other])]
        if checked:
            text = f"masked_scatter: the mask selects {{element}} elements, source has {room}."
            pointers.append(ERRORS)
            counts += [tiles_over(n), fault_number(ShapeError, text)]
        template = spread(dtype, "zero" if other is None else "x", checked)
        recipe = Recipe(template, truth, compute_dtype(dtype))
        self.steps.append(Step(recipe, (tiles_over(n),), tuple(pointers), (), tuple(counts)))

    def finished(self, *outs: Layout) -> tuple[tuple[Layout, ...], Steps]:
        """What a lowering gives."""
        return outs, Steps(tuple(self.steps), self.space.size)


@lowering("masked_select", tensors=("mask",))
def _masked_select(op, layouts, attributes):
    check_mask("masked_select", attributes["mask"])
    return masked_select


def masked_select(op, tensors, attributes):
    """Positions, and a read along them."""
    x, mask = tensors[0], attributes["mask"]
    shape = broadcast_shapes("masked_select", [x.layout.shape, mask.layout.shape])
    x, mask = (y if y.layout.shape == shape else CALLS["expand_shape"](y, shape) for y in (x, mask))
    places = finder_on_gpu(mask.layout, True, True)(mask)
    return CALLS["take"](x, places)


@lowering("masked_select_backward", tensors=("mask",))
def _masked_select_backward(op, layouts, attributes):
    (g,), mask, own = layouts, attributes["mask"], tuple(attributes["shape"])
    check_mask("masked_select", mask)
    shape = broadcast_shapes("masked_select", [own, mask.shape])
    if shape != own:
        return summed_to_own
    whole, make = layout_of(g.dtype, shape, None, g.device), Prepared()
    if whole.numel:
        source = make.row_major(g, operand(), g.shape)
        make.spread(whole, make.row_major(mask, operand(1), shape), source, g.numel)
    return make.finished(whole)


def summed_to_own(op, tensors, attributes):
    """The cotangent of what was expanded beside its mask."""
    mask, own = attributes["mask"], tuple(attributes["shape"])
    shape = broadcast_shapes("masked_select", [own, mask.layout.shape])
    return CALLS["sum_to"](CALLS[op.name].plain(tensors[0], shape, mask), own)


@lowering("masked_scatter")
def _masked_scatter(op, layouts, attributes):
    x, mask, source = layouts
    check_mask("masked_scatter", mask)
    check_same_dtype("masked_scatter", "source", x, source)
    shape = broadcast_shapes("masked_scatter", [x.shape, mask.shape])
    wide = x if shape == x.shape else layout_of(x.dtype, *expanded(x, shape)[:2], x.device, x.conj, x.neg)
    whole, target, make = x.like(shape=shape), target_of(op, wide), Prepared()
    if whole.numel:
        to = None if target.contiguous else make.space.take(whole.numel * whole.dtype.itemsize)
        chosen, given = make.row_major(mask, operand(1), shape), make.row_major(source, operand(2), source.shape)
        make.spread(whole, chosen, given, source.numel, make.row_major(x, operand(), shape), True, to)
        if to is not None:
            make.steps += one_step(copy_step(whole, target, to)).steps
    return make.finished(target)


@lowering("masked_scatter_backward")
def _masked_scatter_backward(op, layouts, attributes):
    g, mask = layouts
    shape = broadcast_shapes("masked_scatter", [g.shape, mask.shape])
    whole, make = layout_of(g.dtype, tuple(attributes["shape"]), None, g.device), Prepared()
    n, room, size = math.prod(shape), whole.numel, whole.dtype.itemsize
    zeros = zeros_step(room * size, size)
    make.steps += [] if zeros is None else [zeros]
    if n and room:
        chosen, given = make.row_major(mask, operand(1), shape), make.row_major(g, operand(), shape)
        dtype, sums = bits_of(size), make.sums(chosen, n)
        recipe = Recipe(pack(dtype), truth, compute_dtype(dtype))
        make.steps.append(Step(recipe, (tiles_over(n),), (out(), chosen, sums, given), (), (n, room)))
    return make.finished(whole)


def masked_scatter_in_place(op, x, others, attributes, fresh: bool = False) -> None:
    """The result, copied over the operand unless the mask selects more than there is: then it is what the operand was."""
    mask, source = others
    made = CALLS["masked_scatter"].plain(native.alias(x), mask, source)
    step = copy_step(made.layout, x.layout)
    if step is not None:
        native.into(device_plan((x.layout,), (made.layout,), Steps((step,))), x, made)


WRITERS_ON_GPU["masked_scatter"] = masked_scatter_in_place
