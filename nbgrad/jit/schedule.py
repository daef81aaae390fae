"""Which kernels a graph is: views are windows on memory, calls are launches of their operations' kernels.

What takes several steps, or looks at values, stays a call (``Host``).
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, Iterable

from ..base.errors import NbgradError
from ..dispatch.arguments import attribute_names, hashable
from ..dispatch.elementwise_plans import make_plan
from ..dispatch.lowerings import GeneralPlan, lowering_of
from ..native.plans import PARALLEL, LateRecord, Plan, complete
from ..ops.core import Elementwise, General, Movement
from ..tensors.layout import Layout
from .draws import DRAW, RESERVE, plan_of_draw, steps_of_reserve
from .fusion import Group, Space, plan_of_group, space_of
from .hosts import SHOW
from .ir import Block, Control, Node, Value, values_in
from .steps import Host, Launch, Place, Schedule, Step, Window, number
from .strips import Ending, ending_of, strips_of
from .updates import UPDATE, plan_of_update
from .values import GUARD, guards_of
from .variables import OVERWRITE, STOP

__all__ = ["launch", "launch_of", "schedule", "staged"]


LAST = 1 << 40  # the stage behind all others


def schedule(graph: Block, saved: Iterable[Value] = ()) -> Schedule:
    """The steps of a graph: NOTE [Stages] of fusion.py.

    Args:
        saved: values that are needed when it has run, as its outputs are.
    """
    made = Schedule([], {})
    calls, groups, after = staged(graph, made)
    endings = endings_of(calls, groups, made)
    seen = {made.window(value).place.value for value in values_in((*graph.outputs, *saved))}
    for node, group in after.items():
        for value in node.values():
            if node not in endings and (group is None or value not in group.inside):
                seen.add(made.window(value).place.value)
    loops: list[tuple[int, Step]] = []
    for group in groups:
        ended = [ending for home, ending in endings.values() if home is group]
        stored = [node.outs[0] for node in group.nodes if node.outs[0] in seen]
        found = strips_of(group, stored, ended, made)
        if found is None:
            for ending in ended:
                seen.add(ending.value)
                del endings[ending.node]
            loops += [(group.stage, step) for step in steps_of(group, seen, made)]
        else:
            loops += found
    steps: list[tuple[int, Step]] = [(0, step) for step in steps_of_reserve([node for _, node in calls if node.op is RESERVE])]
    for stage, node in calls:
        if node.op is GUARD:
            steps += [(stage, guard) for guard in guards_of(node, made.window(node.ins[0]))]
        elif node.op is not RESERVE and node not in endings:
            steps += [(stage, step) for step in steps_of_call(node, made)]
    steps += loops
    steps.sort(key=lambda each: each[0])
    made.steps.extend([step for _, step in steps])
    return made


def staged(graph: Block, made: Schedule) -> tuple[list[tuple[int, Node]], list[Group], dict[Node, Group | None]]:
    """Calls with their stages, loops, and the loop of each call; windows of views are noted on the way."""
    ready: dict[Value, int] = {}  # the stage in which a value is in memory
    homes: dict[Value, Group] = {}
    open_groups: dict[tuple[Space, int], Group] = {}
    calls: list[tuple[int, Node]] = []
    groups: list[Group] = []
    after: dict[Node, Group | None] = {}
    answered = 0  # the stage of the last guard, or of what users see
    for node in graph.nodes:
        if node.op is STOP or node.op is OVERWRITE:
            made.windows[node.outs[0]] = made.window(node.ins[-1])
            continue
        if isinstance(node.op, Movement) and view(node, made):
            continue
        roots = [made.window(value).place.value for value in node.values()]
        space = space_of(node)
        if space is None:
            stage = max([ready.get(root, 0) for root in roots], default=0)
            if node.op is not RESERVE:
                stage = max(stage, answered)  # it may raise what the program does not, behind another answer
            if node.op is SHOW:
                stage = LAST
            elif node.op is GUARD or node.op.sized_by_values or getattr(node.op, "effect", "") == "host":
                answered = stage
            calls.append((stage, node))
            ready.update(dict.fromkeys(node.outs, stage + 1))
            after[node] = None
            continue
        stage = 0
        for value, root in zip(node.values(), roots):
            home = homes.get(value)
            joins = home is not None and home.space == space and value is root
            stage = max(stage, home.stage if joins and home is not None else ready.get(root, 0))
        group = open_groups.get((space, stage))
        while group is not None and not group.takes(node):
            stage += 1
            group = open_groups.get((space, stage))
        if group is None:
            group = open_groups[space, stage] = Group(space, stage)
            groups.append(group)
        group.add(node)
        homes[node.outs[0]] = group
        ready[node.outs[0]] = group.stage + 1
        after[node] = group
    return calls, groups, after


def endings_of(calls: list[tuple[int, Node]], groups: list[Group], made: Schedule) -> dict[Node, tuple[Group, Ending]]:
    """The calls that may end a loop, with it."""
    homes = {value: group for group in groups for value in group.inside}
    found: dict[Node, tuple[Group, Ending]] = {}
    for stage, node in calls:
        for value in node.ins[:1]:
            if not isinstance(value, Value):
                continue
            home = homes.get(made.window(value).place.value)
            ending = ending_of(node, home, stage, made)
            if ending is not None and home is not None:
                found[node] = home, ending
    return found


def steps_of_call(node: Node, made: Schedule) -> list[Step]:
    """What a call is that shares no loop with others."""
    if isinstance(node.op, Control) and node.op.steps is not None:
        found: list[Step] | None = node.op.steps(node, made)
        if found is not None:
            return found
    return [launch_of(node, made) or host_of(node, made)]


def steps_of(group: Group, seen: set[Value], made: Schedule) -> list[Launch | Host]:
    """A loop, as one launch; a call that is alone in it, or what no one kernel can do, by the operations' own kernels."""
    stored = [node.outs[0] for node in group.nodes if node.outs[0] in seen]
    if len(group.nodes) > 1 and stored:
        try:
            plan, operands = plan_of_group(group, stored)
        except NbgradError:
            pass
        else:
            return [launch(plan, operands, stored, group.nodes, made)]
    return [launch_of(node, made) or host_of(node, made) for node in group.nodes]


