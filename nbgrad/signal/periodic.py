"""The windows that are names of the package: of ``stft`` and its like, periodic unless they are asked to be symmetric."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from ..base.dtypes import DTypeLike
from .formulas import cosines, kaiser_values, made, triangle

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle that is 0 at the beginning.

    Args:
        window_length: number of elements.
        periodic: the first of a symmetric window of one element more; else a symmetric one.
        dtype, device, pin_memory, requires_grad: as of other factories.
        layout: nothing else than strided.

    Raises:
        RangeError: the length is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return made("bartlett_window", window_length, not periodic, triangle, **options)


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """0.42 - 0.5 cos + 0.08 cos of twice the angle.

    Args:
        window_length: number of elements.
        periodic: the first of a symmetric window of one element more; else a symmetric one.
        dtype, device, pin_memory, requires_grad: as of other factories.
        layout: nothing else than strided.

    Raises:
        RangeError: the length is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.blackman_window(4)
    tensor([-1.3878e-17,  3.4000e-01,  1.0000e+00,  3.4000e-01])
    """
    options = {"dtype": dtype, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return made("blackman_window", window_length, not periodic, cosines(0.42, 0.5, 0.08), **options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - beta cos.

    Args:
        window_length: number of elements.
        periodic: the first of a symmetric window of one element more; else a symmetric one.
        alpha, beta: see above.
        dtype, device, pin_memory, requires_grad: as of other factories.
        layout: nothing else than strided.

    Raises:
        RangeError: the length is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    options = {"dtype": dtype, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return made("hamming_window", window_length, not periodic, cosines(alpha, beta), **options)


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """0.5 - 0.5 cos, which is the square of a sine.

    Args:
        window_length: number of elements.
        periodic: the first of a symmetric window of one element more; else a symmetric one.
        dtype, device, pin_memory, requires_grad: as of other factories.
        layout: nothing else than strided.

    Raises:
        RangeError: the length is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return made("hann_window", window_length, not periodic, cosines(0.5, 0.5), **options)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """i0(beta root(1 - t**2)) / i0(beta) with t from -1 to 1.

    Args:
        window_length: number of elements.
        periodic: the first of a symmetric window of one element more; else a symmetric one.
        beta: see above.
        dtype, device, pin_memory, requires_grad: as of other factories.
        layout: nothing else than strided.

    Raises:
        RangeError: the length is negative. DTypeError: a dtype that is not floating.

    >>> nbgrad.kaiser_window(4)
    tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01])
    """
    options = {"dtype": dtype, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return made("kaiser_window", window_length, not periodic, kaiser_values(beta), **options)
