"""The backward pass of a compiled function, as a program.

NOTE [Compiled backward]: the graph and the gradients of its results are one joint graph (joint.py), cut in two (cut.py). The
function's program returns what the cut saves behind its results; the rest of the joint graph is the program of the backward pass,
one for the layouts of the cotangents and the arguments that need a gradient. It draws no random numbers, asks for no values and
changes nothing: calls that were taken from generators are among what is saved.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Callable, Container, NamedTuple, Sequence

from ...base.errors import GraphError
from ...graph.edges import requires_grad
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from ..differentiation.cut import recomputed, saved_values
from ..differentiation.gradient_versions import interleaved
from ..differentiation.joint import Joint
from ..differentiation.linear import part
from ..execution.costs import measured
from ..execution.program import Program
from ..ir.graph import Graph
from ..ir.ir import Value, values_in
from ..nodes.draws import RESERVE
from ..passes import owners, simplify
from ..passes.eliminate_dead import needed_nodes
from ..passes.retrace import example
from .program_node import Recorder

__all__ = ["Backward"]

NEW = object()


class Latest(NamedTuple):
    """What the pass was that has run last.

    Attributes:
        layouts: of the cotangents, all of which there are.
        take: what takes the program's inputs out of everything that there is.
    """

    program: Program
    wanted: tuple[int, ...]
    layouts: list[Layout]
    take: Callable


class Backward:
    """The backward pass of a graph.

    Args:
        graph: of a program that returns ``results`` of its steps with a history.
        words: of the calls of generators that it takes.
        tensors: its inputs, as examples.
        overwritten: inputs and constants in whose memory the program leaves something else.
        known: identities of tensors that were there before the graph was captured.

    Attributes:
        saved: values of the graph that are neither inputs nor constants, and that passes read.
        results: values that have cotangents.
        captured: tensors of the program that results depend on: they are operands, behind the inputs.
        read: which operands passes read.
        unsaved: which operands nobody needs then, or has any longer.
        lost: operands that are overwritten, and of which results depend: they cannot be computed again.
    """

    def __init__(
        self,
        graph: Graph,
        results: Sequence[Value],
        words: Sequence[Value],
        tensors: Sequence[Tensor],
        overwritten: Sequence[Value] = (),
        known: Container[int] = (),
    ):
        self.results = results
        self.flat, copies, captured = opened(graph, results, words, known)
        self.captured: list[Tensor] = [value.data for value in captured]
        originals = {mine: value for value, mine in copies.items()}
        self.count, self.words = len(graph.inputs), len(words)
        self.programs: dict[Any, Any] = {}
        self.latest: Latest | None = None
        self.recorders: dict[Any, Any] = {}
        joint = Joint(
            self.flat, self.examples([*tensors, *self.captured], [example(value.layout) for value in words if value.layout])
        )
        used = {value for node in self.flat.nodes for value in node.values()}
        self.lost = any(copies[value] in used for value in overwritten)
        inputs = dict(zip(self.flat.inputs, joint.inputs))
        costly = {inputs[copies[value]] for value in overwritten if copies[value] in inputs}
        saved = saved_values(joint.inputs, joint.primal, reads_of(joint), values_in(tuple(joint.roots)), None, costly)
        found = [joint.origin.get(value) for value in saved if value not in joint.inputs]
        if not all(value in originals for value in found):
            raise GraphError(f"{graph.name}: its backward pass reads a value that the graph does not have.")
        self.kept = [value for value in found if value is not None]
        self.saved = [originals[value] for value in self.kept]
        self.places = [k for k, value in enumerate(joint.inputs) if value in saved]
        operands = [*range(self.count), *[None] * self.words, *range(self.count, self.count + len(captured))]
        self.read = [operands[k] for k in self.places]
        idle = {value for value in captured if not needs_gradient(value)}.union(overwritten)
        self.unsaved = {k for k, x in enumerate([*graph.inputs, *captured]) if x in idle and k not in self.read}
        self.needs = joint.needs

    def examples(self, operands: Sequence[Any], words: Sequence[Any]) -> list[Any]:
        """Arguments of the graph that was opened."""
        return [*operands[: self.count], *words, *operands[self.count :]]

    def run(
        self,
        operands: Sequence[Any],
        words: Sequence[Tensor],
        saved: Sequence[Tensor],
        cotangents: Sequence[Tensor | None],
        wanted: tuple[int, ...],
    ) -> list | None:
        """The cotangents of operands; None where something has another layout than it had in the graph.

        Args:
            operands: None for those that are not read and were overwritten.
            saved: in the order of the attribute.
            cotangents: of the results.
            wanted: operands.
        """
        given = [g for g, needed in zip(cotangents, self.needs) if needed]
        if all(g is None for g in given):
            return [None] * len(wanted)
        key = wanted, tuple([None if g is None else g.layout for g in given])
        every = self.examples(operands, words)
        program = self.programs.get(key, NEW)
        if program is NEW:
            if any(x is None for x in every):
                every = [example(v.layout) if x is None and v.layout else x for x, v in zip(every, self.flat.inputs)]
            try:
                with measured() as cost:
                    program = self.program(every, *key)
                program.cost = cost
            except Exception:  # what a Function raises is raised again call by call
                program = None
            self.programs[key] = program
        if program is None:
            return None
        inputs = [*[g for g in given if g is not None], *[every[k] for k in self.places], *saved]
        if any(x.layout is not value.layout for x, value in zip(inputs, program.graph.inputs)):
            return None
        if all(g is not None for g in cotangents):
            self.latest = Latest(
                program, wanted, [x.layout for x in cotangents if x is not None], self.places_of(cotangents, operands, saved)
            )
        return program.run(inputs)

    def places_of(self, cotangents: Sequence[Any], operands: Sequence[Any], saved: Sequence[Any]) -> Callable:
        """What takes the inputs of a pass out of cotangents, operands, what is saved, and words, one behind the other."""
        start, behind = len(cotangents), len(cotangents) + len(operands) + len(saved)
        places = [k for k, needed in enumerate(self.needs) if needed]
        for k in self.places:
            if k < self.count:
                places.append(start + k)
            elif k < self.count + self.words:
                places.append(behind + k - self.count)
            else:
                places.append(start + k - self.words)
        places += range(start + len(operands), behind)
        return itemgetter(*places) if len(places) > 1 else lambda found: tuple([found[k] for k in places])

    def recorded(
        self, operands: Sequence[Any], words: Sequence[Tensor], cotangents: Sequence[Tensor | None], wanted: tuple[int, ...]
    ) -> list | None:
        """``run`` for a pass that is recorded: one node, whose own pass is a program; None where a graph cannot hold that."""
        given = [g for g, needed in zip(cotangents, self.needs) if needed]
        if self.lost or all(g is None for g in given):
            return None
        held = [*operands[: self.count], *[own if x is None else x for x, own in zip(operands[self.count :], self.captured)]]
        every = [
            example(value.layout) if x is None and value.layout else x
            for x, value in zip(self.examples(held, words), self.flat.inputs)
        ]
        inputs = [*every, *[g for g in given if g is not None]]
        key = (
            wanted,
            tuple([None if g is None else g.layout for g in given]),
            tuple([isinstance(x, Tensor) and requires_grad(x) for x in inputs]),
        )
        found = self.recorders.get(key, NEW)
        if found is NEW:
            try:
                found = self.recorder(every, *key)
            except Exception:  # what is wrong is said call by call
                found = None
            self.recorders[key] = found
        if found is None or any(isinstance(x, Tensor) and x.layout is not v.layout for x, v in zip(inputs, found.graph.inputs)):
            return None
        outs = found(inputs)
        return found.program.leaves(outs, inputs)

    def recorder(
        self, examples: Sequence[Any], wanted: Sequence[int], layouts: Sequence[Layout | None], flags: Sequence[bool]
    ) -> Recorder:
        """The pass as a function of operands and cotangents: it is computed again from these."""
        joint = Joint(self.flat, examples, (), layouts, flags[len(examples) :])
        graph, places = joint.graph, [k if k < self.count else k + self.words for k in wanted]
        graph.outputs = [joint.grads[k] for k in places]
        graph.name = f"{self.flat.name}_backward"
        return differentiable(graph, [*examples, *[example(value.layout) for value in joint.cotangents if value.layout]])

    def again(self, kept: tuple, words: tuple, cotangents: Any, wanted: tuple[int, ...]) -> list | None:
        """``run`` where all is as it was in the run before; None where it is not.

        Args:
            kept: the operands, then what is saved.
        """
        latest = self.latest
        if latest is None or wanted != latest.wanted:
            return None
        for g, layout in zip(cotangents, latest.layouts):
            if g is None or g.layout is not layout:
                return None
        inputs = latest.take((*cotangents, *kept, *words))
        for x, value in zip(inputs, latest.program.graph.inputs):
            if x.layout is not value.layout:
                return None
        return latest.program.run(inputs)

    def program(self, examples: Sequence[Any], wanted: Sequence[int], layouts: Sequence[Layout | None]) -> Program:
        """The pass for cotangents of such layouts."""
        joint = Joint(self.flat, examples, self.kept, layouts)
        temporaries = joint.roots[len(joint.roots) - len(self.kept) :]
        saved = [*[joint.inputs[k] for k in self.places], *temporaries]
        places = [k if k < self.count else k + self.words for k in wanted]
        again = recomputed(joint.primal, reads_of(joint), saved)
        known = {*saved, *joint.graph.constants, *(value for node in again for value in node.outs)}
        if not reads_of(joint) | {value for node in again for value in node.values()} <= known:
            raise GraphError(f"{self.flat.name}: its backward pass reads a value that is not saved.")
        nodes, grads = interleaved(again, joint.reverse), [joint.grads[k] for k in places]
        name = f"{self.flat.name}_backward"
        made = part([*joint.cotangents, *saved], nodes, grads, joint.graph.constants, name, set(nodes))
        for value in made.defined():
            value.requires_grad = False  # not in blocks: that of a way back is differentiated when it runs (rewinding.py)
        program = Program(simplify(made), made.outputs)
        program.again = again
        return program


def differentiable(graph: Graph, examples: Sequence[Any]) -> Recorder:
    """The program of a graph, with a backward pass of its own: NOTE [Live results] of variants.py.

    Args:
        examples: tensors like the inputs.
    """
    original, copies = graph.copy()
    given, outputs = {*graph.inputs, *graph.constants}, list(graph.outputs)
    live = [value for value in values_in(tuple(outputs)) if value.requires_grad is not False]
    results = dict.fromkeys(root for value in live for root in owners(graph, [value]) if root not in given)
    try:
        backward = Backward(original, [copies[root] for root in results], (), examples)
    except GraphError:
        backward = None
    before = {copy: value for value, copy in copies.items()}
    roots = [root for root in owners(graph, values_in(tuple(outputs))) if root not in given]
    graph.outputs = [*outputs, *roots, *([] if backward is None else [before[value] for value in backward.saved])]
    simplify(graph)
    count = len(outputs)
    outputs, made, saved = graph.outputs[:count], graph.outputs[count : count + len(roots)], graph.outputs[count + len(roots) :]
    graph.outputs = outputs
    program = Program(graph, outputs, saved=saved)
    window = program.schedule.window
    owned = {window(value).place.value for value in values_in(tuple(outputs)) if value.requires_grad is not False}
    return Recorder(original, program, backward, dict(zip(made, [copies[root] for root in roots])), owned, ())


def reads_of(joint: Joint) -> set[Value]:
    """What the reverse part of a joint graph reads of the primal one, and hands on of it."""
    own = {value for node in joint.reverse for value in node.outs}.union(joint.cotangents, joint.graph.constants)
    return {value for node in joint.reverse for value in node.values()}.union(values_in(tuple(joint.grads))) - own


def opened(
    graph: Graph, results: Sequence[Value], words: Sequence[Value], known: Container[int]
) -> tuple[Graph, dict[Value, Value], list[Value]]:
    """A graph that only computes ``results``, the values of the other in it, and those of its constants that are inputs there.

    Its inputs are those of the other, calls of generators, and tensors that were there before.
    """
    made, copies = graph.copy()
    for value in words:
        copies[value].node = None
    made.outputs = [copies[value] for value in results]
    nodes = [node for node in made.nodes if node.op is not RESERVE and (node.outs or node.effect == "pure")]
    made.nodes, read = needed_nodes(nodes, made.outputs, set(nodes))
    made.constants = [value for value in made.constants if value in read]
    captured = [x for x in graph.constants if copies[x] in read and (needs_gradient(x) or id(x.data) in known)]
    for x in captured:
        made.constants.remove(copies[x])
        copies[x].data, copies[x].requires_grad = None, needs_gradient(x)
    made.inputs = [*made.inputs, *[copies[value] for value in words], *[copies[x] for x in captured]]
    return made, copies, captured


def needs_gradient(constant: Value) -> bool:
    """Whether gradients flow into a tensor of the program."""
    return isinstance(constant.data, Tensor) and requires_grad(constant.data)
