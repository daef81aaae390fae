"""``load``: a compiled function from a file that ``save`` (saving.py) wrote: NOTE [Saved functions]."""

from __future__ import annotations

from typing import Any, NoReturn, Sequence

from .._version import __version__
from ..base.dtypes import get_default_dtype
from ..base.errors import ArgumentError, GraphError
from ..base.grad_mode import dual_levels, mode, special
from ..base.nested import Tree
from ..graph.edges import requires_grad
from ..kernels.cpu.store import loader, platform_key
from ..tensors.tensor import Tensor
from .arguments.keys import key_of, key_of_tree, sharing
from .arguments.leaves import NUMBERS, kind_text
from .arguments.structures import flatten
from .compile import Compiled
from .compiled.runs import MISSED, Run
from .execution.costs import measured
from .files.files import File, read_file, refuse
from .files.loaded_variants import LoadedVariant, read_variant
from .ir.ir import Value
from .ir.replay import run_block, tensor_of

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
        ArgumentError: no path. GraphError: another file, or a damaged one. OSError: there is none.

    >>> import nbgrad, os, tempfile
    >>> double = nbgrad.compile(lambda x: 2 * x)
    >>> y = double(nbgrad.ones(2))
    >>> path = os.path.join(tempfile.mkdtemp(), "double.nbgrad")
    >>> nbgrad.jit.save(double, path, objects=False)
    >>> again = nbgrad.jit.load(path)
    >>> again(nbgrad.tensor([3.0, 4.0])), again.objects
    (tensor([6., 8.]), 'none in the file: compiled from the text')
    """
    file = read_file(path)
    try:
        note = offer_objects(file)
        groups: dict[Any, list[Run]] = {}
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

    def __init__(self, name: str, groups: dict[Any, list[Run]], objects: str):
        self._saved_, self.objects = groups, objects

        def by_calls(*args: Any, **kwargs: Any) -> Any:
            return self._by_calls_(args, kwargs)

        by_calls.__name__ = by_calls.__qualname__ = name
        super().__init__(by_calls, True, sum(map(len, groups.values())))
        self.__module__ = __name__

    def __get__(self, owner: Any, kind: type | None = None) -> Loaded:
        """The same function: it knows no objects."""
        return self

    def __repr__(self) -> str:
        return f"<loaded {self.__name__}: {self._count_} variants>"

    def clear(self) -> None:
        """Begin again with what was loaded: nothing else is captured."""
        super().clear()
        self._variants_ = {key: list(group) for key, group in self._saved_.items()}
        for key in self._saved_:
            if fixed := frozenset([k for k, kind in enumerate(key[1]) if kind[0] in NUMBERS and kind[1] is not None]):
                kinds = [NUMBERS[kind[0]] if k in fixed else kind for k, kind in enumerate(key[1])]
                self._fixed_[key[0], tuple(kinds), *key[2:]] = fixed
        self._count_ = self.limit

    def _eagerly_(self, group: list[Run], key: Any, args: tuple, kwargs: dict) -> NoReturn:
        """What was not saved."""
        self._refuse_(*flatten((args, kwargs)))

    def _refuse_(self, leaves: list, tree: Tree) -> NoReturn:
        """Arguments that no variant is for.

        Raises:
            ArgumentError: their structure, types, layouts or flags. GraphError: values that the program asks for.
        """
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        kinds = [key_of(leaf, k, None, tree) for k, leaf in enumerate(leaves)]
        found = [mismatches(key, group[0], kinds, tree, tensors) for key, group in self._variants_.items()]
        nearest = min(found)[1]
        name, count = self.fn.__name__, len(found)
        others = (
            f" ({count - 1} other kind{'s' * (count > 2)} of arguments do{'es' * (count == 2)} not fit either)" if count > 1 else ""
        )
        if not nearest:
            asked = [variant.first_guard() for group in self._variants_.values() for variant in group if variant.first_guard()]
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
        more = (
            variant.side_effects is not None
            or any(node.effect != "pure" and not node.outs for node in graph.nodes)
            or variant.asking
        )
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
            if (
                key[0] == key_of_tree(tree)
                and all(map(is_of_kind, key[1], leaves))
                and (key[3] is mode.enabled or not any_flag(leaves))
            ):
                return group[0]  # type: ignore[return-value]
        return None


def any_flag(leaves: Sequence[Any]) -> bool:
    """Whether gradients flow into an argument."""
    return any(isinstance(x, Tensor) and requires_grad(x) for x in leaves)


def is_of_kind(kind: Any, leaf: Any) -> bool:
    """Whether a leaf is of a kind, but for its memory."""
    if not isinstance(leaf, Tensor):
        return (type(leaf), repr(leaf)) == kind
    if len(kind) != 3:
        return False
    return leaf.dtype is kind[0].dtype and tuple(leaf.shape) == kind[0].shape and bool(requires_grad(leaf)) is kind[1]


class Spelled:
    """What stands for a leaf in a message."""

    def __init__(self, kind: Any):
        self.kind = kind

    def __repr__(self) -> str:
        return kind_text(self.kind)


def spelled(tree: Tree, kinds: Sequence[Any]) -> str:
    """Arguments as they would be written."""
    args, kwargs = tree.unflatten(map(Spelled, kinds))
    return f"({', '.join([*map(repr, args), *(f'{name}={value!r}' for name, value in kwargs.items())])})"


def mismatches(key: Any, variant: Run, kinds: Sequence[Any], tree: Tree, tensors: list[Tensor]) -> tuple[int, list[str]]:
    """What is other than a variant has it, in words; before that, how much."""
    wanted, expected, shared, enabled, dtype, _ = key
    if wanted != key_of_tree(tree):
        names = ", ".join(f"{path}: {kind_text(kind)}" for path, kind in zip(variant.paths, expected))
        return 3 * (len(kinds) + len(expected)) + 3, [f"expected ({names}), got {spelled(tree, kinds)}"]
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
    others = sum(type(mine[0]) is not type(given[0]) for mine, given in zip(expected, kinds) if isinstance(given, tuple))
    return len(found) + others, found
