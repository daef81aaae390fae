"""Which walk an index is: along a dimension, as rows, as points of several dimensions, as a mask."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import bool_, int64
from ..base.errors import DimError, DTypeError, IndexShapeError, ShapeError
from ..dispatch.lowerings import GeneralPlan
from ..kernels.cpu.build import Program, address
from ..kernels.templates.gather import linear
from ..native.plans import pack_record
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.storage import CPU, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .index_checks import (
    array_of,
    blocks,
    check_range,
    flags_of,
    found_bad,
    int64_index,
    known_plans,
    remembered,
    status_layout,
    zeros,
)
from .index_walks import IndexWalk, checked, is_index, prepared_read, prepared_write

__all__ = ["along_walk", "counting_rows_walk", "flat_walk", "mask_positions", "points_walk", "positions_tensor", "rows_walk"]


# ---- along dimensions -------------------------------------------------------------------------------------------------


def along_walk(op: str, layout: Layout, index: Layout, dim: int) -> IndexWalk:
    """The walk of gather and scatter: an index of x's rank replaces the coordinate of one dimension.

    Raises:
        ShapeError: the index is larger than x in another dimension, or of another rank.
    """
    shape = index.shape
    if (len(shape) or 1) != (layout.ndim or 1):
        if not index.numel:  # no element is named
            return IndexWalk(shape, index.strides, (0,) * len(shape), 1, 1, False, 0)
        raise ShapeError(f"{op}: index has {len(shape)} dimensions, the tensor {layout.ndim}; expected as many of each.")
    if not layout.ndim:
        return IndexWalk(shape, index.strides, (0,) * len(shape), 1, 1, False, 0)
    if not shape:
        return IndexWalk((1,), (0,), (0,), layout.strides[0], layout.shape[0], False, 0)
    for d, (size, own) in enumerate(zip(shape, layout.shape)):
        if d != dim and size > own and index.numel:
            raise ShapeError(
                f"{op}: index has size {size} at dimension {d}, the tensor {own}; expected at most that, except at dimension {dim}."
            )
    strides = (*layout.strides[:dim], 0, *layout.strides[dim + 1 :])
    return IndexWalk(shape, index.strides, strides, layout.strides[dim], layout.shape[dim], False, dim)


def rows_walk(op: str, layout: Layout, index: Layout, dim: int) -> IndexWalk:
    """The walk of index_select and its like: a one-dimensional index names slices of a dimension."""
    if index.ndim > 1:
        raise DimError(f"{op}: index must have at most 1 dimension, got {index.ndim}.")
    count, own = index.numel, index.strides or (1,)
    if not layout.ndim:
        row = (count,) if count != 1 else ()
        return IndexWalk(row, own[: len(row)], (0,) * len(row), 1, 1, False, 0)
    shape = (*layout.shape[:dim], count, *layout.shape[dim + 1 :])
    index_strides = (0,) * dim + own + (0,) * (layout.ndim - dim - 1)
    strides = (*layout.strides[:dim], 0, *layout.strides[dim + 1 :])
    return IndexWalk(shape, index_strides, strides, layout.strides[dim], layout.shape[dim], False, dim)


def counting_rows_walk(op: str, layout: Layout, index: Layout, dim: int) -> IndexWalk:
    """The same where negative numbers count from the end."""
    walk = rows_walk(op, layout, index, dim)
    walk.wraps = True
    return walk


def flat_walk(op: str, layout: Layout, index: Layout) -> IndexWalk:
    """The walk over a row-major tensor seen as one row."""
    return IndexWalk(index.shape, index.strides, (0,) * index.ndim, 1, layout.numel, True, None)


# ---- points, masks ----------------------------------------------------------------------------------------------------


def points_of(op: str, shapes_of_indices: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of index tensors.

    Raises:
        IndexShapeError: they do not broadcast.
    """
    try:
        return broadcast_shapes(op, shapes_of_indices)
    except ShapeError as error:
        raise IndexShapeError(str(error)) from None


def point_index(op: str, layout: Layout, indices: tuple) -> tuple[Tensor, tuple[int, ...]]:
    """The indexed dimensions, and one index that leads through all of them: see ``points_walk``.

    Raises:
        DimError: more indices than dimensions, or several of which one is out of range. IndexShapeError: they do not broadcast.
    """
    if len(indices) > layout.ndim:
        raise DimError(f"{op}: {len(indices)} indices for {layout.ndim} dimensions.")
    dims = tuple([d for d, index in enumerate(indices) if index is not None])
    if len(dims) == 1:
        return int64_index(op, indices[dims[0]]), dims
    tensors = [int64_index(op, indices[d]) for d in dims]
    shape = tensors[0].layout.shape
    if any(t.layout.shape != shape for t in tensors):
        shape = points_of(op, [t.layout.shape for t in tensors])
        tensors = [t if t.layout.shape == shape else CALLS["contiguous_copy"](CALLS["expand_shape"](t, shape)) for t in tensors]
    return offsets(op, layout, dims, tensors), dims


