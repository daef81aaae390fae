"""The table of operations as scalar functions and operands: what ``table.py`` puts into templates.

Nothing about an operation is said here a second time. Its forward formula, the fused backward formula of every subset
of its operands, and an optimizer's update become scalar functions by the same ``codegen`` as on the CPU.

The only file under ``kernels`` that looks up at the layers above: it lists a release, and no program needs it.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from inspect import Parameter, signature
from typing import NamedTuple

import numpy as np

from ...dispatch import forward_formula, rule_of
from ...dtypes import dtype_of
from ...errors import KernelError
from ...fused import formula_of
from ...lowering.elementwise import Formula
from ...ops.core import OPS, Elementwise
from ...ops.expr import postorder
from ...optim import rules as updates
from ..codegen import KNOWN_FOR_INTEGERS, is_integer, scalar_function
from ..instantiate import instantiate
from ..prims import PRIMS, numpy_prims
from ..scalars import BY_DTYPE
from .access import Function
from .templates import Operand, array, value

__all__ = ["FLOATS", "INTEGERS", "Operation", "Skipped", "backwards", "elementwise_ops", "forward", "forwards",
           "inplace", "named", "operation", "operations", "skipped", "update", "with_number"]

FLOATS = ("float32", "float64", "float16", "bfloat16")  # halves compute in float32
INTEGERS = ("int32", "int64", "uint8")  # uint8 serves bool too, whose bytes are the numbers 0 and 1
TAKES_INTEGERS = ("promote", "integer", "first")  # of Elementwise.policy; the others convert integers first
DIVIDES = frozenset(("floor_divide", "trunc_divide", "remainder", "fmod"))


class Operation(NamedTuple):
    """A scalar function and what it is applied to.

    Attributes:
        scalar: before ``instantiate``; see ``codegen.scalar_function``.
        inputs: its operands, in its order.
        outputs: dtypes of its results.
        dtype: in which it computes.
        into: the inputs that the first results overwrite.
        divides: whether it divides integers.
    """

    scalar: Function
    inputs: tuple[Operand, ...]
    outputs: tuple[str, ...]
    dtype: str
    into: tuple[int, ...] = ()
    divides: bool = False


class Skipped(NamedTuple):
    """What the release has no kernel for, and why."""

    label: str
    reason: str


def operations() -> Iterator[Operation]:
    """Every elementwise operation forward, in place and backward, and every optimizer's update, at all their dtypes."""
    for op in elementwise_ops():
        for dtype in dtypes_of(op):
            if not reason_against(op, dtype):
                yield from forwards(op, dtype)
                if dtype in FLOATS:
                    yield from backwards(op, dtype)
    for dtype in FLOATS:
        yield from (update(rule, dtype) for rule in update_rules())


def skipped() -> Iterator[Skipped]:
    """The operations of the table without a kernel."""
    for op in elementwise_ops():
        reasons = ((dtype, reason_against(op, dtype)) for dtype in dtypes_of(op))
        yield from (Skipped(f"{op.name} {dtype}", reason) for dtype, reason in reasons if reason)
        if op.complex:
            yield Skipped(f"{op.name} complex", "complex formulas have no scalar functions for CUDA; conversions and "
                          "accumulation have kernels")


def elementwise_ops() -> Iterator[Elementwise]:
    """The elementwise operations of the table."""
    return (op for op in OPS.values() if isinstance(op, Elementwise))


def dtypes_of(op: Elementwise) -> Iterable[str]:
    """The dtypes in memory that ``op`` computes on without converting its operands first."""
    floats = () if op.policy == "integer" else FLOATS
    return (*floats, *INTEGERS) if op.policy in TAKES_INTEGERS else floats


def reason_against(op: Elementwise, dtype: str) -> str | None:
    """Why there is no kernel of ``op`` at ``dtype``; None if there is one."""
    made = forward(op, dtype)
    if is_integer(made.dtype) and any(node.op in KNOWN_FOR_INTEGERS for node in postorder([op.expression()])):
        return "of integers it is a constant: a fill"
    unknown = set(made.scalar.__code__.co_names) - set(made.scalar.__globals__) - set(PRIMS)
    return f"there is no scalar function {', '.join(sorted(unknown))}" if unknown else None


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
    function = instantiate_scalar(operation)
    kind = dtype_of(operation.dtype).numpy.type
    samples = (0, 1, 2, 100) if operation.dtype == "uint8" else (0, 1, 2, 100, -1, -3.5, 2.5)
    with np.errstate(all="ignore"):
        return all(function(kind(x)) == kind(x) for x in samples)


