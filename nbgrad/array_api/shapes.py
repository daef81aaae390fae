"""The standard's functions that move elements, or find them by their places."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ShapeError
from .dtypes import together
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
    """Tensors stretched to their common shape.

    >>> from nbgrad import array_api as xp
    >>> [x.shape for x in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [nbgrad.Size([2, 3]), nbgrad.Size([2, 3])]
    """
    return list(nbgrad.broadcast_tensors(*arrays))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Tensors one behind the other, along an axis or, with None, all elements in a row.

    >>> concat((nbgrad.ones(1, 2), nbgrad.zeros(3, 1)), axis=None)
    tensor([1., 1., 0., 0., 0.])
    """
    found = [x.reshape((-1,)) for x in arrays] if axis is None else list(arrays)
    return nbgrad.cat(found, 0 if axis is None else axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis.

    >>> from nbgrad import array_api as xp
    >>> xp.stack([xp.ones(2), xp.zeros(2)], axis=1).shape
    nbgrad.Size([2, 2])
    """
    return nbgrad.stack(list(arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis.

    >>> from nbgrad import array_api as xp
    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]), axis=1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    return tuple(x.unbind(axis))


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """A new axis of size 1.

    >>> from nbgrad import array_api as xp
    >>> xp.expand_dims(xp.ones(3), axis=1).shape
    nbgrad.Size([3, 1])
    """
    return x.unsqueeze(axis)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Without axes of size 1.

    Raises:
        ShapeError: one has another size.

    >>> from nbgrad import array_api as xp
    >>> xp.squeeze(xp.ones((1, 3, 1)), 0).shape
    nbgrad.Size([3, 1])
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for each in axes:
        if x.shape[each] != 1:
            raise ShapeError(f"squeeze: axis {each} has size {x.shape[each]}, expected 1.")
    return x.squeeze(axes)


def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """Axes in another order.

    >>> from nbgrad import array_api as xp
    >>> xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape
    nbgrad.Size([4, 2, 3])
    """
    return x.permute(tuple(axes))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged.

    >>> from nbgrad import array_api as xp
    >>> xp.matrix_transpose(xp.ones((2, 3, 4))).shape
    nbgrad.Size([2, 4, 3])
    """
    return x.mT


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Every element, or slice along an axis, several times.

    >>> from nbgrad import array_api as xp
    >>> xp.repeat(xp.arange(2), 2)
    tensor([0, 0, 1, 1])
    """
    return nbgrad.repeat_interleave(x, repeats, axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """Elements in the opposite order, along all axes unless some are named.

    >>> from nbgrad import array_api as xp
    >>> xp.flip(xp.arange(3))
    tensor([2, 1, 0])
    """
    return x.flip(axes_of(x, axis))


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements moved along axes; without any, along all elements in a row.

    >>> from nbgrad import array_api as xp
    >>> xp.roll(xp.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    return nbgrad.roll(x, shift, axis)


def reshape(x: Tensor, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """Elements in another shape; ``copy``: True always, False never, None where it must be.

    Raises:
        ShapeError: ``copy`` is False, and the elements do not lie so.

    >>> from nbgrad import array_api as xp
    >>> xp.reshape(xp.arange(6), (2, 3)).shape
    nbgrad.Size([2, 3])
    """
    if copy is False:
        return x.view(tuple(shape))
    return x.clone().reshape(tuple(shape)) if copy else x.reshape(tuple(shape))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Zeros above the k-th diagonal.

    >>> from nbgrad import array_api as xp
    >>> xp.tril(xp.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return nbgrad.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Zeros below the k-th diagonal.

    >>> from nbgrad import array_api as xp
    >>> xp.triu(xp.ones((2, 2)), k=1)
    tensor([[0., 1.],
            [0., 0.]])
    """
    return nbgrad.triu(x, k)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Sums of products over several axes.

    >>> from nbgrad import array_api as xp
    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 2)), axes=1)
    tensor([[3., 3.],
            [3., 3.]])
    """
    x1, x2 = together(x1, x2)
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
    """Elements along an axis, for each place others.

    >>> from nbgrad import array_api as xp
    >>> xp.take_along_axis(xp.asarray([[1, 2], [3, 4]]), xp.asarray([[1], [0]]))
    tensor([[2],
            [3]])
    """
    return nbgrad.take_along_dim(x, indices.to(nbgrad.int64), axis)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Where elements are not 0, a tensor for each axis.

    Raises:
        ShapeError: there are no axes.

    >>> from nbgrad import array_api as xp
    >>> xp.nonzero(xp.asarray([0, 5, 6]))
    (tensor([1, 2]),)
    """
    if x.ndim == 0:
        raise ShapeError("nonzero: x has no axes, expected at least one.")
    return tuple(nbgrad.nonzero(x).unbind(1))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: Any = "left", sorter: Tensor | None = None) -> Tensor:
    """Where elements of ``x2`` would keep ``x1`` in order.

    >>> from nbgrad import array_api as xp
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]), side="right")
    tensor([2, 2])
    """
    return nbgrad.searchsorted(x1, x2, side=side, sorter=sorter)
