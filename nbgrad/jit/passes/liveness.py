"""What results depend on by their values, within loops and branches, too: an operand that only feeds what nobody reads is none."""

from __future__ import annotations

from typing import AbstractSet as Set, Iterator, Sequence

from ..ir.ir import Block, Control, Node, Value

__all__ = ["carried", "live_inputs", "live_operands", "live_values"]


def live_values(nodes: Sequence[Node], outputs: Set[Value]) -> set[Value]:
    """The values that outputs of nodes depend on."""
    live = set(outputs)
    for node in reversed(nodes):
        if not live.isdisjoint(node.outs):
            live.update(operands_of(node, {k for k, value in enumerate(node.outs) if value in live}))
    return live


def operands_of(node: Node, outs: Set[int]) -> Iterator[Value]:
    """The values that some results of a node depend on."""
    places = live_operands(node, outs)
    if places is not None:
        yield from (node.ins[k] for k in places)
        return
    yield from node.values()
    for block in node.blocks:
        yield from block.free()


def live_operands(node: Node, outs: Set[int]) -> Set[int] | None:
    """Which operands some results of a loop or a branch depend on; None of other nodes: on all."""
    live = node.op.live if isinstance(node.op, Control) else None
    return None if live is None else live(node, outs)


def live_inputs(block: Block, outs: Set[int]) -> set[int]:
    """Which inputs some outputs of a block depend on."""
    live = live_values(block.nodes, {block.outputs[k] for k in outs})
    return {k for k, value in enumerate(block.inputs) if value in live}


def carried(block: Block, carries: int, outs: Set[int], first: Set[int] = frozenset()) -> set[int]:
    """Which inputs some outputs of a body depend on after any number of trips.

    Args:
        first: inputs that something else reads in every trip.
    """
    live = set(outs)
    while True:
        inputs = live_inputs(block, live) | first
        further = {k for k in inputs if k < carries} - live
        if not further:
            return inputs | {k for k in live if k < carries}
        live |= further
