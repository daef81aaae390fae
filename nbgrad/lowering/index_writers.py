"""Writes through an index: into the first operand, unrecorded; and into a copy of it, which is the operation."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Callable

import numpy as np

from ..base.calls import CALLS
from ..base.errors import ArgumentError, DTypeError, IndexShapeError, RangeError, ShapeError
from ..base.grad_mode import special
from ..dispatch.lowerings import load_on_gpu, lowering, prepared
from ..dispatch.prepared import recording_run
from ..ops import shapes
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.storage import wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .copy import copy_plan
from .index_checks import int64_index, remembered
from .index_forms import (
    along_walk,
    copied_layout,
    counting_rows_walk,
    flat_walk,
    mask_positions,
    one_index,
    point_index,
    points_walk,
    rows_walk,
    several_quick_write,
)
from .index_walks import copy_back, prepared_write, widened, write_along

__all__ = ["PREPARED_WRITES", "WRITERS", "WRITERS_ON_GPU", "scalar_values", "write_points", "writer_for"]

# ``{operation: write(op, x, others, attributes, fresh)}``; and of tensors on GPUs.
WRITERS: dict[str, Callable] = {}
WRITERS_ON_GPU: dict[str, Callable] = {}


def writer_for(name: str, x: Layout) -> Callable:
    """What writes into tensors of a layout."""
    if x.memory is None:
        return WRITERS[name]
    load_on_gpu()
    return WRITERS_ON_GPU[name]


def writer(*names: str, target: Callable[..., Tensor] = lambda x, *others: x):
    """Register ``f(op, x, others, attributes, fresh)``, which writes into x, as the lowering of functional operations.

    The functional form writes into a copy; ``composites/index_writes.py`` makes the recorded in-place forms of the same.

    Args:
        target: ``target(x, *others)``, what the functional form copies.
    """

    def register(function):
        for name in names:
            WRITERS[name] = function

            def run(op, tensors, attributes, function=function):
                x = target(*tensors)
                out = CALLS["clone_like"](x, copied_layout(op, x.layout))
                function(op, out, tensors[1:], attributes, True)
                return out

            lowering(name, style="run")(run)
        return function

    return register


# ``{operation: make(op, layouts, attributes)}``: what ``prepared`` registers, of the in-place forms.
PREPARED_WRITES: dict[str, Callable] = {}


def prepared_forms(*names: str, tensors: tuple[str, ...]):
    """Register ``make(op, layouts, attributes, target)`` as what prepares both forms.

    Args:
        target: ``target(op, layout)``, the layout of the copy that is written into, or None.
    """

    def register(make):
        PREPARED_WRITES.update(dict.fromkeys(names, partial(make, target=lambda op, layout: None)))
        return prepared(*names, tensors=tensors)(make)

    return register


def scalar_values(op, x: Tensor, value) -> Tensor:
    """A number as a 0-d tensor of x's dtype."""
    if isinstance(value, Tensor):
        raise ArgumentError(f"{op.name}: expected a number, got a Tensor.")
    kept = type(value) in (int, float) and value and not special  # -0.0 equals 0.0
    try:
        return (constant if kept else CALLS["new_full"])(layout_of(x.layout.dtype, (), None, x.layout.device), value)
    except (RangeError, DTypeError) as error:
        raise type(error)(str(error).replace("full", op.public, 1)) from None


@lru_cache(maxsize=256, typed=True)
def constant(layout: Layout, value) -> Tensor:
    """A number that nobody writes to, or sees."""
    return CALLS["new_full"](layout, value)


@writer("index_write")
def _index_write(op, x, others, attributes, fresh=False):
    (values,) = others
    reduction = "add" if attributes["accumulate"] else "set"
    check_same_dtype("index_put", "values", x.layout, values.layout, "are", True)
    write_points("index_put", x, attributes["indices"], values, reduction, fresh)


def write_points(op: str, x: Tensor, indices: tuple, values: Tensor, reduction: str, fresh: bool) -> None:
    """Write at index tensors. Several are offsets in the memory that is written to, so a copy of ``x`` has its own."""
    wide = widened(x, reduction)
    if wide is not None:
        write_points(op, wide, indices, CALLS["to_dtype"](values, wide.layout.dtype), reduction, True)
        copy_back(x, wide)
        return
    index, dims = point_index(op, x.layout, indices)
    write_along(op, x, index, values, reduction, fresh, points_walk, dims)


@writer("index_zeroed")
def _index_zeroed(op, x, others, attributes, fresh=False):
    write_points("index_put", x, attributes["indices"], scalar_values(op, x, 0), "set", fresh)


def check_same_dtype(op: str, name: str, x: Layout, values: Layout, verb: str = "is", hint: bool = False) -> None:
    """Refuse values of another dtype than the tensor's that they are written to."""
    if values.dtype is not x.dtype:
        remedy = f" Hint: {name}.to(x.dtype)." if hint else ""
        raise DTypeError(f"{op}: {name} {verb} {values.dtype.name}, the tensor {x.dtype.name}; expected the same.{remedy}")


