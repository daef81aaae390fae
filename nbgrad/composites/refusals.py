"""Results that NumPy computed: the node that refuses to differentiate them.

NOTE [Work on arrays]: what NumPy has computed has no history. A function that reads arrays of its operands (``values_of``) is one
of these: an operation with a rule of its own (``general``); one of integers or truth values; one whose derivative is 0 (counts,
zeros of a shape), which its documentation says; or its results go through ``refused``. Nothing else may act as a constant inside
of a larger expression: a gradient would be missing in silence.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..base.grad_mode import mode
from ..dispatch.operands import no_derivative
from ..graph.edges import edge_of, number_node, requires_grad
from ..graph.node import Node, blank_node
from ..graph.rule import Rule
from ..modes.interpreters import has_tangent
from ..tensors.tensor import Tensor

__all__ = ["refused"]


class RefusedRule(Rule):
    """The rule of a result that has no derivative."""

    def __init__(self, name: str, node: str):
        self.name, self.node_name = name, node


rule_of = cache(RefusedRule)


class RefusedPlan:
    """Where introspection finds the layout of the result."""

    __slots__ = ("outs",)

    def __init__(self, x: Tensor):
        self.outs = (x.layout.template,)


def refuse(node: Node, g: Any, create_graph: bool) -> None:
    """The ``backward`` of such a node."""
    raise no_derivative(node._rule_.name)


def refused(name: str, node: str, x: Tensor, *sources: Any) -> Tensor:
    """A new tensor without history, computed from ``sources``, that refuses to be differentiated by those that gradients flow into.

    Args:
        name, node: of the function, and of its nodes.

    Raises:
        NotSupportedError: a source has a tangent.
    """
    if not x.layout.dtype.differentiable:
        return x
    tensors = [s for s in sources if isinstance(s, Tensor)]
    if any(map(has_tangent, tensors)):
        raise no_derivative(name)
    if mode.enabled and any(map(requires_grad, tensors)):
        made = blank_node(Node)
        made._edges_ = tuple(edge_of(s) if requires_grad(s) else None for s in tensors)
        made._rule_, made._backward_, made._outputs_, made._plan_ = rule_of(name, node), refuse, 1, RefusedPlan(x)
        number_node(made)
        x._edge_, x._needs_grad_ = made, True
    return x
