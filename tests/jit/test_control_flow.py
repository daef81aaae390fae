"""Loops give what the unrolled loop gives: values, gradients of any order, forward mode, batches, for any number of trips."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import ArgumentError, DTypeError, GraphError, RangeError, ShapeError
from nbgrad.func import grad, hessian, jvp
from nbgrad.jit import map as map_slices, scan

TRIPS = [0, 1, 2, 100]
W = nbgrad.tensor([0.9, 1.1, 0.3], dtype=nbgrad.float64, requires_grad=True)


def step(c, x):
    """A carry and a slice, with a captured tensor."""
    c = (c * W + x).sin()
    return c, c.sum() * x


def unrolled(step, c, xs, length=None, reverse=False):
    """What ``scan`` stands for; of no trips empty slices."""
    count = len(xs) if length is None else length
    order = reversed(range(count)) if reverse else range(count)
    ys = [None] * count
    for k in order:
        c, ys[k] = step(c, xs[k])
    return c, nbgrad.stack(ys) if ys else nbgrad.zeros(0, 3, dtype=nbgrad.float64)


def drawn(n, *shape):
    """Numbers, the same in every run."""
    return nbgrad.tensor(np.random.default_rng(n).normal(size=shape) * 0.7)


def total(loop, c, xs, reverse=False):
    """One number that depends on all results."""
    c, ys = loop(step, c, xs, reverse=reverse)
    return (c * c).sum() + (ys * 0.3).sin().sum()


def close(xs, ys):
    """Equal up to the order of sums."""
    for x, y in zip(xs, ys, strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", TRIPS)
def test_values(n, reverse):
    """The last carry and the stacked slices, to the bit."""
    c, xs = drawn(1, 3), drawn(2, n, 3)
    for x, y in zip(scan(step, c, xs, reverse=reverse), unrolled(step, c, xs, reverse=reverse), strict=True):
        np.testing.assert_array_equal(x.detach().numpy(), y.detach().numpy())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", TRIPS)
def test_gradients(n, reverse):
    """Of the first carry, the slices, and what the step captures; of the first and the second order."""
    c, xs = drawn(1, 3).requires_grad_(), drawn(2, n, 3).requires_grad_()
    first, second = [], []
    for loop in (scan, unrolled):
        gs = nbgrad.grad(total(loop, c, xs, reverse), [c, xs, W], create_graph=True, materialize_grads=True)
        first.append(gs)
        second.append(nbgrad.grad(sum((g * g).sum() for g in gs), [c, xs, W], allow_unused=True, materialize_grads=True))
    close(*first)
    close(*second)


def test_third_order():
    """Gradients of gradients of gradients."""
    c, xs = drawn(1, 3).requires_grad_(), drawn(2, 3, 3)
    found = []
    for loop in (scan, unrolled):
        y = total(loop, c, xs)
        for _ in range(3):
            (y,) = nbgrad.grad(y.sum(), c, create_graph=True)
        found.append(y)
    close([found[0]], [found[1]])


@pytest.mark.parametrize("n", TRIPS)
def test_forward_mode(n):
    """Tangents, and tangents of gradients."""
    c, xs = drawn(1, 3), drawn(2, n, 3)
    for fn in (lambda loop: partial(loop, step), lambda loop: grad(partial(total, loop), (0, 1))):
        (one, moved), (other, expected) = [jvp(fn(loop), (c, xs), (xs.sum(0) + 1, xs)) for loop in (scan, unrolled)]
        close(one, other)
        close(moved, expected)


def test_second_derivatives_in_forward_mode():
    """A Hessian, and two levels of tangents."""
    c, xs = drawn(1, 3), drawn(2, 4, 3)
    close([hessian(lambda c: total(scan, c, xs))(c)], [hessian(lambda c: total(unrolled, c, xs))(c)])

    def twice(loop):
        return jvp(lambda c: jvp(lambda c: loop(step, c, xs), (c,), (c,))[1], (c,), (c,))[1]

    close(twice(scan), twice(unrolled))


@pytest.mark.parametrize("n", TRIPS)
@pytest.mark.parametrize("dims", [(0, None), (None, 1), (1, 0)])
def test_batches(n, dims):
    """``vmap`` over carries and slices, and over gradients."""
    c, xs = drawn(1, 3), drawn(2, n, 3)
    c = c if dims[0] is None else nbgrad.stack([c * k for k in range(5)], dims[0])
    xs = xs if dims[1] is None else nbgrad.stack([xs * k for k in range(5)], dims[1])
    close(*[nbgrad.vmap(partial(loop, step), dims)(c, xs) for loop in (scan, unrolled)])
    close(*[nbgrad.vmap(grad(partial(total, loop), (0, 1)), dims)(c, xs) for loop in (scan, unrolled)])


def test_captured_tensors_may_be_of_a_transform():
    """What a step captures inside of ``grad``, ``jvp``, ``vmap`` is differentiated and mapped."""
    c, xs, w = drawn(1, 3), drawn(2, 4, 3), drawn(3, 3)

    def value(loop, w):
        return loop(lambda c, x: ((c * w + x).tanh(), c * x), c, xs)[0].sum()

    for transform in (
        lambda f: grad(f)(w),
        lambda f: jvp(f, (w,), (w,))[1],
        lambda f: nbgrad.vmap(f)(nbgrad.stack([w, 2 * w])),
        lambda f: nbgrad.vmap(grad(f))(nbgrad.stack([w, 2 * w])),
        lambda f: grad(lambda w: jvp(grad(f), (w,), (w,))[1].sum())(w),
    ):
        close([transform(lambda w: value(scan, w))], [transform(lambda w: value(unrolled, w))])


def test_steps_may_differentiate_and_map():
    """Transforms inside of a step."""
    c, xs = drawn(1, 3), drawn(2, 4, 3)

    def newton(c, x):
        slope = grad(lambda c: ((c - x) ** 4).sum())(c)
        return c - 0.1 * slope, nbgrad.vmap(lambda a: a * a)(c) + jvp(lambda a: a.sin(), (c,), (x,))[1]

    def value(loop, c):
        return sum(y.sum() for y in loop(newton, c, xs))

    close(scan(newton, c, xs), unrolled(newton, c, xs))
    close([grad(lambda c: value(scan, c))(c)], [grad(lambda c: value(unrolled, c))(c)])
    close([nbgrad.vmap(lambda c: value(scan, c))(xs)], [nbgrad.vmap(lambda c: value(unrolled, c))(xs)])


def test_loops_nest():
    """A step that loops."""
    c, xs = drawn(1, 3).requires_grad_(), drawn(2, 3, 3)

    def outer(loop):
        return loop(lambda c, x: (loop(step, c, xs * x)[0], c), c, xs)

    close(outer(scan), outer(unrolled))
    for order in (1, 2):
        found = []
        for loop in (scan, unrolled):
            y = outer(loop)[1].sum()
            for _ in range(order):
                (y,) = nbgrad.grad(y.sum(), c, create_graph=True)
            found.append(y)
        close([found[0]], [found[1]])


def test_trees_and_numbers():
    """Carries and slices are trees, with numbers and None; integers are carried along."""
    xs = {"a": nbgrad.arange(4.0), "b": (nbgrad.arange(4), None)}

    def fn(carry, x):
        count, (mean, nothing) = carry["count"], carry["state"]
        assert nothing is None and x["b"][1] is None
        return {"count": count + 1, "state": (mean + x["a"] / (count + 1), None)}, {"n": count * x["b"][0], "no": None}

    carry, ys = scan(fn, {"count": 0, "state": (0.5, None)}, xs)
    assert carry["count"].dtype is nbgrad.int64 and int(carry["count"]) == 4 and carry["state"][1] is None and ys["no"] is None
    np.testing.assert_array_equal(ys["n"].numpy(), [0, 1, 4, 9])
    np.testing.assert_allclose(float(carry["state"][0]), 0.5 + 1 / 2 + 2 / 3 + 3 / 4, rtol=1e-6)


def test_without_slices():
    """``length`` alone."""
    c, ys = scan(lambda c, _: (2 * c, None), nbgrad.tensor(1.0), length=10)
    assert float(c) == 1024 and ys is None
    c, ys = scan(lambda c, _: (2 * c, c + 1), nbgrad.ones(2), length=0)
    assert c.tolist() == [1, 1] and ys.shape == (0, 2)


def test_slices_may_have_any_layout():
    """Strided, expanded and conjugated operands, and results that are views."""
    xs = drawn(2, 3, 5).t()
    z = nbgrad.complex(xs, xs + 1).conj()

    def fn(c, x):
        return c.flip(0) * x, x.expand(2, 3).t()[:, 1]

    c = nbgrad.ones(1, dtype=nbgrad.complex128).expand(3)
    for x, y in zip(scan(fn, c, z), unrolled(fn, c, z), strict=True):
        np.testing.assert_array_equal(x.resolve_conj().numpy(), y.resolve_conj().numpy())


def test_results_share_no_memory():
    """Neither with what was given, nor with one another."""
    c = drawn(1, 3)
    (a, b), ys = scan(lambda c, _: ((c[1], c[1]), c[1]), (c, c), length=2)
    a.add_(1)
    assert (c == drawn(1, 3)).all() and (b == c).all() and (ys[0] == c).all()
    d, _ = scan(lambda c, _: (c, None), c, length=0)
    d.add_(1)
    assert (c == drawn(1, 3)).all()


def test_names_are_looked_up_in_every_call():
    """A step that was traced before notices what it depends on."""
    factor = 2.0

    def fn(c, _):
        return c * factor, None

    found = []
    for factor in (2.0, 3.0, 2.0):  # noqa: B007
        found.append(float(scan(fn, nbgrad.tensor(1.0), length=3)[0]))
    assert found == [8, 27, 8]


def test_steps_are_forgotten():
    """A traced step does not outlive its function."""

    def fn(c, x):
        return c * x, None

    scan(fn, nbgrad.ones(2), nbgrad.ones(3, 2))
    gone = weakref.ref(fn)
    del fn
    gc.collect()
    assert gone() is None


def test_gradients_stop_where_the_step_stops_them():
    """``detach`` and ``no_grad`` in a step."""
    c, xs = drawn(1, 3).requires_grad_(), drawn(2, 4, 3).requires_grad_()

    def fn(c, x):
        with nbgrad.no_grad():
            scale = c.exp()
        return c.detach() * x + scale * c, (c * x.detach()).sum()

    found = []
    for loop in (scan, unrolled):
        c1, ys = loop(fn, c, xs)
        found.append(nbgrad.grad(c1.sum() + ys.sum(), [c, xs]))
    close(*found)


def test_recording_can_be_off():
    """``no_grad`` and inference mode outside; results that need no gradient have none."""
    c, xs = drawn(1, 3), drawn(2, 4, 3)
    with nbgrad.no_grad():
        assert not scan(step, c, xs)[0].requires_grad
    with nbgrad.inference_mode():
        assert scan(step, c, xs)[0].is_inference()
    assert scan(step, c, xs)[0].requires_grad
    assert not scan(lambda c, x: (c + x, c), c, xs)[0].requires_grad


def test_map():
    """Results are stacked, gradients are those of ``vmap``."""
    xs = drawn(2, 5, 3).requires_grad_()
    one, other = map_slices(lambda x: (x * W).sum(), xs), nbgrad.vmap(lambda x: (x * W).sum())(xs)
    close([one], [other])
    close(nbgrad.grad(one.sum(), [xs, W]), nbgrad.grad(other.sum(), [xs, W]))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda c, xs: scan(3, c, xs), ArgumentError, "scan"),
        (lambda c, xs: scan(step, c), RangeError, "neither xs nor length"),
        (lambda c, xs: scan(step, c, xs, length=5), RangeError, "4 slices, expected 5"),
        (lambda c, xs: scan(step, c, xs, length=-1), RangeError, "length is -1"),
        (lambda c, xs: scan(step, c, xs, length=True), RangeError, "length is True"),
        (lambda c, xs: scan(step, c, (xs, xs[:2])), RangeError, r"xs\[1\] has 2 slices, expected 4"),
        (lambda c, xs: scan(step, c, c.sum()), ShapeError, "xs has no dimension"),
        (lambda c, xs: scan(step, "c", xs), ArgumentError, "init is of type str"),
        (lambda c, xs: scan(lambda c, x: c, c, xs), ArgumentError, "step returned Tensor, expected a pair"),
        (lambda c, xs: scan(lambda c, x: (c, x, x), c, xs), ArgumentError, "a tuple of 3"),
        (lambda c, xs: scan(lambda c, x: ((c, c), x), c, xs), ArgumentError, r"structure \(\*, \*\), expected that of init, \*"),
        (lambda c, xs: scan(lambda c, x: (c, {1}), c, xs), ArgumentError, "the slice is of type set"),
        (
            lambda c, xs: scan(lambda c, x: ({"a": c["a"][:2]}, x), {"a": c}, xs),
            ShapeError,
            r"carry\['a'\] is float64 \[3\], and step",
        ),
        (lambda c, xs: scan(lambda c, x: (c.float(), x), c, xs), DTypeError, "returned float32"),
        (lambda c, xs: scan(lambda c, x: (W.detach().add_(1) * c, x), c, xs), GraphError, "writes"),
        (lambda c, xs: scan(lambda c, x: (c if c.sum() > 0 else x, x), c, xs), GraphError, "values"),
    ],
)
def test_bad_input(call, error, message):
    """Names the leaf, what came, what was expected."""
    with pytest.raises(error, match=message):
        call(drawn(1, 3), drawn(2, 4, 3))


# ---- in graphs ---------------------------------------------------------------------------------------------------------


def loss_and_gradients(c, xs, w):
    """A loop and its gradients, within one function."""

    def value(c, xs, w):
        c, ys = scan(lambda c, x: ((c * w + x).sin(), (c * x).sum()), c, xs)
        return (c * c).sum() + (ys * ys).sum()

    first = grad(value, (0, 1, 2))(c, xs, w)
    second = grad(lambda w: sum((g * g).sum() for g in grad(value, (0, 1, 2))(c, xs, w)))(w)
    return value(c, xs, w), *first, second, jvp(lambda w: value(c, xs, w), (w,), (w,))[1]


@pytest.mark.parametrize("n", TRIPS)
def test_captured_loops_are_one_node(n):
    """Value, gradients, second order and forward mode are scans of a graph, which gives eager's numbers on other operands."""
    graph = nbgrad.jit.trace(loss_and_gradients, drawn(1, 3), drawn(2, n, 3), drawn(3, 3))
    nbgrad.jit.check(graph)
    assert len(graph.nodes) < 150 and sum(node.name == "scan" for node in graph.nodes) >= 4
    others = drawn(4, 3), drawn(5, n, 3), drawn(6, 3)
    for x, y in zip(graph(*others), loss_and_gradients(*others), strict=True):
        np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_texts_of_loops_are_read_back():
    """A graph with a loop is text, and the text is the graph."""
    graph = nbgrad.jit.trace(lambda c, xs: scan(lambda c, x: (c * x, c), c, xs), drawn(1, 3), drawn(2, 4, 3))
    again = nbgrad.jit.parse(str(graph))
    assert nbgrad.jit.same(graph, again) and str(again) == str(graph)
    for x, y in zip(again(drawn(3, 3), drawn(4, 4, 3)), graph(drawn(3, 3), drawn(4, 4, 3)), strict=True):
        np.testing.assert_array_equal(x.numpy(), y.numpy())


