"""What nodes keep for backward: saved tensors, their versions, and the errors of what was overwritten or freed.

NOTE [Saved]: what a rule mentions is kept in the slots ``_s0_.._s2_`` with the version it had in ``_v0_.._v2_``.
  1. an operand  -> the tensor itself, so that user attributes and identity survive;
  2. the result  -> an alias of its memory without history (the tensor itself would make a cycle tensor -> node -> tensor);
  3. a number    -> the number, in both slots;
  4. under saved-tensor hooks -> a ``SavedTensor`` holding what ``pack`` returned.
Attributes that hold tensors (indices, masks) are kept as ``Guarded``, with their versions, or behind hooks like operands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.dtypes import bool_
from ..base.errors import ArgumentError, DeviceError, DimError, GradError, ShapeError, VersionError
from ..base.grad_mode import mode
from ..tensors.arrays import limits_of
from ..tensors.layout import DispatchMark
from ..tensors.tensor import Tensor, native, new_meta
from .edges import AccumulateGrad
from .node import Edge, Node
from .rule import name_of
from .writes import writer_of

__all__ = ["SavedTensor"]


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
    """An alias without history; with the tangents of what it stands for. Of a wrapper its class makes it."""
    out: Tensor = CALLS["detach"](x) if isinstance(x.layout.special, DispatchMark) else native.alias(x)
    if tangent:
        out._meta_ = new_meta()
        out._meta_.tangent = tangent
    return out
