"""Orders: NumPy's sorts, which are as fast as sorts get, and a kernel for the greatest few."""
from __future__ import annotations

import math
import struct
from functools import cache
from typing import Callable

import numpy as np

from ..dtypes import int64
from ..errors import DTypeError, RangeError
from ..kernels.cpu.build import Program, address
from ..kernels.cpu.launch import PARALLEL, pack_record
from ..kernels.templates.reduce import KEY_CONSTANTS
from ..kernels.templates.select import MOST_BEST, best_loop, rank_of
from ..layout import Layout, layout_of
from ..ops.shapes import wrap
from ..rules import GeneralPlan, lowering, prepared
from ..storage import wrap_array
from ..tables import keep
from ..tensor import Tensor, native, new_tensor
from .elementwise import shares
from .reduce import arranged


def rows_of(op: str, x: Tensor, dim: int) -> tuple[np.ndarray, int]:
    """The elements as an array with the dimension last, and that dimension.

    Raises:
        DTypeError: complex numbers have no order.
    """
    if x.layout.dtype.is_complex:
        raise DTypeError(f"{op}: complex numbers have no order, got {x.layout.dtype}.")
    dim = wrap(op, dim, x.layout.ndim)
    x, = arranged((x,))
    layout = x.layout
    first = x._offset_ // layout.dtype.itemsize
    array = x._storage_.array[first:first + layout.numel].reshape(layout.shape or (1,))
    return array if dim == array.ndim - 1 else np.moveaxis(array, dim, -1), dim


def indices_tensor(indices: np.ndarray, dim: int, x: Tensor) -> Tensor:
    """The order found, as a tensor with the dimension back in its place."""
    # A moveaxis that moves nothing takes 4 us.
    moved = indices if dim == indices.ndim - 1 else np.moveaxis(indices, -1, dim)
    array = np.ascontiguousarray(moved, np.int64)
    shape = array.shape if x.layout.ndim else ()
    return new_tensor(wrap_array(array.reshape(-1)), layout_of(int64, shape, None, x.layout.device))


def ordered(rows: np.ndarray, descending: bool) -> np.ndarray:
    """A stable order of the last axis; NaN counts as the greatest number, as in torch."""
    if not descending:
        return np.argsort(rows, axis=-1, kind="stable")
    # Stable the other way round: equal elements, reversed twice, keep their order.
    last = rows.shape[-1] - 1
    return last - np.argsort(rows[..., ::-1], axis=-1, kind="stable")[..., ::-1]


@lowering("argsort", style="run")
def _argsort(op, tensors, attributes):
    x, = tensors
    rows, dim = rows_of("argsort", x, attributes["dim"])
    return indices_tensor(ordered(rows, attributes["descending"]), dim, x)


def rows_read(layout: Layout, dim: int) -> Callable | None:
    """``read(x)``: the rows of ``rows_of`` at once; None where they do not lie as they are looked at."""
    half = layout.dtype.compute != layout.dtype.name
    if not layout.ndim or not layout.contiguous or layout.neg or half or wrap("", dim, layout.ndim) != layout.ndim - 1:
        return None
    width, count, shape, descr = layout.dtype.itemsize, layout.numel, layout.shape, layout.descr

    def read(x: Tensor) -> np.ndarray:
        first, array = x._offset_ // width, x._storage_.array
        return (array if array.dtype == descr else array.view(descr))[first:first + count].reshape(shape)

    return read


def quick_indices(layout: Layout, dim: int, find: Callable) -> Callable | None:
    """``quick(x)`` -> int64 indices that ``find`` gives for the rows, None if that is None."""
    read = rows_read(layout, dim)
    if read is None or not layout.numel:
        return None
    kinds: dict = {}

    def quick(x):
        found = find(read(x))
        if found is None:
            return None
        out = kinds.get(found.shape) or keep(kinds, found.shape, layout_of(int64, found.shape, None, layout.device))
        return new_tensor(wrap_array(np.ascontiguousarray(found, np.int64).reshape(-1)), out)

    return quick


@prepared("argsort")
def _quick_argsort(op, layouts, attributes):
    descending = attributes["descending"]
    quick = quick_indices(layouts[0], attributes["dim"], lambda rows: ordered(rows, descending))
    return quick and (lambda x, *rest: quick(x))


@cache
def best_kernel(dtype: str, largest: bool) -> int:
    """Address of the search for the greatest, or smallest, few."""
    memory, ranks, rank = rank_of(dtype, largest)
    return address(Program("best", best_loop(memory, ranks), dtype, (("rank", rank), *KEY_CONSTANTS.get(dtype, ()))))


def best_plan(layout: Layout, k: int, largest: bool) -> GeneralPlan:
    """The launch that finds positions along the last dimension; of a contiguous tensor of a dtype that kernels have."""
    length, rows = layout.shape[-1], math.prod(layout.shape[:-1])
    share, shared_from = shares(0.3)        # nanoseconds an element
    record = pack_record(best_kernel(layout.dtype.name, largest), rows, max(1, share // length), 1, (0,),
                         PARALLEL if layout.numel >= shared_from else 0, struct.pack("2q", length, k))
    out = layout_of(int64, (*layout.shape[:-1], k), None, layout.device)
    return GeneralPlan(record, (out.template,), (layout,))


@prepared("top_indices")
def _quick_top_indices(op, layouts, attributes):
    (x,), k, largest, fresh = layouts, attributes["k"], attributes["largest"], native.fresh
    half = x.dtype.compute != x.dtype.name
    if not is_for_kernel(x, k, attributes["dim"]) or not x.contiguous or x.neg or half:
        return None
    plan = best_plan(x, k, largest)
    return lambda x, *rest: fresh(plan, x)


def is_for_kernel(layout: Layout, k: int, dim: int) -> bool:
    """Whether ``best_few`` finds them: few, of numbers with an order, along the last dimension."""
    if not layout.ndim or wrap("topk", dim, layout.ndim) != layout.ndim - 1:
        return False
    return 0 < k <= min(MOST_BEST, layout.shape[-1]) and layout.dtype.name != "bool" and not layout.dtype.is_complex


@lowering("top_indices", style="run")
def _top_indices(op, tensors, attributes):
    x, = tensors
    if is_for_kernel(x.layout, attributes["k"], attributes["dim"]):
        x, = arranged((x,))
        return native.fresh(best_plan(x.layout, attributes["k"], attributes["largest"]), x)
    rows, dim = rows_of("topk", x, attributes["dim"])
    k, size = attributes["k"], rows.shape[-1]
    if not 0 <= k <= size:
        raise RangeError(f"topk: k = {k}, expected 0 to {size}, the size of dimension {dim}.")
    if not x.layout.ndim:
        k = 1               # torch's: a tensor without dimensions has no room for fewer than its element
    largest = attributes["largest"]
    if k * 8 < size:
        pivot = size - k if largest else max(k - 1, 0)
        parts = np.argpartition(rows, min(pivot, size - 1), axis=-1)
        chosen = np.sort(parts[..., size - k:] if largest else parts[..., :k], axis=-1)
        order = ordered(np.take_along_axis(rows, chosen, -1), largest)
        return indices_tensor(np.take_along_axis(chosen, order, -1), dim, x)
    return indices_tensor(ordered(rows, largest)[..., :k], dim, x)