def points_walk(op: str, layout: Layout, points: Layout, dims: tuple[int, ...]) -> IndexWalk:
    """The walk of ``x[...]`` with index tensors: their dimensions stand where the indexed ones did if those are
    adjacent, else first."""
    d = dims[0]
    lead = d if dims[-1] - d == len(dims) - 1 else 0
    rest = [d for d in range(layout.ndim) if d not in dims]
    before, after = rest[:lead], rest[lead:]
    shape = (*(layout.shape[d] for d in before), *points.shape, *(layout.shape[d] for d in after))
    strides = (*(layout.strides[d] for d in before), *(0 for _ in points.shape), *(layout.strides[d] for d in after))
    index_strides = (*(0 for _ in before), *points.strides, *(0 for _ in after))
    if len(dims) == 1:
        return IndexWalk(shape, index_strides, strides, layout.strides[d], layout.shape[d], True, d)
    limit = 1 + sum(max(layout.shape[d] - 1, 0) * layout.strides[d] for d in dims)
    return IndexWalk(shape, index_strides, strides, 1, limit, False, None)


def points_shape(shape: tuple, indices: tuple) -> tuple:
    """The shape of ``x[...]`` with index tensors, from shapes alone."""
    dims = [d for d, index in enumerate(indices) if index is not None]
    points = indices[dims[0]].layout.shape
    if len(dims) > 1:
        points = points_of("index", [indices[d].layout.shape for d in dims])
    lead = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    rest = [size for d, size in enumerate(shape) if d not in dims]
    return (*rest[:lead], *points, *rest[lead:])


def offsets(op: str, layout: Layout, dims: tuple[int, ...], tensors: list[Tensor]) -> Tensor:
    """Several indices of one shape as offsets in elements.

    Raises:
        DimError: the first index that is out of range.
    """
    first = tensors[0].layout
    if not first.numel:
        return zeros(first)
    tensors = [t if t.layout is first else CALLS["clone_like"](t, first) for t in tensors]
    key = (linear, layout, dims, first)
    plan = known_plans.get(key) or remembered(key, lambda: offsets_plan(layout, dims, first))
    out, status = native.fresh(plan, *tensors)
    if found_bad(status):
        for d, t in zip(dims, tensors):
            check_range(op, t, d, layout.shape[d], True)
    return out


def offsets_plan(layout: Layout, dims: tuple[int, ...], first: Layout) -> GeneralPlan:
    """The launch that makes offsets of indices of the layout ``first``."""
    words = [first.numel]
    for d in dims:
        words += [layout.shape[d], layout.strides[d]]
    kernel, count = address(Program("linear", linear(len(dims)), None)), len(dims)
    record = pack_record(kernel, blocks(first.numel), 1, 2, (0,) * count, flags_of(first.numel), words)
    return GeneralPlan(record, (first.template, status_layout(first.numel).template), (first,) * count)


def mask_positions(op: str, shape: tuple, mask) -> Tensor:
    """Where a mask, broadcast to ``shape``, is true: positions in row-major order."""
    if not isinstance(mask, Tensor) or mask.layout.dtype is not bool_:
        got = mask.layout.dtype.name if isinstance(mask, Tensor) else type(mask).__name__
        raise DTypeError(f"{op}: mask must be a bool tensor, got {got}.")
    if mask.layout.shape != shape:
        mask = CALLS["expand_shape"](mask, shape)
    return positions_tensor(np.flatnonzero(array_of(mask)))


def positions_tensor(array: np.ndarray) -> Tensor:
    """An int64 array as a tensor."""
    array = np.ascontiguousarray(array, np.int64)
    return new_tensor(wrap_array(array.reshape(-1)), layout_of(int64, array.shape, None, CPU))


def copied_layout(op: Any, layout: Layout) -> Layout:
    """The layout of the copy that a functional form writes into."""
    return layout if layout.dense and not op.row_major else layout.like()


def one_index(indices) -> tuple[int, Any]:
    """The only index that is not None, and its dimension; -1 where several are not."""
    places = [d for d, index in enumerate(indices) if index is not None]
    return (places[0], indices[places[0]]) if len(places) == 1 else (-1, None)


def several_quick(x: Layout, indices: tuple) -> Callable | None:
    """``quick(x, indices)`` for several index tensors of one layout: their offsets, and a read along those."""
    dims = tuple([d for d, index in enumerate(indices) if index is not None])
    first = indices[dims[0]]
    if not is_index(first) or any(indices[d] is not first for d in dims):
        return None
    known, launch = known_plans.get((linear, x, dims, first)), prepared_read(x, first, points_walk, dims)
    if known is None or launch is None:
        return None
    joined = checked(known)

    def quick(x, indices):
        points = joined(*[indices[d] for d in dims])
        return None if points is None else launch(x, points)

    return quick


def several_quick_write(source: Layout | None, out: Layout, values: Layout, indices: tuple, reduction: str) -> Callable | None:
    """``quick(indices, *operands)`` for several index tensors of one layout: their offsets, and a write along those."""
    dims = tuple([d for d, index in enumerate(indices) if index is not None])
    first = indices[dims[0]]
    if not is_index(first) or any(indices[d] is not first for d in dims) or (source is not None and source is not out):
        return None
    known, launch = (
        known_plans.get((linear, out, dims, first)),
        prepared_write(source, out, first, values, reduction, points_walk, dims),
    )
    if known is None or launch is None:
        return None
    joined = checked(known)

    def quick(indices, *operands):
        points = joined(*[indices[d] for d in dims])
        return None if points is None else launch(*operands[:-1], points, operands[-1])

    return quick
