"""Copies, and memory that is set.

NOTE [Memory of the host]: pageable memory is read when the call is made, and the call that writes to it waits. Pinned memory is
read and written when the copy is done, so nobody may write to it before: each copy keeps what was there, and finds it changed. What
a copy will write to holds garbage until it is done, unless another one that is queued needs what is there.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import NamedTuple

from .....base.errors import KernelError
from ..guard import opened
from ..memory import GARBAGE, HOST, Allocation, named
from ..timeline import Stream
from . import codes
from .entries import Refused, entry
from .state import State

__all__ = ["Copies"]


class Span(NamedTuple):
    """One end of a copy; ``allocation``: where it lies, None in pageable memory of the host."""

    address: int
    nbytes: int
    allocation: Allocation | None

    @property
    def first(self) -> int:
        assert self.allocation is not None
        return self.address - self.allocation.address

    @property
    def is_pinned(self) -> bool:
        return self.allocation is not None and self.allocation.device == HOST

    @property
    def device(self) -> int:
        """Of the memory; ``HOST`` in the host's."""
        return HOST if self.allocation is None else self.allocation.device


class Held:
    """What pinned memory holds from when a copy is queued until it is done."""

    def __init__(self, span: Span):
        self.span, self.content = span, bytearray(ctypes.string_at(span.address, span.nbytes))

    def is_kept(self) -> bool:
        return ctypes.string_at(self.span.address, self.span.nbytes) == self.content

    def follow(self, span: Span) -> None:
        """A copy wrote to memory: that is no change by the host."""
        first = max(self.span.address, span.address)
        last = min(self.span.address + self.span.nbytes, span.address + span.nbytes)
        if first < last:
            self.content[first - self.span.address : last - self.span.address] = ctypes.string_at(first, last - first)


