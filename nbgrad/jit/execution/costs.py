"""What compiling takes, and what a run of a program moves."""

from __future__ import annotations

from contextlib import contextmanager
from time import perf_counter
from typing import Iterator

from ...kernels.cpu.store import loader
from ...tensors.layout import Layout
from ..ir.ir import Value
from ..ir.steps import DeviceLaunch, Guard, Host, Launch, Place, Step, Words

__all__ = ["Cost", "bytes_in", "bytes_moved", "measured", "read_by"]


class Cost:
    """What something took.

    Attributes:
        seconds: by the clock.
        objects: how many objects of machine code were compiled; with none of them, all were in the process or on the disk.
    """

    __slots__ = ("seconds", "objects")

    def __init__(self, seconds: float = 0.0, objects: int = 0):
        self.seconds, self.objects = seconds, objects

    def __repr__(self) -> str:
        return f"{1000 * self.seconds:.1f} ms, {self.objects or 'no'} object{'s' * (self.objects != 1)} compiled"


@contextmanager
def measured() -> Iterator[Cost]:
    """What is done inside: filled in at its end."""
    cost, compiled, start = Cost(), loader().compiled, perf_counter()
    yield cost
    cost.seconds, cost.objects = perf_counter() - start, loader().compiled - compiled


# ---- bytes -----------------------------------------------------------------------------------------------------------


def bytes_in(layout: Layout | None) -> int:
    """The memory of a layout, where elements that lie at one place count once."""
    if layout is None:
        return 0
    count = layout.dtype.itemsize
    for n, step in zip(layout.shape, layout.strides):
        count *= n if step or not n else 1
    return count


def read_by(step: Step) -> list[Value]:
    """The values that a step reads from memory."""
    if isinstance(step, Host):
        return list(dict.fromkeys(step.node.values()))
    nodes = step.nodes if isinstance(step, (Launch, DeviceLaunch)) else ()
    if nodes:
        made = {value for node in nodes for value in node.outs}
        return [x for x in dict.fromkeys(value for node in nodes for value in node.values()) if x not in made]
    return list(dict.fromkeys(read.value for read in step.reads if isinstance(read, Place)))


def bytes_moved(step: Step) -> int:
    """Bytes that a step reads and writes; what a loop carries counts once."""
    if isinstance(step, (Words, Guard)):
        return 8 * max(1, len(step.writes))
    return sum(bytes_in(value.layout) for value in (*read_by(step), *step.writes))
