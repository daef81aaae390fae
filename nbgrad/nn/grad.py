"""``torch.nn.grad``: the gradients of a convolution as functions, for those who write a backward pass by hand.

Each is the cotangent that the convolution itself is declared with, so it may be differentiated in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import Tensor
from ..base.errors import ShapeError
from ..ops.convolution import check_weight, extent, of_input, of_weight, one_by_one

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Sizes = int | Sequence[int]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` by its input.

    Args:
        input_size: the input's shape, ``(batch, in_channels, length)``.
        weight: ``(out_channels, in_channels / groups, kernel)``.
        grad_output: the gradient of the result, of its shape and of the weight's dtype.
        stride, padding, dilation, groups: those of the convolution; words for padding are not taken.

    Returns:
        Tensor of shape ``input_size``.

    Raises:
        ShapeError: shapes that do not belong to one convolution. RangeError, DTypeError: as of ``conv1d``.

    >>> import nbgrad
    >>> nbgrad.nn.grad.conv1d_input((1, 1, 4), nbgrad.tensor([[[2.0, 3.0]]]), nbgrad.ones(1, 1, 3))
    tensor([[[2., 5., 5., 3.]]])
    """
    return by_input("conv1d_input", 1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` by its weight.

    Args:
        input: ``(batch, in_channels, length)``.
        weight_size: the weight's shape, ``(out_channels, in_channels / groups, kernel)``.
        grad_output: the gradient of the result, of its shape and of the input's dtype.
        stride, padding, dilation, groups: those of the convolution; words for padding are not taken.

    Returns:
        Tensor of shape ``weight_size``.

    Raises:
        ShapeError: shapes that do not belong to one convolution. RangeError, DTypeError: as of ``conv1d``.

    >>> import nbgrad
    >>> nbgrad.nn.grad.conv1d_weight(nbgrad.tensor([[[1.0, 2.0, 4.0]]]), (1, 1, 2), nbgrad.ones(1, 1, 2))
    tensor([[[3., 6.]]])
    """
    return by_weight("conv1d_weight", 1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` by its input: ``conv1d_input`` with two dimensions behind the channels.

    >>> import nbgrad
    >>> nbgrad.nn.grad.conv2d_input((1, 1, 2, 2), nbgrad.ones(1, 1, 1, 2), nbgrad.ones(1, 1, 2, 1))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    return by_input("conv2d_input", 2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` by its weight: ``conv1d_weight`` with two dimensions behind the channels.

    >>> import nbgrad
    >>> nbgrad.nn.grad.conv2d_weight(nbgrad.ones(1, 1, 3, 3), (1, 1, 2, 1), nbgrad.ones(1, 1, 2, 3))
    tensor([[[[6.],
              [6.]]]])
    """
    return by_weight("conv2d_weight", 2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` by its input: ``conv1d_input`` with three dimensions behind the channels.

    >>> import nbgrad
    >>> nbgrad.nn.grad.conv3d_input((1, 1, 2, 1, 1), nbgrad.ones(1, 1, 1, 1, 1), nbgrad.ones(1, 1, 2, 1, 1)).sum()
    tensor(2.)
    """
    return by_input("conv3d_input", 3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` by its weight: ``conv1d_weight`` with three dimensions behind the channels.

    >>> import nbgrad
    >>> nbgrad.nn.grad.conv3d_weight(nbgrad.ones(1, 1, 2, 2, 2), (1, 1, 1, 1, 1), nbgrad.ones(1, 1, 2, 2, 2)).sum()
    tensor(8.)
    """
    return by_weight("conv3d_weight", 3, input, weight_size, grad_output, stride, padding, dilation, groups)


def by_input(
    name: str,
    count: int,
    input_size: Sequence[int],
    weight: Tensor,
    g: Tensor,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    """The gradient by the input of a convolution over ``count`` dimensions."""
    numbers = numbers_of(name, count, stride, padding, dilation)
    x_shape = tuple(input_size)
    check_shapes(name, count, x_shape, tuple(weight.shape), g, numbers, groups)
    check_weight(name, g, weight, None, count, groups, True)
    stride, padding, dilation = numbers
    return of_input(g, weight, x_shape, tuple(weight.shape), stride, padding, dilation, False, groups)


def by_weight(
    name: str,
    count: int,
    x: Tensor,
    weight_size: Sequence[int],
    g: Tensor,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    """The gradient by the weight of a convolution over ``count`` dimensions."""
    numbers = numbers_of(name, count, stride, padding, dilation)
    weight_shape = tuple(weight_size)
    check_shapes(name, count, tuple(x.shape), weight_shape, g, numbers, groups)
    stride, padding, dilation = numbers
    return of_weight(g, x, weight_shape, stride, padding, dilation, False, groups)


def numbers_of(name: str, count: int, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[tuple[int, ...], ...]:
    """Stride, padding and dilation, each as one number for each dimension."""
    return (
        one_by_one(name, "stride", stride, count, 1),
        one_by_one(name, "padding", padding, count, 0),
        one_by_one(name, "dilation", dilation, count, 1),
    )


def check_shapes(
    name: str,
    count: int,
    x_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    g: Tensor,
    numbers: tuple[tuple[int, ...], ...],
    groups: int,
) -> None:
    """Input, weight and the gradient of the result are of one convolution.

    Raises:
        ShapeError: they are not.
    """
    if len(x_shape) != count + 2 or len(weight_shape) != count + 2:
        raise ShapeError(f"{name}: input is {list(x_shape)}, weight {list(weight_shape)}; expected {count + 2} dimensions of each.")
    places = map(extent, x_shape[2:], weight_shape[2:], *numbers)
    expected = (x_shape[0], weight_shape[0], *places)
    if tuple(g.shape) != expected or x_shape[1] != weight_shape[1] * groups:
        raise ShapeError(
            f"{name}: input is {list(x_shape)}, weight {list(weight_shape)}, groups {groups}, grad_output {list(g.shape)}; "
            f"expected a grad_output of {list(expected)} and {weight_shape[1] * groups} channels of the input."
        )
