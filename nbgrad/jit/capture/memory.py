"""Memory as variables of a captured program: where tensors lie in it, what lies there, and what can be said of its elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import GraphError
from ...tensors.layout import Layout, layout_of
from ...tensors.storage import Storage
from ...tensors.tensor import Tensor, native
from ..ir.devices import copied, on_gpu
from ..ir.ir import Value
from ..ir.lines import user_line

__all__ = ["Key", "Variable", "is_inside", "key_of", "require_inside", "require_reached", "uniform_number", "whole_storage"]

Key = tuple[int, Layout]  # where a tensor lies: its first byte in the storage, and its layout


class Variable:
    """Memory of the captured program, which several storages may share (``x.data``).

    Attributes:
        array: the memory, held so that its identity is not used again.
        root: place and layout of the tensor that ``value`` is the value of: the first that was seen, or the whole storage.
        windows: values of tensors on it that hold as long as nobody writes: by place and layout, then by history.
        external: a tensor of the program that was there before the capture; else None.
        target: the input or constant that it began as; None of what the function makes.
        storage: through which it was seen first, whose version counts; ``version``: what that was.
        writes: how many there were.
    """

    __slots__ = ("array", "root", "value", "windows", "external", "target", "storage", "version", "writes")

    def __init__(self, array: Any, root: Key, value: Value, history: Any, external: Tensor | None = None):
        self.array, self.root, self.value, self.external = array, root, value, external
        self.target: Value | None = value if external is not None else None
        self.storage: Storage | None = None if external is None else external._storage_
        self.version = 0 if self.storage is None else self.storage.version
        self.writes = 0
        self.windows: dict[Key, dict[Any, Value]] = {root: {history: value}}


def key_of(x: Tensor) -> Key:
    """Where a tensor lies in its storage."""
    return x._offset_, x.layout.plain()


def require_inside(variable: Variable, key: Key) -> None:
    """Refuse what lies outside of the tensor that stands for a storage, or is of another dtype.

    Raises:
        GraphError: it does.
    """
    layout, root = key[1], variable.root[1]
    if not is_alike(layout, root):
        raise GraphError(
            f"a tensor of {layout.dtype.name} shares memory with one of {root.dtype.name} that is written to, at "
            f"{user_line()}: a graph cannot capture it. Hint: clone one of them before the write."
        )
    require_reached(variable, key)


def require_reached(variable: Variable, key: Key) -> None:
    """Refuse what lies outside of the tensor that stands for a storage.

    Raises:
        GraphError: it does.
    """
    if not is_reached(key, variable.root):
        raise GraphError(
            "two tensors that the function does not make share memory, and one is written to where the other does not "
            f"reach, at {user_line()}: a graph cannot capture it. Hint: give the function clones."
        )


def is_inside(key: Key, whole: Key) -> bool:
    """Whether a tensor is a part of the one that lies at ``whole``: no byte is outside, and elements are of one kind."""
    return is_alike(key[1], whole[1]) and is_reached(key, whole)


def is_reached(key: Key, whole: Key) -> bool:
    """Whether no byte of a tensor is outside of the one that lies at ``whole``, from its first to its last."""
    (offset, layout), (start, root) = key, whole
    (low, high), (least, most) = extent(layout, offset), extent(root, start)
    return least <= low and high <= most


def is_alike(layout: Layout, root: Layout) -> bool:
    """Whether the elements in memory are of one dtype, and read in one way."""
    return layout.dtype is root.dtype and layout.conj is root.conj and layout.neg is root.neg


def extent(layout: Layout, offset: int) -> tuple[int, int]:
    """First byte, and the one behind the last, of a tensor in its storage."""
    size = layout.dtype.itemsize
    if not layout.numel:
        return offset, offset
    low = sum(min(0, (n - 1) * t) for n, t in zip(layout.shape, layout.strides))
    high = sum(max(0, (n - 1) * t) for n, t in zip(layout.shape, layout.strides))
    return offset + low * size, offset + (high + 1) * size


def whole_storage(x: Tensor) -> Tensor:
    """What all of a storage holds now, on memory of its own: of the layout of ``x`` if that is all of it, else of one dimension."""
    array, layout = x._storage_.array, x.layout.plain()
    size = layout.dtype.itemsize
    if x._offset_ or not layout.dense or array.nbytes != layout.numel * size:
        layout = layout_of(layout.dtype, (array.nbytes // size,), None, layout.device)
    elif layout.contiguous:  # whatever the strides of its dimensions of one element
        layout = layout_of(layout.dtype, layout.shape, None, layout.device, layout.conj, layout.neg)
    return native.tensor(layout.template, copied(x._storage_), 0, False, None)


def uniform_number(x: Tensor) -> Any:
    """The number that all elements are, bit for bit; else the tensor. A GPU is not waited for."""
    layout = x.layout
    if not layout.numel or layout.dtype.numpy.kind not in "biuf" or on_gpu(layout):
        return x
    array = x._storage_.array
    if layout.numel > 1:
        bits = array.view(np.uint8).reshape(layout.numel, -1)
        if not (bits == bits[0]).all():
            return x
    return array.view(layout.dtype.numpy).flat[0].item()
