"""What a node does beside giving its results, by the declarations: all that rewrites graphs asks here."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...dispatch.lowerings import lowering_of
from ...ops.core import Elementwise, General, Movement
from ..ir.histories import same_values
from ..ir.ir import Control, Node

__all__ = ["is_pure", "may_merge", "may_repeat", "must_stay"]


@cache
def never_refuses(op: Any) -> bool:
    """Whether an operation gives results whatever its operands hold: it is declared so, or a launch, which cannot refuse."""
    if isinstance(op, General):
        found = lowering_of(op)
        return op.total or found is not None and found[0] == "plan"
    return isinstance(op, (Elementwise, Movement))


def is_pure(node: Node) -> bool:
    """Whether a node gives results, the same ones of the same operands, and does nothing else."""
    op: Any = node.op
    return node.effect == "pure" and (isinstance(op, (Elementwise, Movement, Control)) or isinstance(op, General) and not op.draws)


def must_stay(node: Node, silent: bool = False) -> bool:
    """Whether a node does something even if nobody reads its results.

    Args:
        silent: it need not refuse what its operands hold: a run before has done so, or none would come to it.
    """
    if not is_pure(node):
        return True
    if isinstance(node.op, Control):
        return any(must_stay(inner, silent) for block in node.blocks for inner in block.nodes)
    return node.op.sized_by_values or not silent and may_refuse(node)


def may_refuse(node: Node) -> bool:
    """Whether the call of an operation may refuse what its operands hold."""
    op: Any = node.op
    if not never_refuses(op):
        return True
    return bool(op.integer_divisor) and not all(
        value.layout is not None and value.layout.dtype.is_floating_point for value in node.outs
    )


def may_merge(node: Node) -> bool:
    """Whether a call of it may stand for another one of the same operands."""
    return is_pure(node) and not node.blocks and bool(node.outs)


def may_repeat(node: Node) -> bool:
    """Whether it may be called again, behind others: no draw is, a mark of a history is."""
    if any(True for _ in same_values(node)):
        return True
    return is_pure(node) and not isinstance(node.op, Control) and not node.op.sized_by_values
