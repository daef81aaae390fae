"""A backward pass as an object: where it starts, which nodes it runs, and what hooks and tools may ask while it runs."""

from __future__ import annotations

import logging
import threading
from functools import cache
from heapq import heappop, heappush
from itertools import count
from operator import attrgetter
from typing import Any, Callable, Collection, Iterable, Iterator

from ..base.decorating import decorate
from ..base.errors import GradError
from ..tensors.tensor import Tensor, native
from .edges import AccumulateGrad, Edge, Node, accumulator_of
from .hooks import NodeMeta, add_hook
from .node import Resting, node_meta, visible_node

__all__ = [
    "GraphTask",
    "GradientCaptures",
    "PassState",
    "state",
    "Target",
    "target",
    "count_edges",
    "queue_callback",
    "current_graph_task_id",
    "current_graph_task",
    "current_autograd_node",
    "current_graph_task_keep_graph",
    "will_execute",
    "execution_order",
    "set_multithreading_enabled",
    "is_multithreading_enabled",
    "LOG",
    "log_nodes",
]

Target = Any  # where an edge leads: a Node, or the leaf itself
_task_ids = count()
logging.getLogger("nbgrad").setLevel(logging.WARNING)  # a program that has all its modules tell everything does not mean passes
LOG = logging.getLogger("nbgrad.graph")


# ---- what a pass runs ----------------------------------------------------------------------------------------------


def target(edge) -> Target:
    """What an edge leads to: a node, or a leaf (through its AccumulateGrad, if that has been made)."""
    if type(edge) is Edge:
        return edge.node
    return edge._variable_ if type(edge) is AccumulateGrad else edge


def survey(roots: Iterable[Target]) -> tuple[dict[Target, int], list[Node], list[Node]]:
    """Walk over the graph below ``roots``.

    Returns:
        How many edges lead to each node and leaf; the nodes; those of them from which no edge leads.
    """
    counts: dict[Target, int] = dict.fromkeys(roots, 0)
    nodes: list[Node] = [root for root in counts if type(root) is Node or not isinstance(root, Tensor)]
    ends: list[Node] = []
    surveyor()(counts, nodes, ends)
    return counts, nodes, ends


@cache
def surveyor() -> Callable[[dict, list, list], None]:
    """The walk of a survey: see ``Surveyor`` of native/steps.py."""
    return native.surveyor(AccumulateGrad, target)


def count_edges(roots: Iterable[Target]) -> dict[Target, int]:
    """How many edges of the graph below ``roots`` lead to each node."""
    return survey(roots)[0]


def nodes_needed(
    counts: dict[Target, int], nodes: list[Node], wanted: Iterable[Target]
) -> tuple[dict[Target, bool], set[Target], dict[Node, int]]:
    """The nodes on a path to a wanted node or leaf.

    Args:
        counts, nodes: of a survey.

    Returns:
        For the nodes, and for what is wanted, whether they are on such a path; the nodes that are, those at its end excepted unless
        they lie on another path; of those among them from which an edge leads elsewhere, which of the edges do not, see
        ``chosen_edges``: NOTE [Parts] in engine.py.
    """
    leading: dict[Target, bool] = dict.fromkeys(wanted, True)
    needed: set[Target] = set()
    parted: dict[Node, int] = {}
    lead = leader()
    # Numbers follow the edges, unless somebody has changed one or the other.
    if not lead(sorted(nodes, key=NUMBER) if len(nodes) > 1 else nodes, leading, needed, parted):
        leading = dict.fromkeys(wanted, True)
        needed.clear()
        parted.clear()
        lead(from_below(counts, nodes), leading, needed, parted)
    return leading, needed, parted


NUMBER = attrgetter("_seq_")


def from_below(counts: dict[Target, int], nodes: list[Node]) -> list[Node]:
    """The nodes of a survey, each behind all that it leads to."""
    left = dict(counts)
    order = [node for node in nodes if not left[node]]
    for node in order:
        for edge in node._edges_:
            below = target(edge)
            if below is not None:
                left[below] -= 1
                if not left[below] and not isinstance(below, Tensor):
                    order.append(below)
    return order[::-1]


@cache
def leader() -> Callable[[list, dict, set, dict], bool]:
    """``lead(order, leading, needed, parted)``: see ``Leader`` of native/steps.py."""
    return native.leader(AccumulateGrad, target)


class GradientCaptures:
    """Where ``inputs`` ask for gradients: ``{node: ((output number, position), ...)}``, and what arrived.

    Attributes:
        internal: the pass is part of an operation, and none of anomaly mode's business: 0 / 0 is no mistake of the user there.
    """

    __slots__ = ("wanted", "values")
    internal = False

    def __init__(self, count: int):
        self.wanted: dict[Target, tuple[tuple[int, int], ...]] = {}
        self.values: list[Tensor | None] = [None] * count


