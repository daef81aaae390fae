"""Modules that convolve: the functions ``conv1d`` to ``conv_transpose3d`` with learnt weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, RangeError, ShapeError
from ..ops.convolution import check_word, in_pairs, one_by_one, reached
from . import functional as F, init
from .module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

Sizes = int | Sequence[int]
MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What convolutions have in common.

    Attributes:
        weight: ``(out_channels, in_channels / groups, *kernel_size)``, of a transposed one
            ``(in_channels, out_channels / groups, *kernel_size)``; at first uniform within ``±1 / sqrt(fan_in)``.
        bias: ``(out_channels,)``, at first drawn likewise; or None.
    """

    count = 0
    transposed = False
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        dilation: Sizes,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        name, count = type(self).__name__, self.count
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise RangeError(
                f"{name}: groups is {groups}, expected a divisor of in_channels {in_channels} and out_channels {out_channels}."
            )
        modes = MODES[:1] if self.transposed else MODES
        if padding_mode not in modes:
            raise RangeError(f"{name}: padding_mode is {padding_mode!r}, expected one of {', '.join(map(repr, modes))}.")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size = one_by_one(name, "kernel_size", kernel_size, count, 1)
        self.stride = one_by_one(name, "stride", stride, count, 1)
        self.dilation = one_by_one(name, "dilation", dilation, count, 1)
        self.output_padding = one_by_one(name, "output_padding", output_padding, count, 0)
        if isinstance(padding, str):
            if self.transposed:
                raise ArgumentError(f"{name}: padding is {padding!r}, expected numbers: words are for convolutions the other way.")
            check_word(name, padding, self.stride)
        self.padding = padding if isinstance(padding, str) else one_by_one(name, "padding", padding, count, 0)
        channels = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(nbgrad.empty(*channels, *self.kernel_size, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(nbgrad.empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.by_fan_in(self.weight.shape[1] * math.prod(self.kernel_size), self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """``(batch, in_channels, *)`` to ``(batch, out_channels, *)``; the batch may be left out."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """``forward`` by any weight and bias: torch's name, which subclasses call with weights that they compute."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), 0
        convolve = getattr(F, f"conv{len(self.kernel_size)}d")
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    @property
    def _reversed_padding_repeated_twice(self) -> tuple[int, ...]:
        """The padding of both sides of every dimension, from the last on, by torch's name."""
        if isinstance(self.padding, str):
            total = [d * (k - 1) if self.padding == "same" else 0 for k, d in zip(self.kernel_size, self.dilation)]
            return tuple([side for each in reversed(total) for side in (each // 2, each - each // 2)])
        return in_pairs(self.padding)

    def extra_repr(self) -> str:
        """The settings that are not the usual ones."""
        none = (0,) * self.count
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        parts += [f"padding={self.padding}"] * (self.padding != none)
        parts += [f"dilation={self.dilation}"] * (max(self.dilation) > 1)
        parts += [f"output_padding={self.output_padding}"] * (self.output_padding != none)
        parts += [f"groups={self.groups}"] * (self.groups != 1)
        parts += ["bias=False"] * (self.bias is None)
        parts += [f"padding_mode={self.padding_mode}"] * (self.padding_mode != "zeros")
        return ", ".join(parts)


class _Conv(_ConvNd):
    """A convolution.

    Args:
        in_channels, out_channels: of input and result.
        kernel_size, stride, dilation: an int, or one for each dimension.
        padding: likewise, on both sides; or "valid" (none), or "same" (a stride of 1 keeps the sizes).
        groups: a divisor of both numbers of channels, which see one another only within a group.
        bias: whether to add one.
        padding_mode: what is padded: "zeros", "reflect", "replicate" or "circular", as in ``pad``.
        dtype: of weight and bias; the default dtype unless given.

    Raises:
        RangeError: numbers that do not go together, or another word.
    """

    def __init__(
        self,
        in_channels: int,
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
        settings = (stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel_size, *settings)


class Conv1d(_Conv):
    """A convolution along one dimension: see ``functional.conv1d``, and ``Conv2d``.

    >>> import nbgrad
    >>> nbgrad.nn.Conv1d(2, 4, 3, padding=1)(nbgrad.ones(1, 2, 8)).shape
    nbgrad.Size([1, 4, 8])
    """

    count = 1


class Conv2d(_Conv):
    """A convolution over two dimensions: see ``functional.conv2d``.

    Args:
        in_channels, out_channels: of input and result.
        kernel_size, stride, dilation: an int, or one for each dimension.
        padding: likewise, on both sides; or "valid" (none), or "same" (a stride of 1 keeps the sizes).
        groups: a divisor of both numbers of channels, which see one another only within a group.
        bias: whether to add one.
        padding_mode: what is padded: "zeros", "reflect", "replicate" or "circular", as in ``pad``.
        dtype: of weight and bias; the default dtype unless given.

    >>> import nbgrad
    >>> nbgrad.nn.Conv2d(3, 16, 3, stride=2)(nbgrad.ones(1, 3, 9, 9)).shape
    nbgrad.Size([1, 16, 4, 4])
    >>> nbgrad.nn.Conv2d(3, 16, 3, padding="same")
    Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1), padding=same)
    """

    count = 2


class Conv3d(_Conv):
    """A convolution over three dimensions: see ``functional.conv3d``, and ``Conv2d``.

    >>> import nbgrad
    >>> nbgrad.nn.Conv3d(1, 2, 3)(nbgrad.ones(1, 1, 4, 4, 4)).shape
    nbgrad.Size([1, 2, 2, 2, 2])
    """

    count = 3


class _ConvTranspose(_ConvNd):
    """The transpose of a convolution.

    Args:
        in_channels, out_channels: of input and result.
        kernel_size, stride, padding, dilation: of the convolution that it is the transpose of.
        output_padding: how much longer the result is on one side.
        groups, bias, dtype: as in ``Conv2d``.
        padding_mode: "zeros".

    Raises:
        RangeError: numbers that do not go together.
    """

    transposed = True

    def __init__(
        self,
        in_channels: int,
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
        settings = (stride, padding, dilation, output_padding, groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel_size, *settings)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """``(batch, in_channels, *)`` to ``(batch, out_channels, *)``; ``output_size`` says what ``output_padding`` is to give."""
        more = self.output_padding if output_size is None else self.left_over(input, output_size)
        convolve = getattr(F, f"conv_transpose{self.count}d")
        return convolve(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def left_over(self, input: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """The ``output_padding`` that gives a size.

        Raises:
            ShapeError: none does.
        """
        size, padding = tuple(output_size)[-self.count :], cast("tuple[int, ...]", self.padding)
        least = tuple(map(reached, input.shape[-self.count :], self.kernel_size, self.stride, padding, self.dilation))
        more = tuple([each - low for each, low in zip(size, least)])
        if len(size) != self.count or any(not 0 <= each < s for each, s in zip(more, self.stride)):
            most = tuple([low + s - 1 for low, s in zip(least, self.stride)])
            raise ShapeError(f"{type(self).__name__}: output_size is {tuple(output_size)}, expected {least} to {most}.")
        return more


_ConvTransposeNd = _ConvTranspose  # torch's name


class ConvTranspose1d(_ConvTranspose):
    """The transpose of ``Conv1d``: see ``functional.conv_transpose1d``, and ``ConvTranspose2d``.

    >>> import nbgrad
    >>> nbgrad.nn.ConvTranspose1d(2, 1, 4, stride=2)(nbgrad.ones(1, 2, 3)).shape
    nbgrad.Size([1, 1, 8])
    """

    count = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of ``Conv2d``: see ``functional.conv_transpose2d``.

    Args:
        in_channels, out_channels: of input and result.
        kernel_size, stride, padding, dilation: of the convolution that it is the transpose of.
        output_padding: how much longer the result is on one side.
        groups, bias, dtype: as in ``Conv2d``.
        padding_mode: "zeros".

    >>> import nbgrad
    >>> nbgrad.nn.ConvTranspose2d(2, 1, 2, stride=2)(nbgrad.ones(1, 2, 3, 3)).shape
    nbgrad.Size([1, 1, 6, 6])
    """

    count = 2


class ConvTranspose3d(_ConvTranspose):
    """The transpose of ``Conv3d``: see ``functional.conv_transpose3d``, and ``ConvTranspose2d``.

    >>> import nbgrad
    >>> nbgrad.nn.ConvTranspose3d(1, 1, 2, stride=2)(nbgrad.ones(1, 1, 2, 2, 2)).shape
    nbgrad.Size([1, 1, 4, 4, 4])
    """

    count = 3
