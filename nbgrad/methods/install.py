"""The public names of operations, made from the table: functions, methods, operators, in-place and ``out=`` forms, docstrings."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from keyword import iskeyword
from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.errors import ArgumentError, DTypeError, LinAlgError, OperatorError
from ..base.function_attributes import attach, place
from ..base.overriding import overrides_functions
from ..dispatch.arguments import other_names
from ..dispatch.elementwise import call_of
from ..dispatch.inplace import inplace_call
from ..dispatch.inplace_views import inplace_view, inplace_views
from ..dispatch.joint import joint
from ..dispatch.lowerings import PREPARED, lowering_of
from ..dispatch.movements import movement_call
from ..dispatch.operands import NUMBERS, bind, refitted
from ..dispatch.out import write_out, write_result
from ..dispatch.planned import planned_call
from ..dispatch.prepared import composite_call, run_call
from ..dispatch.settled_spellings import settled, traced
from ..kernels.codegen import computable
from ..modes.overrides import functions_of, handle_function
from ..ops.core import OPS, Composite, Elementwise, General, Movement, Op, elementwise
from ..ops.docstring import Docstring
from ..ops.expr import COMPARISONS, OPERATORS, UNARY_OPERATORS, Expr, postorder
from ..ops.kinds import refuse_arguments
from ..ops.spellings import foreign_names, own_arguments, public_signature, shown_signature
from ..ops.variants import VARIANTS, Variant
from ..tensors.tensor import Tensor
from .numpy_protocol import install_numpy_protocol

__all__ = ["install", "install_operation", "declare", "FUNCTIONS"]

# Public functions by name; the package's namespace is filled from it.
FUNCTIONS: dict[str, Callable] = {}


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


def direct(op: Elementwise, general_form: Callable[[tuple, dict], Any], with_options: Callable | None = None) -> Callable:
    """A function that is the native call of ``op`` where it is given operands and nothing else: one frame, as of an operator.

    Args:
        general_form: ``general_form(operands, named)`` for all other calls.
        with_options: called as the function is where it is given its operands, and anything more but ``out``.
    """
    caller = CALLS[op.name].caller
    run, count = caller.run, len(op.operands) if caller.simple else 0
    if count == 1:

        def function(x=MISSING, /, *more, **named):
            if x is not MISSING:
                if not named and not more:
                    return run(x)
                if with_options is not None and "out" not in named:
                    return with_options(x, *more, **named)
            return general_form(passed_operands(x, *more), named)

    elif count == 2:

        def function(x=MISSING, y=MISSING, /, *more, **named):
            if y is not MISSING:
                if not named and not more:
                    try:
                        return run(x, y)
                    except OverflowError as error:
                        return refitted(op, (x, y), error, run)
                if with_options is not None and "out" not in named:
                    return with_options(x, y, *more, **named)
            return general_form(passed_operands(x, y, *more), named)

    else:

        def function(*operands, **named):
            return general_form(operands, named)

    return function


MISSING = object()  # an operand that was not given


def passed_operands(*operands: Any) -> tuple:
    """The operands that were given."""
    return tuple([x for x in operands if x is not MISSING])


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


# ---- declarations at run time --------------------------------------------------------------------------------------


def declare(name: str, forward: Callable, partials: dict[str, Callable] | None = None, **options: Any) -> Callable:
    """Add an elementwise operation: its formula and its partial derivatives, nothing else (docs/adding-an-op.md).

    Args:
        name: of the function ``nbgrad.name``, of the methods ``x.name()`` and ``x.name_()``.
        forward: formula of numbers, named as the operands: Python arithmetic and functions of ``nbgrad.scalar``.
        partials: ``{operand: formula}`` over operands and ``out``; an operand that is not listed has no derivative.
        options: of ``ops.core.Elementwise``: ``policy``, ``doc``, ``aliases``, ``complex``, ...

    Returns:
        The function. It broadcasts, promotes, records, and has derivatives of every order.

    Raises:
        ArgumentError: the name is taken or no name; a formula mentions what is no operand, applies what no kernel can compute, or
            gives no number; an option, a policy or an operand is unknown; there are no operands, or more than 40.

    >>> import nbgrad
    >>> cube = nbgrad.declare("cube", lambda x: x * x * x, {"x": lambda x: 3 * (x * x)}, doc="x**3.")
    >>> x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    >>> nbgrad.grad(x.cube().sum(), x)
    (tensor([ 3., 12.]),)
    """
    for public in (name, *options.get("aliases", ())):
        if not isinstance(public, str) or not public.isidentifier() or iskeyword(public) or is_taken(public):
            raise ArgumentError(f"declare: {public!r} is taken or is no name. Hint: choose another.")
    require_formulas(name, forward, partials, options)
    op = elementwise(name, forward, partials, **options)
    try:
        check_declaration(op)
    except BaseException:
        del OPS[name]
        raise
    install_elementwise(op)
    place(__package__.rpartition(".")[0], {public: FUNCTIONS[public] for public in (name, *op.aliases) if public in FUNCTIONS})
    return FUNCTIONS.get(name, CALLS[name])


def is_taken(name: str) -> bool:
    """Whether the package, or tensors, have something of that name."""
    if name in OPS or name in FUNCTIONS or hasattr(Tensor, name):
        return True
    return hasattr(sys.modules[__package__.rpartition(".")[0]], name)


POLICIES = ("promote", "number", "float", "floating", "integer", "first")


def require_formulas(name: str, forward: Any, partials: Any, options: dict[str, Any]) -> None:
    """Refuse what is no declaration at all: see ``declare``."""
    if not callable(forward):
        raise ArgumentError(f"{name}: the formula is {forward!r}, expected a function of the operands. Hint: lambda x: x * x.")
    if not isinstance(partials, dict | None) or not all(map(callable, (partials or {}).values())):
        raise ArgumentError(
            f"{name}: the partial derivatives are {partials!r}, expected a function for each operand that has one. "
            'Hint: {"x": lambda x: 2 * x}.'
        )
    kinds = [(p.name, p.kind) for p in inspect.signature(forward).parameters.values()]
    if not kinds or any(kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for _, kind in kinds):
        raise ArgumentError(
            f"{name}: the formula's parameters are {inspect.signature(forward)}, expected the names of its operands. "
            "Hint: lambda x, y: x * y; with no * and no / between them."
        )
    if reserved := sorted({"g", "out"} & {operand for operand, _ in kinds}):
        raise ArgumentError(
            f"{name}: an operand is called {reserved[0]!r}, in derivatives the cotangent or the result. Hint: another name."
        )
    known = {p.name for made in (Elementwise, Op) for p in inspect.signature(made).parameters.values() if p.kind is p.KEYWORD_ONLY}
    if unknown := sorted({*options} - known):
        raise ArgumentError(f"{name}: there is no option {unknown[0]!r}. Hint: one of {', '.join(sorted(known))}.")
    if options.get("policy", "promote") not in POLICIES:
        raise ArgumentError(f"{name}: policy is {options['policy']!r}, expected one of {', '.join(POLICIES)}.")
    for option in ("exact", "boolean"):
        if strange := sorted({*(options.get(option) or ())} - {operand for operand, _ in kinds}):
            raise ArgumentError(f"{name}: {option} names {strange}, expected operands {[operand for operand, _ in kinds]}.")


def run_on_symbols(op: Elementwise, what: str, expression: Callable[[], Expr]) -> Expr:
    """A formula's expression; an error that says what formulas may do."""
    try:
        return expression()
    except Exception as error:  # of whatever the formula calls
        if isinstance(error, ArgumentError) and str(error).startswith("a formula"):
            raise
        raise ArgumentError(
            f"{op.name}: {what} cannot be run on symbols ({type(error).__name__}: {error}); expected arithmetic of its "
            "parameters and functions of nbgrad.scalar, with a number for result. "
            "Hint: scalar.exp(x) instead of math.exp(x), np.exp(x) or x.exp()."
        ) from error


