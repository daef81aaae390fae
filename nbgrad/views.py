"""Views and in-place writes: base/view chains, and how a write changes histories.

A differentiable view knows its base (never another view), the chain of movements that leads from the base to it, how it came
about, and the node that it had at a version of the storage. An in-place write through any alias gives the *base* a new node;
other aliases notice by the version and rebuild their own by replaying their chain on the base.

NOTE [View meta]: fields of a view's ``Meta``.
  base      the tensor whose memory it is
  chain     ``(chain of the view it was made from, or None; plan of the movement; which output, or None)``
  creation  default; no_grad; multi_output (of split, unbind); function (by a custom Function); inference
  version   the storage's version when ``node`` was right
  node      None, or the edge for the view's cotangent
A view that was made a leaf of its own by ``requires_grad_()`` has ``needs_grad`` True rather than ASK, and an
AccumulateGrad like any leaf.
"""

from __future__ import annotations

from functools import lru_cache
from sys import getrefcount
from typing import Any, Callable, NamedTuple, Sequence
from weakref import ReferenceType, WeakKeyDictionary, ref

import numpy as np

from .base.calls import CALLS
from .base.errors import InplaceError, ShapeError
from .base.grad_mode import mode
from .graph import edges as graph
from .graph.cotangents import ENGINE_ALONE
from .graph.edges import Node, edge_of, is_leaf_edge, note_retained, number_node
from .graph.node import blank_node
from .graph.rule import Rule
from .native.handle import known
from .tensors.layout import Layout
from .tensors.storage import Storage
from .tensors.tensor import ASK, DEFAULT, FUNCTION, MULTI_OUTPUT, NO_GRAD, Tensor, native

__all__ = ["view_edge", "check_inplace", "rebase", "is_grad_leaf", "is_view", "base_of"]


class WrittenRegion(NamedTuple):
    """What the node of an in-place write to a view knows of its place: see views.rebase."""

    outer: ReferenceType
    base_layout: Layout
    base_offset: int
    geometry: tuple

    def values(self) -> dict:
        """It holds no attributes of the operation."""
        return {}


def is_view(x: Tensor) -> bool:
    """Whether ``x`` is a differentiable view of another tensor."""
    return x._meta_ is not None and x._meta_.base is not None


def base_of(x: Tensor) -> Tensor | None:
    """The tensor that ``x`` is a view of, or None."""
    return x._meta_.base if x._meta_ is not None else None


def chain_of(meta) -> list[tuple[Any, int | None]]:
    """The movements from the base to the view, outermost last: ``(plan, which output)``."""
    steps, chain = [], meta.chain
    while chain is not None:
        parent, plan, which = chain
        steps.append((plan, which))
        chain = parent
    steps.reverse()
    return steps


