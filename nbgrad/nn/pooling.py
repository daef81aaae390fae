"""Modules that pool: the functions of the same names with their settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Tensor
from ..ops.convolution import one_by_one
from . import functional as F
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "Fold",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Unfold",
]

Sizes = int | Sequence[int]
Adapted = int | None | Sequence[int | None]


class _MaxPoolNd(Module):
    """The greatest number of every window."""

    count = 0

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        """``(batch, channels, *)``; with ``return_indices`` a pair."""
        pool = getattr(F, f"max_pool{self.count}d")
        return pool(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class _AvgPoolNd(Module):
    """The mean of every window."""

    kernel_size: Sizes
    stride: Sizes
    padding: Sizes

    def extra_repr(self) -> str:
        """The settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(_AvgPoolNd):
    """The mean of every window of several dimensions."""

    count = 0

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """``(batch, channels, *)``."""
        pool = getattr(F, f"avg_pool{self.count}d")
        counted = self.ceil_mode, self.count_include_pad, self.divisor_override
        return pool(input, self.kernel_size, self.stride, self.padding, *counted)


class AvgPool1d(_AvgPoolNd):
    """The mean of every window of one dimension: see ``functional.avg_pool1d``.

    >>> import nbgrad
    >>> nbgrad.nn.AvgPool1d(2)(nbgrad.tensor([[1.0, 3.0, 5.0, 9.0]]))
    tensor([[2., 7.]])
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = one_by_one("AvgPool1d", "kernel_size", kernel_size, 1, 1)
        self.stride = self.kernel_size if stride is None else one_by_one("AvgPool1d", "stride", stride, 1, 1)
        self.padding = one_by_one("AvgPool1d", "padding", padding, 1, 0)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """``(batch, channels, L)``."""
        pool: Any = F.avg_pool1d
        return pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AdaptivePoolNd(Module):
    """So many windows."""

    output_size: Any

    def extra_repr(self) -> str:
        """How many."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    """The means of so many windows."""

    count = 0

    def __init__(self, output_size: Adapted) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """``(batch, channels, *)`` to ``(batch, channels, *output_size)``."""
        pool = getattr(F, f"adaptive_avg_pool{self.count}d")
        return pool(input, self.output_size)


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    """The greatest numbers of so many windows."""

    count = 0

    def __init__(self, output_size: Adapted, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        """``(batch, channels, *)`` to ``(batch, channels, *output_size)``; with ``return_indices`` a pair."""
        pool = getattr(F, f"adaptive_max_pool{self.count}d")
        return pool(input, self.output_size, self.return_indices)


class _LPPoolNd(Module):
    """The norm of every window."""

    count = 0

    def __init__(self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """``(batch, channels, *)``."""
        pool = getattr(F, f"lp_pool{self.count}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """The settings."""
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class _MaxUnpoolNd(Module):
    """Maxima put back where they were."""

    count = 0

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = one_by_one(name, "kernel_size", kernel_size, self.count, 1)
        self.stride = self.kernel_size if stride is None else one_by_one(name, "stride", stride, self.count, 1)
        self.padding = one_by_one(name, "padding", padding, self.count, 0)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The results of a pool to what it had, among zeros."""
        unpool = getattr(F, f"max_unpool{self.count}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """The settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class Unfold(Module):
    """What a kernel meets at every place, as columns: see ``functional.unfold``.

    >>> import nbgrad
    >>> nbgrad.nn.Unfold(2)(nbgrad.ones(1, 3, 4, 5)).shape
    nbgrad.Size([1, 12, 12])
    """

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """``(batch, channels, H, W)`` to ``(batch, channels * kernel elements, places)``."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The settings."""
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Columns added up where a kernel met them: see ``functional.fold``.

    >>> import nbgrad
    >>> nbgrad.nn.Fold((4, 5), 2)(nbgrad.ones(1, 12, 12)).shape
    nbgrad.Size([1, 3, 4, 5])
    """

    def __init__(self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """``(batch, channels * kernel elements, places)`` to ``(batch, channels, *output_size)``."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class MaxPool1d(_MaxPoolNd):
    """The greatest number of every window of one dimension: see ``functional.max_pool1d``.

    >>> import nbgrad
    >>> nbgrad.nn.MaxPool1d(2)(nbgrad.ones(1, 4)).shape
    nbgrad.Size([1, 2])
    """

    count = 1


class MaxPool2d(_MaxPoolNd):
    """The greatest number of every window of two dimensions: see ``functional.max_pool2d``.

    >>> import nbgrad
    >>> nbgrad.nn.MaxPool2d(2)(nbgrad.ones(1, 4, 4)).shape
    nbgrad.Size([1, 2, 2])
    """

    count = 2


class MaxPool3d(_MaxPoolNd):
    """The greatest number of every window of three dimensions: see ``functional.max_pool3d``.

    >>> import nbgrad
    >>> nbgrad.nn.MaxPool3d(2)(nbgrad.ones(1, 4, 4, 4)).shape
    nbgrad.Size([1, 2, 2, 2])
    """

    count = 3


class AvgPool2d(_AvgPool):
    """The mean of every window of two dimensions: see ``functional.avg_pool2d``.

    >>> import nbgrad
    >>> nbgrad.nn.AvgPool2d(2)(nbgrad.ones(1, 4, 4)).shape
    nbgrad.Size([1, 2, 2])
    """

    count = 2


class AvgPool3d(_AvgPool):
    """The mean of every window of three dimensions: see ``functional.avg_pool3d``.

    >>> import nbgrad
    >>> nbgrad.nn.AvgPool3d(2)(nbgrad.ones(1, 4, 4, 4)).shape
    nbgrad.Size([1, 2, 2, 2])
    """

    count = 3


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of so many windows of one dimension: see ``functional.adaptive_avg_pool1d``.

    >>> import nbgrad
    >>> nbgrad.nn.AdaptiveAvgPool1d(1)(nbgrad.ones(3, 4)).shape
    nbgrad.Size([3, 1])
    """

    count = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of so many windows of two dimensions: see ``functional.adaptive_avg_pool2d``.

    >>> import nbgrad
    >>> nbgrad.nn.AdaptiveAvgPool2d(1)(nbgrad.ones(3, 4, 4)).shape
    nbgrad.Size([3, 1, 1])
    """

    count = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of so many windows of three dimensions: see ``functional.adaptive_avg_pool3d``.

    >>> import nbgrad
    >>> nbgrad.nn.AdaptiveAvgPool3d(1)(nbgrad.ones(3, 4, 4, 4)).shape
    nbgrad.Size([3, 1, 1, 1])
    """

    count = 3


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The greatest numbers of so many windows of one dimension: see ``functional.adaptive_max_pool1d``.

    >>> import nbgrad
    >>> nbgrad.nn.AdaptiveMaxPool1d(2)(nbgrad.ones(1, 5)).shape
    nbgrad.Size([1, 2])
    """

    count = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The greatest numbers of so many windows of two dimensions: see ``functional.adaptive_max_pool2d``.

    >>> import nbgrad
    >>> nbgrad.nn.AdaptiveMaxPool2d(2)(nbgrad.ones(1, 5, 5)).shape
    nbgrad.Size([1, 2, 2])
    """

    count = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The greatest numbers of so many windows of three dimensions: see ``functional.adaptive_max_pool3d``.

    >>> import nbgrad
    >>> nbgrad.nn.AdaptiveMaxPool3d(2)(nbgrad.ones(1, 5, 5, 5)).shape
    nbgrad.Size([1, 2, 2, 2])
    """

    count = 3


class LPPool1d(_LPPoolNd):
    """The norm of every window of one dimension: see ``functional.lp_pool1d``.

    >>> import nbgrad
    >>> nbgrad.nn.LPPool1d(2, 2)(nbgrad.ones(1, 4)).shape
    nbgrad.Size([1, 2])
    """

    count = 1


class LPPool2d(_LPPoolNd):
    """The norm of every window of two dimensions: see ``functional.lp_pool2d``.

    >>> import nbgrad
    >>> nbgrad.nn.LPPool2d(2, 2)(nbgrad.ones(1, 4, 4)).shape
    nbgrad.Size([1, 2, 2])
    """

    count = 2


class LPPool3d(_LPPoolNd):
    """The norm of every window of three dimensions: see ``functional.lp_pool3d``.

    >>> import nbgrad
    >>> nbgrad.nn.LPPool3d(2, 2)(nbgrad.ones(1, 4, 4, 4)).shape
    nbgrad.Size([1, 2, 2, 2])
    """

    count = 3


class MaxUnpool1d(_MaxUnpoolNd):
    """The maxima of windows of one dimension, put back where they were: see ``functional.max_unpool1d``.

    >>> import nbgrad
    >>> nbgrad.nn.MaxUnpool1d(2)(*nbgrad.nn.MaxPool1d(2, return_indices=True)(nbgrad.ones(1, 4))).shape
    nbgrad.Size([1, 4])
    """

    count = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The maxima of windows of two dimensions, put back where they were: see ``functional.max_unpool2d``.

    >>> import nbgrad
    >>> nbgrad.nn.MaxUnpool2d(2)(*nbgrad.nn.MaxPool2d(2, return_indices=True)(nbgrad.ones(1, 4, 4))).shape
    nbgrad.Size([1, 4, 4])
    """

    count = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The maxima of windows of three dimensions, put back where they were: see ``functional.max_unpool3d``.

    >>> import nbgrad
    >>> nbgrad.nn.MaxUnpool3d(2)(*nbgrad.nn.MaxPool3d(2, return_indices=True)(nbgrad.ones(1, 4, 4, 4))).shape
    nbgrad.Size([1, 4, 4, 4])
    """

    count = 3
