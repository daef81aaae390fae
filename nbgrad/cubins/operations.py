"""The table of operations as scalar functions and operands: what ``table.py`` puts into templates.

Nothing about an operation is stated a second time. Forward formulas, the fused cotangents and tangents of every subset of
operands, and the updates of optimizers become scalar functions by the ``codegen`` that serves the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from inspect import Parameter, signature
from typing import NamedTuple

import numpy as np

from ..base.dtypes import dtype_of
from ..base.errors import KernelError
from ..dispatch.device_formulas import Operation, bound
from ..dispatch.elementwise_plans import forward_formula
from ..dispatch.elementwise_rules import rule_of
from ..dispatch.formulas import Formula
from ..dispatch.updates import formula_of
from ..forward.rules import jvp_formula
from ..kernels.codegen import is_integer, texts_of
from ..kernels.cuda.simt import instantiate_scalar
from ..kernels.cuda.templates import array, number
from ..kernels.prims import PRIMS
from ..kernels.texts import ready
from ..ops.core import OPS, Elementwise
from ..ops.expr import ZERO, Expr, evaluate, operation as expression_of, symbol
from ..optim import rules as updates

__all__ = [
    "COMPLEXES",
    "FLOATS",
    "INTEGERS",
    "Operation",
    "Skipped",
    "backwards",
    "elementwise_ops",
    "forward",
    "forwards",
    "inplace",
    "named",
    "operation",
    "operations",
    "skipped",
    "tangents",
    "update",
    "update_rules",
    "with_number",
]

FLOATS = ("float32", "float64", "float16", "bfloat16")  # halves compute in float32
COMPLEXES = ("complex64", "complex128")
INTEGERS = ("int32", "int64", "uint8")  # uint8 serves bool too, whose bytes are the numbers 0 and 1
TAKES_INTEGERS = ("promote", "integer", "first")  # of Elementwise.policy; the others convert integers first


class Skipped(NamedTuple):
    """What the release has no kernel for, and why."""

    label: str
    reason: str


def operations() -> Iterator[Operation]:
    """Every elementwise operation forward, in place, backward and in forward mode, and every optimizer's update, at all
    their dtypes.
    """
    for op in elementwise_ops():
        for dtype in dtypes_of(op):
            if not reason_against(op, dtype):
                yield from forwards(op, dtype)
                if dtype not in INTEGERS:
                    yield from backwards(op, dtype)
                    yield from tangents(op, dtype)
    for dtype in FLOATS:
        yield from (update(rule, dtype) for rule in update_rules())


def skipped() -> Iterator[Skipped]:
    """The operations of the table without a kernel."""
    for op in elementwise_ops():
        reasons = ((dtype, reason_against(op, dtype)) for dtype in dtypes_of(op))
        yield from (Skipped(f"{op.name} {dtype}", reason) for dtype, reason in reasons if reason)


def elementwise_ops() -> Iterator[Elementwise]:
    """The elementwise operations of the table."""
    return (op for op in OPS.values() if isinstance(op, Elementwise))


def dtypes_of(op: Elementwise) -> Iterable[str]:
    """The dtypes in memory that ``op`` computes on without converting its operands first."""
    floats = () if op.policy == "integer" else (*FLOATS, *COMPLEXES) if op.complex else FLOATS
    return (*floats, *INTEGERS) if op.policy in TAKES_INTEGERS else floats


def reason_against(op: Elementwise, dtype: str) -> str | None:
    """Why there is no kernel of ``op`` at ``dtype``; None if there is one."""
    made = forward(op, dtype)
    if is_integer(made.dtype) and is_constant_of_integers(op.expression()):
        return "of integers it is a constant: a fill"
    unknown = set(ready(made.scalar).__code__.co_names) - set(made.scalar.__globals__) - set(PRIMS) - {"complex"}
    return f"there is no scalar function {', '.join(sorted(unknown))}" if unknown else None


def is_constant_of_integers(found: Expr) -> bool:
    """Whether it asks what no integer is: for NaN or an infinity, also with more to ask (``isposinf``)."""
    return texts_of(found.op).get("integer", "") in ("True", "False") or (
        found.op == "bitwise_and" and any(texts_of(arg.op).get("integer") == "False" for arg in found.args)
    )


# ---- the forms of an operation -------------------------------------------------------------------------------------


def forwards(op: Elementwise, dtype: str) -> Iterator[Operation]:
    """Out of place, with a number as last operand, and in place."""
    yield forward(op, dtype)
    if len(arrays_of(op)) > 1:
        yield with_number(op, dtype)
    if op.inplace and not changes_nothing(made := inplace(op, dtype)):
        yield made


@cache
def forward(op: Elementwise, dtype: str) -> Operation:
    """``out = op(x, ...)``; operands that have no derivative beside others that have (alpha, beta) are numbers."""
    return operation(op.name, forward_formula(op), dtype, numbers_of(op))


def with_number(op: Elementwise, dtype: str) -> Operation:
    """``forward`` with a Python number as its last tensor operand: ``x * 2.0``."""
    last = arrays_of(op)[-1]
    return operation(f"{op.name}_number", forward_formula(op), dtype, {*numbers_of(op), last})


def inplace(op: Elementwise, dtype: str) -> Operation:
    """``x = op(x, ...)``. What never reads x (a fill) is an ordinary kernel whose result lies where x is."""
    return operation(f"{op.name}_", forward_formula(op), dtype, numbers_of(op), 1)


def changes_nothing(operation: Operation) -> bool:
    """Whether every number is its own result (floor of integers, abs of unsigned ones): in place that is no kernel."""
    if len(operation.inputs) != 1 or not operation.into:
        return False
    function = instantiate_scalar(operation.scalar, operation.dtype)
    kind = dtype_of(operation.dtype).numpy.type
    samples: tuple = (0, 1, 2, 100) if operation.dtype == "uint8" else (0, 1, 2, 100, -1, -3.5, 2.5)
    samples += (1 - 2j,) if operation.dtype in COMPLEXES else ()
    with np.errstate(all="ignore"):
        return all(function(kind(x)) == kind(x) for x in samples)


def backwards(op: Elementwise, dtype: str) -> Iterator[Operation]:
    """The fused cotangents of every subset of differentiable operands; subsets that need the same kernel share it."""
    for name, formula in cotangent_formulas(op, dtype in COMPLEXES).items():
        yield operation(name, formula, dtype, numbers_of(op))


def tangents(op: Elementwise, dtype: str) -> Iterator[Operation]:
    """The fused tangents of the result for every subset of differentiable operands that have one.

    What is a cotangent's formula with a tangent for ``g`` (all that depends on one operand of real numbers) has a kernel.
    """
    known = {anonymous(formula) for formula in cotangent_formulas(op, dtype in COMPLEXES).values()}
    for names in subsets(op):
        _, formula = jvp_formula(op, names)
        (result,) = formula.results
        if result is not ZERO and result.op != "symbol" and anonymous(formula) not in known:
            yield operation("_".join([formula.name, *names]), formula, dtype, numbers_of(op))


@cache
def cotangent_formulas(op: Elementwise, is_complex: bool) -> dict[str, Formula]:
    """The formulas behind ``backwards`` by name: ``mul_backward_x_y`` has the operands whose cotangents it computes."""
    found: dict[Formula, str] = {}
    for names in subsets(op):
        mask = sum(1 << op.operands.index(name) for name in names)
        rule = rule_of(op, mask, (False,) * len(op.operands), is_complex)
        computed = [name for name, result in zip(names, rule.results) if any(result is r for r in rule.computed)]
        if computed:
            found.setdefault(rule.formula, "_".join([op.name, "backward", *computed]))
    return {name: formula for formula, name in found.items()}


def subsets(op: Elementwise) -> Iterator[tuple[str, ...]]:
    """Every subset of the operands that have a derivative, but the empty one."""
    names = () if op.refuses_gradient else [n for n, able in zip(op.operands, op.differentiable) if able]
    for mask in range(1, 1 << len(names)):
        yield tuple(name for k, name in enumerate(names) if mask >> k & 1)


def anonymous(formula: Formula) -> tuple:
    """The formula's results with its parameters called by their positions."""
    values = {name: symbol(f"x{k}", boolean) for k, (name, boolean) in enumerate(formula.params)}
    return tuple(evaluate(formula.results, values, lambda name, operands: expression_of(name, *operands)))


