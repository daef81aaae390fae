"""Loops whose trips are launches alone: native code runs them, and every trip writes where the next one reads."""

from __future__ import annotations

from typing import Iterator, Sequence

import numpy as np

from ..native.objects import pack_words
from ..ops.core import OPS
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native
from .bodies import Body, plain_layout
from .graph import Graph
from .ir import Block, Node, Value
from .program import RESULT, Program

__all__ = ["Move", "Repeated", "along", "repeated"]

MOST_ADDRESSES = 100  # of one body; pointers of one launch are few anyway
ALONE = -1


class Move:
    """Where a result or an operand lies, trip by trip.

    Attributes:
        even, odd: tensors on which it lies in even trips and in odd ones; ``start`` bytes from there, ``step`` bytes a trip.
        first, last: tensors on which it lies in the first trip and in the last, where these are others.
    """

    __slots__ = ("even", "odd", "start", "step", "first", "last")

    def __init__(
        self,
        even: Tensor,
        odd: Tensor | None = None,
        start: int = 0,
        step: int = 0,
        first: Tensor | None = None,
        last: Tensor | None = None,
    ):
        self.even, self.odd, self.start, self.step = even, even if odd is None else odd, start, step
        self.first, self.last = first, last


def along(x: Tensor, layout: Layout, count: int, reverse: bool, ahead: int = 0, **ends: Tensor) -> Move:
    """Along the slices of a stack; ``ahead``: of the slices of trips to come."""
    size = layout.numel * layout.dtype.itemsize
    start, step = ((count - 1) * size, -size) if reverse else (0, size)
    return Move(x, None, start + ahead * step, step, **ends)


class Repeated:
    """A body as native code repeats it.

    Attributes:
        code, room: see ``Assembled``.
        kept: where in a block the addresses are kept; ``count``: how many there are.
    """

    __slots__ = ("code", "room", "kept", "count")

    def __init__(self, program: Program, count: int):
        made = program.assembled
        self.code, self.count = made.code, count
        self.kept = -(-(8 * made.addresses + made.bytes) // 64) * 64
        self.room = made.room + 64 + 32 * count

    def run(self, moves: Sequence[Move], trips: int, stops: Sequence[int]) -> Iterator[int]:
        """Run the trips: yields at every stop, before that trip, and at the end."""
        tensors: dict[int, tuple[int, Tensor]] = {}

        def number(x: Tensor | None) -> int:
            return ALONE if x is None else tensors.setdefault(id(x), (len(tensors), x))[0]

        words = [self.count, self.kept, trips]
        for move in moves:
            words += [number(move.even), number(move.odd), move.start, move.step, number(move.first), number(move.last)]
        block = np.empty(self.room, np.uint8)
        packed, known, begin = pack_words(*words), tuple([x for _, x in tensors.values()]), 0
        for end in (*stops, trips):
            while begin < end:  # Ctrl-C is looked for in between
                upto = min(begin + MOST_TRIPS, end)
                native.repeat(self.code, packed, known, block, begin, upto)
                begin = upto
            yield end


MOST_TRIPS = 4096  # that run without a look at anything else


def repeated(body: Body) -> Repeated | None:
    """What native code repeats; None where the body does more than launch kernels."""
    found = body.derive("repeated", lambda: (repeated_of(body.block),))
    return found[0]


def repeated_of(block: Block) -> Repeated | None:
    """See ``repeated``: every output is made a result of its own, in row-major order."""
    if not block.outputs or any(value.layout is None for value in (*block.inputs, *block.outputs)):
        return None
    program = Program(Graph(block.inputs, block.nodes, block.outputs), block.outputs)
    nodes, outs, seen = list(block.nodes), list[Value](), set[Value]()
    for value, place in zip(block.outputs, program.returned):
        own = place.source == RESULT and place.window is None and value in program.results
        if not own or value in seen or value.layout is not plain_layout(value):
            node = Node(OPS["contiguous_copy"], (value,), {}, [plain_layout(value)])
            nodes.append(node)
            value = node.outs[0]
        seen.add(value)
        outs.append(value)
    if outs != block.outputs:
        program = Program(Graph(block.inputs, nodes, outs), outs)
    count = len(outs) + len(block.inputs)
    good = program.direct and program.assembled.launches and program.results == outs and count <= MOST_ADDRESSES
    return Repeated(program, count) if good else None
