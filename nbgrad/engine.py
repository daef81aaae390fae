"""The backward pass. Knows nothing of derivatives: every node brings its ``backward``.

One walk from the roots counts for every node how many edges lead to it; then ready nodes run, AccumulateGrad first, the others
by highest sequence number, so that hooks run in an order that users can rely on. No recursion anywhere.

NOTE [Undefined]: an undefined gradient is None and travels as None; zeros are made at the last moment, by whoever needs them.

NOTE [Ownership]: ``buffers`` holds what nodes will receive. A native step adds in place where it can tell that nobody else has the
tensor, its storage or its array, and the memory is the array's own; anything else is never written to.

NOTE [Parts]: where a pass is about some inputs alone, the cotangents of operands that lead to none of them are no part of its
result. The nodes that have such operands beside others are found with the nodes that run; their rules give a ``backward`` of the
part that is wanted, generated from the same declaration (``Rule.parts``): nothing is computed, checked for NaN or refused for the
others, and hooks see None for them. ``x @ w`` of which only ``w`` is wanted costs one product instead of two. What leads to none of
the inputs is not even visited.

NOTE [Grad mode of a pass]: whether a pass is recorded is one thing for all of it. Whoever calls user code in a pass (hooks here,
``backward`` of Functions, unpack hooks, overriding types) puts the mode back afterwards; nobody else looks, so that ordinary nodes
pay nothing for it. So it is with the current GPU and streams, of hooks and Functions, and of the pass for all else.
"""

from __future__ import annotations

from functools import cache, partial
from heapq import heappop, heappush, heappushpop
from logging import DEBUG
from typing import Any, Callable

from . import accumulate as accumulation
from .accumulate import accumulate
from .base.calls import CALLS
from .base.errors import ArgumentError, DeviceError, DTypeError, GradError, ShapeError
from .base.grad_mode import dispatch_modes, dual_levels, mode, special, traces
from .base.stack_room import StackRoom
from .graph.cotangents import broadcasts, fit, plus
from .graph.edges import AccumulateGrad, Edge, Node, grad_dtype_of
from .graph.hooks import LeafHooks
from .graph.node import by_operand
from .graph.saved import freed_backward
from .graph.saved_hooks import hooks_entered, leave_hooks
from .graph.task import LOG, GradientCaptures, GraphTask, Target, count_edges, hooks_at_rest, log_nodes, state, target
from .tensors.choices import chosen, opened, put_back
from .tensors.layout import Layout
from .tensors.storage import LENT, wrap_array
from .tensors.tensor import Tensor, meta_of, native

__all__ = ["run_backward", "validate_gradient", "owned", "fresh_copy", "state"]


def run_backward(
    seeds: list[tuple[Any, Tensor | None]],
    keep_graph: bool,
    create_graph: bool,
    captures: GradientCaptures | None = None,
    only: set[Target] | None = None,
) -> None:
    """Send cotangents from the seeds' edges to the leaves.

    Args:
        seeds: ``(edge, cotangent)``; the cotangents have been validated.
        keep_graph: keep saved tensors for another pass.
        create_graph: record the pass itself.
        captures: collect gradients there; only nodes that lead to them run. None: accumulate into leaves.
        only: the leaves to accumulate into, and the last nodes to run; None: all.
    """
    current = state.__dict__  # this thread's; one look-up a pass instead of one an access
    enabled, node, outer = mode.enabled, current.get("node"), current.get("task")
    task = GraphTask(keep_graph, [edge if type(edge) is Node else target(edge) for edge, _ in seeds])
    if captures is not None:
        task.capture(captures)
    elif only is not None:
        task.accumulate_only(only)
    if outer is not None:
        task.depth = outer.depth + 1
    for trace in tuple(traces):
        trace.note_pass()
    unregister = log_nodes(task.roots) if LOG.isEnabledFor(DEBUG) else None
    entered = hooks_entered()
    before = chosen() if opened else None
    raised = outer is not None and ROOM.take(1000 + FRAMES_A_PASS * task.depth)
    mode.enabled, current["task"] = create_graph, task
    try:
        # Kernels know no tangents, captured graphs, modes beneath the gradients: meanwhile nodes evaluate their formulas by calls.
        walks[-1](task, seeds, create_graph or bool(dual_levels or traces or dispatch_modes), current)
        if task.callbacks is not None:
            current["node"] = None
            for callback in task.callbacks:  # a callback may queue another
                callback()
    finally:
        mode.enabled, current["node"], current["task"] = enabled, node, outer
        if special:
            leave_hooks(entered)  # saved-tensor hooks that user code of the pass entered and did not leave
        if before is not None:
            put_back(before)
        if unregister is not None:
            unregister()
        if raised:
            ROOM.give_back()


