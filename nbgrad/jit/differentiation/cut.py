"""What a reverse pass takes from the primal one: the values that are saved, so that the rest can be computed again.

NOTE [Cut]: a value is either saved or computed again of what is saved. Saving costs its bytes; results of the graph are alive
anyway and cost nothing. Draws, what has an effect, products, sorts and large reductions are never computed again. The cheapest
choice is a minimum cut between what there is at the start and what the reverse pass reads. Of cuts that cost the same it is the
one nearest to the reverse pass, after which least is computed again: of an argument and what is computed of it, the latter.
"""

from __future__ import annotations

from typing import Container, Iterable, Sequence

from ...base.errors import GraphError
from ...ops.core import Elementwise, Movement, Reduction
from ..ir.ir import Control, Node, Value
from ..passes import effects

__all__ = ["minimum_cut", "recomputed", "saved_values"]

LARGE = 4096  # elements: a reduction of more is not repeated
LONGEST = 64  # calls in a row that are repeated
COSTLY = 1 << 52
INFINITE = 1 << 62


def bytes_of(value: Value) -> int:
    """What saving costs."""
    return 0 if value.layout is None else value.layout.numel * value.layout.dtype.itemsize


def may_repeat(node: Node, effort: int = 0) -> bool:
    """Whether a call may be computed again.

    Args:
        effort: 1 allows large reductions too, 2 all that is pure.
    """
    if not effects.may_repeat(node):
        return False
    if isinstance(node.op, (Elementwise, Movement, Control)) or effort > 1:
        return True
    small = all(value.layout is not None and value.layout.numel <= LARGE for value in node.values())
    return isinstance(node.op, Reduction) and (small or effort > 0)


def saved_values(
    inputs: Sequence[Value],
    nodes: Sequence[Node],
    reads: Iterable[Value],
    alive: Iterable[Value],
    memory: float | None = None,
    costly: Container[Value] = (),
) -> list[Value]:
    """The values to save, in order of definition.

    Args:
        inputs, nodes: of the primal pass.
        reads: what the reverse pass reads of it.
        alive: results of the graph.
        memory: the bytes that may be saved beside arguments and results: as long as they suffice, nothing is computed again; where
            a minimum cut needs more, large reductions, then products and sorts are computed again too. None: a minimum cut.
        costly: are saved if nothing else serves.

    Raises:
        GraphError: the bytes do not suffice.
    """
    alive = set(alive)
    kept = {*inputs, *alive}
    defined = [*inputs, *(value for node in nodes for value in node.outs)]
    wanted = set(reads)
    everything = [value for value in defined if value in wanted]

    def cost(values: Iterable[Value]) -> int:
        return sum(bytes_of(value) for value in values if value not in kept)

    if memory is not None and cost(everything) <= memory:
        return everything
    least = 0
    for effort in range(3):
        cut = minimum_cut(inputs, nodes, wanted, alive, effort, costly)
        least = cost(cut)
        if memory is None or least <= memory:
            return [value for value in defined if value in cut]
    raise GraphError(f"differentiate: at least {least} bytes must be saved, memory={memory} allows fewer.")


def minimum_cut(
    inputs: Sequence[Value], nodes: Sequence[Node], reads: set[Value], alive: set[Value], effort: int, costly: Container[Value] = ()
) -> set[Value]:
    """The cheapest values from which all of ``reads`` can be computed."""
    flow = Flow()
    needed, depth = set(reads), dict[Value, int]()
    for node in nodes:
        deepest = 1 + max((depth.get(value, 0) for value in node.values()), default=0)
        depth.update((value, 0 if deepest >= LONGEST else deepest) for value in node.outs)
    for node in reversed(nodes):
        if any(value in needed for value in node.outs) and may_repeat(node, effort) and depth[node.outs[0]]:
            needed.update(node.values())
    for value in needed:
        cost = 0 if value in alive else bytes_of(value)
        flow.connect(("in", value), ("out", value), COSTLY if value in costly else cost)
        if value in reads:
            flow.connect(("out", value), "end", INFINITE)
    for value in inputs:
        if value in needed:
            flow.connect("start", ("in", value), INFINITE)
    for node in nodes:
        repeatable = may_repeat(node, effort) and depth[node.outs[0]]
        for out in node.outs:
            if out not in needed:
                continue
            if not repeatable:
                flow.connect("start", ("in", out), INFINITE)
                continue
            for value in node.values():
                if value in needed:
                    flow.connect(("out", value), ("in", out), INFINITE)
    behind = flow.behind_cut("start", "end")
    return {value for value in needed if ("out", value) in behind and ("in", value) not in behind}


