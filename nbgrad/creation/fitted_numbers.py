"""Numbers as elements of tensors: the dtype that they ask for, and whether they fit one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import BOOL, INTEGER, DType, dtype_of, result_dtype
from ..base.errors import ArgumentError, DTypeError, RangeError
from ..modes.numbers import FOLLOWED, Number
from ..tensors.tensor import Tensor

__all__ = ["dtype_of_fill", "dtype_of_number", "fit_number", "is_followed", "of_number"]


def is_followed(value: Any, requires_grad: bool) -> bool:
    """Whether a number is one whose way into a tensor a capture writes down."""
    return type(value) in FOLLOWED and not requires_grad and value.is_followed()


def of_number(x: Tensor, number: Number) -> Tensor:
    """A tensor that was just made, filled with a number that a capture follows."""
    made: Tensor = CALLS["fill_"](x, number)
    return made


def dtype_of_fill(value) -> DType:
    """The dtype of a tensor filled with a number; one of NumPy's counts as Python's: ``full((2,), np.float64(0.5))`` is float32."""
    return dtype_of_number(value.item() if isinstance(value, np.generic) else value)


def dtype_of_number(value) -> DType:
    """The dtype of a tensor made from a Python number alone."""
    if isinstance(value, np.generic):
        return dtype_of(value.dtype)
    return result_dtype((), (value,))


def fit_number(op: str, value: Any, dtype: DType):
    """A number as ``dtype`` can hold it: floats are truncated for integers.

    Raises:
        RangeError: it is out of range, or not real. ArgumentError: it is no number.
    """
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise ArgumentError(f"{op}: expected a number, got {type(value).__name__}.")
    if isinstance(value, complex) and not value.imag and not dtype.is_complex:
        value = value.real
    if isinstance(value, complex) and not dtype.is_complex and dtype.category != BOOL:
        raise DTypeError(f"{op}: {value} is complex and does not fit {dtype}.")
    if dtype.category != INTEGER:
        return value
    limits = np.iinfo(dtype.numpy)
    number: Any = value  # real, as of here
    whole = int(number) if math.isfinite(number) else None
    # A negative number wraps in an unsigned dtype, as in torch.
    low = limits.min if limits.min else -limits.max
    if whole is None or not low <= whole <= limits.max:
        raise RangeError(f"{op}: {value} does not fit {dtype}, which holds {limits.min} to {limits.max}.")
    return whole if whole >= limits.min else whole + limits.max + 1
