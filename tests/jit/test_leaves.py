"""Names of the leaves of arguments."""

from __future__ import annotations

import functools

import nbgrad
from nbgrad.base.nested import flatten
from nbgrad.jit.arguments.leaves import names_of_leaves, paths_of_leaves


def test_leaves_are_called_by_their_parameters_and_places():
    """Tuples, dicts, more arguments than parameters, arguments by keyword."""

    def fn(x, pair, *rest, **more):
        pass

    tree = flatten(((1, (2, {"a b": 3}), 4, [5]), {"k": 6}))[1]
    assert paths_of_leaves(fn, tree) == ["x", "pair[0]", "pair[1]['a b']", "rest[0]", "rest[1][0]", "k"]
    assert names_of_leaves(fn, tree) == ["x", "pair_0", "pair_1_a_b", "rest_0", "rest_1_0", "k"]


def test_methods_modules_and_wrapped_functions_have_the_names_of_what_they_call():
    """Without ``self``."""

    class Model(nbgrad.nn.Module):
        def forward(self, x, y):
            return x

        def other(self, z):
            return z

    tree = flatten(((1, 2), {}))[1]
    assert paths_of_leaves(Model(), tree) == ["x", "y"]
    assert paths_of_leaves(Model().other, tree) == ["z", "args[0]"]
    assert paths_of_leaves(functools.wraps(Model.forward)(lambda *args: 0), tree) == ["self", "x"]


def test_functions_without_a_signature_have_numbered_arguments():
    """As some builtins."""
    assert paths_of_leaves(dict.fromkeys.__class__, flatten(((1, 2), {}))[1]) == ["args[0]", "args[1]"]
