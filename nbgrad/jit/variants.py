"""One captured program of a compiled function: when it holds, how it runs, what it returns."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ..autograd.entry import grad
from ..autograd.function import Function
from ..autograd.function_context import FunctionRule
from ..base.errors import ArgumentError, GraphError
from ..base.grad_mode import enable_grad, mode
from ..base.nested import Tree, flatten
from ..graph.edges import Edge, Node, edge_of, requires_grad
from ..graph.saved import freed_backward
from ..modes.traced import Unfit
from ..tensors.tensor import Tensor
from .acts import Acts
from .capture import beginning_again, tracing
from .draws import words_of
from .effects import Effects
from .graph import Graph
from .guards import Guards
from .ir import Value, values_in
from .passes import owners, simplify
from .program import Program
from .replay import run_block, tensor_of
from .sequence import Expected
from .values import GUARD

__all__ = ["MISSED", "Variant"]

MISSED = object()  # what native code returns where a call is not as expected
PLAIN = (int, float, complex, bool, str, bytes, type(None))


class Variant:
    """A captured program.

    Attributes:
        graph: what it computes; where results are ``live`` as it was captured, else simplified.
        originals: of every value that the steps return, and of which gradients may be asked for, the one in the graph.
        guards: what it depends on beside the arguments.
        tree: the structure of the result.
        live: results with a history that a backward pass can go through.
        acts: what it does beside computing its results; None if nothing.
        words: of the calls in which random numbers are drawn, for such a pass: the steps return them behind their results.
        asking: the first node that depends on values; None if the program asks for none.
        learned: tensors of the program, beside the arguments, into which gradients flow.
    """

    def __init__(self, fn: Callable, leaves: list, tree: Tree, exact: bool):
        self.guards = Guards(fn)
        known = self.guards.tensors
        self.graph, results, self.tree, effects = beginning_again(
            lambda hosted: captured(fn, leaves, tree, known, hosted, self.guards.arrays)
        )
        self.guards.names += effects.names
        histories = [history_of(x) if isinstance(x, Tensor) else "" for x in results]
        there = {id(x) for x in effects.trace.variables.known.values()}
        if "live" in histories:
            graph, self.originals = simplified_copy(self.graph, there)
        else:
            graph, self.originals = simplify(self.graph, {target for target, _, _ in effects.writes}, there), {}
            effects.rename(graph.outputs[sum(isinstance(x, Tensor) for x in results) :])
        outputs = iter(graph.outputs)
        values = [next(outputs) if isinstance(x, Tensor) else x for x in results]
        given = [x for x in leaves if isinstance(x, Tensor)]
        tensors = [*given, *(value.data for value in self.graph.constants if isinstance(value.data, Tensor))]
        flags = [isinstance(x, Tensor) and requires_grad(x) for x in leaves if isinstance(x, Tensor)]
        flags += [isinstance(value.data, Tensor) and requires_grad(value.data) for value in graph.constants]
        self.learned = [x for x in tensors[len(given) :] if requires_grad(x)]
        live = [value for value, history in zip(values, histories) if history == "live"]
        if live and effects.any():
            raise GraphError(
                "a function that changes what was there before gives results with a history: a graph cannot hold both."
            )
        self.acts = Acts(self.graph, effects, len(results)) if effects.any() else None
        words = words_of(graph) if live else []
        self.words = words_of(self.graph) if live else []
        self.program = Program(
            graph,
            [*values, *effects.values()],
            there,
            Expected(self.guards.names, self.guards.cells, mode.enabled, tuple(flags)),
            self.missed,
            self.acting if self.acts else self.recorded if live else None,
            {value for value, history in zip(values, histories) if history == "freed"},
            [(target, value) for target, value, _ in effects.writes],
            len(given),
            words,
        )
        window = self.program.schedule.window
        self.live = {window(value).place.value for value in live}
        several = tree_of_several(self.tree)
        self.direct = self.acts is None and self.program.direct and (several if len(results) > 1 else self.tree.kind is None)
        self.slow: Callable | None = None
        self.asking = next((node for node in self.graph.nodes if node.op is GUARD or node.op.sized_by_values), None)

    def finish(self, outs: Any, inputs: Any) -> Any:
        """The result, of what native code returned."""
        if self.acts is not None:
            return outs if outs is MISSED else self.tree.unflatten(outs)
        return outs if self.direct else self.tree.unflatten(self.program.leaves(outs, inputs))

    def fits(self, inputs: list[Tensor]) -> bool:
        """Whether the program's names hold what they held, and what else it reads is there."""
        return self.guards.hold() and (self.acts is None or self.acts.operands(inputs) is not None)

    def acting(self, *inputs: Tensor) -> Any:
        """The leaves of the result; what the program does beside computing them is done."""
        assert self.acts is not None
        operands = self.acts.operands(inputs)
        if operands is None:
            return MISSED
        outs = self.program.assembled.run(*operands)
        if outs is None:
            return MISSED
        leaves = self.program.leaves(outs, operands)
        return self.acts.do(operands, leaves)

    def asks(self) -> str:
        """The first place where the program asks for values, for people."""
        return f"values that are asked for, at {self.asking.line}" if self.asking else ""

    def missed(self, *inputs: Any) -> Any:
        """Native code found something else than expected."""
        return MISSED if self.slow is None else self.slow(*inputs)

    def entry(self, slow: Callable) -> Callable:
        """``call(*inputs)`` that finds out itself whether the variant is meant, and asks ``slow`` if it is not."""
        call, finish = self.program.assembled.call, self.finish
        if self.direct:
            self.slow = slow
            return call

        def entry(*inputs: Any) -> Any:
            made = call(*inputs)
            return slow(*inputs) if made is MISSED else finish(made, inputs)

        return entry

    def __call__(self, inputs: list[Tensor]) -> Any:
        """Run it on tensors that are as expected; ``MISSED`` where values that the program asks for are others."""
        if self.acts is not None:
            return self.finish(self.acting(*inputs), inputs)
        outs = self.applied(inputs) if self.live and mode.enabled else self.program.assembled.run(*inputs)
        return MISSED if outs is None else self.finish(outs, inputs)

    def recorded(self, *inputs: Tensor) -> Any:
        """The results of the steps as those of one node, or what ``missed`` says."""
        outs = self.applied(inputs)
        return self.missed(*inputs) if outs is None else outs

    def applied(self, inputs: Sequence[Tensor]) -> Any:
        """The results of the steps as those of one node; None where values that the program asks for are others."""
        try:
            outs = CompiledCall.apply(self, *inputs, *self.learned)
        except Unfit:
            return None
        return outs[0] if type(outs) is tuple and len(outs) == 1 else outs


