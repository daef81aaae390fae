"""Nested values as trees, under the names of ``torch.utils._pytree``: tuples, named tuples, lists, dicts and registered types.

Found as ``nbgrad.utils._pytree``. What ``nbgrad.func`` and ``nbgrad.vmap`` take apart, these functions take apart in the same way.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any, Callable, Iterable, Iterator, NamedTuple

from ..base.errors import ArgumentError, RangeError
from ..base.nested import LEAF, Tree, flatten, parts_of, registered

__all__ = [
    "LeafSpec",
    "PyTree",
    "PyTreeSpec",
    "SUPPORTED_NODES",
    "TreeSpec",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Predicate = Callable[[Any], bool]
PyTreeSpec = Tree


class TreeSpec(Tree):
    """The structure of a nested value; equal structures compare equal.

    Attributes:
        type, context, num_leaves: torch's names for ``kind``, ``keys`` and ``count``.

    >>> tree_structure([1, (2, 3)]), tree_structure([1, (2, 3)]).num_leaves
    ([*, (*, *)], 3)
    """

    __slots__ = ()

    @property
    def type(self) -> Any:
        """The container's type; None of a leaf."""
        return self.kind

    @property
    def context(self) -> Any:
        """A dict's keys, a registered type's context."""
        return list(self.keys) if self.kind is dict else self.keys

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        return self.count

    @property
    def num_children(self) -> int:
        """How many values the container holds."""
        return len(self.children)

    def is_leaf(self) -> bool:
        """Whether it is the structure of a single value."""
        return self.kind is None

    def child(self, index: int) -> Tree:
        """The structure of one of the values."""
        return self.children[index]


def LeafSpec() -> TreeSpec:  # torch's name: a class there
    """The structure of a leaf."""
    return as_spec(LEAF)


def as_spec(tree: Tree) -> TreeSpec:
    """A structure with torch's names."""
    return TreeSpec(tree.kind, tree.keys, tuple(map(as_spec, tree.children)))


# ---- apart and together --------------------------------------------------------------------------------------------


def tree_flatten(tree: PyTree, is_leaf: Predicate | None = None) -> tuple[list, TreeSpec]:
    """The leaves of a nested value, and its structure.

    Args:
        tree: any value; what is no container is a leaf, None too.
        is_leaf: values for which it is true are leaves, whatever they hold.

    >>> tree_flatten({"a": 1, "b": (2, [3])})
    ([1, 2, 3], {'a': *, 'b': (*, [*])})
    """
    if is_leaf is None:
        leaves, structure = flatten(tree)
        return leaves, as_spec(structure)
    leaves = []
    return leaves, spec_until(tree, is_leaf, leaves)


def spec_until(tree: PyTree, is_leaf: Predicate, leaves: list) -> TreeSpec:
    """The structure above the values that ``is_leaf`` names; they are added to ``leaves``."""
    parts = None if is_leaf(tree) else parts_of(tree)
    if parts is None:
        leaves.append(tree)
        return LeafSpec()
    keys, values = parts
    return TreeSpec(type(tree), keys, tuple([spec_until(value, is_leaf, leaves) for value in values]))


def tree_unflatten(leaves: Iterable, treespec: Tree) -> PyTree:
    """The nested value of a structure with these leaves, in order.

    Raises:
        RangeError: another number of leaves. ArgumentError: no structure.

    >>> leaves, structure = tree_flatten({"a": 1, "b": [2]})
    >>> tree_unflatten([x * 10 for x in leaves], structure)
    {'a': 10, 'b': [20]}
    """
    if not isinstance(treespec, Tree):
        raise ArgumentError(f"tree_unflatten: treespec must be a TreeSpec, got {type(treespec).__name__}.")
    leaves = list(leaves)
    if len(leaves) != treespec.count:
        raise RangeError(f"tree_unflatten: got {len(leaves)} leaves, the structure has {treespec.count}.")
    return treespec.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: Predicate | None = None) -> list:
    """The leaves of a nested value.

    >>> tree_leaves({"a": 1, "b": (2, None)})
    [1, 2, None]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: Predicate | None = None) -> Iterator:
    """The leaves of a nested value, one after the other.

    >>> next(tree_iter([(1, 2), 3]))
    1
    """
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: Predicate | None = None) -> TreeSpec:
    """The structure of a nested value.

    >>> tree_structure({"a": 1, "b": (2, 3)})
    {'a': *, 'b': (*, *)}
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: PyTree, is_leaf: Predicate | None = None) -> bool:
    """Whether a value is a leaf.

    >>> tree_is_leaf(1), tree_is_leaf([1])
    (True, False)
    """
    return is_leaf is not None and is_leaf(tree) or parts_of(tree) is None


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Iterable, Any]], unflatten_fn: Callable[[Iterable, Any], Any], **names: Any
) -> None:
    """Say how values of a type are taken apart and put together.

    Args:
        cls: the type; not its subclasses.
        flatten_fn: ``value -> (values, context)``; contexts are compared by ``==``.
        unflatten_fn: ``(values, context) -> value``.
        names: what torch takes for writing structures to files, without effect.

    Raises:
        RangeError: the type is registered already, or is one of the containers that are known anyway.
    """
    if cls in registered or cls in (tuple, list, dict):
        raise RangeError(f"register_pytree_node: {cls.__name__} is registered already.")
    registered[cls] = flatten_fn, unflatten_fn


