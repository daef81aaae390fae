"""Bodies of loops and branches: blocks that take all that they use as inputs, and what is derived of them.

NOTE [Bodies]: a function of the program becomes a closed block: what it captures is put in the place of its inputs while it is
traced, and constants become inputs too. So whatever a loop means (derivatives, batches) is another loop over another closed block,
which is traced from a replay of the first: no rule is written a second time. All inputs of a dtype that has gradients are traced
as if they needed one, so that a block knows where gradients are stopped, and nothing else of them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from ...base import config
from ...base.calls import CALLS
from ...base.mode_contexts import inference_mode
from ...base.nested import map_leaves
from ...creation.allocation import new_full
from ...dispatch.launches import need
from ...forward.tangents import ALL_LEVELS, sight
from ...graph.saved_hooks import without_hooks
from ...modes.batched import Batched
from ...modes.overrides import FunctionMode
from ...modes.traced import unseen
from ...tensors.arrays import tensor_of as tensor_like, values_of
from ...tensors.batch_levels import state as batches
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import Tensor, native
from ..capture.capture import Trace
from ..capture.tracing import beginning_again, tracing
from ..execution.program import Program
from ..ir.devices import copied, on_gpu
from ..ir.graph import Graph
from ..ir.histories import STOP
from ..ir.ir import Block, Value, copy_block, plain_layout
from ..ir.replay import run_block, tensor_of
from ..nodes.values import refuse_in_body
from ..passes.eliminate_dead import eliminate_dead
from ..state.hooks import refuse_hooks
from .mixed_precision import outside_of_regions

__all__ = [
    "Body",
    "active_values",
    "alone",
    "block_for_node",
    "body_of",
    "example_from",
    "example_of",
    "first_of",
    "fitted",
    "joined",
    "traced_body",
]


class Body:
    """A closed block that runs.

    Attributes:
        block: its inputs are those of the function, then what it captures, then ``bound``.
        bound: the constants that it uses.
        derived: other bodies, made from it: by what they are.
    """

    __slots__ = ("block", "bound", "derived", "program", "taken", "given", "__weakref__")

    def __init__(self, block: Block, bound: Sequence[Tensor] = ()):
        self.block, self.bound = block, list(bound)
        self.derived: dict[Any, Any] = {}
        self.program: Program | None = None
        self.taken: list[Layout] = []
        self.given: list[Layout] = []

    def inputs(self) -> list[Layout]:
        """The layouts of its inputs: row-major, but for constants, which may lie otherwise."""
        self.taken = self.taken or [value.layout or plain_layout(value) for value in self.block.inputs]
        return self.taken

    def layouts(self) -> list[Layout]:
        """The layouts of its outputs."""
        self.given = self.given or [plain_layout(value) for value in self.block.outputs]
        return self.given

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs for plain tensors of the layouts of the inputs; nothing is recorded."""
        program = self.program
        if program is None:
            block = self.block
            program = self.program = Program(Graph(block.inputs, block.nodes, block.outputs), block.outputs)
        return program.run(inputs)

    def replay(self, inputs: Sequence[Any]) -> list:
        """The outputs by calls, for tensors of any kind; gradients flow where they do in the block."""
        return run_block(self.block, inputs, {}, flags=True)

    def closed(self) -> Body:
        """The body bound to no tensors: those that it is bound to are inputs like others."""
        made: Body = self.derive("closed", lambda: Body(self.block)) if self.bound else self
        return made

    def derive(self, key: Any, make: Callable[[], Any]) -> Any:
        """Something that is made of it once."""
        found = self.derived.get(key)
        if found is None:
            found = self.derived[key] = make()
        return found


def joined(first: Body, second: Body, common: int) -> tuple[Body, Body]:
    """Two bodies as bodies of the same operands: so many common ones, then the others of the first, then those of the second."""
    one, other = first.block, second.block
    own, others = one.inputs[common:], other.inputs[common:]
    made = Block([*one.inputs, *map(unread, others)], one.nodes, one.outputs)
    return Body(made), Body(Block([*other.inputs[:common], *map(unread, own), *others], other.nodes, other.outputs))


def unread(value: Value) -> Value:
    """An input of the same layout that nothing reads."""
    return Value(value.layout, value.requires_grad)


bodies: WeakKeyDictionary[Block, Body] = WeakKeyDictionary()