def update_rules() -> Iterator[Callable]:
    """The optimizers' update rules (NOTE [Update rule])."""
    return (getattr(updates, name) for name in updates.__all__ if name != "Rule")


@cache
def update(rule: Callable, dtype: str) -> Operation:
    """One step of an optimizer, written over the parameter and its state."""
    parameters = list(signature(rule).parameters.values())[1:]
    tensors = [p for p in parameters if p.kind is not Parameter.KEYWORD_ONLY]
    scalars = tuple(p.name for p in parameters[len(tensors) :])
    outputs = len(tensors) - 1  # the gradient, last, is only read
    return operation(rule.__name__, formula_of(rule, outputs, 1, scalars), dtype, scalars, outputs)


def numbers_of(op: Elementwise) -> frozenset[str]:
    """Operands that are numbers: those without a derivative, of an operation that has one."""
    if not any(op.differentiable):
        return frozenset()
    return frozenset(
        name for name, differentiable in zip(op.operands, op.differentiable) if not differentiable and name not in op.boolean
    )


def arrays_of(op: Elementwise) -> list[str]:
    """Operands that are tensors of numbers."""
    return [name for name in op.operands if name not in op.boolean and name not in numbers_of(op)]


def operation(name: str, formula: Formula, dtype: str, numbers: Iterable[str] = (), overwritten: int = 0) -> Operation:
    """A formula at a dtype.

    Args:
        name: of the scalar function, and so part of the kernel's symbol.
        dtype: of the operands and results in memory, where they are not truth values.
        numbers: operands that are one number for all elements.
        overwritten: so many results are written over the first operands, in those operands' dtype.

    An operand that the generated source does not read is no parameter of the kernel.
    """
    operands = tuple(number(dtype) if n in numbers else array("bool" if boolean else dtype) for n, boolean in formula.params)
    outputs = tuple("bool" if predicate and not overwritten else dtype for predicate in formula.predicates)
    return bound(name, formula, dtype, operands, outputs, overwritten).operation


def named(name: str, dtype: str) -> Operation:
    """The operation whose scalar function is called ``name``: mul, mul_number, mul_, mul_backward_x_y, mul_jvp_x_y, adam.

    Raises:
        KernelError: there is none at that dtype.
    """
    for rule in update_rules():
        if rule.__name__ == name:
            return update(rule, dtype)
    for op in elementwise_ops():
        if name.startswith(op.name) and dtype in dtypes_of(op):
            for made in (*forwards(op, dtype), *backwards(op, dtype), *tangents(op, dtype)):
                if made.scalar.__name__ == name:
                    return made
    raise KernelError(f"cuda: no operation {name} in {dtype}. Hint: python -m nbgrad.cubins --list names all.")
