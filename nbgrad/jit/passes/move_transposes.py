"""Transposes, which products of matrices read where they lie, in the place of copies of them."""

from __future__ import annotations

from typing import Any

from ...lowering.linalg import gives_same_bits
from ...ops.core import General
from ..ir.graph import Graph
from ..ir.ir import Node, Value
from .checked import checked
from .forward_identities import COPIES

__all__ = ["move_transposes"]


@checked
def move_transposes(graph: Graph) -> bool:
    """x.t().contiguous() @ y is x.t() @ y: a product takes a matrix by rows or by columns.

    Only where it adds up the same numbers in the same order: NOTE [Packed operands] of lowering/linalg.py.
    """
    changed = False
    for node in graph.nodes:
        if isinstance(node.op, General) and node.op.batched == "product":
            for k in range(2):
                changed |= read_beneath(node, k)
    return changed


def read_beneath(node: Node, k: int) -> bool:
    """Let a product read that of which an operand is a copy, if it may."""
    x = copied(node.ins[k])
    if x is None:
        return False
    ins = (*node.ins[:k], x, *node.ins[k + 1 :])
    layouts, others = layouts_of(node.ins), layouts_of(ins)
    if None in layouts or None in others or not gives_same_bits(node.op, layouts, others, node.attributes):
        return False
    node.ins = ins
    return True


def copied(x: Any) -> Value | None:
    """The value of which another one is a copy of the same shape and dtype."""
    inner = x.node if isinstance(x, Value) else None
    if inner is None or inner.name not in COPIES or not isinstance(inner.ins[0], Value):
        return None
    source, layout, mine = inner.ins[0], inner.ins[0].layout, x.layout
    same = layout is not None and mine is not None and (layout.dtype, layout.shape) == (mine.dtype, mine.shape)
    return source if same else None


def layouts_of(ins: tuple) -> tuple:
    """The layouts of operands, as far as they are known."""
    return tuple([x.layout if isinstance(x, Value) else None for x in ins])
