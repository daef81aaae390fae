"""Identities: calls that give what one of their operands is."""

from __future__ import annotations

import math
from typing import Any

from ..ir.graph import Graph
from ..ir.ir import Node, Value
from .checked import checked
from .numbers import number_of, of_reals
from .rewriting import Rewriting

__all__ = ["forward_identities"]

# Of one operand: it, in the layout in which it is.
COPIES = {"clone", "positive", "contiguous_copy", "clone_like", "to_dtype"}
# By a neutral operand: sums and products by their first one, too.
OPERATORS = {"mul", "div", "pow", "sub", "add"}
# Twice is not at all; twice is once.
INVOLUTIONS, PROJECTIONS = {"neg", "logical_not", "bitwise_not"}, {"abs", "floor", "ceil", "trunc", "relu"}


@checked
def forward_identities(graph: Graph) -> bool:
    """Let what is read of an identity be read of its operand.

    x * 1, x / 1, x ** 1, x - 0; x + 0 of integers, and of floating numbers x + -0.0 alone, for -0.0 + 0 is 0; copies; -(-x),
    abs(abs(x)), abs(-x); what was just written to the place that is read.
    """
    rewriting, nodes = Rewriting(graph), []
    for node in graph.nodes:
        if rewriting.table:
            rewriting.read(node)
        found = operand_of(node, rewriting)
        if found is None or not rewriting.put(node.outs[0], found):
            nodes.append(node)
    return rewriting.finish(nodes)


def operand_of(node: Node, rewriting: Rewriting) -> Value | None:
    """What a node gives that gives what is there already; None if it does not, or that is not known."""
    name, ins = node.name, node.ins
    x = ins[0] if ins else None
    if name in OPERATORS:
        found = beside_neutral(node, rewriting) if len(ins) == 2 else None
        return found if found is not None and of_reals(node) else None
    if not isinstance(x, Value) or len(node.outs) != 1:
        return None
    if name in COPIES:
        return x
    if name in INVOLUTIONS or name in PROJECTIONS:
        return behind(node, x)
    return written(node, x) if name == "as_strided_from" else None


def beside_neutral(node: Node, rewriting: Rewriting) -> Value | None:
    """The operand of a sum, product and so on whose other one leaves it as it is."""
    x, y = node.ins
    if isinstance(x, Value) and is_neutral(node.name, number_of(y, rewriting), node):
        return x
    if isinstance(y, Value) and node.name in ("mul", "add") and is_neutral(node.name, number_of(x, rewriting), node):
        return y
    return None


def behind(node: Node, x: Value) -> Value | None:
    """The operand of a call that undoes, or has done, what this one does."""
    inner = x.node
    if inner is None or inner.name != node.name:
        return None
    if node.name in INVOLUTIONS:
        found = inner.ins[0]
        return found if isinstance(found, Value) else None
    return x if node.name in PROJECTIONS else None


def written(node: Node, x: Value) -> Value | None:
    """What was written to the place that is read."""
    inner, place = x.node, node.attributes
    if inner is None or inner.name != "as_strided_scatter" or not isinstance(inner.ins[1], Value):
        return None
    there = inner.attributes
    same = (place["size"], place["stride"], place["offset"]) == (there["size"], there["stride"], there["storage_offset"])
    layout = node.outs[0].layout
    return inner.ins[1] if same and layout is not None and layout.dense else None


def is_neutral(name: str, c: Any, node: Node) -> bool:
    """Whether a number, as second operand, leaves the first one as it is."""
    if c is None or isinstance(c, bool):
        return False
    if name in ("mul", "div", "pow"):
        return bool(c == 1)
    layout = node.outs[0].layout
    if name == "sub":
        return bool(c == 0 and math.copysign(1, c) > 0)
    if name == "add" and layout is not None:
        return bool(c == 0 and (math.copysign(1, c) < 0 or not layout.dtype.is_floating_point))
    return False
