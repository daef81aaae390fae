"""Whether two graphs are the same program, and where they differ.

Names, lines of the program and the order of constants do not matter. Layouts, flags, numbers to the last bit and the order of nodes
do.

>>> import nbgrad
>>> from nbgrad.jit import difference, trace
>>> one, other = (trace(lambda x: x * number, nbgrad.ones(2)) for number in (2, 3))
>>> print(difference(one, other))
node 0 (mul), operand 1: 2 against 3
--- graph
+++ graph
@@ -1,3 +1,3 @@
 def graph(x: float32[2]) -> [float32[2]]:
-    v0: float32[2] = mul(x, 2)
+    v0: float32[2] = mul(x, 3)
     return [v0]
"""

from __future__ import annotations

from difflib import unified_diff
from typing import Any, Iterator

from ...creation.generators import Generator
from ...tensors.tensor import Tensor
from .graph import Graph, require_graph
from .ir import Block, Node, Value
from .literals import bytes_of, literal, type_text

__all__ = ["difference", "same"]


def same(one: Graph, other: Graph) -> bool:
    """Whether two graphs are the same program: the same calls in the same order, with equal constants; names do not count.

    Args:
        one, other: graphs.

    Raises:
        ArgumentError: one is no graph.

    >>> import nbgrad
    >>> from nbgrad.jit import same, trace
    >>> x = nbgrad.ones(2)
    >>> same(trace(lambda x: x * 2, x), trace(lambda y: y * 2, x)), same(trace(lambda x: x * 2, x), trace(lambda x: x * 3, x))
    (True, False)
    """
    for graph in (one, other):
        require_graph("same", graph)
    return next(Pairs().blocks(one, other), None) is None


def difference(one: Graph, other: Graph) -> str:
    """Where two graphs differ: the first place, and what of their texts; the empty string where they are the same.

    Args:
        one, other: graphs.

    Raises:
        ArgumentError: one is no graph.

    >>> import nbgrad
    >>> from nbgrad.jit import difference, trace
    >>> x = nbgrad.ones(2)
    >>> print(difference(trace(lambda x: x * 2, x), trace(lambda x: x * 3, x)).splitlines()[0])
    node 0 (mul), operand 1: 2 against 3
    """
    for graph in (one, other):
        require_graph("difference", graph)
    found = next(Pairs().blocks(one, other), None)
    if found is None:
        return ""
    return f"{found}\n{text_difference(str(one), str(other), one.name, other.name)}"


def text_difference(one: str, other: str, mine: str = "before", theirs: str = "after") -> str:
    """What differs in the texts of two graphs, the lines of the program left out."""
    lines = [[line for line in text.splitlines() if line.lstrip()[0] != "#"] for text in (one, other)]
    return "\n".join(unified_diff(lines[0], lines[1], mine, theirs, lineterm=""))


class Pairs:
    """Which value of one graph stands for which of the other."""

    def __init__(self) -> None:
        self.there: dict[Value, Value] = {}
        self.back: dict[Value, Value] = {}
        self.generators: tuple[dict[Any, Any], dict[Any, Any]] = {}, {}

    def pair(self, x: Value, y: Value, where: str) -> Iterator[str]:
        """What differs in two definitions, which stand for each other from now on."""
        self.there[x], self.back[y] = y, x
        mine, theirs = (type_text(value.layout, value.requires_grad) for value in (x, y))
        if mine != theirs:
            yield f"{where}: {mine} against {theirs}"

    def blocks(self, one: Block, other: Block, where: str = "") -> Iterator[str]:
        """What differs in two blocks, in order."""
        if len(one.inputs) != len(other.inputs):
            yield f"{where}{len(one.inputs)} inputs against {len(other.inputs)}"
        for k, (x, y) in enumerate(zip(one.inputs, other.inputs)):
            yield from self.pair(x, y, f"{where}input {k}")
        for k, (mine, theirs) in enumerate(zip(one.nodes, other.nodes)):
            yield from self.nodes(mine, theirs, f"{where}node {k} ({mine.name})")
        if len(one.nodes) != len(other.nodes):
            yield f"{where}{len(one.nodes)} nodes against {len(other.nodes)}"
        yield from self.sequences(one.outputs, other.outputs, f"{where}output")

    def nodes(self, one: Node, other: Node, where: str) -> Iterator[str]:
        """What differs in two nodes."""
        if one.op is not other.op:
            yield f"{where}: against {other.name}"
        yield from self.sequences(one.ins, other.ins, f"{where}, operand")
        for name in dict.fromkeys((*one.attributes, *other.attributes)):
            if (name in one.attributes) != (name in other.attributes):
                yield f"{where}: attribute {name} in one of them"
            else:
                yield from self.arguments(one.attributes[name], other.attributes[name], f"{where}, attribute {name}")
        if len(one.blocks) != len(other.blocks):
            yield f"{where}: {len(one.blocks)} blocks against {len(other.blocks)}"
        for k, (mine, theirs) in enumerate(zip(one.blocks, other.blocks)):
            yield from self.blocks(mine, theirs, f"{where}, block {k}: ")
        if len(one.outs) != len(other.outs):
            yield f"{where}: {len(one.outs)} results against {len(other.outs)}"
        for k, (x, y) in enumerate(zip(one.outs, other.outs)):
            yield from self.pair(x, y, f"{where}, result {k}")

    def sequences(self, one: Any, other: Any, where: str) -> Iterator[str]:
        """What differs in two sequences of arguments."""
        if len(one) != len(other):
            yield f"{where}s: {len(one)} against {len(other)}"
        for k, (x, y) in enumerate(zip(one, other)):
            yield from self.arguments(x, y, f"{where} {k}")

    def arguments(self, x: Any, y: Any, where: str) -> Iterator[str]:
        """What differs in two arguments."""
        if isinstance(x, Value) and isinstance(y, Value):
            if x not in self.there and y not in self.back and x.is_constant and y.is_constant:
                yield from self.pair(x, y, f"{where}, a constant")
                if not same_data(x, y):
                    yield f"{where}: constants of other values"
            elif self.there.get(x) is not y or self.back.get(y) is not x:
                yield f"{where}: other values"
        elif isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
            yield from self.sequences(x, y, f"{where}, member")
        elif isinstance(x, Generator) and self.generators[0].setdefault(x, y) is not y:
            yield f"{where}: one generator against two"
        elif isinstance(y, Generator) and self.generators[1].setdefault(y, x) is not x:
            yield f"{where}: two generators against one"
        elif isinstance(x, Value) or isinstance(y, Value) or not same_literals(x, y):
            yield f"{where}: {shown(x)} against {shown(y)}"


def shown(x: Any) -> str:
    """An argument in a message."""
    return f"a value of {type_text(x.layout)}" if isinstance(x, Value) else literal(x)


def same_literals(x: Any, y: Any) -> bool:
    """Whether two arguments other than values are the same, to the last bit and type."""
    if x is y:
        return True
    text = literal(x)
    return text == literal(y) and not text.startswith("unspoken")


def same_data(x: Value, y: Value) -> bool:
    """Whether two constants of one layout hold the same."""
    if isinstance(x.data, Tensor) and isinstance(y.data, Tensor):
        return x.data is y.data or bytes_of(x.data) == bytes_of(y.data)
    return same_literals(x.data, y.data)
