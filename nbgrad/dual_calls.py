"""Quick calls while forward mode is the only special mode: what is known by layouts is launched without asking anybody.

NOTE [Dual plans]: what these compute is what ``forward_ad`` would, which is asked for all the rest: elementwise calls whose tangent
is recorded, tangents of several levels, tangents and operands that other interpreters know.

  elementwise   a plan is found by the layouts of the operands and of their tangents. Its kernel is generated from two expressions
                of the declaration, the result and ``Op.jvp`` with the result put in, so that memory is passed over once;
  movement      the operand's plan, for the tangent too;
  the others    a program, found by the layouts of operands and tangents and by attributes (dual_programs.py), from the third call
                of a kind on; before, and where there is none: of a linear operation its ordinary plan, or its run, once for the
                operands and once for every group of tangents in their places, of any other what forward_ad does (``in_steps``).

A product of 16 elements takes 3 us instead of 19, a sum 3 instead of 27 (benchmarks/test_forward.py).
"""
from __future__ import annotations

from functools import cache
from typing import Any

from .dispatch import CALLS, check_operands, compute_dtype, find_plan, launched
from .dtypes import of_default_dtype
from .dual_programs import Tracer, program_of
from .grad_mode import mode, special
from .graph import requires_grad
from .interpreters import Call, is_marked, quick_calls, quick_writes
from .jvp import in_place_of, jvp_expression, tangents_of_call
from .kernels.cpu.launch import Plan
from .layout import broadcast_shapes
from .lowering.elementwise import Formula, elementwise_plan
from .ops.core import Elementwise, General, Movement
from .ops.expr import ZERO, Expr, constant, evaluate, operation, symbol
from .rules import record_result
from .saved import tensors_in
from .tables import keep
from .tangents import DualLevel, beneath, dual_levels, dual_meta, give, hold, lies_alike, sight, tangent_of
from .tensor import Tensor, native

__all__ = ["quick"]

_plans: dict[Elementwise, dict[tuple, Plan | None]] = of_default_dtype({})


def quick(op: Any, operands: tuple, attributes: dict | None) -> Any:
    """The result of a call, with its tangent if an operand has one; None where forward_ad must look."""
    levels = dual_levels[:]             # none: another thread has closed its level just now
    if len(special) != len(levels) or not levels:
        return None
    level = levels[-1]
    if attributes is not None and sight.below <= levels[0].number:
        out = unseen_call(op, operands, attributes)
        if out is not None:
            return out
    return elementwise_call(op, operands, level) if attributes is None else general_call(op, operands, attributes, level)


# ---- elementwise ---------------------------------------------------------------------------------------------------

def elementwise_call(op: Elementwise, operands: tuple, level: DualLevel) -> Tensor | None:
    """An elementwise operation of tensors and numbers."""
    recorded, mask, bit = False, 0, 1
    key: list[Any] = []
    tangents: list[Tensor] = []
    for x in operands:
        if isinstance(x, Tensor):
            if x.layout.special:
                return None
            key.append(x.layout)
            recorded = recorded or x._needs_grad_
            if x._meta_ is not None:
                t = sole_tangent(x, level)
                if t is MANY:
                    return None
                if t is not None:
                    key.append(t.layout)
                    tangents.append(t)
                    recorded = recorded or t._needs_grad_
                    mask |= bit
        else:
            key.append(type(x))
        bit <<= 1
    if not tangents:
        return launched(op, operands)
    if recorded and mode.enabled and is_recorded((*operands, *tangents)):
        return None
    return launched_with_tangent(op, operands, tangents, level, (mask, *key))


MANY: Any = object()


def sole_tangent(x: Tensor, level: DualLevel) -> Any:
    """The tangent of ``x`` at the innermost level; ``MANY`` where this thread sees one at another, or one that is dual itself."""
    meta = x._meta_
    held = meta.tangent
    if meta.base is None and not held:
        return None
    if len(dual_levels) > 1 and has_outer_tangent(x):
        return MANY
    number = level.number
    if number >= sight.below:
        return None
    t = held.get(number) if held else None
    if t is None:           # a view may inherit from its base
        t = None if meta.base is None else tangent_of(x, number)
    if t is not None and (t.layout.special or len(dual_levels) > 1 and t._meta_ is not None and has_outer_tangent(t)):
        return MANY
    return t


