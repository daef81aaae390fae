"""What nodes keep for backward: saved tensors, their versions and hooks, and the errors of what was overwritten or freed.

NOTE [Saved]: what a rule mentions is kept in the slots ``_s0_.._s2_`` with the version it had in ``_v0_.._v2_``.
  1. an operand  -> the tensor itself, so that user attributes and identity survive;
  2. the result  -> an alias of its memory without history (the tensor itself would make a cycle tensor -> node -> tensor);
  3. a number    -> the number, in both slots;
  4. under saved-tensor hooks -> a ``SavedTensor`` holding what ``pack`` returned.
Attributes that hold tensors (indices, masks) are kept as ``Guarded``, with their versions, or behind hooks like operands.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from contextlib import contextmanager
from functools import cache
from typing import Any, Callable, Iterator
from weakref import WeakKeyDictionary

from ..base.dtypes import bool_
from ..base.errors import ArgumentError, DeviceError, DimError, GradError, ShapeError, VersionError, require_callable
from ..base.grad_mode import mode, special
from ..tensors.arrays import limits_of
from ..tensors.storage import Storage
from ..tensors.tensor import Tensor, native, new_meta
from .edges import AccumulateGrad, accumulator_of, edge_of, requires_grad
from .node import Edge, Node, name_of

__all__ = ["SavedTensor", "saved_tensors_hooks", "disable_saved_tensors_hooks", "increment_version"]


class SavedTensor:
    """A saved value behind hooks. ``storage`` makes every version check fail, which leads to ``unpack``."""

    __slots__ = ("packed", "unpack", "edge", "tangent", "layout", "limits")

    def __init__(self, packed: Any, unpack: Callable, value: Tensor, edge: Any = None, tangent: Any = None):
        self.packed, self.unpack, self.layout, self.edge, self.tangent = packed, unpack, value.layout, edge, tangent
        dtype = value.layout.dtype
        self.limits = None if dtype.differentiable or dtype is bool_ else limits_of(value)  # all that an index may be

    class _storage_:  # looked at as `saved._storage_.version` by generated code
        """Never at the version that a node noted."""

        version = None


# ---- what is kept --------------------------------------------------------------------------------------------------


def unpack(node: Node, slot: int):
    """The value of a saved slot whose version check failed: behind hooks, freed, or written to.

    Raises:
        VersionError: the tensor was modified after it was saved.
        GradError: the graph was freed.
    """
    value, expected = getattr(node, f"_s{slot}_"), getattr(node, f"_v{slot}_")
    if isinstance(value, SavedTensor):
        return unpacked(value)
    if value is None and expected is not None:
        raise freed_error(node)
    # An in-place result was written by this very node; whatever came later is the user's.
    raise version_error(node._rule_.name, f"saved tensor '{node._rule_.saved_names[slot]}'", value, expected)


def version_error(op: str, what: str, value: Tensor, expected: int) -> VersionError:
    """The error of a tensor that was written to after ``op`` saved it."""
    return VersionError(
        f"{op}: {what} ({value.layout.dtype.name} {list(value.layout.shape)}) was modified in place: "
        f"it is at version {value._storage_.version}, expected {expected}{writer_of(value._storage_, expected)}.\n"
        "Hint: clone it before the update, or find the update with nbgrad.detect_anomaly()."
    )


def unpack_alike(node: Node, slot: int):
    """``unpack``, for kernels: they rely on the shape and dtype that were saved."""
    value, behind = unpack(node, slot), getattr(node, f"_s{slot}_")
    return fit_unpacked(name_of(node), value, behind)


def fit_unpacked(name: str, value: Tensor, behind: SavedTensor) -> Tensor:
    """A tensor that came back from hooks, converted to the dtype of the one that was saved.

    Raises:
        ShapeError, DeviceError: a hook brought back a tensor of another shape than was saved, or elsewhere. DimError: of integers
            beyond those that were saved: they may be positions in memory.
    """
    saved = behind.layout
    if value.layout.shape != saved.shape:
        raise ShapeError(f"{name}: unpack_hook returned a tensor {list(value.layout.shape)}, expected {list(saved.shape)}.")
    if value.layout.device is not saved.device:
        raise DeviceError(f"{name}: unpack_hook returned a tensor on {value.layout.device}, saved on {saved.device}. Hint: x.to().")
    value = value if value.layout.dtype is saved.dtype else value.to(saved.dtype)
    if behind.limits is not None:
        (low, high), (least, most) = behind.limits, limits_of(value)
        if least < low or most > high:
            raise DimError(f"{name}: unpack_hook returned integers from {least} to {most} where {low} to {high} were saved.")
    return value


def require_history(node: Node, place: int, value: Tensor) -> None:
    """Refuse a saved operand that was cut off its history since: a derivative of the derivative would miss the way through it.

    Args:
        place: which edge of the node is the operand's.

    Raises:
        GradError: ``detach_()`` was called on it.
    """
    edge = node._edges_[place]
    if not value._needs_grad_ and isinstance(edge, (Node, Edge)) and not isinstance(edge, AccumulateGrad):
        raise GradError(
            f"{name_of(node)}: a saved tensor ({value.layout.dtype.name} {list(value.layout.shape)}) was detached in "
            "place after it was used. Hint: y = x.detach() instead of x.detach_()."
        )


class KeptAttribute:
    """A tensor in the attribute ``name`` of an operation, with its version; or what saved-tensor hooks made of it."""

    __slots__ = ("op", "name", "value", "version")

    def __init__(self, op: str, name: str, x: Tensor, version: int):
        self.op, self.name, self.version = op, name, version
        self.value: Tensor | SavedTensor = x

    def current(self) -> Tensor:
        """The tensor as it was saved.

        Raises:
            VersionError: it was modified since.
        """
        value: Any = self.value
        if type(value) is SavedTensor:
            return fit_unpacked(self.op, unpacked(value), value)
        if value._storage_.version != self.version:
            raise version_error(self.op, f"saved tensor '{self.name}'", value, self.version)
        return value


class Guarded:
    """Attributes that hold tensors (indices, masks): kept with their versions, checked when they are used.

    Attributes:
        attributes: by name. Once hooks or tools have looked, with a ``KeptAttribute`` in the place of every tensor.
        versions: ``(tensor, version)`` of each; None once somebody has looked.
    """

    __slots__ = ("op", "attributes", "versions")

    def __init__(self, op: str, attributes: dict, tensors: list[Tensor]):
        self.op, self.attributes = op, attributes
        self.versions: list | None = [(x, x._storage_.version) for x in tensors]

    def values(self) -> dict:
        """The attributes, if none of their tensors was written to."""
        if self.versions is None:
            return {name: with_tensors(value, KeptAttribute.current, KeptAttribute) for name, value in self.attributes.items()}
        for x, version in self.versions:
            if x._storage_.version != version:
                name = next(name for name, value in self.attributes.items() if any(x is y for y in tensors_in((value,))))
                raise version_error(self.op, f"saved tensor '{name}'", x, version)
        return self.attributes

    def entries(self) -> list[KeptAttribute]:
        """The places of the tensors, for those who may change them."""
        if self.versions is not None:
            versions, self.versions = iter(self.versions), None

            def keeper(name: str) -> Callable[[Tensor], KeptAttribute]:
                return lambda x: KeptAttribute(self.op, name, *next(versions))

            self.attributes = {name: with_tensors(value, keeper(name), Tensor) for name, value in self.attributes.items()}
        return tensors_in(self.attributes.values(), KeptAttribute)


def tensors_in(values: Iterable, kind: type = Tensor) -> list[Any]:
    """The tensors (or what stands for them) among values and in their tuples and lists."""
    found: list[Any] = []
    for value in values:
        if type(value) is int or value is None:  # as most attributes are
            continue
        if isinstance(value, kind):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += tensors_in(value, kind)
    return found


def with_tensors(value: Any, change: Callable[[Any], Any], kind: type) -> Any:
    """A value with the tensors in it (or what stands for them) changed, in the order of ``tensors_in``."""
    if isinstance(value, kind):
        return change(value)
    return type(value)(with_tensors(x, change, kind) for x in value) if type(value) in (tuple, list) else value


def freed_error(node: Node) -> GradError:
    """The error of a second pass through freed saved tensors."""
    return GradError(
        f"{name_of(node)}: backward through the graph a second time: its saved tensors were freed by the first "
        "pass. Hint: pass retain_graph=True to the first one."
    )


def freed_backward(node: Node, g, create_graph: bool):
    """The ``backward`` of a node whose saved tensors are gone."""
    raise freed_error(node)


def free_all(node: Node) -> None:
    """Let go of all that a node saved, in slots beyond those that passes free too."""
    node._backward_, node._attrs_ = freed_backward, None
    for k in range(len(node._rule_.saved_names)):
        setattr(node, f"_s{k}_", None)


# ---- writes --------------------------------------------------------------------------------------------------------

# Where storages were written to, last writes last: ``{storage: [(version before, place or None)]}``, in anomaly mode.
writes: WeakKeyDictionary = WeakKeyDictionary()
MOST_WRITES = 8  # remembered per storage


def remember_writer(storage: Storage) -> None:
    """Remember where a storage is about to be written to, and at which version; called by native code in anomaly mode."""
    log = writes.get(storage)
    if log is None:
        log = writes[storage] = deque(maxlen=MOST_WRITES)
    log.append((storage.version, native.place()))


def count_write(storage: Storage) -> None:
    """Count a write that no kernel makes; in anomaly mode remember where."""
    if native.place() is not None:
        remember_writer(storage)
    storage.version += 1


def writer_of(storage: Storage, version: int | None) -> str:
    """For messages: by which line a storage left a version, if anomaly mode saw it."""
    log = () if version is None else writes.get(storage, ())
    places = [place for before, place in log if before >= version and place is not None]
    return f"; it was written to at {places[0].line()}" if places else ""


def increment_version(tensor) -> None:
    """Count a write to the memory of one tensor, or of several, that nbgrad cannot see.

    Raises:
        GradError: no tensor, no iterable of tensors.

    >>> x = nbgrad.ones(2)
    >>> nbgrad.graph.increment_version(x)
    >>> x._version
    1
    """
    try:
        tensors = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    except TypeError:
        raise GradError(f"increment_version: expected a Tensor or an iterable of them, got {type(tensor).__name__}.") from None
    for x in tensors:
        if not isinstance(x, Tensor):
            raise GradError(f"increment_version: expected tensors in the iterable, got {type(x).__name__}.")
    for x in tensors:
        count_write(x._storage_)


# ---- saved-tensor hooks --------------------------------------------------------------------------------------------


class EnteredHooks:
    """Saved-tensor hooks that a context entered: one each time. The context itself has no names but its users'.

    Attributes:
        context: the ``saved_tensors_hooks``.
        pair: its hooks.
    """

    __slots__ = ("context", "pair")

    def __init__(self, context: saved_tensors_hooks):
        self.context, self.pair = context, (context.pack_hook, context.unpack_hook)

    def seen(self, op, operands: tuple, out: Any) -> None:
        """Calls that record nothing do not matter."""

    def recorded(self, node: Node) -> None:
        """Pack what a new node saved, if these are the innermost hooks of this thread."""
        entered = _hook_stack.entered
        if entered and entered[-1] is self:
            pack_node(node._rule_.keeper(node), *self.pair)


class HookStack(threading.local):
    """The saved-tensor hooks of a thread, innermost last; the reason why they are disabled, if they are."""

    def __init__(self) -> None:
        self.entered: list[EnteredHooks] = []
        self.disabled: str | None = None


_hook_stack = HookStack()


def hooks_entered() -> int:
    """How many entries this thread has, for what has to leave no more behind."""
    return len(_hook_stack.entered) if special else 0


def leave_hooks(count: int) -> None:
    """End the innermost entries of this thread, but for the first ``count``."""
    entered = _hook_stack.entered
    while len(entered) > count:
        special.remove(entered.pop())


def saved_tensors_hooks_enabled() -> bool:
    """Whether this thread may enter ``saved_tensors_hooks``."""
    return _hook_stack.disabled is None


def active_hooks() -> tuple[Callable, Callable] | None:
    """The innermost saved-tensor hooks of this thread."""
    entered = _hook_stack.entered
    return entered[-1].pair if entered else None


class Nobody:
    """An entry on the stack of hooks that calls none, so that those below it are not called either."""

    __slots__ = ()
    context = pair = None


NOBODY: Any = Nobody()


def without_hooks(function: Callable, *args: Any) -> Any:
    """``function(*args)``, with the hooks of this thread off: it differentiates something of its own."""
    entered = _hook_stack.entered
    if not entered:
        return function(*args)
    entered.append(NOBODY)
    try:
        return function(*args)
    finally:
        entered.pop()


def drop(entries: list, entry: EnteredHooks) -> None:
    """Take ``entry`` out, if it is there."""
    if entry in entries:
        entries.remove(entry)


class saved_tensors_hooks:  # torch's name
    """Inside, ``pack(tensor)`` decides what is kept for backward, and ``unpack(packed)`` gives the tensor back.

    ``pack`` sees all tensors that a node keeps: operands, results, indices and masks.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with nbgrad.graph.saved_tensors_hooks(lambda t: t.numpy().copy() if not t.requires_grad else t, nbgrad.asarray):
    ...     y = x.exp()
    """

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        require_callable("saved_tensors_hooks: pack_hook", pack_hook)
        require_callable("saved_tensors_hooks: unpack_hook", unpack_hook)
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _hook_stack.disabled is not None:
            raise GradError(_hook_stack.disabled)
        entry, entered = EnteredHooks(self), _hook_stack.entered
        try:
            special.append(entry)
            entered.append(entry)
        except BaseException:  # an interrupt between the steps: the block is not entered, and nobody will leave it
            drop(entered, entry)
            drop(special, entry)
            raise

    def __exit__(self, *error: object) -> None:
        entered = _hook_stack.entered
        if entered and entered[-1].context is self:  # at once: an interrupt on a longer way would leave the hooks behind
            special.remove(entered.pop())
            return
        place = next((k for k in reversed(range(len(entered))) if entered[k].context is self), None)
        if place is None:
            raise GradError(
                "saved_tensors_hooks: the context is not active in this thread, so it cannot be left. "
                "Hint: a with statement enters and leaves it."
            )
        special.remove(entered.pop(place))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, entering ``saved_tensors_hooks`` raises with ``error_message``. Also a decorator.

    Raises:
        GradError: hooks are active already.

    >>> with nbgrad.graph.disable_saved_tensors_hooks("not here"):
    ...     with nbgrad.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
    ...         pass
    Traceback (most recent call last):
        ...
    nbgrad.base.errors.GradError: not here
    """
    if _hook_stack.entered:
        raise GradError(error_message)
    before, _hook_stack.disabled = _hook_stack.disabled, error_message
    try:
        yield
    finally:
        _hook_stack.disabled = before


