"""One captured program of a compiled function: when it holds, how it runs, what it returns."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ..autograd.entry import grad
from ..autograd.function import Function
from ..autograd.function_context import FunctionRule
from ..base.calls import CALLS
from ..base.errors import ArgumentError, GraphError
from ..base.grad_mode import enable_grad, mode
from ..base.nested import Tree, flatten
from ..graph.edges import Edge, Node, edge_of, requires_grad
from ..graph.node import Rule, blank_node
from ..graph.saved import freed_backward
from ..tensors import layout as layouts
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native
from .capture import tracing
from .graph import Graph
from .guards import Guards
from .ir import Value
from .replay import run_block, tensor_of
from .schedule import schedule
from .sequence import Assembled, Expected, assemble
from .steps import Host

__all__ = ["MISSED", "Variant"]

MISSED = object()  # what native code returns where a call is not as expected
PLAIN = (int, float, complex, bool, str, bytes, type(None))


class Returned(NamedTuple):
    """What a leaf of the result is.

    Attributes:
        source: "result": of the steps; "window" on one; "input": an argument itself; "constant": a tensor of the program itself;
            "copy" of a constant; "value": a plain value.
        which: number of a result, an input or a constant; the plain value.
        layout, offset: of a window.
    """

    source: str
    which: Any
    layout: Layout | None = None
    offset: int = 0


class Variant:
    """A captured program.

    Attributes:
        graph: what it computes.
        guards: what it depends on beside the arguments.
        returned: for every leaf of the result what it is; ``tree`` is the structure.
        live: results with a history that a backward pass can go through.
    """

    def __init__(self, fn: Callable, leaves: list, tree: Tree, exact: bool):
        self.guards = Guards(fn)
        self.graph, results, self.tree = captured(fn, leaves, tree, self.guards.tensors)
        flags = [history_of(x) if isinstance(x, Tensor) else "" for x in results]
        outputs = iter(self.graph.outputs)
        values = [next(outputs) if isinstance(x, Tensor) else x for x in results]
        self.live = [value for value, flag in zip(values, flags) if flag == "live"]
        self.schedule = schedule(self.graph)
        self.results: list[Value] = []
        self.hosted = {value for step in self.schedule.steps if isinstance(step, Host) for value in step.writes}
        self.returned = [self.placed(value) for value in values]
        freed = {value for value, flag in zip(values, flags) if flag == "freed"}
        constants = [value.data for value in self.graph.constants]
        inputs = [x for x in leaves if isinstance(x, Tensor)]
        tensors = [*inputs, *constants]
        self.learned = [x for x in constants if isinstance(x, Tensor) and requires_grad(x)]
        expected = Expected(
            self.guards.names, self.guards.cells, mode.enabled, tuple([isinstance(x, Tensor) and requires_grad(x) for x in tensors])
        )
        self.assembled: Assembled = assemble(
            self.graph.inputs,
            self.graph.constants,
            self.results,
            [template_of(value, value in freed) for value in self.results],
            self.schedule,
            expected,
            self.missed,
            self.recorded if self.live else None,
        )
        self.slow: Callable | None = None

    # ---- what is returned ------------------------------------------------------------------------------------------

    def placed(self, value: Any) -> Returned:
        """Where a leaf of the result comes from."""
        if not isinstance(value, Value):
            return Returned("value", value)
        window = self.schedule.window(value)
        owner = window.place.value
        if value in self.graph.inputs:
            return Returned("input", self.graph.inputs.index(value))
        if value in self.graph.constants:
            k = self.graph.constants.index(value)
            return Returned("constant" if isinstance(value.data, Tensor) and is_programs(value.data, self.guards) else "copy", k)
        if owner in self.graph.inputs:
            return Returned("input", self.graph.inputs.index(owner), window.layout, window.place.offset)
        if owner in self.graph.constants:
            return Returned("constant", self.graph.constants.index(owner), window.layout, window.place.offset)
        if owner not in self.results:
            self.results.append(owner)
        assert owner.layout is not None
        plain = owner is value and owner.layout.dense
        return Returned("result", self.results.index(owner), None if plain else window.layout, window.place.offset)

    @property
    def direct(self) -> bool:
        """Whether what native code returns is the result: one tensor, or a tuple of several in order."""
        count = len(self.returned)
        own = all(x == Returned("result", k) for k, x in enumerate(self.returned))
        single = self.tree.kind is None and count == 1
        several = self.tree.kind is tuple and count > 1 and all(child.kind is None for child in self.tree.children)
        return own and len(self.results) == count and (single or several)

    def finish(self, outs: Any, inputs: Any) -> Any:
        """The result, of what native code returned."""
        if self.direct:
            return outs
        outs = outs if type(outs) is tuple else (outs,)
        constants = [value.data for value in self.graph.constants]
        leaves = []
        for source, which, layout, offset in self.returned:
            if source == "value":
                leaves.append(which)
                continue
            if source == "copy":
                leaves.append(CALLS["clone"](tensor_of(self.graph.constants[which])))
                continue
            x = {"result": outs, "input": inputs, "constant": constants}[source][which]
            if layout is not None:
                x = native.tensor(layout.template, x._storage_, x._offset_ + offset, False, None)
            leaves.append(x)
        return self.tree.unflatten(leaves)

    # ---- calls -----------------------------------------------------------------------------------------------------

    def fits(self) -> bool:
        """Whether the program's names hold what they held."""
        return self.guards.hold()

    def missed(self, *inputs: Any) -> Any:
        """Native code found something else than expected."""
        return MISSED if self.slow is None else self.slow(*inputs)

    def entry(self, slow: Callable) -> Callable:
        """``call(*inputs)`` that finds out itself whether the variant is meant, and asks ``slow`` if it is not."""
        if self.direct:
            self.slow = slow
            return self.assembled.call
        call, finish = self.assembled.call, self.finish

        def entry(*inputs: Any) -> Any:
            made = call(*inputs)
            return slow(*inputs) if made is MISSED else finish(made, inputs)

        return entry

    def __call__(self, inputs: list[Tensor]) -> Any:
        """Run it on tensors that are as expected."""
        outs = self.recorded(*inputs) if self.live and mode.enabled else self.assembled.run(*inputs)
        return self.finish(outs, inputs)

    # ---- in a larger graph -----------------------------------------------------------------------------------------

    def recorded(self, *inputs: Tensor) -> Any:
        """The results as those of one node."""
        outs = CompiledCall.apply(self, *inputs, *self.learned)
        return outs[0] if type(outs) is tuple and len(outs) == 1 else outs


