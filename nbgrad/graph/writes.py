"""Writes to memory: counted by versions, and in anomaly mode remembered with the lines that made them."""

from __future__ import annotations

from collections import deque
from weakref import WeakKeyDictionary

from ..base.errors import GradError
from ..tensors.storage import Storage
from ..tensors.tensor import Tensor, native

__all__ = ["increment_version"]


# Where storages were written to, last writes last: ``{storage: [(version before, place or None)]}``, in anomaly mode.
writes: WeakKeyDictionary = WeakKeyDictionary()
MOST_WRITES = 8  # remembered per storage


def remember_writer(storage: Storage) -> None:
    """Remember where a storage is about to be written to, and at which version; called by native code in anomaly mode."""
    log = writes.get(storage)
    if log is None:
        log = writes[storage] = deque(maxlen=MOST_WRITES)
    log.append((storage.version, native.place()))


def count_write(storage: Storage) -> None:
    """Count a write that no kernel makes; in anomaly mode remember where."""
    if native.place() is not None:
        remember_writer(storage)
    storage.version += 1


def writer_of(storage: Storage, version: int | None) -> str:
    """For messages: by which line a storage left a version, if anomaly mode saw it."""
    log = () if version is None else writes.get(storage, ())
    places = [place for before, place in log if before >= version and place is not None]
    return f"; it was written to at {places[0].line()}" if places else ""


def increment_version(tensor) -> None:
    """Count a write to the memory of one tensor, or of several, that nbgrad cannot see.

    Raises:
        GradError: no tensor, no iterable of tensors.

    >>> x = nbgrad.ones(2)
    >>> nbgrad.graph.increment_version(x)
    >>> x._version
    1
    """
    try:
        tensors = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    except TypeError:
        raise GradError(f"increment_version: expected a Tensor or an iterable of them, got {type(tensor).__name__}.") from None
    for x in tensors:
        if not isinstance(x, Tensor):
            raise GradError(f"increment_version: expected tensors in the iterable, got {type(x).__name__}.")
    for x in tensors:
        count_write(x._storage_)
