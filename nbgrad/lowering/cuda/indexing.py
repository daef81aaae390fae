"""Reads through an index on a GPU, and their cotangents."""

from __future__ import annotations

from ...dispatch.device_copies import copy_step
from ...dispatch.device_fills import zeros_step
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, operand, work
from ...ops import shapes
from ...tensors.layout import Layout
from ..index_checks import check_index_dtype
from ..index_forms import along_walk, flat_walk, rows_walk
from ..indexing import zeros_layout
from .index_walks import Values, Walk, one_index, point_walk, read_steps, write_steps
from .registry import lowering

__all__ = ["along", "flat", "resolved", "rows", "zeros_and"]


def resolved(x: Layout, place: Place) -> tuple[Layout, Step | None]:
    """A layout without lazy bits, and the step that copies into the workspace's begin where it had some."""
    if not (x.conj or x.neg):
        return x, None
    return x.like(), copy_step(x, x.like(), place, work())


def along(op: str, x: Layout, index: Layout, dim: int, place: Place) -> Walk:
    """The walk of gather and scatter."""
    check_index_dtype(op, index, True)
    return one_index(op, along_walk(op, x, index, shapes.wrap(op, dim, x.ndim)), index, place)


def rows(op: str, x: Layout, index: Layout, dim: int, place: Place, walk=rows_walk) -> Walk:
    """The walk of index_select and its like."""
    check_index_dtype(op, index, False)
    return one_index(op, walk(op, x, index, shapes.wrap(op, dim, x.ndim)), flat_index(index), place)


def flat_index(index: Layout) -> Layout:
    """An index of one dimension at least."""
    return index if index.ndim else index.like(shape=(1,))


def flat(op: str, x: Layout, index: Layout, place: Place, strict: bool = True) -> Walk:
    """The walk over a row-major tensor seen as one row."""
    check_index_dtype(op, index, strict)
    return one_index(op, flat_walk(op, x, index), index, place)


def read_through(x: Layout, walk_of) -> tuple[tuple[Layout, ...], Steps]:
    """A read of operand 0 along ``walk_of(layout)``; lazy bits are resolved first."""
    source, before = resolved(x, operand())
    outs, steps = read_steps(source, walk_of(source))
    if before is None or not steps.steps:
        return outs, steps
    (step,) = steps.kernels
    return outs, Steps((before, read_from_work(step)), source.numel * source.dtype.itemsize)


def read_from_work(step: Step) -> Step:
    """A read whose operand 0 lies in the workspace."""
    pointers = tuple(work() if place == operand() else place for place in step.pointers)
    single = None if step.single is None else read_from_work(step.single)
    return step._replace(pointers=pointers, single=single)


@lowering("index", tensors=("indices",))
def _index(op, layouts, attributes):
    return read_through(layouts[0], lambda x: point_walk("index", x, attributes["indices"], 1))


@lowering("gather", tensors=("index",))
def _gather(op, layouts, attributes):
    index = attributes["index"]
    outs, steps = read_through(layouts[0], lambda x: along("gather", x, index, attributes["dim"], operand(1)))
    return (outs[0].like(shape=index.shape),), steps


@lowering("index_select", tensors=("index",))
def _index_select(op, layouts, attributes):
    return read_through(layouts[0], lambda x: rows(op.name, x, attributes["index"], attributes["dim"], operand(1)))


@lowering("take", tensors=("index",))
def _take(op, layouts, attributes):
    (x,), index = layouts, attributes["index"]
    row = x.like()
    if x.contiguous and not (x.conj or x.neg):
        return read_steps(row, flat("take", row, index, operand(1)))
    outs, steps = read_steps(row, flat("take", row, index, operand(1)))
    before = copy_step(x, row, operand(), work())
    if before is None or not steps.steps:
        return outs, steps
    return outs, Steps((before, read_from_work(steps.steps[0])), row.numel * row.dtype.itemsize)


# ---- cotangents --------------------------------------------------------------------------------------------------------


def zeros_and(target: Layout, g: Layout, walk: Walk) -> tuple[tuple[Layout, ...], Steps]:
    """Zeros to which the elements of operand 0 are added along a walk."""
    space, steps = Workspace(), [zeros_step(target.numel * target.dtype.itemsize, target.dtype.itemsize)]
    values = Values(g, operand())
    if g.conj or g.neg:
        values = Values(g.like(), space.take(g.numel * g.dtype.itemsize))
        steps.append(copy_step(g, g.like(), operand(), values.place))
    steps += write_steps(target, walk, values, "sum", False, space, over=False)
    return (target,), Steps(tuple(step for step in steps if step is not None), space.size)


@lowering("index_backward", tensors=("indices",))
def _index_backward(op, layouts, attributes):
    (g,), target = layouts, zeros_layout(layouts[0], attributes)
    return zeros_and(target, g, point_walk(op.name, target, attributes["indices"], 1))


@lowering("gather_backward", tensors=("index",))
def _gather_backward(op, layouts, attributes):
    (g,), target = layouts, zeros_layout(layouts[0], attributes)
    return zeros_and(target, g, along("gather", target, attributes["index"], attributes["dim"], operand(1)))


@lowering("index_select_backward", tensors=("index",))
def _index_select_backward(op, layouts, attributes):
    (g,), target = layouts, zeros_layout(layouts[0], attributes)
    return zeros_and(target, g, rows("index_select", target, attributes["index"], attributes["dim"], operand(1)))


@lowering("take_backward", tensors=("index",))
def _take_backward(op, layouts, attributes):
    (g,), target = layouts, zeros_layout(layouts[0], attributes)
    return zeros_and(target, g, flat("take", target, attributes["index"], operand(1), False))