class RawSaved:
    """One tensor that a node keeps in a slot, for ``register_hooks(pack, unpack)``.

    Attributes:
        name: under which the rule saved it.
        value: the tensor, or what stands for it behind hooks; None once it was freed.
    """

    __slots__ = ("node", "slot")

    def __init__(self, node: Node | None = None, slot: int = 0):
        if node is None:
            raise GradError("SavedTensor: cannot be made directly. Hint: y.grad_fn._raw_saved_self.")
        self.node, self.slot = node, slot

    @property
    def name(self) -> str:
        return self.node._rule_.saved_names[self.slot]

    @property
    def value(self) -> Any:
        return getattr(self.node, f"_s{self.slot}_")

    @value.setter
    def value(self, value: Any) -> None:
        setattr(self.node, f"_s{self.slot}_", value)

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what the pack hook made of it."""
        value = self.value
        return value.packed if isinstance(value, SavedTensor) else value

    @property
    def unpack_hook(self) -> Callable | None:
        """What gives the tensor back, if it is behind hooks."""
        value = self.value
        return value.unpack if isinstance(value, SavedTensor) else None

    def unpack(self) -> Tensor | None:
        """The saved tensor, as ``backward`` sees it."""
        return self.node._rule_.saved(self.node, self.name)

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack the saved tensor now; once only.

        Raises:
            GradError: it is behind hooks already, or freed.
        """
        value = self.value
        if isinstance(value, SavedTensor):
            raise GradError("register_hooks: the saved tensor has hooks already.")
        if value is None:
            raise freed_error(self.node)
        self.pack(pack_hook, unpack_hook)

    def pack(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Put the tensor behind hooks."""
        self.value = behind_hooks(self.node, self.name, self.value, pack_hook, unpack_hook)


def behind_hooks(node: Node, name: str, value: Tensor, pack: Callable, unpack_hook: Callable) -> SavedTensor:
    """What stands for a tensor that a node keeps under a name. A result is shown to ``pack`` with its history."""
    if name != "out":
        return pack_tensor(value, pack, unpack_hook)
    shown = native.alias(value)
    shown._edge_, shown._needs_grad_ = node, True
    saved = pack_tensor(shown, pack, unpack_hook)
    saved.edge = None  # these would make a cycle: node -> saved -> node
    if saved.packed is shown:
        saved.packed = value
    return saved


class RawAttribute(RawSaved):
    """One tensor that an attribute of a node holds."""

    __slots__ = ("kept",)

    def __init__(self, node: Node, kept: KeptAttribute):
        self.node, self.kept = node, kept

    @property
    def name(self) -> str:
        return self.kept.name

    @property
    def value(self) -> Any:
        return None if self.node._attrs_ is None else self.kept.value

    @value.setter
    def value(self, value: Any) -> None:
        self.kept.value = value

    def unpack(self) -> Tensor:
        """The saved tensor, as ``backward`` sees it."""
        if self.value is None:
            raise freed_error(self.node)
        return self.kept.current()


class RawNothing(RawSaved):
    """None among tensors that an attribute of a node holds."""

    __slots__ = ("_name_",)

    def __init__(self, node: Node, name: str):
        self.node, self._name_ = node, name

    @property
    def name(self) -> str:
        return self._name_

    value = property(lambda raw: None)

    def unpack(self) -> None:
        """Nothing was saved."""

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """There is nothing to pack.

        Raises:
            GradError: always.
        """
        raise GradError(f"register_hooks: this place of '{self.name}' holds None, no tensor.")


def raw_of_several(node: Node, name: str) -> tuple[RawSaved, ...]:
    """The places of the tensors, and of None, in an attribute that holds several."""
    values = node._attrs_.attributes[name]
    return tuple(
        [
            RawNothing(node, name) if value is None else RawAttribute(node, value)
            for value in values
            if value is None or isinstance(value, KeptAttribute)
        ]
    )


def raw_attributes(node: Node, name: str | None = None) -> list[RawSaved]:
    """The tensors that a node keeps in its attributes, or in the attribute of that name."""
    attrs = node._attrs_
    entries = attrs.entries() if type(attrs) is Guarded else ()
    return [RawAttribute(node, kept) for kept in entries if name in (None, kept.name)]


def pack_node(node: Node, pack: Callable, unpack_hook: Callable) -> None:
    """Replace a node's saved tensors by what ``pack`` makes of them: operands and attributes by torch's names, then the result."""
    if type(node._attrs_) is not Guarded:
        for slot, name in slots_in_order(node._rule_.saved_names):
            value = getattr(node, slot)
            if isinstance(value, Tensor):
                setattr(node, slot, behind_hooks(node, name, value, pack, unpack_hook))
        return
    places = [RawSaved(node, slot) for slot in range(len(node._rule_.saved_names))]
    for place in sorted((*places, *raw_attributes(node)), key=packing_order):
        if isinstance(place.value, Tensor):
            place.pack(pack, unpack_hook)


@cache
def slots_in_order(saved_names: tuple[str, ...]) -> list[tuple[str, str]]:
    """The slots of a rule that keeps nothing else, and what is in them, as torch packs them."""
    return [(f"_s{saved_names.index(name)}_", name) for name in sorted(saved_names, key=torch_order)]


def packing_order(place: RawSaved) -> tuple[bool, str]:
    """A key that sorts saved tensors as torch packs them."""
    return torch_order(place.name)


def torch_order(name: str) -> tuple[bool, str]:
    """A key by names of saved values."""
    return name == "out", {"x": "self", "y": "other"}.get(name, name)


def tangents_of(x: Tensor) -> dict | None:
    """The slot of a tensor's tangents: ``{level: tangent}``."""
    return None if x._meta_ is None else x._meta_.tangent


def pack_tensor(value: Tensor, pack: Callable, unpack_hook: Callable) -> SavedTensor:
    """One saved tensor behind hooks; what they compute is not recorded.

    Raises:
        VersionError: ``pack`` changed the tensor in place.
    """
    version, enabled = value._storage_.version, mode.enabled
    mode.enabled = False
    try:
        packed = pack(value)
    finally:
        mode.enabled = enabled
    if value._storage_.version != version:
        raise VersionError("saved_tensors_hooks: pack_hook modified its argument in place. Hint: clone it first.")
    # What comes back takes the operand's place in the graph; a result's place is this very node, which adds itself.
    edge = edge_of(value) if value._needs_grad_ and requires_grad(value) else None
    return SavedTensor(packed, unpack_hook, value, accumulator_of(value) if edge is value else edge, tangents_of(value))


def unpacked(saved: SavedTensor) -> Tensor:
    """A saved tensor, as ``unpack`` returns it.

    Raises:
        ArgumentError: something that is no tensor.
    """
    enabled = mode.enabled
    value = saved.unpack(saved.packed)
    mode.enabled = enabled  # NOTE [Grad mode of a pass]
    if not isinstance(value, Tensor):
        raise ArgumentError(f"saved_tensors_hooks: unpack_hook returned {type(value).__name__}, expected a Tensor.")
    if saved.edge is not None or saved.tangent:
        value = alias_with(value, saved.tangent)
    if saved.edge is not None:  # of a leaf its AccumulateGrad: the tensor is that leaf's equal, and a leaf like it
        value._edge_, value._needs_grad_ = saved.edge, True
    return value


def alias_with(x: Tensor, tangent: dict | None) -> Tensor:
    """An alias without history; with the tangents of what it stands for."""
    out = native.alias(x)
    if tangent:
        out._meta_ = new_meta()
        out._meta_.tangent = tangent
    return out
