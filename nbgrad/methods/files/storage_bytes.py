"""The memory of storages as bytes, wherever it is."""

from __future__ import annotations

import numpy as np

from ...base.dtypes import DType
from ...tensors.storage import CPU, Device, Storage, wrap_array

__all__ = ["address_of", "blank_storage", "bytes_of", "put", "storage_of"]


def address_of(storage: Storage) -> int:
    """Where it begins."""
    return storage.array.ctypes.data if storage.device is CPU else storage.array.address


def bytes_of(storage: Storage) -> np.ndarray:
    """What it holds."""
    if storage.device is CPU:
        return np.ascontiguousarray(storage.array).view(np.uint8)
    from ...tensors.gpu import bytes_of

    return bytes_of(storage)


def storage_of(data: np.ndarray, dtype: DType, device: Device) -> Storage:
    """A storage of bytes, on their memory where the CPU can use it."""
    if device is CPU:
        aligned = data if data.ctypes.data % dtype.itemsize == 0 else data.copy()
        return wrap_array(aligned.view(dtype.numpy))
    from ...tensors.gpu import stored

    return stored(data, device, "load")


def blank_storage(nbytes: int, dtype: DType, device: Device) -> Storage:
    """A storage whose bytes come later."""
    if device is CPU:
        return wrap_array(np.zeros(nbytes, np.uint8).view(dtype.numpy))
    from ...tensors.gpu import storage_of

    return storage_of(device, nbytes, "load")


def put(data: np.ndarray, storage: Storage) -> None:
    """Write all bytes of a storage."""
    if storage.device is CPU:
        storage.array.view(np.uint8)[:] = data
    else:
        from ...tensors.gpu import copy_bytes, stored

        copy_bytes(stored(data, storage.device, "load"), storage)
