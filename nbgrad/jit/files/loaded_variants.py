"""Variants of compiled functions as files have them: NOTE [Saved functions] of saving.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Sequence

import numpy as np

from ...base.dtypes import dtype_of
from ...base.errors import GraphError
from ...base.nested import Tree
from ...graph.edges import requires_grad
from ...tensors.layout import Layout
from ...tensors.storage import CPU
from ...tensors.tensor import Tensor
from ..arguments.forms import Form
from ..arguments.keys import key_of_tree
from ..arguments.leaves import NUMBERS
from ..compiled.backward import Backward
from ..compiled.program_node import Recorder
from ..compiled.runs import Parts, Run
from ..execution.costs import measured
from ..execution.program import Program
from ..execution.sequence import Expected
from ..guards.guards import Guards
from ..guards.identities import Ones
from ..ir.checker import check
from ..ir.graph import Graph
from ..ir.ir import Value
from ..ir.literals import Type
from ..state.implicit_inputs import GradientOf
from ..state.rebound_names import State
from ..state.side_effects import SideEffects
from ..text.expressions import type_of_text
from ..text.parser import given_constants, parse
from .files import File
from .spelling import read_kind, read_tree, read_value, require_no_python

__all__ = ["LoadedVariant", "read_variant"]


def read_graph(file: File, record: dict[str, Any]) -> Graph:
    """A graph.

    Raises:
        GraphError: the text is none, or one of a graph that breaks the rules; constants are damaged; steps in Python.
    """
    constants = {name: read_tensor(file, kind, record["constants"][name]) for name, kind in given_constants(record["text"]).items()}
    graph = parse(record["text"], constants)
    require_no_python(graph)
    check(graph, "load")
    return graph


def read_tensor(file: File, kind: Type, digest: str) -> Tensor:
    """A tensor, on memory of its own."""
    layout = kind.known()
    x: Tensor = kind.value_of_array(np.frombuffer(file.bytes_of(digest, f"a tensor {kind}"), layout.dtype.numpy)).data
    return x


def read_variant(file: File, record: dict[str, Any]) -> tuple[Any, LoadedVariant]:
    """A variant, and what it is chosen by."""
    given = read_tree(record["given"])
    shared = record["sharing"]
    key = (
        key_of_tree(given),
        tuple(map(read_kind, record["kinds"])),
        None if shared is None else tuple(shared),
        bool(record["enabled"]),
        dtype_of(record["dtype"]),
        CPU,
    )
    return key, LoadedVariant(file, record, given)


class LoadedVariant(Run):
    """A variant without a program.

    Attributes:
        calls: the graph that replays run, and the leaves of its result.
    """

    def __init__(self, file: File, record: dict[str, Any], given: Tree):
        self.state = State()
        self.given, self.paths, self.tree = given, list(record["paths"]), read_tree(record["result"])
        self.guards = Guards(None)
        self.floats, self.inferred = ([int(k) for k in record[name]] for name in ("floats", "inferred"))
        kinds = list(map(read_kind, record["kinds"]))
        self.numbers = frozenset([k for k, kind in enumerate(kinds) if kind in NUMBERS.values()])
        given_kinds = [kind for k, kind in enumerate(kinds) if isinstance(kind[0], Layout) or k in self.numbers]
        self.known, self.arrays = list[Tensor](), set[int]()
        graph = read_graph(file, record["graph"])
        outputs, found = iter(graph.outputs), record["leaves"]
        values = [next(outputs) for x in found if isinstance(x, int)]
        leaves = [values[x] if isinstance(x, int) else read_value(x) for x in found]
        gradients = [next(outputs) for _ in range(record["gradients"])]
        writes = [(graph.inputs[k], next(outputs)) for k in record["writes"]]
        words = [next(outputs) for _ in range(record["words"])]
        results = [next(outputs) for _ in range(record["results"])]
        history = record["history"]
        self.calls = graph, leaves
        self.graph, self.originals, self.words = graph, dict[Value, Value](), list[Value]()
        self.backward, self.learned, self.once = None, [], False
        self.identities = [Ones(tuple(map(int, places)), tuple(map(int, first))) for places, first in record["ones"]]
        if history is not None:
            self.read_history(file, history, leaves, results)
        self.side_effects = None if record["acts"] is None else read_side_effects(graph, record["acts"], writes)
        self.passes, self.leaves = bool(record["passes"]), dict.fromkeys(record["passed"])
        flags = [bool(kind[1]) for kind in given_kinds]
        flags += [isinstance(value.data, Tensor) and requires_grad(value.data) for value in graph.constants]
        marks = tuple([int(flag) * (3 if self.passes else 1) for flag in flags])
        self.assemble(
            Parts(
                graph=graph,
                values=leaves,
                gradients=gradients,
                writes=writes,
                live=[values[k] for k in record["live"]],
                freed=[values[k] for k in record["freed"]],
                words=words,
                saved=list(outputs),
                known={id(graph.constants[k].data) for k in record["known"]},
                kinds=tuple([kind[2] if isinstance(kind[0], Layout) else kind[0] for kind in given_kinds]),
                expected=Expected(self.guards.names, self.guards.cells, bool(record["enabled"]), marks),
                forms=[None if form is None else Form(*form) for form in record["forms"]],
            )
        )

    def read_history(self, file: File, record: dict[str, Any], leaves: list[Any], results: list[Value]) -> None:
        """How passes go through the results.

        Args:
            results: of the steps, in whose place the graph has values of its own.
        """
        self.graph = read_graph(file, record["graph"])
        outputs = iter(self.graph.outputs)
        self.originals = {value: next(outputs) for value in results}
        self.words = [next(outputs) for _ in range(record["words"])]
        self.learned = [read_tensor(file, type_of_text(each["type"]), each["bytes"]) for each in record["learned"]]
        own = [next(outputs) if isinstance(x, Value) else x for x in leaves]
        self.calls = self.graph, own
        if record["backward"] is not None:
            self.backward = LoadedBackward(file, record["backward"], list(outputs), self.learned, len(self.words))


class LoadedBackward(Backward):
    """The backward passes that were saved; others go call by call."""

    def __init__(self, file: File, record: dict[str, Any], results: list[Value], captured: list[Tensor], words: int):
        self.results, self.words, self.count = results, words, int(record["count"])
        self.needs, self.places = [bool(x) for x in record["needs"]], [int(k) for k in record["places"]]
        self.unsaved, self.lost = set(record["unsaved"]), bool(record["lost"])
        self.flat, self.captured, self.saved, self.latest = Graph(), captured, [], None
        self.read = [None if k is None else int(k) for k in record["read"]]
        self.programs, self.recorders = {}, {}
        for each in record["programs"]:
            layouts = tuple([None if x is None else type_of_text(x).layout for x in each["layouts"]])
            graph = read_graph(file, each["graph"])
            with measured() as cost:
                program = Program(graph, graph.outputs)
            program.cost = cost
            self.programs[tuple(each["wanted"]), layouts] = program

    def program(self, examples: Sequence[Any], wanted: Sequence[int], layouts: Sequence[Any]) -> Program:
        """A pass that was not saved.

        Raises:
            GraphError: always.
        """
        raise GraphError("a pass that was not saved.")

    def recorder(self, *arguments: Any) -> Recorder:
        """A pass that is recorded, which is not saved.

        Raises:
            GraphError: always.
        """
        raise GraphError("a pass that was not saved.")


def read_side_effects(graph: Graph, record: dict[str, Any], writes: list[tuple[Value, Value]]) -> SideEffects:
    """What a program does beside computing its results."""
    pairs = [(owner, had) for owner, had in record["needed"]]
    effects: Any = SimpleNamespace(
        sources=[GradientOf(leaf) for leaf in record["sources"]],
        after=[],
        needed={k: SimpleNamespace(owner=owner, made=True if had else None) for k, (owner, had) in enumerate(pairs)},
        writes=[(target, value, times) for (target, value), times in zip(writes, record["times"])],
        learned={},
        exchanges=[],
        flags=[],
        gradients=[(owner, None if place is None else place) for owner, place in record["gradients"]],
    )
    return SideEffects(graph, effects, record["count"])
