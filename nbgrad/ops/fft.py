"""Discrete Fourier transforms along dimensions: complex to complex, real to complex and complex to real.

``norm`` says what a transform is divided by, as in ``nbgrad.fft``: ``"backward"`` (the inverse by n), ``"forward"`` (the other one)
or ``"ortho"`` (both by the root of n). The transpose of a transform is the inverse one, divided by the same: so every derivative is
a transform again. Of real numbers half of the coefficients tells the other half, along the last of the dimensions.
"""

from __future__ import annotations

from .core import general
from .expr import scalar

__all__ = ["EXACT", "SWAPPED"]

EXACT = ("float32", "float64", "complex64", "complex128")  # what there are transforms of

# The norm by which the inverse transform is divided by what the transform itself is divided by.
SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
INTERNAL = {"method": False, "function": False, "out": False}


def with_inner(x, dim: int, n: int, factor: float):
    """``x`` and ``factor`` times what stands for two of n coefficients: all but the first, and the last of an even n."""
    count = n - x.shape[dim]
    return x + factor * scalar.slice_backward(x.slice(dim, 1, 1 + count, 1), x.shape, dim, 1, 1 + count, 1) if count else x


def r2c_cotangent(g, x_shape, dim, norm, onesided):
    """The real part of the transpose; coefficients that stand for two are counted once."""
    if not onesided:
        return scalar.fft_c2c(g, dim, SWAPPED[norm], True).real
    n = x_shape[dim[-1]]
    return scalar.fft_c2r(with_inner(g, dim[-1], n, -0.5), dim, SWAPPED[norm], n)


general(
    "fft_c2c",
    lambda x, dim, norm, inverse: x,
    {"x": lambda g, dim, norm, inverse: scalar.fft_c2c(g, dim, SWAPPED[norm], not inverse)},
    **INTERNAL,
    node="FftC2CBackward0",
    public="fft.fftn",
    doc="The Fourier transform of complex numbers along dimensions, or the inverse one.",
    aten="_fft_c2c",
)
general(
    "fft_r2c",
    lambda x, dim, norm, onesided: x,
    {"x": r2c_cotangent},
    **INTERNAL,
    node="FftR2CBackward0",
    public="fft.rfftn",
    doc="The Fourier transform of real numbers; with ``onesided`` the half of its coefficients that tells the others.",
    aten="_fft_r2c",
)
general(
    "fft_c2r",
    lambda x, dim, norm, n: x,
    {"x": lambda g, dim, norm, n: with_inner(scalar.fft_r2c(g, dim, SWAPPED[norm], True), dim[-1], n, 1.0)},
    **INTERNAL,
    node="FftC2RBackward0",
    public="fft.irfftn",
    doc="The n real numbers of which this is half of the Fourier transform.",
    aten="_fft_c2r",
)
