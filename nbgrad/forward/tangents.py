"""What forward mode knows of a tensor: its tangents, one for every level of differentiation.

A level is one differentiation along a direction. ``x._meta_.tangent`` is ``{number of the level: tangent}``, or None. A tangent is
an ordinary tensor: it is computed by calls, recorded if recording is on, and it may have tangents of its own, of outer levels.

NOTE [Levels]: inner levels have higher numbers. What a thread computes sees the levels below ``sight.below`` alone. The tangents of
  a result are computed level by level, outer ones first, each where it and all further inside cannot be seen: so a tangent of level
  n has tangents of levels below n, which are the mixed derivatives, and never one of its own level: nothing is confused.

NOTE [Place of a tangent]: a tensor and its tangent have the same sizes, strides and offset in storages of the same size. So
  1. a view of a tensor has the same view of the tangent, and a write to a tensor writes to its tangent: both keep being views;
  2. a view that was made before its base became dual finds its tangent in that of the base (``inherited``);
  3. a write through a view of a plain tensor gives the base a tangent, which is zero elsewhere (``write_tangent``).

Source of the rules: torch's ``autograd_meta.cpp``.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterable
from weakref import ref

from ..base.calls import CALLS
from ..base.errors import GradError
from ..base.grad_mode import dual_levels, mode, special
from ..base.locks import new_lock
from ..batch.tensors import levels_of, lifted, lowered, number_of
from ..creation.allocation import new_full
from ..graph.edges import Edge, Node
from ..graph.saved import SavedTensor
from ..modes.interpreters import Presence
from ..modes.traced import TRACED
from ..tensors.batch_levels import Level, is_batched, whole
from ..tensors.layout import layout_of
from ..tensors.tensor import META_TEMPLATE, Meta, Tensor, meta_of, native
from ..views import CopySlicesRule, replay_view

__all__ = [
    "push_level",
    "pop_level",
    "visible_levels",
    "below_level",
    "sight",
    "are_tangents_seen",
    "set_tangents_seen",
    "tangent_of",
    "sees_tangent",
    "hold",
    "give",
    "write_tangent",
    "fitted",
    "share_memory",
    "node_of",
    "share_with_overwritten",
]


# ---- levels --------------------------------------------------------------------------------------------------------


class DualLevel(Presence):
    """An open level: while there is one, calls go through the interpreters.

    Attributes:
        number: its number.
        holders: weak references to where tangents of this level are kept, to be taken away at its end; a
            list, which is quicker than a WeakSet.
        most: how many of them are kept before those that lead nowhere are dropped.
    """

    rank = "tangents"

    def __init__(self, number: int):
        self.number, self.most = number, FEWEST_HOLDERS
        self.holders: list[ref[Meta]] = []

    def expose(self, x: Tensor, levels: tuple[Level, ...]) -> Tensor:
        """``x`` over those of ``levels`` that its tangents, of any open level, depend on."""
        return exposed(x, levels)

    def keep(self, meta: Meta) -> None:
        """Note that ``meta`` has a tangent of this level."""
        self.holders.append(ref(meta))
        if len(self.holders) > self.most and _lock.acquire(blocking=False):
            try:
                self.sweep()
            finally:
                _lock.release()

    def sweep(self) -> None:
        """Drop the references that lead nowhere, and repeated ones; other threads may append meanwhile."""
        count = len(self.holders)
        self.holders[:count] = {id(each): each for each in self.holders[:count] if each() is not None}.values()
        self.most = max(FEWEST_HOLDERS, 2 * len(self.holders))


FEWEST_HOLDERS = 1024
_lock = new_lock()
ALL_LEVELS = 1 << 62


class Sight(threading.local):
    """Which levels a thread sees: those below a number."""

    below = ALL_LEVELS


sight = Sight()


def push_level() -> int:
    """Open a level inside of all that are open; returns its number."""
    with _lock:
        level = DualLevel(dual_levels[-1].number + 1 if dual_levels else 0)
        # In this order, and closed in the other: ``special == dual_levels`` means that there are no other modes.
        special.append(level)
        dual_levels.append(level)
    return level.number


def pop_level(number: int) -> None:
    """Close a level: its tangents are gone from all tensors.

    Raises:
        GradError: there is none of that number.
    """
    with _lock:
        level = level_of(number)
        dual_levels.remove(level)
        special.remove(level)
    for holder in level.holders:
        meta = holder()
        if meta is not None and meta.tangent:
            meta.tangent.pop(number, None)


def level_of(number: int) -> DualLevel:
    """The open level of a number.

    Raises:
        GradError: there is none.
    """
    for level in dual_levels[:]:
        if level.number == number:
            return level
    raise GradError(
        f"forward_ad: level {number} is not open; open are {[level.number for level in dual_levels]}. "
        "Hint: with nbgrad.forward_ad.dual_level(): ..."
    )


def visible_levels() -> list[int]:
    """The open levels that this thread sees, outermost first; none in inference mode."""
    if mode.inference or mode.inferring:
        return []
    limit = sight.below
    return [level.number for level in dual_levels[:] if level.number < limit]


def set_tangents_seen(enabled: bool) -> None:
    """Whether this thread sees tangents at all."""
    sight.below = ALL_LEVELS if enabled else 0


def are_tangents_seen() -> bool:
    """Whether this thread sees tangents."""
    return sight.below > 0


def below_level(limit: int, function: Callable, *args: Any) -> Any:
    """``function(*args)``, which sees levels below ``limit`` only."""
    before, sight.below = sight.below, limit
    try:
        return function(*args)
    finally:
        sight.below = before


# ---- the tangent of a tensor ---------------------------------------------------------------------------------------


def tangent_of(x: Tensor, level: int) -> Tensor | None:
    """The tangent of ``x`` at a level; for a view without one its part of the base's, if that has one."""
    meta = x._meta_
    if meta is None:
        return None
    held = meta.tangent
    if held and level in held:
        return held[level]
    return inherited(x, meta, level) if meta.base is not None else None


