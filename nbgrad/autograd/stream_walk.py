"""Backward passes of programs that use several streams of GPUs: NOTE [One stream] of tensors/streams.py.

NOTE [Streams of a pass]:
  1. A node runs on the streams on which it was recorded, with its hooks; a leaf's gradient is accumulated on those of the first
     node that was recorded with it.
  2. What a node is to receive is summed on its streams. These wait for an event of the stream on which a cotangent was computed,
     if that is another one, and the cotangent's memory is noted as used by them.
  3. All streams that a pass comes to wait for the caller's as they were before its first node: the cotangents that it begins with
     are the caller's, and so are the gradients to which it adds.
  4. When it ends, well or not, the caller's streams wait for all of them, and are this thread's current ones again.
  5. Copies between GPUs order the streams of both themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import accumulate as accumulation
from ..base.calls import CALLS
from ..base.compat import Settings
from ..base.user_stack import warn_user
from ..engine import hooked_meanwhile, receive, run_as_walk_does, run_special, settle, walk, walks, watchers
from ..graph.edges import AccumulateGrad, Node
from ..graph.noting import choice_of, note_streams
from ..graph.saved import freed_backward
from ..graph.task import GraphTask, Target, target
from ..native.steps import Steps
from ..tensors.choices import Choice, StreamOfCard, current, when_used
from ..tensors.streams import select
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..tensors.heaps import HeapOfCard

__all__ = ["streamed_walk"]


def streamed_walk(
    task: GraphTask, seeds: list, create_graph: bool, own: dict[str, Any], run: Callable | None = None, checks: tuple = ()
) -> None:
    """``walk`` of engine.py, with each node on its streams."""
    crossing = Crossing(task)
    run = run or (run_as_walk_does if watchers else run_special)
    try:
        walk(task, seeds, create_graph, own, crossing.running(run), checks, crossing.steps, crossing.settle)
    finally:
        crossing.end()


class Crossing:
    """The streams of one pass.

    Attributes:
        choice, index: the caller's streams, and its current GPU.
        producer: the streams of the node that runs.
        leaves: those of leaves.
        begun: by GPU the caller's stream, and an event on it from before the first node.
        used: other streams than the caller's that the pass has come to.
        ordered: what was ordered behind the running node, and its events, by the streams on which they are.
    """

    def __init__(self, task: GraphTask):
        self.task, self.choice, self.index = task, current.choice, current.index
        self.producer: Choice = self.choice
        self.leaves: dict[Tensor, Choice] | None = None
        self.begun: dict[int, tuple[HeapOfCard, StreamOfCard, int]] = {}
        self.used: dict[StreamOfCard, HeapOfCard] = {}
        self.entered: set[Choice] = set()
        self.ordered: set[tuple[StreamOfCard, StreamOfCard]] = set()
        self.events: dict[StreamOfCard, tuple[HeapOfCard, int]] = {}

    # ---- choices -------------------------------------------------------------------------------------------------------

    def choice_of(self, place: Target) -> Choice:
        """The streams of a node or leaf."""
        if not isinstance(place, Tensor):
            return choice_of(place)
        if self.leaves is None:
            self.leaves = first_choices(self.task)
        return self.leaves.get(place, self.choice)  # the caller's where the pass begins there

    def enter(self, choice: Choice) -> None:
        """Make streams the current ones; those that the pass comes to for the first time wait for the caller's."""
        if choice not in self.entered:
            self.entered.add(choice)
            self.begin()
            for heap, callers, event in self.begun.values():
                stream = choice.of.get(heap.index) or heap.default
                if stream is not callers and stream not in self.used:
                    self.used[stream] = heap
                    order_behind(heap, stream, event)
        select(choice, self.index)

    def begin(self) -> None:
        """Record events on the caller's streams."""
        from ..tensors.heaps import opened

        for heap in opened:
            if heap.index not in self.begun:
                stream = self.choice.of.get(heap.index) or heap.default
                event = heap.card.take_event()
                heap.card.record(event, stream.handle)
                self.begun[heap.index] = heap, stream, event

    def end(self) -> None:
        """Let the caller's streams wait for all others, and be current again."""
        try:
            self.begin_node()
            for stream, heap in self.used.items():
                event = heap.card.take_event()
                heap.card.record(event, stream.handle)
                order_behind(heap, self.choice.of.get(heap.index) or heap.default, event)
                heap.card.give_event(event)
        finally:
            for heap, _, event in self.begun.values():
                heap.card.give_event(event)
            select(self.choice, self.index)

    # ---- turns ---------------------------------------------------------------------------------------------------------

    def begin_node(self) -> None:
        """The turn of another node begins."""
        for heap, event in self.events.values():
            heap.card.give_event(event)
        self.events.clear()
        self.ordered.clear()

    def run_on(self, node: Node) -> None:
        """A node is about to run."""
        self.begin_node()
        self.producer = self.choice_of(node)
        self.enter(self.producer)

    def running(self, run: Callable) -> Callable:
        """``run`` of ``walk``, on the node's streams."""

        def run_there(node: Node, g: Any, create_graph: bool, task: GraphTask) -> Any:
            self.run_on(node)
            return run(node, g, create_graph, task)

        return run_there

    def settle(self, leaf: Tensor, g: Tensor | None, task: GraphTask) -> None:
        """``settle`` of engine.py, on the leaf's streams. Nobody else holds ``g``."""
        held = [g]
        del g
        self.enter(self.choice_of(leaf))
        settle(leaf, held.pop(), task)

    def carry(self, below: Target, value: Any) -> None:
        """A cotangent goes to a node or leaf, whose streams are current then."""
        choice = self.choice_of(below)
        if isinstance(value, Tensor) and value.layout.memory is not None and choice is not self.producer:
            cross(self, below, value, choice)
        self.enter(choice)

    def steps(self, check: Callable | None = None, complain: Callable | None = None, nested: bool = False) -> tuple:
        """``steps`` of engine.py."""
        sums = accumulation.sum_plans, CALLS["add"], accumulation.plan_sum

        def receive_there(work: tuple, edge: Any, g: Tensor | None) -> Target:
            below, leading = target(edge), work[-1]
            if leading is None or leading.get(below):
                self.carry(below, g)
            return receive(work, edge, g)

        owner = CrossingSteps(AccumulateGrad, freed_backward, receive_there, *sums, check, complain, hooked_meanwhile)
        owner.crossing = self
        return owner.advance, owner.send, owner.run


