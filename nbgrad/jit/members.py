"""What a captured program depends on beside the objects that names hold: sizes of collections, codes and defaults of functions.

NOTE [Words of objects]: the interpreter keeps the number of a collection's members, and a function's code and defaults, in words of
the objects. Native code compares these words in every call. Where they differ, Python looks closer: a new attribute of an object,
or a new name of a module, matters only if a function of the program speaks of it. Collections that Python alone can compare (sets,
deques), and slots, are compared in every call. A function that changes a collection is captured again, until it runs as it is.
"""

from __future__ import annotations

import ctypes
from array import array
from collections import deque
from types import CodeType, FunctionType
from typing import Any, Callable, Container, Iterator

import numpy as np

__all__ = ["Members", "is_collection", "texts"]

AWKWARD = (set, deque, bytearray, array)
HIDDEN = ("__dict__", "__weakref__")
SIZE = 16  # bytes from a list or a dict to the number of its members


def is_collection(value: Any) -> bool:
    """Whether a value is made of members that may be exchanged."""
    return isinstance(value, (list, dict, *AWKWARD))


def places_in_functions() -> tuple[int, ...]:
    """Bytes from a function to its code, its defaults and those by keyword."""

    def sample(x: int = 1000, *, y: int = 2000) -> None:
        """A function that has all of them."""

    words = (ctypes.c_int64 * 16).from_address(id(sample))
    made: Any = sample
    return tuple([8 * list(words).index(id(each)) for each in parts_of(made)])


def parts_of(function: FunctionType) -> tuple[CodeType, tuple | None, dict | None]:
    """What a function is made of, and may be exchanged."""
    return function.__code__, function.__defaults__, function.__kwdefaults__


PLACES = places_in_functions()


class Size:
    """How many members a list or a dict had.

    Attributes:
        known: None where all matter; else those of the names that a program speaks of which were there.
    """

    __slots__ = ("value", "count", "known", "named")

    def __init__(self, value: Any, named: bool):
        self.value, self.named = value, named
        self.count, self.known = len(value), set[Any](value) if named else set[Any]()

    def settle(self, spoken: set[str]) -> None:
        """These are the names that the program speaks of."""
        self.known &= spoken

    def holds(self, spoken: set[str]) -> bool:
        """Whether nothing that matters was added or taken away."""
        if len(self.value) == self.count:
            return True
        return self.named and {key for key in tuple(self.value) if key in spoken} == self.known


class Members:
    """The collections and functions that a program names.

    Attributes:
        sizes: lists and dicts. functions: with what they were made of.
        awkward: what only Python can compare: an object, how its members are read, and what they were. ``foreign``: the same of
            what anybody may change, and only this program's changes matter.
        words: how many pairs follow, of an address and the word that is expected there. For native code.
    """

    def __init__(self) -> None:
        self.sizes: list[Size] = []
        self.awkward: list[tuple[Any, Callable, tuple]] = []
        self.foreign: list[tuple[Any, Callable, tuple]] = []
        self.functions: list[tuple[FunctionType, tuple]] = []
        self.words = np.zeros(1, np.int64)

    def note_collection(self, value: Any, named: bool = False) -> None:
        """Let the program depend on what a collection holds; ``named``: as far as the program speaks of it."""
        if isinstance(value, AWKWARD):
            self.awkward.append((value, tuple, tuple(value)))
        else:
            self.sizes.append(Size(value, named))

    def note_slots(self, value: Any) -> tuple:
        """Let it depend on the attributes of an object that lie in slots, which are returned."""
        held = slots_of(value)
        if any(True for _ in names_of_slots(type(value))):
            self.awkward.append((value, slots_of, held))
        return held

    def note_state(self, value: Any, read: Callable, always: bool = True) -> None:
        """Let it depend on what an object keeps to itself; not ``always``: only if the program changes that."""
        (self.awkward if always else self.foreign).append((value, read, read(value)))

    def note_function(self, function: FunctionType) -> None:
        """Let it depend on what a function is made of."""
        self.functions.append((function, parts_of(function)))

    def leave_out(self, covered: Container[int]) -> None:
        """Forget collections and functions that somebody else compares."""
        self.sizes = [each for each in self.sizes if id(each.value) not in covered]
        self.functions = [each for each in self.functions if id(each[0]) not in covered]

    def moved(self) -> bool:
        """Whether what objects keep to themselves is not what it was."""
        return any(not equal(read(value), held) for value, read, held in (*self.awkward, *self.foreign))

    def settle(self, spoken: set[str]) -> None:
        """The program was captured. What it has changed itself is as it was before: the next call is another one.

        Args:
            spoken: names and texts in the program.
        """
        for each in self.sizes:
            each.settle(spoken)
        self.awkward += [(value, read, held) for value, read, held in self.foreign if not equal(read(value), held)]
        self.foreign.clear()
        pairs = [(id(each.value) + SIZE, each.count) for each in self.sizes]
        for function, parts in self.functions:
            pairs += [(id(function) + place, 0 if part is None else id(part)) for place, part in zip(PLACES, parts)]
        words = [len(pairs) + bool(self.awkward), *(word for pair in pairs for word in pair)]
        self.words = np.array([*words, 0, 0])
        if self.awkward:  # a word that is never as expected
            self.words[-2:] = self.words.ctypes.data, -1

    def hold(self, spoken: set[str]) -> bool:
        """Whether all is as it was; what does not matter is taken for that from now on."""
        if self.changed(spoken):
            return False
        for k, each in enumerate(self.sizes):
            if len(each.value) != each.count:
                each.count = self.words[2 * k + 2] = len(each.value)
        return True

    def changed(self, spoken: set[str]) -> str:
        """The first that is not as it was, for people."""
        for each in self.sizes:
            if not each.holds(spoken):
                return f"a {type(each.value).__name__} had {each.count} members and has {len(each.value)}"
        for value, read, held in self.awkward:
            if not equal(read(value), held):
                return f"what a {type(value).__name__} holds"
        for function, parts in self.functions:
            if any(x is not y for x, y in zip(parts_of(function), parts)):
                return f"the code or the defaults of {function.__name__}"
        return ""


def slots_of(value: Any) -> tuple:
    """What the slots of an object hold that are filled."""
    found = [(name, getattr(value, name, names_of_slots)) for name in names_of_slots(type(value))]
    return tuple([part for name, x in found if x is not names_of_slots for part in (name, x)])


def names_of_slots(kind: type) -> Iterator[str]:
    """The names of the slots that objects of a class have, those of private ones as the class spells them."""
    for each in kind.__mro__:
        for name in as_names(each.__dict__.get("__slots__", ())):
            if name.startswith("__") and not name.endswith("__"):
                yield f"_{each.__name__.lstrip('_')}{name}"
            elif name not in HIDDEN:
                yield name


def as_names(slots: Any) -> tuple[str, ...]:
    """Names, or one, as a tuple."""
    return (slots,) if isinstance(slots, str) else tuple(slots)


def equal(found: tuple, held: tuple) -> bool:
    """Whether members are the same objects, or equal numbers and texts."""
    return len(found) == len(held) and all(
        x is y or type(x) is type(y) and isinstance(x, (int, float, complex, str, bytes)) and repr(x) == repr(y)
        for x, y in zip(found, held)
    )


def texts(code: CodeType) -> Iterator[str]:
    """The texts in a code and the functions defined in it: names by which attributes may be looked up."""
    for each in code.co_consts:
        if isinstance(each, str):
            yield each
        elif isinstance(each, tuple):
            yield from (member for member in each if isinstance(member, str))
        elif isinstance(each, CodeType):
            yield from texts(each)
