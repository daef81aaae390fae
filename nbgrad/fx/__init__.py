"""torch.fx: programs of modules as graphs that Python programs read and change.

``symbolic_trace`` runs a module on proxies (proxy.py, tracer.py), which write down what is done with them in a ``Graph`` (graph.py,
node.py). A ``GraphModule`` (graph_module.py) is a module whose ``forward`` is the text of a graph (codegen.py). ``Interpreter`` and
``Transformer`` (interpreter.py) run graphs node by node, and ``replace_pattern`` (subgraph_rewriter.py) exchanges parts of them.
Graphs that are compiled are others: those of ``nbgrad.jit``.

>>> import nbgrad
>>> class Scaled(nbgrad.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.layer = nbgrad.nn.Linear(2, 2)
...     def forward(self, x):
...         return self.layer(x).relu() * 2
>>> traced = nbgrad.fx.symbolic_trace(Scaled())
>>> print(traced.graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %layer : [num_users=1] = call_module[target=layer](args = (%x,), kwargs = {})
    %relu : [num_users=1] = call_method[target=relu](args = (%layer,), kwargs = {})
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%relu, 2), kwargs = {})
    return mul
"""

from __future__ import annotations

from ..methods.namespaces import module_below
from . import experimental, immutable_collections, passes, subgraph_rewriter
from .arguments import PH
from .codegen import CodeGen
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern
from .tracer import Tracer
from .tracing import symbolic_trace
from .wrapping import wrap

__all__ = [
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "PH",
    "Proxy",
    "Tracer",
    "Transformer",
    "experimental",
    "has_side_effect",
    "immutable_collections",
    "map_arg",
    "passes",
    "replace_pattern",
    "subgraph_rewriter",
    "symbolic_trace",
    "wrap",
]


def __getattr__(name: str) -> object:
    return module_below(__name__, name)
