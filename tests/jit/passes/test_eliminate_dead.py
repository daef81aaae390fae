"""Nodes on which no result depends are taken out, but for those that do something."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.errors import DimError, LinAlgError
from nbgrad.jit import trace
from nbgrad.jit.passes.eliminate_dead import eliminate_dead
from tests.jit.passes.before_after import after, names, passed

X = nbgrad.tensor([1.0, 2.0, 3.0])
N = nbgrad.tensor([1, 2, 3])


def test_what_no_result_depends_on_is_taken_out():
    """A chain that ends nowhere, and the gradient of what is not asked for."""

    def fn(x):
        x.exp().log().sum()
        return x * 2

    assert passed(eliminate_dead, fn, X) == ["mul"]


def test_constants_that_nothing_reads_are_taken_out_but_those_that_stay():
    """A tensor that the function names, in a dead call."""

    def fn(x):
        x * N
        return x + 1

    graph = trace(fn, X)
    assert not after(eliminate_dead, graph, X).constants
    kept, table = graph.copy()
    eliminate_dead(kept, {table[value] for value in graph.constants})
    assert len(kept.constants) == len(graph.constants) == 1


def test_calls_of_generators_are_taken_whether_their_numbers_are_read_or_not():
    """The generator is where the program leaves it."""

    def fn(x):
        nbgrad.rand(3)
        return x + nbgrad.rand(3)

    graph = trace(fn, X)
    made, _ = graph.copy()
    eliminate_dead(made)
    assert names(made) == ["reserve", "reserve", "draw", "add"]
    nbgrad.manual_seed(3)
    (got,) = made(X)
    nbgrad.manual_seed(3)
    assert (got == fn(X)).all()


def test_what_the_program_prints_and_asks_for_stays(capsys):
    """Nodes that others see, and guards."""

    def fn(x):
        nbgrad.jit.print(x.sum())
        return x + 1 if x[0] > 0 else x

    assert passed(eliminate_dead, fn, X) == ["sum", "show", "select", "gt", "guard", "add"]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("fn", "xs", "bad", "error"),
    [
        (lambda x, i: (x[i], x + 1)[1], (X, N - 1), (X, N + 5), DimError),
        (lambda x, i: (i // i, x + 1)[1], (X, N), (X, N - 1), ZeroDivisionError),
        (lambda x, i: (nbgrad.linalg.inv(nbgrad.diag(x)), x + 1)[1], (X, N), (X * 0, N), LinAlgError),
    ],
)
def test_calls_that_may_refuse_what_operands_hold_stay(fn, xs, bad, error):
    """An error of the program is one of the graph, though nobody reads the result."""
    made = after(eliminate_dead, trace(fn, *xs), *xs)
    with pytest.raises(error):
        fn(*bad)
    with pytest.raises(error):
        made(*bad)


def test_calls_that_may_refuse_go_where_nobody_waits_for_that():
    """What a run before has refused already; not what changes sizes."""
    graph = trace(lambda x, i: (x[i], x.nonzero(), x + 1)[2], X, N - 1)
    assert after(eliminate_dead, graph, X, N - 1).nodes != []
    before = names(graph)
    eliminate_dead(graph, silent=set(graph.nodes))
    assert before == ["index", "nonzero_places", "add"] and names(graph) == ["nonzero_places", "add"]


def test_a_dead_loop_is_taken_out_and_one_that_may_refuse_stays():
    """What stands in a block decides."""

    def fn(x, i):
        nbgrad.jit.scan(lambda c, x: (c + x, None), nbgrad.tensor(0.0), x)
        nbgrad.jit.scan(lambda c, i: (c + x.take(i), None), nbgrad.zeros(()), i)
        return x + 1

    left = passed(eliminate_dead, fn, X, nbgrad.tensor([0, 1]))
    assert left.count("scan") == 1
