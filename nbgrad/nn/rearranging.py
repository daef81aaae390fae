"""Functions and modules that move elements between channels and places, and ``Unflatten``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Tensor
from ..base.errors import ArgumentError, RangeError, ShapeError
from .module import Module

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Unflatten", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """``(*, c r r, h, w)`` as ``(*, c, h r, w r)``: ``r * r`` neighbouring channels become a square of places.

    Raises:
        ShapeError: fewer than three dimensions, or channels that ``r * r`` does not divide. RangeError: r is not positive.

    Source: Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural
    Network", 2016.

    >>> import nbgrad
    >>> pixel_shuffle(nbgrad.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    r = factor("pixel_shuffle", input, upscale_factor)
    *batch, channels, height, width = input.shape
    if channels % (r * r):
        raise ShapeError(f"pixel_shuffle: input has {channels} channels, expected a multiple of {r * r}.")
    k = len(batch)
    parts = input.reshape((*batch, channels // (r * r), r, r, height, width))
    parts = parts.permute(*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return parts.reshape((*batch, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """``(*, c, h r, w r)`` as ``(*, c r r, h, w)``, the inverse of ``pixel_shuffle``.

    Raises:
        ShapeError: fewer than three dimensions, or sizes that ``r`` does not divide. RangeError: r is not positive.

    >>> import nbgrad
    >>> pixel_unshuffle(nbgrad.arange(4.0).reshape(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    r = factor("pixel_unshuffle", input, downscale_factor)
    *batch, channels, height, width = input.shape
    if height % r or width % r:
        raise ShapeError(f"pixel_unshuffle: input is {list(input.shape)}, expected a height and width that {r} divides.")
    k = len(batch)
    parts = input.reshape((*batch, channels, height // r, r, width // r, r))
    parts = parts.permute(*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return parts.reshape((*batch, channels * r * r, height // r, width // r))


def factor(name: str, input: Tensor, given: Any) -> int:
    """The factor, of an input that has places."""
    if input.ndim < 3:
        raise ShapeError(f"{name}: input is {list(input.shape)}, expected three dimensions or more.")
    if given <= 0:
        raise RangeError(f"{name}: the factor is {given}, expected a positive number.")
    return int(given)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of ``(n, c, *)``, so that neighbours come from different ones of ``groups`` groups of neighbours.

    Raises:
        ShapeError: fewer than three dimensions, or channels that ``groups`` does not divide. RangeError: groups is not positive.

    Source: Zhang et al., "ShuffleNet", 2017.

    >>> import nbgrad
    >>> channel_shuffle(nbgrad.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    groups = factor("channel_shuffle", input, groups)
    samples, channels, *places = input.shape
    if channels % groups:
        raise ShapeError(f"channel_shuffle: input has {channels} channels, expected a multiple of {groups}.")
    return input.reshape((samples, groups, channels // groups, *places)).transpose(1, 2).reshape(tuple(input.shape))


class PixelShuffle(Module):
    """``functional.pixel_shuffle``.

    >>> import nbgrad
    >>> PixelShuffle(2)(nbgrad.ones(1, 8, 3, 3)).shape
    nbgrad.Size([1, 2, 6, 6])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(*, channels, height, width)``."""
        return pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """``functional.pixel_unshuffle``.

    >>> import nbgrad
    >>> PixelUnshuffle(2)(nbgrad.ones(1, 2, 6, 6)).shape
    nbgrad.Size([1, 8, 3, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(*, channels, height, width)``."""
        return pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """``functional.channel_shuffle``.

    >>> import nbgrad
    >>> ChannelShuffle(2)(nbgrad.ones(1, 4, 3, 3)).shape
    nbgrad.Size([1, 4, 3, 3])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(batch, channels, *)``."""
        return channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The number of groups."""
        return f"groups={self.groups}"


class Unflatten(Module):
    """One dimension split into several.

    Args:
        dim: which.
        unflattened_size: their sizes, of which one may be -1.

    Raises:
        ArgumentError: ``unflattened_size`` is no tuple or list of ints.

    >>> import nbgrad
    >>> Unflatten(1, (2, 3))(nbgrad.ones(5, 6)).shape
    nbgrad.Size([5, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, tuple | list) or not all(isinstance(size, int) for size in unflattened_size):
            raise ArgumentError(f"Unflatten: unflattened_size is {unflattened_size!r}, expected a tuple of ints.")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """``input`` in its new shape; a view."""
        return input.unflatten(self.dim, tuple(self.unflattened_size))

    def extra_repr(self) -> str:
        """The dimension and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
