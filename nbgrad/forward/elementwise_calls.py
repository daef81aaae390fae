"""Quick elementwise calls in forward mode, and those in place: one kernel computes value and tangent."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..base.bounded import Plans
from ..base.calls import CALLS
from ..base.dtypes import of_default_dtype
from ..base.grad_mode import dual_levels, special
from ..dispatch.elementwise import launched
from ..dispatch.elementwise_plans import forward_formula
from ..dispatch.formulas import Formula
from ..dispatch.operands import check_kinds, dtype_of_kinds
from ..dispatch.plans import elementwise_plan
from ..modes.interpreters import is_marked
from ..native.plans import Plan
from ..ops.core import Elementwise
from ..ops.expr import ZERO, Expr, constant, evaluate, operation, symbol
from ..tensors.layout import Layout, broadcast_shapes
from ..tensors.overlap import apart
from ..tensors.tensor import Tensor, native
from .call_texts import HOLD_TEXT, compiled, launch_text
from .rules import jvp_expression
from .tangents import DualLevel, hold, lies_alike, sight

__all__ = ["elementwise_calls", "quick_dual_write"]


def dual_elementwise(key: tuple[Elementwise, int]) -> Any:
    """``call(op, level, alone, looked_at, *operands)`` for an operation and a number of operands; it returns None where an
    interpreter must be asked.

    ``alone``: the level is the only one, and this thread sees it; ``looked_at``: the operands were looked at, by ``general``.
    """
    op, count = key
    names = [f"x{k}" for k in range(count)]
    passed = ", ".join(names)
    return compiled(
        f"dual call of {count}",
        {
            "plans": of_default_dtype(Plans(partial(dual_plan, op))),
            "caller": CALLS[op.name].caller,
            "unmarked_launch": unmarked_launch,
        },
        names,
        "l_{x}, t_{x}, k_{x} = type({x}), None, None",
        parameters=f"op, level, alone, looked_at, {passed}",
        without=f"unmarked_launch(op, ({passed},)) if looked_at else (caller.bare or caller.past_modes)({passed})",
        launch=f"    out, t = {launch_text(f'fresh(plan, {passed}, ', [f't_{x}' for x in names])}\n" + HOLD_TEXT.format(out="out"),
    )


elementwise_calls = Plans(dual_elementwise)


def unmarked_launch(op: Elementwise, operands: tuple) -> Any:
    """The call of operands that have no tangents and were looked at; None where an interpreter must."""
    return None if is_marked(operands) else launched(op, operands)


def dual_plan(op: Elementwise, key: tuple) -> Any:
    """The plan of a call, ``plan(*operands, *tangents) -> result, tangent``, which is a function of the ordinary one.

    Args:
        key: for every operand its kind, and the layout of its tangent or None.

    Returns:
        A plan; False where there is no such kernel: where the tangent is no number of the result's dtype (of integers, of what has
        no derivative, of half types, whose results are rounded before the derivative is taken). None where the call must be looked
        at.
    """
    kinds, tangents = key[::2], key[1::2]
    moving = tuple([t is not None for t in tangents])
    plan = None if is_unclear(key) or len(kinds) != len(op.operands) else CALLS[op.name].caller.planned(kinds)
    if plan is None:
        return None
    out, names = plan.outs[0].layout, tuple([name for name, moves in zip(op.operands, moving) if moves])
    if not out.dtype.differentiable or op.refuses_gradient or out.dtype.compute != out.dtype.name:
        return False
    if any(moves and is_number for moves, is_number in zip(moving, op.fixed)):
        return False
    given = tuple([t for t in tangents if t is not None])
    if jvp_expression(op, names) is ZERO or (not out.dtype.is_complex and any(t.dtype.is_complex for t in given)):
        return False
    return elementwise_plan(dual_formula(op, names), out.dtype, (*plan.operands, *given), (out, out))


def is_unclear(key: tuple) -> bool:
    """Whether something is of a kind that interpreters, or the call itself, must look at."""
    return any(x.special if type(x) is Layout else x is not None and x not in NUMBERS for x in key)


NUMBERS = (float, int, bool, complex)


def dual_formula(op: Elementwise, names: tuple[str, ...]) -> Formula:
    """The result and its tangent, for these operands that have one."""
    tangent, value, booleans = jvp_expression(op, names), op.expression(), dict(op.params)
    values = {name: value if name == "out" else symbol(name, booleans.get(name, False)) for name in tangent.symbols()}
    (tangent,) = evaluate((tangent,), values, lambda name, args: operation(name, *args))
    return Formula(
        f"{op.name}_dual",
        (*op.params, *((f"t_{name}", False) for name in names)),
        (value, tangent if isinstance(tangent, Expr) else constant(tangent)),
    )


# ---- elementwise, in place -------------------------------------------------------------------------------------------


def quick_dual_write(op: Elementwise, operands: tuple, plain: Any) -> Tensor | None:
    """A call in place: by one kernel that writes value and tangent; where it gives its tensor the first tangent by one for that."""
    levels = dual_levels[:]
    if special != levels or not levels or op.integer_divisor:
        return None
    if op.policy == "first" and not operands[0].layout.dtype.differentiable:  # numbers become integers on the way
        return None
    level = levels[-1]
    alone = levels[0] is level and level.number < sight.below
    out: Tensor | None = _writing_calls[op, len(operands)](op, level, alone, plain, *operands)
    return out


WRITABLE_TEXT = """
    memory, mine = x0._storage_, None if t_x0 is None else t_x0._storage_
    if not memory.writable or x0.layout.expanded or not x0.layout.numel or mine is not None and not mine.writable: return None
