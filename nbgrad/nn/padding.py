"""Modules that pad the last one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Tensor, pad
from ..base.errors import RangeError, ShapeError
from .module import Module
from .tuples import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Elements before and after along the last dimensions.

    Args:
        padding: one number for all sides, or ``(before last, after last, before the one before, ...)``; negative ones cut away.

    Raises:
        RangeError: not as many numbers as sides.
    """

    spatial, mode, optional = 1, "constant", True
    value: Any = 0.0

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self.spatial)(padding)
        if len(self.padding) != 2 * self.spatial:
            raise RangeError(f"{type(self).__name__}: padding is {padding}, expected a number or {2 * self.spatial} of them.")

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(batch, channels, *)`` or ``(channels, *)``; constants pad any."""
        if self.mode != "constant" and input.ndim not in (self.spatial + 1, self.spatial + 2):
            expected = f"{self.spatial + 1} or {self.spatial + 2}"
            raise ShapeError(f"{type(self).__name__}: input is {list(input.shape)}, expected {expected} dimensions.")
        return pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        """The numbers."""
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """``value`` on all sides."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The numbers."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """``value`` before and after the last dimension.

    >>> import nbgrad
    >>> ConstantPad1d((1, 2), 7.0)(nbgrad.ones(1, 2))
    tensor([[7., 1., 1., 7., 7.]])
    """


class ConstantPad2d(_ConstantPadNd):
    """``value`` around the last two dimensions.

    >>> import nbgrad
    >>> ConstantPad2d(1, 7.0)(nbgrad.ones(1, 1)).tolist()
    [[7.0, 7.0, 7.0], [7.0, 1.0, 7.0], [7.0, 7.0, 7.0]]
    """

    spatial = 2


class ConstantPad3d(_ConstantPadNd):
    """``value`` around the last three dimensions.

    >>> import nbgrad
    >>> ConstantPad3d(1, 7.0)(nbgrad.ones(1, 1, 1, 1)).shape
    nbgrad.Size([1, 3, 3, 3])
    """

    spatial = 3


class _ZeroPad(_ConstantPadNd):
    """Zeros on all sides."""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The numbers."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros before and after the last dimension.

    >>> import nbgrad
    >>> ZeroPad1d((1, 2))(nbgrad.ones(1, 2))
    tensor([[0., 1., 1., 0., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around the last two dimensions.

    >>> import nbgrad
    >>> ZeroPad2d((1, 0, 0, 1))(nbgrad.ones(1, 1))
    tensor([[0., 1.],
            [0., 0.]])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around the last three dimensions.

    >>> import nbgrad
    >>> ZeroPad3d(1)(nbgrad.ones(1, 1, 1, 1)).sum()
    tensor(1.)
    """


class _ReflectionPadNd(_Pad):
    """The elements inside of the ends, mirrored."""

    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """The elements inside of the ends, mirrored.

    >>> import nbgrad
    >>> ReflectionPad1d(2)(nbgrad.arange(3.0).reshape(1, 3))
    tensor([[2., 1., 0., 1., 2., 1., 0.]])
    """


class ReflectionPad2d(_ReflectionPadNd):
    """The elements inside of the edges of the last two dimensions, mirrored.

    >>> import nbgrad
    >>> ReflectionPad2d(1)(nbgrad.ones(1, 2, 2)).shape
    nbgrad.Size([1, 4, 4])
    """

    spatial = 2


class ReflectionPad3d(_ReflectionPadNd):
    """The elements inside of the faces of the last three dimensions, mirrored.

    >>> import nbgrad
    >>> ReflectionPad3d(1)(nbgrad.ones(1, 2, 2, 2)).shape
    nbgrad.Size([1, 4, 4, 4])
    """

    spatial = 3


class _ReplicationPadNd(_Pad):
    """The ends, repeated."""

    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """The first and the last element, repeated.

    >>> import nbgrad
    >>> ReplicationPad1d(2)(nbgrad.arange(3.0).reshape(1, 3))
    tensor([[0., 0., 0., 1., 2., 2., 2.]])
    """


class ReplicationPad2d(_ReplicationPadNd):
    """The edges of the last two dimensions, repeated.

    >>> import nbgrad
    >>> ReplicationPad2d(1)(nbgrad.ones(1, 1, 1)).shape
    nbgrad.Size([1, 3, 3])
    """

    spatial = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The faces of the last three dimensions, repeated.

    >>> import nbgrad
    >>> ReplicationPad3d(1)(nbgrad.ones(1, 1, 1, 1)).shape
    nbgrad.Size([1, 3, 3, 3])
    """

    spatial = 3


class _CircularPadNd(_Pad):
    """The elements of the other end."""

    mode = "circular"


class CircularPad1d(_CircularPadNd):
    """The elements of the other end.

    >>> import nbgrad
    >>> CircularPad1d(1)(nbgrad.arange(3.0).reshape(1, 3))
    tensor([[2., 0., 1., 2., 0.]])
    """


class CircularPad2d(_CircularPadNd):
    """The elements of the other edge, along the last two dimensions.

    >>> import nbgrad
    >>> CircularPad2d(1)(nbgrad.ones(1, 2, 2)).shape
    nbgrad.Size([1, 4, 4])
    """

    spatial = 2


class CircularPad3d(_CircularPadNd):
    """The elements of the other face, along the last three dimensions.

    >>> import nbgrad
    >>> CircularPad3d(1)(nbgrad.ones(1, 2, 2, 2)).shape
    nbgrad.Size([1, 4, 4, 4])
    """

    spatial = 3
