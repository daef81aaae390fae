"""Graphs that capture writes down compute what the captured function computes, on other numbers."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import trace
from tests.helpers import leaf

OTHER = [[0.5, -1.5, 2.5], [1.0, 0.25, -3.0]]


def agree(fn, *others):
    """The graph of ``fn``, captured on ones, against ``fn`` on other numbers."""
    examples = [nbgrad.ones_like(x, requires_grad=x.requires_grad) for x in others]
    graph = trace(fn, *examples)
    want = fn(*others)
    for x, y in zip(graph(*others), want if isinstance(want, tuple) else (want,)):
        np.testing.assert_array_equal(x.detach().numpy(), y.detach().numpy())
    return graph


def test_a_gradient_is_captured_as_the_calls_that_it_is_made_of():
    """What the engine does while a graph is captured is part of it."""
    graph = agree(lambda x: nbgrad.grad((x * x).sum(), x)[0], leaf(OTHER))
    assert "mul" in [node.name for node in graph.nodes]


def test_what_is_known_from_outside_is_a_constant():
    """A tensor of the closure is a constant, with its values of the time when the graph runs."""
    w = nbgrad.tensor(OTHER)
    graph = trace(lambda x: x * w, nbgrad.ones(2, 3))
    w.mul_(2)
    assert graph(nbgrad.ones(2, 3))[0].tolist() == w.tolist()


def test_what_was_computed_where_nobody_looked_is_refused():
    """Values that do not follow the arguments would be silently stale."""
    hidden = {"deeper": {"deepest": {"x": nbgrad.ones(2) * 3}}}

    class Holder:
        __slots__ = ("inner",)

    holder = Holder()
    holder.inner = hidden
    with pytest.raises(nbgrad.errors.GraphError, match="no graph is captured"):
        trace(lambda x: x * holder.inner["deeper"]["deepest"]["x"], nbgrad.ones(2))


def test_writes_are_new_values():
    """Views see what is written through their base and through each other."""

    def program(x):
        y = x.clone()
        row, column = y[0], y[:, 1]
        row.mul_(2)
        column.add_(row[:2])
        return y, row, column

    agree(program, leaf(OTHER))


def test_arguments_are_as_they_were_after_a_capture():
    """A capture runs on copies."""
    x, w = nbgrad.ones(3), nbgrad.ones(3)
    trace(lambda x: (x.mul_(2), w.add_(x)), x)
    assert x.tolist() == [1, 1, 1] and w.tolist() == [1, 1, 1] and (x._version, w._version) == (0, 0)


def test_an_error_in_the_function_leaves_no_capture_behind():
    """Modes and marks are as before."""

    def failing(x):
        x = x * 2
        raise KeyError("own")

    with pytest.raises(KeyError):
        trace(failing, nbgrad.ones(2))
    assert not nbgrad.base.grad_mode.traces and not nbgrad.base.grad_mode.special


def test_a_detached_tensor_is_a_value_of_its_own():
    """What shares memory with a value that gradients flow through, and not its history."""
    graph = agree(lambda x: x * x.detach(), leaf(OTHER))
    assert [(node.name, node.outs[0].requires_grad) for node in graph.nodes] == [("stop", False), ("mul", True)]


def test_a_new_leaf_on_the_memory_of_an_argument_is_a_value_of_its_own():
    """Gradients by it are none by the argument."""

    def program(x):
        y = x.detach().requires_grad_()
        (g,) = nbgrad.grad((y * y * y).sum(), y, create_graph=True)
        return g * x

    graph = agree(program, leaf(OTHER))
    assert graph.nodes[0].name == "stop" and graph.inputs[0] in graph.nodes[-1].ins and graph.inputs[0] not in graph.nodes[1].ins


def test_lines_are_those_of_the_program():
    """Generated functions are no part of it."""
    graph = trace(lambda x: nbgrad.sigmoid(x).sum(0), nbgrad.ones(3))
    assert {node.line.rpartition(":")[0] for node in graph.nodes} == {__file__}
