"""Whether a graph is one: what every pass may rely on, and must leave true.

>>> import nbgrad
>>> from nbgrad.jit import check, trace
>>> graph = trace(lambda x: x.exp().log(), nbgrad.ones(2))
>>> graph.nodes.reverse()
>>> check(graph, after="turning round")
Traceback (most recent call last):
...
nbgrad.base.errors.GraphError: check after turning round: definition before use: node 0 (log, ...): ...
"""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import numpy as np

from ...base.errors import GraphError, LinAlgError, NbgradError
from ...ops.core import Elementwise, General, Movement
from ...tensors.layout import Layout
from ...tensors.storage import Storage
from ...tensors.tensor import Tensor
from .graph import Graph, require_graph
from .ir import Block, Control, Node, Value, values_in
from .literals import type_text
from .operations import operation_of
from .results import layouts_of, layouts_of_run

__all__ = ["INVARIANTS", "check", "require_sound"]

INVARIANTS = {
    "definition before use": "an operand is an input, a constant, or a result of a node above, here or around the block",
    "one definition": "no value is defined twice, no node and no block stands in two places",
    "results know their node": "node.outs[k] has that node and that number; inputs and constants have none",
    "outputs are visible": "an output is a number, or a value that is defined at the end of the block",
    "constants have data": "a constant is a tensor of the layout that it says, or a number with a layout",
    "no tensors in nodes": "tensors are constants; operands and attributes are values, numbers and the like",
    "known operations": "an operation is one of the table, a control node one that is registered",
    "operands fit": "a call has the operands and attributes that its operation declares, and they go together",
    "no writes": "a write is a new value: no operation in place",
    "number of results": "a node has as many results as its operation gives",
    "layouts": "a result has the layout that the operation gives; no layout is marked",
    "flags": "gradients flow through floating and complex values alone",
    "blocks": "control nodes alone have blocks, of the form that they declare",
}


class Fault(NamedTuple):
    """What is wrong.

    Attributes:
        invariant: a key of INVARIANTS.
        what: a sentence.
        node: where; None at inputs, constants and outputs.
        number: of the node in its block.
    """

    invariant: str
    what: str
    node: Node | None = None
    number: int = 0

    def __str__(self) -> str:
        where = "" if self.node is None else f"node {self.number} ({self.node.name}, {self.node.line or 'unknown line'}): "
        return f"{self.invariant}: {where}{self.what}."


def check(graph: Graph, after: str = "", run: bool = False) -> None:
    """Raise if a graph breaks a rule: it reads a value before that is made, a result has another layout, a call writes in place.

    Args:
        graph: a graph.
        after: the pass that left it so, for the message.
        run: also run operations on tensors of ones, where no rule tells the layouts of their results.

    Raises:
        GraphError: with pass, rule, node, line of the program, and the graph.

    >>> import nbgrad
    >>> from nbgrad.jit import check, trace
    >>> graph = trace(lambda x: x * 2, nbgrad.ones(2))
    >>> check(graph)
    >>> del graph.nodes[0]
    >>> try:
    ...     check(graph)
    ... except nbgrad.errors.GraphError as error:
    ...     print(str(error).splitlines()[0])
    check: outputs are visible: output 0 is not defined where the block ends.
    """
    require_graph("check", graph)
    refuse(f"check{' after ' * bool(after)}{after}", graph, Checker(graph, run).faults())


def require_sound(op: str, graph: Graph) -> None:
    """Refuse a graph that breaks an invariant; writes in place are left to those who say what to do about them.

    Raises:
        GraphError: it does.
    """
    refuse(op, graph, (fault for fault in Checker(graph, False).faults() if fault.invariant != "no writes"))


def refuse(what: str, graph: Graph, faults: Iterator[Fault]) -> None:
    """Raise the first of some faults."""
    fault = next(faults, None)
    if fault is not None:
        raise GraphError(f"{what}: {fault}\n{graph}")


