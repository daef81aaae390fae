"""New tensors from data, from numbers, and like others."""
from __future__ import annotations

from typing import Any

import numpy as np

from .dispatch import CALLS
from .dtypes import DType, dtype_of, get_default_dtype
from .errors import ArgumentError
from .layout import Layout, layout_of
from .storage import CPU, Storage, device as device_of, wrap_array
from .tensor import Tensor, native, new_tensor, require_differentiable

__all__ = ["tensor", "new_full", "empty_of"]


def empty_of(layout: Layout) -> Tensor:
    """An uninitialised tensor of a dense layout."""
    return new_tensor(wrap_array(np.empty(max(layout.numel, 1), layout.descr)), layout)


def new_full(layout: Layout, value) -> Tensor:
    """A tensor of a layout's dtype, shape and (if dense) strides, filled with a number."""
    if not layout.dense:
        layout = layout.like()
    return new_tensor(wrap_array(np.full(layout.numel, value, layout.descr)), layout)


CALLS["new_full"] = new_full


def tensor(data: Any, *, dtype: DType | None = None, device=None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of ``data``: a number, nested sequences, an array, a tensor.

    Python floats get the default dtype (float32), ints int64, bools bool; arrays keep their dtype.

    >>> import nbgrad
    >>> nbgrad.tensor([[1, 2], [3, 4]]).dtype
    nbgrad.int64
    """
    array = np.array(data.numpy() if isinstance(data, Tensor) else data, order="C")
    if dtype is None:
        dtype = infer_dtype(data, array)
    dtype = dtype_of(dtype)
    array = np.ascontiguousarray(array, dtype.numpy)
    out = new_tensor(wrap_array(array.reshape(-1)), layout_of(dtype, np.shape(data) if array.ndim == 0 else array.shape))
    if requires_grad:
        require_differentiable("tensor", dtype)
        out.needs_grad = True
    return out


def infer_dtype(data, array: np.ndarray) -> DType:
    """The dtype of data that names none."""
    if isinstance(data, (np.ndarray, np.generic, Tensor)):
        return dtype_of(array.dtype)
    if array.dtype.kind == "f":
        return get_default_dtype()
    if array.dtype.kind == "c":
        return get_default_dtype().to_complex()
    if array.dtype == object:
        raise ArgumentError(f"tensor: cannot make a tensor of {type(data).__name__} with elements of mixed shape or type.")
    if array.size == 0:
        return get_default_dtype()
    return dtype_of(array.dtype)


_ = CPU, Storage, device_of, native
