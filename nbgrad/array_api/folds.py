"""The standard's functions that fold elements along axes, to one or step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Tensor
from ..base.dtypes import bool_
from ..base.errors import ShapeError
from .dtypes import together

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
    "vecdot",
]


def axes_of(x: Tensor, axis: Any) -> tuple[int, ...]:
    """The axes of a fold: all for None; none of them, which nbgrad's folds take for all, leave the elements as they are."""
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def widened(x: Tensor, dtype: Any) -> Any:
    """The dtype of a sum: of integers the widest one, with or without sign."""
    if dtype is not None or x.is_floating_point() or x.is_complex():
        return dtype
    return nbgrad.int64 if x.dtype.is_signed or x.dtype is bool_ else nbgrad.uint64


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes; of integers of int64, of unsigned ones of uint64, unless ``dtype`` is given.

    >>> sum(nbgrad.ones(2, 3), axis=1)
    tensor([3., 3.])
    """
    axes, dtype = axes_of(x, axis), widened(x, dtype)
    return nbgrad.sum(x, axes, keepdims, dtype=dtype) if axes else x.to(dtype=dtype, copy=True)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over axes.

    >>> from nbgrad import array_api as xp
    >>> xp.prod(xp.asarray([2, 3, 4]))
    tensor(24)
    """
    found = x.to(dtype=widened(x, dtype), copy=True)
    for each in sorted((a % x.ndim for a in axes_of(x, axis)), reverse=True):
        found = found.prod(each, keepdim=keepdims, dtype=found.dtype)
    return found


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over axes.

    >>> from nbgrad import array_api as xp
    >>> xp.mean(xp.asarray([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    axes = axes_of(x, axis)
    return nbgrad.mean(x, axes, keepdims) if axes else x.clone()


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over axes.

    >>> from nbgrad import array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0]), correction=1)
    tensor(2.)
    """
    axes = axes_of(x, axis)
    return nbgrad.var(x, axes, correction=correction, keepdim=keepdims) if axes else (x - x).abs()  # NaN where x is not finite


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes.

    >>> from nbgrad import array_api as xp
    >>> xp.std(xp.asarray([1.0, 3.0]))
    tensor(1.)
    """
    axes = axes_of(x, axis)
    return nbgrad.std(x, axes, correction=correction, keepdim=keepdims) if axes else (x - x).abs()


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest element over axes.

    >>> from nbgrad import array_api as xp
    >>> xp.max(xp.asarray([[1, 5], [3, 2]]), axis=1)
    tensor([5, 3])
    """
    axes = axes_of(x, axis)
    return nbgrad.amax(x, axes, keepdims) if axes else x.clone()


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The least element over axes.

    >>> from nbgrad import array_api as xp
    >>> xp.min(xp.asarray([[1, 5], [3, 2]]), axis=1)
    tensor([1, 2])
    """
    axes = axes_of(x, axis)
    return nbgrad.amin(x, axes, keepdims) if axes else x.clone()


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over axes are true.

    >>> from nbgrad import array_api as xp
    >>> xp.all(xp.asarray([1, 0]))
    tensor(False)
    """
    axes = axes_of(x, axis)
    return nbgrad.all(x != 0, axes, keepdims) if axes else x != 0


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether an element over axes is true.

    >>> from nbgrad import array_api as xp
    >>> xp.any(xp.asarray([1, 0]))
    tensor(True)
    """
    axes = axes_of(x, axis)
    return nbgrad.any(x != 0, axes, keepdims) if axes else x != 0


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements over axes are not 0.

    >>> from nbgrad import array_api as xp
    >>> xp.count_nonzero(xp.asarray([[1, 0], [2, 3]]), axis=0)
    tensor([2, 1])
    """
    return sum((x != 0).to(nbgrad.int64), axis=axis, keepdims=keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the greatest element is.

    >>> from nbgrad import array_api as xp
    >>> xp.argmax(xp.asarray([2, 7, 1]))
    tensor(1)
    """
    return nbgrad.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the least element is.

    >>> from nbgrad import array_api as xp
    >>> xp.argmin(xp.asarray([2, 7, 1]))
    tensor(2)
    """
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
    """Running sums along an axis, which a vector need not name; with a 0 before them if ``include_initial``.

    Raises:
        ShapeError: no axis is named, and there is not one.

    >>> cumulative_sum(nbgrad.tensor([1, 2]), include_initial=True)
    tensor([0, 1, 3])
    """
    return sums("cumulative_sum", nbgrad.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Running products along an axis, which a vector need not name; with a 1 before them if ``include_initial``.

    Raises:
        ShapeError: no axis is named, and there is not one.

    >>> cumulative_prod(nbgrad.tensor([1, 2]), include_initial=True)
    tensor([1, 1, 2])
    """
    return sums("cumulative_prod", nbgrad.cumprod, x, axis, dtype, 1 if include_initial else None)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours, n times.

    >>> from nbgrad import array_api as xp
    >>> xp.diff(xp.asarray([1, 4, 9]))
    tensor([3, 5])
    """
    return nbgrad.diff(x, n, axis, prepend, append)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Products of vectors along an axis, the first one conjugated.

    Raises:
        ShapeError: they have different lengths.

    >>> from nbgrad import array_api as xp
    >>> xp.vecdot(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]))
    tensor(11.)
    """
    if x1.shape[axis] != x2.shape[axis]:
        raise ShapeError(f"vecdot: x1 has {x1.shape[axis]} elements along axis {axis}, x2 has {x2.shape[axis]}, expected as many.")
    x1, x2 = together(x1, x2)
    return nbgrad.linalg.vecdot(x1, x2, dim=axis).to(x1.dtype)
