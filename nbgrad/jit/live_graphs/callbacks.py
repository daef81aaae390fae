"""Callbacks of Python in passes that run as programs: hooks of nodes, and nodes that a program cannot hold.

NOTE [Callbacks]: hooks that only compute are captured. Others, and nodes whose ``backward`` does more, or that keep what no two
nodes share, are called in the middle of the program, in the engine's order, with the node of the pass that runs; leaves whose
gradients are complete by then are settled before. What a callback gives has the layouts that the program was made for. Where it
gives others, or hangs hooks on nodes, the program stops, and the engine runs the pass: callbacks that were called are not called
again, what they gave is remembered until the pass ends.

What was computed before a callback has read what nodes saved before it, and a callback may then write to that, as optimizers do in
hooks of leaves. Where it writes to what later nodes saved, the engine runs the pass, and says so.
"""

from __future__ import annotations

import threading
from functools import partial
from threading import get_ident
from typing import Any, Callable, Sequence

from ...base.calls import CALLS
from ...base.grad_mode import mode
from ...engine import call_tensor_hook, hook_result, hooked_meanwhile, retain, settle, state, watchers
from ...graph.hooks import Hooks, NodeMeta, RemovableHandle
from ...graph.node import Node
from ...graph.task import GraphTask
from ...modes.traced import mark, unseen
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from ..capture.capture import Trace
from ..ir.ir import Control, Node as GraphNode, Value
from ..nodes.values import Changed
from ..passes.retrace import example
from .fingerprints import fresh_layout, operand_layouts
from .pure_functions import keys_of

__all__ = ["CALLBACK", "Pass", "Callbacks", "running", "stand_in"]

TENSOR, BEFORE, BEHIND, NODE = "tensor", "before", "behind", "node"
Key = tuple[int, str, int]
Take = Callable[[int, str, int, tuple], tuple]


class Callback:
    """A callback of a program.

    Attributes:
        key: number of the node, what takes it, which result.
        given: which of its tensors there are.
        leaves: numbers of leaves that are settled before, and whether they have a gradient.
        layouts: of what it gives.
        reads: numbers of the values that nodes have read since the callback before.
    """

    __slots__ = ("key", "given", "leaves", "layouts", "reads")

    def __init__(self, key: Key, given: tuple, leaves: tuple, layouts: tuple, reads: tuple[int, ...]):
        self.key, self.given, self.leaves, self.layouts, self.reads = key, given, leaves, layouts, reads


# ---- nodes with callbacks ----------------------------------------------------------------------------------------------


def stand_in(number: int, node: Node, whole: bool, take: Take, kept: list[tuple[Node, str, Any]], pure: bool = True) -> None:
    """Have somebody else call the callbacks of a node.

    Args:
        number: of the node, in the order in which it is spelled.
        whole: whether the node itself is one, and not its hooks alone.
        take: ``take(number, what, nr, tensors)`` gives what may stand in the place of these.
        kept: where what was there is added.
        pure: whether hooks that only compute stay.
    """
    if node._meta_ is not None:
        kept.append((node, "_meta_", node._meta_))
        node._meta_ = hooks_of(number, node._meta_, take, pure)
    if whole:
        kept.append((node, "_backward_", node._backward_))

        def callback(node: Node, g: Any, create_graph: bool) -> Any:
            results = take(number, NODE, 0, (g,) if node._outputs_ == 1 else tuple(g or [None] * node._outputs_))
            return results[0] if len(results) == 1 else results

        node._backward_ = callback


def hooks_of(number: int, meta: NodeMeta, take: Take, pure: bool) -> NodeMeta:
    """What a node has in the place of its hooks: those that compute, and calls of the others."""
    made = NodeMeta()
    for nr in dict.fromkeys((*meta.tensor_hooks, *meta.retains)):
        own = meta.tensor_hooks.get(nr, {})
        made.tensor_hooks[nr] = hooks = Hooks()
        if pure and nr not in meta.retains and keys_of(own) is not None:
            hooks.update(own)
        else:
            hooks[0] = lambda g, nr=nr: take(number, TENSOR, nr, (g,))[0]
    if meta.pre_hooks:
        made.pre_hooks[0] = lambda grads: take(number, BEFORE, 0, grads)
    if meta.post_hooks:
        made.post_hooks[0] = lambda inputs, grads: take(number, BEHIND, len(inputs), (*inputs, *grads))
    return made


# ---- while a pass is captured --------------------------------------------------------------------------------------


