"""A program in a larger graph: one node, whose backward pass is a program too.

NOTE [Recorded programs]: the node keeps its operands, and what the program has saved for the pass, with their versions; it is
freed like any other. A pass that is recorded is such a node itself: a function of operands and cotangents, captured with its
flags, whose own pass is a program, and so on. Where a pass is special, or no program can be made of it, the graph is run once
more, call by call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Container, Iterable, Sequence

from ...autograd.entry import grad
from ...base import config
from ...base.calls import CALLS
from ...base.errors import GraphError
from ...base.grad_mode import mode
from ...base.mode_contexts import enable_grad
from ...graph.edges import edge_of, number_node, requires_grad
from ...graph.node import Edge, Node, blank_node
from ...graph.rule import Rule
from ...graph.saved import version_error
from ...native.handle import native
from ...tensors.tensor import Tensor
from ..arguments.leaves import NUMBERS
from ..execution.program import RESULT, Program
from ..ir.graph import Graph
from ..ir.ir import Value
from ..ir.replay import run_block, tensor_of
from ..passes.retrace import example
from ..state.implicit_inputs import number_tensor
from .special_modes import in_modes

if TYPE_CHECKING:
    from .backward import Backward

__all__ = ["Recorder"]


class CompiledRule(Rule):
    """The rule of a program's nodes."""

    frees = True

    def __init__(self, name: str):
        self.name, self.node_name = name, f"{name}Backward"


class CompiledPlan:
    """What nodes of a program share: layouts of results, and the program."""

    __slots__ = ("outs", "facts", "recorder")

    def __init__(self, recorder: Recorder):
        self.outs = tuple([value.layout.template for value in recorder.results if value.layout is not None])
        self.facts: dict[str, Any] = {}
        self.recorder = recorder


class Recorder:
    """Runs a program, and records it as one node.

    Args:
        graph: what the program computes, as it was captured: gradients are its.
        program: returns values that the pass reads behind its results, and the words behind those.
        backward: the pass; None if there is no program of it.
        originals: for results of the steps the value of the graph.
        live: the results that have a history.
        words: of the calls of generators, in the graph.
        numbers: whether some inputs are Python's numbers.

    Attributes:
        results: of the steps, without what is saved.
        read: places of what the program of the pass reads, among what nodes keep.
    """

    def __init__(
        self,
        graph: Graph,
        program: Program,
        backward: Backward | None,
        originals: dict[Value, Value],
        live: Container[Value],
        words: Sequence[Value],
        numbers: bool = False,
    ):
        self.graph, self.program, self.backward, self.words = graph, program, backward, words
        self.numbers = numbers
        self.results = program.results[: program.count]
        self.history = [value in live for value in self.results]
        self.originals = [originals.get(value) for value in self.results]
        self.count, self.drawn = len(graph.inputs), len(words)
        places = {value: k for k, value in enumerate(self.originals)}
        self.order = [] if backward is None else [places.get(value) for value in backward.results]
        self.same_order = self.order == list(range(len(self.results)))
        self.unsaved: Container[int] = () if backward is None else backward.unsaved
        self.saved = [
            (each, each.source == RESULT and each.window is None and each.which < program.count) for each in program.saved
        ]
        total = self.count if backward is None else self.count + len(backward.captured)
        read = [] if backward is None else [k for k in backward.read if k is not None]
        self.read = (*read, *range(total, total + len(self.saved)))
        template = blank_node(Node, ("_edges_", "_s0_", "_v0_", "_s1_"))
        template._rule_, template._plan_, template._backward_ = CompiledRule(graph.name), CompiledPlan(self), pass_back
        template._outputs_, template._seq_ = len(self.results), 0
        self.build: Callable[..., Node] = native.builder(template, ("_edges_", "_s0_", "_v0_", "_s1_"))

    def __call__(self, inputs: Sequence[Tensor], learned: Sequence[Tensor] = ()) -> tuple | None:
        """The results of the steps; None where values that the program asks for are others.

        Args:
            inputs: of the program.
            learned: further tensors on which results depend, behind those of the graph's inputs.
        """
        outs = self.program.assembled.run(*inputs)
        if outs is None:
            return None
        outs = outs if type(outs) is tuple else (outs,)
        results = outs[: self.program.count]
        if not mode.enabled or True not in self.history:
            return results
        tensors: list[Any] = [*inputs[: self.count], *learned]
        if self.numbers:
            tensors = [number_tensor(x) if type(x) in NUMBERS else x for x in tensors]
        edges = tuple([None if not x._needs_grad_ else x._edge_ or edge_for(x) for x in tensors])
        unsaved = self.unsaved
        if unsaved:
            kept = [None if k in unsaved else x for k, x in enumerate(tensors)]
        else:
            kept = list(tensors)
        if self.saved:
            mode.enabled = False
            leaf = self.program.leaf
            try:
                for each, aliased in self.saved:
                    x = leaf(each, outs, inputs)
                    kept.append(native.alias(x) if aliased else x)  # the result itself would make a cycle with the node
            finally:
                mode.enabled = True
        versions = tuple([None if x is None else x._storage_.version for x in kept])
        node = self.build(edges, tuple(kept), versions, outs[len(outs) - self.drawn :])
        number_node(node)
        if len(results) == 1:
            results[0]._edge_, results[0]._needs_grad_ = node, True
            return results
        for k, history in enumerate(self.history):
            if history:
                results[k]._edge_, results[k]._needs_grad_ = Edge(node, k), True
        return results

    def require_unwritten(self, node: Node, places: Iterable[int]) -> None:
        """Refuse to read what was written to since the call.

        Raises:
            VersionError: something was.
        """
        kept, versions = node._s0_, node._v0_
        for k in places:
            if versions[k] is not None and kept[k]._storage_.version != versions[k]:
                names = [value.name for value in self.graph.inputs]
                named = self.count if self.backward is None else self.count + len(self.backward.captured)
                what = f"argument {names[k]!r}" if k < self.count else "tensor that the function names" if k < named else "value"
                raise version_error(self.graph.name, f"saved {what}", kept[k], versions[k])

    def gradients(self, node: Node, cotangents: Any, count: int, wanted: tuple) -> list:
        """The cotangents of the ``count`` operands of a node that are wanted, of those of the results."""
        backward, kept, words, found = self.backward, node._s0_, node._s1_, None
        if backward is not None and not in_modes():
            self.require_unwritten(node, range(len(kept)) if mode.enabled else self.read)
            given = cotangents if self.same_order else [None if k is None else cotangents[k] for k in self.order]
            if mode.enabled:
                found = backward.recorded(kept[:count], words, given, wanted)
            else:
                found = backward.again(kept, words, given, wanted) or backward.run(kept[:count], words, kept[count:], given, wanted)
        if found is None:
            self.require_unwritten(node, range(len(kept)))
            return by_calls(self, kept[:count], words, cotangents, wanted)
        if config.CHECK and not (backward is None or backward.lost):
            from .checked_calls import check_pass

            check_pass(self, found, by_calls(self, kept[:count], words, cotangents, wanted))
        return found


