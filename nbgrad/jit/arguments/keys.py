"""What the variants of a compiled function are chosen by: layouts and values of arguments, their structure, what they share."""

from __future__ import annotations

from typing import Any

from ...base.nested import Tree
from ...creation.generators import Generator
from ...graph.edges import requires_grad
from ...tensors.overlap import span
from ...tensors.tensor import Tensor
from .leaves import paths_of_leaves
from .structures import Foreign, value_key

__all__ = ["key_of", "key_of_tree", "sharing"]


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
