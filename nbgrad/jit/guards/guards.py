"""What a captured function depends on beside its arguments: names that it looks up, and the objects that they name.

NOTE [What holds a program]: a captured program holds as long as every name that its functions look up (globals, variables of
closures, defaults, attributes of objects and classes that these name, members of their lists and dicts) holds the object that it
held when the program was captured: NOTE [Names] of names.py. Functions of the program are followed, those of libraries are not. The
elements of arrays are looked at by the program itself: see ``note_arrays`` of capture.py.
"""

from __future__ import annotations

import copy
import functools
import gc
import itertools
import os
import sys
import weakref
from operator import is_
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import AbstractSet as Set, Any, Iterator

import numpy as np

from ...base.compat import Settings
from ...base.plain import PLAIN
from ...func.captures import all_names, global_names, has_loops
from ...tensors.tensor import Tensor
from ..nodes.values import MOST
from ..nodes.warnings import is_warner
from .external_state import BUILTINS, TODAY, is_calendar, outside
from .identities import comparisons
from .imports import imported_by
from .libraries import CONSTANT, MACHINERY, is_programs, is_programs_class, is_users, module_of
from .mathematics import original
from .members import CACHED, METHOD, is_collection, is_made, is_module, texts
from .names import Names, content_of, dict_of
from .opaque_state import TAKING, bytes_of, elements_of_array, foreign_states, is_followed, is_taken, state_reader

__all__ = ["Guards"]

MOST_BYTES = 1 << 20  # of memory that is compared
MOST_MEMBERS = 4096  # of a collection, or attributes of an object, that are looked through
# Methods of Functions and modules that no code of the program calls by name.
CALLED = frozenset({"forward", "backward", "vjp", "setup_context", "jvp", "vmap"})
# With these a program looks into an object by names that it makes.
ANY_NAME = frozenset({"getattr", "setattr", "delattr", "vars", "dir", "__dict__", "__getattribute__", "attrgetter", "methodcaller"})
REFERENCES = (weakref.ref, weakref.ProxyType, weakref.CallableProxyType)
VIEWS = (MappingProxyType, *map(type, ({}.keys(), {}.values(), {}.items())))