def view(node: Node, made: Schedule) -> bool:
    """Note the windows that a view gives; False where it gives none."""
    (x,) = node.ins
    window, op = made.window(x), node.op
    assert isinstance(op, Movement)
    arguments = tuple([node.attributes[name] for name in attribute_names(op)])
    try:
        places = places_of(op, window.layout, arguments)
    except TypeError:  # a list
        places = op.formula(window.layout, *arguments)
    for value, place in zip(node.outs, places if op.multiple else [places]):
        layout: Any = value.layout
        shape, strides, offset = place
        if (tuple(shape), tuple(strides)) != (layout.shape, layout.strides):
            return False
        at = window.place.offset + offset * layout.dtype.itemsize
        made.windows[value] = Window(Place(window.place.value, at), layout)
    return True


@lru_cache(maxsize=4096)
def places_of(op: Movement, layout: Layout, arguments: tuple) -> Any:
    """Shape, strides and offset of a view: passes ask for them again and again."""
    return op.formula(layout, *arguments)


def host_of(node: Node, made: Schedule) -> Host:
    """The call itself."""
    return Host(node, tuple(node.outs), tuple([made.window(value) for value in node.values()]))


def launch_of(node: Node, made: Schedule) -> Launch | None:
    """The launch that the operation's own plan is; None where a call takes something else than one launch."""
    if node.op is UPDATE:
        return launch_of_update(node, made)
    if node.op is DRAW:
        return launch(*plan_of_draw(node), node.outs, [node], made)
    if any(type(x) in (tuple, list) for x in node.ins) or next(values_in(tuple(node.attributes.values())), None):
        return None
    plan = plan_of(node)
    if plan is None or any(out.layout is not value.layout for out, value in zip(plan.outs, node.outs)):
        return None
    return launch(plan, list(node.ins), node.outs, [node], made)


def launch_of_update(node: Node, made: Schedule) -> Launch | None:
    """The launch of an optimizer's update, into new memory; None where that would have gaps."""
    plan = plan_of_update(node, False)
    if any(not out.layout.dense for out in plan.outs):
        return None
    return launch(plan, [*node.ins, *node.attributes["numbers"]], node.outs, [node], made)


def launch(plan: Plan, operands: list[Any], outs: list[Value], nodes: list[Node], made: Schedule) -> Launch:
    """The launch of a plan: see NOTE [Plan record] in native/plans.py."""
    lacks = plan.record.lacks if type(plan.record) is LateRecord and plan.record.packed is None else None
    record = plan.record if lacks else complete(plan.record)
    words = struct.unpack_from(f"{len(record) // 8}q", record)
    address, units, grain, _, count, flags, shared_from = words[:7]
    if lacks:
        address, flags, shared_from = lacks
    if units < 0:
        units = plan.outs[0].layout.numel
        flags |= units >= shared_from
    codes = words[8 : 8 + count]
    reads = [made.window(x).place if isinstance(x, Value) else number(x, code) for x, code in zip(operands, codes)]
    parameters = record[8 * (8 + count) :]
    return Launch(address, units, tuple(outs), tuple(reads), parameters, grain, bool(flags & PARALLEL), tuple(nodes))


def plan_of(node: Node) -> Plan | None:
    """The operation's own plan."""
    op: Any = node.op
    kinds = tuple([x.layout if isinstance(x, Value) else type(x) for x in node.ins])
    layouts = [x for x in kinds if type(x) is Layout]
    if any(x.special for x in layouts):
        return None
    try:
        if isinstance(op, Elementwise):
            if op.integer_divisor or any(x.dtype.is_complex for x in layouts) or any(x is complex for x in kinds):
                return None
            return make_plan(op, kinds)
        found = lowering_of(op) if isinstance(op, General) else None
        if found is None or found[0] != "plan" or op.variadic:
            return None
        plan = found[1](op, kinds, {name: hashable(x) for name, x in node.attributes.items()})
        return plan if isinstance(plan, GeneralPlan) else None
    except (NbgradError, OverflowError, struct.error):
        return None
