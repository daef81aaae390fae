"""Indices: their dtypes, and launches that look for one that is out of range.

NOTE [Index checks]: reads note out-of-range indices while they run (and give 0 there); the result is thrown away with
an error. Writers scan the index first, so that an error leaves the tensor as it was.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import int64
from ..base.errors import ArgumentError, DimError, DTypeError
from ..base.grad_mode import traces
from ..dispatch.lowerings import GeneralPlan
from ..kernels.cpu.build import Program, address
from ..kernels.templates.gather import BLOCK, outside
from ..native.plans import PARALLEL, pack_record
from ..tensors.arrays import array_from_gpu
from ..tensors.batch_levels import ask_values
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import CPU, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .placing import PARALLEL_FROM

__all__ = ["array_of", "check_index_dtype", "check_range", "int64_index", "known_plans", "remembered"]


known_plans: dict[tuple, Any] = {}  # the launches of reads, writes and checks, by what they are for


def remembered(key: tuple, make: Callable[[], Any]) -> Any:
    """The plan of that key, or plan and walk, from a bounded table."""
    plan = known_plans.get(key)
    return keep(known_plans, key, make()) if plan is None else plan


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
        plan = known_plans.get(key) or remembered(key, lambda: range_plan(layout, limit, wraps))
        if found_bad(native.fresh(plan, index)):
            raise range_error(op, index, dim, limit, wraps)


def range_plan(layout: Layout, limit: int, wraps: bool) -> GeneralPlan:
    """The launch that looks for an index out of range."""
    count, words = layout.numel, (layout.numel, -limit if wraps else 0, limit)
    kernel = address(Program("outside", outside, None))
    record = pack_record(kernel, blocks(count), 1, 1, (0,), flags_of(count), words)
    return GeneralPlan(record, (status_layout(count).template,), (layout,))
