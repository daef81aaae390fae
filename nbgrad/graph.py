"""The recorded graph: nodes, edges, saved tensors, hooks.

A node is one recorded operation. Its edges lead to where the cotangents of its operands go; nothing leads back to the
tensors that it produced, so that graphs die by reference counting alone.

NOTE [Saved]: what a rule mentions is kept in the slots ``s0..s2`` with the version it had in ``v0..v2``.
  1. an operand  -> the tensor itself, so that user attributes and identity survive;
  2. the result  -> an alias of its memory without history (the tensor itself would make a cycle tensor -> node -> tensor);
  3. a number    -> the number, in both slots;
  4. under saved-tensor hooks -> a ``SavedTensor`` holding what ``pack`` returned.
"""
from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, NamedTuple
from weakref import WeakKeyDictionary, ref

from . import node as node_module
from .dtypes import DType
from .errors import ArgumentError, DimError, GradError, ShapeError, VersionError
from .grad_mode import mode, special
from .node import OWN_DTYPE, Edge, Hooks, LeafHooks, Node, RemovableHandle, Rule, add_hook, node_meta
from .tensor import ASK, Tensor, native, new_meta

__all__ = ["Node", "Edge", "AccumulateGrad", "GradientEdge", "SavedTensor", "RemovableHandle", "edge_of", "next_seq", "number_node",
           "get_gradient_edge", "requires_grad", "saved_tensors_hooks", "disable_saved_tensors_hooks", "increment_version"]

next_seq = native.next_seq         # one native call under the interpreter lock: atomic
number_node = native.number_node   # the same for a node made in Python, whose place in the program anomaly mode wants to know
LEAF_SEQ = (1 << 64) - 1           # an AccumulateGrad runs before everything else that is ready


class GradientEdge(NamedTuple):
    """A place in the graph, for ``grad`` and ``backward``: output ``output_nr`` of ``node``."""

    node: Any
    output_nr: int
    ownership_token: Any = None


class LeafRule(Rule):
    """The rule of every AccumulateGrad."""

    node_name = "AccumulateGrad"
    name = "accumulate"


class AccumulateGrad(Node):
    """The sink of a leaf: owns the leaf, which holds it weakly. The contract is in accumulate.py."""

    __slots__ = ("variable",)
    requires_grad = True

    @property
    def _input_metadata(self) -> list:
        return [self.variable.layout]


_new_accumulator: Callable | None = None

# What an AccumulateGrad that is called by hand does with a gradient, as a node's ``backward``; set by accumulate.py.
leaf_backward: Callable = None       # type: ignore[assignment]


def accumulator_builder() -> Callable:
    """``build(leaf)`` -> AccumulateGrad; made when first used."""
    global _new_accumulator
    template = AccumulateGrad()
    for slot in Node.__slots__:
        if not slot.startswith("__"):
            setattr(template, slot, None)
    template.seq, template.rule, template.edges, template.outputs = LEAF_SEQ, LeafRule(), (), 1
    template.backward = leaf_backward
    _new_accumulator = native.builder(template, ("variable",))
    return _new_accumulator


def new_accumulator(leaf: Tensor) -> AccumulateGrad:
    """Make the leaf's AccumulateGrad. Of two threads that meet here the second one's stays; both reach the same leaf."""
    meta = leaf.meta
    if meta is None:
        meta = leaf.meta = new_meta()
    node = (_new_accumulator or accumulator_builder())(leaf)
    meta.accumulator = ref(node)
    return node


def accumulator_of(leaf: Tensor) -> AccumulateGrad:
    """The leaf's AccumulateGrad: the living one, else a new one."""
    meta = leaf.meta
    node = meta.accumulator() if meta is not None and meta.accumulator is not None else None
    return new_accumulator(leaf) if node is None else node


node_module.materialise_leaf = accumulator_of


# The least and the greatest of integers, as Python numbers; set by interop.py, which reads memory.
limits_of: Callable = None           # type: ignore[assignment]

# Where the cotangent of a view goes; set by views.py, which knows how to replay views.
view_edge: Callable = None           # type: ignore[assignment]


def edge_of(x: Tensor):
    """Where the cotangent of ``x`` goes, for a tensor whose ``needs_grad`` is true: see NOTE [Edges] in node.py."""
    edge = x.edge
    if edge is not None:
        return edge
    if x.needs_grad is ASK:
        return view_edge(x)
    return x if x.needs_grad else None


def requires_grad(x: Tensor) -> bool:
    """Whether gradients flow into ``x``. A view is asked: its base may have got a history since, or have been cut off its own."""
    needs = x.needs_grad
    if needs is ASK:
        meta = x.meta
        return (meta.node is not None or meta.base.needs_grad) and x.layout.dtype.differentiable
    return needs


