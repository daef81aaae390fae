"""The device meta, on which tensors have no elements.

NOTE [Meta]: to whatever plans, launches and moves, meta is one more GPU: layouts of meta have a heap, from which results get their
memory, and lowerings for a GPU say which results a call has. Three things are other. Memory is a number of bytes at no address. A
record has no steps, so that nothing is compiled, loaded or run (``device_record`` of dispatch/device_plans.py). What would copy the
elements to a host, or to a GPU, finds none and raises.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..base.errors import NotSupportedError
from ..base.locks import cached_once
from ..base.user_stack import frames_below_user
from ..native.device_memory import PlainMemory
from ..native.handle import native
from ..native.heaps import CLASSES
from .choices import StreamOfCard
from .heap_words import memory_type, new_heap
from .stops import name_of

__all__ = ["HeapOfMeta", "meta_heap", "no_elements"]


def no_elements(op: str | None = None) -> NotSupportedError:
    """The error of what asks for elements; ``op``: whose, the public function that the program has called unless it is said."""
    return NotSupportedError(
        f"{op or name_of(frames_below_user())}: Cannot copy out of meta tensor; no data! Elements are asked for, and on the device "
        "meta there are none. Hint: nbgrad.empty_like(x, device='cpu'), or module.to_empty(device='cpu'), makes memory for them."
    )


class NoCard:
    """What stands in the place of a GPU: it takes all that is copied to it, and has nothing to give."""

    def upload(self, address: int, array: np.ndarray, stream: int) -> None:
        """Copy an array to the device: nothing is kept of it."""

    def download(self, array: np.ndarray, address: int, stream: int) -> None:
        """Copy from the device.

        Raises:
            NotSupportedError: always.
        """
        raise no_elements()

    may_stop = ask_guard = lambda self, what: None
    copy = lambda self, to, address, nbytes, stream: None
    wait = lambda self, stream, known=False: None
    settle = lambda self, stream: None


class HeapOfMeta:
    """Memory without elements, in the place of a ``HeapOfCard``.

    Attributes:
        card: takes copies; ``heap``, ``request``: what gives memory.
        default: the one stream that there is.
    """

    def __init__(self) -> None:
        self.card = NoCard()
        self.lists = (ctypes.c_int64 * CLASSES)()  # always empty, so that each request is asked for
        self.default = StreamOfCard(-1, 0, 0, ctypes.addressof(self.lists), True)
        self.words, self.heap, self.request = new_heap(self.ask, PlainMemory.nowhere, self.enter, lambda x, written: None)

    def ask(self, nbytes: int) -> Any:
        """Memory at no address."""
        return native.adopt(memory_type(), 0, nbytes)

    def enter(self) -> None:
        """Write down where this thread's lists are: they are those of all threads."""
        native.choose_stream(self.heap, 0, self.default.lists, 0, False)

    def current(self) -> StreamOfCard:
        """The one stream that there is."""
        return self.default

    def stream(self) -> int:
        """Its handle."""
        return 0


@cached_once
def meta_heap() -> HeapOfMeta:
    """The heap of the device."""
    return HeapOfMeta()
