"""Arrays that go to a GPU, and come back."""

from __future__ import annotations

import numpy as np

from .heaps import heap_on
from .layout import Layout
from .storage import Device, Storage, note_made
from .tensor import Tensor, new_tensor

__all__ = ["download", "storage_of", "upload"]


def storage_of(device: Device, nbytes: int) -> Storage:
    """A storage of so many bytes on a GPU, which nobody has written to."""
    assert device.index is not None
    storage = Storage()
    storage.array, storage.version = heap_on(device.index).request(nbytes), 0
    storage.device, storage.writable = device, True
    return storage


def upload(array: np.ndarray, layout: Layout) -> Tensor:
    """A new tensor of a dense layout on a GPU, with the elements of a contiguous array in their order in memory."""
    assert layout.device.index is not None
    found = heap_on(layout.device.index)
    storage = storage_of(layout.device, array.nbytes)
    if array.nbytes:
        found.card.upload(storage.array.address, array, found.stream())
    note_made(storage)
    return new_tensor(storage, layout)


def download(x: Tensor) -> np.ndarray:
    """The bytes from a tensor's first element to its last, as an array, when all work before is done."""
    layout = x.layout
    assert layout.device.index is not None
    found, dtype = heap_on(layout.device.index), layout.dtype
    array = np.empty(extent(layout) * dtype.itemsize, np.uint8)
    if array.nbytes:
        found.card.download(array, x._storage_.array.address + x._offset_, found.stream())
    return array


def extent(layout: Layout) -> int:
    """How many elements of memory lie between a tensor's first element and its last, both included."""
    if not layout.numel:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(layout.shape, layout.strides))
