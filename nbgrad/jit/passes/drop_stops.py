"""Marks where gradients stop, which a graph does not need by which none are taken."""

from __future__ import annotations

from ..ir.graph import Graph
from ..ir.histories import same_values
from ..ir.ir import Value
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
    if not any(True for node in graph.nodes for _ in same_values(node)):
        return False
    rewriting, nodes = Rewriting(graph, became), []
    for node in graph.nodes:
        rewriting.read(node)
        if same := dict(same_values(node)):
            rewriting.table.update(same)
        else:
            nodes.append(node)
    return rewriting.finish(nodes)
