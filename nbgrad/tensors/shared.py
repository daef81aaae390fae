"""Memory that several processes see.

NOTE [Shared memory]: an array in such memory has a ``Shared`` at the end of its bases. The memory has no name: a process that is to
see it gets a descriptor (``nbgrad.multiprocessing``), or is a fork of one that has it. It ends with the last process that has it.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from ..base.errors import InplaceError, NotSupportedError
from .storage import CPU, Exchanged, Storage, last_base

__all__ = ["Shared", "mapped", "share", "shared_owner"]


class Shared(mmap.mmap):
    """A mapping of shared memory.

    Attributes:
        descriptor: of the memory; open while the mapping is there.
    """

    descriptor: int = -1

    def __del__(self, close: Any = os.close) -> None:  # whose module may be gone when the interpreter ends
        if self.descriptor >= 0:
            close(self.descriptor)


def new_memory(size: int) -> int:
    """A descriptor of zeroed memory without a name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("nbgrad tensor")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor


def mapped(descriptor: int, size: int) -> np.ndarray:
    """The bytes of shared memory, of which the array owns the descriptor from now on."""
    memory = Shared(descriptor, max(size, 1))
    memory.descriptor = descriptor
    return np.frombuffer(memory, np.uint8)[:size]


def shared_owner(array: Any) -> Shared | None:
    """The mapping that an array lies in, if its memory is shared."""
    owner = getattr(last_base(array), "obj", None)
    return owner if isinstance(owner, Shared) else None


def share(op: str, storage: Storage) -> None:
    """Move a storage to memory that other processes can see; what shares the storage moves with it.

    Raises:
        NotSupportedError: it is a GPU's. InplaceError: it is read-only.
    """
    if storage.device is not CPU:
        raise NotSupportedError(f"{op}: memory of {storage.device} is not shared between processes. Hint: x.cpu().")
    if shared_owner(storage.array) is not None:
        return
    if storage.writable is False:
        raise InplaceError(f"{op}: the tensor shares read-only memory. Hint: clone it first.")
    old = storage.array
    new = mapped(new_memory(max(old.nbytes, 1)), old.nbytes)
    new[:] = old.view(np.uint8)
    storage.array = new.view(old.dtype)
    storage.version = Exchanged(storage.version)
