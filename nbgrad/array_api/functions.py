"""Functions whose arguments the standard names or orders otherwise than torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.errors import ShapeError

__all__ = [
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "broadcast_arrays",
    "ceil",
    "clip",
    "concat",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "empty",
    "expand_dims",
    "eye",
    "flip",
    "floor",
    "full",
    "linspace",
    "matrix_transpose",
    "max",
    "mean",
    "meshgrid",
    "min",
    "nonzero",
    "ones",
    "permute_dims",
    "prod",
    "repeat",
    "reshape",
    "roll",
    "round",
    "searchsorted",
    "sort",
    "squeeze",
    "stack",
    "std",
    "sum",
    "take",
    "take_along_axis",
    "tensordot",
    "tril",
    "triu",
    "trunc",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "zeros",
]

# ---- new tensors -----------------------------------------------------------------------------------------------------


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """Numbers, sequences, arrays or a tensor as a tensor; ``copy``: True always, False never, None where it must be."""
    found = nbgrad.asarray(obj, dtype=dtype, device=device, copy=copy)
    return found


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Numbers at even distances; no numbers where the step leads away."""
    first, last = (0, start) if stop is None else (start, stop)
    if (last - first) * step <= 0:
        whole = builtins_all(isinstance(x, int) for x in (first, last, step))
        return nbgrad.empty(0, dtype=dtype or (nbgrad.int64 if whole else None), device=device)
    return nbgrad.arange(first, last, step, dtype=dtype, device=device)


