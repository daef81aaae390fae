"""Marks where gradients stop go where none are taken."""

from __future__ import annotations

import nbgrad
from nbgrad.jit import trace
from nbgrad.jit.passes.drop_stops import drop_stops
from tests.jit.passes.before_after import after, names

X = nbgrad.tensor([1.0, -2.0, 0.0], requires_grad=True)


def test_a_value_without_its_history_is_the_value():
    """What is read of it, and what is returned."""
    graph = trace(lambda x: ((y := x.exp()).detach() * y, y.detach()), X)
    assert names(graph) == ["exp", "stop", "mul"]
    made = after(drop_stops, graph, X)
    assert names(made) == ["exp", "mul"]
    assert made.outputs[1] is made.nodes[0].outs[0]


def test_what_a_write_leaves_that_nobody_recorded_is_what_was_written():
    """The history of what was there is of no use."""

    def fn(x):
        y = x * 2
        with nbgrad.no_grad():
            y.copy_(x.exp())
        return y + 1

    graph = trace(fn, X)
    assert "overwrite" in names(graph)
    made = after(drop_stops, graph, X)
    assert "overwrite" not in names(made) and "stop" not in names(made)


def test_it_tells_what_stands_for_the_values_that_are_gone():
    """Who knows of these values finds them again."""
    graph, became = trace(lambda x: x.exp().detach() * 2, X), {}
    exp, stop, _ = graph.nodes
    assert drop_stops(graph, became) and became == {stop.outs[0]: exp.outs[0]}
    assert not drop_stops(graph)
