"""Scalar functions of complex numbers: plain Python that Numba compiles. Arithmetic needs none of them."""
from __future__ import annotations

from typing import Callable

__all__ = ["COMPLEX_FUNCTIONS"]


def conj(z):
    """The conjugate."""
    return z.conjugate()


COMPLEX_FUNCTIONS: dict[str, Callable] = {"conj": conj}
