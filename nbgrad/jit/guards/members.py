"""What a captured program depends on beside the objects that names hold: sizes of collections, codes and defaults of functions.

NOTE [Words of objects]: the interpreter keeps the number of a collection's members, and a function's code and defaults, in words of
the objects; so it does with what slots hold, with the class of an object, with what a weak reference refers to. Native code
compares these words in every call. Where they differ, Python looks closer: a new attribute of an object, or a new name of a module,
matters only if a function of the program speaks of it. Collections that Python alone can compare (sets, deques, the order of an
OrderedDict) are compared in every call. A function that changes a collection is captured again, until it runs as it is.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections import OrderedDict, deque
from functools import lru_cache
from types import CodeType, FunctionType, MemberDescriptorType
from typing import Any, Callable, Container, Iterator

import numpy as np

from .dict_order import is_in_order, is_known, words_of_order

__all__ = ["METHOD", "MISSING", "Members", "is_collection", "is_module", "slot_of", "slots_of", "texts"]

METHOD = "<compiled "  # how keys begin, in the namespaces of objects, of methods that are compiled for these
AWKWARD = (set, deque, bytearray, array)
SIZE = 16  # bytes from a list or a dict to the number of its members
CLASS = 8  # bytes from an object to its class
REFERENT = 16  # bytes from a weak reference to what it refers to
HEAP, FIXED = 1 << 9, 1 << 8  # of the flags of a class: made while programs run; that nobody may change


class Missing:
    """What a name holds that is gone."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


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


def place_of_misses() -> int:
    """Bytes from a function with a cache to how often nothing was in there."""

    @lru_cache(maxsize=1 << 40)
    def sample(x: int) -> int:
        """A function that was called so often that the count is found."""
        return x

    for k in range(97):
        sample(k)
    words = (ctypes.c_int64 * 20).from_address(id(sample))
    found = [k for k, word in enumerate(words) if word == sample.cache_info().misses]
    return 8 * found[0]


MISSES = place_of_misses()


class Size:
    """How many members a list or a dict had.

    Attributes:
        known: None where all matter; else those of the names that a program speaks of which were there.
        attributes: whether it is a namespace that a program can look into by names which it makes; ``others``: how many are not
            compiled methods in there.
    """

    __slots__ = ("value", "count", "known", "named", "attributes", "others")

    def __init__(self, value: Any, named: bool, attributes: bool):
        self.value, self.named, self.attributes = value, named, attributes
        self.count, self.known = len(value), set[Any](value) if named else set[Any]()
        self.others = len(value) - methods_in(value) if attributes else -1

    def again(self) -> Size:
        """The size for another capture; what does not matter may be others by now."""
        made = Size(self.value, False, self.attributes)
        made.named, made.known = self.named, set(self.known)
        return made

    def settle(self, spoken: set[str], any_name: bool) -> None:
        """These are the names that the program speaks of; ``any_name``: beside those that it makes."""
        self.named = self.named and not (any_name and self.attributes)
        self.known &= spoken

    def holds(self, spoken: set[str]) -> bool:
        """Whether nothing that matters was added or taken away."""
        if len(self.value) == self.count or self.attributes and len(self.value) - methods_in(self.value) == self.others:
            return True
        return self.named and {key for key in tuple(self.value) if key in spoken} == self.known


