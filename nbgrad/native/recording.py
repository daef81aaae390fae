"""Native code: nodes recorded, views, copies of templates."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from .language import bound, entry, native
from .launches import CHANGED, alias, next_seq
from .places import note_place
from .plans import MovementPlan
from .primitives import allocate, copy_slots, hide, new, put, words_of

if TYPE_CHECKING:
    from ..graph.node import Node
    from ..tensors.tensor import ASK, Meta, Tensor

__all__ = ["Builder", "Recorder", "Viewer", "number_node"]

NO_NODE = "launch: expected a Node."
MISCOUNTED = "launch: build got another number of arguments than it takes"


@native(inline=True)
def new_node(template: Node, copies: bytes, plan, edges) -> Node:
    """A node like the template with its number, plan and edges."""
    node = cast(Node, allocate(type(template)))                 # some save more than a Node has room for
    node._edges_, node._plan_ = edges, plan
    node._seq_ = next_seq()                                     # younger than all that it points to
    copy_slots(template, node, words_of(copies))
    return node


@native(inline=True)
def finish(node: Node, edges) -> None:
    """Hide a finished node from the collector, NOTE [Collector], and note its place."""
    hide(edges)
    hide(node)
    note_place(node)


@native
def edge(x: Tensor, edge_of: Callable):
    """Where the cotangent of an operand goes."""
    own = x._edge_
    if own is not None:
        return own
    needs = x._needs_grad_
    if needs is True:
        return x                                                # a leaf stands for itself
    meta: Meta | None = x._meta_
    if needs is not False and meta is not None:
        # A view's node, unless its memory was written to since: `views.view_edge`.
        node = meta.node
        if node is not None and meta.version is x._storage_.version:
            return node
    return edge_of(x)


@bound
class Recorder:
    """``record(plan, out, *operands)``: a node for ``out``, a copy of the template with number, plan, edges and saved values.

    Attributes:
        words: number of edges, the operand of each, number of saved values, then for each its operand (-1: the result), its slot
        and
            its version's, whether it is a number.
        edge_of: called where a tensor's ``_edge_`` is None.
    """

    __slots__ = ("words", "template", "copies", "edge_of")
    words: bytes
    template: Node
    copies: bytes
    edge_of: Callable

    def __init__(self, words, template, copies, edge_of):
        self.words, self.template, self.copies, self.edge_of = words, template, copies, edge_of

    def __call__(self, plan, out: Tensor, *operands) -> None:
        facts = words_of(self.words)
        edges = tuple([edge(cast(Tensor, operands[facts[1 + k]]), self.edge_of) for k in range(facts[0])])
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

    A view of a view has the same base and a longer chain.

    Attributes:
        node, meta: what to copy.
        recorded, unrecorded: the Meta's ``creation`` with recording on, and off.
        slow: called where ``x`` is a view with a history of its own, or whose memory was written to since, or one of the values by
            which the plan was found is odd: NOTE [Whole numbers].
    """

    __slots__ = ("node", "node_copies", "meta", "meta_copies", "recorded", "unrecorded", "slow")
    node: Node
    node_copies: bytes
    meta: Meta
    meta_copies: bytes
    recorded: Any
    unrecorded: Any
    slow: Callable

    def __init__(self, node, node_copies, meta, meta_copies, recorded, unrecorded, slow):
        self.node, self.node_copies, self.meta, self.meta_copies = node, node_copies, meta, meta_copies
        self.recorded, self.unrecorded, self.slow = recorded, unrecorded, slow

    def __call__(self, plan: MovementPlan, x, enabled, *values):
        for value in values:
            if not usual(value):
                return self.slow(plan, x, enabled, *values)
        if not isinstance(x, Tensor):
            return self.slow(plan, x, enabled, *values)
        base, chain, creation, target = x, None, self.recorded, None
        parent: Meta | None = x._meta_
        if parent is not None and parent.base is not None:      # a view of a view
            if x._needs_grad_ is not ASK:                       # ... that was made a leaf
                return self.slow(plan, x, enabled, *values)
            base = cast(Tensor, parent.base)
            chain = parent.chain
            creation = parent.creation
            if enabled is True:
                target = parent.node
                if base._needs_grad_ is False:
                    if target is not None:                      # a base cut off its history leaves its views theirs
                        return self.slow(plan, x, enabled, *values)
                elif target is None or parent.version is not x._storage_.version:
                    return self.slow(plan, x, enabled, *values)
        elif enabled is True and x._needs_grad_ is not False:
            if x._needs_grad_ is not True:
                return self.slow(plan, x, enabled, *values)
            target = x if x._edge_ is None else x._edge_        # a leaf stands for itself
        node = None
        if target is not None:
            edges = (target,)
            node = new_node(self.node, self.node_copies, plan, edges)
            finish(node, edges)
        meta = new(Meta, base=base, chain=(chain, plan, None), creation=creation if enabled is True else self.unrecorded, node=node)
        copy_slots(self.meta, meta, words_of(self.meta_copies))
        template: Tensor = plan.outs[0]
        out = new(Tensor, layout=template.layout, _edge_=None, _needs_grad_=ASK, _meta_=meta)
        # What x is made of is read at once, and after all that may run Python: NOTE [Trust].
        if x.layout is not plan.layout:
            raise RuntimeError(CHANGED)
        out._offset_ = int(x._offset_) + int(plan.offset)
        out._storage_ = x._storage_
        meta.version = x._storage_.version
        return out


@bound
class Builder:
    """``build(*values)``: a copy of the template with ``values`` in slots that it leaves unset.

    Attributes:
        slots, count: those slots, and how many they are.
        untracked: for nodes: the collector does not see the copies, NOTE [Collector], and anomaly mode notes their place.
    """

    __slots__ = ("slots", "count", "template", "copies", "untracked")
    slots: bytes
    count: int
    template: Any
    copies: bytes
    untracked: bool

    def __init__(self, slots, count, template, copies, untracked):
        self.slots, self.count, self.template, self.copies, self.untracked = slots, count, template, copies, untracked

    def __call__(self, *values):
        if len(values) != int(self.count):
            raise TypeError(MISCOUNTED)
        made = allocate(type(self.template))
        if self.untracked:
            hide(made)                                          # NOTE [Collector]
        copy_slots(self.template, made, words_of(self.copies))
        slots = words_of(self.slots)
        for k in range(len(values)):
            put(made, slots[k], values[k])
        if self.untracked:
            note_place(cast(Node, made))
        return made


@entry
def number_node(node) -> None:
    """A node made in Python gets its sequence number, and its place."""
    if not isinstance(node, Node):
        raise TypeError(NO_NODE)
    node._seq_ = next_seq()
    note_place(node)
