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

import sys
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ..autograd.function_context import BackwardCFunction
from ..base import config
from ..base.calls import CALLS
from ..base.dtypes import bool_, dtype_of, int64
from ..base.errors import GraphError
from ..base.grad_mode import mode, special, traces
from ..creation.numpy_exchange import from_numpy
from ..func.captures import captured
from ..graph.edges import Edge, Node as GraphNode, next_seq, requires_grad
from ..graph.node import saved_values
from ..graph.saved import tensors_in
from ..modes.interpreters import Call, Presence, register
from ..modes.traced import TRACED, mark, unmark
from ..ops.core import Op
from ..tensors.storage import Storage
from ..tensors.tensor import ASK, Tensor, native
from .checker import check
from .draws import Draws
from .effects import Effects, Numbers, Postponed
from .functions import Hosted, run_backward, run_function
from .graph import Graph
from .hosts import call_python
from .ir import Block, Control, Node, Value
from .updates import UPDATE, name_of_rule
from .values import MOST, ask, elements_of, numbers_for
from .variables import Variables

__all__ = ["Trace", "beginning_again", "current_trace", "trace", "tracing"]

PACKAGE = str(Path(__file__).parents[1])
GENERATED = "<nbgrad "  # how files of generated functions are called
LARGE = 2.0**62


