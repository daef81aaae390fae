"""Blocks of a GPU that other streams have used, until these are done: NOTE [Blocks of other streams] of native/heaps.py."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..base.errors import KernelError
from ..base.locks import new_rlock
from ..kernels.cuda.driver import Card
from ..native.handle import native
from ..native.heaps import NEXT, SHARED
from .choices import StreamOfCard

__all__ = ["Waiting", "MOST_BITS"]

MOST_BITS = 62  # streams with a bit of their own; all others share the next


class Group(NamedTuple):
    """Blocks that wait for the same events.

    Attributes:
        events: those that may not have been reached.
        give_back: puts them into their lists.
    """

    events: list[int]
    give_back: Callable[[], None]


class Waiting:
    """The blocks of one GPU that wait.

    Args:
        streams: all of the GPU, in the order of their bits; grows.
    """

    def __init__(self, card: Card, heap: Any, streams: list[StreamOfCard]):
        self.card, self.heap, self.streams = card, heap, streams
        self.lock, self.groups = new_rlock(), list[Group]()
        self.plain: list[tuple[int, Callable[[], None]]] = []  # where native code is off: bits, and what gives a block back

    def poll(self) -> bool:
        """Let blocks wait that were freed, and give those back that need not wait any longer; whether there were some."""
        with self.lock:
            self.begin()
            groups, self.groups = self.groups, []  # what is called here may free more, and ask for memory
            left = [group for group in groups if not self.is_over(group)]
            self.groups += left
            return len(left) < len(groups)

    def finish(self) -> None:
        """Wait for all of them, and give them back."""
        with self.lock:
            self.begin()
            while self.groups:
                group = self.groups.pop()
                while group.events:
                    self.card.wait_for(group.events[-1])
                    self.card.give_event(group.events.pop())
                group.give_back()

    def is_over(self, group: Group) -> bool:
        """Whether what a group waits for is done; it is given back then."""
        while group.events:
            if not self.card.is_reached(group.events[-1]):
                return False
            self.card.give_event(group.events.pop())
        group.give_back()
        return True

    def begin(self) -> None:
        """Record the events that what was freed since has to wait for."""
        freed: dict[int, list[Callable[[], None]]] = {}
        if native.entries is not None:
            block = native.take_waiting(self.heap)
            while block:
                mask = ctypes.c_int64.from_address(block + SHARED).value
                freed.setdefault(mask, []).append(lambda block=block: native.free_block(block))  # type: ignore[misc]
                block = ctypes.c_int64.from_address(block + NEXT).value
        while self.plain:
            mask, give_back = self.plain.pop()
            freed.setdefault(mask, []).append(give_back)
        for mask, blocks in freed.items():
            self.groups.append(Group([event for stream in self.among(mask) for event in self.recorded(stream)], all_of(blocks)))

    def among(self, mask: int) -> Iterable[StreamOfCard]:
        """The streams of which these are the bits."""
        for k, stream in enumerate(self.streams):
            if mask >> min(k, MOST_BITS) & 1:
                yield stream

    def recorded(self, stream: StreamOfCard) -> list[int]:
        """An event behind what a stream has got so far; none where that is done, as of a stream that somebody else has ended."""
        event = self.card.take_event()
        try:
            self.card.record(event, stream.handle)
        except KernelError:
            self.card.give_event(event)
            self.card.finish()
            return []
        return [event]


def all_of(calls: list[Callable[[], None]]) -> Callable[[], None]:
    """A function that calls all of them."""

    def call() -> None:
        for each in calls:
            each()

    return call
