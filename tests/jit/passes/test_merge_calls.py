"""Equal calls become one, where nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import parse, trace
from nbgrad.jit.passes.merge_calls import merge_calls
from tests.jit.passes.before_after import SPECIAL, after, names, passed

X = nbgrad.tensor(SPECIAL)
A = nbgrad.tensor(np.arange(6.0).reshape(2, 3))


def test_equal_calls_become_one():
    """And with them what depends on them."""
    assert passed(merge_calls, lambda x: x.exp() * 2 + x.exp() * 2, X) == ["exp", "mul", "add"]


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x + 0.0 + (x + -0.0),
        lambda x: (x * 2).exp() + (x * 2.0).exp(),
        lambda x: x.sum(0) + x.sum(0, keepdim=True),
        lambda x: x.clamp(max=0.0) + x.clamp(max=-0.0),
    ],
)
def test_calls_of_other_numbers_or_other_attributes_do_not(fn):
    """Zeros of other signs, numbers of other types, dimensions that are kept."""
    assert names(trace(fn, X)) == passed(merge_calls, fn, X)


def test_views_of_the_same_elements_become_one():
    """A transpose of a transpose is what it was; two rows are one."""
    assert passed(merge_calls, lambda a: a.t().t() + a[0] + a[0], A) == ["t", "select", "add", "add"]


def test_what_is_detached_is_what_it_was():
    """Nothing is differentiated any more."""
    a = nbgrad.ones(3, requires_grad=True)
    assert passed(merge_calls, lambda x: x.exp().detach() * x.exp(), a) == ["exp", "mul"]


def test_equal_calls_of_graphs_without_layouts_become_one():
    """Whatever these are, they are equal; two that are both returned stay two."""
    graph = parse("def f(x: Tensor) -> [Tensor, Tensor]:\n    a: Tensor = exp(x)\n    b: Tensor = exp(x)\n    return [a, b]")
    assert not merge_calls(graph)
    graph = parse(
        "def f(x: Tensor) -> [Tensor]:\n    a: Tensor = exp(x)\n    b: Tensor = exp(x)\n    c: Tensor = mul(a, b)\n    return [c]"
    )
    assert merge_calls(graph) and names(graph) == ["exp", "mul"]


def test_results_keep_memory_of_their_own():
    """Who writes to one of two equal results does not change the other one, nor an argument."""
    f = nbgrad.jit.compile(lambda x: (x * 2, x * 2, x.exp(), x.exp().t().t()), fullgraph=True)
    for _ in range(2):
        a, b, c, d = f(A)
        a.add_(1)
        c.add_(1)
        np.testing.assert_array_equal(b.numpy(), A.numpy() * 2)
        np.testing.assert_array_equal(d.numpy(), nbgrad.exp(A).numpy())


def test_results_that_share_memory_go_on_sharing_it():
    """Two views of one result."""
    f = nbgrad.jit.compile(lambda x: ((y := x + 1), y.t(), (x + 1).t()), fullgraph=True)
    for _ in range(2):
        a, b, c = f(A)
        a.mul_(0)
        assert not b.any() and c.all()


def test_draws_are_never_merged():
    """Two calls of a generator give two rows of numbers, in one result."""
    graph = trace(lambda x: nbgrad.rand(8) - nbgrad.rand(8), X)
    made, _ = graph.copy()
    merge_calls(made)
    assert names(made) == names(graph)
    assert made(X)[0].all()


def test_functions_that_read_arrays_are_called_as_often_as_they_stand():
    """Nothing is known of them."""
    calls = []

    class Double(nbgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            calls.append(1)
            return nbgrad.tensor(x.numpy() * 2)

    graph = trace(lambda x: Double.apply(x) + Double.apply(x), X)
    made = after(merge_calls, graph, X)
    del calls[:]
    made(X)
    assert len(calls) == 2


def test_gradients_of_results_add_up_in_the_order_of_the_program():
    """A compiled function in a larger graph is differentiated as it was written, though it runs with fewer calls."""

    def fn(x):
        return (x * 1.1).exp() * x.sin() + (x * 1.1).exp() * x.cos() + (x * 1.1).exp() / 3

    x = nbgrad.tensor(np.linspace(-2, 2, 101), requires_grad=True)
    f = nbgrad.jit.compile(fn, fullgraph=True)
    for _ in range(2):
        want, got = (nbgrad.grad(run(x).square().sum(), x)[0] for run in (fn, f))
        np.testing.assert_array_equal(got.numpy(), want.numpy())
    (variant,) = f.variants
    assert len(variant.program.schedule.steps[0].nodes) < len(variant.graph.nodes)
