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
import sys
import weakref
from types import BuiltinFunctionType, CellType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import AbstractSet as Set, Any, Iterator

import numpy as np

from ..base.compat import Settings
from ..base.dtypes import get_default_dtype
from ..base.plain import PLAIN
from ..func.captures import all_names, global_names, has_loops
from ..tensors.tensor import Tensor
from .identities import comparisons
from .imports import imported_by
from .libraries import CONSTANT, MACHINERY, is_programs, is_programs_class, is_users, module_of
from .mathematics import original
from .members import CACHED, MADE, METHOD, MISSING, Members, Missing, is_collection, slots_of, texts
from .outside import BUILTINS, TODAY, is_calendar, outside
from .states import TAKING, bytes_of, elements_of_array, foreign_states, is_followed, is_taken, state_reader
from .values import MOST

__all__ = ["Guards"]

MOST_BYTES = 1 << 20  # of memory that is compared
MOST_MEMBERS = 4096  # of a collection, or attributes of an object, that are looked through
# Methods of Functions and modules that no code of the program calls by name.
CALLED = frozenset({"forward", "backward", "vjp", "setup_context", "jvp", "vmap"})
# With these a program looks into an object by names that it makes.
ANY_NAME = frozenset({"getattr", "setattr", "delattr", "vars", "dir", "__dict__", "__getattribute__", "attrgetter", "methodcaller"})
REFERENCES = (weakref.ref, weakref.ProxyType, weakref.CallableProxyType)
VIEWS = (MappingProxyType, *map(type, ({}.keys(), {}.values(), {}.items())))


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
        modules: that are variables or attributes, with those of their names that were noted.
        late: modules that functions import when they run, and that are not there yet.
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
        self.late: list[str] = []
        self.modules: dict[ModuleType, set[str]] = {}
        self.seen: dict[int, Any] = {}  # held: an identity must not be used again
        waiting = [function, *others]
        while waiting:
            while waiting:
                waiting += self.parts(waiting.pop())
            waiting += (*self.parts_of_classes(), *self.parts_of_tensors(), *self.parts_of_modules())
            if "param_groups" in self.words:  # of optimizers, whose programs read these numbers anew
                waiting += [x for value in self.partial if (x := vars(value).get("param_groups")) is not None]
                self.partial.clear()
        self.names[2::3] = list(map(original, self.names[2::3]))
        for each, read in foreign_states("random" in self.words):
            self.members.note_state(each, read, always=False)
        if self.calendars and self.words & TODAY:
            self.outside.append(self.calendars[0].__name__)
        if self.takes_from_iterators():
            self.outside.append("an iterator, which cannot be put back")
        if "are_deterministic_algorithms_enabled" in self.words:
            self.names += (dict_of(Settings), "deterministic", Settings.deterministic)

    def hold(self) -> bool:
        """Whether all names hold what they held; what is equal is taken for the same from now on."""
        if not self.members.hold(self.words):
            return False
        for k in range(0, len(self.names), 3):
            holder, key, held = self.names[k : k + 3]
            found = original(member_of(holder, key))
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

    def is_late(self) -> bool:
        """Whether a function has imported a module meanwhile that it looks into."""
        return any(name in sys.modules for name in self.late)

    def owner_of(self, held: Any) -> type | None:
        """The class whose attributes a dict has."""
        return next((kind for kind in self.classes if dict_of(kind) is held), None)

    def settle(self) -> None:
        """The program was captured."""
        self.members.settle(self.words, not ANY_NAME.isdisjoint(self.words))
        self.seen.clear()

    def takes_from_iterators(self) -> bool:
        """Whether the program speaks of an iterator from which it may take something that cannot be put back."""
        found = {id(value) for value in self.seen.values() if is_taken(value)}
        if not found or self.words.isdisjoint(TAKING):
            return False
        named = {id(held): key for key, held in zip(self.names[1::3], self.names[2::3]) if id(held) in found}
        return any(key in self.words or not isinstance(key, str) for key in named.values()) or bool(found - named.keys())

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

    def parts(self, value: Any) -> Iterator[Any]:
        """Note what a value holds that matters, and yield that."""
        if isinstance(value, Tensor):
            if id(value) not in self.seen and hasattr(value, "_storage_"):  # a layout's template has none
                self.seen[id(value)] = value
                self.tensors.append(value)
            return
        if issubclass(type(value), REFERENCES):
            yield from self.parts_of_reference(value)
            return
        self.note_outside(value)
        if isinstance(value, type):
            self.note_class(value)
            return
        if isinstance(value, ModuleType):
            self.modules.setdefault(value, set())
            return
        kind = type(value)
        if id(value) in self.seen or kind in PLAIN:
            return
        self.seen[id(value)] = value
        if isinstance(value, (*PLAIN, tuple, frozenset, np.ndarray)) and kind.__flags__ & MADE and is_programs_class(kind):
            yield from self.parts_of_object(value)  # a class with methods of its own
        if isinstance(value, PLAIN):
            return
        read = state_reader(value)
        if read is not None:
            self.members.note_state(value, read)
            return
        if kind is CACHED:
            self.members.note_cache(value)
            yield from tensors_in(value)
        elif isinstance(value, BuiltinFunctionType):
            if is_collection(value.__self__) or state_reader(value.__self__) is not None:  # a method of theirs
                yield value.__self__
        elif isinstance(value, FunctionType):
            yield from self.parts_of_function(value)
        elif isinstance(value, (staticmethod, classmethod)):
            yield value.__func__
        elif isinstance(value, property):
            yield from (value.fget, value.fset)
        elif isinstance(value, np.ndarray):
            yield from self.parts_of_array(value)
        elif isinstance(value, MethodType):
            yield from (value.__func__, value.__self__)
        elif isinstance(value, functools.partial):
            yield from (value.func, value.args, value.keywords)
            yield from self.parts_of_attributes(vars(value), False)
        elif is_collection(value):
            yield from self.parts_of_collection(value)
        elif isinstance(value, (tuple, frozenset)):
            yield from tuple(value)[:MOST_MEMBERS]
        elif isinstance(value, VIEWS):
            yield from gc.get_referents(value)
        elif isinstance(value, memoryview):
            if value.nbytes > MOST_BYTES:
                self.outside.append("a memoryview")
            elif not isinstance(value.obj, bytes):
                self.members.note_state(value, bytes_of)
        else:
            yield from self.parts_of_object(value)

    def parts_of_array(self, value: np.ndarray) -> Iterator[Any]:
        """An array, and the objects in it."""
        self.arrays.append(value)
        if value.dtype.hasobject or value.size <= MOST and not is_followed(value) and not isinstance(value.base, bytes):
            self.members.note_state(value, elements_of_array)
            yield from elements_of_array(value)[:MOST_MEMBERS]
        if type(value) is not np.ndarray and type(getattr(value, "__dict__", None)) is dict:  # a mask, for example
            yield from self.parts_of_attributes(vars(value), False)

    def parts_of_collection(self, value: Any) -> Iterator[Any]:
        """The members of a list, a dict, a set and the like."""
        self.collections.append(value)
        self.members.note_collection(value)
        if type(value).__flags__ & MADE:  # with methods and attributes of its own
            yield from self.parts_of_object(value)
        if len(value) > MOST_MEMBERS:
            return
        if isinstance(value, (list, dict)):
            for key, member in tuple(dict.items(value) if isinstance(value, dict) else enumerate(list.__iter__(value))):
                self.names += (value, key, member)
                yield from (member, key)
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
            yield from [member for member in vars(function).values() if isinstance(member, VIEWS)]  # functions by types
            return
        words = global_names(function.__code__)
        self.words |= all_names(function.__code__).union(texts(function.__code__), ["for"] * has_loops(function.__code__))
        self.words |= comparisons(function.__code__)
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
        for imported in imported_by(function):
            if imported in sys.modules:
                yield from self.parts_of_module(sys.modules[imported], all_names(function.__code__))
            else:
                self.late.append(imported)
        self.note_names(vars(function))
        for name, member in tuple(vars(function).items()):
            self.names += (vars(function), name, member)
            yield member
        yield function.__defaults__
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
            words = words | {"__getattr__"}
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

    def note_names(self, held: dict[str, Any], named: bool = True, attributes: bool = False) -> None:
        """A namespace in which a function may look up names that are not there yet; not ``named``: a library's may, too."""
        if id(held) not in self.seen:
            self.seen[id(held)] = held
            self.members.note_collection(held, named, attributes)

    def note_outside(self, value: Any) -> None:
        """See whether it is something that no graph holds."""
        if is_calendar(value):
            self.calendars.append(value)
        name = outside(value)
        if name:
            self.outside.append(name)

    def note_class(self, kind: type) -> None:
        """A class that a function names, or of an object that one names, and what it inherits from."""
        meta: Any = type(kind)
        for each in (*kind.__mro__, *meta.__mro__):
            if is_programs_class(each):
                self.classes.setdefault(each, set())

    def parts_of_classes(self) -> Iterator[Any]:
        """Attributes of classes that functions may look up: those of which they have the names, and what Python calls by itself."""
        any_name = not ANY_NAME.isdisjoint(self.words)
        for kind, noted in tuple(self.classes.items()):
            held = dict_of(kind)
            self.note_names(held, attributes=True)
            for name, member in tuple(held.items()):
                called = isinstance(member, (FunctionType, staticmethod, classmethod)) and (name in CALLED or name.startswith("__"))
                if name not in noted and (called or (any_name or name in self.words) and not name.startswith("__")):
                    noted.add(name)
                    self.names += (held, name, member)
                    yield member

    def parts_of_modules(self) -> Iterator[Any]:
        """Names that functions may look up in modules that are variables or attributes."""
        for module, noted in tuple(self.modules.items()):
            words = self.words - noted
            noted |= words
            if words:
                yield from self.parts_of_module(module, words)

    def parts_of_tensors(self) -> Iterator[Any]:
        """Attributes that the program has set in tensors, or may look for."""
        asks = not self.words.isdisjoint(ANY_NAME | {"hasattr"})
        for x in self.tensors:
            if x.__dict__ or asks:
                yield from self.parts_of_attributes(x.__dict__, True)

    def parts_of_attributes(self, held: dict[str, Any], named: bool) -> Iterator[Any]:
        """What is in the namespace of an object."""
        if id(held) in self.seen:
            return
        self.collections.append(held)
        self.note_names(held, named, True)
        for name, member in tuple(held.items())[:MOST_MEMBERS]:
            if str(name).startswith(METHOD):
                continue
            self.names += (held, name, member)
            yield member

    def parts_of_reference(self, value: Any) -> Iterator[Any]:
        """What a weak reference refers to, which it does not keep alive; a proxy says itself what its attributes are."""
        if id(value) in self.seen:
            return
        self.seen[id(value)] = value
        alive = value() if issubclass(type(value), weakref.ref) else None
        self.members.note_reference(value)
        try:
            kind, held = (
                value.__class__ if alive is None else type(alive),
                getattr(value if alive is None else alive, "__dict__", None),
            )
        except ReferenceError:
            return
        if alive is not None and (not isinstance(held, dict) or isinstance(alive, (Tensor, type, FunctionType, MethodType))):
            yield alive
        elif isinstance(held, dict):
            self.note_class(kind)
            yield from self.parts_of_attributes(held, True)

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
        module, held = module_of(kind), getattr(value, "__dict__", None)
        if module in CONSTANT:
            return
        if kind.__flags__ & MADE and module != "nbgrad":
            yield from self.members.note_object(value)
        if module in MACHINERY and isinstance(held, dict):
            self.note_names(held, attributes=True)
            for name, member in tuple(held.items()):
                if isinstance(member, PLAIN) or module_of(type(member)) == module:
                    self.names += (held, name, member)
                    yield member
        elif isinstance(held, dict):
            yield from self.parts_of_attributes(held, all(map(is_programs_class, kind.__mro__[:-1])))


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


def tensors_in(cache: Any) -> Iterator[Tensor]:
    """The tensors in the cache of a function."""
    for part in gc.get_referents(cache):
        yield from (x for x in (part.values() if type(part) is dict else (part,)) if isinstance(x, Tensor))


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
