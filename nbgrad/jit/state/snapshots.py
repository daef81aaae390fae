"""What a function depends on as it was before a call, for where that runs once more: its effects must happen once.

NOTE [Once]: a capture runs the function, and what that does in Python (a list grows, an attribute counts, an array is written to)
has happened then. Where there is no program in the end, and the function runs as it is or is captured again, everything that guards
know is put back first. What they do not know happens twice: files, sockets. Functions that take from an iterator which cannot be
put back run as they are.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from operator import is_
from types import CellType
from typing import Any, Callable, Iterator

import numpy as np

from ...graph.edges import requires_grad
from ...modes.numbers import Number
from ...modes.traced import is_traced, unmark
from ...tensors.tensor import Tensor
from ..guards.guards import Guards, tensors_in
from ..guards.mathematics import named_functions, original
from ..guards.members import MISSING, slot_of
from ..guards.names import content_of, dict_of, member_of
from ..guards.opaque_state import keeper
from .effects import Postponed
from .rebound_names import Appending
from .slots import put_slot

__all__ = ["Snapshot", "restore"]

MOST_BYTES = 1 << 26  # of arrays that are copied
DEEP = 6  # how far tensors are looked for in what a call has left


class Snapshot:
    """Collections, names, variables of closures, arrays and states that guards know.

    Attributes:
        spoken: names and texts of the program, which say what of a namespace matters.
        holders: collections, and dicts of objects, with copies. namespaces: those of modules, of which only names matter that the
            program speaks of. classes: with copies of their dicts.
        cells: with what they held. slots: objects, members of their classes, and what these held; ``kinds``: objects with their
            classes.
        states: functions that put one back. arrays: with copies. functions: names of those of ``math``.
    """

    def __init__(self, guards: Guards):
        self.spoken = guards.words.union(key for key in guards.names[1::3] if isinstance(key, str))
        self.functions = named_functions(guards.names)
        own = {id(dict_of(kind)): kind for kind in guards.classes}
        self.classes = [(kind, dict(vars(kind))) for kind in own.values()]
        whole = {id(x) for x in guards.collections} | {id(x) for x in guards.names[::3] if not isinstance(x, dict)}
        holders = {id(x): x for x in (*guards.collections, *guards.names[::3]) if id(x) not in own}
        self.holders = [(x, copy_of(x)) for k, x in holders.items() if k in whole]
        self.namespaces = [(x, {k: original(x[k]) for k in self.spoken & x.keys()}) for x in holders.values() if id(x) not in whole]
        self.cells: list[tuple[CellType, Any]] = [(cell, content_of(cell)) for cell in guards.cells[::2]]
        members = self.members = guards.members
        self.slots, self.kinds = [tuple(each) for each in members.slots], list(members.kinds)
        found = [keeper(value) for value, _, _ in (*members.awkward, *members.foreign)]
        self.states: list[Callable[[], None]] = [put_back for put_back in found if put_back is not None]
        self.exchanged = [(slot, slot.content()) for slot in guards.exchanged]
        self.arrays, room = list[tuple[np.ndarray, np.ndarray]](), MOST_BYTES
        for x in guards.arrays:
            room -= x.nbytes
            if x.flags.writeable and room >= 0:
                self.arrays.append((x, x.copy()))

    def put_back(self) -> None:
        """Let everything be as it was."""
        for holder, before in self.holders:
            restore(holder, before)
        for holder, before in self.namespaces:
            for name in [name for name, _ in self.changes(holder, before)]:
                if name in before:
                    holder[name] = before[name]
                else:
                    del holder[name]
        for kind, before in self.classes:
            for name in [name for name, _ in self.changes(vars(kind), before)]:
                if name in before:
                    type.__setattr__(kind, name, before[name])
                else:
                    type.__delattr__(kind, name)
        for cell, content in self.cells:
            if content is MISSING:
                if content_of(cell) is not MISSING:
                    del cell.cell_contents
            elif content_of(cell) is not content:
                cell.cell_contents = content
        for value, kind in self.kinds:
            if type(value) is not kind:
                object.__setattr__(value, "__class__", kind)
        for value, member, content in self.slots:
            if slot_of(value, member) is not content:
                put_slot(value, member, content)
        for slot, content in self.exchanged:
            if slot.content() is not content:
                slot.put(content)
        for put_back in self.states:
            put_back()
        for x, copy in self.arrays:
            if x.dtype.hasobject or x.tobytes() != copy.tobytes():
                x[...] = copy

    def changes(self, now: Any, before: dict) -> Iterator[tuple[str, Any]]:
        """The names of a namespace that the program speaks of, and that hold something else, or did."""
        for name in self.spoken & (now.keys() | before.keys()):
            found = now.get(name, MISSING)
            if found is not before.get(name, MISSING):
                yield name, found

    def rebound(self) -> Iterator[tuple[Any, Any, Any]]:
        """What is not as it was: a holder and a key, or a cell, with both contents; a list that has grown; ``None``: all else."""
        held: Any
        for holder, held in self.holders:
            if type(holder) is dict and is_same(holder, held) and is_same(holder.values(), held.values()):
                continue  # nearly all of them
            if (
                isinstance(holder, dict)
                and is_same(list(holder), list(held))
                or isinstance(holder, list)
                and len(holder) >= len(held)
            ):
                for key, old in held.items() if isinstance(holder, dict) else enumerate(held):
                    if (now := member_of(holder, key)) is not old:
                        yield (holder, key), old, now
                if len(holder) > len(held):
                    yield holder, MISSING, None
            elif type(holder) is deque and is_grown(holder, held):
                yield holder, MISSING, None
            elif type(holder) is deque and not is_same(holder, held):
                yield (holder, None), list(held), list(holder)
            elif len(holder) != len(held) or any(x is not y for x, y in zip(holder, held)):
                yield None, MISSING, None
        for holder, before in self.namespaces:
            for name, found in self.changes(holder, before):
                yield (holder, name), before.get(name, MISSING), found
        for kind, known in self.classes:
            for name, found in self.changes(vars(kind), known):
                yield (kind, name), known.get(name, MISSING), found
        for cell, content in self.cells:
            if content_of(cell) is not content:
                yield (cell, None), content, content_of(cell)
        for value, kind in self.kinds:
            if type(value) is not kind:
                yield None, MISSING, None
        for value, member, content in self.slots:
            if slot_of(value, member) is not content:
                yield (value, member), content, slot_of(value, member)

    def is_changed(self) -> bool:
        """Whether something is not as it was that a program would have to change again: other programs do not know of it."""
        if any(True for _ in self.rebound()) or self.members.moved():
            return True
        return any(not x.dtype.hasobject and x.tobytes() != copy.tobytes() for x, copy in self.arrays)

    def members_of(self, holder: Any) -> Any:
        """What a collection, or the dict of an object, held; None where guards do not know it."""
        return next((held for each, held in self.holders if each is holder), None)

    def appended(self, grown: Any) -> list:
        """What a list or a deque holds behind what it held."""
        return list(grown)[len(self.members_of(grown)) :]

    def left(self) -> Iterator[tuple[Any, str]]:
        """What names and collections hold that they did not hold before, and where."""
        held: Any
        for holder, held in self.holders:
            if isinstance(holder, dict):
                yield from ((x, repr(key)) for key, x in tuple(holder.items()) if held.get(key, MISSING) is not x)
            elif isinstance(holder, (list, set, deque)):
                old = set(map(id, held))
                yield from ((x, f"a {type(holder).__name__}") for x in tuple(holder) if id(x) not in old)
        for holder, before in (*self.namespaces, *((vars(kind), known) for kind, known in self.classes)):
            yield from ((found, repr(name)) for name, found in self.changes(holder, before))
        for cell, content in self.cells:
            if content_of(cell) is not content:
                yield content_of(cell), "a variable of a closure"
        for value, member, content in self.slots:
            if (x := slot_of(value, member)) is not content:
                yield x, f"{member.__name__!r}"
        for cache, _ in self.members.caches:
            yield from ((x, "a cache") for x in tensors_in(cache))

    def kept(self) -> Iterator[tuple[Any, str]]:
        """What of a capture the program still has, and where: tensors, and numbers among the arguments."""
        waiting, seen = [(x, where, DEEP) for x, where in self.left()], set[int]()
        while waiting:
            x, where, deep = waiting.pop()
            if isinstance(x, Number) or type(x) is Appending:
                yield x, where
            elif isinstance(x, Tensor):
                if hasattr(x, "layout") and is_traced(x):
                    yield x, where
            elif deep and id(x) not in seen:
                seen.add(id(x))
                waiting += [(part, where, deep - 1) for part in parts_of(x)]

    def refuse_kept(self, line_of: Callable[[Tensor], str]) -> None:
        """Refuse what would be of this capture alone.

        Args:
            line_of: where a tensor was computed.

        Raises:
            Postponed: there is something.
        """
        for x, where in self.kept():
            what = "a list to which it appends" if type(x) is Appending else "a number that it was given or has read"
            if isinstance(x, Tensor):
                line = line_of(x)
                history = ", with its history" * requires_grad(x)
                what = f"a tensor of shape {list(x.shape)}{history}{f', computed at {line},' if line else ''}"
            raise Postponed(f"it keeps {what} in {where} beyond the call. Hint: return it, and keep it outside.")

    def release(self) -> None:
        """The capture was the call: what the function has kept is what it would have kept."""
        for x, _ in self.kept():
            if isinstance(x, Tensor):
                unmark(x)


def is_same(found: Any, held: Any) -> bool:
    """Whether members are the same objects."""
    return len(found) == len(held) and all(map(is_, found, held))


def is_grown(found: deque, held: deque) -> bool:
    """Whether a deque holds something behind what it held."""
    return len(found) > len(held) and all(map(is_, found, held))


def parts_of(x: Any) -> list:
    """The members of a collection, or the attributes of an object."""
    if isinstance(x, dict):
        return list(x.values())
    if isinstance(x, (list, tuple, set, frozenset, deque)):
        return list(x)
    held = None if isinstance(x, type) or callable(x) else getattr(x, "__dict__", None)
    return list(held.values()) if isinstance(held, dict) else []


def restore(holder: Any, before: Any) -> None:
    """Let a collection hold what it held, whatever its class makes of that."""
    if isinstance(holder, dict):
        kind = OrderedDict if isinstance(holder, OrderedDict) else dict
        for key, value in before.items():
            if kind.get(holder, key, MISSING) is not value:
                kind.__setitem__(holder, key, value)
        for key in kind.keys(holder) - before.keys():
            kind.__delitem__(holder, key)
        if not is_same(list(kind.__iter__(holder)), list(before)):  # in their order
            kind.clear(holder)
            kind.update(holder, before)
    elif isinstance(holder, set):
        if set(holder) != before:
            set.clear(holder)
            set.update(holder, before)
    elif isinstance(holder, (bytearray, array)):
        if holder != before:
            holder[:] = before
    elif not is_same(holder, before):
        own: Any = deque if isinstance(holder, deque) else list
        own.clear(holder)
        own.extend(holder, before)


def copy_of(holder: Any) -> Any:
    """The members of a collection, in one of Python's own."""
    if isinstance(holder, (bytearray, array)):
        return holder[:]
    kinds: tuple[Any, ...] = (OrderedDict, dict, set, deque, list)
    return next(kind for kind in kinds if isinstance(holder, kind)).copy(holder)
