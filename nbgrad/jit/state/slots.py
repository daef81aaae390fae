"""Names that a program exchanges, and what it puts there behind every run: NOTE [State in names] of rebound_names.py."""

from __future__ import annotations

from collections import deque
from types import CellType, MemberDescriptorType
from typing import Any, NamedTuple, Sequence

from ...base.nested import Tree
from ...methods.memory import set_data
from ...tensors.tensor import Tensor
from ..guards.members import MISSING, slot_of
from ..guards.names import content_of, dict_of, member_of
from ..ir.ir import Value

__all__ = ["LEAF", "NUMBER", "DataOf", "Exchange", "Keeper", "Slot", "put_slot", "shown"]

NUMBER, LEAF = "number", "leaf"


class Slot(NamedTuple):
    """A name: a key of a dict or list, an attribute of a class, a slot of an object, or a variable of a closure.

    Attributes:
        key: of a slot the member of the class; None of a variable, and of a deque, all of whose members are meant.
    """

    holder: Any
    key: Any = None

    def identity(self) -> tuple[int, Any]:
        """What guards know it by."""
        return id(dict_of(self.holder) if isinstance(self.holder, type) else self.holder), self.key

    def content(self) -> Any:
        """What it holds."""
        if isinstance(self.holder, CellType):
            return content_of(self.holder)
        if isinstance(self.holder, type):
            return vars(self.holder).get(self.key, MISSING)
        if isinstance(self.holder, deque):
            return list(self.holder)
        return slot_of(*self) if type(self.key) is MemberDescriptorType else member_of(*self)

    def put(self, x: Any) -> None:
        """Let it hold something else, whatever its class makes of that."""
        if isinstance(self.holder, CellType):
            self.holder.cell_contents = x
        elif isinstance(self.holder, type):
            type.__setattr__(self.holder, self.key, x)
        elif isinstance(self.holder, deque):
            self.holder.clear()
            self.holder.extend(x)
        elif type(self.key) is MemberDescriptorType:
            put_slot(*self, x)
        else:
            (dict if isinstance(self.holder, dict) else list).__setitem__(self.holder, self.key, x)


def put_slot(holder: Any, member: Any, x: Any) -> None:
    """Let a slot of an object hold something, or nothing."""
    if x is not MISSING:
        member.__set__(holder, x)
    elif slot_of(holder, member) is not MISSING:
        member.__delete__(holder)


def shown(slot: Slot) -> str:
    """A name."""
    return "a variable of a closure" if slot.key is None else repr(slot.key)


class DataOf(NamedTuple):
    """What a tensor shows: its ``data``.

    Attributes:
        writes: how often the program writes to it behind the exchange, which its version counts.
    """

    tensor: Tensor
    writes: int

    def put(self, x: Tensor) -> None:
        """Let it show the memory of another one."""
        set_data(self.tensor, x)
        if self.writes:
            self.tensor._storage_.version += self.writes


class Exchange:
    """What a program leaves in a name or as the data of a tensor, or appends to a list.

    Attributes:
        place: a Slot, a DataOf, or a list.
        tree: the structure of it; ``leaves``: values of the graph, and plain ones; ``kinds``: what these values are: numbers of
            Python's, tensors that need gradients, or others.
        contents: what the capture had in the place of each value.
    """

    def __init__(self, place: Any, tree: Tree, leaves: list[Any], kinds: list[str], contents: list[Any]):
        self.place, self.tree, self.leaves, self.kinds, self.contents = place, tree, leaves, kinds, contents

    def has_leaves(self) -> bool:
        """Whether some are tensors that need gradients, at which histories may end."""
        return LEAF in self.kinds


class Keeper:
    """``keep(leaves, operands)``: puts further results of a program where they belong, and says which tensors need gradients.

    Args:
        exchanges, flags: of ``Effects``.
        start: where they are among the leaves.
    """

    def __init__(self, exchanges: Sequence[Exchange], start: int, flags: Sequence[tuple[Any, bool, bool]]):
        self.parts, self.flags = list[Any](), flags
        for each in exchanges:
            where = list[Any]()
            for k, x in enumerate(each.leaves):
                where.append((start, each.kinds[k]) if isinstance(x, Value) else None)
                start += isinstance(x, Value)
            self.parts.append((each, where))

    def names(self) -> list[str]:
        """Where it puts them, for people."""
        places = [each.place for each, _ in self.parts]
        found = [shown(x) if isinstance(x, Slot) else "data" if isinstance(x, DataOf) else "a list that grows" for x in places]
        return found + ["which tensors need gradients"] * bool(self.flags)

    def __call__(self, leaves: list, operands: tuple) -> None:
        for owner, cut, flag in self.flags:
            x = operands[owner] if isinstance(owner, int) else owner
            (x.detach_() if cut else x).requires_grad_(flag)
        for each, where in self.parts:
            found = [x if at is None else self.leaf(leaves, *at) for x, at in zip(each.leaves, where)]
            x = each.tree.unflatten(found)
            if isinstance(each.place, (Slot, DataOf)):
                each.place.put(x)
            else:
                each.place.extend(x)

    def leaf(self, leaves: list, place: int, kind: str) -> Any:
        """A tensor, or the number in one."""
        x = leaves[place]
        if kind == LEAF:
            return x.requires_grad_()
        return x.item() if kind == NUMBER and isinstance(x, Tensor) else x
