"""``torch.multiprocessing``: the standard library's ``multiprocessing``, in which tensors are sent without a copy.

What goes to another process by a queue, a pipe, or the arguments of one that is spawned, is moved to shared memory: both sides see
one memory, and what one of them writes. Versions are counted by each side for itself, and histories stay where they are. Memory of
a GPU is copied. As in torch, the sender must live until what it has sent was received.

>>> import nbgrad
>>> import nbgrad.multiprocessing as mp
>>> x = nbgrad.zeros(2).share_memory_()
>>> worker = mp.get_context("fork").Process(target=x.fill_, args=(3.0,))
>>> worker.start(); worker.join()
>>> x
tensor([3., 3.])
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403
from multiprocessing import reduction
from typing import Any

import numpy as np

from ..base.dtypes import dtype_of
from ..base.errors import RangeError
from ..methods.files.storage_bytes import address_of
from ..methods.pickling import reduce_storage
from ..tensors.shared import mapped, share, shared_owner
from ..tensors.storage import CPU, Storage, wrap_array
from .spawning import ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, spawn, start_processes

__all__ = [  # noqa: PLE0604
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

STRATEGY = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """How memory gets to other processes: by descriptors."""
    return {STRATEGY}


def get_sharing_strategy() -> str:
    """``"file_descriptor"``."""
    return STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Without effect: there is one. torch's ``"file_system"`` avoids a limit of descriptors, of which each shared storage has one.

    Raises:
        RangeError: neither of torch's words.
    """
    if new_strategy not in (STRATEGY, "file_system"):
        raise RangeError(f"set_sharing_strategy: got {new_strategy!r}, expected 'file_descriptor' or 'file_system'.")


def reduced(storage: Storage) -> Any:
    """A storage for another process: of the CPU by its memory, which is moved where both see it."""
    if storage.device is not CPU or storage.writable is False:
        return reduce_storage(storage)
    share("multiprocessing", storage)
    owner = shared_owner(storage.array)
    assert owner is not None
    begin = address_of(storage) - np.frombuffer(owner, np.uint8).ctypes.data
    return received, (reduction.DupFd(owner.descriptor), len(owner), begin, storage.array.nbytes, storage.array.dtype.name)


def received(memory: Any, size: int, begin: int, nbytes: int, name: str) -> Storage:
    """The storage on such memory, of the process that it was sent to."""
    return wrap_array(mapped(memory.detach(), size)[begin : begin + nbytes].view(dtype_of(name).numpy))


reduction.ForkingPickler.register(Storage, reduced)
