"""Linear blocks: what a reverse pass computes in the turn of one operation, and functions of graphs that rest on linearity.

NOTE [Linear blocks]: the node ``linear`` takes cotangents and holds what was written down in one turn of the engine. It reads saved
values from around it, and is linear in what it takes: where all of that is undefined, so are its results, and nothing runs.
"""

from __future__ import annotations

from typing import Any, Container, Sequence

import numpy as np

from ...base.errors import GraphError
from ...base.mode_contexts import no_grad
from ...func.forward import jvp as func_jvp
from ...tensors.tensor import Tensor
from ..capture.tracing import tracing
from ..ir.graph import Graph, require_graph
from ..ir.histories import STOP, UNRECORDED
from ..ir.ir import Block, Control, Node, Value, copy_block, map_values, values_in
from ..ir.replay import run_block, tells
from ..passes.drop_stops import drop_stops
from ..passes.eliminate_dead import eliminate_dead, needed_nodes
from ..passes.liveness import live_operands, live_values
from ..passes.merge_calls import merge_calls
from ..passes.retrace import constants_of, example, examples_of, leaves, retrace, run_flagged, traced
from .cut import recomputed, saved_values

__all__ = ["LINEAR", "Linearized", "group", "inline", "jvp", "linearize", "transpose"]


def run_linear(node: Node, values: dict[Value, Any], *cotangents: Any, name: str) -> tuple:
    """See NOTE [Linear blocks]."""
    if cotangents and all(g is None for g in cotangents):
        return (None,) * len(node.outs)
    return tuple(run_block(node.blocks[0], (), values))


LINEAR = Control("linear", run_linear)


# ---- blocks --------------------------------------------------------------------------------------------------------


def group(graph: Graph, cotangents: Sequence[Value], turns: dict[Node, tuple[int, str]]) -> None:
    """Make a linear block of the nodes of every turn."""
    depends = set(cotangents)
    for node in graph.nodes:
        if not depends.isdisjoint(node.values()):
            depends.update(node.outs)
    readers: dict[Value, set] = {}
    for node in graph.nodes:
        for value in node.values():
            readers.setdefault(value, set()).add(turns.get(node, node))
    for value in values_in(tuple(graph.outputs)):
        readers.setdefault(value, set()).add(None)

    def is_free(node: Node) -> bool:
        """Whether it stands before the blocks: it reads no cotangent, and others than its turn read what it gives."""
        return depends.isdisjoint(node.outs) and any(readers.get(value, set()) - {turns[node]} for value in node.outs)

    made: list[Node] = []
    blocks: dict[tuple[int, str], Node] = {}
    hoisted: set[Node] = set()
    for node in reversed(graph.nodes):  # what a free node reads of its turn is free too
        if node in turns and (is_free(node) or node in hoisted):
            hoisted.add(node)
            hoisted.update(v.node for v in node.values() if v.node is not None and turns.get(v.node) == turns[node])
    for node in graph.nodes:
        turn = turns.get(node)
        if turn is None or node in hoisted:
            made.append(node)
            continue
        block = blocks.get(turn)
        if block is None:
            block = blocks[turn] = Node(LINEAR, (), {"name": turn[1]}, [], (Block(),), node.line)
            made.append(block)
        elif made[-1] is not block:  # what was hoisted in between stands before it
            made.remove(block)
            made.append(block)
        block.blocks[0].nodes.append(node)
    for turn, block in blocks.items():
        inner = block.blocks[0]
        own = {value for node in inner.nodes for value in node.outs}
        read = [value for node in inner.nodes for value in node.values() if value in depends and value not in own]
        block.ins = tuple(dict.fromkeys(read))
        inner.outputs = [value for node in inner.nodes for value in node.outs if readers.get(value, set()) - {turn}]
    graph.nodes[:] = made
    stand_outside(graph, blocks.values())


def stand_outside(graph: Graph, blocks: Any) -> None:
    """Results of blocks are values of their own outside of them."""
    table: dict[Value, Value] = {}
    for block in blocks:
        for value in block.blocks[0].outputs:
            outer = Value(value.layout, value.requires_grad, block, len(block.outs), value.name, None, value.line)
            block.outs.append(outer)
            table[value] = outer

    def change(value: Value) -> Value:
        return table.get(value, value)

    graph.replace(change)
    for block in blocks:
        inner = block.blocks[0]
        own = {value: mine for mine, value in table.items() if value.node is block}

        def back(value: Value, own: dict[Value, Value] = own) -> Value:
            return own.get(value, value)

        inner.replace(back)


def inline(graph: Graph) -> Graph:
    """The same graph with the nodes of linear blocks in their places."""
    made, _ = graph.copy()
    table: dict[Value, Value] = {}

    def change(value: Value) -> Value:
        while value in table:
            value = table[value]
        return value

    nodes: list[Node] = []
    for node in made.nodes:
        for each in node.blocks[0].nodes if node.op is LINEAR else [node]:
            each.replace_all(change)
            nodes.append(each)
        if node.op is LINEAR:
            table.update(zip(node.outs, node.blocks[0].outputs))
    made.nodes[:] = nodes
    made.outputs[:] = [map_values(x, change) for x in made.outputs]
    return made