def has_outer_tangent(x: Tensor) -> bool:
    """Whether this thread sees a tangent of ``x`` at another than the innermost level."""
    below = sight.below
    return any(outer.number < below and tangent_of(x, outer.number) is not None for outer in dual_levels[:-1])


def is_recorded(tensors: tuple) -> bool:
    """Whether a call of these would be recorded."""
    for x in tensors:
        if isinstance(x, Tensor) and x._needs_grad_ and requires_grad(x):
            return True
    return False


def launched_with_tangent(op: Elementwise, operands: tuple, tangents: list[Tensor], level: DualLevel, key: tuple) -> Tensor | None:
    """Find the plan, launch, make the result dual; None where there is no plan."""
    plans = _plans.get(op)
    if plans is None:
        plans = _plans[op] = {}
    try:
        plan = plans[key]
    except KeyError:
        plan = keep(plans, key, dual_plan(op, operands, tangents, key[0]))
    if plan is None:
        return None
    out, tangent = native.fresh(plan, *operands, *tangents)
    out._meta_ = dual_meta({level.number: tangent})
    level.keep(out._meta_)
    return out


def dual_plan(op: Elementwise, operands: tuple, tangents: list[Tensor], mask: int) -> Plan | None:
    """The plan of a call, ``plan(*operands, *tangents) -> result, tangent``; None where there is no such kernel.

    The bits of ``mask`` are the operands that have a tangent. There is none where the tangent is no number of the result's dtype:
    of integers, of what has no derivative, of half types, whose results are rounded before the derivative is taken.
    """
    plan = find_plan(op, operands)
    out, names = plan.outs[0].layout, tuple(name for k, name in enumerate(op.operands) if mask >> k & 1)
    if not out.dtype.differentiable or op.refuses_gradient or out.dtype.compute != out.dtype.name:
        return None
    if any(mask >> k & 1 for k, is_number in enumerate(op.fixed) if is_number):
        return None
    if jvp_expression(op, names) is ZERO or (not out.dtype.is_complex and any(t.layout.dtype.is_complex for t in tangents)):
        return None
    layouts = tuple(x.layout if isinstance(x, Tensor) else None for x in (*operands, *tangents))
    made: Plan = elementwise_plan(dual_formula(op, names), out.dtype, layouts, (out, out))
    return made


def dual_formula(op: Elementwise, names: tuple[str, ...]) -> Formula:
    """The result and its tangent, for these operands that have one."""
    tangent, value, booleans = jvp_expression(op, names), op.expression(), dict(op.params)
    values = {name: value if name == "out" else symbol(name, booleans.get(name, False)) for name in tangent.symbols()}
    tangent, = evaluate((tangent,), values, lambda name, args: operation(name, *args))
    return Formula(f"{op.name}_dual", (*op.params, *((f"t_{name}", False) for name in names)),
                   (value, tangent if isinstance(tangent, Expr) else constant(tangent)))


# ---- elementwise, in place -------------------------------------------------------------------------------------------

def write(op: Elementwise, operands: tuple, plain: Any) -> Tensor | None:
    """A call in place: by one kernel that writes value and tangent, or that of the tangent it is the first to have, then the call."""
    levels, x = dual_levels[:], operands[0]
    if len(special) != len(levels) or not levels:
        return None
    level, memory = levels[-1], x._storage_
    if not memory.writable or x.layout.expanded or op.integer_divisor:
        return None
    key: list[Any] = [op]
    tangents: list[Tensor] = []
    mask, bit = 0, 1
    for y in operands:
        if isinstance(y, Tensor):
            if y.layout.special or y._needs_grad_ and requires_grad(y) or y is not x and not are_apart(memory, y._storage_):
                return None
            key.append(y.layout)
            if y._meta_ is not None:
                t = sole_tangent(y, level)
                if t is not None:
                    if t is MANY or t._needs_grad_ and requires_grad(t):
                        return None
                    key.append(t.layout)
                    tangents.append(t)
                    mask |= bit
        elif type(y) is float or type(y) is int:
            key.append(type(y))
        else:
            return None
        bit <<= 1
    if not mask:
        return plain(*operands)         # type: ignore[no-any-return]
    return write_tangent(op, operands, tangents, level, (mask, *key), plain)


