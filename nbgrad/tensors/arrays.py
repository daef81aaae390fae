"""A tensor's memory as a NumPy array, without regard to autograd and modes; and an array's memory as a tensor."""

from __future__ import annotations

import numpy as np

from ..base.dtypes import DType, dtype_of
from ..base.errors import DeviceError
from ..base.grad_mode import traces
from .batch_levels import ask_values
from .layout import layout_of
from .storage import META, wrap_array
from .tensor import Tensor, new_tensor

__all__ = ["array_from_gpu", "array_of", "checked_values", "limits_of", "strided_array", "tensor_of", "typed", "values_of"]


def array_of(x: Tensor) -> np.ndarray:
    """An array on the tensor's memory, whatever autograd says; lazy conjugation and negation are not seen by it."""
    layout, storage = x.layout, x._storage_
    if layout.special or traces:
        ask_values("numpy", x)
    if layout.device.type != "cpu":
        raise DeviceError(f"numpy: the tensor is on {layout.device}. Hint: x.cpu().")
    return strided_array(x, storage.array.view(np.uint8), x._offset_ if layout.numel else 0, storage.writable is False)


def strided_array(x: Tensor, memory: np.ndarray, first: int, read_only: bool = False) -> np.ndarray:
    """An array with a tensor's shape and strides on bytes, of which it begins at ``first``."""
    layout = x.layout
    size = layout.descr.itemsize
    # The buffer goes through uint8, which every dtype has: bfloat16 exports none, and views may change the dtype.
    array: np.ndarray = np.ndarray(layout.shape, layout.descr, memory, first, tuple(s * size for s in layout.strides))
    if read_only:
        array.flags.writeable = False
    return array


def typed(x: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of a contiguous tensor, in another shape; its memory may have been made for another dtype."""
    layout, array = x.layout, x._storage_.array
    if array.dtype == layout.descr:
        first = x._offset_ // layout.descr.itemsize
        return array[first : first + layout.numel].reshape(shape)
    return np.ndarray(shape, layout.descr, array.view(np.uint8), x._offset_ if layout.numel else 0)


def values_of(x: Tensor) -> np.ndarray:
    """The tensor's values as an array that may or may not share its memory: to be read at once. A GPU is waited for."""
    layout = x.layout
    array = array_of(x) if layout.memory is None else array_from_gpu(x)
    if layout.conj:
        array = array.conj()
    return -array if layout.neg else array


def checked_values(x: Tensor) -> np.ndarray | None:
    """``values_of``, for a check of them; None on meta, where there is nothing to be wrong."""
    return None if x.layout.device is META else values_of(x)


def array_from_gpu(x: Tensor) -> np.ndarray:
    """A copy of a GPU's tensor; lazy conjugation and negation are not seen by it."""
    if x.layout.special or traces:
        ask_values("numpy", x)
    from .gpu import download

    return strided_array(x, download(x), 0)


def limits_of(x: Tensor) -> tuple[int, int]:
    """The least and the greatest element of a tensor of integers or bools; (0, 0) of none."""
    array = values_of(x)
    return (int(array.min()), int(array.max())) if array.size else (0, 0)


def tensor_of(array: np.ndarray, like: Tensor, dtype: DType | None = None) -> Tensor:
    """An array as a tensor on the device of another one."""
    shape, array = np.shape(array), np.ascontiguousarray(array)  # which makes a number a vector of one
    layout = layout_of(dtype or dtype_of(array.dtype), shape, None, like.layout.device)
    if layout.memory is not None:
        from .gpu import upload

        return upload(array.reshape(-1), layout)
    return new_tensor(wrap_array(array.reshape(-1)), layout)
