"""Native code: what recording makes. ``Recorder`` makes the nodes of calls, ``Viewer`` views with their nodes, ``Builder`` copies
of any template. How gradients flow into a tensor is asked of ``flows`` and ``edge_of``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from .language import bound, entry, native
from .launches import CHANGED, NO_TENSOR, alias, conceal, next_seq
from .node_lines import note_place
from .plans import MovementPlan
from .primitives import allocate, copy_slots, hide, new, put, words_of

if TYPE_CHECKING:
    from ..graph.node import Node
    from ..tensors.tensor import ASK, Meta, Tensor
    from ..views import view_edge as written_edge

__all__ = ["Builder", "Recorder", "Viewer", "edge_of", "flows", "number_node", "requires_grad"]

# ``flows`` and ``own_edge`` as Python runs them, which graph/edges.py enters: what they ask of a tensor its class may answer. The
# functions entered are plain ones, since of native ones machine code would be made here, which reads slots.
flows_by_name: Any = None
edge_by_name: Any = None

NO_NODE = "launch: expected a Node."
MISCOUNTED = "launch: build got another number of arguments than it takes"


@native(inline=True)
def new_node(template: Node, copies: bytes, plan, edges) -> Node:
    """A node like the template with its number, plan and edges."""
    node = cast(Node, allocate(type(template)))  # some save more than a Node has room for
    node._edges_, node._plan_ = edges, plan
    node._seq_ = next_seq()  # younger than all that it points to
    copy_slots(template, node, words_of(copies))
    return node


@native(inline=True)
def finish(node: Node, edges) -> None:
    """Hide a new node from the collector, NOTE [Collector], and note its place if anomaly mode is on."""
    hide(edges)
    hide(node)
    note_place(node)


@native(inline=True)
def flows(x) -> int:
    """Whether gradients flow into an operand: 1 or 0."""
    if not isinstance(x, Tensor) or x._needs_grad_ is False:
        return 0
    if x._needs_grad_ is True:
        return 1
    meta: Meta | None = x._meta_
    if meta is None:
        return 0
    if meta.node is None:
        base: Tensor | None = meta.base
        if base is None or base._needs_grad_ is False:
            return 0
    return 1 if x.layout.dtype.differentiable is True else 0


@entry
def requires_grad(x) -> bool:
    """Whether gradients flow into a tensor; into anything else they do not.

    A view is asked: its base may have got a history since, or have been cut off its own.
    """
    if not isinstance(x, Tensor):
        return False
    if not hasattr(x, "layout"):  # object.__new__(Tensor)
        raise TypeError(NO_TENSOR)
    return (flows(x) if x.layout.special is False else int(flows_by_name(x))) == 1


@entry
def edge_of(x):
    """Where the cotangent of a tensor goes into which gradients flow, None if they do not: see NOTE [Edges] in graph/node.py."""
    if not isinstance(x, Tensor) or not hasattr(x, "layout"):
        raise TypeError(NO_TENSOR)
    return own_edge(x) if x.layout.special is False else edge_by_name(x)


@native(inline=True)
def own_edge(x: Tensor):
    """``edge_of`` by the tensor's own slots; for a marked tensor Python is asked."""
    own = x._edge_
    if own is not None:
        return own
    if x._needs_grad_ is True:
        return x  # a leaf stands for itself
    if x._needs_grad_ is False:
        return None
    meta: Meta | None = x._meta_
    if meta is None or meta.version is not x._storage_.version:
        return written_edge(x)
    return meta.node


@bound
class Recorder:
    """``record(plan, out, *operands)``: a node for ``out``, a copy of the template with number, plan, edges and saved values.

    Attributes:
        words: number of edges, the operand of each, number of saved values, then for each its operand (-1: the result), its slot
            and its version's, whether it is a number.
    """

    __slots__ = ("words", "template", "copies")
    words: bytes
    template: Node
    copies: bytes

    def __init__(self, words, template, copies):
        self.words, self.template, self.copies = words, template, copies

    def __call__(self, plan, out: Tensor, *operands) -> None:
        facts = words_of(self.words)
        edges = tuple([edge_of(operands[facts[1 + k]]) for k in range(facts[0])])
        node = new_node(self.template, self.copies, plan, edges)
        at = facts[0] + 2
        for _k in range(facts[facts[0] + 1]):
            position = facts[at]
            if facts[at + 3] != 0:
                # A number in both slots: a pass that frees the node clears the first, and it can still be shown.
                put(node, facts[at + 1], operands[position])
                put(node, facts[at + 2], operands[position])
            else:
                value: Tensor = alias(out) if position < 0 else operands[position]
                put(node, facts[at + 1], value)
                put(node, facts[at + 2], value._storage_.version)
            at += 4
        finish(node, edges)
        out._edge_ = node
        out._needs_grad_ = True


