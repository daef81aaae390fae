"""Discrete Fourier transforms under the names that ``torch.fft`` gives them: differentiable in both modes, in every order.

The sums of ``x[k] exp(-2 pi i j k / n)`` over ``k``, and the inverse transforms; float32 stays complex64. Of real numbers, half of
the coefficients tells the others: ``rfft``, ``irfft`` and, with time and frequency exchanged, ``ihfft``, ``hfft``.

>>> import nbgrad
>>> nbgrad.fft.rfft(nbgrad.tensor([1.0, 2.0, 3.0, 2.0]))
tensor([ 8.+0.j, -2.+0.j,  0.+0.j])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import Tensor
from ..base.dtypes import DTypeLike
from ..base.errors import RangeError
from ..creation.sampled import sampled, whole_number
from ..ops.shapes import wrap
from .transforms import Dims, Sizes, as_tensor, at_least_one, described, numbers, points, to_complex, to_half, to_real

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


# ---- along one dimension -----------------------------------------------------------------------------------------------


@described
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The Fourier transform along a dimension.

    >>> nbgrad.fft.fft(nbgrad.tensor([1.0, 2.0, 3.0, 2.0]))
    tensor([ 8.+0.j, -2.+0.j,  0.+0.j, -2.+0.j])
    """
    return to_complex("fft", input, points("fft", n), dim, norm, False, out)


@described
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse Fourier transform along a dimension.

    >>> nbgrad.fft.ifft(nbgrad.tensor([1.0, 2.0, 3.0, 2.0]))
    tensor([ 2.0000-0.j, -0.5000-0.j,  0.0000-0.j, -0.5000-0.j])
    """
    return to_complex("ifft", input, points("ifft", n), dim, norm, True, out)


@described
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The first n // 2 + 1 coefficients of the Fourier transform of real numbers: they tell the others.

    >>> nbgrad.fft.rfft(nbgrad.tensor([1.0, 2.0, 3.0, 2.0]))
    tensor([ 8.+0.j, -2.+0.j,  0.+0.j])
    """
    return to_half("rfft", input, points("rfft", n), dim, norm, False, out)


@described
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real numbers of which ``rfft`` gives this: of an odd n it must be told.

    >>> nbgrad.fft.irfft(nbgrad.tensor([8.0, -2.0, 0.0]))
    tensor([1., 2., 3., 2.])
    """
    return to_real("irfft", input, points("irfft", n), dim, norm, True, out)


@described
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The Fourier transform of a signal with x[-k] = conj(x[k]), of which this is half: real numbers.

    >>> nbgrad.fft.hfft(nbgrad.tensor([8.0, -2.0, 0.0]))
    tensor([ 4.,  8., 12.,  8.])
    """
    return to_real("hfft", input, points("hfft", n), dim, norm, False, out)


@described
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Half of the inverse Fourier transform of real numbers.

    >>> nbgrad.fft.ihfft(nbgrad.tensor([1.0, 2.0, 3.0, 2.0]))
    tensor([ 2.0000-0.j, -0.5000-0.j,  0.0000-0.j])
    """
    return to_half("ihfft", input, points("ihfft", n), dim, norm, True, out)


# ---- along two dimensions ----------------------------------------------------------------------------------------------


@described
def fft2(input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The Fourier transform along two dimensions.

    >>> nbgrad.fft.fft2(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return to_complex("fft2", input, s, dim, norm, False, out)


@described
def ifft2(input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse Fourier transform along two dimensions.

    >>> nbgrad.fft.ifft2(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 2.5000-0.j, -0.5000-0.j],
            [-1.0000-0.j,  0.0000-0.j]])
    """
    return to_complex("ifft2", input, s, dim, norm, True, out)


@described
def rfft2(input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The Fourier transform of real numbers along two dimensions: half of its coefficients along the last one.

    >>> nbgrad.fft.rfft2(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return to_half("rfft2", input, s, dim, norm, False, out)


@described
def irfft2(input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real numbers of which ``rfft2`` gives this.

    >>> nbgrad.fft.irfft2(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 2.5000, -0.5000],
            [-1.0000,  0.0000]])
    """
    return to_real("irfft2", input, s, dim, norm, True, out)


@described
def hfft2(input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """``fft2`` of a Hermitian signal, of which this is half along the last dimension: real numbers.

    >>> nbgrad.fft.hfft2(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10., -2.],
            [-4.,  0.]])
    """
    return to_real("hfft2", input, s, dim, norm, False, out)


@described
def ihfft2(input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse Fourier transform of real numbers along two dimensions: half of it along the last one.

    >>> nbgrad.fft.ihfft2(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 2.5000-0.j, -0.5000-0.j],
            [-1.0000-0.j,  0.0000-0.j]])
    """
    return to_half("ihfft2", input, s, dim, norm, True, out)