class Members:
    """The collections and functions that a program names.

    Attributes:
        sizes: lists and dicts. functions: with what they were made of.
        slots: objects, members of their classes, and what these held. kinds: objects with their classes. references: weak ones,
            with whether they referred to something. caches: functions with one, and how often nothing was in there.
        orders: dicts, with their keys in order: dict_order.py.
        awkward: what only Python can compare: an object, how its members are read, and what they were. ``foreign``: the same of
            what anybody may change, and only this program's changes matter.
        read: of ``foreign``, once that is settled, the objects, and how they are read.
        ordered: at which pair the words of orders begin.
        words: how many pairs follow, of an address and the word that is expected there. For native code. ``checked`` are the same
            words for calls before which Python has compared what is ``awkward``.
    """

    def __init__(self) -> None:
        self.sizes: list[Size] = []
        self.slots: list[list] = []
        self.kinds: list[tuple[Any, type]] = []
        self.references: list[tuple[Any, int]] = []
        self.caches: list[list] = []
        self.orders: list[tuple[dict, tuple]] = []
        self.awkward: list[tuple[Any, Callable, tuple]] = []
        self.foreign: list[tuple[Any, Callable, tuple]] = []
        self.read: list[tuple[Any, Callable]] = []
        self.functions: list[tuple[FunctionType, tuple]] = []
        self.words = self.checked = np.zeros(1, np.int64)
        self.ordered = 0

    def note_collection(self, value: Any, named: bool = False, attributes: bool = False) -> None:
        """Let the program depend on what a collection holds; ``named``: as far as the program speaks of it."""
        if isinstance(value, AWKWARD):
            self.awkward.append((value, tuple, tuple(value)))
            return
        if isinstance(value, dict) and not (named or attributes):
            if type(value) is OrderedDict or not is_known(value):
                self.awkward.append((value, keys_of, keys_of(value)))
            else:
                self.orders.append((value, keys_of(value)))
        self.sizes.append(Size(value, named, attributes))

    def note_object(self, value: Any) -> list:
        """Let it depend on the class of an object, and on the attributes that lie in slots, which are returned."""
        self.kinds.append((value, type(value)))
        held = slots_of(value)
        self.slots += [[value, member, content] for member, content in held]
        return [content for _, content in held]

    def note_reference(self, value: Any) -> None:
        """Let it depend on whether a weak reference still refers to what it did."""
        self.references.append((value, referent_of(value)))

    def note_cache(self, value: Any) -> None:
        """Let it depend on whether a function's cache was emptied, and notice that the program itself has filled it."""
        self.foreign.append((value, misses, misses(value)))
        self.caches.append([value, misses(value)[0]])

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
        self.orders = [each for each in self.orders if id(each[0]) not in covered]

    def exchange(self, slots: Container[tuple[int, Any]]) -> None:
        """Forget slots, and what deques hold, that are a program's state: identities of objects, and members of their classes."""
        self.slots = [each for each in self.slots if (id(each[0]), each[1]) not in slots]
        self.awkward = [each for each in self.awkward if (id(each[0]), None) not in slots]

    def again(self, sizes: int) -> Members:
        """The members for another capture of a program, whose members are as they were.

        Args:
            sizes: how many of the collections are the function's own.
        """
        made = Members()
        made.sizes = [each.again() for each in self.sizes[:sizes]]
        made.slots, made.caches = [list(each) for each in self.slots], [list(each) for each in self.caches]
        made.kinds, made.references, made.orders = list(self.kinds), list(self.references), list(self.orders)
        made.awkward, made.functions = list(self.awkward), list(self.functions)
        made.foreign = [(value, read, read(value)) for value, read in self.read]
        return made

    def moved(self) -> bool:
        """Whether what native code does not compare is not what it was: objects' members, and what they keep to themselves."""
        return any(not equal(read(value), held) for value, read, held in (*self.awkward, *self.foreign))

    def settle(self, spoken: set[str], any_name: bool) -> None:
        """The program was captured. What it has changed itself is as it was before: the next call is another one.

        Args:
            spoken: names and texts in the program; ``any_name``: it makes others.
        """
        for each in self.sizes:
            each.settle(spoken, any_name)
        self.awkward += [
            (value, read, held)
            for value, read, held in self.foreign
            if not equal(read(value), held) and not isinstance(value, CACHED)
        ]
        self.read = [(value, read) for value, read, _ in self.foreign]
        self.foreign.clear()
        for cache in self.caches:
            cache[1] = misses(cache[0])[0]
        pairs = [(id(each.value) + SIZE, each.count) for each in self.sizes]
        pairs += [(id(value) + place_of_slot(member), word_of(held)) for value, member, held in self.slots]
        pairs += [(id(value) + MISSES, count) for value, count in self.caches]
        pairs += [(id(value) + CLASS, id(kind)) for value, kind in self.kinds]
        pairs += [(id(value) + REFERENT, word) for value, word in self.references]
        for function, parts in self.functions:
            pairs += [(id(function) + place, 0 if part is None else id(part)) for place, part in zip(PLACES, parts)]
        self.ordered = len(pairs)
        pairs += [pair for each in self.orders for pair in words_of_order(*each)]
        words = [len(pairs), *(word for pair in pairs for word in pair)]
        # In front of these a pair that is never as expected: of the last word, -1, where the number of pairs is.
        self.words = np.array([len(pairs) + 1, 0, *words, -1])
        self.words[1] = self.words.ctypes.data + self.words.nbytes - 8
        self.checked = self.words[2:]
        if not self.awkward:
            self.words = self.checked

    def hold(self, spoken: set[str]) -> bool:
        """Whether all is as it was; what does not matter is taken for that from now on."""
        if self.changed(spoken):
            return False
        expected = self.checked[2::2]
        for k, each in enumerate(self.sizes):
            if len(each.value) != each.count:
                each.count = expected[k] = len(each.value)
        for k, slot in enumerate(self.slots, len(self.sizes)):
            slot[2] = slot_of(slot[0], slot[1])
            expected[k] = word_of(slot[2])
        for k, cache in enumerate(self.caches, len(self.sizes) + len(self.slots)):
            cache[1] = expected[k] = misses(cache[0])[0]
        found = [pair for each in self.orders for pair in words_of_order(*each)]
        if found:
            self.checked[1 + 2 * self.ordered :][: 2 * len(found)] = [word for pair in found for word in pair]
        return True

    def changed(self, spoken: set[str]) -> str:
        """The first that is not as it was, for people."""
        for each in self.sizes:
            if not each.holds(spoken):
                return f"a {type(each.value).__name__} had {each.count} members and has {len(each.value)}"
        for value, member, held in self.slots:
            if not equal((slot_of(value, member),), (held,)):
                return f"{member.__name__!r} of a {type(value).__name__}"
        for value, kind in self.kinds:
            if type(value) is not kind:
                return f"the class of a {kind.__name__}"
        for value, word in self.references:
            if referent_of(value) != word:
                return "what a weak reference refers to"
        for value, count in self.caches:
            if misses(value)[0] < count:
                return f"the cache of {value.__name__}"
        for value, read, held in self.awkward:
            if not equal(read(value), held):
                return f"what a {type(value).__name__} holds"
        for held, keys in self.orders:
            if not is_in_order(held, keys):
                return "the keys of a dict, or their order"
        for function, parts in self.functions:
            if any(x is not y for x, y in zip(parts_of(function), parts)):
                return f"the code or the defaults of {function.__name__}"
        return ""


