"""Operands that lie otherwise than kernels take them: steps in front of a launch, and behind it; where those are copies alone, with
all plans known from the second call on.
"""

from __future__ import annotations

from typing import Any, Callable

from ..base.calls import CALLS
from ..base.dtypes import float32
from ..dispatch.lowerings import GeneralPlan
from ..dispatch.planned import PLANNED, planned
from ..ops.core import General
from ..tensors.layout import Layout
from ..tensors.tensor import native

__all__ = ["arranged", "arranged_call", "arranged_run", "behind_copies", "runs_as_it_lies"]


def arranged(tensors: tuple) -> tuple:
    """The tensors, contiguous, half types widened."""
    result = []
    for x in tensors:
        if x.layout.dtype.compute == "float32":
            x = x if x.layout.dtype is float32 else CALLS["to_dtype"](x, float32)
        result.append(x if x.layout.contiguous and not x.layout.neg else CALLS["contiguous_copy"](x))
    return tuple(result)


def arranged_call(op, tensors, attributes):
    """Several steps: operands that kernels take, the same call, the result in the operand's half type."""
    dtype = tensors[0].layout.dtype
    result = CALLS[op.name](*arranged(tensors), **attributes)
    half = dtype.compute == "float32" and dtype is not float32 and result.layout.dtype is float32
    return CALLS["to_dtype"](result, dtype) if half else result


def runs_as_it_lies(layout: Layout) -> bool:
    """Whether kernels over ``[outer, length, width]`` take the operand as it is."""
    half = layout.dtype.compute == "float32" and layout.dtype is not float32
    return layout.contiguous and not (half or layout.neg or layout.conj)


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
