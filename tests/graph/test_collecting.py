"""What nodes say of themselves, and that they compute with other tensors what they say."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.graph import Collector
from nbgrad.graph.node import Node, blank_node
from nbgrad.graph.rule import Rule
from nbgrad.jit import compiled_autograd
from nbgrad.jit.live import programs
from tests.helpers import wave


@pytest.fixture(autouse=True)
def forgotten():
    """No programs of other tests."""
    programs.found.clear()


def told(node):
    """Words and values of a node, and whether that is all."""
    collector = Collector()
    node.compiled_args(collector)
    return collector.words, collector.values, collector.whole


CALLS = {
    "two operands": lambda x: x * x.sin(),
    "a result": lambda x: x.exp(),
    "a number": lambda x: x * 2.5,
    "an index": lambda x: x[nbgrad.tensor([0, 2, 0])],
    "attributes": lambda x: x.sum(0, keepdim=True),
    "a product": lambda x: x @ x.t(),
    "several results": lambda x: x.sort(0)[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_alike_nodes_compute_with_the_others_tensors(name):
    """They tell the same, and one gives with the other's tensors what the other gives."""
    nodes = [CALLS[name](wave(3, 3).add(k).requires_grad_()) for k in (3.5, 2.5, 0.5, 1.5)][2:]  # the first ones make plans
    g = wave(*nodes[0].shape)
    (first, _, whole), (second, values, _) = (told(y.grad_fn) for y in nodes)
    assert whole and first == second
    g = [g, None] if nodes[0].grad_fn._outputs_ == 2 else g
    with nbgrad.no_grad():
        got, want = nodes[0].grad_fn.apply_with_saved(values, g), nodes[1].grad_fn.apply_with_saved(values, g)
    for x, y in zip(*(each if isinstance(each, (tuple, list)) else [each] for each in (got, want))):
        assert np.array_equal(x.numpy(), y.numpy()) if x is not None else y is None


def test_what_decides_is_told():
    """Layouts, numbers, attributes; not the elements of tensors."""
    x, y = wave(2, 3).requires_grad_(), wave(3, 2).requires_grad_()
    assert told((x * 2).grad_fn)[0] != told((x * 3).grad_fn)[0]
    assert told(x.exp().grad_fn)[0] != told(y.exp().grad_fn)[0]
    assert told(x.sum(0).grad_fn)[0] != told(x.sum(1).grad_fn)[0]
    assert told(x.exp().grad_fn)[0] == told((x.detach() + 1).requires_grad_().exp().grad_fn)[0]


def test_what_is_refused():
    """What was written to, freed, or lies behind hooks; objects of users."""
    x = wave(3).requires_grad_()
    y = x * 1
    written = y.exp()
    written.detach().add_(1)
    freed = x.exp()
    freed.sum().backward()
    with nbgrad.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        packed = x.exp()
    assert [told(out.grad_fn)[2] for out in (written, freed, packed)] == [False] * 3
    collector = Collector()
    collector.collect(object())
    assert not collector.whole


def test_a_leaf_tells_of_its_gradient():
    """And accumulates into the one that it is given."""
    x = wave(3).requires_grad_()
    node = nbgrad.graph.get_gradient_edge(x).node
    assert [len(told(node)[1]), told(node)[2]] == [1, True]
    x.sum().backward()
    assert len(told(node)[1]) == 2
    held = nbgrad.ones(3, dtype=nbgrad.float64)
    with nbgrad.no_grad():
        assert node.apply_with_saved([x.detach(), held], wave(3)).tolist() == (wave(3) + 1).tolist()
    assert held.tolist() == (wave(3) + 1).tolist() and x.grad.tolist() == [1, 1, 1]
    x.register_post_accumulate_grad_hook(print)
    assert not told(node)[2]


class Scaled(nbgrad.Function):
    """Says of a table in ctx what decides, and computes with it itself."""

    calls = 0

    @staticmethod
    def forward(ctx, x, table):
        ctx.table = table
        ctx.save_for_backward(x)
        return x * table["factor"]

    @staticmethod
    def backward(ctx, g):
        Scaled.calls += 1
        return g * ctx.table["factor"], None

    @staticmethod
    def compiled_args(ctx, collector):
        collector.collect(sorted(ctx.table))
        collector.collect(ctx.table["factor"])

    @staticmethod
    def apply_with_saved(ctx, values, g):
        (factor,) = values
        return g * factor, None


def test_a_function_that_speaks_for_itself():
    """Its tensors are operands of the program: other elements are no other kind."""

    def program(k):
        x, factor = wave(3).requires_grad_(), wave(3) + k
        y = Scaled.apply(x, {"factor": factor, "name": object()})
        for _ in range(5):
            y = y * 1.01
        y.sum().backward()
        return x.grad.tolist()

    Scaled.calls = 0
    want = [program(k) for k in range(3)]
    with compiled_autograd():
        assert [program(k) for k in range(3)] == want
    assert Scaled.calls == 3
    assert [live.program is not None for alike in programs.found.values() for live in alike] == [True]


class Own(Node):
    """A node of a class of a program."""

    __slots__ = ("factor",)

    def compiled_args(self, collector):
        collector.collect(self.factor)

    def apply_with_saved(self, values, g):
        return g * values[0]


class OwnRule(Rule):
    name = node_name = "Own"


@pytest.mark.parametrize("kind", ["speaks", "does not"])
def test_a_node_of_a_class_of_the_program(kind):
    """By what it says, or in its turn."""
    rule, runs = OwnRule(), []

    def backward(node, g, create_graph):
        runs.append(1)
        return g * node.factor

    def program(k):
        x = (wave(3) + 1).requires_grad_()
        y = x * 1
        node = blank_node(Own if kind == "speaks" else Silent)
        node._rule_, node._backward_, node._edges_, node._outputs_ = rule, backward, (y.grad_fn,), 1
        node._plan_, node._seq_, node.factor = y.grad_fn._plan_, y.grad_fn._seq_ + 1, wave(3) * k
        z = (y * 1).detach()
        z._edge_, z._needs_grad_ = node, True
        for _ in range(60):
            z = z * 1.01
        z.sum().backward()
        return x.grad.tolist()

    want = [program(k) for k in range(3)]
    runs.clear()
    with compiled_autograd():
        assert [program(k) for k in range(3)] == want
    assert len(runs) == (0 if kind == "speaks" else 3)


class Silent(Node):
    """Another, that says that no two are alike."""

    __slots__ = ("factor",)

    def compiled_args(self, collector):
        collector.refuse()