ROOM, FRAMES_A_PASS = StackRoom(), 16  # passes nest 2,000 deep and more: each level of a re-entrant pass is some of Python's frames
NATIVE_DEPTH = 100  # passes nested deeper take Python's steps: these call each other on the heap, not on the thread's stack


def walk(
    task: GraphTask,
    seeds: list[tuple[Any, Tensor | None]],
    create_graph: bool,
    current: dict[str, Any],
    run: Callable | None = None,
    checks: tuple = (),
    turns: Callable | None = None,
    settle_leaf: Callable | None = None,
) -> None:
    """The loop: which node comes next. What a node does in its turn is a *step*, see ``steps``.

    Args:
        run: runs nodes that are not plain, with the arguments of ``run_special``, and all nodes while there are watchers.
        checks: the arguments of ``steps``, or of ``turns``, which is asked in its place.
        settle_leaf: does what ``settle`` does.
    """
    nodes, frees, plain, parts = task.roots, not task.keep_graph, task.plain, task.parts
    needed: Any = task.needed
    wanted: Any = task.wanted
    counts = task.seen = task.seen or count_edges(nodes)
    buffers: dict[Target, Any] = {}
    work = current, counts, buffers, create_graph, frees, parts, task.leading
    heap: list[tuple[int, int, Target]] = []
    ties = 0
    settle_leaf = settle_leaf or settle
    for watcher in watchers[:]:
        run, settle_leaf = watcher.watch(run or run_as_walk_does, settle_leaf)
    node = nodes[0] if len(nodes) == 1 else None
    if isinstance(node, Node) and node._outputs_ == 1:  # nearly always
        buffers[node] = seeds.pop()[1]
    else:
        for edge, g in seeds:
            add_to_buffer(buffers, edge, g)
        edge = g = None
        del seeds[:]
        for node in dict.fromkeys(nodes):
            if counts[node] == 0:
                if isinstance(node, Tensor):
                    settle_leaf(node, buffers.pop(node, None), task)
                else:
                    ties += 1
                    heappush(heap, (-node._seq_, ties, node))
        node = None
    if watchers:  # no node is plain: those that run are all in `wanted` of the test below
        plain, needed, wanted = False, counts if needed is None else needed, counts
    run = run or run_special
    if turns is None:
        turns = partial(steps, seen=True) if dispatch_modes else steps
    step, send_on, _ = turns(*checks) if task.depth <= NATIVE_DEPTH else turns(*checks, nested=True)
    while node is not None or heap:
        if node is None:
            node = heappop(heap)[2]
        while node is not None:  # what becomes ready alone need not go through the heap
            # A pass that captures runs a plain node between roots and inputs in the same way: only ends and hooks are special.
            if node._meta_ is None and (plain or (node in needed and node not in wanted)):
                ready = step(work, node)
            else:
                g = run(node, buffers.pop(node, None), create_graph, task)
                ready = send_on(work, node, g, frees and (plain or node in needed))
                g = None
            if isinstance(ready, Node):
                node = ready
            else:
                node = None
                for below in ready:
                    if isinstance(below, Tensor):
                        settle_leaf(below, buffers.pop(below, None), task)
                    elif node is None:
                        node = below
                    else:
                        ties += 1
                        heappush(heap, (-below._seq_, ties, below))
                if node is None:
                    break
            if heap and -heap[0][0] > node._seq_:
                ties += 1
                node = heappushpop(heap, (-node._seq_, ties, node))[2]


