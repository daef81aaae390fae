"""Scalar functions of complex numbers: plain Python that Numba compiles. Arithmetic needs none of them."""
from __future__ import annotations

from typing import Callable

__all__ = ["COMPLEX_FUNCTIONS"]


def conj(z):
    """The conjugate."""
    return z.conjugate()


def where(c, x, y):
    """x if c, else y."""
    return x if c else y


COMPLEX_FUNCTIONS: dict[str, Callable] = {"conj_physical": conj, "where": where}
