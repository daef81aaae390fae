"""Shared memory: whether a write may change elements that are still to be read. Every write asks here.

``apart`` is the question of a write that reads each element where it writes it: elementwise operations, in place and under
``out=``. ``overlapping`` is that of any other: indices read whatever they lead to. ``unchanged`` is what all of them do about it.
Native code asks its own ``apart`` (native/calls.py), which sees at once what is usual, and says no where it does not.
"""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.errors import InplaceError
from ..native.primitives import array_data
from .tensor import Tensor, native

__all__ = ["apart", "overlapping", "overlaps_itself", "span", "unchanged"]


def span(x: Tensor) -> tuple[int, int]:
    """First and past-the-last byte that a tensor touches, in its array."""
    layout, size = x.layout, x.layout.dtype.itemsize
    if not layout.numel:
        return x._offset_, x._offset_
    low = sum((s - 1) * t for s, t in zip(layout.shape, layout.strides) if t < 0) * size
    high = sum((s - 1) * t for s, t in zip(layout.shape, layout.strides) if t > 0) * size
    return x._offset_ + low, x._offset_ + high + size


def distance(x: Tensor, y: Tensor) -> int | None:
    """Bytes from the start of x's array to that of y's, or None where they cannot share any."""
    a, b = x._storage_.array, y._storage_.array
    if a is b:
        return 0
    if a.base is None and b.base is None:  # each has memory of its own
        return None
    return array_data(b) - array_data(a)


def overlapping(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors may share bytes; one without elements shares none, wherever it lies."""
    offset = distance(x, y)
    return offset is not None and meet(span(x), span(y), offset)


def meet(one: tuple[int, int], other: tuple[int, int], offset: int) -> bool:
    """Whether two ranges of bytes overlap; those of the second are counted from ``offset``."""
    (a, b), (c, d) = one, other
    return a < d + offset and c + offset < b and a < b and c < d


def overlaps_itself(shape: tuple, strides: tuple) -> bool:
    """Whether two positions of a layout may share an element."""
    extent = 1
    for stride, size in sorted((t, s) for s, t in zip(shape, strides) if s != 1):
        if stride < extent:
            return True
        extent = stride * (size - 1) + extent
    return False


def steps_of(layout) -> list[tuple[int, int]]:
    """Sizes and strides of the dimensions along which a layout goes anywhere.

    Where two operands that broadcast agree in them and in their start, each position of the one has its own place in the other.
    """
    return [(size, stride) for size, stride in zip(layout.shape, layout.strides) if size != 1]


def apart(x: Tensor, y: Tensor) -> bool:
    """Whether no element of ``y`` may share bytes with one of ``x`` at another position than its own."""
    if native.apart(x, y):
        return True
    offset = distance(x, y)
    if offset is None or not meet(span(x), span(y), offset):
        return True
    at_its_place = x.layout is y.layout or steps_of(x.layout) == steps_of(y.layout)
    return at_its_place and x.layout.dtype.itemsize == y.layout.dtype.itemsize and offset == x._offset_ - y._offset_


def unchanged(name: str, x: Tensor, y: Any, at_its_place: bool = True, copied: bool = False) -> Any:
    """An operand that a write to ``x`` does not change before it is read: itself, or a copy where memory is interleaved.

    Args:
        name: of the write, for the error.
        at_its_place: whether each element is read where it is written; else an operand may not even be ``x``.
        copied: whether it may overlap as it likes: it is a number, or no write of torch's refuses it.

    Raises:
        InplaceError: both are dense and share memory.
    """
    if not isinstance(y, Tensor) or (apart(x, y) if at_its_place else not overlapping(x, y)):
        return y
    if x.layout.dense and y.layout.dense and not copied:
        raise InplaceError(
            f"{name}: an operand overlaps the memory that is written, at another offset or with other strides. "
            "Hint: clone it first."
        )
    return CALLS["clone"](y)