class NodeDef(NamedTuple):
    """How values of a type are taken apart, ``value -> (values, context)``, and put together, ``(values, context) -> value``."""

    type: type
    flatten_fn: Callable[[Any], tuple[list, Any]]
    unflatten_fn: Callable[[Iterable, Any], Any]


class Containers(Mapping[type, NodeDef]):
    """The types that are no leaves, and how they are taken apart.

    >>> SUPPORTED_NODES[dict].flatten_fn({"a": 1}), list in SUPPORTED_NODES, int in SUPPORTED_NODES
    (([1], ('a',)), True, False)
    """

    def __getitem__(self, kind: type) -> NodeDef:
        if kind not in (*KNOWN, *registered) and not is_namedtuple_class(kind):
            raise KeyError(kind)
        return NodeDef(kind, apart, partial(together, kind))

    def __iter__(self) -> Iterator[type]:
        return iter((*KNOWN, *registered))

    def __len__(self) -> int:
        return len(KNOWN) + len(registered)


KNOWN = dict, OrderedDict, tuple, list
SUPPORTED_NODES = Containers()


def apart(value: Any) -> tuple[list, Any]:
    """The values of a container, and its keys or context."""
    keys, values = parts_of(value) or (None, [])
    return values, keys


def together(kind: type, values: Iterable, context: Any) -> Any:
    """The container of a type with these values."""
    values = list(values)
    return Tree(kind, context, (LEAF,) * len(values)).unflatten(values)


def _dict_flatten(d: dict) -> tuple[list, list]:  # torch's name, as the next three
    """The values of a dict, and its keys."""
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict) -> tuple[list[tuple[str, Any]], list]:
    """The values of a dict, each with how Python reaches it, and its keys."""
    return steps(d), list(d)


def _dict_unflatten(values: Iterable, context: list) -> dict:
    """The dict of values and keys."""
    return dict(zip(context, values))


_get_node_type = type


# ---- maps ----------------------------------------------------------------------------------------------------------


