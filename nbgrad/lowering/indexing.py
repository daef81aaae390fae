"""Reads through an index, and their cotangents: elements, slices, and what a mask selects."""

from __future__ import annotations

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import bool_
from ..dispatch.lowerings import lowering, prepared
from ..ops import shapes
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.storage import CPU, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .copy import copy_plan
from .index_checks import int64_index, zeros
from .index_forms import (
    along_walk,
    flat_walk,
    mask_positions,
    one_index,
    point_index,
    points_walk,
    rows_walk,
    several_quick,
    several_quick_write,
)
from .index_walks import numel_of, prepared_read, prepared_write, read, write_along
from .index_writers import write_points

__all__: list[str] = []


# ---- points --------------------------------------------------------------------------------------------------------


@lowering("index", style="run")
def _index(op, tensors, attributes):
    (x,) = tensors
    if x.layout.conj or x.layout.neg:
        x = CALLS["contiguous_copy"](x)
    index, dims = point_index("index", x.layout, attributes["indices"])
    return read("index", x, index, points_walk, dims)


@prepared("index", tensors=("indices",))
def _quick_index(op, layouts, attributes):
    dim, index = one_index(attributes["indices"])
    if dim < 0:
        return several_quick(layouts[0], attributes["indices"])
    launch = prepared_read(layouts[0], index, points_walk, (dim,))
    return launch and (lambda x, indices: launch(x, indices[dim]))


@prepared("index_backward", tensors=("indices",))
def _quick_index_backward(op, layouts, attributes):
    (g,), (dim, index) = layouts, one_index(attributes["indices"])
    if dim < 0:
        several = several_quick_write(None, zeros_layout(g, attributes), g, attributes["indices"], "add")
        return several and (lambda g, indices, shape: several(indices, g))
    launch = prepared_write(None, zeros_layout(g, attributes), index, g, "add", points_walk, (dim,))
    return launch and (lambda g, indices, shape: launch(indices[dim], g))


@lowering("index_backward", style="run")
def _index_backward(op, tensors, attributes):
    (g,) = tensors
    out = zeros_for(g, attributes)
    write_points(op.name, out, attributes["indices"], g, "add", True)
    return out


# ---- along one dimension -------------------------------------------------------------------------------------------


def zeros_for(g: Tensor, attributes: dict) -> Tensor:
    """Zeros of the operand's shape, to collect a cotangent."""
    return zeros(zeros_layout(g.layout, attributes))


def zeros_layout(g: Layout, attributes: dict) -> Layout:
    """The layout of those."""
    return layout_of(g.dtype, tuple(attributes["shape"]), None, g.device)


def along_arguments(x: Tensor, attributes: dict) -> tuple[Tensor, int]:
    """Index and dimension of gather."""
    index = int64_index("gather", attributes["index"], strict=True)
    return index, shapes.wrap("gather", attributes["dim"], x.layout.ndim)


def rows_arguments(x: Tensor, attributes: dict) -> tuple[Tensor, int]:
    """Index and dimension of index_select."""
    return int64_index("index_select", attributes["index"]), shapes.wrap("index_select", attributes["dim"], x.layout.ndim)


@lowering("gather", style="run")
def _gather(op, tensors, attributes):
    (x,) = tensors
    index, dim = along_arguments(x, attributes)
    out, shape = read("gather", x, index, along_walk, dim), index.layout.shape
    return out if out.layout.shape == shape else CALLS["reshape"](out, shape)


@prepared("gather", tensors=("index",))
def _quick_gather(op, layouts, attributes):
    (x,), index = layouts, attributes["index"]
    launch = prepared_read(x, index, along_walk, shapes.wrap("gather", attributes["dim"], x.ndim))
    return launch and (lambda x, dim, index, sparse_grad: launch(x, index)) if index.ndim else None


@prepared("gather_backward", tensors=("index",))
def _quick_gather_backward(op, layouts, attributes):
    (g,), index = layouts, attributes["index"]
    out = zeros_layout(g, attributes)
    dim = shapes.wrap("gather", attributes["dim"], out.ndim)
    launch = prepared_write(None, out, index, g, "add", along_walk, dim) if index.ndim else None
    return launch and (lambda g, shape, dim, index: launch(index, g))


@lowering("gather_backward", style="run")
def _gather_backward(op, tensors, attributes):
    g, out = tensors[0], zeros_for(tensors[0], attributes)
    index, dim = along_arguments(out, attributes)
    write_along("gather", out, index, g, "add", True, along_walk, dim)
    return out


@lowering("index_select", style="run")
def _index_select(op, tensors, attributes):
    (x,) = tensors
    index, dim = rows_arguments(x, attributes)
    return read("index_select", x, index, rows_walk, dim)


