"""``interpolate`` and its relatives: grids of numbers with other sizes.

NOTE [Taps]: along one dimension each element of the result is a sum of a few elements of the input, its *taps*, with weights that
depend on the sizes alone. Where an end has fewer of them the last one stands in, with weight 0. Several dimensions are done one
after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import nbgrad

from .. import Tensor
from ..base.dtypes import uint8
from ..base.errors import DTypeError, RangeError, ShapeError
from ..base.user_stack import warn_user
from ..modes.autocast import casts
from .module import Module

__all__ = [
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "interpolate",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

# ``{mode: dimensions behind the channels}``.
MODES = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}
SHARP, SHARP_SMOOTHED = -0.75, -0.5  # the cubic's parameter: Keys' derivative at 1; with antialias as in Pillow


class RankError(ShapeError, NotImplementedError):
    """A number of dimensions that a mode is not for."""


@casts(cpu="", cuda="single")
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """``input`` with other sizes behind its channels.

    Args:
        input: shape ``(batch, channels, *)`` with one to three further dimensions, floating; of the nearest modes any dtype,
            of "bilinear" and "bicubic" also uint8, with weights of whole numbers, as in Pillow.
        size: the new sizes, or one for all of them.
        scale_factor: instead, what sizes are multiplied by, rounded down.
        mode: "nearest" (as OpenCV finds it), "nearest-exact" (the nearest indeed), "linear", "bilinear", "bicubic", "trilinear", or
            "area", the mean over what an element covers.
        align_corners: of linear and cubic modes: whether the centres of the corners stay where they are, rather than their edges.
        recompute_scale_factor: whether the steps between places follow from the sizes rather than from ``scale_factor``.
        antialias: of "bilinear" and "bicubic": smaller results are smoothed first.

    Returns:
        Tensor of shape ``(batch, channels, *size)`` and the dtype of ``input``.

    Raises:
        RangeError: not one of ``size`` and ``scale_factor``, options that a mode does not have, or an unknown mode.
        RankError: another number of dimensions. ShapeError: sizes that are not positive. DTypeError: the input is not floating.

    Source: Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981.

    >>> import nbgrad
    >>> interpolate(nbgrad.tensor([[[0.0, 4.0]]]), scale_factor=2, mode="linear").tolist()
    [[[0.0, 1.0, 3.0, 4.0]]]
    """
    spatial = input.ndim - 2
    if mode not in MODES:
        raise RangeError(f"interpolate: mode is {mode!r}, expected one of {', '.join(map(repr, MODES))}.")
    if spatial not in MODES[mode]:
        ranks = " or ".join(str(2 + k) for k in MODES[mode])
        raise RankError(f"interpolate: input is {list(input.shape)}, mode {mode!r} expects {ranks} dimensions.")
    bytes_too = input.dtype is uint8 and mode in ("bilinear", "bicubic")
    if not (input.dtype.is_floating_point or mode.startswith("nearest") or bytes_too):
        raise DTypeError(f"interpolate: input is {input.dtype}, mode {mode!r} expects a floating dtype. Hint: input.float().")
    smooth = mode in ("linear", "bilinear", "bicubic", "trilinear")
    if align_corners is not None and not smooth:
        raise RangeError(f"interpolate: align_corners is for linear and cubic modes, mode is {mode!r}. Hint: leave it out.")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise RangeError(f"interpolate: antialias is for 'bilinear' and 'bicubic', mode is {mode!r}.")
    sizes, scales = new_sizes(tuple(input.shape[2:]), size, scale_factor, recompute_scale_factor)
    if min((*sizes, *input.shape[2:])) <= 0:
        raise ShapeError(f"interpolate: input is {list(input.shape)}, the result's sizes {list(sizes)}, expected positive ones.")
    if not smooth and mode != "area":
        for k, (new, scale) in enumerate(zip(sizes, scales)):
            input = nearest_along(input, 2 + k, new, scale, mode == "nearest-exact")
        return input
    x = input.float() if input.dtype.itemsize == 2 else input
    kind = "area" if mode == "area" else "cubic" if mode == "bicubic" else "linear"
    along = bytes_along if bytes_too else weighted_along
    for k, (new, scale) in sorted(enumerate(zip(sizes, scales)), reverse=bytes_too):  # bytes are rounded after each, rows first
        x = along(x, 2 + k, (kind, x.shape[2 + k], new, scale, bool(align_corners), antialias))
    return x if x.dtype is input.dtype else x.to(input.dtype)


def new_sizes(old: tuple[int, ...], size: Any, factor: Any, recompute: bool | None) -> tuple[list[int], list[float | None]]:
    """The sizes of a result, and for each dimension what a step in it is in the input; None where that follows from the sizes."""
    if (size is None) == (factor is None):
        raise RangeError(f"interpolate: size is {size}, scale_factor {factor}, expected one of both.")
    if size is not None:
        if recompute:
            raise RangeError("interpolate: recompute_scale_factor is for scale_factor, which is None.")
        return [int(each) for each in each_of("size", size, len(old))], [None] * len(old)
    factors = [float(each) for each in each_of("scale_factor", factor, len(old))]
    sizes = [math.floor(n * f) for n, f in zip(old, factors)]
    return sizes, [None if recompute or f <= 0 else 1 / f for f in factors]


def each_of(name: str, given: Any, count: int) -> Sequence[Any]:
    """One value for each dimension."""
    if not isinstance(given, (tuple, list)):
        return [given] * count
    if len(given) != count:
        raise ShapeError(f"interpolate: {name} is {list(given)}, expected one for each of {count} dimensions.")
    return given


@lru_cache(maxsize=256)
def nearest_places(old: int, new: int, scale: float | None, exact: bool) -> np.ndarray:
    """Which element each place of a result is, in single precision, as torch counts."""
    step = np.float32(old / new if scale is None else scale)
    shift = np.float32(0.5 if exact else 0)
    return np.minimum(np.floor((np.arange(new, dtype=np.float32) + shift) * step).astype(np.int64), old - 1)


def nearest_along(x: Tensor, dim: int, new: int, scale: float | None, exact: bool) -> Tensor:
    """One dimension by the nearest elements; whole multiples by views."""
    old = x.shape[dim]
    places = nearest_places(old, new, scale, exact)
    if new % old == 0 and np.array_equal(places, np.arange(new) // (new // old)):
        return x if new == old else x.repeat_interleave(new // old, dim, output_size=new)
    return x.index_select(dim, on_device_of(x, places))


def on_device_of(x: Tensor, values: np.ndarray, dtype: Any = None) -> Tensor:
    """An array as a constant beside ``x``."""
    return nbgrad.tensor(values, dtype=dtype, device=x.device)


def weighted_along(x: Tensor, dim: int, how: tuple[str, int, int, float | None, bool, bool]) -> Tensor:
    """One dimension by taps and their weights."""
    places, weights = taps(*how)
    if how[1] == how[2] and np.array_equal(places, np.arange(how[2])[:, None]) and (weights == 1).all():
        return x
    seen = [1] * x.ndim
    seen[dim] = len(places)
    total: Any = None
    for k in range(places.shape[1]):
        term = x.index_select(dim, on_device_of(x, places[:, k])) * on_device_of(x, weights[:, k], x.dtype).reshape(seen)
        total = term if total is None else total + term
    return total


def bytes_along(x: Tensor, dim: int, how: tuple[str, int, int, float | None, bool, bool]) -> Tensor:
    """``weighted_along`` of bytes, by whole numbers, rounded to bytes again."""
    places, weights, bits = byte_taps(*how)
    seen = [1] * x.ndim
    seen[dim] = len(places)
    total: Any = 1 << (bits - 1)
    for k in range(places.shape[1]):
        total = total + x.index_select(dim, on_device_of(x, places[:, k])).int() * on_device_of(x, weights[:, k]).reshape(seen)
    return (total >> bits).clamp(0, 255).to(uint8)


@lru_cache(maxsize=256)
def byte_taps(*how: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Places and weights of ``taps`` as whole numbers of 16 bits, and by how many bits these are too large."""
    places, weights = taps(*how)
    weights = weights.copy()
    for k in range(1, places.shape[1]):  # an element at an end that stands in for others is rounded once
        again = places[:, k] == places[:, k - 1]
        weights[again, k] += weights[again, k - 1]
        weights[again, k - 1] = 0
    bits = next(k for k in range(22, 0, -1) if k == 1 or int(0.5 + weights.max() * (1 << k)) < 1 << 15)
    scaled = weights * (1 << bits)
    return places, np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int32), bits


