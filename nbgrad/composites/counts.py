"""Distinct values, searches in sorted values, and counts of values: ``unique``, ``searchsorted``, ``bincount``, ``histogram``."""

from __future__ import annotations

from typing import Callable, NamedTuple

import numpy as np

from ..base.dtypes import INTEGER, float32, float64, int32, int64, result_dtype
from ..base.errors import ArgumentError, DimError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import traces
from ..base.results import result_type
from ..creation import factories
from ..dispatch.arguments import require_tensors
from ..dispatch.device_lowerings import note_fallback
from ..dispatch.device_requirements import is_required
from ..lowering.counts import Histogram, comparable, limits
from ..ops.core import composite
from ..ops.expr import scalar
from ..ops.kinds import constant_number, explained
from ..ops.shapes import wrap
from ..tensors.arrays import tensor_of, values_of
from ..tensors.batch_levels import whole
from ..tensors.tensor import Tensor
from .refusals import refused

__all__: list[str] = []


# ---- different values -------------------------------------------------------------------------------------------------


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different values in order, every NaN one of its own; with ``dim`` the different slices. Differentiating it is refused."""
    if dim is not None:
        if not input.layout.ndim:
            raise DimError("unique: input has no dimensions. Hint: dim=None.")
        dim = wrap("unique", dim, input.layout.ndim)
    if input.layout.memory is not None:
        from .device_counts import distinct

        made = distinct(input.detach(), dim)
        if made is not None:
            return distinct_results(input, made, return_inverse, return_counts, dim)
        note_fallback("unique", "unique", input.layout.device)
    array = comparable(input)
    if dim is None and not (return_inverse or return_counts) and array.dtype.kind in "biu":
        return refused("unique", "Unique2Backward0", tensor_of(np.unique(array), input), input)
    values, *others = np.unique(array, return_inverse=True, return_counts=return_counts, axis=dim, equal_nan=False)
    counts = tensor_of(others[1], input) if return_counts else None
    inverse = tensor_of(others[0], input) if return_inverse else None
    return distinct_results(input, (tensor_of(values, input), inverse, counts), return_inverse, return_counts, dim)


def distinct_results(input, found, return_inverse, return_counts, dim):
    """What ``unique`` returns of values, places and counts."""
    values, inverse, counts = found
    values = values if values.dtype is input.dtype else values.to(input.dtype)
    values = refused("unique", "Unique2Backward0" if dim is None else "UniqueDimBackward0", values, input)
    if return_inverse:
        inverse = inverse.reshape(input.shape if dim is None else (-1,))
    wanted = tuple(each for each, asked in ((values, True), (inverse, return_inverse), (counts, return_counts)) if asked)
    return wanted if len(wanted) > 1 else values


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Elements (with ``dim``, slices) without those that repeat their neighbour before them; refuses to be differentiated."""
    require_tensors("unique_consecutive", input)
    if dim is not None and not input.layout.ndim:
        raise DimError("unique_consecutive: input has no dimensions. Hint: dim=None.")
    if input.layout.memory is not None:
        from .device_counts import consecutive

        dim = None if dim is None else wrap("unique_consecutive", dim, input.layout.ndim)
        values, inverse, counts = consecutive(input.detach(), dim)
        inverse = inverse.reshape(input.shape) if dim is None else inverse
        wanted = tuple(each for each, asked in ((values, True), (inverse, return_inverse), (counts, return_counts)) if asked)
        refused("unique_consecutive", "UniqueConsecutiveBackward0", wanted[0], input)
        return wanted if len(wanted) > 1 else wanted[0]
    array = values_of(input.detach())
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, wrap("unique_consecutive", dim, array.ndim), 0)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    values = rows[new] if dim is None else np.moveaxis(rows[new], 0, dim)
    places = np.cumsum(new) - 1
    inverse = places.reshape(array.shape) if dim is None else places
    counts = np.diff(np.append(np.flatnonzero(new), len(rows)))
    wanted = tuple(
        tensor_of(each, input)
        for each, asked in ((values, True), (inverse.astype(np.int64), return_inverse), (counts.astype(np.int64), return_counts))
        if asked
    )
    refused("unique_consecutive", "UniqueConsecutiveBackward0", wanted[0], input)
    return wanted if len(wanted) > 1 else wanted[0]


# ---- searches ---------------------------------------------------------------------------------------------------------