def builtins_all(values: Any) -> bool:
    """Python's ``all``, whose name the standard has."""
    return not [x for x in values if not x]


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor without particular values."""
    return nbgrad.empty(shape, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of zeros."""
    return nbgrad.zeros(shape, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of ones."""
    return nbgrad.ones(shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of one number."""
    return nbgrad.full((shape,) if isinstance(shape, int) else tuple(shape), fill_value, dtype=dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones on the k-th diagonal."""
    columns = n_rows if n_cols is None else n_cols
    rows = nbgrad.arange(n_rows, device=device).unsqueeze(1)
    there = nbgrad.arange(columns, device=device) - rows == k
    return there.to(nbgrad.get_default_dtype() if dtype is None else dtype)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> Tensor:
    """Numbers at even distances between two; without the last one unless ``endpoint``."""
    return nbgrad.linspace(start, stop, num + (not endpoint), dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of a grid, of vectors along its axes."""
    return list(nbgrad.meshgrid(*arrays, indexing=indexing))


# ---- elements --------------------------------------------------------------------------------------------------------


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Elements moved into limits, in the dtype of ``x``."""
    if min is None and max is None:
        return x.clone()
    return nbgrad.clamp(x, min, max).to(x.dtype)


def of_integers(name: str) -> Callable[[Tensor], Tensor]:
    """A rounding function, which leaves integers alone."""

    def function(x: Tensor, /) -> Tensor:
        if x.is_complex():  # as the standard has ``round``: part by part
            return nbgrad.complex(getattr(nbgrad, name)(x.real), getattr(nbgrad, name)(x.imag))
        found: Tensor = getattr(nbgrad, name)(x) if x.is_floating_point() else x.clone()
        return found

    function.__name__, function.__doc__ = name, f"``nbgrad.{name}``; integers as they are."
    return function


ceil, floor, round, trunc = (of_integers(name) for name in ("ceil", "floor", "round", "trunc"))

# ---- shapes ----------------------------------------------------------------------------------------------------------


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Tensors stretched to their common shape."""
    return list(nbgrad.broadcast_tensors(*arrays))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Tensors one behind the other, along an axis or, with None, all elements in a row."""
    found = [x.reshape((-1,)) for x in arrays] if axis is None else list(arrays)
    return nbgrad.cat(found, 0 if axis is None else axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    return nbgrad.stack(list(arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    return tuple(x.unbind(axis))


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """A new axis of size 1."""
    return x.unsqueeze(axis)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Without axes of size 1.

    Raises:
        ShapeError: one has another size.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for each in axes:
        if x.shape[each] != 1:
            raise ShapeError(f"squeeze: axis {each} has size {x.shape[each]}, expected 1.")
    return x.squeeze(axes)


def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """Axes in another order."""
    return x.permute(tuple(axes))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    return x.mT


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Every element, or slice along an axis, several times."""
    return nbgrad.repeat_interleave(x, repeats, axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """Elements in the opposite order, along all axes unless some are named."""
    return x.flip(axes_of(x, axis))


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements moved along axes; without any, along all elements in a row."""
    return nbgrad.roll(x, shift, axis)


def reshape(x: Tensor, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """Elements in another shape; ``copy``: True always, False never, None where it must be.

    Raises:
        ShapeError: ``copy`` is False, and the elements do not lie so.
    """
    if copy is False:
        return x.view(tuple(shape))
    return x.clone().reshape(tuple(shape)) if copy else x.reshape(tuple(shape))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Zeros above the k-th diagonal."""
    return nbgrad.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Zeros below the k-th diagonal."""
    return nbgrad.triu(x, k)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Sums of products over several axes."""
    return nbgrad.tensordot(x1, x2, axes)


# ---- indices ---------------------------------------------------------------------------------------------------------


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Slices along an axis, which a vector need not name."""
    dim = 0 if axis is None else axis
    found = indices.to(nbgrad.int64)
    return x.index_select(dim, nbgrad.where(found < 0, found + x.shape[dim], found))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements along an axis, for each place others."""
    found = indices.to(nbgrad.int64)
    return nbgrad.take_along_dim(x, nbgrad.where(found < 0, found + x.shape[axis], found), axis)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Where elements are not 0, a tensor for each axis.

    Raises:
        ShapeError: there are no axes.
    """
    if x.ndim == 0:
        raise ShapeError("nonzero: x has no axes, expected at least one.")
    return tuple(nbgrad.nonzero(x).unbind(1))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: Any = "left", sorter: Tensor | None = None) -> Tensor:
    """Where elements of ``x2`` would keep ``x1`` in order."""
    return nbgrad.searchsorted(x1, x2, side=side, sorter=sorter)


# ---- folds -----------------------------------------------------------------------------------------------------------


def axes_of(x: Tensor, axis: Any) -> tuple[int, ...]:
    """The axes of a fold: all for None."""
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def widened(x: Tensor, dtype: Any) -> Any:
    """The dtype of a sum: of integers the default one."""
    if dtype is not None or x.is_floating_point() or x.is_complex():
        return dtype
    return nbgrad.int64


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes."""
    axes, dtype = axes_of(x, axis), widened(x, dtype)
    return nbgrad.sum(x, axes, keepdims, dtype=dtype) if axes else (x.clone() if dtype is None else x.to(dtype, copy=True))


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over axes."""
    dtype = widened(x, dtype)
    found = x.clone() if dtype is None else x.to(dtype, copy=True)
    for each in sorted((a % x.ndim for a in axes_of(x, axis)), reverse=True):
        found = found.prod(each, keepdim=keepdims)
    return found


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over axes."""
    axes = axes_of(x, axis)
    return nbgrad.mean(x, axes, keepdims) if axes else x.clone()


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over axes."""
    axes = axes_of(x, axis)
    return nbgrad.var(x, axes, correction=correction, keepdim=keepdims) if axes else nbgrad.zeros_like(x)


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes."""
    axes = axes_of(x, axis)
    return nbgrad.std(x, axes, correction=correction, keepdim=keepdims) if axes else nbgrad.zeros_like(x)


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest element over axes."""
    axes = axes_of(x, axis)
    return nbgrad.amax(x, axes, keepdims) if axes else x.clone()


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The least element over axes."""
    axes = axes_of(x, axis)
    return nbgrad.amin(x, axes, keepdims) if axes else x.clone()


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over axes are true."""
    axes = axes_of(x, axis)
    return nbgrad.all(x != 0, axes, keepdims) if axes else x != 0


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether an element over axes is true."""
    axes = axes_of(x, axis)
    return nbgrad.any(x != 0, axes, keepdims) if axes else x != 0


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements over axes are not 0."""
    return sum((x != 0).to(nbgrad.int64), axis=axis, keepdims=keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the greatest element is."""
    return nbgrad.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the least element is."""
    return nbgrad.argmin(x, axis, keepdims)


def sums(name: str, function: Callable, x: Tensor, axis: int | None, dtype: Any, initial: float | None) -> Tensor:
    """Running folds; with ``initial`` one more."""
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"{name}: x has {x.ndim} axes, expected an axis= to fold along.")
        axis = 0
    found = function(x, axis, dtype=widened(x, dtype))
    if initial is None:
        return found
    first = found.new_full([1 if k == axis % x.ndim else n for k, n in enumerate(found.shape)], initial)
    return nbgrad.cat((first, found), axis)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Running sums along an axis; with a 0 before them if ``include_initial``."""
    return sums("cumulative_sum", nbgrad.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Running products along an axis; with a 1 before them if ``include_initial``."""
    return sums("cumulative_prod", nbgrad.cumprod, x, axis, dtype, 1 if include_initial else None)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours, n times."""
    return nbgrad.diff(x, n, axis, prepend, append)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Products of vectors along an axis, the first one conjugated."""
    return nbgrad.linalg.vecdot(x1, x2, dim=axis)


# ---- orders ----------------------------------------------------------------------------------------------------------


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Elements in order along an axis."""
    return nbgrad.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Where elements in order are."""
    return nbgrad.sort(x, dim=axis, descending=descending, stable=stable).indices


class UniqueAll(NamedTuple):
    """Different elements, where each is first, which of them every element is, and how often each comes."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Different elements, and how often each comes."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Different elements, and which of them every element is."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """Different elements, with all that is known of them."""
    values, inverse, counts = nbgrad.unique(x, return_inverse=True, return_counts=True)
    places = nbgrad.arange(x.numel() - 1, -1, -1, device=x.device)
    flat = inverse.reshape((-1,)).flip(0)
    return UniqueAll(values, nbgrad.zeros_like(counts).index_copy(0, flat, places), inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Different elements, and how often each comes."""
    return UniqueCounts(*nbgrad.unique(x, return_counts=True))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Different elements, and which of them every element is."""
    values, inverse = nbgrad.unique(x, return_inverse=True)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """Different elements."""
    return nbgrad.unique(x)
