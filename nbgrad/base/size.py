"""Size: the tuple type of a tensor's shape, as its users see it."""

from __future__ import annotations

from math import prod
from operator import index as as_int
from typing import Any, Iterable

from .errors import ArgumentError

__all__ = ["Size"]


class Size(tuple):
    """Sizes of dimensions: a tuple of ints that knows how many elements they make.

    Equal to a tuple of the same ints; slices and sums are Sizes too. Layouts, which are compared and looked up in every call, have
    plain tuples: ``x.shape`` makes a Size of one when it is asked for.

    Args:
        sizes: an iterable of ints.

    Raises:
        ArgumentError: something that is no int (a TypeError).

    >>> import nbgrad
    >>> shape = nbgrad.zeros(2, 3, 4).shape
    >>> shape, shape.numel(), shape[1:]
    (nbgrad.Size([2, 3, 4]), 24, nbgrad.Size([3, 4]))
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable = ()) -> Size:
        try:
            return tuple.__new__(cls, map(as_int, sizes))
        except TypeError:
            raise ArgumentError(f"Size: expected an iterable of ints, got {sizes!r}.") from None

    def numel(self) -> int:
        """The product of the sizes."""
        return prod(self)

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return size_of(found) if type(index) is slice else found

    def __add__(self, other: tuple) -> Size:
        return size_of(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: tuple) -> Size:
        return size_of(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Size:
        return size_of(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"nbgrad.Size({list(self)})"

    def __reduce__(self):
        return Size, (tuple(self),)


def size_of(shape: tuple) -> Size:
    """A tuple of ints, known to be one, as a Size."""
    return tuple.__new__(Size, shape)
