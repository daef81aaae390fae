"""Functions of windows that are written in others: ``unfold`` and ``fold``, norms of windows, and maxima put back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import DivisionError, RangeError, ShapeError
from ..ops.convolution import extent, in_pairs, one_by_one, reached
from ..ops.expr import scalar
from ..ops.pooling import pooled_shape

__all__ = ["fold", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "unfold"]

Sizes = int | Sequence[int]


def settings_of(name: str, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> tuple[tuple[int, ...], ...]:
    """Kernel, dilation, padding and stride of two dimensions."""
    given = (("kernel_size", kernel_size, 1), ("dilation", dilation, 1), ("padding", padding, 0), ("stride", stride, 1))
    return tuple([one_by_one(name, what, value, 2, least) for what, value, least in given])


def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """What a kernel meets at every place, as columns.

    Args:
        input: ``(batch, channels, H, W)``, or without the batch.
        kernel_size, dilation, padding, stride: as in ``conv2d``: an int, or one for each dimension.

    Returns:
        ``(batch, channels * kernel elements, places)``.

    Raises:
        ShapeError: another number of dimensions, or the kernel has no place. RangeError: numbers that are too small.

    >>> import nbgrad
    >>> unfold(nbgrad.arange(6.0).reshape(1, 1, 2, 3), (2, 2))
    tensor([[[0., 1.],
             [1., 2.],
             [3., 4.],
             [4., 5.]]])
    """
    kernel, apart, around, step = settings_of("unfold", kernel_size, dilation, padding, stride)
    shape = pooled_shape("unfold", input, 2)
    places = tuple(map(extent, shape, kernel, step, around, apart))
    if min(places) < 1:
        raise ShapeError(f"unfold: input {list(input.shape)} has no place for a kernel of {kernel}. Hint: a larger padding.")
    x = nbgrad.nn.functional.pad(input, in_pairs(around)) if any(around) else input
    lead = tuple(x.shape[:-2])
    for dim, (k, d, s) in enumerate(zip(kernel, apart, step), len(lead)):
        x = x.unfold(dim, d * (k - 1) + 1, s)[..., ::d]
    n = len(lead)
    x = x.permute(*range(n), n + 2, n + 3, n, n + 1)
    return x.reshape(*lead[:-1], lead[-1] * math.prod(kernel), math.prod(places))


def fold(
    input: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """The transpose of ``unfold``: columns added up where a kernel met them.

    Args:
        input: ``(batch, channels * kernel elements, places)``, or without the batch.
        output_size: H and W of the result.
        kernel_size, dilation, padding, stride: as in ``unfold``.

    Returns:
        ``(batch, channels, *output_size)``.

    Raises:
        ShapeError: kernel elements do not divide the rows, or the kernel has another number of places. RangeError: numbers that are
            too small.

    >>> import nbgrad
    >>> fold(nbgrad.ones(1, 4, 2), (2, 3), (2, 2))
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    kernel, apart, around, step = settings_of("fold", kernel_size, dilation, padding, stride)
    size = one_by_one("fold", "output_size", output_size, 2, 1)
    places = tuple(map(extent, size, kernel, step, around, apart))
    if input.ndim not in (2, 3):
        raise ShapeError(f"fold: input is {list(input.shape)}, expected 3 dimensions, or 2 without a batch.")
    rows, columns = input.shape[-2:]
    if rows % math.prod(kernel) or columns != math.prod(places) or min(places) < 1:
        raise ShapeError(
            f"fold: input is {list(input.shape)}, expected rows that {math.prod(kernel)} divides and {math.prod(places)} columns, "
            f"for output_size {size} and a kernel of {kernel}."
        )
    lead = (*input.shape[:-2], rows // math.prod(kernel))
    n = len(lead)
    x = input.reshape(*lead, *kernel, *places).permute(*range(n), n + 2, n + 3, n, n + 1)
    padded = [own + 2 * p for own, p in zip(size, around)]
    for dim in (1, 0):
        k, d, s = kernel[dim], apart[dim], step[dim]
        wide, shape = d * (k - 1) + 1, tuple(x.shape)
        if d > 1:
            x = scalar.slice_backward(x, (*shape[:-1], wide), x.ndim - 1, 0, wide, d)
        whole = (*shape[: n + dim], padded[dim], *shape[n + dim + 1 : -1])
        x = scalar.unfold_backward(x, whole, n + dim, wide, s)
    return nbgrad.nn.functional.pad(x, in_pairs(tuple([-p for p in around]))) if any(around) else x


def lp_pool(name: str, count: int, input: Tensor, norm_type: float, kernel_size: Sizes, stride: Any, ceil_mode: bool) -> Tensor:
    """Norms of windows of so many dimensions.

    Raises:
        DivisionError: ``norm_type`` is 0.
    """
    if norm_type == 0:
        raise DivisionError(f"{name}: norm_type is 0, expected another number.")
    if math.isinf(norm_type):
        sign = math.copysign(1.0, norm_type)
        return sign * getattr(nbgrad, f"max_pool{count}d")(sign * input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    kernel = one_by_one(name, "kernel_size", kernel_size, count, 1)
    means = getattr(nbgrad, f"avg_pool{count}d")(input.pow(norm_type), kernel, stride, 0, ceil_mode)
    return (means.sign() * means.abs().relu()).mul(math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Sizes, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``(sum of x ** norm_type) ** (1 / norm_type)`` of every window of the last dimension: see ``avg_pool1d``.

    >>> import nbgrad
    >>> lp_pool1d(nbgrad.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    return lp_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Sizes, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``lp_pool1d`` of windows of two dimensions.

    >>> import nbgrad
    >>> lp_pool2d(nbgrad.tensor([[[3.0, 4.0]]]), 2, (1, 2))
    tensor([[[5.]]])
    """
    return lp_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Sizes, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``lp_pool1d`` of windows of three dimensions.

    >>> import nbgrad
    >>> lp_pool3d(nbgrad.tensor([[[[3.0, 4.0]]]]), 2, (1, 1, 2))
    tensor([[[[5.]]]])
    """
    return lp_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)


def max_unpool(
    name: str, count: int, input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Any, padding: Sizes, output_size: Any
) -> Tensor:
    """Maxima of so many dimensions among zeros."""
    shape = pooled_shape(name, input, count)
    if tuple(indices.shape) != tuple(input.shape):
        raise ShapeError(f"{name}: indices are {list(indices.shape)}, expected {list(input.shape)}, as input.")
    kernel = one_by_one(name, "kernel_size", kernel_size, count, 1)
    step = kernel if stride is None else one_by_one(name, "stride", stride, count, 1)
    around = one_by_one(name, "padding", padding, count, 0)
    usual = tuple(map(reached, shape, kernel, step, around, (1,) * count))
    size = usual
    if output_size is not None:
        size = tuple(output_size)[-count:]
        if len(size) != count or any(abs(own - each) >= s for own, each, s in zip(size, usual, step)):
            raise RangeError(f"{name}: output_size is {tuple(output_size)}, expected sizes less than a stride from {usual}.")
    lead = tuple(input.shape[: input.ndim - count])
    rows = [x.reshape(*lead, math.prod(shape)) for x in (input, indices)]
    zeros = input.new_zeros((*lead, math.prod(size)))
    return zeros.scatter(-1, rows[1], rows[0]).reshape(*lead, *size)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Any = None, padding: Sizes = 0, output_size: Any = None
) -> Tensor:
    """What ``max_pool1d(..., return_indices=True)`` gave, put back where it was, among zeros.

    Args:
        input, indices: the results of the pool.
        kernel_size, stride, padding: as there.
        output_size: the size there was before, where it is not the least that gives such a result.

    Raises:
        ShapeError: indices of another shape. RangeError: a size that no such pool could have had. IndexError: an index beyond it.

    >>> import nbgrad
    >>> max_unpool1d(*nbgrad.max_pool1d(nbgrad.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True), 2)
    tensor([[0., 3., 2., 0.]])
    """
    return max_unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Any = None, padding: Sizes = 0, output_size: Any = None
) -> Tensor:
    """``max_unpool1d`` of windows of two dimensions.

    >>> import nbgrad
    >>> max_unpool2d(*nbgrad.max_pool2d(nbgrad.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2, return_indices=True), 2)
    tensor([[[0., 3.],
             [0., 0.]]])
    """
    return max_unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Any = None, padding: Sizes = 0, output_size: Any = None
) -> Tensor:
    """``max_unpool1d`` of windows of three dimensions.

    >>> import nbgrad
    >>> max_unpool3d(*nbgrad.max_pool3d(nbgrad.ones(1, 2, 2, 2), 2, return_indices=True), 2).sum()
    tensor(1.)
    """
    return max_unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)
