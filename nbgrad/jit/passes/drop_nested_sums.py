"""Reductions of reductions, which are one, where it does not matter in which order numbers are combined."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ops.core import General
from ..ir.graph import Graph
from ..ir.ir import Node, Value
from .checked import checked
from .rewriting import Rewriting

__all__ = ["drop_nested_sums"]

# By monoid: whether elements of every dtype may be combined in any order, or those of integers and truth values alone.
ORDERLESS = {"any": True, "all": True, "sum": False, "product": False, "greatest": False, "smallest": False}


@checked
def drop_nested_sums(graph: Graph) -> bool:
    """Let the sum of a sum be one sum, of integers; so products, extrema, ``any`` and ``all``.

    Not of floating numbers: another order rounds differently, and an extremum of zeros has the sign of the first.
    """
    if not any(dims_of_both(node) is not None for node in graph.nodes):
        return False
    rewriting, changed = Rewriting(graph), False
    readers: Counter[Value] | None = None
    for node in graph.nodes:
        rewriting.read(node)
        dims = dims_of_both(node)
        if dims is not None and readers is None:
            readers = Counter(value for node in graph.all_nodes() for value in node.values())
            readers.update(rewriting.outputs)
        if dims is not None and readers is not None and readers[node.ins[0]] == 1:
            inner: Any = node.ins[0].node
            node.ins, changed = inner.ins, True
            node.attributes = {**node.attributes, "dim": dims}
    return rewriting.finish(graph.nodes) or changed


def dims_of_both(node: Node) -> tuple[int, ...] | None:
    """The dimensions over which a reduction of a reduction is one; None of other nodes."""
    x = node.ins[0] if len(node.ins) == 1 else None
    if type(x) is not Value or x.node is None or x.node.op is not node.op or not is_orderless(node) or not is_orderless(x.node):
        return None
    inner = x.node
    kept = inner.attributes["keepdim"]
    if kept is not node.attributes["keepdim"] or any(each.attributes.get("dtype") is not None for each in (inner, node)):
        return None
    whole, out = inner.ins[0].layout, node.outs[0].layout
    assert whole is not None and out is not None
    if not whole.contiguous or not out.contiguous or () in (inner.attributes["dim"], node.attributes["dim"]):
        return None
    first = dims_of(inner, whole.ndim)
    rest = list(range(whole.ndim)) if kept else [d for d in range(whole.ndim) if d not in first]
    second = {rest[d] for d in dims_of(node, len(rest))}
    return tuple(sorted(first | second))


def is_orderless(node: Node) -> bool:
    """Whether a node folds what may be folded in any order."""
    op, (x,) = node.op, node.ins
    if not isinstance(op, General) or op.finish is not None or not {"dim", "keepdim"} <= node.attributes.keys():
        return False
    layout = x.layout if isinstance(x, Value) else None
    every = ORDERLESS.get(op.monoid)
    if layout is None or node.outs[0].layout is None or every is None or op.term is not None and not every:
        return False
    return every or not (layout.dtype.is_floating_point or layout.dtype.is_complex or node.outs[0].layout.dtype.is_floating_point)


def dims_of(node: Node, ndim: int) -> set[int]:
    """The dimensions over which a reduction goes."""
    dim = node.attributes["dim"]
    if dim is None:
        return set(range(ndim))
    return {d % ndim if ndim else 0 for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
