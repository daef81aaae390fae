"""``nbgrad.utils._pytree``: nested values taken apart, mapped, put together."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest

import nbgrad
from nbgrad.base.nested import registered
from nbgrad.utils import _pytree as pytree

Pair = namedtuple("Pair", "first second")
TREES = [1, None, (), [], {}, (1, [2, {"a": 3}]), Pair(1, (2, 3)), OrderedDict(b=1, a=[2]), {"x": Pair([1], None)}]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_apart_and_together(tree):
    """What was taken apart is put together again, with its types."""
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert pytree.tree_structure(tree) == spec and spec.num_leaves == len(leaves) == len(list(pytree.tree_iter(tree)))
    assert [leaf for _, leaf in pytree.tree_leaves_with_path(tree)] == leaves


def test_maps():
    """Over one tree, over several, over some leaves; ``is_leaf`` stops above the leaves."""
    tree = {"a": (1, "s"), "b": [2.0]}
    assert pytree.tree_map(lambda x: x * 2, tree) == {"a": (2, "ss"), "b": [4.0]}
    assert pytree.tree_map(lambda x, y: (x, y), (1, [2]), (3, [(4, 5)])) == ((1, 3), [(2, (4, 5))])
    assert pytree.tree_map_only((int, float), lambda x: -x, tree) == {"a": (-1, "s"), "b": [-2.0]}
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: 0, tree) == {"a": (0, "s"), "b": [2.0]}
    assert pytree.tree_map(len, tree, is_leaf=lambda x: isinstance(x, tuple) or isinstance(x, list)) == {"a": 2, "b": 1}
    paths = pytree.tree_map_with_path(lambda path, x: pytree.keystr(path), Pair(1, {"k": [2]}))
    assert paths == Pair(".first", {"k": [".second['k'][0]"]})
    seen = []
    assert pytree.tree_map_(seen.append, tree) is tree and seen == [1, "s", 2.0]
    assert pytree.tree_all(bool, tree) and pytree.tree_any_only(int, lambda x: x == 1, tree) and pytree.tree_is_leaf(None)


def test_structures_that_do_not_fit():
    """Other leaves, other trees, no structure."""
    leaves, spec = pytree.tree_flatten((1, 2))
    with pytest.raises(ValueError, match="1 leaves"):
        pytree.tree_unflatten(leaves[:1], spec)
    with pytest.raises(TypeError, match="TreeSpec"):
        pytree.tree_unflatten(leaves, (1, 2))
    with pytest.raises(ValueError, match="first tree"):
        pytree.tree_map(lambda x, y: x, (1, 2), [1, 2])


def test_registered_types():
    """They are taken apart by these functions and by ``nbgrad.func`` alike."""

    class Box:
        def __init__(self, value, label):
            self.value, self.label = value, label

    pytree.register_pytree_node(Box, lambda box: ([box.value], box.label), lambda values, label: Box(*values, label))
    try:
        doubled = pytree.tree_map(lambda x: x * 2, [Box(3, "b")])[0]
        assert (doubled.value, doubled.label) == (6, "b")
        found = nbgrad.func.grad(lambda box: (box.value**2).sum())(Box(nbgrad.tensor([3.0]), "b"))
        assert found.value.tolist() == [6.0] and found.label == "b"
        with pytest.raises(ValueError, match="registered already"):
            pytree.register_pytree_node(Box, None, None)
    finally:
        del registered[Box]


def test_types_of_containers():
    """Which there are, and how each is taken apart and put together."""
    Point = namedtuple("Point", "x y")
    for value in ([1, 2], (1, 2), {"a": 1, "b": 2}, OrderedDict(a=1), Point(1, 2)):
        node = pytree.SUPPORTED_NODES[pytree._get_node_type(value)]
        assert node.unflatten_fn(*node.flatten_fn(value)) == value and type(value) in pytree.SUPPORTED_NODES
    assert int not in pytree.SUPPORTED_NODES and {dict, list, tuple} < set(pytree.SUPPORTED_NODES)
    assert len(pytree.SUPPORTED_NODES) == len(list(pytree.SUPPORTED_NODES))
    values, keys = pytree._dict_flatten({"a": 1, "b": 2})
    assert pytree._dict_unflatten(values, keys) == {"a": 1, "b": 2}
    assert pytree._dict_flatten_with_keys({"a": 1}) == ([("['a']", 1)], ["a"])
