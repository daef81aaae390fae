"""Loops and branches as operations: ``scan``, ``map``."""

from __future__ import annotations

from typing import Any, Callable, Sequence
from weakref import WeakKeyDictionary

from ..base.dtypes import get_default_dtype
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError, require_callable
from ..base.nested import Tree, flatten
from ..creation.factories import tensor
from ..func.captures import captured
from ..tensors.tensor import Tensor
from .bodies import example_of, traced_body
from .guards import Guards
from .loops import Step, example_slice, scanned

__all__ = ["map", "scan"]

NUMBERS = (bool, int, float, complex)


class Leaves:
    """A nested value of tensors, numbers and None: its tensors, and what rebuilds it.

    Attributes:
        tensors: numbers among the leaves are tensors here.
        tree: the structure; None is a leaf of it, by ``kinds``.
        kinds: for every leaf whether it is a tensor.
    """

    __slots__ = ("tensors", "tree", "kinds")

    def __init__(self, op: str, what: str, value: Any):
        leaves, self.tree = flatten(value)
        self.kinds = tuple([x is not None for x in leaves])
        places = places_of(self.tree, what)
        self.tensors = [member(op, x, place) for x, place in zip(leaves, places) if x is not None]

    @property
    def structure(self) -> tuple[Tree, tuple[bool, ...]]:
        """What rebuilds it."""
        return self.tree, self.kinds

    def places(self, what: str) -> list[str]:
        """What messages call the tensors."""
        return [place for place, kind in zip(places_of(self.tree, what), self.kinds) if kind]


def member(op: str, x: Any, place: str) -> Tensor:
    """A leaf as a tensor.

    Raises:
        ArgumentError: it is no tensor and no number.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, NUMBERS):
        return tensor(x)
    raise ArgumentError(
        f"{op}: {place} is of type {type(x).__name__}, expected a tensor, a number or None, in tuples, lists and dicts. "
        "Hint: what does not change from trip to trip can be a variable that the function names."
    )


def places_of(tree: Tree, what: str) -> list[str]:
    """The place of each leaf, as one would write it."""
    if tree.kind is None:
        return [what]
    found: list[str] = []
    for k, child in enumerate(tree.children):
        key = tree.keys[k] if isinstance(tree.keys, tuple) else k
        found += places_of(child, f"{what}[{key!r}]")
    return found


def rebuilt(structure: tuple[Tree, tuple[bool, ...]], tensors: Sequence[Tensor]) -> Any:
    """The nested value of a structure."""
    tree, kinds = structure
    rest = iter(tensors)
    return tree.unflatten([next(rest) if kind else None for kind in kinds])


def shown(x: Tensor) -> str:
    """A tensor in a message."""
    return f"{x.layout.dtype.name} {list(x.layout.shape)}"


# ---- scan --------------------------------------------------------------------------------------------------------------


class Traced:
    """A step of the program, traced.

    Attributes:
        guards: what it depends on beside its arguments.
        step: what it does; ``used``: the captured tensors that are its whole tensors.
        slices: the structure of the slices that it gives.
    """

    __slots__ = ("key", "guards", "step", "used", "slices")

    def __init__(self, key: Any, fn: Callable, carry: Leaves, xs: Leaves):
        self.key, self.guards = key, Guards(fn)

        def run(*inputs: Tensor) -> list[Tensor]:
            n = len(carry.tensors)
            result = fn(rebuilt(carry.structure, inputs[:n]), rebuilt(xs.structure, inputs[n:]))
            if not isinstance(result, tuple) or len(result) != 2:
                kind = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
                raise ArgumentError(f"scan: step returned {kind}, expected a pair: the next carry, and a slice or None.")
            after, ys = Leaves("scan", "the carry that step returned", result[0]), Leaves("scan", "the slice", result[1])
            check_carry("scan", "step", carry, after)
            self.slices = ys.structure
            return [*after.tensors, *ys.tensors]

        examples = [*map_tensors(example_of, carry.tensors), *map_tensors(example_slice, xs.tensors)]
        found = list({id(x): x for x in (*captured(fn), *self.guards.tensors)}.values())
        body, self.used = traced_body(run, examples, found)
        self.guards.seen.clear()  # or the function, which is among them, would never be forgotten
        self.step = Step(body, len(carry.tensors), len(xs.tensors))

    def fits(self, key: Any) -> bool:
        """Whether the program's names hold what they held."""
        return key == self.key and self.guards.hold()


def map_tensors(fn: Callable, tensors: Sequence[Tensor]) -> list[Tensor]:
    """A function of each."""
    return [fn(x) for x in tensors]


def check_carry(op: str, name: str, before: Leaves, after: Leaves) -> None:
    """Refuse carries that change.

    Raises:
        ArgumentError: structure. ShapeError: a shape. DTypeError: a dtype.
    """
    if before.structure != after.structure:
        raise ArgumentError(
            f"{op}: {name} returned a carry of the structure {structure_text(after)}, expected that of init, "
            f"{structure_text(before)}."
        )
    for x, y, place in zip(before.tensors, after.tensors, before.places("carry")):
        if x.layout.shape != y.layout.shape:
            raise ShapeError(f"{op}: {place} is {shown(x)}, and {name} returned {shown(y)}; expected the same shape in every trip.")
        if x.layout.dtype is not y.layout.dtype or x.layout.device is not y.layout.device:
            raise DTypeError(
                f"{op}: {place} is {shown(x)}, and {name} returned {shown(y)}; expected the same dtype in every trip. "
                f"Hint: init of that dtype, or .to(nbgrad.{x.layout.dtype.name}) at the end of {name}."
            )