"""
APART_TEXT = """
    if isinstance({x}, Tensor):
        if not apart(x0, {x}) or mine is not None and not apart(t_x0, {x}): return None
        if t_{x} is not None and not (apart(x0, t_{x}) and (mine is None or apart(t_x0, t_{x}))): return None
"""
NUMBER_TEXT = """
        if type({x}) is not float and type({x}) is not int: return None
        l_{x}, t_{x}, k_{x} = type({x}), None, None"""
WRITE_TEXT = """
    plan, whole = plan
    if mine is None: return first_tangent(level, plan, whole, ({names},), ({tangents},))
    if whole: {whole}
    else: {parts}
    out = x0"""


def writing_call(key: tuple[Elementwise, int]) -> Any:
    """``call(op, level, alone, plain, *operands)``: an elementwise call in place; None where it must be looked at."""
    op, count = key
    names = [f"x{k}" for k in range(count)]
    others, tangents = names[1:], [f"t_{x}" for x in names]
    rest, passed = "".join(f", {x}" for x in others), ", ".join(names)
    if len(others) == 1:
        rest += ") if t_x1 is None else into(plan, x0, t_x0{again}, x1, t_x1"
    elif others:
        rest += f", *[t for t in ({', '.join(tangents[1:])}) if t is not None]"
    launch = "into(plan, x0, t_x0{again}" + rest + ")"
    return compiled(
        f"dual write of {count}",
        {
            "plans": of_default_dtype(Plans(partial(new_write_plan, op))),
            "into": native.into,
            "apart": apart,
            "is_marked": is_marked,
            "first_tangent": first_tangent,
        },
        names,
        NUMBER_TEXT,
        parameters=f"op, level, alone, plain, {passed}",
        first=WRITABLE_TEXT + "".join(APART_TEXT.format(x=x) for x in others),
        without=f"None if recorded and would_record(({passed},)) or is_marked(({passed},)) else plain({passed})",
        recorded="recorded",
        launch=WRITE_TEXT.format(
            names=passed,
            tangents=", ".join(tangents),
            whole=launch.replace("{again}", ", x0, t_x0"),
            parts=launch.replace("{again}", ""),
        ),
    )


_writing_calls = Plans(writing_call)


def new_write_plan(op: Elementwise, key: tuple) -> Any:
    """The plan of a kind of write; and whether it takes what it writes to as operands too, or where what is written has no tangent
    yet the plan that writes it. False where there is none, None where the call must be looked at; ``key`` as that of ``dual_plan``.
    """
    if is_unclear(key):
        return None
    kinds, tangents = key[::2], key[1::2]
    given = tuple([t for t in tangents if t is not None])
    plan = write_plan(op, kinds, given, tuple([t is not None for t in tangents]))
    if plan is None:
        return False
    if tangents[0] is not None:
        return plan, len(plan.layouts) == len(kinds) + len(given)
    own, layouts = kinds[0], tuple([x if type(x) is Layout else None for x in kinds])
    return plan, elementwise_plan(forward_formula(op, own.dtype), own.dtype, layouts, (own,), inplace=1, exact=op.exact)


def first_tangent(level: DualLevel, plan: Plan, values: Plan, operands: tuple, tangents: tuple) -> Tensor | None:
    """The call on a tensor that has no tangent yet: its tangent, then by ``values`` its elements."""
    x, meta = operands[0], operands[0]._meta_
    if meta is not None and meta.base is not None:
        return None
    t = native.fresh(plan, *operands, *[t for t in tangents if t is not None])
    if t.layout is not x.layout or not lies_alike(t, x):
        return None
    native.into(values, x, *operands[len(operands) - len(values.layouts) :])
    hold(x, level.number, t)
    return x


def write_plan(op: Elementwise, kinds: tuple, given: tuple, moving: tuple[bool, ...]) -> Plan | None:
    """The plan of what a call in place launches; None where there is no such kernel, or the call is an error.

    With a tangent of the tensor that is written to ``plan(x, t_x, *others, *tangents)``, over the first two; without one
    ``plan(*operands, *tangents) -> tangent``.

    Args:
        given: the layouts of the tangents.
        moving: which operands have one.
    """
    own, names = kinds[0], tuple([name for name, moves in zip(op.operands, moving) if moves])
    layouts = [x if type(x) is Layout else None for x in kinds]
    if len(kinds) != len(op.operands) or op.predicate or op.refuses_gradient or op.complex_form and own.dtype.is_complex:
        return None
    if not own.dtype.differentiable or own.dtype.compute != own.dtype.name or own.conj or own.neg:
        return None
    if any(moves and is_number for moves, is_number in zip(moving, op.fixed)) or any(
        x is not None and x.dtype.is_complex and not own.dtype.is_complex for x in (*layouts, *given)
    ):
        return None
    check_kinds(op, kinds)
    shapes = [x.shape for x in layouts if x is not None]
    if dtype_of_kinds(op, kinds) is not own.dtype or broadcast_shapes(op.name + "_", shapes) != own.shape:
        return None
    formula = dual_formula(op, names)
    if not moving[0]:
        made: Plan = elementwise_plan(
            Formula(f"{op.name}_tangent", formula.params, formula.results[1:]),
            own.dtype,
            (*layouts, *given),
            (own if own.dense else own.like(),),
            exact=op.exact,
        )
        return made
    if given[0] is not own:
        return None
    count = len(layouts)
    params = (formula.params[0], formula.params[count], *formula.params[1:count], *formula.params[count + 1 :])
    made = elementwise_plan(
        Formula(f"{op.name}_write", params, formula.results),
        own.dtype,
        (own, own, *layouts[1:], *given[1:]),
        (own, own),
        inplace=2,
        exact=op.exact,
    )
    return made
