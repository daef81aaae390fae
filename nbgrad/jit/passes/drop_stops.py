"""Marks where gradients stop, which a graph does not need by which none are taken."""

from __future__ import annotations

from ..graph import Graph
from ..histories import OVERWRITE, STOP
from ..ir import Value
from .checked import checked
from .rewriting import Rewriting

__all__ = ["drop_stops"]


@checked
def drop_stops(graph: Graph, became: dict[Value, Value] | None = None) -> bool:
    """Let what is read of a value without its history, or with another one, be read of the value.

    Args:
        graph: gradients are taken by it no more, or have been.
        became: receives what stands for the values that are gone.
    """
    if not any(node.op is STOP or node.op is OVERWRITE for node in graph.nodes):
        return False
    rewriting, nodes = Rewriting(graph, became), []
    for node in graph.nodes:
        rewriting.read(node)
        if node.op is STOP or node.op is OVERWRITE:
            rewriting.table[node.outs[0]] = node.ins[-1]
        else:
            nodes.append(node)
    return rewriting.finish(nodes)
