"""``load``: a compiled function from a file that ``save`` (saving.py) wrote: NOTE [Saved functions]."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn, Sequence

import numpy as np

from .._version import __version__
from ..base.dtypes import dtype_of, get_default_dtype
from ..base.errors import ArgumentError, GraphError
from ..base.grad_mode import dual_levels, mode, special
from ..base.nested import Tree, flatten
from ..graph.edges import requires_grad
from ..kernels.cpu.store import loader, platform_key
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .acts import Acts
from .backward import Backward
from .checker import check
from .compile import Compiled, key_of, key_of_tree, sharing
from .costs import measured
from .effects import GradientOf
from .files import File, read_file, refuse
from .graph import Graph
from .guards import Guards
from .ir import Value
from .leaves import NUMBER
from .literals import Type, type_text
from .parser import given_constants, parse, type_of_text
from .program import Program
from .recorded import Recorder
from .replay import run_block, tensor_of
from .sequence import Expected
from .spelling import read_kind, read_tree, read_value, require_no_python
from .variants import MISSED, Parts, Variant

__all__ = ["Loaded", "load"]


def load(path: Any) -> Loaded:
    """The compiled function of a file.

    Args:
        path: of a file that ``save`` wrote.

    Returns:
        The function: called as the one that was saved, with arguments of the kinds that it had been called with; its results have
        the histories that those of the other have. ``objects`` says whether the machine code of the file is used: otherwise the
        text is compiled, where it was saved by another version or on another processor, or where others may write the file.

    Raises:
        GraphError: another file, or a damaged one. OSError: none.
    """
    file = read_file(path)
    try:
        note = offer_objects(file)
        groups: dict[Any, list[Variant]] = {}
        for record in file.table["variants"]:
            with measured() as cost:
                key, variant = read_variant(file, record)
            variant.cost = cost
            groups.setdefault(key, []).append(variant)
        return Loaded(str(file.table["name"]), groups, note)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration) as error:
        refuse(file.path, f"is damaged: its table is not as save writes it ({type(error).__name__}: {error})", "save it again")


def offer_objects(file: File) -> str:
    """Have the loader take the file's objects; what became of them, for people."""
    objects = file.table["objects"]
    if not objects:
        return "none in the file: compiled from the text"
    if not file.own:
        return "not used, for others may write the file: compiled from the text"
    if file.table["nbgrad"] != __version__:
        return f"not used, for version {file.table['nbgrad']} saved them, and this is {__version__}: compiled from the text"
    if file.table["platform"] != platform_key():
        return "not used, for they were saved on another processor, or for other libraries: compiled from the text"
    found = {key: (file.find(each["bytes"]), list(each["symbols"])) for key, each in objects.items()}
    good = {key: (code, symbols) for key, (code, symbols) in found.items() if code is not None}
    loader().offer(good)
    damaged = len(objects) - len(good)
    return f"{len(good)} from the file" + (f", {damaged} damaged: compiled from the text" if damaged else "")


