"""What functions of loops capture, whatever it is: dual, batched, detached, NumPy's, of regions and graphs."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import nbgrad
from nbgrad import cond, func, grad, scan, while_loop
from nbgrad.jit import differentiate, parse, trace

pair = namedtuple("pair", "a b")


class Cube(nbgrad.Function):
    """A Function with every rule."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t


# What a step makes of its carry and of what it captures, loops and branches within it.
STEPS = {
    "detached": lambda c, x: x.detach() * c + x.data,
    "of a Function": lambda c, x: Cube.apply(x) * c,
    "of a branch": lambda c, x: cond(c.sum() > 0, lambda a, b: a * b * x.detach(), lambda a, b: a - b, c, x),
    "of a loop": lambda c, x: scan(lambda d, _: (d * x, None), x, length=2)[0] * c,
}
WAYS = {
    "forward over reverse": lambda f, x: func.jvp(func.grad(lambda y: f(y).sum()), (x,), (nbgrad.ones_like(x),))[1],
    "batch of gradients": lambda f, x: func.vmap(func.grad(f))(x),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_what_a_step_captures_has_its_tangent_and_its_batch(step, way):
    """A step sees what it captures as the program does: its tangent, its batch, and where it was detached."""
    x = nbgrad.tensor([0.5, 0.7], dtype=nbgrad.float64)
    looped = way(lambda y: scan(lambda c, _: (step(c, y), None), y * 1, length=2)[0], x)
    unrolled = way(lambda y: step(step(y * 1, y), y), x)
    assert looped.allclose(unrolled, rtol=1e-12, atol=0)


def test_forward_over_reverse_of_a_loop_in_a_loop_that_a_test_ends():
    """The way back through a loop inside of another one has tangents of its own."""

    def halved(x):
        return while_loop(lambda c: c > 0.3, lambda c: c.tanh() * 0.9, x)

    def unrolled(x):
        while x > 0.3:
            x = x.tanh() * 0.9
        return x

    a, one = nbgrad.tensor(0.8, dtype=nbgrad.float64), nbgrad.tensor(1.0, dtype=nbgrad.float64)
    found = func.jvp(func.grad(lambda x: scan(lambda c, _: (c, halved(x)), one, length=3)[1].sum()), (a,), (one,))
    expected = func.jvp(func.grad(lambda x: 3 * unrolled(x)), (a,), (one,))
    assert [x.item() for x in found] == pytest.approx([x.item() for x in expected], rel=1e-12)


def test_a_constant_that_a_way_back_returns_stays_what_it_is():
    """A cotangent that is a constant of the body is a copy of it: writes to the gradient do not reach the next one."""
    xs = nbgrad.ones(4, requires_grad=True)

    def gradient():
        total, _ = scan(lambda c, x: (c.detach() * 2 + x, None), xs[0] * 1, xs, checkpoint=2)
        return grad(total, xs)[0]

    first = gradient()
    kept = first.tolist()
    first.fill_(7)
    assert gradient().tolist() == kept == [0, 0, 0, 1]


def test_a_step_belongs_to_the_region_of_mixed_precision_that_it_is_called_in():
    """The same step is another body in each region, and what is derived of it in a region is converted by none."""
    w = nbgrad.ones(4, 4, requires_grad=True)

    def step(c, _):
        return c, w @ w

    def dtype_of_slices():
        return scan(step, nbgrad.tensor(1.0), length=2)[1].dtype

    with nbgrad.autocast("cpu", dtype=nbgrad.bfloat16):
        assert dtype_of_slices() is nbgrad.bfloat16
        with nbgrad.autocast("cpu", enabled=False):
            assert dtype_of_slices() is nbgrad.float32
    assert dtype_of_slices() is nbgrad.float32
    w_exact = w.detach() * 1.001
    w_exact.requires_grad_()
    _, ys = scan(lambda c, _: (c, w_exact @ w_exact), nbgrad.tensor(1.0), length=2)
    with nbgrad.autocast("cpu", dtype=nbgrad.bfloat16):
        (g,) = grad(ys.sum(), w_exact)
    assert g.allclose(nbgrad.full((4, 4), 16 * 1.001), rtol=1e-6, atol=0)


@pytest.mark.parametrize("size", [3, 100])
def test_arrays_that_a_step_names_are_read_when_it_runs(size):
    """What a NumPy array of the program holds is never what it held before, compiled or not, in whatever order it lies."""
    array = np.full((size, 2), 2.0).T

    def step(c, _):
        return c * nbgrad.from_numpy(array)[1, 1] * nbgrad.tensor(array).sum(), None

    for run in (step, nbgrad.compile(lambda c: scan(step, c, length=1)[0])):
        for value in (2.0, 3.0):
            array[:] = 1
            array[1] = value
            one = nbgrad.tensor(1.0, dtype=nbgrad.float64)
            found = scan(run, one, length=1)[0] if run is step else run(one)
            assert found.item() == value * (size + value * size)


def test_hooks_of_saved_tensors_do_not_see_a_step_being_traced():
    """Saved-tensor hooks see the loop's own, in the first call as in any other, so that a checkpoint around it works."""
    xs = nbgrad.tensor([0.3, 0.4, 0.5], requires_grad=True)
    f = lambda xs: scan(lambda c, x: (c * x, c.sin()), xs[0], xs)[1].sum()
    (g,) = grad(nbgrad.checkpoint(f, xs, use_reentrant=False), xs)
    assert g.allclose(grad(f(xs), xs)[0])


def test_functions_keep_the_classes_of_what_they_take():
    """Named tuples and lists among a Function's arguments stay what they are under a batch and tangents."""
    seen = []

    class Scaled(Cube):
        """Takes them."""

        @staticmethod
        def forward(x, options, sizes):
            seen.append((type(options), type(sizes)))
            return x * options.a

        @staticmethod
        def jvp(ctx, t, *rest):
            return t * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    run = func.vmap(lambda x: Scaled.apply(x, pair(2, 3), [4]))
    assert func.jvp(run, (nbgrad.ones(2),), (nbgrad.ones(2),))[1].tolist() == [2, 2]
    assert set(seen) == {(pair, list)}


# ---- places, batches, structures -------------------------------------------------------------------------------------

TABLE = nbgrad.arange(12.0).reshape(3, 4)


def written(c, i):
    """Writes to places that the loop follows."""
    b = c.clone()
    b[i] += TABLE[i, 1] * c.sum()
    b[i] = b[i] * TABLE[:, i].sum()
    return b, (TABLE[i], TABLE[..., i, None], TABLE[i, i])


def test_places_that_a_loop_follows():
    """``x[i]`` by an integer that changes from trip to trip is what it is in Python, read and written."""
    c, w = nbgrad.ones(3), nbgrad.tensor([0.5, 1.0, 1.5], requires_grad=True)
    places = nbgrad.tensor([1, 0, -1])
    last, slices = scan(written, w * c, places)
    unrolled, kept = w * c, []
    for i in places:
        unrolled, y = written(unrolled, i)
        kept.append(y)
    assert (last == unrolled).all()
    assert all((nbgrad.stack(ys) == found).all() for ys, found in zip(zip(*kept), slices))
    assert grad(last.sum(), w)[0].allclose(grad(unrolled.sum(), w)[0])
    rows = func.vmap(lambda k: scan(lambda c, i: (c, TABLE[i, k]), c, nbgrad.arange(3))[1])(nbgrad.arange(4))
    assert (rows == TABLE.t()).all()


def test_copies_that_stand_for_views_are_refused():
    """A write that would not reach the tensor, and a view that would have changed meanwhile, are errors with their line."""

    def lost(c, i):
        c = c.clone()
        c[i].mul_(2)
        return c, None

    def stale(c, i):
        c = c.clone()
        view = c[i]
        c[i] = 5.0
        return c, view

    for step, said in ((lost, "written to it at .*test_bodies.py"), (stale, "it is read behind a write to x")):
        with pytest.raises(nbgrad.errors.GraphError, match=said):
            scan(step, nbgrad.ones(3), nbgrad.tensor([1, 0]))


@pytest.mark.usefixtures("any_values")
def test_derivatives_of_a_batch_are_of_what_is_meant():
    """What is computed for other elements has no say, though its derivatives are infinite or none."""
    x = nbgrad.tensor([4.0, -9.0, 0.25])
    root = lambda x: cond(x > 0, lambda x: x.sqrt(), lambda x: -(-x).sqrt(), x)
    nested = lambda x: while_loop(lambda v: v > 1, lambda v: (v - 1).sqrt(), x)
    for run in (func.vmap(func.grad(root)), func.grad(lambda x: func.vmap(root)(x).sum())):
        assert run(x).allclose(nbgrad.tensor([1 / 4, 1 / 6, 1.0]))
    assert func.vmap(func.grad(nested))(nbgrad.tensor([3.0, 1.5, 0.5])).allclose(nbgrad.tensor([0.27467103, 0.70710678, 1.0]))


@dataclass
class State:
    """What a loop may carry."""

    x: object
    n: object
    note: object = None


@pytest.mark.parametrize("wrap", [lambda f: f, nbgrad.compile])
def test_objects_of_data_classes_are_carried(wrap):
    """By loops and branches, with their class, which a step that another class went through before does not change."""
    step = lambda s, _: (s, s)
    carry = State(nbgrad.tensor(1.0), nbgrad.tensor(0))
    for init in ((carry.x, carry.n), pair(carry.x, carry.n), carry):
        found = wrap(lambda s: scan(step, s, length=2))(init)
        assert type(found[0]) is type(found[1]) is type(init)
    last = wrap(lambda s: while_loop(lambda s: s.n < 3, lambda s: State(s.x * 2, s.n + 1), s))(carry)
    assert (last.x.item(), last.n.item(), last.note) == (8, 3, None)
    chosen = wrap(lambda s: cond(s.n > 2, lambda s: s, lambda s: State(-s.x, s.n), s))
    assert (chosen(last).x.item(), chosen(carry).x.item()) == (8, -1)


# ---- graphs ----------------------------------------------------------------------------------------------------------

LOOPS = {
    "scan": lambda x, w: scan(lambda c, y: ((c.detach() * w + y * c).sin(), c * y), w * 1, x)[1].sum(),
    "cond": lambda x, w: cond(w > 0, lambda a: (a * w).sin() * a.detach().sum() ** 2, lambda a: a * 2, x).sum(),
}


def through(gradient, *args):
    """The gradients of a graph, by ``f`` and ``df``."""
    outs = gradient.f(*args)
    cotangents = [nbgrad.ones((), dtype=nbgrad.float64)] + [None] * (len(gradient.df_input_vjps) - 1)
    captured = [args[k] for k in gradient.df_input_captured_inputs]
    return gradient.df(*cotangents, *captured, *(outs[k] for k in gradient.df_input_captured_outputs))


@pytest.mark.parametrize("f", LOOPS.values(), ids=LOOPS)
def test_gradients_of_graphs_with_loops_are_differentiated_again(f):
    """``f`` and ``df`` are functions like others: recorded, traced and differentiated, loops and all."""
    x = nbgrad.tensor([0.3, 0.4], dtype=nbgrad.float64, requires_grad=True)
    w = nbgrad.tensor(0.7, dtype=nbgrad.float64, requires_grad=True)
    squares = lambda gs: sum((g**2).sum() for g in gs)
    expected = grad(squares(grad(f(x, w), (x, w), create_graph=True)), (x, w))
    first = differentiate(trace(f, x, w))
    recorded = grad(squares(through(first, x, w)), (x, w))
    second = differentiate(trace(lambda x, w: squares(through(first, x, w)), x, w))
    for found in (recorded, through(second, x.detach(), w.detach())):
        assert all(a.allclose(b, rtol=1e-11, atol=1e-13) for a, b in zip(found, expected))


def test_graphs_with_constants_are_called_in_functions_that_are_captured():
    """A graph's constants belong to it, wherever it is called: in a trace, a compiled function, a step."""
    constant = nbgrad.tensor([1.0, 2.0]).t()
    graph = trace(lambda x: x * constant, nbgrad.ones(2))
    graph = parse(str(graph))
    run = lambda x: graph(x)[0]
    x = nbgrad.tensor([3.0, 4.0])
    assert trace(run, x)(x)[0].tolist() == nbgrad.compile(run, fullgraph=True)(x).tolist() == [3, 8]
    assert scan(lambda c, _: (run(c), None), x, length=2)[0].tolist() == [3, 16]
