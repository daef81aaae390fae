"""Compiled autograd: a pass through a live graph is captured once, and one native call for every graph that is alike.

NOTE [Live graphs]: a graph is spelled (native/surveys.py): rules, plans, edges, and of what nodes keep the layouts. What is spelled
alike computes alike. The first pass of its kind is captured: nodes are given traced tensors in the place of what they keep, and the
engine runs as ever. The program's inputs are saved values and the root's cotangent, its results what arrives at leaves; these are
settled by the engine's own function, with their hooks, for ``inputs=``, and in its order.

Hooks of nodes are part of the program where they can only compute, and are called in the middle of it, in the engine's order, where
they may do more (live_hooks.py); where that happens too often to be worth it, the pass is the engine's.

Left to the engine: passes that are recorded or return gradients of results of operations; nodes of custom Functions, of what was
freed, written to, or kept behind hooks; special modes. Nothing that such a pass does is different.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cache
from typing import Any, Callable, Iterator

from ..base.grad_mode import dual_levels, mode, special, traces
from ..engine import settle, walk, walks, watchers
from ..graph.edges import requires_grad
from ..graph.node import AccumulateGrad, Edge, Node, saved_values
from ..graph.saved import Guarded, freed_backward, tensors_in, with_tensors
from ..graph.task import GraphTask, target
from ..modes.traced import mark
from ..native.handle import native
from ..tensors.storage import wrap_array
from ..tensors.tensor import Tensor
from .capture import Trace, tracing
from .ir import Value
from .live_hooks import HOOKS, running, spell_hooks, stand_in_hooks
from .program import Program
from .values import refuse_in_body

__all__ = ["compiled_autograd"]

MOST_PROGRAMS = 64
WORTH = 24  # nodes of a program that save as much time as the call of hooks in the middle of it takes


class LiveProgram:
    """What a pass through graphs of one spelling computes.

    Attributes:
        words: the spelling; it keeps what it names alive.
        program: None where such a pass is left to the engine.
        leaves: numbers of leaves, in the order in which they are settled, each with the number of the result that is its gradient,
            or None.
    """

    def __init__(self, words: list, program: Program | None = None, leaves: tuple = ()):
        self.words, self.program, self.leaves = words, program, leaves


class Programs(threading.local):
    """The programs of a thread, and how many ``compiled_autograd`` it is in."""

    def __init__(self) -> None:
        self.depth = 0
        self.found: OrderedDict[tuple, list[LiveProgram]] = OrderedDict()

    def find(self, words: list) -> LiveProgram | None:
        """The program of a spelling."""
        for program in self.found.get((len(words), *words[:3]), ()):
            if program.words == words:
                return program
        return None

    def keep(self, program: LiveProgram) -> None:
        """Keep a program; the oldest kinds go."""
        words = program.words
        self.found.setdefault((len(words), *words[:3]), []).append(program)
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
            walks.append(compiled_walk)
        programs.depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        programs.depth -= 1
        if not programs.depth:
            walks.remove(compiled_walk)


def compiled_walk(task: GraphTask, seeds: list, create_graph: bool, current: dict[str, Any], *ways: Any) -> None:
    """``walk`` of engine.py, by a program where there is one."""
    if create_graph or ways or not programs.depth or special or dual_levels or traces or watchers or len(seeds) != 1:
        return walk(task, seeds, create_graph, current, *ways)
    (edge, g), captures = seeds[0], task.captures
    if (
        not isinstance(edge, Node)
        or type(edge) is AccumulateGrad
        or edge._outputs_ != 1
        or g is None
        or g.layout.special
        or (captures is not None and not task.plain)
    ):
        return walk(task, seeds, create_graph, current)
    nodes, leaves, words, values = [edge], list[Tensor](), [g.layout], [g]
    spell, free = speller()
    if not spell({edge: 0}, nodes, leaves, words, values):
        return walk(task, seeds, create_graph, current)
    live = programs.find(words)
    if live is None:
        live = captured_pass(nodes, leaves, words, values)
        programs.keep(live)
    if live.program is None:
        return walk(task, seeds, create_graph, current)
    edge = g = None
    del seeds[:]
    running.passes.append(nodes)
    try:
        results = live.program.run(values)
    finally:
        running.passes.pop()
    values.clear()
    if not task.keep_graph:
        free(nodes)
    task.seen = dict.fromkeys((*nodes, *leaves), 1)
    settled = [(leaves[number], place) for number, place in live.leaves]
    for leaf, place in settled:
        if place is None:
            settle(leaf, None, task)
        else:
            settle(leaf, taken(results, place), task)
    return None


def taken(results: list, place: int) -> Tensor:
    """A result, which nobody else holds from here on unless it is another's too."""
    found: Tensor = results[place]
    results[place] = None
    return found


@cache
def speller() -> tuple[Callable, Callable]:
    """``spell`` and ``free``: see ``Speller`` of native/surveys.py."""
    made: tuple[Callable, Callable] = native.speller(
        AccumulateGrad, parts_of, freed_backward, spell_hooks, spell_other, spell_attributes, spelled, -1
    )
    return made


def spell_other(node: Node, words: list, values: list) -> bool:
    """The spelling of what a node of another class than Node itself keeps."""
    if node._attrs_ is not None and not spell_attributes(node._attrs_, words, values):
        return False
    for k, value in enumerate(saved_values(node)):
        if isinstance(value, Tensor):
            if value.layout.special or value._storage_.version is not getattr(node, f"_v{k}_"):
                return False
            words.append(value.layout)
            values.append(value)
        else:
            words.append(None if value is None else spelled(value))
            if value is not None and words[-1] is None:
                return False
    return True


