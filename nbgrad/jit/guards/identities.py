"""Which tensor a tensor is, and of what class a number: programs that ask for it.

NOTE [Identities]: a captured function sees other tensors in the place of its arguments, on copies of their memory. Where it
compares objects (``x is w``, ``x in ws``, ``state[x]``) an argument that is one of the tensors it names must be that tensor in
the capture as well; such a program holds for calls where the same arguments are the same variables, and the same arguments are one
tensor. What names hold that is a program's state is another tensor in every call, and is not exchanged by functions that compare
objects.

NOTE [Classes of numbers]: ``isinstance`` and ``__class__`` are told that a number that is followed is a float or an int, but its
``type`` is what it is (modes/numbers.py). A program with a code that asks for the type of something has its numbers as they are.
"""

from __future__ import annotations

import functools
from collections import Counter
from dis import Instruction, get_instructions
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

from ...func.captures import has_any, inner_codes
from ...tensors.tensor import Tensor

if TYPE_CHECKING:
    from .guards import Guards

__all__ = ["CLASSES", "Identity", "Ones", "compares_keys", "compares_objects", "comparisons", "identities", "ones", "selves"]

OBJECTS = frozenset({"is", "id"})
KEYS = OBJECTS | {"in", "index", "count", "remove", "hash"}
CLASSES = "type()"
GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
SILENT = frozenset({"CACHE", "PRECALL", "PUSH_NULL", "NOP"})  # beside the call itself, in some versions of Python
BUILDS = frozenset({"BUILD_MAP", "MAP_ADD", "BUILD_SET", "SET_ADD", "BUILD_CONST_KEY_MAP"})


class Identity(NamedTuple):
    """Whether an argument is a tensor that the function names.

    Attributes:
        place: among the tensors and numbers that a program is given.
    """

    place: int
    tensor: Tensor
    same: bool

    def holds(self, inputs: Sequence[Any]) -> bool:
        """Whether that is so in a call."""
        return self.place < len(inputs) and (inputs[self.place] is self.tensor) is self.same


class Ones(NamedTuple):
    """Which arguments are one tensor.

    Attributes:
        places: of tensors among the tensors and numbers that a program is given; ``first``: for each the first place of the same.
    """

    places: tuple[int, ...]
    first: tuple[int, ...]

    def holds(self, inputs: Sequence[Any]) -> bool:
        """Whether that is so in a call."""
        seen = dict[int, int]()
        if self.places[-1] >= len(inputs):
            return False
        return self.first == tuple([seen.setdefault(id(inputs[place]), place) for place in self.places])


@functools.lru_cache(maxsize=1024)
def comparisons(code: CodeType) -> frozenset[str]:
    """Of ``is`` and ``in`` those that a code, or a function defined in it, may ask of tensors; ``type()``, if it asks for classes.

    >>> sorted(comparisons((lambda x, ws: x is None or "a" in ws).__code__))
    []
    >>> sorted(comparisons((lambda x, ws: x in ws and x is ws[0]).__code__))
    ['in', 'is']
    >>> sorted(comparisons((lambda self, x: type(self)(type(x))).__code__)), comparisons((lambda self: type(self)()).__code__)
    (['type()'], frozenset())
    """
    found, before = set[str](), list[Instruction]()
    if "type" in code.co_names and asks_classes(code):
        found.add(CLASSES)
    for each in get_instructions(code) if has_any(code, "IS_OP", "CONTAINS_OP", *BUILDS) else ():
        if each.opname == "IS_OP" and before[-1].opname != "LOAD_CONST":
            found.add("is")
        elif each.opname == "CONTAINS_OP" and not is_of_constants(before):
            found.add("in")
        elif each.opname in BUILDS and each.arg:
            found.add("in")
        before.append(each)
    return frozenset(found).union(*map(comparisons, inner_codes(code)))


def asks_classes(code: CodeType) -> bool:
    """Whether a code takes the class of anything but ``self``, or hands ``type`` to somebody."""
    known = [each for each in get_instructions(code) if each.opname not in SILENT]
    return any(
        one.opname in GLOBALS and one.argval == "type" and not (two.argval == "self" and three.opname.startswith("CALL"))
        for one, two, three in zip(known, known[1:], known[2:])
    )


def is_of_constants(before: list[Instruction]) -> bool:
    """Whether the operands of ``in`` are a constant and a name, or end with a constant."""
    k = len(before) - 1
    if before[k].opname == "LOAD_CONST":
        return True
    while k and before[k].opname == "LOAD_ATTR":
        k -= 1
    return k > 0 and before[k - 1].opname == "LOAD_CONST"


def compares_objects(guards: Guards) -> bool:
    """Whether a program may ask whether two names hold one object."""
    return not guards.words.isdisjoint(OBJECTS)


def compares_keys(guards: Guards) -> bool:
    """Whether a program may ask whether names hold one object, or whether a tensor is a member of a list, or a key."""
    return not guards.words.isdisjoint(KEYS) or any(isinstance(key, Tensor) for key in guards.names[1::3])


def ones(guards: Guards, inputs: Sequence[Any]) -> tuple[Ones, ...]:
    """Which arguments must be one tensor, and which must not, in calls of a program that was captured with these.

    Those of different layouts never are, and a program's arguments have its layouts.
    """
    layouts = Counter([x.layout for x in inputs if isinstance(x, Tensor)])
    places = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and layouts[x.layout] > 1]
    if len(places) < 2 or not compares_keys(guards):
        return ()
    tensors = [inputs[k] for k in places]
    first = [places[next(j for j, y in enumerate(tensors) if y is x)] for x in tensors]
    return (Ones(tuple(places), tuple(first)),)


def identities(guards: Guards, inputs: Sequence[Any]) -> tuple[Identity, ...]:
    """Which arguments must be tensors that the program names, and which must not, in calls of a program captured with these."""
    if not guards.tensors or not compares_keys(guards):
        return ()
    found = [(k, x, y) for k, x in enumerate(inputs) if isinstance(x, Tensor) for y in guards.tensors]
    return tuple([Identity(k, y, x is y) for k, x, y in found if x.layout is y.layout and (x is y or not is_among(x, guards))])


def is_among(x: Tensor, guards: Guards) -> bool:
    """Whether a tensor is one that a program names."""
    return any(x is y for y in guards.tensors)


def selves(guards: Guards, inputs: Sequence[Any]) -> frozenset[int]:
    """The arguments, by identity, that are in the capture what they are outside."""
    return frozenset([id(each.tensor) for each in identities(guards, inputs) if each.same])
