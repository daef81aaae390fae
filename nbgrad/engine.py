"""The backward pass. Knows nothing of derivatives: every node brings its ``backward``.

One walk from the roots counts for every node how many edges lead to it; then ready nodes run, AccumulateGrad first, the others
by highest sequence number, so that hooks run in an order that users can rely on. No recursion anywhere.

NOTE [Undefined]: an undefined gradient is None and travels as None; zeros are made at the last moment, by whoever needs them.

NOTE [Ownership]: ``buffers`` holds what nodes will receive. A sum that the engine made itself may be added to in place; a
tensor that came from a node, a hook or the caller is never written to.
"""
from __future__ import annotations

import sys
import threading
from heapq import heappop, heappush
from typing import Any, Iterable

from . import accumulate as accumulation
from .accumulate import accumulate
from .errors import ArgumentError, DeviceError, DTypeError, GradError, ShapeError
from .grad_mode import mode
from .graph import AccumulateGrad, Edge, Node, freed_backward
from .layout import Layout
from .tensor import Tensor, new_meta

__all__ = ["run_backward", "validate_gradient"]


class PassState(threading.local):
    """What the running pass of this thread shows to introspection: the node, the pass's number, its callbacks."""

    node: Node | None = None
    task: int = -1
    depth: int = 0
    callbacks: list | None = None
    keep_graph: bool = False
    multithreading: bool = True


state = PassState()
_tasks = iter(range(1 << 62))
Target = Any            # where an edge leads: a Node, or the leaf itself


class Captures:
    """Where ``inputs`` ask for gradients: ``{node: {output number: [positions]}}``, and what arrived."""

    __slots__ = ("wanted", "values")

    def __init__(self, count: int):
        self.wanted: dict[Target, dict[int, list[int]]] = {}
        self.values: list[Tensor | None] = [None] * count


def count_edges(roots: Iterable[Target]) -> dict[Target, int]:
    """How many edges of the graph below ``roots`` lead to each node."""
    counts = dict.fromkeys(roots, 0)
    stack = [root for root in counts if not isinstance(root, Tensor)]
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                if type(edge) is not Node:
                    edge = target(edge)
                seen = counts.get(edge)
                if seen is None:
                    counts[edge] = 1
                    if not isinstance(edge, Tensor):
                        stack.append(edge)
                else:
                    counts[edge] = seen + 1
    return counts


def target(edge):
    """What an edge leads to: a node, or a leaf (through its AccumulateGrad, if that has been made)."""
    if type(edge) is Edge:
        return edge.node
    return edge.variable if type(edge) is AccumulateGrad else edge


def nodes_needed(roots: Iterable[Target], wanted: Iterable[Target]) -> set[Node]:
    """The nodes on a path from ``roots`` to a wanted node, those at its end excepted unless they lie on another path."""
    needed: set[Node] = set()
    wanted = set(wanted)
    seen: set[Node] = set()
    stack: list[tuple[Target, bool]] = [(root, False) for root in roots]
    while stack:
        node, done = stack.pop()
        if done:
            for edge in node.edges:
                below = target(edge)
                if below is not None and (below in needed or below in wanted):
                    needed.add(node)
                    break
        elif node not in seen and not isinstance(node, Tensor):
            seen.add(node)
            stack.append((node, True))
            for edge in node.edges:
                below = target(edge)
                if below is not None and below not in seen:
                    stack.append((below, False))
    return needed


def run_backward(seeds: list[tuple[Any, Tensor | None]], keep_graph: bool, create_graph: bool,
                 captures: Captures | None = None) -> None:
    """Send cotangents from the seeds' edges to the leaves.

    Args:
        seeds: ``(edge, cotangent)``; the cotangents have been validated.
        keep_graph: keep saved tensors for another pass.
        create_graph: record the pass itself.
        captures: collect gradients there; only nodes that lead to them run. None: accumulate into all leaves.
    """
    previous = mode.enabled, state.node, state.task, state.callbacks, state.keep_graph
    mode.enabled, state.task, state.keep_graph = create_graph, next(_tasks), keep_graph
    callbacks: list = []
    state.callbacks = callbacks
    state.depth += 1
    if state.depth > 1:
        make_room(state.depth)
    try:
        walk(seeds, keep_graph, create_graph, captures)
        while callbacks:
            callbacks.pop(0)()
    finally:
        mode.enabled, state.node, state.task, state.callbacks, state.keep_graph = previous
        state.depth -= 1


