"""Joint graphs: what a graph computes and, behind it, the gradients of its outputs, as one capture wrote them down."""

from __future__ import annotations

from threading import get_ident
from typing import Any, Callable, Sequence

from ... import engine
from ...autograd.entry import grad
from ...base.errors import GraphError, NbgradError
from ...base.mode_contexts import enable_grad, no_grad
from ...graph.edges import Node as GraphNode
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from ..capture.tracing import tracing
from ..ir.graph import Graph
from ..ir.histories import same_values
from ..ir.ir import Node, Value
from ..passes.drop_stops import drop_stops
from ..passes.eliminate_dead import eliminate_dead
from ..passes.merge_calls import merge_calls
from ..passes.retrace import constants_of, example, run_flagged, traced

__all__ = ["Joint"]


class Turns:
    """A watcher of the engine: which nodes are written down in the turn of which node of the pass.

    Attributes:
        nodes: what is being written down.
        found: ``(name, start, stop)`` of every turn.
        lines: of the operations that the pass is about.
    """

    def __init__(self, nodes: list[Node], lines: dict[Any, str]):
        self.nodes, self.lines, self.thread = nodes, lines, get_ident()
        self.found: list[tuple[str, int, int]] = []

    def watch(self, run: Callable, settle: Callable) -> tuple[Callable, Callable]:
        """See ``engine.watchers``."""

        def watched(node: GraphNode, g: Any, create_graph: bool, task: Any) -> Any:
            start, name = len(self.nodes), getattr(node._rule_, "name", "node")
            try:
                results = run(node, g, create_graph, task)
            except NbgradError as error:
                line = self.lines.get(node, "")
                raise GraphError(f"differentiate: {name}{f' ({line})' if line else ''} has no derivative here: {error}") from error
            for made in self.nodes[start:]:
                made.line = self.lines.get(node, made.line)
            if len(self.nodes) > start:
                self.found.append((name, start, len(self.nodes)))
            return results

        return (watched, settle) if get_ident() == self.thread else (run, settle)


def has_marks(node: Node) -> bool:
    """Whether a node gives values other histories."""
    return any(True for _ in same_values(node))


def layout_for(kind: Any, root: Tensor) -> Layout:
    """The layout of a root's cotangent."""
    return kind if isinstance(kind, Layout) else root.layout.plain().like()


class Joint:
    """What a graph computes and the gradients of its outputs.

    Args:
        flat: a graph of calls of operations alone.
        examples: tensors like its inputs.
        temporaries: of its values that have a cotangent of their own, as outputs have.
        pattern: for every root through which gradients flow whether its cotangent is defined, or the layout that it has; those
            behind have none. None: all are defined.
        flags: for every defined cotangent whether gradients flow into it, of a pass that is recorded; None: it is not.
        derivable: whether what comes of it is differentiated again, so that it matters where gradients stop, and of what Functions.

    Attributes:
        graph: all of it; its inputs are those of the graph, then the cotangents.
        primal, reverse: its nodes.
        inputs: those of the graph.
        roots: values of the outputs, then of temporaries.
        needs: which of the roots gradients flow through.
        cotangents: of those roots that have one, in order; ``live`` are their numbers.
        grads: of every input, or None.
        turns: of nodes of the reverse part: number and name of the turn in which they were written down.
        origin: of values of the primal part, the value of the graph.
    """

    def __init__(
        self,
        flat: Graph,
        examples: Sequence[Any],
        temporaries: Sequence[Value] = (),
        pattern: Sequence[Any] | None = None,
        flags: Sequence[bool] | None = None,
        derivable: bool = False,
    ):
        with enable_grad(), tracing(constants_of(flat), late=True) as active:
            self.graph = active.graph
            inputs = [traced(active, x, v.requires_grad is not False, v.name) for v, x in zip(flat.inputs, examples)]
            outs, values = run_flagged(active, flat, inputs)
            roots = [*outs, *(values[value] for value in temporaries)]
            with no_grad():
                self.origin = {active.value(x): value for value, x in reversed(values.items()) if isinstance(x, Tensor)}
                self.roots = [active.value(x) for x in roots]
            self.inputs = list(self.graph.inputs)
            edge = len(self.graph.nodes)
            self.needs = [isinstance(x, Tensor) and x.requires_grad for x in roots]
            live = [k for k, needed in enumerate(self.needs) if needed]
            kinds = dict(zip(live, [True] * len(live) if pattern is None else pattern))
            self.live = [k for k in live if kinds.get(k)]
            with no_grad():
                given = [example(layout_for(kinds[k], roots[k])) for k in self.live]
                given = [traced(active, x, flag) for x, flag in zip(given, flags or [False] * len(given))]
            self.cotangents = list(self.graph.inputs[len(self.inputs) :])
            lines = {x.grad_fn: value.line for value, x in values.items() if isinstance(x, Tensor) and x.grad_fn is not None}
            turns = Turns(self.graph.nodes, lines)
            self.grads = self.gradients(active, turns, [roots[k] for k in self.live], inputs, given, flags is not None)
            # The sum of what arrives at a node is written down between the turns.
            self.turns = {
                node: (number, name)
                for number, (name, start, stop) in enumerate(turns.found)
                for node in self.graph.nodes[start:stop]
            }
        self.graph.name = flat.name
        self.graph.outputs = [*self.roots, *self.grads]
        self.tidy(self.graph.nodes[:edge], flags is not None or derivable and any(map(has_marks, self.graph.nodes)))

    def gradients(self, active: Any, turns: Turns, roots: list, inputs: list, given: list, recorded: bool) -> list:
        """The values of the gradients of the inputs."""
        wanted = [k for k, x in enumerate(inputs) if x.requires_grad]
        grads: list = [None] * len(inputs)
        if roots and wanted:
            engine.watchers.append(turns)
            try:
                found = grad(roots, [inputs[k] for k in wanted], given, create_graph=recorded, allow_unused=True)
            finally:
                engine.watchers.remove(turns)
            with no_grad():
                for k, g in zip(wanted, found):
                    grads[k] = None if g is None else active.value(g)
        return grads

    def tidy(self, primal: list[Node], marked: bool) -> None:
        """Merge what is computed twice, drop what nothing reads, and tell the two parts apart; ``marked``: histories matter."""
        for rewrite in () if marked else (drop_stops, merge_calls):
            became: dict[Value, Value] = {}
            rewrite(self.graph, became)
            self.origin = {became.get(value, value): mine for value, mine in reversed(self.origin.items())}
        count, before = len(self.roots), set(primal)
        self.roots, self.grads = self.graph.outputs[:count], self.graph.outputs[count:]
        eliminate_dead(self.graph, silent={node for node in self.graph.nodes if node not in before})
        self.primal = [node for node in self.graph.nodes if node in before]
        self.reverse = [node for node in self.graph.nodes if node not in before]
