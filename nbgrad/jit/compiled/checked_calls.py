"""``NBGRAD_CHECK=1``: every call of a compiled function also runs as it is, and both are compared.

NOTE [Checked calls]: the program runs first; what it leaves in what was there before (memory that its names hold, gradients,
generators, dicts, lists and variables of the program) is noted, and put back as it was; in a call that was captured, as it was
before that. Then the function runs, on copies of its arguments; what the program has left is put in the place of what that
leaves. Where the capture has taken from an iterator that cannot go back, the function does not run again. A pass through a
program's results runs by calls, too. Numbers are compared bit for bit, but for which NaN they are. Where matrices are decomposed
or solved, whose last digits depend on where memory lies, ``CLOSE`` roundings of the largest element are allowed; so they are in
higher orders of ``while_loop``, of which a graph adds up the parts in another order: NOTE [Unwinding]. Steps in Python run twice,
which is said once, and print once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

import numpy as np

from ...base.calls import CALLS
from ...base.dtypes import bfloat16, float32
from ...base.errors import GraphError, KernelError
from ...base.mode_contexts import no_grad
from ...base.nested import Tree, flatten
from ...creation.generators import Generator, default_generators
from ...graph.edges import requires_grad
from ...ops import matrices
from ...tensors.arrays import values_of
from ...tensors.choices import current
from ...tensors.storage import Storage, unwatched
from ...tensors.tensor import Tensor, meta_of, native, put_layout
from ..arguments.structures import flatten_result
from ..guards.external_state import watching
from ..ir.devices import copied, put_back
from ..ir.ir import Block
from ..nodes.rehearsals import rehearsal
from ..state.snapshots import Snapshot, restore

if TYPE_CHECKING:
    from .runs import Run

__all__ = ["check_pass", "checked"]

CLOSE = 1 << 12
MATRICES = f"{matrices.__name__}."  # where what decomposes or solves is declared


def checked(variant: Run, fn: Callable, leaves: list, tree: Tree, missed: Any) -> Any:
    """The result of a variant, which is what the function gives. Nothing is compared of one whose capture was the call, nor while a
    graph of a GPU is captured, when there are no values.

    Args:
        missed: what the variant gives where it does not hold.

    Raises:
        GraphError: it is not. KernelError: a call of the function is not as it should be.
    """
    inputs = [x for x in leaves if isinstance(x, Tensor)]
    if variant.once or current.capture is not None:
        return variant(variant.inputs(leaves))
    say_once(variant)
    before = World(variant, leaves)
    copies = Copies(inputs, before)
    out = variant(variant.inputs(leaves))
    if out is missed:
        return out
    got, after = before.state(out, inputs), World(variant, leaves)
    before.put_back()
    try:
        if not is_rewound(variant):
            return out
        with rehearsal(), watching():
            want = before.seen(fn, copies, leaves, tree)
    except KernelError:  # of calls, which are checked as well
        raise
    except Exception as error:
        name = variant.graph.name
        raise GraphError(f"compile: {name} raises {type(error).__name__}, and its program does not: {error}") from error
    finally:
        after.put_back()
    compare_all(variant, got, want)
    return out


def is_rewound(variant: Run) -> bool:
    """Let all be as it was before the capture, if that was part of this call; False where iterators and the like cannot go back."""
    captured = getattr(variant, "before", None)
    if captured is None:
        return True
    captured.put_back()
    return not variant.guards.members.moved()


def check_pass(variant: Any, got: Sequence[Any], want: Sequence[Any]) -> None:
    """See that a pass through a program gave what it gives by calls.

    Raises:
        GraphError: it did not.
    """
    states = [
        [(f"the gradient of argument {k}", None if g is None else seen(g, {})) for k, g in enumerate(gs)] for gs in (got, want)
    ]
    compare_all(variant, *states)


def compare_all(variant: Run, got: list[tuple[str, Any]], want: list[tuple[str, Any]]) -> None:
    """Refuse what is unequal.

    Raises:
        GraphError: something is.
    """
    close = is_close(variant.graph)
    for (what, x), (_, y) in zip(got, want):
        compare(variant.graph.name, what, x, y, close)


said: set[str] = set()


def say_once(variant: Run) -> None:
    """Say where a step in Python will run twice."""
    node = next((node for node in variant.graph.all_nodes() if node.effect == "python"), None)
    if node is not None and node.line not in said:
        said.add(node.line)
        print(f"nbgrad: NBGRAD_CHECK runs the step in Python of {variant.graph.name} at {node.line} twice", file=sys.stderr)


def is_close(graph: Block) -> bool:
    """Whether a graph decomposes or solves, or has derivatives of the way back through a loop that a test ends."""
    nodes = list(graph.all_nodes())
    formulas = [getattr(node.op, "formula", None) for node in nodes]
    if any(len(node.attributes.get("turns", ())) > 1 for node in nodes):
        return True
    return any(getattr(formula, "__module__", "").startswith(MATRICES) for formula in formulas)


# ---- what there is ---------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """A tensor as it was.

    Attributes:
        values: its elements; ``flag``: whether it needs a gradient; ``memory``: the number of the memory on which it lies.
    """

    values: np.ndarray
    dtype: str
    flag: bool
    memory: int


class World:
    """What was there before a call, and how it was.

    Attributes:
        tensors: that the program's names hold; ``places``: where these were; ``arrays``: identities of NumPy arrays on which some
            lie.
        gradients: of these; ``storages``: of both, with what they hold; ``generators`` with their states.
        before: what is no tensor. exchanged: names whose contents are state.
        dicts: in which names are, other than namespaces of modules, with copies: an optimizer counts in its state under names that
            the program does not speak of.
    """

    def __init__(self, variant: Run, leaves: Sequence[Any]):
        guards = variant.guards
        self.exchanged = guards.exchanged
        state = [x for slot in self.exchanged for x in flatten(slot.content())[0] if isinstance(x, Tensor)]
        self.tensors = list({id(x): x for x in (*guards.tensors, *variant.known, *state)}.values())
        self.arrays = variant.arrays
        self.places = [(x, x._storage_, x._offset_, x.layout) for x in self.tensors]
        self.gradients = [(x, gradient_of(x)) for x in self.tensors]
        owners = [*self.tensors, *(g for _, g in self.gradients if g is not None)]
        storages: dict[int, Storage] = {id(x._storage_): x._storage_ for x in owners}
        self.storages = [(storage, copied(storage), storage.version) for storage in storages.values()]
        nodes = [node.attributes.get("generator") for node in variant.graph.all_nodes()]
        found = {id(x): x for x in (*default_generators(), *nodes, *leaves) if isinstance(x, Generator)}
        self.generators = [(each, (each._seed, each._calls)) for each in found.values()]
        self.before = Snapshot(guards)
        holders = {id(x): x for x in guards.names[::3] if type(x) is dict and "__name__" not in x}
        self.dicts = [(x, dict(x)) for x in holders.values()]

    def put_back(self) -> None:
        """Let everything be as it was."""
        for x, g in self.gradients:
            if gradient_of(x) is not g:
                meta_of(x).grad = g
        for x, storage, offset, layout in self.places:
            if x._storage_ is not storage:
                x._storage_, x._offset_ = storage, offset
                put_layout(x, layout)
        for storage, copy, version in self.storages:
            put_back(storage, copy)
            storage.version = version
        for generator, (seed, calls) in self.generators:
            generator._seed, generator._calls = seed, calls
        for holder, held in self.dicts:
            restore(holder, held)
        self.before.put_back()

    def seen(self, fn: Callable, copies: Copies, leaves: list, tree: Tree) -> list[tuple[str, Any]]:
        """What a function gives and leaves."""
        rest = iter(copies.tensors)
        args, kwargs = tree.unflatten([next(rest) if isinstance(x, Tensor) else x for x in leaves])
        return self.state(fn(*args, **kwargs), copies.tensors)

    def state(self, result: Any, inputs: Sequence[Tensor]) -> list[tuple[str, Any]]:
        """A result, and what is there now, each with a name for people."""
        leaves, tree = flatten_result(result)
        found: list[tuple[str, Any]] = [("the structure of its result", tree)]
        memory: dict[int, int] = {}
        for x in (*inputs, *self.tensors, *leaves):
            if isinstance(x, Tensor):
                memory.setdefault(id(x._storage_.array), len(memory))
        for place, x in zip(tree.places("its result"), leaves):
            found.append((place, seen(x, memory)))
        for slot in self.exchanged:
            found += [(f"what {slot.key!r} holds", seen(x, {})) for x in flatten(slot.content())[0]]
        known = [(f"argument {k}", x) for k, x in enumerate(inputs)]
        known += [(f"the tensor {k} that its names hold", x) for k, x in enumerate(self.tensors)]
        for name, x in known:
            found.append((name, seen(x, memory)))
            if id(x._storage_.array) not in self.arrays:
                found.append((f"the version of {name}", int(x._storage_.version)))  # of other memory, perhaps
            g = gradient_of(x)
            found.append((f"the gradient of {name}", None if g is None else seen(g, {})))
        found += [(f"the state of generator {k}", (x._seed, x._calls)) for k, (x, _) in enumerate(self.generators)]
        return found


class Copies:
    """Arguments on memory of their own, which share it, and are one tensor, as the arguments do; so are their gradients. Those on
    memory of ``world`` are themselves.

    Attributes:
        tensors: one for each argument.
    """

    def __init__(self, inputs: Sequence[Tensor], world: World):
        self.known = {id(storage.array) for storage, _, _ in world.storages}
        self.copies: dict[int, Storage] = {}  # by identity of the memory
        self.storages: dict[int, Storage] = {}
        self.made: dict[int, Tensor] = {}
        self.tensors = [self.copy(x) for x in inputs]

    def copy(self, x: Tensor) -> Tensor:
        """The copy of a tensor, the same one whenever it is asked for."""
        storage = x._storage_
        if id(storage.array) in self.known:
            return x
        if id(x) in self.made:
            return self.made[id(x)]
        if id(storage) not in self.storages:
            if id(storage.array) not in self.copies:
                self.copies[id(storage.array)] = copied(storage)
            made = self.storages[id(storage)] = unwatched(self.copies[id(storage.array)], storage.version)
            made.writable = storage.writable
        copy: Tensor = native.tensor(x.layout.template, self.storages[id(storage)], x._offset_, requires_grad(x), None)
        if type(x) is not Tensor:
            copy.__class__ = type(x)
        self.made[id(x)] = copy
        g = gradient_of(x)
        if g is not None:
            meta_of(copy).grad = self.copy(g)
        return copy


def gradient_of(x: Tensor) -> Tensor | None:
    """The gradient that a tensor has."""
    return None if x._meta_ is None else x._meta_.grad


def seen(x: Any, memory: dict[int, int]) -> Any:
    """A leaf as it is now."""
    if not isinstance(x, Tensor):
        return x
    with no_grad():
        plain = native.tensor(x.layout.plain().template, x._storage_, x._offset_, False, None)
        plain = CALLS["to_dtype"](plain, float32) if plain.layout.dtype is bfloat16 else plain
    return Seen(np.array(values_of(plain)), x.layout.dtype.name, requires_grad(x), memory.get(id(x._storage_.array), -1))


# ---- comparison ------------------------------------------------------------------------------------------------------


def compare(name: str, what: str, got: Any, want: Any, close: bool) -> None:
    """Refuse what is unequal.

    Raises:
        GraphError: with the first element that is.
    """
    if isinstance(got, Seen) and isinstance(want, Seen):
        compare_tensors(name, what, got, want, close)
    elif type(got) is not type(want) or not (got == want or got != got and want != want):
        refuse(name, what, shown(got), shown(want))


def compare_tensors(name: str, what: str, got: Seen, want: Seen, close: bool) -> None:
    """Refuse tensors that are unequal."""
    for part, x, y in (
        ("the dtype of ", got.dtype, want.dtype),
        ("the shape of ", list(got.values.shape), list(want.values.shape)),
        ("requires_grad of ", got.flag, want.flag),
        ("the memory (by number) of ", got.memory, want.memory),
    ):
        if x != y:
            refuse(name, part + what, x, y)
    unequal = difference(got.values, want.values, close)
    if unequal.any():
        index = tuple(map(int, np.unravel_index(int(unequal.argmax()), unequal.shape)))
        refuse(name, f"element {index} of {what}", repr(got.values[index].item()), repr(want.values[index].item()))


def difference(got: np.ndarray, want: np.ndarray, close: bool) -> Any:
    """Which elements are unequal."""
    unequal: Any = (bits_of(got) != bits_of(want)).any(1).reshape(got.shape)
    if got.dtype.kind not in "fc":
        return unequal
    unequal &= ~(np.isnan(got) & np.isnan(want))
    if close and unequal.any():
        finite = np.abs(want[np.isfinite(want)])
        room = CLOSE * np.finfo(got.dtype).eps * (finite.max() if finite.size else 0)
        with np.errstate(invalid="ignore"):
            unequal &= ~(np.abs(got - want) <= room)
    return unequal


def bits_of(x: np.ndarray) -> np.ndarray:
    """The bytes of each element."""
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(x.size, x.itemsize)


def shown(x: Any) -> Any:
    """Something that is no number, in a message."""
    return f"a tensor of {x.dtype} {list(x.values.shape)}" if isinstance(x, Seen) else repr(x)


def refuse(name: str, what: str, got: Any, want: Any) -> None:
    """Raise.

    Raises:
        GraphError: always.
    """
    raise GraphError(f"compile: the program of {name} and the function differ: {what} is {got} and {want}.")
