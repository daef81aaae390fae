"""Usual calls, which a capture writes down without asking anybody: NOTE [Fast path] of modes/interpreters.py for captures.

Where a capture is the only mode and the operands bear its mark or none, an elementwise call or a planned one is: its plan, memory
for the results, a node if a gradient is needed, and a node of the graph. All else goes the way of ``run_call`` (call_nodes.py),
which does the same by asking the operation (benchmarks/test_graph_costs.py).
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from ...base.grad_mode import mode, special, traces
from ...dispatch.arguments import settled_attributes
from ...dispatch.elementwise_plans import PLANS, plan_key
from ...dispatch.operands import gradient_mask
from ...dispatch.planned import PLANNED, planned
from ...dispatch.rules import record_result
from ...graph.edges import next_seq
from ...modes.interpreters import FastPath, fast_paths
from ...modes.traced import TRACED
from ...ops.core import Elementwise, General
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from .call_nodes import holds_numbers
from .capture import Trace

__all__: list[str] = []

NUMBERS = frozenset((float, int, bool))


def layout_beneath(x: Any) -> Layout | None:
    """The layout of a tensor that nothing but a capture has marked; None of all else."""
    if not isinstance(x, Tensor):
        return None
    layout = x.layout
    if layout.special:
        if layout.special is not TRACED or layout.unmarked().special:
            return None
        layout = layout.unmarked()
    return None if layout.dtype.is_complex else layout


def fast_call(op: Any, operands: tuple, attributes: dict[str, Any] | None) -> Any:
    """The result of a usual call, which is written down; None of all else."""
    active = traces[:]
    if len(active) != 1 or special != active:
        return None
    trace: Trace = active[0]
    if trace.depth or not trace.late or trace.thread != get_ident():
        return None
    if isinstance(op, Elementwise):
        return elementwise(trace, op, operands)
    return general(trace, op, operands, attributes) if isinstance(op, General) and attributes is not None else None


def elementwise(trace: Trace, op: Elementwise, operands: tuple) -> Tensor | None:
    """An elementwise call."""
    if op.policy == "first" or op.integer_divisor:
        return None
    kinds = tuple([type(x) if type(x) in NUMBERS else layout_beneath(x) for x in operands])
    if None in kinds:
        return None
    plan = PLANS[op.name][plan_key(kinds)]
    value = trace.variables.value
    ins, seq = tuple([x if type(x) in NUMBERS else value(x) for x in operands]), next_seq()
    out: Tensor = trace.pending.fresh(plan, operands)
    if mode.enabled:
        mask = gradient_mask(op, operands)
        if mask:
            plan.records[mask](plan, out, *operands)
    trace.add(op, ins, {}, (out,))
    trace.follow((out,), seq)
    return out


def general(trace: Trace, op: General, operands: tuple, attributes: dict[str, Any]) -> Any:
    """A call of an operation that is one launch."""
    call = PLANNED.get(op.name)
    if call is None or op.draws or op.sized_by_values or settled_attributes(op, attributes) is not attributes:
        return None
    layouts = tuple(map(layout_beneath, operands))
    if None in layouts or holds_numbers(attributes.values()):
        return None
    plan = planned(call, layouts, attributes)
    if plan is None:
        return None
    ins, seq = tuple(map(trace.variables.value, operands)), next_seq()
    out = trace.pending.fresh(plan, operands)
    outs = out if type(out) is tuple else (out,)
    if mode.enabled:
        record_result(op, plan, operands, out)
    trace.add(op, ins, attributes, outs)
    trace.follow(outs, seq)
    return out


fast_paths[Trace] = FastPath(call=fast_call)