class GraphTask:
    """One pass.

    Attributes:
        id: its number in the process.
        keep_graph: whether saved tensors stay for another pass.
        roots: the nodes and leaves that it starts from.
        captures, wanted: where to collect gradients instead of accumulating them.
        needed: the nodes that run, and the leaves that accumulate; None: all of the graph. Where all of it leads to captured leaves
            they are in it too.
        leading: what of the graph cotangents are sent to: ``{node or leaf: whether they are}``; None: all of it.
        parts: the ``backward`` of each node that has only some of its edges in ``leading``; None if there is no such node.
        plain: all nodes that the pass comes to run, and none of them is captured.
        seen: all nodes and leaves of the graph below the roots and how many edges lead to each; filled in when the walk begins.
        callbacks: to be called at its end, or None.
        depth: 1, or one more than that of the pass in which this one is nested.
    """

    # Most passes leave these as they are: class attributes cost a pass nothing.
    captures: GradientCaptures | None = None
    wanted: dict[Target, tuple[tuple[int, int], ...]] = {}
    needed: Collection[Target] | None = None
    leading: dict[Target, bool] | None = None
    parts: dict[Node, Callable] | None = None
    plain = True
    seen: dict[Target, int] = {}
    callbacks: list[Callable[[], Any]] | None = None
    depth = 1

    def __init__(self, keep_graph: bool, roots: list[Target]):
        self.id, self.keep_graph, self.roots = next(_task_ids), keep_graph, roots

    def capture(self, captures: GradientCaptures) -> None:
        """Run only what leads to the places of ``captures``, and collect their gradients."""
        self.captures = captures
        wanted = self.wanted = captures.wanted
        counts, nodes, ends = survey(self.roots)
        self.seen = self.needed = counts
        other_leaves = len(counts) - len(nodes)
        for place in wanted:
            if not isinstance(place, Tensor):
                self.plain = False
            elif place in counts:
                other_leaves -= 1
        if ends or other_leaves:  # else every path ends in a wanted leaf, as where the gradients of all leaves are asked for
            self.needed = self.lead_to(counts, nodes, wanted)

    def accumulate_only(self, sinks: set[Target]) -> None:
        """Run only what leads to ``sinks``, and those."""
        counts, nodes, _ = survey(self.roots)
        self.seen, self.needed = counts, self.lead_to(counts, nodes, sinks) | sinks

    def lead_to(self, counts: dict[Target, int], nodes: list[Node], wanted: Iterable[Target]) -> set[Target]:
        """Send cotangents only to what leads to ``wanted``; returns the nodes that do."""
        self.leading, needed, parted = nodes_needed(counts, nodes, wanted)
        if parted:
            self.parts = {node: node._rule_.parts[chosen] for node, chosen in parted.items()}
        for root in self.roots:
            if root not in needed:
                self.plain = False
        return needed

    def runs(self, node: Target) -> bool:
        """Whether the pass comes to a node or leaf of its graph."""
        return self.needed is None or node in self.needed or node in self.wanted

    def order(self) -> Iterator[Target]:
        """The nodes and leaves that the pass runs, in the order of the engine."""
        counts, ties = count_edges(self.roots), count()
        free = [node for node, edges in counts.items() if not edges]
        yield from (leaf for leaf in free if isinstance(leaf, Tensor))
        ready = sorted((-node._seq_, next(ties), node) for node in free if not isinstance(node, Tensor))
        while ready:
            node = heappop(ready)[2]
            if self.runs(node):
                yield node
            for below in map(target, node._edges_):
                if below is None:
                    continue
                counts[below] -= 1
                if counts[below]:
                    continue
                if not isinstance(below, Tensor):
                    heappush(ready, (-below._seq_, next(ties), below))
                elif self.runs(below):
                    yield below


def hooks_at_rest(leaf: Tensor, task: GraphTask) -> NodeMeta | None:
    """The hooks of an AccumulateGrad that died, if the pass comes to its leaf from a node that was recorded before: NOTE [Hooks at
    rest] in node.py.
    """
    resting = None if leaf._meta_ is None else leaf._meta_.accumulator
    if type(resting) is not Resting:
        return None
    older = (node for node in task.seen if not isinstance(node, Tensor) and node._seq_ < resting.seq)
    return resting.hooks if any(target(edge) is leaf for node in older for edge in node._edges_) else None


# ---- what a thread's pass shows ------------------------------------------------------------------------------------


class PassState(threading.local):
    """What this thread's engine is doing: the innermost pass, and the node or leaf that it has come to."""

    node: Target = None
    task: GraphTask | None = None
    multithreading: bool = True

    @property
    def keep_graph(self) -> bool:
        """Whether what the running node saved stays; it does for a node that is called by hand."""
        return self.task is None or self.task.keep_graph


state = PassState()