class Flow:
    """A network, and the greatest flow through it, by shortest paths in levels."""

    def __init__(self) -> None:
        self.number: dict[object, int] = {}
        self.edges: list[list[int]] = []
        self.heads: list[int] = []
        self.room: list[int] = []

    def place(self, name: object) -> int:
        """The number of a place."""
        found = self.number.get(name)
        if found is None:
            found = self.number[name] = len(self.edges)
            self.edges.append([])
        return found

    def connect(self, here: object, there: object, capacity: int) -> None:
        """An edge; edge ``k ^ 1`` is edge ``k`` in the other direction."""
        for a, b, room in ((here, there, capacity), (there, here, 0)):
            self.edges[self.place(a)].append(len(self.heads))
            self.heads.append(self.place(b))
            self.room.append(room)

    def behind_cut(self, start: object, end: object) -> set[object]:
        """The places from which the end is reached when as much flows as can: those behind the last of the minimum cuts."""
        source, sink = self.place(start), self.place(end)
        while (levels := self.levels(source))[sink] >= 0:
            self.fill(source, sink, levels)
        seen, waiting = {sink}, [sink]
        for place in waiting:
            for k in self.edges[place]:
                if self.room[k ^ 1] and self.heads[k] not in seen:
                    seen.add(self.heads[k])
                    waiting.append(self.heads[k])
        return {name for name, place in self.number.items() if place in seen}

    def levels(self, source: int) -> list[int]:
        """How many edges with room lead to every place; -1 where none do."""
        found = [-1] * len(self.edges)
        found[source], waiting = 0, [source]
        for place in waiting:
            for k in self.edges[place]:
                if self.room[k] and found[self.heads[k]] < 0:
                    found[self.heads[k]] = found[place] + 1
                    waiting.append(self.heads[k])
        return found

    def fill(self, source: int, sink: int, levels: list[int]) -> None:
        """Send as much as fits along paths on which every edge leads a level further."""
        after = [0] * len(self.edges)
        path: list[int] = []
        place = source
        while True:
            if place == sink:
                least = min(self.room[k] for k in path)
                for k in path:
                    self.room[k] -= least
                    self.room[k ^ 1] += least
                first = next(i for i, k in enumerate(path) if not self.room[k])
                place = self.heads[path[first] ^ 1]
                del path[first:]
                continue
            edges = self.edges[place]
            while after[place] < len(edges):
                k = edges[after[place]]
                if self.room[k] and levels[self.heads[k]] == levels[place] + 1:
                    break
                after[place] += 1
            if after[place] < len(edges):
                path.append(edges[after[place]])
                place = self.heads[path[-1]]
            elif path:
                place = self.heads[path.pop() ^ 1]
                after[place] += 1
            else:
                return


def recomputed(nodes: Sequence[Node], reads: Iterable[Value], saved: Iterable[Value]) -> list[Node]:
    """The nodes of the primal pass that give ``reads`` of what is saved, in order."""
    have, needed = set(saved), set(reads)
    found = []
    for node in reversed(nodes):
        if any(value in needed and value not in have for value in node.outs):
            found.append(node)
            needed.update(node.values())
    return found[::-1]
