"""Windows under the names that ``torch.signal.windows`` gives them.

All are of ``M`` elements; ``sym`` ones are symmetric, others are the first M of a symmetric one of M + 1, as spectra need them.
``dtype`` is the default one unless another is given; ``layout`` is nothing else than strided.

Source: F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform", 1978.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import Tensor
from ..base.dtypes import DTypeLike
from ..base.errors import ArgumentError, RangeError
from .formulas import cosines, kaiser_values, made, triangle

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def bartlett(
    M: int, *, sym: bool = True, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A triangle that is 0 at both ends.

    Raises:
        RangeError: M is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.bartlett", M, sym, triangle, **options)


def blackman(
    M: int, *, sym: bool = True, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """0.42 - 0.5 cos + 0.08 cos of twice the angle.

    Raises:
        RangeError: M is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.signal.windows.blackman(5)
    tensor([-1.3878e-17,  3.4000e-01,  1.0000e+00,  3.4000e-01, -1.3878e-17])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.blackman", M, sym, cosines(0.42, 0.5, 0.08), **options)


def cosine(
    M: int, *, sym: bool = True, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Half a period of a sine, between its zeros.

    Raises:
        RangeError: M is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.cosine", M, sym, lambda t, n: np.sin(np.pi * (np.arange(len(t)) + 0.5) / (n + 1)), **options)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-abs(k - center) / tau); the center is in the middle unless it is given.

    Raises:
        RangeError: tau is not positive. ArgumentError: a center of a symmetric window. Others: of M and dtype.

    >>> nbgrad.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise RangeError(f"signal.windows.exponential: tau is {tau}, expected a positive number.")
    if sym and center is not None:
        raise ArgumentError(
            f"signal.windows.exponential: center is {center}, expected None of a symmetric window. Hint: sym=False."
        )
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}

    def values(t: np.ndarray, n: int) -> np.ndarray:
        return np.exp(-np.abs(np.arange(len(t)) - (n / 2 if center is None else center)) / tau)

    return made("signal.windows.exponential", M, sym, values, even_one=True, **options)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-((k - center) / std)**2 / 2).

    Raises:
        RangeError: std is not positive. Others: of M and dtype.

    >>> nbgrad.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise RangeError(f"signal.windows.gaussian: std is {std}, expected a positive number.")
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.gaussian", M, sym, lambda t, n: np.exp(-0.5 * ((np.arange(len(t)) - n / 2) / std) ** 2), **options)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """a[0] - a[1] cos + a[2] cos of twice the angle - ...

    Raises:
        RangeError: no numbers. Others: of M and dtype.

    >>> nbgrad.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    weights = [*a]
    if not weights:
        raise RangeError("signal.windows.general_cosine: a is empty, expected at least one number.")
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.general_cosine", M, sym, cosines(*weights), **options)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) cos.

    Raises:
        RangeError: M is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.signal.windows.general_hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.general_hamming", M, sym, cosines(alpha, 1 - alpha), **options)


def hamming(
    M: int, *, sym: bool = True, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """0.54 - 0.46 cos.

    Raises:
        RangeError: M is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.hamming", M, sym, cosines(0.54, 0.46), **options)


def hann(
    M: int, *, sym: bool = True, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """0.5 - 0.5 cos, which is the square of a sine.

    Raises:
        RangeError: M is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.hann", M, sym, cosines(0.5, 0.5), **options)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """i0(beta root(1 - t**2)) / i0(beta) with t from -1 to 1.

    Raises:
        RangeError: beta is negative. Others: of M and dtype.

    >>> nbgrad.signal.windows.kaiser(3)
    tensor([5.2773e-05, 1.0000e+00, 5.2773e-05])
    """
    if beta < 0:
        raise RangeError(f"signal.windows.kaiser: beta is {beta}, expected a number that is not negative.")
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.kaiser", M, sym, kaiser_values(beta), **options)


def nuttall(
    M: int, *, sym: bool = True, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Four cosines whose sidelobes are least.

    Raises:
        RangeError: M is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made("signal.windows.nuttall", M, sym, cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411), **options)
