"""Convolutions whose ``in_channels`` is that of the first input."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from ..base.errors import RangeError
from .convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Sizes
from .lazy import LazyModuleMixin

__all__ = ["LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]


class _Lazy(LazyModuleMixin):
    """What both directions share: the channels are those of the input, one sample or a batch."""

    def _wait_for_channels(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.out_channels = out_channels
        self._wait("weight", *(["bias"] if bias else []), device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have shapes."""
        module: Any = self
        if not self.has_uninitialized_params() and module.in_channels:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *rest: Any, **named: Any) -> None:
        """By the channels of the input."""
        module: Any = self
        channels = input.shape[0 if input.ndim == module.count + 1 else 1]
        if channels % module.groups or module.out_channels % module.groups:
            raise RangeError(
                f"{type(self).__name__}: groups is {module.groups}, expected a divisor of in_channels {channels} "
                f"and out_channels {module.out_channels}."
            )
        first, second = (channels, module.out_channels) if module.transposed else (module.out_channels, channels)
        module.in_channels = channels
        self._know(weight=(first, second // module.groups, *module.kernel_size), bias=(module.out_channels,))


class _LazyConv(_Lazy):
    """A convolution."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings: Any = (kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        super().__init__(0, 0, *settings)  # type: ignore[call-arg]
        self._wait_for_channels(out_channels, bias, device, dtype)


class _LazyConvTranspose(_Lazy):
    """A transposed convolution."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings: Any = (kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        super().__init__(0, 0, *settings)  # type: ignore[call-arg]
        self._wait_for_channels(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """``Conv1d`` whose ``in_channels`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyConv1d(4, 3)(nbgrad.ones(1, 2, 8)).shape
    nbgrad.Size([1, 4, 6])
    """

    cls_to_become = Conv1d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """``ConvTranspose1d`` whose ``in_channels`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyConvTranspose1d(4, 3)(nbgrad.ones(1, 2, 8)).shape
    nbgrad.Size([1, 4, 10])
    """

    cls_to_become = ConvTranspose1d


class LazyConv2d(_LazyConv, Conv2d):
    """``Conv2d`` whose ``in_channels`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyConv2d(4, 3)(nbgrad.ones(1, 2, 8, 8)).shape
    nbgrad.Size([1, 4, 6, 6])
    """

    cls_to_become = Conv2d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """``ConvTranspose2d`` whose ``in_channels`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyConvTranspose2d(4, 3)(nbgrad.ones(1, 2, 8, 8)).shape
    nbgrad.Size([1, 4, 10, 10])
    """

    cls_to_become = ConvTranspose2d


class LazyConv3d(_LazyConv, Conv3d):
    """``Conv3d`` whose ``in_channels`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyConv3d(4, 3)(nbgrad.ones(1, 2, 8, 8, 8)).shape
    nbgrad.Size([1, 4, 6, 6, 6])
    """

    cls_to_become = Conv3d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """``ConvTranspose3d`` whose ``in_channels`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyConvTranspose3d(4, 3)(nbgrad.ones(1, 2, 8, 8, 8)).shape
    nbgrad.Size([1, 4, 10, 10, 10])
    """

    cls_to_become = ConvTranspose3d