def cross(crossing: Crossing, below: Target, value: Tensor, choice: Choice) -> None:
    """Let the streams of what a cotangent goes to wait for it, and note that they use its memory."""
    from ..tensors.heaps import heap_on, use_on

    index = value.layout.device.index
    if index is None:  # meta has no streams
        return
    heap = heap_on(index)
    produced = crossing.producer.of.get(index) or heap.default
    wanted = choice.of.get(index) or heap.default
    if produced is wanted:
        return
    if (produced, wanted) not in crossing.ordered:
        crossing.ordered.add((produced, wanted))
        if produced not in crossing.events:
            event = heap.card.take_event()
            heap.card.record(event, produced.handle)
            crossing.events[produced] = heap, event
        order_behind(heap, wanted, crossing.events[produced][1])
        if wanted is not (crossing.choice.of.get(index) or heap.default):
            crossing.used[wanted] = heap
    use_on(value, wanted)
    if isinstance(below, Tensor) and Settings.warns_of_streams:
        warn_of_streams()


def order_behind(heap: HeapOfCard, stream: StreamOfCard, event: int) -> None:
    """Let a stream wait for an event."""
    heap.card.let_wait(stream.handle, event)


def warn_of_streams() -> None:
    """Warn, once, of a leaf whose gradient comes from another stream."""
    Settings.warns_of_streams = False
    warn_user(
        "AccumulateGrad: a gradient was computed on another stream than the leaf was first used on, which waits for it. "
        "Hint: use a parameter on one stream, or nbgrad.graph.set_warn_on_accumulate_grad_stream_mismatch(False)."
    )


class CrossingSteps(Steps):
    """Steps with an eye on streams, in Python: sums are on the streams of who receives them."""

    crossing: Crossing

    def run(self, node: Node, g: Any, create: Any, parts: Any) -> Any:
        """The results of a plain node, on its streams."""
        self.crossing.run_on(node)
        return super().run(node, g, create, parts)

    def gather(self, work: Any, below: Any, value: Any, sole: bool) -> None:
        """Add a value to what a node or leaf will receive."""
        self.crossing.carry(below, value)
        super().gather(work, below, value, sole)


def first_choices(task: GraphTask) -> dict[Tensor, Choice]:
    """The streams of each leaf below a pass: those of the first node that was recorded with it."""
    first: dict[Tensor, tuple[int, Choice]] = {}
    for node in task.seen:
        if isinstance(node, Tensor):
            continue
        for edge in node._edges_:
            below = target(edge)
            if isinstance(below, Tensor) and (below not in first or node._seq_ < first[below][0]):
                first[below] = node._seq_, choice_of(node)
    return {leaf: choice for leaf, (_, choice) in first.items()}


def begin() -> None:
    """Have passes walked like that, from now on."""
    note_streams()
    walks[0] = streamed_walk


when_used.append(begin)
