"""Storages as variables, tensors as windows on them: how a graph without writes holds a program that writes."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from ...base.errors import GraphError
from ...base.grad_mode import mode
from ...base.mode_contexts import enable_grad, no_grad
from ...dispatch.launches import need
from ...graph.edges import Node as GraphNode, requires_grad
from ...modes.traced import is_traced
from ...ops.core import OPS
from ...tensors.layout import Layout, layout_of
from ...tensors.storage import Storage
from ...tensors.tensor import Tensor, native
from ..ir.devices import copied
from ..ir.graph import Graph
from ..ir.histories import OVERWRITE, STOP, WRITTEN, history_of
from ..ir.ir import Node, Value
from ..ir.lines import user_line
from .flows import Flows
from .lineages import Lineages
from .memory import Key, Variable, extent, is_inside, key_of, require_inside, require_reached, uniform_number, whole_storage
from .selections import Selections

__all__ = ["Variables"]


class Variables(Lineages):
    """The storages of a captured program.

    Attributes:
        graph: where windows and writes are written down.
        known: tensors that the program may use without making them, by identity of their memory; ``beside``: others in that memory.
        born: memory that creation functions made, by identity.
        foreign: memory of NumPy arrays that the program names, by identity of the arrays on it.
        table: the variables, by identity of their memory.
        copies: storages of arguments, each with the copy on which the capture runs, by identity of the first; ``given``: identities
            of the copies' memory.
        selections: copies that stand for views.
    """

    def __init__(self, graph: Graph, known: Sequence[Tensor]):
        self.graph = graph
        self.known: dict[int, Tensor] = {}
        self.beside: list[Tensor] = []
        self.born: dict[int, Any] = {}
        self.foreign: dict[int, Any] = {}
        self.table: dict[int, Variable] = {}
        self.copies: dict[int, tuple[Storage, Storage]] = {}
        self.given: set[int] = set()
        self.selections = Selections(self.table)
        self.flows: Flows | None = None
        self.know(known)

    def know(self, tensors: Iterable[Tensor]) -> None:
        """The program may use further tensors without making them."""
        for x in tensors:
            if self.known.setdefault(id(x._storage_.array), x) is not x:
                self.beside.append(x)

    def of(self, x: Tensor) -> Variable | None:
        """The variable that a tensor is a window on."""
        return self.table.get(id(x._storage_.array))

    def define(self, x: Tensor, value: Value) -> None:
        """``x`` has this value: of new memory, or as a window on what is known.

        Raises:
            GraphError: it is a window beyond what is known of memory that was written to.
        """
        key, history, variable = key_of(x), self.history(x), self.of(x)
        if variable is None:
            array = x._storage_.array
            self.table[id(array)] = Variable(array, key, value, history)
        else:
            if variable.writes:  # ``as_strided`` may lead anywhere
                require_reached(variable, key)
            variable.windows.setdefault(key, {})[history] = value
            if self.flows is not None:
                self.flows.note(history, x)

    def forget(self, outs: Sequence[Tensor], values: Sequence[Value]) -> None:
        """What Functions have computed has the histories that they give it, from now on, also for those who record nothing."""
        for x, value in zip(outs, values):
            variable = self.of(x)
            known = {} if variable is None else variable.windows.get(key_of(x), {})
            if known.get(None) is value:
                del known[None]

    def is_own(self, x: Tensor) -> bool:
        """Whether its memory was made by the capture."""
        variable = self.of(x)
        return variable is not None and variable.external is None

    def is_made(self, x: Tensor) -> bool:
        """Whether its memory was made by the captured function: it is no argument's, and nothing that was there before."""
        variable = self.of(x)
        if variable is None:
            return id(x._storage_.array) in self.born
        return variable.external is None and id(variable.array) not in self.given

    def is_watched(self, x: Tensor) -> bool:
        """Whether another run may find other elements in a tensor's memory."""
        variable = self.of(x)
        if variable is None:
            return id(x._storage_.array) in self.known or id(x._storage_.array) in self.foreign
        return not variable.value.is_constant or variable.external is not None

    def value(self, x: Tensor) -> Value:
        """The value that a tensor has now.

        NOTE [Histories]: while the program records, a tensor that was detached, or made a leaf of its own, is another value than
        the tensor that it came from: gradients stop there. What is not recorded needs no such care, where there is no such value.

        Raises:
            GraphError: it was computed where no capture looks.
        """
        variable = self.of(x) or self.admit(x)
        if self.selections.made:
            self.selections.require_current(x)
        key = key_of(x)
        if self.flows is not None:
            return self.followed(x, variable, key, self.flows)
        known = variable.windows.get(key)
        if known is None:
            known = variable.windows[key] = self.seen_first(variable, key)
        if not mode.enabled and len(known) == 1:
            return next(iter(known.values()))
        history = history_of(x)
        if not mode.enabled:
            return known.get(history) or next(iter(known.values()))
        found = known.get(history)
        if found is None and history is not None:
            found = known.get(WRITTEN)
        if found is None:
            found = self.stop(next(iter(known.values())), history)
        known[history] = found
        return found

    def line_of(self, x: Tensor) -> str:
        """Where the program has computed what a tensor holds."""
        variable = self.of(x)
        return "" if variable is None else variable.value.line

    def returned(self, x: Tensor) -> Value:
        """What a result is: a window on what was there before, where that is written to; else its value."""
        variable = self.of(x)
        if variable is None or variable.target is None or not variable.writes:
            return self.value(x)
        key = key_of(x)
        if key == variable.root:
            return variable.target
        require_inside(variable, key)
        return self.part(variable.target, variable.root, key)

    def stop(self, value: Value, history: Any) -> Value:
        """The value of a tensor that has another history than the one of which it shares the memory."""
        if isinstance(history, tuple) or isinstance(history, GraphNode):
            return value  # of a custom Function, which gives what it has computed a history of its own
        if history is None and value.requires_grad is False:
            return value
        return self.append(Node(STOP, (value,), {}, [value.layout], flags=[history is not None]))

    def admit(self, x: Tensor) -> Variable:
        """A storage that is seen for the first time: of a constant."""
        array = x._storage_.array
        if id(array) in self.foreign:
            self.known[id(array)] = native.tensor(x.layout.plain().template, x._storage_, x._offset_, False, None)
        if id(array) in self.born and id(array) not in self.foreign and not is_traced(x):
            whole = whole_storage(x)
            constant = Value(whole.layout, False, data=uniform_number(whole))
            variable = Variable(array, key_of(whole), constant, None)
        elif id(array) in self.known:
            known = self.known[id(array)]
            constant = Value(known.layout.plain(), bool(known.requires_grad), data=known)
            variable = Variable(array, key_of(known), constant, history_of(known), known)
        else:
            raise GraphError(
                f"a tensor of shape {list(x.layout.shape)}, used at {user_line()}, was computed where no graph is captured, and "
                "its values would become constants. Hint: give it to the function as an argument."
            )
        self.graph.constants.append(constant)
        self.table[id(array)] = variable
        return variable

    def seen_first(self, variable: Variable, key: Key) -> dict[Any, Value]:
        """The values, by their histories, of a tensor that lies where no other one does.

        NOTE [Neighbours]: of two tensors that the program names and that lie in one memory (``k, v = qkv.chunk(2)``), the one that
        is not a part of the other is a constant of its own, as long as nobody writes to that memory.
        """
        if not (variable.writes or is_inside(key, variable.root)):
            for x in self.beside:
                place = key_of(x)
                if x._storage_.array is variable.array and is_inside(key, place):
                    if place not in variable.windows:
                        constant = Value(x.layout.plain(), bool(x.requires_grad), data=x)
                        self.graph.constants.append(constant)
                        variable.windows[place] = {history_of(x): constant}
                    found = variable.windows[place]
                    return found if place == key else {WRITTEN: self.part(next(iter(found.values())), place, key)}
        return {WRITTEN: self.window(variable, key)}

    def window(self, variable: Variable, key: Key) -> Value:
        """The value of a tensor as a part of the root's."""
        require_inside(variable, key)
        return self.part(variable.value, variable.root, key)

    def part(self, value: Value, whole: Key, key: Key) -> Value:
        """What lies at a place in memory, of the value of a tensor that reaches there."""
        (offset, layout), (start, root) = key, whole
        place = {"size": layout.shape, "stride": layout.strides, "offset": (offset - start) // root.dtype.itemsize}
        return self.add("as_strided_from", (value,), place, layout)

    # ---- writes ----------------------------------------------------------------------------------------------------

    def write(self, x: Tensor, out: Value, begins: bool = False) -> None:
        """``x`` was overwritten by the value of an operation: its storage has a new value.

        Args:
            begins: whether it, or what it is a view of, had no history before.

        NOTE [Unrecorded writes]: under ``no_grad``, or through what is detached, values change and histories stay: whoever had one
        keeps it, with the new values. A recorded write through what is detached leaves two histories on one memory, of which
        lineages tell, where they are followed.

        Raises:
            GraphError: it does, and they are not; the write reaches beyond what stands for the memory.
        """
        variable, flows = self.table[id(x._storage_.array)], self.flows
        self.selections.note_written(x)
        known = variable.windows.get(variable.root, {WRITTEN: variable.value})
        recorded = mode.enabled and requires_grad(x)
        if begins and recorded and flows is None:
            self.require_one_history(known)
        dtype = x.layout.dtype
        if out.layout is not None and out.layout.dtype is not dtype:
            out = self.add("to_dtype", (out,), {"dtype": dtype}, out.layout.like(dtype))
        before = variable.value if flows is None else self.of_lineage(variable, variable.root, flows.lineage(x), flows)
        value = self.placed(variable, key_of(x), before, out)
        variable.writes += 1
        if not recorded:
            out.requires_grad = value.requires_grad = False
        if flows is not None:
            windows = self.written(variable, flows.lineage(x), before, value, flows)
        elif recorded:
            windows = {WRITTEN: value}
        else:
            kept = {history: old for history, old in known.items() if history is not None and old.requires_grad is not False}
            windows = {history: self.overwrite(old, value) for history, old in kept.items()} or {WRITTEN: value}
        variable.value, variable.windows = next(iter(windows.values())), {variable.root: windows}

    def placed(self, variable: Variable, key: Key, before: Value, out: Value) -> Value:
        """The value of all of a variable, ``before`` until now, in which ``out`` is what lies at a place.

        Raises:
            GraphError: the place reaches beyond it.
        """
        (offset, layout), (start, root), flows = key, variable.root, self.flows
        if key == variable.root and out.layout is root:
            return out
        require_inside(variable, key)
        place = {"size": layout.shape, "stride": layout.strides, "storage_offset": (offset - start) // root.dtype.itemsize}
        read = self.unrecorded(before, flows) if flows is not None and before in flows.silent and mode.enabled else before
        return self.scattered(read, out, place, root)

    def exchange(self, x: Tensor, value: Tensor) -> None:
        """``x`` is about to show the memory of ``value``: its history stays, with the values of that."""
        if self.of(x) is None:
            self.admit(x)  # while it shows where it is
        history = history_of(x)
        with no_grad():
            new = self.value(value)
        if history is not None:
            with enable_grad():
                old = self.value(x)
            known = self.table[id(value._storage_.array)].windows.setdefault(key_of(value), {})
            known.setdefault(WRITTEN, new)
            known[history] = self.overwrite(old, new)

    def require_one_history(self, known: dict[Any, Value]) -> None:
        """Refuse memory that a tensor with a history lies on.

        Raises:
            GraphError: it does.
        """
        if any(history is not None and value.requires_grad is not False for history, value in known.items()):
            raise GraphError(
                f"a detached tensor is written to, which is recorded, and shares memory with one that has a history, at "
                f"{user_line()}: a graph cannot capture it. Hint: clone it first."
            )

    def scattered(self, x: Value, out: Value, place: dict, layout: Layout) -> Value:
        """A value in which what lies at a place in memory is another one: ``as_strided_scatter`` counts in row-major order.

        Of others, and of what has gaps between its elements, it gets a row with all that lies there.
        """
        if layout.contiguous:
            return self.add("as_strided_scatter", (x, out), place, layout)
        first, end = extent(layout, 0)
        flat = layout_of(layout.dtype, ((end - first) // layout.dtype.itemsize,), None, layout.device, layout.conj, layout.neg)
        row = self.add("as_strided_from", (x,), {"size": flat.shape, "stride": (1,), "offset": 0}, flat)
        made = self.add("as_strided_scatter", (row, out), place, flat)
        return self.add("as_strided_from", (made,), {"size": layout.shape, "stride": layout.strides, "offset": 0}, layout)

    def overwrite(self, old: Value, new: Value, detached: bool = False) -> Value:
        """The values of one and the history of another: see ``overwritten`` of histories.py."""
        attributes = {"detached": True} if detached else {}
        return self.append(Node(OVERWRITE, (old, new), attributes, [new.layout], flags=[old.requires_grad]))

    def add(self, name: str, ins: tuple, attributes: dict, layout: Layout) -> Value:
        """A node of one result, which is what its operands are: recorded, or not."""
        node = Node(OPS[name], ins, attributes, [layout])
        if self.flows is not None and not any(value.requires_grad is not False for value in node.values()):
            node.outs[0].requires_grad = False
        return self.append(node)

    def append(self, node: Node, recorded: bool = True) -> Value:
        """Write a node down; its first result.

        Args:
            recorded: whether derivatives are recorded there.
        """
        self.graph.nodes.append(node)
        if self.flows is not None:
            self.flows.follow(node, recorded)
        return node.outs[0] if node.outs else None  # type: ignore[return-value]

    def copied(self, x: Tensor) -> Tensor:
        """A tensor of an argument's class: a leaf, or in its place of the graph, on a copy of its storage."""
        if id(x._storage_) not in self.copies:
            need((x,))
            copy = copied(x._storage_)
            self.copies[id(x._storage_)] = x._storage_, copy
            self.given.add(id(copy.array))
        storage = self.copies[id(x._storage_)][1]
        made: Tensor = native.tensor(x.layout.plain().template, storage, x._offset_, bool(x.requires_grad), None)
        if type(x) is not Tensor:
            made.__class__ = type(x)
        return made
