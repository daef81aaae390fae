"""The structure of arguments and results of compiled functions: that of nested.py, and objects of data classes and slices."""

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

__all__ = ["Fields", "Foreign", "flatten", "flatten_again", "is_value", "kinds_in", "shared_with", "value_key"]

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


def gather(value: Any, leaves: list, within: tuple, met: dict[int, Any] | None) -> Tree:
    """The structure of a value, whose leaves are appended.

    Args:
        within: objects on the way to it; ``met``: by identity all that may change, and was met before; None: whatever.
    """
    kind = type(value)
    if kind in LEAVES:
        leaves.append(value)
        return LEAF
    parts = parts_of(value)
    if parts is not None:
        if not isinstance(value, tuple):
            meet(value, met)
        keys, values = parts
        return Tree(kind, keys, tuple([gather(each, leaves, within, met) for each in values]))
    names = attributes_of(value) if not any(value is each for each in within) else None
    if names is None:
        leaves.append(value)
        return LEAF
    if kind is not slice:
        meet(value, met)
    within = (*within, value)
    return Fields(kind, names, tuple([gather(getattr(value, name), leaves, within, met) for name in names]))


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


def attributes_of(value: Any) -> tuple[str, ...] | None:
    """What an object of a data class, or a slice, holds; None of others."""
    kind = type(value)
    if kind is slice:
        return SLICE
    if not hasattr(kind, "__dataclass_fields__") or isinstance(value, type) or callable(value):
        return None
    if not all(is_made(each) or each.__module__ == "typing" for each in kind.__mro__[:-1]):
        return None
    held = [name for name in getattr(value, "__dict__", ()) if not name.startswith(METHOD)]
    return (*held, *(member.__name__ for member, content in slots_of(value) if content is not MISSING))


def kinds_in(tree: Tree) -> Iterator[type]:
    """The classes of objects in a structure."""
    if tree.kind is not None:
        yield tree.kind
    for child in tree.children:
        yield from kinds_in(child)


def shared_with(value: Any, is_known: Callable[[Any], bool]) -> bool:
    """Whether a list, a dict or an object in a nested value was there before."""
    parts = parts_of(value)
    if parts is None:
        names = attributes_of(value)
        if names is None or type(value) is slice:
            return False
        values: Any = [getattr(value, name) for name in names]
    else:
        values = parts[1]
    return not isinstance(value, tuple) and is_known(value) or any(shared_with(each, is_known) for each in values)


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
