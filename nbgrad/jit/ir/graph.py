"""A captured program: a block of calls, and the tensors that it uses without receiving them.

>>> import nbgrad
>>> from nbgrad.jit import trace
>>> graph = trace(lambda x: (x * x).sum(), nbgrad.ones(3))
>>> [node.name for node in graph.nodes]
['mul', 'sum']
"""

from __future__ import annotations

from typing import Any

from ...base.errors import ArgumentError
from ...tensors.tensor import Tensor
from .ir import Block, Node, Value, copy_block
from .replay import replay
from .tracebacks import failed_node, raise_at

__all__ = ["Graph", "require_graph"]


class Graph(Block):
    """A captured program: calls of operations in order, and the tensors that they use without receiving them.

    Called with tensors it computes what the function did; ``str(graph)`` is Python that does the same; ``trace`` makes one.

    Attributes:
        inputs, nodes, outputs: the values that it receives, the calls, the values that it returns.
        constants: values whose ``data`` is a tensor of the program, or what a creation function made.
        name: of the captured function.
        places: while it is simplified, where its views are: see passes/rewriting.py.
    """

    __slots__ = ("constants", "name", "places")

    def __init__(
        self,
        inputs: list[Value] | None = None,
        nodes: list[Node] | None = None,
        outputs: list[Any] | None = None,
        constants: list[Value] | None = None,
        name: str = "graph",
    ):
        super().__init__(inputs, nodes, outputs)
        self.constants: list[Value] = constants or []
        self.name = name
        self.places: Any = None

    def __call__(self, *inputs: Any) -> list:
        """Run it by calls of operations: what every other way to run it is compared with.

        Args:
            inputs: a tensor for every input, of its shape and dtype.
        """
        self.require_inputs(inputs)
        try:
            return replay(self, self.constants, inputs, self.name, cuts=True)
        except Exception as error:
            node = failed_node(error, self)
            if node is None:
                raise
            raise_at(error, node, self, self.constants, self.name)

    def require_inputs(self, inputs: tuple) -> None:
        """Refuse what is no tensor of the shape and dtype that the graph is for: its calls would compute something else.

        Raises:
            ArgumentError: something is not.
        """
        for k, (value, x) in enumerate(zip(self.inputs, inputs)):
            expected, came = value.layout, x.layout if isinstance(x, Tensor) else None
            if expected is None or came and came.shape == expected.shape and came.dtype is expected.dtype:
                continue
            told = f"{came.dtype.name} {list(came.shape)}" if came else f"of type {type(x).__name__}"
            raise ArgumentError(
                f"{self.name}: {value.name or f'input {k}'} is {told}, expected {expected.dtype.name} {list(expected.shape)}. "
                "Hint: trace the function for such arguments."
            )

    def __str__(self) -> str:
        """Python that computes the same: see text.py."""
        from ..text.text import text_of  # benchmarks/test_startup.py

        return text_of(self, self.constants, self.name)

    def draw(self, path: Any, limit: int = 500) -> None:
        """Write a drawing to an SVG file: see show.py. Equal graphs have equal drawings.

        Args:
            path: of the file.
            limit: how many calls are drawn, the first ones; the drawing says how many were left out. A thousand take seconds.
        """
        from ..text.show import write_drawing

        write_drawing(self, self.constants, path, self.name, limit)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, {len(self.outputs)} outputs>"

    def copy(self) -> tuple[Graph, dict[Value, Value]]:
        """A graph of its own values, which share constants' data; and the new value of every old one."""
        table: dict[Value, Value] = {}
        made = copy_block(self, Graph(name=self.name), table, self.constants)
        made.constants = [table[value] for value in self.constants]
        return made, table


def require_graph(op: str, x: object) -> None:
    """Refuse what is no graph.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(x, Block):
        raise ArgumentError(f"{op}: expected a graph, got {type(x).__name__}. Hint: nbgrad.jit.trace(fn, *examples) captures one.")
