"""The values of windows, in double precision, and tensors of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import Tensor
from ..base.errors import RangeError
from ..creation.sampled import sampled, whole_number

__all__ = ["cosines", "kaiser_values", "made", "triangle"]

# Of the places t, from 0 on in steps of 1 / n, and n.
Formula = Callable[[np.ndarray, int], np.ndarray]


def made(name: str, length: Any, symmetric: bool, formula: Formula, even_one: bool = False, **options: Any) -> Tensor:
    """A window of so many elements; one element is 1, unless the formula is meant ``even_one`` of it.

    Raises:
        ArgumentError: the length is no integer. RangeError: it is negative. Others: of ``sampled``.
    """
    count = whole_number(name, "the number of elements", length)
    if count < 0:
        raise RangeError(f"{name}: {count} elements, expected at least 0.")
    last = count - 1 if symmetric or count < 2 else count
    values = np.ones(count) if count < 2 and not even_one else formula(np.arange(count) / (last or 1), last)
    return sampled(name, values, **options)


def triangle(t: np.ndarray, n: int) -> np.ndarray:
    """From 0 to 1 in the middle, and back."""
    return 1 - np.abs(2 * t - 1)


def cosines(*weights: float) -> Formula:
    """The sum of cosines of multiples of the angle, with alternating signs."""
    return lambda t, n: sum(((-1) ** k * a * np.cos(2 * np.pi * k * t) for k, a in enumerate(weights)), np.zeros(len(t)))


def kaiser_values(beta: float) -> Formula:
    """Bessel functions of a half circle."""
    return lambda t, n: np.i0(beta * np.sqrt(np.maximum(0, 1 - (2 * t - 1) ** 2))) / np.i0(float(beta))