class Copies(State):
    """Entry points."""

    def span(self, address: int | None, nbytes: int) -> Span:
        """Memory that a call names.

        Raises:
            Refused: it lies in memory that was freed, or reaches beyond an allocation.
        """
        found = self.memory.find(address or 0)
        if not address or (found is None and self.memory.was_freed(address)):
            raise Refused(codes.INVALID_VALUE, f"{address or 0:#x} is no memory, or was freed")
        if found is not None and address + nbytes > found.address + found.nbytes:
            raise Refused(codes.INVALID_VALUE, f"{nbytes} bytes from byte {address - found.address} of {named(found)}")
        return Span(address, nbytes, found)

    def of_device(self, address: int | None, nbytes: int) -> Span:
        found = self.span(address, nbytes)
        if found.allocation is None:
            raise Refused(codes.INVALID_VALUE, f"{address:#x} is no memory of a device")
        return found

    # ---- copies ------------------------------------------------------------------------------------------------------------

    def copy(self, target: Span, source: Span, stream: Stream) -> None:
        """Queue a copy; wait for it if it ends in pageable memory."""
        if not target.nbytes:
            return
        pageable = target.allocation is None or source.allocation is None
        if pageable:
            self.refuse_captured(stream, "a copy from or to pageable memory on")
        if source.allocation is None:
            taken = ctypes.string_at(source.address, source.nbytes)
            self.submit(stream, lambda on: self.begin_copy(on, target, source, taken))
        else:
            self.submit(stream, lambda on: self.begin_copy(on, target, source))
        if target.allocation is None:
            self.wait(self.timeline.finish_stream, stream)
            self.check_fault(stream.device)

    def begin_copy(self, stream: Stream, target: Span, source: Span, taken: bytes | None = None) -> None:
        """Queue what was asked for, with what the host's memory holds now."""
        held = list[Held]()
        for span in (source, target):
            if span.is_pinned:
                assert span.allocation is not None
                if span is target and not span.allocation.copies:
                    ctypes.memset(span.address, GARBAGE, span.nbytes)
                held.append(Held(span))
                span.allocation.copies.append(held[-1])
        work = partial(self.do_copy, target, source, taken, held)
        work.settle = partial(self.let_go_of, held)  # type: ignore[attr-defined]
        self.timeline.queue(stream, work)

    def let_go_of(self, held: list[Held]) -> None:
        for each in held:
            assert each.span.allocation is not None
            each.span.allocation.copies.remove(each)

    def do_copy(self, target: Span, source: Span, taken: bytes | None, held: list[Held]) -> None:
        """The work itself.

        Raises:
            KernelError: memory was freed meanwhile, or changed by the host; nothing orders the copy behind what touched it.
        """
        self.let_go_of(held)
        stamps = None
        if source.allocation is not None:
            self.touch(source, False)
            if not source.is_pinned:
                stamps = source.allocation.shadow[source.first :][: source.nbytes, 0]
        if target.allocation is not None:
            self.touch(target, True)
        for each in held:
            if not each.is_kept():
                what = "a copy of it" if each.span is source else "a copy to it"
                raise KernelError(
                    f"copy: {each.span.nbytes} bytes of the host's memory were changed while {what} was queued. "
                    f"Hint: wait for the copy."
                )
        with opened():
            ctypes.memmove(target.address, source.address if taken is None else taken, target.nbytes)
        if target.allocation is not None:
            target.allocation.note_written(target.first, target.nbytes, None if target.is_pinned else stamps)
            for other in target.allocation.copies:
                other.follow(target)

    def touch(self, span: Span, writes: bool) -> None:
        """Note that the work which runs touches memory."""
        allocation = span.allocation
        assert allocation is not None and allocation.history is not None
        if not allocation.alive:
            raise KernelError(f"copy: {named(allocation)} was freed before {span.nbytes} bytes of it were copied.")
        self.timeline.touch(allocation.history, writes, allocation)

    @entry("ppnp")
    def cuMemcpyAsync(self, target, source, nbytes, handle):
        self.copy(self.span(target, nbytes), self.span(source, nbytes), self.stream(handle))

    @entry("ppn", unsafe=True)
    def cuMemcpy(self, target, source, nbytes):
        self.and_wait(self.span(target, nbytes), self.span(source, nbytes))

    @entry("ppnp")
    def cuMemcpyHtoDAsync(self, target, source, nbytes, stream):
        self.copy(self.of_device(target, nbytes), self.span(source, nbytes), self.stream(stream))

    @entry("ppnp")
    def cuMemcpyDtoHAsync(self, target, source, nbytes, stream):
        self.copy(self.span(target, nbytes), self.of_device(source, nbytes), self.stream(stream))

    @entry("ppnp")
    def cuMemcpyDtoDAsync(self, target, source, nbytes, stream):
        into, of, on = self.of_device(target, nbytes), self.of_device(source, nbytes), self.stream(stream)
        if HOST not in (into.device, of.device) and into.device != of.device and (into.device, of.device) not in self.peers:
            raise Refused(codes.INVALID_VALUE, "a copy between devices without access to each other. Hint: cuMemcpyPeerAsync.")
        self.copy(into, of, on)

    @entry("ppppnp")
    def cuMemcpyPeerAsync(self, target, into, source, of, nbytes, stream):
        spans = self.of_device(target, nbytes), self.of_device(source, nbytes)
        for span, context in zip(spans, (into, of)):
            if span.device != self.device_of(context):
                raise Refused(codes.INVALID_VALUE, f"{span.address:#x} is no memory of device {context - 1}")
        self.copy(*spans, self.stream(stream))

    @entry("ppn", unsafe=True)
    def cuMemcpyHtoD(self, target, source, nbytes):
        self.and_wait(self.of_device(target, nbytes), self.span(source, nbytes))

    @entry("ppn", unsafe=True)
    def cuMemcpyDtoH(self, target, source, nbytes):
        self.and_wait(self.span(target, nbytes), self.of_device(source, nbytes))

    def and_wait(self, target: Span, source: Span) -> None:
        """A copy on the default stream that is done when the call returns."""
        stream = self.stream(None)
        self.copy(target, source, stream)
        self.wait(self.timeline.finish_stream, stream)

    # ---- memory that is set ------------------------------------------------------------------------------------------------

    def set_memory(self, target: int, value: bytes, count: int, handle: int | None) -> None:
        """Queue the same value, again and again."""
        if target and target % len(value):
            raise Refused(codes.INVALID_VALUE, f"{target:#x} is no address of {len(value)} bytes")
        span, stream = self.of_device(target, len(value) * count), self.stream(handle)
        if count:
            self.enqueue(stream, lambda: self.do_set(span, value, count))

    def do_set(self, span: Span, value: bytes, count: int) -> None:
        self.touch(span, True)
        allocation = span.allocation
        assert allocation is not None
        with opened():
            if len(value) == 1:
                ctypes.memset(span.address, value[0], count)
            else:
                ctypes.memmove(span.address, value * count, span.nbytes)
        allocation.note_written(span.first, span.nbytes)
        for other in allocation.copies:
            other.follow(span)

    @entry("pcnp")
    def cuMemsetD8Async(self, target, value, count, stream):
        self.set_memory(target, bytes([value]), count, stream)

    @entry("phnp")
    def cuMemsetD16Async(self, target, value, count, stream):
        self.set_memory(target, value.to_bytes(2, "little"), count, stream)

    @entry("punp")
    def cuMemsetD32Async(self, target, value, count, stream):
        self.set_memory(target, value.to_bytes(4, "little"), count, stream)

    @entry("pcn", unsafe=True)
    def cuMemsetD8(self, target, value, count):
        self.set_memory(target, bytes([value]), count, None)

    @entry("pun", unsafe=True)
    def cuMemsetD32(self, target, value, count):
        self.set_memory(target, value.to_bytes(4, "little"), count, None)
