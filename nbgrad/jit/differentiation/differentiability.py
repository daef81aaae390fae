"""Which nodes of a graph gradients flow through, and what stands in their way."""

from __future__ import annotations

from typing import Iterable, NoReturn

from ...base.errors import GraphError
from ...ops.core import Elementwise
from ..ir.graph import Graph, require_graph
from ..ir.ir import Block, Control, Node, Value
from ..passes.retrace import InPlace

__all__ = ["check", "is_differentiable", "plain_reads", "update_requires_grad"]


def is_differentiable(x: Graph | Node) -> bool:
    """Whether gradients can flow through a node, or through all nodes of a graph.

    What gives no gradient by its nature, as a comparison, is no obstacle.

    Args:
        x: a graph, or one of its nodes.

    Raises:
        ArgumentError: neither.

    >>> import nbgrad
    >>> from nbgrad.jit import is_differentiable, trace
    >>> is_differentiable(trace(lambda x: (x > 0) * x.exp(), nbgrad.ones(2)))
    True
    """
    if not isinstance(x, Node):
        require_graph("is_differentiable", x)
        return all(map(is_differentiable, x.nodes))
    if isinstance(x.op, Control):
        return not isinstance(x.op, InPlace) and all(is_differentiable(node) for block in x.blocks for node in block.nodes)
    return not x.op.refuses_gradient


def gives_gradient(node: Node) -> bool:
    """Whether gradients could flow into results of a node."""
    if isinstance(node.op, Elementwise) and node.op.predicate:
        return False
    return any(v.requires_grad is not False and (v.layout is None or v.layout.dtype.differentiable) for v in node.outs)


def check(graph: Graph, plain: set[Value]) -> set[Value]:
    """The values that gradients flow through, if no obstacle is on their way.

    Raises:
        GraphError: one is.
    """
    needs: dict[Value, str] = {}
    for k, value in enumerate(graph.inputs):
        if value not in plain and value.requires_grad is not False and (value.layout is None or value.layout.dtype.differentiable):
            needs[value] = value.name or f"input {k}"
    for node in graph.nodes:
        read = (*node.values(), *(value for block in node.blocks for value in block.free()))
        source = next((needs[value] for value in read if value in needs), None)
        if source is None or not gives_gradient(node):
            continue
        if not is_differentiable(node):
            refuse(node, source)
        needs.update((value, source) for value in node.outs if value.requires_grad is not False)
    return set(needs)


def refuse(node: Node, source: str) -> NoReturn:
    """An obstacle."""
    line = f" ({node.line})" if node.line else ""
    if isinstance(node.op, InPlace):
        raise GraphError(f"differentiate: {node.name}{line} writes in place. Hint: jit.functionalise(graph) first.")
    name = getattr(node.op, "public", node.name)
    raise GraphError(
        f"differentiate: {name}{line} has no derivative, and the gradient of {source} needs one. "
        "Hint: detach what it is called with, or mark its result as requiring no gradient."
    )


def update_requires_grad(graph: Graph, flag: bool | None) -> None:
    """Say of all values of floating dtype in a graph whether gradients flow into them.

    Those in linear blocks are among them. Those in the bodies of loops and branches stay: they say where gradients stop in a trip,
    whoever runs it.

    Args:
        graph: it is changed.
        flag: None where nothing is known.

    Raises:
        ArgumentError: no graph.

    >>> import nbgrad
    >>> from nbgrad.jit import trace, update_requires_grad
    >>> graph = trace(lambda x: x * 2, nbgrad.ones(2))
    >>> update_requires_grad(graph, True)
    >>> graph.outputs[0].requires_grad
    True
    """
    require_graph("update_requires_grad", graph)

    def put(values: Iterable[Value]) -> None:
        for value in values:
            differentiable = value.layout is None or value.layout.dtype.differentiable
            value.requires_grad = flag if differentiable else False

    def put_nodes(block: Block) -> None:
        for node in block.nodes:
            put(node.outs)
            if node.op.name == "linear":
                for inner in node.blocks:
                    put_nodes(inner)

    put(graph.inputs)
    put_nodes(graph)


def plain_reads(graph: Graph, plain: set[Value], needs: set[Value]) -> list[int]:
    """Which inputs that are plain values are read, perhaps by way of other plain values, by nodes that gradients flow through."""
    sources: dict[Value, set[int]] = {value: {k} for k, value in enumerate(graph.inputs) if value in plain}
    found: set[int] = set()
    for node in graph.nodes:
        read = (*node.values(), *(value for block in node.blocks for value in block.free()))
        inputs = set[int]().union(*(sources.get(value, ()) for value in read))
        if not needs.isdisjoint(node.outs):
            found |= inputs
        elif inputs and all(value.layout is None for value in node.outs):
            sources.update((value, inputs) for value in node.outs)
    return sorted(found)
