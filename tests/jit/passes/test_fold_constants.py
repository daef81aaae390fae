"""Calls of constants are called once, when the graph is made."""

from __future__ import annotations

import numpy as np

import nbgrad
from nbgrad.jit import trace
from nbgrad.jit.passes.eliminate_dead import eliminate_dead
from nbgrad.jit.passes.fold_constants import fold_constants
from tests.jit.passes.before_after import SPECIAL, after, names, passed

X = nbgrad.tensor(SPECIAL)
W = nbgrad.ones(8, dtype=nbgrad.float64)


def test_a_call_of_constants_is_a_constant():
    """Numbers stay numbers: a constant of one takes no memory."""
    graph = trace(lambda x: x + nbgrad.full((8,), 2.0, dtype=nbgrad.float64).sqrt().exp(), X)
    made = after(fold_constants, graph, X)
    assert names(made) == ["add"]
    assert made.nodes[0].ins[1] == float(np.exp(np.sqrt(2.0)))


def test_tensors_of_the_program_are_no_constants():
    """The next run finds other elements in them."""
    graph = trace(lambda x: x * (W + 1), X)
    made = after(lambda graph: fold_constants(graph, {id(W)}), graph, X)
    assert names(made) == names(graph)
    f = nbgrad.jit.compile(lambda x: x * (W + 1), fullgraph=True)
    try:
        for k in range(3):
            W.fill_(k)
            np.testing.assert_array_equal(f(X).numpy(), SPECIAL * (k + 1))
    finally:
        W.fill_(1)


def test_tensors_that_the_function_makes_are_constants():
    """Of several values, too; where it is known which tensors were there before."""
    graph = trace(lambda x: x * (nbgrad.arange(8.0, dtype=nbgrad.float64) + 1), X)
    made = after(lambda graph: fold_constants(graph, ()), graph, X)
    assert names(made) == ["mul"]
    assert made.constants[-1].data.tolist() == list(range(1, 9))
    assert names(after(fold_constants, graph, X)) == names(graph)


def test_draws_and_large_constants_are_not():
    """Other numbers in every run; memory that nobody asked for."""
    graph = trace(lambda x: x * nbgrad.rand(8) + nbgrad.eye(300).exp().sum(), X)
    made, _ = graph.copy()
    fold_constants(made, ())
    assert names(made) == names(graph)


def test_errors_of_constants_are_those_of_the_run():
    """The call stays."""
    nothing = nbgrad.zeros(1, dtype=nbgrad.int64)
    graph = trace(lambda n: n + nbgrad.full((1,), 3) * 2, nothing)
    node = graph.nodes[0]
    made = after(fold_constants, graph, nothing)
    assert node.name == "mul" and names(made) == ["add"]


def test_arithmetic_reads_a_number_in_the_place_of_a_constant_of_one():
    """Where dtype and shape stay: not where the constant is wider."""

    def fn(x, h):
        c = nbgrad.full((), 3.0, dtype=nbgrad.float64)
        return x * c.expand(8), h * c, h.expand(8) - nbgrad.full((8,), 0.1, dtype=nbgrad.float64)

    h = nbgrad.tensor(0.1)
    graph = after(lambda graph: (fold_constants(graph), eliminate_dead(graph)), trace(fn, X, h), X, h)
    assert [node.ins[1] for node in graph.nodes if node.name == "mul"][0] == 3.0


def test_a_power_of_a_constant_is_computed_as_before():
    """A number as exponent may be another kernel."""
    assert passed(fold_constants, lambda x: x ** nbgrad.full((8,), 2.0, dtype=nbgrad.float64), X) == ["pow"]
