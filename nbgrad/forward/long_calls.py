"""Calls in forward mode that have no program: the ordinary plan for operands and for tangents in their places, or the rules."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..base.calls import CALLS
from ..base.grad_mode import mode
from ..dispatch.rules import record_result
from ..graph.saved import tensors_in
from ..modes.interpreters import Call, is_marked
from ..native.plans import Plan
from ..ops.core import General
from ..tensors.tensor import Tensor, native
from .call_texts import MANY, hold_new, sole_tangent, would_record
from .rules import all_tangents, in_place_of, tangents_of_call
from .tangents import DualLevel, below_level, give, lies_alike

__all__ = [
    "attach_tangent",
    "long_call",
    "named_tangents",
    "ordinary_plan_of",
    "result_of",
    "sequence_tangents",
    "unseen_call",
    "with_tangents",
    "without_tangents",
]


def long_call(op: Any, operands: tuple, attributes: dict, level: DualLevel) -> Any:
    """A call without a program, with tangents; None where an interpreter must be asked."""
    tangents = named_tangents(op, operands, level)
    values = tuple(attributes.values())
    if any(t is MANY for t in tangents.values()) or is_marked((operands, values)):
        return None
    plan = ordinary_plan_of(op, (*[getattr(x, "layout", None) for x in operands], *values))
    if plan is not None:
        out = pushed_forward(op, plan, operands, tangents, level, values)
    else:
        out = run_forward(op, operands, tangents, level, attributes) if hasattr(CALLS[op.name], "run_prepared") else None
    return call_then_tangents(op, plan, operands, attributes, tangents, level) if out is None else out


def without_tangents(op: Any, operands: tuple, attributes: dict) -> Any:
    """A call of operands that have no tangents; None where an interpreter must look."""
    if is_marked(operands):
        return None
    values = tuple(attributes.values())
    plan = ordinary_plan_of(op, (*[getattr(x, "layout", None) for x in operands], *values))
    return None if plan is None and is_marked(values) else result_of(op, plan, operands, attributes)


def named_tangents(op: Any, operands: tuple, level: DualLevel) -> dict[str, Any]:
    """The tangents of the operands that have one, by name."""
    found = {
        name: sequence_tangents(x, level) if isinstance(x, (tuple, list)) else operand_tangent(x, level)
        for name, x in zip(op.operands, operands)
    }
    return {name: t for name, t in found.items() if t is not None}


def unseen_call(op: Any, operands: tuple, attributes: dict) -> Any:
    """A call where this thread sees no tangents, as formulas of tangents make them; None where it has no plan."""
    layouts = []
    for x in operands:
        if not isinstance(x, Tensor) or x.layout.special:
            return None
        layouts.append(x.layout)
    if op.kind != "movement":
        plan = ordinary_plan_of(op, (*layouts, *attributes.values()))
        return None if plan is None else result_of(op, plan, operands, attributes)
    plan = ordinary_plan_of(op, (*layouts, *attributes.values()) if attributes else layouts[0])
    return None if plan is None or op.multiple else CALLS[op.name].view(operands[0], plan)


def result_of(op: Any, plan: Plan | None, operands: tuple, attributes: dict) -> Any:
    """The result of a call without interpreters."""
    if plan is not None:
        out = native.fresh(plan, *operands)
        if mode.enabled:
            record_result(op, plan, operands, out)
        return out
    run = getattr(CALLS[op.name], "run_prepared", None)
    return CALLS[op.name].plain(*operands, **attributes) if run is None else run(operands, attributes)


def operand_tangent(x: Any, level: DualLevel) -> Any:
    """The tangent of an operand; ``MANY`` where an interpreter must look."""
    if not isinstance(x, Tensor) or x.layout.special:
        return MANY
    return None if x._meta_ is None else sole_tangent(x, level)


def sequence_tangents(members: tuple | list, level: DualLevel) -> Any:
    """The tangents of a sequence of tensors, with None for those that have none."""
    tangents = tuple([operand_tangent(x, level) for x in members])
    kinds = {*map(id, tangents)}  # by identity: == is an operation
    if id(MANY) in kinds:
        return MANY
    return None if kinds == {id(None)} else tangents


def call_then_tangents(
    op: Any, plan: Plan | None, operands: tuple, attributes: dict, tangents: dict[str, Any], level: DualLevel
) -> Any:
    """A call without interpreters, then the tangents of its results."""
    result = below_level(0, result_of, op, plan, operands, attributes)
    made = below_level(level.number, tangents_of_call, Call(op, operands, attributes, CALLS[op.name].plain), tangents, result)
    return with_tangents(result, made, all_tangents(tangents), level)


def with_tangents(result: Any, made: tuple, given: list[Tensor | None], level: DualLevel) -> Any:
    """The results, made dual."""
    for x, t in zip(result if type(result) is tuple else (result,), made):
        if t is not None:
            attach_tangent(x, t, given, level)
    return result


def attach_tangent(out: Tensor, tangent: Tensor, given: list[Tensor | None], level: DualLevel) -> None:
    """Make a result dual."""
    if out._meta_ is None and out._edge_ is None and not tangent.layout.special and lies_alike(tangent, out):
        memory = tangent._storage_
        for each in given:
            if each is not None and each._storage_ is memory:
                break
        else:
            hold_new(out, tangent, level)
            return
    below_level(level.number, give, out, level.number, tangent, given)


def ordinary_plan_of(op: Any, key: Any) -> Any:
    """The operation's ordinary plan, if there is one."""
    try:
        return CALLS[op.name].plans.get(key)
    except (AttributeError, TypeError):  # there are no plans; a list among the attributes
        return None


