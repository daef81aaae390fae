"""``torch._check`` and its relatives: a program's own conditions, as functions that torch's compilers can follow.

>>> import nbgrad
>>> nbgrad._check(2 > 1, lambda: "out of order")
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .dtypes import bool_
from .errors import ArgumentError, DimError, NbgradError, NotSupportedError, RangeError

__all__ = [
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_tensor_all_with",
    "_check_type",
    "_check_value",
    "_check_with",
]

Message = Callable[[], Any] | None


def _check_with(error_type: type[Exception], cond: bool, message: Message = None) -> None:
    """Raise an error of that type where a condition does not hold.

    Args:
        message: a function that makes the error's text.

    Raises:
        ArgumentError: the condition is no bool, or the message no function; ``error_type``: it is false.

    >>> nbgrad._check_with(KeyError, 1 > 2, lambda: "1 is not greater")
    Traceback (most recent call last):
        ...
    KeyError: '1 is not greater'
    """
    if not isinstance(cond, bool):
        hint = "Hint: _check_tensor_all takes a tensor of truth values."
        raise ArgumentError(f"_check: cond is of type {type(cond).__name__}, expected a bool. {hint}")
    if message is not None and not callable(message):
        raise ArgumentError(f"_check: message is of type {type(message).__name__}, expected a function that makes the text.")
    if not cond:
        raise error_type(str(message()) if message is not None else "_check: cond is False, expected True.")


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise an error of that type unless all elements of a tensor are true.

    Raises:
        ArgumentError: no truth values; ``error_type``: some are false.

    >>> nbgrad._check_tensor_all_with(ValueError, nbgrad.tensor([True, False]), lambda: "one is missing")
    Traceback (most recent call last):
        ...
    ValueError: one is missing
    """
    if getattr(cond, "dtype", None) is not bool_:
        came = getattr(cond, "dtype", type(cond).__name__)
        raise ArgumentError(f"_check_tensor_all: cond is of type {came}, expected a tensor of truth values.")
    _check_with(error_type, bool(cond.all()), message)


_check = partial(_check_with, NbgradError)
_check_index, _check_value, _check_type = (
    partial(_check_with, DimError),
    partial(_check_with, RangeError),
    partial(_check_with, ArgumentError),
)
_check_not_implemented = partial(_check_with, NotSupportedError)
_check_tensor_all = partial(_check_tensor_all_with, NbgradError)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise an error of a number that is no size, or a greater one than ``max``.

    Raises:
        NbgradError: it is not.

    >>> nbgrad._check_is_size(3, max=4)
    """
    _check(i >= 0 and (max is None or i <= max), message)