# ---- hooks ---------------------------------------------------------------------------------------------------------

def register_tensor_hook(x: Tensor, hook: Callable) -> RemovableHandle:
    """Call ``hook(g)`` with the cotangent of ``x`` before it is used; a tensor returned replaces it.

    Raises:
        GradError: ``x`` does not require grad.
    """
    if not requires_grad(x):
        raise GradError("register_hook: the tensor does not require grad, so no gradient will ever reach it.")
    edge = edge_of(x)
    if edge is None or edge is x:
        return add_hook(leaf_hooks(x), hook)
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
    hooks = node_meta(node).tensor_hooks
    if nr not in hooks:
        hooks[nr] = Hooks()
    return add_hook(hooks[nr], hook)


def leaf_hooks(leaf: Tensor) -> LeafHooks:
    """The leaf's hooks, made on first use; a leaf that has them, even none, is no longer an ordinary one to the engine."""
    meta = leaf.meta = leaf.meta or new_meta()
    if meta.hooks is None:
        meta.hooks = LeafHooks()
    return meta.hooks


def grad_dtype_of(leaf: Tensor) -> DType | None:
    """The dtype that the leaf's gradients have; None: any."""
    hooks = None if leaf.meta is None else leaf.meta.hooks
    return leaf.layout.dtype if hooks is None or hooks.grad_dtype is OWN_DTYPE else hooks.grad_dtype


def register_post_accumulate_grad_hook(x: Tensor, hook: Callable) -> RemovableHandle:
    """Call ``hook(x)`` after a pass has added to ``x.grad``; for leaves that require grad."""
    if not requires_grad(x) or x.grad_fn is not None:
        raise GradError("register_post_accumulate_grad_hook: expected a leaf that requires grad. "
                        "Hint: register_hook works on other tensors.")
    leaf_hooks(x)       # the engine announces the leaf's node to hooks
    if x.meta.post_hooks is None:
        x.meta.post_hooks = Hooks()
    return add_hook(x.meta.post_hooks, hook)


def retain_grad(x: Tensor) -> None:
    """Keep the gradient of a non-leaf in ``x.grad`` (no effect on a leaf).

    Raises:
        GradError: ``x`` does not require grad.
    """
    if not requires_grad(x):
        raise GradError("retain_grad: the tensor does not require grad.")
    edge = edge_of(x)
    if edge is None or edge is x:
        return
    meta = x.meta = x.meta or new_meta()
    meta.retains = True
    note_retained(x, edge)


def note_retained(x: Tensor, edge, old_edge=None) -> None:
    """Tell the node behind ``edge`` that ``x`` keeps its gradient; the newest value's node alone does."""
    if old_edge is not None:
        node, nr = (old_edge.node, old_edge.nr) if type(old_edge) is Edge else (old_edge, 0)
        if isinstance(node, Node) and node.meta is not None:
            node.meta.retains.pop(nr, None)
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
    node_meta(node).retains[nr] = ref(x)


def get_gradient_edge(x: Tensor) -> GradientEdge:
    """The place in the graph where the gradient of ``x`` arrives.

    Raises:
        GradError: ``x`` does not require grad.
    """
    edge = edge_of(x) if requires_grad(x) else None
    if edge is None:
        raise GradError("get_gradient_edge: the tensor does not require grad.")
    if edge is x:
        return GradientEdge(accumulator_of(x), 0)
    return GradientEdge(edge.node, edge.nr) if type(edge) is Edge else GradientEdge(edge, 0)


# ---- saved tensors -------------------------------------------------------------------------------------------------

class SavedTensor:
    """A saved value behind hooks. ``storage`` makes every version check fail, which leads to ``unpack``."""

    __slots__ = ("packed", "unpack", "edge", "tangent", "layout", "limits")

    def __init__(self, packed: Any, unpack: Callable, value: Tensor, edge: Any = None, tangent: Any = None):
        self.packed, self.unpack, self.layout, self.edge, self.tangent = packed, unpack, value.layout, edge, tangent
        self.limits = None if value.layout.dtype.differentiable else limits_of(value)

    class storage:          # looked at as `saved.storage.version` by generated code
        """Never at the version that a node noted."""

        version = None


def unpack(node: Node, slot: int):
    """The value of a saved slot whose version check failed: behind hooks, freed, or written to.

    Raises:
        VersionError: the tensor was modified after it was saved.
        GradError: the graph was freed.
    """
    value, expected = ((node.s0, node.v0), (node.s1, node.v1), (node.s2, node.v2))[slot]
    if isinstance(value, SavedTensor):
        return unpacked(value)
    if value is None and expected is not None:
        raise freed_error(node)
    name = node.rule.saved_names[slot]
    # An in-place result was written by this very node; whatever came later is the user's.
    raise VersionError(
        f"{node.rule.name}: saved tensor '{name}' ({value.layout.dtype.name} {list(value.layout.shape)}) was modified in place: "
        f"it is at version {value.storage.version}, expected {expected}{writer_of(value.storage, expected)}.\n"
        "Hint: clone it before the update, or find the update with nbgrad.detect_anomaly().")


