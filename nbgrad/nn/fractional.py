"""Pools whose windows lie at random distances, so that a size shrinks by any ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, ShapeError
from ..ops.convolution import one_by_one, sizes_of
from .module import Module

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d", "fractional_max_pool2d", "fractional_max_pool3d"]

Sizes = int | Sequence[int]
Ratios = float | Sequence[float]


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The greatest number of every window, of which there are as many as is asked for, at random distances.

    Args:
        input: ``(batch, channels, height, width)``, or without the batch.
        kernel_size: of the windows, an int or a pair.
        output_size: how many windows, an int or a pair; or
        output_ratio: how many as a part of the size, between 0 and 1.
        return_indices: return also where each number stands in its image.
        _random_samples: ``(batch, channels, 2)``, numbers from 0 to 1 that decide where windows lie; drawn by default.

    Returns:
        Tensor ``(batch, channels, *output_size)``, or a pair with the int64 indices.

    Raises:
        RangeError: neither or both of ``output_size`` and ``output_ratio``; a size or a ratio out of range, or not one for each
            dimension; windows that do not fit. ArgumentError: a size that is no whole number.
        ShapeError: the input, or the samples, have another shape.

    Source: Graham, "Fractional max-pooling", 2014.

    >>> import nbgrad
    >>> fractional_max_pool2d(nbgrad.arange(16.0).reshape(1, 4, 4), 2, output_size=3).shape
    nbgrad.Size([1, 3, 3])
    """
    return fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """``fractional_max_pool2d`` of three dimensions.

    Args:
        input: ``(batch, channels, depth, height, width)``, or without the batch.

    >>> import nbgrad
    >>> fractional_max_pool3d(nbgrad.zeros(1, 1, 4, 4, 4), 2, output_ratio=0.5).shape
    nbgrad.Size([1, 1, 2, 2, 2])
    """
    return fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional(
    name: str, count: int, x: Tensor, kernel: Any, size: Any, ratio: Any, return_indices: bool, samples: Tensor | None
) -> Any:
    """The pool of so many dimensions.

    Raises:
        ArgumentError, RangeError, ShapeError: arguments do not go together.
    """
    own = sizes_of(name, x, count)[-count:]
    images = x if x.ndim == count + 2 else x.unsqueeze(0)
    kernels = one_by_one(name, "kernel_size", kernel, count, 1)
    sizes = wanted_sizes(name, own, size, ratio)
    for axis, (available, window, wanted) in enumerate(zip(own, kernels, sizes)):
        if wanted < 1 or wanted + window - 1 > available:
            raise RangeError(
                f"{name}: {wanted} windows of {window} in the {available} elements of dimension {axis + 2}; expected some that fit."
            )
    shape = (*images.shape[:2], count)
    if samples is None:
        samples = nbgrad.rand(shape, dtype=x.dtype, device=x.device)
    elif tuple(samples.shape) != shape:
        raise ShapeError(f"{name}: _random_samples is {list(samples.shape)}, expected {list(shape)}.")
    values, places = greatest(images, windows(samples, own, kernels, sizes), kernels, sizes)
    if x.ndim == count + 1:
        values, places = values.squeeze(0), places.squeeze(0)
    return (values, places) if return_indices else values


def wanted_sizes(name: str, own: tuple[int, ...], size: Any, ratio: Any) -> tuple[int, ...]:
    """How many windows there are to be.

    Raises:
        ArgumentError: a size that is no whole number. RangeError: none or two ways to say that; not one for each dimension, or one
            out of range.
    """
    if (size is None) is (ratio is None):
        raise RangeError(f"{name}: output_size is {size}, output_ratio {ratio}; expected one of them.")
    if size is not None:
        return one_by_one(name, "output_size", size, len(own), 1)
    ratios = tuple(ratio) if isinstance(ratio, (tuple, list)) else (ratio,) * len(own)
    if len(ratios) != len(own) or not all(0 < each < 1 for each in ratios):
        raise RangeError(f"{name}: output_ratio is {ratio}, expected numbers between 0 and 1, one or {len(own)}.")
    return tuple(int(each * part) for each, part in zip(own, ratios))


def windows(samples: Tensor, own: tuple[int, ...], kernels: tuple, sizes: tuple[int, ...]) -> list[Tensor]:
    """Where the windows begin along each dimension: ``(batch, channels, size)``."""
    # torch's order of samples: of images the width comes first.
    order = (1, 0) if len(own) == 2 else range(len(own))
    starts = []
    for sample, available, window, wanted in zip(order, own, kernels, sizes):
        u = samples.detach()[..., sample : sample + 1]
        step = (available - window) / max(1, wanted - 1)
        numbers = nbgrad.arange(wanted, device=u.device)
        begin = ((numbers + u) * step).long() - (u * step).long()
        starts.append(nbgrad.where(numbers == wanted - 1, available - window, begin))
    return starts


def greatest(images: Tensor, starts: list[Tensor], kernels: tuple, sizes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The greatest number of every window and its place in the image."""
    own, count = images.shape[2:], images.ndim - 2
    taken, places = images, nbgrad.zeros((1,) * images.ndim, dtype=nbgrad.int64, device=images.device)
    for axis, (start, window) in enumerate(zip(starts, kernels)):
        along = (start.unsqueeze(-1) + nbgrad.arange(window, device=images.device)).flatten(2)
        shape = [*along.shape[:2], *[1] * count]
        shape[axis + 2] = along.shape[2]
        index = along.reshape(shape)
        wide = list(taken.shape)
        wide[axis + 2] = along.shape[2]
        taken = taken.gather(axis + 2, index.expand(wide))
        places = places * own[axis] + index
    split = [part for size, window in zip(sizes, kernels) for part in (size, window)]
    order = [0, 1, *range(2, 2 + 2 * count, 2), *range(3, 3 + 2 * count, 2)]

    def in_windows(x: Tensor) -> Tensor:
        return x.reshape((*x.shape[:2], *split)).permute(order).flatten(2 + count)

    values, chosen = in_windows(taken).max(-1)
    return values, in_windows(places.expand(taken.shape)).gather(-1, chosen.unsqueeze(-1)).squeeze(-1)


class _FractionalMaxPoolNd(Module):
    """The functions of the same names with their settings."""

    count = 0
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Ratios | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.return_indices = kernel_size, return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size, self.output_ratio = output_size, output_ratio
        wanted_sizes(type(self).__name__, (1,) * self.count, output_size, output_ratio)

    def forward(self, input: Tensor) -> Any:
        """The pool; with ``return_indices`` a pair."""
        name = f"fractional_max_pool{self.count}d"
        settings = self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        return fractional(name, self.count, input, *settings)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """``functional.fractional_max_pool2d`` as a module.

    >>> import nbgrad
    >>> FractionalMaxPool2d(2, output_ratio=0.7)(nbgrad.zeros(1, 1, 10, 10)).shape
    nbgrad.Size([1, 1, 7, 7])
    """

    count = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """``functional.fractional_max_pool3d`` as a module.

    >>> import nbgrad
    >>> FractionalMaxPool3d(2, output_size=(2, 3, 4))(nbgrad.zeros(1, 1, 5, 5, 5)).shape
    nbgrad.Size([1, 1, 2, 3, 4])
    """

    count = 3