def are_apart(one: Any, other: Any) -> bool:
    """Whether two storages can share no memory: what is one array's own is no other's."""
    return one is not other and (one.array.flags.owndata or other.array.flags.owndata)


def write_tangent(op: Elementwise, operands: tuple, tangents: list[Tensor], level: DualLevel, key: tuple, plain: Any) -> Any:
    """The call where an operand has a tangent; None where there is no plan."""
    plans = _write_plans.get(op)
    if plans is None:
        plans = _write_plans[op] = {}
    try:
        plan = plans[key]
    except KeyError:
        plan = keep(plans, key, write_plan(op, operands, tangents, key[0]))
    if plan is None:
        return None
    x = operands[0]
    if key[0] & 1:
        own, *others = tangents
        memory = own._storage_
        if not memory.writable or any(not are_apart(memory, y._storage_) for y in (*others, *operands) if isinstance(y, Tensor)):
            return None
        given = (x, own, *operands[1:], *others)
        native.into(plan, x, own, *given[len(given) - len(plan.layouts):])
        return x
    meta = x._meta_
    if meta is not None and meta.base is not None:
        return None
    t = native.fresh(plan, *operands, *tangents)
    if not lies_alike(t, x):
        return None
    plain(*operands)
    hold(x, level.number, t)
    return x


_write_plans: dict[Elementwise, dict[tuple, Plan | None]] = of_default_dtype({})


def write_plan(op: Elementwise, operands: tuple, tangents: list[Tensor], mask: int) -> Plan | None:
    """The plan of what ``write_tangent`` launches; None where there is no such kernel, or the call is an error.

    With a tangent of the tensor that is written to ``plan(x, t_x, *others, *tangents)``, over the first two; without one
    ``plan(*operands, *tangents) -> tangent``.
    """
    x, names = operands[0], tuple(name for k, name in enumerate(op.operands) if mask >> k & 1)
    own = x.layout
    layouts = [y.layout if isinstance(y, Tensor) else None for y in operands]
    if len(operands) != len(op.operands) or op.predicate or op.refuses_gradient or op.complex_form and own.dtype.is_complex:
        return None
    if not own.dtype.differentiable or own.dtype.compute != own.dtype.name or own.conj or own.neg:
        return None
    if any(mask >> k & 1 for k, is_number in enumerate(op.fixed) if is_number) or any(
            y is not None and y.dtype.is_complex and not own.dtype.is_complex for y in (*layouts, *[t.layout for t in tangents])):
        return None
    check_operands(op, operands)
    shapes = [y.shape for y in layouts if y is not None]
    if compute_dtype(op, operands) is not own.dtype or broadcast_shapes(op.name + "_", shapes) != own.shape:
        return None
    formula, moved = dual_formula(op, names), [t.layout for t in tangents]
    if not mask & 1:
        made: Plan = elementwise_plan(Formula(f"{op.name}_tangent", formula.params, formula.results[1:]), own.dtype,
                                      (*layouts, *moved), (own if own.dense else own.like(),), exact=op.exact)
        return made
    if moved[0] is not own:
        return None
    count = len(layouts)
    params = (formula.params[0], formula.params[count], *formula.params[1:count], *formula.params[count + 1:])
    made = elementwise_plan(Formula(f"{op.name}_write", params, formula.results), own.dtype,
                            (own, own, *layouts[1:], *moved[1:]), (own, own), inplace=2, exact=op.exact)
    return made


# ---- other operations ----------------------------------------------------------------------------------------------

