"""Numbers of a graph: those in calls, and constants all of whose elements are one."""

from __future__ import annotations

from typing import Any

from ...base.errors import NbgradError
from ...ops.core import Elementwise
from ..ir.ir import Node, Value
from ..ir.results import elementwise_layouts
from .rewriting import Rewriting

__all__ = ["fits", "number_of", "of_reals"]


def number_of(x: Any, rewriting: Rewriting) -> int | float | None:
    """The number that an operand is: itself, or what every element of a constant is, of a view too; None of others."""
    if isinstance(x, Value):
        owner = rewriting.places.owner(x)
        if (
            x.layout is None
            or owner.layout is None
            or owner.layout.dtype is not x.layout.dtype
            or x.layout.neg is not owner.layout.neg
        ):
            return None
        x = owner.data
    return x if type(x) in (int, float) else None


def of_reals(node: Node) -> bool:
    """Whether a node is an elementwise call of real numbers, with a real result."""
    if not isinstance(node.op, Elementwise) or node.op.predicate:
        return False
    return all(
        value.layout is not None and not value.layout.dtype.is_complex and value.layout.dtype.name != "bool"
        for value in (*node.values(), *node.outs)
    )


def fits(op: Any, ins: tuple, node: Node) -> bool:
    """Whether a call of other operands gives the dtype, shape and strides of a node."""
    try:
        layouts = elementwise_layouts(op, ins)
    except NbgradError:
        return False
    return layouts is not None and len(node.outs) == 1 and layouts[0] is node.outs[0].layout
