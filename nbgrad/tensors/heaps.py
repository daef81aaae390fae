"""The heaps of GPUs: who gives memory to tensors there, and what native code asks for it.

Loaded for the first layout of a GPU.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from ..base.errors import DeviceError, KernelError, OutOfMemoryError
from ..base.locks import cached_once
from ..kernels.cuda.driver import Card, Exhausted, card, function_address
from ..native import heaps
from ..native.device_memory import PlainMemory
from ..native.handle import native
from ..native.heaps import CLASSES, Heap, class_bytes
from .choices import StreamOfCard, begun, captures, current, opened, when_used
from .heap_words import new_heap
from .meta import HeapOfMeta, meta_heap
from .storage import META, Device
from .stream_blocks import MOST_BITS, Waiting

__all__ = ["HeapOfCard", "current_index", "heap_at", "heap_of", "heap_on", "opened", "use_on"]


def current_index() -> int:
    """The number of this thread's current GPU."""
    return current.index


class HeapOfCard:
    """The memory of one GPU, with what native code does not do.

    Attributes:
        card: the GPU.
        heap: NOTE [Heap words] of native/heaps.py.
        words: its words.
        streams: all that were used, in the order of their bits; ``default``: the first of them.
        waiting: blocks that other streams have used.
        reserved, most_reserved: bytes that the driver has given, now and at most; ``segments``: in how many pieces;
            ``given``: in how many so far.
        limit: bytes that the process may have of the GPU; None: all.
        retries, failures: how often memory was asked for again after all that was kept went back, and how often in vain.
    """

    def __init__(self, index: int):
        self.card: Card = card(index)
        self.index, self.lists = index, dict[int, Any]()
        self.streams, self.known = list[StreamOfCard](), dict[int, StreamOfCard]()
        self.words, self.heap, self.request = new_heap(self.ask, self.ask_plainly, self.enter, self.seen)
        self.words[heaps.CONTEXT] = self.card.context
        self.words[heaps.ERRORS] = self.card.errors
        self.words[heaps.LAUNCH] = function_address("cuLaunchKernel")
        self.words[heaps.SET_CONTEXT] = function_address("cuCtxSetCurrent")
        self.freed: dict[tuple[int, int, int], list[int]] = {}  # of plain memory, by stream, lists and size
        self.retired: list[Any] = []  # lists of captures that are over
        self.default = self.stream_of(self.card.stream.handle)
        self.waiting = Waiting(self.card, self.heap, self.streams)
        self.reserved = self.most_reserved = self.segments = self.given = self.retries = self.failures = 0
        self.limit: int | None = None

    # ---- what native code asks -----------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Write down this thread's current stream.

        Raises:
            DeviceError: the process was forked from the one that has opened the GPU.
        """
        self.card.require_process()
        stream = self.current()
        native.choose_stream(self.heap, stream.handle, stream.lists, stream.bit if begun() else 0, current.capture is not None)

    def current(self) -> StreamOfCard:
        """This thread's current stream."""
        stream = current.choice.of.get(self.index) or self.default
        return stream if current.capture is None else current.capture.private(self, stream)

    def seen(self, x: Any, written: bool) -> None:
        """A launch of a capture uses a tensor."""
        current.capture.note(x, written)

    def stream(self) -> int:
        """Its handle."""
        return self.current().handle

    def stream_of(self, handle: Any) -> StreamOfCard:
        """The stream of a handle."""
        found = self.known.get(int(handle))
        if found is None:
            lists = (ctypes.c_int64 * CLASSES)()
            bit = 1 << min(len(self.streams), MOST_BITS)
            made = StreamOfCard(self.index, int(handle), bit, ctypes.addressof(lists), not self.streams)
            found = self.known.setdefault(made.handle, made)
            if found is made:
                self.lists[made.handle] = lists
                self.streams.append(made)
        return found

    def ask(self, nbytes: int) -> Any:
        """Memory that no list could give, from the driver."""
        if begun() and not captures and self.waiting.poll():
            return self.request(nbytes)
        size, stream = class_bytes(nbytes), self.current()
        asker, self.words[heaps.ASKER] = self.words[heaps.ASKER], 0
        address = self.from_driver(size, nbytes, self.giving(stream), asker)
        return native.take(self.heap, address, size, nbytes, stream.lists)

    def giving(self, stream: StreamOfCard) -> int:
        """The stream for which the driver is asked: a capture gets memory that is there already, and no part of it."""
        return self.default.handle if current.capture is not None else stream.handle

    def from_driver(self, size: int, nbytes: int, stream: int, asker: int) -> int:
        """A block from the driver; if it has none, after everything that is kept went back to it.

        Args:
            size, nbytes: of the block, and those that were asked for.
            asker: where the plan is for whose result, or workspace, it is; or 0.

        Raises:
            OutOfMemoryError: there is none even then.
        """
        kept = 0
        for last in (False, True):
            try:
                if self.limit is not None and self.reserved + size > self.limit:
                    raise Exhausted
                address = self.card.allocate(size, stream)
                self.reserved += size
                self.segments += 1
                self.given += 1
                self.most_reserved = max(self.most_reserved, self.reserved)
                return address
            except Exhausted:
                kept = self.reserved - self.words[heaps.USED]
                if last or captures:
                    break
                self.release()
                self.retries += 1
        self.failures += 1
        raise self.exhausted(nbytes, kept, asker)

    def exhausted(self, nbytes: int, kept: int, asker: int) -> OutOfMemoryError:
        """The error of a request that cannot be met."""
        free, total = self.card.room()
        room = f"{free} of {total} are free" if self.limit is None else f"the process may have {self.limit}"
        return OutOfMemoryError(
            f"{name_of(asker)}: {nbytes} bytes on cuda:{self.index} are not to be had: tensors have {self.words[heaps.ASKED]} "
            f"bytes, {kept} were kept for new ones and have been given back, {room}. "
            "Hint: smaller batches, nbgrad.checkpoint, or del of what is not needed."
        )

    def release(self) -> int:
        """Give what the lists keep back to the driver; how many blocks that were."""
        before = self.segments
        self.waiting.finish()
        for stream, lists in (*tuple(self.lists.items()), *((self.default.handle, each) for each in self.retired)):
            freed_on = self.settle(stream)
            for k in range(CLASSES):
                while address := native.drop_block(ctypes.addressof(lists) + 8 * k):
                    self.give_back(address, freed_on)
        for (stream, _, _), addresses in tuple(self.freed.items()):
            while addresses:
                freed_on = self.settle(stream)
                self.give_back(addresses.pop(), freed_on)
        for stream in tuple(self.lists):
            self.settle(stream)  # what was freed there is free then
        self.card.trim()
        return before - self.segments

    def settle(self, stream: int) -> int:
        """Wait until a stream has nothing to do; where its memory can be freed then.

        Of one that somebody else has ended, all of the GPU is waited for, and the default stream takes its place.
        """
        try:
            self.card.settle(stream)
        except KernelError:
            self.card.finish()
            return self.default.handle
        return stream

    def give_back(self, address: int, stream: int) -> None:
        """Give a block back to the driver, behind what a stream has got to do."""
        self.reserved -= self.card.release(address, stream)
        self.segments -= 1

    # ---- where native code is off --------------------------------------------------------------------------------------

    def ask_plainly(self, nbytes: int) -> PlainMemory:
        """Memory, in Python."""
        self.enter()
        size, stream = class_bytes(nbytes), self.current()
        if begun() and not captures:
            self.waiting.poll()
        kept = self.freed.setdefault((self.giving(stream), stream.lists, size), [])
        words = self.words
        asker, words[heaps.ASKER] = words[heaps.ASKER], 0
        words[heaps.REQUESTS] += 1
        words[heaps.MISSES] += not kept
        address = kept.pop() if kept else self.from_driver(size, nbytes, self.giving(stream), asker)
        words[heaps.USED] += size
        words[heaps.ASKED] += nbytes
        words[heaps.ASKED_EVER] += nbytes
        words[heaps.PEAK] = max(words[heaps.PEAK], words[heaps.USED])
        words[heaps.PEAK_ASKED] = max(words[heaps.PEAK_ASKED], words[heaps.ASKED])
        words[heaps.BLOCKS] += 1

        def free(memory: PlainMemory) -> None:
            words[heaps.USED] -= size
            words[heaps.ASKED] -= nbytes
            words[heaps.BLOCKS] -= 1
            if memory.shared:
                self.waiting.plain.append((memory.shared, lambda: kept.append(address)))
            else:
                kept.append(address)

        return PlainMemory(address, nbytes, size, free=free, lists=stream.lists)


