"""Groups of nodes that can be differentiated, where others stand in between."""

from __future__ import annotations

from typing import Any

from ..ir.graph import Graph
from ..ir.ir import Block, Control, Node, Value, values_in
from ..ir.replay import run_block
from .obstacles import is_differentiable

__all__ = ["GROUP", "differentiable_subgraphs"]


def run_group(node: Node, values: dict[Value, Any], *operands: Any) -> tuple:
    """Run the nodes of a group."""
    return tuple(run_block(node.blocks[0], operands, dict(values)))


GROUP = Control("differentiable", run_group)


def differentiable_subgraphs(graph: Graph, threshold: int = 2) -> Graph:
    """The same graph with nodes ``differentiable`` in the place of the longest runs of nodes that can be differentiated.

    Args:
        threshold: runs of fewer nodes stay as they are.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> [node.name for node in differentiable_subgraphs(trace(lambda x: (x * x).exp(), nbgrad.ones(2))).nodes]
    ['differentiable']
    """
    made, _ = graph.copy()
    runs: list[list[Node]] = [[]]
    for node in made.nodes:
        if is_differentiable(node):
            runs[-1].append(node)
        else:
            runs += [[node], []]
    nodes: list[Node] = []
    for run in runs:
        grouped = run and is_differentiable(run[0]) and len(run) >= threshold
        nodes += [group_of(run, made)] if grouped else run
    made.nodes[:] = nodes
    return made


def group_of(run: list[Node], graph: Graph) -> Node:
    """One node for several, whose results become its own."""
    inside = set(run)
    constants = set(graph.constants)
    read = {value for node in graph.nodes if node not in inside for value in reads_of(node)} | set(values_in(tuple(graph.outputs)))
    own = {value for node in run for value in node.outs}
    ins = dict.fromkeys(value for node in run for value in reads_of(node) if value not in own and value not in constants)
    outs = [value for node in run for value in node.outs if value in read]
    group = Node(GROUP, tuple(ins), {}, [], (Block(list(ins), run, []),), run[0].line)
    table: dict[Value, Value] = {}
    for nr, value in enumerate(outs):
        inner = Value(value.layout, value.requires_grad, value.node, value.nr, value.name, None, value.line)
        assert value.node is not None
        value.node.outs[value.nr] = inner
        value.node, value.nr = group, nr
        table[value] = inner
        group.outs.append(value)
    block = group.blocks[0]
    formals = {value: Value(value.layout, value.requires_grad, name=value.name) for value in ins}
    for node in run:
        node.replace_all(lambda value: table.get(value) or formals.get(value, value))
    block.inputs, block.outputs = list(formals.values()), [table[value] for value in outs]
    return group


def reads_of(node: Node) -> list[Value]:
    """What a node reads, and what its blocks do."""
    return [*node.values(), *(value for block in node.blocks for value in block.free())]
