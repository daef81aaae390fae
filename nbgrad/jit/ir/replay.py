"""A graph run by calls of its operations: what every other way to run it is compared with, and what interpreters see of it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Sequence

from ...base.calls import CALLS
from ...base.errors import ArgumentError, GraphError
from ...base.grad_mode import traces
from ...base.mode_contexts import no_grad
from ...creation.allocation import new_full
from ...modes.traced import capture_of_thread
from ...tensors.tensor import Tensor
from .histories import STOP, continued, without_gradient
from .ir import Block, Control, Node, Value, map_values

UNCHANGED = nullcontext()

__all__ = ["is_silent", "note_failure", "replay", "run_block", "run_node", "tells"]


def replay(
    block: Block, constants: Sequence[Value], inputs: Sequence[Any], name: str = "graph", flags: bool = False, cuts: bool = False
) -> list:
    """The outputs of a graph.

    Args:
        flags, cuts: as of ``run_block``.

    Raises:
        ArgumentError: another number of inputs than the graph has.
    """
    if len(inputs) != len(block.inputs):
        raise ArgumentError(f"{name}: expected {len(block.inputs)} inputs, got {len(inputs)}.")
    known = {value: tensor_of(value) for value in constants}
    if traces and (trace := capture_of_thread()) is not None:
        trace.variables.know(known.values())
    return run_block(block, inputs, known, flags, cuts=cuts)


def tensor_of(constant: Value) -> Any:
    """The tensor of a constant: itself, or one that is filled with its number."""
    data = constant.data
    if isinstance(data, (bool, int, float, complex)):
        assert constant.layout is not None
        return new_full(constant.layout, data)
    return data


def run_block(
    block: Block,
    inputs: Sequence[Any],
    values: dict[Value, Any],
    flags: bool = False,
    given: dict | None = None,
    cuts: bool = False,
) -> list:
    """The outputs of a block.

    Args:
        values: what enclosing blocks have computed; what this one computes is entered.
        given: results of nodes that need not run.
        flags: let gradients flow only where they did in the program: what was computed with nothing recorded is so again, and
            tangents flow there. What nodes do beside computing is not done again, and values that were asked for are not asked
            for again.
        cuts: let gradients flow only there, and do all else as calls of the operations do it.
    """
    values.update(zip(block.inputs, inputs))
    for node in block.nodes:
        if given is not None and node.outs and node.outs[0] in given:
            values.update(given)
            continue
        if flags and not node.outs and node.effect != "pure":
            continue
        told = (flags or cuts) and tells(node)
        silent = told and is_silent(node)
        try:
            with no_grad() if silent and flags else UNCHANGED:
                made = run_node(node, values)
        except Exception as error:
            note_failure(error, node)
            raise
        for value, x in zip(node.outs, made):
            values[value] = x
            if told and value.requires_grad is False:
                if flags and not silent:
                    values[value] = x.detach()
                elif cuts and isinstance(x, Tensor) and x.requires_grad:
                    values[value] = without_gradient(x) if silent else x.detach()
    return [map_values(x, values.__getitem__) for x in block.outputs]


def is_silent(node: Node) -> bool:
    """Whether a node was written down where nothing was recorded; a mark where gradients stop is for those who record."""
    return node.op is not STOP and tells(node) and all(value.requires_grad is False for value in node.outs)


def tells(node: Node) -> bool:
    """Whether it means something that no gradients flow through results: gradients flow into what they are computed of."""
    return any(value.requires_grad is not False for value in continued(node))


def run_node(node: Node, values: dict[Value, Any], checks: bool = True) -> tuple:
    """The results of a node.

    Args:
        checks: refuse results of other shapes than the node's, of an operation whose values decide about them.
    """
    operands = [map_values(x, values.__getitem__) for x in node.ins]
    attributes = {name: map_values(x, values.__getitem__) for name, x in node.attributes.items()}
    if isinstance(node.op, Control):
        return node.op.run(node, values, *operands, **attributes)
    out = CALLS[node.op.name](*operands, **attributes)
    outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    if checks and node.op.sized_by_values:
        require_sizes(node, outs)
    return outs


def note_failure(error: Any, node: Node) -> None:
    """Have an error say which nodes it came through: see tracebacks.py."""
    error._nodes_ = (*getattr(error, "_nodes_", ()), node)


def require_sizes(node: Node, outs: tuple) -> None:
    """Refuse results of other shapes than those of the capture.

    Raises:
        GraphError: they are others.
    """
    for value, x in zip(node.outs, outs):
        if value.layout is not None and x.layout.shape != value.layout.shape:
            raise GraphError(
                f"{node.name}: its values give a result of shape {list(x.layout.shape)}, those of the capture gave "
                f"{list(value.layout.shape)}, at {node.line or 'an unknown line'}. Hint: trace it again."
            )