# ---- forward -------------------------------------------------------------------------------------------------------


def jvp(graph: Graph, *examples: Any) -> Graph:
    """The graph of outputs and their tangents.

    Tangents end where the function detached values, and go through what it computed under ``no_grad``, as those of ``func.jvp`` do.

    Args:
        examples: arguments of the graph; those of its inputs' layouts by default.

    Returns:
        A graph of the inputs and, behind them, their tangents; it gives the outputs and, behind them, theirs.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> x, t = nbgrad.tensor([3.0]), nbgrad.tensor([1.0])
    >>> jvp(trace(lambda x: x * x, x))(x, t)
    [tensor([9.]), tensor([6.])]
    """
    require_graph("jvp", graph)
    flat = flattened(graph, examples)
    with no_grad(), tracing(constants_of(flat), late=True) as active:
        inputs = [traced(active, example(value.layout), False, value.name) for value in flat.inputs if value.layout]
        smooth = [x.layout.dtype.differentiable for x in inputs]
        tangents = [traced(active, example(x.layout.plain().like()), False) if able else None for x, able in zip(inputs, smooth)]

        def run(*primals: Tensor) -> tuple:
            given = iter(primals)
            outs, _ = run_flagged(active, flat, [next(given) if able else x for x, able in zip(inputs, smooth)])
            return tuple(outs)

        primals = tuple([x for x, able in zip(inputs, smooth) if able])
        outs, ts = func_jvp(run, primals, tuple([t for t in tangents if t is not None]))
        active.graph.outputs = [active.value(x) for x in (*leaves(outs), *leaves(ts))]
        made = active.graph
    made.name = f"{graph.name}_jvp"
    drop_stops(made)
    merge_calls(made)
    eliminate_dead(made)
    return made


def flattened(graph: Graph, examples: Sequence[Any]) -> Graph:
    """A graph of calls alone."""
    return retrace(graph, examples_of(graph, examples), [value.requires_grad is not False for value in graph.inputs], True)


class Linearized:
    """A graph and its derivative.

    Attributes:
        f: the graph, which gives besides its outputs what the derivative needs.
        f_real_outputs: how many of its outputs are the graph's.
        linear: of the saved values, then of tangents; it gives the outputs' tangents. What it does is linear in tangents.
        captured_inputs, captured_outputs: which inputs and outputs of ``f`` are the first arguments of ``linear``.
    """

    def __init__(self, f: Graph, f_real_outputs: int, linear: Graph, captured_inputs: list[int], captured_outputs: list[int]):
        self.f, self.f_real_outputs, self.linear = f, f_real_outputs, linear
        self.captured_inputs, self.captured_outputs = captured_inputs, captured_outputs


def linearize(graph: Graph, *examples: Any, memory: float | None = None) -> Linearized:
    """The derivative of a graph as a graph that is linear in tangents, and the values that it needs.

    Args:
        examples, memory: as of ``differentiate``.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> x = nbgrad.tensor([3.0])
    >>> linearize(trace(lambda x: x * x, x)).linear(x, nbgrad.tensor([1.0]))
    [tensor([6.])]
    """
    require_graph("linearize", graph)
    both = jvp(graph, *examples)
    count = len(flattened(graph, examples).inputs)
    inputs, tangents = both.inputs[:count], both.inputs[count:]
    half = len(both.outputs) // 2
    outs, ts = both.outputs[:half], both.outputs[half:]
    depends = set(tangents)
    for node in both.nodes:
        if not depends.isdisjoint(node.values()):
            depends.update(node.outs)
    primal = [node for node in both.nodes if depends.isdisjoint(node.outs)]
    rest = [node for node in both.nodes if not depends.isdisjoint(node.outs)]
    constants = set(both.constants)
    reads = {v for node in rest for v in node.values() if v not in depends} | {v for v in values_in(tuple(ts)) if v not in depends}
    saved = saved_values(inputs, primal, reads - constants, list(values_in(tuple(outs))), memory)
    extra = [value for value in saved if value not in inputs and value not in outs]
    f = part(inputs, primal, [*outs, *extra], both.constants, graph.name)
    nodes = [*recomputed(primal, reads, saved), *rest]
    linear = part([*saved, *tangents], nodes, ts, both.constants, f"{graph.name}_linear", set(nodes))
    captured_inputs = [k for k, value in enumerate(inputs) if value in saved and value not in outs]
    captured_outputs = [k for k, value in enumerate([*outs, *extra]) if value in saved and value not in [*outs, *extra][:k]]
    order = {value: k for k, value in enumerate(saved)}
    places = [order[inputs[k]] for k in captured_inputs] + [order[[*outs, *extra][k]] for k in captured_outputs]
    linear.inputs[: len(saved)] = [linear.inputs[k] for k in places]
    return Linearized(f, len(outs), linear, captured_inputs, captured_outputs)


