"""Reads and writes through indices: what the kernels of ``templates/gather`` walk, and the checks before they run.

NOTE [Index checks]: reads note out-of-range indices while they run (and give 0 there); the result is thrown away with an
error. Writers scan the index first, so that an error leaves the tensor as it was.
"""
from __future__ import annotations

import struct
from typing import Callable

import numpy as np

from ..dispatch import CALLS
from ..dtypes import DType, bool_, float32, int64
from ..errors import ArgumentError, DimError, DTypeError, ShapeError
from ..kernels.cpu.build import Program, address
from ..kernels.cpu.launch import PARALLEL, pack_record
from ..kernels.templates.gather import BLOCK, linear, outside, scatter, take
from ..kernels.templates.iterate import collapse
from ..layout import Layout, broadcast_shapes, contiguous_strides, layout_of
from ..ops import shapes
from ..rules import GeneralPlan, lowering
from ..storage import wrap_array
from ..tensor import Tensor, native, new_tensor
from .copy import _as_bits as as_bits, copy_plan
from .elementwise import PARALLEL_FROM

__all__ = ["array_of", "resolve", "write_points", "int64_index"]

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
    array = np.ndarray(layout.shape, layout.descr, x.storage.array.data if x.storage.array.size else b"", x.offset if layout.numel else 0,
                       tuple(t * size for t in layout.strides)) if layout.numel else np.empty(layout.shape, layout.descr)
    array.flags.writeable = False
    return array


def zeros(layout: Layout) -> Tensor:
    """A row-major tensor of zeros of a layout's dtype and shape."""
    return new_tensor(wrap_array(np.zeros(layout.numel, layout.descr)), layout.like())


# ---- indices -------------------------------------------------------------------------------------------------------

def int64_index(op: str, index, strict: bool = False) -> Tensor:
    """An index as a row-major int64 tensor.

    Args:
        strict: refuse int32 and narrower, as gather and scatter do.

    Raises:
        ArgumentError, DTypeError: it is no tensor, or not of integers.
    """
    if not isinstance(index, Tensor):
        raise ArgumentError(f"{op}: index must be a Tensor of integers, got {type(index).__name__}. Hint: nbgrad.asarray(index).")
    dtype = index.layout.dtype
    if dtype is not int64:
        if strict or dtype.name not in ("int32", "int16", "int8", "uint8"):
            raise DTypeError(f"{op}: index must be int64, got {dtype.name}. Hint: index.to(nbgrad.int64).")
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
    return DimError(f"{op}: index {int(bad[0]) if bad.size else '?'} is out of range{where}; expected {-limit if wraps else 0} to {limit - 1}.")


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
        record = pack_record(address(Program("outside", outside, None)), blocks(layout.numel), 1, 1, (0,), flags_of(layout.numel), words)
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

    def __init__(self, index: Tensor, shape: tuple, index_strides: tuple, strides: tuple, step: int, limit: int, wraps: bool,
                 dim: int | None):
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


def read(op: str, x: Tensor, walk: Walk) -> Tensor:
    """``x`` along a walk, row-major.

    Raises:
        DimError: an index is out of range.
    """
    count = numel_of(walk.shape)
    out = layout_of(x.layout.dtype, walk.shape, None, x.layout.device)
    if not count or not walk.limit:
        check_range(op, walk.index, walk.dim, walk.limit, walk.wraps)
        return zeros(out)

    def make():
        kernel = address(Program("take", take(as_bits(x.layout).dtype.name), None))
        record = pack_record(kernel, blocks(count), 1, 2, (0, 0), flags_of(count), walk.words([walk.index_strides, walk.strides]))
        return GeneralPlan(record, (out.template, status_layout(count).template), (x.layout, walk.index.layout))
    result, status = native.fresh(remembered(("take", x.layout, *walk.key), make), x, walk.index)
    if found_bad(status):
        raise range_error(op, walk.index, walk.dim, walk.limit, walk.wraps)
    return result


HALF = ("float16", "bfloat16")


def write(op: str, x: Tensor, walk: Walk, values: Tensor, reduction: str) -> None:
    """Write ``values``, of the walk's shape, into ``x`` along the walk; nothing is recorded.

    Raises:
        DimError: an index is out of range; ``x`` is unchanged then.
    """
    check_range(op, walk.index, walk.dim, walk.limit, walk.wraps)
    count = numel_of(walk.shape)
    if not count:
        return
    dtype = x.layout.dtype
    if values.layout.dtype is not dtype:
        values = CALLS["to_dtype"](values, dtype)
    if dtype.name in HALF and reduction != "set":
        wide = CALLS["to_dtype"](x, float32)
        write(op, wide, Walk(walk.index, walk.shape, walk.index_strides, same_walk(x.layout, wide.layout, walk), *rescaled(x, wide, walk)),
              CALLS["to_dtype"](values, float32), reduction)
        native.into(remembered(("copy", wide.layout, x.layout), lambda: copy_plan(wide.layout, x.layout)), x, wide)
        return
    kind = as_bits(x.layout).dtype.name if reduction == "set" else dtype.compute
    if dtype is bool_ and reduction == "add":
        reduction = "or"

    def make():
        kernel = address(Program(f"scatter_{reduction}", scatter(kind, reduction), None))
        words = walk.words([walk.index_strides, values.layout.strides, walk.strides])
        return GeneralPlan(pack_record(kernel, 1, 1, 1, (0, 0), flags_of(count), words), (x.layout.template,),
                           (walk.index.layout, values.layout))
    native.into(remembered((reduction, x.layout, values.layout, *walk.key), make), x, walk.index, values)
