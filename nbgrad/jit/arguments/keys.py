"""What the variants of a compiled function are chosen by: layouts and values of arguments, their structure, what they share."""

from __future__ import annotations

from typing import Any

from ...base.nested import Tree
from ...creation.generators import Generator
from ...graph.edges import requires_grad
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


def sharing(tensors: list[Tensor]) -> tuple[int, ...] | None:
    """Which tensors have the memory of which other ones, and which are others; None if all have their own memory."""
    arrays, own = [id(x._storage_.array) for x in tensors], list(map(id, tensors))
    return None if len(set(arrays)) == len(arrays) else (*map(arrays.index, arrays), *map(own.index, own))


def key_of_tree(tree: Tree) -> Any:
    """A structure as something to look up."""
    return None if tree.kind is None else (tree.kind, tree.keys, tuple([key_of_tree(child) for child in tree.children]))
