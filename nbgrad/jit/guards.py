"""What a captured function depends on beside its arguments: names that it looks up, and the objects that they name.

NOTE [Guards]: a captured program holds as long as every name that its functions look up (globals, variables of closures, defaults,
attributes of objects and classes that these name, members of their lists and dicts) holds the object that it held when the program
was captured. Functions of the program are followed, those of libraries are not. Native code compares the objects; numbers and
strings that are equal count as the same, which Python finds out where native code has not. The elements of arrays are looked at by
the program itself: see ``note_arrays`` of capture.py.
"""

from __future__ import annotations

import functools
import gc
import os
import site
import sys
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import AbstractSet as Set, Any, Iterator

import numpy as np

from ..base.compat import Settings
from ..base.dtypes import get_default_dtype
from ..base.plain import PLAIN
from ..func.captures import all_names, global_names
from ..tensors.tensor import Tensor
from .members import Members, is_collection, texts
from .outside import BUILTINS, TODAY, is_calendar, outside
from .states import foreign_states, state_reader

__all__ = ["Guards"]

MOST_MEMBERS = 4096  # of a collection, or attributes of an object, that are looked through
# Methods of Functions and modules that no code of the program calls by name.
CALLED = frozenset({"forward", "backward", "vjp", "setup_context", "jvp", "vmap"})
LIBRARIES = tuple(dict.fromkeys(str(Path(path).resolve()) for path in (os.path.dirname(os.__file__), *site.getsitepackages())))
OWN = str(Path(__file__).parents[1])


