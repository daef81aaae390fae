"""Scans of numbers: where a trip is arithmetic of tensors without dimensions, the loop is one kernel that carries registers."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any, NamedTuple

from ...base.dtypes import float32, float64
from ...dispatch.formulas import Formula
from ...kernels.codegen import guard_functions, scalar_function
from ...kernels.cpu.build import Program, address
from ...kernels.templates.recurrence import recurrence_loop
from ...ops.expr import Expr, constant, evaluate, operation, symbol
from ..execution.schedule import staged
from ..ir.graph import Graph
from ..ir.ir import Value
from ..ir.steps import Launch, Place, Schedule
from .loop_steps import Step

__all__ = ["Recurrence", "recurrence", "recurrence_launch"]

MOST_CALLS = 120  # in a trip: LLVM takes longer and longer
MOST_POINTERS = 100


class Recurrence(NamedTuple):
    """A step as a function of numbers.

    Attributes:
        formula: of carries, slices, and numbers of whole tensors; gives carries and slices.
        dtype: of all of them.
        whole: which whole tensor each number is of, and how many bytes behind its first element.
    """

    formula: Formula
    dtype: str
    whole: tuple[tuple[int, int], ...]


def recurrence(step: Step) -> Recurrence | None:
    """What a step is as a function of numbers; None where it is more."""
    found: tuple[Recurrence | None] = step.body.derive(("recurrence", step.carries, step.slices), lambda: (recurrence_of(step),))
    return found[0]


def recurrence_of(step: Step) -> Recurrence | None:
    """See ``recurrence``."""
    block, n, m = step.body.block, step.carries, step.carries + step.slices
    moving = [*block.inputs[:m], *block.outputs]
    dtypes = {value.layout.dtype for value in moving if value.layout is not None}
    if not n or len(dtypes) != 1 or not dtypes <= {float32, float64} or any(value.layout.shape for value in moving):
        return None
    (dtype,), made = dtypes, Schedule([], {})
    calls, groups, after = staged(Graph(block.inputs, block.nodes, block.outputs), made)
    nodes = [node for node in block.nodes if node in after]
    if calls or len(nodes) > MOST_CALLS or any(group.space.shape or group.space.dtype is not dtype for group in groups):
        return None
    known: dict[Value, Expr] = {value: symbol(f"p{k}", False) for k, value in enumerate(block.inputs[:m])}
    whole: dict[tuple[int, int], Expr] = {}
    positions = {value: k for k, value in enumerate(block.inputs)}

    def operand(x: Any) -> Expr | None:
        if not isinstance(x, Value):
            return constant(x)
        place = made.window(x).place
        if place.value in known:
            return known[place.value] if not place.offset else None
        position = positions.get(place.value)
        if position is None or x.layout is None or x.layout.dtype is not dtype:
            return None
        return whole.setdefault((position, place.offset), symbol(f"p{m + len(whole)}", False))

    for node in nodes:
        op: Any = node.op
        values = {name: operand(x) for name, x in zip(op.operands, node.ins)}
        if any(x is None for x in values.values()):
            return None
        (expression,) = evaluate((op.expression(),), values, lambda name, xs: operation(name, *xs))
        known[node.outs[0]] = expression if isinstance(expression, Expr) else constant(expression)
    results = [operand(value) for value in block.outputs]
    if any(x is None or x.boolean for x in results):
        return None
    params = tuple([(f"p{k}", False) for k in range(m + len(whole))])
    return Recurrence(Formula("recurrence", params, tuple(results)), dtype.name, tuple(whole))  # type: ignore[arg-type]


@cache
def kernel_of(formula: Formula, dtype: str, carries: int, slices: int, history: bool) -> int:
    """The address of the kernel of a loop."""
    function = scalar_function(formula.name, formula.params, formula.results, dtype)
    guards = guard_functions(formula.name, formula.params, formula.results, dtype)
    counts = carries, slices, len(formula.params) - carries - slices, len(formula.results) - carries
    loop = recurrence_loop(dtype, *counts, history, next(iter(guards), ""))
    return address(Program(formula.name, loop, dtype, tuple({"scalar": function, **guards}.items())))


def recurrence_launch(
    step: Step, count: int, reverse: bool, operands: list[Place], writes: tuple[Value, ...], history: bool
) -> Launch | None:
    """The launch that a scan is; None where its step is more than a function of numbers.

    Args:
        operands: where the operands are.
        writes: last carries, slices, and with ``history`` the carries that trips took.
    """
    found = recurrence(step)
    if found is None:
        return None
    m = step.carries + step.slices
    reads = [*operands[:m], *(Place(operands[k].value, operands[k].offset + start) for k, start in found.whole)]
    if len(reads) + len(writes) > MOST_POINTERS:
        return None
    kernel = kernel_of(found.formula, found.dtype, step.carries, step.slices, history)
    return Launch(kernel, 1, writes, tuple(reads), struct.pack("2q", count, int(reverse)))