def sees_tangent(x: Tensor) -> bool:
    """Whether this thread sees a tangent of ``x`` at any level."""
    return any(tangent_of(x, level) is not None for level in visible_levels())


def inherited(x: Tensor, meta: Meta, level: int) -> Tensor | None:
    """The part that a view has in its base's tangent: NOTE [Place of a tangent], 2."""
    whole = tangent_of(meta.base, level)
    if whole is None or is_severed(meta):
        return None
    enabled, mode.enabled = mode.enabled, True
    try:
        part = below_level(level, replay_view, x, whole, meta)
    finally:
        mode.enabled = enabled
    hold(x, level, part)
    return part


def is_severed(meta: Meta) -> bool:
    """Whether a view leads through ``make_dual`` or ``unpack_dual``, whose results share memory with the operand but no tangent."""
    chain = meta.chain
    while chain is not None:
        if chain[1].op.severs:
            return True
        chain = chain[0]
    return False


def template_of_dual() -> Meta:
    """The Meta of a result that has tangents and nothing else."""
    template = Meta()
    for slot in Meta.__slots__[:-1]:
        if slot != "tangent":
            setattr(template, slot, getattr(META_TEMPLATE, slot))
    return template


# ``dual_meta(tangents)``: a Meta with tangents.
dual_meta = native.builder(template_of_dual(), ("tangent",))


def hold(x: Tensor, level: int, tangent: Tensor) -> None:
    """Keep a tangent until the level ends."""
    meta = x._meta_
    if meta is None:
        meta = x._meta_ = dual_meta({level: tangent})
    elif meta.tangent is None:
        meta.tangent = {level: tangent}
    else:
        meta.tangent[level] = tangent
    level_of(level).keep(meta)


