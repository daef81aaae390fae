"""Equal calls: the same operation of the same operands, and views of the same elements."""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from typing import Any

from ..ir.graph import Graph
from ..ir.ir import Node, Value
from .checked import checked
from .effects import may_merge
from .rewriting import Rewriting

__all__ = ["merge_calls"]


@checked
def merge_calls(graph: Graph, became: dict[Value, Value] | None = None) -> bool:
    """Let the first of several equal calls stand for the others.

    Args:
        became: receives what stands for the values that are gone.
    """
    rewriting, known = Rewriting(graph, became), dict[Any, Node]()
    seen: dict[Any, Value] = {}
    nodes = []
    calls = Counter(node.op for node in graph.nodes)
    for node in graph.nodes:
        if rewriting.table:
            rewriting.read(node)
        merged = [merged_view(rewriting, seen, value) for value in node.outs]
        if merged and all(merged):
            continue
        key = key_of(node) if calls[node.op] > 1 and may_merge(node) else None
        first = known.setdefault(key, node) if key is not None else node
        if first is not node and all(map(rewriting.may, node.outs, first.outs, repeat(True))):
            for old, new in zip(node.outs, first.outs):
                rewriting.put(old, new, True)
            continue
        nodes.append(node)
    return rewriting.finish(nodes)


def merged_view(rewriting: Rewriting, seen: dict[Any, Value], value: Value) -> bool:
    """Whether a view shows what another value shows, or the whole of what it is a view of, and gave way to that."""
    window = rewriting.places.windows.get(value)
    if window is None or window.place.value is value:
        return False
    owner = window.place.value
    if not window.place.offset and owner.layout is window.layout and rewriting.put(value, owner):
        return True
    first = seen.setdefault(window, value)
    return first is not value and rewriting.put(value, first)


def key_of(node: Node) -> Any:
    """What equal calls share; None where that is not known."""
    try:
        key = (node.op, *map(frozen, node.ins), *[(name, frozen(x)) for name, x in node.attributes.items()])
        hash(key)
    except TypeError:
        return None
    return key


def frozen(x: Any) -> Any:
    """An argument as something to look up: numbers by type and to the last bit."""
    kind = type(x)
    if kind is Value:
        return x
    if kind is tuple or kind is list:
        return (kind, *map(frozen, x))
    return (kind, repr(x)) if kind is float or kind is complex else (kind, x)