def backward_of(node: Node, parts: dict[Node, Callable] | None) -> Callable:
    """The ``backward`` of a node, or of the part of it that the pass is about: NOTE [Parts]."""
    return node._backward_ if parts is None or node._backward_ is freed_backward else parts.get(node, node._backward_)


def hooked_meanwhile(node: Node, results, g):
    """The results of a node that was given hooks while it ran, by its own formula or by who unpacks saved tensors: they run now."""
    if not node._meta_.post_hooks:
        return results
    enabled, grads = mode.enabled, [g] if node._outputs_ == 1 else g or [None] * node._outputs_
    before = chosen() if opened else None
    results = run_post_hooks(node, results, tuple(map(owned, grads)))
    mode.enabled = enabled
    if before is not None:
        put_back(before)
    return results


def receive(work: tuple, edge: Any, g: Tensor | None) -> Target:
    """Add ``g`` to what is behind an edge; returns the node or leaf there, None if the pass does not come to it."""
    _, _, buffers, create_graph, _, _, leading = work
    below = target(edge)
    if leading is not None and not leading.get(below):
        return None
    if g is not None:
        add_to_buffer(buffers, edge, g)
    return below


@cache
def steps(
    check: Callable | None = None, complain: Callable | None = None, nested: bool = False, seen: bool = False
) -> tuple[Callable, ...]:
    """``advance``, a node's turn in a pass, and its halves, ``send`` and ``run``: see ``Steps`` of native/steps.py.

    Args:
        check, complain: ``check(grads)`` is asked about the results of every node; whatever it finds but None,
            ``complain(node, found)`` raises an error about.
        nested: for passes inside of many others: the functions as they are, which need none of the thread's stack.
        seen: a mode beneath the gradients is to see sums of cotangents: none is added in place.
    """
    add = CALLS["add"]
    sums: tuple = ({}, add, add) if seen else (accumulation.sum_plans, add, accumulation.plan_sum)
    return native.steps(AccumulateGrad, freed_backward, receive, *sums, check, complain, hooked_meanwhile, compiled=not nested)


# What runs a pass is the last of these: anomaly mode adds its own while it watches. All of them end in the first one, in the place
# of which a program with several streams has its own (autograd/stream_walk.py).
walks: list[Callable] = [walk]

# Who wants to see every node and leaf run, asked once a pass: ``watch(run, settle) -> (run, settle)``, each in the other's place.
watchers: list[Any] = []


def run_as_walk_does(node: Node, g, create_graph: bool, task: GraphTask):
    """What ``walk`` does with a node: run it right here, if it is a plain one."""
    if node._meta_ is None and (task.needed is None or (node in task.needed and node not in task.wanted)):
        state.node = node
        return steps()[2](node, g, create_graph, task.parts)
    return run_special(node, g, create_graph, task)


def settle(leaf: Tensor, g: Tensor | None, task: GraphTask) -> None:
    """A leaf whose gradient is complete: accumulate it, or capture it where it is wanted. Nobody else holds ``g``."""
    meta, captures = leaf._meta_, task.captures
    if captures is None:
        if task.needed is not None and leaf not in task.needed:
            return
        if meta is None or (meta.hooks is None and meta.accumulator is None):
            accumulate(leaf, g)
            return
    elif leaf not in task.wanted:
        return
    elif (meta is None or meta.hooks is None) and g is not None and g._storage_.writable is not LENT:
        for _, position in task.wanted[leaf]:
            captures.values[position] = g
        return
    run_leaf(leaf, g, task)


def add_to_buffer(buffers: dict, edge, g: Tensor | None) -> None:
    """Add ``g`` to what the node behind ``edge`` will receive."""
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (target(edge), 0)
    if not isinstance(node, Tensor) and node._outputs_ != 1:
        slots = buffers.get(node)
        if slots is None:
            slots = buffers[node] = [None] * node._outputs_
        slots[nr] = plus(slots[nr], g)
    else:
        buffers[node] = plus(buffers.get(node), g)