class Guards:
    """The names that a function depends on.

    Attributes:
        names: a dict or list, a key, and the object that it holds; the next three; and so on.
        cells: a cell of a closure, and what it holds; the next two; and so on.
        tensors, arrays: those among the objects.
        collections: lists, dicts, sets, and the dicts of objects' attributes; ``members``: how many these have: members.py.
        words: the names and texts in all of the functions.
        classes: of the program, with those of their attributes that were noted.
        outside: names of what no graph holds: outside.py.
        exchanged: names whose contents are a program's state: rebound.py.
    """

    def __init__(self, function: Any, *others: Any):
        self.names: list[Any] = [get_default_dtype.__globals__, "_default", get_default_dtype()]
        self.cells: list[Any] = []
        self.tensors: list[Tensor] = []
        self.arrays: list[np.ndarray] = []
        self.collections: list[Any] = []
        self.members = Members()
        self.words: set[str] = set()
        self.classes: dict[type, set[str]] = {}
        self.outside: list[str] = []
        self.partial: list[Any] = []
        self.exchanged: list[Any] = []
        self.calendars: list[type] = []
        self.seen: dict[int, Any] = {}  # held: an identity must not be used again
        waiting = [function, *others]
        while waiting:
            while waiting:
                waiting += self.parts(waiting.pop())
            waiting += self.parts_of_classes()
            if "param_groups" in self.words:  # of optimizers, whose programs read these numbers anew
                waiting += [x for value in self.partial if (x := vars(value).get("param_groups")) is not None]
                self.partial.clear()
        for each, read in foreign_states("random" in self.words):
            self.members.note_state(each, read, always=False)
        if self.calendars and self.words & TODAY:
            self.outside.append(self.calendars[0].__name__)
        if "are_deterministic_algorithms_enabled" in self.words:
            self.names += (dict_of(Settings), "deterministic", Settings.deterministic)

    def hold(self) -> bool:
        """Whether all names hold what they held; what is equal is taken for the same from now on."""
        if not self.members.hold(self.words):
            return False
        for k in range(0, len(self.names), 3):
            holder, key, held = self.names[k : k + 3]
            try:
                found = holder[key]
            except (KeyError, IndexError):
                return False
            if found is not held:
                if not equal(found, held):
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

    def exchange(self, slots: list, lists: list[list]) -> None:
        """Forget what names hold that are a program's state, and what lists hold to which it appends."""
        left, grown = {(id(slot.holder), slot.key) for slot in slots}, {id(each) for each in lists}
        names, cells = self.names, self.cells
        kept = [k for k in range(0, len(names), 3) if (id(names[k]), names[k + 1]) not in left and id(names[k]) not in grown]
        self.names = [x for k in kept for x in names[k : k + 3]]
        self.cells = [x for k in range(0, len(cells), 2) if (id(cells[k]), None) not in left for x in cells[k : k + 2]]
        self.members.leave_out(grown)
        self.exchanged += slots

    def settle(self) -> None:
        """The program was captured."""
        self.members.settle(self.words)

    def held(self) -> list[Any]:
        """What names and cells hold."""
        return [*self.names[2::3], *self.cells[1::2]]

    def changed(self) -> str:
        """The first name that holds something else, for people."""
        for k in range(0, len(self.names), 3):
            holder, key, held = self.names[k : k + 3]
            found = holder.get(key, MISSING) if isinstance(holder, dict) else holder[key] if key < len(holder) else MISSING
            if found is not held and not equal(found, held):
                return f"{key!r} was {shown(held)} and is {shown(found)}"
        for k in range(0, len(self.cells), 2):
            found = content_of(self.cells[k])
            if found is not self.cells[k + 1] and not equal(found, self.cells[k + 1]):
                return f"a variable of a closure was {shown(self.cells[k + 1])} and is {shown(found)}"
        return self.members.changed(self.words)

    def parts(self, value: Any) -> Iterator[Any]:
        """Note what a value holds that matters, and yield that."""
        if isinstance(value, Tensor):
            if id(value) not in self.seen and hasattr(value, "_storage_"):  # a layout's template has none
                self.seen[id(value)] = value
                self.tensors.append(value)
            return
        self.note_outside(value)
        if isinstance(value, type):
            self.note_class(value)
            return
        if id(value) in self.seen or isinstance(value, (*PLAIN, ModuleType)):
            return
        self.seen[id(value)] = value
        read = state_reader(value)
        if read is not None:
            self.members.note_state(value, read)
            return
        if isinstance(value, BuiltinFunctionType):
            if is_collection(value.__self__) or state_reader(value.__self__) is not None:  # a method of theirs
                yield value.__self__
            return
        if isinstance(value, FunctionType):
            yield from self.parts_of_function(value)
        elif isinstance(value, (staticmethod, classmethod)):
            yield value.__func__
        elif isinstance(value, property):
            yield from (value.fget, value.fset)
        elif isinstance(value, np.ndarray):
            self.arrays.append(value)
        elif isinstance(value, MethodType):
            yield from (value.__func__, value.__self__)
        elif isinstance(value, functools.partial):
            yield from (value.func, *value.args, *value.keywords.values())
        elif is_collection(value):
            yield from self.parts_of_collection(value)
        elif isinstance(value, (tuple, frozenset)):
            yield from tuple(value)[:MOST_MEMBERS]
        else:
            yield from self.parts_of_object(value)

    def parts_of_collection(self, value: Any) -> Iterator[Any]:
        """The members of a list, a dict, a set and the like."""
        self.collections.append(value)
        self.members.note_collection(value)
        if len(value) > MOST_MEMBERS:
            return
        if isinstance(value, (list, dict)):
            for key, member in tuple(value.items() if isinstance(value, dict) else enumerate(value)):
                self.names += (value, key, member)
                yield member
        else:
            yield from tuple(value)

    def parts_of_function(self, function: FunctionType) -> Iterator[Any]:
        """Of a function of the program; of a library's wrapper, what it wraps."""
        follows = is_users(function.__code__)
        for cell in function.__closure__ or ():
            content = content_of(cell)
            if follows or isinstance(content, (FunctionType, MethodType)) or callable(content) and hasattr(content, "__dict__"):
                self.cells += (cell, content)
                yield content
        if not follows:
            return
        words = global_names(function.__code__)
        self.words |= all_names(function.__code__).union(texts(function.__code__))
        known = function.__globals__
        self.note_names(known)
        self.members.note_function(function)
        for name in words:
            if name in known:
                if isinstance(known[name], ModuleType):
                    yield from self.parts_of_module(known[name], all_names(function.__code__))
                else:
                    self.names += (known, name, known[name])
                    yield known[name]
            elif name in BUILTINS:
                self.outside.append(name)
        self.note_names(vars(function))
        for name, member in tuple(vars(function).items()):
            self.names += (vars(function), name, member)
            yield member
        yield from function.__defaults__ or ()
        yield function.__kwdefaults__

    def parts_of_module(self, module: ModuleType, words: Set[str], within: tuple[ModuleType, ...] = ()) -> Iterator[Any]:
        """What a function may look up in a module, and in modules in there; those of libraries are not followed further.

        Args:
            within: modules on the way.
        """
        if module in within:
            return
        held, own = vars(module), is_programs(module)
        if own:
            self.note_names(held)
        for name in sorted(held.keys() & words):
            member = held[name]
            self.names += (held, name, member)
            self.note_outside(member)
            if isinstance(member, ModuleType):
                yield from self.parts_of_module(member, words, (*within, module))
            elif member is os.getenv:
                yield os.environ
            elif own or state_reader(member) is not None:
                yield member

    def note_names(self, held: dict[str, Any], named: bool = True) -> None:
        """A namespace in which a function may look up names that are not there yet; not ``named``: a library's may, too."""
        if id(held) not in self.seen:
            self.seen[id(held)] = held
            self.members.note_collection(held, named)

    def note_outside(self, value: Any) -> None:
        """See whether it is something that no graph holds."""
        if is_calendar(value):
            self.calendars.append(value)
        name = outside(value)
        if name:
            self.outside.append(name)

    def note_class(self, kind: type) -> None:
        """A class that a function names, or of an object that one names, and what it inherits from."""
        for each in kind.__mro__:
            if is_programs(sys.modules.get(each.__module__)):
                self.classes.setdefault(each, set())

    def parts_of_classes(self) -> Iterator[Any]:
        """Attributes of classes that functions may look up: those of which they have the names, and what Python calls by itself."""
        for kind, noted in tuple(self.classes.items()):
            held = dict_of(kind)
            self.note_names(held)
            for name, member in tuple(held.items()):
                called = isinstance(member, (FunctionType, staticmethod, classmethod)) and (name in CALLED or name.startswith("__"))
                if name not in noted and (called or name in self.words and not name.startswith("__")):
                    noted.add(name)
                    self.names += (held, name, member)
                    yield member

    def parts_of_object(self, value: Any) -> Iterator[Any]:
        """The attributes of an object, and the methods of its class that make it callable."""
        kind = type(value)
        self.note_class(kind)
        for name in ("__call__", "forward"):
            method = getattr(kind, name, None)
            if isinstance(method, FunctionType):
                yield method
        parts = getattr(kind, "_captured_parts", None)
        if isinstance(parts, FunctionType):  # it says itself, while a program is captured, what that depends on
            self.partial.append(value)
            yield from parts(value)
            return
        if is_programs(sys.modules.get(kind.__module__)):
            yield from self.members.note_slots(value)
        held = getattr(value, "__dict__", None)
        if not isinstance(held, dict) or is_pythons(kind):
            return
        self.collections.append(held)
        self.note_names(held, all(is_programs(sys.modules.get(each.__module__)) for each in kind.__mro__[:-1]))
        for name, member in tuple(held.items())[:MOST_MEMBERS]:
            self.names += (held, name, member)
            yield member


class Missing:
    """What a name holds that is gone."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


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


def is_programs(module: ModuleType | None) -> bool:
    """Whether a module is the program's, and no library's."""
    path = getattr(module, "__file__", None)
    if path is None:
        return getattr(module, "__name__", "") == "__main__"  # of a notebook, and of an interactive session
    return not path.startswith((OWN, *LIBRARIES)) and "site-packages" not in path


def is_pythons(kind: type) -> bool:
    """Whether a class is one of Python's own whose objects keep to themselves what they hold."""
    return kind is not SimpleNamespace and kind.__module__.partition(".")[0] in sys.stdlib_module_names


def is_users(code: CodeType) -> bool:
    """Whether a function was written by the program, and not by a library."""
    path = code.co_filename
    return not path.startswith((OWN, *LIBRARIES)) and "site-packages" not in path
