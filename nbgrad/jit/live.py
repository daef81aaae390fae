"""Compiled autograd: a pass through a live graph is captured once, and one native call for every graph that is alike.

NOTE [Live graphs]: a graph is spelled (native/surveys.py): rules, plans, edges, and of what nodes keep the layouts. What is spelled
alike computes alike. The first pass of its kind is captured: nodes are given traced tensors in the place of what they keep, and the
engine runs as ever. The program's inputs are saved values and the root's cotangent, its results what arrives at leaves; these are
settled by the engine's own function, with their hooks, for ``inputs=``, and in its order.

Hooks, custom Functions and other nodes are part of the program where they can only compute (computing.py). What may do more, or
was written to or is kept behind hooks, takes its turn in Python in the middle of the program, in the engine's order (turns.py);
where that happens too often to be worth it, the pass is the engine's.

Left to the engine: passes that are recorded or return gradients of results of operations; graphs that were freed; special modes.
Nothing that such a pass does is different.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from operator import length_hint
from typing import Any, Iterator, cast

from ..autograd.function_context import FunctionRule
from ..base.grad_mode import dual_levels, mode, special, traces
from ..dispatch.launches import need
from ..engine import NATIVE_DEPTH, settle, walk, walks, watchers
from ..graph.collecting import exchange
from ..graph.edges import requires_grad
from ..graph.node import AccumulateGrad, Node
from ..graph.task import GraphTask
from ..modes.traced import mark
from ..native.handle import native
from ..tensors.tensor import Tensor
from .capture.capture import Trace
from .capture.tracing import tracing
from .execution.program import Program
from .ir.devices import copied
from .ir.ir import Value
from .live_graphs.likeness import collected, speller
from .live_graphs.turns import Pass, Turns, running, stand_in
from .nodes.values import refuse_in_body

__all__ = ["compiled_autograd"]

MOST_PROGRAMS = 64
HEAD = 5  # words that tell most kinds of passes apart
WORTH = 24  # nodes of a program that save as much time as the call of hooks in the middle of it takes


class LiveProgram:
    """What a pass through graphs of one spelling computes.

    Attributes:
        words: the spelling; it keeps what it names alive.
        program: None where such a pass is left to the engine.
        leaves: numbers of leaves, in the order in which they are settled, each with the number of the result that is its gradient,
            or None.
        turns: whether Python takes some.
        learned: layouts of what turns gave where that was not as expected; None before that has happened.
        reads: numbers of the values that nodes read behind the last turn.
    """

    def __init__(self, words: list, program: Program | None = None, leaves: tuple = (), turns: bool = False):
        self.words, self.program, self.leaves, self.turns = words, program, leaves, turns
        self.learned: dict | None = None
        self.reads: tuple[int, ...] = ()

    def forget(self, run: Pass) -> None:
        """A turn gave other layouts than expected: the next pass is captured for these, once."""
        self.program, self.learned = None, {} if self.learned is not None else run.layouts()


class Programs(threading.local):
    """The programs of a thread, and how many ``compiled_autograd`` it is in."""

    def __init__(self) -> None:
        self.depth = 0
        self.found: OrderedDict[tuple, list[LiveProgram]] = OrderedDict()

    def find(self, words: list) -> LiveProgram | None:
        """The program of a spelling."""
        for program in self.found.get((len(words), *words[:HEAD]), ()):
            if program.words == words:
                return program
        return None

    def keep(self, program: LiveProgram) -> None:
        """Keep a program; the oldest kinds go."""
        words = program.words
        self.found.setdefault((len(words), *words[:HEAD]), []).append(program)
        if len(self.found) > MOST_PROGRAMS:
            self.found.popitem(last=False)


programs = Programs()


class compiled_autograd:  # a context, named as a function
    """While it is entered, backward passes of this thread run as one native call each, from the second of their kind on.

    >>> import nbgrad
    >>> w = nbgrad.ones(3, requires_grad=True)
    >>> with nbgrad.jit.compiled_autograd():
    ...     for _ in range(3):
    ...         w.grad = None
    ...         (w * w).sum().backward()
    >>> w.grad
    tensor([2., 2., 2.])
    """

    def __enter__(self) -> compiled_autograd:
        if not programs.depth:
            walks.insert(1, compiled_walk)  # what watches passes stays in front of it
        programs.depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        programs.depth -= 1
        if not programs.depth:
            walks.remove(compiled_walk)


def compiled_walk(task: GraphTask, seeds: list, create_graph: bool, current: dict[str, Any], *ways: Any) -> None:
    """``walk`` of engine.py, by a program where there is one."""
    usual = walks[0]
    if create_graph or ways or not programs.depth or special or dual_levels or traces or watchers or len(seeds) != 1:
        return usual(task, seeds, create_graph, current, *ways)
    if usual is not walk:  # several streams
        return usual(task, seeds, create_graph, current)
    (edge, g), captures = seeds[0], task.captures
    if (
        not isinstance(edge, Node)
        or type(edge) is AccumulateGrad
        or edge._outputs_ != 1
        or g is None
        or g.layout.special
        or (captures is not None and not task.plain)
        or task.depth > NATIVE_DEPTH
    ):
        return walk(task, seeds, create_graph, current)
    nodes, leaves, words, values, turns, numbers = [edge], list[Tensor](), [g.layout], [g], list[Node](), {edge: 0}
    spell, free = speller()
    if not spell(numbers, nodes, leaves, words, values, turns):
        return walk(task, seeds, create_graph, current)
    live = programs.find(words)
    if live is None:
        live = captured_pass(nodes, leaves, words, values, turns)
        programs.keep(live)
    elif live.learned and live.program is None:
        live.__dict__.update(captured_pass(nodes, leaves, words, values, turns, live.learned).__dict__)
    if live.program is None or (live.turns and task.leading is not None):
        return walk(task, seeds, create_graph, current)
    edge = g = None
    del seeds[:]
    seen, task.seen = task.seen, numbers
    current_pass = Pass(nodes, leaves, task, values if live.turns else ())
    running.passes.append(current_pass)
    try:
        outs = live.program.assembled.run(*values)
        if outs is None or current_pass.overwritten(live.reads):
            outs, task.seen = None, seen
            if not current_pass.stale:
                live.forget(current_pass)
            return current_pass.finish(walk, values[0], current)
    finally:
        running.passes.pop()
    results = live.program.leaves(outs, values)
    outs = None
    values.clear()
    if not task.keep_graph:
        free(nodes if task.leading is None else [node for node in nodes if node in cast(Any, task.needed)])
    for number, place in live.leaves:
        if place is None:
            settle(leaves[number], None, task)
        else:
            settle(leaves[number], taken(results, place), task)
    return None


def taken(results: list, place: int) -> Tensor:
    """A result, which nobody else holds from here on unless it is another's too."""
    found: Tensor = results[place]
    results[place] = None
    return found


