"""Fast path in forward mode: calls of a known kind compute value and tangent at once.

A *dual* tensor is one with a tangent. The results are those of ``autograd/forward_ad.py``, the interpreter of forward mode, which
takes all other calls: where the tangent of an elementwise call is recorded, where there are tangents of several levels, where
another mode is concerned too.

NOTE [Dual plans]: how calls of a kind are done.
  elementwise   a plan is found by the layouts of the operands and of their tangents. Its kernel is generated from two expressions
                of the declaration, the result and its derivative ``Op.jvp``, and passes over memory once;
  movement      the plan of the operand's view makes that of the tangent too;
  the others    a program, found by the layouts of operands and tangents and by attributes (forward/programs.py), from the third
                call of a kind on. Before that, and where there is none: a linear operation takes its ordinary plan, or its run,
                once for the operands and once for every group of tangents in their places; any other does what forward_ad does
                (``call_then_tangents``).

What that is worth: benchmarks/test_forward.py.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any
from weakref import ref

from ..base.bounded import Plans, keep
from ..base.calls import CALLS
from ..base.dtypes import DType, of_default_dtype
from ..base.grad_mode import dual_levels, mode, special
from ..dispatch.elementwise import launched
from ..dispatch.elementwise_plans import forward_formula
from ..dispatch.formulas import Formula
from ..dispatch.generated import compile_text
from ..dispatch.lowerings import PREPARED
from ..dispatch.movements import several_views, viewer
from ..dispatch.operands import check_kinds, dtype_of_kinds
from ..dispatch.plans import elementwise_plan
from ..dispatch.rules import record_result
from ..graph.edges import requires_grad
from ..graph.saved import tensors_in
from ..modes.batched import Batched
from ..modes.interpreters import Call, FastPath, fast_paths, is_marked
from ..native.plans import Plan
from ..ops.core import Elementwise, General, Movement
from ..ops.expr import ZERO, Expr, constant, evaluate, operation, symbol
from ..tensors.arrays import values_of
from ..tensors.layout import Layout, broadcast_shapes
from ..tensors.overlap import apart
from ..tensors.tensor import Tensor, native
from ..views import is_view
from .programs import CallTracer, are_distinct, program_of
from .rules import all_tangents, in_place_of, jvp_expression, tangents_of_call
from .tangents import DualLevel, below_level, dual_meta, give, hold, lies_alike, sees_tangent, sight, tangent_of

__all__ = ["fast_dual"]


def fast_dual(op: Any, operands: tuple, attributes: dict | None) -> Any:
    """The result of a call, with its tangent if an operand has one; None where forward_ad must look."""
    if len(special) != len(dual_levels) or type(operands[0]) is Batched or type(operands[-1]) is Batched:  # batch/ knows
        return None
    try:
        level, outermost = dual_levels[-1], dual_levels[0]
    except IndexError:  # another thread has closed its level just now
        return None
    below = sight.below
    alone = outermost is level and level.number < below
    if attributes is None:
        return _elementwise_calls[op, len(operands)](op, level, alone, True, *operands)
    if below <= outermost.number:
        out = unseen_call(op, operands, attributes)
        if out is not None:
            return out
    return _calls[op](op, operands, attributes, level, alone)


def dual_call(op: Any) -> Any:
    """``call(op, operands, attributes, level, alone)`` of an operation that is not elementwise."""
    return joining_call if op.variadic else dual_movement(op) if op.kind == "movement" else dual_general(op)


_calls = Plans(dual_call)


def known_dual(op: Any, operands: tuple) -> Any:
    """A call that is known before its operands are looked at; None of any other.

    These are elementwise calls with a plan for the kinds of operands and tangents, elementwise calls without tangents (done as they
    are without a mode), and composites that have a program.
    """
    if len(special) != len(dual_levels) or mode.inference:
        return None
    try:
        level, outermost = dual_levels[-1], dual_levels[0]
    except IndexError:  # another thread has closed its level just now
        return None
    alone = outermost is level and level.number < sight.below
    if op.kind == "composite":
        return dual_composite(op, operands, level) if alone else None
    return _elementwise_calls[op, len(operands)](op, level, alone, False, *operands)


# ---- the text of calls ---------------------------------------------------------------------------------------------

# What the texts below know of an operand: its layout, its tangent and the layout of that. A loop over operands takes longer.
OPERAND_TEXT = """
    if isinstance({x}, Tensor):
        l_{x}, meta = {x}.layout, {x}._meta_
        if meta is None: t_{x} = k_{x} = None
        else:
            t_{x} = meta.tangent.get(number) if alone and meta.tangent else None
            if t_{x} is None and (meta.base is not None or not alone):
                t_{x} = sole_tangent({x}, level)
                if t_{x} is MANY: return None
            if t_{x} is None: k_{x} = None
            else:
                k_{x} = t_{x}.layout
                if t_{x}._needs_grad_: recorded = True
        if {x}._needs_grad_: recorded = True
    else: {otherwise}
