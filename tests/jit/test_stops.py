"""Where derivatives of a trace stop: where those of its function do, whether its example required a gradient or not."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.func import grad, jvp as func_jvp, vjp
from nbgrad.jit import differentiate, jvp, linearize, trace, transpose
from nbgrad.jit.ir.ir import Block, Control, Node, Value
from nbgrad.jit.ir.replay import run_block
from nbgrad.ops.core import OPS


def unrecorded(f):
    """What a function returns under ``no_grad``."""
    with nbgrad.no_grad():
        return f()


def written(y, write):
    """A tensor that something was done to."""
    write(y)
    return y


class Halves(nbgrad.Function):
    """Twice the argument; and three times, which is no function of it for derivatives."""

    @staticmethod
    def forward(ctx, x):
        twice, thrice = x * 2, x * 3
        ctx.mark_non_differentiable(thrice)
        return twice, thrice

    @staticmethod
    def backward(ctx, g, _):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t * 2, None


def no_grad_write(x):
    y = x * 2
    with nbgrad.no_grad():
        y.mul_(x)
    return y * x


FUNCTIONS = {
    "detach": lambda x: x.detach() * x,
    "detach of computed": lambda x: (x * 2).detach() * x + x.detach().detach()[1:].sum(),
    "a result": lambda x: x.detach(),
    "data": lambda x: x.data * x,
    "rounding with a straight gradient": lambda x: x + (x.round() - x).detach(),
    "no_grad": lambda x: unrecorded(lambda: x * 2) * x,
    "a view under no_grad": lambda x: unrecorded(lambda: x[:]) * x,
    "detach under no_grad": lambda x: unrecorded(lambda: x.detach() * x) * x,
    "several layers": lambda x: unrecorded(lambda: (x * 2).sin() * 3) + x,
    "a Function": lambda x: Halves.apply(x)[0] * Halves.apply(x)[1],
    "a write through detached": lambda x: written(x * 1, lambda y: y.detach().mul_(2)) * 3,
    "a write through data": lambda x: written(x * 2, lambda y: y.data.mul_(3)) * x,
    "a write under no_grad": no_grad_write,
    "a write into detached": lambda x: written(x.detach().clone(), lambda y: y[:1].copy_(x[1:2])) * x,
    "a write into unrecorded": lambda x: written(unrecorded(lambda: x * 2), lambda y: y[:1].copy_(x[1:2])),
    "detach in place": lambda x: (x * 2).detach_() * x,
}
X, T = nbgrad.tensor([1.5, -2.0, 3.0]), nbgrad.tensor([1.0, 10.0, 100.0])


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_a_trace_stop_where_those_of_the_function_do(name, required):
    """``jvp``, ``linearize``, calls under transforms and ``differentiate`` agree with ``func.jvp`` and ``func.grad``."""
    f = FUNCTIONS[name]
    graph = trace(f, X.clone().requires_grad_(required))
    _, tangent = func_jvp(f, (X,), (T,))
    gradient = grad(lambda x: f(x).sum())(X)

    assert jvp(graph)(X, T)[1].allclose(tangent)
    linear = linearize(graph)
    outs = linear.f(X)
    saved = [X] * len(linear.captured_inputs) + [outs[k] for k in linear.captured_outputs]
    assert linear.linear(*saved, T)[0].allclose(tangent)
    assert func_jvp(lambda x: graph(x)[0], (X,), (T,))[1].allclose(tangent)
    assert grad(lambda x: graph(x)[0].sum())(X).allclose(gradient)
    if required:
        made = differentiate(graph, X)
        outs = made.f(X)
        kept = [X] * len(made.df_input_captured_inputs) + [outs[k] for k in made.df_input_captured_outputs]
        cotangents = [nbgrad.ones(3) if k == 0 else None for k in made.df_input_vjps]
        found = made.df(*cotangents, *kept)
        assert (found[0] if found and found[0] is not None else nbgrad.zeros(3)).allclose(gradient)


LINEAR = {
    "detach": lambda x: x * 2 + x.detach(),
    "no_grad": lambda x: unrecorded(lambda: x * 5)[1:].sum() + x,
    "a Function": lambda x: Halves.apply(x)[0] + Halves.apply(x)[1],
}


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("name", LINEAR)
def test_the_transpose_stops_there_too(name, required):
    """``transpose`` of a trace is the pull-back of its function."""
    f = LINEAR[name]
    assert transpose(trace(f, X.clone().requires_grad_(required)))(T)[0].allclose(vjp(f, X)[1](T)[0])


def detached_parts(x, w):
    y = w * 1
    part = y[:2]
    d = y.detach()
    d[0] = w[1]
    d[1] = x[2]
    with nbgrad.no_grad():
        part.mul_(w[1:])
        y.add_(x)
        silent = y[1:]
    return part.sum() * 2 + (y * d).sum() + silent.sum()


def views_of_a_copy(x, w):
    y = x * w
    view = y[::2]
    y.copy_(x)
    y[1] = w[2]
    return view.sum() + (view * y[1:]).sum()


def unrecorded_view(x, w):
    with nbgrad.no_grad():
        view = x[:2]
    return (view * w[:2]).sum() + (view + x[1:]).sum()


def two_lineages(x, w):
    y = x * 2
    d = y.detach()
    d.add_(w)
    e = y.data
    y.mul_(3)
    e.mul_(x)
    return (y * d * e).sum() + y[1:].sum()


W, TW = nbgrad.tensor([0.5, 3.0, -1.0]), nbgrad.tensor([2.0, 20.0, 200.0])


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("f", [detached_parts, views_of_a_copy, unrecorded_view, two_lineages])
def test_every_lineage_of_a_memory_has_derivatives_of_its_own(f, flags):
    """Views share them, detached tensors have others; a write gives new elements to all, and derivatives to its own."""
    graph = trace(f, *[x.clone().requires_grad_(flag) for x, flag in zip((X, W), flags)])
    value, tangent = func_jvp(f, (X, W), (T, TW))
    found = jvp(graph)(X, W, T, TW)
    assert found[0].allclose(value) and found[1].allclose(tangent)
    assert func_jvp(lambda *xs: graph(*xs)[0], (X, W), (T, TW))[1].allclose(tangent)
    for g, want in zip(grad(lambda *xs: graph(*xs)[0], (0, 1))(X, W), grad(f, (0, 1))(X, W)):
        assert g.allclose(want)


def test_a_leaf_on_the_memory_of_another_tensor():
    """A detached tensor that a function differentiates by itself, and writes to."""

    def f(x, w):
        y = x * w
        d = y.detach().requires_grad_()
        (inner,) = nbgrad.grad((d * d).sum(), d)
        with nbgrad.no_grad():
            d.mul_(w)
        return (inner * d).sum() + y.sum()

    x, w = X.clone().requires_grad_(), W.clone().requires_grad_()
    found = nbgrad.grad(trace(f, x, w)(x, w)[0], (x, w))
    for g, want in zip(found, nbgrad.grad(f(x, w), (x, w))):
        assert g.allclose(want)


@pytest.mark.parametrize("flag", [False, True])
def test_a_branch_stops_by_its_mark_whatever_its_blocks_read(flag):
    """What they read of the graph around them is no operand of the branch."""
    x, chosen = nbgrad.tensor([2.0, 3.0], requires_grad=True), nbgrad.tensor(True)
    inputs = [Value(x.layout, True, name="x"), Value(chosen.layout, False, name="chosen")]
    square = Node(OPS["mul"], (inputs[0], inputs[0]), {}, [x.layout], flags=[True])
    run = Control("branch", lambda node, values, chosen: tuple(run_block(node.blocks[0], (), values)))
    branch = Node(run, (inputs[1],), {}, [x.layout], (Block([], [square], list(square.outs)),), flags=[flag])
    product = Node(OPS["mul"], (inputs[0], branch.outs[0]), {}, [x.layout], flags=[True])
    (out,) = run_block(Block(inputs, [branch, product], list(product.outs)), [x, chosen], {}, flags=True)
    (found,) = nbgrad.grad(out.sum(), x)
    assert found.tolist() == ([12.0, 27.0] if flag else [4.0, 9.0])