# ---- nodes with hooks, captures ------------------------------------------------------------------------------------


def run_special(node: Node, g, create_graph: bool, task: GraphTask):
    """Run a node that has hooks, or in a pass that captures: hooks, capture, pre-hooks, the node, post hooks."""
    if not task.runs(node):
        return None
    grads = list(g) if node._outputs_ != 1 and g is not None else [g] * 1 if node._outputs_ == 1 else [None] * node._outputs_
    grads = [owned(g) for g in grads]
    meta = node._meta_
    state.node = node
    enabled = mode.enabled  # what hooks make of it ends with them: see NOTE [Grad mode of a pass]
    before = chosen() if opened else None
    if meta is not None:
        run_tensor_hooks(node, grads)
        mode.enabled = enabled
    if node in task.wanted:
        capture_gradient(node, grads, task)
    if meta is not None:
        for nr, reference in tuple(meta.retains.items()):
            retain(reference(), grads[nr])
    if task.needed is not None and node not in task.needed:
        return None
    if meta is not None and meta.pre_hooks:
        for hook in tuple(meta.pre_hooks.values()):
            changed = hook(tuple(grads))
            if changed is not None:
                grads = list(hook_result("pre-hook", grads, changed))
        mode.enabled = enabled
    if before is not None:
        put_back(before)
    if all(x is None for x in grads) and not node._rule_.takes_undefined:
        results = None
    else:
        results = backward_of(node, task.parts)(node, grads[0] if node._outputs_ == 1 else grads, create_graph)
        meta = node._meta_  # the node may have got hooks while it ran
    if meta is not None and meta.post_hooks:
        results = run_post_hooks(node, results, tuple(grads))
        mode.enabled = enabled
        if before is not None:
            put_back(before)
    return results


def owned(g: Tensor | None) -> Tensor | None:
    """``g``, for users to see: on memory of its own where it lies in that of a lent cotangent, see NOTE [Lent cotangents]."""
    return g if g is None or g._storage_.writable is not LENT else fresh_copy(g)


def fresh_copy(g: Tensor) -> Tensor:
    """A tensor like ``g`` without history, on memory of its own."""
    if g.layout.special or g.layout.memory is not None:
        return CALLS["clone"](native.alias(g))
    return native.tensor(g.layout.template, wrap_array(g._storage_.array.copy()), g._offset_, False, None)


def capture_gradient(node: Target, grads: list, task: GraphTask) -> None:
    """Hand the complete cotangents of a node or leaf to the inputs that want them."""
    assert task.captures is not None
    for nr, position in task.wanted[node]:
        task.captures.values[position] = grads[nr]


def run_post_hooks(node: Node, results, grads: tuple):
    """Call the node's hooks with a gradient for every operand, also for those that need none."""
    inputs, places = tuple([owned(g) for g in by_operand(node, results)]), node._rule_.places(node)
    for hook in tuple(node._meta_.post_hooks.values()):
        changed = hook(inputs, grads)
        if changed is not None:
            inputs = hook_result("hook", inputs, changed)
    if places is not None:
        inputs = tuple(inputs[position] for position in places[1])
    return inputs[0] if len(node._edges_) == 1 else inputs


def run_tensor_hooks(node: Node, grads: list) -> None:
    """Call the hooks of every output, in order of output and registration."""
    for nr, hooks in tuple(node._meta_.tensor_hooks.items()):
        for hook in tuple(hooks.values()):
            grads[nr] = call_tensor_hook(hook, grads[nr])


def call_tensor_hook(hook, g):
    """Call a tensor hook, whose result replaces the gradient.

    Raises:
        ArgumentError: it returned something that is neither a tensor nor None.
        GradError: it changed the size or the dtype, or made a gradient of none.
    """
    changed = hook(g)
    if changed is None:
        return g
    check_replacement("tensor hook", g, changed)
    return changed


