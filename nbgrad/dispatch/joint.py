"""Several results that are one node: of functions that are written in other operations.

NOTE [Joint nodes]: ``var_mean`` is a variance and a mean, each of which has its declaration, and with it its derivatives. What is
recorded for it is one node all the same, with a result for each: hooks see all cotangents, and one sum goes to the operand. The
nodes of the steps stay behind it, where no pass meets them: it runs those that cotangents arrive at, from the results down to the
operand. A step that keeps its own result, which is a result of the function, knows whose it is: its second derivative goes by the
joint node, as through any other result. One that keeps something in between leads from there to the operand itself, and is freed
by the pass that comes by, not by this node, which lets go of it. So such steps may not judge what arrives at them as a whole, as
those of eigenvectors do, whose gradient must not depend on a phase: these functions are not joint.
"""

from __future__ import annotations

from functools import cache, lru_cache, wraps
from inspect import signature
from operator import attrgetter
from typing import Any, Callable
from weakref import ref

from ..base.bounded import Plans
from ..base.grad_mode import mode
from ..graph.cotangents import plus
from ..graph.edges import Edge, Node, edge_of, next_seq, requires_grad
from ..graph.node import Rule
from ..graph.saved import freed_error
from ..tensors.tensor import Tensor
from .nodes import JointResult, node_builder, node_template

__all__ = ["joint"]


class JointRule(Rule):
    """Backward of the steps behind a joint node, whose attributes are ``(nodes of the results, a number below all steps)``."""

    frees = True

    def __init__(self, node_name: str):
        self.name = self.node_name = node_name

    def steps(self, node: Node) -> list[Node]:
        """The steps behind a node, latest first; none once it was freed."""
        if node._attrs_ is None:
            return []
        ends, start = node._attrs_
        waiting = [end for end in ends if end is not None]
        found = dict.fromkeys(waiting)
        while waiting:
            for edge in waiting.pop()._edges_:
                if isinstance(edge, Node) and edge._seq_ > start and edge not in found and not leads_to(edge, node._edges_[0]):
                    found[edge] = None
                    waiting.append(edge)
        return sorted(found, key=lambda step: -step._seq_)

    def saved(self, node: Node, name: str):
        """What a step keeps under that name; the first that does."""
        if node._attrs_ is None:
            raise freed_error(node)
        for step in self.steps(node):
            try:
                return step._rule_.saved(step, name)
            except AttributeError:
                continue
        return super().saved(node, name)

    def raw_saved(self, node: Node, name: str):
        """The slot behind it."""
        for step in self.steps(node):
            if step._rule_.slot(name) is not None:
                return step._rule_.raw_saved(step, name)
        return self.saved(node, name)

    def shown_names(self) -> list[str]:
        """Steps have names of their own."""
        return []

    def saved_results(self, node: Node, nr: int) -> list:
        """What the step that made a result keeps of it."""
        if node._attrs_ is None:
            return []
        step = node._attrs_[0][nr]
        return [] if step is None else step._rule_.saved_results(step, 0)


class JointPlan:
    """What tools ask of the results."""

    __slots__ = ("outs",)
    facts: dict = {}

    def __init__(self, outs: tuple):
        self.outs = outs


def parts_backward(node: Node, g: Any, create_graph: bool):
    """The sum of the operand's cotangents, where every result is one step away from it."""
    total = None
    for part, share in zip(node._attrs_[0], g if node._outputs_ > 1 else (g,)):
        if share is not None and part is not None:
            share = part._backward_(part, share, create_graph)
            total = plus(total, share)
    return total


