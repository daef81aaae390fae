"""Loops whose trips are launches alone: native code runs them, and every trip writes where the next one reads."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from ...base.dtypes import uint8
from ...lowering.copy import copy_plan
from ...native.objects import pack_words
from ...ops.core import OPS
from ...tensors.layout import Layout, layout_of
from ...tensors.storage import CPU
from ...tensors.tensor import Tensor, native
from ..execution.launches import launch
from ..execution.program import RESULT, Program
from ..ir.devices import on_gpu
from ..ir.graph import Graph
from ..ir.ir import Block, Node, Value, plain_layout
from ..ir.steps import Launch, Place, Repeat, Schedule
from .bodies import Body, body_of
from .checkpoints import policy_from
from .loop_steps import Step
from .recurrences import recurrence_launch

__all__ = ["Parts", "Repeated", "moves_of", "repeat_steps", "repeated"]

FRAME = 72  # bytes of what goes on behind a loop within another: run_trips of native/repeats.py
MOST_ADDRESSES = 100  # of one body; pointers of one launch are few anyway


class Move(NamedTuple):
    """Where a result or an operand lies, trip by trip: on tensors, or at places of a graph.

    Attributes:
        even, odd: in even trips and in odd ones; ``start`` bytes from there, ``step`` bytes a trip.
        first, last: in the first trip and in the last, where these are others.
    """

    even: Any
    odd: Any
    start: int = 0
    step: int = 0
    first: Any = None
    last: Any = None


def along(x: Any, layout: Layout, count: int, reverse: bool, ahead: int = 0, last: Any = None) -> Move:
    """Along the slices of a stack; ``ahead``: of the slices of trips to come."""
    size = layout.numel * layout.dtype.itemsize
    start, step = ((count - 1) * size, -size) if reverse else (0, size)
    return Move(x, x, start + ahead * step, step, None, last)


class Parts(NamedTuple):
    """What a loop reads and writes: tensors, or places of a graph.

    Attributes:
        carries, slices, whole: its operands; slices and results are stacks.
        even, odd: what trips carry on, alternately; with a history the last one alone, in ``even``.
        results, history: what it gives beside.
    """

    carries: Sequence[Any]
    slices: Sequence[Any]
    whole: Sequence[Any]
    even: Sequence[Any]
    odd: Sequence[Any]
    results: Sequence[Any]
    history: Sequence[Any]


def moves_of(step: Step, count: int, reverse: bool, parts: Parts) -> list[Move]:
    """The moves of the addresses of a step: of its results, then of its operands."""
    n, m = step.carries, step.carries + step.slices
    made, layouts = step.body.layouts(), step.body.inputs()
    even, odd, history = parts.even, parts.odd, parts.history
    if history:
        moves = [along(h, layout, count, reverse, 1, x) for h, layout, x in zip(history, made, even)]
    else:
        moves = [Move(x, y) for x, y in zip(even, odd)]
    moves += [along(x, layout, count, reverse) for x, layout in zip(parts.results, made[n:])]
    if history:
        moves += [along(h, layout, count, reverse) for h, layout in zip(history, made)]
    else:
        moves += [Move(y, x, first=c) for x, y, c in zip(even, odd, parts.carries)]
    moves += [along(x, layout, count, reverse) for x, layout in zip(parts.slices, layouts[n:m])]
    return moves + [Move(x, x) for x in parts.whole]


class Repeated:
    """A body as native code repeats it.

    Attributes:
        code, room: see ``Assembled``.
        kept: where in a block the addresses are kept; ``count``: how many there are.
        shared: whether the pool may share one of the launches.
        inside: trips of loops within a trip, 1 where there are none.
    """

    __slots__ = ("code", "room", "kept", "count", "shared", "inside")

    def __init__(self, program: Program, count: int):
        made = program.assembled
        self.code, self.count = made.code, count
        steps = [step for step in program.schedule.steps if isinstance(step, (Launch, Repeat))]
        self.shared = any(step.shared for step in steps)
        self.inside = max(1, sum(step.inside for step in steps if isinstance(step, Repeat)))
        self.kept = -(-(8 * made.addresses + made.bytes) // 64) * 64
        self.room = made.room + 64 + 40 * count + FRAME

    def run(self, moves: Sequence[Move], trips: int, stops: Sequence[int]) -> Iterator[int]:
        """Run the trips on tensors: yields at every stop, before that trip, and at the end."""
        tensors: dict[int, tuple[int, Tensor]] = {}
        words = [self.count, self.kept, trips]
        for even, odd, start, step, first, last in moves:
            for x, offset in ((even, start), (odd, start), (first, 0), (last, 0)):
                words += (-1 if x is None else tensors.setdefault(id(x), (len(tensors), x))[0], offset)
            words.append(step)
        block = np.empty(self.room, np.uint8)
        packed, known, begin = pack_words(*words), tuple([x for _, x in tensors.values()]), 0
        for end in (*stops, trips):
            while begin < end:  # Ctrl-C is looked for in between
                upto = min(begin + max(MOST_TRIPS // self.inside, 1), end)
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
    if not block.outputs or any(value.layout is None or on_gpu(value.layout) for value in (*block.inputs, *block.outputs)):
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


# ---- in a graph --------------------------------------------------------------------------------------------------------

MOST_IN_A_GRAPH = 1 << 20  # trips that run where nobody looks for Ctrl-C


def repeat_steps(node: Node, made: Schedule) -> list[Any] | None:
    """The steps of a scan in a graph; None where its body does more than launch kernels, or it has no trips."""
    attributes = node.attributes
    count, reverse, keeps = attributes["length"], attributes["reverse"], attributes["keeps"]
    policy = policy_from(attributes["checkpoint"]) if keeps else None
    step = Step(body_of(node.blocks[0]), attributes["carries"], attributes["slices"])
    if not 0 < count <= MOST_IN_A_GRAPH or any(map(on_gpu, (*step.body.inputs(), *step.body.layouts()))):
        return None
    steps: list[Any] = []
    operands = [in_memory(value, layout, made, steps) for value, layout in zip(node.ins, operand_layouts(step, count))]
    places = [made.window(value).place for value in operands]
    line = recurrence_launch(step, count, reverse, places, tuple(node.outs), keeps) if policy is None else None
    if line is not None:
        return [*steps, line]
    plan = repeated(step.body)
    if plan is None or count * plan.inside > MOST_IN_A_GRAPH:
        return None
    carries, slices, whole = step.split(places)
    n, layouts = step.carries, step.body.layouts()
    outs, kept = node.outs[: len(layouts)], node.outs[len(layouts) :]
    history = kept if keeps and policy is None else []
    others = [] if history else [Value(layout) for layout in layouts[:n]]
    final, rest = [Place(x) for x in outs[:n]], [Place(x) for x in others]
    even, odd = (final, rest) if history or count % 2 else (rest, final)
    parts = Parts(carries, slices, whole, even, odd, list(map(Place, outs[n:])), list(map(Place, history)))
    for value, h, layout in zip(operands, history, layouts):
        steps.append(copied(value, h, layout, count - 1 if reverse else 0, made))
    room = Value(layout_of(uint8, (plan.room,), None, CPU))
    moves: list[tuple[tuple[Place | None, ...], int]] = [
        ((at(move.even, move.start), at(move.odd, move.start), move.first, move.last), move.step)
        for move in moves_of(step, count, reverse, parts)
    ]
    begin, stops = 0, () if policy is None else tuple(policy.stops(0, count, None))
    for k, end in enumerate((*stops, count)):
        writes = (*node.outs, *others)
        if begin < end:
            steps.append(Repeat(plan, (count, begin, end), room, moves, writes, [*carries, *slices, *whole]))
        if end < count:
            for x, stack, layout in zip(even if end % 2 else odd, kept, layouts):
                steps.append(copied(x.value, stack, layout, k, made))
        begin = end
    return steps


def operand_layouts(step: Step, count: int) -> list[Layout]:
    """The layouts that the operands of a scan have in memory."""
    layouts = step.body.inputs()
    n, m = step.carries, step.carries + step.slices
    return [*layouts[:n], *(layout.like(None, (count, *layout.shape)) for layout in layouts[n:m]), *layouts[m:]]


def at(place: Place, start: int) -> Place:
    """Bytes from a place."""
    return Place(place.value, place.offset + start)


def in_memory(value: Value, layout: Layout, made: Schedule, steps: list[Any]) -> Value:
    """A value that lies in a layout: itself, or a copy."""
    window = made.window(value)
    if window.layout is layout:
        return value
    new = Value(layout)
    steps.append(launch(copy_plan(window.layout, layout), [value], [new], [], made))
    return new


def copied(value: Value, stack: Value, layout: Layout, k: int, made: Schedule) -> Launch:
    """The launch that copies a value into a stack."""
    step = launch(copy_plan(layout, layout), [value], [stack], [], made)
    assert isinstance(step, Launch)  # of the processor's memory: see repeat_steps
    step.starts = (k * layout.numel * layout.dtype.itemsize,)
    return step
