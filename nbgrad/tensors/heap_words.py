"""What every heap is made of: the words that native code reads, and the type of the memory that it gives."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from ..base.locks import cached_once
from ..native import heaps
from ..native.device_memory import PlainMemory, device_memory_type
from ..native.handle import native
from ..native.heaps import HEAP_WORDS, Heap
from ..native.objects import BYTES_ITEMS

__all__ = ["HeapWords", "memory_type", "new_heap"]


class HeapWords(NamedTuple):
    """A heap that native code asks for memory.

    Attributes:
        words: NOTE [Heap words] of native/heaps.py.
        heap: what layouts have as their ``memory``.
        request: ``request(bytes)``, memory.
    """

    words: Any
    heap: Heap
    request: Callable[[int], Any]


def new_heap(ask: Callable, ask_plainly: Callable, enter: Callable, seen: Callable) -> HeapWords:
    """A heap whose words nobody has filled in; see ``Heap``.

    Args:
        ask_plainly: ``ask`` where native code is off.
    """
    compiled = native.entries is not None
    if compiled:
        held: Any = bytes(8 * HEAP_WORDS)
        words = (ctypes.c_int64 * HEAP_WORDS).from_address(id(held) + BYTES_ITEMS)
    else:
        words = held = (ctypes.c_int64 * HEAP_WORDS)()
    words[heaps.THREAD] = -1
    heap = Heap(held, memory_type() if compiled else PlainMemory, ask if compiled else ask_plainly, enter, seen)
    return HeapWords(words, heap, native.requester(heap) if compiled else heap.request)


@cached_once
def memory_type() -> type:
    """The type DeviceMemory."""
    return device_memory_type(native.entries["device_memory_free"])
