"""What GPUs do for a call: how long by events, how many launches and copies."""

from __future__ import annotations

from typing import Any

from ..native.heaps import LAUNCHES
from ..tensors.choices import current, opened

__all__ = ["Span", "Spent"]


class Spent:
    """What GPUs have done.

    Attributes:
        us: microseconds, from when streams came to the call to when they were done with it.
        launches, copies: how many.
    """

    __slots__ = ("us", "launches", "copies")

    def __init__(self, us: float = 0.0, launches: int = 0, copies: int = 0):
        self.us, self.launches, self.copies = us, launches, copies


NOTHING = Spent()


class Span:
    """A call on the GPUs that are in use when it begins: events on this thread's current streams, and counters."""

    __slots__ = ("begun", "ended")

    def __init__(self) -> None:
        self.begun = [] if current.capture is not None else [point_on(heap) for heap in opened]
        self.ended: list[tuple[Any, int, int, int]] = []

    def close(self) -> None:
        """The call ends."""
        if current.capture is None:
            self.ended = [point_on(heap) for heap, *_ in self.begun]

    def spent(self) -> Spent:
        """What was done meanwhile, when it is done. To be asked once."""
        if not self.begun or not self.ended:
            return NOTHING
        found = Spent()
        for (heap, first, launches, copies), (_, last, launched, copied) in zip(self.begun, self.ended):
            heap.card.wait_for(last)
            found.us += 1000 * heap.card.between(first, last)
            found.launches += launched - launches
            found.copies += copied - copies
            for event in (first, last):
                heap.card.give_event(event, 0)
        return found


def point_on(heap: Any) -> tuple[Any, int, int, int]:
    """A GPU, an event on its current stream, and how many launches and copies there were."""
    event = heap.card.take_event(0)  # one with a time
    heap.card.record(event, heap.stream())
    return heap, event, heap.words[LAUNCHES], heap.card.copies