class Callbacks:
    """Who writes the callbacks of a pass down that is captured.

    Attributes:
        active: the capture.
        nodes: of the pass.
        learned: layouts of what callbacks gave in an earlier pass.
        pure: whether hooks that only compute are captured.
        waiting: leaves that are complete, with their gradients: the next callback settles them.
        count: of the callbacks so far.
        reads: numbers of the values that a node keeps, by its identity.
        since, present: those that nodes have read since the last callback; those of the node that runs, unless among these.
    """

    def __init__(self, active: Trace, nodes: list[Node], leaves: list[Tensor], learned: dict[Key, tuple], pure: bool):
        self.pure = pure
        self.active, self.nodes, self.learned, self.thread, self.count = active, nodes, learned, get_ident(), 0
        self.numbers = {id(leaf): number for number, leaf in enumerate(leaves)}
        self.waiting: list[tuple[Tensor, Tensor | None]] = []
        self.reads: dict[int, range] = {}
        self.since: list[int] = []
        self.present: range = range(0)

    def watch(self, run: Callable, settle: Callable) -> tuple[Callable, Callable]:
        """See ``watchers`` of engine.py."""
        return (partial(self.run, run), self.settle) if get_ident() == self.thread else (run, settle)

    def run(self, run: Callable, node: Node, *how: Any) -> Any:
        """In the place of the engine's: note what a node reads."""
        self.present = self.reads.get(id(node), range(0))
        result = run(node, *how)
        self.have_read()
        return result

    def have_read(self) -> None:
        """The node that runs has read what it keeps."""
        self.since += self.present
        self.present = range(0)

    def segment(self) -> tuple[int, ...]:
        """Numbers of the values that were read since the last callback, if there was one."""
        found, self.since = tuple(self.since), []
        return found if self.count else ()

    def settle(self, leaf: Tensor, g: Tensor | None, task: GraphTask) -> None:
        """In the place of the engine's: note the gradient of a leaf."""
        self.waiting.append((leaf, g))

    def take(self, number: int, what: str, nr: int, tensors: tuple) -> tuple:
        """Write down that Python is called back."""
        if what == BEHIND:
            self.have_read()
        active, reads = self.active, self.segment()
        self.count += 1
        given = tuple([x is not None for x in tensors])
        leaves = tuple([(self.numbers[id(leaf)], g is not None) for leaf, g in self.waiting])
        present = [x for x in (*tensors, *(g for _, g in self.waiting)) if x is not None]
        self.waiting.clear()
        layouts = self.learned.get((number, what, nr)) or self.expected(number, what, nr, tensors)
        callback = Callback((number, what, nr), given, leaves, layouts, reads)
        known = [layout for layout in layouts if layout is not None]
        node = GraphNode(CALLBACK, tuple(map(active.value, present)), {"callback": callback}, known, flags=[False] * len(known))
        active.graph.nodes.append(node)
        made = iter([own_tensor(active, layout, value) for layout, value in zip(known, node.outs)])
        return tuple([None if layout is None else next(made) for layout in layouts])

    def expected(self, number: int, what: str, nr: int, tensors: tuple) -> tuple[Layout | None, ...]:
        """The layouts of what a callback is expected to give."""
        if what == NODE:
            return operand_layouts(self.nodes[number])
        return tuple([None if x is None else fresh_layout(x.layout) for x in (tensors[:nr] if what == BEHIND else tensors)])


def own_tensor(active: Trace, layout: Layout, value: Value) -> Tensor:
    """A traced tensor on memory of its own, which is this value."""
    with unseen():
        made = example(layout)
    active.variables.define(made, value)
    return mark(made)


# ---- while a program runs ------------------------------------------------------------------------------------------


