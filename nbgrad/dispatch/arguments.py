"""The arguments of a call, however a program writes them: bound to the names of the declaration, checked, and made keys.

``sum(x, 1)``, ``sum(x, dim=1)`` and ``sum(x, axis=1)`` are one call, of the operand ``x`` and the attributes ``{"dim": 1, ...}``.
Operands are the arguments that may be differentiated; attributes are all behind them. Nothing here knows what a call computes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Callable, Iterable

from numpy import generic

from ..base.calls import CALLS
from ..base.dtypes import bool_
from ..base.errors import ArgumentError
from ..ops.core import Op
from ..ops.kinds import NUMBER, WHOLE, WHOLES, attribute_kind, odd_test, refuse_odd, settled_number
from ..ops.spellings import factors_by_name, foreign_names, own_arguments
from ..tensors.tensor import Tensor
from .generated import late_function

__all__ = [
    "bound_arguments",
    "ABSENT",
    "bound_parameters",
    "respelled",
    "binder",
    "attribute_names",
    "check_tensor",
    "require_tensors",
    "KEY_TYPES",
    "hashable",
    "settled_attributes",
    "called_again",
    "other_names",
    "other_names_lines",
    "default_values",
    "argument_text",
]


def bound_arguments(op: Op, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Operands and attributes of a call, with defaults for what is not given.

    Raises:
        ArgumentError: they do not fit the signature.
    """
    if len(args) == len(op.operands) and tuple(kwargs) == attribute_names(op):
        return args, kwargs  # as interpreters pass them on
    if kwargs and foreign_names(op, kwargs):
        args, kwargs = own_arguments(op, args, kwargs)
    try:
        bound = op.signature.bind(*args, **kwargs)
    except TypeError as error:
        operands, factors = factors_by_name(op, args, kwargs)
        if operands is args:
            raise ArgumentError(f"{op.public}: {error}; expected {op.name}{op.signature}.") from None
        bound = op.signature.bind(*operands, **factors)
    bound.apply_defaults()
    values = bound.arguments
    count = len(op.operands)
    names = list(values)
    return tuple(values[n] for n in names[:count]), {n: values[n] for n in names[count:]}


ABSENT: Any = object()


