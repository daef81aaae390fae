"""Graphs of texts: a ``forward`` that was made of a graph, traced again."""

from __future__ import annotations

from ..nn.module import Module
from .graph import Graph
from .tracer import Tracer

__all__ = ["traced_again"]


def traced_again(module: Module, tracer_cls: type | None) -> Graph:
    """The graph of a module's text, by a tracer of the class that made the first one, to which every module is a leaf."""

    class KeepModules(tracer_cls or Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    graph = KeepModules().trace(module)
    graph._tracer_cls = tracer_cls
    return graph