def general_call(op: Any, operands: tuple, attributes: dict, level: DualLevel) -> Any:
    """A movement; a call of a kind that has a program; an operation that is linear in the operands that have tangents; any other
    by ``tangents_of_call``.
    """
    if op.kind == "movement":
        x, = operands
        t = operand_tangent(x, level)
        return None if t is MANY else viewed(op, x, {} if t is None else {"x": t}, level, tuple(attributes.values()))
    key: list[Any] = [op]
    inputs: list[Tensor] = []
    given: list[Any] = []
    mask, bit = 0, 1
    recorded = False
    for x in (operands if type(operands[0]) is not tuple and type(operands[0]) is not list else (*operands[0], *operands[1:])):
        if not isinstance(x, Tensor):
            return None
        layout = x.layout
        if layout.special:
            return None
        key.append(layout)
        inputs.append(x)
        recorded = recorded or x._needs_grad_
        if x._meta_ is not None:
            t = sole_tangent(x, level)
            if t is not None:
                if t is MANY:
                    return None
                mask |= bit
                key.append(t.layout)
                given.append(t)
                recorded = recorded or t._needs_grad_
        bit <<= 1
    if not mask:
        return without_tangents(op, operands, attributes)
    key.append(mask)
    for value in attributes.values():
        kind = type(value)
        if kind is int or kind is bool or value is None:
            key += value, kind
        elif not note_attribute(value, key, inputs):
            return long_call(op, operands, attributes, level)
    if recorded and mode.enabled and is_recorded((*inputs, *given)):
        return long_call(op, operands, attributes, level)
    try:
        found = _programs.get(tuple(key))
    except TypeError:                   # an attribute without a hash
        return long_call(op, operands, attributes, level)
    if type(found) is tuple:
        program, direct = found
        made = program(*inputs, *given)
        if made is not None:
            out, t = made
            if t is not None:
                first = out[0] if type(out) is tuple else out
                if direct:
                    first._meta_ = dual_meta({level.number: t})
                    level.keep(first._meta_)
                else:
                    attach(first, t, given, level)
            return out
    elif found is None:
        keep(_programs, tuple(key), NEVER if max([x.layout.numel for x in inputs]) > MOST_TRACED else AGAIN)
    elif found is AGAIN:
        return settled_call(op, operands, attributes, level, tuple(key), inputs, given)
    return long_call(op, operands, attributes, level)


# By operation, layouts and attributes: a program and whether its tangents are taken as they are; AGAIN where the next call is to
# make one, NEVER where there is none.
_programs: dict[tuple, Any] = of_default_dtype({})
AGAIN, NEVER = "again", "never"
MOST_TRACED = 1 << 23       # elements of an operand: a tracer holds all that a call makes on the way


def note_attribute(value: Any, key: list, inputs: list) -> bool:
    """Add an attribute to the key of a program, a tensor to its inputs; False where it can be part of neither."""
    if isinstance(value, Tensor):
        key.append(value.layout)
        inputs.append(value)
        return not value.layout.special
    if type(value) in (tuple, list):
        key.append(len(value))
        return all(note_attribute(each, key, inputs) for each in value)
    if type(value) is float:
        value = value.hex()             # 0.0 equals -0.0
    key += value, type(value)
    return True


def settled_call(op: Any, operands: tuple, attributes: dict, level: DualLevel, key: tuple, inputs: list, given: list) -> Any:
    """The long way under the eyes of a tracer, whose program the calls to come will run."""
    tangents = named_tangents(op, operands, level)
    plan = plan_of(op, (*[getattr(x, "layout", None) for x in operands], *attributes.values()))
    with Tracer() as tracer:
        result = beneath(0, result_of, op, plan, operands, attributes)
        tracer.seen(op, (*operands, *attributes.values()), result)
        made = beneath(level.number, tangents_of_call, Call(op, operands, attributes, CALLS[op.name].plain), tangents, result)
    found = None
    if all(t is None for t in made[1:]) and not is_marked((result, made)):
        found = program_of(tracer, [*inputs, *given], result, made[0])
    keep(_programs, key, found if found is not None and gives(found[0], (*inputs, *given), result, made[0]) else NEVER)
    return with_tangents(result, made, flat(tangents), level)