def check_source(op: str, x: Layout, src: Layout, shape: tuple | None) -> None:
    """Refuse a source of scatter of another dtype, or smaller than the index; ``shape``: the index's."""
    check_same_dtype(op, "src", x, src)
    if shape is not None and shape != src.shape:
        if (src.ndim or 1) != (len(shape) or 1) or any(a < b for a, b in zip(src.shape, shape)):
            raise ShapeError(f"{op}: index has shape {list(shape)}, src {list(src.shape)}; expected an index no larger than src.")


def source_of(op: str, x: Tensor, src: Tensor, index) -> Tensor:
    """The source of scatter, cut to the index's shape."""
    check_source(op, x.layout, src.layout, index.layout.shape if isinstance(index, Tensor) else None)
    if not isinstance(index, Tensor):
        return src
    shape = index.layout.shape
    if src.layout.shape == shape:
        return src
    if len(src.layout.shape) != len(shape):
        return CALLS["reshape"](src, shape)
    for d, (a, b) in enumerate(zip(src.layout.shape, shape)):
        if a != b:
            src = CALLS["slice"](src, d, 0, b, 1)
    return src


def scatter_into(op, x, src, attributes, reduction: str, fresh: bool) -> None:
    """Scatter along a dimension."""
    name, dim, index = op.name.partition("_src")[0].partition("_value")[0], attributes["dim"], attributes["index"]
    src = source_of(name, x, src, index) if attributes.get("value") is None else src
    index = int64_index(name, index, strict=True)
    write_along(name, x, index, src, reduction, fresh, along_walk, shapes.wrap(name, dim, x.layout.ndim))


@writer("scatter_src")
def _scatter_src(op, x, others, attributes, fresh=False):
    scatter_into(op, x, others[0], attributes, "set", fresh)


@writer("scatter_value")
def _scatter_value(op, x, others, attributes, fresh=False):
    scatter_into(op, x, scalar_values(op, x, attributes["value"]), attributes, "set", fresh)


@writer("scatter_add_src")
def _scatter_add(op, x, others, attributes, fresh=False):
    scatter_into(op, x, others[0], attributes, "add", fresh)


@prepared_forms("scatter_src", "scatter_add_src", tensors=("index",))
def _quick_scatter(op, layouts, attributes, target=copied_layout):
    (x, src), index = layouts, attributes["index"]
    if type(index) is not Layout or src.shape != index.shape:
        return None
    dim, reduction = shapes.wrap(op.name, attributes["dim"], x.ndim), "add" if op.name == "scatter_add_src" else "set"
    launch = prepared_write(x, target(op, x), index, src, reduction, along_walk, dim)
    return launch and (lambda x, src, dim, index: launch(x, index, src))


@prepared_forms("index_add_source", "index_copy_source", tensors=("index",))
def _quick_index_into(op, layouts, attributes, target=copied_layout):
    x, source = layouts
    dim, reduction = shapes.wrap(op.name, attributes["dim"], x.ndim), "add" if op.name == "index_add_source" else "set"
    launch = prepared_write(x, target(op, x), attributes["index"], source, reduction, rows_walk, dim)
    return launch and (lambda x, source, dim, index: launch(x, index, source))


@prepared_forms("index_fill_value", "scatter_value", "index_zeroed", tensors=("index", "indices"))
def _quick_fill(op, layouts, attributes, target=copied_layout):
    (x,), value, over = layouts, attributes.get("value", 0), target is not copied_layout
    if type(value) is float and not value and not over:  # -0.0 equals 0.0
        return None
    number = scalar_values(op, new_tensor(wrap_array(np.empty(0, x.descr)), x), value)
    if op.name == "index_zeroed":
        at, index = one_index(attributes["indices"])
        launch = prepared_write(x, target(op, x), index, number.layout, "set", points_walk, (at,))
        return launch and (lambda x, indices: launch(x, indices[at], number))
    dim = shapes.wrap(op.name, attributes["dim"], x.ndim)
    walk = along_walk if op.name == "scatter_value" else counting_rows_walk
    launch = prepared_write(x, target(op, x), attributes["index"], number.layout, "set", walk, dim)
    if over:  # of any number
        return launch and (lambda x, dim, index, value: launch(x, index, scalar_values(op, x, value)))
    return launch and (lambda x, dim, index, value: launch(x, index, number))


def index_into(op, x, source, attributes, reduction: str, fresh: bool, walk: Callable = rows_walk) -> None:
    """Write slices of a dimension."""
    name, dim, index = op.name.rpartition("_")[0], attributes["dim"], attributes["index"]
    check_same_dtype(name, "source", x.layout, source.layout)
    index, dim = int64_index(name, index), shapes.wrap(name, dim, x.layout.ndim)
    check_rows(name, source.layout, lambda: rows_walk(name, x.layout, index.layout, dim).shape)
    write_along(name, x, index, source, reduction, fresh, walk, dim)


def check_rows(op: str, source: Layout, shape_of: Callable[[], tuple]) -> None:
    """Refuse a source of another shape than what it is written to, but a single number."""
    if source.ndim and source.shape != (shape := shape_of()):
        raise IndexShapeError(f"{op}: source has shape {list(source.shape)}, expected {list(shape)}.")