def check_replacement(what: str, g: Tensor | None, changed) -> None:
    """What a hook may put in the place of a gradient: a tensor of the same size and dtype."""
    if not isinstance(changed, Tensor):
        raise ArgumentError(f"{what}: expected a Tensor or None to be returned, got {type(changed).__name__}.")
    if g is None:
        raise GradError(f"{what}: returned {describe(changed.layout)} in the place of an undefined gradient; expected None.")
    if changed.layout.shape != g.layout.shape or changed.layout.dtype is not g.layout.dtype:
        raise GradError(f"{what}: returned {describe(changed.layout)}, expected {describe(g.layout)}.")


def hook_result(what: str, grads, changed) -> tuple:
    """The gradients that a node's hook returned in the place of ``grads``, checked."""
    if not isinstance(changed, tuple):
        raise ArgumentError(f"node {what}: expected a tuple of {len(grads)} gradients or None, got {type(changed).__name__}.")
    if len(changed) != len(grads):
        raise GradError(f"node {what}: returned {len(changed)} gradients, expected {len(grads)}.")
    for g, new in zip(grads, changed):
        if new is not None:
            check_replacement(f"node {what}", g, new)
    return changed


def retain(tensor: Tensor | None, g: Tensor | None) -> None:
    """Add to the gradient that a non-leaf keeps."""
    if tensor is None or g is None:
        return
    meta = meta_of(tensor)
    with accumulation.LOCKS[id(tensor) >> 4 & 63]:
        meta.grad = CALLS["clone"](g) if meta.grad is None else CALLS["add"](meta.grad, g)


def run_leaf(leaf: Tensor, g: Tensor | None, task: GraphTask) -> None:
    """A leaf that does something to its gradient, or hands it to those who asked for it, or whose AccumulateGrad has hooks."""
    state.node = leaf
    g, meta = owned(g), leaf._meta_
    enabled, before = mode.enabled, chosen() if opened else None
    if meta is not None and meta.hooks is not None:
        g = run_leaf_hooks(leaf, g, meta.hooks)
        mode.enabled = enabled
    if leaf in task.wanted:
        capture_gradient(leaf, [g], task)
    if task.captures is not None or (task.needed is not None and leaf not in task.needed):
        return
    node = meta.accumulator() if meta is not None and meta.accumulator is not None else None
    rare = hooks_at_rest(leaf, task) if node is None else node._meta_
    if rare is not None:
        for hook in tuple(rare.pre_hooks.values()):
            changed = hook((g,))
            if changed is not None:
                (g,) = hook_result("pre-hook", (g,), changed)
        mode.enabled = enabled
    if before is not None:
        put_back(before)
    shown = (g,)  # held while it is accumulated, so that it is copied: hooks were shown it, or will be
    accumulate(leaf, g)
    if rare is not None:
        for hook in tuple(rare.post_hooks.values()):
            changed = hook((), shown)
            if changed is not None:
                hook_result("hook", (), changed)  # a leaf makes no gradients that a hook could replace
    mode.enabled = enabled
    if before is not None:
        put_back(before)


def run_leaf_hooks(leaf: Tensor, g: Tensor | None, hooks: LeafHooks) -> Tensor | None:
    """Cast a leaf's gradient to its ``grad_dtype``, then call the hooks."""
    dtype = grad_dtype_of(leaf)
    if g is not None and dtype is not None and g.layout.dtype is not dtype:
        g = fit(g, g.layout.shape, dtype)
    for hook in tuple(hooks.values()):
        g = call_tensor_hook(hook, g)
    return g


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
        if g.layout.ndim:
            raise DeviceError(f"{who}: returned a gradient on {g.layout.device}, expected {expected.device}.")
        g = CALLS["to_device"](g, expected.device)
    if g.layout.dtype.is_complex and not expected.dtype.is_complex:
        raise DTypeError(f"{who}: returned a complex gradient for a real tensor. Hint: return its real part.")
    if not broadcasts(expected.shape, g.layout.shape):
        raise ShapeError(f"{who}: returned a gradient of shape {list(g.layout.shape)}, expected {list(expected.shape)}.")
    fitted: Any = fit(g, expected.shape, expected.dtype)
    return fitted