@prepared("index_select", tensors=("index",))
def _quick_index_select(op, layouts, attributes):
    (x,) = layouts
    launch = prepared_read(x, attributes["index"], rows_walk, shapes.wrap(op.name, attributes["dim"], x.ndim))
    return launch and (lambda x, dim, index: launch(x, index))


@prepared("index_select_backward", tensors=("index",))
def _quick_index_select_backward(op, layouts, attributes):
    (g,) = layouts
    out = zeros_layout(g, attributes)
    dim = shapes.wrap(op.name, attributes["dim"], out.ndim)
    launch = prepared_write(None, out, attributes["index"], g, "add", rows_walk, dim)
    return launch and (lambda g, shape, dim, index: launch(index, g))


@lowering("index_select_backward", style="run")
def _index_select_backward(op, tensors, attributes):
    g, out = tensors[0], zeros_for(tensors[0], attributes)
    index, dim = rows_arguments(out, attributes)
    write_along("index_select", out, index, g, "add", True, rows_walk, dim)
    return out


@lowering("take", style="run")
def _take(op, tensors, attributes):
    x = CALLS["contiguous"](tensors[0])
    index = int64_index("take", attributes["index"], strict=True)
    return read("take", x, index, flat_walk)


@prepared("take", tensors=("index",))
def _quick_take(op, layouts, attributes):
    (x,) = layouts
    launch = prepared_read(x, attributes["index"], flat_walk) if x.contiguous else None
    return launch and (lambda x, index: launch(x, index))


@prepared("take_backward", tensors=("index",))
def _quick_take_backward(op, layouts, attributes):
    (g,), out = layouts, zeros_layout(layouts[0], attributes)
    launch = prepared_write(None, out, attributes["index"], g, "add", flat_walk)
    return launch and (lambda g, shape, index: launch(index, g))


@lowering("take_backward", style="run")
def _take_backward(op, tensors, attributes):
    g, out = tensors[0], zeros_for(tensors[0], attributes)
    index = int64_index("take", attributes["index"])
    write_along("take", out, index, g, "add", True, flat_walk)
    return out


# ---- masks ---------------------------------------------------------------------------------------------------------


@lowering("masked_select", style="run")
def _masked_select(op, tensors, attributes):
    x, mask = tensors[0], attributes["mask"]
    if isinstance(mask, Tensor):
        shape = broadcast_shapes("masked_select", [x.layout.shape, mask.layout.shape])
        x = x if x.layout.shape == shape else CALLS["expand_shape"](x, shape)
    positions = mask_positions("masked_select", x.layout.shape, mask)
    x = CALLS["contiguous"](x)
    return read("masked_select", x, positions, flat_walk)


MOST_BY_NUMPY = 1 << 12  # elements of which NumPy picks quicker than positions are found and read


@prepared("masked_select", tensors=("mask",))
def _quick_masked_select(op, layouts, attributes):
    (x,), mask = layouts, attributes["mask"]
    if type(mask) is not Layout or mask.dtype is not bool_ or mask.shape != x.shape or not 0 < x.numel <= MOST_BY_NUMPY:
        return None
    if x.conj or x.neg or not x.ndim or not x.contiguous or not mask.contiguous:
        return None
    count, width, dtype = x.numel, x.dtype.itemsize, x.dtype

    def quick(x, mask):
        first, at = x._offset_ // width, mask._offset_
        array, chosen = x._storage_.array, mask._storage_.array
        if array.dtype != dtype.numpy or chosen.dtype != np.bool_:  # seen through another dtype
            return None
        found = array[first : first + count][chosen[at : at + count]]
        return new_tensor(wrap_array(found), layout_of(dtype, found.shape, None, CPU))

    return quick


@lowering("masked_select_backward", style="run")
def _masked_select_backward(op, tensors, attributes):
    g, mask, own = tensors[0], attributes["mask"], tuple(attributes["shape"])
    shape = broadcast_shapes("masked_select", [own, mask.layout.shape])
    out = zeros(layout_of(g.layout.dtype, shape, None, g.layout.device))
    positions = mask_positions("masked_select", shape, mask)
    write_along("masked_select", out, positions, g, "set", True, flat_walk)
    return out if shape == own else CALLS["sum_to"](out, own)


@lowering("masked_scatter_backward", style="run")
def _masked_scatter_backward(op, tensors, attributes):
    g, mask = tensors
    shape = tuple(attributes["shape"])
    picked = CALLS["masked_select"](g, mask)
    out = zeros(layout_of(g.layout.dtype, (numel_of(shape),), None, g.layout.device))
    part = CALLS["slice"](out, 0, 0, picked.layout.numel, 1)
    native.into(copy_plan(picked.layout, part.layout), part, picked)
    return CALLS["reshape"](out, shape)
