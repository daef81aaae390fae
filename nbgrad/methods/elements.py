"""Methods that apply Python functions to elements, and ``fill_diagonal_``."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ..base.errors import ArgumentError, GradError, ShapeError
from ..creation.from_data import tensor
from ..graph.edges import requires_grad
from ..tensors.arrays import values_of
from ..tensors.tensor import Tensor

__all__ = ["apply_", "fill_diagonal_", "map2_", "map_"]


def require_plain(op: str, *tensors: Tensor) -> None:
    """Refuse tensors that require grad: a Python function has no derivative.

    Raises:
        GradError: one does. ArgumentError: one is none.
    """
    for x in tensors:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{op}: expected a Tensor, got {type(x).__name__}.")
        if requires_grad(x):
            raise GradError(f"{op}: a Python function has no derivative, and a tensor requires grad. Hint: x.detach().{op}(...).")


def mapped(op: str, x: Tensor, others: tuple[Tensor, ...], function: Callable) -> Tensor:
    """Write ``function`` of the elements of ``x`` and of others over ``x``."""
    require_plain(op, x, *others)
    arrays = np.broadcast_arrays(values_of(x), *(values_of(other) for other in others))
    if arrays[0].shape != x.layout.shape:
        raise ShapeError(f"{op}: the other tensors broadcast to {list(arrays[0].shape)}, expected {list(x.layout.shape)}.")
    values = [function(*elements) for elements in zip(*(array.ravel().tolist() for array in arrays))]
    return x.copy_(tensor(values, dtype=x.layout.dtype, device=x.layout.device).reshape(x.layout.shape))


def apply_(x: Tensor, callable: Callable) -> Tensor:
    """Replace every element by ``callable(element)``, a Python function of Python numbers: slow.

    Raises:
        GradError: ``x`` requires grad.

    >>> import nbgrad
    >>> nbgrad.tensor([1.0, 4.0]).apply_(lambda element: element ** 0.5)
    tensor([1., 2.])
    """
    return mapped("apply_", x, (), callable)


def map_(x: Tensor, tensor: Tensor, callable: Callable) -> Tensor:
    """Replace every element by ``callable(element, element of tensor)``.

    Raises:
        GradError: a tensor requires grad. ShapeError: ``tensor`` does not broadcast to the shape of ``x``.
    """
    return mapped("map_", x, (tensor,), callable)


def map2_(x: Tensor, x2: Tensor, x3: Tensor, callable: Callable) -> Tensor:
    """Replace every element by ``callable(element, element of x2, element of x3)``; errors as of ``map_``."""
    return mapped("map2_", x, (x2, x3), callable)


def fill_diagonal_(x: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number to the elements with equal indices.

    Args:
        fill_value: the number.
        wrap: in a tall matrix, begin again below the square, after a row that is left out.

    Raises:
        ShapeError: fewer than two dimensions, or more of different sizes.

    >>> import nbgrad
    >>> nbgrad.zeros(2, 3).fill_diagonal_(1)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    shape = x.layout.shape
    if len(shape) < 2 or len(shape) > 2 and len(set(shape)) > 1:
        raise ShapeError(f"fill_diagonal_: expected a matrix, or more dimensions of one size, got {list(shape)}.")
    step, rows = sum(x.layout.strides), min(shape)
    x.as_strided((rows,), (step,)).fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        fill_diagonal_(x.narrow(0, shape[1] + 1, shape[0] - shape[1] - 1), fill_value, wrap)
    return x