def edge_for(x: Tensor) -> Any:
    """Where the cotangent of an operand without an edge of its own goes."""
    return edge_of(x) if x._needs_grad_ is True or requires_grad(x) else None


def pass_back(node: Node, g: Any, create_graph: bool) -> Any:
    """The ``backward`` of a program's node."""
    edges = node._edges_
    count = len(edges)
    wanted = tuple([k for k in range(count) if edges[k] is not None])
    found = node._plan_.recorder.gradients(node, (g,) if node._outputs_ == 1 else tuple(g), count, wanted)
    if count == 1:
        return found[0]
    results: list = [None] * count
    for k, x in zip(wanted, found):
        results[k] = x
    return results


def by_calls(recorder: Recorder, tensors: Sequence[Any], words: Sequence[Tensor], cotangents: Sequence[Any], wanted: tuple) -> list:
    """The gradients of the tensors that are wanted, of a graph that is run once more, call by call.

    Raises:
        GraphError: what it reads is overwritten.
    """
    graph, again = recorder.graph, mode.enabled
    if recorder.backward is not None and recorder.backward.lost:
        raise GraphError(
            f"{graph.name}: overwrites what it reads, so that its gradient cannot be differentiated. Hint: write to clones."
        )
    with enable_grad():
        # The pass is to end at the operands, some of which may have been computed from others.
        own = [alias_of(x) if isinstance(x, Tensor) and requires_grad(x) else x for x in tensors]
        for k in wanted:
            if not requires_grad(own[k]):  # it was cut off its history meanwhile
                own[k] = own[k].detach().requires_grad_()
        inputs = [example(value.layout) if x is None and value.layout else x for x, value in zip(own, graph.inputs)]
        named = {id(x): mine for x, mine in zip(tensors[len(graph.inputs) :], own[len(graph.inputs) :]) if x is not None}
        values = {value: named.get(id(value.data), value.data) for value in graph.constants}
        values = {value: x if isinstance(x, Tensor) else tensor_of(value) for value, x in values.items()}
        run_block(graph, inputs, values, flags=True, given=dict(zip(recorder.words, words)))
        pairs = [(values[value], g) for value, g in zip(recorder.originals, cotangents) if value is not None and g is not None]
        roots = [(x, g) for x, g in pairs if requires_grad(x)]
        if not roots or not wanted:
            return [None] * len(wanted)
        outs, gs = zip(*roots)
        return list(grad(list(outs), [own[k] for k in wanted], list(gs), create_graph=again, allow_unused=True))


def alias_of(x: Tensor) -> Tensor:
    """The same tensor, with a node of its own."""
    made: Tensor = CALLS["view_shape"](x, x.layout.shape)
    return made
