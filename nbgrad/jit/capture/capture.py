"""Capture: a function is run once, and every call that arrives beneath all interpreters is written down.

NOTE [Capture]: traced tensors are marked (modes/traced.py), and while a capture runs it is in ``special``: every call of its thread
arrives at its interpreter, the last of them. That takes the marks off, runs the call on the same tensors, writes a node down and
marks the results. What transforms, hooks, Functions and the engine do arrives as the operations that they are made of; passes
evaluate formulas by calls meanwhile. No rule is written a second time.

NOTE [Controls]: a Function class with ``_control_(*args) -> (control, attributes, blocks, constants)`` is written down as one node,
whose operands are the tensors among its arguments; its forward runs beneath the capture. Replays of the node call the Function.

NOTE [Values of a graph]: a tensor is what its storage, its place there and its layout say. A storage is a variable, tensors are
windows on it: see variables.py. Storages come from the arguments (inputs of the graph), from calls that were written down, from
creation functions, which announce what they make, and from tensors that the function is known to use (func/captures.py): both are
constants. A tensor from elsewhere was computed where nobody looked, and using it is an error.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, AbstractSet as Set, Any, Callable, Iterator, Sequence

import numpy as np

from ...autograd.function_context import BackwardCFunction
from ...base.calls import CALLS
from ...base.dtypes import bool_, float64, int64
from ...base.errors import GraphError
from ...base.grad_mode import mode, traces
from ...creation.numpy_exchange import from_numpy
from ...dispatch.launches import need
from ...dispatch.updates import is_held
from ...graph.edges import Edge, Node as GraphNode
from ...graph.node import saved_values
from ...modes.interpreters import Call, register
from ...modes.numbers import ITEMS, SMALL, Number, Whole
from ...modes.traced import TRACED, mark, unmark
from ...ops.core import Op
from ...tensors.storage import CPU, Storage
from ...tensors.tensor import ASK, Tensor
from ..guards.opaque_state import is_followed
from ..ir.devices import on_gpu
from ..ir.graph import Graph
from ..ir.histories import history_of
from ..ir.ir import Block, Control, Node, Value
from ..ir.lines import user_line
from ..nodes.custom_functions import run_backward
from ..nodes.hosts import call_python
from ..nodes.streams import Draws
from ..nodes.values import MOST, ask, elements_of
from ..state.effects import Effects, Postponed
from ..state.implicit_inputs import Numbers, NumbersOf, number_tensor
from .call_nodes import holds_tensors, run_call, write_update
from .flows import Flows
from .observations import Observations
from .pending import Pending
from .variables import Variables

if TYPE_CHECKING:
    from ..state.snapshots import Snapshot

__all__ = ["Trace", "current_trace"]

LARGE = 2.0**62


class Trace(Observations):
    """A capture that runs: a member of ``special``, whose calls come to the interpreter of rank "capture".

    Attributes:
        graph: what was written down.
        given: tensors that stand for arguments and the like, and that the program names, by identity; ``inputs``: of the first.
        asked: values that Python has read.
        named_arrays: NumPy arrays that the program names and may write to.
        hosted: Functions that are steps in Python; ``arrays``: those that a ctx holds, as tensors; ``turns``: contexts whose
            ``backward`` runs. See custom_functions.py.
        depth: whether the thread is beneath a call that is being written down.
        pending: launches that were put off; ``lazy``: whether more may be, now; ``late``: in this capture.
        derivable: whether derivatives may be taken of the graph later, of any order and in any mode; ``of_body``: of a loop or a
            branch, which itself is captured as if they were.
        before: how what it depends on was before.
        ahead: steps of optimizers that are counted at the end, by identity of their states.
        fixed: which of the arguments are numbers whose values the program has taken: NOTE [Traced numbers] of modes/numbers.py.
        follows: whether what ``item`` reads is followed; ``items``: whether some was.
    """

    rank, mark = "capture", TRACED

    def __init__(self, known: Sequence[Tensor] = (), effects: bool = False, hosted: set | None = None):
        self.graph, self.thread, self.depth = Graph(), get_ident(), 0
        self.given: dict[int, Tensor] = {}
        self.inputs: dict[int, Value] = {}
        self.asked: set[Value] = set()
        self.named_arrays: list[np.ndarray] = []
        self.hosted = set() if hosted is None else hosted
        self.arrays: dict[tuple[int, str], tuple[Any, Tensor]] = {}
        self.turns: dict[int, Any] = {}
        self.variables, self.draws = Variables(self.graph, known), Draws(self)
        self.effects = Effects(self) if effects else None
        self.before: Snapshot | None = None
        self.fixed: set[int] = set()
        self.follows, self.items = False, False
        self.ahead: dict[int, int] = {}
        self.refused: GraphError | None = None
        self.pending, self.lazy, self.late = Pending(), False, False
        self.of_body = False

    @property
    def derivable(self) -> bool:
        """Whether derivatives may be taken of the graph later: NOTE [Flows] of flows.py."""
        return self.variables.flows is not None

    @derivable.setter
    def derivable(self, flag: bool) -> None:
        self.variables.flows = Flows() if flag else None

    def input(self, x: Tensor, name: str = "") -> Tensor:
        """A traced tensor in the place of an argument: a leaf, or part of the argument's graph, on memory of its own."""
        value = Value(x.layout.plain(), bool(x.requires_grad), name=name)
        self.graph.inputs.append(value)
        if self.variables.flows is not None:
            self.variables.flows.begin(value)
        made = self.variables.copied(x)
        fresh = self.variables.of(made) is None
        self.variables.define(made, value)
        if fresh:
            variable = self.variables.table[id(made._storage_.array)]
            variable.target, variable.storage = value, made._storage_
        self.given[id(made)], self.inputs[id(made)] = made, value
        return mark(made)

    def returned(self, x: Tensor) -> Value:
        """The value of a result: of a tensor that was there before, that tensor, whatever was written to it."""
        if id(x) in self.inputs:
            return self.inputs[id(x)]
        value = self.variables.returned(x)
        if id(x) in self.given and value.data is not x:  # of which another one on the same memory is a constant
            value = Value(x.layout.plain(), bool(x.requires_grad), data=x)
            self.graph.constants.append(value)
        return value

    def argument(self, x: Tensor, name: str, twins: dict[int, Tensor], selves: Set[int] = frozenset()) -> Tensor:
        """The traced tensor in the place of an argument, one in all of its places.

        Args:
            twins: those of arguments before. selves: identities of those that stand for themselves.
        """
        if id(x) in selves:
            self.graph.inputs.append(Value(x.layout.plain(), bool(x.requires_grad), name=name))
            return x
        if id(x) in twins:
            self.graph.inputs.append(Value(x.layout.plain(), bool(x.requires_grad), name=name))
        else:
            twins[id(x)] = self.input(x, name)
        return twins[id(x)]

    def number(self, x: float, name: str, leaf: int) -> Number:
        """A traced number in the place of an argument; ints are of 31 bits."""
        twin, sources = self.input(number_tensor(x), name), frozenset((leaf,))
        return Whole(x, twin, self, sources, SMALL - 1) if type(x) is int else Number(x, twin, self, sources)

    def item(self, x: Tensor) -> Number | None:
        """The element of a tensor as a number that is followed: NOTE [Items] of modes/numbers.py. None where it is asked for."""
        layout = x.layout
        known = not self.follows or mode.transforms or layout.special not in (None, TRACED) or not self.variables.is_watched(x)
        if known or layout.dtype.is_complex or layout.dtype is bool_ or self.value(x) in self.asked:
            return None
        self.items = True
        kind, dtype = (Number, float64) if layout.dtype.is_floating_point else (Whole, int64)
        made = CALLS["clone"](CALLS["reshape"](x.detach(), ()))
        if on_gpu(layout):  # which every run waits for, as the call does
            made = CALLS["to_device"](made, CPU)
        return kind(None, made if layout.dtype is dtype else CALLS["to_dtype"](made, dtype), self, frozenset((ITEMS,)))

    def count_holders(self, array: Any) -> int:
        """How often the capture itself holds memory that a call which was written down has made."""
        return (id(array) in self.variables.table) + self.pending.count_places(array)

    def read(self, x: Tensor) -> Any:
        """The element of a tensor as it is in this capture, of which nothing is guarded."""
        self.pending.need((x,))
        return elements_of(x).item()

    def note_made(self, storage: Storage) -> None:
        """Python code made a storage: of a creation function, whose elements are constants."""
        if not self.depth and get_ident() == self.thread:
            self.variables.born[id(storage.array)] = storage.array
            if self.named_arrays and self.is_named(storage.array):
                self.variables.foreign[id(storage.array)] = storage.array

    def value(self, x: Any) -> Any:
        """The value of a tensor; numbers as they are, sequences member by member."""
        if isinstance(x, Tensor):
            return self.variables.value(x)
        return tuple([self.value(y) for y in x]) if isinstance(x, (tuple, list)) and holds_tensors(x) else x

    # ---- values ----------------------------------------------------------------------------------------------------

    def note_arrays(self, arrays: Sequence[np.ndarray]) -> None:
        """The program names NumPy arrays: tensors on their memory are read in every call; what few elements hold is guarded.

        What a body names is compared whenever that is looked for: see traced_functions.py.
        """
        self.named_arrays = [x for x in arrays if x.flags.writeable and x.dtype.kind in "biufc" and x.dtype.isnative and x.size]
        for x in self.named_arrays:
            if x.size <= MOST and is_followed(x) and not self.of_body:
                self.ask("array", from_numpy(x))

    def is_named(self, array: Any) -> bool:
        """Whether memory is an array on that of one that the program names."""
        return isinstance(array, np.ndarray) and any(np.may_share_memory(array, x) for x in self.named_arrays)

    def ask(self, op: str, x: Tensor) -> None:
        """Python reads the elements of a tensor: see values.py."""
        need((x,))
        ask(self, op, x)

    def truth(self, x: Tensor) -> Tensor:
        """The truth value of a tensor of one element, as a tensor."""
        return x if x.layout.dtype is bool_ or not self.variables.is_watched(x) else CALLS["ne"](x, 0)

    def whole_number(self, x: Tensor) -> Tensor:
        """A tensor of one floating element without the digits behind the point, if there are integers so large."""
        if not x.layout.dtype.is_floating_point or x.layout.numel != 1 or not self.variables.is_watched(x):
            return x
        need((x,))
        return CALLS["to_dtype"](x.detach(), int64) if abs(float(elements_of(x).item())) < LARGE else x

    def leave(self, op: str, x: Tensor) -> None:
        """Python gets hold of the memory of a tensor.

        Raises:
            GraphError: always, but for constants.
        """
        if x.layout.is_traced() or self.variables.is_watched(x):
            self.refuse(f"{op}: gives the memory of a tensor to Python", "call it outside")

    def run_backward(self, function: Any, ctx: Any, grads: tuple) -> Any:
        """The ``backward`` of a Function: see custom_functions.py."""
        return run_backward(self, function, ctx, grads)

    def call_python(self, function: Callable, tensors: tuple, attributes: dict) -> Tensor:
        """The result of a function that reads arrays: NOTE [Host steps] of hosts.py."""
        made: Tensor = call_python(self, function, tensors, attributes)[0]
        return made

    # ---- calls -----------------------------------------------------------------------------------------------------

    def update(self, *update: Any) -> None:
        """Write an update down: see ``write_update`` of call_nodes.py."""
        write_update(self, *update)

    def run_unmarked(self, call: Call, below: Callable[[Call], Any], late: bool = False) -> Any:
        """The call on its tensors, and those that they are views of, without their marks.

        Args:
            late: whether the elements of the results may be computed later: NOTE [Results without values] of pending.py.
        """
        tensors = list(involved(call))
        marked = {id(x): x for x in tensors if x.layout.special is TRACED}
        before, self.lazy = self.lazy, late and self.late
        if not self.lazy:
            need(tensors)
        for x in marked.values():
            unmark(x)
        self.depth += 1
        try:
            return below(call)
        finally:
            self.depth -= 1
            self.lazy = before
            for x in marked.values():
                mark(x)

    def add(self, op: Op | Control, ins: tuple, attributes: dict, outs: Sequence[Tensor], blocks: tuple[Block, ...] = ()) -> Node:
        """Write a call down, whose results are these."""
        layouts = [x.layout.plain() for x in outs]
        node = Node(op, ins, attributes, layouts, blocks, line=user_line())
        self.variables.append(node, mode.enabled)
        for x, value in zip(outs, node.outs):
            value.requires_grad = history_of(x) is not None  # a view that was made under no_grad has none
            self.variables.define(x, value)
        return node

    def changing(self, again: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Numbers that every call of the program computes anew.

        Raises:
            GraphError: one is kept on a GPU.
        """
        made = Numbers(again) if self.effects is not None else again()
        if any(map(is_held, made.values())):
            self.refuse(
                "step: a number of it follows from how many there were, and from an option that is a tensor on a GPU",
                "capturable=True, or a number",
            )
        return made

    def is_exchanged(self, options: dict[str, Any], name: str = "") -> bool:
        """Whether the function has set one of the options of an optimizer, or that of a name: NOTE [Numbers of updates]."""
        held = None if self.before is None else self.before.members_of(options)
        names = (name,) if name else tuple(options)
        return held is not None and any(held.get(each, options) is not options[each] for each in names)

    def followed(self, number: Callable[[], float]) -> Number:
        """A number that every call of the program computes anew before it runs."""
        assert self.effects is not None
        source = NumbersOf(Numbers(lambda: {"number": number()}), float64)
        self.effects.sources.append(source)
        made = CALLS["reshape"](self.input(source.tensor), ())
        return Number(float(source.elements[0]), made, self, frozenset((ITEMS,)))

    def hold(self, names: list, tensors: Sequence[Tensor]) -> None:
        """Let the program depend on further names, and use further tensors that these hold."""
        if self.effects is not None:
            self.effects.names += names
        self.variables.know(tensors)

    def postpone(self, what: str) -> None:
        """Leave the capture to a later call.

        Raises:
            Postponed: always.
        """
        raise Postponed(f"{what}, at {user_line()}: made in a first call. Hint: make it before the function is captured.")

    def take_back(self) -> None:
        """Put back what was there before the capture."""
        if self.effects is not None:
            self.pending.part([storage for storage, _, _ in self.effects.saved.values()])
            self.effects.take_back()

    def settle(self) -> None:
        """The capture is over: compute what was put off and what the program has kept. Nothing else is held from here on."""
        saved = [] if self.effects is None else [storage for storage, _, _ in self.effects.saved.values()]
        for held in (self.variables.table, self.variables.copies, self.arrays, self.turns, self.given):
            held.clear()
        if self.variables.flows is not None:
            self.variables.flows.marks.clear()
        if self.effects is not None:
            self.effects.standins.clear()
            self.effects.needed.clear()
        self.pending.settle(saved)

    def follow(self, outs: Sequence[Any], seq: int) -> None:
        """Mark results, and what their nodes, younger than ``seq``, keep."""
        for x in outs:
            if not isinstance(x, Tensor):
                continue
            if x._needs_grad_ is ASK:
                edges = (x._meta_.base._edge_, x._meta_.node)
            else:
                edges = (x._edge_, None)
            for edge in edges:
                node = edge.node if type(edge) is Edge else edge
                if isinstance(node, GraphNode) and node._seq_ > seq:
                    for saved in kept_by(node):
                        if isinstance(saved, Tensor) and self.variables.is_own(saved):
                            mark(saved)
            if self.variables.is_own(x):
                mark(x)


def involved(call: Call) -> Iterator[Tensor]:
    """The tensors of a call, those in attributes too, and those that they are views of."""
    stack: list[Any] = [*call.operands, *call.attributes.values()]
    for x in stack:
        if isinstance(x, Tensor):
            yield x
            if x._meta_ is not None and x._meta_.base is not None:
                yield x._meta_.base
        elif isinstance(x, (tuple, list)):
            stack += x


def kept_by(node: GraphNode) -> list:
    """The values that a node has saved."""
    if isinstance(node, BackwardCFunction):
        return [saved.value for saved in node._s0_ or ()]
    return saved_values(node)


def current_trace() -> Trace | None:
    """The innermost capture of this thread."""
    this = get_ident()
    for active in traces[::-1]:
        if active.thread == this:
            return active
    return None


class Captures:
    """The interpreter of captures."""

    def concerns(self, call: Call) -> bool:
        """Whether this thread captures, and is not beneath a call that is being written down."""
        found = current_trace()
        return found is not None and not found.depth

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The innermost capture of this thread writes it down."""
        found = current_trace()
        assert found is not None
        return run_call(found, call, below)


register("capture", Captures())
