"""Fast path inside of inference mode: by the operations' ordinary plans, for marked tensors.

NOTE [Inference plans]: tensors that are made inside of the mode have layouts with a mark (modes/inference.py), so the ordinary
tables have no plans for them. A plan inside of the mode is the ordinary plan for the layouts without their marks: the same launch,
whose results are marked. A call without an ordinary plan (it takes several steps, or its values must be looked at) has none here
either and goes to the interpreter. All of this holds while no other special mode is active in any thread: ``special`` then has one
member, see ``Inferring`` of base/mode_contexts.py.
"""

from __future__ import annotations

from typing import Any, Callable

from ..base.bounded import Plans
from ..base.calls import CALLS
from ..base.dtypes import of_default_dtype
from ..base.grad_mode import mode, special
from ..base.mode_contexts import ALONE, Inferring
from ..graph.saved import tensors_in
from ..graph.writes import count_write
from ..modes.inference import INTERPRETER
from ..modes.interpreters import Call, FastPath, fast_paths, run_plainly
from ..native.plans import Plan
from ..ops.core import Elementwise, Op
from ..tensors.layout import Layout, marked_layout
from ..tensors.storage import IN_INFERENCE_MODE
from ..tensors.tensor import INFERENCE, Tensor, native
from ..views import check_inplace
from .elementwise import NEVER
from .elementwise_plans import kinds_in
from .elementwise_rules import FEW
from .movements import ViewPlan
from .operands import kinds_of, layouts_in, stores_with_care

__all__ = ["plan_in_mode"]


class MarkedView:
    """The plan of a view of an inference tensor: the layout, and the distance in bytes."""

    __slots__ = ("template", "offset")

    def __init__(self, template: Tensor, offset: int):
        self.template, self.offset = template, offset


def plan_in_mode(plan: Any, kinds: tuple) -> Any:
    """What an ordinary plan becomes inside of the mode.

    Args:
        kinds: of the operands, first of all arguments: layouts, marked or not, and types of numbers.

    Returns:
        A plan; of the view of an ordinary tensor, which is one itself, the ordinary plan; None where there is none.
    """
    outs = plan.outs
    if isinstance(plan, ViewPlan):
        if len(outs) > 1 or plan.op.multiple:
            return None
        return MarkedView(marked(outs[0].layout).template, plan.offset) if kinds[0].special else plan
    return plan_for_layouts(plan, tuple([marked(out.layout) for out in outs]), kinds[: len(plan.layouts)])


def plan_for_layouts(plan: Plan, outs: tuple, kinds: tuple) -> Plan:
    """The same launch for operands and results of other layouts."""
    return Plan(plan.record, tuple([out.template for out in outs]), layouts_in(kinds))


def marked(layout: Layout) -> Layout:
    """The layout with the mark of inference tensors."""
    return marked_layout(layout, INFERENCE)


def is_of_inference_alone(kind: Any) -> bool:
    """Whether no interpreter but that of inference mode is concerned with tensors of this layout. Anything else is no tensor."""
    if not isinstance(kind, Layout) or kind.special is False:
        return True
    return kind.special is INFERENCE and not (kind.conj or kind.neg)


def unmarked(kind: Any) -> Any:
    """The layout without the mark; anything else as it is."""
    return kind.unmarked() if isinstance(kind, Layout) and kind.special else kind


def plans_in_mode(ordinary: Callable[[tuple], Any], transform: Callable[[Any, tuple], Any] = plan_in_mode) -> Plans:
    """A table of plans inside of the mode, by kinds of operands and what else the ordinary plans are found by.

    Args:
        ordinary: ``ordinary(kinds)`` without marks, the ordinary plan; None where the call must be looked at.
        transform: ``transform(plan, kinds)``, what becomes of it.
    """

    def plan_of(kinds: tuple) -> Any:
        plan = ordinary(tuple(map(unmarked, kinds))) if all(map(is_of_inference_alone, kinds)) else None
        return None if plan is None else transform(plan, kinds)

    plans = Plans(plan_of)
    of_default_dtype(plans)
    return plans


# ---- elementwise calls ---------------------------------------------------------------------------------------------


def known_in_inference(op: Any, operands: tuple) -> Tensor | None:
    """An elementwise call. Inside of the mode a native call does it; if only other threads are inside, the ordinary one."""
    if special != ALONE or op.kind != "elementwise":
        return None
    if not mode.inference:
        out: Tensor = CALLS[op.name].caller.past_modes(*operands)
        return out
    made: Tensor | None = native_calls[op](*operands)
    if made is not None:
        made._storage_.writable = IN_INFERENCE_MODE
    return made


