"""What was queued on the streams of the emulated device, and when it is done: at the last moment, in any order that is allowed.

Work waits until somebody waits for it. Then a seeded generator picks among the streams whose next piece of work may begin, again
and again: what a program did not order happens in another order in another run, and what it ordered never does.

NOTE [Clocks]: whatever the order was, work that touches memory must be ordered behind what touched it before, if one of both
writes. Each stream has a clock: how far, of each stream, the work lies that is ordered before its next piece. A mark takes the
clock of its stream along to whoever waits for it, the host gives its own to what it queues. Memory knows who wrote it last, and who
has read it since: a stream and its time. Source: Lamport 1978; Fidge 1988; Mattern 1989.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

from ....base.errors import KernelError

__all__ = ["Event", "History", "Mark", "Stream", "Timeline", "merge"]

Clock = dict[int, int]  # by the number of a stream


def merge(clock: Clock, other: Clock) -> None:
    """Let a clock know what another one knows."""
    for stream, time in other.items():
        if time > clock.get(stream, 0):
            clock[stream] = time


class Mark:
    """A point of a stream. ``reached``: whether all work before it is done; ``clock``: what that is."""

    __slots__ = ("reached", "clock")

    def __init__(self) -> None:
        self.reached, self.clock = False, Clock()

    def reach(self, clock: Clock) -> None:
        self.reached, self.clock = True, dict(clock)


class History:
    """Who touched memory: the stream that wrote it last, and those that have read it since, each with its time."""

    __slots__ = ("writer", "readers")

    def __init__(self) -> None:
        self.writer: tuple[int, int] | None = None
        self.readers = Clock()


class Event:
    """What a program records and waits for.

    Attributes:
        mark: where it was recorded last; None if it never was.
        timed: whether it can tell times; ``reached_at``: how much work was done before it.
    """

    def __init__(self, timed: bool):
        self.mark: Mark | None = None
        self.timed, self.reached_at = timed, 0


class Stream:
    """A queue of work.

    Attributes:
        blocking: whether it waits for the device's default stream, and that one for it.
        queue: pieces of work, each with the host's clock, and marks to wait for.
        clock: NOTE [Clocks]; ``number``: its own in it.
    """

    def __init__(self, device: int, blocking: bool = True, priority: int = 0):
        self.device, self.blocking, self.priority = device, blocking, priority
        self.queue: deque[tuple[Callable[[], None], Clock] | Mark] = deque()
        self.clock, self.number = Clock(), 0


class Timeline:
    """All streams of all devices.

    Args:
        seed: of the order.
    """

    def __init__(self, seed: int = 0):
        self.random, self.done = random.Random(seed), 0
        self.streams: list[Stream] = []
        self.defaults: dict[int, Stream] = {}
        self.host, self.made = Clock(), 0
        self.running: Stream | None = None

    def add(self, stream: Stream) -> Stream:
        self.made += 1
        stream.number = self.made
        self.streams.append(stream)
        return stream

    def default(self, device: int) -> Stream:
        """The stream of a device that orders itself with all blocking ones."""
        if device not in self.defaults:
            self.defaults[device] = self.add(Stream(device))
        return self.defaults[device]

    # ---- queueing ------------------------------------------------------------------------------------------------------

    def queue(self, stream: Stream, work: Callable[[], None]) -> None:
        """Let a stream do something behind what it has to do already."""
        self.order(stream)
        stream.queue.append((work, dict(self.host)))

    def order(self, stream: Stream) -> None:
        """Let a stream wait for the default one, or that one for the others."""
        default = self.default(stream.device)
        if stream is default:
            others = [each for each in self.streams if each is not stream and each.device == stream.device and each.blocking]
        else:
            others = [default] if stream.blocking else []
        for each in others:
            if each.queue:
                stream.queue.append(self.mark(each))

    def mark(self, stream: Stream) -> Mark:
        """The point behind what a stream has to do."""
        made = Mark()
        stream.queue.append((lambda: made.reach(stream.clock), {}))
        return made

    def record(self, stream: Stream, event: Event) -> None:
        """Let an event mean this point of a stream."""
        self.order(stream)
        made = event.mark = Mark()

        def reach() -> None:
            made.reach(stream.clock)
            event.reached_at = self.done

        stream.queue.append((reach, {}))

    def wait(self, stream: Stream, event: Event) -> None:
        """Let a stream wait for where an event was recorded last; if it never was, for nothing."""
        self.order(stream)
        if event.mark is not None:
            stream.queue.append(event.mark)

    # ---- doing ---------------------------------------------------------------------------------------------------------

    def finish(self, is_done: Callable[[], bool]) -> None:
        """Do work until something is so.

        Raises:
            KernelError: whatever a piece of work raises; streams wait for each other.
        """
        while not is_done():
            ready = [each for each in self.streams if each.queue and self.may_begin(each)]
            if not ready:
                raise KernelError("emulated device: streams wait for each other.")
            stream = self.random.choice(ready)
            first = stream.queue.popleft()
            if isinstance(first, Mark):
                merge(stream.clock, first.clock)
                continue
            work, host = first
            merge(stream.clock, host)
            stream.clock[stream.number] = stream.clock.get(stream.number, 0) + 1
            self.running = stream
            try:
                work()
            finally:
                self.running = None
            self.done += 1

    @staticmethod
    def may_begin(stream: Stream) -> bool:
        """Whether nothing is to be waited for."""
        first = stream.queue[0]
        return not isinstance(first, Mark) or first.reached

    def finish_stream(self, stream: Stream) -> None:
        """Do what a stream has to do."""
        self.order(stream)
        self.finish(lambda: not stream.queue)
        merge(self.host, stream.clock)

    def finish_event(self, event: Event) -> None:
        """Do what is before an event."""
        mark = event.mark
        if mark is not None:
            self.finish(lambda: mark.reached)
            merge(self.host, mark.clock)

    def finish_device(self, device: int) -> None:
        """Do all that a device has to do."""
        own = [each for each in self.streams if each.device == device]
        self.finish(lambda: not any(each.queue for each in own))
        for each in own:
            merge(self.host, each.clock)

    # ---- memory --------------------------------------------------------------------------------------------------------

    def touch(self, history: History, writes: bool, what: str) -> None:
        """Note that the work which runs, or the host, touches memory.

        Args:
            what: of the memory, in words.

        Raises:
            KernelError: nothing orders it behind what touched the memory before.
        """
        clock = self.host if self.running is None else self.running.clock
        before = [history.writer] if history.writer else []
        before += history.readers.items() if writes else ()
        for stream, time in before:
            if time > clock.get(stream, 0):
                now = "the host" if self.running is None else f"stream {self.running.number}"
                did = "wrote" if (stream, time) == history.writer else "read"
                raise KernelError(
                    f"emulated device: {now} {'writes' if writes else 'reads'} {what}, which stream {stream} {did}, and does not "
                    f"wait for it. Hint: wait for an event of that stream, or for the stream."
                )
        if self.running is None:
            return  # what the host did is before all that it queues later
        number = self.running.number
        if writes:
            history.writer, history.readers = (number, clock[number]), {}
        else:
            history.readers[number] = clock[number]