def running_task(op: str) -> GraphTask:
    """The innermost pass of this thread.

    Raises:
        GradError: none is running.
    """
    if state.task is None:
        raise GradError(f"{op}: no backward pass is running in this thread; expected a call from a hook or a node.")
    return state.task


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call ``callback()`` when the innermost running pass of this thread has ended; not if it fails.

    Raises:
        GradError: no pass is running.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda g: nbgrad.queue_callback(lambda: print("done:", x.grad)))
    >>> (2 * x).sum().backward()
    done: tensor([2., 2.])
    """
    task = running_task("queue_callback")
    if task.callbacks is None:
        task.callbacks = []
    task.callbacks.append(callback)


def current_graph_task_id() -> int:
    """The number of the running pass of this thread, unique in the process; -1 outside.

    >>> nbgrad.current_graph_task_id()
    -1
    """
    return -1 if state.task is None else state.task.id


def current_graph_task() -> GraphTask | None:
    """The running pass of this thread; None outside."""
    return state.task


def current_graph_task_keep_graph() -> bool:
    """Whether the running pass of this thread keeps saved tensors for another; True outside of passes."""
    return state.keep_graph


def current_autograd_node() -> Node | None:
    """The node that this thread's pass runs, or whose hooks it calls; None outside.

    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> y, seen = x.exp(), []
    >>> handle = y.register_hook(lambda g: seen.append(nbgrad.current_autograd_node()))
    >>> y.sum().backward()
    >>> seen[0] is y.grad_fn, nbgrad.current_autograd_node()
    (True, None)
    """
    node = state.node
    return accumulator_of(node) if isinstance(node, Tensor) else visible_node(node)


def will_execute(node: Node) -> bool:
    """Whether the running pass of this thread runs ``node``, or has run it.

    Raises:
        GradError: no node; no pass is running; the node of a leaf whose gradient ``grad`` returns, so that it does not run.
    """
    if not isinstance(node, Node):
        raise GradError(f"will_execute: expected a node of the graph, got {type(node).__name__}. Hint: y.grad_fn.")
    task, below = running_task("will_execute"), target(node)
    if isinstance(below, Tensor) and below in task.wanted:
        raise GradError(
            "will_execute: the AccumulateGrad of an input of grad() does not run, its gradient is returned. "
            "Hint: ask about nodes that do not belong to leaves."
        )
    return below in task.seen and task.runs(below)


def execution_order() -> list[Node]:
    """The nodes that the running pass of this thread runs, from the first to the last, those behind it too.

    Raises:
        GradError: no pass is running, or it may use several threads.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> y = (x * x).sum()
    >>> handle = y.register_hook(lambda g: print([n.name() for n in nbgrad._C._current_graph_task_execution_order()]))
    >>> with nbgrad.set_multithreading_enabled(False):
    ...     y.backward()
    ['SumBackward0', 'MulBackward0', 'torch::autograd::AccumulateGrad']
    """
    task = running_task("execution_order")
    if state.multithreading:
        raise GradError(
            "execution_order: the order is defined for passes of one thread only. "
            "Hint: run the pass inside set_multithreading_enabled(False)."
        )
    return [accumulator_of(node) if isinstance(node, Tensor) else visible_node(node) for node in task.order()]


class set_multithreading_enabled:  # torch's name
    """Allow or forbid passes of this thread to use several threads: at once, and until the end of the block as a context manager.

    Passes run in the caller's thread either way; what asks about their order wants them forbidden. Also a decorator.

    >>> with nbgrad.set_multithreading_enabled(False):
    ...     nbgrad.is_multithreading_enabled()
    False
    """

    def __init__(self, mode: bool):
        self.mode, self.before = bool(mode), state.multithreading
        state.multithreading = self.mode

    def __enter__(self) -> None:
        """The mode was set by the call."""

    def __exit__(self, *error: object) -> None:
        state.multithreading = self.before

    def __call__(self, function: Callable) -> Callable:
        state.multithreading = self.before  # used as a decorator, the call alone changes nothing
        return decorate(lambda: set_multithreading_enabled(self.mode), function)


def is_multithreading_enabled() -> bool:
    """What ``set_multithreading_enabled`` set in this thread; True by default.

    >>> with nbgrad.set_multithreading_enabled(False):
    ...     nbgrad.is_multithreading_enabled()
    False
    """
    return state.multithreading


# ---- the log of a pass ---------------------------------------------------------------------------------------------


def log_nodes(roots: Iterable[Target]) -> Callable[[], None]:
    """Have every node below ``roots`` tell the logger ``nbgrad.graph`` when it runs, and with what; returns what ends that."""
    nodes = [accumulator_of(node) if isinstance(node, Tensor) else node for node in count_edges(roots)]
    # Keeps the nodes of leaves, and their hooks.
    hooked = [(node, add_hook(node_meta(node).pre_hooks, log_running_node)) for node in nodes]

    def unregister() -> None:
        for _, handle in hooked:
            handle.remove()

    return unregister


def log_running_node(grad_outputs: tuple) -> None:
    """A pre-hook that says which node runs."""
    given = ",".join("None" if g is None else f"{short_name(g.dtype)}[{', '.join(map(str, g.shape))}]" for g in grad_outputs)
    LOG.debug("Executing: %s with grad_outputs: [%s]", current_autograd_node(), given)


def short_name(dtype) -> str:
    """A dtype's name as logs abbreviate it: ``f32``, ``c64``, ``bf16``."""
    return {"bool": "b8", "bfloat16": "bf16"}.get(dtype.name) or dtype.name[0] + dtype.name.lstrip("abcdefghijklmnopqrstuvwxyz")