class Guards(Names):
    """The names that a function depends on.

    Attributes:
        others: what it was made of beside the function. tensors, arrays: those among the objects.
        classes: of the program, with those of their attributes that were noted.
        outside: names of what no graph holds: external_state.py; ``naming``: functions that name such, with the name.
        modules: that are variables or attributes, with those of their names that were noted.
        late: modules that functions import when they run, and that are not there yet.
        own: how many names and collections are those of the function and its ``others``; a capture adds some. ``kept``: ``seen``
            of these, beyond the capture. Both since ``keep``.
    """

    def __init__(self, function: Any, *others: Any):
        super().__init__()
        self.others = others
        self.own, self.kept = (0, 0), dict[int, Any]()
        self.tensors: list[Tensor] = []
        self.arrays: list[np.ndarray] = []
        self.classes: dict[type, set[str]] = {}
        self.outside: list[str] = []
        self.naming: dict[int, tuple[CodeType, str]] = {}  # by the identities of codes, which are compared by all that they are
        self.partial: list[Any] = []
        self.calendars: list[type] = []
        self.late: list[str] = []
        self.modules: dict[ModuleType, set[str]] = {}
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

    def keep(self) -> None:
        """A capture begins, behind which others of the function may come: see ``again``."""
        self.own, self.kept = (len(self.names), len(self.members.sizes)), dict(self.seen)

    def serve_again(self, others: tuple) -> bool:
        """Whether another capture of the function, with these ``others``, depends on the same, for all of it holds: see ``again``.

        What weak references refer to must not be kept for that.
        """
        same = len(others) == len(self.others) and all(map(is_, others, self.others))
        return same and not (self.members.references or self.is_late()) and self.hold()

    def again(self) -> Guards:
        """What another capture of the function depends on, where ``serve_again`` says yes, without a look at every object."""
        made = copy.copy(self)
        names, sizes = self.own
        made.names, made.cells, made.members = self.names[:names], list(self.cells), self.members.again(sizes)
        made.exchanged, made.seen = [], dict(self.kept)
        return made

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
        if is_warner(value):
            self.outside.append("warn")
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
        if isinstance(value, (*PLAIN, tuple, frozenset, np.ndarray)) and is_made(kind) and is_programs_class(kind):
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
            yield from [*itertools.islice(value, MOST_MEMBERS)]  # never asks for the length, which a subclass may refuse
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
        if is_made(type(value)):  # with methods and attributes of its own
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
        code, known = function.__code__, function.__globals__
        words, spoken = global_names(code), all_names(code)
        self.words |= spoken.union(texts(code), ["for"] * has_loops(code), comparisons(code))
        self.note_names(known)
        self.members.note_function(function)
        for name in words:
            if name in known:
                if isinstance(known[name], ModuleType):
                    yield from self.parts_of_module(known[name], spoken, code=code)
                    continue
                held = known[name]
                self.names += (known, name, held)
                if is_warner(held):
                    self.naming.setdefault(id(code), (code, "warn"))
                elif not self.note_outside(held, code):
                    yield held
            elif name in BUILTINS:
                self.naming.setdefault(id(code), (code, name))
        for imported in imported_by(function):
            if imported in sys.modules:
                yield from self.parts_of_module(sys.modules[imported], spoken, code=code)
            else:
                self.late.append(imported)
        self.note_names(vars(function))
        for name, member in tuple(vars(function).items()):
            self.names += (vars(function), name, member)
            yield member
        yield function.__defaults__
        yield function.__kwdefaults__

    def parts_of_module(
        self, module: ModuleType, words: Set[str], within: tuple[ModuleType, ...] = (), code: CodeType | None = None
    ) -> Iterator[Any]:
        """What a function may look up in a module, and in modules in there; those of libraries are not followed further.

        Args:
            within: modules on the way.
            code: of the function, where it is one alone that names the module.
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
            if self.note_outside(member, code):
                continue
            if isinstance(member, ModuleType):
                yield from self.parts_of_module(member, words, (*within, module), code)
            elif member is os.getenv:
                yield os.environ
            elif own or state_reader(member) is not None:
                yield member

    def note_names(self, held: dict[str, Any], named: bool = True, attributes: bool = False) -> None:
        """A namespace in which a function may look up names that are not there yet; not ``named``: a library's may, too."""
        if id(held) not in self.seen:
            self.seen[id(held)] = held
            self.members.note_collection(held, named, attributes)

    def note_outside(self, value: Any, code: CodeType | None = None) -> bool:
        """Whether it is something that no graph holds; ``code``: of the function that names it, and may never run."""
        if is_calendar(value):
            self.calendars.append(value)
        name = outside(value)
        if name and code is None:
            self.outside.append(name)
        elif name and code is not None:
            self.naming.setdefault(id(code), (code, name))
        return bool(name)

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

    def parts_of_attributes(self, held: dict[str, Any], named: bool, told: Set[str] = frozenset()) -> Iterator[Any]:
        """What is in the namespace of an object, but for those attributes of which it ``told`` itself."""
        if id(held) in self.seen:
            return
        self.collections.append(held)
        self.note_names(held, named, True)
        for name, member in tuple(held.items())[:MOST_MEMBERS]:
            if str(name).startswith(METHOD) or name in told:
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

    def parts_of_all_modules(self) -> Iterator[Any]:
        """The hooks that are called around every module."""
        every: Any = sys.modules["nbgrad.nn.module"]
        if id(every.Module) not in self.seen:
            self.seen[id(every.Module)] = every.Module
            hooks = every.Module._hooks_
            self.names += (dict_of(every.Module), "_hooks_", hooks)
            yield hooks

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
            if is_programs_class(kind):  # which has attributes of its own
                yield from self.parts_of_attributes(vars(value), False, value._told_attributes())
            return
        module, held = module_of(kind), getattr(value, "__dict__", None)
        if module in CONSTANT:
            return
        if is_made(kind) and module != "nbgrad":
            yield from self.members.note_object(value)
        if is_module(value):
            yield from self.parts_of_all_modules()
        if module in MACHINERY and isinstance(held, dict):
            self.note_names(held, attributes=True)
            for name, member in tuple(held.items()):
                if isinstance(member, PLAIN) or module_of(type(member)) == module:
                    self.names += (held, name, member)
                    yield member
        elif isinstance(held, dict):
            yield from self.parts_of_attributes(held, all(map(is_programs_class, kind.__mro__[:-1])))


def tensors_in(cache: Any) -> Iterator[Tensor]:
    """The tensors in the cache of a function."""
    for part in gc.get_referents(cache):
        yield from (x for x in (part.values() if type(part) is dict else (part,)) if isinstance(x, Tensor))
