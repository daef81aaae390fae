"""Operations that a program declares: ``nbgrad.declare``, and what it refuses."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from keyword import iskeyword
from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.errors import ArgumentError
from ..base.function_attributes import place
from ..kernels.codegen import computable
from ..ops.core import OPS, Elementwise, Op, elementwise
from ..ops.expr import Expr, postorder
from ..tensors.tensor import Tensor
from .functions import FUNCTIONS
from .install import install_elementwise

__all__ = ["declare"]


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