@native
def usual(value) -> bool:
    """Whether a value by which a plan was found is an int, None, or ints: NOTE [Whole numbers]."""
    if value is None or type(value) is int:
        return True
    if not isinstance(value, tuple):
        return False
    for size in value:
        if type(size) is not int:
            return False
    return True


@bound
class Viewer:
    """``view(plan, x, enabled, *values)``: the view of x that the plan describes, with its Meta and, if it is recorded, its node.

    Attributes:
        node, meta: what to copy.
        recorded, unrecorded: the Meta's ``creation`` with recording on, and off.
        refuse: ``refuse(values)``, asked where one of the values by which the plan was found is odd: NOTE [Whole numbers].
    """

    __slots__ = ("node", "node_copies", "meta", "meta_copies", "recorded", "unrecorded", "refuse")
    node: Node
    node_copies: bytes
    meta: Meta
    meta_copies: bytes
    recorded: Any
    unrecorded: Any
    refuse: Callable

    def __init__(self, node, node_copies, meta, meta_copies, recorded, unrecorded, refuse):
        self.node, self.node_copies, self.meta, self.meta_copies = node, node_copies, meta, meta_copies
        self.recorded, self.unrecorded, self.refuse = recorded, unrecorded, refuse

    def __call__(self, plan: MovementPlan, x, enabled, *values):
        for value in values:
            if not usual(value):
                self.refuse(*values)
                break
        if not isinstance(x, Tensor):
            raise TypeError(NO_TENSOR)
        node = None
        if enabled is True and flows(x) == 1:
            edges = (edge_of(x),)
            node = new_node(self.node, self.node_copies, plan, edges)
            finish(node, edges)
        meta = self.meta_of(x, plan, None, self.recorded if enabled is True else self.unrecorded, node)
        template: Tensor = plan.outs[0]
        out = new(Tensor, layout=template.layout, _edge_=None, _needs_grad_=ASK, _meta_=meta)
        # What x is made of is read at once, and after all that may run Python: NOTE [Trust].
        if x.layout is not plan.layout:
            raise RuntimeError(CHANGED)
        out._offset_ = int(x._offset_) + int(plan.offset)
        out._storage_ = x._storage_
        meta.version = x._storage_.version
        return out

    def meta_of(self, x: Tensor, plan, which, creation, node) -> Meta:
        """The Meta of a view, or of one of several. A view of a view has the same base and a longer chain.

        A view that was made a leaf of its own is a base to its views: their cotangents go to it.
        """
        base, chain = x, None
        parent: Meta | None = x._meta_
        if parent is not None and parent.base is not None and x._needs_grad_ is not True:
            base = cast(Tensor, parent.base)
            chain = parent.chain
            if creation is self.recorded:
                creation = parent.creation
        meta = new(Meta, base=base, chain=(chain, plan, which), creation=creation, node=node, version=x._storage_.version)
        copy_slots(self.meta, meta, words_of(self.meta_copies))
        return meta


@bound
class Builder:
    """``build(*values)``: a copy of the template with ``values`` in slots that it leaves unset.

    Attributes:
        slots, count: those slots, and how many they are.
        untracked: whether the collector does not see the copies, of plans and layouts neither the containers among ``values``:
            NOTE [Collector].
        node: whether the copies are nodes, of which anomaly mode notes the place.
    """

    __slots__ = ("slots", "count", "template", "copies", "untracked", "node")
    slots: bytes
    count: int
    template: Any
    copies: bytes
    untracked: bool
    node: bool

    def __init__(self, slots, count, template, copies, untracked, node):
        self.slots, self.count, self.template, self.copies = slots, count, template, copies
        self.untracked, self.node = untracked, node

    def __call__(self, *values):
        if len(values) != int(self.count):
            raise TypeError(MISCOUNTED)
        made = allocate(type(self.template))
        if self.untracked:
            hide(made)  # NOTE [Collector]
        copy_slots(self.template, made, words_of(self.copies))
        slots = words_of(self.slots)
        for k in range(len(values)):
            put(made, slots[k], values[k])
        if self.node:
            note_place(cast(Node, made))
        elif self.untracked:
            for k in range(len(values)):
                conceal(values[k])
        return made


@entry
def number_node(node) -> None:
    """A node made in Python gets its sequence number, and its place."""
    if not isinstance(node, Node):
        raise TypeError(NO_NODE)
    node._seq_ = next_seq()
    note_place(node)