def part(
    inputs: Sequence[Value],
    nodes: Sequence[Node],
    outputs: Sequence[Any],
    constants: Sequence[Value],
    name: str,
    silent: Container[Node] = (),
    became: dict[Value, Value] | None = None,
) -> Graph:
    """A graph of its own of what outputs depend on.

    Args:
        silent: as of ``eliminate_dead``.
        became: receives what stands for the values.
    """
    table: dict[Value, Value] = {} if became is None else became
    nodes, read = needed_nodes(nodes, outputs, silent)
    constants = [value for value in constants if value in read]
    made: Graph = copy_block(Block(list(inputs), nodes, list(outputs)), Graph(name=name), table, constants)
    made.constants = [table[value] for value in constants]
    return made


def transpose(graph: Graph, linear: Sequence[int] | None = None) -> Graph:
    """The transpose of a graph that is linear in some of its inputs.

    Args:
        linear: which inputs; by default those that are differentiable. The others are parameters.

    Returns:
        A graph of the parameters, then of cotangents of the outputs; it gives the cotangents of the linear inputs.

    Raises:
        GraphError: the derivative depends on one of these inputs: the graph is not linear in them.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> transpose(trace(lambda x: x.expand(3), nbgrad.ones(1)))(nbgrad.tensor([1.0, 2.0, 3.0]))
    [tensor([6.])]
    """
    from .joint import Joint

    require_graph("transpose", graph)
    flat = flattened(graph, ())
    places = (
        [k for k, v in enumerate(flat.inputs) if v.layout and v.layout.dtype.differentiable] if linear is None else list(linear)
    )
    flat, _ = flat.copy()
    stops = {value for node in flat.all_nodes() if tells(node) or node.op is STOP or node.op is UNRECORDED for value in node.outs}
    for node in flat.all_nodes():
        for value in node.outs:
            value.requires_grad = False if value in stops and value.requires_grad is False else None
    for k, value in enumerate(flat.inputs):
        value.requires_grad = k in places
    joint = Joint(flat, examples_of(flat, ()))
    for node in joint.reverse:
        leave_out_unread(node)
    take_zeros(joint.graph, joint.reverse, {joint.grads[k] for k in places if joint.grads[k] is not None})
    reads = {value for node in joint.reverse for value in node.values()} - set(joint.graph.constants)
    nodes = [*recomputed(joint.primal, reads, ()), *joint.reverse]
    read = {value for node in nodes for value in node.values()}
    for k in places:
        if joint.inputs[k] in read:
            raise GraphError(f"transpose: {graph.name} is not linear in input {flat.inputs[k].name or k}. Hint: linearize it.")
    parameters = [value for k, value in enumerate(joint.inputs) if k not in places]
    inputs, grads = [*parameters, *joint.cotangents], [joint.grads[k] for k in places]
    return part(inputs, nodes, grads, joint.graph.constants, f"{graph.name}_transposed", set(nodes))


def take_zeros(graph: Graph, nodes: Sequence[Node], outputs: set[Value]) -> None:
    """Let loops and branches have zeros in the place of operands that outputs do not depend on, whatever these are."""
    live = live_values(nodes, outputs)
    for node in nodes:
        places = live_operands(node, {k for k, value in enumerate(node.outs) if value in live})
        if places is not None:
            node.ins = tuple([value if k in places else zero_like(graph, value) for k, value in enumerate(node.ins)])


def zero_like(graph: Graph, value: Any) -> Any:
    """A constant of a graph that is zero, in the place of a value."""
    if not isinstance(value, Value) or value.layout is None or value.is_constant:
        return value
    zero = Value(value.layout, False, data=np.zeros((), value.layout.descr).item())
    graph.constants.append(zero)
    return zero


def leave_out_unread(node: Node) -> None:
    """Let a scan or a branch, and those within it, take nothing that their bodies do not read, but for carries."""
    for block in node.blocks:
        for inner in block.nodes:
            leave_out_unread(inner)
    if node.op.name not in ("scan", "cond"):
        return
    first = 1 if node.op.name == "cond" else 0  # a predicate is no operand of the bodies
    carries = 0 if first else node.attributes["carries"]
    needed = [needed_nodes(block.nodes, block.outputs) for block in node.blocks]
    places = range(len(node.ins) - first)
    kept = [k for k in places if k < carries or any(b.inputs[k] in read for b, (_, read) in zip(node.blocks, needed))]
    node.ins = (*node.ins[:first], *(node.ins[first + k] for k in kept))
    node.blocks = tuple(
        [Block([block.inputs[k] for k in kept], nodes, block.outputs) for block, (nodes, _) in zip(node.blocks, needed)]
    )
    if not first:
        slices = range(carries, carries + node.attributes["slices"])
        node.attributes = {**node.attributes, "slices": sum(k in slices for k in kept)}
