"""What every trip of a loop computes alike is computed in front of it."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import Graph, compile, scan, trace, while_loop
from nbgrad.jit.ir.ir import CONTROLS, Block, Control, Node, Value
from nbgrad.jit.ir.replay import run_block
from nbgrad.jit.passes.hoist_invariants import hoist_invariants
from nbgrad.ops.core import OPS
from tests.jit.passes.before_after import after, assert_same_bits, names

X = nbgrad.tensor(np.linspace(0.1, 2, 5))
W = nbgrad.tensor(np.linspace(-1, 1, 3))


def test_what_reads_only_whole_tensors_moves_out_of_a_scan():
    """With what depends on it."""

    def fn(x, w):
        return scan(lambda c, x: (c * w.exp().sum() + x, c.sin()), nbgrad.ones((), dtype=nbgrad.float64), x)

    made = after(hoist_invariants, trace(fn, X, W), X, W)
    assert names(made) == ["exp", "sum", "scan"]
    assert [node.name for node in made.nodes[-1].blocks[0].nodes] == ["mul", "add", "sin"]


def test_body_and_test_of_a_while_loop():
    """Both take what moved out of either."""

    def fn(x, w):
        return while_loop(lambda c: (c < w.abs().sum()).all(), lambda c: c * w.exp().sum(), x)

    made = after(hoist_invariants, trace(fn, X, W), X, W)
    assert sorted(names(made)) == ["abs", "exp", "sum", "sum", "while_loop"]


def test_views_stay_and_are_made_in_front_too():
    """A product with a transpose, and the transpose."""
    a = nbgrad.tensor(np.arange(9.0).reshape(3, 3))

    def fn(c, a):
        return scan(lambda c, _: (c @ (a.t().exp().contiguous() + a.t()).contiguous() / 99, None), c, length=3)[0]

    made = after(hoist_invariants, trace(fn, W, a), W, a)
    assert "t" in names(made) and made.nodes[-1].name == "scan"
    assert len(made.nodes[-1].blocks[0].nodes) < len(trace(fn, W, a).nodes[-1].blocks[0].nodes)


def test_what_changes_from_trip_to_trip_stays():
    """What reads carries and slices."""

    def fn(x, w):
        return scan(lambda c, x: (c * x.exp() + w, c.exp()), nbgrad.ones(3, dtype=nbgrad.float64), x)

    graph = trace(fn, X, W)
    made = after(hoist_invariants, graph, X, W)
    assert names(made) == ["scan"] == names(graph)


def test_what_may_refuse_values_stays():
    """A loop without trips takes no element out of range."""

    def fn(x, w, i):
        return scan(lambda c, x: (c + w.take(i).sum() * x, None), nbgrad.zeros((), dtype=nbgrad.float64), x)[0]

    i = nbgrad.tensor([0, 2])
    made = after(hoist_invariants, trace(fn, X, W, i), X, W, i)
    assert "take" not in names(made)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_compiled_loops_and_their_gradients_give_the_same_bits(trips):
    """By any number of trips."""

    def fn(x, w):
        total, ys = scan(lambda c, x: (c * w.exp().sum().tanh() + x, c.sin() * w.exp()), nbgrad.ones((), dtype=nbgrad.float64), x)
        value = total + ys.sum()
        return value, *nbgrad.grad(value, (x, w))

    xs = [nbgrad.tensor(X.numpy()[:trips]).requires_grad_(), nbgrad.tensor(W.numpy()).requires_grad_()]
    f = compile(fn, fullgraph=True)
    for _ in range(2):
        for got, want in zip(f(*xs), fn(*xs)):
            assert_same_bits(got, want)


def test_gradients_of_a_compiled_loop_are_those_of_the_loop():
    """What moved out in front is not what is differentiated."""

    def fn(x, w):
        total, ys = scan(lambda c, x: (c * w.exp().sum().tanh() + x, c.sin() * w.exp()), nbgrad.ones((), dtype=nbgrad.float64), x)
        return total, ys.t()

    xs = [nbgrad.tensor(x.numpy()).requires_grad_() for x in (X, W)]
    f = compile(fn, fullgraph=True)
    for _ in range(2):
        want, got = (nbgrad.grad([(y * y).sum() for y in run(*xs)], xs) for run in (fn, f))
        for x, y in zip(got, want):
            np.testing.assert_array_equal(x.numpy(), y.numpy())


@pytest.fixture
def twice():
    """A control node that runs its block twice, whose second input is the same both times; it may read what is around it."""

    def run(node, values, c, *rest):
        for _ in range(2):
            (c,) = run_block(node.blocks[0], (c, *rest), values)
        return (c,)

    control = Control("twice_for_tests", run)
    control.changing = lambda node: 1
    yield control
    del CONTROLS[control.name]


def test_loops_of_any_control_node(twice):
    """What stands in the block and reads the second input, or what is around it."""
    layout = W.layout
    c, w, inner_c, inner_w = (Value(layout, False) for _ in range(4))
    sine = Node(OPS["sin"], (w,), {}, [layout], flags=[False])
    exp = Node(OPS["exp"], (inner_w,), {}, [layout], flags=[False])
    both = Node(OPS["add"], (exp.outs[0], sine.outs[0]), {}, [layout], flags=[False])
    last = Node(OPS["mul"], (inner_c, both.outs[0]), {}, [layout], flags=[False])
    block = Block([inner_c, inner_w], [exp, both, last], list(last.outs))
    loop = Node(twice, (c, w), {}, [layout], (block,), flags=[False])
    graph = Graph([c, w], [sine, loop], list(loop.outs))
    x = nbgrad.tensor(np.linspace(1, 2, 3))
    made = after(hoist_invariants, graph, x, W)
    assert names(made) == ["sin", "exp", "add", "twice_for_tests"]
    assert names(made.nodes[-1].blocks[0]) == ["mul"]