def as_tensor(x, like: Tensor) -> Tensor:
    """A number as a 0-d tensor beside another tensor, in the dtype that promotion gives it there."""
    if isinstance(x, Tensor):
        return x
    dtype = result_dtype([(like.dtype, 1)], [x]) if isinstance(x, (bool, int, float, complex)) else None
    return factories.tensor(x, dtype=int64 if type(x) is int and not like.dtype.differentiable else dtype, device=like.device)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """Where to put values into a sorted last dimension: before equal elements, or behind them with ``right``. No gradient.

    Args:
        side: "right" says the same as ``right``, "left" the opposite.
        sorter: indices in int64 that sort the sequence, which then need not be sorted.

    Raises:
        ArgumentError: side and right contradict each other. ShapeError, DTypeError: the sorter is not of the sequence's shape, or
            no int64. DimError: an index out of range.
    """
    require_tensors("searchsorted", sorted_sequence)
    if side not in (None, "left", "right") or side == "left" and right:
        raise ArgumentError(f"searchsorted: side is {side!r}, right is {right}; expected 'left' or 'right', or right alone.")
    right = right or side == "right"
    if sorter is not None:
        require_tensors("searchsorted", sorter)
        if sorter.shape != sorted_sequence.shape:
            raise ShapeError(f"searchsorted: sorter is {list(sorter.shape)}, the sequence {list(sorted_sequence.shape)}.")
        if sorter.dtype is not int64:
            raise DTypeError(f"searchsorted: sorter is {sorter.dtype}, expected int64.")
        sorted_sequence = sorted_sequence.detach().gather(-1, sorter)
    found = scalar.insertion_places(sorted_sequence, as_tensor(input, sorted_sequence), bool(right))
    return found.to(int32) if out_int32 else found


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Where elements are among the test elements. No gradient."""
    like = elements if isinstance(elements, Tensor) else test_elements
    require_tensors("isin", like)
    return scalar.are_members(as_tensor(elements, like), as_tensor(test_elements, like), bool(invert))


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """Which interval between sorted boundaries each value lies in. It has no gradient."""
    require_tensors("bucketize", boundaries)
    if boundaries.ndim != 1:
        raise ShapeError(f"bucketize: boundaries is {list(boundaries.shape)}, expected a vector.")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def one_hot(tensor, num_classes=-1):
    """1 at the class of each element and 0 elsewhere, along a new last dimension; int64."""
    if tensor.dtype is not int64:
        raise DTypeError(f"one_hot: expected classes in int64, got {tensor.dtype}.")
    if num_classes == -1 and not tensor.numel():
        raise RangeError("one_hot: no classes to count in an empty tensor. Hint: say num_classes.")
    count = num_classes
    if not (count >= 0 and has_classes(tensor, count)):
        low, high = least_and_greatest(tensor if count == -1 else whole(tensor))  # a number of classes serves a batch too
        count = high + 1 if num_classes == -1 else num_classes
        if high >= low and (low < 0 or high >= count):
            raise DimError(f"one_hot: classes from {low} to {high}, expected 0 to {count - 1}.")
    return (tensor.contiguous().unsqueeze(-1) == factories.arange(count, device=tensor.layout.device)).to(int64)


def has_classes(tensor, count: int) -> bool:
    """Whether all are known to be classes: in captures, which depend on no more than that; on a GPU, where an error comes later."""
    if not (traces or tensor.layout.memory is not None):
        return False
    known = whole((tensor >= 0) & (tensor < count)).all()
    return is_required(known, DimError, f"one_hot: a class is not from 0 to {count - 1}.")


# ---- histograms -------------------------------------------------------------------------------------------------------


def bincount(input, weights=None, minlength=0):
    """How often each whole number from 0 on occurs, or the sum of its weights, by which differentiating it is refused.

    Sums are float64, of float32 weights float32.
    """
    whole_numbers = input.dtype.category == INTEGER and input.ndim == 1
    low, high = least_and_greatest(input) if whole_numbers else (-1, -1)
    if not whole_numbers or low < 0:
        raise DTypeError(f"bincount: expected a vector of whole numbers >= 0, got {input.dtype} {list(input.shape)}.")
    if minlength < 0:
        raise RangeError(f"bincount: minlength is {minlength}, expected a number >= 0.")
    if input.layout.memory is not None:
        from .device_counts import counted

        found = counted(input, None if weights is None else weights.detach(), max(high + 1, minlength))
    else:
        found = tensor_of(np.bincount(values_of(input), None if weights is None else values_of(weights), minlength), input)
    if weights is not None and weights.dtype is float32 and found.dtype is float64:
        found = found.to(float32)
    return refused("bincount", "BincountBackward0", found, weights)


def least_and_greatest(x: Tensor) -> tuple[int, int]:
    """The least and the greatest of integers; (0, -1) of none."""
    if x.layout.memory is not None:
        from .device_counts import ends_of

        return ends_of(x)
    array = values_of(x)
    return (int(array.min()), int(array.max())) if array.size else (0, -1)


def require_real(name: str, input) -> None:
    """Refuse what has no order.

    Raises:
        ArgumentError: no tensor. DTypeError: a complex one.
    """
    require_tensors(name, input)
    if input.dtype.is_complex:
        raise DTypeError(f"{name}: complex numbers have no order, got {input.dtype}.")


def span_of(name: str, array: np.ndarray, given) -> tuple[float, float]:
    """The interval of ``histogram``: given, or that of the elements; half a unit to both sides of a single number."""
    if given is None:
        given = (float(array.min()), float(array.max())) if array.size else (0.0, 1.0)
    low, high = given
    return (low - 0.5, high + 0.5) if low == high else limits(name, array, low, high, 0.5)


def edges_of(name: str, array: np.ndarray, bins, given) -> np.ndarray:
    """The edges of the intervals along a dimension: ``bins`` themselves, or so many equal intervals between given ends.

    Raises:
        RangeError: no interval, or bins < 1.
    """
    if isinstance(bins, Tensor):
        return values_of(bins.detach())
    if bins < 1:
        raise RangeError(f"{name}: bins is {bins}, expected at least 1.")
    edges = np.linspace(*span_of(name, array, given), bins + 1)
    return edges.astype(array.dtype) if array.dtype.kind == "f" else edges  # so that an element may be one


def histc(input, bins=100, min=0, max=0):
    """How many elements lie in each of ``bins`` equal intervals from min to max (of the elements if both are 0).

    The derivative is 0: counts do not change with small changes of the elements.

    Raises:
        RangeError: no interval, or bins < 1.
    """
    require_real("histc", input)
    if bins < 1:
        raise RangeError(f"histc: bins is {bins}, expected at least 1.")
    ends = (float(constant_number("histc", *end)) for end in (("min", min), ("max", max)))
    return scalar.bin_counts(input.detach(), bins, *ends)


def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """(hist, bin_edges): the numbers or weights of the elements between edges, given or equally spaced.

    Differentiating it, by elements, edges or weights, is refused.

    Raises:
        RangeError: no interval, or bins < 1. ShapeError: weights that are not one for each element.
    """
    require_real("histogram", input)
    if input.layout.memory is not None:
        note_fallback("histogram", "histogram", input.layout.device)
    array = values_of(input.detach()).reshape(-1)
    if weight is not None and weight.shape != input.shape:
        raise ShapeError(f"histogram: weight has shape {list(weight.shape)}, input {list(input.shape)}.")
    edges = edges_of("histogram", array, bins, range)
    weights = None if weight is None else values_of(weight.detach()).reshape(-1)
    counts, _ = np.histogram(array, edges, weights=weights, density=density)
    found = (tensor_of(each, input).to(input.dtype) for each in (counts.astype(np.float64), edges))
    return Histogram(*(refused("histogram", "HistogramBackward0", each, input, bins, weight) for each in found))


@result_type("histogramdd")
class Histograms(NamedTuple):
    """What ``histogramdd`` returns."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def histogramdd(input, bins, range=None, weight=None, density=False):
    """(hist, bin_edges): how many points, or their weights, lie in each cell of a grid; ``histogram`` in several dimensions.

    Differentiating it, by points, edges or weights, is refused.

    Args:
        input: points ``(*, dimensions)``.
        bins: the number of equal intervals of every dimension, or one number or one vector of edges for each of them.
        range: the ends of all intervals, two numbers a dimension in one row; those of the points if not given.
        weight: one for each point.
        density: divides by the sum and the sizes of the cells.

    Raises:
        ShapeError: no points, or weights that are not one for each. RangeError: bins or ends that are not one for each dimension,
            no interval, or bins < 1.
    """
    require_real("histogramdd", input)
    if input.ndim < 2:
        raise ShapeError(f"histogramdd: input is {list(input.shape)}, expected points (*, dimensions).")
    if weight is not None and weight.shape != input.shape[:-1]:
        raise ShapeError(f"histogramdd: weight has shape {list(weight.shape)}, expected {list(input.shape[:-1])}.")
    count = input.shape[-1]
    given = list(bins) if isinstance(bins, (tuple, list)) else [bins] * count
    ends = [None] * count if range is None else list(zip(range[::2], range[1::2]))
    if len(given) != count or len(ends) != count or range is not None and len(range) != 2 * count:
        raise RangeError(
            f"histogramdd: points have {count} dimensions, bins is {bins!r}, range {range!r}; expected as many of each."
        )
    if input.layout.memory is not None:
        note_fallback("histogramdd", "histogramdd", input.layout.device)
    points = values_of(input.detach()).reshape(-1, count)
    edges = [edges_of("histogramdd", points[:, d], *each) for d, each in enumerate(zip(given, ends))]
    weights = None if weight is None else values_of(weight.detach()).reshape(-1)
    counts, _ = np.histogramdd(points, edges, weights=weights, density=density)
    found = [
        refused("histogramdd", "HistogramddBackward0", tensor_of(x, input).to(input.dtype), input, weight) for x in (counts, *edges)
    ]
    return Histograms(found[0], tuple(found[1:]))


_function: Callable
for _function in (unique, bincount):
    composite(_function.__name__, _function, doc=_function.__doc__)
composite("searchsorted", searchsorted, method=False, out=True, doc=str(searchsorted.__doc__))
composite(
    "isin", isin, method=False, out=True, arguments={"element": "elements", "test_element": "test_elements"}, doc=str(isin.__doc__)
)
composite("bucketize", bucketize, method=False, out=True, numbers=True, doc=str(bucketize.__doc__))
for _function in (histc, histogram, unique_consecutive):
    composite(_function.__name__, explained(_function), out=_function in (histc, histogram), doc=str(_function.__doc__))
composite("histogramdd", explained(histogramdd), method=False, doc=str(histogramdd.__doc__))
composite("one_hot", one_hot, method=False, doc=one_hot.__doc__)