def structure_text(leaves: Leaves) -> str:
    """A structure in a message."""
    return repr(leaves.tree.unflatten([Star() if kind else None for kind in leaves.kinds]))


class Star:
    """Stands for a tensor."""

    def __repr__(self) -> str:
        return "*"


MOST_VARIANTS = 16
traced_steps: WeakKeyDictionary[Callable, list[Traced]] = WeakKeyDictionary()


def traced_step(fn: Callable, carry: Leaves, xs: Leaves) -> Traced:
    """The step of a function: traced once for every structure, dtypes and shapes, as long as what it names is the same."""
    parts = [(x.layout.dtype, x.layout.shape) for x in carry.tensors] + [(x.layout.dtype, x.layout.shape[1:]) for x in xs.tensors]
    key = (repr(carry.structure), repr(xs.structure), tuple(parts), get_default_dtype())
    try:
        known = traced_steps.setdefault(fn, [])
    except TypeError:  # a callable that is not hashable, or not to be referred to weakly
        known = []
    for each in known:
        if each.fits(key):
            return each
    made = Traced(key, fn, carry, xs)
    known.append(made)
    del known[:-MOST_VARIANTS]
    return made


def scan(step: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> tuple[Any, Any]:
    """A loop whose every trip takes what the last one has carried on, and a slice of ``xs``.

    What ``for x in xs: carry, y = step(carry, x); ys.append(y)`` computes, with the ``ys`` stacked. The step runs once, on copies
    of what the first trip takes, to see what it computes; the trips then run that. Gradients of any order, forward mode and
    ``vmap`` are loops too; what ``step`` captures gets gradients like any other argument.

    Args:
        step: ``step(carry, x) -> (carry, y)`` of tensors, or nested tuples, lists and dicts of them; None for no slice.
        init: the first carry. Numbers in it are 0-d tensors.
        xs: tensors whose first dimension is the trips; None: no slices, ``length`` says how many trips.
        length: how many trips.
        reverse: from the last slice to the first; ``ys`` lie as ``xs`` do.

    Returns:
        The last carry, and the stacked ``ys``. Without trips: ``init``, and empty ``ys``.

    Raises:
        ArgumentError: what is no tensor; a carry that changes its structure. ShapeError, DTypeError: its shape, its dtype.
        RangeError: ``xs`` of different lengths, a ``length`` that contradicts them, neither of both.
        GraphError: the step does what a graph cannot hold.

    >>> import nbgrad
    >>> total, sums = nbgrad.jit.scan(lambda c, x: (c + x, c + x), nbgrad.tensor(0.0), nbgrad.arange(1.0, 5.0))
    >>> total, sums
    (tensor(10.), tensor([ 1.,  3.,  6., 10.]))
    """
    require_callable("scan", step)
    carry, slices = Leaves("scan", "init", init), Leaves("scan", "xs", xs)
    trips = length_of("scan", slices, length)
    traced = traced_step(step, carry, slices)
    outs = scanned(traced.step, trips, reverse, [*carry.tensors, *slices.tensors, *traced.used])
    n = len(carry.tensors)
    return rebuilt(carry.structure, outs[:n]), rebuilt(traced.slices, outs[n:])


def length_of(op: str, xs: Leaves, length: int | None) -> int:
    """How many trips there are.

    Raises:
        RangeError: slices of different lengths, or another length than is given; neither. ShapeError: a tensor of no dimension.
    """
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 0):
        raise RangeError(f"{op}: length is {length!r}, expected an int that is not negative.")
    for x, place in zip(xs.tensors, xs.places("xs")):
        if not x.layout.shape:
            raise ShapeError(f"{op}: {place} has no dimension, expected one slice a trip. Hint: capture what all trips share.")
        if length is None:
            length = x.layout.shape[0]
        elif x.layout.shape[0] != length:
            raise RangeError(f"{op}: {place} has {x.layout.shape[0]} slices, expected {length}, as length or the others say.")
    if length is None:
        raise RangeError(f"{op}: neither xs nor length is given, expected one of them: they say how many trips there are.")
    return length


def map(fn: Callable, xs: Any) -> Any:
    """A function of every slice, one after the other: ``vmap`` in little memory.

    Args:
        fn: of a slice, of tensors or nested tuples, lists and dicts of them; returns such.
        xs: tensors whose first dimension is the slices.

    Returns:
        The stacked results.

    Raises:
        As ``scan``.

    >>> import nbgrad
    >>> nbgrad.jit.map(lambda x: x * x, nbgrad.arange(4.0))
    tensor([0., 1., 4., 9.])
    """
    require_callable("map", fn)
    return scan(lambda _, x: (None, fn(x)), None, xs)[1]
