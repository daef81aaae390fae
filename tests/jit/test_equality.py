"""Graphs are the same where they are the same program, and differences are told."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.jit import difference, same, trace
from tests.helpers import leaf

W = nbgrad.arange(20.0)


def test_names_and_lines_do_not_matter():
    """Two spellings of one program."""
    one = trace(lambda x: (x * 2).exp(), nbgrad.ones(2))

    def other(y):
        doubled = y * 2
        return doubled.exp()

    assert same(one, trace(other, nbgrad.ones(2))) and difference(one, one.copy()[0]) == ""


DIFFERENT = {
    "an operation": (lambda x: x.exp(), lambda x: x.log(), "node 0 (exp): against log"),
    "a number": (lambda x: x * 2, lambda x: x * 2.0, "node 0 (mul), operand 1: 2 against 2.0"),
    "a sign of zero": (lambda x: x * 0.0, lambda x: x * -0.0, "node 0 (mul), operand 1: 0.0 against -0.0"),
    "an attribute": (lambda x: x.sum(0), lambda x: x.sum(), "node 0 (sum), attribute dim: 0 against None"),
    "which value": (lambda x, y: x - y, lambda x, y: y - x, "node 0 (sub), operand 0: other values"),
    "more nodes": (lambda x: x, lambda x: x.exp(), "0 nodes against 1"),
    "an output": (lambda x: (x, x.exp()), lambda x: (x.exp(), x), "output 0: other values"),
    "constants": (lambda x: x * W[:2], lambda x: x * (W[:2] + 1), ""),
    "a value read twice": (lambda x, y: x * x, lambda x, y: x * y, "node 0 (mul), operand 1: other values"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_first_difference_is_told(name):
    """In words, then as a difference of texts."""
    one, other, message = DIFFERENT[name]
    count = one.__code__.co_argcount
    found = difference(trace(one, *[leaf()] * count), trace(other, *[leaf()] * count))
    assert found.startswith(message) and found


def test_equal_nans_are_equal():
    """Numbers are compared bit for bit."""
    graphs = [trace(lambda x: x * float("nan"), leaf()) for _ in range(2)]
    assert same(*graphs)


def test_layouts_and_flags_matter():
    """Programs for tensors of other shapes, or with gradients, are others."""
    graphs = [trace(lambda x: x.exp(), x) for x in (leaf(), leaf([1.0]), leaf().detach())]
    assert difference(graphs[0], graphs[1]).startswith("input 0: float64[2].requires_grad against float64[1].requires_grad")
    assert difference(graphs[0], graphs[2]).startswith("input 0: float64[2].requires_grad against float64[2]")


def test_values_of_constants_matter():
    """Large ones too."""
    one = trace(lambda x: x * W, nbgrad.ones(20))
    other, table = one.copy()
    other.constants[0].data = W + 1
    assert difference(one, other).startswith("node 0 (mul), operand 1: constants of other values")
    other.constants[0].data = W.clone()
    assert same(one, other)
