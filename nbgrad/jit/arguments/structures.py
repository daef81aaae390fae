"""The structure of arguments and results of compiled functions: that of nested.py, and objects of data classes and slices.

Results may be objects of other classes, too, which the function has made: every call makes its own. An argument of such a class may
stand for anything, and the function runs as it is.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable, Iterator

import numpy as np

from ...base.dtypes import DType
from ...base.errors import ArgumentError, GraphError
from ...base.nested import LEAF, Tree, parts_of
from ...base.plain import PLAIN
from ...base.size import Size
from ...tensors.storage import Device
from ...tensors.tensor import Tensor
from ..guards.members import METHOD, MISSING, is_made, slots_of

__all__ = ["Fields", "Foreign", "flatten", "flatten_again", "flatten_result", "is_value", "kinds_in", "shared_with", "value_key"]

LEAVES = frozenset((Tensor, *PLAIN))
SLICE = "start", "stop", "step"
NAMED = Size, DType, Device, range  # whose text says all


class Foreign(GraphError, ArgumentError):
    """An argument or a result that no program takes or returns: the function runs as it is."""


class Fields(Tree):
    """The structure of an object of a data class, or of a slice; ``keys`` are its attributes."""

    __slots__ = ()

    def _build(self, leaves: Any) -> Any:
        values = [child._build(leaves) for child in self.children]
        if self.kind is slice:
            return slice(*values)
        made: Any = object.__new__(self.kind)  # type: ignore[arg-type]
        for name, value in zip(self.keys, values):
            object.__setattr__(made, name, value)
        return made

    def places(self, start: str = "") -> list[str]:
        """Where each leaf is."""
        return [place for name, child in zip(self.keys, self.children) for place in child.places(f"{start}.{name}")]

    def __repr__(self) -> str:
        assert self.kind is not None
        return f"{self.kind.__name__}({', '.join(f'{name}={part!r}' for name, part in zip(self.keys, self.children))})"


def flatten(value: Any) -> tuple[list, Tree]:
    """The leaves of a nested value, and its structure.

    Raises:
        Foreign: a list, a dict or an object is in several places.
    """
    leaves: list = []
    return leaves, gather(value, leaves, (), {})


def flatten_again(value: Any) -> tuple[list, Tree]:
    """``flatten`` of what is put together anew: a list, a dict or an object may be in several places."""
    leaves: list = []
    return leaves, gather(value, leaves, (), None)


def flatten_result(value: Any, is_made_by: Callable[[Tensor], bool] = lambda x: True) -> tuple[list, Tree]:
    """``flatten`` of what a function returns, with objects that it has made: those that hold tensors which it has computed.

    Others may have been there before, and may be compared by which they are.

    Raises:
        Foreign: a list, a dict or an object is in several places.
    """
    leaves: list = []
    return leaves, gather(value, leaves, (), {}, is_made_by)


def gather(
    value: Any, leaves: list, within: tuple, met: dict[int, Any] | None, is_made_by: Callable[[Tensor], bool] | None = None
) -> Tree:
    """The structure of a value, whose leaves are appended.

    Args:
        within: objects on the way to it; ``met``: by identity all that may change, and was met before; None: whatever.
        is_made_by: see ``flatten_result``; None where objects of other classes than data classes are leaves.
    """
    kind, start = type(value), len(leaves)
    if kind in LEAVES:
        leaves.append(value)
        return LEAF
    parts = parts_of(value)
    if parts is not None:
        if not isinstance(value, tuple):
            meet(value, met)
        keys, values = parts
        return Tree(kind, keys, tuple([gather(each, leaves, within, met, is_made_by) for each in values]))
    names = attributes_of(value, is_made_by is not None) if not any(value is each for each in within) else None
    if names is None:
        leaves.append(value)
        return LEAF
    within = (*within, value)
    found = Fields(kind, names, tuple([gather(getattr(value, name), leaves, within, met, is_made_by) for name in names]))
    if not is_declared(kind) and not any(isinstance(x, Tensor) and is_made_by and is_made_by(x) for x in leaves[start:]):
        leaves[start:] = [value]
        return LEAF
    if kind is not slice:
        meet(value, met)
    return found


def meet(value: Any, met: dict[int, Any] | None) -> None:
    """Note something that may change.

    Raises:
        Foreign: it was met before: what a program is given, and gives, is put together anew, and each is another one.
    """
    if met is None:
        return
    if met.setdefault(id(value), met) is value:
        what = f"compile: a {type(value).__name__} is in several places, expected each list, dict and object in one"
        raise Foreign(f"{what}. Hint: a copy.")
    met[id(value)] = value


def is_declared(kind: type) -> bool:
    """Whether objects of a class are what their attributes say: of data classes, and slices."""
    return kind is slice or hasattr(kind, "__dataclass_fields__")


def attributes_of(value: Any, of_any: bool = False) -> tuple[str, ...] | None:
    """What an object of a data class, or a slice, holds; None of others.

    Args:
        of_any: of any object, too, that is not nbgrad's own.
    """
    kind = type(value)
    if kind is slice:
        return SLICE
    if not is_declared(kind):
        own = kind.__module__.partition(".")[0] == "nbgrad" and not kind.__module__.startswith("nbgrad.distributions")
        if not of_any or own or kind is object or is_value(value):
            return None
    return names_in(value)


def names_in(value: Any) -> tuple[str, ...] | None:
    """The attributes of an object, if they are all that it is: classes in C may keep more."""
    if isinstance(value, type) or callable(value):
        return None
    if not all(is_made(each) or each.__module__ == "typing" for each in type(value).__mro__[:-1]):
        return None
    held = [name for name in getattr(value, "__dict__", ()) if not name.startswith(METHOD)]
    return (*held, *(member.__name__ for member, content in slots_of(value) if content is not MISSING))


def kinds_in(tree: Tree) -> Iterator[type]:
    """The classes of objects in a structure."""
    if tree.kind is not None:
        yield tree.kind
    for child in tree.children:
        yield from kinds_in(child)


def shared_with(value: Any, is_known: Callable[[Any], bool], within: tuple = ()) -> bool:
    """Whether a list, a dict or an object in a result was there before; ``within``: objects on the way to it."""
    parts = parts_of(value)
    names = attributes_of(value, True) if parts is None else ()
    if names is None or any(value is each for each in within):
        return False
    if not isinstance(value, (tuple, slice)) and is_known(value):
        return True
    values = [getattr(value, name) for name in names] if parts is None else parts[1]
    return any(shared_with(each, is_known, (*within, value)) for each in values)


def value_key(x: Any) -> Any:
    """What stands for a value that never changes; None of others."""
    kind = type(x)
    if isinstance(x, (*PLAIN, DType)):
        return kind, repr(x)
    if isinstance(x, Enum):
        return kind, str(x), repr(x.value)
    if isinstance(x, NAMED) or isinstance(x, np.generic) and not isinstance(x, np.void):
        return kind, repr(x)
    if kind is frozenset:
        keys = tuple(map(value_key, x))
        return None if None in keys else (kind, keys)
    return None


def is_value(x: Any) -> bool:
    """Whether something is a value that never changes, which a program may return."""
    return value_key(x) is not None