class Trace(Presence):
    """A capture that runs: a member of ``special``, whose calls come to the interpreter of rank "capture".

    Attributes:
        graph: what was written down.
        asked: values that Python has read.
        named_arrays: NumPy arrays that the program names and may write to.
        hosted: Functions that are steps in Python; ``arrays``: those that a ctx holds, as tensors; ``turns``: contexts whose
            ``backward`` runs. See functions.py.
        depth: whether the thread is beneath a call that is being written down.
        effects: what the function changes that was there before; None where it may change nothing.
    """

    rank = "capture"

    def __init__(self, known: Sequence[Tensor] = (), effects: bool = False, hosted: set | None = None):
        self.graph, self.thread, self.depth = Graph(), get_ident(), 0
        self.asked: set[Value] = set()
        self.named_arrays: list[np.ndarray] = []
        self.hosted = set() if hosted is None else hosted
        self.arrays: dict[tuple[int, str], tuple[Any, Tensor]] = {}
        self.turns: dict[int, Any] = {}
        self.variables, self.draws = Variables(self.graph, known), Draws(self)
        self.effects = Effects(self) if effects else None

    def input(self, x: Tensor, name: str = "") -> Tensor:
        """A traced tensor in the place of an argument: a leaf, or part of the argument's graph, on memory of its own."""
        value = Value(x.layout.plain(), bool(x.requires_grad), name=name)
        self.graph.inputs.append(value)
        made = self.variables.copied(x)
        fresh = self.variables.of(made) is None
        self.variables.define(made, value)
        if fresh:
            variable = self.variables.table[id(made._storage_.array)]
            variable.target, variable.storage = value, made._storage_
        return mark(made)

    def note_made(self, storage: Storage) -> None:
        """Python code made a storage: of a creation function, whose elements are constants."""
        if not self.depth and get_ident() == self.thread:
            self.variables.born[id(storage.array)] = storage.array
            if self.named_arrays and self.is_named(storage.array):
                self.variables.foreign[id(storage.array)] = storage.array

    def note_pass(self) -> None:
        """A pass begins."""
        if get_ident() == self.thread and self.effects is not None:
            self.effects.refuse_hooks()

    def note_gradient(self, leaf: Tensor) -> None:
        """A pass accumulates the gradient of a leaf.

        Raises:
            GraphError: of one that the captured function does not make itself.
        """
        if get_ident() == self.thread and not self.variables.is_made(leaf):
            if self.effects is None:
                self.refuse("backward: accumulates into .grad", "nbgrad.grad returns gradients, and a graph holds them")
            else:
                self.effects.note_read(leaf)

    def note_gradient_read(self, x: Tensor) -> None:
        """The function looks at the gradient of a tensor."""
        if self.effects is not None:
            self.effects.note_read(x)

    def note_gradient_set(self, x: Tensor) -> None:
        """The function exchanges the gradient of a tensor."""
        if self.effects is not None:
            self.effects.note_set(x)
        elif not self.variables.is_made(x):
            self.refuse("grad: sets the gradient of a tensor that the function does not make", "return the gradient")

    def refuse(self, what: str, hint: str) -> None:
        """What no graph holds.

        Raises:
            GraphError: in the thread that captures.
        """
        if get_ident() == self.thread:
            raise GraphError(f"{what}, at {user_line()}: a graph cannot hold it. Hint: {hint}.")

    def value(self, x: Any) -> Any:
        """The value of a tensor; numbers as they are, sequences member by member."""
        if isinstance(x, Tensor):
            return self.variables.value(x)
        return tuple([self.value(y) for y in x]) if isinstance(x, (tuple, list)) and holds_tensors(x) else x

    # ---- values ----------------------------------------------------------------------------------------------------

    def note_arrays(self, arrays: Sequence[np.ndarray]) -> None:
        """The program names NumPy arrays: tensors on their memory are read in every call; what few elements hold is guarded."""
        self.named_arrays = [x for x in arrays if x.flags.writeable and x.dtype.kind in "biufc" and x.dtype.isnative and x.size]
        for x in self.named_arrays:
            if x.size <= MOST and min(x.strides, default=0) >= 0:
                self.ask("array", from_numpy(x))

    def is_named(self, array: np.ndarray) -> bool:
        """Whether an array lies on the memory of one that the program names."""
        return any(np.may_share_memory(array, x) for x in self.named_arrays)

    def ask(self, op: str, x: Tensor) -> None:
        """Python reads the elements of a tensor: see values.py."""
        ask(self, op, x)

    def truth(self, x: Tensor) -> Tensor:
        """The truth value of a tensor of one element, as a tensor."""
        return x if x.layout.dtype is bool_ or not self.variables.is_watched(x) else CALLS["ne"](x, 0)

    def whole_number(self, x: Tensor) -> Tensor:
        """A tensor of one floating element without the digits behind the point, if there are integers so large."""
        if not x.layout.dtype.is_floating_point or x.layout.numel != 1 or not self.variables.is_watched(x):
            return x
        return CALLS["to_dtype"](x.detach(), int64) if abs(float(elements_of(x).item())) < LARGE else x

    def leave(self, op: str, x: Tensor) -> None:
        """Python gets hold of the memory of a tensor.

        Raises:
            GraphError: always, but for constants.
        """
        if x.layout.is_traced() or self.variables.is_watched(x):
            self.refuse(f"{op}: gives the memory of a tensor to Python", "call it outside")

    def run_backward(self, function: Any, ctx: Any, grads: tuple) -> Any:
        """The ``backward`` of a Function: see functions.py."""
        return run_backward(self, function, ctx, grads)

    def call_python(self, function: Callable, tensors: tuple, attributes: dict) -> Tensor:
        """The result of a function that reads arrays: NOTE [Host steps] of hosts.py."""
        made: Tensor = call_python(self, function, tensors, attributes)[0]
        return made

    # ---- calls -----------------------------------------------------------------------------------------------------

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Run a call and write it down."""
        if call.op.kind == "function":
            if hasattr(function_of(call), "_control_"):
                return self.run_control(call, below)
            return run_function(self, call, below)
        if call.form == "out":
            raise GraphError(f"{call.op.public}: a graph does not capture out=. Hint: use the result.")
        if call.op.kind == "method":
            return self.run_method(call, below)
        if call.op.draws:
            return below(call.with_operands(call.map(plain)))
        if call.op.kind == "movement" and call.marked:
            call = call.with_operands(call.operands, {name: numbers_for(x) for name, x in call.attributes.items()})
        ins, attributes = self.value(call.operands), {name: self.value(x) for name, x in call.attributes.items()}
        if call.form:
            return self.write(call, ins, attributes, below)
        mark, out = next_seq(), self.run_unmarked(call, below)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        if not all(isinstance(x, Tensor) for x in outs):
            raise GraphError(f"{call.op.public}: gives {type(out).__name__}, expected tensors: a graph cannot capture it.")
        self.add(call.op, ins, attributes, outs)
        self.follow(outs, mark)
        return out

    def run_method(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """A method of tensors that is no operation: its results are windows on what it was called on."""
        out = self.run_unmarked(call, below)
        if isinstance(out, Tensor):
            self.follow((out,), next_seq())
        return out

    def run_control(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """A Function that is a control node: NOTE [Controls]."""
        control, attributes, blocks, constants = function_of(call)._control_(*call.operands)
        for x in constants:
            self.variables.known.setdefault(id(x._storage_.array), x)
        ins = tuple([self.value(x) for x in call.operands if isinstance(x, Tensor)])
        seq, outs = next_seq(), self.run_unmarked(call, below)
        self.add(control, ins, attributes, outs, blocks)
        self.follow(outs, seq)
        return outs

    def run_unmarked(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The call on its tensors, and those that they are views of, without their marks."""
        marked = {id(x): x for x in involved(call) if x.layout.special is TRACED}
        for x in marked.values():
            unmark(x)
        self.depth += 1
        try:
            return below(call)
        finally:
            self.depth -= 1
            for x in marked.values():
                mark(x)

    def add(self, op: Op | Control, ins: tuple, attributes: dict, outs: Sequence[Tensor], blocks: tuple[Block, ...] = ()) -> Node:
        """Write a call down, whose results are these."""
        layouts = [x.layout.plain() for x in outs]
        node = Node(op, ins, attributes, layouts, blocks, line=user_line())
        self.graph.nodes.append(node)
        for x, value in zip(outs, node.outs):
            value.requires_grad = bool(x.requires_grad)
            self.variables.define(x, value)
        return node

    def write(self, call: Call, ins: tuple, attributes: dict, below: Callable[[Call], Any]) -> Any:
        """Write the out-of-place call down, and give the storage that is written to a new value."""
        x, seq = call.operands[0], next_seq()
        self.admit_write(x, f"{call.op.public}_", (*call.operands, *call.attributes.values()))
        made = self.run_unmarked(call, out_of_place)
        out = self.run_unmarked(call, below)
        node = Node(call.op, ins, attributes, [made.layout], line=user_line())
        self.graph.nodes.append(node)
        self.variables.write(x, node.outs[0])
        self.follow((x,), seq)
        return out

    def admit_write(self, x: Tensor, name: str, operands: tuple) -> None:
        """A write, to what the function makes, or to what was there before.

        Raises:
            GraphError: to what was there before, where the write is recorded or no effects are captured.
        """
        if self.variables.is_made(x):
            return
        what = f"{name}: writes to a tensor that the function does not make"
        if self.effects is None:
            self.refuse(what, "write to a clone, and return it")
        elif mode.enabled and any(requires_grad(y) for y in tensors_in(operands)):
            self.refuse(f"{what}, and is recorded", "write to a clone, and return it, or write under no_grad")
        elif not (self.variables.of(x) or self.variables.admit(x)).root[1].dense:
            self.refuse(f"{what}, and has gaps between its elements", "write to a clone, and copy that back outside")
        else:
            self.effects.keep(x)

    def update(self, rule: Callable, outputs: Sequence[Tensor], inputs: Sequence[Tensor], numbers: dict, run: Callable) -> None:
        """Write an update down: see ``fused_update`` of dispatch/updates.py.

        Args:
            run: does it.
        """
        tensors = (*outputs, *inputs)
        for x in outputs:
            self.admit_write(x, "fused_update", ())
        layouts = [x.layout.plain() for x in outputs]
        values = self.effects.values_of(numbers, dtype_of(layouts[0].dtype.compute)) if self.effects else tuple(numbers.values())
        attributes = {"rule": name_of_rule(rule), "outputs": len(outputs), "names": tuple(numbers), "numbers": values}
        node = Node(UPDATE, self.value(tensors), attributes, layouts, line=user_line(), flags=[False] * len(outputs))
        marked = [unmark(x) for x in tensors if x.layout.special is TRACED]
        self.depth += 1
        try:
            run()
        finally:
            self.depth -= 1
            for x in marked:
                mark(x)
        self.graph.nodes.append(node)
        for x, out in zip(outputs, node.outs):
            self.variables.write(x, out)

    def changing(self, again: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Numbers that every call of the program computes anew."""
        return Numbers(again) if self.effects is not None else again()

    def after_runs(self, action: Callable[[], None]) -> None:
        """What every call does in the end, and this capture does not."""
        if self.effects is not None:
            self.effects.after.append(action)

    def hold(self, names: list, tensors: Sequence[Tensor]) -> None:
        """Let the program depend on further names, and use further tensors that these hold."""
        if self.effects is not None:
            self.effects.names += names
        for x in tensors:
            self.variables.known.setdefault(id(x._storage_.array), x)

    def postpone(self, what: str) -> None:
        """Leave the capture to a later call.

        Raises:
            Postponed: always.
        """
        raise Postponed(f"{what}, at {user_line()}: made in a first call. Hint: make it before the function is captured.")

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


def function_of(call: Call) -> Any:
    """The class of a call of a Function."""
    op: Any = call.op
    return op.function


def kept_by(node: GraphNode) -> list:
    """The values that a node has saved."""
    if isinstance(node, BackwardCFunction):
        return [saved.value for saved in node._s0_ or ()]
    return saved_values(node)


def holds_tensors(x: tuple | list) -> bool:
    """Whether there is a tensor in nested sequences."""
    return any(isinstance(y, Tensor) or isinstance(y, (tuple, list)) and holds_tensors(y) for y in x)


def plain(x: Tensor) -> Tensor:
    """A tensor of which only the layout is looked at, without its mark."""
    return native.tensor(x.layout.plain().template, x._storage_, x._offset_, False, None)


def out_of_place(call: Call) -> Tensor:
    """The result of a call in place, as a new tensor."""
    enabled, mode.enabled = mode.enabled, False
    try:
        return CALLS[call.op.name](*call.operands, **call.attributes)
    finally:
        mode.enabled = enabled


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


def user_line() -> str:
    """``file:line`` of the innermost frame outside of the package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, GENERATED)):
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def current_trace() -> Trace | None:
    """The innermost capture of this thread."""
    this = get_ident()
    return next((active for active in reversed(traces) if active.thread == this), None)


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
        return found.run(call, below)


