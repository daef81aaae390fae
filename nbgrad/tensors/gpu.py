"""Arrays that go to a GPU, and come back; to meta, where nothing is kept of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import OutOfMemoryError
from ..kernels.cuda.driver import Card
from ..native.handle import native
from . import pinned
from .choices import begun
from .heaps import HeapOfCard, heap_at
from .layout import Layout
from .meta import HeapOfMeta, no_elements
from .storage import META, Device, Storage, note_made
from .tensor import Tensor, new_tensor

__all__ = ["between", "bytes_of", "copied", "download", "fetch", "larger", "storage_of", "stored", "upload"]

TAKEN_AT_ONCE = 1 << 16  # bytes of pageable memory that the driver takes without waiting for the stream


def storage_of(device: Device, nbytes: int, op: str) -> Storage:
    """A storage of so many bytes on a GPU, which nobody has written to; ``op``: whose errors are raised.

    Raises:
        OutOfMemoryError: there is no memory.
    """
    storage = Storage()
    try:
        storage.array, storage.version = heap_at(device).request(nbytes), 0
    except OutOfMemoryError as error:
        raise error.of(op) from None
    storage.device, storage.writable = device, True
    return storage


def upload(array: np.ndarray, layout: Layout, non_blocking: bool = False) -> Tensor:
    """A new tensor of a dense layout on a GPU, with the elements of a contiguous array in their order in memory.

    Args:
        non_blocking: an array in pinned memory need not have been read when this returns. One in pageable memory has been, always.
    """
    storage = stored(array, layout.device, "to", non_blocking)
    note_made(storage)
    return new_tensor(storage, layout)


def download(x: Tensor, non_blocking: bool = False) -> np.ndarray:
    """The bytes from a tensor's first element to its last, as an array, when all work before is done.

    Args:
        non_blocking: they need not be there when this returns; the array is pinned then.
    """
    nbytes = extent(x.layout) * x.layout.dtype.itemsize
    array = pinned.pinned_array(nbytes) if non_blocking else np.empty(nbytes, np.uint8)
    fetch(x, array, non_blocking)
    return array


def fetch(x: Tensor, array: np.ndarray, non_blocking: bool) -> None:
    """Copy the bytes from a tensor's first element on to a contiguous array; without ``non_blocking``, they are there then.

    Args:
        non_blocking: has a meaning for pinned memory alone.
    """
    if not array.nbytes:
        return
    found = heap_at(x.layout.device)
    if not non_blocking or pinned.owner_of(array) is None:
        found.card.may_stop("read")
    stream = used_by_current(found, x._storage_)
    found.card.download(array, x._storage_.array.address + x._offset_, stream)
    settled(found, array, stream, non_blocking)


def settled(found: HeapOfCard | HeapOfMeta, array: np.ndarray, stream: int, non_blocking: bool) -> None:
    """Wait for a copy from or to an array, unless it is pinned and nobody needs to: then note that it runs.

    Who calls it has said so before, by ``may_stop``.
    """
    owner = pinned.owner_of(array) if non_blocking else None
    if owner is None or not isinstance(found, HeapOfCard):
        found.card.wait(stream, known=True)
    else:
        owner.use(found.card, stream)


def used_by_current(found: HeapOfCard | HeapOfMeta, storage: Storage) -> int:
    """The current stream of a GPU, which is noted to use a storage: NOTE [Blocks of other streams] of native/heaps.py."""
    stream = found.current()
    if begun():
        native.note_use(storage.array, stream.lists, stream.bit)
    return stream.handle


def between(x: Tensor, layout: Layout) -> Tensor:
    """A copy of a tensor on another GPU, in a dense layout like its own; on meta its memory alone.

    The copy is work of the source's current stream. It waits for the target's, whose memory it writes to, and that one for it.

    Raises:
        NotSupportedError: the tensor is on meta.
    """
    if x.layout.device is META:
        raise no_elements()
    here, there = heap_at(x.layout.device), heap_at(layout.device)
    nbytes = layout.numel * layout.dtype.itemsize
    storage = storage_of(layout.device, nbytes, "to")
    if nbytes and isinstance(here, HeapOfCard) and isinstance(there, HeapOfCard):
        stream, target = used_by_current(here, x._storage_), there.stream()
        wait_for(here.card, stream, there.card, target)
        there.card.copy_from(here.card, storage.array.address, x._storage_.array.address + x._offset_, nbytes, stream)
        wait_for(there.card, target, here.card, stream)
    return new_tensor(storage, layout)


def wait_for(card: Card, stream: int, other: Card, first: int) -> None:
    """Let a stream wait for what another GPU's has got so far."""
    event = other.take_event()
    other.record(event, first)
    card.let_wait(stream, event)
    other.give_event(event)


# ---- storages ---------------------------------------------------------------------------------------------------------


def bytes_of(storage: Storage) -> np.ndarray:
    """A copy of all that a storage on a GPU holds, when all work before is done."""
    found, array = heap_at(storage.device), np.empty(storage.array.nbytes, np.uint8)
    if array.nbytes:
        found.card.may_stop("read")
        stream = used_by_current(found, storage)
        found.card.download(array, storage.array.address, stream)
        found.card.wait(stream, known=True)
    return array


def copied(storage: Storage) -> Storage:
    """A storage on a copy of the memory, of its GPU."""
    new = storage_of(storage.device, storage.array.nbytes, "deepcopy")
    copy_bytes(storage, new)
    return new


def larger(storage: Storage, nbytes: int) -> Any:
    """More memory, which begins with what a storage has."""
    new = storage_of(storage.device, nbytes, "resize_")
    copy_bytes(storage, new)
    return new.array


def copy_bytes(source: Storage, target: Storage) -> None:
    """Copy all that a storage holds to the beginning of another one of its GPU."""
    found = heap_at(source.device)
    if source.array.nbytes:
        found.card.copy(target.array.address, source.array.address, source.array.nbytes, used_by_current(found, source))


def stored(array: np.ndarray, device: Device, op: str, non_blocking: bool = False) -> Storage:
    """A storage on a GPU with the bytes of a contiguous array; see ``upload``."""
    found, storage = heap_at(device), storage_of(device, array.nbytes, op)
    if array.nbytes:
        stream, owner = found.stream(), pinned.owner_of(array)
        if owner is None and array.nbytes <= TAKEN_AT_ONCE:
            found.card.ask_guard("copy")
        elif owner is None or not non_blocking:
            found.card.may_stop("copy" if owner is None else "wait")
        found.card.upload(storage.array.address, array, stream)
        if owner is not None:  # what is not pinned has been read
            settled(found, array, stream, non_blocking)
    return storage


def extent(layout: Layout) -> int:
    """How many elements of memory lie between a tensor's first element and its last, both included."""
    if not layout.numel:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(layout.shape, layout.strides))