def unpack_alike(node: Node, slot: int):
    """``unpack`` for kernels that rely on the shapes and dtypes that were recorded; a hook's other dtype is converted.

    Raises:
        ShapeError: a hook brought back a tensor of another shape than was saved. DimError: of integers beyond those that were
            saved: they may be positions in memory.
    """
    value, behind = unpack(node, slot), (node.s0, node.s1, node.s2)[slot]
    saved = behind.layout
    if value.layout.shape != saved.shape:
        raise ShapeError(f"{node.name()}: unpack_hook returned a tensor {list(value.layout.shape)}, expected {list(saved.shape)}.")
    value = value if value.layout.dtype is saved.dtype else value.to(saved.dtype)
    if type(behind) is SavedTensor and behind.limits is not None:
        (low, high), (least, most) = behind.limits, limits_of(value)
        if least < low or most > high:
            raise DimError(f"{node.name()}: unpack_hook returned integers from {least} to {most} where {low} to {high} were saved.")
    return value


def require_history(node: Node, place: int, value: Tensor) -> None:
    """Refuse a saved operand that was cut off its history since: a derivative of the derivative would miss the way through it.

    Args:
        place: which edge of the node is the operand's.

    Raises:
        GradError: ``detach_()`` was called on it.
    """
    edge = node.edges[place]
    if not value.needs_grad and isinstance(edge, (Node, Edge)) and not isinstance(edge, AccumulateGrad):
        raise GradError(f"{node.name()}: a saved tensor ({value.layout.dtype.name} {list(value.layout.shape)}) was detached in "
                        "place after it was used. Hint: y = x.detach() instead of x.detach_().")


# Where storages were written to, last writes last: ``{storage: [(version before, place or None)]}``. Filled by anomaly.py.
writes: WeakKeyDictionary = WeakKeyDictionary()


def writer_of(storage, version: int | None) -> str:
    """For messages: by which line a storage left a version, if anomaly mode saw it."""
    log = () if version is None else writes.get(storage, ())
    places = [place for before, place in log if before >= version and place is not None]
    return f"; it was written to at {places[0].line()}" if places else ""


def freed_error(node: Node) -> GradError:
    """The error of a second pass through freed saved tensors."""
    return GradError(f"{node.name()}: backward through the graph a second time: its saved tensors were freed by the first "
                     "pass. Hint: pass retain_graph=True to the first one.")


def freed_backward(node: Node, g, create_graph: bool):
    """The ``backward`` of a node whose saved tensors are gone."""
    raise freed_error(node)


class HookStack(threading.local):
    """The saved-tensor hooks of a thread, innermost last; the reason why they are disabled, if they are."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Callable, Callable]] = []
        self.disabled: str | None = None


_hook_stack = HookStack()


def saved_tensors_hooks_enabled() -> bool:
    """Whether this thread may enter ``saved_tensors_hooks``."""
    return _hook_stack.disabled is None


def active_hooks() -> tuple[Callable, Callable] | None:
    """The innermost saved-tensor hooks of this thread."""
    return _hook_stack.pairs[-1] if _hook_stack.pairs else None


class saved_tensors_hooks:      # torch's name
    """Inside, ``pack(tensor)`` decides what is kept for backward, and ``unpack(packed)`` gives the tensor back.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with nbgrad.graph.saved_tensors_hooks(lambda t: t.numpy().copy() if not t.requires_grad else t, nbgrad.asarray):
    ...     y = x.exp()
    """

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self.pair = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _hook_stack.disabled is not None:
            raise GradError(_hook_stack.disabled)
        _hook_stack.pairs.append(self.pair)
        special.append(self)

    def __exit__(self, *error: object) -> None:
        special.remove(self)
        _hook_stack.pairs.remove(self.pair)

    def seen(self, op, operands: tuple, out: Any) -> None:
        """Calls that record nothing do not matter."""

    def recorded(self, node: Node) -> None:
        """Pack what a new node saved, if these are the innermost hooks of this thread."""
        pairs = _hook_stack.pairs
        if pairs and pairs[-1] is self.pair:
            pack_node(node.rule.keeper(node), *self.pair)


@contextmanager
def disable_saved_tensors_hooks(message: str) -> Iterator[None]:
    """Inside, entering ``saved_tensors_hooks`` raises with ``message``. Also a decorator.

    Raises:
        GradError: hooks are active already.
    """
    if _hook_stack.pairs:
        raise GradError(message)
    before, _hook_stack.disabled = _hook_stack.disabled, message
    try:
        yield
    finally:
        _hook_stack.disabled = before


def pack_node(node: Node, pack: Callable, unpack_hook: Callable) -> None:
    """Replace a node's saved tensors by what ``pack`` makes of them."""
    for slot in range(len(node.rule.saved_names)):
        pack_slot(node, slot, pack, unpack_hook)


