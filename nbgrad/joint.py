"""Several results that are one node: of functions that are written in other operations.

NOTE [Joint nodes]: ``var_mean`` is a variance and a mean, each of which has its declaration, and with it its derivatives. What is
recorded for it is one node all the same, with a result for each: hooks see all cotangents, and one sum goes to the operand. The
nodes of the steps stay behind it, where no pass meets them: it runs those that cotangents arrive at, from the results down to the
operand. A step that keeps its own result, which is a result of the function, knows whose it is: its second derivative goes by the
joint node, as through any other result. One that keeps something in between leads from there to the operand itself, and is freed
by the pass that comes by, not by this node, which lets go of it.
"""
from __future__ import annotations

from functools import cache, lru_cache, wraps
from inspect import signature
from typing import Any, Callable
from weakref import ref

from .calls import CALLS
from .dispatch import JointResult
from .grad_mode import mode
from .graph import Edge, Node, edge_of, next_seq
from .node import Rule, blank_node
from .rules import edges_of, needs_gradient
from .tensor import Tensor, native

__all__ = ["joint"]


class JointRule(Rule):
    """Backward of the steps behind a joint node; their order is in the node's attributes: ``(the results' nodes, all nodes)``."""

    frees = True

    def __init__(self, node_name: str):
        self.name = self.node_name = node_name

    def saved(self, node: Node, name: str):
        """What a step keeps under that name; the first that does."""
        for step in () if node._attrs_ is None else node._attrs_[1]:
            try:
                return step._rule_.saved(step, name)
            except AttributeError:
                continue
        return super().saved(node, name)

    def raw_saved(self, node: Node, name: str):
        """The slot behind it."""
        for step in () if node._attrs_ is None else node._attrs_[1]:
            if step._rule_.slot(name) is not None:
                return step._rule_.raw_saved(step, name)
        return super().saved(node, name)

    def saved_results(self, node: Node, nr: int) -> list:
        """What the step that made a result keeps of it."""
        if node._attrs_ is None:
            return []
        step = node._attrs_[0][nr]
        return step._rule_.saved_results(step, 0)


class JointPlan:
    """What tools ask of the results."""

    __slots__ = ("outs",)
    facts: dict = {}

    def __init__(self, outs: tuple):
        self.outs = outs


def joint_backward(node: Node, g: Any, create_graph: bool):
    """The steps on what arrives at them; what they send to the node's own edge is the operand's cotangent."""
    ends, steps = node._attrs_
    arrived: dict[Any, Any] = {}
    for end, share in zip(ends, g if node._outputs_ > 1 else (g,)):
        add_to(arrived, end, share)
    operand, total = node._edges_[0], None
    for step in steps:
        share = arrived.pop(step, None)
        if share is None:
            continue
        found = step._backward_(step, share, create_graph)
        edges = step._edges_
        if len(edges) == 1:
            found = (found,)
        for edge, share in zip(edges, found or ()):
            if share is None or edge is None:
                continue
            if leads_to(edge, operand):
                total = share if total is None else CALLS["add"](total, share)
            else:
                add_to(arrived, edge, share)
    return total


def add_to(arrived: dict, step: Node, share: Tensor | None) -> None:
    """One more cotangent of a step's result."""
    if share is not None:
        held = arrived.get(step)
        arrived[step] = share if held is None else CALLS["add"](held, share)


def leads_to(edge: Any, operand: Any) -> bool:
    """Whether two edges are one place in the graph."""
    return edge is operand or (type(edge) is Edge and type(operand) is Edge and edge.node is operand.node and edge.nr == operand.nr)


@cache
def rule_of(node_name: str) -> JointRule:
    """The rule of the joint nodes of that name."""
    return JointRule(node_name)


@lru_cache(maxsize=256)
def joint_builder(node_name: str, outputs: int) -> Callable:
    """``new_node(seq, plan, edges, attrs)``."""
    template = blank_node(Node, ("_seq_", "_plan_", "_edges_", "_attrs_"))
    template._rule_, template._backward_, template._outputs_ = rule_of(node_name), joint_backward, outputs
    return native.builder(template, ("_seq_", "_plan_", "_edges_", "_attrs_"), True)


MOST_STEPS = 64


def steps_behind(ends: list[Node], operand: Any, start: int) -> tuple | None:
    """The nodes that were recorded since ``start``, latest first; None where they lead elsewhere than to the operand."""
    if all(len(end._edges_) == 1 and end._edges_[0] is operand for end in ends):
        return tuple(ends)
    found, waiting = dict.fromkeys(ends), list(ends)
    while waiting:
        for edge in waiting.pop()._edges_:
            if edge is None or leads_to(edge, operand) or edge in found:
                continue
            if not isinstance(edge, Node) or edge._seq_ < start or edge._outputs_ != 1 or len(found) == MOST_STEPS:
                return None
            found[edge] = None
            waiting.append(edge)
    return tuple(sorted(found, key=lambda step: -step._seq_))


def join(node_name: str, x: Tensor, results: tuple, start: int) -> None:
    """Put one node in the place of those of several results."""
    outs = [out for out in results if type(out) is Tensor and out._needs_grad_ is True and type(out._edge_) is Node]
    ends, operand = [out._edge_ for out in outs], edge_of(x)
    if not outs or any(end._seq_ < start or end._outputs_ != 1 for end in ends):
        return
    steps = steps_behind(ends, operand, start)
    if steps is None:
        return
    node = joint_builder(node_name, len(outs))(next_seq(), JointPlan(tuple([out.layout.template for out in outs])), (operand,),
                                               (tuple(ends), steps))
    for nr, (out, end, edge) in enumerate(zip(outs, ends, edges_of(node, len(outs)))):
        out._edge_ = edge
        if end._attrs_ is None and "out" in end._rule_.saved_names:
            end._attrs_ = JointResult(ref(node), nr, end._plan_)


def joint(node_name: str) -> Callable:
    """Record the results of a function of one differentiable operand, its first, as one node: NOTE [Joint nodes]."""
    def decorate(formula: Callable) -> Callable:
        first = next(iter(signature(formula).parameters))

        @wraps(formula)
        def call(*args, **named):
            x = args[0] if args else named.get(first)
            if not mode.enabled or getattr(x, "_needs_grad_", False) is False or not needs_gradient(x):
                return formula(*args, **named)
            start = next_seq()
            out = formula(*args, **named)
            join(node_name, x, out, start)
            return out
        return call
    return decorate
