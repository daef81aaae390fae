"""The standard's functions that move elements, or find them by their places."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ShapeError
from .folds import axes_of

__all__ = [
    "broadcast_arrays",
    "concat",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "nonzero",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "searchsorted",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tensordot",
    "tril",
    "triu",
    "unstack",
]

# ---- shapes ----------------------------------------------------------------------------------------------------------


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Tensors stretched to their common shape."""
    return list(nbgrad.broadcast_tensors(*arrays))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Tensors one behind the other, along an axis or, with None, all elements in a row.

    >>> concat((nbgrad.ones(1, 2), nbgrad.zeros(3, 1)), axis=None)
    tensor([1., 1., 0., 0., 0.])
    """
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


def from_the_front(indices: Tensor, size: int) -> Tensor:
    """Indices of int64, negative ones counted from the end."""
    found = indices.to(nbgrad.int64)
    return nbgrad.where(found < 0, found + size, found)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Slices along an axis, which a vector need not name.

    >>> take(nbgrad.tensor([1.0, 2.0, 3.0]), nbgrad.tensor([0, -1]))
    tensor([1., 3.])
    """
    dim = 0 if axis is None else axis
    return x.index_select(dim, from_the_front(indices, x.shape[dim]))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements along an axis, for each place others."""
    return nbgrad.take_along_dim(x, indices.to(nbgrad.int64), axis)


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