def pack_slot(node: Node, slot: int, pack: Callable, unpack_hook: Callable) -> None:
    """Put one saved tensor of a node behind hooks. A result is shown to ``pack`` with its history."""
    value = getattr(node, f"s{slot}")
    if isinstance(value, Tensor):
        shown = value
        if node.rule.saved_names[slot] == "out":
            shown = native.alias(value)
            shown.edge, shown.needs_grad = node, True
        saved = pack_tensor(shown, pack, unpack_hook)
        if shown is not value:
            saved.edge = None           # these would make a cycle: node -> saved -> node
            if saved.packed is shown:
                saved.packed = value
        setattr(node, f"s{slot}", saved)


class RawSaved:
    """One saved tensor of a node, for ``register_hooks(pack, unpack)``."""

    __slots__ = ("node", "slot")

    def __init__(self, node: Node, slot: int):
        self.node, self.slot = node, slot

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what the pack hook made of it."""
        value = getattr(self.node, f"s{self.slot}")
        return value.packed if isinstance(value, SavedTensor) else value

    @property
    def unpack_hook(self) -> Callable | None:
        """What gives the tensor back, if it is behind hooks."""
        value = getattr(self.node, f"s{self.slot}")
        return value.unpack if isinstance(value, SavedTensor) else None

    def unpack(self) -> Tensor:
        """The saved tensor, as ``backward`` sees it."""
        return self.node.rule.saved(self.node, self.node.rule.saved_names[self.slot])

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack the saved tensor now; once only.

        Raises:
            GradError: it is behind hooks already, or freed.
        """
        value = getattr(self.node, f"s{self.slot}")
        if isinstance(value, SavedTensor):
            raise GradError("register_hooks: the saved tensor has hooks already.")
        if value is None:
            raise freed_error(self.node)
        pack_slot(self.node, self.slot, pack_hook, unpack_hook)


def tangents_of(x: Tensor) -> dict | None:
    """The slot of a tensor's tangents: ``{level: tangent}``."""
    return None if x.meta is None else x.meta.tangent


def pack_tensor(value: Tensor, pack: Callable, unpack_hook: Callable) -> SavedTensor:
    """One saved tensor behind hooks; what they compute is not recorded.

    Raises:
        VersionError: ``pack`` changed the tensor in place.
    """
    version, enabled = value.storage.version, mode.enabled
    mode.enabled = False
    try:
        packed = pack(value)
    finally:
        mode.enabled = enabled
    if value.storage.version != version:
        raise VersionError("saved_tensors_hooks: pack_hook modified its argument in place. Hint: clone it first.")
    # What comes back takes the operand's place in the graph; a result's place is this very node, which adds itself.
    edge = edge_of(value) if value.needs_grad and requires_grad(value) else None
    return SavedTensor(packed, unpack_hook, value, accumulator_of(value) if edge is value else edge, tangents_of(value))


def unpacked(saved: SavedTensor) -> Tensor:
    """What ``unpack`` returns for a saved tensor.

    Raises:
        ArgumentError: something that is no tensor.
    """
    value = saved.unpack(saved.packed)
    if not isinstance(value, Tensor):
        raise ArgumentError(f"saved_tensors_hooks: unpack_hook returned {type(value).__name__}, expected a Tensor.")
    if saved.edge is not None or saved.tangent:
        value = alias_with(value, saved.tangent)
    if saved.edge is not None:
        value.edge, value.needs_grad = saved.edge, True
    return value


def alias_with(x: Tensor, tangent: dict | None) -> Tensor:
    """An alias without history; with the tangents of what it stands for."""
    out = native.alias(x)
    if tangent:
        out.meta = new_meta()
        out.meta.tangent = tangent
    return out


def increment_version(tensors) -> None:
    """Count a write to the memory of one tensor, or of several, that nbgrad cannot see.

    Raises:
        GradError: no tensor, no iterable of tensors.
    """
    if isinstance(tensors, Tensor):
        tensors = (tensors,)
    try:
        tensors = tuple(tensors)
    except TypeError:
        raise GradError(f"increment_version: expected a Tensor or an iterable of them, got {type(tensors).__name__}.") from None
    for x in tensors:
        if not isinstance(x, Tensor):
            raise GradError(f"increment_version: expected tensors in the iterable, got {type(x).__name__}.")
    for x in tensors:
        x.storage.version += 1
