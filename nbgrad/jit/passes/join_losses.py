"""Cross-entropies of rows and their gradients, which one kernel computes of one sum of exponentials."""

from __future__ import annotations

from ..execution.losses import LOSSES, plan_of
from ..ir.graph import Graph
from ..ir.ir import Control, Node, Value
from .checked import checked
from .effects import must_stay

__all__ = ["join_losses"]


@checked
def join_losses(graph: Graph) -> bool:
    """cross_entropy_rows(x, t) and cross_entropy_rows_backward(g, x, t) are one node, where g does not depend on the losses.

    Each of the two reads all scores and takes all exponentials. They keep their results' values, so nothing else changes.
    """
    found = [node for node in graph.nodes if node.name == "cross_entropy_rows"]
    return sum(join(graph, node) for node in found) > 0


def join(graph: Graph, losses: Node) -> bool:
    """Join the losses of rows with a gradient of theirs, if there is one."""
    begin = graph.nodes.index(losses)
    for k in range(begin + 1, len(graph.nodes)):
        node = graph.nodes[k]
        if node.name == "cross_entropy_rows_backward" and node.ins[1:] == losses.ins and node.attributes == losses.attributes:
            needed = nodes_for(graph.nodes[begin:k], node.ins[0])
            if needed is None or plan_of(node.ins, node.attributes["ignore_index"]) is None:
                continue
            both = Node(LOSSES, node.ins, dict(node.attributes), [], line=losses.line)
            both.outs = [losses.outs[0], node.outs[0]]
            for nr, value in enumerate(both.outs):
                value.node, value.nr = both, nr
            later = [each for each in graph.nodes[begin + 1 :] if each is not node and each not in needed]
            graph.nodes = [*graph.nodes[:begin], *needed, both, *later]
            return True
    return False


def nodes_for(nodes: list[Node], wanted: object) -> list[Node] | None:
    """The nodes, of some, that compute a value; None if they depend on the first, or do more than compute."""
    first, *rest = nodes
    values, needed = {wanted}, list[Node]()
    for node in reversed(rest):
        if values.isdisjoint(node.outs):
            continue
        if isinstance(node.op, Control) or must_stay(node):
            return None
        needed.append(node)
        values.update(node.values())
    return needed[::-1] if values.isdisjoint(first.outs) and all(isinstance(value, Value) for value in values) else None
