"""The nodes of operations: what they save, under which names tools see it, and how nodes are made.

All nodes of an operation and a subset of its operands share a *rule*, which knows what they save. A node is a copy of its rule's
template with its own edges and saved values. How cotangents are computed is the business of the rules' subclasses: elementwise
formulas (elementwise_rules.py), formulas of tensors (rules.py), views (movements.py).
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple
from weakref import ReferenceType

from ..base.calls import CALLS
from ..base.grad_mode import mode
from ..graph.edges import Edge, Node
from ..graph.node import NODE_SAVES, WideNode, blank_node, saved_slots
from ..graph.packing import RawSaved, raw_attributes, raw_of_several, tangents_of
from ..graph.rule import Rule
from ..graph.saved import SavedTensor, alias_with, unpack
from ..modes.wrappers import is_wrapped
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native
from ..views import WrittenRegion
from .arguments import attribute_names

__all__ = ["JointResult", "SavingRule", "node_builder", "node_class", "node_template", "saved_output", "saved_value"]

UNKNOWN: Any = object()


class SavingRule(Rule):
    """The rule of an operation for one subset of its operands.

    Attributes:
        wanted, positions: names and positions of the operands that need a gradient, in the order of the edges.
        able: the names of those that can have one.
        spread: whether the first operand is a sequence, whose members have an edge each.
    """

    spread = False
    only_reads = True

    def __init__(self, op: Any, wanted: tuple[str, ...], able: tuple[str, ...]):
        self.op, self.wanted, self.able, self.name, self.node_name = op, wanted, able, op.name, op.node_name
        self.positions = tuple(map(op.operands.index, wanted))

    def is_number(self, name: str) -> bool:
        """Whether the operand of that name is a Python number."""
        return False

    def beside(self, node: Node, name: str) -> Any:
        """What a node can tell under a name that is no saved value; ``UNKNOWN`` if nothing."""
        return UNKNOWN

    def node_backward(self) -> Callable:
        """The ``backward`` of nodes."""
        raise NotImplementedError

    def part_of(self, chosen: tuple[bool, ...]) -> Callable:
        """The ``backward`` of some of the edges."""
        raise NotImplementedError

    def part(self, chosen: tuple[bool, ...]) -> Callable | None:
        """``backward`` of some of the operands; of a sequence of them all."""
        return None if self.spread or len(chosen) != len(self.wanted) else self.part_of(chosen)

    def places(self, node: Node) -> tuple[int, tuple[int, ...]] | None:
        """Edges belong to the operands that need a gradient, among those that can have one."""
        if self.spread or len(self.able) == len(self.wanted):
            return None
        return len(self.able), tuple(map(self.able.index, self.wanted))

    def slot(self, name: str) -> int | None:
        """The slot of a saved value, by torch's name of it (``self``, ``other``, ``result``) or by ours."""
        return next((k for k, own in enumerate(self.saved_names) if name in self.op.shown_as(own)), None)

    def shown_names(self) -> list[str]:
        """The names of saved values, of attributes and of constants, torch's first."""
        return [*(self.op.shown_as(own)[0] for own in (*self.saved_names, *attribute_names(self.op))), *self.op.shows]

    def saved(self, node: Node, name: str) -> Any:
        """The saved value, attribute or constant of that name."""
        slot = self.slot(name)
        if slot is None:
            found = self.beside(node, name)
            if found is UNKNOWN:
                found = self.op.shows.get(name, UNKNOWN)
            return super().saved(node, name) if found is UNKNOWN else found
        own = self.saved_names[slot]
        if self.is_number(own):
            value = getattr(node, f"_v{slot}_")
            return CALLS["asarray"](value) if name == "other" else value  # torch has made a tensor of it
        return saved_value(node, slot, own == "out")

    def raw_saved(self, node: Node, name: str) -> Any:
        """The slot behind a saved value; of an attribute that holds several tensors a tuple."""
        slot = self.slot(name)
        if slot is not None:
            return RawSaved(node, slot)
        found = raw_attributes(node, name)
        if not found:
            return super().saved(node, name)
        return raw_of_several(node, name) if isinstance(node._attrs_.attributes[name], (tuple, list)) else found[0]

    def recorder(self) -> Callable:
        """``record(plan, out, *operands)``, the function that gives ``out`` its node: see ``Recorder`` of native/recording.py."""
        template, places = node_template(self, self.node_backward(), len(self.saved_names)), (*self.op.operands, self.op.second)
        saved = tuple((-1, False) if name == "out" else (places.index(name), self.is_number(name)) for name in self.saved_names)
        return native.recorder(template, self.positions, saved)


