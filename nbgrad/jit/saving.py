"""``save``: a compiled function as a file, of which ``load`` (loading.py) makes it again without its program.

NOTE [Saved functions]: a file has, for every variant, the graph of its program with what its outputs mean, the graph by which
passes through results go call by call, and the programs of such passes. What the program's names held is part of it as it was:
numbers are in the graph, tensors among its constants. What lives on beside it (functions, generators, tensors that it changes or
into which gradients flow) cannot be, and is refused. Objects of machine code lie beside the text: those that a process has asked
for that loads the function and runs it (objects.py).
"""

from __future__ import annotations

import errno
import os
from tempfile import TemporaryDirectory
from typing import Any, Iterator, Sequence

from ..base.errors import ArgumentError, GraphError, require_path
from ..creation.generators import Generator
from ..graph.edges import requires_grad
from ..kernels.cpu.digest import hexdigest
from ..kernels.cpu.store import loader, platform_key
from ..tensors.tensor import Tensor
from .compile import Compiled
from .compiled.backward import Backward
from .compiled.handles import Handle
from .compiled.runs import Run
from .differentiation.joint import layout_for
from .files.files import write_file
from .files.objects import needed_objects
from .files.spelling import require_no_python, spell_kind, spell_tree, spell_value
from .guards.identities import Identity, Ones
from .ir.equality import difference
from .ir.graph import Graph
from .ir.ir import Block, Value
from .ir.literals import bytes_of, is_inline, type_text
from .passes.retrace import example
from .state.implicit_inputs import GradientOf
from .state.rebound_names import StateOf
from .text.parser import parse
from .text.text import text_of

__all__ = ["save"]


def save(fn: Any, path: Any, *, objects: bool = True) -> None:
    """Write a compiled function to a file: all of its variants, with the backward passes through their results.

    Args:
        fn: a function that ``compile`` has made, and that was called once at least; or that ``load`` has. Backward passes that have
            gone through its results are saved; if there was none, the one of cotangents of all results is. Others go call by call.
        path: of the file, which is written whole or not at all.
        objects: put machine code into it too, so that a process on such a processor needs no compiler. To find out which, the file
            is loaded in a process of its own.

    Raises:
        ArgumentError: no compiled function. GraphError: nothing was captured; the program does what a file cannot hold: steps in
            Python, changes to tensors that it holds, gradients that flow into these, functions among its arguments.

    >>> import nbgrad, os, tempfile
    >>> @nbgrad.compile
    ... def slope(x):
    ...     return nbgrad.grad((x * x).sum(), x)[0]
    >>> x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    >>> y = slope(x)
    >>> path = os.path.join(tempfile.mkdtemp(), "slope.nbgrad")
    >>> nbgrad.jit.save(slope, path, objects=False)
    >>> nbgrad.jit.load(path)(x)
    tensor([2., 4.])
    """
    if isinstance(fn, Handle):
        fn = fn._compiled_
    if not isinstance(fn, Compiled):
        raise ArgumentError(f"save: fn is of type {type(fn).__name__}, expected a function that compile has made.")
    name = getattr(fn, "__name__", "") or type(fn.fn).__name__
    folder = os.path.dirname(os.path.abspath(require_path("save", path)))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "save: there is no such folder. Hint: make it first", folder)
    table: dict[str, Any] = {"name": name, "platform": platform_key(), "variants": [], "objects": {}}
    parts: dict[str, bytes] = {}
    pairs = [(key, variant) for key, group in fn._variants_.items() for variant in group]
    if not pairs:
        raise GraphError(f"save: nothing of {name} was captured. Hint: call it once with arguments like those that it is for.")
    for k, (key, variant) in enumerate(pairs):
        try:
            table["variants"].append(Record(variant, parts).variant(key))
        except GraphError as error:
            raise GraphError(f"save: {name}, variant {k}: {error}") from None
    if objects:
        with TemporaryDirectory() as folder:
            trial = os.path.join(folder, "trial")
            write_file(trial, table, parts)
            needed = needed_objects(trial)
        for key, (code, symbols) in [(key, found) for key in needed if (found := loader().store.read(key)) is not None]:
            table["objects"][key] = {"symbols": symbols, "bytes": hexdigest(code)}
            parts[hexdigest(code)] = code
    write_file(path, table, parts)