def pushed_forward(
    op: General, plan: Plan, operands: tuple, tangents: dict[str, Tensor], level: DualLevel, values: tuple
) -> Tensor | None:
    """The result of a linear operation, and what it makes of the tangents."""
    groups = linear_places(op, tuple(tangents))
    if groups is None or len(plan.outs) > 1 or not plan.outs[0].layout.dtype.differentiable:
        return None
    if mode.enabled and would_record((*operands, *tangents.values())):
        return None
    total: Any = None
    for group in groups:
        places = [tangents[name] if k in group else x for k, (name, x) in enumerate(zip(op.operands, operands))]
        own = ordinary_plan_of(op, (*[x.layout for x in places], *values))
        if own is None or own.outs[0].layout is not plan.outs[0].layout:
            return None
        term = native.fresh(own, *places)
        total = term if total is None else below_level(0, CALLS["add"], total, term)
    out = native.fresh(plan, *operands)
    if total is not None:
        hold_new(out, total, level)
    return out


def run_forward(op: General, operands: tuple, tangents: dict[str, Any], level: DualLevel, attributes: dict) -> Tensor | None:
    """The same of a linear operation of several steps, whose operands may be a sequence."""
    groups = linear_places(op, tuple(tangents))
    if not groups or len(groups) > 1 or op.outputs != 1:
        return None
    given = all_tangents(tangents)
    if mode.enabled and would_record((*tensors_in(operands), *given)):
        return None
    (group,) = groups
    places = tuple([in_place_of(x, tangents[name]) if k in group else x for k, (name, x) in enumerate(zip(op.operands, operands))])
    out, t = below_level(0, run_twice, op, operands, places, attributes)
    if type(out) is tuple:
        return None
    if out.layout.dtype.differentiable:
        attach_tangent(out, t, given, level)
    return out


def run_twice(op: General, operands: tuple, places: tuple, attributes: dict) -> tuple:
    """The results of an operation for its operands and for tangents in their places; neither is recorded."""
    enabled, mode.enabled = mode.enabled, False
    try:
        return result_of(op, None, operands, attributes), result_of(op, None, places, attributes)
    finally:
        mode.enabled = enabled


@cache
def linear_places(op: General, names: tuple[str, ...]) -> tuple[tuple[int, ...], ...] | None:
    """The groups of operands, by position, to be exchanged for their tangents; None where a tangent enters in another way."""
    left, groups = {name for name in names if name in op.vjps}, []
    for group in op.linear_groups():
        here = left.intersection(group)
        if here and len(here) < len(group):
            return None
        if here:
            groups.append(tuple(op.operands.index(name) for name in group))
            left -= here
    return None if left else tuple(groups)
