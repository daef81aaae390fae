"""Signs, which move outwards out of products and quotients until they meet a sum, another sign or a number."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ops.core import OPS
from ..ir.graph import Graph
from ..ir.ir import Node, Value, values_in
from .checked import checked
from .numbers import fits, of_reals
from .rewriting import Rewriting

__all__ = ["move_signs"]

WHOLE = 1 << 24  # below, integers are what they are in every floating dtype that takes part


@checked
def move_signs(graph: Graph) -> bool:
    """(-x) * y is -(x * y), so is x / (-y); x + (-y) is x - y; x * -1 is -x; -(x * c) is x * -c.

    Rounding does not see signs. Not moved: out of sums, for -(x + y) is another zero than -x - y where x is -y; out of products of
    matrices for the same reason; and out of what is complex, whose products are sums.
    """
    if not any(map(is_signed, graph.nodes)):
        return False
    rewriting, nodes, signs = Rewriting(graph), list[Node](), Signs(graph)
    for node in graph.nodes:
        if rewriting.table:
            rewriting.read(node)
        nodes += signs.moved(node) if of_reals(node) else [node]
    return rewriting.finish(nodes) or signs.changed


def is_signed(node: Node) -> bool:
    """Whether a node is a sign, or may be one."""
    if node.op.name == "neg":
        return True
    for x in node.ins:  # asked of every node
        if type(x) in (int, float) and x == -1:
            return True
    return False


class Signs:
    """One walk.

    Attributes:
        readers: how many times values are read.
        changed: whether any sign was moved.
    """

    def __init__(self, graph: Graph):
        self.changed = False
        self.readers = Counter(value for node in graph.all_nodes() for value in node.values())
        self.readers.update(values_in(tuple(graph.outputs)))

    def moved(self, node: Node) -> list[Node]:
        """What stands in the place of a node."""
        name, ins = node.name, node.ins
        layout = node.outs[0].layout
        if layout is None or not layout.dtype.is_floating_point or any(not floating(value) for value in node.values()):
            return [node]
        if name in ("abs", "square"):
            inner = beneath(ins[0])
            return self.instead(node, node.op, (inner,)) if inner is not None else [node]
        if name == "neg":
            return self.into_number(node)
        if len(ins) != 2 or name not in ("add", "sub", "mul", "div"):
            return [node]
        x, y = beneath(ins[0]), beneath(ins[1])
        if name in ("add", "sub"):
            if y is not None:
                return self.instead(node, OPS["sub" if name == "add" else "add"], (ins[0], y))
            return self.instead(node, OPS["sub"], (ins[1], x)) if x is not None and name == "add" else [node]
        if x is not None and y is not None:
            return self.instead(node, node.op, (x, y))
        if type(ins[1]) in (int, float) and ins[1] == -1:
            return self.instead(node, OPS["neg"], (ins[0],))
        if name == "mul" and type(ins[0]) in (int, float) and ins[0] == -1:
            return self.instead(node, OPS["neg"], (ins[1],))
        return self.outwards(node, x, y)

    def outwards(self, node: Node, x: Any, y: Any) -> list[Node]:
        """A product or a quotient with one sign: the sign of one with none, or another number."""
        k = 0 if x is not None else 1
        inner, other = (x, y)[k], node.ins[1 - k]
        if inner is None:
            return [node]
        if is_number(other):
            return self.instead(node, node.op, (inner, -float(other)) if k == 0 else (-float(other), inner))
        if self.readers[node.ins[k]] > 1:
            return [node]
        ins = (inner, other) if k == 0 else (other, inner)
        if not fits(node.op, ins, node):
            return [node]
        without = Node(node.op, ins, {}, [node.outs[0].layout], line=node.line, flags=[node.outs[0].requires_grad])
        self.readers[without.outs[0]] += 1
        self.changed = True
        node.op, node.ins = OPS["neg"], (without.outs[0],)
        return [without, node]

    def into_number(self, node: Node) -> list[Node]:
        """The sign of a product with a number, which nobody else reads, or of a quotient."""
        (x,) = node.ins
        inner = x.node if isinstance(x, Value) else None
        if inner is None or inner.name not in ("mul", "div") or self.readers[x] > 1 or not of_reals(inner):
            return [node]
        for k, c in enumerate(inner.ins):
            if is_number(c):
                ins = (-float(c), inner.ins[1]) if k == 0 else (inner.ins[0], -float(c))
                return self.instead(node, inner.op, ins)
        return [node]

    def instead(self, node: Node, op: Any, ins: tuple) -> list[Node]:
        """Make a node another call, if its result keeps its layout."""
        if not fits(op, ins, node):
            return [node]
        for value in values_in(node.ins):
            self.readers[value] -= 1
        self.readers.update(values_in(ins))
        node.op, node.ins, self.changed = op, ins, True
        return [node]


def floating(value: Value) -> bool:
    """Whether a value is of floating numbers."""
    return value.layout is not None and value.layout.dtype.is_floating_point


def beneath(x: Any) -> Any:
    """The operand of a sign; None if a value is none."""
    if not isinstance(x, Value) or x.node is None or x.node.name != "neg":
        return None
    return x.node.ins[0]


def is_number(c: Any) -> bool:
    """Whether a number has a sign of its own, to the last bit."""
    return type(c) is float or type(c) is int and abs(c) < WHOLE