@lru_cache(maxsize=256)
def taps(kind: str, old: int, new: int, scale: float | None, align: bool, antialias: bool) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights, ``(new, taps)``: see NOTE [Taps]."""
    step = (old - 1) / (new - 1) if align and new > 1 else 0.0 if align else old / new if scale is None else scale
    at = np.arange(new)
    if kind == "area":
        first, last = at * old // new, -(-(at + 1) * old // new)
        places = first[:, None] + np.arange(int(np.max(last - first)))
        weights = np.where(places < last[:, None], 1 / (last - first)[:, None], 0.0)
        return np.minimum(places, last[:, None] - 1), weights
    if antialias:
        return smoothed_taps(kind, old, new, step)
    centre = at * step if align else (at + 0.5) * step - 0.5
    if kind == "linear":
        centre = np.clip(centre, 0, None)
        low = np.minimum(np.floor(centre).astype(np.int64), old - 1)
        places = low[:, None] + np.arange(2)
        second = np.clip(1 - np.abs(centre - places[:, 1]), 0, 1)
        weights = np.stack([1 - second, second], 1)
    else:
        places = np.floor(centre).astype(np.int64)[:, None] + np.arange(-1, 3)
        weights = cubic(np.abs(centre[:, None] - places), SHARP)
    return np.clip(places, 0, old - 1), weights


def smoothed_taps(kind: str, old: int, new: int, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Taps of a filter that is as wide as a step is."""
    stretch, reach = max(step, 1.0), (1.0 if kind == "linear" else 2.0) * max(step, 1.0)
    centre = step * (np.arange(new) + 0.5)
    first = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + reach + 0.5).astype(np.int64), old)
    places = first[:, None] + np.arange(max((last - first).max(), 1))
    distance = np.abs(places - centre[:, None] + 0.5) / stretch
    weights = np.clip(1 - distance, 0, None) if kind == "linear" else cubic(distance, SHARP_SMOOTHED)
    weights = np.where(places < last[:, None], weights, 0.0)
    return np.minimum(places, last[:, None] - 1), weights / weights.sum(1, keepdims=True)


