"""Lowerings of ``ops/fft.py``: pocketfft, by NumPy's functions, in the precision of the operand."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..dispatch.lowerings import lowering, prepared
from ..tensors.arrays import tensor_of, values_of

__all__: list[str] = []


def c2c_array(x: np.ndarray, dim: tuple[int, ...], norm: Any, inverse: bool) -> np.ndarray:
    """Complex to complex; along one dimension by NumPy's function for one, which takes less time to begin."""
    if len(dim) == 1:
        return (np.fft.ifft if inverse else np.fft.fft)(x, None, dim[0], norm)
    return (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=dim, norm=norm)


def r2c_array(x: np.ndarray, dim: tuple[int, ...], norm: Any, onesided: bool) -> np.ndarray:
    """Real to complex."""
    if len(dim) == 1:
        return (np.fft.rfft if onesided else np.fft.fft)(x, None, dim[0], norm)
    return (np.fft.rfftn if onesided else np.fft.fftn)(x, axes=dim, norm=norm)


def c2r_array(x: np.ndarray, dim: tuple[int, ...], norm: Any, n: int) -> np.ndarray:
    """Complex to real."""
    if len(dim) == 1:
        return np.fft.irfft(x, n, dim[0], norm)
    return np.fft.irfftn(x, [*(x.shape[d] for d in dim[:-1]), n], dim, norm)


def transform(name: str, array: Callable) -> None:
    """Register the lowering of a transform."""

    @lowering(name, style="run")
    def run(op, tensors, attributes):
        (x,) = tensors
        with np.errstate(all="ignore"):
            return tensor_of(array(values_of(x), **attributes), x)

    @prepared(name)
    def prepare(op, layouts, attributes):
        def quick(x, *attributes):
            with np.errstate(all="ignore"):
                return tensor_of(array(values_of(x), *attributes), x)

        return quick


transform("fft_c2c", c2c_array)
transform("fft_r2c", r2c_array)
transform("fft_c2r", c2r_array)