def give(x: Tensor, level: int, tangent: Tensor, others: Iterable[Tensor | None] = ()) -> None:
    """Make a result dual.

    Args:
        tangent: computed for it; it is copied if it lies in another place, or shares memory with one of ``others``.
    """
    if any(t is not None and share_memory(t, tangent) for t in others):
        tangent = CALLS["clone"](tangent)
    hold(x, level, fitted(tangent, x))
    share_with_saved(x, level)


def write_tangent(x: Tensor, level: int, tangent: Tensor | None) -> None:
    """Make ``tangent`` (None: zero) that of ``x``, which was just written to, in place: views of the old one see it."""
    held = tangent_of(x, level)
    if held is None and tangent is not None:
        if x._meta_ is None or x._meta_.base is None or is_severed(x._meta_):
            give(x, level, CALLS["clone"](tangent))
            return
        base = x._meta_.base
        hold(base, level, zeros_in_place_of(base, base.layout.dtype))
        held = tangent_of(x, level)
    if held is not None and tangent is not None:
        held = widened(x, level, held, tangent)
    if held is not None:
        CALLS["zero_"](held) if tangent is None else CALLS["copy_"](held, tangent)
        share_with_saved(x, level)


# ---- tangents of batches -------------------------------------------------------------------------------------------


def hidden_levels_of(x: Tensor) -> set[Level]:
    """The levels of a batch that tangents of ``x`` depend on and ``x`` does not."""
    value = whole(x)
    tangents = [tangent_of(value, level) for level in visible_levels()]
    return {each for t in tangents if t is not None and is_batched(t) for each in t._levels_}


def exposed(x: Tensor, levels: tuple[Level, ...]) -> Tensor:
    """``x`` itself, or a copy over those of ``levels`` that its tangents depend on, with those tangents.

    Both the value and the tangents are then dimensions of one batch: see NOTE [Batched] in batch/tensors.py, 3.
    """
    hidden = hidden_levels_of(x).intersection(levels)
    if not hidden:
        return x
    own = x._levels_ if is_batched(x) else ()
    wanted = tuple(sorted({*own, *hidden}, key=number_of))
    value = below_level(0, lambda: CALLS["contiguous_copy"](lowered(x, wanted)))
    for level in visible_levels():
        tangent = tangent_of(whole(x), level)
        if tangent is not None:
            tangent = below_level(level, lambda t=tangent: lowered(lifted(t, own), wanted))
            hold(value, level, below_level(level, fitted, tangent, value))
    return lifted(value, wanted)


def batched_zeros_in_place_of(x: Tensor, dtype, levels: tuple[Level, ...]) -> Tensor:
    """Zeros that may differ over a batch, each in the place of ``x`` in a storage of the size of its own."""
    own, strides = x.layout, list[int]()
    step = x._storage_.array.nbytes // own.dtype.itemsize
    for level in reversed(levels):
        strides.insert(0, step)
        step *= level.size
    shape = (*(level.size for level in levels), *own.shape)
    placed = layout_of(dtype, shape, (*strides, *own.strides), own.device, own.conj, own.neg)
    flat, offset = new_full(layout_of(dtype, (step,), None, own.device), 0), x._offset_ // own.dtype.itemsize * dtype.itemsize
    return lifted(native.tensor(placed.template, flat._storage_, offset, False, None), levels)


def widened(x: Tensor, level: int, held: Tensor, tangent: Tensor) -> Tensor:
    """The tangent of ``x``, which was the same for a whole batch, with room for what differs over it."""
    if not is_batched(tangent) or (is_batched(held) and held._levels_ == tangent._levels_):
        return held
    owner = x if x._meta_.base is None or is_severed(x._meta_) else x._meta_.base
    old: Any = tangent_of(owner, level)
    new = batched_zeros_in_place_of(owner, old.layout.dtype, levels_of((old, tangent)))
    CALLS["copy_"](new, old)
    hold(owner, level, new)
    if owner is not x:
        x._meta_.tangent.pop(level, None)
    found: Any = tangent_of(x, level)
    return found


# ---- place in memory -----------------------------------------------------------------------------------------------