def tree_map(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Predicate | None = None) -> PyTree:
    """The nested value with every leaf changed; of several, ``func`` gets the leaves at the same place.

    Raises:
        RangeError: ``rests`` have not the structure of ``tree``, as far as that goes.

    >>> tree_map(lambda x, y: x + y, (1, [2]), (10, [20]))
    (11, [22])
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(leaves_like(rest, spec) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def leaves_like(tree: PyTree, spec: Tree) -> list:
    """The values of a nested value at the places of the leaves of a structure.

    Raises:
        RangeError: there are none.
    """
    if spec.kind is None:
        return [tree]
    parts = parts_of(tree)
    if parts is None or type(tree) is not spec.kind or parts[0] != spec.keys or len(parts[1]) != len(spec.children):
        raise RangeError(f"tree_map: got a {type(tree).__name__} where the first tree has {spec!r}.")
    return [leaf for value, child in zip(parts[1], spec.children) for leaf in leaves_like(value, child)]


def tree_map_(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Predicate | None = None) -> PyTree:
    """Call ``func`` with every leaf, for what it does to the leaf; returns ``tree``.

    >>> import nbgrad
    >>> state = {"w": nbgrad.ones(2)}
    >>> tree_map_(lambda x: x.mul_(3), state)
    {'w': tensor([3., 3.])}
    """
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def of_kind(kinds: Any) -> Predicate:
    """Whether a leaf is meant: by types, or by a predicate."""
    return kinds if callable(kinds) and not isinstance(kinds, type) else lambda x: isinstance(x, kinds)


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: Predicate | None = None) -> PyTree:
    """``tree_map`` over leaves of some types, or for which a predicate is true; the others stay.

    >>> tree_map_only(int, lambda x: -x, (1, "a"))
    (-1, 'a')
    """
    meant = of_kind(type_or_types_or_pred)
    return tree_map(lambda x: func(x) if meant(x) else x, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: Predicate | None = None) -> PyTree:
    """``tree_map_`` over leaves of some types, or for which a predicate is true.

    >>> import nbgrad
    >>> tree_map_only_(nbgrad.Tensor, lambda x: x.mul_(3), {"w": nbgrad.ones(2), "step": 1})
    {'w': tensor([3., 3.]), 'step': 1}
    """
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Predicate, tree: PyTree, is_leaf: Predicate | None = None) -> bool:
    """Whether ``pred`` is true of all leaves.

    >>> tree_all(lambda x: x > 0, [1, (2, 3)])
    True
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Predicate, tree: PyTree, is_leaf: Predicate | None = None) -> bool:
    """Whether ``pred`` is true of at least one leaf.

    >>> tree_any(lambda x: x > 2, [1, (2, 3)])
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Predicate, tree: PyTree, is_leaf: Predicate | None = None) -> bool:
    """Whether ``pred`` is true of all leaves of some types.

    >>> tree_all_only(int, lambda x: x > 0, [1, "a", (2,)])
    True
    """
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Predicate, tree: PyTree, is_leaf: Predicate | None = None) -> bool:
    """Whether ``pred`` is true of at least one leaf of some types.

    >>> tree_any_only(str, lambda x: x == "b", [1, "a", (2,)])
    False
    """
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


# ---- paths ---------------------------------------------------------------------------------------------------------


def steps(tree: PyTree) -> list[tuple[str, Any]]:
    """The values of a container, each with how Python reaches it: ``[0]``, ``['key']``, ``.field``."""
    keys, values = (tree, tree.values()) if isinstance(tree, dict) else parts_of(tree) or ((), [])
    if isinstance(tree, dict):
        return [(f"[{key!r}]", value) for key, value in zip(keys, values)]
    if is_namedtuple_instance(tree):
        return [(f".{field}", value) for field, value in zip(tree._fields, values)]
    return [(f"[{k}]", value) for k, value in enumerate(values)]


def tree_flatten_with_path(tree: PyTree, is_leaf: Predicate | None = None) -> tuple[list[tuple[tuple[str, ...], Any]], TreeSpec]:
    """Pairs of a path and a leaf, and the structure. A path is a tuple of steps as Python writes them.

    >>> tree_flatten_with_path({"a": (1, 2)})[0]
    [(("['a']", '[0]'), 1), (("['a']", '[1]'), 2)]
    """
    found: list = []

    def walk(value: PyTree, path: tuple[str, ...]) -> None:
        if tree_is_leaf(value, is_leaf):
            found.append((path, value))
            return
        for step, each in steps(value):
            walk(each, (*path, step))

    walk(tree, ())
    return found, tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Predicate | None = None) -> list[tuple[tuple[str, ...], Any]]:
    """Pairs of a path and a leaf.

    >>> tree_leaves_with_path({"a": [1, 2]})
    [(("['a']", '[0]'), 1), (("['a']", '[1]'), 2)]
    """
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Predicate | None = None) -> PyTree:
    """``tree_map`` of a function that gets the path before the leaves.

    >>> tree_map_with_path(lambda path, x: f"{keystr(path)} = {x}", {"a": [1]})
    {'a': ["['a'][0] = 1"]}
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[path for path, _ in pairs], [leaf for _, leaf in pairs], *(leaves_like(rest, spec) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def keystr(kp: tuple[str, ...]) -> str:
    """A path as text.

    >>> [keystr(path) for path, _ in tree_leaves_with_path({"a": [1, 2]})]
    ["['a'][0]", "['a'][1]"]
    """
    return "".join(kp)


# ---- named tuples --------------------------------------------------------------------------------------------------


def is_namedtuple_class(cls: Any) -> bool:
    """Whether it is a type made by ``collections.namedtuple`` or ``typing.NamedTuple``, or a subclass of one."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether it is a named tuple.

    >>> from collections import namedtuple
    >>> is_namedtuple_instance(namedtuple("Point", "x y")(1, 2)), is_namedtuple_instance((1, 2))
    (True, False)
    """
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether it is a named tuple, or the type of one."""
    return is_namedtuple_class(obj) or is_namedtuple_instance(obj)