class Loaded(Compiled):
    """A function that was compiled before, without its program.

    Attributes:
        objects: what became of the machine code of the file.
    """

    _comparable_ = False

    def __init__(self, name: str, groups: dict[Any, list[Variant]], objects: str):
        self._saved_, self.objects = groups, objects

        def by_calls(*args: Any, **kwargs: Any) -> Any:
            return self._by_calls_(args, kwargs)

        by_calls.__name__ = by_calls.__qualname__ = name
        super().__init__(by_calls, True, True, sum(map(len, groups.values())))
        self.__module__ = __name__

    def __get__(self, owner: Any, kind: type | None = None) -> Loaded:
        """The same function: it knows no objects."""
        return self

    def __repr__(self) -> str:
        return f"<loaded {self.__name__}: {self._count_} variants>"  # type: ignore[attr-defined]

    def clear(self) -> None:
        """Begin again with what was loaded: nothing else is captured."""
        super().clear()
        self._variants_ = {key: list(group) for key, group in self._saved_.items()}
        for key in self._saved_:
            if fixed := frozenset([k for k, kind in enumerate(key[1]) if kind[0] is float and kind != NUMBER]):
                self._fixed_[key[0], tuple([NUMBER if k in fixed else kind for k, kind in enumerate(key[1])]), *key[2:]] = fixed
        self._count_ = self.limit

    def _eagerly_(self, group: list[Variant], args: tuple, kwargs: dict) -> NoReturn:
        """What was not saved."""
        self._variants_ = {key: group for key, group in self._variants_.items() if group}
        self._refuse_(*flatten((args, kwargs)))

    def _refuse_(self, leaves: list, tree: Tree) -> NoReturn:
        """Arguments that no variant is for.

        Raises:
            ArgumentError: their structure, types, layouts or flags. GraphError: values that the program asks for.
        """
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        kinds = [key_of(leaf, k, None, tree) for k, leaf in enumerate(leaves)]
        found = [mismatches(key, group[0], kinds, tree, tensors) for key, group in self._variants_.items()]
        nearest = min(found, key=len)
        name, count = self.fn.__name__, len(found)
        others = (
            f" ({count - 1} other kind{'s' * (count > 2)} of arguments do{'es' * (count == 2)} not fit either)" if count > 1 else ""
        )
        if not nearest:
            asked = [variant.asks() for group in self._variants_.values() for variant in group if variant.asks()]
            what = asked[0] if asked else "gradients of arguments, or memory that these share"
            raise GraphError(f"{name}: was saved for other answers: {what}. Hint: save it behind a call like this one.")
        raise ArgumentError(
            f"{name}: was saved for other arguments: {'; '.join(nearest[:3])}{others}. Hint: save it behind a call like this one."
        )

    def _by_calls_(self, args: tuple, kwargs: dict) -> Any:
        """A call in a special mode: the operations of the graph, one by one.

        Raises:
            GraphError: a program that does more than compute; tangents.
        """
        leaves, tree = flatten((args, kwargs))
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        variant = self._alike_(leaves, tree)
        if variant is None:
            self._refuse_(leaves, tree)
        graph, values = variant.calls
        if not special and not dual_levels and all(x.layout is value.layout for x, value in zip(tensors, graph.inputs)):
            made = variant(tensors)
            if made is not MISSED:
                return made
        more = variant.acts is not None or any(node.effect != "pure" and not node.outs for node in graph.nodes) or variant.asking
        if more or dual_levels:
            what = "takes no tangents" if dual_levels else "asks for values, prints or changes its arguments"
            raise GraphError(
                f"{self.fn.__name__}: {what}, and was loaded: its graph does not do that by calls. Hint: call it outside."
            )
        known: dict[Value, Any] = {value: tensor_of(value) for value in graph.constants}
        run_block(graph, tensors, known, flags=True)
        return variant.tree.unflatten([known[x] if isinstance(x, Value) else x for x in values])

    def _alike_(self, leaves: list, tree: Tree) -> LoadedVariant | None:
        """A variant for tensors of these shapes and flags, which may be batches."""
        for key, group in self._variants_.items():
            if key[0] == key_of_tree(tree) and all(map(alike, key[1], leaves)) and (key[3] is mode.enabled or not any_flag(leaves)):
                return group[0]  # type: ignore[return-value]
        return None


def any_flag(leaves: Sequence[Any]) -> bool:
    """Whether gradients flow into an argument."""
    return any(isinstance(x, Tensor) and requires_grad(x) for x in leaves)


def alike(kind: Any, leaf: Any) -> bool:
    """Whether a leaf is of a kind, but for its memory."""
    if not isinstance(leaf, Tensor):
        return (type(leaf), repr(leaf)) == kind
    if len(kind) != 3:
        return False
    return leaf.dtype is kind[0].dtype and tuple(leaf.shape) == kind[0].shape and bool(requires_grad(leaf)) is kind[1]


