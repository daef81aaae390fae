"""Writes through an index on a GPU: into a copy of the first operand, which is the operation; and into it, unrecorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ...base.bounded import keep
from ...base.dtypes import DType
from ...dispatch.arguments import hashable
from ...dispatch.device_copies import copy_step
from ...dispatch.device_fills import constant_step
from ...dispatch.device_plans import device_plan
from ...graph.saved import tensors_in
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, operand
from ...tensors.arrays import values_of
from ...tensors.layout import Layout, layout_of
from ...tensors.storage import CPU, wrap_array
from ...tensors.tensor import native, new_tensor
from ..index_forms import copied_layout, counting_rows_walk
from ..index_writers import WRITERS_ON_GPU, check_fill, check_rows, check_same_dtype, check_source, scalar_values
from .index_walks import Values, Walk, point_walk, write_steps
from .indexing import along, flat, rows
from .registry import layouts_in, lowering, on_one_device

__all__ = ["Write", "copied_and_written", "number_of", "writer"]


class Write(NamedTuple):
    """What is written.

    Attributes:
        walk: of the indices over the target.
        values: their layout, or a number; place: where they are.
        reduction, over: as of ``write_steps``.
    """

    walk: Walk
    values: Layout | complex
    place: Place | None
    reduction: str
    over: bool = True


def number_of(op, dtype: DType, value: Any) -> complex:
    """A number as one of a dtype.

    Raises:
        RangeError: it is none.
    """
    like = layout_of(dtype, (0,), None, CPU)
    return values_of(scalar_values(op, new_tensor(wrap_array(_empty(like)), like), value)).item()


def _empty(layout: Layout):
    import numpy as np

    return np.empty(0, layout.descr)


def written(target: Layout, write: Write, guarded: bool, space: Workspace) -> list[Step]:
    """The steps of one write into the first result, which has the target's elements."""
    steps, place, values = list[Step | None](), write.place, write.values
    if not isinstance(values, Layout):
        single, place = layout_of(target.dtype, (), None, target.device), space.take(target.dtype.itemsize)
        steps.append(constant_step(single, values, place))
        values = single
    elif values.dtype is not target.dtype or values.conj or values.neg:
        wanted, source = values.like(target.dtype), place
        place = space.take(wanted.numel * wanted.dtype.itemsize)
        steps.append(copy_step(values, wanted, source, place))
        values = wanted
    assert place is not None
    steps += write_steps(target, write.walk, Values(values, place), write.reduction, guarded, space, write.over)
    return [step for step in steps if step is not None]


def target_of(op: Any, x: Layout) -> Layout:
    """The layout of the copy that is written into."""
    return x.like() if x.conj or x.neg else copied_layout(op, x)


def copied_and_written(x: Layout, target: Layout, writes: list[Write]) -> tuple[tuple[Layout, ...], Steps]:
    """Operand 0, copied into ``target``, with writes one after the other."""
    space, first = Workspace(), copy_step(x, target)
    steps = [] if first is None else [first]
    for write in writes:
        steps += written(target, write, False, space)
    return (target,), Steps(tuple(steps), space.size)


# ---- both forms --------------------------------------------------------------------------------------------------------


def writer(*names: str, tensors: tuple[str, ...] = ()) -> Callable:
    """Register ``f(op, x, others, attributes, first)`` -> Write as the lowering of operations, and of their in-place forms.

    Its ``others`` are layouts, of operands from number ``first`` on; those in ``attributes`` come behind them.
    """

    def register(function: Callable) -> Callable:
        for name in names:
            lowering(name, tensors=tensors)(partial(functional, function))
            WRITERS_ON_GPU[name] = partial(in_place, function, tensors)
        return function

    return register


def functional(function: Callable, op, layouts: tuple, attributes: dict) -> tuple[tuple[Layout, ...], Steps]:
    """The steps of the functional form."""
    x, *others = layouts
    target = target_of(op, x)
    return copied_and_written(x, target, [function(op, target, tuple(others), attributes, 1)])


_plans: dict[tuple, Any] = {}


def in_place(function: Callable, names: tuple[str, ...], op, x, others: tuple, attributes: dict, fresh: bool = False) -> None:
    """Write into a tensor: unless an index is out of range, of which all are looked at first."""
    (_, *others), attributes = on_one_device((x, *others), attributes, names)  # type: ignore[assignment]
    told = {name: layouts_in(value) if name in names else value for name, value in attributes.items()}
    layouts = tuple(y.layout for y in others)
    key = op.name, x.layout, layouts, *((type(value), value) for value in map(hashable, told.values()))
    plan = _plans.get(key)
    if plan is None:
        target, space = x.layout, Workspace()
        if target.conj or target.neg:
            plan = False
        else:
            steps = written(target, function(op, target, layouts, told, 0), True, space)
            given = tuple(y.layout for y in tensors_in((*others, *(attributes[name] for name in names))))
            plan = device_plan((target,), given, Steps(tuple(steps), space.size)) if steps else None
        keep(_plans, key, plan)
    if plan is False:
        written_through_copy(op, x, tuple(others), attributes)
    elif plan is not None:
        native.into(plan, x, *tensors_in((*others, *(attributes[name] for name in names))))


