"""How an index leads through memory: what kernels of ``templates/gather`` walk, and launches that read and write there."""

from __future__ import annotations

import struct
from typing import Callable, cast

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import bool_, float32, int64
from ..dispatch.lowerings import GeneralPlan, for_sizes
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.gather import scatter, take
from ..kernels.templates.iterate import collapse
from ..kernels.templates.join import changed
from ..native.plans import complete, pack_record, taken_apart
from ..ops import shapes
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import CPU, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .copy import as_bits, copy_plan
from .index_checks import (
    blocks,
    check_range,
    flags_of,
    found_bad,
    known_plans,
    range_error,
    range_plan,
    remembered,
    status_layout,
    zeros,
)

__all__ = ["IndexWalk", "ONE_STATUS", "checked", "prepared_read", "prepared_write", "read", "write_along"]


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
    known = known_plans.get(key)
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
    known, some = known_plans.get(key), layout.numel and index.layout.numel
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
    known = known_plans.get((walk_of, layout, index, *where)) if is_index(index) else None
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