def block_for_node(body: Body) -> Block:
    """A copy of a body's block, for a node of another graph, whose operands the constants are."""
    made: Block = copy_block(body.block, Block(), {})
    bodies[made] = body.closed()
    return made


def body_of(block: Block) -> Body:
    """The body of a node's block."""
    body = bodies.get(block)
    if body is None:
        body = bodies[block] = Body(copy_block(block, Block(), {}))
    return body


def fitted(x: Tensor, layout: Layout) -> Tensor:
    """A plain tensor in a row-major layout of its shape and dtype: on its own memory where that is so."""
    if x.layout is layout:
        return x
    if x.layout.contiguous and not (x.layout.conj or x.layout.neg):
        return native.tensor(layout.template, x._storage_, x._offset_, False, None)
    return CALLS["clone_like"](x, layout)


# ---- tracing ---------------------------------------------------------------------------------------------------------


@contextmanager
def alone() -> Iterator[None]:
    """As if no batch and no region of ``autocast`` were open, with recording on and all tangents seen.

    What a body means does not depend on who runs it.
    """
    before, batches.levels = batches.levels, ()
    limit, sight.below = sight.below, ALL_LEVELS
    try:
        with inference_mode(False), outside_of_regions():
            yield
    finally:
        batches.levels, sight.below = before, limit


class Substitution(FunctionMode):
    """While a function is traced, what it captures stands for inputs of its block.

    Attributes:
        found: the tensors that it captures, by identity; those that it uses, in the order of first use, are ``used``.
        places: the same, by what they are windows on: ``x.detach()`` and ``x.data`` are made without a call that is seen.
        twins: what stands for them, and for those that were detached, by identity.
        kept: tensors that were detached, which have to live as long as their twins.
    """

    changes_functions = True  # before any tangent or batch of what is captured is seen

    def __init__(self, trace: Trace, found: Sequence[Tensor]):
        self.trace, self.found = trace, {id(x): x for x in found}
        self.places = {place_of(x): x for x in found}
        self.twins: dict[int, Tensor] = {}
        self.used: list[Tensor] = []
        self.kept: list[Tensor] = []

    def __nbgrad_function__(self, func: Callable, types: tuple[type, ...], args: tuple, kwargs: dict) -> Any:
        """The call, of twins."""
        return func(*map_leaves(self.change, args), **map_leaves(self.change, kwargs))

    def change(self, x: Any) -> Any:
        """The twin of a captured tensor, or of one that was detached from such; everything else itself."""
        twin = self.twins.get(id(x))
        if twin is not None:
            return twin
        if id(x) in self.found:
            twin = self.trace.input(example_of(x))
            self.used.append(x)
        elif isinstance(x, Tensor) and x.grad_fn is None and (origin := self.places.get(place_of(x))) is not None:
            twin = self.change(origin).detach()
            if x.requires_grad:
                twin.requires_grad_()
            self.kept.append(x)
        else:
            return x
        self.twins[id(x)] = twin
        return twin


def place_of(x: Tensor) -> tuple:
    """What a tensor is a window on."""
    levels, value = (x._levels_, x._value_) if type(x) is Batched else ((), x)
    return id(value._storage_.array), value._offset_, value.layout, levels


def traced_body(
    fn: Callable[..., Sequence[Tensor]], examples: Sequence[Tensor], found: Sequence[Tensor] = (), arrays: Sequence[np.ndarray] = ()
) -> tuple[Body, list[Tensor]]:
    """The body that a function is, and which of the tensors that it captures it uses.

    Args:
        fn: takes tensors like the examples, returns a list of tensors.
        examples: as ``example_of`` makes them.
        found: tensors that the function captures. arrays: of NumPy, that it names.

    Raises:
        GraphError: the function does what a graph cannot hold.
    """
    return without_hooks(beginning_again, lambda hosted: body_once(fn, examples, found, arrays, hosted))


