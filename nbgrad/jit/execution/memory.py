"""Where values lie that nobody sees outside of a graph: in one block, each from the step that writes it to its last reader."""

from __future__ import annotations

from bisect import insort
from typing import Iterable

from ...tensors.storage import CPU, Device
from ..ir.ir import Value
from ..ir.steps import Host, Place, Schedule

__all__ = ["ALIGNMENT", "Plan", "device_of", "plan_memory", "reads_of"]

ALIGNMENT = 64  # a line of the cache, and the widest vector
ALIGNMENT_ON_GPU = 512  # as memory of its own has it: libraries choose algorithms by that


class Plan:
    """Places in a block.

    Attributes:
        offsets: of each value, in bytes.
        size: of the block; ``rooms``: of what there is on each GPU where steps write.
    """

    __slots__ = ("offsets", "size", "rooms")

    def __init__(self, offsets: dict[Value, int], size: int, rooms: dict[Device, int]):
        self.offsets, self.size, self.rooms = offsets, size, rooms


def plan_memory(schedule: Schedule, seen: Iterable[Value], start: int = 0) -> Plan:
    """Give the values that launches write places, those of ``seen``, which have memory of their own, left out.

    A value takes the smallest gap that holds it; its own is free again behind the last step that reads it. What a launch writes
    never shares memory with what it reads.

    Args:
        start: the first offset that is free.
    """
    outside, last = set(seen), last_reads(schedule)
    spaces = {CPU: Gaps(start)}
    offsets: dict[Value, int] = {}
    for at, step in enumerate(schedule.steps):
        if isinstance(step, Host):
            outside.update(step.writes)
        for value in step.writes:
            gaps = spaces.setdefault(device_of(value), Gaps(0, ALIGNMENT_ON_GPU))
            if value not in outside and value not in offsets:
                offsets[value] = gaps.take(bytes_of(value, gaps.alignment))
        for value in {*step.writes, *(read for read in reads_of(step))}:
            if value in offsets and last.get(value, at) == at:
                gaps = spaces[device_of(value)]
                gaps.free(offsets[value], bytes_of(value, gaps.alignment))
    return Plan(offsets, spaces.pop(CPU).end, {device: gaps.end for device, gaps in spaces.items()})


def reads_of(step) -> Iterable[Value]:
    """The values whose memory a step reads."""
    if isinstance(step, Host):
        return [read.place.value for read in step.reads]
    return [read.value for read in step.reads if isinstance(read, Place)]


def last_reads(schedule: Schedule) -> dict[Value, int]:
    """The last step that reads each value."""
    return {value: at for at, step in enumerate(schedule.steps) for value in reads_of(step)}


def device_of(value: Value) -> Device:
    """Where a value is."""
    return CPU if value.layout is None else value.layout.device


def bytes_of(value: Value, alignment: int) -> int:
    """What a value takes, with what follows up to the next line."""
    assert value.layout is not None
    size = value.layout.numel * value.layout.dtype.itemsize
    return -(-max(size, 1) // alignment) * alignment


class Gaps:
    """A block that grows, and the parts of it that are free: by size and by both ends. All sizes are multiples of ``alignment``.

    Attributes:
        end: bytes that were ever in use.
    """

    def __init__(self, start: int, alignment: int = ALIGNMENT):
        self.end, self.alignment = -(-start // alignment) * alignment, alignment
        self.by_size: list[tuple[int, int]] = []
        self.starts: dict[int, int] = {}
        self.ends: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Where so many bytes are free: the smallest gap that holds them, else at the end."""
        for k, (length, start) in enumerate(self.by_size):
            if length >= size:
                del self.by_size[k], self.starts[start], self.ends[start + length]
                if length > size:
                    self.add(start + size, length - size)
                return start
        start, self.end = self.end, self.end + size
        return start

    def free(self, start: int, size: int) -> None:
        """Give bytes back, joined with the gaps on both sides."""
        if start in self.ends:
            length = self.ends.pop(start)
            start, size = start - length, size + length
            self.by_size.remove((length, start))
            del self.starts[start]
        if start + size in self.starts:
            length = self.starts.pop(start + size)
            self.by_size.remove((length, start + size))
            del self.ends[start + size + length]
            size += length
        self.add(start, size)

    def add(self, start: int, size: int) -> None:
        """Note a gap."""
        insort(self.by_size, (size, start))
        self.starts[start] = self.ends[start + size] = size
