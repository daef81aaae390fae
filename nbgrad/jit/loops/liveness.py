"""Which operands results of loops and branches depend on by their values: NOTE [Ways back of linear loops].

NOTE [Ways back of linear loops]: the way back through a loop takes the carries that the loop went through, or computes them again.
Where the loop is linear in them, no cotangent depends on their values, and whatever asks learns so here, of the step of the
cotangents that the way back runs.
"""

from __future__ import annotations

from typing import AbstractSet as Set, Sequence

from ..ir.ir import Node, Value
from ..passes.liveness import carried, live_inputs
from ..passes.retrace import example
from .bodies import body_of
from .branches import COND
from .loop_steps import Step, cotangent_step
from .loops import SCAN, WHILE
from .rewinding import REWIND
from .unwinding import UNWIND

__all__: list[str] = []


def live_of_scan(node: Node, outs: Set[int]) -> Set[int]:
    """Of a scan, whose history are carries again."""
    block, carries = node.blocks[0], node.attributes["carries"]
    count = len(block.outputs)
    history = {k - count for k in outs if k >= count}
    return carried(block, carries, {k for k in outs if k < count}, history)


def live_of_while(node: Node, outs: Set[int]) -> Set[int]:
    """Of a loop that a test ends."""
    block, test = node.blocks
    return carried(block, node.attributes["carries"], outs, live_inputs(test, {0}))


def live_of_cond(node: Node, outs: Set[int]) -> Set[int]:
    """Of a branch, and its predicate."""
    return {0, *(1 + k for block in node.blocks for k in live_inputs(block, outs))}


def live_of_rewind(node: Node, outs: Set[int]) -> Set[int]:
    """Of a way back that computes carries again."""
    attributes = node.attributes
    step, flags = Step(body_of(node.blocks[0]), attributes["carries"], attributes["slices"]), attributes["flags"]
    n, given, every = step.carries, attributes["given"], range(len(node.ins))
    starts = sum(flags[:n]) + sum(flags[n + step.slices :])
    behind = starts + sum(given[n:])
    operands = every[behind : behind + len(flags)]
    live, forward = live_on_the_way(step, flags, given, [node.ins[k] for k in operands], outs, set())
    kept = {operands.stop + k for k in forward if k < n}
    return {*(k for k in live if k < behind), *(operands[k] for k in forward), *kept}


def live_of_unwind(node: Node, outs: Set[int]) -> Set[int] | None:
    """Of a way back through a loop that a test ends; None of further derivatives."""
    turns, every = node.attributes["turns"], range(len(node.ins))
    if len(turns) != 1 or turns[0][0] != "reverse":
        return None
    _, which, wanted = turns[0]
    block, test = node.blocks
    step, operands = Step(body_of(block), node.attributes["carries"], 0), every[len(wanted) :]
    flags, given = step.active([k in which for k in range(len(block.inputs))])
    chosen = [k for k, flag in enumerate(flags) if flag]
    results = {chosen.index(which[k]) for k in outs}
    live, forward = live_on_the_way(step, flags, given, [node.ins[k] for k in operands], results, live_inputs(test, {0}))
    return {*range(len(wanted)), *(operands[k] for k in forward)}


def live_on_the_way(
    step: Step, flags: Sequence[bool], given: Sequence[bool], operands: Sequence[Value], outs: Set[int], tested: Set[int]
) -> tuple[set[int], set[int]]:
    """Which of cotangents and zeros, and of the operands of the loop, results of a way back depend on.

    Args:
        flags, given: as of ``cotangent_step``.
        outs: which results.
        tested: operands of the loop that a test reads.
    """
    made = cotangent_step(step, flags, given, [example(value.layout) for value in operands if value.layout is not None])
    block, n, m = made.body.block, step.carries, step.carries + step.slices
    live = carried(block, made.carries, outs)
    first, behind = made.carries, made.carries + made.slices
    values = {k - first for k in live if first <= k < first + m} | {m + k - behind for k in live if k >= behind}
    history = {k for k in values if k < n}
    again = carried(step.body.block, n, history, tested) if history or tested else set()
    cotangents = {k for k in live if k < first} | {k - m for k in live if first + m <= k < behind}
    return cotangents, values | again


SCAN.live, WHILE.live, COND.live, REWIND.live, UNWIND.live = (
    live_of_scan,
    live_of_while,
    live_of_cond,
    live_of_rewind,
    live_of_unwind,
)
