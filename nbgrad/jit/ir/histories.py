"""Histories of values: what tells them apart, and the nodes behind which a value has another one.

NOTE [Histories of Functions]: a custom Function is written down as the operations of its ``forward``, which record nothing, and,
where a graph will be differentiated later (bodies of loops and branches, ``trace``), one node behind them: the same values with the
history that the Function gives. What replays the graph with gradients calls the Function there; a run reads the values.
"""

from __future__ import annotations

from typing import Any, Iterator

from ...base.calls import CALLS
from ...base.grad_mode import mode, special
from ...base.mode_contexts import enable_grad, no_grad
from ...graph.edges import Edge, edge_of, requires_grad
from ...graph.task import target
from ...modes.interpreters import is_marked
from ...modes.traced import TRACED, capture_of_thread
from ...tensors.tensor import Tensor
from .ir import Control, Node, Value
from .qualified_names import class_of

__all__ = [
    "APPLIED",
    "Mark",
    "OVERWRITE",
    "STOP",
    "UNRECORDED",
    "WRITTEN",
    "continued",
    "history_of",
    "same_values",
    "without_gradient",
]

WRITTEN: Any = object()  # the history of what was computed by a write: any that flows


class Mark:
    """What stands for the lineage of a detached tensor: NOTE [Lineages] of capture/flows.py.

    Attributes:
        tensor: it, held so that its identity is not used again.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor):
        self.tensor = tensor


def history_of(x: Tensor) -> Any:
    """What tells the history of a tensor from others of the same values: where its cotangent goes; None if nowhere."""
    if not requires_grad(x):
        return None
    edge = edge_of(x)
    return (edge.node, edge.nr) if type(edge) is Edge else target(edge)


def stopped(node: Node, values: dict[Value, Any], x: Any) -> tuple:
    """The same values without the history, which a capture writes down, though perhaps nobody who records reads it."""
    made, trace = x.detach(), capture_of_thread()
    if trace is not None and not trace.depth and made.layout.special in (None, TRACED):
        with enable_grad():
            trace.value(made)
    return (made,)


STOP = Control("stop", stopped)


def unrecorded(node: Node, values: dict[Value, Any], x: Any) -> tuple:
    """What was computed where nothing was recorded, for those who record: gradients stop there, and tangents go on."""
    return (without_gradient(x),)


def without_gradient(x: Any) -> Any:
    """The same values and tangents, without the history."""
    with no_grad():
        return CALLS["expand_shape"](x, x.layout.shape)


UNRECORDED = Control("unrecorded", unrecorded)


def overwritten(node: Node, values: dict[Value, Any], old: Any, new: Any, detached: bool = False) -> tuple:
    """The values of ``new`` with the history of ``old``: what a write leaves that nobody recorded.

    Args:
        detached: whether it was a write through what was detached, which leaves the tangent as it was, too.
    """
    made = CALLS["clone"](old)
    with no_grad():
        CALLS["copy_"](made.detach() if detached else made, new)
    return (made,)


OVERWRITE = Control("overwrite", overwritten)


def applied(node: Node, values: dict[Value, Any], *tensors: Any, function: Any, args: tuple, places: tuple[int, ...]) -> tuple:
    """The values behind those that a Function was given, with the history that it gives them."""
    given, outs = tensors[: len(places)], tensors[len(places) :]
    if not special and not is_marked(tensors) and not (mode.enabled and any(map(requires_grad, given))):
        return outs
    every = list(args)
    for k, x in zip(places, given):
        every[k] = x
    made = class_of(function).apply(*every)
    return tuple([x for x in (made if isinstance(made, tuple) else (made,)) if isinstance(x, Tensor)])


APPLIED = Control("applied", applied)


def continued(node: Node) -> list[Value]:
    """The values whose histories those of a node's results continue: what it and its blocks read, and of a write what was there."""
    if node.op is OVERWRITE:
        return list(node.ins[:1])
    return [*node.values(), *(value for block in node.blocks for value in block.free())]


def same_values(node: Node) -> Iterator[tuple[Value, Value]]:
    """The results of a node that only gives values other histories, each with the operand that it has the values of."""
    if node.op is STOP or node.op is UNRECORDED or node.op is OVERWRITE:
        yield node.outs[0], node.ins[-1]
    elif node.op is APPLIED:
        yield from zip(node.outs, node.ins[len(node.ins) - len(node.outs) :])
