"""What functions on graphs refuse, with the function's name, what came, and what was expected."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import jit
from nbgrad.base.grad_mode import special, traces
from nbgrad.errors import ArgumentError, GraphError, RangeError
from nbgrad.jit import differentiate, trace

GRAPH = jit.trace(lambda x: x * 2, nbgrad.ones(2))


class Own:
    """Of no type that graphs know."""


@pytest.mark.parametrize("no_graph", [None, 3, "graph", len])
@pytest.mark.parametrize(
    "function",
    [
        jit.check,
        jit.differentiate,
        jit.is_differentiable,
        jit.jvp,
        jit.linearize,
        jit.transpose,
        lambda x: jit.difference(GRAPH, x),
        lambda x: jit.same(x, GRAPH),
        lambda x: jit.update_requires_grad(x, True),
    ],
)
def test_what_is_no_graph(function, no_graph):
    """The remedy is said too."""
    with pytest.raises(ArgumentError, match=rf"\w+: expected a graph, got {type(no_graph).__name__}. Hint: nbgrad.jit.trace"):
        function(no_graph)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: jit.trace(3, x), ArgumentError, "trace: expected a function, got int"),
        (lambda x: jit.trace(lambda x, y: x, x, 2.0), ArgumentError, "trace: y is of type float, expected a Tensor"),
        (lambda x: jit.trace(lambda *xs: xs, x, [x]), ArgumentError, "trace: an example is of type list, expected a Tensor"),
        (lambda x: jit.trace(lambda x: Own(), x), ArgumentError, "trace: the result is of type Own, expected tensors"),
        (lambda x: jit.trace(lambda x: (x, [x, Own()]), x), ArgumentError, r"trace: the result\[1\]\[1\] is of type Own"),
        (lambda x: jit.trace(lambda x: (x, {"a": x}), x), ArgumentError, r"trace: the result\[1\] is of type dict"),
        (lambda x: jit.parse(3), ArgumentError, "parse: expected the text of a graph, got int"),
        (
            lambda x: jit.differentiate(GRAPH, memory="all"),
            ArgumentError,
            "differentiate: memory must be a number of bytes or None",
        ),
        (lambda x: GRAPH(3), ArgumentError, r"graph: x is of type int, expected float32 \[2\]"),
        (lambda x: GRAPH.draw(3), ArgumentError, "draw: expected a path, got int"),
        (lambda x: jit.load(3), ArgumentError, "load: expected a path, got int"),
        (lambda x: jit.save(nbgrad.compile(len), 3), ArgumentError, "save: expected a path, got int"),
        (lambda x: jit.compile(len, limit="all"), ArgumentError, "compile: limit must be an int, got str"),
        (lambda x: jit.compile(len, limit=-1), RangeError, "compile: limit is -1, expected a number of variants >= 0"),
    ],
)
def test_what_is_refused(call, error, message):
    """Before anything is captured, and with nothing left behind."""
    before = special.copy()
    with pytest.raises(error, match=message):
        call(nbgrad.ones(2))
    assert not traces and special == before


def reversed_calls(graph):
    graph.nodes.reverse()


def another_layout(graph):
    graph.nodes[1].outs[0].layout = graph.outputs[0].layout


def a_missing_operand(graph):
    graph.nodes[0].ins = graph.nodes[0].ins[:1]


@pytest.mark.parametrize(
    "spoil, invariant",
    [(reversed_calls, "definition before use"), (another_layout, "layouts"), (a_missing_operand, "operands fit")],
)
def test_graphs_that_break_an_invariant_are_not_differentiated(spoil, invariant):
    """The error says which one, and where."""
    graph = trace(lambda x, y: (x * y).sin().sum(), *[nbgrad.ones(2, requires_grad=True) for _ in range(2)])
    spoil(graph)
    with pytest.raises(GraphError, match=rf"differentiate: {invariant}: node \d \("):
        differentiate(graph)


def test_graphs_are_called_with_what_they_are_of():
    """Another shape or dtype would have a graph compute something else, since sizes of its example are numbers in it."""
    graph = jit.trace(lambda x: x.sum() / x.shape[0], nbgrad.ones(2))
    for x, came in ((nbgrad.ones(3), r"float32 \[3\]"), (nbgrad.ones(2, dtype=nbgrad.float64), r"float64 \[2\]")):
        with pytest.raises(ArgumentError, match=rf"x is {came}, expected float32 \[2\]"):
            graph(x)
    assert nbgrad.vmap(lambda x: graph(x)[0])(nbgrad.ones(3, 2)).tolist() == [1, 1, 1]
