"""Reads and writes through indices: what the kernels of ``templates/gather`` walk, and the checks before they run.

NOTE [Index checks]: reads note out-of-range indices while they run (and give 0 there); the result is thrown away with
an error. Writers scan the index first, so that an error leaves the tensor as it was.
"""

from __future__ import annotations

import struct
from typing import Callable

import numpy as np

from ..batch.levels import require_values
from ..dispatch import CALLS
from ..dtypes import bool_, float32, int64
from ..errors import ArgumentError, DimError, DTypeError, ShapeError
from ..kernels.cpu.build import Program, address
from ..kernels.cpu.launch import PARALLEL, pack_record
from ..kernels.templates.gather import BLOCK, linear, outside, scatter, take
from ..kernels.templates.iterate import collapse
from ..layout import Layout, broadcast_shapes, layout_of
from ..ops import shapes
from ..rules import GeneralPlan, lowering
from ..storage import wrap_array
from ..tensor import Tensor, native, new_tensor
from .copy import _as_bits as as_bits, copy_plan
from .join import PARALLEL_FROM

__all__ = ["WRITERS", "array_of", "int64_index", "positions_tensor"]

MOST_WALKS = 4096
_walks: dict[tuple, GeneralPlan] = {}


def remembered(key: tuple, make: Callable[[], GeneralPlan]) -> GeneralPlan:
    """The plan of that key, from a bounded table."""
    plan = _walks.get(key)
    if plan is None:
        if len(_walks) >= MOST_WALKS:
            _walks.clear()
        plan = _walks[key] = make()
    return plan


def array_of(x: Tensor) -> np.ndarray:
    """The elements as a read-only strided array on the tensor's memory."""
    layout, size = x.layout, x.layout.dtype.itemsize
    require_values("index, nonzero, mask", layout)
    array = (
        np.ndarray(
            layout.shape,
            layout.descr,
            x.storage.array.view(np.uint8) if x.storage.array.size else b"",
            x.offset if layout.numel else 0,
            tuple(t * size for t in layout.strides),
        )
        if layout.numel
        else np.empty(layout.shape, layout.descr)
    )
    array.flags.writeable = False
    return array


def zeros(layout: Layout) -> Tensor:
    """A row-major tensor of zeros of a layout's dtype and shape."""
    return new_tensor(wrap_array(np.zeros(layout.numel, layout.descr)), layout.like())


# ---- indices -------------------------------------------------------------------------------------------------------


def int64_index(op: str, index, strict: bool = False) -> Tensor:
    """An index as a row-major int64 tensor.

    Args:
        strict: refuse integers narrower than int32, as gather and scatter do.

    Raises:
        ArgumentError, DTypeError: it is no tensor, or not of integers.
    """
    if not isinstance(index, Tensor):
        raise ArgumentError(
            f"{op}: index must be a Tensor of integers, got {type(index).__name__}. Hint: nbgrad.asarray(index)."
        )
    dtype = index.layout.dtype
    if dtype is not int64:
        if dtype.name not in (("int32",) if strict else ("int32", "int16", "int8", "uint8")):
            raise DTypeError(f"{op}: index must be int64 or int32, got {dtype.name}. Hint: index.to(nbgrad.int64).")
        index = CALLS["to_dtype"](index, int64)
    return index if index.layout.contiguous else CALLS["contiguous_copy"](index)


