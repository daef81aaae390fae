"""Sorting and selecting: kernels for short lines and for the greatest few, NumPy's sorts for all else.

NOTE [Selections]: what chooses elements along a dimension (``sort``, ``median``, ``max``, ...) returns them with their indices, and
is recorded as the pick of elements at those indices. Prepared, it is one launch, or two.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Callable

import numpy as np

from ..base.bounded import Plans
from ..base.calls import CALLS
from ..base.dtypes import int64
from ..base.errors import DimError, DTypeError, RangeError
from ..base.grad_mode import mode
from ..dispatch.lowerings import GeneralPlan, lowering, prepared
from ..dispatch.plans import thread_shares
from ..dispatch.rules import recorder
from ..graph.edges import requires_grad
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.keys import KEY_CONSTANTS
from ..kernels.templates.select import MOST_BEST, MOST_SORTED, best_loop, missing_of, order_loop, rank_of
from ..native.plans import PARALLEL, pack_record
from ..ops.core import OPS
from ..ops.extrema import extremum_type
from ..ops.reduce import kept_shape
from ..ops.shapes import wrap
from ..tensors.arrays import typed
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .arranged import arranged, runs_as_it_lies
from .lines import PARALLEL_FROM, split_at


def rows_of(op: str, x: Tensor, dim: int) -> tuple[np.ndarray, int]:
    """The elements as an array with the dimension last, and that dimension.

    Raises:
        DTypeError: complex numbers have no order.
    """
    if x.layout.dtype.is_complex:
        raise DTypeError(f"{op}: complex numbers have no order, got {x.layout.dtype}.")
    dim = wrap(op, dim, x.layout.ndim)
    (x,) = arranged((x,))
    array = typed(x, x.layout.shape or (1,))
    return array if dim == array.ndim - 1 else np.moveaxis(array, dim, -1), dim


def indices_tensor(indices: np.ndarray, dim: int, x: Tensor) -> Tensor:
    """The order found, as a tensor with the dimension back in its place."""
    # A moveaxis that moves nothing takes its time.
    moved = indices if dim == indices.ndim - 1 else np.moveaxis(indices, -1, dim)
    array = np.ascontiguousarray(moved, np.int64)
    shape = array.shape if x.layout.ndim else ()
    return new_tensor(wrap_array(array.reshape(-1)), layout_of(int64, shape, None, x.layout.device))


def ordered(rows: np.ndarray, descending: bool) -> np.ndarray:
    """A stable order of the last axis; NaN counts as the greatest number, as in torch."""
    if not descending:
        return stable_order(rows)
    # Stable the other way round: equal elements, reversed twice, keep their order.
    last = rows.shape[-1] - 1
    return last - stable_order(rows[..., ::-1])[..., ::-1]


# From so many elements on NumPy's stable sort of int64 takes longer than a sort of numbers that say their places.
MANY = 2048


def stable_order(rows: np.ndarray) -> np.ndarray:
    """The order of the last axis, equal elements in theirs.

    Integers are sorted with their places in the bits below: NumPy sorts numbers in vectors, and orders one by one. Where the
    bits of both are too many, the lowest of the integers are left out, and neighbours that agree in the others are looked for.
    """
    length = rows.shape[-1]
    if rows.dtype != np.int64 or length < MANY or not rows.size:
        return np.argsort(rows, axis=-1, kind="stable")
    low, high = int(rows.min()), int(rows.max())
    bits = np.uint64((length - 1).bit_length())
    left_out = max(0, (high - low).bit_length() + int(bits) - 64)
    packed = np.subtract(rows, low).view(np.uint64)  # modulo 2**64
    packed = packed >> np.uint64(left_out) << bits
    packed |= np.arange(length, dtype=np.uint64)
    packed.sort(axis=-1)
    order = (packed & np.uint64((1 << int(bits)) - 1)).view(np.int64)
    if left_out:
        packed >>= bits
        if (packed[..., 1:] == packed[..., :-1]).any():
            return np.argsort(rows, axis=-1, kind="stable")
    return order


# ---- short lines -------------------------------------------------------------------------------------------------------


@late
def order_kernel(dtype: str, search: str, descending: bool) -> int:
    """Address of a kernel that sorts lines."""
    memory, ranks, rank = rank_of(dtype, not descending)
    bindings = (("rank", rank), ("missing", missing_of(dtype)), *KEY_CONSTANTS.get(dtype, ()))
    return address(Program(f"order_{search}", order_loop(memory, ranks, search), dtype, bindings))


def is_short(layout: Layout, dim: int) -> bool:
    """Whether lines along a dimension are sorted by a kernel; of numbers with an order."""
    return 0 < (layout.shape[dim] if layout.ndim else 1) <= MOST_SORTED and layout.numel > 0 and not layout.dtype.is_complex


def is_brief(layout: Layout, dim: int) -> bool:
    """Whether sorting lines takes less time than NumPy's search for one element of each."""
    return is_short(layout, dim) and (layout.numel <= 1024 or layout.shape[dim] <= 32)