"""
# All calls: what operands and tangents are; without a tangent the ordinary call; what is recorded, elsewhere; the plan by the key
# of layouts, or the program; its launch; the tangent of the result.
CALL_TEXT = """def call({parameters}):
    number, recorded = level.number, False
{given}{operands}{first}
    if {none}: return {without}
{key}
    if {recorded} and would_record(({inputs}, {tangents})): return {long_way}
{find}
{launch}
    return out
"""
# What ``keep`` does with a result's meta, without its frame.
KEEP_TEXT = """
    level.holders.append(ref(meta))
    if len(level.holders) > level.most: level.keep(meta)"""
HOLD_TEXT = """    {out}._meta_ = meta = dual_meta({{number: t}})""" + KEEP_TEXT
FIND_TEXT = """    plan = plans.get(key)
    if plan is None: plan = plans.made(key)
    if not plan: return None"""


def compiled(label: str, names_in_text: dict[str, Any], names: list[str], otherwise: str, **parts: str) -> Any:
    """A function made of ``CALL_TEXT``, with this module's names and ``names_in_text`` as its global names.

    Args:
        names: of the operands.
        otherwise: what is done with one that is no tensor.
        parts: of the text, where they are not those of an elementwise call.
    """
    tangents = [f"t_{x}" for x in names]
    usual = {
        "given": "",
        "first": "",
        "none": " and ".join(f"{t} is None" for t in tangents),
        "key": f"    key = ({''.join(f'l_{x}, k_{x}, ' for x in names)})",
        "recorded": "recorded and mode.enabled",
        "inputs": ", ".join(names),
        "tangents": ", ".join(tangents),
        "long_way": "None",
        "find": FIND_TEXT,
    }
    operands = "".join(OPERAND_TEXT.format(x=x, otherwise=otherwise.format(x=x)) for x in names)
    text = CALL_TEXT.format(operands=operands, **usual | parts)
    scope = {**globals(), **names_in_text, "ref": ref, "fresh": native.fresh, "into": native.into, "apart": apart}
    exec(compile_text(text, label), scope)
    return scope["call"]


def launch_text(head: str, tangents: list[str]) -> str:
    """Source of a call: ``head``, then those of the ``tangents`` that are not None, of which there is at least one."""
    every = " and ".join(f"{t} is not None" for t in tangents)
    several = f"{head}*[t for t in ({', '.join(tangents)},) if t is not None])"
    one = f"{head}{tangents[0]}) if {tangents[0]} is not None else {head}{tangents[1]})" if len(tangents) == 2 else several
    return f"{head}{tangents[0]})" if len(tangents) == 1 else f"{head}{', '.join(tangents)}) if {every} else {one}"


def hold_new(out: Tensor, tangent: Tensor, level: DualLevel) -> None:
    """Give a new result its tangent."""
    out._meta_ = dual_meta({level.number: tangent})
    level.keep(out._meta_)


MANY: Any = object()


def sole_tangent(x: Tensor, level: DualLevel) -> Any:
    """The tangent of ``x`` at the innermost level.

    Returns:
        ``MANY`` where this thread also sees a tangent at another level, or one that is dual itself.
    """
    meta = x._meta_
    held = meta.tangent
    if meta.base is None and not held:
        return None
    if has_other_tangent(x, level):
        return MANY
    number = level.number
    if number >= sight.below:
        return None
    t = held.get(number) if held else None
    if t is None:  # a view may inherit from its base
        t = None if meta.base is None else tangent_of(x, number)
    if t is not None and (t.layout.special or t._meta_ is not None and has_other_tangent(t, level)):
        return MANY
    return t


def has_other_tangent(x: Tensor, level: DualLevel) -> bool:
    """Whether this thread sees a tangent of ``x`` at another level than ``level``, which was the innermost a moment ago."""
    below = sight.below
    for other in dual_levels[:]:
        if other is not level and other.number < below and tangent_of(x, other.number) is not None:
            return True
    return False


def would_record(tensors: tuple) -> bool:
    """Whether a call of these would be recorded."""
    for x in tensors:
        if isinstance(x, Tensor) and x._needs_grad_ and requires_grad(x):
            return True
    return False


# ---- elementwise ---------------------------------------------------------------------------------------------------


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
        {"plans": of_default_dtype(Plans(partial(dual_plan, op))), "caller": CALLS[op.name].caller},
        names,
        "l_{x}, t_{x}, k_{x} = type({x}), None, None",
        parameters=f"op, level, alone, looked_at, {passed}",
        without=f"unmarked_launch(op, ({passed},)) if looked_at else (caller.bare or caller.past_modes)({passed})",
        launch=f"    out, t = {launch_text(f'fresh(plan, {passed}, ', [f't_{x}' for x in names])}\n" + HOLD_TEXT.format(out="out"),
    )


_elementwise_calls = Plans(dual_elementwise)


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
    if len(special) != len(levels) or not levels or op.integer_divisor:
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
        {"plans": of_default_dtype(Plans(partial(new_write_plan, op)))},
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


# ---- other operations ----------------------------------------------------------------------------------------------

VIEW_TEXT = """
    try: plan = plans[{key}]
    except (KeyError, TypeError): return None
    if k_x is not None and k_x is not l_x: return None"""
VIEWS_TEXT = """    out, t = view(plan, x, mode.enabled), view(plan, t_x, mode.enabled)
"""
HOLD_VIEW_TEXT = "    meta = out._meta_\n    meta.tangent = {number: t}" + KEEP_TEXT
HOLD_VIEWS_TEXT = "    for each, part in zip(out, t): hold(each, number, part)"


def dual_movement(op: Movement) -> Any:
    """``call(op, operands, attributes, level, alone)`` for a movement: the view and that of the tangent.

    It returns None where an interpreter must be asked, as for views as another dtype, which may have no derivatives.
    """
    if op.severs or op.untracked or "dtype" in op.signature.parameters:
        return lambda op, operands, attributes, level, alone: None
    values = "".join(f", attributes[{name!r}]" for name in list(op.signature.parameters)[1:])
    view = partial(several_of, op) if op.multiple else viewer(op)
    return compiled(
        f"dual view {op.name}",
        {"plans": CALLS[op.name].plans, "view": view},
        ["x"],
        "return None",
        parameters="op, operands, attributes, level, alone",
        given="    x, = operands",
        first=VIEW_TEXT.format(key=f"(l_x{values})" if values else "l_x"),
        without="view(plan, x, mode.enabled)",
        key="",
        recorded="False",
        find="",
        launch=VIEWS_TEXT + (HOLD_VIEWS_TEXT if op.multiple else HOLD_VIEW_TEXT),
    )


def several_of(op: Movement, plan: Any, x: Tensor, enabled: bool) -> tuple:
    """The results of a movement that has several."""
    return several_views(op, x, plan)


# See NOTE [Dual programs]. Whatever has no program takes the long way, and leaves one behind.
GIVEN_TEXT = """    try: {names}, = {given}
    except ValueError: return None