def node_class(saved: int) -> type[Node]:
    """The class of nodes that save so many values."""
    return Node if saved <= NODE_SAVES else WideNode


def node_template(rule: Rule, backward: Callable, saved: int = 0, outputs: int = 1, attrs: bool = False) -> Node:
    """A node to copy: all that nodes of one rule share.

    Args:
        saved: how many values they keep.
        attrs: whether they have attributes, each its own.
    """
    unset = ("_seq_", "_plan_", "_edges_", *(("_attrs_",) if attrs else ()), *saved_slots(saved))
    template = blank_node(node_class(saved), unset)
    template._rule_, template._backward_, template._outputs_ = rule, backward, outputs
    return template


def node_builder(template: Node, saved: int = 0, attrs: bool = False) -> Callable:
    """``new_node(seq, plan, edges[, attrs], *(saved value, version))``: copies of a template, with what it leaves open."""
    return native.builder(
        template, ("_seq_", "_plan_", "_edges_", *(("_attrs_",) if attrs else ()), *saved_slots(saved)), True, True
    )


def saved_value(node: Node, slot: int, is_output: bool):
    """What a slot holds, for introspection."""
    value, version = getattr(node, f"_s{slot}_"), getattr(node, f"_v{slot}_")
    if not isinstance(value, Tensor) or value._storage_.version != version:
        value = unpack(node, slot)
    return saved_output(node, value) if is_output else value


class JointResult(NamedTuple):
    """What the node of a step knows whose result is one of several: NOTE [Joint nodes] in joint.py."""

    outer: ReferenceType
    nr: int
    plan: Any

    def values(self) -> dict:
        """The attributes are where they were."""
        return self.plan.facts

    def edge(self, node: Node) -> Node | Edge:
        """Where the result's cotangent goes; to the step itself, if the joint node is gone."""
        outer = self.outer()
        return node if outer is None else outer if outer._outputs_ == 1 else Edge(outer, self.nr)


def came_back(node: Node) -> bool:
    """Whether the result that a node saved went through saved-tensor hooks. It then lies wherever these put it."""
    return type(getattr(node, f"_s{node._rule_.saved_names.index('out')}_")) is SavedTensor


def in_memory_of_its_own(part: Tensor, layout: Layout, geometry: Any) -> Tensor:
    """A tensor of ``layout`` in new memory, with the values of ``part`` at its place; its other elements do not matter."""
    enabled, mode.enabled = mode.enabled, False
    try:
        base: Tensor = CALLS["clone_like"](CALLS["new_full"](layout.like(), 0), layout)
        CALLS["copy_"](geometry.of(base), part)
    finally:
        mode.enabled = enabled
    base._needs_grad_ = True
    return base


def saved_wrapper(node: Node, kept: Tensor) -> Tensor:
    """A saved result of a class that says what operations mean; with its history where the pass is recorded."""
    if not mode.enabled:
        return kept
    out: Tensor = CALLS["detach"](kept)
    out._edge_, out._needs_grad_ = node, True
    return out


def saved_output(node: Node, alias: Tensor) -> Tensor:
    """A saved result with its history: a new tensor on the same node; for a write to a view, a view of the written base."""
    if is_wrapped(alias):
        return saved_wrapper(node, alias)
    if type(node._attrs_) is WrittenRegion:
        geometry: Any
        outer, layout, offset, geometry = node._attrs_
        if came_back(node):
            base = in_memory_of_its_own(alias, layout, geometry)
        else:
            base = native.tensor(layout.template, alias._storage_, offset, True, None)
        base._edge_ = outer()
        out = geometry.of(base)
        out._meta_.tangent = tangents_of(alias)
        return out
    if alias._meta_ is None:
        out = native.tensor(alias.layout.template, alias._storage_, alias._offset_, True, None)
    else:
        out = alias_with(alias, tangents_of(alias))
        out._needs_grad_ = True
    out._edge_ = node._attrs_.edge(node) if type(node._attrs_) is JointResult else node
    return out