def tree_of_several(tree: Tree) -> bool:
    """Whether a structure is a plain tuple of leaves."""
    return tree.kind is tuple and all(child.kind is None for child in tree.children)


class CompiledCall(Function):
    """A compiled function in a larger graph."""

    @staticmethod
    def forward(ctx: Any, variant: Variant, *tensors: Tensor) -> Any:
        """The steps."""
        inputs = tensors[: len(variant.graph.inputs)]
        outs = variant.program.assembled.run(*inputs)
        if outs is None:
            raise Unfit
        outs = outs if type(outs) is tuple else (outs,)
        ctx.own, ctx.count, count = variant, len(inputs), len(outs) - len(variant.words)
        ctx.words, outs = outs[count:], outs[:count]
        ctx.save_for_backward(*tensors)
        ctx.mark_non_differentiable(*[x for x, value in zip(outs, variant.program.results) if value not in variant.live])
        ctx.set_materialize_grads(False)
        return outs

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple:
        """The graph by calls, and its gradients."""
        variant, tensors, again = ctx.own, ctx.saved_tensors, mode.enabled
        wanted = [k for k, x in enumerate(tensors) if requires_grad(x) and ctx.needs_input_grad[1 + k]]
        with enable_grad():
            values = {value: tensor_of(value) for value in variant.graph.constants}
            run_block(variant.graph, tensors[: ctx.count], values, flags=True, given=dict(zip(variant.words, ctx.words)))
            roots = [
                (x, g)
                for value, g in zip(variant.program.results, cotangents)
                if g is not None and requires_grad(x := values[variant.originals[value]])
            ]
            found: Any = [None] * len(wanted)
            if roots and wanted:
                outs, gs = zip(*roots)
                found = grad(list(outs), [tensors[k] for k in wanted], list(gs), create_graph=again, allow_unused=True)
        result: list = [None] * (1 + len(tensors))
        for k, g in zip(wanted, found):
            result[1 + k] = g
        return tuple(result)