def name_of(asker: int) -> str:
    """What a plan computes, for an error; see ``from_driver``."""
    plan = ctypes.cast(asker, ctypes.py_object).value if asker else None
    op = getattr(plan, "op", None)
    if op is not None:
        return str(op.public)
    refused = getattr(getattr(plan, "record", None), "refused", None)
    return "cuda" if refused is None else str(refused.args[0].steps[-1].name)


@cached_once
def heap_on(index: int) -> HeapOfCard:
    """The heap of a GPU by its number.

    Raises:
        DeviceError: there is no such GPU.
    """
    found = HeapOfCard(index)
    opened.append(found)
    return found


def enter_all() -> None:
    """Let launches note which stream uses which memory."""
    for heap in opened:
        heap.words[heaps.THREAD] = -1


when_used.append(enter_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=enter_all)  # where ``enter`` refuses


def use_on(x: Any, stream: StreamOfCard) -> None:
    """Note that a stream uses a tensor's memory, which is not given to another one before that is done."""
    native.note_use(x._storage_.array, stream.lists, stream.bit)


def heap_at(device: Device) -> HeapOfCard | HeapOfMeta:
    """The heap of a device that is not the CPU.

    Raises:
        DeviceError: there is no such GPU; it has no number.
    """
    if device is META:
        return meta_heap()
    if device.index is None:
        raise DeviceError(f"cuda: a tensor is on a GPU with a number, got {device}.")
    return heap_on(device.index)


def heap_of(device: Device) -> Heap:
    """What layouts of a device have as their memory."""
    return heap_at(device).heap