def keys_of(held: dict) -> tuple:
    """The keys of a dict, in order."""
    return tuple(type(held).keys(held) if isinstance(held, OrderedDict) else dict.keys(held))


CACHED = type(lru_cache(repr))


def misses(cache: Any) -> tuple:
    """How often nothing was in the cache of a function."""
    return (cache.cache_info().misses,)


def methods_in(held: dict) -> int:
    """How many compiled methods an object keeps in its namespace: handles.py."""
    return sum(isinstance(key, str) and key.startswith(METHOD) for key in tuple(held))


def is_made(kind: type) -> bool:
    """Whether a class statement has made a class. Modules in C make theirs while programs run, too, but fixed ones."""
    return kind.__flags__ & (HEAP | FIXED) == HEAP


def slots_of(value: Any) -> list[tuple[Any, Any]]:
    """The members of an object's class that are slots, with what they hold."""
    kinds = [kind for kind in type(value).__mro__ if is_made(kind) and "__slots__" in kind.__dict__]
    members = [member for kind in kinds for member in kind.__dict__.values() if type(member) is MemberDescriptorType]
    return [(member, slot_of(value, member)) for member in members]


def is_module(fn: Any) -> bool:
    """Whether a function is a module, all of whose attributes are in its namespace."""
    module: Any = sys.modules.get("nbgrad.nn.module")
    return module is not None and isinstance(fn, module.Module) and not slots_of(fn)


def slot_of(value: Any, member: Any) -> Any:
    """What a slot holds."""
    try:
        return member.__get__(value)
    except AttributeError:
        return MISSING


def place_of_slot(member: Any) -> int:
    """Bytes from an object to a slot: those of the ``PyMemberDef`` that a member descriptor has."""
    definition = ctypes.c_int64.from_address(id(member) + 40).value
    return ctypes.c_ssize_t.from_address(definition + 16).value


def referent_of(value: Any) -> int:
    """The address of what a weak reference refers to; of None where that is gone."""
    return ctypes.c_int64.from_address(id(value) + REFERENT).value


def word_of(held: Any) -> int:
    """The word of a slot."""
    return 0 if held is MISSING else id(held)


TEXTS, NUMBERS = (str, bytes), (int, float, complex)


def equal(found: tuple, held: tuple) -> bool:
    """Whether members are the same objects, or equal numbers and texts."""
    return len(found) == len(held) and all(
        x is y or type(x) is type(y) and (x == y if isinstance(x, TEXTS) else isinstance(x, NUMBERS) and repr(x) == repr(y))
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
