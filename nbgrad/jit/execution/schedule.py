"""Which kernels a graph is: views are windows on memory, calls are launches of their operations' kernels.

What takes several steps, or looks at values, stays a call (``Host``).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Container, Iterable

from ...base.errors import NbgradError
from ...dispatch.arguments import attribute_names
from ...ops.core import Movement
from ...tensors.layout import Layout, contiguous_strides
from ..ir.devices import is_gpu, is_on_gpu
from ..ir.histories import same_values
from ..ir.ir import Block, Control, Node, Value, values_in
from ..ir.steps import Host, Place, Schedule, Step, Window
from ..nodes.draws import RESERVE, steps_of_reserve
from ..nodes.values import GUARD, guards_of
from .fusion import Group, Space, is_half, plan_of_group, space_of
from .launches import launch, launch_of
from .row_strips import row_strips_of
from .rows import attempts, column_ending, is_number_of_row, numbers_of, row_fold
from .strips import Ending, ending_of, strips_of

__all__ = ["schedule", "staged"]


LAST = 1 << 40  # the stage behind all others


def schedule(graph: Block, saved: Iterable[Value] = ()) -> Schedule:
    """The steps of a graph: NOTE [Stages] of fusion.py.

    Args:
        saved: values that are needed when it has run, as its outputs are.
    """
    apart: set[Space] = set()
    while True:
        made = Schedule([], {})
        refused = fill(made, graph, tuple(saved), apart)
        if refused is None:
            return made
        apart.add(refused)


def fill(made: Schedule, graph: Block, saved: tuple[Value, ...], apart: set[Space]) -> Space | None:
    """Find the steps; or a space whose rows are not to be folded with what computes them, as others of ``apart``."""
    calls, groups, after = staged(graph, made, apart)
    endings = endings_of(calls, groups, made)
    seen = {made.owner(value) for value in values_in((*graph.outputs, *saved))}
    for node, group in after.items():
        for root in [made.owner(value) for value in node.values()]:
            if node not in endings and (group is None or root not in group.inside):
                seen.add(root)
    loops: list[tuple[int, Step]] = []
    for group in groups:
        if is_gpu(group.space.device) or is_half(group.space.dtype):
            loops += [(group.stage, step) for step in steps_of(group, seen, made)]
            continue
        ended = [ending for home, ending in endings.values() if home is group]
        found: Any = None
        for kept in attempts(group, ended):
            for ending in ended:
                if ending not in kept:
                    seen.add(ending.value)
                    endings.pop(ending.node, None)
            stored = [node.outs[0] for node in group.nodes if node.outs[0] in seen]
            by_rows = group.folds or any(ending.columns for ending in kept)
            ended, found = kept, (row_strips_of if by_rows else strips_of)(group, stored, kept, made)
            if found is not None:
                break
        if found is None and group.folds and len(group.nodes) > 1:
            return group.space
        loops += [(group.stage, step) for step in steps_of(group, seen, made)] if found is None else found
    steps: list[tuple[int, Step]] = [(0, step) for step in steps_of_reserve([node for _, node in calls if node.op is RESERVE])]
    for stage, node in calls:
        if node.op is GUARD and not is_on_gpu(node):  # which is waited for: a call
            steps += [(stage, guard) for guard in guards_of(node, made.window(node.ins[0]))]
        elif node.op is not RESERVE and node not in endings:
            steps += [(stage, step) for step in steps_of_call(node, made)]
    steps += loops
    steps.sort(key=lambda each: each[0])
    made.steps.extend([step for _, step in steps])
    return None


def staged(
    graph: Block, made: Schedule, apart: Container[Space] = ()
) -> tuple[list[tuple[int, Node]], list[Group], dict[Node, Group | None]]:
    """Calls with their stages, loops, and the loop of each call; windows of views are noted on the way.

    Args:
        apart: spaces whose rows are folded by launches of their own.
    """
    stages = Stages(made, apart)
    for node in graph.nodes:
        if same := dict(same_values(node)):
            made.windows.update((out, made.window(value)) for out, value in same.items())
        elif not (isinstance(node.op, Movement) and view(node, made)):
            stages.add(node)
    return stages.calls, stages.groups, stages.after


class Stages:
    """Calls and loops with their stages.

    Attributes:
        ready: the stage in which a value is in memory.
        homes: the loop that computes a value.
        answered: the stage of the last guard, or of what users see.
        last: the last stage of all, but for what stands behind all others.
    """

    def __init__(self, made: Schedule, apart: Container[Space]):
        self.made, self.apart = made, apart
        self.ready: dict[Value, int] = {}
        self.homes: dict[Value, Group] = {}
        self.open_groups: dict[tuple[Space, int], Group] = {}
        self.calls: list[tuple[int, Node]] = []
        self.groups: list[Group] = []
        self.after: dict[Node, Group | None] = {}
        self.answered, self.last = 0, -1

    def add(self, node: Node) -> None:
        """The next call, which is no view."""
        values, space = node.values(), space_of(node)
        windows = [self.made.window(value) for value in values]
        if space is not None:
            host = self.host_of_numbers(node, space, windows)
            self.join(node, host or self.group_for(node, space, values, windows), number=host is not None)
            return
        fold = row_fold(node)
        if fold is None or fold.space in self.apart:
            self.call(node, [window.place.value for window in windows])
            return
        group = self.group_for(node, fold.space, values, windows)
        group.folds[node] = fold
        self.join(node, group, number=True)

    def call(self, node: Node, roots: list[Value]) -> None:
        """A call that joins no loop."""
        stage = max([self.ready.get(root, 0) for root in roots], default=0)
        if node.op is not RESERVE:
            stage = max(stage, self.answered)  # it may raise what the program does not, behind another answer
        if getattr(node.op, "waits", False):
            stage = max(stage, self.last + 1)
        if getattr(node.op, "last", False):
            stage = LAST
        elif node.op is GUARD or node.op.sized_by_values or getattr(node.op, "effect", "") == "host":
            self.answered = stage
        if stage < LAST:
            self.last = max(self.last, stage)
        self.calls.append((stage, node))
        self.ready.update(dict.fromkeys(node.outs, stage + 1))
        self.after[node] = None

    def group_for(self, node: Node, space: Space, values: tuple[Value, ...], windows: list[Window]) -> Group:
        """The first loop of a space that may compute a call, where its operands are at hand or in memory."""
        stage = 0
        for value, window in zip(values, windows):
            root = window.place.value
            home = self.homes.get(root)
            joins = home is not None and home.space == space
            if joins and home is not None:
                joins = is_number_of_row(window, space.shape) if root in home.numbers else value is root
            stage = max(stage, home.stage if joins and home is not None else self.ready.get(root, 0))
        group = self.open_groups.get((space, stage))
        while group is not None and not group.takes(node):
            stage += 1
            group = self.open_groups.get((space, stage))
        if group is None:
            group = self.open_groups[space, stage] = Group(space, stage)
            self.groups.append(group)
        return group

    def host_of_numbers(self, node: Node, space: Space, windows: list[Window]) -> Group | None:
        """The loop over rows that computes what a call of numbers of rows reads, if all that is at hand there."""
        roots = [window.place.value for window in windows]
        hosts = [self.homes[root] for root in roots if root in self.homes and root in self.homes[root].numbers]
        host = max(hosts, key=lambda each: each.stage, default=None)
        count = math.prod(space.shape)
        if host is None or host.space.dtype is not space.dtype or math.prod(host.space.shape[:-1]) != count or not host.takes(node):
            return None
        for root, window in zip(roots, windows):
            inside = self.homes.get(root) is host
            if inside and root not in host.numbers or not inside and self.ready.get(root, 0) > host.stage:
                return None
            if not numbers_of(window, count) and (inside or window.layout.numel != 1):
                return None
        return host if contiguous_strides(space.shape) == space.strides else None

    def join(self, node: Node, group: Group, number: bool) -> None:
        """A call that shares a loop."""
        group.add(node)
        self.last = max(self.last, group.stage)
        if number:
            group.numbers.update(node.outs)
        self.homes[node.outs[0]] = group
        self.ready[node.outs[0]] = group.stage + 1
        self.after[node] = group


def endings_of(calls: list[tuple[int, Node]], groups: list[Group], made: Schedule) -> dict[Node, tuple[Group, Ending]]:
    """The calls that may end a loop, with it."""
    homes = {value: group for group in groups for value in group.inside}
    found: dict[Node, tuple[Group, Ending]] = {}
    for stage, node in calls:
        for value in node.ins[:1]:
            if not isinstance(value, Value):
                continue
            home = homes.get(made.owner(value))
            if home is not None and not is_gpu(home.space.device) and not is_half(home.space.dtype):
                ending = ending_of(node, home, stage, made) or column_ending(node, home, stage, made)
                if ending is not None:
                    found[node] = home, ending
    return found


def steps_of_call(node: Node, made: Schedule) -> list[Step]:
    """What a call is that shares no loop with others."""
    if isinstance(node.op, Control) and node.op.steps is not None:
        found: list[Step] | None = node.op.steps(node, made)
        if found is not None:
            return found
    return [launch_of(node, made) or host_of(node, made)]


def steps_of(group: Group, seen: set[Value], made: Schedule) -> list[Step]:
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
