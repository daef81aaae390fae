"""What goes into loops and branches and comes out of them: tensors, numbers and None in tuples, lists, dicts and data classes."""

from __future__ import annotations

from typing import Any, Sequence

from ...base.errors import ArgumentError, DeviceError, DTypeError, RangeError, ShapeError
from ...base.nested import Tree
from ...creation.from_data import tensor
from ...tensors.tensor import Tensor
from ..arguments.structures import flatten_again

__all__ = ["Leaves", "check_carry", "check_same", "length_of", "shown"]

NUMBERS = (bool, int, float, complex)


class Leaves:
    """A nested value of tensors, numbers and None: its tensors, and what rebuilds it.

    Attributes:
        tensors: numbers among the leaves are tensors here.
        tree: the structure; None is a leaf of it, by ``kinds``.
        kinds: for every leaf whether it is a tensor.
    """

    __slots__ = ("tensors", "tree", "kinds")

    def __init__(self, op: str, what: str, value: Any):
        leaves, self.tree = flatten_again(value)
        self.kinds = tuple([x is not None for x in leaves])
        places = self.tree.places(what)
        self.tensors = [member(op, x, place) for x, place in zip(leaves, places) if x is not None]

    def rebuilt(self, tensors: Sequence[Tensor]) -> Any:
        """The nested value of other tensors."""
        rest = iter(tensors)
        return self.tree.unflatten([next(rest) if kind else None for kind in self.kinds])

    def key(self, front: int = 0) -> tuple:
        """Structure, dtypes, shapes without so many dimensions in front, and devices: what may be looked up."""
        layouts = [x.layout for x in self.tensors]
        return self.tree, self.kinds, tuple([(x.dtype, x.shape[front:], x.device) for x in layouts])

    @property
    def structure(self) -> tuple[Tree, tuple[bool, ...]]:
        """What rebuilds it."""
        return self.tree, self.kinds

    def places(self, what: str) -> list[str]:
        """What messages call the tensors."""
        return [place for place, kind in zip(self.tree.places(what), self.kinds) if kind]


def member(op: str, x: Any, place: str) -> Tensor:
    """A leaf as a tensor.

    Raises:
        ArgumentError: it is no tensor and no number.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, NUMBERS):
        return tensor(x)
    raise ArgumentError(
        f"{op}: {place} is of type {type(x).__name__}, expected a tensor, a number or None, in tuples, lists, dicts and "
        "objects of data classes. "
        "Hint: what does not change from trip to trip can be a variable that the function names."
    )


def shown(x: Tensor) -> str:
    """A tensor in a message."""
    return f"{x.layout.dtype.name} {list(x.layout.shape)}"


def length_of(op: str, xs: Leaves, length: int | None) -> int:
    """How many trips there are.

    Raises:
        RangeError: slices of different lengths, or another length than is given; neither. ShapeError: a tensor of no dimension.
    """
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 0):
        raise RangeError(f"{op}: length is {length!r}, expected an int that is not negative.")
    for x, place in zip(xs.tensors, xs.places("xs")):
        if not x.layout.shape:
            raise ShapeError(f"{op}: {place} has no dimension, expected one slice a trip. Hint: capture what all trips share.")
        if length is None:
            length = x.layout.shape[0]
        elif x.layout.shape[0] != length:
            raise RangeError(f"{op}: {place} has {x.layout.shape[0]} slices, expected {length}, as length or the others say.")
    if length is None:
        raise RangeError(f"{op}: neither xs nor length is given, expected one of them: they say how many trips there are.")
    return length


def check_carry(op: str, name: str, before: Leaves, after: Leaves) -> None:
    """Refuse carries that change.

    Raises:
        ArgumentError: structure. ShapeError: a shape. DTypeError: a dtype.
    """
    check_same(op, "init is", before, name, after, "carry", "in every trip")


def check_same(op: str, had: str, before: Leaves, name: str, after: Leaves, what: str, when: str) -> None:
    """Refuse what differs in structure, shapes, dtypes or devices.

    Args:
        had, name: where the two come from; ``what`` and ``when`` must be the same.

    Raises:
        ArgumentError: structure. ShapeError: a shape. DTypeError: a dtype. DeviceError: a device.
    """
    if before.structure != after.structure:
        raise ArgumentError(
            f"{op}: {had} {structure_text(before)}, and {name} returned {structure_text(after)}; expected the same "
            f"structure {when}."
        )
    for x, y, place in zip(before.tensors, after.tensors, before.places(what)):
        if x.layout.shape != y.layout.shape:
            raise ShapeError(f"{op}: {place}: {had} {shown(x)}, and {name} returned {shown(y)}; expected the same shape {when}.")
        if x.layout.device is not y.layout.device:
            raise DeviceError(
                f"{op}: {place}: {had} {shown(x)} on {x.layout.device}, and {name} returned {shown(y)} on {y.layout.device}; "
                f"expected the same device {when}. Hint: .to({str(x.layout.device)!r}) at the end of {name}."
            )
        if x.layout.dtype is not y.layout.dtype:
            raise DTypeError(
                f"{op}: {place}: {had} {shown(x)}, and {name} returned {shown(y)}; expected the same dtype {when}. "
                f"Hint: .to(nbgrad.{x.layout.dtype.name}) at the end of {name}, or the other dtype from the beginning."
            )


def structure_text(leaves: Leaves) -> str:
    """A structure in a message."""
    return repr(leaves.tree.unflatten([Star() if kind else None for kind in leaves.kinds]))


class Star:
    """Stands for a tensor."""

    def __repr__(self) -> str:
        return "*"
