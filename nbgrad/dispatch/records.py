"""Results that something else has computed, recorded as those of an operation: kept results of checkpoints, results of handlers."""

from __future__ import annotations

from typing import Any

from ..base.grad_mode import mode
from ..ops.core import Elementwise, Op
from .elementwise_plans import find_plan
from .operands import gradient_mask
from .rules import record_run

__all__ = ["recorded"]


def recorded(op: Op, operands: tuple, attributes: dict, out: Any) -> Any:
    """A result as if the operation, which makes no views, had just computed it."""
    if not isinstance(op, Elementwise):
        return record_run(op, lambda *call: out, operands, attributes)  # type: ignore[arg-type]
    mask = gradient_mask(op, operands) if mode.enabled else 0
    if mask:
        plan = find_plan(op, operands)
        plan.records[mask](plan, out, *operands)
    return out
