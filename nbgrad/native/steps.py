"""Native code: the steps of a backward pass, and the walks over a graph that prepare a pass.

A step is what a node does in its turn: take the cotangents that have arrived, run its ``backward``, free what it saved, and add the
results to what the nodes below it will receive. Whose turn it is decides engine.py.

NOTE [Sums]: a cotangent is added into the memory of one that arrived before, or the other way round, if nobody else can tell: this
module alone holds the tensor, the tensor its storage, the storage its array, and the array its memory; it is no part of a graph,
may be written to, and has a layout for which there is a plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from .language import bound, entry, native
from .launches import into
from .plans import Plan
from .primitives import as_tuple, others, owns_memory

if TYPE_CHECKING:
    from ..graph.node import Node
    from ..tensors.tensor import Tensor

__all__ = ["Leader", "Steps", "Surveyor"]

# This thread's state, counts of edges, buffers, whether the pass is recorded, whether nodes are freed, and ``parts`` and
# ``leading`` of the pass's task.
Work = tuple[dict, dict, dict, bool, bool, Any, Any]
ONE = 1
NO_COUNT = "backward: a node has other edges than when the pass began. Hint: hooks must not set them."


@native
def unseen(x: Tensor) -> bool:
    """Whether a tensor may be written to unnoticed, if only the caller has it: NOTE [Sums]."""
    storage = x._storage_
    array = storage.array
    return (
        x._needs_grad_ is False
        and x._edge_ is None
        and x._meta_ is None
        and storage.writable is True
        and others(storage) == 1
        and others(array) == 1
        and owns_memory(array)
    )


@entry
def is_unseen(x: Tensor) -> bool:
    """``unseen`` for Python, whose caller knows that it alone has the tensor."""
    return unseen(x)


@native
def stands_for_itself(edge, accumulator: type) -> bool:
    """Whether an edge is what it leads to: a leaf, or a node, but no leaf's node, which stands for the leaf."""
    if type(edge) is Node or isinstance(edge, Tensor):
        return True
    return type(edge) is not accumulator and isinstance(edge, Node)


@native
def is_simple(edge, accumulator: type) -> bool:
    """Whether an edge stands for itself, and what it leads to has one output; a leaf has."""
    if type(edge) is Node:
        return edge._outputs_ is ONE
    if isinstance(edge, Tensor):
        return True
    return type(edge) is not accumulator and isinstance(edge, Node) and edge._outputs_ is ONE


@native
def free_saved(node: Node, freed: Callable) -> None:
    """Let go of what a node saved, if its rule says so: ``freed`` becomes its ``backward``. That dies last: it may run anything."""
    frees = node._rule_.frees
    if frees is not True:
        if frees is not False:
            frees(node)
        return
    first, second, third, attrs, backward = node._s0_, node._s1_, node._s2_, node._attrs_, node._backward_
    node._s0_ = node._s1_ = node._s2_ = node._attrs_ = None
    node._backward_ = freed
    del first, second, third, attrs, backward