@writer("index_add_source")
def _index_add(op, x, others, attributes, fresh=False):
    index_into(op, x, others[0], attributes, "add", fresh)


@writer("index_copy_source")
def _index_copy(op, x, others, attributes, fresh=False):
    index_into(op, x, others[0], attributes, "set", fresh)


@writer("index_fill_value")
def _index_fill(op, x, others, attributes, fresh=False):
    index_into(op, x, scalar_values(op, x, attributes["value"]), attributes, "set", fresh, counting_rows_walk)


@writer("index_fill_tensor")
def _index_fill_tensor(op, x, others, attributes, fresh=False):
    check_fill(x.layout, others[0].layout)
    index_into(op, x, CALLS["to_dtype"](others[0], x.layout.dtype), attributes, "set", fresh, counting_rows_walk)


def check_fill(x: Layout, value: Layout) -> None:
    """Refuse what is no single number, or no number of the tensor's."""
    if value.ndim:
        raise ShapeError(f"index_fill: value must have no dimension, got {value.ndim}.")
    if value.dtype.is_complex and not x.dtype.is_complex:
        raise DTypeError(f"index_fill: a complex value cannot be stored in a {x.dtype.name} tensor. Hint: value.real.")


def beside_mask(x: Tensor, mask, *others) -> Tensor:
    """``x``, expanded where the mask is larger."""
    if not isinstance(mask, Tensor) or mask.layout.shape == x.layout.shape:
        return x
    return CALLS["expand_shape"](x, broadcast_shapes("masked_scatter", [x.layout.shape, mask.layout.shape]))


@writer("masked_scatter", target=beside_mask)
def _masked_scatter(op, x, others, attributes, fresh=False):
    mask, source = others
    positions = mask_positions("masked_scatter", x.layout.shape, mask)
    count = positions.layout.numel
    if source.layout.numel < count:
        raise ShapeError(f"masked_scatter: the mask selects {count} elements, source has {source.layout.numel}.")
    check_same_dtype("masked_scatter", "source", x.layout, source.layout)
    values = CALLS["slice"](CALLS["reshape"](source, (-1,) if source.layout.numel else (0,)), 0, 0, count, 1)
    if x.layout.contiguous:
        write_along("masked_scatter", x, positions, values, "set", False, flat_walk)
        return
    whole = CALLS["contiguous_copy"](x)
    write_along("masked_scatter", whole, positions, values, "set", True, flat_walk)
    native.into(remembered(("copy", whole.layout, x.layout), lambda: copy_plan(whole.layout, x.layout)), x, whole)


@prepared_forms("index_write", tensors=("indices",))
def _quick_index_write(op, layouts, attributes, target=copied_layout):
    (x, values), (dim, index) = layouts, one_index(attributes["indices"])
    reduction = "add" if attributes["accumulate"] else "set"
    if dim < 0:
        several = several_quick_write(x, target(op, x), values, attributes["indices"], reduction)
        return several and (lambda x, values, indices, accumulate: several(indices, x, values))
    launch = prepared_write(x, target(op, x), index, values, reduction, points_walk, (dim,))
    return launch and (lambda x, values, indices, accumulate: launch(x, indices[dim], values))


@lowering("put_source", style="run")
def _put(op, tensors, attributes):
    x, source = tensors
    check_same_dtype("put", "source", x.layout, source.layout, hint=True)
    index, out = int64_index("put", attributes["index"]), CALLS["clone_like"](x, x.layout.like())
    values = CALLS["reshape"](source, index.layout.shape)
    write_along("put", out, index, values, "add" if attributes["accumulate"] else "set", True, flat_walk)
    return out


@prepared("put_source", tensors=("index",))
def _quick_put(op, layouts, attributes):
    (x, source), index = layouts, attributes["index"]
    if type(index) is not Layout or source.shape != index.shape:
        return None
    launch = prepared_write(x, x.like(), index, source, "add" if attributes["accumulate"] else "set", flat_walk)
    return launch and (lambda x, source, index, accumulate: launch(x, index, source))


@prepared("put", tensors=("index", "source"))
def _quick_composite_put(op, layouts, attributes):
    run = recording_run("put_source", *layouts, attributes["source"], attributes["index"], attributes["accumulate"])
    return run and (lambda x, index, source, accumulate: run(x, source, index, accumulate))


@prepared("scatter", "scatter_add", tensors=("index", "src"))
def _quick_composite_scatter(op, layouts, attributes):
    src, dim, index = attributes["src"], attributes["dim"], attributes["index"]
    if type(src) is not Layout or src.shape != index.shape:
        return None
    run = recording_run(f"{op.name}_src", *layouts, src, dim, index)
    return run and (lambda x, dim, index, src: run(x, src, dim, index))


@prepared("index_add", "index_copy", tensors=("index", "source"))
def _quick_composite_index(op, layouts, attributes):
    if attributes.get("alpha", 1) != 1:
        return None
    run = recording_run(f"{op.name}_source", *layouts, attributes["source"], attributes["dim"], attributes["index"])
    return run and (lambda x, dim, index, source, *alpha: run(x, source, dim, index))