class CompiledCall(Function):
    """A compiled function in a larger graph."""

    @staticmethod
    def forward(ctx: Any, variant: Variant, *tensors: Tensor) -> Any:
        """The steps."""
        inputs = tensors[: len(variant.graph.inputs)]
        outs = variant.assembled.run(*inputs)
        outs = outs if type(outs) is tuple else (outs,)
        ctx.own, ctx.count = variant, len(inputs)
        ctx.save_for_backward(*tensors)
        ctx.mark_non_differentiable(*[x for x, value in zip(outs, variant.results) if value not in variant.live])
        ctx.set_materialize_grads(False)
        return outs

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple:
        """The graph by calls, and its gradients."""
        variant, tensors, again = ctx.own, ctx.saved_tensors, mode.enabled
        wanted = [k for k, x in enumerate(tensors) if requires_grad(x) and ctx.needs_input_grad[1 + k]]
        with enable_grad():
            values = {value: tensor_of(value) for value in variant.graph.constants}
            run_block(variant.graph, tensors[: ctx.count], values, flags=True)
            roots = [(values[v], g) for v, g in zip(variant.results, cotangents) if g is not None and requires_grad(values[v])]
            found: Any = [None] * len(wanted)
            if roots and wanted:
                outs, gs = zip(*roots)
                found = grad(list(outs), [tensors[k] for k in wanted], list(gs), create_graph=again, allow_unused=True)
        result: list = [None] * (1 + len(tensors))
        for k, g in zip(wanted, found):
            result[1 + k] = g
        return tuple(result)


# ---- capture ---------------------------------------------------------------------------------------------------------


def captured(fn: Callable, leaves: list, tree: Tree, known: list[Tensor]) -> tuple[Graph, list, Tree]:
    """The graph of a call, the leaves of its result and their structure.

    Raises:
        ArgumentError: the function returns what is no tensor, number, string or None.
    """
    with tracing(known) as active:
        name = getattr(fn, "__name__", "graph")
        active.graph.name = name if name.isidentifier() else "graph"
        traced = [active.input(x) if isinstance(x, Tensor) else x for x in leaves]
        args, kwargs = tree.unflatten(traced)
        results, structure = flatten(fn(*args, **kwargs))
        for k, x in enumerate(results):
            if not isinstance(x, (Tensor, *PLAIN)):
                raise ArgumentError(
                    f"compile: leaf {k} of the result is of type {type(x).__name__}, expected tensors, numbers, strings and None, "
                    "in tuples, lists and dicts."
                )
        active.graph.outputs = [active.value(x) for x in results if isinstance(x, Tensor)]
    return active.graph, results, structure


def history_of(x: Tensor) -> str:
    """Of a result: "" without a history, "freed" with one that a pass within the function has used up, "live"."""
    if not requires_grad(x):
        return ""
    waiting, seen = [edge_of(x)], set()
    while waiting:
        edge = waiting.pop()
        node = edge.node if type(edge) is Edge else edge
        if isinstance(node, Node) and node not in seen:
            if node._backward_ is freed_backward:
                return "freed"
            if isinstance(node._rule_, FunctionRule):
                raise GraphError(f"{node.name()}: a graph cannot hold the derivative of a Function that is taken outside of it.")
            seen.add(node)
            waiting += node._edges_
    return "live"


def is_programs(x: Tensor, guards: Guards) -> bool:
    """Whether a constant is a tensor of the program, and none that was made while it ran."""
    return any(x is known for known in guards.tensors)


def memory_of(layout: Layout) -> Layout:
    """The layout itself if it fills its memory, else that of all the memory that it reaches."""
    if layout.dense:
        return layout
    return layout_of(layout.dtype, (1 + sum((n - 1) * t for n, t in zip(layout.shape, layout.strides)) if layout.numel else 0,))


class FreedRule(Rule):
    """Of results whose graph was used up within the function."""

    name, node_name = "compiled", "CompiledBackward"


def template_of(value: Value, freed: bool) -> Tensor:
    """What a result is a copy of; one whose graph was used up within the function says so."""
    assert value.layout is not None
    layout = memory_of(value.layout)
    if not freed or layout is not value.layout:
        return layout.template
    node = blank_node(Node)
    node._rule_, node._backward_, node._edges_, node._outputs_, node._seq_ = FreedRule(), freed_backward, (), 1, 0
    template = layouts.new_template(layout)
    template._needs_grad_, template._edge_ = True, node
    return template