def keys_kernel(distance: Any, a: float) -> tuple[Any, Any]:
    """Keys' kernel at distances, arrays or tensors: as it is up to 1, and from 1 to 2."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    return near, ((distance - 5) * distance + 8) * distance * a - 4 * a


def cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel at distances, 0 from 2 on."""
    near, far = keys_kernel(distance, a)
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None) -> Tensor:
    """``interpolate`` under its former name, with a warning.

    >>> import nbgrad
    >>> upsample(nbgrad.ones(1, 1, 2), 4).shape  # doctest: +SKIP
    nbgrad.Size([1, 1, 4])
    """
    warn_user("upsample is the old name of interpolate.", FutureWarning)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` of mode "nearest", with a warning: torch's former name."""
    warn_user("upsample_nearest is an old name of interpolate.", FutureWarning)
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` of mode "bilinear" with aligned corners, with a warning: torch's former name."""
    warn_user("upsample_bilinear is an old name of interpolate.", FutureWarning)
    return interpolate(input, size, scale_factor, "bilinear", True)


class Upsample(Module):
    """``functional.interpolate`` with the same options, whose names are the same.

    >>> import nbgrad
    >>> Upsample(scale_factor=2, mode="bilinear")(nbgrad.ones(1, 3, 4, 4)).shape
    nbgrad.Size([1, 3, 8, 8])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        several = isinstance(scale_factor, (tuple, list))
        self.name, self.size, self.mode, self.align_corners = type(self).__name__, size, mode, align_corners
        factors: Any = scale_factor
        self.scale_factor = tuple(map(float, factors)) if several else float(factors) if factors else None
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(batch, channels, *)``."""
        return interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """The sizes or factors, and the mode."""
        what = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` of mode "nearest".

    >>> import nbgrad
    >>> UpsamplingNearest2d(scale_factor=2)(nbgrad.ones(1, 1, 1, 1)).shape
    nbgrad.Size([1, 1, 2, 2])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of mode "bilinear" with aligned corners.

    >>> import nbgrad
    >>> UpsamplingBilinear2d(size=3)(nbgrad.ones(1, 1, 2, 2)).shape
    nbgrad.Size([1, 1, 3, 3])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