# ---- capture ---------------------------------------------------------------------------------------------------------


def captured_pass(
    nodes: list[Node], leaves: list[Tensor], words: list, values: list[Tensor], turns: list[Node], learned: dict | None = None
) -> LiveProgram:
    """The program of a pass that starts with ``values[0]`` at ``nodes[0]``; none where a graph cannot hold it, or it fails.

    Args:
        turns: the nodes that Python runs.
        learned: layouts of what turns gave in another pass.
    """
    live = LiveProgram(words)
    live.learned, left = learned, {id(node) for node in turns}
    for whole, pure in ways(nodes, turns):
        if WORTH * len(whole) > len(nodes):
            break
        try:
            with tracing() as active:
                taking = Turns(active, nodes, leaves, learned or {}, pure)
                traced_pass(active, taking, values, whole, left)
                if WORTH * taking.count > len(nodes):
                    break
                outs = [None if g is None else active.variables.value(g) for _, g in taking.waiting]
                graph = active.graph
                graph.outputs = [x for x in outs if x is not None]
            refuse_in_body(graph)
            live.program = Program(graph, graph.outputs)
        except Exception:  # whatever it is, a turn in Python or the engine says it in its own words
            continue
        places = iter(range(len(outs)))
        live.leaves = tuple(
            [(taking.numbers[id(leaf)], None if out is None else next(places)) for (leaf, _), out in zip(taking.waiting, outs)]
        )
        live.turns, live.reads = taking.count > 0, taking.segment()
        break
    return live


def ways(nodes: list[Node], turns: list[Node]) -> Iterator[tuple[set[int], bool]]:
    """What to try: the nodes that Python runs, and whether hooks that only compute are captured."""
    whole = {id(node) for node in turns}
    yield whole, True
    functions = {id(node) for node in nodes if isinstance(node._rule_, FunctionRule)}
    if functions - whole or any(node._meta_ is not None for node in nodes):
        yield whole | functions, False


def traced_pass(active: Trace, turns: Turns, values: list[Tensor], whole: set[int], left: set[int]) -> None:
    """The engine's pass with traced tensors for all that nodes keep: ``turns`` gets what arrives at leaves.

    Args:
        whole: identities of the nodes that Python runs; ``left``: of those that are not told of.
    """
    inputs = iter([own_input(active, x) for x in values])
    g, kept = next(inputs), list[tuple[Node, str, Any]]()
    nodes = turns.nodes
    task = GraphTask(True, [nodes[0]])
    enabled, mode.enabled = mode.enabled, False
    try:
        for number, node in enumerate(nodes):
            first = len(values) - length_hint(inputs)
            if type(node) is Node and id(node) not in whole:
                found: list[tuple[str, Any]] = []
                exchange(node, inputs, found)
                kept += [(node, *each) for each in found]
            elif id(node) not in left:
                lend(node, [next(inputs) for _ in collected(node)], kept)
            turns.reads[id(node)] = range(first, len(values) - length_hint(inputs))
            stand_in(number, node, id(node) in whole, turns.take, kept, turns.pure)
        watchers.append(turns)
        walk(task, [(nodes[0], g)], True, {})
    finally:
        if turns in watchers:
            watchers.remove(turns)
        mode.enabled = enabled
        for node, slot, value in reversed(kept):
            setattr(node, slot, value)


def lend(node: Node, values: list[Tensor], kept: list[tuple[Node, str, Any]]) -> None:
    """Have a node compute with other tensors in its turn.

    Args:
        kept: where what was there is added.
    """
    own = node._backward_
    kept.append((node, "_backward_", own))

    def backward(node: Node, g: Any, create_graph: bool) -> Any:
        node._backward_ = own
        return type(node).apply_with_saved(node, values, g)

    node._backward_ = backward


def own_input(active: Trace, x: Tensor) -> Tensor:
    """An input of the graph like a tensor, on memory that it shares with no other input."""
    need((x,))
    storage = copied(x._storage_)
    alone = native.tensor(x.layout.plain().template, storage, x._offset_, bool(requires_grad(x)), None)
    value = Value(x.layout.plain(), False)
    active.graph.inputs.append(value)
    active.variables.given.add(id(storage.array))
    active.variables.define(alone, value)
    return mark(alone)