register("capture", Captures())


@contextmanager
def tracing(known: Sequence[Tensor] = (), effects: bool = False, hosted: set | None = None) -> Iterator[Trace]:
    """A capture of what this thread calls inside.

    Args:
        known: tensors that may be used without being made inside.
        effects: whether it may change what was there before, which is taken back at the end: NOTE [Effects] of effects.py.
        hosted: Functions that are steps in Python.
    """
    active = Trace(known, effects, hosted)
    traces.append(active)
    special.append(active)
    try:
        yield active
        active.draws.finish()
    finally:
        special.remove(active)
        traces.remove(active)
        if active.effects is not None:
            active.effects.take_back()


def trace(fn: Callable, *examples: Tensor) -> Graph:
    """The graph of a function.

    Args:
        fn: takes tensors, returns a tensor or a tuple of tensors.
        examples: arguments: the graph is that of what the function does with tensors of these layouts and flags. They are copied.

    Returns:
        The graph. Called with tensors of the same layouts it computes what the function computes.

    Raises:
        GraphError: the function does what a graph cannot hold.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> graph = trace(lambda x: 2 * x + 1, nbgrad.ones(2))
    >>> graph(nbgrad.tensor([3.0, 4.0]))
    [tensor([7., 9.])]
    """
    return beginning_again(lambda hosted: traced(fn, examples, hosted))


def beginning_again(capture: Callable[[set], Any]) -> Any:
    """What ``capture(hosted)`` returns, which begins again where a Function has left the graph."""
    hosted: set[Any] = set()
    while True:
        try:
            return capture(hosted)
        except Hosted as left:
            if left.function in hosted:
                raise
            hosted.add(left.function)


def traced(fn: Callable, examples: tuple, hosted: set) -> Graph:
    """The graph of a function."""
    with tracing(captured(fn), hosted=hosted) as active:
        active.graph.name = getattr(fn, "__name__", "graph")
        if not active.graph.name.isidentifier():
            active.graph.name = "graph"
        result = fn(*[active.input(x, name) for x, name in zip(examples, names_of(fn, len(examples)))])
        outs = result if isinstance(result, (tuple, list)) else (result,)
        active.graph.outputs = list(active.value(tuple(outs)))
    if config.CHECK:
        check(active.graph, "trace")
    return active.graph


def names_of(fn: Callable, count: int) -> list[str]:
    """The names of a function's parameters, where they are plain."""
    code = getattr(fn, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    return (names + [""] * count)[:count]
