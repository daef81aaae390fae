"""Gradients of loops that a test ends, within graphs, where only a run knows how many trips there are: eager's, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import GradError, GraphError
from nbgrad.func import grad, jvp
from nbgrad.jit import differentiate, trace, while_loop

X = nbgrad.tensor([0.1, 0.2, 0.3], dtype=nbgrad.float64)
W = nbgrad.tensor([1.1, 1.2, 1.3], dtype=nbgrad.float64)
FACTORS = {1.0: 6, 4.0: 3, 15.0: 1, 40.0: 0}  # and how many trips there are


def grown(x, w):
    """A carry of floats and one of integers; a captured tensor."""
    return while_loop(lambda c: c[0].sum() < 10, lambda c: ((c[0] * w).sin() * c[0] + 1.5 * c[0], c[1] + 1), (x, nbgrad.tensor(0)))


def product(x, w):
    """One number."""
    return grown(x, w)[0].prod()


def same(xs, ys):
    """Equal to the bit."""
    for x, y in zip(xs, ys, strict=True):
        np.testing.assert_array_equal(x.detach().numpy(), y.detach().numpy())


def close(xs, ys):
    """Equal up to the order of sums."""
    for x, y in zip(xs, ys, strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-9)


def value_and_gradients(x, w):
    """Also without a gradient of one of the operands."""
    return product(x, w), *grad(product, (0, 1))(x, w), grad(product, 1)(x, w)


@pytest.mark.parametrize("factor", FACTORS)
def test_gradients(factor):
    """Of traced graphs, their texts, and compiled functions, for any number of trips."""
    x, graph = X * factor, trace(value_and_gradients, X * 3, W)
    assert int(grown(x, W)[1]) == FACTORS[factor]
    nbgrad.jit.check(graph)
    assert sum(node.name == "unwind" for node in graph.nodes) == 2
    expected = value_and_gradients(x, W)
    for run in (graph, nbgrad.jit.parse(str(graph)), nbgrad.compile(value_and_gradients, fullgraph=True)):
        for _ in range(2):
            same(run(x, W), expected)


@pytest.mark.parametrize("factor", FACTORS)
def test_higher_orders_and_transforms(factor):
    """Second and third order, forward over reverse and the other way round, batches of gradients and of second order."""

    def several(x, w):
        slopes = grad(product, (0, 1))

        def norm(x, w):
            return sum((g * g).sum() for g in slopes(x, w))

        return (
            grad(norm, 1)(x, w),
            grad(lambda w: grad(norm, 1)(x, w).sum())(w),
            *jvp(lambda x: slopes(x, w), (x,), (w,))[1],
            grad(lambda x: jvp(lambda x: product(x, w), (x,), (w,))[1])(x),
            *nbgrad.vmap(slopes, (0, None))(nbgrad.stack([x, w]), w),
            nbgrad.vmap(grad(norm))(nbgrad.stack([x, w]), nbgrad.stack([w, x])),
        )

    x, graph = X * factor, trace(several, X * 3, W)
    nbgrad.jit.check(graph)
    close(graph(x, W), several(x, W))
    close(nbgrad.compile(several, fullgraph=True)(x, W), several(x, W))


def test_graphs_with_such_loops_are_differentiated():
    """``df`` has the way back, of the operands; so has the ``df`` of that."""
    x, w = X.clone().requires_grad_(), W.clone().requires_grad_()
    gradient = differentiate(trace(product, x, w))
    assert [node.name for node in gradient.df.all_nodes()].count("unwind") == 1
    outs = gradient.f(X, W)
    captured = [(X, W)[k] for k in gradient.df_input_captured_inputs]
    captured += [outs[k] for k in gradient.df_input_captured_outputs]
    given = [nbgrad.ones_like(outs[0]), *(nbgrad.zeros_like(x) for x in outs[1 : len(gradient.df_input_vjps)])]
    same(gradient.df(*given, *captured), nbgrad.grad(product(x, w), [x, w]))
    nbgrad.jit.check(differentiate(gradient.df).df)


def test_passes_from_outside_are_programs():
    """Backward through a compiled function, for other numbers of trips than when it was captured, recorded and not."""
    compiled = nbgrad.compile(product, fullgraph=True)
    for factor in FACTORS:
        x, w = (X * factor).requires_grad_(), W.clone().requires_grad_()
        found = []
        for run in (compiled, product):
            gs = nbgrad.grad(run(x, w), [x, w], create_graph=True, materialize_grads=True)
            found.append([*gs, *nbgrad.grad(sum((g * g).sum() for g in gs), [x, w], materialize_grads=True)])
        same(found[0][:2], found[1][:2])
        close(found[0][2:], found[1][2:])
        same(nbgrad.grad(compiled(x, w), [x, w]), found[1][:2])
    assert len(compiled.variants) == 1
    (told,) = compiled.explain().variants
    assert any("unwind" in str(step) for step in told.backward[0].steps)


def test_memory_bounds_the_history():
    """Beyond it a compiled function has eager's error, and goes on with fewer trips."""

    def slope(x):
        return grad(lambda x: while_loop(lambda x: x.sum() < 10, lambda x: x * 1.5, x, memory=100).prod())(x)

    compiled = nbgrad.compile(slope, fullgraph=True)
    same([compiled(X * 8)], [slope(X * 8)])
    for run in (slope, compiled):
        with pytest.raises(GradError, match="5 carries of 24 bytes.*more than the 100 bytes"):
            run(X)
    same([compiled(X * 8)], [slope(X * 8)])


def test_loops_within_loops():
    """A scan whose step is such a loop, in reverse."""

    def value(x, w):
        return nbgrad.scan(lambda c, y: (grown(c * 0.5, y)[0], None), x, nbgrad.stack([w, w * 0.9, w * 1.1]))[0].sum()

    slopes = grad(value, (0, 1))
    same(nbgrad.compile(slopes, fullgraph=True)(X, W), slopes(X, W))


def test_what_a_graph_cannot_hold_is_refused_as_before():
    """Values that the body asks for."""
    with pytest.raises(GraphError, match="values"):
        trace(grad(lambda x: while_loop(lambda x: x.sum() < 10, lambda x: x * 2 if x.sum() > 1 else x * 3, x).sum()), X)