def bound_parameters(op: Op) -> str:
    """The parameters of a function that takes arguments in any spelling, as source.

    ``ABSENT`` stands for an argument that was not given. ``more`` holds arguments without a place, ``named`` those under another
    name. ``respelled`` makes operands and attributes of them.
    """
    parameters = op.signature.parameters
    values = {n: "ABSENT" if p.default is p.empty else f"_defaults[{n!r}]" for n, p in parameters.items()}
    free = [f"{n}={values[n]}" for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    named = [f"{n}={values[n]}" for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
    return ", ".join([*free, "*more", *named, "**named"])


def respelled(op: Op, values: tuple, more: tuple, named: dict) -> tuple[tuple, dict]:
    """Operands and attributes of a call of a function with ``bound_parameters``.

    Args:
        values: of the parameters, in their order.
    """
    given = dict(zip(op.signature.parameters, values))
    absent = default_values(op)  # what is not given: another name of it may be
    if more:
        places = [n for n, p in op.signature.parameters.items() if p.kind is not p.KEYWORD_ONLY]
        options = {n: v for n, v in given.items() if n not in places and v is not absent.get(n, ABSENT)}
        return bound_arguments(op, (*[given[n] for n in places], *more), {**options, **named})
    return bound_arguments(op, (), {**{n: v for n, v in given.items() if v is not absent.get(n, ABSENT)}, **named})


# Arguments in the declaration's own names; all else is ``respelled``'s to say.
BINDER_TEXT = """def call({parameters}):
    if {strange}: return respelled(op, ({names},), more, named)
    return ({operands},), {{{attributes}}}
"""


@cache
def binder(op: Op) -> Callable:
    """``bind(*arguments) -> (operands, attributes)``:

    ``bound_arguments`` as a generated function, quick where names are the usual ones.
    """
    parameters = op.signature.parameters
    return late_function(
        f"{op.name} arguments",
        {"ABSENT": ABSENT, "respelled": respelled, "op": op},
        lambda: BINDER_TEXT.format(
            parameters=bound_parameters(op),
            names=", ".join(parameters),
            strange=" or ".join(["more or named", *(f"{n} is ABSENT" for n, p in parameters.items() if p.default is p.empty)]),
            operands=", ".join(op.operands),
            attributes=", ".join(f"{n!r}: {n}" for n in attribute_names(op)),
        ),
        lambda: {"_defaults": default_values(op)},
    )


@cache
def attribute_names(op: Op) -> tuple[str, ...]:
    """The names of the attributes, in order."""
    return tuple(op.signature.parameters)[len(op.operands) :]


def check_tensor(op: Op, name: str, x) -> None:
    """Refuse anything but a tensor."""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{op.public}: {name} must be a Tensor, got {type(x).__name__}. Hint: nbgrad.asarray(x).")


# Types of attributes that equal only their like: they may be parts of a key as they are.
KEY_TYPES = (int, type(None), tuple)


def hashable(value):
    """An attribute as part of a plan's key: lists as tuples, NumPy's numbers as Python's."""
    if isinstance(value, (list, tuple)):
        return tuple(map(hashable, value))
    return value.item() if isinstance(value, generic) else value


TOLERANCES = ("rtol", "atol")  # which may be one for each matrix


def settled_attributes(op: Op, attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes with the ints, tuples of ints and numbers that lists, NumPy's numbers and tensors of one element stand for.

    Raises:
        ArgumentError: one is of another kind than its name says. NotSupportedError: a tensor that gradients flow into.
        BatchingError: a tensor that is another number for each element of a batch.
    """
    odd = odd_test(op)
    if odd is None or not odd(attributes):
        return attributes
    settled = {name: settled_attribute(op, name, value) for name, value in attributes.items()}
    refuse_odd(op, settled.items())
    return settled


def settled_attribute(op: Op, name: str, value: Any) -> Any:
    """One of them."""
    kind = attribute_kind(op, name)
    if kind is WHOLE or kind is WHOLES:
        try:
            return whole_number(value)
        except ArgumentError as error:
            raise ArgumentError(f"{op.public}: {name} must be {kind.words}, got another tensor ({error}).") from None
    if kind is NUMBER and isinstance(value, Tensor) and (value.layout.numel == 1 or name not in TOLERANCES):
        return settled_number(op.public, name, value)
    return value if isinstance(value, (list, tuple)) else hashable(value)


def whole_number(value: Any) -> Any:
    """``hashable``, and the int of a tensor; a sequence as a tuple."""
    if isinstance(value, (list, tuple)):
        return tuple(map(whole_number, value))
    if isinstance(value, Tensor):
        return value.item() if value.layout.dtype is bool_ else value.__index__()  # a truth value stays one, and is refused
    return hashable(value)


def default_values(op: Op) -> dict:
    """``{parameter: default}``."""
    return {n: p.default for n, p in op.signature.parameters.items() if p.default is not p.empty}


def argument_text(op: Op, defaults: str, aliases: tuple[str, ...] = ()) -> str:
    """The parameters of a signature as source; defaults are looked up in a dict named ``defaults``.

    Other names of arguments are None where they are not given. They have positions, since what has none costs a call time; they
    stand before attributes that are given by name alone, so that no position of those leads anywhere.
    """
    required: list[str] = []
    optional: list[str] = []
    named: list[str] = []
    for name, p in op.signature.parameters.items():
        if p.default is p.empty and not (aliases and (name == "dim" or optional)):
            required.append(name)
        else:
            default = "None" if p.default is p.empty else f"{defaults}[{name!r}]"
            (named if p.kind is p.KEYWORD_ONLY else optional).append(f"{name}={default}")
    others = [f"{name}=None" for name in aliases]
    separator = ["*"] if named and not aliases else []
    return ", ".join([*required, *optional, *others, *separator, *named])


ALIASES = (("axis", "dim"), ("keepdims", "keepdim"))


def other_names(op: Op) -> tuple[str, ...]:
    """NumPy's names of arguments, which the methods of an operation that users call take as well."""
    parameters = op.signature.parameters
    if not op.function or any(other in parameters for other, _ in ALIASES):
        return ()
    return tuple([other for other, own in ALIASES if own in parameters])


def other_names_lines(op: Op, names: Iterable[str]) -> list[str]:
    """The first line of a call that takes ``other_names``: ``called_again``, where one was given; ``names`` of all arguments."""
    others = other_names(op)
    given = " or ".join(f"{n} is not None" for n in others)
    return [f"    if {given}: return called_again(({', '.join(names)},), {', '.join(others)})"] if others else []


def called_again(op: Op, values: tuple, *given: Any) -> Any:
    """The call of arguments in their order and, behind them, of ``other_names``."""
    parameters = op.signature.parameters
    named = {
        n: v for (n, p), v in zip(parameters.items(), values) if v is not p.default and not (v is None and p.default is p.empty)
    }
    named |= {n: v for n, v in zip(other_names(op), given) if v is not None}
    return CALLS[op.name](**{op.renamed.get(n, n): v for n, v in own_arguments(op, (), named)[1].items()})


def require_tensors(name: str, *values: Any) -> None:
    """Refuse anything but tensors.

    Raises:
        ArgumentError: something else.
    """
    for x in values:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{name}: expected a Tensor, got {type(x).__name__}. Hint: nbgrad.tensor(data).")
