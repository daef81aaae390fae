"""Updates of many tensors on a GPU in few launches: those of a program that have one rule and the same numbers."""

from __future__ import annotations

import struct
from typing import Any

from ...dispatch.updates import together_plan
from ...native.plans import known
from ..ir.ir import Value
from ..ir.qualified_names import function_named
from ..ir.steps import DeviceLaunch, Schedule, Step, number
from ..nodes.updates import UPDATE, kinds_of_update
from .memory import reads_of

__all__ = ["join_updates"]


def join_updates(schedule: Schedule) -> None:
    """Have updates in place, which no step reads, done together where the last of them is done: as ``fused_updates`` does."""
    groups: dict[Any, list[int]] = {}
    for at, step in enumerate(schedule.steps):
        if (
            isinstance(step, DeviceLaunch)
            and step.nodes
            and step.nodes[0].op is UPDATE
            and step.writes != tuple(step.nodes[0].outs)
        ):
            (node,) = step.nodes
            attributes = node.attributes
            numbers = attributes["names"], attributes["numbers"]
            key = attributes["rule"], attributes["outputs"], len(node.ins), numbers, kinds_of_update(node)
            groups.setdefault(key, []).append(at)
    steps: list[Step | None] = [*schedule.steps]
    for group in groups.values():
        places = [at for at in group if not is_overwritten(schedule.steps, at, group[-1])]
        if len(places) > 1:
            join([schedule.steps[at] for at in places], places, steps, schedule)
    schedule.steps[:] = [step for each in steps if each is not None for step in (each if isinstance(each, list) else [each])]


def is_overwritten(steps: list[Step], at: int, last: int) -> bool:
    """Whether what an update reads is written before the last one of its group."""
    reads = set(reads_of(steps[at]))
    return any(value in reads for step in steps[at + 1 : last + 1] for value in step.writes)


def join(members: list[Any], places: list[int], steps: list[Any], schedule: Schedule) -> None:
    """Put few launches in the place of the last of these updates, for those that tables can have."""
    nodes = [step.nodes[0] for step in members]
    attributes, count = nodes[0].attributes, len(nodes[0].ins)
    outputs, names = attributes["outputs"], attributes["names"]
    layouts = tuple([tuple([value.layout for value in node.ins]) for node in nodes])
    (singles, compute), rule = kinds_of_update(nodes[0]), function_named(attributes["rule"])
    launches, _ = together_plan(rule, outputs, count - outputs, singles, names, compute, layouts)
    made = []
    for launch in launches:
        rows, plan = launch.rows, launch.plan
        codes = struct.unpack_from(f"{len(names)}q", known(plan.record), 64)
        numbers = [
            schedule.window(x).place if isinstance(x, Value) else number(x, code) for x, code in zip(attributes["numbers"], codes)
        ]
        reads = [schedule.window(value).place for k in rows for value in nodes[k].ins[outputs:]]
        writes = tuple([value for k in rows for value in members[k].writes])
        made.append(DeviceLaunch(plan, writes, (*numbers, *reads), tuple([nodes[k] for k in rows])))
        for k in rows:
            steps[places[k]] = None
    kept = steps[places[-1]]
    steps[places[-1]] = [*made, *([] if kept is None else [kept])]