"""
KEY_TEXT = """    {attributes}= attributes.values()
    if {usual}:
        inputs = ({names}, {holders})
        key = ({key}{rest})
    else:
        inputs, key = [{names}], [{key}]
        for value in attributes.values():
            if not note_attribute(value, key, inputs): return long_call(op, operands, attributes, level)
        key = tuple(key)"""
PROGRAM_TEXT = """    try: program, direct = programs.get(key, UNKNOWN)
    except TypeError: return long_call(op, operands, attributes, level)
    if program is None:
        return settling_call(op, operands, attributes, level, key, inputs, [t for t in ({tangents},) if t is not None])
    made = {launch}
    if made is None: return long_call(op, operands, attributes, level)"""
RESULT_TEXT = """    out, t = made
    if t is None: return out
    first = out[0] if type(out) is tuple else out
    if not direct:
        attach_tangent(first, t, [{tangents}], level)
        return out
""" + HOLD_TEXT.replace("{out}", "first")
UNKNOWN, SIMPLE = (None, None), frozenset((int, bool, type(None), str, DType))


@cache
def dual_general(op: General, members: int = 0) -> Any:
    """``call(op, operands, attributes, level, alone)`` for a general operation; None from it: the interpreters must be asked.

    Args:
        members: of an operation of a sequence of tensors, how many of them.
    """
    names = [f"x{k}" for k in range(members)] or list(op.operands)
    attributes = list(op.signature.parameters)[len(op.operands) :]
    held = [n for n in PREPARED.get(op.name, (None, ()))[1] if n in attributes and n != "indices"]
    tangents, passed = [f"t_{x}" for x in names], ", ".join(names)
    usual = [f"type({n}) is Tensor" if n in held else f"type({n}) in SIMPLE" for n in attributes]
    return compiled(
        f"dual call of {op.name}",
        {"programs": programs_of(op)[0]},
        names,
        "return None",
        parameters="op, operands, attributes, level, alone",
        given=GIVEN_TEXT.format(names=passed, given="operands[0]" if members else "operands"),
        without="without_tangents(op, operands, attributes)",
        key=KEY_TEXT.format(
            names=passed,
            attributes="".join(f"{n}, " for n in attributes) or "_ ",
            usual=" and ".join(usual) or "True",
            holders="".join(f"{n}, " for n in held),
            key="".join(f"l_{x}, k_{x}, " for x in names),
            rest="".join(f"{n}.layout, " if n in held else f"{n}, type({n}), " for n in attributes),
        ),
        inputs="*inputs",
        long_way="long_call(op, operands, attributes, level)",
        find=PROGRAM_TEXT.format(tangents=", ".join(tangents), launch=launch_text("program(*inputs, ", tangents)),
        launch=RESULT_TEXT.format(tangents=", ".join(tangents)),
    )


def joining_call(op: General, operands: tuple, attributes: dict, level: DualLevel, alone: bool) -> Any:
    """The same of an operation whose only operand is a sequence of tensors."""
    members = operands[0]
    if type(members) is not tuple and type(members) is not list or not members or len(operands) > 1:
        return None
    if len(members) <= MOST_MEMBERS:
        return dual_general(op, len(members))(op, operands, attributes, level, alone)
    tangents = sequence_tangents(members, level)
    if tangents is MANY:
        return None
    return without_tangents(op, operands, attributes) if tangents is None else long_call(op, operands, attributes, level)


MOST_MEMBERS = 16


def settling_call(op: Any, operands: tuple, attributes: dict, level: DualLevel, key: tuple, inputs: Any, given: list) -> Any:
    """A call that has no program yet. The second call of a kind makes one."""
    unsettled = programs_of(op)[1]
    if key not in unsettled:
        if not is_marked((inputs, given)):
            keep(unsettled, key, max([x.layout.numel for x in inputs]) <= MOST_TRACED)
    elif unsettled[key]:
        unsettled[key] = False
        if are_distinct((*inputs, *given)):
            return settled_call(op, operands, attributes, level, key, [*inputs], given)
        rehearse(op, operands, attributes, level, key)
    return long_call(op, operands, attributes, level)


@cache
def programs_of(op: Any) -> tuple[dict[tuple, tuple], dict[tuple, bool]]:
    """By layouts and attributes a program, and whether its tangents are taken as they are; and of calls that have none whether the
    next one is to make it.
    """
    return of_default_dtype({}), of_default_dtype({})


MOST_TRACED = 1 << 23  # elements of an operand: a tracer holds all that a call makes on the way


def dual_composite(op: Any, values: tuple, level: DualLevel) -> Any:
    """A composite of one tensor whose formula looks at no element, by one program for all its steps; None where there is none.

    The maximum along a dimension is one.
    """
    x, *rest = values
    number, meta = level.number, getattr(x, "_meta_", None)
    t = meta.tangent.get(number) if meta is not None and meta.tangent else None
    if t is None or mode.enabled and would_record((x, t)):
        return None
    kinds = [type(value) for value in rest]
    if not SIMPLE.issuperset(kinds):
        return None
    key = (x.layout, t.layout, *rest, *kinds)
    programs, unsettled = programs_of(op)
    found = programs.get(key)
    if found is None:
        again = unsettled.get(key)
        if again is None:
            keep(unsettled, key, x.layout.numel <= MOST_TRACED and not is_marked((x, t)))
        elif again and are_distinct((x, t)):
            unsettled[key] = False
            return settled_composite(op, values, level, key, x, t)
        return None
    program, direct, kind = found
    made = program(x, t)
    if made is None:
        return None
    outs, tangent = made
    if direct:
        hold_new(outs[0], tangent, level)
    else:
        attach_tangent(outs[0], tangent, [t], level)
    return kind(*outs)


def settled_composite(op: Any, values: tuple, level: DualLevel, key: tuple, x: Tensor, t: Tensor) -> Any:
    """Run the formula while a tracer notes its calls. A program is made if there are several results and the first is dual."""
    with CallTracer() as tracer:
        result = op.formula(*values)
    if isinstance(result, tuple) and result and not is_marked(result):
        tangents = [tangent_of(each, level.number) for each in result]
        views = [each for each in result if each.layout.dtype.differentiable and is_view(each)]
        if tangents[0] is not None and all(each is None for each in tangents[1:]) and not views:
            found = program_of(tracer, [x, t], tuple(result), tangents[0], constants=False)
            if found is not None and gives(found[0], (x, t), tuple(result), tangents[0]):
                keep(programs_of(op)[0], key, (*found, type(result)))
    return result


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
        value = value.hex()  # 0.0 equals -0.0
    key += value, type(value)
    return True


def settled_call(op: Any, operands: tuple, attributes: dict, level: DualLevel, key: tuple, inputs: list, given: list) -> Any:
    """The call in full, while a tracer notes what it launches; later calls run the program that is made of it."""
    tangents = named_tangents(op, operands, level)
    result, made = settled(op, operands, attributes, tangents, level, key, [*inputs, *given])
    return with_tangents(result, made, all_tangents(tangents), level)


def settled(op: Any, operands: tuple, attributes: dict, tangents: dict, level: DualLevel, key: tuple, inputs: list) -> tuple:
    """The result and its tangents, and a program of the launches that they are made by, if there is one."""
    plan = ordinary_plan_of(op, (*[getattr(x, "layout", None) for x in operands], *attributes.values()))
    with CallTracer() as tracer:
        result = below_level(0, result_of, op, plan, operands, attributes)
        tracer.seen(op, (*operands, *attributes.values()), result)
        made = below_level(level.number, tangents_of_call, Call(op, operands, attributes, CALLS[op.name].plain), tangents, result)
    for fused in (True, False):  # in one kernel a result may be rounded otherwise
        if all(t is None for t in made[1:]) and not is_marked((result, made)):
            found = program_of(tracer, inputs, result, made[0], fused=fused)
            if found is not None and gives(found[0], tuple(inputs), result, made[0]):
                keep(programs_of(op)[0], key, found)
                break
    return result, made


def rehearse(op: Any, operands: tuple, attributes: dict, level: DualLevel, key: tuple) -> None:
    """Make the program of a call some of whose inputs are one and the same memory, as in ``cat([x, x])``, from a call of copies."""
    inputs: list[Tensor] = []

    def copied(x: Any) -> Any:
        if isinstance(x, Tensor):
            inputs.append(CALLS["clone"](native.alias(x)))
            return inputs[-1]
        return type(x)(map(copied, x)) if type(x) in (tuple, list) else x

    tangents = named_tangents(op, operands, level)
    held = tensors_in((operands, tuple(attributes.values()), tuple(tangents.values())))
    operands, attributes = copied(operands), {name: copied(value) for name, value in attributes.items()}
    tangents = {name: copied(t) for name, t in tangents.items()}
    if all(x.layout is y.layout for x, y in zip(held, inputs, strict=True)):
        settled(op, operands, attributes, tangents, level, key, inputs)


def gives(program: Any, inputs: tuple, result: Any, tangent: Tensor | None) -> bool:
    """Whether a program gives the results of a call bit for bit."""
    made = program(*inputs)
    if made is None or (made[1] is None) is not (tangent is None):
        return False
    return all(below_level(0, same_bits, x, y) for x, y in zip(tensors_in(made), tensors_in((result, tangent)), strict=True))


def same_bits(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have one layout and the same elements."""
    if x.layout is not y.layout or x.layout.conj or x.layout.neg:
        return False
    return values_of(x).tobytes() == values_of(y).tobytes()


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


fast_paths[DualLevel] = FastPath(known_dual, fast_dual, quick_dual_write, sees_tangent)
