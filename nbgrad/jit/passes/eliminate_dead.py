"""Dead code: nodes on which no result depends."""

from __future__ import annotations

from typing import Container

from ..graph import Graph
from ..ir import Node, Value, values_in
from .checked import checked
from .effects import must_stay

__all__ = ["eliminate_dead"]


@checked
def eliminate_dead(graph: Graph, kept: Container[Value] = ()) -> bool:
    """Take out the nodes and constants that no output depends on, and that do nothing else.

    Args:
        kept: constants that stay.
    """
    needed = set(values_in(tuple(graph.outputs)))
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outs) or must_stay(node):
            needed.update(node.values())
            for block in node.blocks:
                needed.update(block.free())
            nodes.append(node)
    constants = [value for value in graph.constants if value in needed or value in kept]
    changed = len(nodes) != len(graph.nodes) or len(constants) != len(graph.constants)
    graph.nodes, graph.constants = nodes[::-1], constants
    return changed
