"""What graphs leave to Python: printing, and functions of arrays."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.jit import compile, parse, scan, trace
from nbgrad.jit.nodes.hosts import CALL
from tests.helpers import leaf


def test_prints_in_every_call(capsys):
    """What the tensors hold then, in the order of the program, and nothing while it is captured."""

    @compile(fullgraph=True)
    def fn(x):
        nbgrad.jit.print("x:", x, end=";")
        y = x * 2
        y.add_(1)
        nbgrad.jit.print(y, x.sum(), 3, sep="|")
        return y

    for k in (1.0, 2.0, 3.0):
        fn(nbgrad.tensor([k]))
        assert capsys.readouterr().out == f"x: tensor([{k:.0f}.]);tensor([{2 * k + 1:.0f}.])|tensor({k:.0f}.)|3\n"
    nbgrad.jit.print("eager", nbgrad.ones(1))
    assert capsys.readouterr().out == "eager tensor([1.])\n"


def test_a_run_that_stops_has_not_printed(capsys):
    """Another answer takes another variant, which prints once."""

    @compile(fullgraph=True)
    def fn(x):
        nbgrad.jit.print("before")
        y = x * 2 if x.sum() > 0 else x
        nbgrad.jit.print("after", x)
        return y

    for k in (1, -1, 1, -1):
        fn(nbgrad.tensor([k]))
        assert capsys.readouterr().out == f"before\nafter tensor([{k}])\n"


def test_derivatives_print_nothing(capsys):
    """A pass through a compiled function; a scan and its reverse."""

    def fn(x):
        nbgrad.jit.print("forward")
        return (x * x).sum()

    x = leaf([1.0, 2.0])
    compile(fn, fullgraph=True)(x).backward()
    assert capsys.readouterr().out == "forward\n" and x.grad.tolist() == [2.0, 4.0]

    def step(c, s):
        nbgrad.jit.print("c:", c)
        return c * s, c

    c, _ = scan(step, leaf(1.0), nbgrad.tensor([2.0, 3.0]))
    assert capsys.readouterr().out.count("c: tensor(") == 2
    c.backward()
    assert capsys.readouterr().out == ""


def test_texts_of_graphs_that_print(capsys):
    """A statement of its own, that reads back, and prints when it is replayed."""

    def fn(x):
        nbgrad.jit.print("x", x)
        return x + 1

    graph = trace(fn, nbgrad.ones(1))
    assert "show(x, end='\\n', parts=('x', None), sep=' ')" in str(graph)
    again = parse(str(graph))
    assert str(again) == str(graph)
    again(nbgrad.zeros(1))
    assert capsys.readouterr().out == "x tensor([0.])\n"


def test_functions_of_arrays_are_one_node():
    """``multinomial`` chooses by arrays; it checks its weights in every call."""
    fn = lambda x: nbgrad.multinomial(x, 3, replacement=True)
    graph, compiled = trace(fn, nbgrad.ones(4)), compile(fn, fullgraph=True)
    assert graph.nodes[-1].op is CALL and str(parse(str(graph))) == str(graph)
    found = []
    for each in (fn, compiled, lambda x: graph(x)[0]):
        nbgrad.manual_seed(1)
        found.append([each(nbgrad.tensor(weights)).tolist() for weights in ([0.0, 1.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0])])
    assert found[0] == found[1] == found[2]
    with pytest.raises(nbgrad.RangeError, match="weights must be finite"):
        compiled(-nbgrad.ones(4))
