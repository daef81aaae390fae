"""What a compiled function says of programs that another form would help: of unrolled loops, of answers that are always new."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Sequence

from ..ir.ir import Block, Node
from ..ir.lines import user_level
from ..nodes.values import GUARD

__all__ = ["Hints"]

MOST_CALLS = 4000  # of an unrolled loop, before there is something to say
TRIPS = 32  # calls of one line that make a loop
OFTEN = 3  # new answers at one place


class Hints:
    """What one compiled function has said, once each.

    Attributes:
        answers: by line, how often another answer was met there; ``said``: lines of which there was a hint.
    """

    def __init__(self, name: str):
        self.name, self.answers, self.said = name, Counter[str](), set[str]()

    def note(self, graph: Block, others: Sequence[Block]) -> None:
        """A graph was captured, beside others for arguments of the same kinds."""
        if len(graph.nodes) > MOST_CALLS:
            line, count = Counter(node.line for node in graph.nodes).most_common(1)[0]
            if count >= TRIPS:
                self.say(line, f"a loop was unrolled into {len(graph.nodes)} calls", "nbgrad.scan makes of it one node")
        new = max([first_new(graph, other) for other in others], default=None, key=lambda each: -1 if each is None else each[0])
        if new is not None:
            line = new[1].line
            self.answers[line] += 1
            if self.answers[line] == OFTEN:
                hint = "nbgrad.cond, nbgrad.where and nbgrad.while_loop hold what depends on values in one graph"
                self.say(line, f"values that the program asks for were others {OFTEN} times", hint)

    def say(self, line: str, what: str, hint: str) -> None:
        """A hint, if there was none of this line."""
        if line not in self.said:
            self.said.add(line)
            warnings.warn(f"compile: {self.name}: {what}, at {line or 'an unknown line'}. Hint: {hint}.", stacklevel=user_level())


def first_new(graph: Block, other: Block) -> tuple[int, Node] | None:
    """The first answer in which a graph differs from another one, and which it is; None without one."""
    for k, (node, before) in enumerate(zip(answers_of(graph), answers_of(other))):
        if node.op is not before.op or node.attributes.get("expected") != before.attributes.get("expected"):
            return k, node
        if [x.layout for x in node.outs] != [x.layout for x in before.outs]:
            return k, node
    return None


def answers_of(graph: Block) -> list[Node]:
    """The nodes that depend on values."""
    return [node for node in graph.nodes if node.op is GUARD or node.op.sized_by_values]
