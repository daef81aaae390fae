"""Libraries of NVIDIA's, played: functions of Python's that are called by address, and touch devices' memory by NumPy."""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....base.dtypes import dtype_of
from ....base.errors import KernelError
from ..libraries import KINDS, Library, Status
from .driver import install
from .driver.entries import Refused
from .memory import Allocation, named

__all__ = ["Played"]

INTERNAL_ERROR = 14


class Played:
    """A library.

    Args:
        name: as errors say it.
        entries: by name, its functions: their parameters as of ``Library``, and what they do with it and these.
        status: as of ``Library``.

    Attributes:
        library: as nbgrad finds it; reason: why the last call that was refused was.
    """

    def __init__(self, name: str, entries: Mapping[str, tuple[str, Callable]], status: Status):
        self.reason = ""
        kept = [self.function(each, *entry) for each, entry in entries.items()]
        addresses = {each: ctypes.cast(made, ctypes.c_void_p).value or 0 for each, made in zip(entries, kept)}
        kinds = {each: taken for each, (taken, _) in entries.items()}
        self.library = Library(name, "played", addresses, kinds, status, kept)

    def function(self, name: str, kinds: str, act: Callable) -> Any:
        """An entry point as C calls it."""
        taken, _, given = kinds.partition(">")

        def call(*operands: Any) -> int:
            try:
                with install().driver.lock:
                    found = act(self, *operands)
                return 0 if found is None else found
            except Refused as refused:
                self.reason = f"{name}: {refused.reason}"
                return refused.number
            except BaseException:  # a fault of ours, or an interrupt: ctypes would print it, and give whatever number is there
                self.reason = f"{name}: {traceback.format_exc()}"
                print(self.reason, file=sys.stderr)
                return INTERNAL_ERROR

        result = ctypes.c_void_p if given == "s" else KINDS[given or "i"]
        return ctypes.CFUNCTYPE(result, *(KINDS[each] for each in taken))(call)

    def memory(self, address: int, name: Any, layout: tuple, batch: int, device: int, writes: bool = False) -> np.ndarray:
        """Matrices of memory that may be touched, as an array (batch, rows, columns).

        Raises:
            KernelError: it may not be.
        """
        driver, (rows, columns, lead, apart) = install().driver, layout
        kind = np.dtype(dtype_of(name).numpy if isinstance(name, str) else name)
        reach = 1 + (rows - 1) + (columns - 1) * lead + (batch - 1) * apart
        found = driver.memory.find(address)
        if (
            found is None
            or not found.alive
            or found.device != device
            or address + reach * kind.itemsize > found.address + found.nbytes
        ):
            raise KernelError(f"{self.library.name}: {reach} elements of {kind} from {driver.memory.place(address)} are not there.")
        assert found.history is not None
        driver.timeline.touch(found.history, writes, found)
        indices = np.lib.stride_tricks.as_strided(
            np.arange(reach), (batch, rows, columns), tuple([8 * each for each in (apart, 1, lead)])
        )
        self.stamp(found, address - found.address + np.unique(indices) * kind.itemsize, kind.itemsize, writes)
        flat = np.frombuffer((ctypes.c_byte * (reach * kind.itemsize)).from_address(address), np.uint8).view(kind)
        strides = tuple([kind.itemsize * each for each in (apart, 1, lead)])
        return np.lib.stride_tricks.as_strided(flat, (batch, rows, columns), strides)

    def stamp(self, allocation: Allocation, firsts: np.ndarray, size: int, writes: bool) -> None:
        """See that elements were written to, or note that they are."""
        places = (firsts[:, None] + np.arange(size)).ravel()
        if writes:
            allocation.shadow[places, 0] = 1
        elif not allocation.shadow[places, 0].all():
            raise KernelError(f"{self.library.name}: reads memory that nobody has written, in {named(allocation)}.")
