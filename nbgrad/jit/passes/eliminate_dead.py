"""Dead code: nodes on which no result depends."""

from __future__ import annotations

from typing import Any, Container, Sequence

from ..ir.graph import Graph
from ..ir.ir import Node, Value, values_in
from .checked import checked
from .effects import must_stay

__all__ = ["eliminate_dead", "needed_nodes"]


@checked
def eliminate_dead(graph: Graph, kept: Container[Value] = (), silent: Container[Node] = ()) -> bool:
    """Take out the nodes and constants that no output depends on, and that do nothing else.

    Args:
        kept: constants that stay.
        silent: nodes that need not refuse what their operands hold.
    """
    nodes, read = needed_nodes(graph.nodes, graph.outputs, silent)
    constants = [value for value in graph.constants if value in read or value in kept]
    changed = len(nodes) != len(graph.nodes) or len(constants) != len(graph.constants)
    graph.nodes, graph.constants = nodes, constants
    return changed


def needed_nodes(nodes: Sequence[Node], outputs: Sequence[Any], silent: Container[Node] = ()) -> tuple[list[Node], set[Value]]:
    """The nodes on which outputs depend, or that do something else, and the values that these and the outputs read."""
    read = set(values_in(tuple(outputs)))
    found: list[Node] = []
    for node in reversed(nodes):
        if not read.isdisjoint(node.outs) or must_stay(node, node in silent):
            read.update(node.values())
            for block in node.blocks:
                read.update(block.free())
            found.append(node)
    return found[::-1], read
