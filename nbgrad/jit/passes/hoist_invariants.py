"""What a loop computes alike in every trip, which is computed once, in front of it."""

from __future__ import annotations

from ...ops.core import Movement
from ..ir.graph import Graph
from ..ir.histories import APPLIED, STOP
from ..ir.ir import Block, Control, Node, Value, copy_block, map_values, plain_layout, values_in
from .checked import checked
from .effects import may_merge, must_stay
from .rewriting import places_in

__all__ = ["hoist_invariants"]


@checked
def hoist_invariants(graph: Graph) -> bool:
    """Move the nodes of a loop's blocks in front of it that read nothing that changes from trip to trip.

    What moves is pure, and refuses nothing: the loop may make no trip. Views stay, and what is not row-major, and are made in front
    as well where something reads them there. What moved comes back as a further operand, an input of each block,
    in row-major order like the others.

    Of which inputs are the same in every trip the control node tells: ``Control.changing``.
    """
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += hoisted(node)
        nodes.append(node)
    changed = len(nodes) != len(graph.nodes)
    graph.nodes = nodes
    if changed and graph.places is not None:
        graph.places = places_in(graph)
    return changed


def hoisted(node: Node) -> list[Node]:
    """The nodes that move in front of a loop, which reads their results from then on."""
    op = node.op
    if not isinstance(op, Control) or op.changing is None or not node.blocks:
        return []
    first = op.changing(node)
    found: list[Node] = []
    for k in range(len(node.blocks)):
        moved = Moved(node, k, first)
        if moved.taken:
            found += moved.front
            replace_blocks(node, k, moved)
    return found


class Moved:
    """What of one block moves in front of the loop.

    Attributes:
        taken: the results of nodes that move, in order.
        front: the nodes that stand for them, and for views that these read; ``outside``: what stands there for values of the block.
    """

    def __init__(self, node: Node, k: int, first: int):
        block = node.blocks[k]
        self.taken: list[Value] = []
        self.front: list[Node] = []
        self.outside: dict[Value, Value] = {}
        for value, x in zip(block.inputs[first:], node.ins[first:]):
            if isinstance(x, Value) and x.layout is not None and value.layout is x.layout:
                self.outside[value] = x
        changing = {*block.inputs} - self.outside.keys()
        views: dict[Value, Node] = {}
        for inner in block.nodes:
            values = list(inner.values())
            if not changing.isdisjoint(values) or not values or must_stay(inner) or not may_merge(inner):
                changing.update(inner.outs)
            elif inner.op is STOP or inner.op is APPLIED or isinstance(inner.op, Movement) or not all(map(is_plain, inner.outs)):
                views.update(dict.fromkeys(inner.outs, inner))
            else:
                self.move(inner, views)
                self.taken += inner.outs

    def move(self, inner: Node, views: dict[Value, Node]) -> None:
        """Make a node in front, and the views that it reads."""
        for value in inner.values():
            if value in views and value not in self.outside:
                self.move(views[value], views)
        made = Node(inner.op, inner.ins, inner.attributes, [], line=inner.line)
        made.replace(lambda value: self.outside.get(value, value))
        for out in inner.outs:
            self.outside[out] = Value(out.layout, out.requires_grad, made, out.nr, out.name, line=out.line)
            made.outs.append(self.outside[out])
        self.front.append(made)


def is_plain(value: Value) -> bool:
    """Whether a value is row-major, and without bits that wait."""
    return value.layout is not None and value.layout is plain_layout(value)


def replace_blocks(node: Node, k: int, moved: Moved) -> None:
    """Give a loop the operands that moved out of one of its blocks, and every block the inputs for them."""
    gone = {value.node for value in moved.taken}
    read = {value for inner in node.blocks[k].all_nodes() if inner not in gone for value in inner.values()}
    read.update(values_in(tuple(node.blocks[k].outputs)))
    taken = [value for value in moved.taken if value in read]
    node.ins += tuple([moved.outside[value] for value in taken])
    blocks = []
    for number, block in enumerate(node.blocks):
        table: dict[Value, Value] = {}
        made: Block = copy_block(block, Block(), table)
        fresh = [Value(value.layout, value.requires_grad, name=value.name) for value in taken]
        if number == k:
            become = {table[value]: new for value, new in zip(taken, fresh)}
            copies = {table[value].node for value in moved.taken}
            made.nodes = [inner for inner in made.nodes if inner not in copies]
            read_instead(made, become)
        made.inputs += fresh
        blocks.append(made)
    node.blocks = tuple(blocks)


def read_instead(block: Block, become: dict[Value, Value]) -> None:
    """Let a block, and those within, read other values."""

    def change(value: Value) -> Value:
        return become.get(value, value)

    for node in block.nodes:
        node.replace(change)
        for inner in node.blocks:
            read_instead(inner, become)
    block.outputs = [map_values(x, change) for x in block.outputs]
