"""Graphs run once more under a capture: writes, blocks and what follows from plain arguments are gone from what comes out.

NOTE [Plain arguments]: arguments of a graph may be tensors, sequences of tensors, and plain values: numbers, None. What runs under
a capture knows plain values, and so the graph that comes out holds for these values only.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Sequence

from ...base.calls import CALLS
from ...base.errors import GraphError
from ...base.mode_contexts import enable_grad, no_grad
from ...creation.allocation import new_full
from ...creation.sequences import arange
from ...dispatch.launches import need
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import Tensor, native
from ..capture.capture import Trace
from ..capture.tracing import tracing
from ..ir.devices import copied
from ..ir.graph import Graph
from ..ir.ir import Control, Node, Value, map_values, values_in
from ..ir.replay import is_silent, run_node, tells, tensor_of
from .eliminate_dead import eliminate_dead

__all__ = ["InPlace", "example", "examples_of", "functionalise", "leaves", "retrace", "run_flagged", "specialise"]


class InPlace(Control):
    """A call in place, as graphs that were not captured may hold: ``InPlace("relu")``."""

    def __init__(self, name: str):
        super().__init__(f"{name}_", self.write, effect="write")
        self.call = CALLS[f"{name}_"]

    def write(self, node: Node, values: dict[Value, Any], *operands: Any, **attributes: Any) -> tuple:
        """See ``Control``."""
        return (self.call(*operands, **attributes),)


def leaves(x: Any) -> Iterator[Any]:
    """What is in nested tuples and lists, in order."""
    if isinstance(x, (tuple, list)):
        for each in x:
            yield from leaves(each)
    else:
        yield x


def map_leaves(x: Any, change: Callable[[Any], Any]) -> Any:
    """Nested tuples and lists with every member changed."""
    return type(x)([map_leaves(each, change) for each in x]) if isinstance(x, (tuple, list)) else change(x)


# ---- examples ------------------------------------------------------------------------------------------------------


def example(layout: Layout) -> Tensor:
    """A tensor of a layout that most operations are defined for: of 0.5, with larger numbers on diagonals of square matrices."""
    floating = layout.dtype.differentiable
    extent = 1 + sum((n - 1) * abs(t) for n, t in zip(layout.shape, layout.strides)) if layout.numel else 0
    start = sum((1 - n) * t for n, t in zip(layout.shape, layout.strides) if t < 0)
    flat = new_full(layout_of(layout.dtype, (extent,), None, layout.device), 0.5 if floating else True)
    x = native.tensor(layout.plain().template, flat._storage_, start * layout.dtype.itemsize, False, None)
    if floating and len(layout.shape) > 1 and layout.shape[-1] == layout.shape[-2] and layout.dense and layout.numel:
        n = layout.shape[-1]
        with no_grad():
            x.diagonal(0, -2, -1).copy_(arange(n, dtype=layout.dtype) * 0.25 + n)
    return x


def examples_of(graph: Graph, given: Sequence[Any]) -> list:
    """An argument for every input of a graph.

    Raises:
        GraphError: nothing is known of an input, or there is another number of them.
    """
    if given and len(given) != len(graph.inputs):
        raise GraphError(f"{graph.name}: expected {len(graph.inputs)} arguments, got {len(given)}.")
    for k, value in enumerate(graph.inputs):
        if not given and value.layout is None:
            raise GraphError(
                f"{graph.name}: nothing is known of input {value.name or k}. Hint: give examples of the arguments, or run it once."
            )
    return list(given) or [example(value.layout) for value in graph.inputs if value.layout is not None]


# ---- runs ----------------------------------------------------------------------------------------------------------


def run_flagged(active: Trace, graph: Graph, inputs: Sequence[Any]) -> tuple[list, dict[Value, Any]]:
    """Run a graph under a capture, with gradients flowing where it says so: outputs, and what every value is."""
    values = {value: tensor_of(value) for value in graph.constants}
    values.update(zip(graph.inputs, inputs))
    nodes = active.graph.nodes
    for node in graph.nodes:
        start = len(nodes)
        silent = is_silent(node)
        with no_grad() if silent else enable_grad():
            outs = run_node(node, values)
        for made in nodes[start:]:
            made.line = node.line or made.line
        told = tells(node)
        for value, x in zip(node.outs, outs):
            detached = told and value.requires_grad is False and isinstance(x, Tensor) and x.requires_grad
            values[value] = x if not detached else native.alias(x) if silent else x.detach()  # of a view under no_grad it is a mark
    return [map_values(x, values.__getitem__) for x in graph.outputs], values


def constants_of(graph: Graph) -> list[Tensor]:
    """The tensors that a graph uses without receiving them."""
    return [value.data for value in graph.constants if isinstance(value.data, Tensor)]


def retrace(graph: Graph, arguments: Sequence[Any], flags: Sequence[bool], derivable: bool = False) -> Graph:
    """The graph of what a graph does with such arguments: calls of operations alone.

    Its inputs are the tensors among the arguments; outputs may be plain.

    Args:
        flags: for every argument whether gradients flow into it.
        derivable: whether it is kept what Functions are, where no gradients flow, too.

    Raises:
        GraphError: an output is a sequence of tensors.
    """
    with enable_grad(), tracing(constants_of(graph), late=True) as active:
        active.derivable = derivable
        inputs = [traced(active, x, flag, value.name) for x, flag, value in zip(arguments, flags, graph.inputs)]
        outs, _ = run_flagged(active, graph, inputs)
        made = active.graph
        made.outputs = [active.value(x) for x in outs]
        if any(isinstance(x, (tuple, list)) and any(values_in(x)) for x in made.outputs):
            raise GraphError(f"{graph.name}: an output is a sequence of tensors. Hint: return them one by one.")
    made.name = graph.name
    return made


def traced(active: Trace, x: Any, flag: bool, name: str = "") -> Any:
    """An argument under a capture."""

    def one(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        flagged = flag and x.layout.dtype.differentiable  # on memory of its own, also where arguments share theirs
        need((x,))
        storage = copied(x._storage_)
        return active.input(native.tensor(x.layout.plain().template, storage, x._offset_, flagged, None), name)

    return map_leaves(x, one)


def functionalise(graph: Graph, *examples: Any) -> Graph:
    """The same graph without writes, without blocks.

    Args:
        examples: its arguments; those of its inputs' layouts by default.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> [node.name for node in functionalise(trace(lambda x: x.clone().mul_(2), nbgrad.ones(2))).nodes]
    ['clone', 'mul']
    """
    arguments = examples_of(graph, examples)
    made = retrace(graph, arguments, [value.requires_grad is not False for value in graph.inputs])
    eliminate_dead(made)
    return made


def specialise(graph: Graph, *examples: Any) -> Graph:
    """The same graph for arguments of which it is known whether they are defined: those that are None are known zeros.

    A sum with a known zero is its other side, a block of which all cotangents are known zeros is zero, and does not run.
    """
    return functionalise(graph, *examples)
