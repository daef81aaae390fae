"""Nested tuples, lists and dicts of values: their leaves, and their structure."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import Any, Callable

__all__ = ["Tree", "flatten", "map_leaves", "registered"]

# Containers of users: ``{type: (parts, build)}``, where ``parts(value) -> (values, context)`` and ``build(values, context)``.
registered: dict[type, tuple[Callable, Callable]] = {}


class Tree:
    """The structure of a nested value without its leaves; equal structures compare equal.

    Attributes:
        kind: the container's type; None for a leaf.
        keys: of a dict; of a registered type its context.
        children: the structures of what it holds.
        count: number of leaves.
    """

    __slots__ = ("kind", "keys", "children", "count")
    count: int

    def __init__(self, kind: type | None, keys: Any, children: tuple[Tree, ...]):
        self.kind, self.keys, self.children = kind, keys, children
        self.count = 1 if kind is None else sum(child.count for child in children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree) or self.kind is not other.kind or self.children != other.children:
            return False
        if self.kind in registered or self.keys is None or other.keys is None:
            return bool(self.keys == other.keys)
        return (
            tuple(map(hash, self.keys)) == tuple(map(hash, other.keys)) and self.keys == other.keys
        )  # tensors have no truth value

    def __hash__(self) -> int:
        return hash((self.kind, self.children))

    def unflatten(self, leaves: Any) -> Any:
        """The nested value with these leaves, in order."""
        return self._build(iter(leaves))

    def _build(self, leaves: Any) -> Any:
        if self.kind is None:
            return next(leaves)
        values = [child._build(leaves) for child in self.children]
        if self.kind in registered:
            return registered[self.kind][1](values, self.keys)
        if self.keys is not None:
            return self.kind(zip(self.keys, values))
        return self.kind(*values) if hasattr(self.kind, "_fields") else self.kind(values)

    def places(self, start: str = "") -> list[str]:
        """Where each leaf is, as Python spells it.

        >>> flatten({"a": 1, "b": (2, [3])})[1].places("x")
        ["x['a']", "x['b'][0]", "x['b'][1][0]"]
        """
        if self.kind is None:
            return [start]
        named = self.keys is not None and self.kind not in registered
        keys = self.keys if named else getattr(self.kind, "_fields", range(len(self.children)))
        spelled = [f".{key}" if hasattr(self.kind, "_fields") else f"[{key!r}]" for key in keys]
        return [place for key, child in zip(spelled, self.children) for place in child.places(start + key)]

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        parts = map(repr, self.children)
        if self.kind in registered:
            return f"{self.kind.__name__}({', '.join(parts)})"
        if self.keys is not None:
            return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(self.keys, parts)) + "}"
        opening, closing = "[]" if self.kind is list else "()"
        return opening + ", ".join(parts) + ("," if self.kind is tuple and len(self.children) == 1 else "") + closing


LEAF = Tree(None, None, ())


def parts_of(value: Any) -> tuple[Any, list] | None:
    """Keys (of a registered type: the context) and values of a container; None of a leaf."""
    kind = type(value)
    if kind is dict or kind is OrderedDict:
        return tuple(value), list(value.values())
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return None, list(value)
    if kind in registered:
        values, context = registered[kind][0](value)
        return context, list(values)
    return None


def flatten(value: Any) -> tuple[list, Tree]:
    """The leaves of a nested value, and its structure.

    >>> flatten({"a": 1, "b": (2, [3])})
    ([1, 2, 3], {'a': *, 'b': (*, [*])})
    """
    leaves: list = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list) -> Tree:
    parts = parts_of(value)
    if parts is None:
        leaves.append(value)
        return LEAF
    keys, values = parts
    children = tuple([_flatten(each, leaves) for each in values])
    kind: Any = type(value)
    if keys is None:
        flat = flat_tree(kind, len(children))
        if children == flat.children:
            return flat
    return Tree(kind, keys, children)


@lru_cache(maxsize=256)
def flat_tree(kind: Any, count: int) -> Tree:
    """The structure of a container of leaves alone, as nearly all arguments are (benchmarks/test_vmap.py)."""
    return Tree(kind, None, (LEAF,) * count)


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The nested value with every leaf changed."""
    leaves, tree = flatten(value)
    return tree.unflatten(map(function, leaves))


def spread(prefix: Any, tree: Tree) -> list | None:
    """The leaves of ``prefix``, a structure that ends where ``tree`` does or before, one for every leaf of ``tree``.

    None if it is no such structure.

    >>> spread((0, 1), flatten(("a", ("b", "c")))[1])
    [0, 1, 1]
    """
    parts = parts_of(prefix)
    if parts is None:
        return [prefix] * tree.count
    keys, values = parts
    if type(prefix) is not tree.kind or keys != tree.keys or len(values) != len(tree.children):
        return None
    found: list = []
    for value, child in zip(values, tree.children):
        below = spread(value, child)
        if below is None:
            return None
        found += below
    return found