MOST_DECLARED = 40  # operands: nodes keep them and the result, and a kernel of tangents takes two pointers for each


def check_declaration(op: Elementwise) -> None:
    """Run all formulas on symbols; refuse what could be computed neither by a kernel nor on tensors.

    Raises:
        ArgumentError: see ``declare``.
    """
    if len(op.operands) > MOST_DECLARED:
        raise ArgumentError(
            f"{op.name}: {len(op.operands)} operands, expected at most {MOST_DECLARED}. Hint: declare it in parts, "
            "of which one takes the others' results."
        )
    for operand, formula in op.partial_formulas.items():
        strange = {*inspect.signature(formula).parameters, operand} - {*op.operands, "out", "g"}
        if strange:
            raise ArgumentError(
                f"{op.name}: the partial derivative by {operand!r} mentions {sorted(strange)}; "
                f"expected operands {list(op.operands)}, out or g."
            )
    roots = [run_on_symbols(op, "the formula", op.expression)]
    for operand in op.partial_formulas:
        roots.append(run_on_symbols(op, f"the partial derivative by {operand!r}", partial(op.partial, operand)))
    for node in postorder(roots):
        if node.op == "constant" and not isinstance(node.args[0], (int, float, complex, np.number, np.bool_)):
            raise ArgumentError(
                f"{op.name}: a formula mentions, or gives, {node.args[0]!r}, expected numbers and its parameters. "
                "Hint: make it an operand."
            )
        if node.op not in ("symbol", "constant") and not (computable(node.op, "float32") and node.op in CALLS):
            raise ArgumentError(
                f"{op.name}: a formula applies {node.op!r}, which is no scalar function. Hint: write it "
                "with arithmetic and the functions that ops/elementwise/ uses."
            )
        if isinstance(known := OPS.get(node.op), Elementwise):
            least = sum(default is inspect.Parameter.empty for default in known.defaults)
            if not least <= len(node.args) <= len(known.operands):
                raise ArgumentError(
                    f"{op.name}: a formula applies {node.op} to {len(node.args)} operands. Hint: {node.op}{known.signature}."
                )


