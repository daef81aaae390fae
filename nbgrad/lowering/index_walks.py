"""How an index leads through memory: what the kernels of ``templates/gather`` walk, and the checks before they run.

NOTE [Index checks]: reads note out-of-range indices while they run (and give 0 there); the result is thrown away with
an error. Writers scan the index first, so that an error leaves the tensor as it was.
"""

from __future__ import annotations

import struct
from typing import Any, Callable, cast

import numpy as np

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import bool_, float32, int64
from ..base.errors import ArgumentError, DimError, DTypeError, IndexShapeError, ShapeError
from ..base.grad_mode import traces
from ..dispatch.lowerings import GeneralPlan, for_sizes
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.gather import BLOCK, linear, outside, scatter, take
from ..kernels.templates.iterate import collapse
from ..kernels.templates.join import changed
from ..native.plans import PARALLEL, complete, pack_record, taken_apart
from ..ops import shapes
from ..tensors.arrays import array_from_gpu
from ..tensors.batch_levels import ask_values
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.storage import CPU, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .copy import _as_bits as as_bits, copy_plan
from .placing import PARALLEL_FROM

__all__ = ["array_of", "check_index_dtype", "int64_index", "positions_tensor", "read", "write_along"]


_walks: dict[tuple, Any] = {}


def remembered(key: tuple, make: Callable[[], Any]) -> Any:
    """The plan of that key, or plan and walk, from a bounded table."""
    plan = _walks.get(key)
    return keep(_walks, key, make()) if plan is None else plan


def array_of(x: Tensor) -> np.ndarray:
    """The elements as a read-only strided array on the tensor's memory."""
    layout, size = x.layout, x.layout.dtype.itemsize
    if layout.special or traces:
        ask_values("index, nonzero, mask", x)
    if layout.memory is not None:
        return array_from_gpu(x)
    array = (
        np.ndarray(
            layout.shape,
            layout.descr,
            x._storage_.array.view(np.uint8) if x._storage_.array.size else b"",
            x._offset_ if layout.numel else 0,
            tuple(t * size for t in layout.strides),
        )
        if layout.numel
        else np.empty(layout.shape, layout.descr)
    )
    array.flags.writeable = False
    return array


# ---- indices ----------------------------------------------------------------------------------------------------------


def zeros(layout: Layout) -> Tensor:
    """A row-major tensor of zeros of a layout's dtype and shape."""
    return new_tensor(wrap_array(np.zeros(layout.numel, layout.descr)), layout.like())


def int64_index(op: str, index, strict: bool = False) -> Tensor:
    """An index as a row-major int64 tensor.

    Args:
        strict: refuse integers narrower than int32, as gather and scatter do, unless there are none: then any dtype will do.

    Raises:
        ArgumentError, DTypeError: it is no tensor, or not of integers.
    """
    if not isinstance(index, Tensor):
        raise ArgumentError(f"{op}: index must be a Tensor of integers, got {type(index).__name__}. Hint: nbgrad.asarray(index).")
    check_index_dtype(op, index.layout, strict)
    if index.layout.dtype is not int64:
        index = CALLS["to_dtype"](index, int64)
    return index if index.layout.contiguous else CALLS["contiguous_copy"](index)


def check_index_dtype(op: str, index: Layout, strict: bool) -> None:
    """Refuse what is no index: see ``int64_index``."""
    dtype = index.dtype
    if dtype is not int64 and dtype.name not in (("int32",) if strict else ("int32", "int16", "int8", "uint8")):
        if index.numel or not strict:
            raise DTypeError(f"{op}: index must be int64 or int32, got {dtype.name}. Hint: index.to(nbgrad.int64).")