def mismatches(key: Any, variant: Variant, kinds: Sequence[Any], tree: Tree, tensors: list[Tensor]) -> list[str]:
    """What is other than a variant has it, in words."""
    wanted, expected, shared, enabled, dtype = key
    if wanted != key_of_tree(tree):
        names = ", ".join(f"{path}: {kind_text(kind)}" for path, kind in zip(variant.paths, expected))
        return [f"expected ({names}), got {tree!r} with {len(kinds)} leaves", *[""] * len(kinds)]
    found = [
        f"{path}: expected {kind_text(mine)}, got {kind_text(given)}"
        for path, mine, given in zip(variant.paths, expected, kinds)
        if mine != given
    ]
    if enabled is not mode.enabled:
        found.append(f"grad mode: expected {'on' if enabled else 'off'}, got {'on' if mode.enabled else 'off'}")
    if dtype is not get_default_dtype():
        found.append(f"default dtype: expected {dtype.name}, got {get_default_dtype().name}")
    if not found and shared != sharing(tensors):
        found.append("arguments that share memory, or do not any more")
    return found


def kind_text(kind: Any) -> str:
    """What a leaf is."""
    if isinstance(kind, tuple) and len(kind) == 3:
        text = type_text(kind[0].plain(), kind[1])
        return text if kind[2] is Tensor else f"{text} ({kind[2].__name__})"
    if kind == NUMBER:
        return "float"
    return str(kind[1]) if isinstance(kind, tuple) else f"a {type(kind).__name__}"


# ---- reading -----------------------------------------------------------------------------------------------------------


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
    )
    return key, LoadedVariant(file, record, given)


class LoadedVariant(Variant):
    """A variant without a program.

    Attributes:
        calls: the graph that replays run, and the leaves of its result.
    """

    def __init__(self, file: File, record: dict[str, Any], given: Tree):
        self.given, self.paths, self.tree = given, list(record["paths"]), read_tree(record["result"])
        self.guards, self.floats = Guards(None), [int(k) for k in record["floats"]]
        kinds = list(map(read_kind, record["kinds"]))
        self.numbers = frozenset([k for k, kind in enumerate(kinds) if kind == NUMBER])
        given_kinds = [kind for kind in kinds if isinstance(kind[0], Layout) or kind == NUMBER]
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
        self.backward, self.learned = None, []
        if history is not None:
            self.read_history(file, history, leaves, results)
        self.acts = None if record["acts"] is None else read_acts(graph, record["acts"], writes)
        self.passes, self.leaves = bool(record["passes"]), dict.fromkeys(record["passed"])
        flags = [kind != NUMBER and kind[1] for kind in given_kinds]
        flags += [isinstance(value.data, Tensor) and requires_grad(value.data) for value in graph.constants]
        marks = tuple([int(flag) * (3 if self.passes else 1) for flag in flags])
        self.assemble(
            Parts(
                graph,
                leaves,
                gradients,
                writes,
                [values[k] for k in record["live"]],
                [values[k] for k in record["freed"]],
                words,
                list(outputs),
                {id(graph.constants[k].data) for k in record["known"]},
                record["tensors"],
                Expected(self.guards.names, self.guards.cells, bool(record["enabled"]), marks),
                frozenset([k for k, kind in enumerate(given_kinds) if kind == NUMBER]),
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


def read_acts(graph: Graph, record: dict[str, Any], writes: list[tuple[Value, Value]]) -> Acts:
    """What a program does beside computing its results."""
    pairs = [(owner, had) for owner, had in record["needed"]]
    effects: Any = SimpleNamespace(
        sources=[GradientOf(leaf) for leaf in record["sources"]],
        after=[],
        needed={k: SimpleNamespace(owner=owner, made=True if had else None) for k, (owner, had) in enumerate(pairs)},
        writes=[(target, value, times) for (target, value), times in zip(writes, record["times"])],
        learned={},
        gradients=[(owner, None if place is None else place) for owner, place in record["gradients"]],
    )
    return Acts(graph, effects, record["count"])
