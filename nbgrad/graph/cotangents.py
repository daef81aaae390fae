"""Cotangents: their sums, and how they are brought into the shape and dtype of the tensors that they belong to.

For example the cotangent of ``y`` in ``x + y``, where ``y`` was broadcast, is summed to the shape of ``y`` (``fit``).
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.errors import ArgumentError, DeviceError, ShapeError
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor

__all__ = ["ENGINE_ALONE", "broadcasts", "fit", "given_cotangent", "plus"]


def counted(node: object, g: object) -> int:
    """What a function that is given a cotangent sees of it."""
    return getrefcount(g)


def alone(node: object, g: object, task: None) -> int:
    """What it sees of one that nobody but its caller holds."""
    return counted(node, g)


# The caller's variable, the function's and getrefcount's argument; the first alone since Python 3.14: callees borrow variables.
ENGINE_ALONE = alone(None, object(), None)


def plus(total: Tensor | None, g: Tensor | None) -> Tensor | None:
    """The sum of two cotangents, or of two tangents; None stands for 0.

    The engine adds in place where nobody else can see the memory: NOTE [Sums] in native/steps.py.
    """
    return g if total is None else total if g is None else CALLS["add"](total, g)


def fit(g: Tensor | None, shape: tuple, dtype: DType) -> Tensor | None:
    """``g`` summed to ``shape`` and converted to ``dtype``; complex to real drops the imaginary part."""
    if g is None:
        return None
    if g.layout.shape != shape:
        g = CALLS["sum_to"](g, shape)
    if g.layout.dtype is not dtype:
        if g.layout.dtype.is_complex and not dtype.is_complex:
            g = CALLS["real"](g)
        g = CALLS["to_dtype"](g, dtype)
    return g


def broadcasts(small: tuple, large: tuple) -> bool:
    """Whether ``small`` expands to ``large``."""
    return len(small) <= len(large) and all(s in (1, t) for s, t in zip(reversed(small), reversed(large)))


def given_cotangent(who: str, g: Any, expected: Layout | None) -> Tensor | None:
    """A cotangent that a program hands to a node ``who`` by hand, checked: kernels and rules rely on its shape and dtype.

    Raises:
        ArgumentError: it is no tensor. ShapeError, DeviceError: it does not broadcast to that result, or lies elsewhere.
    """
    if g is None:
        return None
    if not isinstance(g, Tensor):
        raise ArgumentError(f"{who}: got a gradient of type {type(g).__name__}, expected a Tensor or None.")
    if expected is None or g.layout.special:
        return g
    if g.layout.device is not expected.device:
        raise DeviceError(f"{who}: got a gradient on {g.layout.device}, expected {expected.device}.")
    if not broadcasts(g.layout.shape, expected.shape):
        raise ShapeError(f"{who}: got a gradient of shape {list(g.layout.shape)}, expected {list(expected.shape)}, the result's.")
    return fit(g if g.layout.shape == expected.shape else CALLS["expand"](g, expected.shape), expected.shape, expected.dtype)
