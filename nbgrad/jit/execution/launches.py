"""The launch that a call of a graph is: that of its operation's own plan."""

from __future__ import annotations

import struct
from typing import Any

from ...base.errors import NbgradError
from ...dispatch.arguments import hashable
from ...dispatch.elementwise_plans import PLANS, make_plan, plan_key
from ...dispatch.lowerings import GeneralPlan, lowering_of
from ...dispatch.planned import PLANNED, known_plan, planned
from ...native.plans import PARALLEL, LateRecord, Plan, behind, is_on_device, known
from ...ops.core import Elementwise, General
from ...tensors.layout import Layout
from ..ir.devices import number_to_gpu, on_gpu
from ..ir.ir import Node, Value, values_in
from ..ir.steps import DeviceLaunch, Launch, Schedule, number
from ..nodes.draws import DRAW, plan_of_draw
from ..nodes.updates import UPDATE, plan_of_update

__all__ = ["launch", "launch_of", "plan_of"]


def launch_of(node: Node, made: Schedule) -> Launch | DeviceLaunch | None:
    """The launch that the operation's own plan is; None where a call takes something else than one launch."""
    if node.op is UPDATE:
        return launch_of_update(node, made)
    if node.op is DRAW:
        return launch(*plan_of_draw(node), node.outs, [node], made)
    if node.op.name == "to_device":
        plan = number_to_gpu(node.ins[0], node.outs[0])
        return None if plan is None else DeviceLaunch(plan, tuple(node.outs), (made.window(node.ins[0]).place,), (node,))
    if any(type(x) in (tuple, list) for x in node.ins) or next(values_in(tuple(node.attributes.values())), None):
        return None
    plan = plan_of(node)
    if plan is None or any(out.layout is not value.layout for out, value in zip(plan.outs, node.outs)):
        return None
    return launch(plan, list(node.ins), node.outs, [node], made)


def launch_of_update(node: Node, made: Schedule) -> Launch | DeviceLaunch | None:
    """The launch of an optimizer's update, into new memory; None where that would have gaps."""
    plan = plan_of_update(node, False)
    if any(not out.layout.dense for out in plan.outs):
        return None
    return launch(plan, [*node.ins, *node.attributes["numbers"]], node.outs, [node], made)


def launch(plan: Plan, operands: list[Any], outs: list[Value], nodes: list[Node], made: Schedule) -> Launch | DeviceLaunch:
    """The launch of a plan: see NOTE [Plan record] in native/plans.py."""
    record = known(plan.record)
    words = struct.unpack_from(f"{len(record) // 8}q", record)
    if is_on_device(record):
        codes = words[8 : 8 + words[4]]
        there = [made.window(x).place if isinstance(x, Value) else number(x, code) for x, code in zip(operands, codes)]
        return DeviceLaunch(plan, tuple(outs), tuple(there), tuple(nodes))
    address, units, grain, _, count, flags, shared_from = words[:7]
    if type(record) is LateRecord:
        address, flags, shared_from = record.lacks
    if units < 0:
        units = plan.outs[0].layout.numel
        flags |= units >= shared_from
    codes = words[8 : 8 + count]
    reads = [made.window(x).place if isinstance(x, Value) else number(x, code) for x, code in zip(operands, codes)]
    parameters = behind(record, 8 * (8 + count))
    return Launch(address, units, tuple(outs), tuple(reads), parameters, grain, bool(flags & PARALLEL), tuple(nodes))


def plan_of(node: Node) -> Plan | None:
    """The operation's own plan."""
    op: Any = node.op
    kinds = tuple([x.layout if isinstance(x, Value) else type(x) for x in node.ins])
    layouts = [x for x in kinds if type(x) is Layout]
    if any(x.special for x in layouts):
        return None
    there = any(map(on_gpu, layouts))
    try:
        if isinstance(op, Elementwise):
            lazy = not there and any(x.dtype.is_complex for x in layouts) or any(x is complex for x in kinds)
            if op.integer_divisor or lazy:
                return None
            return PLANS[op.name][plan_key(kinds)] if op.name in PLANS else make_plan(op, kinds)
        found = lowering_of(op) if isinstance(op, General) else None
        if found is None or found[0] != "plan" or op.variadic:
            return None
        attributes = {name: hashable(x) for name, x in node.attributes.items()}
        if there:
            return planned(PLANNED[op.name], kinds, attributes) if op.name in PLANNED else None
        plan = known_plan(op, kinds, attributes) or found[1](op, kinds, attributes)
        return plan if isinstance(plan, GeneralPlan) else None
    except (NbgradError, OverflowError, struct.error):
        return None
