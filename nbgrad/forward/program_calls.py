"""Quick calls in forward mode of operations that are not elementwise: views, and those that have a program (programs.py)."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import DType, of_default_dtype
from ..base.grad_mode import mode
from ..dispatch.lowerings import PREPARED
from ..dispatch.movements import several_views, viewer
from ..graph.saved import tensors_in
from ..modes.interpreters import Call, is_marked
from ..ops.core import General, Movement
from ..tensors.arrays import values_of
from ..tensors.tensor import Tensor, native
from ..views import is_view
from .call_texts import HOLD_TEXT, KEEP_TEXT, MANY, compiled, hold_new, launch_text, would_record
from .long_calls import (
    attach_tangent,
    long_call,
    named_tangents,
    ordinary_plan_of,
    result_of,
    sequence_tangents,
    with_tangents,
    without_tangents,
)
from .programs import CallTracer, are_distinct, program_of
from .rules import all_tangents, tangents_of_call
from .tangents import DualLevel, below_level, hold, tangent_of

__all__ = ["dual_composite", "dual_general", "dual_movement", "joining_call", "programs_of"]

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
        {"plans": CALLS[op.name].plans, "view": view, "hold": hold},
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
        {"programs": programs_of(op)[0], **PROGRAM_NAMES},
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
        if not op.draws:  # a rehearsal would take numbers from the generator
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
    """Whether two tensors have one layout and the same elements, if any."""
    if x.layout is not y.layout or x.layout.conj or x.layout.neg:
        return False
    return x.is_meta or values_of(x).tobytes() == values_of(y).tobytes()


# What the texts of calls with programs mention.
PROGRAM_NAMES = {
    "UNKNOWN": UNKNOWN,
    "SIMPLE": SIMPLE,
    "note_attribute": note_attribute,
    "settling_call": settling_call,
    "long_call": long_call,
    "without_tangents": without_tangents,
    "attach_tangent": attach_tangent,
}