FRAMES_A_PASS = 16


def make_room(depth: int) -> None:
    """Let passes nest 2,000 deep and more: each level of a re-entrant pass is some of Python's frames."""
    wanted = 1000 + FRAMES_A_PASS * depth
    if sys.getrecursionlimit() < wanted:
        sys.setrecursionlimit(wanted + 1000)


def walk(seeds: list[tuple[Any, Tensor | None]], keep_graph: bool, create_graph: bool, captures: Captures | None) -> None:
    """The loop. Long for one reason: it is the state machine of the pass."""
    nodes = [target(edge) for edge, _ in seeds]
    counts = count_edges(nodes)
    wanted: Any = None if captures is None else captures.wanted
    needed: Any = None if captures is None else nodes_needed(dict.fromkeys(nodes), wanted)
    buffers: dict[Target, Any] = {}
    owned: set[Target] = set()
    heap: list[tuple[int, int, Target]] = []
    grads: Any
    ties = 0
    for edge, g in seeds:
        add_to_buffer(buffers, owned, edge, g, create_graph)
    edge = g = None
    del seeds[:]
    leaves: list[Tensor] = []
    for node in dict.fromkeys(nodes):
        if counts[node] == 0:
            if isinstance(node, Tensor):
                settle(node, buffers.pop(node, None), captures)
            else:
                ties += 1
                heappush(heap, (-node.seq, ties, node))
    del nodes
    current = state.__dict__        # this thread's; one look-up a pass instead of one a node
    plain = needed is None
    while heap:
        node = heappop(heap)[2]
        g = buffers.pop(node, None)
        # A chain runs in the inner loop, its cotangent in `g`: what becomes ready alone need not go through the heap.
        while node is not None:
            # A pass that captures runs a plain node between roots and inputs in the same way: only ends and hooks are special.
            if node.meta is None and (plain or (node in needed and node not in wanted)):
                current["node"] = node
                g = node.backward(node, g, create_graph) if g is not None or node.rule.takes_undefined else None
            else:
                g = run_special(node, g, create_graph, needed, captures)
            edges = node.edges
            if not keep_graph and node.rule.frees and (plain or node in needed):
                node.s0 = node.s1 = node.s2 = node.attrs = None
                node.backward = freed_backward
            if len(edges) == 1:
                below = edges[0]
                if type(below) is Node and counts[below] == 1 and below.outputs == 1 and not heap and below not in buffers:
                    node = below
                    continue
                grads = (g,)
            else:
                grads = NOTHING * len(edges) if g is None else g
            g = node = value = None
            for edge, value in zip(edges, grads):
                if type(edge) is Node:
                    below = edge
                    if value is not None:
                        if below in buffers or below.outputs != 1:
                            add_to_buffer(buffers, owned, below, value, create_graph)
                        else:
                            buffers[below] = value
                elif edge is None:
                    continue
                else:
                    below = target(edge)
                    if isinstance(below, Tensor):
                        if value is not None:
                            if below in buffers:
                                add_to_buffer(buffers, owned, below, value, create_graph)
                            else:
                                buffers[below] = value
                        left = counts[below] - 1
                        counts[below] = left
                        if left == 0:
                            leaves.append(below)
                        continue
                    if value is not None:
                        add_to_buffer(buffers, owned, edge, value, create_graph)
                left = counts[below] - 1
                if left:
                    counts[below] = left
                elif node is None:
                    node = below
                else:
                    ties += 1
                    heappush(heap, (-below.seq, ties, below))
            grads = value = edge = below = None
            for leaf in leaves:
                settle(leaf, buffers.pop(leaf, None), captures)
            leaves.clear()
            if node is not None:
                if heap and -heap[0][0] > node.seq:
                    ties += 1
                    heappush(heap, (-node.seq, ties, node))
                    break
                g = buffers.pop(node, None)


NOTHING = (None,)


def settle(leaf: Tensor, g: Tensor | None, captures: Captures | None) -> None:
    """A leaf whose gradient is complete: accumulate it, or capture it where it is wanted. Nobody else holds ``g``."""
    if captures is None:
        meta = leaf.meta
        if meta is None or (meta.hooks is None and meta.accumulator is None):
            accumulate(leaf, g)
            return
    elif leaf not in captures.wanted:
        return
    run_leaf(leaf, g, captures)