class Checker:
    """One look at a graph.

    Attributes:
        defined: every value that was met at its definition.
        placed: identities of the nodes and blocks that were met.
    """

    def __init__(self, graph: Graph, run: bool):
        self.graph, self.run = graph, run
        self.defined, self.placed = set[Value](), set[int]()

    def faults(self) -> Iterator[Fault]:
        """What is wrong, in order."""
        for k, value in enumerate(self.graph.constants):
            yield from self.definition(value, None, 0, f"constant {k}")
            yield from constant_faults(value, k)
        yield from self.block(self.graph, set(self.graph.constants))

    def block(self, block: Block, visible: set[Value]) -> Iterator[Fault]:
        """The faults of a block, which sees these values of those around it."""
        for k, value in enumerate(block.inputs):
            yield from self.definition(value, None, 0, f"input {k}")
            if value.is_constant:
                yield Fault("constants have data", f"input {k} has data of its own: it is no constant")
        visible.update(block.inputs)
        for number, node in enumerate(block.nodes):
            for fault in self.node(node, visible):
                yield fault if fault.node is not None else fault._replace(node=node, number=number)
            visible.update(node.outs)
        for k, x in enumerate(block.outputs):
            for value in values_in(x):
                if value not in visible:
                    yield Fault("outputs are visible", f"output {k} is not defined where the block ends")
            if tensors_in(x):
                yield Fault("no tensors in nodes", f"output {k} holds a tensor")

    def definition(self, value: Value, node: Node | None, nr: int, name: str) -> Iterator[Fault]:
        """The faults of a value where it is defined."""
        if value in self.defined:
            yield Fault("one definition", f"{name} is defined above")
        self.defined.add(value)
        if value.node is not node or node is not None and value.nr != nr:
            yield Fault("results know their node", f"{name} says that it is result {value.nr} of {value.node}")
        if value.layout is not None and value.layout.beneath is not None:
            yield Fault("layouts", f"{name} has a layout that is marked {value.layout.special}")
        if value.requires_grad and value.layout is not None and not value.layout.dtype.differentiable:
            yield Fault("flags", f"{name} of {value.layout.dtype.name} requires a gradient")

    def node(self, node: Node, visible: set[Value]) -> Iterator[Fault]:
        """The faults of a node."""
        if id(node) in self.placed:
            yield Fault("one definition", "the node stands in two places")
        self.placed.add(id(node))
        if tensors_in((node.ins, tuple(node.attributes.values()))):
            yield Fault("no tensors in nodes", "an operand or an attribute holds a tensor. Hint: make it a constant of the graph")
        for value in node.values():
            if value not in visible:
                yield Fault("definition before use", f"it reads {value.name or 'u0'}, which nothing above it defines")
        yield from control_faults(node) if isinstance(node.op, Control) else self.call_faults(node)
        for block in node.blocks:
            if id(block) in self.placed:
                yield Fault("one definition", "one of its blocks stands in two places")
            self.placed.add(id(block))
            yield from self.block(block, set(visible))
        for k, value in enumerate(node.outs):
            yield from self.definition(value, node, k, f"result {k}")

    def call_faults(self, node: Node) -> Iterator[Fault]:
        """The faults of the call of an operation."""
        op: Any = node.op
        if operation_of(op.name) is not op:
            yield Fault("known operations", f"'{op.name}' is no operation of the table")
        if node.blocks:
            yield Fault("blocks", "an operation has no blocks")
        if op.name.endswith("_") or getattr(op, "effect", "pure") == "write":
            yield Fault("no writes", f"it writes over its first operand. Hint: '{op.name.rstrip('_')}' and a new value")
        yield from operand_faults(node)
        try:
            wanted = layouts_of(node)
            if wanted is None and self.run:
                wanted = layouts_of_run(node)
        except (LinAlgError, ZeroDivisionError):
            wanted = None  # of ones alone
        except (NbgradError, IndexError, TypeError, ValueError) as error:
            yield Fault("operands fit", str(error).rstrip("."))
            return
        count = len(wanted) if wanted is not None else count_of(op)
        if count is not None and count != len(node.outs):
            yield Fault("number of results", f"it has {len(node.outs)} results, expected {count}")
        for k, (value, layout) in enumerate(zip(node.outs, wanted or ())):
            if value.layout is not None and not same_layout(value.layout, layout):
                yield Fault("layouts", f"result {k} is said to be {type_text(value.layout)}, expected {type_text(layout)}")


def same_layout(said: Layout, given: Layout) -> bool:
    """Whether layouts are the same, but for strides along which no element lies."""
    if (said.dtype, said.shape, said.device, said.conj, said.neg) != (
        given.dtype,
        given.shape,
        given.device,
        given.conj,
        given.neg,
    ):
        return False
    return not said.numel or all(n == 1 or t == u for n, t, u in zip(said.shape, said.strides, given.strides))


def control_faults(node: Node) -> Iterator[Fault]:
    """The faults of a control node's own."""
    assert isinstance(node.op, Control)
    if operation_of(node.name) is not node.op:
        yield Fault("known operations", f"'{node.name}' is another control node than the one that is registered")
    for what in node.op.check(node) if node.op.check is not None else ():
        yield Fault("blocks", what)


def operand_faults(node: Node) -> Iterator[Fault]:
    """What of a call does not fit its declaration, whatever the layouts."""
    op: Any = node.op
    try:
        bound = op.signature.bind(*node.ins, **node.attributes)
    except TypeError as error:
        yield Fault("operands fit", f"{error}, expected {op.name}{op.signature}")
        return
    for name in op.operands:
        x = bound.arguments.get(name)
        number = isinstance(x, (bool, int, float, complex)) and isinstance(op, Elementwise)
        if not (x is None or number or isinstance(x, (Value, tuple, list))):
            yield Fault("operands fit", f"{name} is {x!r}, expected a value{' or a number' * isinstance(op, Elementwise)}")


def count_of(op: Any) -> int | None:
    """How many results an operation gives; None where that follows from its attributes."""
    return op.outputs if isinstance(op, General) else None if isinstance(op, Movement) and op.multiple else 1


def constant_faults(value: Value, k: int) -> Iterator[Fault]:
    """The faults of a constant's data."""
    data = value.data
    if isinstance(data, Tensor):
        if value.layout is None or type_text(data.layout.plain()) != type_text(value.layout):
            yield Fault(
                "constants have data",
                f"constant {k} is said to be {type_text(value.layout)}, its tensor is {type_text(data.layout)}",
            )
    elif not isinstance(data, (bool, int, float, complex)) or value.layout is None:
        yield Fault("constants have data", f"constant {k} has {data!r}, expected a tensor, or a number and a layout")


def tensors_in(x: Any) -> bool:
    """Whether there is a tensor or its like in nested sequences."""
    return any(map(tensors_in, x)) if isinstance(x, (tuple, list)) else isinstance(x, (Tensor, Storage, np.ndarray))
