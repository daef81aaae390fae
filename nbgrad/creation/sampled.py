"""Tensors of values that NumPy has computed: frequencies and windows."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..base.dtypes import DTypeLike, dtype_of, get_default_dtype
from ..base.errors import ArgumentError, DTypeError
from ..dispatch.out import write_out
from ..tensors.tensor import Tensor
from .from_data import tensor

__all__ = ["sampled", "whole_number"]


def whole_number(name: str, what: str, value: Any) -> int:
    """An argument that is an integer.

    Raises:
        ArgumentError: it is none.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name}: {what} must be an integer, got {value!r}.") from None


def sampled(
    name: str,
    values: np.ndarray,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A leaf of these values, of the default dtype unless another is given; or the values in ``out``.

    Raises:
        DTypeError: a dtype that is not floating. Others: of ``out``, or of the device.
    """
    if dtype is None:
        kind = out.dtype if isinstance(out, Tensor) else get_default_dtype()
    else:
        kind = dtype_of(dtype)
    if not kind.is_floating_point:
        raise DTypeError(f"{name}: dtype is {kind}, expected a floating one.")
    if out is not None:
        return write_out(name, lambda: tensor(values, dtype=kind, device=device), out)
    return tensor(values, dtype=kind, device=device, requires_grad=requires_grad, pin_memory=pin_memory)