def add_to_buffer(buffers: dict, owned: set, edge, g: Tensor | None, create_graph: bool) -> None:
    """Add ``g`` to what the node behind ``edge`` will receive."""
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (target(edge), 0)
    if not isinstance(node, Tensor) and node.outputs != 1:
        slots = buffers.get(node)
        if slots is None:
            slots = buffers[node] = [None] * node.outputs
        slots[nr] = g if slots[nr] is None else accumulation.ADD(slots[nr], g)
        return
    held = buffers.get(node)
    if held is None:
        buffers[node] = g
    elif g is not None:
        if node in owned and not create_graph and held.layout is g.layout:
            accumulation.add_into(held, g)
        else:
            buffers[node] = accumulation.ADD(held, g)
            owned.add(node)


# ---- nodes with hooks, captures ------------------------------------------------------------------------------------

def run_special(node: Node, g, create_graph: bool, needed: Any, captures: Captures | None):
    """Run a node that has hooks, or in a pass that captures: hooks, capture, pre-hooks, the node, post hooks."""
    if captures is not None and node not in needed and node not in captures.wanted:
        return None
    grads = list(g) if node.outputs != 1 and g is not None else [g] * 1 if node.outputs == 1 else [None] * node.outputs
    meta = node.meta
    state.node = node
    if meta is not None:
        run_tensor_hooks(node, grads)
    if captures is not None and node in captures.wanted:
        for nr, positions in captures.wanted[node].items():
            for position in positions:
                captures.values[position] = grads[nr]
    if meta is not None:
        for nr, reference in meta.retains.items():
            retain(reference(), grads[nr])
    if needed is not None and node not in needed:
        return None
    if meta is not None and meta.pre_hooks:
        for hook in tuple(meta.pre_hooks.values()):
            changed = hook(tuple(grads))
            if changed is not None:
                grads = list(as_tuple("pre-hook", changed, len(grads)))
    if all(x is None for x in grads) and not node.rule.takes_undefined:
        results = None
    else:
        results = node.backward(node, grads[0] if node.outputs == 1 else grads, create_graph)
    if meta is not None and meta.post_hooks:
        results = run_post_hooks(node, results, tuple(grads))
    return results


def run_post_hooks(node: Node, results, grads: tuple):
    """Call the node's hooks with a gradient for every operand, also for those that need none."""
    count = len(node.edges)
    inputs = (None,) * count if results is None else (results,) if count == 1 else tuple(results)
    places = node.rule.places(node)
    if places is not None:
        total, positions = places
        spread: list = [None] * total
        for position, value in zip(positions, inputs):
            spread[position] = value
        inputs = tuple(spread)
    for hook in tuple(node.meta.post_hooks.values()):
        changed = hook(inputs, grads)
        if changed is not None:
            inputs = as_tuple("hook", changed, len(inputs))
    if places is not None:
        inputs = tuple(inputs[position] for position in positions)
    return inputs[0] if count == 1 else inputs


def run_tensor_hooks(node: Node, grads: list) -> None:
    """Call the hooks of every output, in order of output and registration."""
    for nr, hooks in node.meta.tensor_hooks.items():
        for hook in tuple(hooks.values()):
            grads[nr] = call_tensor_hook(hook, grads[nr])


def call_tensor_hook(hook, g):
    """One tensor hook: what it returns replaces the gradient.

    Raises:
        ArgumentError: it returned something that is neither a tensor nor None.
        GradError: it changed the size or the dtype.
    """
    changed = hook(g)
    if changed is None:
        return g
    if not isinstance(changed, Tensor):
        raise ArgumentError(f"tensor hook: expected a Tensor or None to be returned, got {type(changed).__name__}.")
    if g is not None and (changed.layout.shape != g.layout.shape or changed.layout.dtype is not g.layout.dtype):
        raise GradError(f"tensor hook: returned {describe(changed.layout)}, expected {describe(g.layout)}.")
    return changed


