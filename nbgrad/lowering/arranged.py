"""Operands that lie otherwise than kernels take them: copies in front of a launch, with all plans known from the second call on."""

from __future__ import annotations

from typing import Any, Callable

from ..dispatch.lowerings import GeneralPlan
from ..dispatch.planned import PLANNED, planned
from ..ops.core import General
from ..tensors.layout import Layout
from ..tensors.tensor import native
from .reduce import arranged_call, runs_as_it_lies

__all__ = ["arranged_run", "behind_copies"]


def arranged_run(lower: Callable, op: General, layouts: tuple[Layout, ...], attributes: dict) -> Callable:
    """``arranged_call`` for such operands, with the plans of its launches where there are but copies in front of one.

    Args:
        lower: ``lower(op, layouts, attributes)``, the lowering.
    """
    lying, copied = behind_copies(layouts, runs_as_it_lies)
    plan = lower(op, lying, attributes) if all(map(runs_as_it_lies, lying)) else None
    if not isinstance(plan, GeneralPlan):
        return arranged_call
    fresh = native.fresh

    def run(op: General, tensors: tuple, attributes: dict) -> Any:
        """The copies, and the launch."""
        return fresh(plan, *copied(tensors))

    return run


def behind_copies(
    layouts: tuple[Layout, ...], as_it_is: Callable[[Layout], bool]
) -> tuple[tuple[Layout, ...], Callable[[tuple], tuple]]:
    """How operands lie once those are copied that cannot be taken ``as_it_is``, and what copies such tensors."""
    plans = [None if as_it_is(x) else contiguous_plan(x) for x in layouts]
    if not any(plans):
        return tuple(layouts), tuple
    fresh = native.fresh

    def copied(tensors: tuple) -> tuple:
        return tuple([x if plan is None else fresh(plan, x) for x, plan in zip(tensors, plans)])

    return tuple([x if plan is None else plan.outs[0].layout for x, plan in zip(layouts, plans)]), copied


def contiguous_plan(layout: Layout) -> GeneralPlan | None:
    """The launch that makes an operand contiguous; None where it takes more than that."""
    if layout.neg or layout.conj or layout.special:
        return None
    return planned(PLANNED["contiguous_copy"], (layout,), {})
