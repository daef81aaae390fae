"""The last steps of a program: what it writes to memory that was there before (NOTE [Effects] of effects.py)."""

from __future__ import annotations

from typing import Iterable, Sequence

from ..ir.devices import copying_plan
from ..ir.ir import Value
from ..ir.steps import DeviceLaunch, Launch, Place, Schedule, Window
from ..nodes.updates import UPDATE, plan_of_update
from .launches import launch
from .memory import last_reads
from .multi_tensor_updates import join_updates

__all__ = ["add_commits"]


def add_commits(schedule: Schedule, commits: Sequence[tuple[Value, Value]], returned: Iterable[Value]) -> None:
    """Have every target, an input or a constant, hold a value when all steps are done.

    Args:
        commits: targets, each once, and values.
        returned: values that the program returns.
    """
    seen = {schedule.owner(value) for value in returned}
    waiting, read = dict(commits), last_reads(schedule)
    stops = [at for at, step in enumerate(schedule.steps) if not isinstance(step, (Launch, DeviceLaunch))]
    begin = stops[-1] + 1 if stops else 0  # what runs in the middle of a program may look at anything, or be where it stops
    for at, step in enumerate(schedule.steps[begin:], begin):
        if isinstance(step, (Launch, DeviceLaunch)) and step.nodes and step.nodes[0].op is UPDATE:
            made = update_in_place(step, waiting, seen, schedule)
            if made is not None and all(read.get(value, at) <= at for value in (*made.writes, *step.writes)):
                schedule.steps[at] = made
                for target in made.writes:
                    del waiting[target]
    join_updates(schedule)
    copies = []
    for target, value in waiting.items():
        window = schedule.window(value)
        if window.place.value in waiting:  # it was there before, too: the copy must come before any commit
            kept = Value(window.layout.like())
            schedule.steps.append(copy(window, value, kept, schedule))
            value, window = kept, schedule.window(kept)
        copies.append(copy(window, value, target, schedule))
    schedule.steps.extend(copies)


def copy(window: Window, value: Value, target: Value, schedule: Schedule) -> Launch | DeviceLaunch:
    """The launch that copies a value."""
    assert target.layout is not None
    return launch(copying_plan(window.layout, target.layout), [value], [target], [], schedule)


def update_in_place(
    step: Launch | DeviceLaunch, commits: dict[Value, Value], seen: set[Value], schedule: Schedule
) -> Launch | DeviceLaunch | None:
    """The launch that writes an update over what it updates; None where a caller would see that, or it reads what it writes."""
    (node,) = step.nodes
    count = node.attributes["outputs"]
    targets = [schedule.owner(value) for value in node.ins[:count]]
    for target, value, out in zip(targets, node.ins, node.outs):
        assert target.layout is not None
        if (
            target not in commits
            or schedule.window(commits[target]) != schedule.window(out)
            or schedule.window(value) != Window(Place(target), target.layout)
            or out in seen
        ):
            return None
    operands = [*node.ins, *node.attributes["numbers"]]
    rest = [schedule.owner(x) for x in operands[count:] if isinstance(x, Value)]
    if any(x in rest for x in targets):
        return None
    plan = plan_of_update(node, True)
    return launch(plan, operands[len(operands) - len(plan.layouts) :], targets, [node], schedule)