def blocks(count: int) -> int:
    """Units of work for so many positions."""
    return -(-count // BLOCK)


def status_layout(count: int) -> Layout:
    """The layout of the blocks' status words."""
    return layout_of(int64, (blocks(count),), None, CPU)


def flags_of(count: int) -> int:
    """Whether a launch over so many positions is worth threads."""
    return PARALLEL if count >= PARALLEL_FROM else 0


def found_bad(status: Tensor) -> bool:
    """Whether a block noted an index out of range."""
    array = status._storage_.array
    return bool(array[0]) if array.size == 1 else bool(array.any())


def range_error(op: str, index: Tensor, dim: int | None, limit: int, wraps: bool) -> DimError:
    """The error of an index out of range; names the first one."""
    values = array_of(index).reshape(-1)
    bad = values[(values >= limit) | (values < (-limit if wraps else 0))]
    return DimError(range_text(op, int(bad[0]) if bad.size else "?", dim, limit, wraps))


def range_text(op: str, index: object, dim: int | None, limit: int, wraps: bool) -> str:
    """What is said of an index out of range."""
    where = "" if dim is None else f" for dimension {dim} of size {limit}"
    return f"{op}: index {index} is out of range{where}; expected {-limit if wraps else 0} to {limit - 1}."


def check_range(op: str, index: Tensor, dim: int | None, limit: int, wraps: bool) -> None:
    """Refuse an int64 index that leaves ``[0, limit)``, or ``[-limit, limit)`` where negative ones count from the end.

    Raises:
        DimError: the first index that does.
    """
    layout = index.layout
    if layout.numel:
        key = (outside, layout, limit, wraps)
        plan = _walks.get(key) or remembered(key, lambda: range_plan(layout, limit, wraps))
        if found_bad(native.fresh(plan, index)):
            raise range_error(op, index, dim, limit, wraps)


def range_plan(layout: Layout, limit: int, wraps: bool) -> GeneralPlan:
    """The launch that looks for an index out of range."""
    count, words = layout.numel, (layout.numel, -limit if wraps else 0, limit)
    kernel = address(Program("outside", outside, None))
    record = pack_record(kernel, blocks(count), 1, 1, (0,), flags_of(count), words)
    return GeneralPlan(record, (status_layout(count).template,), (layout,))


# ---- walks ------------------------------------------------------------------------------------------------------------


class IndexWalk:
    """How an index leads through a tensor: see NOTE [Walk record].

    Attributes:
        shape: the shape that is walked; that of what is read or written.
        index_strides, strides: of the index and of the indexed tensor over it, in elements.
        step, limit, wraps: of the record.
        dim: the dimension that is indexed, for messages.
    """

    __slots__ = ("shape", "index_strides", "strides", "step", "limit", "wraps", "dim")

    def __init__(self, shape: tuple, index_strides: tuple, strides: tuple, step: int, limit: int, wraps: bool, dim: int | None):
        self.shape, self.index_strides, self.strides = shape, index_strides, strides
        self.step, self.limit, self.wraps, self.dim = step, limit, wraps, dim

    def words(self, strides: list[tuple]) -> list[int]:
        """The record, for operands of these strides over the walk."""
        shape, steps = collapse(self.shape, strides)
        numel = 1
        for size in shape:
            numel *= size
        words = [numel, len(shape), self.limit, self.step, int(self.wraps), *shape]
        for each in steps:
            words += each
        return words


def numel_of(shape: tuple) -> int:
    """Elements of a shape."""
    count = 1
    for size in shape:
        count *= size
    return count


def read(op: str, x: Tensor, index: Tensor, walk_of: Callable, *where) -> Tensor:
    """``x`` along the walk ``walk_of(op, x.layout, index.layout, *where)``; the result is row-major.

    A second read of the same layouts is one look-up and one launch.

    Args:
        index: row-major int64 tensor.

    Raises:
        DimError: an index is out of range.
    """
    layout = x.layout
    if layout.conj or layout.neg:
        x = CALLS["contiguous_copy"](x)
        layout = x.layout
    key = (walk_of, layout, index.layout, *where)
    known = _walks.get(key)
    if known is None:
        if not layout.numel or not index.layout.numel:
            walk = walk_of(op, layout, index.layout, *where)
            check_range(op, index, walk.dim, walk.limit, walk.wraps)
            return zeros(layout.like(shape=walk.shape))
        known = remembered(key, lambda: read_launch(op, walk_of, layout, index.layout, *where))
    result, status = native.fresh(known, x, index)
    if found_bad(status):
        walk = walk_of(op, layout, index.layout, *where)
        raise range_error(op, index, walk.dim, walk.limit, walk.wraps)
    return result


@for_sizes()
def read_launch(op: str, walk_of: Callable, layout: Layout, index: Layout, *where) -> GeneralPlan:
    """The launch of a read along a walk that has elements."""
    return read_plan(layout, index, walk_of(op, layout, index, *where))


def read_plan(layout: Layout, index: Layout, walk: IndexWalk) -> GeneralPlan:
    """The launch of a read: the result, and the status of its blocks."""
    count = numel_of(walk.shape)
    kernel = address(Program("take", take(as_bits(layout).dtype.name), None))
    words = walk.words([walk.index_strides, walk.strides])
    record = pack_record(kernel, blocks(count), 1, 2, (0, 0), flags_of(count), words)
    return GeneralPlan(record, (layout.like(shape=walk.shape).template, status_layout(count).template), (layout, index))


HALF = ("float16", "bfloat16")
ONE_STATUS = layout_of(int64, (1,), None, CPU)


def write_along(op: str, x: Tensor, index: Tensor, values: Tensor, reduction: str, fresh: bool, walk_of: Callable, *where) -> None:
    """Write ``values`` into ``x`` along the walk ``walk_of(op, x.layout, index.layout, *where)``; nothing is recorded.

    Args:
        index: row-major int64 tensor.
        values: of a shape that broadcasts to the walk's.
        reduction: one of REDUCTIONS; half types are combined in float32.
        fresh: nobody else sees ``x``: the index is checked on the way.

    Raises:
        DimError: an index is out of range; ``x`` is unchanged then, unless it is fresh.
    """
    wide = widened(x, reduction)
    if wide is not None:
        write_along(op, wide, index, CALLS["to_dtype"](values, wide.layout.dtype), reduction, True, walk_of, *where)
        copy_back(x, wide)
        return
    layout, own = x.layout, values.layout
    if own.dtype is not layout.dtype or own.conj or own.neg:
        values = CALLS["contiguous_copy"](CALLS["to_dtype"](values, layout.dtype))
        own = values.layout
    key = (reduction, walk_of, layout, index.layout, own, *where)
    known, some = _walks.get(key), layout.numel and index.layout.numel
    if not fresh or not some:
        walk = walk_of(op, layout, index.layout, *where)
        check_range(op, index, walk.dim, walk.limit, walk.wraps)
    if known is None:
        if not some:
            return
        known = remembered(key, lambda: write_launch(op, walk_of, reduction, layout, index.layout, own, *where))
    status = new_tensor(wrap_array(np.zeros(1, np.int64)), ONE_STATUS)
    native.into(known, x, status, index, values)
    if fresh and found_bad(status):
        walk = walk_of(op, layout, index.layout, *where)
        raise range_error(op, index, walk.dim, walk.limit, walk.wraps)


def widened(x: Tensor, reduction: str) -> Tensor | None:
    """The copy in which a write to ``x`` is computed, where it is not in its own memory: resolved, or in float32."""
    if x.layout.conj or x.layout.neg:
        return CALLS["contiguous_copy"](x)
    return CALLS["to_dtype"](x, float32) if x.layout.dtype.name in HALF and reduction != "set" else None


def copy_back(x: Tensor, wide: Tensor) -> None:
    """Write what was computed in a copy into ``x``."""
    native.into(remembered(("copy", wide.layout, x.layout), lambda: copy_plan(wide.layout, x.layout)), x, wide)


@for_sizes()
def write_launch(op: str, walk_of: Callable, reduction: str, layout: Layout, index: Layout, values: Layout, *where) -> GeneralPlan:
    """The launch of a write along a walk that has elements."""
    return write_plan(layout, index, values, walk_of(op, layout, index, *where), reduction)


def write_plan(layout: Layout, index: Layout, values: Layout, walk: IndexWalk, reduction: str) -> GeneralPlan:
    """The launch of a write: into the tensor, and its status."""
    if layout.dtype is bool_:
        reduction = {"add": "or", "prod": "and"}.get(reduction, reduction)
    kind = as_bits(layout).dtype.name if reduction == "set" else layout.dtype.compute
    kernel = address(Program(f"scatter_{reduction}", scatter(kind, reduction), None))
    strides = values.strides if values.shape == walk.shape else shapes.expanded(values, walk.shape)[1]
    words = walk.words([walk.index_strides, strides, walk.strides])
    record = pack_record(kernel, 1, 1, 2, (0, 0), flags_of(numel_of(walk.shape)), words)
    return GeneralPlan(record, (layout.template, ONE_STATUS.template), (index, values))


# ---- prepared runs: see NOTE [Prepared runs] --------------------------------------------------------------------------


def is_index(layout) -> bool:
    """Whether an index is walked as it lies."""
    return type(layout) is Layout and layout.dtype is int64 and layout.contiguous


def checked(plan: GeneralPlan) -> Callable:
    """``launch(*tensors)``: the first result; None where its status says that an index was out of range."""
    fresh = native.fresh
    if plan.outs[1].layout.numel > 1:

        def launch(*tensors):
            out, status = fresh(plan, *tensors)
            return None if status._storage_.array.any() else out
    else:

        def launch(*tensors):
            out, status = fresh(plan, *tensors)
            return None if status._storage_.array[0] else out

    return launch


def prepared_read(layout: Layout, index, walk_of: Callable, *where) -> Callable | None:
    """``launch(x, index)`` of a read of those layouts that went well before."""
    known = _walks.get((walk_of, layout, index, *where)) if is_index(index) else None
    return None if known is None or layout.conj or layout.neg else checked(known)


def prepared_write(
    source: Layout | None, out: Layout | None, index, values, reduction: str, walk_of: Callable, *where
) -> Callable | None:
    """``launch(x, index, values)``: a copy of x, or (without ``source``) zeros, with values written; one launch.

    Args:
        out: of the result; None: ``x`` itself is written to.
    """
    over = out is None
    out = cast(Layout, source if over else out)
    lazy = source is not None and (source.conj or source.neg) or values.conj or values.neg
    narrow = out.dtype.name in HALF and reduction != "set"
    if lazy or narrow or not is_index(index) or values.dtype is not out.dtype or not values.numel:
        return None
    walk = walk_of("", out, index, *where)
    if not walk.limit or not numel_of(walk.shape):
        return None
    plan = write_plan(out, index, values, walk, reduction)
    return overwriting(plan, range_plan(index, walk.limit, walk.wraps)) if over else checked(changed_plan(source, out, plan))


def overwriting(plan: GeneralPlan, outside: GeneralPlan) -> Callable:
    """``launch(x, index, values)``: ``x``, written to; None where an index is out of range, before anything is written."""
    fresh, into, status = native.fresh, native.into, new_tensor(wrap_array(np.zeros(1, np.int64)), ONE_STATUS)

    def launch(x, index, values):
        if found_bad(fresh(outside, index)):
            return None
        into(plan, x, status, index, values)
        return x

    return launch


CHANGED_WORDS = struct.Struct("6q")


def changed_plan(source: Layout | None, out: Layout, writer: GeneralPlan) -> GeneralPlan:
    """The launch that copies ``source`` (or makes zeros) and then writes as ``writer`` does."""
    kernel, count, params = 0, 0, b""
    if source is not None:
        kernel, count, words = taken_apart(copy_plan(source, out))
        params = struct.pack(f"{len(words)}q", *words)
    own, first = struct.unpack_from("q", complete(writer.record))[0], CHANGED_WORDS.size
    zeros = 0 if source is not None else out.numel * out.dtype.itemsize
    head = CHANGED_WORDS.pack(zeros, kernel, count, first, own, first + len(params))
    layouts = writer.layouts if source is None else (source, *writer.layouts)
    flags = flags_of(max(out.numel, writer.layouts[0].numel))
    record = pack_record(changed_address(), 1, 1, 2, (0,) * len(layouts), flags, head + params + writer.record[80:])
    return GeneralPlan(record, (out.template, ONE_STATUS.template), layouts)


@late
def changed_address() -> int:
    """Address of the kernel."""
    return address(Program("changed", changed, None))


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
    plan = _walks.get(key) or remembered(key, lambda: offsets_plan(layout, dims, first))
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
    known, launch = _walks.get((linear, x, dims, first)), prepared_read(x, first, points_walk, dims)
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
    known, launch = _walks.get((linear, out, dims, first)), prepared_write(source, out, first, values, reduction, points_walk, dims)
    if known is None or launch is None:
        return None
    joined = checked(known)

    def quick(indices, *operands):
        points = joined(*[indices[d] for d in dims])
        return None if points is None else launch(*operands[:-1], points, operands[-1])

    return quick