def as_tuple(what: str, value, count: int) -> tuple:
    """A hook's replacement, checked."""
    if count == 1 and isinstance(value, Tensor):
        return (value,)
    if not isinstance(value, tuple):
        raise ArgumentError(f"node {what}: expected a tuple of {count} gradients or None, got {type(value).__name__}.")
    if len(value) != count:
        raise GradError(f"node {what}: returned {len(value)} gradients, expected {count}.")
    return value


def retain(tensor: Tensor | None, g: Tensor | None) -> None:
    """Add to the gradient that a non-leaf keeps."""
    if tensor is None or g is None:
        return
    meta = tensor.meta = tensor.meta or new_meta()
    meta.grad = accumulation.CLONE(g) if meta.grad is None else accumulation.ADD(meta.grad, g)


def run_leaf(leaf: Tensor, g: Tensor | None, captures: Captures | None) -> None:
    """A leaf with hooks, or one whose gradient is captured."""
    if leaf.meta is not None and leaf.meta.hooks:
        for hook in tuple(leaf.meta.hooks.values()):
            g = call_tensor_hook(hook, g)
    if captures is not None:
        for position in captures.wanted[leaf].get(0, ()):
            captures.values[position] = g
        return
    node = leaf.meta.accumulator() if leaf.meta is not None and leaf.meta.accumulator is not None else None
    meta = None if node is None else node.meta
    if meta is not None:
        for hook in tuple(meta.pre_hooks.values()):
            changed = hook((g,))
            if changed is not None:
                g, = as_tuple("pre-hook", changed, 1)
    accumulate(leaf, g)
    if meta is not None:
        for hook in tuple(meta.post_hooks.values()):
            hook((), (g,))


# ---- gradients from outside ----------------------------------------------------------------------------------------

def describe(layout: Layout) -> str:
    """dtype, shape and device for messages."""
    device = "" if layout.device.type == "cpu" else f" on {layout.device}"
    return f"{layout.dtype.name} {list(layout.shape)}{device}"


def validate_gradient(who: str, g: Tensor, expected: Layout) -> Tensor:
    """A gradient made by user code, fitted to the tensor that it belongs to.

    A shape that broadcasting could have made is summed down; another dtype is cast.

    Raises:
        ShapeError, DTypeError, DeviceError: it cannot belong to that tensor.
    """
    if g.layout.shape == expected.shape and g.layout.dtype is expected.dtype and g.layout.device is expected.device:
        return g
    if g.layout.device is not expected.device:
        raise DeviceError(f"{who}: returned a gradient on {g.layout.device}, expected {expected.device}.")
    if g.layout.dtype.is_complex and not expected.dtype.is_complex:
        raise DTypeError(f"{who}: returned a complex gradient for a real tensor. Hint: return its real part.")
    if not broadcasts(expected.shape, g.layout.shape):
        raise ShapeError(f"{who}: returned a gradient of shape {list(g.layout.shape)}, expected {list(expected.shape)}.")
    from .dispatch import fit
    fitted: Any = fit(g, expected.shape, expected.dtype)
    return fitted


def broadcasts(small: tuple, large: tuple) -> bool:
    """Whether ``small`` expands to ``large``."""
    return len(small) <= len(large) and all(s in (1, t) for s, t in zip(reversed(small), reversed(large)))




# ---- introspection -------------------------------------------------------------------------------------------------

def queue_callback(callback) -> None:
    """Call ``callback()`` when the outermost running pass of this thread has ended.

    Raises:
        GradError: no pass is running.
    """
    if state.callbacks is None:
        raise GradError("queue_callback: no backward pass is running in this thread.")
    state.callbacks.append(callback)


def current_graph_task_id() -> int:
    """The number of the running pass of this thread; -1 outside."""
    return state.task if state.depth else -1


def current_autograd_node() -> Node | None:
    """The node that is being run in this thread; None outside."""
    return state.node if state.depth else None


class set_multithreading_enabled:       # torch's name
    """Allow or forbid backward to use several threads: kept for compatibility, passes run in the caller's thread."""

    def __init__(self, enabled: bool):
        self.before, state.multithreading = state.multithreading, bool(enabled)

    def __enter__(self) -> None:
        """The mode was set by the call."""

    def __exit__(self, *error: object) -> None:
        state.multithreading = self.before


def is_multithreading_enabled() -> bool:
    """What ``set_multithreading_enabled`` set; True by default."""
    return state.multithreading
