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


def as_documented(function: Callable[..., Tensor], name: str, where: str) -> Callable[..., Tensor]:
    """A transform with its name, and what it is."""
    function.__name__ = name
    function.__doc__ = f"""``nbgrad.fft.{name}`` along {where}.

    >>> from nbgrad import array_api as xp
    >>> x = xp.ones((2, 4))
    >>> bool(xp.all(xp.fft.{name}(x, norm="ortho") == nbgrad.fft.{name}(x, norm="ortho")))
    True
    """
    return function


def along_one(name: str) -> Callable[..., Tensor]:
    """A transform along one axis."""
    own = getattr(nbgrad.fft, name)

    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        found: Tensor = own(x, n, axis, norm)
        return found

    return as_documented(function, name, "an axis")


def along_several(name: str) -> Callable[..., Tensor]:
    """A transform along several axes."""
    own = getattr(nbgrad.fft, name)

    def function(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        found: Tensor = own(x, s, axes, norm)
        return found

    return as_documented(function, name, "axes")


fft, ifft, rfft, irfft, hfft, ihfft = (along_one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = (along_several(name) for name in ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform.

    >>> from nbgrad import array_api as xp
    >>> xp.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return nbgrad.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform of real numbers.

    >>> from nbgrad import array_api as xp
    >>> xp.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return nbgrad.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The frequency 0 in the middle.

    >>> from nbgrad import array_api as xp
    >>> xp.fft.fftshift(xp.arange(4))
    tensor([2, 3, 0, 1])
    """
    return nbgrad.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The frequency 0 in front again.

    >>> from nbgrad import array_api as xp
    >>> xp.fft.ifftshift(xp.arange(4))
    tensor([2, 3, 0, 1])
    """
    return nbgrad.fft.ifftshift(x, axes)