def native_call_of(op: Elementwise) -> Callable:
    """``call(*operands)`` inside of the mode, whose result is None where an interpreter must look."""
    caller, count = CALLS[op.name].caller, len(op.operands)
    if count > FEW:
        return unknown
    plans = plans_in_mode(caller.planned)

    def plan_of(key: Any) -> Plan | None:  # operands of one layout share it
        return plans.made(kinds_in(key, count), key)

    return native.caller(plans, NEVER, unknown, unknown, mode, (0,) * count, plan_of)


native_calls = Plans(native_call_of)


def unknown(*call: Any) -> None:
    """What native code calls where it has no plan, or would record: inside of the mode nothing is recorded."""


# ---- elementwise calls in place ------------------------------------------------------------------------------------


def write_in_inference(op: Elementwise, operands: tuple, plain: Callable) -> Tensor | None:
    """A call in place inside of the mode."""
    if special != ALONE or not mode.inference:
        return None
    x = operands[0]
    for y in operands[1:]:
        if isinstance(y, Tensor) and not native.apart(x, y):
            return None
    name, plans = writes[op]
    kinds = kinds_of(operands)
    check_inplace(name, x, False)
    plan = plans.get(kinds) or plans.made(kinds)
    if plan is None:
        return None
    storage = x._storage_
    version = storage.version
    native.into(plan, x, *(operands if len(plan.layouts) == len(operands) else operands[1:]))
    if storage.version is version:  # no element was written
        count_write(storage)
    return x


def writes_of(op: Elementwise) -> tuple[str, Plans]:
    """The name of an operation's in-place form, and its plans inside of the mode."""
    caller: Any = CALLS[op.name + "_"].caller

    def ordinary(kinds: tuple) -> Any:
        layouts = [x for x in kinds if type(x) is Layout]
        complex_form = op.complex_form is not None and any(x.dtype.is_complex for x in layouts)
        if complex_form or op.integer_divisor or op.policy == "first" and stores_with_care(kinds):
            return None
        return caller.plans[kinds] if all(type(x) is Layout or x in NUMBERS for x in kinds) else None

    def transform(plan: Plan, kinds: tuple) -> Plan:
        return plan_for_layouts(plan, kinds[:1], kinds[len(kinds) - len(plan.layouts) :])

    return caller.name, plans_in_mode(ordinary, transform)


writes = Plans(writes_of)
NUMBERS = (float, int, bool)

# ---- other operations ----------------------------------------------------------------------------------------------


def call_in_inference(op: Op, operands: tuple, attributes: dict | None) -> Any:
    """A call of any other operation inside of the mode: by its plan, or at once by the mode's interpreter."""
    if special != ALONE or not mode.inference or attributes is None:
        return None
    x, count = operands[0], len(operands)  # of one or two at once
    try:
        if count == 1:
            key: tuple = (op, x.layout, *attributes.values()) if attributes else (op, x.layout)
        elif count == 2:
            key = (op, x.layout, operands[1].layout, *attributes.values())
        else:
            key = (op, *[y.layout for y in operands], *attributes.values())
        plan = general_plans.get(key) or general_plans.made(key)
    except (AttributeError, KeyError, TypeError):  # a number or a sequence for a tensor, a list among the attributes
        plan = None
    if plan is None:
        return run_in_inference(Call(op, operands, attributes, CALLS[op.name].plain))
    if type(plan) is Plan:
        out = native.fresh(plan, x) if count == 1 else native.fresh(plan, *operands)
        if type(out) is not tuple:
            out._storage_.writable = IN_INFERENCE_MODE
            return out
        for each in out:
            each._storage_.writable = IN_INFERENCE_MODE
        return out
    if type(plan) is MarkedView:
        return native.tensor(plan.template, x._storage_, x._offset_ + plan.offset, False, None)
    out = CALLS[op.name].view(x, plan)
    out._meta_.creation = INFERENCE
    return out


def ordinary_plan(key: tuple) -> Any:
    """The plan that a planned operation or a movement has outside of the mode. ``key``: operation, layouts and attributes."""
    op, *kinds = key
    plans: Plans | None = getattr(CALLS[op.name], "plans", None)
    if plans is None:
        return None
    own = kinds[0] if len(kinds) == 1 and op.kind == "movement" else tuple(kinds)
    return plans.get(own) or plans.made(own)


general_plans = plans_in_mode(ordinary_plan, lambda plan, key: plan_in_mode(plan, key[1:]))


def run_in_inference(call: Call) -> Any:
    """The result of a call that concerns no other interpreter; None of any other."""
    if all(is_of_inference_alone(x.layout) for x in tensors_in((call.operands, tuple(call.attributes.values())))):
        return INTERPRETER.run(call, run_plainly)
    return None


fast_paths[Inferring] = FastPath(known_in_inference, call_in_inference, write_in_inference)
