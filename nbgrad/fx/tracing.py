"""symbolic_trace: a module or function as a module with a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..nn.module import Module
from .arguments import PH
from .graph_module import GraphModule
from .tracer import Tracer, is_fx_symbolic_tracing, is_fx_tracing
from .wrapping import wrap

__all__ = ["PH", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module with the graph of another one, or of a function, as its program.

    Args:
        root: a module or a function.
        concrete_args: values of arguments that are constants of the graph: see ``Tracer.trace``.

    Raises:
        TraceError: which way the program takes depends on values.

    >>> import nbgrad
    >>> traced = nbgrad.fx.symbolic_trace(lambda x, y: nbgrad.relu(x) + y)
    >>> print(traced.code.strip())
    def forward(self, x, y):
        relu = nbgrad.relu(x);  x = None
        add = relu + y;  relu = y = None
        return add
    >>> traced(nbgrad.tensor([-1.0, 2.0]), 3)
    tensor([3., 5.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root._get_name() if isinstance(root, Module) else getattr(root, "__name__", type(root).__name__)
    return GraphModule(tracer.root, graph, name)
