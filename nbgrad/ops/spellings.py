"""Names of arguments in other libraries: ``axis=`` and ``keepdims=`` as NumPy has them, ``input=`` and ``other=`` as torch.

NOTE [Spellings]: only calls that use them pay for them. A function looks for other names after a call has failed over one; a
method of a reduction has ``axis`` and ``keepdims`` as further arguments.

NOTE [Factors first]: torch's oldest programs give factors by position, in front of what they multiply: ``x.add_(-lr, g)``,
``x.addcmul_(value, a, b)``, ``addmm(beta, x, alpha, a, b)``. torch still takes that, with a warning, and so do these operations.
Such a call has more arguments than the signature has places, so all others are not asked about it.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..base.errors import ArgumentError
from ..base.user_stack import warn_user
from .core import Composite, Op
from .signatures import LateSignature

__all__ = [
    "own_arguments",
    "foreign_names",
    "target_of",
    "chosen",
    "as_list",
    "as_several",
    "or_one",
    "public_name",
    "public_signature",
    "factor_first",
    "factors_by_name",
    "shown_signature",
]

NAMED = {
    "axis": ("dim", "dims"),
    "keepdims": ("keepdim",),
    "axis0": ("dim0",),
    "axis1": ("dim1",),
    "axes": ("dims",),
    "train": ("training",),
}
FIRST = ("input", "self", "tensor", "x", "a", "x1")
SECOND = ("other", "mat2", "vec", "vec2", "tensor", "mask", "y", "x2")
# Names of what is given one by one: x.flip(0, 1) is flip(x, dims=(0, 1)).
SEVERAL = ("shape", "size", "dims", "repeats")


def foreign_names(op: Op, named: dict[str, Any]) -> list[str]:
    """Those of the given names that the signature does not have."""
    parameters, renamed = op.signature.parameters, op.renamed
    return [
        name
        for name in named
        if name not in parameters or name in renamed or parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
    ]


def own_arguments(op: Op, args: tuple, named: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a call under the names of the declaration.

    Raises:
        ArgumentError: a name that nobody uses for an argument of the operation; one argument under two names.
    """
    own = {name: value for name, value in named.items() if name not in foreign_names(op, named)}
    for name in foreign_names(op, named):
        target = target_of(op, name)
        if target is None:
            raise ArgumentError(f"{op.name}: unexpected argument {name!r}; expected {op.name}{op.signature}.")
        if op.signature.parameters[target].kind is inspect.Parameter.VAR_POSITIONAL:
            args = (*leading(op, args, own), *as_several(named[name]))
        else:
            require_one(op.name, target, own.get(target, args_by_name(op, args).get(target)), name)
            own[target] = named[name]
    return args, own


def leading(op: Op, args: tuple, own: dict[str, Any]) -> tuple:
    """Positional arguments, with the first operand among them."""
    first = next(iter(op.signature.parameters))
    return (own.pop(first), *args) if first in own else args


def as_several(value: Any) -> tuple:
    """A sequence, or one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def as_list(dims: Any) -> tuple | None:
    """Dimensions or amounts as torch's nodes show those that may be several."""
    return dims if dims is None or isinstance(dims, tuple) else (dims,)


def or_one(step: Any) -> int:
    """A step as torch's nodes show it."""
    return 1 if step is None else step


def args_by_name(op: Op, args: tuple) -> dict[str, Any]:
    """Positional arguments by name."""
    return dict(zip(op.signature.parameters, args))


def target_of(op: Op, name: str) -> str | None:
    """Which argument another library's name means."""
    parameters = op.signature.parameters
    names = list(parameters)
    own = op.arguments.get(name, name)
    if own in parameters and parameters[own].kind is not inspect.Parameter.VAR_POSITIONAL:
        return own
    for target in NAMED.get(name, ()):
        if target in parameters:
            return target
    if name in (*SEVERAL, "axis", "axes") and parameters[names[-1]].kind is inspect.Parameter.VAR_POSITIONAL:
        return names[-1]
    if name in SECOND and len(op.operands) > 1:
        return names[1]
    return names[0] if names and name in FIRST and parameters[names[0]].kind is not inspect.Parameter.VAR_POSITIONAL else None


def public_name(op: Op, own: str) -> str:
    """The name that users see of an operand; arguments of composites have torch's names, unless the first is called x."""
    if isinstance(op, Composite) and not (own == "x" and own in op.operands):
        return own
    given = next((name for name, target in op.arguments.items() if target == own), None)
    return given or {"x": "input", "y": "other"}.get(own, own)


def public_signature(op: Op) -> inspect.Signature:
    """The signature under public names."""

    def made() -> inspect.Signature:
        parameters = op.signature.parameters
        return op.signature.replace(parameters=[p.replace(name=public_name(op, name)) for name, p in parameters.items()])

    return LateSignature.by(made)


def require_one(op: str, name: str, value: Any, other: str) -> None:
    """Refuse one argument under two names.

    Raises:
        ArgumentError: ``value`` is there already.
    """
    if value is not None:
        raise ArgumentError(f"{op}: got {name} and {other}, which are two names of one argument. Hint: leave one out.")


def chosen(op: str, name: str, value: Any, other: str, alias: Any) -> Any:
    """An argument that may have come under another name.

    Args:
        value, alias: under its own name and the other one; None where it was not given.

    Raises:
        ArgumentError: both were.

    >>> chosen("cumsum", "dim", None, "axis", 1)
    1
    """
    if alias is None:
        return value
    require_one(op, name, value, other)
    return alias


def factor_first(op: str, name: str, given: Any, args: tuple, count: int) -> tuple:
    """The arguments behind the first, of a call with a factor in front of them: NOTE [Factors first].

    Args:
        name: of the factor, ``given``: what was given by this name, else 1; ``count``: of the arguments that it multiplies.

    Returns:
        The factor and these arguments.

    Raises:
        ArgumentError: there are more than these, or the factor is no number.
    """
    if len(args) != count + 1 or given != 1 or getattr(args[0], "ndim", 0):
        raise ArgumentError(
            f"{op}: too many positional arguments, {len(args) + 1}, expected {count + 1}. Hint: give {name} by its name."
        )
    warn_user(f"{op}: {name} in front of what it multiplies is deprecated. Hint: {name}= behind the tensors.")
    return args


def shown_signature(function: Callable) -> inspect.Signature:
    """The signature of a function without the arguments that only old programs give: NOTE [Factors first]."""
    signature = inspect.signature(function)
    return signature.replace(parameters=[parameter for name, parameter in signature.parameters.items() if name != "more"])


def factors_by_name(op: Op, args: tuple, named: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Positional arguments without factors that stand among them, which are ``beta`` and ``alpha``: NOTE [Factors first].

    ``(beta, x, alpha, a, b)`` of a function, ``(x, beta, alpha, a, b)`` of a method; ``alpha`` may be missing.
    """
    factors = [name for name, parameter in op.signature.parameters.items() if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    more = len(args) - (len(op.signature.parameters) - len(factors))
    if factors != ["beta", "alpha"] or named or more not in (1, 2):
        return args, named
    places = (1, 2) if hasattr(args[0], "layout") else (0, 2)
    found = dict(zip(factors, [args[place] for place in places[:more]]))
    if any(getattr(value, "ndim", 0) for value in found.values()):
        return args, named
    warn_user(f"{op.public}: factors in front of what they multiply are deprecated. Hint: beta= and alpha= behind the tensors.")
    return tuple([value for place, value in enumerate(args) if place not in places[:more]]), found