def blocks(count: int) -> int:
    """Units of work for so many positions."""
    return -(-count // BLOCK)


def status_layout(count: int) -> Layout:
    """The layout of the blocks' status words."""
    return layout_of(int64, (blocks(count),))


def flags_of(count: int) -> int:
    """Whether a launch over so many positions is worth threads."""
    return PARALLEL if count >= PARALLEL_FROM else 0


def found_bad(status: Tensor) -> bool:
    """Whether a block noted an index out of range."""
    array = status.storage.array
    return bool(array[0]) if array.size == 1 else bool(array.any())


def range_error(op: str, index: Tensor, dim: int | None, limit: int, wraps: bool) -> DimError:
    """The error of an index out of range; names the first one."""
    values = array_of(index).reshape(-1)
    bad = values[(values >= limit) | (values < (-limit if wraps else 0))]
    where = "" if dim is None else f" for dimension {dim} of size {limit}"
    return DimError(
        f"{op}: index {int(bad[0]) if bad.size else '?'} is out of range{where}; "
        f"expected {-limit if wraps else 0} to {limit - 1}."
    )


def check_range(op: str, index: Tensor, dim: int | None, limit: int, wraps: bool) -> None:
    """Refuse an int64 index that leaves ``[0, limit)``, or ``[-limit, limit)`` where negative ones count from the end.

    Raises:
        DimError: the first index that does.
    """
    layout = index.layout
    if not layout.numel:
        return

    def make():
        words = struct.pack("3q", layout.numel, -limit if wraps else 0, limit)
        record = pack_record(
            address(Program("outside", outside, None)), blocks(layout.numel), 1, 1, (0,), flags_of(layout.numel), words
        )
        return GeneralPlan(record, (status_layout(layout.numel).template,), (layout,))

    if found_bad(native.fresh(remembered(("outside", layout, limit, wraps), make), index)):
        raise range_error(op, index, dim, limit, wraps)


# ---- walks ---------------------------------------------------------------------------------------------------------


class Walk:
    """How an index leads through a tensor: see NOTE [Walk record].

    Attributes:
        index: row-major int64 tensor.
        shape: the shape that is walked; that of what is read or written.
        index_strides, strides: of the index and of the indexed tensor over it, in elements.
        step, limit, wraps: of the record.
        dim: the dimension that is indexed, for messages.
    """

    __slots__ = ("index", "shape", "index_strides", "strides", "step", "limit", "wraps", "dim")

    def __init__(
        self,
        index: Tensor,
        shape: tuple,
        index_strides: tuple,
        strides: tuple,
        step: int,
        limit: int,
        wraps: bool,
        dim: int | None,
    ):
        self.index, self.shape, self.index_strides, self.strides = index, shape, index_strides, strides
        self.step, self.limit, self.wraps, self.dim = step, limit, wraps, dim

    @property
    def key(self) -> tuple:
        """What a plan depends on, besides the layouts of the tensors."""
        return self.index.layout, self.shape, self.index_strides, self.strides, self.step, self.limit, self.wraps

    def words(self, strides: list[tuple]) -> bytes:
        """The record, for operands of these strides over the walk."""
        shape, steps = collapse(self.shape, strides)
        numel = 1
        for size in shape:
            numel *= size
        words = [numel, len(shape), self.limit, self.step, int(self.wraps), *shape]
        for each in steps:
            words += each
        return struct.pack(f"{len(words)}q", *words)


def numel_of(shape: tuple) -> int:
    """Elements of a shape."""
    count = 1
    for size in shape:
        count *= size
    return count


def read(op: str, x: Tensor, walk_of: Callable[[Layout], Walk]) -> Tensor:
    """``x`` along the walk that ``walk_of`` makes for its layout; the result is row-major.

    Raises:
        DimError: an index is out of range.
    """
    if x.layout.conj or x.layout.neg:
        x = CALLS["contiguous_copy"](x)
    walk = walk_of(x.layout)
    count = numel_of(walk.shape)
    out = layout_of(x.layout.dtype, walk.shape, None, x.layout.device)
    if not count or not walk.limit:
        check_range(op, walk.index, walk.dim, walk.limit, walk.wraps)
        return zeros(out)

    def make():
        kernel = address(Program("take", take(as_bits(x.layout).dtype.name), None))
        record = pack_record(
            kernel, blocks(count), 1, 2, (0, 0), flags_of(count), walk.words([walk.index_strides, walk.strides])
        )
        return GeneralPlan(record, (out.template, status_layout(count).template), (x.layout, walk.index.layout))

    result, status = native.fresh(remembered(("take", x.layout, *walk.key), make), x, walk.index)
    if found_bad(status):
        raise range_error(op, walk.index, walk.dim, walk.limit, walk.wraps)
    return result


HALF = ("float16", "bfloat16")
ONE_STATUS = layout_of(int64, (1,))


def write(
    op: str, x: Tensor, walk_of: Callable[[Layout], Walk], values: Tensor, reduction: str, fresh: bool = False
) -> None:
    """Write ``values`` into ``x`` along the walk that ``walk_of`` makes for a layout; nothing is recorded.

    Args:
        values: of a shape that broadcasts to the walk's.
        reduction: one of REDUCTIONS; half types are combined in float32.
        fresh: nobody else sees ``x``: the index is checked on the way.

    Raises:
        DimError: an index is out of range; ``x`` is unchanged then, unless it is fresh.
    """
    dtype = x.layout.dtype
    lazy = x.layout.conj or x.layout.neg
    if lazy or (dtype.name in HALF and reduction != "set"):
        wide = CALLS["contiguous_copy"](x) if lazy else CALLS["to_dtype"](x, float32)
        write(op, wide, walk_of, CALLS["to_dtype"](values, wide.layout.dtype), reduction, True)
        native.into(remembered(("copy", wide.layout, x.layout), lambda: copy_plan(wide.layout, x.layout)), x, wide)
        return
    walk = walk_of(x.layout)
    if not fresh or not walk.limit:
        check_range(op, walk.index, walk.dim, walk.limit, walk.wraps)
    if not numel_of(walk.shape):
        return
    if values.layout.dtype is not dtype or values.layout.conj or values.layout.neg:
        values = CALLS["contiguous_copy"](CALLS["to_dtype"](values, dtype))
    if values.layout.shape != walk.shape:
        values = CALLS["expand_shape"](values, walk.shape)
    if dtype is bool_ and reduction == "add":
        reduction = "or"
    kind = as_bits(x.layout).dtype.name if reduction == "set" else dtype.compute

    def make():
        kernel = address(Program(f"scatter_{reduction}", scatter(kind, reduction), None))
        words = walk.words([walk.index_strides, values.layout.strides, walk.strides])
        flags = flags_of(numel_of(walk.shape))
        record = pack_record(kernel, 1, 1, 2, (0, 0), flags, words)
        return GeneralPlan(record, (x.layout.template, ONE_STATUS.template), (walk.index.layout, values.layout))

    status = new_tensor(wrap_array(np.zeros(1, np.int64)), ONE_STATUS)
    native.into(remembered((reduction, x.layout, values.layout, *walk.key), make), x, status, walk.index, values)
    if fresh and found_bad(status):
        raise range_error(op, walk.index, walk.dim, walk.limit, walk.wraps)


def along_walk(op: str, layout: Layout, dim: int, index) -> Walk:
    """The walk of gather and scatter: an index of x's rank replaces the coordinate of one dimension.

    Raises:
        ShapeError: the index is larger than x in another dimension, or of another rank.
    """
    index = int64_index(op, index, strict=True)
    dim, shape = shapes.wrap(op, dim, layout.ndim), index.layout.shape
    if (len(shape) or 1) != (layout.ndim or 1):
        raise ShapeError(
            f"{op}: index has {len(shape)} dimensions, the tensor {layout.ndim}; expected as many of each."
        )
    if not layout.ndim:
        return Walk(index, shape, index.layout.strides, (0,) * len(shape), 1, 1, False, 0)
    if not shape:
        return Walk(index, (1,), (0,), (0,), layout.strides[0], layout.shape[0], False, 0)
    for d, (size, own) in enumerate(zip(shape, layout.shape)):
        if d != dim and size > own and index.layout.numel:
            raise ShapeError(
                f"{op}: index has size {size} at dimension {d}, the tensor {own}; expected at most that, except at "
                f"dimension {dim}."
            )
    strides = (*layout.strides[:dim], 0, *layout.strides[dim + 1 :])
    return Walk(index, shape, index.layout.strides, strides, layout.strides[dim], layout.shape[dim], False, dim)


def rows_walk(op: str, layout: Layout, dim: int, index) -> Walk:
    """The walk of index_select and its like: a one-dimensional index names slices of a dimension."""
    index = int64_index(op, index)
    if index.layout.ndim > 1:
        raise DimError(f"{op}: index must have at most 1 dimension, got {index.layout.ndim}.")
    dim, count = shapes.wrap(op, dim, layout.ndim), index.layout.numel
    if not layout.ndim:
        return Walk(
            index,
            (count,) if count != 1 else (),
            (1,) if count != 1 else (),
            (0,) if count != 1 else (),
            1,
            1,
            False,
            0,
        )
    shape = (*layout.shape[:dim], count, *layout.shape[dim + 1 :])
    index_strides = (0,) * dim + (1,) + (0,) * (layout.ndim - dim - 1)
    strides = (*layout.strides[:dim], 0, *layout.strides[dim + 1 :])
    return Walk(index, shape, index_strides, strides, layout.strides[dim], layout.shape[dim], False, dim)


def flat_walk(layout: Layout, index: Tensor, wraps: bool = True) -> Walk:
    """The walk over a row-major tensor seen as one row."""
    shape = index.layout.shape
    return Walk(index, shape, index.layout.strides, (0,) * len(shape), 1, layout.numel, wraps, None)


# ---- points --------------------------------------------------------------------------------------------------------


def resolve(op: str, layout: Layout, indices: tuple) -> tuple[list[int], list[Tensor]]:
    """The indexed dimensions and their index tensors, broadcast to one shape.

    Raises:
        DimError: more indices than dimensions. ShapeError: they do not broadcast.
    """
    if len(indices) > layout.ndim:
        raise DimError(f"{op}: {len(indices)} indices for {layout.ndim} dimensions.")
    dims = [d for d, index in enumerate(indices) if index is not None]
    tensors = [int64_index(op, indices[d]) for d in dims]
    shape = tensors[0].layout.shape
    if any(t.layout.shape != shape for t in tensors):
        shape = broadcast_shapes(op, [t.layout.shape for t in tensors])
        tensors = [
            t if t.layout.shape == shape else CALLS["contiguous_copy"](CALLS["expand_shape"](t, shape)) for t in tensors
        ]
    return dims, tensors


def points_walk(op: str, layout: Layout, indices: tuple) -> Walk:
    """The walk of ``x[...]`` with index tensors: their dimensions stand where the indexed ones did if those are
    adjacent, else first."""
    dims, tensors = resolve(op, layout, indices)
    if len(dims) == 1:
        d = dims[0]
        index, step, limit, wraps, dim = tensors[0], layout.strides[d], layout.shape[d], True, d
    else:
        index = offsets(op, layout, dims, tensors)
        step, limit, wraps, dim = 1, 1 + sum(max(layout.shape[d] - 1, 0) * layout.strides[d] for d in dims), False, None
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    lead = dims[0] if adjacent else 0
    rest = [d for d in range(layout.ndim) if d not in dims]
    before, after = rest[:lead], rest[lead:]
    points = index.layout
    shape = (*(layout.shape[d] for d in before), *points.shape, *(layout.shape[d] for d in after))
    strides = (*(layout.strides[d] for d in before), *(0 for _ in points.shape), *(layout.strides[d] for d in after))
    index_strides = (*(0 for _ in before), *points.strides, *(0 for _ in after))
    return Walk(index, shape, index_strides, strides, step, limit, wraps, dim)


def points_shape(shape: tuple, indices: tuple) -> tuple:
    """The shape of ``x[...]`` with index tensors, from shapes alone."""
    dims = [d for d, index in enumerate(indices) if index is not None]
    points = broadcast_shapes("index", [indices[d].layout.shape for d in dims])
    lead = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    rest = [size for d, size in enumerate(shape) if d not in dims]
    return (*rest[:lead], *points, *rest[lead:])


def offsets(op: str, layout: Layout, dims: list[int], tensors: list[Tensor]) -> Tensor:
    """Several indices of one shape as offsets in elements.

    Raises:
        DimError: the first index that is out of range.
    """
    first = tensors[0].layout
    if first.numel:

        def make():
            words = [first.numel]
            for d in dims:
                words += [layout.shape[d], layout.strides[d]]
            record = pack_record(
                address(Program("linear", linear(len(dims)), None)),
                blocks(first.numel),
                1,
                2,
                (0,) * len(dims),
                flags_of(first.numel),
                struct.pack(f"{len(words)}q", *words),
            )
            return GeneralPlan(record, (first.template, status_layout(first.numel).template), (first,) * len(dims))

        key = ("linear", tuple(dims), tuple((layout.shape[d], layout.strides[d]) for d in dims), first)
        tensors = [t if t.layout is first else CALLS["clone_like"](t, first) for t in tensors]
        out, status = native.fresh(remembered(key, make), *tensors)
        if not found_bad(status):
            return out
        for d, t in zip(dims, tensors):
            check_range(op, t, d, layout.shape[d], True)
    return zeros(first)


@lowering("index", style="run")
def _index(op, tensors, attributes):
    (x,) = tensors
    return read("index", x, lambda layout: points_walk("index", layout, attributes["indices"]))


@lowering("index_backward", style="run")
def _index_backward(op, tensors, attributes):
    (g,) = tensors
    out = zeros(layout_of(g.layout.dtype, tuple(attributes["shape"]), None, g.layout.device))
    write(op.name, out, lambda layout: points_walk(op.name, layout, attributes["indices"]), g, "add", fresh=True)
    return out


# ---- writers: each writes into its first operand, unrecorded -------------------------------------------------------

WRITERS: dict[str, Callable] = {}


def writer(*names: str):
    """Register ``f(op, x, others, attributes, fresh)``, which writes into x, as the lowering of functional operations.

    The functional form writes into a copy; ``lowering/subscript.py`` makes the recorded in-place forms of the same.
    """

    def register(function):
        for name in names:
            WRITERS[name] = function

            def run(op, tensors, attributes, function=function):
                x = tensors[0]
                out = CALLS["clone_like"](x, x.layout if x.layout.dense else x.layout.like())
                function(op, out, tensors[1:], attributes, True)
                return out

            lowering(name, style="run")(run)
        return function

    return register


def scalar_values(op, x: Tensor, value) -> Tensor:
    """A number as a 0-d tensor of x's dtype."""
    if isinstance(value, Tensor):
        raise ArgumentError(f"{op.name}: expected a number, got a Tensor.")
    return CALLS["new_full"](layout_of(x.layout.dtype, ()), value)


@writer("index_write")
def _index_write(op, x, others, attributes, fresh=False):
    (values,) = others
    reduction = "add" if attributes["accumulate"] else "set"
    if x.layout.dtype is not values.layout.dtype:
        raise DTypeError(
            f"index_put: values are {values.layout.dtype.name}, the tensor {x.layout.dtype.name}; expected the same. "
            "Hint: values.to(x.dtype)."
        )
    write(
        "index_put", x, lambda layout: points_walk("index_put", layout, attributes["indices"]), values, reduction, fresh
    )


@writer("index_zeroed")
def _index_zeroed(op, x, others, attributes, fresh=False):
    write(
        "index_put",
        x,
        lambda layout: points_walk("index_put", layout, attributes["indices"]),
        scalar_values(op, x, 0),
        "set",
        fresh,
    )


def source_of(op: str, x: Tensor, src: Tensor, index) -> Tensor:
    """The source of scatter, cut to the index's shape."""
    if src.layout.dtype is not x.layout.dtype:
        raise DTypeError(f"{op}: src is {src.layout.dtype.name}, the tensor {x.layout.dtype.name}; expected the same.")
    if not isinstance(index, Tensor):
        return src
    shape = index.layout.shape
    if (src.layout.ndim or 1) != (len(shape) or 1) or any(a < b for a, b in zip(src.layout.shape, shape)):
        raise ShapeError(
            f"{op}: index has shape {list(shape)}, src {list(src.layout.shape)}; expected an index no larger than src."
        )
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
    write(name, x, lambda layout: along_walk(name, layout, dim, index), src, reduction, fresh)


@writer("scatter_src")
def _scatter_src(op, x, others, attributes, fresh=False):
    scatter_into(op, x, others[0], attributes, "set", fresh)


@writer("scatter_value")
def _scatter_value(op, x, others, attributes, fresh=False):
    scatter_into(op, x, scalar_values(op, x, attributes["value"]), attributes, "set", fresh)


@writer("scatter_add_src")
def _scatter_add(op, x, others, attributes, fresh=False):
    scatter_into(op, x, others[0], attributes, "add", fresh)


def index_into(op, x, source, attributes, reduction: str, fresh: bool) -> None:
    """Write slices of a dimension."""
    name, dim, index = op.name.rpartition("_")[0], attributes["dim"], attributes["index"]
    if source.layout.dtype is not x.layout.dtype:
        raise DTypeError(
            f"{name}: source is {source.layout.dtype.name}, the tensor {x.layout.dtype.name}; expected the same."
        )

    def walk_of(layout):
        walk = rows_walk(name, layout, dim, index)
        if source.layout.ndim and source.layout.shape != walk.shape:
            raise ShapeError(f"{name}: source has shape {list(source.layout.shape)}, expected {list(walk.shape)}.")
        return walk

    write(name, x, walk_of, source, reduction, fresh)


@writer("index_add_source")
def _index_add(op, x, others, attributes, fresh=False):
    index_into(op, x, others[0], attributes, "add", fresh)


@writer("index_copy_source")
def _index_copy(op, x, others, attributes, fresh=False):
    index_into(op, x, others[0], attributes, "set", fresh)


@writer("index_fill_value")
def _index_fill(op, x, others, attributes, fresh=False):
    index_into(op, x, scalar_values(op, x, attributes["value"]), attributes, "set", fresh)


@writer("index_fill_tensor")
def _index_fill_tensor(op, x, others, attributes, fresh=False):
    if others[0].layout.ndim:
        raise ShapeError(f"index_fill: value must have no dimension, got {others[0].layout.ndim}.")
    index_into(op, x, CALLS["to_dtype"](others[0], x.layout.dtype), attributes, "set", fresh)


@writer("masked_scatter")
def _masked_scatter(op, x, others, attributes, fresh=False):
    mask, source = others
    positions = mask_positions("masked_scatter", x.layout.shape, mask)
    count = positions.layout.numel
    if source.layout.numel < count:
        raise ShapeError(f"masked_scatter: the mask selects {count} elements, source has {source.layout.numel}.")
    if source.layout.dtype is not x.layout.dtype:
        raise DTypeError(
            f"masked_scatter: source is {source.layout.dtype.name}, the tensor {x.layout.dtype.name}; "
            "expected the same."
        )
    values = CALLS["slice"](CALLS["reshape"](source, (-1,) if source.layout.numel else (0,)), 0, 0, count, 1)
    if x.layout.contiguous:
        write("masked_scatter", x, lambda layout: flat_walk(layout, positions), values, "set")
        return
    whole = CALLS["contiguous_copy"](x)
    write("masked_scatter", whole, lambda layout: flat_walk(layout, positions), values, "set")
    native.into(remembered(("copy", whole.layout, x.layout), lambda: copy_plan(whole.layout, x.layout)), x, whole)


# ---- along one dimension -------------------------------------------------------------------------------------------


def zeros_for(g: Tensor, attributes: dict) -> Tensor:
    """Zeros of the operand's shape, to collect a cotangent."""
    return zeros(layout_of(g.layout.dtype, tuple(attributes["shape"]), None, g.layout.device))


@lowering("gather", style="run")
def _gather(op, tensors, attributes):
    (x,) = tensors
    out = read("gather", x, lambda layout: along_walk("gather", layout, attributes["dim"], attributes["index"]))
    shape = attributes["index"].layout.shape
    return out if out.layout.shape == shape else CALLS["reshape"](out, shape)


@lowering("gather_backward", style="run")
def _gather_backward(op, tensors, attributes):
    g, out = tensors[0], zeros_for(tensors[0], attributes)
    write(
        "gather",
        out,
        lambda layout: along_walk("gather", layout, attributes["dim"], attributes["index"]),
        g,
        "add",
        fresh=True,
    )
    return out


@lowering("index_select", style="run")
def _index_select(op, tensors, attributes):
    (x,) = tensors
    return read(
        "index_select", x, lambda layout: rows_walk("index_select", layout, attributes["dim"], attributes["index"])
    )


@lowering("index_select_backward", style="run")
def _index_select_backward(op, tensors, attributes):
    g, out = tensors[0], zeros_for(tensors[0], attributes)
    write(
        "index_select",
        out,
        lambda layout: rows_walk("index_select", layout, attributes["dim"], attributes["index"]),
        g,
        "add",
        fresh=True,
    )
    return out


@lowering("take", style="run")
def _take(op, tensors, attributes):
    x = CALLS["contiguous"](tensors[0])
    index = int64_index("take", attributes["index"], strict=True)
    return read("take", x, lambda layout: flat_walk(layout, index))


@lowering("take_backward", style="run")
def _take_backward(op, tensors, attributes):
    g, out = tensors[0], zeros_for(tensors[0], attributes)
    index = int64_index("take", attributes["index"])
    write("take", out, lambda layout: flat_walk(layout, index), g, "add", fresh=True)
    return out


# ---- masks ---------------------------------------------------------------------------------------------------------


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
    return new_tensor(wrap_array(array.reshape(-1)), layout_of(int64, array.shape))


@lowering("masked_select", style="run")
def _masked_select(op, tensors, attributes):
    x, mask = tensors[0], attributes["mask"]
    if isinstance(mask, Tensor):
        shape = broadcast_shapes("masked_select", [x.layout.shape, mask.layout.shape])
        x = x if x.layout.shape == shape else CALLS["expand_shape"](x, shape)
    positions = mask_positions("masked_select", x.layout.shape, mask)
    x = CALLS["contiguous"](x)
    return read("masked_select", x, lambda layout: flat_walk(layout, positions))


@lowering("masked_select_backward", style="run")
def _masked_select_backward(op, tensors, attributes):
    g, mask, own = tensors[0], attributes["mask"], tuple(attributes["shape"])
    shape = broadcast_shapes("masked_select", [own, mask.layout.shape])
    out = zeros(layout_of(g.layout.dtype, shape, None, g.layout.device))
    positions = mask_positions("masked_select", shape, mask)
    write("masked_select", out, lambda layout: flat_walk(layout, positions), g, "set", fresh=True)
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