def instantiate_scalar(operation: Operation) -> Function:
    """The scalar function on NumPy's scalars."""
    narrow = None if is_integer(operation.dtype) else operation.dtype
    return instantiate(operation.scalar, numpy_prims(operation.dtype), BY_DTYPE.get(operation.dtype), narrow)


def backwards(op: Elementwise, dtype: str) -> Iterator[Operation]:
    """The fused cotangents of every subset of differentiable operands; subsets that need the same kernel share it."""
    if op.refuses_gradient:
        return
    seen = set()
    for mask in range(1, 1 << len(op.operands)):
        if all(differentiable or not mask >> k & 1 for k, differentiable in enumerate(op.differentiable)):
            rule = rule_of(op, mask, (False,) * len(op.operands), False)
            if rule.computed and rule.formula not in seen:
                seen.add(rule.formula)
                yield operation(backward_name(rule), rule.formula, dtype, numbers_of(op))


def backward_name(rule) -> str:
    """``mul_backward_x_y``: the operands whose cotangents a kernel computes."""
    computed = [rule.op.operands[k] for k, result in zip(rule.wanted, rule.results)
                if any(result is r for r in rule.computed)]
    return "_".join([rule.op.name, "backward", *computed])


def update_rules() -> Iterator[Callable]:
    """The optimizers' update rules (NOTE [Update rule])."""
    return (getattr(updates, name) for name in updates.__all__ if name != "Rule")


@cache
def update(rule: Callable, dtype: str) -> Operation:
    """One step of an optimizer, written over the parameter and its state."""
    parameters = list(signature(rule).parameters.values())[1:]
    tensors = [p for p in parameters if p.kind is not Parameter.KEYWORD_ONLY]
    scalars = tuple(p.name for p in parameters[len(tensors):])
    outputs = len(tensors) - 1  # the gradient, last, is only read
    return operation(rule.__name__, formula_of(rule, outputs, 1, scalars), dtype, scalars, outputs)


def numbers_of(op: Elementwise) -> frozenset[str]:
    """Operands passed by value: those without a derivative, of an operation that has one."""
    if not any(op.differentiable):
        return frozenset()
    return frozenset(name for name, differentiable in zip(op.operands, op.differentiable)
                     if not differentiable and name not in op.boolean)


def arrays_of(op: Elementwise) -> list[str]:
    """Operands that are tensors of numbers."""
    return [name for name in op.operands if name not in op.boolean and name not in numbers_of(op)]


def operation(name: str, formula: Formula, dtype: str, numbers: Iterable[str] = (), overwritten: int = 0) -> Operation:
    """A formula at a dtype.

    Args:
        name: of the scalar function, and so part of the kernel's symbol.
        dtype: of the operands and results in memory, where they are not truth values.
        numbers: operands passed by value.
        overwritten: so many results are written over the first operands, in those operands' dtype.

    An operand that the generated source does not read is no parameter of the kernel.
    """
    compute = dtype_of(dtype).compute
    body = scalar_function(name, formula.params, formula.results, compute).source.partition(":")[2]
    read = set(re.findall(r"\w+", body))
    params = [param for param in formula.params if param[0] in read]
    scalar = scalar_function(name, params, formula.results, compute)
    scalar.__name__ = name
    inputs = tuple(value(dtype) if name in numbers else array("bool" if boolean else dtype) for name, boolean in params)
    outputs = tuple("bool" if predicate and not overwritten else dtype for predicate in formula.predicates)
    names = [param for param, _ in params]
    into = tuple(names.index(param) for param, _ in formula.params[:overwritten] if param in read)
    divides = is_integer(compute) and any(node.op in DIVIDES for node in postorder(formula.results))
    return Operation(scalar, inputs, outputs, compute, into, divides)


def named(name: str, dtype: str) -> Operation:
    """The operation whose scalar function is called ``name``: mul, mul_number, mul_, mul_backward_x_y, adam.

    Raises:
        KernelError: there is none at that dtype.
    """
    for rule in update_rules():
        if rule.__name__ == name:
            return update(rule, dtype)
    for op in elementwise_ops():
        if name.startswith(op.name) and dtype in dtypes_of(op):
            for made in (*forwards(op, dtype), *backwards(op, dtype)):
                if made.scalar.__name__ == name:
                    return made
    raise KernelError(f"cuda: no operation {name} in {dtype}. "
                      "Hint: python -m nbgrad.kernels.cuda.cubins --list names all.")
