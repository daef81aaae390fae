"""The way back through a loop that kept some carries as steps of a graph: its segments, one behind the other."""

from __future__ import annotations

from itertools import islice
from typing import Any, Sequence

from ...base.dtypes import uint8
from ...creation.allocation import new_full
from ...tensors.layout import Layout, layout_of
from ...tensors.storage import CPU
from ...tensors.tensor import Tensor
from ..ir.ir import Node, Value
from ..ir.steps import Place, Repeat, Schedule
from .bodies import body_of, example_from
from .checkpoints import policy_from
from .derived_bodies import example_like
from .iterations import stacked
from .loop_steps import Loop, Step, cotangent_step
from .repeats import MOST_IN_A_GRAPH, Move, Repeated, at, in_memory, repeated
from .rewinding import REWIND, Way
from .segments import Back, Rooms, depth_of, moves_of_segment, segments, size_of

__all__ = ["rewind_steps"]

MOST_SEGMENTS = 1024  # that are steps of a graph: each has words of its own


def rewind_steps(node: Node, made: Schedule) -> list[Any] | None:
    """The steps of a way back; None where a body does more than launch kernels or is bound to tensors, which are no operands of the
    node; where there are no trips, or too many segments."""
    attributes = node.attributes
    count, reverse = attributes["length"], attributes["reverse"]
    if not 0 < count <= MOST_IN_A_GRAPH:
        return None
    step = Step(body_of(node.blocks[0]), attributes["carries"], attributes["slices"])
    loop = Loop(step, count, reverse, policy=policy_from(attributes["checkpoint"])).kept()
    assert loop.stops is not None
    way, carrying = Way(loop, attributes["flags"], attributes["given"]), step.carrying()
    found = list(islice(segments(loop.policy, count, loop.stops), MOST_SEGMENTS + 1))
    own = cotangent_step(step, way.flags, way.given, example_operands(step))
    back, ahead = repeated(own.body), repeated(carrying.body)
    if back is None or ahead is None or own.body.bound or len(found) > MOST_SEGMENTS or count * back.inside > MOST_IN_A_GRAPH:
        return None
    steps: list[Any] = []
    layouts = [layout for part in way.layouts(own) for layout in part]
    operands = [Place(in_memory(value, layout, made, steps)) for value, layout in zip(node.ins, layouts)]
    operands = [made.window(place.value).place for place in operands]
    starts, others, taken, kept = way.split(operands)
    carries, slices, whole = step.split(taken)
    n, forms, given = own.carries, carrying.body.layouts(), own.body.layouts()
    last = [Value(layout) for layout in given[:n]]
    even, odd = (node.outs[:n], last) if count % 2 else (last, node.outs[:n])
    stack = [Value(stacked(layout, depth_of(found))) for layout in forms]
    passing, first, second = ([Value(layout) for layout in forms] for _ in range(3))
    rows = {"first": carries, "kept": kept, "stack": places(stack), "passing": places(passing)}
    rooms = Rooms(
        rows,
        slices,
        whole,
        (),
        starts,
        others,
        places(even),
        places(odd),
        (places(first), places(second)),
        places(node.outs[n:]),
        lambda x, layout, k: at(x, k * size_of(layout)),
    )
    rows_written, reads = (*stack, *passing, *first, *second), operands
    blocks = {plan: Value(layout_of(uint8, (plan.room,), None, CPU)) for plan in (back, ahead)}
    for each in found:
        plan, body, writes = (back, own, (*node.outs, *last)) if type(each) is Back else (ahead, carrying, rows_written)
        moves = moves_of_segment(each, body, count, reverse, rooms)
        steps.append(piece(plan, moves, each.trips, blocks[plan], writes, [*reads, *places(rows_written)]))
    return steps


def piece(plan: Repeated, moves: Sequence[Move], trips: int, room: Value, writes: Sequence[Value], reads: list[Place]) -> Repeat:
    """The step that a segment is."""
    where = [((at(x.even, x.start), at(x.odd, x.start), x.first, x.last), x.step) for x in moves]
    return Repeat(plan, (trips, 0, trips), room, where, tuple(writes), reads)  # type: ignore[arg-type]


def places(values: Sequence[Value]) -> list[Place]:
    """Where values are that have memory of their own."""
    return list(map(Place, values))


def example_operands(step: Step) -> list[Tensor]:
    """Examples of the operands of a loop: where its body was traced already, nobody looks at them."""
    values, n, m = step.body.block.inputs, step.carries, step.carries + step.slices
    found = list(map(example_like, values))
    for k in range(n, m):
        layout: Layout = found[k].layout
        found[k] = example_from(new_full(layout, 1), (1, *layout.shape))
    return found


REWIND.steps = rewind_steps
