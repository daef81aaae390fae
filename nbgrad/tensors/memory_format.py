"""Memory formats: in which order of dimensions the elements of a dense tensor lie."""

from __future__ import annotations

from typing import Any

from ..base.errors import ArgumentError, ShapeError
from .layout import Layout, contiguous_strides, sparse_marks

__all__ = [
    "MemoryFormat",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "order_of",
    "preserve_format",
    "strided",
    "strides_agree",
    "strides_of",
]


class MemoryFormat:
    """A name for an order of dimensions, for arguments ``memory_format=``.

    Attributes:
        name: ``"contiguous_format"``, row by row; ``"preserve_format"``, as the operand's; ``"channels_last"`` and
            ``"channels_last_3d"``, the second of four or five dimensions innermost.
    """

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"nbgrad.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format, preserve_format = MemoryFormat("contiguous_format"), MemoryFormat("preserve_format")
channels_last, channels_last_3d = MemoryFormat("channels_last"), MemoryFormat("channels_last_3d")


class Strided:
    """How dense tensors are laid out: elements at strides. For arguments ``layout=``; equals ``x.layout`` of a dense tensor."""

    def __repr__(self) -> str:
        return "nbgrad.strided"

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, Layout) and other.special not in sparse_marks

    __hash__ = object.__hash__

    def __reduce__(self) -> str:
        return "strided"


strided = Strided()

DIMENSIONS = {channels_last: 4, channels_last_3d: 5}
FORMATS = (contiguous_format, *DIMENSIONS)  # those that are an order


def order_of(op: str, memory_format: Any, ndim: int) -> tuple[int, ...] | None:
    """The dimensions from the outermost to the innermost in memory; None to preserve them.

    Raises:
        ArgumentError: no memory format. ShapeError: one for another number of dimensions.
    """
    if memory_format is preserve_format or memory_format is None:
        return None
    if not isinstance(memory_format, MemoryFormat):
        raise ArgumentError(
            f"{op}: memory_format must be a memory format, got {type(memory_format).__name__}. Hint: nbgrad.contiguous_format."
        )
    expected = DIMENSIONS.get(memory_format)
    if expected is None:
        return tuple(range(ndim))
    if ndim != expected:
        raise ShapeError(f"{op}: {memory_format.name} is for {expected} dimensions, the tensor has {ndim}.")
    return (0, *range(2, ndim), 1)


def strides_agree(layout: Layout, strides: tuple[int, ...]) -> bool:
    """Whether elements lie as these strides say; those of dimensions of one element do not matter."""
    return layout.numel == 0 or all(size == 1 or own == due for size, own, due in zip(layout.shape, layout.strides, strides))


def strides_of(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a dense tensor with its dimensions in that order in memory.

    >>> strides_of((2, 3, 4, 5), (0, 2, 3, 1))
    (60, 1, 15, 3)
    """
    strides = [0] * len(shape)
    for dim, stride in zip(order, contiguous_strides(tuple(shape[d] for d in order))):
        strides[dim] = stride
    return tuple(strides)