# ---- along several dimensions ------------------------------------------------------------------------------------------


@described
def fftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The Fourier transform along several dimensions.

    >>> nbgrad.fft.fftn(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return to_complex("fftn", input, s, dim, norm, False, out)


@described
def ifftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse Fourier transform along several dimensions.

    >>> nbgrad.fft.ifftn(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 2.5000-0.j, -0.5000-0.j],
            [-1.0000-0.j,  0.0000-0.j]])
    """
    return to_complex("ifftn", input, s, dim, norm, True, out)


@described
def rfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The Fourier transform of real numbers along several dimensions: half of its coefficients along the last of them.

    >>> nbgrad.fft.rfftn(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return to_half("rfftn", input, s, dim, norm, False, out)


@described
def irfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real numbers of which ``rfftn`` gives this.

    >>> nbgrad.fft.irfftn(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 2.5000, -0.5000],
            [-1.0000,  0.0000]])
    """
    return to_real("irfftn", input, s, dim, norm, True, out)


@described
def hfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """``fftn`` of a Hermitian signal, of which this is half along the last of the dimensions: real numbers.

    >>> nbgrad.fft.hfftn(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10., -2.],
            [-4.,  0.]])
    """
    return to_real("hfftn", input, s, dim, norm, False, out)


@described
def ihfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse Fourier transform of real numbers along several dimensions: half of it along the last of them.

    >>> nbgrad.fft.ihfftn(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 2.5000-0.j, -0.5000-0.j],
            [-1.0000-0.j,  0.0000-0.j]])
    """
    return to_half("ihfftn", input, s, dim, norm, True, out)


# ---- frequencies, and their order --------------------------------------------------------------------------------------


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The frequencies of the coefficients of ``fft``: 0, 1, ... and then the negative ones, divided by n d.

    Args:
        n: points of the transform.
        d: the distance of two points.
        out: a tensor for the result.
        dtype, device, requires_grad, pin_memory: of the result, as of other factories.
        layout: nothing else than strided.

    Raises:
        RangeError: n is negative.

    >>> nbgrad.fft.fftfreq(4, 0.5)
    tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
    """
    n = whole_number("fft.fftfreq", "n", n)
    if n < 0:
        raise RangeError(f"fft.fftfreq: n is {n}, expected a number of points.")
    counts = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
    return frequencies("fftfreq", counts, n * d, out, **options)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The frequencies of the coefficients of ``rfft``: 0 to n // 2, divided by n d.

    Args: as of ``fftfreq``.

    Raises:
        RangeError: n is less than 1.

    >>> nbgrad.fft.rfftfreq(4, 0.5)
    tensor([0.0000, 0.5000, 1.0000])
    """
    n = at_least_one("fft.rfftfreq", whole_number("fft.rfftfreq", "n", n))
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
    return frequencies("rfftfreq", np.arange(n // 2 + 1), n * d, out, **options)


def frequencies(name: str, counts: np.ndarray, whole: float, out: Tensor | None, **options: Any) -> Tensor:
    """Whole numbers divided by the length of the signal."""
    with np.errstate(all="ignore"):
        return sampled(f"fft.{name}", counts / np.float64(whole), out=out, **options)


def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The coefficients in the order of their frequencies, 0 in the middle.

    Args:
        input: of any shape and dtype.
        dim: the dimensions; all unless they are given.

    Raises:
        DimError: there is no such dimension.

    >>> nbgrad.fft.fftshift(nbgrad.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return shifted("fft.fftshift", input, dim, lambda n: n // 2)


def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """What ``fftshift`` puts in order as it was before.

    Args:
        input: of any shape and dtype.
        dim: the dimensions; all unless they are given.

    Raises:
        DimError: there is no such dimension.

    >>> nbgrad.fft.ifftshift(nbgrad.tensor([-1.0, 0.0, 1.0]))
    tensor([ 0.,  1., -1.])
    """
    return shifted("fft.ifftshift", input, dim, lambda n: (n + 1) // 2)


def shifted(name: str, x: Tensor, dim: Dims, places: Callable[[int], int]) -> Tensor:
    """Dimensions rolled by what ``places`` says of their sizes."""
    x = as_tensor(name, x)
    dims = tuple(range(x.ndim)) if dim is None else numbers(name, "dim", dim)
    if not dims:
        return x.clone()
    moved: Tensor = x.roll(tuple([places(x.shape[wrap(name, d, x.ndim)]) for d in dims]), dims)
    return moved
