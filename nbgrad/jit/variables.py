"""Storages as variables, tensors as windows on them: how a graph without writes holds a program that writes."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ..base.errors import GraphError
from ..modes.traced import is_traced
from ..ops.core import OPS
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import Storage, wrap_array
from ..tensors.tensor import Tensor, native
from .graph import Graph
from .ir import Node, Value

__all__ = ["Variable", "Variables"]

Key = tuple[int, Layout]


class Variable:
    """A storage of the captured program.

    Attributes:
        storage: held, so that its identity is not used again.
        root: place and layout of the tensor that ``value`` is the value of: the first that was seen, or the whole storage.
        windows: values of tensors on it that hold as long as nobody writes.
        external: a tensor of the program that was there before the capture; else None.
    """

    __slots__ = ("storage", "root", "value", "windows", "external")

    def __init__(self, storage: Storage, root: Key, value: Value, external: Tensor | None = None):
        self.storage, self.root, self.value, self.external = storage, root, value, external
        self.windows: dict[Key, Value] = {root: value}


def key_of(x: Tensor) -> Key:
    """Place in the storage, and layout."""
    return x._offset_, x.layout.plain()


class Variables:
    """The storages of a captured program.

    Attributes:
        graph: where windows and writes are written down.
        known: tensors that the program may use without making them.
        born: storages that creation functions made, by identity.
    """

    def __init__(self, graph: Graph, known: Sequence[Tensor]):
        self.graph = graph
        self.known = {id(x._storage_): x for x in known}
        self.born: dict[int, Storage] = {}
        self.table: dict[int, Variable] = {}
        self.copies: dict[int, Storage] = {}
        self.old: list[tuple[Storage, Any, Any]] = []

    def define(self, x: Tensor, value: Value) -> None:
        """``x`` has this value: of a new storage, or as a window on one that is known."""
        storage, key = x._storage_, key_of(x)
        variable = self.table.get(id(storage))
        if variable is None:
            self.table[id(storage)] = Variable(storage, key, value)
        else:
            variable.windows.setdefault(key, value)

    def is_own(self, x: Tensor) -> bool:
        """Whether its storage was made by the capture."""
        variable = self.table.get(id(x._storage_))
        return variable is not None and variable.external is None

    def value(self, x: Tensor) -> Value:
        """The value that a tensor has now.

        Raises:
            GraphError: it was computed where no capture looks.
        """
        storage, key = x._storage_, key_of(x)
        variable = self.table.get(id(storage)) or self.admit(x)
        found = variable.windows.get(key)
        if found is None:
            found = variable.windows[key] = self.window(variable, key)
        return found

    def admit(self, x: Tensor) -> Variable:
        """A storage that is seen for the first time: of a constant."""
        storage = x._storage_
        if id(storage) in self.born and not is_traced(x):
            whole = whole_storage(x)
            constant = Value(whole.layout, False, data=number_of(whole))
            variable = Variable(storage, key_of(whole), constant)
        elif id(storage) in self.known:
            known = self.known[id(storage)]
            constant = Value(known.layout.plain(), bool(known.requires_grad), data=known)
            variable = Variable(storage, key_of(known), constant, known)
        else:
            raise GraphError(
                f"a tensor of shape {list(x.layout.shape)} was computed where no graph is captured, and its values would become "
                "constants. Hint: give it to the function as an argument."
            )
        self.graph.constants.append(constant)
        self.table[id(storage)] = variable
        return variable

    def window(self, variable: Variable, key: Key) -> Value:
        """The value of a tensor as a part of the root's."""
        self.require_inside(variable, key)
        (offset, layout), (start, root) = key, variable.root
        place = {"size": layout.shape, "stride": layout.strides, "offset": (offset - start) // root.dtype.itemsize}
        return self.add("as_strided_from", (variable.value,), place, layout)

    # ---- writes ----------------------------------------------------------------------------------------------------

    def keep_old(self, x: Tensor) -> None:
        """Before a write: keep what the memory of the program's own tensors held, for ``restore``."""
        self.value(x)
        variable = self.table[id(x._storage_)]
        if variable.external is not None and not any(storage is x._storage_ for storage, _, _ in self.old):
            storage = x._storage_
            self.old.append((storage, storage.array.copy(), storage.version))

    def restore(self) -> None:
        """Put back what the capture's writes changed of the program's own tensors."""
        for storage, array, version in self.old:
            storage.array[...] = array
            storage.version = version
        self.old.clear()

    def write(self, x: Tensor, out: Value) -> None:
        """``x`` was overwritten by the value of an operation: its storage has a new value."""
        variable, key = self.table[id(x._storage_)], key_of(x)
        assert out.layout is not None
        if out.layout.dtype is not key[1].dtype:
            out = self.add("to_dtype", (out, key[1].dtype), {}, out.layout.like(key[1].dtype))
        start, root = variable.root
        if key == variable.root and out.layout is root:
            value = out
        else:
            self.require_inside(variable, key)
            size = root.dtype.itemsize
            place = {"size": key[1].shape, "stride": key[1].strides, "storage_offset": (key[0] - start) // size}
            value = self.add("as_strided_scatter", (variable.value, out), place, root)
        variable.value = value
        variable.windows = {variable.root: value}

    def add(self, name: str, ins: tuple, attributes: dict, layout: Layout) -> Value:
        """A node of one result."""
        node = Node(OPS[name], ins, attributes, [layout])
        self.graph.nodes.append(node)
        return node.outs[0]

    def require_inside(self, variable: Variable, key: Key) -> None:
        """Refuse what lies outside of the tensor that stands for a storage, or is of another dtype.

        Raises:
            GraphError: it does.
        """
        offset, layout = key
        start, root = variable.root
        if layout.dtype is not root.dtype or layout.conj is not root.conj or layout.neg is not root.neg:
            raise GraphError(
                f"a tensor of {layout.dtype.name} shares memory with one of {root.dtype.name} that is written to: a graph cannot "
                "capture it. Hint: clone one of them before the write."
            )
        low, high = extent(layout, offset)
        least, most = extent(root, start)
        if low < least or high > most:
            raise GraphError(
                "two tensors that the function does not make share memory, and one is written to where the other does not "
                "reach: a graph cannot capture it. Hint: give the function clones."
            )

    def copied(self, x: Tensor) -> Tensor:
        """A tensor like an argument: a leaf, or in its place of the graph, on a copy of its storage."""
        storage = self.copies.get(id(x._storage_))
        if storage is None:
            storage = self.copies[id(x._storage_)] = wrap_array(x._storage_.array.copy())
        made = native.tensor(x.layout.plain().template, storage, x._offset_, bool(x.requires_grad), None)
        return made


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
        layout = layout_of(layout.dtype, (array.nbytes // size,))
    return native.tensor(layout.template, wrap_array(array.copy()), 0, False, None)


def number_of(x: Tensor) -> Any:
    """The number that all elements are, bit for bit; else the tensor."""
    layout = x.layout
    if not layout.numel or layout.dtype.numpy.kind not in "biuf":
        return x
    elements = x._storage_.array.view(layout.dtype.numpy)
    bits = x._storage_.array.view(np.uint8).reshape(layout.numel, -1)
    return elements.flat[0].item() if (bits == bits[0]).all() else x
