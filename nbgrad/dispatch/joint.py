"""Joint nodes: one node in the graph for a function that has several results and is written in other operations.

NOTE [Joint nodes]: ``var_mean(x)`` calls ``var`` and ``mean``. Each of these is an operation with a derivative, and would leave a
node of its own. torch has one node with two results, and so has nbgrad: hooks see both cotangents, and ``x`` receives their sum.
  1. The nodes of the steps (``var``, ``mean``) stay behind the joint node, where no backward pass meets them. The joint node runs
     them itself: those that a cotangent arrives at, from the results down to ``x``.
  2. A step may save its result, which is also a result of the function. It then knows the joint node, so that a second derivative
     goes through the joint node, as through any other result.
  3. A step may save a value in between. That value leads to ``x`` by its own history. The pass that comes by there frees that step;
     the joint node only lets go of it.
  4. A step sees the cotangents of the results one at a time, so it must not refuse one because of another. Steps of eigenvectors do
     (their gradient must not depend on a phase): functions made of those are not joint.
"""

from __future__ import annotations

from functools import cache, lru_cache, wraps
from operator import attrgetter
from typing import Any, Callable
from weakref import ref

from ..base.bounded import Plans
from ..base.function_attributes import parameter_names
from ..base.grad_mode import mode
from ..graph.cotangents import plus
from ..graph.edges import Edge, Node, edge_of, next_seq, requires_grad
from ..graph.rule import Rule
from ..graph.saved import freed_error
from ..tensors.tensor import Tensor
from .nodes import JointResult, node_builder, node_template

__all__ = ["joint"]


class JointRule(Rule):
    """The rule of joint nodes. A node's attributes are ``(nodes of the results, a sequence number below those of all steps)``."""

    frees = True

    def __init__(self, node_name: str):
        self.name = self.node_name = node_name

    def steps(self, node: Node) -> list[Node]:
        """The nodes of the steps behind a joint node, latest first; none once it was freed."""
        if node._attrs_ is None:
            return []
        ends, start = node._attrs_
        waiting = [end for end in ends if end is not None]
        found = dict.fromkeys(waiting)
        while waiting:
            for edge in waiting.pop()._edges_:
                if isinstance(edge, Node) and edge._seq_ > start and edge not in found and not same_edge(edge, node._edges_[0]):
                    found[edge] = None
                    waiting.append(edge)
        return sorted(found, key=lambda step: -step._seq_)

    def saved(self, node: Node, name: str):
        """The saved value of that name, of the first step that has one."""
        if node._attrs_ is None:
            raise freed_error(node)
        for step in self.steps(node):
            try:
                return step._rule_.saved(step, name)
            except AttributeError:
                continue
        return super().saved(node, name)

    def raw_saved(self, node: Node, name: str):
        """The slot of that saved value."""
        for step in self.steps(node):
            if step._rule_.slot(name) is not None:
                return step._rule_.raw_saved(step, name)
        return self.saved(node, name)

    def shown_names(self) -> list[str]:
        """None: saved values are found by the names of the steps."""
        return []

    def saved_results(self, node: Node, nr: int) -> list:
        """What the step that made the result ``nr`` has saved of it."""
        if node._attrs_ is None:
            return []
        step = node._attrs_[0][nr]
        return [] if step is None else step._rule_.saved_results(step, 0)


class JointPlan:
    """What tools may ask of a joint node: its results, as templates."""

    __slots__ = ("outs",)
    facts: dict = {}

    def __init__(self, outs: tuple):
        self.outs = outs


def direct_backward(node: Node, g: Any, create_graph: bool):
    """Backward where every result is one step away from the operand: the sum of what the steps give."""
    total = None
    for step, cotangent in zip(node._attrs_[0], g if node._outputs_ > 1 else (g,)):
        if cotangent is not None and step is not None:
            total = plus(total, step._backward_(step, cotangent, create_graph))
    return total


def steps_backward(node: Node, g: Any, create_graph: bool):
    """Backward in general: the steps run, latest first, on the sums that arrive at them.

    What they send to the joint node's own edge is the operand's cotangent.
    """
    ends, operand, total = node._attrs_[0], node._edges_[0], None
    arrived: dict[Any, Any] = {}
    for end, cotangent in zip(ends, g if node._outputs_ > 1 else (g,)):
        add_cotangent(arrived, end, cotangent)
    while arrived:
        step = max(arrived, key=sequence_number) if len(arrived) > 1 else next(iter(arrived))
        found = step._backward_(step, arrived.pop(step), create_graph)
        edges = step._edges_
        for edge, cotangent in zip(edges, (found,) if len(edges) == 1 else found or ()):
            if edge is None or cotangent is None:
                continue
            if same_edge(edge, operand):
                total = plus(total, cotangent)
            else:
                add_cotangent(arrived, edge, cotangent)
    return total


def add_cotangent(arrived: dict, step: Node | None, cotangent: Tensor | None) -> None:
    """Add a cotangent of a step's result to what has arrived there."""
    if cotangent is not None and step is not None:
        arrived[step] = plus(arrived.get(step), cotangent)


def same_edge(edge: Any, operand: Any) -> bool:
    """Whether two edges lead to the same output of the same node."""
    return edge is operand or (type(edge) is Edge and type(operand) is Edge and edge.node is operand.node and edge.nr == operand.nr)


sequence_number = attrgetter("_seq_")


@lru_cache(maxsize=256)
def joint_builder(node_name: str, outputs: int, backward: Callable) -> Callable:
    """What makes joint nodes of a name: ``new_node(seq, plan, edges, attrs)``."""
    return node_builder(node_template(joint_rule(node_name), backward, outputs=outputs, attrs=True), attrs=True)


@cache
def joint_rule(node_name: str) -> JointRule:
    """The rule of all joint nodes of a name."""
    return JointRule(node_name)


def record_jointly(x: Tensor, results: tuple, start: int, plans: dict, flat: bool = False) -> None:
    """Make the joint node, and lead all results to it. Nothing happens where a result is batched or has another history.

    Args:
        results: of the function, each with the history that its step recorded.
        start: a sequence number below those of the steps.
        flat: the first result has a derivative of 0, so its cotangent goes nowhere.
        plans: ``(plan, builder)`` of nodes, by the backward function and the layouts of the results.
    """
    outs: list[Tensor] = []
    ends: list[Node | None] = []
    operand, backward = edge_of(x), direct_backward
    for out in results:
        if type(out) is not Tensor:  # a batched tensor: nobody asks for the nodes of its elements
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
    """Decorator: record all results of a function as one node, see NOTE [Joint nodes].

    The function takes one tensor that may need a gradient, its first argument.

    Args:
        node_name: of the node, torch's.
        flat: ``flat(x)``, whether the first result has a derivative of 0 everywhere; no cotangent is then computed for it.

    >>> @joint("ExtremesBackward0")
    ... def extremes(x):
    ...     return x.amin(), x.amax()
    >>> import nbgrad
    >>> low, high = extremes(nbgrad.tensor([1.0, 3.0, 2.0], requires_grad=True))
    >>> low.grad_fn is high.grad_fn
    True
    """

    def decorate(formula: Callable) -> Callable:
        first = parameter_names(formula)[0]

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
            record_jointly(x, out, start, plans, flat is not None and flat(x))
            return out

        return call

    return decorate