# ---- capture ---------------------------------------------------------------------------------------------------------


def captured(
    fn: Callable, leaves: list, tree: Tree, known: list[Tensor], hosted: set, arrays: list
) -> tuple[Graph, list, Tree, Effects]:
    """The graph of a call, the leaves of its result, their structure, and what the function changes.

    Raises:
        ArgumentError: the function returns what is no tensor, number, string or None.
    """
    with tracing(known, effects=True, hosted=hosted) as active:
        effects = active.effects
        assert effects is not None
        name = getattr(fn, "__name__", "graph")
        active.graph.name = name if name.isidentifier() else "graph"
        traced = [active.input(x) if isinstance(x, Tensor) else x for x in leaves]
        for k, (x, made) in enumerate([(x, made) for x, made in zip(leaves, traced) if isinstance(x, Tensor)]):
            effects.stand_in(x, made, k)
        for x in known:
            effects.stand_in(x, x, x)
        active.note_arrays(arrays)
        args, kwargs = tree.unflatten(traced)
        results, structure = flatten(fn(*args, **kwargs))
        for k, x in enumerate(results):
            if not isinstance(x, (Tensor, *PLAIN)):
                raise ArgumentError(
                    f"compile: leaf {k} of the result is of type {type(x).__name__}, expected tensors, numbers, strings and None, "
                    "in tuples, lists and dicts."
                )
        active.graph.outputs = [active.variables.returned(x) for x in results if isinstance(x, Tensor)]
        effects.note()
        active.graph.outputs += effects.values()
        active.graph.outputs += [value for _, value, _ in effects.writes]
    return active.graph, results, structure, effects


def simplified_copy(graph: Graph, there: set[int]) -> tuple[Graph, dict[Value, Value]]:
    """What runs in the place of a graph that is differentiated, and, of the values that own its results, those in the graph.

    NOTE [Live results]: gradients are those of the graph as the program made it, so that their sums have the program's order.
    """
    made, table = graph.copy()
    count, roots = len(graph.outputs), list(owners(graph, values_in(tuple(graph.outputs))))
    made.outputs += [table[value] for value in roots]
    simplify(made, known=there)
    originals = dict(zip(made.outputs[count:], roots))
    del made.outputs[count:]
    return made, originals


def is_control(node: Any) -> bool:
    """Whether the node of a Function is that of a control node, which replays record again."""
    return hasattr(type(node)._forward_cls, "_control_")


def history_of(x: Tensor) -> str:
    """Of a result: "" without a history, "freed" with one that a pass within the function has used up, "live"."""
    if not requires_grad(x):
        return ""
    waiting, seen = [edge_of(x)], set()
    while waiting:
        edge = waiting.pop()
        node = edge.node if type(edge) is Edge else edge
        if isinstance(node, Node) and node not in seen:
            if node._backward_ is freed_backward or isinstance(node._rule_, FunctionRule) and is_control(node) and node._freed_:
                return "freed"
            keeper = node._rule_.keeper(node)  # that of a write through a view is within the node of its base
            if isinstance(keeper._rule_, FunctionRule) and not is_control(keeper):
                raise GraphError(f"{node.name()}: a graph cannot hold the derivative of a Function that is taken outside of it.")
            meta = node._meta_
            if meta is not None and (any(meta.tensor_hooks.values()) or meta.pre_hooks or meta.post_hooks or meta.retains):
                raise GraphError(f"{node.name()}: a graph cannot hold hooks of a gradient that is taken outside of it.")
            seen.add(node)
            waiting += node._edges_
    return "live"