def body_once(
    fn: Callable[..., Sequence[Tensor]],
    examples: Sequence[Tensor],
    found: Sequence[Tensor],
    arrays: Sequence[np.ndarray],
    hosted: set,
) -> tuple[Body, list[Tensor]]:
    """One capture of the body of ``traced_body``, where some Functions are steps in Python: see ``beginning_again``."""
    with alone(), tracing(found, hosted=hosted, late=True) as active:
        active.derivable = active.of_body = True
        active.note_arrays(arrays)
        inputs = [active.input(x) for x in on_memory_of_their_own(examples)]
        if found:
            substitution = Substitution(active, found)
            with substitution:
                outs = fn(*inputs)
            used, outs = substitution.used, [substitution.change(x) for x in outs]
        else:
            used, outs = [], list(fn(*inputs))
        graph = active.graph
        graph.outputs = [active.value(x) for x in outs]
        refuse_hooks(outs, inputs)
        active.variables.selections.require_put_back()
    refuse_in_body(graph)
    eliminate_dead(graph)
    captures = {id(x) for x in found}
    graph.constants.sort(key=lambda value: id(value.data) not in captures)  # where the substitution was not asked
    used += [value.data for value in graph.constants if id(value.data) in captures]
    with unseen():  # a body outlives a capture around it, which would mark what it has seen being made
        bound = [tensor_of(value) for value in graph.constants if id(value.data) not in captures]
    for value in graph.constants:
        value.data = None
    graph.inputs, graph.constants = graph.inputs + graph.constants, []
    if config.CHECK:
        from ..ir.checker import check

        check(graph, "trace")
    return Body(Block(graph.inputs, graph.nodes, graph.outputs), bound), used


def on_memory_of_their_own(examples: Sequence[Tensor]) -> Iterator[Tensor]:
    """Examples, each on memory of its own: where nothing is recorded, a value is told from others by its memory alone."""
    seen: set[int] = set()
    for x in examples:
        if id(x._storage_) in seen:
            need((x,))
            flag = bool(x._needs_grad_)
            x = native.tensor(x.layout.plain().template, copied(x._storage_), x._offset_, flag, None)
        seen.add(id(x._storage_))
        yield x


def example_of(x: Tensor) -> Tensor:
    """A leaf of the dtype and shape of a tensor of any kind, with its values; of a batched one those of the first element."""
    return example_from(first_of(x), x.layout.shape)


def first_of(x: Tensor, dim: int | None = None) -> Tensor:
    """A tensor of any kind without what is known of it; of a batched one the first element.

    Args:
        dim: of which the first slice is taken.
    """
    dropped = []
    if type(x) is Batched:
        dropped, x = [*range(len(x._levels_))], x._value_
    need((x,))
    layout = x.layout.plain()
    if dim is not None:
        dropped.append(len(dropped) + dim)
    kept = [d for d in range(layout.ndim) if d not in dropped]
    some = all(layout.shape[d] for d in dropped)
    shape = tuple([layout.shape[d] for d in kept]) if some else (0,)
    strides = tuple([layout.strides[d] for d in kept]) if some else (1,)
    part = layout_of(layout.dtype, shape, strides, layout.device, layout.conj, layout.neg)
    made: Tensor = native.tensor(part.template, x._storage_, x._offset_, False, None)
    return made


def example_from(first: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A leaf of a shape with the values of a tensor, which that broadcasts; ones where there are none. A GPU is not waited for."""
    layout = layout_of(first.layout.dtype, shape, None, first.layout.device)
    if not first.layout.numel or on_gpu(layout):
        made = example_there(first, layout)
    else:
        with unseen():
            made = tensor_like(np.broadcast_to(values_of(first), shape), first, layout.dtype)
    leaf: Tensor = native.tensor(layout.template, made._storage_, 0, bool(layout.dtype.differentiable), None)
    return leaf


def example_there(first: Tensor, layout: Layout) -> Tensor:
    """Its memory on a GPU; of ones wherever it is."""
    with unseen():
        if not first.layout.numel:
            return new_full(layout, 1)
        made: Tensor = CALLS["clone_like"](CALLS["expand_shape"](first, layout.shape), layout)
        return made


# ---- what depends on what ----------------------------------------------------------------------------------------------


def active_values(block: Block, flags: Sequence[bool], by: str = "gradients") -> set[Value]:
    """The values that depend on chosen inputs.

    Args:
        by: "gradients", "tangents", which flow through what was not recorded, too, or "values".
    """
    active = {value for value, flag in zip(block.inputs, flags) if flag}
    for node in block.nodes:
        if any(value in active for value in node.values()) and not (by == "tangents" and node.op is STOP):
            active.update(out for out in node.outs if by == "values" or (flows if by == "gradients" else may_flow)(out))
    return active


def may_flow(value: Value) -> bool:
    """Whether there are derivatives of a dtype."""
    return value.layout is None or value.layout.dtype.differentiable


def flows(value: Value) -> bool:
    """Whether gradients may flow through a value."""
    return value.requires_grad is not False and may_flow(value)