@bound
class Steps:
    """``advance(work, node)``, a node's turn in a pass, and its two halves, ``run`` and ``send``.

    Attributes:
        accumulator: the class of leaves' nodes.
        freed: the ``backward`` of nodes that were freed.
        receive: ``receive(work, edge, g)`` for edges to one of several outputs, and to leaves' nodes: adds ``g`` to what is behind;
            returns the node or leaf there, None if the pass does not come to it.
        plans: by layout the plan of ``x += y``, or None.
        add: ``add(x, y)`` for tensors that cannot be written to.
        add_and_plan: the same; also makes the plan that is missing for their layout.
        check: ``check(grads)``, asked about the results of every node; None where nothing is asked.
        complain: ``complain(node, found)``, which raises the error about what ``check`` finds.
        hooked: ``hooked(node, results, g)``: what becomes of the results of a node that has a ``_meta_`` after its run.
    """

    __slots__ = ("accumulator", "freed", "receive", "plans", "add", "add_and_plan", "check", "complain", "hooked")
    accumulator: type
    freed: Callable
    receive: Callable
    plans: dict
    add: Callable
    add_and_plan: Callable
    check: Any
    complain: Any
    hooked: Callable

    def __init__(self, accumulator, freed, receive, plans, add, add_and_plan, check, complain, hooked):
        self.accumulator, self.freed, self.receive, self.plans = accumulator, freed, receive, plans
        self.add, self.add_and_plan, self.check, self.complain, self.hooked = add, add_and_plan, check, complain, hooked

    def gather(self, work: Work, below, value, sole: bool) -> None:
        """Add a value to what a node or leaf will receive; ``sole``: nobody but the caller has it."""
        _, _, buffers, create, _, _, _ = work
        held = buffers.get(below)
        if held is None:
            buffers[below] = value
            return
        add = self.add
        if create is False and isinstance(held, Tensor) and isinstance(value, Tensor) and held.layout is value.layout:
            plan: Plan | None = self.plans.get(held.layout)
            if plan is None:
                if held.layout not in self.plans:
                    add = self.add_and_plan
            elif others(held) == 1 and unseen(held):  # the buffer's reference
                into(plan, held, value)
                return
            elif sole and unseen(value):
                into(plan, value, held)
                buffers[below] = value
                return
        buffers[below] = add(held, value)

    @native(inline=True)
    def run(self, node: Node, g, create, parts):
        """The results of a plain node on what has arrived for it: of its ``backward``, or of the part that the pass is about."""
        grads = None
        if g is not None or node._rule_.takes_undefined is True:
            backward = node._backward_
            if parts is not None and backward is not self.freed:
                part = cast(dict, parts).get(node)
                if part is not None:
                    backward = part
            grads = backward(node, g, create)
        if node._meta_ is not None:  # in its run the node was given one
            grads = self.hooked(node, grads, g)
        return grads

    def advance(self, work: Work, node: Node):
        """Run a plain node on what has arrived for it, and send its results on.

        Returns:
            What ``send`` does.
        """
        current, _, buffers, create, frees, parts, _ = work
        current["node"] = node
        g = buffers.get(node)
        if g is not None:
            del buffers[node]
        grads = self.run(node, g, create, parts)
        del g
        if self.check is not None:
            found = self.check(grads)
            if found is not None:
                self.complain(node, found)
        return self.send(work, node, grads, frees)

    def send(self, work: Work, node: Node, grads, frees: bool):
        """Free the node, and add its results to what the nodes and leaves below it will receive.

        Args:
            grads: what the node's ``backward`` returned.
            frees: whether the node is freed, if it is of a kind that saves something.

        Returns:
            The nodes and leaves for which everything has arrived by now, in the order of the edges; a single Node alone.
        """
        _, counts, _, _, _, _, leading = work
        edges = node._edges_
        count = len(edges)
        single = count == 1
        sole = single or others(grads) == 1
        several: tuple = () if single or grads is None else grads if type(grads) is tuple else as_tuple(grads)
        if not single and grads is not None and len(several) < count:
            count = len(several)
        if frees:
            free_saved(node, self.freed)
        first = None
        ready: list | None = None
        for k in range(count):
            edge = edges[k]
            if edge is None:
                continue
            value = grads if single or grads is None else several[k]
            below = edge
            if is_simple(edge, self.accumulator):
                if leading is not None and cast(dict, leading).get(edge) is not True:
                    continue
                if value is not None:
                    self.gather(work, edge, value, sole and others(value) == 1)
            else:
                below = self.receive(work, edge, value)
                if below is None:
                    continue
            waiting: int | None = counts.get(below)
            if waiting is None:
                raise RuntimeError(NO_COUNT)
            left = int(waiting) - 1
            counts[below] = left
            if left == 0:
                if first is None:
                    first = below
                else:
                    if ready is None:
                        ready = [first]
                    ready.append(below)
        if ready is not None:
            return ready
        if first is None:
            return ()
        return (first,) if type(first) is not Node and isinstance(first, Tensor) else first


@bound
class Surveyor:
    """``survey(counts, nodes, ends)``: where the edges of ``nodes`` lead, and those of the nodes that come to light.

    Attributes:
        accumulator: the class of leaves' nodes.
        target: what an edge leads to that is not what it leads to itself.
    """

    __slots__ = ("accumulator", "target")
    accumulator: type
    target: Callable

    def __init__(self, accumulator, target):
        self.accumulator, self.target = accumulator, target

    def __call__(self, counts: dict, nodes: list, ends: list) -> None:
        """Note how many edges lead to each node and leaf, the nodes in the order of their finding, and those without edges."""
        for node in nodes:  # grows meanwhile
            edges, alive = cast(Node, node)._edges_, False
            for edge in edges:
                if edge is None:
                    continue
                alive = True
                below = edge if stands_for_itself(edge, self.accumulator) else self.target(edge)
                seen: int | None = counts.get(below)
                if seen is not None:
                    counts[below] = int(seen) + 1
                    continue
                counts[below] = 1
                if not isinstance(below, Tensor):
                    nodes.append(below)
            if not alive:
                ends.append(node)


@bound
class Leader:
    """``lead(order, leading, needed, parted)``: which nodes lead to wanted places, for nodes each behind all that it leads to.

    Attributes:
        accumulator, target: as of ``Surveyor``.
        through: ``choose`` where numbers have any number of bits, for nodes with more edges than a word has.
    """

    __slots__ = ("accumulator", "target", "through")
    accumulator: type
    target: Callable
    through: Callable

    def __init__(self, accumulator, target, through):
        self.accumulator, self.target, self.through = accumulator, target, through

    def __call__(self, order: list, leading: dict, needed: set, parted: dict) -> bool:
        """Note what leads to wanted places: see ``nodes_needed`` of graph/task.py; whether the nodes came in such an order."""
        for node in order:
            if len(cast(Node, node)._edges_) >= 60:
                if self.through(node, leading, needed, parted) is not True:
                    return False
            elif not self.choose(cast(Node, node), leading, needed, parted):
                return False
        return True

    @native(inline=True)
    def choose(self, node: Node, leading: dict, needed: set, parted: dict) -> bool:
        """Note whether one node leads to wanted places; whether all that it leads to was seen before."""
        edges, chosen, elsewhere = node._edges_, 0, False
        for k in range(len(edges)):
            edge = edges[k]
            if edge is None:
                continue
            below = edge if stands_for_itself(edge, self.accumulator) else self.target(edge)
            leads = leading.get(below)
            if leads is True:
                chosen = chosen | 1 << k
            elif leads is None and not isinstance(below, Tensor):
                return False
            else:
                elsewhere = True
        if chosen != 0:
            leading[node] = True
            needed.add(node)
            if elsewhere:
                parted[node] = chosen | 1 << len(edges)
        elif leading.get(node) is None:
            leading[node] = False
        return True