def written_through_copy(op, x, others: tuple, attributes: dict) -> None:
    """Of what has lazy bits a copy is written to, then the tensor."""
    from ...base.calls import CALLS

    made = CALLS[op.name].plain(native.alias(x), *others, **attributes)
    step = copy_step(made.layout, x.layout)
    if step is not None:
        native.into(device_plan((x.layout,), (made.layout,), Steps((step,))), x, made)


# ---- points ------------------------------------------------------------------------------------------------------------


@writer("index_write", tensors=("indices",))
def _index_write(op, x, others, attributes, first):
    (values,) = others
    check_same_dtype("index_put", "values", x, values, "are", True)
    reduction = "sum" if attributes["accumulate"] else "set"
    return Write(point_walk("index_put", x, attributes["indices"], first + 1), values, operand(first), reduction)


@writer("index_zeroed", tensors=("indices",))
def _index_zeroed(op, x, others, attributes, first):
    return Write(point_walk("index_put", x, attributes["indices"], first), 0, None, "set")


# ---- elements along a dimension ------------------------------------------------------------------------------------


def scattered(op, x: Layout, others: tuple, attributes: dict, first: int, reduction: str) -> Write:
    """A write of elements along a dimension: of the part of the source that the index covers."""
    (src,), index, name = others, attributes["index"], op.name.partition("_src")[0]
    check_source(name, x, src, index.shape)
    part = (
        src.like(shape=index.shape)
        if src.ndim != index.ndim
        else layout_of(src.dtype, index.shape, src.strides, src.device, src.conj, src.neg)
    )
    return Write(along(name, x, index, attributes["dim"], operand(first + 1)), part, operand(first), reduction)


@writer("scatter_src", tensors=("index",))
def _scatter_src(op, x, others, attributes, first):
    return scattered(op, x, others, attributes, first, "set")


@writer("scatter_add_src", tensors=("index",))
def _scatter_add(op, x, others, attributes, first):
    return scattered(op, x, others, attributes, first, "sum")


@writer("scatter_value", tensors=("index",))
def _scatter_value(op, x, others, attributes, first):
    number = number_of(op, x.dtype, attributes["value"])
    return Write(along("scatter", x, attributes["index"], attributes["dim"], operand(first)), number, None, "set")


# ---- slices of a dimension -----------------------------------------------------------------------------------------


def slices(op, x: Layout, others: tuple, attributes: dict, first: int, reduction: str) -> Write:
    """A write of slices of a dimension."""
    (source,), name = others, op.name.rpartition("_")[0]
    check_same_dtype(name, "source", x, source)
    walk = rows(name, x, attributes["index"], attributes["dim"], operand(first + 1))
    check_rows(name, source, lambda: walk.shape)
    return Write(walk, source, operand(first), reduction)


@writer("index_add_source", tensors=("index",))
def _index_add(op, x, others, attributes, first):
    return slices(op, x, others, attributes, first, "sum")


@writer("index_copy_source", tensors=("index",))
def _index_copy(op, x, others, attributes, first):
    return slices(op, x, others, attributes, first, "set")


@writer("index_fill_value", tensors=("index",))
def _index_fill(op, x, others, attributes, first):
    number = number_of(op, x.dtype, attributes["value"])
    walk = rows("index_fill", x, attributes["index"], attributes["dim"], operand(first), counting_rows_walk)
    return Write(walk, number, None, "set")


@writer("index_fill_tensor", tensors=("index",))
def _index_fill_tensor(op, x, others, attributes, first):
    check_fill(x, others[0])
    walk = rows("index_fill", x, attributes["index"], attributes["dim"], operand(first + 1), counting_rows_walk)
    return Write(walk, others[0], operand(first), "set")


@lowering("put_source", tensors=("index",))
def _put(op, layouts, attributes):
    (x, source), index, target = layouts, attributes["index"], layouts[0].like()
    check_same_dtype("put", "source", x, source, hint=True)
    if source.shape != index.shape:
        return put_in_steps
    walk = flat("put", target, index, operand(2), False)
    write = Write(walk, source, operand(1), "sum" if attributes["accumulate"] else "set")
    return copied_and_written(x, target, [write])


def put_in_steps(op, tensors, attributes):
    """The same of a source of another shape."""
    from ...base.calls import CALLS

    x, source = tensors
    source = CALLS["reshape"](source, attributes["index"].layout.shape)
    return CALLS[op.name].plain(x, source, **attributes)
