"""Graphs made and changed by hand: nodes, names, order, text."""

from __future__ import annotations

import copy
import operator

import pytest

import nbgrad
from nbgrad import fx
from nbgrad.errors import ArgumentError, GraphError, RangeError
from nbgrad.fx.immutable_collections import immutable_dict, immutable_list


def small():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(nbgrad.relu, (x,))
    return graph, x, y


def names(graph):
    return [node.name for node in graph.nodes]


def test_names_are_unique_and_no_keywords():
    """Torch's choice of numbers: behind the largest that was asked for."""
    graph, x, _ = small()
    for name in ("relu", "relu_7", "9ab", "class", "a.b-c", None):
        graph.create_node("call_function", nbgrad.relu, (x,), name=name)
    graph.call_function(len, (x,))
    assert names(graph) == ["x", "relu", "relu_1", "relu_7", "_9ab", "class_1", "a_b_c", "relu_8", "len_1"]


def test_users_follow_arguments():
    """However these are changed."""
    graph, x, y = small()
    z = graph.placeholder("z")
    y.args = (x, [z], {"a": x})
    assert list(z.users) == [y] and y.all_input_nodes == [x, z]
    y.update_arg(0, z)
    y.update_kwarg("k", x)
    y.insert_arg(0, 1)
    assert y.args[:2] == (1, z) and y.kwargs == {"k": x}
    y.replace_input_with(x, z)
    assert not x.users and y.all_input_nodes == [z]
    assert z.replace_all_uses_with(x) == [y] and not z.users and list(x.users) == [y]
    with pytest.raises(RangeError, match="insert_arg"):
        y.insert_arg(9, 1)


def test_arguments_cannot_be_written_to():
    """They are assigned, so that users are known."""
    graph, x, _ = small()
    node = graph.call_function(nbgrad.cat, ([x],), {"dim": {"a": 1}})
    for write in (lambda: node.args[0].append(x), lambda: node.kwargs.update(a=1), lambda: node.kwargs["dim"].pop("a")):
        with pytest.raises(ArgumentError, match="does not support mutation"):
            write()
    assert type(node.args[0]) is immutable_list and type(node.kwargs["dim"]) is immutable_dict
    assert copy.deepcopy(immutable_list([1, {}])) == [1, {}] and hash(immutable_list([1])) == hash(immutable_list([1]))


def test_insert_points():
    """New nodes come before or behind a node, within ``with``; nodes are moved."""
    graph, x, y = small()
    with graph.inserting_before(y):
        graph.call_function(nbgrad.neg, (x,))
    with graph.inserting_after(x):
        first = graph.call_function(nbgrad.sin, (x,))
    with graph.inserting_before():
        graph.placeholder("w")
    graph.output(y)
    assert names(graph) == ["w", "x", "sin", "neg", "relu", "output"]
    y.append(first)
    assert names(graph) == ["w", "x", "neg", "relu", "sin", "output"] and first.prev is y and y.next is first
    assert [node.name for node in reversed(graph.nodes)] == names(graph)[::-1] and len(graph.nodes) == 6


def test_dead_code():
    """What nobody uses goes, but arguments, assertions, and what a program says."""
    graph, x, y = small()
    graph.call_function(nbgrad.exp, (y,))
    graph.call_function(nbgrad._assert, (x, "text"))
    graph.output(x)
    assert graph.eliminate_dead_code() and names(graph) == ["x", "_assert", "output"]
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda node: False) and names(graph) == ["x", "output"]


def test_erased_nodes():
    """Only what nobody uses can be erased."""
    graph, x, y = small()
    with pytest.raises(GraphError, match="still had 1 users"):
        graph.erase_node(x)
    graph.erase_node(y)
    assert names(graph) == ["x"] and not x.users
    with pytest.warns(UserWarning, match="erased before"):
        graph.erase_node(y)


def test_lint():
    """Order, graphs, names and attributes."""
    graph, x, y = small()
    graph.output(y)
    graph.lint()
    y.append(x)
    with pytest.raises(GraphError, match="before it has been defined"):
        graph.lint()
    with pytest.raises(ArgumentError, match="another graph"):
        fx.Graph().call_function(nbgrad.relu, (x,))
    other = fx.Graph()
    other.output(other.get_attr("nothing.there"))
    other.owning_module = fx.symbolic_trace(nbgrad.nn.Tanh())
    with pytest.raises(GraphError, match="nothing"):
        other.lint()


def test_node_kinds():
    """What is none, and targets that do not suit it."""
    graph = fx.Graph()
    for op, target in (("jump", "x"), ("call_function", "x"), ("call_method", len)):
        with pytest.raises(ArgumentError):
            graph.create_node(op, target)


def test_text():
    """Constants, statements in place, attributes that are no names, names that differ from the argument's."""
    graph = fx.Graph()
    x, again = graph.placeholder("x"), graph.placeholder("class")
    added = graph.call_function(operator.iadd, (x, 1))
    graph.call_function(operator.setitem, (x, 0, again))
    parts = [graph.get_attr("layers.0.weight"), graph.call_function(getattr, (x, "a b"))]
    graph.output({"sum": added, "rest": (parts, nbgrad.float32, slice(1, x), nbgrad.device("cpu"))})
    assert graph.python_code("self").src.strip().split("\n") == [
        "def forward(self, x, class):",
        "    class_1 = class",
        "    x += 1;  iadd = x",
        "    x[0] = class_1;  setitem = x;  class_1 = setitem = None",
        '    layers_0_weight = getattr(self.layers, "0").weight',
        "    getattr_1 = getattr(x, 'a b')",
        "    return {'sum': iadd, 'rest': ([layers_0_weight, getattr_1], nbgrad.float32, slice(1, x, None), device(type='cpu'))}",
    ]


def test_lines_may_be_rewritten():
    """Within ``with``, whenever the text is generated."""
    traced = fx.symbolic_trace(lambda x: x + 1)
    with traced.graph.on_generate_code(lambda before: lambda body: ["print('begins')\n", *body]):
        assert "    print('begins')\n    add = x + 1" in traced.graph.python_code("self").src
    assert "begins" not in traced.graph.python_code("self").src


def test_annotations():
    """They are printed, and those of the program's text can be evaluated."""

    def program(x: nbgrad.Tensor, k: int = 1) -> nbgrad.Tensor:
        return x + k

    program.__annotations__ = {"x": nbgrad.Tensor, "k": list[int], "return": nbgrad.Tensor}
    traced = fx.symbolic_trace(program)
    assert "def forward(self, x : nbgrad.Tensor, k : list[int] = 1) -> nbgrad.Tensor:" in traced.code
    assert "%x : nbgrad.Tensor [num_users=1] = placeholder[target=x]" in str(traced.graph)


def test_copies():
    """Of nodes and graphs; what is copied belongs to the new graph."""
    graph = fx.symbolic_trace(lambda x: nbgrad.relu(x) + 1).graph
    made, known = fx.Graph(), {}
    result = made.graph_copy(graph, known)
    made.output(result)
    assert str(made) == str(graph) == str(copy.deepcopy(graph))
    assert all(node.graph is made for node in made.nodes) and graph.output_node().op == "output"
