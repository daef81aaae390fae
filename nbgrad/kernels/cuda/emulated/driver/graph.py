"""Graphs of captured work: nodes, and the order in which a launch queues them.

NOTE [Replay]: an executable graph has lanes: chains of nodes of which each follows the one before. The first lane is the stream
that the graph is launched on, each other one a stream of its own, which begins behind what that stream had to do, and for which it
waits in the end. A node waits for marks behind the nodes of other lanes that it depends on. So two branches of a graph are as
unordered as they were captured, and the clocks of the timeline find what is missing between them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..timeline import Mark, Stream, Timeline

__all__ = ["Capture", "Executable", "Graph", "Kept", "Node"]


class Kept:
    """What a caller lets graphs keep. ``count``: references to it; ``destroy``: is called with ``data`` when there is none left."""

    def __init__(self, data: int | None, destroy: Callable[[int | None], None], count: int):
        self.data, self.destroy, self.count = data, destroy, count

    def release(self, count: int) -> None:
        self.count -= count
        if count and not self.count:
            self.destroy(self.data)


class Node:
    """A piece of captured work.

    Attributes:
        begin: ``begin(stream)`` queues it.
        after: the nodes that it follows.
    """

    __slots__ = ("begin", "after", "handle")

    def __init__(self, begin: Callable[[Stream], None], after: Sequence[Node]):
        self.begin, self.after, self.handle = begin, tuple(after), 0


class Graph:
    """Nodes, in an order in which each comes behind what it follows.

    Attributes:
        owned: memory that lives as long as the graph and what was made of it; ``users``: how many those are.
        kept: what callers let it keep, with the number of references.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.owned: list[Any] = []
        self.kept: dict[Kept, int] = {}
        self.users = 1


class Capture:
    """Streams whose work goes into a graph.

    Attributes:
        origin: the one that the capture began with; ``mode``, ``thread``: how, and where.
        tips: by stream, the nodes that its next one follows.
        invalid: whether something happened that cannot be captured.
    """

    def __init__(self, origin: Stream, mode: int, graph: Graph, number: int):
        self.origin, self.mode, self.graph, self.number = origin, mode, graph, number
        self.thread, self.invalid, self.handle = threading.get_ident(), False, 0
        self.tips: dict[Stream, tuple[Node, ...]] = {origin: ()}
        self.told: dict[Stream, Any] = {}  # arrays that callers were given

    def add(self, stream: Stream, node: Node) -> None:
        self.graph.nodes.append(node)
        self.tips[stream] = (node,)

    def take_in(self, stream: Stream, nodes: tuple[Node, ...]) -> None:
        """Let a stream follow nodes: it belongs to the capture from now on."""
        stream.capture = self
        self.tips[stream] = tuple(dict.fromkeys((*self.tips.get(stream, ()), *nodes)))

    def is_joined(self) -> bool:
        """Whether the stream that it began with follows, in the end, all that was captured."""
        seen, todo = set[Node](), list(self.tips[self.origin])
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(node.after)
        return all(node in seen for tips in self.tips.values() for node in tips)


class Step(NamedTuple):
    """A node in a launch: in which lane, behind which nodes of others, and whether one of those waits for it."""

    node: Node
    lane: int
    after: tuple[Node, ...]
    is_awaited: bool


class Executable:
    """A graph that can be launched: NOTE [Replay].

    Attributes:
        done: where its last launch ends.
        kept: what the graph kept when this was made of it.
    """

    def __init__(self, graph: Graph, timeline: Timeline, device: int):
        self.graph, self.timeline, self.done = graph, timeline, None
        graph.users += 1
        self.kept = dict(graph.kept)
        for kept, count in self.kept.items():
            kept.count += count
        lane_of, tails = dict[Node, int](), list[Node | None]([None])
        for node in graph.nodes:
            lane = next((lane_of[each] for each in node.after if tails[lane_of[each]] is each), None)
            if lane is None:
                lane = 0 if tails[0] is None and not node.after else len(tails)
                tails[lane:] = [None]
            lane_of[node], tails[lane] = lane, node
        after = {node: tuple(each for each in node.after if lane_of[each] != lane_of[node]) for node in graph.nodes}
        awaited = {each for group in after.values() for each in group}
        self.steps = [Step(node, lane_of[node], after[node], node in awaited) for node in graph.nodes]
        self.lanes = [timeline.add(Stream(device, blocking=False)) for _ in tails[1:]]

    done: Mark | None

    def launch(self, stream: Stream) -> None:
        """Queue all nodes, behind the last launch."""
        timeline = self.timeline
        timeline.order(stream)
        if self.done is not None:
            timeline.wait_for(stream, self.done)
        if self.lanes:
            start = timeline.mark(stream)
            for lane in self.lanes:
                timeline.wait_for(lane, start)
        streams, marks = [stream, *self.lanes], dict[Node, Mark]()
        for step in self.steps:
            on = streams[step.lane]
            for each in step.after:
                timeline.wait_for(on, marks[each])
            step.node.begin(on)
            if step.is_awaited:
                marks[step.node] = timeline.mark(on)
        for lane in self.lanes:
            timeline.wait_for(stream, timeline.mark(lane))
        self.done = timeline.mark(stream)

    def end(self) -> None:
        for lane in self.lanes:
            self.timeline.remove(lane)
        for kept, count in self.kept.items():
            kept.release(count)
