"""What graphs are made of: values, nodes, blocks. Knows operations and layouts, and no tensor.

A node calls an operation of the table, or is a ``Control`` that runs blocks of its own. What it takes and gives are values, each of
one layout. A block is a list of nodes in the order in which they run, with inputs and outputs; a graph (graph.py) is a block with
constants.
"""

from __future__ import annotations

from typing import AbstractSet as Set, Any, Callable, Iterator, Sequence

from ...ops.core import Op
from ...tensors.layout import Layout, layout_of

__all__ = ["CONTROLS", "Block", "Control", "Node", "Value", "copy_block", "map_values", "plain_layout", "values_in"]

# By name: how the texts of graphs spell them.
CONTROLS: dict[str, Control] = {}


class Value:
    """One tensor of a graph.

    Attributes:
        layout: dtype, shape, strides and device; None where nothing is known of it.
        requires_grad: whether gradients flow through it; None where that is not known, which counts as yes.
        node, nr: the node whose result it is, and which of them; None of inputs, constants and parameters of blocks.
        name: what users called it; printed graphs name what has none.
        data: of a constant the tensor, or a number that all of its elements are.
        line: ``file:line`` of the call that made it.
    """

    __slots__ = ("layout", "requires_grad", "node", "nr", "name", "data", "line")

    def __init__(
        self,
        layout: Layout | None,
        requires_grad: bool | None = None,
        node: Node | None = None,
        nr: int = 0,
        name: str = "",
        data: Any = None,
        line: str = "",
    ):
        self.layout, self.requires_grad, self.node, self.nr, self.name = layout, requires_grad, node, nr, name
        self.data, self.line = data, line

    @property
    def is_constant(self) -> bool:
        """Whether it is known before the graph runs."""
        return self.data is not None

    def __repr__(self) -> str:
        layout = "?" if self.layout is None else f"{self.layout.dtype.name}{list(self.layout.shape)}"
        return f"<Value {self.name or 'unnamed'}: {layout}>"


class Control:
    """What a node is that is no call of an operation: it runs its blocks.

    Attributes:
        name: ``cond``, ``while_loop``, ``scan``, ``linear``.
        run: ``run(node, values, *operands, **attributes) -> results`` by calls of operations.
        check: ``check(node)`` gives what is wrong with its blocks and layouts, in sentences: see checker.py.
        effect: "pure"; "random": it takes something that others then do not get; "guard": the run may stop there; "host": the
            program sees it; "python": code of the program, of which nothing is known; "write": it overwrites an operand. Nodes with
            an effect are neither dropped nor merged, and keep their order.
        changing: of loops ``changing(node)``: how many of the first inputs of its blocks, which all take its operands, change from
            trip to trip.
        live: of loops and branches ``live(node, outs)``: which operands some results depend on, by their places; None: on all.
        waits: whether all that stands before it runs before it: what it changes may be what they read.
        last: whether it runs at the end of a run, behind all that could stop that.
        plain: ``plain(node, tensors) -> results``: what ``run`` gives of plain tensors where nothing is recorded; None: ``run``.
        steps: ``steps(node, schedule)`` gives the steps that a run takes; None, or a function that gives None: a call of ``run``.
    """

    kind = "control"

    def __init__(self, name: str, run: Callable, check: Callable[[Node], Iterator[str]] | None = None, effect: str = "pure"):
        self.sized_by_values = self.waits = self.last = False
        self.name, self.run, self.check, self.effect = name, run, check, effect
        self.steps: Callable[[Node, Any], Any] | None = None
        self.plain: Callable[[Node, list], Sequence[Any]] | None = None
        self.changing: Callable[[Node], int] | None = None
        self.live: Callable[[Node, Set[int]], Set[int] | None] | None = None
        CONTROLS[name] = self

    def __repr__(self) -> str:
        return f"<control {self.name}>"


