"""What was queued on the streams of the emulated device, and when it is done: at the last moment, in any order that is allowed.

Work waits until somebody waits for it. Then a seeded generator picks among the streams whose next piece of work may begin, again
and again: what a program did not order happens in another order in another run, and what it ordered never does.

NOTE [Clocks]: whatever the order was, work that touches memory must be ordered behind what touched it before, if one of both
writes. A piece of work has a time, the how-manieth of its stream it is, and a clock: how far, of each other stream, the work lies
that is ordered before it. Both are known when it is queued. A mark takes the clock of its stream along to whoever waits for it, the
host gives its own to what it queues. Memory knows who wrote it last, and who has read it since: a stream and its time. A clock is
never changed, but replaced, so that any number of pieces share one. Source: Lamport 1978; Fidge 1988; Mattern 1989.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

from ....base.errors import KernelError

__all__ = ["Event", "History", "Mark", "Stream", "Timeline"]

Clock = dict[int, int]  # by the number of a stream
Work = Callable[[], None]
LONGEST = 1024  # pieces that a stream keeps: with more of them some are done at once, as a GPU would have done them


def joined(clock: Clock, other: Clock) -> Clock:
    """What is known to one who knows two clocks; the first itself if the second adds nothing."""
    news = {stream: time for stream, time in other.items() if time > clock.get(stream, 0)}
    return {**clock, **news} if news else clock


class Mark:
    """A point of a stream. ``reached``: whether all work before it is done; ``clock``: what that is."""

    __slots__ = ("reached", "clock", "event")

    def __init__(self, clock: Clock, event: Event | None = None):
        self.reached, self.clock, self.event = False, clock, event


class History:
    """Who touched memory: the stream that wrote it last, or was given it, and who has read or changed it since, and when."""

    __slots__ = ("writer", "readers", "changers", "fresh")

    def __init__(self) -> None:
        self.writer: tuple[int, int] | None = None
        self.readers = Clock()
        self.changers = Clock()
        self.fresh = False  # given to the writer, who has not written to it


class Event:
    """What a program records and waits for.

    Attributes:
        mark: where it was recorded last; None if it never was.
        timed: whether it can tell times; ``reached_at``: how much work was done before it.
        device: whose streams record it.
        captured: what the driver knows of it when it was recorded in a capture.
    """

    def __init__(self, timed: bool, device: int = 0):
        self.mark: Mark | None = None
        self.timed, self.reached_at, self.device = timed, 0, device
        self.captured: object = None


class Stream:
    """A queue of work.

    Attributes:
        blocking: whether it waits for the device's default stream, and that one for it.
        queue: pieces of work with their clocks and times, marks to reach, and marks to wait for: those are of other streams.
        known: what is ordered before its next piece, of other streams; ``issued``: how many pieces it was given.
        number: its own in clocks.
        capture: what the driver keeps of a capture that it is in.
    """

    def __init__(self, device: int, blocking: bool = True, priority: int = 0):
        self.device, self.blocking, self.priority = device, blocking, priority
        self.queue: deque[tuple[Work, Clock, int] | tuple[Mark] | Mark] = deque()
        self.known, self.seen = Clock(), Clock()
        self.number, self.issued, self.ended = 0, 0, False
        self.capture: object = None

    @property
    def clock(self) -> Clock:
        """What is ordered before its next piece, its own work included."""
        return {**self.known, self.number: self.issued}

    def learn(self, clock: Clock) -> None:
        self.known = joined(self.known, clock)


class Timeline:
    """All streams of all devices.

    Args:
        seed: of the order.
    """

    def __init__(self, seed: int = 0):
        self.random, self.done = random.Random(seed), 0
        self.streams: list[Stream] = []
        self.busy: list[Stream] = []  # those with something in their queues
        self.defaults: dict[int, Stream] = {}
        self.host, self.made = Clock(), 0
        self.gone: list[Stream] = []  # of which the host does not know all
        self.spare: list[tuple[int, int]] = []  # numbers of streams that are gone, of which the host knows all
        self.running: tuple[Stream, Clock, int] | None = None
        self.failed: int | None = None  # device of the work that raised

    def add(self, stream: Stream) -> Stream:
        if self.spare:
            stream.number, stream.issued = self.spare.pop()
        else:
            self.made += 1
            stream.number = self.made
        self.streams.append(stream)
        return stream

    def remove(self, stream: Stream) -> None:
        """Let a stream go, as soon as it has nothing to do."""
        self.streams.remove(stream)
        self.gone.append(stream)
        stream.ended = True
        if not stream.queue:
            self.recycle(stream)

    def recycle(self, stream: Stream) -> None:
        if self.host.get(stream.number, 0) >= stream.issued:  # whatever is queued from now on is ordered behind it anyway
            self.gone.remove(stream)
            self.spare.append((stream.number, stream.issued))

    def default(self, device: int) -> Stream:
        """The stream of a device that orders itself with all blocking ones."""
        if device not in self.defaults:
            self.defaults[device] = self.add(Stream(device))
        return self.defaults[device]

    # ---- queueing ------------------------------------------------------------------------------------------------------

    def queue(self, stream: Stream, work: Work) -> None:
        """Let a stream do something behind what it has to do already."""
        self.order(stream)
        stream.issued += 1
        self.append(stream, (work, stream.known, stream.issued))
        if len(stream.queue) > LONGEST:
            self.finish(lambda: len(stream.queue) <= LONGEST // 2)

    def append(self, stream: Stream, piece: tuple[Work, Clock, int] | tuple[Mark] | Mark) -> None:
        if not stream.queue:
            self.busy.append(stream)
        stream.queue.append(piece)

    def order(self, stream: Stream) -> None:
        """Let a stream know what the host knows, and wait for the default one, or that one for the others."""
        if stream.seen is not self.host:
            stream.seen = self.host
            stream.learn(self.host)
        default = self.default(stream.device)
        if stream is default:
            others = [each for each in self.streams if each is not stream and each.device == stream.device and each.blocking]
        else:
            others = [default] if stream.blocking else []
        for each in others:
            if each.queue:
                self.wait_for(stream, self.mark(each))
            elif each.issued > stream.known.get(each.number, 0):
                stream.learn(each.clock)

    def mark(self, stream: Stream) -> Mark:
        """The point behind what a stream has to do."""
        made = Mark(stream.clock)
        self.append(stream, (made,))
        return made

    def wait_for(self, stream: Stream, mark: Mark) -> None:
        """Let a stream wait for a point of another one."""
        stream.learn(mark.clock)
        if not mark.reached:
            self.append(stream, mark)

    def record(self, stream: Stream, event: Event) -> None:
        """Let an event mean this point of a stream."""
        self.order(stream)
        event.mark = Mark(stream.clock, event)
        self.append(stream, (event.mark,))

    def wait(self, stream: Stream, event: Event) -> None:
        """Let a stream wait for where an event was recorded last; if it never was, for nothing."""
        self.order(stream)
        if event.mark is not None:
            self.wait_for(stream, event.mark)

    def give(self, stream: Stream, history: History) -> None:
        """Let memory be a stream's from here on: others wait for this point before they touch it."""
        self.order(stream)
        stream.issued += 1
        history.writer, history.fresh = (stream.number, stream.issued), True

    # ---- doing ---------------------------------------------------------------------------------------------------------

    def finish(self, is_done: Callable[[], bool]) -> None:
        """Do work until something is so.

        Raises:
            KernelError: whatever a piece of work raises; streams wait for each other.
        """
        while not is_done():
            if not self.step():
                raise KernelError("emulated device: streams wait for each other.")

    def step(self) -> bool:
        """Do one thing; whether there was any that may be done."""
        ready = [each for each in self.busy if self.may_begin(each)]
        if not ready:
            return False
        stream = ready[0] if len(ready) == 1 else self.random.choice(ready)
        first = stream.queue.popleft()
        if not stream.queue:
            self.busy.remove(stream)
            if stream.ended:
                self.recycle(stream)
        if isinstance(first, Mark):
            return True  # which is reached
        if len(first) == 1:
            self.reach(first[0])
            return True
        work, clock, time = first
        self.running = stream, clock, time
        try:
            work()
        except KernelError:
            self.failed = stream.device
            raise
        finally:
            self.running = None
        self.done += 1
        return True

    def go_on(self) -> None:
        """Do one thing, if any may be done."""
        self.step()

    def reach(self, mark: Mark) -> None:
        mark.reached = True
        if mark.event is not None:
            mark.event.reached_at = self.done

    @staticmethod
    def may_begin(stream: Stream) -> bool:
        """Whether nothing is to be waited for."""
        first = stream.queue[0]
        return not isinstance(first, Mark) or first.reached

    def abandon(self, device: int | None = None) -> None:
        """Forget what is queued, on one device or on all; of work that has a ``settle``, do that."""
        for stream in list(self.busy):
            if device is None or stream.device == device:
                while stream.queue:
                    self.drop(stream.queue.popleft())
                self.busy.remove(stream)

    def drop(self, piece: tuple[Work, Clock, int] | tuple[Mark] | Mark) -> None:
        """Forget a piece of what was queued: events are reached, and work is settled."""
        if isinstance(piece, Mark):
            return
        if len(piece) == 1:
            self.reach(piece[0])
        else:
            getattr(piece[0], "settle", int)()

    def finish_stream(self, stream: Stream) -> None:
        """Do what a stream has to do."""
        self.order(stream)
        self.finish(lambda: not stream.queue)
        self.know(stream.clock)

    def finish_event(self, event: Event) -> None:
        """Do what is before an event."""
        mark = event.mark
        if mark is not None:
            self.finish(lambda: mark.reached)
            self.know(mark.clock)

    def finish_device(self, device: int) -> None:
        """Do all that a device has to do."""
        self.finish(lambda: not any(each.device == device for each in self.busy))
        for each in (*self.streams, *self.gone):
            if each.device == device:
                self.know(each.clock)
                if each.ended:
                    self.recycle(each)

    def know(self, clock: Clock) -> None:
        """Let the host have seen that work is done."""
        self.host = joined(self.host, clock)

    # ---- memory --------------------------------------------------------------------------------------------------------

    def touch(self, history: History, writes: bool, what: object, changes: bool = False) -> None:
        """Note that the work which runs, or the host, touches memory.

        Args:
            what: the memory, for the message.
            changes: whether it does what may be done to memory by several at once, and by others that do the same.

        Raises:
            KernelError: nothing orders it behind what touched the memory before.
        """
        number, clock = (0, self.host) if self.running is None else (self.running[0].number, self.running[1])
        before = [history.writer] if history.writer else []
        before += history.readers.items() if writes or changes else ()
        before += history.changers.items() if writes or not changes else ()
        for stream, time in before:
            if stream != number and time > clock.get(stream, 0):
                now = f"stream {number}" if number else "the host"
                did = "read" if (stream, time) in history.readers.items() else "was given" if history.fresh else "wrote"
                raise KernelError(
                    f"emulated device: {now} {'writes' if writes or changes else 'reads'} {what}, which stream {stream} {did}, and "
                    f"does not wait for it. Hint: wait for an event of that stream, or for the stream."
                )
        if self.running is None:
            return  # what the host did is before all that it queues later
        time = self.running[2]
        if writes:
            history.writer, history.readers, history.changers, history.fresh = (number, time), {}, {}, False
        elif changes:
            history.changers[number] = time
        else:
            history.readers[number] = time