def cannot(what: str, hint: str) -> GraphError:
    """A reason."""
    return GraphError(f"{what}: a file cannot hold that. Hint: {hint}.")


class Record:
    """Writes down a variant.

    Attributes:
        parts: bytes by digest, to which constants are added.
    """

    def __init__(self, variant: Run, parts: dict[str, bytes]):
        self.which, self.parts = variant, parts

    def variant(self, key: Any) -> dict[str, Any]:
        """The variant.

        Raises:
            GraphError: a file cannot hold it.
        """
        variant, parts = self.which, self.which.parts
        for reason in refusals(variant):
            raise reason
        tree, kinds, sharing, enabled, dtype, _ = key
        values = [x for x in parts.values if isinstance(x, Value)]
        results = [value for value in variant.program.results if value in variant.originals] if parts.live else []
        outputs = [*values, *parts.gradients, *(value for _, value in parts.writes), *parts.words, *results, *parts.saved]
        numbers = {value: k for k, value in reversed(list(enumerate(values)))}
        count = iter(range(len(values)))
        return {
            "given": spell_tree(variant.given),
            "paths": variant.paths,
            "kinds": [spell_kind(kind) for kind in kinds],
            "sharing": sharing,
            "enabled": enabled,
            "passes": variant.passes,
            "passed": list(variant.leaves),
            "dtype": dtype.name,
            "graph": self.graph(parts.graph, outputs),
            "floats": variant.floats,
            "inferred": variant.inferred,
            "result": spell_tree(variant.tree),
            "leaves": [next(count) if isinstance(x, Value) else spell_value(x) for x in parts.values],
            "gradients": len(parts.gradients),
            "writes": [parts.graph.inputs.index(target) for target, _ in parts.writes],
            "words": len(parts.words),
            "results": len(results),
            "live": [numbers[value] for value in parts.live],
            "forms": variant.parts.forms,
            "freed": [numbers[value] for value in parts.freed],
            "ones": [list(map(list, each)) for each in variant.identities if isinstance(each, Ones)],
            "known": [k for k, value in enumerate(parts.graph.constants) if id(value.data) in parts.known],
            "acts": None if variant.side_effects is None else self.side_effects(),
            "history": self.history(results) if parts.live else None,
        }

    def side_effects(self) -> dict[str, Any]:
        """What it does beside computing its results."""
        effects: Any = self.which.side_effects
        return {
            "sources": [source.leaf for source in effects.sources],
            "needed": effects.needed,
            "times": effects.times,
            "gradients": effects.gradients,
            "count": effects.count,
        }

    def history(self, results: Sequence[Value]) -> dict[str, Any]:
        """How passes go through its results.

        Args:
            results: of the steps, in whose place the graph has values of its own.
        """
        variant, backward = self.which, self.which.backward
        rest = [] if backward is None else list(backward.results)
        count = sum(isinstance(x, Value) for x in variant.parts.values)
        outputs = [*(variant.originals[value] for value in results), *variant.words, *variant.graph.outputs[:count], *rest]
        found: dict[str, Any] = {
            "graph": self.graph(variant.graph, outputs),
            "words": len(variant.words),
            "learned": [self.tensor(x) for x in variant.learned],
            "backward": None,
        }
        if backward is not None:
            make_usual(variant, backward)
            found["backward"] = {
                "results": len(backward.results),
                "needs": backward.needs,
                "count": backward.count,
                "places": backward.places,
                "read": backward.read,
                "unsaved": sorted(backward.unsaved),
                "lost": backward.lost,
                "programs": [
                    {
                        "wanted": wanted,
                        "layouts": [None if x is None else type_text(x) for x in layouts],
                        "graph": self.graph(program.graph, program.graph.outputs),
                    }
                    for (wanted, layouts), program in backward.programs.items()
                    if program is not None
                ],
            }
        return found

    def graph(self, graph: Graph, outputs: Sequence[Any]) -> dict[str, Any]:
        """A graph with other outputs: its text, and the constants that are parameters there.

        Raises:
            GraphError: its text does not say all of it.
        """
        whole = Graph(graph.inputs, graph.nodes, list(outputs), graph.constants, graph.name)
        require_no_python(whole)
        names = {f"c{k}": value.data for k, value in enumerate(whole.constants) if not is_inline(value)}
        text = text_of(whole, whole.constants, whole.name)
        differs = difference(parse(text, names), whole)
        if differs:
            raise cannot(f"the text of {graph.name} does not say all of it ({differs})", "keep to tensors and numbers")
        return {"text": text, "constants": {name: self.bytes(x) for name, x in names.items()}}

    def tensor(self, x: Tensor) -> dict[str, str]:
        """A tensor."""
        return {"type": type_text(x.layout.plain(), requires_grad(x)), "bytes": self.bytes(x)}

    def bytes(self, x: Tensor) -> str:
        """The digest of a tensor's elements."""
        data = bytes_of(x)
        digest = hexdigest(data)
        self.parts[digest] = data
        return digest