class Node:
    """``outs = op(*ins, **attributes)``.

    Attributes:
        op: an operation of the table, or a ``Control``.
        ins: operands in the declared order: values, numbers, tuples of those where the operation takes a sequence.
        attributes: its other arguments by name; values among them, and tuples of values.
        outs: its results.
        blocks: of control nodes.
        line: ``file:line`` of the call in the captured program.
        known: operands and attributes of which somebody has asked for the values, and these.
    """

    __slots__ = ("op", "ins", "attributes", "outs", "blocks", "line", "known")

    def __init__(
        self,
        op: Op | Control,
        ins: tuple,
        attributes: dict[str, Any],
        layouts: Sequence[Layout | None],
        blocks: tuple[Block, ...] = (),
        line: str = "",
        flags: Sequence[bool | None] | None = None,
    ):
        self.op, self.ins, self.attributes, self.blocks, self.line = op, ins, attributes, blocks, line
        self.known: tuple[tuple | None, dict | None, tuple[Value, ...]] = (None, None, ())
        self.outs = [Value(layout, None if flags is None else flags[nr], self, nr, line=line) for nr, layout in enumerate(layouts)]

    @property
    def name(self) -> str:
        """The operation's."""
        return self.op.name

    @property
    def effect(self) -> str:
        """What it does beside giving results: see ``Control``."""
        effect: str = getattr(self.op, "effect", "") or "pure"
        return effect

    def values(self) -> tuple[Value, ...]:
        """Every value that it reads, in order, those in attributes too; what its blocks read is not among them.

        Passes ask for them many times a node: they are gathered once, until operands or attributes are exchanged.
        """
        ins, attributes, values = self.known
        if ins is not self.ins or attributes is not self.attributes:
            found: list[Value] = []
            for x in (*self.ins, *self.attributes.values()):
                kind = type(x)
                if kind is Value:
                    found.append(x)
                elif kind is tuple or kind is list:
                    gather(x, found)
            values = tuple(found)
            self.known = self.ins, self.attributes, values
        return values

    def replace(self, change: Callable[[Value], Value]) -> None:
        """Read other values."""
        self.ins = tuple(map_values(x, change) for x in self.ins)
        self.attributes = {name: map_values(x, change) for name, x in self.attributes.items()}

    def replace_all(self, change: Callable[[Value], Value]) -> None:
        """Read other values, in its blocks too."""
        self.replace(change)
        for block in self.blocks:
            block.replace(change)

    def __repr__(self) -> str:
        return f"<Node {self.name}>"


class Block:
    """A part of a program.

    Attributes:
        inputs: its parameters.
        nodes: in the order in which they run.
        outputs: what it returns; of a block of numbers, too.
    """

    __slots__ = ("inputs", "nodes", "outputs", "__weakref__")

    def __init__(self, inputs: list[Value] | None = None, nodes: list[Node] | None = None, outputs: list[Any] | None = None):
        self.inputs: list[Value] = inputs or []
        self.nodes: list[Node] = nodes or []
        self.outputs: list[Any] = outputs or []

    def defined(self) -> Iterator[Value]:
        """Every value that it defines itself, in order."""
        yield from self.inputs
        for node in self.nodes:
            yield from node.outs

    def replace(self, change: Callable[[Value], Value]) -> None:
        """Read and return other values."""
        for node in self.nodes:
            node.replace_all(change)
        self.outputs = [map_values(x, change) for x in self.outputs]

    def all_nodes(self) -> Iterator[Node]:
        """Its nodes, and those of their blocks, in program order."""
        for node in self.nodes:
            yield node
            for block in node.blocks:
                yield from block.all_nodes()

    def free(self) -> list[Value]:
        """The values of enclosing blocks that it reads, in order of first use."""
        own, found = set(self.defined()), dict[Value, None]()
        for node in self.nodes:
            for value in (*node.values(), *(value for block in node.blocks for value in block.free())):
                if value not in own:
                    found.setdefault(value)
        for value in values_in(tuple(self.outputs)):
            if value not in own:
                found.setdefault(value)
        return list(found)


def copy_block(block: Block, made: Any, table: dict[Value, Value], outer: list[Value] | None = None) -> Any:
    """Fill ``made`` with copies of a block's values and nodes, and those of ``outer``, which are entered into ``table``."""

    def copied(value: Value) -> Value:
        if value not in table:
            table[value] = Value(value.layout, value.requires_grad, None, value.nr, value.name, value.data, value.line)
        return table[value]

    for value in (*(outer or ()), *block.inputs):
        copied(value)
    made.inputs = [table[value] for value in block.inputs]

    def change(value: Value) -> Value:
        return table.get(value, value)

    for node in block.nodes:
        new = Node(node.op, node.ins, node.attributes, [], line=node.line)
        new.replace(change)
        new.blocks = tuple([copy_block(inner, Block(), table) for inner in node.blocks])
        for value in node.outs:
            copied(value).node = new
            new.outs.append(table[value])
        made.nodes.append(new)
    made.outputs = [map_values(x, change) for x in block.outputs]
    return made


def values_in(x: Any) -> Iterator[Value]:
    """The values in nested tuples and lists, in order."""
    found: list[Value] = []
    gather(x, found)
    return iter(found)


def gather(x: Any, found: list[Value]) -> None:
    """Append the values in nested tuples and lists: passes ask for them many times a node."""
    if type(x) is Value:
        found.append(x)
    elif isinstance(x, (tuple, list)):
        for each in x:
            if type(each) is Value:
                found.append(each)
            elif isinstance(each, (tuple, list)):
                gather(each, found)


def map_values(x: Any, change: Callable[[Value], Any]) -> Any:
    """Nested tuples and lists with every value changed."""
    if isinstance(x, Value):
        return change(x)
    if isinstance(x, (tuple, list)):
        return type(x)([map_values(each, change) for each in x]) if type(x) in (tuple, list) else x
    return x


def plain_layout(value: Value) -> Layout:
    """The row-major layout of a value's dtype and shape."""
    assert value.layout is not None
    return layout_of(value.layout.dtype, value.layout.shape, None, value.layout.device)
