"""The standard's Fourier transforms, on nbgrad's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbgrad.fft

from .. import Tensor

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def along_one(name: str) -> Callable[..., Tensor]:
    """A transform along one axis."""
    own = getattr(nbgrad.fft, name)

    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        found: Tensor = own(x, n, axis, norm)
        return found

    function.__name__, function.__doc__ = name, f"``nbgrad.fft.{name}`` along an axis."
    return function


def along_several(name: str) -> Callable[..., Tensor]:
    """A transform along several axes."""
    own = getattr(nbgrad.fft, name)

    def function(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        found: Tensor = own(x, s, axes, norm)
        return found

    function.__name__, function.__doc__ = name, f"``nbgrad.fft.{name}`` along axes."
    return function


fft, ifft, rfft, irfft, hfft, ihfft = (along_one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = (along_several(name) for name in ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform."""
    return nbgrad.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform of real numbers."""
    return nbgrad.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The frequency 0 in the middle."""
    return nbgrad.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The frequency 0 in front again."""
    return nbgrad.fft.ifftshift(x, axes)
