"""Operands that lie otherwise than kernels take them: copies in front of a launch, with all plans known from the second call on."""

from __future__ import annotations

from typing import Any, Callable

from ..dispatch.lowerings import GeneralPlan
from ..dispatch.planned import PLANNED, planned
from ..ops.core import General
from ..tensors.layout import Layout
from ..tensors.tensor import native
from .reduce import arranged_call, runs_as_it_lies

__all__ = ["arranged_run", "copy_plan"]


def arranged_run(lower: Callable, op: General, layouts: tuple[Layout, ...], attributes: dict) -> Callable:
    """``arranged_call`` for such operands, with the plans of its launches where there are but copies in front of one.

    Args:
        lower: ``lower(op, layouts, attributes)``, the lowering.
    """
    copies = [None if runs_as_it_lies(x) else copy_plan(x) for x in layouts]
    lying = tuple([x if made is None else made.outs[0].layout for x, made in zip(layouts, copies)])
    plan = lower(op, lying, attributes) if all(map(runs_as_it_lies, lying)) else None
    if not isinstance(plan, GeneralPlan):
        return arranged_call
    fresh = native.fresh

    def run(op: General, tensors: tuple, attributes: dict) -> Any:
        """The copies, and the launch."""
        return fresh(plan, *[x if made is None else fresh(made, x) for x, made in zip(tensors, copies)])

    return run


def copy_plan(layout: Layout) -> GeneralPlan | None:
    """The launch that makes an operand contiguous; None where it takes more than that."""
    if layout.neg or layout.conj or layout.special:
        return None
    return planned(PLANNED["contiguous_copy"], (layout,), {})
