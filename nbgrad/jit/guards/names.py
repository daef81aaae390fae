"""Names and what they hold: whether that is still the same, what has changed, and for people what it was.

NOTE [Names]: a name is a place in a dict or a list, or a cell of a closure. Native code compares the objects in all of them;
numbers and strings that are equal count as the same, which ``hold`` finds out where native code has not.
"""

from __future__ import annotations

import gc
from types import CellType, FunctionType, ModuleType
from typing import Any, Iterator

from ...base.dtypes import get_default_dtype
from ...base.plain import PLAIN
from .mathematics import original
from .members import MISSING, Members, Missing, slots_of

__all__ = ["Names", "content_of", "dict_of", "member_of"]


class Names:
    """Names, and what they held when a program was captured.

    Attributes:
        names: a dict or list, a key, and the object that it holds; the next three; and so on.
        cells: a cell of a closure, and what it holds; the next two; and so on.
        collections: lists, dicts, sets, and the dicts of objects' attributes; ``members``: how many these have: members.py.
        words: the names and texts in all of the functions.
        exchanged: names whose contents are a program's state: rebound_names.py.
        seen: all objects, by identity, while the program is captured: an identity must not be used again.
    """

    def __init__(self) -> None:
        self.names: list[Any] = [get_default_dtype.__globals__, "_default", get_default_dtype()]
        self.cells: list[Any] = []
        self.collections: list[Any] = []
        self.members = Members()
        self.words: set[str] = set()
        self.exchanged: list[Any] = []
        self.seen: dict[int, Any] = {}

    def hold(self) -> bool:
        """Whether all names hold what they held; what is equal is taken for the same from now on."""
        if not self.members.hold(self.words):
            return False
        for k in range(0, len(self.names), 3):
            holder, key, held = self.names[k : k + 3]
            found = member_of(holder, key)
            if found is not held:
                if (found := original(found)) is not held and not equal(found, held):
                    return False
                self.names[k + 2] = found
        for k in range(0, len(self.cells), 2):
            found = content_of(self.cells[k])
            if found is not self.cells[k + 1]:
                if not equal(found, self.cells[k + 1]):
                    return False
                self.cells[k + 1] = found
        return True

    def leave_out(self, covered: set[int]) -> None:
        """Forget cells and collections, by identity, that somebody else compares; and the function itself."""
        names, cells = self.names, self.cells
        self.names = [x for k in range(0, len(names), 3) if id(names[k]) not in covered for x in names[k : k + 3]]
        self.cells = [x for k in range(0, len(cells), 2) if id(cells[k]) not in covered for x in cells[k : k + 2]]
        self.members.leave_out(covered)
        self.collections.clear()
        self.seen.clear()

    def exchange(self, slots: list, lists: list) -> None:
        """Forget what names hold that are a program's state, and what lists hold to which it appends."""
        left, grown = {slot.identity() for slot in slots}, {id(each) for each in lists}
        names, cells = self.names, self.cells
        kept = [k for k in range(0, len(names), 3) if (id(names[k]), names[k + 1]) not in left and id(names[k]) not in grown]
        self.names = [x for k in kept for x in names[k : k + 3]]
        self.cells = [x for k in range(0, len(cells), 2) if (id(cells[k]), None) not in left for x in cells[k : k + 2]]
        self.members.leave_out(grown)
        self.members.exchange(left | {(each, None) for each in grown})
        self.exchanged += slots

    def holders(self, x: Any) -> Iterator[Any]:
        """What holds an object that is no name: tuples, defaults, methods, sets, slots."""
        for value in self.seen.values():
            if isinstance(value, FunctionType):
                parts: Any = value.__defaults__ or ()
            elif isinstance(value, (list, dict, ModuleType, type)):
                parts = value if type(value) is dict else ()
            else:
                parts = [part for part in gc.get_referents(value) if part is x and not holds_by_name(value, x)]
            if any(part is x for part in parts):
                yield value

    def held(self) -> list[Any]:
        """What names and cells hold."""
        return [*self.names[2::3], *self.cells[1::2]]

    def changed(self) -> str:
        """The first name that holds something else, for people."""
        for k in range(0, len(self.names), 3):
            holder, key, held = self.names[k : k + 3]
            found = member_of(holder, key)
            if found is not held and not equal(found, held):
                return f"{key!r} was {shown(held)} and is {shown(found)}"
        for k in range(0, len(self.cells), 2):
            found = content_of(self.cells[k])
            if found is not self.cells[k + 1] and not equal(found, self.cells[k + 1]):
                return f"a variable of a closure was {shown(self.cells[k + 1])} and is {shown(found)}"
        return self.members.changed(self.words)


def member_of(holder: Any, key: Any) -> Any:
    """What a dict or a list has there, whatever its class makes of such a question."""
    if isinstance(holder, dict):
        return dict.get(holder, key, MISSING)
    return list.__getitem__(holder, key) if key < len(holder) else MISSING


def holds_by_name(value: Any, x: Any) -> bool:
    """Whether an object has another one as an attribute in its namespace."""
    held = getattr(value, "__dict__", None)
    members = held.values() if isinstance(held, dict) else ()
    return any(x is each for each in (*members, *(content for _, content in slots_of(value))))


def equal(found: Any, held: Any) -> bool:
    """Whether two objects stand for one value: of types whose values never change."""
    return type(found) is type(held) and isinstance(found, PLAIN) and repr(found) == repr(held)


def shown(value: Any) -> str:
    """A value in a message."""
    text = repr(value) if isinstance(value, (*PLAIN, Missing)) else f"a {type(value).__name__}"
    return text if len(text) < 60 else text[:57] + "..."


def content_of(cell: CellType) -> Any:
    """What a cell holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def dict_of(kind: type) -> dict[str, Any]:
    """The dict of a class, which native code can look into."""
    found = gc.get_referents(vars(kind))
    return found[0] if found and type(found[0]) is dict else dict(vars(kind))
