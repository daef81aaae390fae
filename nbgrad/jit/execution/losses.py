"""Losses of rows and the cotangents of their scores, as one launch: see passes/join_losses.py."""

from __future__ import annotations

from typing import Any

from ...base.calls import CALLS
from ...dispatch.lowerings import GeneralPlan
from ...lowering.losses import both_plan
from ..ir.devices import on_gpu
from ..ir.ir import Control, Node, Value
from ..ir.steps import Schedule, Step
from .launches import launch

__all__ = ["LOSSES"]


def by_calls(node: Node, values: dict[Value, Any], row_g: Any, x: Any, target: Any, ignore_index: int) -> tuple:
    """The losses, and the cotangents, as two calls."""
    losses = CALLS["cross_entropy_rows"](x, target, ignore_index)
    return losses, CALLS["cross_entropy_rows_backward"](row_g, x, target, ignore_index)


def plan_of(ins: tuple, ignore_index: int) -> GeneralPlan | None:
    """The launch of both; None where each takes steps of its own."""
    if not all(isinstance(value, Value) and value.layout is not None and not value.layout.special for value in ins):
        return None
    row_g, x, target = (value.layout for value in ins)
    if on_gpu(x):
        return None
    return both_plan(row_g, x, target, ignore_index)


def steps_of(node: Node, made: Schedule) -> list[Step] | None:
    """The one launch."""
    plan = plan_of(node.ins, node.attributes["ignore_index"])
    if plan is None or any(out.layout is not value.layout for out, value in zip(plan.outs, node.outs)):
        return None
    return [launch(plan, list(node.ins), node.outs, [node], made)]


LOSSES = Control("cross_entropy_both", by_calls)
LOSSES.steps = steps_of