# ---- variants: see NOTE [Variants] ---------------------------------------------------------------------------------


def install_variants() -> None:
    """Function, method, in-place method and operator of every variant, over the operations' own."""
    for variant in VARIANTS:
        plain = variant.build(CALLS.__getitem__)
        plain.__doc__ = Docstring(variant.names[0], str(plain.__doc__), variant=True)
        plain.__qualname__ = plain.__name__  # as errors of Python's name it
        hide_more(plain)
        over = variant.build(inplace_of) if variant.inplace else None
        if over is not None:
            hide_more(over)
            over.__name__ = over.__qualname__ = variant.names[0] + "_"
            over.__doc__ = f"In place: {over.__doc__} See ``{variant.names[0]}``."
        for name in variant.names:
            if variant.method:
                setattr(Tensor, name, plain)
            if variant.function:
                FUNCTIONS[name] = variant_with_out(variant, plain) if variant.out else plain
            if over is not None:
                setattr(Tensor, name + "_", over)
        if variant.operator:
            setattr(Tensor, f"__{variant.operator}__", plain)
            if over is not None:
                setattr(Tensor, f"__i{variant.operator}__", over)


def hide_more(function: Callable) -> None:
    """Have a function that takes arguments which only old programs give show its signature without them."""
    if "more" in function.__code__.co_varnames:
        attach(function, __signature__=shown_signature(function))


def inplace_of(name: str) -> Callable:
    """The in-place form of an operation."""
    return CALLS[name + "_"]


def into(out, name: str) -> Callable:
    """The form of an operation that writes into ``out``."""

    def write(*xs):
        return write_result(OPS[name], xs, out)

    attach(write, writes=True)
    return write


def variant_with_out(variant: Variant, plain: Callable) -> Callable:
    """The function of a variant that also takes ``out=``; without options it is the operation that it usually is, at once."""

    def in_full(operands, named):
        out = named.pop("out", None)
        return (plain if out is None else variant.build(partial(into, out)))(*operands, **named)

    op: Any = OPS.get(variant.usual)
    function = direct(op, in_full, plain) if op is not None else lambda *operands, **named: in_full(operands, named)
    function.__name__ = function.__qualname__ = variant.names[0]
    function.__doc__ = plain.__doc__
    attach(function, __signature__=inspect.signature(plain))
    return function
