"""The way back through a loop that kept some carries, as stretches of trips that native code runs: NOTE [Kept carries].

NOTE [Stretches]: which trips run again, and where their carries lie, is known before anything runs. So the way back is a list:
stretches ahead, from a carry that is there, which store the carry after each trip or after the last one; and stretches back, of
trips whose carries lie one behind the other. Carries that are computed again lie on a stack: a stretch ahead stores on top of it.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from ...tensors.layout import Layout
from .checkpoints import Binomial, Policy
from .loop_steps import Step
from .repeats import Move

__all__ = ["Ahead", "Back", "Rooms", "Where", "depth_of", "moves_of_stretch", "stretches"]


class Where(NamedTuple):
    """Where the carries before a trip lie: those of the loop ("first"), those that it kept ("kept") and on the stack ("stack") by
    number, or what a stretch has stored for the next one alone ("passing")."""

    rows: str
    k: int = 0


FIRST, PASSING = Where("first"), Where("passing")


class Ahead(NamedTuple):
    """Trips that run again.

    Attributes:
        trip: the first; ``trips``: how many.
        source: of its carries. target: of those behind the last trip; with ``every`` of those behind the first, where the others
            lie above.
    """

    trip: int
    trips: int
    source: Where
    target: Where
    every: bool = False


class Back(NamedTuple):
    """Trips of the cotangents.

    Attributes:
        trip: the first, and last in the order of the loop; ``trips``: how many.
        source: of its carries; those of the others lie below; ``last``: but for those of the last one.
    """

    trip: int
    trips: int
    source: Where
    last: Where | None = None


def stretches(policy: Policy, length: int, stops: Sequence[int]) -> Iterator[Ahead | Back]:
    """The way back of a loop that kept the carries before the trips of ``stops``."""
    assert policy is not None
    held = [(0, FIRST), *((trip, Where("kept", k)) for k, trip in enumerate(stops))]
    waiting: list[tuple[int, Where]] = []
    for trip in range(length - 1, -1, -1):
        while held[-1][0] > trip:
            held.pop()
        first, source = held[-1]
        if first < trip:
            yield from back_through(waiting)
            waiting = []
            slots = policy.slots - len(held) + 1 if isinstance(policy, Binomial) else 1
            top = source.k + 1 if source.rows == "stack" else 0
            stored = list(policy.stops(first, trip + 1 - first, slots))
            yield from ahead_through(first, source, stored, top)
            held += [(at, Where("stack", top + k)) for k, at in enumerate(stored)]
            first, source = held[-1]
            if first < trip:
                yield Ahead(first, trip - first, source, PASSING)
                source = PASSING
        waiting.append((trip, source))
    yield from back_through(waiting)


def ahead_through(first: int, source: Where, stored: list[int], top: int) -> Iterator[Ahead]:
    """From a trip to the last of those whose carries are stored: those that follow one another in one stretch."""
    k = 0
    while k < len(stored):
        count, target = 1, Where("stack", top + k)
        if stored[k] == first + 1:
            while k + count < len(stored) and stored[k + count] == stored[k] + count:
                count += 1
            yield Ahead(first, count, source, target, True)
        else:
            yield Ahead(first, stored[k] - first, source, target)
        k += count
        first, source = stored[k - 1], Where("stack", top + k - 1)


def back_through(waiting: list[tuple[int, Where]]) -> Iterator[Back]:
    """Through trips whose carries are there."""
    at = 0
    while at < len(waiting):
        end, (trip, source) = at + 1, waiting[at]
        while end < len(waiting) and waiting[end][1] == Where(source.rows, source.k - (end - at)):
            end += 1
        last = waiting[end][1] if end < len(waiting) else None
        end += last is not None
        yield Back(trip, end - at, source, last)
        at = end


def depth_of(found: Sequence[Ahead | Back]) -> int:
    """How many carries lie on the stack at most."""
    ends = [
        each.target.k + (each.trips if each.every else 1) for each in found if type(each) is Ahead and each.target.rows == "stack"
    ]
    return max(ends, default=0)


class Rooms(NamedTuple):
    """What the way back reads and writes: tensors, or places of a graph.

    Attributes:
        rows: by the words of ``Where``, what lies there.
        slices, whole: of the loop; ``bound``: what the step of the cotangents is bound to.
        starts, others: cotangents of the last carries with zeros for those of whole tensors, and of slices.
        even, odd: what goes on from trip to trip back, alternately; ``ahead``: the same of trips ahead, both.
        results: cotangents of slices.
        part: ``part(x, layout, k)``: a slice of a stack.
    """

    rows: Mapping[str, Sequence[Any]]
    slices: Sequence[Any]
    whole: Sequence[Any]
    bound: Sequence[Any]
    starts: Sequence[Any]
    others: Sequence[Any]
    even: Sequence[Any]
    odd: Sequence[Any]
    ahead: tuple[Sequence[Any], Sequence[Any]]
    results: Sequence[Any]
    part: Callable[[Any, Layout, int], Any]

    def at(self, where: Where, layouts: Sequence[Layout]) -> list[Any]:
        """The carries there."""
        rows = self.rows[where.rows]
        return list(rows) if where in (FIRST, PASSING) else [self.part(x, layout, where.k) for x, layout in zip(rows, layouts)]


def size_of(layout: Layout) -> int:
    """Bytes of a slice."""
    return layout.numel * layout.dtype.itemsize


def moves_of_stretch(each: Ahead | Back, made: Step, length: int, reverse: bool, rooms: Rooms) -> list[Move]:
    """Where the addresses of a stretch lie: of the results of its step, then of its operands.

    Args:
        made: the step that gives carries alone, or that of the cotangents.
        length, reverse: of the loop.
    """
    if isinstance(each, Ahead):
        return moves_ahead(each, made, length, reverse, rooms)
    return moves_back(each, made, length, reverse, rooms)


def moves_ahead(each: Ahead, made: Step, length: int, reverse: bool, rooms: Rooms) -> list[Move]:
    """See ``moves_of_stretch``."""
    n, m, layouts = made.carries, made.carries + made.slices, made.body.inputs()
    source = rooms.at(each.source, layouts)
    if each.every:
        rows, k = rooms.rows[each.target.rows], each.target.k
        moves = [Move(x, x, k * size_of(y), size_of(y)) for x, y in zip(rows, layouts)]
        moves += [Move(x, x, (k - 1) * size_of(y), size_of(y), c) for x, y, c in zip(rows, layouts, source)]
    else:
        target, (even, odd) = rooms.at(each.target, layouts), rooms.ahead
        moves = [Move(x, y, last=c) for x, y, c in zip(even, odd, target)]
        moves += [Move(y, x, first=c) for x, y, c in zip(even, odd, source)]
    place, step = (length - 1 - each.trip, -1) if reverse else (each.trip, 1)
    moves += [Move(x, x, place * size_of(y), step * size_of(y)) for x, y in zip(rooms.slices, layouts[n:m])]
    return moves + [Move(x, x) for x in rooms.whole]


def moves_back(each: Back, made: Step, length: int, reverse: bool, rooms: Rooms) -> list[Move]:
    """See ``moves_of_stretch``."""
    n, given, layouts = made.carries, made.body.layouts(), made.body.inputs()
    behind = length - 1 - each.trip  # trips that are done
    even, odd = (rooms.odd, rooms.even) if behind % 2 else (rooms.even, rooms.odd)
    place, step = (behind, 1) if reverse else (each.trip, -1)

    def along(x: Any, layout: Layout) -> Move:
        return Move(x, x, place * size_of(layout), step * size_of(layout))

    moves = [Move(x, y) for x, y in zip(even, odd)]
    moves += [along(x, y) for x, y in zip(rooms.results, given[n:])]
    moves += [Move(y, x, first=c) for x, y, c in zip(even, odd, rooms.starts if not behind else [None] * n)]
    rows, k = rooms.rows[each.source.rows], each.source.k
    last = [None] * len(rows) if each.last is None else rooms.at(each.last, layouts[n:])
    moves += [Move(x, x, k * size_of(y), -size_of(y), None, c) for x, y, c in zip(rows, layouts[n:], last)]
    rest = layouts[n + len(rows) :]
    moves += [along(x, y) for x, y in zip((*rooms.slices, *rooms.others), rest)]
    return moves + [Move(x, x) for x in (*rooms.whole, *rooms.bound)]
