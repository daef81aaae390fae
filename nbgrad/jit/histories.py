"""Histories of values: what tells them apart, and the nodes behind which a value has another one."""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.grad_mode import no_grad
from ..graph.edges import Edge, edge_of, requires_grad
from ..graph.task import target
from ..tensors.tensor import Tensor
from .ir import Control, Node, Value

__all__ = ["OVERWRITE", "STOP", "WRITTEN", "history_of"]

WRITTEN: Any = object()  # the history of what was computed by a write: any that flows


def history_of(x: Tensor) -> Any:
    """What tells the history of a tensor from others of the same values: where its cotangent goes; None if nowhere."""
    if not requires_grad(x):
        return None
    edge = edge_of(x)
    return (edge.node, edge.nr) if type(edge) is Edge else target(edge)


def stopped(node: Node, values: dict[Value, Any], x: Any) -> tuple:
    """The same values without the history."""
    return (x.detach(),)


STOP = Control("stop", stopped)


def overwritten(node: Node, values: dict[Value, Any], old: Any, new: Any) -> tuple:
    """The values of ``new`` with the history of ``old``: what a write leaves that nobody recorded."""
    made = CALLS["clone"](old)
    with no_grad():
        CALLS["copy_"](made, new)
    return (made,)


OVERWRITE = Control("overwrite", overwritten)