def make_usual(variant: Run, backward: Backward) -> None:
    """Have the program of the usual pass: of cotangents of all results to all arguments."""
    if any(program is not None for program in backward.programs.values()):
        return
    roots = [value for value, needed in zip(backward.results, backward.needs) if needed]
    layouts = tuple([layout_for(True, example(value.layout)) if value.layout else None for value in roots])
    wanted = tuple([k for k, value in enumerate(variant.parts.graph.inputs) if value.requires_grad])
    operands = [*[example(value.layout) for value in variant.graph.inputs if value.layout], *backward.captured]
    every = backward.examples(operands, [example(value.layout) for value in variant.words if value.layout])
    try:
        backward.programs[wanted, layouts] = backward.program(every, wanted, layouts)
    except Exception:  # such passes go call by call
        pass


# ---- what a file cannot hold ------------------------------------------------------------------------------------------


def refusals(variant: Run) -> Iterator[GraphError]:
    """Why a file cannot hold a variant."""
    effects, parts = variant.side_effects, variant.parts
    if any(each.same for each in variant.identities if isinstance(each, Identity)):
        yield cannot("an argument that is a variable of the function, too", "give it another tensor")
    if effects is not None:
        sources = [source.leaf for source in effects.sources if isinstance(source, GradientOf)]
        if effects.keep is not None or any(isinstance(source, StateOf) for source in effects.sources):
            yield cannot("state in names, or of which tensors need gradients", "give it as an argument, and return what it becomes")
        if len(sources) < len(effects.sources):
            yield cannot("numbers that an optimizer computes anew in every call", "give them as arguments")
        if not all(isinstance(owner, int) for owner in (*sources, *(owner for owner, _ in (*effects.needed, *effects.gradients)))):
            yield cannot("gradients of tensors that the program holds", "give these as arguments, or return gradients")
        if not all(isinstance(target, int) for target in effects.targets):
            yield cannot("writes to a tensor that the program holds", "give it as an argument, or return what it becomes")
        if effects.after:
            yield cannot("counters that go on from call to call", "give them as arguments")
    if parts.live and any(map(requires_grad, variant.learned)):
        what = "results with a history that leads to tensors that the program holds"
        yield cannot(what, "give these as arguments, or call it under no_grad before it is saved")
    for graph in (parts.graph, variant.graph):
        yield from refusals_of(graph)


def refusals_of(graph: Block) -> Iterator[GraphError]:
    """Why a file cannot hold a graph."""
    for node in graph.all_nodes():
        if any(isinstance(x, Generator) for x in node.attributes.values()):
            yield cannot(f"a random generator of the program, at {node.line}", "draw from the default one, or outside")