class Pass:
    """A pass that runs as a program.

    Attributes:
        nodes, leaves: of its graph, in the order in which they are spelled.
        task: the engine's.
        done: what callbacks gave.
        settled: numbers of the leaves that callbacks have settled.
        originals: what nodes had for which this stands in.
        values, versions: what nodes saved, and of which versions it was.
        stale: whether a callback wrote to what later nodes saved.
    """

    __slots__ = ("nodes", "leaves", "task", "done", "settled", "originals", "thread", "values", "versions", "stale")

    def __init__(self, nodes: list[Node], leaves: list[Tensor], task: GraphTask, values: Sequence[Tensor]):
        self.nodes, self.leaves, self.task = nodes, leaves, task
        self.values, self.versions, self.stale = values, [x._storage_.version for x in values], False
        self.done: dict[Key, tuple] = {}
        self.settled: set[int] = set()
        self.originals: dict[tuple[int, str], Any] = {}

    def take(self, number: int, what: str, nr: int, tensors: tuple) -> tuple:
        """What a callback gives: it is called once."""
        found = self.done.get((number, what, nr))
        if found is not None:
            return found
        node, originals = self.nodes[number], self.originals
        meta = originals.get((number, "_meta_"), node._meta_)
        enabled, before = mode.enabled, state.__dict__.get("node")
        state.node = node
        try:
            if what == NODE:
                results = node_callback(node, originals.get((number, "_backward_"), node._backward_), meta, tensors)
            elif what == TENSOR:
                results = tensor_callback(meta, nr, tensors)
            else:
                results = hooks_callback(meta, what, nr, tensors)
        finally:
            mode.enabled, state.node = enabled, before
        self.done[number, what, nr] = results
        return results

    def overwritten(self, reads: tuple[int, ...]) -> bool:
        """Whether one of these values was written to since the pass began."""
        values, versions = self.values, self.versions
        self.stale = any(values[k]._storage_.version is not versions[k] for k in reads)
        return self.stale

    def layouts(self) -> dict[Key, tuple]:
        """The layouts of what callbacks gave."""
        return {key: tuple([None if x is None else x.layout for x in results]) for key, results in self.done.items()}

    def finish(self, walk: Callable, g: Tensor, current: dict[str, Any]) -> None:
        """Have the engine run the pass, without the callbacks that were called."""
        kept: list[tuple[Node, str, Any]] = []
        numbers = {id(node): number for number, node in enumerate(self.nodes)}
        whole = {number for number, what, _ in self.done if what == NODE}
        self.thread = get_ident()
        try:
            for number in {number for number, _, _ in self.done}:
                stand_in(number, self.nodes[number], number in whole, self.take, kept)
            self.originals = {(numbers[id(node)], slot): value for node, slot, value in kept}
            mine = {id(node): node._backward_ for node in self.nodes}
            watchers.append(self)
            walk(self.task, [(self.nodes[0], g)], False, current)
        finally:
            if self in watchers:
                watchers.remove(self)
            for node, slot, value in kept:
                if slot == "_meta_" or node._backward_ is mine[id(node)]:
                    setattr(node, slot, value)

    def watch(self, run: Callable, settle: Callable) -> tuple[Callable, Callable]:
        """See ``watchers`` of engine.py."""
        if get_ident() != self.thread:
            return run, settle
        watchers.remove(self)  # passes within are none of its business
        settled = {id(self.leaves[number]) for number in self.settled}

        def left(leaf: Tensor, g: Tensor | None, task: GraphTask) -> None:
            if id(leaf) not in settled:
                settle(leaf, g, task)

        return run, left


def node_callback(node: Node, backward: Callable, meta: NodeMeta | None, grads: tuple) -> tuple:
    """What a node gives, as the engine runs it."""
    g = grads[0] if node._outputs_ == 1 else list(grads)
    results = backward(node, g, False)
    if meta is None and node._meta_ is not None:
        results = hooked_meanwhile(node, results, g)
    count = len(node._edges_)
    return (None,) * count if results is None else (results,) if count == 1 else tuple(results)


def tensor_callback(meta: NodeMeta, nr: int, grads: tuple) -> tuple:
    """The hooks of a result, in order; then what retains its gradient."""
    (g,) = grads
    for hook in tuple(meta.tensor_hooks.get(nr, {}).values()):
        g = call_tensor_hook(hook, g)
    reference = meta.retains.get(nr)
    if reference is not None:
        retain(reference(), g)
    return (g,)


def hooks_callback(meta: NodeMeta, what: str, count: int, grads: tuple) -> tuple:
    """The hooks in front of a node, or those behind it, which see ``count`` inputs and its gradients."""
    if what == BEFORE:
        for hook in tuple(meta.pre_hooks.values()):
            changed = hook(grads)
            if changed is not None:
                grads = hook_result("pre-hook", grads, changed)
        return grads
    inputs, shown = grads[:count], grads[count:]
    for hook in tuple(meta.post_hooks.values()):
        changed = hook(inputs, shown)
        if changed is not None:
            inputs = hook_result("hook", inputs, changed)
    return inputs


class Running(threading.local):
    """The passes that run as programs in this thread, the innermost last."""

    def __init__(self) -> None:
        self.passes: list[Pass] = []


running = Running()


def run_callback(node: GraphNode, values: Any, *tensors: Any, callback: Callback) -> tuple:
    """Call the callback that stands at this place in the pass that runs.

    Raises:
        Changed: it gives other layouts than the program was made for, or hooks were registered.
    """
    current, hooks, clone = running.passes[-1], RemovableHandle.next_id, CALLS["clone"]
    if current.overwritten(callback.reads):
        raise Changed("compiled_autograd: an earlier callback of Python wrote to what later nodes saved.")
    owned = [clone(x) for x in reversed(tensors)]  # theirs to keep
    shown = tuple([owned.pop() if there else None for there in callback.given])
    for leaf, there in callback.leaves:
        current.settled.add(leaf)
        settle(current.leaves[leaf], owned.pop() if there else None, current.task)
    results = current.take(*callback.key, shown)
    if RemovableHandle.next_id != hooks or len(results) != len(callback.layouts):
        raise Changed("compiled_autograd: hooks were registered while a pass ran.")
    for x, layout in zip(results, callback.layouts):
        if (None if x is None else x.layout) is not layout:
            raise Changed("compiled_autograd: a callback of Python gave another layout than when the pass was captured.")
    return results if None not in callback.layouts else tuple([x for x in results if x is not None])


CALLBACK = Control("callback", run_callback, effect="host")
CALLBACK.waits = True
