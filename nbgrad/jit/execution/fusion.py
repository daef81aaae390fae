"""Elementwise calls that share one loop.

NOTE [Stages]: a call of a graph belongs to the first stage in which what it reads is in memory. Calls of one stage do not need one
another, except for elementwise ones of one shape, which join a loop: there a value is at hand as soon as it is computed. The loops
are those of operations (dispatch/plans.py): a loop for several calls is the loop of one formula with several results, whose kernel
is compiled, and kept, like any other. Every operation rounds as it does alone: in a loop of half types, which computes in float32,
each result is rounded to the half type, and on the CPU the numbers that a call rounds first (``exact`` of ops/core.py).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping, NamedTuple

from ...base.dtypes import DType, bfloat16, bool_, float16, float32, float64
from ...base.errors import NbgradError
from ...dispatch.formulas import Formula
from ...dispatch.operands import dtype_of_kinds
from ...dispatch.plans import elementwise_plan
from ...native.plans import Plan
from ...ops.core import Elementwise
from ...ops.expr import Expr, constant, evaluate, operation, symbol
from ...tensors.layout import Layout
from ...tensors.storage import CPU, Device
from ..ir.devices import is_gpu
from ..ir.ir import Node, Value

__all__ = ["Group", "Space", "formula_of", "is_half", "plan_of_group", "space_of"]

MOST_CALLS = 64  # in a loop: LLVM takes longer and longer, and registers are few
MOST_POINTERS = 40
NUMBERS = frozenset((int, float, bool))


class Space(NamedTuple):
    """What calls of one loop have in common: the layout of their results, the dtype of computation, and the device."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: Device = CPU


def space_of(node: Node) -> Space | None:
    """The space of an elementwise call; None of a call that joins no loop."""
    op = node.op
    if not isinstance(op, Elementwise) or op.integer_divisor or len(node.outs) != 1:
        return None
    out, kinds = node.outs[0].layout, list[Any]()
    for x in node.ins:
        kind = x.layout if isinstance(x, Value) else type(x)
        if type(kind) is Layout:
            if out is None or kind.special or kind.device is not out.device:
                return None
        elif kind not in NUMBERS:
            return None
        kinds.append(kind)
    if out is None or NUMBERS.issuperset(kinds):
        return None
    try:
        dtype = dtype_of_kinds(op, tuple(kinds))
    except NbgradError:
        return None
    if dtype not in (float32, float64, float16, bfloat16) or out.dtype is not (bool_ if op.predicate else dtype) or not out.dense:
        return None
    for name, x in zip(op.operands, kinds):
        if type(x) is Layout and x.dtype is not (bool_ if name in op.boolean else dtype):
            return None
    return Space(out.shape, out.strides, dtype, out.device)


def is_half(dtype: DType) -> bool:
    """Whether loops of a dtype compute in another one."""
    return dtype is float16 or dtype is bfloat16


class Group:
    """Calls that share a loop.

    Attributes:
        space: of all of them.
        stage: in which the loop runs.
        nodes: in the order of the graph.
        read: values from outside; their number is bounded.
        numbers: values inside that are one number a row (rows.py).
        folds: what folds rows, with how.
    """

    __slots__ = ("space", "stage", "nodes", "inside", "read", "numbers", "folds")

    def __init__(self, space: Space, stage: int):
        self.space, self.stage = space, stage
        self.nodes: list[Node] = []
        self.inside: set[Value] = set()
        self.read: set[Any] = set()
        self.numbers: set[Value] = set()
        self.folds: dict[Node, Any] = {}

    def takes(self, node: Node) -> bool:
        """Whether there is room for another call."""
        more = {x for x in node.ins if x not in self.inside}
        return len(self.nodes) < MOST_CALLS and len(self.read | more) + len(self.nodes) < MOST_POINTERS + len(self.nodes) // 2

    def add(self, node: Node) -> None:
        """Add a call."""
        self.nodes.append(node)
        self.read.update(x for x in node.ins if x not in self.inside)
        self.inside.update(node.outs)


NONE: Mapping[Value, Value] = MappingProxyType({})


def formula_of(
    nodes: list[Node], stored: list[Value], viewed: Mapping[Value, Value] = NONE, space: Space | None = None
) -> tuple[Formula, list[Any]]:
    """What calls compute together, and the values and numbers that they read.

    Args:
        stored: the results.
        viewed: operands that are views, with what they show; that is read.
        space: of the calls, where it may be one of half types.
    """
    params: list[tuple[str, bool]] = []
    reads: dict[Any, Expr] = {}
    known: dict[Value, Expr] = {}
    half = space.dtype if space is not None and is_half(space.dtype) else None
    rounds_numbers = half is not None and space is not None and not is_gpu(space.device)

    def rounded(x: Expr) -> Expr:
        return x if half is None or x.boolean else operation(f"nearest_{half.name}", x)

    def operand(x: Any, boolean: bool) -> Expr:
        x = viewed.get(x, x) if isinstance(x, Value) else x
        if isinstance(x, Value) and x in known:
            return known[x]
        key = x if isinstance(x, Value) else (type(x), repr(x), x)
        if key not in reads:
            params.append((f"p{len(params)}", boolean))
            reads[key] = symbol(*params[-1])
        return reads[key]

    for node in nodes:
        op: Any = node.op
        values = {name: operand(x, name in op.boolean) for name, x in zip(op.operands, node.ins)}
        if rounds_numbers:
            first = [name for name, x in zip(op.operands, node.ins) if not isinstance(x, Value) and name not in op.exact]
            values.update({name: rounded(values[name]) for name in first})
        (made,) = evaluate((op.expression(),), values, lambda name, xs: operation(name, *xs))
        known[node.outs[0]] = rounded(made if isinstance(made, Expr) else constant(made))
    operands = [x if isinstance(x, Value) else x[2] for x in reads]
    return Formula("fused", tuple(params), tuple([known[value] for value in stored])), operands


def plan_of_group(group: Group, stored: list[Value]) -> tuple[Plan, list[Any]]:
    """The launch of a loop, and the values and numbers that it reads.

    Args:
        stored: what is read outside of it.
    """
    formula, operands = formula_of(group.nodes, stored, space=group.space)
    layouts = tuple([x.layout if isinstance(x, Value) else None for x in operands])
    outs: Any = tuple([value.layout for value in stored])
    return elementwise_plan(formula, group.space.dtype, layouts, outs), operands