def replay_view(x: Tensor, base: Tensor, meta) -> Tensor:
    """The same view of its base as it is now: by its movements, or by strides if the base was itself moved in place (``t_``).

    Raises:
        InplaceError: the base has left elements of the view behind (``as_strided_``).
    """
    parent, last, which = meta.chain
    if parent is None and which is None and last.layout is base.layout and x._offset_ - last.offset == base._offset_:
        return CALLS[last.op.name](base, *last.args)  # one movement of a base that stayed where it was
    steps = chain_of(meta)
    if origin_in(base, x, steps) is None:
        return follow_chain(base, steps)
    if not (lies_inside(x.layout, base.layout, x._offset_ - base._offset_) or reaches_out(meta)):
        raise InplaceError(
            f"a view, {list(x.layout.shape)} with strides {list(x.layout.strides)}, shows elements that its base, "
            f"{list(base.layout.shape)} with strides {list(base.layout.strides)}, no longer has since it was moved "
            "in place, so it has no gradient any more. Hint: make the view after the change."
        )
    if all(plan.op.plain for plan, which in steps):
        return StridedPlace(x.layout.shape, x.layout.strides, (x._offset_ - base._offset_) // x.layout.dtype.itemsize).of(base)
    return region_in(base, x).of(base)


def origin_in(base: Tensor, x: Tensor, steps: Sequence[tuple[Any, int | None]]) -> StridedPlace | None:
    """Where in its base as it is now the tensor lies to which the movements to ``x`` apply; None: it is the base."""
    layout = steps[0][0].layout
    first = x._offset_ - sum(plan.offset if which is None else plan.offset[which] for plan, which in steps)
    if first == base._offset_ and (layout.shape, layout.strides) == (base.layout.shape, base.layout.strides):
        return None
    return StridedPlace(layout.shape, layout.strides, (first - base._offset_) // layout.dtype.itemsize)


def follow_chain(x: Tensor, steps) -> Tensor:
    """``x`` after the movements of a chain."""
    for plan, which in steps:
        made: Any = CALLS[plan.op.name](x, *plan.args)
        x = made if which is None else made[which]
    return x


def view_edge(x: Tensor):
    """Where the cotangent of a view goes now; None for a view that has no history.

    Raises:
        InplaceError: its memory was changed in place, and it was made where that cannot be tracked.
    """
    meta = x._meta_
    storage = x._storage_
    if meta.version == storage.version:
        return meta.node
    has_history = meta.base._needs_grad_ is True
    if meta.creation is not DEFAULT and (has_history or meta.node is not None):
        raise InplaceError(
            f"the memory of a view that {_WHY[meta.creation]} was changed in place, so the view has no gradient "
            "any more. Hint: make the view after the change, or both under no_grad()."
        )
    if has_history:
        before = meta.node
        modes = mode.enabled, mode.inference, mode.inferring
        mode.enabled, mode.inference, mode.inferring = True, False, False
        try:
            meta.node = edge_of(replay_view(x, meta.base, meta))
        finally:
            mode.enabled, mode.inference, mode.inferring = modes
        meta.version = storage.version
        if meta.retains:
            note_retained(x, meta.node, before)
    elif meta.node is not None:
        require_unwritten(meta)
    return meta.node


def require_unwritten(meta) -> None:
    """Refuse the history of a view that is older than a recorded write to its base, which was then cut off what was recorded.

    Raises:
        InplaceError: it is.
    """
    node, cut = meta.node, meta.base._meta_ and meta.base._meta_.version
    node = node.node if type(node) is graph.Edge else node
    if cut is not None and isinstance(node, Node) and node._seq_ < cut:
        raise InplaceError(
            "the memory of a view was changed in place, and detach_() then cut its base off what was recorded, "
            "so the view has no gradient any more. Hint: make the view after the change, or detach() the base."
        )


known["view_edge"] = view_edge


def check_inplace(op: str, x: Tensor, recorded: bool) -> None:
    """Refuse in-place writes that autograd cannot follow.

    Args:
        recorded: recording is on, and ``x`` or another operand needs a gradient.

    Raises:
        InplaceError: a leaf that requires grad, or a view of one; a view made where it could not be tracked.
    """
    if x._storage_.writable is not True:
        x._storage_.require_writable(op)
    if x.layout.expanded:
        raise InplaceError(
            f"{op}: several elements of the tensor {list(x.layout.shape)} share one memory location "
            f"(strides {list(x.layout.strides)}). Hint: clone it first."
        )
    if not recorded:
        return
    check_history(op, x)
    meta = x._meta_
    if meta is not None and meta.base is not None and (x._needs_grad_ is ASK or x._edge_ is not None):
        if meta.base.layout.expanded:
            raise InplaceError(
                f"{op}: the tensor is a view of one whose elements share memory locations (strides "
                f"{list(meta.base.layout.strides)}), so the write shows in several of them. "
                "Hint: clone that one first."
            )
        require_inside(op, x, meta)


def check_history(op: str, x: Tensor) -> None:
    """Refuse recorded changes of leaves, and of views that no history follows.

    Raises:
        InplaceError: ``x`` is one.
    """
    meta = x._meta_
    if meta is not None and meta.base is not None and (x._needs_grad_ is ASK or x._edge_ is not None):
        if meta.creation is not DEFAULT:
            raise InplaceError(
                f"{op}: the tensor is a view that {_WHY[meta.creation]}, and its in-place change cannot be "
                "recorded. Hint: clone it, or write under no_grad()."
            )
        # A base that was cut off its history is a leaf to the views that still have theirs.
        if is_leaf_edge(meta.base._edge_) and (meta.base._needs_grad_ or meta.node is not None):
            raise InplaceError(f"{op}: a view of a leaf that requires grad is changed in place. Hint: use no_grad(), or clone.")
    elif is_grad_leaf(x):
        raise InplaceError(f"{op}: a leaf that requires grad is changed in place. Hint: use no_grad(), or work on a clone.")
    if has_views_made_leaves and x._storage_ in views_made_leaves:
        spare_leaves(op, x)


# By the storage of a tensor without grad the views of it that were made leaves of their own: flat memory of parameters.
views_made_leaves: WeakKeyDictionary[Storage, list[ReferenceType]] = WeakKeyDictionary()
has_views_made_leaves = False  # whether there ever was one: to ask such a dictionary is a call


def note_view_made_leaf(x: Tensor) -> None:
    """Remember a view that requires grad though its base does not: a recorded write to the base would give it no history."""
    global has_views_made_leaves
    if x._meta_.base._needs_grad_ is False:
        has_views_made_leaves = True
        kept = [r for r in views_made_leaves.get(x._storage_, ()) if r() is not None]
        views_made_leaves[x._storage_] = [*kept, ref(x)]


def spare_leaves(op: str, x: Tensor) -> None:
    """Refuse a recorded write to elements of views that were made leaves.

    Raises:
        InplaceError: there are such elements. What was detached from the leaf is no relative: its writes are not the leaf's.
    """
    written, base = None, base_of(x)
    base = x if base is None else base
    for r in views_made_leaves[x._storage_]:
        leaf = r()
        if leaf is None or not is_grad_leaf(leaf) or leaf._storage_ is not x._storage_ or base_of(leaf) is not base:
            continue
        if written is None:
            written = places(x.layout, x._offset_)
        if np.isin(places(leaf.layout, leaf._offset_), written).any():
            raise InplaceError(
                f"{op}: a view of this memory, {list(leaf.layout.shape)}, is a leaf that requires grad, "
                "and would change without the gradient of what is written. Hint: use no_grad(), or work on a clone."
            )


def reaches_out(meta) -> bool:
    """Whether a view was made by ``as_strided``, which may show what its base never had."""
    return any(plan.op.unbounded for plan, _ in chain_of(meta))


def require_inside(op: str, x: Tensor, meta) -> None:
    """Refuse recorded writes to elements that the base of a view does not have: ``as_strided`` goes wherever its storage goes, and
    either may have been given other memory, or the base another shape.

    Raises:
        InplaceError: there are such elements.
    """
    chain, base = meta.chain, meta.base.layout
    if x._storage_ is not meta.base._storage_:
        raise InplaceError(
            f"{op}: the tensor is a view of one that is on other memory by now (.data, set_), so the write shows "
            "in one of them alone. Hint: make the view again, clone it, or write under no_grad()."
        )
    while chain is not None:
        parent, plan, _ = chain
        if plan.op.unbounded or parent is None and plan.layout is not base:
            if not lies_inside(x.layout, base, x._offset_ - meta.base._offset_):
                raise InplaceError(
                    f"{op}: the tensor, {list(x.layout.shape)} with strides {list(x.layout.strides)}, shows memory "
                    f"outside of its base, {list(base.shape)} with strides {list(base.strides)}, "
                    "where no write can be recorded. Hint: a view of the tensor that has all of it, or no_grad()."
                )
            return
        chain = parent


@lru_cache(maxsize=1024)
def lies_inside(view: Layout, base: Layout, offset: int) -> bool:
    """Whether every element of a view, so many bytes behind the first one of its base, is one of the base's."""
    if not view.numel:
        return True
    low, high = offset, offset + byte_extent(view)
    if low < 0 or high > byte_extent(base) or not base.numel:
        return False
    if base.dense:
        return True
    own = np.zeros(byte_extent(base), bool)
    own[places(base, 0)] = True
    return bool(own[places(view, offset)].all())


def byte_extent(layout: Layout) -> int:
    """Bytes from the first element of a layout to behind its last one."""
    return (1 + sum((s - 1) * t for s, t in zip(layout.shape, layout.strides))) * layout.dtype.itemsize


def places(layout: Layout, offset: int) -> np.ndarray:
    """The bytes of all elements of a layout."""
    size = layout.dtype.itemsize
    found = offset + np.arange(size)
    for count, stride in zip(layout.shape, layout.strides):
        found = (found[:, None] + np.arange(count) * (stride * size)).ravel()
    return found


_WHY = {
    NO_GRAD: "was made under no_grad()",
    MULTI_OUTPUT: "one operation returned several of (split, unbind, chunk)",
    FUNCTION: "a custom Function returned",
    "inference": "was made in inference mode",
}


def is_grad_leaf(x: Tensor) -> bool:
    """Whether ``x`` is a leaf that requires grad."""
    return x._needs_grad_ is True and is_leaf_edge(x._edge_)


class CopySlicesRule(Rule):
    """The rule of a base whose view was written to: the write's own cotangents for the region, the rest unchanged."""

    name, node_name, frees = "copy_slices", "CopySlices", True

    def keeper(self, node: Node) -> Node:
        """The node of the write, which this one runs; itself once it was freed."""
        return node if node._attrs_ is None else node._attrs_[0]


COPY_SLICES = CopySlicesRule()


def copy_slices_backward(node: Node, g, create_graph: bool):
    """Cotangents of the base before the write, and of the write's other operands."""
    write, geometry, base_layout, self_slot = node._attrs_
    if g.layout.shape != base_layout.shape:  # the elements that are written back would not be the region's
        raise ShapeError(
            f"CopySlices: the cotangent has shape {list(g.layout.shape)}, the tensor that was written to had "
            f"{list(base_layout.shape)}: it was given another one (.data) since. Hint: assign data of that shape."
        )
    # The memory of a cotangent that nobody else can see is written over; a node with hooks may have shown it.
    mine = not create_graph and g.layout is base_layout and node._meta_ is None and getrefcount(g) <= ENGINE_ALONE
    total = g if mine and native.is_unseen(g) else CALLS["clone_like"](g, base_layout)
    region = geometry.of(total)
    reads = not create_graph and write._rule_.only_reads
    found = write._backward_(write, region if reads else CALLS["clone"](region), create_graph)
    cotangents = (found,) if len(write._edges_) == 1 else found
    own = None if self_slot is None else cotangents[self_slot]
    others = [x for k, x in enumerate(cotangents) if k != self_slot] if len(node._edges_) > 1 else ()
    if reads and others:
        others = [apart_from(region, x) for x in others]
    if own is None:
        CALLS["zero_"](region)
    elif own is not region:
        CALLS["copy_"](region, own)
    return (total, *others) if others else total


def apart_from(region: Tensor, x: Tensor | None) -> Tensor | None:
    """A cotangent on memory of its own, if it lies in that of the region, which is written to."""
    return CALLS["clone"](x) if x is not None and x._storage_ is region._storage_ else x


class StridedPlace(NamedTuple):
    """The place of a view in its base, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def of(self, base: Tensor) -> Tensor:
        """The same part of a tensor with the base's layout."""
        return CALLS["as_strided_from"](base, *self)


@lru_cache(maxsize=1024)
def place_of(layout: Layout, offset: int) -> StridedPlace:
    """The place of a view of that layout, so many bytes behind the first element of its base."""
    return StridedPlace(layout.shape, layout.strides, offset // layout.dtype.itemsize)


class Replayed(NamedTuple):
    """The place of a view that reads its base's memory as another dtype, conjugated or negated: the movements to it.

    Attributes:
        origin: where the tensor that they apply to lies, if the base was moved in place since.
    """

    origin: StridedPlace | None
    steps: tuple

    def of(self, base: Tensor) -> Tensor:
        """The same part of a tensor with the base's layout."""
        return follow_chain(base if self.origin is None else self.origin.of(base), self.steps)


def region_in(base: Tensor, x: Tensor) -> StridedPlace | Replayed:
    """Where the view ``x`` lies in its base."""
    own, layout = base.layout, x.layout
    if own.dtype is layout.dtype and own.conj is layout.conj and own.neg is layout.neg:
        return place_of(layout, x._offset_ - base._offset_)
    steps = tuple(chain_of(x._meta_))
    return Replayed(origin_in(base, x, steps), steps)


@lru_cache(maxsize=1)
def outer_builder() -> Callable[[tuple, Any, tuple], Node]:
    """``new_node(edges, plan, attrs)`` of a base whose view was written to."""
    template = blank_node(Node, ("_seq_", "_edges_", "_plan_", "_attrs_"))
    template._rule_, template._backward_, template._outputs_ = COPY_SLICES, copy_slices_backward, 1
    return native.builder(template, ("_edges_", "_plan_", "_attrs_"))


class _BasePlan:
    __slots__ = ("outs",)

    def __init__(self, layout):
        self.outs = (layout.template,)


base_plan = lru_cache(maxsize=1024)(_BasePlan)


def rebase(x: Tensor, node: Any, self_slot: int | None, old_edge) -> None:
    """Give ``x``, just written to, the history ``node``; through the base if it is a view.

    Args:
        node: the write's node, whose edges include the one for the old value of ``x`` at ``self_slot`` (None: the old
            value does not matter); or, for a tensor that is no view, an Edge to one of the node's outputs.
        old_edge: unused for a tensor that is no view; the base's edge before the write for a view.
    """
    meta = x._meta_
    if meta is None or meta.base is None or x._needs_grad_ is not ASK:
        before = x._edge_
        x._edge_, x._needs_grad_ = node, True
        if meta is not None and meta.retains:
            note_retained(x, node, before)
        return
    base = meta.base
    others = node._edges_ if self_slot is None else (*node._edges_[:self_slot], *node._edges_[self_slot + 1 :])
    geometry = region_in(base, x)
    outer = outer_builder()((old_edge, *others), base_plan(base.layout), (node, geometry, base.layout, self_slot))
    node._edges_ = (None,) * len(node._edges_)  # the region's node is run by CopySlices alone
    if node._attrs_ is None:
        node._attrs_ = WrittenRegion(ref(outer), base.layout, base._offset_, geometry)
    number_node(outer)
    base._edge_, base._needs_grad_ = outer, True
    if base._meta_ is not None and base._meta_.retains:
        note_retained(base, outer, old_edge)
    # This view's own node is rebuilt when it is asked for; the version says so even if the write bumped nothing.
    meta.version = -1
    if meta.retains:
        before = meta.node
        note_retained(x, view_edge(x), before)
