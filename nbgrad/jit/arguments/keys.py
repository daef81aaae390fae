"""What the variants of a compiled function are chosen by: layouts and values of arguments, their structure, what they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...base.dtypes import get_default_dtype
from ...base.grad_mode import mode
from ...base.nested import Tree
from ...creation.generators import Generator
from ...graph.edges import requires_grad
from ...tensors.overlap import span
from ...tensors.storage import default_device
from ...tensors.tensor import Tensor
from .leaves import NUMBERS, is_word, paths_of_leaves
from .structures import Foreign, flatten, value_key

__all__ = ["NONE", "Request", "key_of", "key_of_tree", "requested", "sharing"]

NONE: frozenset[int] = frozenset()


class Request(NamedTuple):
    """A call, and by what it chooses a variant.

    Attributes:
        leaves, tree: the arguments; ``tensors``: those among the leaves.
        inputs: what a program gets of them: tensors, and ``numbers``, leaves that are words of the program.
        fixed: numbers whose values the function takes.
        loose: what the call is known by before that is found out, every number by its class alone; ``key``: by what it chooses a
            variant, with the values of ``fixed``.
    """

    args: tuple
    kwargs: dict
    leaves: list
    tree: Tree
    tensors: list[Tensor]
    inputs: list
    numbers: frozenset[int]
    fixed: frozenset[int]
    loose: tuple
    key: tuple


def requested(args: tuple, kwargs: dict, fn: Any, taken: Mapping, fixed: Mapping) -> Request:
    """A call of ``fn``, and by what it chooses a variant.

    Args:
        taken: by structure, ints whose values the function takes; ``fixed``: by what calls are known by, all such numbers.

    Raises:
        Foreign: an argument is of a kind that no program takes.
    """
    leaves, tree = flatten((args, kwargs))
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    shape = key_of_tree(tree)
    known = taken.get(shape, NONE) if taken else NONE
    numbers = frozenset([k for k, leaf in enumerate(leaves) if type(leaf) in NUMBERS and is_word(leaf) and k not in known])
    kinds = [NUMBERS[type(leaf)] if k in numbers else key_of(leaf, k, fn, tree) for k, leaf in enumerate(leaves)]
    loose = key = (shape, tuple(kinds), sharing(tensors), mode.enabled, get_default_dtype(), default_device())
    values = fixed.get(loose, NONE) if fixed else NONE
    if values:
        kinds = [key_of(leaf, k, fn, tree) if k in values else kind for k, (leaf, kind) in enumerate(zip(leaves, kinds))]
        key = (shape, tuple(kinds), *loose[2:])
        numbers -= values
    inputs = [x for k, x in enumerate(leaves) if isinstance(x, Tensor) or k in numbers] if numbers else tensors
    return Request(args, kwargs, leaves, tree, tensors, inputs, numbers, values, loose, key)


def key_of(leaf: Any, k: int, fn: Any, tree: Tree) -> Any:
    """What a variant is chosen by.

    Args:
        k: which of the leaves of ``(args, kwargs)``.

    Raises:
        Foreign: no tensor, number, string, None or another value that never changes, and no function either.
    """
    if isinstance(leaf, Tensor):
        return leaf.layout, requires_grad(leaf), type(leaf)
    key = value_key(leaf)
    if key is not None:
        return key
    if (callable(leaf) or isinstance(leaf, Generator)) and type(leaf).__hash__ is not None:
        return leaf
    raise Foreign(
        f"compile: {paths_of_leaves(fn, tree)[k]} is of type {type(leaf).__name__}, expected tensors, numbers, strings, None, "
        "functions, members of enumerations, and tuples, lists, dicts, slices and data classes of those. Hint: keep it in a "
        "variable that the function names."
    )


def sharing(tensors: list[Tensor]) -> tuple[int | None, ...] | None:
    """Which tensors have the memory of which other ones, which are others, and how they lie there; None if none shares memory."""
    arrays, own = [id(x._storage_.array) for x in tensors], list(map(id, tensors))
    if len(set(arrays)) == len(arrays):
        return None
    memory = [*map(arrays.index, arrays)]
    return (*memory, *map(own.index, own), *places(tensors, memory))


def places(tensors: list[Tensor], memory: list[int]) -> list[int | None]:
    """How far, in bytes, tensors begin behind the first in their memory; None of those in memory where none lie over each other.

    Args:
        memory: of each tensor, which is the first in its memory.

    A program has one value for what lies at one place, and writes to a part of another tensor by where it lies in that one. Tensors
    side by side (``f(x[i], x[j])``) are values of their own, wherever they are.
    """
    found: list[int | None] = [None] * len(tensors)
    for first in set(memory):
        sharers = [k for k, other in enumerate(memory) if other == first]
        spans = sorted(span(tensors[k]) for k in sharers)
        if any(end > begin for (_, end), (begin, _) in zip(spans, spans[1:])):
            for k in sharers:
                found[k] = tensors[k]._offset_ - tensors[first]._offset_
    return found


def key_of_tree(tree: Tree) -> Any:
    """A structure as something to look up."""
    return None if tree.kind is None else (tree.kind, tree.keys, tuple([key_of_tree(child) for child in tree.children]))
