"""What a function captures, as something to look up: functions of one text that capture the like do the same.

>>> import nbgrad
>>> def scaled(w):
...     return lambda x: x * w
>>> one, other = Closure(scaled(nbgrad.ones(2))), Closure(scaled(nbgrad.zeros(2)))
>>> one.pattern == other.pattern, other.tensors
(True, [tensor([0., 0.])])
"""

from __future__ import annotations

import functools
from types import CellType, FunctionType, MethodType
from typing import Any

from ...base.plain import PLAIN
from ...modes.numbers import Number
from ...tensors.tensor import Tensor

__all__ = ["Closure"]

MOST_MEMBERS = 64


class Same:
    """An object that is equal to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Closure:
    """What a function captures.

    Attributes:
        pattern: its text and what it captures, but for the values of tensors.
        tensors: those, in the order of the pattern.
        covered: identities of the functions, cells and collections that the pattern speaks of.
    """

    __slots__ = ("pattern", "tensors", "covered", "seen")

    def __init__(self, fn: Any):
        self.tensors: list[Tensor] = []
        self.covered: set[int] = set()
        self.seen: dict[int, int] = {}
        self.pattern = self.of(fn)

    def of(self, x: Any) -> Any:
        """The pattern of a value."""
        kind = type(x)
        if issubclass(kind, Number):  # which is as good as a tensor: NOTE [Traced numbers]
            return kind, self.of(x.tensor)
        if isinstance(x, PLAIN):
            return kind, repr(x)
        known = self.seen.setdefault(id(x), len(self.seen))
        if isinstance(x, Tensor):
            self.tensors.append(x)
            return kind, known, x.layout.dtype, x.layout.shape, x.layout.device
        if known < len(self.seen) - 1:
            return Closure, known
        if kind is FunctionType:
            self.covered.update(map(id, (x, *(x.__closure__ or ()))))
            cells = tuple([self.of(content_of(cell)) for cell in x.__closure__ or ()])
            return kind, x.__code__, Same(x.__globals__), cells, self.of(x.__defaults__), self.of(x.__kwdefaults__)
        if kind is functools.partial:
            return kind, self.of(x.func), self.of(x.args), self.of(x.keywords)
        if kind is MethodType:
            return kind, self.of(x.__func__), Same(x.__self__)
        if kind in (tuple, list, dict) and len(x) <= MOST_MEMBERS:
            self.covered.add(id(x))
            members = tuple([self.of(member) for member in (x.values() if kind is dict else x)])
            return (kind, tuple(map(self.of, x)), members) if kind is dict else (kind, members)
        return Same(x)


def content_of(cell: CellType) -> Any:
    """What a cell holds; itself while that is nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return cell