def parts_of(edge: Any) -> tuple[Any, Any]:
    """Node or leaf behind an edge that is no node itself, and a key for which of its results is meant."""
    return (edge.node, ("result", edge.nr)) if type(edge) is Edge else (target(edge), "leaf")


def spell_attributes(value: Any, words: list, values: list) -> bool:
    """The spelling of a node's other arguments, tensors among them; False where there is none."""
    if type(value) is not Guarded:
        words.append(spelled(value))
        return words[-1] is not None
    if value.versions is None or any(x._storage_.version is not version or x.layout.special for x, version in value.versions):
        return False
    words.append(spelled({name: with_tensors(x, lambda x: x.layout, Tensor) for name, x in value.attributes.items()}))
    values += tensors_in(value.attributes.values())
    return words[-1] is not None


def spelled(value: Any) -> Any:
    """A key that equal values share, of numbers, strings and sequences of them; None of others."""
    kind = type(value)
    if kind is float or kind is complex:
        return kind, repr(value)
    if kind in (int, bool, str) or value is None:
        return kind, value
    if kind in (tuple, list):
        parts = tuple([spelled(each) for each in value])
        return None if any(part is None for part in parts) else (kind, parts)
    if kind is dict:
        return spelled(tuple(value.items()))
    return value if kind.__name__ in ("DType", "Layout", "Device") else None


# ---- capture ---------------------------------------------------------------------------------------------------------


class Settled:
    """Who sees what a pass brings to leaves, in the place of the engine's ``settle``."""

    def __init__(self) -> None:
        self.found: list[tuple[Tensor, Tensor | None]] = []

    def watch(self, run: Callable, settle: Callable) -> tuple[Callable, Callable]:
        """See ``watchers`` of engine.py."""
        return run, self.settle

    def settle(self, leaf: Tensor, g: Tensor | None, task: GraphTask) -> None:
        """Note the gradient of a leaf."""
        self.found.append((leaf, g))


def captured_pass(nodes: list[Node], leaves: list[Tensor], words: list, values: list[Tensor]) -> LiveProgram:
    """The program of a pass that starts with ``values[0]`` at ``nodes[0]``; none where a graph cannot hold it, or it fails."""
    try:
        with tracing() as active:
            found = traced_pass(active, nodes, values)
            numbers = {id(leaf): number for number, leaf in enumerate(leaves)}
            outs = [None if g is None else active.variables.value(g) for _, g in found]
            graph = active.graph
            graph.outputs = [x for x in outs if x is not None]
        refuse_in_body(graph)
    except Exception:  # whatever it is, the engine says it in its own words
        return LiveProgram(words)
    if WORTH * len([node for node in graph.nodes if node.op is HOOKS]) > len(nodes):
        return LiveProgram(words)
    places = iter(range(len(outs)))
    order = tuple([(numbers[id(leaf)], None if out is None else next(places)) for (leaf, _), out in zip(found, outs)])
    return LiveProgram(words, Program(graph, graph.outputs), order)


def traced_pass(active: Trace, nodes: list[Node], values: list[Tensor]) -> list[tuple[Tensor, Tensor | None]]:
    """The engine's pass with traced tensors for all that nodes keep: what arrives at leaves."""
    inputs = iter([own_input(active, x) for x in values])
    g, kept = next(inputs), list[tuple[Node, str, Any]]()
    settled, task = Settled(), GraphTask(True, [nodes[0]])
    enabled, mode.enabled = mode.enabled, False
    try:
        for number, node in enumerate(nodes):
            exchange(node, inputs, kept)
            if node._meta_ is not None:
                kept.append((node, "_meta_", node._meta_))
                node._meta_ = stand_in_hooks(active, number, node._meta_)
        watchers.append(settled)
        walk(task, [(nodes[0], g)], True, {})
    finally:
        if settled in watchers:
            watchers.remove(settled)
        mode.enabled = enabled
        for node, slot, value in kept:
            setattr(node, slot, value)
    return settled.found


def exchange(node: Node, inputs: Iterator[Tensor], kept: list[tuple[Node, str, Any]]) -> None:
    """Give a node other tensors in the place of those that it keeps, in the order in which they are spelled.

    Args:
        kept: where what was there is added, by node and slot.
    """

    def put(slot: str, value: Any) -> None:
        kept.append((node, slot, getattr(node, slot)))
        setattr(node, slot, value)

    attributes = node._attrs_
    if type(attributes) is Guarded:
        made = {name: with_tensors(x, lambda _: next(inputs), Tensor) for name, x in attributes.attributes.items()}
        put("_attrs_", Guarded(attributes.op, made, tensors_in(made.values())))
    for k, value in enumerate(saved_values(node)):
        if isinstance(value, Tensor):
            x = next(inputs)
            put(f"_s{k}_", x)
            put(f"_v{k}_", x._storage_.version)


def own_input(active: Trace, x: Tensor) -> Tensor:
    """An input of the graph like a tensor, on memory that it shares with no other input."""
    storage = wrap_array(x._storage_.array.copy())
    alone = native.tensor(x.layout.plain().template, storage, x._offset_, bool(requires_grad(x)), None)
    value = Value(x.layout.plain(), False)
    active.graph.inputs.append(value)
    active.variables.given.add(id(storage.array))
    active.variables.define(alone, value)
    return mark(alone)
