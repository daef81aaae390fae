"""Comparisons, counts and searches: by NumPy's functions, or by prepared runs of a launch or two."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.bounded import Plans
from ..base.calls import CALLS
from ..base.dtypes import WIDTHS, bool_, float32, float64, int64
from ..base.errors import RangeError, ShapeError
from ..base.grad_mode import mode
from ..base.results import result_type
from ..dispatch.lowerings import GeneralPlan, lowering, prepared, result_of
from ..dispatch.prepared import recording_run
from ..graph.edges import requires_grad
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.count import counting_loop, insertion_loop, precedes
from ..kernels.templates.keys import KEY_CONSTANTS
from ..kernels.templates.select import rank_of
from ..native.plans import PARALLEL, pack_record
from ..tensors.arrays import tensor_of, values_of
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .arranged import runs_as_it_lies
from .index_walks import ONE_STATUS
from .lines import PARALLEL_FROM
from .sort import is_short, order_plan

__all__ = ["Histogram"]


@result_type("histogram")
class Histogram(NamedTuple):
    """What ``histogram`` returns."""

    hist: Tensor
    bin_edges: Tensor


def memory_of(*layouts: Layout) -> str | None:
    """The one type of elements that kernels read as they lie in all of them; None where there is none."""
    dtype = layouts[0].dtype
    name = "uint8" if dtype is bool_ else dtype.name
    if name not in WIDTHS or dtype.is_complex or not all(x.dtype is dtype and runs_as_it_lies(x) for x in layouts):
        return None
    return name


@late
def counting_kernel(name: str, memory: str) -> int:
    """Address of one of the loops."""
    return address(Program(f"counting_{name}", counting_loop(name, memory), None))


def counting_plan(name: str, memory: str, outs: tuple[Layout, ...], operands: tuple[Layout, ...], *words: Any) -> GeneralPlan:
    """The launch of one of the loops; its words are int64, or float64."""
    record = pack_record(counting_kernel(name, memory), 1, 1, len(outs), (0,) * len(operands), 0, words)
    return GeneralPlan(record, tuple(out.template for out in outs), operands)


def recorded(x: Tensor) -> bool:
    """Whether a gradient could be asked for: then the way before says what becomes of it."""
    return x._needs_grad_ and mode.enabled and requires_grad(x)


# ---- comparisons -------------------------------------------------------------------------------------------------------


@prepared("equal", tensors=("other",))
def _quick_equal(op, layouts, attributes):
    operands = *layouts, attributes["other"]
    memory = memory_of(*operands)
    if memory is None or operands[0].shape != operands[1].shape:
        return None
    plan, fresh = counting_plan("equal", memory, (ONE_STATUS,), operands, operands[0].numel, 0), native.fresh
    return lambda x, y: fresh(plan, x, y)._storage_.array.item() == 1


MOST_TESTS = 32  # with which each element is compared


@prepared("are_members")
def _quick_members(op, layouts, attributes):
    (x, tests), memory = layouts, memory_of(*layouts)
    if memory is None or not tests.numel <= MOST_TESTS:
        return None
    plan = counting_plan("members", memory, (x.like(bool_),), layouts, x.numel, tests.numel, int(attributes["invert"]))
    fresh = native.fresh
    return lambda x, tests, invert: fresh(plan, x, tests)


@prepared("isin", tensors=("test_elements",))
def _quick_isin(op, layouts, attributes):
    run = recording_run("are_members", *layouts, attributes["test_elements"], bool(attributes["invert"]))
    return run and (lambda x, tests, unique, invert: run(x, tests, invert))


# ---- places in sorted sequences ----------------------------------------------------------------------------------------


@late
def insertion_kernel(dtype: str) -> int:
    """Address of the search."""
    memory, _, rank = rank_of(dtype, True)
    return address(
        Program("insertion", insertion_loop(memory), dtype, (("rank", rank), ("precedes", precedes), *KEY_CONSTANTS.get(dtype, ())))
    )


def insertion_plan(sequence: Layout, x: Layout, right: bool) -> GeneralPlan | None:
    """The launch of the search; None where NumPy must do it."""
    if memory_of(sequence, x) is None or not sequence.numel or sequence.ndim > 1 and sequence.shape[:-1] != x.shape[:-1]:
        return None
    lines = math.prod(sequence.shape[:-1])
    words = (x.numel // lines, sequence.shape[-1], int(right))
    record = pack_record(
        insertion_kernel(sequence.dtype.name),
        lines,
        max(1, PARALLEL_FROM // 8 // max(x.numel // lines, 1)),
        1,
        (0, 0),
        PARALLEL if x.numel >= PARALLEL_FROM else 0,
        words,
    )
    return GeneralPlan(record, (x.like(int64).template,), (sequence, x))


@prepared("insertion_places")
def _quick_insertion(op, layouts, attributes):
    plan, fresh = insertion_plan(*layouts, attributes["right"]), native.fresh
    return plan and (lambda sequence, x, right: fresh(plan, sequence, x))


@prepared("searchsorted", tensors=("input",))
def _quick_searchsorted(op, layouts, attributes):
    if attributes["out_int32"]:
        return None
    run, right = recording_run("insertion_places", *layouts, attributes["input"], bool(attributes["right"])), attributes["right"]
    return run and (lambda sequence, x, *rest: run(sequence, x, right))


@prepared("bucketize", tensors=("boundaries",))
def _quick_bucketize(op, layouts, attributes):
    if attributes["out_int32"]:
        return None
    right = attributes["right"]
    run = recording_run("insertion_places", attributes["boundaries"], *layouts, bool(right))
    return run and (lambda x, boundaries, *rest: run(boundaries, x, right))


# ---- counts ------------------------------------------------------------------------------------------------------------

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def ends_finder(x: Layout) -> Callable[[Tensor], list[int]]:
    """``ends(x)``: the least and the greatest of some integers."""
    plan, fresh = counting_plan("ends", x.dtype.name, (layout_of(int64, (2,), None, x.device),), (x,), x.numel, 0), native.fresh
    return lambda x: fresh(plan, x)._storage_.array.tolist()


MOST_COUNTS = 1 << 16  # of which a table keeps plans


@prepared("bincount", tensors=("weights",))
def _quick_bincount(op, layouts, attributes):
    (x,), least = layouts, attributes["minlength"]
    if attributes["weights"] is not None or x.dtype.name not in INTEGERS or not (x.ndim == 1 and x.numel and runs_as_it_lies(x)):
        return None
    ends, fresh, dtype, numel = ends_finder(x), native.fresh, x.dtype.name, x.numel
    made = lambda size: counting_plan("counts", dtype, (layout_of(int64, (size,), None, x.device),), (x,), numel, size)
    plans = Plans(made, 256)

    def quick(values, *rest):
        low, high = ends(values)
        return None if low < 0 or high > MOST_COUNTS else fresh(plans[max(high + 1, least)], values)

    return quick


@prepared("one_hot")
def _quick_one_hot(op, layouts, attributes):
    (x,), given = layouts, attributes["num_classes"]
    if x.dtype is not int64 or not (x.numel and runs_as_it_lies(x)):
        return None
    ends, fresh = ends_finder(x), native.fresh
    outs = lambda size: (layout_of(int64, (*x.shape, size), None, x.device), ONE_STATUS)
    plans = Plans(lambda size: counting_plan("one_hot", "int64", outs(size), (x,), x.numel, size), 256)

    def quick(values, *rest):
        out, status = fresh(plans[given if given != -1 else ends(values)[1] + 1], values)
        return None if status._storage_.array[0] else out

    return quick


@prepared("bin_counts", "histogram")
def _quick_histogram(op, layouts, attributes):
    (x,), bins = layouts, attributes["bins"]
    if x.dtype not in (float32, float64) or not (x.numel and runs_as_it_lies(x)) or attributes.get("density"):
        return None
    hist, counts = layout_of(x.dtype, (bins,), None, x.device), layout_of(int64, (bins,), None, x.device)
    whole, fresh = op.name == "histogram", native.fresh
    outs = (hist, counts, ONE_STATUS, *((layout_of(x.dtype, (bins + 1,), None, x.device),) if whole else ()))
    ends = float(attributes.get("min", 0)), float(attributes.get("max", 0))
    plan = counting_plan("histogram" if whole else "histc", x.dtype.name, outs, (x,), x.numel, bins, *ends)

    def quick(x, *rest):
        if whole and recorded(x):
            return None
        hist, _, status, *edges = fresh(plan, x)
        if status._storage_.array[0]:
            return None
        return Histogram(hist, *edges) if whole else hist

    return quick


# ---- different elements ------------------------------------------------------------------------------------------------


def distinct_finder(x: Layout) -> Callable[[Tensor], Tensor]:
    """``distinct(x)``: the elements that differ from the one before them, in a row."""
    memory = "uint8" if x.dtype is bool_ else x.dtype.name
    plan = counting_plan("distinct", memory, (x.like(None, (x.numel,)), ONE_STATUS), (x,), x.numel, 0)
    fresh, dtype, device = native.fresh, x.dtype, x.device
    layouts = Plans(lambda count: layout_of(dtype, (count,), None, device), 256)

    def distinct(x):
        out, status = fresh(plan, x)
        count, array = status._storage_.array.item(), out._storage_.array
        if count == array.size:
            return out
        return new_tensor(wrap_array(array[:count].copy()), layouts[count])

    return distinct


@prepared("unique_consecutive")
def _quick_unique_consecutive(op, layouts, attributes):
    (x,) = layouts
    if memory_of(x) is None or not x.numel or any(attributes.values()) or attributes["dim"] is not None:
        return None
    distinct = distinct_finder(x)
    return lambda x, *rest: None if recorded(x) else distinct(x)


@prepared("unique")
def _quick_unique(op, layouts, attributes):
    (x,) = layouts
    wanted = attributes["return_inverse"] or attributes["return_counts"] or attributes["dim"] is not None
    if memory_of(x) is None or wanted or not is_short(row := x.like(None, (x.numel,)), 0):
        return None
    plan = order_plan(row, 0, "sort", row.shape, row.shape)
    sort, distinct = partial(native.fresh, GeneralPlan(plan.record, plan.outs, (x,))), distinct_finder(row)
    return lambda x, *rest: None if recorded(x) else distinct(sort(x)[0])


@prepared("take_along_dim", tensors=("indices",))
def _quick_take_along_dim(op, layouts, attributes):
    (x,), index, dim = layouts, attributes["indices"], attributes["dim"]
    run = recording_run("gather", x, dim, index, False) if index.ndim == x.ndim and type(dim) is int else None
    if run is None or any(a != b for d, (a, b) in enumerate(zip(x.shape, index.shape)) if d != dim % x.ndim):
        return None
    return lambda x, index, dim: run(x, dim, index, False)


# ---- by NumPy ---------------------------------------------------------------------------------------------------------


def comparable(x: Tensor) -> np.ndarray:
    """The elements as NumPy orders them right: of half types it would not know where NaN belongs."""
    array = values_of(x)
    return array.astype(np.float32) if x.layout.dtype.compute != x.layout.dtype.name and x.layout.dtype is not bool_ else array


@lowering("insertion_places", style="run")
def _searchsorted(op, tensors, attributes):
    sequence, x = tensors
    rows, values = map(comparable, tensors)
    if not rows.ndim:
        raise ShapeError("searchsorted: a 0-d sequence has no places. Hint: a vector.")
    side = "right" if attributes["right"] else "left"
    if rows.ndim > 1 and rows.shape[:-1] != values.shape[:-1]:
        raise ShapeError(f"searchsorted: sequences {list(rows.shape)} and values {list(values.shape)} differ before the last size.")
    if rows.ndim == 1:
        found = np.asarray(np.searchsorted(rows, values, side))
    else:
        found = np.empty(values.shape, np.int64)
        for place in np.ndindex(rows.shape[:-1]):
            found[place] = np.searchsorted(rows[place], values[place], side)
    return tensor_of(found.astype(np.int64).reshape(values.shape), x)


FEW_PAIRS = 1 << 12  # that are compared one by one in less time than it takes to sort


@lowering("are_members", style="run")
def _isin(op, tensors, attributes):
    elements, tests = tensors
    array, others = map(comparable, tensors)
    if array.size * others.size <= FEW_PAIRS:
        found = (array[..., None] == others.reshape(-1)).any(-1)
        return tensor_of(np.asarray(~found if attributes["invert"] else found), elements, bool_)
    return tensor_of(np.asarray(np.isin(array, others, invert=attributes["invert"])), elements, bool_)


def limits(name: str, array: np.ndarray, low: float, high: float, apart: float) -> tuple[float, float]:
    """The interval of a histogram: that of the elements where both ends are equal; ``apart`` to both sides if that is one number.

    Raises:
        RangeError: no interval.
    """
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    return interval(name, low, high, apart)


def interval(name: str, low: float, high: float, apart: float) -> tuple[float, float]:
    """That of a histogram, of two ends.

    Raises:
        RangeError: no interval.
    """
    if low == high:
        low, high = low - apart, high + apart
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RangeError(f"{name}: the range [{low}, {high}] is not finite.")
    if low > high:
        raise RangeError(f"{name}: max is {high}, expected more than min, {low}.")
    return low, high


@result_of("bin_counts")
def _bins_layout(op, layouts, attributes):
    return layouts[0].like(shape=(attributes["bins"],))


@lowering("bin_counts", style="run")
def _bin_counts(op, tensors, attributes):
    (input,) = tensors
    bins, min, max = attributes["bins"], attributes["min"], attributes["max"]
    array = values_of(input).reshape(-1)
    array = array if input.dtype.is_floating_point else array.astype(np.float64)
    kind = array.dtype.type
    # In the dtype of the elements, so that one of them may be an end.
    low, high = map(kind, limits("histc", array, min, max, 1.0))
    inside = array[(array >= low) & (array <= high)]
    places = np.minimum(((inside - low) * kind(bins) / (high - low)).astype(np.int64), bins - 1)
    return CALLS["to_dtype"](tensor_of(np.bincount(places, minlength=bins).astype(np.float64), input), input.layout.dtype)