def gives(program: Any, inputs: tuple, result: Any, tangent: Tensor | None) -> bool:
    """Whether a program gives the bits of what it is to stand for."""
    made = program(*inputs)
    if made is None or (made[1] is None) is not (tangent is None):
        return False
    return all(beneath(0, same_bits, x, y) for x, y in zip(tensors_in(made), tensors_in((result, tangent)), strict=True))


def same_bits(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have one layout and the same elements."""
    if x.layout is not y.layout or x.layout.conj or x.layout.neg:
        return False
    return x.detach().numpy().tobytes() == y.detach().numpy().tobytes()


def long_call(op: Any, operands: tuple, attributes: dict, level: DualLevel) -> Any:
    """A call that has no program, of operands some of which have tangents."""
    tangents = named_tangents(op, operands, level)
    values = tuple(attributes.values())
    plan = plan_of(op, (*[getattr(x, "layout", None) for x in operands], *values))
    if plan is None and is_marked(values):
        return None
    if plan is not None:
        out = pushed_forward(op, plan, operands, tangents, level, values)
    else:
        out = run_forward(op, operands, tangents, level, attributes) if hasattr(CALLS[op.name], "straight") else None
    return in_steps(op, plan, operands, attributes, tangents, level) if out is None else out


def without_tangents(op: Any, operands: tuple, attributes: dict) -> Any:
    """A call of operands that have no tangents."""
    values = tuple(attributes.values())
    plan = plan_of(op, (*[getattr(x, "layout", None) for x in operands], *values))
    return None if plan is None and is_marked(values) else result_of(op, plan, operands, attributes)


def named_tangents(op: Any, operands: tuple, level: DualLevel) -> dict[str, Any]:
    """The tangents of the operands that have one, by name."""
    found = {name: sequence_tangents(x, level) if isinstance(x, (tuple, list)) else operand_tangent(x, level)
             for name, x in zip(op.operands, operands)}
    return {name: t for name, t in found.items() if t is not None}


def unseen_call(op: Any, operands: tuple, attributes: dict) -> Any:
    """A call where this thread sees no tangent at all, as in the formulas of a tangent; None where there is no plan for it."""
    layouts = []
    for x in operands:
        if not isinstance(x, Tensor) or x.layout.special:
            return None
        layouts.append(x.layout)
    if op.kind != "movement":
        plan = plan_of(op, (*layouts, *attributes.values()))
        return None if plan is None else result_of(op, plan, operands, attributes)
    plan = plan_of(op, (*layouts, *attributes.values()) if attributes else layouts[0])
    return None if plan is None or op.multiple else CALLS[op.name].view(operands[0], plan)


def result_of(op: Any, plan: Plan | None, operands: tuple, attributes: dict) -> Any:
    """The result of a call beneath all interpreters."""
    if plan is not None:
        out = native.fresh(plan, *operands)
        if mode.enabled:
            record_result(op, plan, operands, out[0] if type(out) is tuple else out)
        return out
    straight = getattr(CALLS[op.name], "straight", None)
    return CALLS[op.name].plain(*operands, **attributes) if straight is None else straight(operands, attributes)


def operand_tangent(x: Any, level: DualLevel) -> Any:
    """The tangent of an operand; ``MANY`` where an interpreter must look."""
    if not isinstance(x, Tensor) or x.layout.special:
        return MANY
    return None if x._meta_ is None else sole_tangent(x, level)


def sequence_tangents(members: tuple | list, level: DualLevel) -> Any:
    """The tangents of a sequence of tensors, with None for those that have none."""
    tangents = tuple([operand_tangent(x, level) for x in members])
    kinds = {*map(id, tangents)}        # by identity: == is an operation
    if id(MANY) in kinds:
        return MANY
    return None if kinds == {id(None)} else tangents


def in_steps(op: Any, plan: Plan | None, operands: tuple, attributes: dict, tangents: dict[str, Any], level: DualLevel) -> Any:
    """A call beneath all interpreters, then the tangents of its results."""
    result = beneath(0, result_of, op, plan, operands, attributes)
    made = beneath(level.number, tangents_of_call, Call(op, operands, attributes, CALLS[op.name].plain), tangents, result)
    return with_tangents(result, made, flat(tangents), level)


def with_tangents(result: Any, made: tuple, given: list[Tensor | None], level: DualLevel) -> Any:
    """The results, made dual."""
    for x, t in zip(result if type(result) is tuple else (result,), made):
        if t is not None:
            attach(x, t, given, level)
    return result


def attach(out: Tensor, tangent: Tensor, given: list[Tensor | None], level: DualLevel) -> None:
    """Make a result dual: at once where it is new and without history, and the tangent in its own memory lies as it does."""
    if out._meta_ is None and out._edge_ is None and not tangent.layout.special and lies_alike(tangent, out):
        memory = tangent._storage_
        for each in given:
            if each is not None and each._storage_ is memory:
                break
        else:
            out._meta_ = dual_meta({level.number: tangent})
            level.keep(out._meta_)
            return
    beneath(level.number, give, out, level.number, tangent, given)


def flat(tangents: dict[str, Any]) -> list[Tensor | None]:
    """All tangents of operands, those of sequences one by one."""
    return [each for t in tangents.values() for each in (t if type(t) is tuple else (t,))]


def plan_of(op: Any, key: Any) -> Any:
    """The operation's ordinary plan, if there is one."""
    try:
        return CALLS[op.name].plans.get(key)
    except (AttributeError, TypeError):             # there are no plans; a list among the attributes
        return None


def viewed(op: Movement, x: Tensor, tangents: dict[str, Tensor], level: DualLevel, values: tuple) -> Tensor | None:
    """A view, and the same view of the tangent."""
    plan = plan_of(op, (x.layout, *values) if values else x.layout)
    if plan is None or op.multiple:
        return None
    view = CALLS[op.name].view
    if not tangents:
        return view(x, plan)
    t, = tangents.values()
    if t.layout is not x.layout or getattr(op, "severs", False):
        return None
    out = view(x, plan)
    hold(out, level.number, view(t, plan))
    return out


def pushed_forward(op: General, plan: Plan, operands: tuple, tangents: dict[str, Tensor], level: DualLevel,
                   values: tuple) -> Tensor | None:
    """The result of a linear operation, and what it makes of the tangents."""
    groups = linear_places(op, tuple(tangents))
    if groups is None or len(plan.outs) > 1 or not plan.outs[0].layout.dtype.differentiable:
        return None
    if mode.enabled and is_recorded((*operands, *tangents.values())):
        return None
    total: Any = None
    for group in groups:
        places = [tangents[name] if k in group else x for k, (name, x) in enumerate(zip(op.operands, operands))]
        own = plan_of(op, (*[x.layout for x in places], *values))
        if own is None or own.outs[0].layout is not plan.outs[0].layout:
            return None
        term = native.fresh(own, *places)
        total = term if total is None else beneath(0, CALLS["add"], total, term)
    out = native.fresh(plan, *operands)
    if total is not None:
        out._meta_ = dual_meta({level.number: total})
        level.keep(out._meta_)
    return out


def run_forward(op: General, operands: tuple, tangents: dict[str, Any], level: DualLevel, attributes: dict) -> Tensor | None:
    """The same of a linear operation of several steps, whose operands may be a sequence."""
    groups = linear_places(op, tuple(tangents))
    if not groups or len(groups) > 1 or op.outputs > 1:
        return None
    given = flat(tangents)
    if mode.enabled and is_recorded((*tensors_in(operands), *given)):
        return None
    group, = groups
    places = tuple([in_place_of(x, tangents[name]) if k in group else x
                    for k, (name, x) in enumerate(zip(op.operands, operands))])
    out, t = beneath(0, run_twice, op, operands, places, attributes)
    if type(out) is tuple:
        return None
    if out.layout.dtype.differentiable:
        attach(out, t, given, level)
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


quick_calls[DualLevel] = quick
quick_writes[DualLevel] = write
