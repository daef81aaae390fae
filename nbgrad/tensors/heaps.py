"""The heaps of GPUs: who gives memory to tensors there, and what native code asks for it.

Loaded for the first layout of a GPU.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

from ..base.errors import DeviceError, OutOfMemoryError
from ..kernels.cuda.driver import Card, Exhausted, card, function_address
from ..native import heaps
from ..native.device_memory import PlainMemory, device_memory_type
from ..native.handle import native
from ..native.heaps import CLASSES, HEAP_WORDS, Heap, class_bytes
from ..native.objects import BYTES_ITEMS
from .storage import Device

__all__ = ["HeapOfCard", "current_index", "heap_of", "heap_on"]


class Streams(threading.local):
    """What a thread has chosen."""

    index = 0  # the current GPU

    def __init__(self) -> None:
        self.of: dict[int, Any] = {}  # by GPU, the current stream, if it is not the default one


_current = Streams()


def current_index() -> int:
    """The number of this thread's current GPU."""
    return _current.index


class HeapOfCard:
    """The memory of one GPU, with what native code does not do.

    Attributes:
        card: the GPU.
        heap: NOTE [Heap words] of native/heaps.py.
        words: its words.
        lists: by stream, the heads of its lists.
    """

    def __init__(self, index: int):
        self.card: Card = card(index)
        self.index, self.lists = index, dict[int, Any]()
        compiled = native.entries is not None
        memory: Any
        if compiled:
            memory = bytes(8 * HEAP_WORDS)
            self.words = (ctypes.c_int64 * HEAP_WORDS).from_address(id(memory) + BYTES_ITEMS)
            kind = memory_type()
        else:
            self.words = memory = (ctypes.c_int64 * HEAP_WORDS)()
            kind = PlainMemory
        self.memory = memory
        self.words[heaps.THREAD] = -1
        self.words[heaps.CONTEXT] = self.card.context
        self.words[heaps.LAUNCH] = function_address("cuLaunchKernel")
        self.words[heaps.SET_CONTEXT] = function_address("cuCtxSetCurrent")
        self.heap = Heap(memory, kind, self.ask if compiled else self.ask_plainly, self.enter)
        self.request = native.requester(self.heap) if compiled else self.heap.request
        self.freed: dict[tuple[int, int], list[int]] = {}  # of plain memory, by stream and size

    # ---- what native code asks -----------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Write down this thread's current stream."""
        stream = self.stream()
        words = self.words
        words[heaps.STREAM], words[heaps.LISTS] = stream, self.lists_of(stream)
        words[heaps.THREAD] = threading_number()

    def lists_of(self, stream: int) -> int:
        """Where the lists of a stream are."""
        found = self.lists.get(stream)
        if found is None:
            found = self.lists[stream] = (ctypes.c_int64 * CLASSES)()
        return ctypes.addressof(found)

    def stream(self) -> int:
        """The handle of this thread's current stream."""
        chosen = _current.of.get(self.index)
        return int((self.card.stream if chosen is None else chosen).handle)

    def ask(self, nbytes: int) -> Any:
        """Memory that no list could give, from the driver."""
        size, stream = class_size(nbytes), self.stream()
        address = self.from_driver(size, stream)
        return native.take(self.heap, address, size, nbytes, self.lists_of(stream))

    def from_driver(self, size: int, stream: int) -> int:
        """A block from the driver; if it has none, after everything that is kept went back to it.

        Raises:
            OutOfMemoryError: there is none even then.
        """
        for last in (False, True):
            try:
                return self.card.allocate(size, stream)
            except Exhausted:
                if last or not self.release():
                    break
        words = self.words
        raise OutOfMemoryError(
            f"cuda: {size} bytes on cuda:{self.index}: the driver has no memory left; {words[heaps.ASKED]} bytes are in use by "
            f"tensors. Hint: smaller batches, checkpoint, or del of what is not needed."
        )

    def release(self) -> int:
        """Give what the lists keep back to the driver; how many blocks that were."""
        blocks = 0
        for stream, lists in self.lists.items():
            self.card.wait(stream)
            for k in range(CLASSES):
                while address := native.drop_block(ctypes.addressof(lists) + 8 * k):
                    self.card.release(address)
                    blocks += 1
        for (stream, _), addresses in self.freed.items():
            while addresses:
                self.card.wait(stream)
                self.card.release(addresses.pop())
                blocks += 1
        return blocks

    # ---- where native code is off --------------------------------------------------------------------------------------

    def ask_plainly(self, nbytes: int) -> PlainMemory:
        """Memory, in Python."""
        self.enter()
        size, stream = class_size(nbytes), self.stream()
        kept = self.freed.setdefault((stream, size), [])
        address = kept.pop() if kept else self.from_driver(size, stream)
        words = self.words
        words[heaps.USED] += size
        words[heaps.ASKED] += nbytes
        words[heaps.PEAK] = max(words[heaps.PEAK], words[heaps.USED])
        words[heaps.BLOCKS] += 1

        def free(memory: PlainMemory) -> None:
            words[heaps.USED] -= size
            words[heaps.ASKED] -= nbytes
            words[heaps.BLOCKS] -= 1
            kept.append(address)

        return PlainMemory(address, nbytes, size, free=free)


def class_size(nbytes: int) -> int:
    """Bytes of the block that a request gets."""
    return class_bytes(nbytes)


def threading_number() -> int:
    """This thread's number, as native code asks for it."""
    state = ctypes.pythonapi.PyThreadState_Get
    state.restype = ctypes.c_void_p
    number = ctypes.pythonapi.PyThreadState_GetID
    number.restype, number.argtypes = ctypes.c_uint64, [ctypes.c_void_p]
    return number(state())


@cache
def memory_type() -> type:
    """The type DeviceMemory."""
    return device_memory_type(native.entries["device_memory_free"])


@cache
def heap_on(index: int) -> HeapOfCard:
    """The heap of a GPU by its number.

    Raises:
        DeviceError: there is no such GPU.
    """
    return HeapOfCard(index)


def heap_of(device: Device) -> Heap:
    """What layouts of a device have as their memory."""
    if device.index is None:
        raise DeviceError(f"cuda: a tensor is on a GPU with a number, got {device}.")
    return heap_on(device.index).heap
