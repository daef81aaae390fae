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
        self.plain: list[tuple[int, Callable[[], None]]] = []  # of which native code has no list: bits, and what gives one back

    def poll(self) -> bool:
        """Let blocks wait that were freed, and give those back that need not wait any longer; whether there were some."""
        with self.lock:
            self.begin()
            groups, self.groups, left = self.groups, [], list[Group]()  # what is called here may free more, and ask for memory
            count = len(groups)
            try:
                while groups:
                    if not self.is_over(groups[0]):
                        left.append(groups[0])
                    del groups[0]
            finally:  # also where the driver refuses to say what is reached
                self.groups += left + groups
            return len(left) < count

    def finish(self) -> None:
        """Wait for all of them, and give them back."""
        with self.lock:
            self.begin()
            while self.groups:
                group = self.groups[-1]
                while group.events:
                    self.card.wait_for(group.events[-1])
                    self.card.give_event(group.events.pop())
                self.groups.remove(group)
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
        """Record the events that what was freed since has to wait for.

        Raises:
            KernelError: the driver refuses that; nothing is lost.
        """
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
        try:
            for mask in tuple(freed):
                events = [event for stream in self.among(mask) for event in self.recorded(stream)]
                self.groups.append(Group(events, all_of(freed.pop(mask))))
        finally:
            self.plain += [(mask, give_back) for mask, blocks in freed.items() for give_back in blocks]

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