# By searches: for which layouts and dimensions.
SUITS = {"sort": is_short, "mode": is_short}


def order_plan(
    x: Layout, dim: int, search: str, shape: tuple, places: tuple, first: int = 0, descending: bool = False, share: float = 0.0
) -> GeneralPlan:
    """The launch that finds elements and their places in the sorted lines of a layout that is ``ready``.

    Args:
        search: of kernels.templates.select. shape, places: of the results. first, share: its numbers.
    """
    outer, length, width = split_at(x.shape, dim)
    flags = PARALLEL if x.numel >= PARALLEL_FROM else 0
    record = pack_record(
        order_kernel(x.dtype.name, search, descending),
        outer * width,
        max(1, PARALLEL_FROM // 8 // length),
        2,
        (0,),
        flags,
        (length, width, first, float(share)),
    )
    return GeneralPlan(record, (x.like(None, shape).template, x.like(int64, places).template), (x,))


def places_in_order(x: Tensor, dim: int, search: str, first: int = 0, descending: bool = False) -> Tensor | None:
    """Indices, with the dimension kept, that ``search`` finds; None where lines are long."""
    dim = wrap(search, dim, x.layout.ndim)
    if not SUITS.get(search, is_brief)(x.layout, dim):
        return None
    (x,) = arranged((x,))
    shape = x.layout.shape if search == "sort" else kept_shape(x.layout.shape, (dim,), True)
    return native.fresh(order_plan(x.layout, dim, search, shape, shape, first, descending), x)[1]


def quick_places(x: Layout, dim: int, search: str, first: int = 0, descending: bool = False) -> Callable | None:
    """``quick(x, ...)`` of that."""
    if not runs_as_it_lies(x) or not SUITS.get(search, is_brief)(x, dim := wrap(search, dim, x.ndim)):
        return None
    shape, fresh = x.shape if search == "sort" else kept_shape(x.shape, (dim,), True), native.fresh
    plan = order_plan(x, dim, search, shape, shape, first, descending)
    return lambda x, *rest: fresh(plan, x)[1]


# ---- prepared selections: see NOTE [Selections] ------------------------------------------------------------------------


def selecting(x: Layout, dim: int, keepdim: bool, node: str, plain: Callable, kept: Callable) -> Callable:
    """``quick(x, ...)`` -> values and indices, of the class of the node's operation.

    Args:
        plain, kept: ``f(x)`` -> values and indices; ``kept`` gives indices in which the dimension stays, as a node keeps them.
    """
    shape, whole = kept_shape(x.shape, (dim,), keepdim), kept_shape(x.shape, (dim,), True)
    return recording(x, dim, keepdim, node, x.like(int64, whole), None if keepdim else shape, plain, kept)


def recording(
    x: Layout, dim: int, keepdim: bool, node: str, index: Layout, shape: tuple | None, plain: Callable, kept: Callable
) -> Callable:
    """The same; ``index`` is the layout of the indices of ``kept``, ``shape`` theirs in the result where it is another one."""
    pick = CALLS["pick"].plans[x, index, dim, keepdim, node]
    record, view, new, kind = recorder(OPS["pick"], 1), CALLS["view_shape"], tuple.__new__, extremum_type(node)

    def quick(x, *rest):
        if x._needs_grad_ and mode.enabled and requires_grad(x):
            values, indices = kept(x)
            record(pick, values, x, indices)
            return new(kind, (values, indices if shape is None else view(indices, shape)))
        return new(kind, plain(x))

    return quick


def in_order(x: Layout, dim: int, keepdim: bool, node: str, search: str, first: int = 0) -> Callable | None:
    """``quick(x, ...)`` of one element that is found in short lines."""
    if not (x.ndim and runs_as_it_lies(x)) or not SUITS.get(search, is_brief)(x, dim := wrap(search, dim, x.ndim)):
        return None
    shape, whole = kept_shape(x.shape, (dim,), keepdim), kept_shape(x.shape, (dim,), True)
    plain, kept = (partial(native.fresh, order_plan(x, dim, search, shape, places, first)) for places in (shape, whole))
    return selecting(x, dim, keepdim, node, plain, kept)


@prepared("sort")
def _quick_sort(op, layouts, attributes):
    (x,) = layouts
    if not (x.ndim and runs_as_it_lies(x)) or not is_short(x, dim := wrap("sort", attributes["dim"], x.ndim)):
        return None
    find = partial(native.fresh, order_plan(x, dim, "sort", x.shape, x.shape, 0, bool(attributes["descending"])))
    return recording(x, dim, True, "SortBackward0", x.like(int64), None, find, find)


@prepared("msort")
def _quick_msort(op, layouts, attributes):
    quick = _quick_sort(op, layouts, {"dim": 0, "descending": False})
    return quick and (lambda x: quick(x)[0])


@prepared("topk")
def _quick_topk(op, layouts, attributes):
    (x,), k, largest = layouts, attributes["k"], attributes["largest"]
    if not runs_as_it_lies(x) or not is_for_kernel(x, k, attributes["dim"]):
        return None
    dim, fresh = x.ndim - 1, native.fresh
    search = best_plan(x, k, largest)
    index = search.outs[0].layout
    pick = CALLS["pick"].plans[x, index, dim, True, "TopkBackward0"]

    def find(x):
        indices = fresh(search, x)
        return fresh(pick, x, indices), indices

    return recording(x, dim, True, "TopkBackward0", index, None, find, find)


@prepared("max", "min")
def _quick_extremum(op, layouts, attributes):
    (x,), dim, keepdim = layouts, attributes["dim"], attributes["keepdim"]
    if dim is None:
        whole = CALLS["a" + op.name]
        return lambda x, *rest: whole(x, None)
    if type(dim) is not int or not (x.ndim and runs_as_it_lies(x)):
        return None
    name, fresh, dim = op.name, native.fresh, wrap(op.name, dim, x.ndim)
    node = name.capitalize() + "Backward0"
    searches = [CALLS["arg" + name].plans[x, dim, kept] for kept in (keepdim, True)]
    pick = CALLS["pick"].plans[x, searches[1].outs[0].layout, dim, keepdim, node]
    picks = [GeneralPlan(pick.record, pick.outs, (x, search.outs[0].layout)) for search in searches]

    def find(search, pick, x):
        indices = fresh(search, x)
        return fresh(pick, x, indices), indices

    return selecting(x, dim, keepdim, node, *[partial(find, *plans) for plans in zip(searches, picks)])


# ---- orders ------------------------------------------------------------------------------------------------------------


@lowering("argsort", style="run")
def _argsort(op, tensors, attributes):
    (x,) = tensors
    places = places_in_order(x, attributes["dim"], "sort", 0, bool(attributes["descending"]))
    if places is not None:
        return places
    rows, dim = rows_of("argsort", x, attributes["dim"])
    return indices_tensor(ordered(rows, attributes["descending"]), dim, x)


def rows_read(layout: Layout, dim: int) -> Callable | None:
    """``read(x)``: the rows of ``rows_of`` at once; None where they do not lie as they are looked at."""
    half = layout.dtype.compute != layout.dtype.name
    if not layout.ndim or not layout.contiguous or layout.neg or half or wrap("", dim, layout.ndim) != layout.ndim - 1:
        return None
    shape = layout.shape
    return lambda x: typed(x, shape)


def quick_indices(layout: Layout, dim: int, find: Callable) -> Callable | None:
    """``quick(x)`` -> int64 indices that ``find`` gives for the rows, None if that is None."""
    read = rows_read(layout, dim)
    if read is None or not layout.numel:
        return None
    kinds = Plans(lambda shape: layout_of(int64, shape, None, layout.device))

    def quick(x):
        found = find(read(x))
        if found is None:
            return None
        return new_tensor(wrap_array(np.ascontiguousarray(found, np.int64).reshape(-1)), kinds[found.shape])

    return quick


@prepared("argsort")
def _quick_argsort(op, layouts, attributes):
    descending = bool(attributes["descending"])
    short = quick_places(layouts[0], attributes["dim"], "sort", 0, descending)
    if short is not None:
        return short
    quick = quick_indices(layouts[0], attributes["dim"], lambda rows: ordered(rows, descending))
    return quick and (lambda x, *rest: quick(x))


@late
def best_kernel(dtype: str, largest: bool) -> int:
    """Address of the search for the greatest, or smallest, few."""
    memory, ranks, rank = rank_of(dtype, largest)
    return address(Program("best", best_loop(memory, ranks), dtype, (("rank", rank), *KEY_CONSTANTS.get(dtype, ()))))


def best_plan(layout: Layout, k: int, largest: bool) -> GeneralPlan:
    """The launch that finds positions along the last dimension; of a contiguous tensor of a dtype that kernels have."""
    length, rows = layout.shape[-1], math.prod(layout.shape[:-1])
    share, shared_from = thread_shares(0.3)  # nanoseconds an element
    record = pack_record(
        best_kernel(layout.dtype.name, largest),
        rows,
        max(1, share // length),
        1,
        (0,),
        PARALLEL if layout.numel >= shared_from else 0,
        (length, int(k)),
    )
    out = layout_of(int64, (*layout.shape[:-1], int(k)), None, layout.device)
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
    (x,) = tensors
    if is_for_kernel(x.layout, attributes["k"], attributes["dim"]):
        (x,) = arranged((x,))
        return native.fresh(best_plan(x.layout, attributes["k"], attributes["largest"]), x)
    rows, dim = rows_of("topk", x, attributes["dim"])
    k, size = attributes["k"], rows.shape[-1]
    if not 0 <= k <= size:
        raise RangeError(f"topk: k = {k}, expected 0 to {size}, the size of dimension {dim}.")
    if not x.layout.ndim:
        k = 1  # torch's: a tensor without dimensions has no room for fewer than its element
    largest = attributes["largest"]
    if x.layout.ndim and is_brief(x.layout, dim):
        places = places_in_order(x, dim, "sort", 0, largest)
        return CALLS["contiguous"](CALLS["slice"](places, dim, 0, k, 1))
    if k * 8 < size:
        pivot = size - k if largest else max(k - 1, 0)
        parts = np.argpartition(rows, min(pivot, size - 1), axis=-1)
        chosen = np.sort(parts[..., size - k :] if largest else parts[..., :k], axis=-1)
        order = ordered(np.take_along_axis(rows, chosen, -1), largest)
        return indices_tensor(np.take_along_axis(chosen, order, -1), dim, x)
    return indices_tensor(ordered(rows, largest)[..., :k], dim, x)


# ---- medians and modes: indices ---------------------------------------------------------------------------------------


def missing(rows: np.ndarray) -> np.ndarray:
    """Where numbers are NaN; integers never are."""
    return rows != rows


def place_in_order(rows: np.ndarray, k: int) -> np.ndarray:
    """Of every row the index of the element at place ``k`` of a stable order; there is no NaN."""
    value = np.partition(rows, k, axis=-1)[..., k : k + 1]
    equal, before = rows == value, k - np.count_nonzero(rows < value, -1).reshape(-1)
    if not before.any():
        return equal.argmax(-1)[..., None]
    counts = np.count_nonzero(equal, -1).reshape(-1)
    chosen = np.flatnonzero(equal)[counts.cumsum() - counts + before]
    return (chosen % rows.shape[-1]).reshape(value.shape)


@lowering("median_indices", style="run")
def _median_indices(op, tensors, attributes):
    (x,) = tensors
    places = places_in_order(x, attributes["dim"], "median", int(attributes["ignore_nan"]))
    if places is not None:
        return places
    rows, dim = rows_of("median", x, attributes["dim"])
    if not rows.shape[-1]:
        raise DimError(f"median: dimension {dim} of {list(x.layout.shape)} has no elements.")
    lost = missing(rows)
    if not lost.any():
        middle = (rows.shape[-1] - 1) // 2
        return indices_tensor(place_in_order(rows, middle), dim, x)
    order = np.argsort(rows, axis=-1, kind="stable")
    counts = rows.shape[-1] - lost.sum(-1, keepdims=True) * attributes["ignore_nan"]
    found = np.take_along_axis(order, np.maximum(counts - 1, 0) // 2, -1)
    if not attributes["ignore_nan"]:
        found = np.where(lost.any(-1, keepdims=True), lost.argmax(-1)[..., None], found)
    return indices_tensor(found, dim, x)


@prepared("median_indices")
def _quick_median(op, layouts, attributes):
    short = quick_places(layouts[0], attributes["dim"], "median", int(attributes["ignore_nan"]))
    if short is not None:
        return short
    middle = (layouts[0].shape[attributes["dim"]] - 1) // 2 if layouts[0].ndim else 0

    def find(rows):
        if (rows != rows).any():  # NaN goes the long way
            return None
        return place_in_order(rows, middle)

    quick = quick_indices(layouts[0], attributes["dim"], find)
    return quick and (lambda x, *rest: quick(x))


def modes(rows: np.ndarray) -> np.ndarray:
    """Of every row the last index of the smallest of its most frequent values: where the longest run of the sorted row ends.

    NaN is no value that is frequent; where no value comes twice, the first NaN is found.
    """
    order = np.argsort(rows, -1, kind="stable")
    ordered, places = np.take_along_axis(rows, order, -1), np.arange(rows.shape[-1])
    begins = np.zeros(rows.shape, np.int64)
    begins[..., 1:] = np.where(ordered[..., 1:] != ordered[..., :-1], places[1:], 0)
    lengths = places - np.maximum.accumulate(begins, -1)
    found = np.take_along_axis(order, lengths.argmax(-1)[..., None], -1)
    lost = missing(rows)
    if not lost.any():
        return found
    return np.where(lost.any(-1, keepdims=True) & (lengths.max(-1, keepdims=True) < 1), lost.argmax(-1)[..., None], found)


@lowering("mode_indices", style="run")
def _mode_indices(op, tensors, attributes):
    (x,) = tensors
    places = places_in_order(x, attributes["dim"], "mode")
    if places is not None:
        return places
    rows, dim = rows_of("mode", x, attributes["dim"])
    if not rows.shape[-1]:
        if not rows.size and all(rows.shape[:-1]):
            raise DimError(f"mode: dimension {dim} of {list(x.layout.shape)} has no elements.")
        return indices_tensor(np.empty((*rows.shape[:-1], 1), np.int64), dim, x)
    return indices_tensor(modes(rows), dim, x)


@prepared("mode_indices")
def _quick_mode(op, layouts, attributes):
    short = quick_places(layouts[0], attributes["dim"], "mode")
    if short is not None:
        return short
    quick = quick_indices(layouts[0], attributes["dim"], modes)
    return quick and (lambda x, *rest: quick(x))
