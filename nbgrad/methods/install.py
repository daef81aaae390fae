"""The public names of operations, made from the table: functions, methods, operators, in-place and ``out=`` forms, docstrings."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.errors import ArgumentError, DTypeError, LinAlgError, OperatorError
from ..base.function_attributes import attach
from ..base.overriding import overrides_functions
from ..dispatch.arguments import other_names
from ..dispatch.elementwise import call_of
from ..dispatch.inplace import inplace_call
from ..dispatch.inplace_views import inplace_view, inplace_views
from ..dispatch.joint import joint
from ..dispatch.lowerings import PREPARED, lowering_of
from ..dispatch.movements import movement_call
from ..dispatch.operands import NUMBERS, bind
from ..dispatch.out import write_out, write_result
from ..dispatch.planned import planned_call
from ..dispatch.prepared import composite_call, run_call
from ..dispatch.settled_spellings import settled, traced
from ..modes.overrides import functions_of, handle_function
from ..ops.core import OPS, Composite, Elementwise, General, Movement, Op
from ..ops.docstring import Docstring
from ..ops.expr import COMPARISONS, OPERATORS, UNARY_OPERATORS
from ..ops.kinds import refuse_arguments
from ..ops.spellings import foreign_names, own_arguments, public_signature
from ..tensors.tensor import Tensor
from .functions import FUNCTIONS, direct
from .install_variants import install_variants
from .numpy_protocol import install_numpy_protocol

__all__ = ["install", "install_elementwise", "install_operation"]


def install() -> None:
    """Make the calls of all declared operations and hang them where users look for them."""
    for op in OPS.values():
        install_operation(op)
    for name in inplace_views():
        setattr(Tensor, name + "_", inplace_view(name))
    install_operators()
    install_variants()
    functions_of.update({name: public_form(name) for name in CALLS})
    install_numpy_protocol(FUNCTIONS)


def install_operation(op: Op) -> None:
    """Make the call of a declared operation, and its public forms."""
    if isinstance(op, Elementwise):
        install_elementwise(op)
    elif isinstance(op, Movement):
        publish(op, movement_call(op))
    elif isinstance(op, Composite):
        formula = traced(op) if op.spelling == "steps" else settled(op) if op.spelling else op.formula
        formula = joint(str(op.node_name))(formula) if op.joint else formula
        CALLS[op.name] = call = composite_call(op, formula) if op.name in PREPARED else formula
        publish(op, call)
    elif isinstance(op, General):
        publish(op, general_function(op))


def general_function(op: General) -> Callable:
    """The function of an operation with a lowering."""
    if (found := lowering_of(op)) is None:
        raise RuntimeError(
            f'{op.name}: declared without a lowering. Hint: @lowering("{op.name}") in a module of nbgrad/lowering; '
            "of a reduction, monoid=."
        )
    style, function = found
    call = planned_call(op, function) if style == "plan" else run_call(op, function)
    call.__name__ = call.__qualname__ = op.name
    attach(call, __signature__=public_signature(op))
    CALLS[op.name] = call
    return call


def public_form(name: str) -> Callable:
    """What users call for a call of that name: the function, else the method, else the call itself."""
    method = vars(Tensor).get(name)
    return FUNCTIONS.get(name) or (method if callable(method) else CALLS[name])


def install_elementwise(op: Elementwise) -> None:
    """Function, method, in-place method, and the function with ``out=``."""
    call = call_of(op)
    if op.inplace:
        method = inplace_call(op)
        method.__doc__ = f"In place: {op.doc} See ``{op.name}``."
        for name in (op.name, *op.aliases):
            setattr(Tensor, name + "_", method)
    publish(op, call)
    if op.function and op.out:
        for name in (op.name, *op.aliases):
            FUNCTIONS[name] = with_out(op, call)


def with_out(op: Elementwise, call: Callable, public: str = "") -> Callable:
    """The function of an operation that also takes ``out=``; ``public``: see ``document``."""

    def general_form(operands, named):
        out = named.pop("out", None)
        if out is None:
            try:
                return call(*operands, **named)
            except TypeError:
                if not named:
                    raise
            return call(*bind(op, *own_arguments(op, operands, named), op.defaults, op.signature.empty))
        if named or len(operands) < len(op.operands):
            operands = bind(op, *own_arguments(op, operands, named), op.defaults, op.signature.empty)
        return write_result(op, operands, out)

    function = direct(op, general_form)
    document(function, op, public)
    return function


def document(function: Callable, op: Op, public: str = "") -> None:
    """Name, signature and docstring from the declaration; ``public``: the name below the package, where it is another."""
    function.__name__ = function.__qualname__ = op.name
    attach(function, __signature__=public_signature(op))
    function.__doc__ = Docstring(op.name, op.doc, public)  # see NOTE [Docstrings]


def publish(op: Op, call: Callable) -> None:
    """Hang a call on the namespace and on Tensor."""
    call.__doc__ = Docstring(op.name, op.doc)
    for name in (op.name, *op.aliases):
        if op.function:
            FUNCTIONS[name] = call if isinstance(op, Elementwise) else function_form(op, call)
        if op.method:
            renamed = (
                isinstance(op, Composite)
                and (op.arguments or is_plain(op) and other_names(op))
                or name != op.name
                and name in op.numpy
            )
            method = method_form(op, call) if renamed or op.matrices else call
            setattr(Tensor, name, property(call) if op.is_property else method)


def is_plain(op: Composite) -> bool:
    """Whether the call of a composite is its formula, which has no other names of arguments."""
    return not op.spelling and op.name not in PREPARED


def function_form(op: Op, call: Callable, public: str = "") -> Callable:
    """The function of an operation with a loop of its own, a view or a composite; ``public``: see ``document``.

    It takes an array as first operand for a tensor on its memory, arguments under other libraries' names, and ``out=``.
    """
    names = list(op.signature.parameters)
    numbers = op.numbers or "beta" in names  # see NOTE [Factors first]
    takes_array = bool(names) and names[0] in ("x", "input", "self") and not op.variadic

    def function(*args, **named):
        try:
            if takes_array and args and not isinstance(args[0], Tensor) and not (numbers and isinstance(args[0], NUMBERS)):
                if overrides_functions(type(args[0])):
                    return handle_function(function, args, *args, **named)
                args = (as_tensor(op, names[0], args[0]), *args[1:])
            return call(*args, **named)
        except AttributeError as error:
            if brings_own_type(args, named):
                return handle_function(function, (*args, *named.values()), *args, **named)
            refuse_arguments(op, args, named, error)
            raise
        except LinAlgError as error:
            raise error.of(op.public) from None
        except TypeError as error:
            if brings_own_type(args, named):
                return handle_function(function, (*args, *named.values()), *args, **named)
            if not foreign_names(op, named):
                refuse_arguments(op, args, named, error)
                raise
        return call_by_names(op, call, args, named)  # see NOTE [Spellings]

    document(function, op, public)
    for attribute in ("plain", "plans"):
        if hasattr(call, attribute):
            setattr(function, attribute, getattr(call, attribute))
    return function


def method_form(op: Op, call: Callable) -> Callable:
    """The method of a composite that has other names of arguments in torch, see NOTE [Spellings], or whose errors get its name."""

    def method(*args, **named):
        try:
            return call(*args, **named)
        except LinAlgError as error:
            raise error.of(op.public) from None
        except TypeError:
            if not foreign_names(op, named):
                raise
        args, named = own_arguments(op, args, named)
        return call(*args, **named)

    document(method, op)
    return method


def call_by_names(op: Op, call: Callable, args: tuple, named: dict[str, Any]) -> Any:
    """A call with arguments under other names, or into ``out``.

    Raises:
        ArgumentError: unknown names. Others: see ``write_out``.
    """
    named = dict(named)
    out = named.pop("out", None) if op.out else None
    args, named = own_arguments(op, args, named)
    first = next(iter(op.signature.parameters))
    if first in named and isinstance(named[first], np.ndarray):
        named[first] = as_tensor(op, first, named[first])
    renamed = getattr(call, "renamed", None)
    if renamed:
        named = {renamed.get(name, name): value for name, value in named.items()}
    if out is None:
        return call(*args, **named)
    return write_out(op.public, lambda: call(*args, **named), out)


def brings_own_type(args: tuple, named: dict[str, Any]) -> bool:
    """Whether an argument is no tensor, and of a type that says itself what functions mean on it."""
    flat = [y for x in (*args, *named.values()) for y in (x if isinstance(x, (tuple, list)) else (x,))]
    return any(not isinstance(x, Tensor) and overrides_functions(type(x)) for x in flat)


def as_tensor(op: Op, name: str, value) -> Tensor:
    """An array as a tensor on its memory.

    Raises:
        ArgumentError: it is no array.
    """
    if overrides_functions(type(value)):
        return value
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"{op.name}: {name} must be a Tensor, got {type(value).__name__}. Hint: nbgrad.tensor(data).")
    return CALLS["asarray"](value)


def install_operators() -> None:
    """Python's operators, from the one table that Expr uses too."""
    for symbol, name in OPERATORS.items():
        call = CALLS.get(name)
        if call is None:
            continue
        setattr(Tensor, f"__{symbol}__", call)
        # Sums and products commute, and a number is quicker as the second operand: 2 * x is x * 2.
        setattr(Tensor, f"__r{symbol}__", call if name in ("add", "mul") else reflected(call))
        if name + "_" in CALLS:
            setattr(Tensor, f"__i{symbol}__", CALLS[name + "_"])
    for symbol, name in {**UNARY_OPERATORS, **COMPARISONS}.items():
        if name in CALLS:
            wrap = equality if symbol in ("eq", "ne") else inversion if symbol == "invert" else lambda call: call
            setattr(Tensor, f"__{symbol}__", wrap(CALLS[name]))


def inversion(call: Callable) -> Callable:
    """``~x``."""

    def invert(self):
        try:
            return call(self)
        except DTypeError as error:
            raise OperatorError(str(error)) from None

    return invert


def equality(call: Callable) -> Callable:
    """``==`` and ``!=`` leave what is neither tensor nor number to Python, which compares identity: ``x == None`` is False."""

    def compare(self, other):
        try:
            return call(self, other)
        except ArgumentError:
            return NotImplemented

    return compare


def reflected(call: Callable) -> Callable:
    """``other op self``."""

    def reverse(self, other):
        return call(other, self)

    reverse.__name__ = call.__name__
    return reverse