def has_memory(x: Tensor) -> bool:
    """Whether the layout says where the elements are: of a marked tensor, a batched one first of all, its interpreter knows."""
    return isinstance(x.layout.special, bool) or x.layout.special is TRACED


def share_memory(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors lie in one storage."""
    return all(has_memory(t) or is_batched(t) for t in (x, y)) and x._storage_ is y._storage_


def fitted(tangent: Tensor, x: Tensor) -> Tensor:
    """``tangent`` itself if it lies in its storage as ``x`` does in its own, else a copy that does."""
    own, layout = x.layout, tangent.layout
    if not (has_memory(x) and has_memory(tangent)) or lies_alike(tangent, x):
        return tangent
    if own.dense and not x._offset_ and x._storage_.array.nbytes == own.numel * own.dtype.itemsize:
        placed = layout_of(layout.dtype, own.shape, own.strides, own.device, own.conj, own.neg)
        return CALLS["clone_like"](tangent, placed)
    return CALLS["copy_"](zeros_in_place_of(x, layout.dtype), tangent)


def lies_alike(tangent: Tensor, x: Tensor) -> bool:
    """Whether two tensors have the same place in storages of the same size."""
    own, layout = x.layout, tangent.layout
    size, other = own.dtype.itemsize, layout.dtype.itemsize
    if x._storage_.array.nbytes // size != tangent._storage_.array.nbytes // other:
        return False
    if own is layout and x._offset_ == tangent._offset_:
        return True
    return (
        own.shape == layout.shape
        and own.conj is layout.conj
        and own.neg is layout.neg
        and (
            own.numel == 0
            or (
                x._offset_ // size == tangent._offset_ // other
                and all(s == t or n == 1 for n, s, t in zip(own.shape, own.strides, layout.strides))
            )
        )
    )


def zeros_in_place_of(x: Tensor, dtype) -> Tensor:
    """Zeros in the place of ``x`` in a new storage of the size of its own."""
    own = x.layout
    memory = new_full(layout_of(dtype, (x._storage_.array.nbytes // own.dtype.itemsize,), None, own.device), 0)
    placed = layout_of(dtype, own.shape, own.strides, own.device, own.conj, own.neg)
    return native.tensor(placed.template, memory._storage_, x._offset_ // own.dtype.itemsize * dtype.itemsize, False, None)


# ---- results in the graph ------------------------------------------------------------------------------------------


def share_with_saved(x: Tensor, level: int) -> None:
    """Give the tangents of a result to the alias of it that its node saved, for backward passes that differentiate forward."""
    node, nr = node_of(x)
    for saved in () if node is None else node._rule_.saved_results(node, nr):
        if isinstance(saved, SavedTensor):
            saved.tangent = x._meta_.tangent
        elif isinstance(saved, Tensor) and saved._storage_ is x._storage_:
            meta = meta_of(saved)
            meta.tangent = x._meta_.tangent
            level_of(level).keep(meta)


def share_with_overwritten(x: Tensor, name: str, tangents: dict[int, Tensor]) -> None:
    """Give the tangents that ``x`` had before a write to the copy of its old value that the write's node saved as ``name``."""
    node, _ = node_of(x)
    if node is not None and name in node._rule_.saved_names:
        saved = getattr(node, f"_s{node._rule_.saved_names.index(name)}_")
        if isinstance(saved, Tensor) and saved._storage_ is not x._storage_:
            for level, tangent in tangents.items():
                hold(saved, level, tangent)


def node_of(x: Tensor) -> tuple[Node | None, int]:
    """The node that computed a tensor, or that of the write to it if it is a view; and which result it is."""
    edge = x._edge_
    if edge is None and x._meta_ is not None and x._meta_.base is not None:
        edge = x._meta_.base._edge_
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
    if not isinstance(node, Node):
        return None, 0
    return (node._attrs_[0], 0) if isinstance(node._rule_, CopySlicesRule) and node._attrs_ is not None else (node, nr)
