"""Values that take the place of others in a graph."""

from __future__ import annotations

from typing import Any

from ...base.errors import GraphError
from ..execution.schedule import view
from ..ir.graph import Graph
from ..ir.histories import OVERWRITE, same_values
from ..ir.ir import Node, Value, map_values, values_in
from ..ir.steps import Place, Schedule, Window

__all__ = ["Rewriting", "owners", "places_in", "recorded_owners"]

VIEWS = ("movement", "control")  # kinds of operations whose results may be views


class Rewriting:
    """One walk over a graph, from its first node to its last, in which values take the place of others.

    NOTE [Memory of results]: what a graph returns lies on memory of its own, or on that of another result, as in the program: who
    writes to one sees the other, or does not. So a value that is returned, or of which a view is, gives way to none that lies on
    memory which is returned too, or which was there before.

    Attributes:
        table: what took the place of what; ``changed``: whether anything reads it.
        places: where values are that are views.
        returned: the owners of memory that is returned.
        old: values that were there before.
        outputs: the values that are returned.
        moved: views of what took the place of other values, and views of these: the windows of all others are as they were.
    """

    def __init__(self, graph: Graph, table: dict[Value, Value] | None = None):
        self.graph, self.changed = graph, False
        self.table: dict[Value, Value] = {} if table is None else table
        self.places = places_in(graph) if graph.places is None else graph.places
        self.old = {*graph.inputs, *graph.constants}
        self.outputs = set(values_in(tuple(graph.outputs)))
        self.returned = {self.places.owner(value) for value in self.outputs}
        self.moved: set[Value] = set()

    def read(self, node: Node) -> None:
        """Let a node read what took the place of its operands; note where its results are, if they are views."""
        table, values = self.table, node.values()
        changed = not table.keys().isdisjoint(values)
        if changed:
            node.replace(self.now)
            self.changed = True
        for block in node.blocks:
            if not table.keys().isdisjoint(block.free()):
                block.replace(self.now)
                self.changed = True
        if node.op.kind in VIEWS and (changed or not self.moved.isdisjoint(values) or self.lacks_windows(node)):
            note_view(node, self.places)
            self.moved.update(node.outs)

    def lacks_windows(self, node: Node) -> bool:
        """Whether a node may give views of which nobody has noted where they are."""
        return not self.places.windows.keys() >= set(node.outs)

    def now(self, value: Value) -> Value:
        """What stands for a value."""
        return self.table.get(value, value)

    def window(self, value: Value) -> Window:
        """Where a value is."""
        return self.places.window(value)

    def may(self, old: Value, new: Value, equal: bool = False) -> bool:
        """Whether a value, of a node that was read, may take the place of another: see NOTE [Memory of results].

        Args:
            equal: they are results of equal calls, whose layouts are equal where nobody knows them.
        """
        if old.layout is None and not equal or old.layout is not new.layout:
            return False
        if old in self.outputs and old.requires_grad is not new.requires_grad:
            return False
        mine, others = self.places.owner(old), self.places.owner(new)
        if mine is not others and mine in self.returned:
            return mine is old and others is new and new not in self.returned and new not in self.old
        return True

    def put(self, old: Value, new: Value, equal: bool = False) -> bool:
        """Let a value take the place of another, if it may; ``equal``: as of ``may``."""
        if not self.may(old, new, equal):
            return False
        if self.places.owner(old) is old and old in self.returned:
            self.returned.add(self.places.owner(new))
        if old in self.outputs:
            self.outputs.add(new)
        self.table[old] = new
        return True

    def finish(self, nodes: list[Node]) -> bool:
        """The nodes are these from now on; whether anything was changed."""
        graph = self.graph
        changed = self.changed or len(nodes) != len(graph.nodes) or not self.table.keys().isdisjoint(self.outputs)
        graph.nodes = nodes
        graph.outputs = [map_values(x, self.now) for x in graph.outputs]
        return changed


def note_view(node: Node, places: Schedule) -> None:
    """Note where the results of a node are, if they are views."""
    op = node.op
    if op.kind == "movement":
        (x,) = node.ins
        if isinstance(x, Value) and len(node.values()) == 1 and x.layout is not None and None not in [y.layout for y in node.outs]:
            view(node, places)
    else:
        places.windows.update((out, places.window(value)) for out, value in same_values(node))


def places_in(graph: Graph, apart: Any = None) -> Schedule:
    """Where the values of a graph are that are views; but for results of the operation ``apart``."""
    places = Schedule([], {})
    for node in graph.nodes:
        if node.op.kind in VIEWS and node.op is not apart:
            note_view(node, places)
    return places


def owners(graph: Graph, values: Any) -> set[Value]:
    """The values on whose memory these lie."""
    places = places_in(graph)
    return {places.owner(value) for value in values}


def recorded_owners(graph: Graph, values: Any) -> dict[Value, Value]:
    """By the values that a graph computes, and on whose memory some values with a history lie, those that have this history.

    They are others where a write left the history as it was.

    Raises:
        GraphError: values of several histories lie on one memory.
    """
    given, places, apart = {*graph.inputs, *graph.constants}, places_in(graph), places_in(graph, OVERWRITE)
    found: dict[Value, Value] = {}
    for value in values:
        root, own = places.owner(value), apart.owner(value)
        whole = own is root or root.layout is not None and places.window(own) == Window(Place(root), root.layout)
        if root not in given and (not whole or found.setdefault(root, own) is not own):
            raise GraphError("results of several histories lie on one memory: a graph cannot hold them. Hint: clone one of them.")
    return found