def steps_backward(node: Node, g: Any, create_graph: bool):
    """The steps on what arrives at them, latest first; what they send to the node's own edge is the operand's cotangent."""
    ends, operand, total = node._attrs_[0], node._edges_[0], None
    arrived: dict[Any, Any] = {}
    for end, share in zip(ends, g if node._outputs_ > 1 else (g,)):
        add_to(arrived, end, share)
    while arrived:
        step = max(arrived, key=sequence_number) if len(arrived) > 1 else next(iter(arrived))
        found = step._backward_(step, arrived.pop(step), create_graph)
        edges = step._edges_
        for edge, share in zip(edges, (found,) if len(edges) == 1 else found or ()):
            if edge is None or share is None:
                continue
            if leads_to(edge, operand):
                total = plus(total, share)
            else:
                add_to(arrived, edge, share)
    return total


def add_to(arrived: dict, step: Node | None, share: Tensor | None) -> None:
    """One more cotangent of a step's result."""
    if share is not None and step is not None:
        arrived[step] = plus(arrived.get(step), share)


def leads_to(edge: Any, operand: Any) -> bool:
    """Whether two edges are one place in the graph."""
    return edge is operand or (type(edge) is Edge and type(operand) is Edge and edge.node is operand.node and edge.nr == operand.nr)


sequence_number = attrgetter("_seq_")


@lru_cache(maxsize=256)
def joint_builder(node_name: str, outputs: int, backward: Callable) -> Callable:
    """``new_node(seq, plan, edges, attrs)``."""
    return node_builder(node_template(rule_of(node_name), backward, outputs=outputs, attrs=True), attrs=True)


@cache
def rule_of(node_name: str) -> JointRule:
    """The rule of the joint nodes of that name."""
    return JointRule(node_name)


def join(node_name: str, x: Tensor, results: tuple, start: int, plans: dict, flat: bool = False) -> None:
    """Put one node in the place of those of several results.

    Args:
        start: a sequence number before those of the steps.
        flat: the derivative of the first is 0: no cotangent of it goes anywhere.
        plans: of nodes of the function, by what their results are: what they are told of them, and what builds them.
    """
    outs: list[Tensor] = []
    ends: list[Node | None] = []
    operand, backward = edge_of(x), parts_backward
    for out in results:
        if type(out) is not Tensor:  # of a batch: who asks for the nodes of its elements
            return
        end = out._edge_
        if end is None:
            continue
        if not isinstance(end, Node) or end._seq_ < start or out._needs_grad_ is not True:
            return
        if len(end._edges_) != 1 or end._edges_[0] is not operand:
            backward = steps_backward
        outs.append(out)
        ends.append(end)
    if not outs:
        return
    key = (backward, *[out.layout for out in outs])
    plan, new_node = plans[key]
    if flat:
        ends[0] = None
    node = new_node(next_seq(), plan, (operand,), (tuple(ends), start))
    for nr, end in enumerate(ends):
        outs[nr]._edge_ = node if len(ends) == 1 else Edge(node, nr)
        if end is not None and end._attrs_ is None and "out" in end._rule_.saved_names:
            end._attrs_ = JointResult(ref(node), nr, end._plan_)


def joint(node_name: str, flat: Callable[[Tensor], bool] | None = None) -> Callable:
    """Record the results of a function of one differentiable operand, its first, as one node: NOTE [Joint nodes].

    Args:
        flat: whether the first result of an operand has a derivative of 0 everywhere: it is no reason to compute anything.
    """

    def decorate(formula: Callable) -> Callable:
        first = next(iter(signature(formula).parameters))

        def plan_of(key: tuple) -> tuple[JointPlan, Callable]:
            backward, *layouts = key
            return JointPlan(tuple([layout.template for layout in layouts])), joint_builder(node_name, len(layouts), backward)

        plans = Plans(plan_of)

        @wraps(formula)
        def call(*args, **named):
            x = args[0] if args else named.get(first)
            if not mode.enabled or getattr(x, "_needs_grad_", False) is False or not requires_grad(x):
                return formula(*args, **named)
            start = next_seq()
            out = formula(*args, **named)
            join(node_name, x, out, start, plans, flat is not None and flat(x))
            return out

        return call

    return decorate
