"""What nodes keep, put behind hooks: the places of saved tensors, and the order in which torch packs them."""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

from ..base.errors import GradError, VersionError
from ..base.grad_mode import mode
from ..tensors.layout import DispatchMark
from ..tensors.tensor import Tensor, native
from .edges import accumulator_of, edge_of, requires_grad
from .node import Node
from .saved import Guarded, KeptAttribute, SavedTensor, freed_error


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
    if name != "out" or isinstance(value.layout.special, DispatchMark):  # whose class made it of the result, without a history
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