@pytest.mark.parametrize("n", TRIPS)
def test_compiled_loops(n):
    """A compiled function with a loop, and with its gradients."""
    compiled = nbgrad.jit.compile(loss_and_gradients, fullgraph=True)
    for k in range(3):
        args = drawn(k, 3), drawn(k + 1, n, 3), drawn(k + 2, 3)
        for x, y in zip(compiled(*args), loss_and_gradients(*args), strict=True):
            np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_gradients_of_compiled_loops():
    """Backward from outside of the compiled function, twice."""
    c, xs = drawn(1, 3).requires_grad_(), drawn(2, 4, 3).requires_grad_()
    found = []
    for fn in (nbgrad.jit.compile(lambda c, xs: total(scan, c, xs), fullgraph=True), lambda c, xs: total(unrolled, c, xs)):
        gs = nbgrad.grad(fn(c, xs), [c, xs, W], create_graph=True)
        found.append([*gs, *nbgrad.grad(sum((g * g).sum() for g in gs), [c, xs, W])])
    close(*found)


def test_batches_of_captured_loops():
    """``vmap`` of a loop within a graph, and of a graph with a loop."""
    c, xs, w = drawn(1, 5, 3), drawn(2, 4, 3), drawn(3, 3)

    def last(loop, c, xs):
        return loop(lambda c, x: ((c * w + x).sin(), c), c, xs)[0]

    expected = nbgrad.vmap(lambda c: last(unrolled, c, xs))(c)
    graph = nbgrad.jit.trace(nbgrad.vmap(lambda c, xs: last(scan, c, xs), (0, None)), c, xs)
    close(graph(c, xs), [expected])
    graph = nbgrad.jit.trace(lambda c, xs: last(scan, c, xs), c[0], xs)
    close([nbgrad.vmap(lambda c: graph(c, xs)[0])(c)], [expected])
