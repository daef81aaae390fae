"""Operations by the names that graphs know them by: those of the table, those derived from them, control nodes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Iterator

from ...base.calls import CALLS
from ...batch.movements import movement_behind
from ...ops.core import OPS, Elementwise, Movement, Op
from .ir import CONTROLS, Control

__all__ = ["control_nodes", "gives_several", "operation_names", "operation_of"]

# How derived operations are called: Elementwise.cotangent_operation, and behind_batch of batch/movements.py.
COTANGENT, BATCHED = "_backward", "batched_"
# The modules that make control nodes, beside those that every capture imports.
MAKERS = (
    *("capture.capture", "control_flow", "live", "execution.losses", "text.text"),
    *("differentiation.linear", "differentiation.subgraphs", "differentiation.gradient_versions"),
)


def control_nodes() -> dict[str, Control]:
    """All control nodes, those too that nobody has used so far."""
    for module in MAKERS:
        import_module(f"nbgrad.jit.{module}")
    return CONTROLS


def operation_of(name: str) -> Op | Control | None:
    """What is called so: a control node, an operation of the table, a cotangent that is one outside of it, a movement behind a
    batch; None of other names.
    """
    found = CONTROLS.get(name) or OPS.get(name)
    if found is not None:
        return found
    base = OPS.get(name.removesuffix(COTANGENT))
    if isinstance(base, Elementwise) and base.backward_node:
        CALLS[base.name].cotangent()
        return CALLS[name].caller.op
    base = OPS.get(name.removeprefix(BATCHED))
    return movement_behind(base) if isinstance(base, Movement) else None


def operation_names() -> Iterator[str]:
    """The names of all operations, derived ones too; control nodes are not among them."""
    for name, op in list(OPS.items()):
        yield name
        if isinstance(op, Elementwise) and op.backward_node:
            yield name + COTANGENT
        if isinstance(op, Movement):
            yield BATCHED + name


def gives_several(op: Any) -> bool:
    """Whether a call gives a sequence of tensors, of however many."""
    return isinstance(op, Control) or bool(getattr(op, "multiple", False)) or (getattr(op, "outputs", None) or 1) > 1
