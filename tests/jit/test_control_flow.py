"""Loops give what the unrolled loop gives: values, gradients of any order, forward mode, batches, for any number of trips."""

from __future__ import annotations

import gc
import threading
import weakref
from functools import partial

import numpy as np
import pytest

import nbgrad
from nbgrad.base.grad_mode import special, traces, unusual
from nbgrad.errors import ArgumentError, DTypeError, GradError, GraphError, RangeError, ShapeError
from nbgrad.func import grad, hessian, jvp
from nbgrad.jit import associative_scan, cond, map as map_slices, scan, while_loop
from nbgrad.jit.differentiate import differentiate
from nbgrad.jit.ir.steps import Launch
from nbgrad.jit.loops.bodies import Body, traced_body
from nbgrad.jit.loops.rewinding import Trips
from nbgrad.recomputing.revolve import fewest_steps

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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "int8", "int64", "bool"])
def test_carries_of_every_dtype(dtype):
    """Eager and compiled, with gradients where there are any."""
    kind = getattr(nbgrad, dtype)
    c, xs = [(x * 2).abs().to(kind) for x in (drawn(1, 3, 2), drawn(2, 5, 3, 2))]

    def program(loop, c, xs):
        outs = loop(lambda c, x: (c.flip(0) * x, c.t() if kind is nbgrad.bool else c.t() * 2), c, xs)
        return outs if not c.requires_grad else (*outs, *nbgrad.grad(sum(y.abs().sum() for y in outs), [c, xs]))

    if kind.differentiable:
        c.requires_grad_(), xs.requires_grad_()
    expected = program(unrolled, c, xs)
    for run in (partial(program, scan), nbgrad.jit.compile(partial(program, scan), fullgraph=True)):
        for x, y in zip(run(c, xs), expected, strict=True):
            assert x.dtype == y.dtype and (x == y).all()


def test_loops_in_several_threads():
    """The same step, traced and run at once."""
    found: list = []

    def work():
        found.extend(scan(lambda c, x: ((c * 2).tanh() + x, None), drawn(1, 3), drawn(2, 7, 3))[0].tolist() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80 and all(x == found[0] for x in found)


def test_an_exception_in_a_step_leaves_nothing_behind():
    """Modes, captures and batches are as they were."""
    before = len(special), len(unusual), len(traces)
    for transform in (lambda f: f, grad, lambda f: nbgrad.vmap(f), nbgrad.jit.compile):
        with pytest.raises(ZeroDivisionError):
            transform(lambda c: scan(lambda c, x: (c / (1 // 0), None), c, length=3)[0].sum())(drawn(1, 3))
    assert before == (len(special), len(unusual), len(traces))
    assert nbgrad.is_grad_enabled() and scan(step, drawn(1, 3), drawn(2, 4, 3))[0].requires_grad


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


def test_functions_alike_are_traced_once(monkeypatch):
    """A step that is made anew for every call, of other tensors, numbers that are equal, and functions that are alike."""
    traced = []
    monkeypatch.setattr("nbgrad.jit.loops.traced_functions.traced_body", lambda *args: traced.append(1) or traced_body(*args))

    def last(w, factor, fn, parts):
        return scan(lambda c, x: (fn(c * w) * factor + x + parts[0] * parts[1]["k"], None), c, xs)[0]

    c, xs = drawn(1, 3), drawn(2, 4, 3)

    def expected(w, factor, fn, parts):
        return unrolled(lambda c, x: (fn(c * w) * factor + x + parts[0] * parts[1]["k"], c), c, xs)[0]

    def shifted(y):
        return lambda x: x.sin() + y

    calls = [
        (drawn(3, 3), 2.0, shifted(drawn(4, 3)), [drawn(5, 3), {"k": drawn(6, 3)}]),
        (drawn(7, 3), 2.0, shifted(drawn(8, 3)), [drawn(9, 3), {"k": drawn(10, 3)}]),
        (drawn(7, 3), 3.0, shifted(drawn(8, 3)), [drawn(9, 3), {"k": drawn(10, 3)}]),
        (drawn(7, 1), 3.0, shifted(drawn(8, 3)), [drawn(9, 3), {"k": drawn(10, 3)}]),
    ]
    for args, count in zip(calls, (1, 1, 2, 3), strict=True):
        close([last(*args)], [expected(*args)])
        assert len(traced) == count


def test_captured_tensors_are_told_apart():
    """Variables that held one tensor hold two; one that a global name has too, and then not."""

    def last(a, b):
        return scan(lambda c, _: (c * a + b * W, None), drawn(1, 3), length=2)[0]

    for a, b in ((drawn(2, 3),) * 2, (drawn(2, 3), drawn(3, 3)), (W, W), (drawn(2, 3), W), (W, drawn(3, 3))):
        c = drawn(1, 3)
        for _ in range(2):
            c = c * a + b * W
        close([last(a, b)], [c])


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
        (lambda c, xs: scan(step, c, xs, checkpoint=0), RangeError, "checkpoint is 0"),
        (lambda c, xs: scan(step, c, xs, checkpoint=("binomial", 0)), RangeError, "checkpoint is"),
        (lambda c, xs: scan(step, c, xs, checkpoint="none"), ArgumentError, "checkpoint is 'none', expected one of 'auto'"),
        (lambda c, xs: scan(step, c, xs, checkpoint=2.0), ArgumentError, "checkpoint is 2.0"),
        (lambda c, xs: scan(step, "c", xs), ArgumentError, "init is of type str"),
        (lambda c, xs: scan(lambda c, x: c, c, xs), ArgumentError, "step returned Tensor, expected a pair"),
        (lambda c, xs: scan(lambda c, x: (c, x, x), c, xs), ArgumentError, "a tuple of 3"),
        (lambda c, xs: scan(lambda c, x: ((c, c), x), c, xs), ArgumentError, r"init is \*, and step returned \(\*, \*\)"),
        (lambda c, xs: scan(lambda c, x: (c, {1}), c, xs), ArgumentError, "the slice that step returned is of type set"),
        (
            lambda c, xs: scan(lambda c, x: ({"a": c["a"][:2]}, x), {"a": c}, xs),
            ShapeError,
            r"carry\['a'\]: init is float64 \[3\], and step",
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


# ---- checkpoints -------------------------------------------------------------------------------------------------------

SCHEDULES = ["auto", "all", 1, 3, 7, 1000, "sqrt", "binomial", ("binomial", 1), ("binomial", 3)]


@pytest.mark.parametrize("checkpoint", SCHEDULES)
@pytest.mark.parametrize("n", TRIPS)
def test_schedules(n, checkpoint):
    """Gradients do not depend on which carries are kept, to the bit; nor do those of the second order."""
    c, xs = drawn(1, 3).requires_grad_(), drawn(2, n, 3).requires_grad_()
    for reverse in (False, True):
        found = []
        for loop in (partial(scan, checkpoint=checkpoint), scan):
            gs = nbgrad.grad(total(loop, c, xs, reverse), [c, xs, W], create_graph=n < 10, materialize_grads=True)
            found.append(gs)
            if n < 10:
                second = nbgrad.grad(sum((g * g).sum() for g in gs), [c, xs, W], allow_unused=True, materialize_grads=True)
                found[-1] = (*gs, *second)
        for x, y in zip(found[0][:3], found[1][:3], strict=True):
            np.testing.assert_array_equal(x.detach().numpy(), y.detach().numpy())
        close(found[0][3:], found[1][3:])


@pytest.mark.parametrize("checkpoint", [2, ("binomial", 2)])
def test_schedules_under_transforms(checkpoint):
    """Forward over reverse, batches, graphs, compiled functions."""
    c, xs, w = drawn(1, 3), drawn(2, 5, 3), drawn(3, 3)

    def value(loop, c, xs, w):
        c, ys = loop(lambda c, x: ((c * w + x).sin(), (c * x).sum()), c, xs)
        return (c * c).sum() + (ys * ys).sum()

    def several(loop, c, xs, w):
        slope = grad(partial(value, loop), (0, 1, 2))
        second = grad(lambda w: sum((g * g).sum() for g in slope(c, xs, w)))(w)
        rows = nbgrad.vmap(slope, (0, None, None))(nbgrad.stack([c, w]), xs, w)
        return *slope(c, xs, w), second, *jvp(lambda c: slope(c, xs, w), (c,), (w,))[1], *rows

    loop = partial(scan, checkpoint=checkpoint)
    expected = several(unrolled, c, xs, w)
    close(several(loop, c, xs, w), expected)
    close(nbgrad.jit.compile(partial(several, loop), fullgraph=True)(c, xs, w), expected)
    graph = nbgrad.jit.trace(lambda c, xs, w: several(loop, c, xs, w), c * 2, xs * 2, w * 2)
    nbgrad.jit.check(graph)
    assert any(node.name == "rewind" for node in graph.nodes)
    close(graph(c, xs, w), expected)
    batch = nbgrad.stack([c, w])
    outs, pull = nbgrad.func.vjp(lambda c: loop(step, c, xs)[0], c)
    others, expected_pull = nbgrad.func.vjp(lambda c: unrolled(step, c, xs)[0], c)
    close(nbgrad.vmap(pull)(batch), nbgrad.vmap(expected_pull)(batch))


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 10])
def test_binomial_schedules_run_as_few_trips_as_can_be(slots, monkeypatch):
    """As many trips again as the theory says, and no more carries held than slots."""
    runs, held, carries_at = [], [], Trips.carries_at

    def counted_run(self, inputs, run=Body.run):
        runs.append(len(self.block.outputs))
        return run(self, inputs)

    def watched(self, trip):
        found = carries_at(self, trip)
        held.append(len(self.stack))
        return found

    monkeypatch.setattr(Body, "run", counted_run)
    monkeypatch.setattr(Trips, "carries_at", watched)
    monkeypatch.setattr("nbgrad.jit.loops.rewinding.repeated", lambda body: None)  # native code calls no body
    x = nbgrad.tensor(1.0, requires_grad=True)
    y, _ = scan(lambda x, _: (x + 0.01 * x.sin(), None), x, length=10, checkpoint=("binomial", slots))
    del runs[:]
    y.backward()
    assert len(runs) - 1 == fewest_steps(10, slots)  # which counts the first run, but for the last trip
    assert max(held[1:]) <= slots


# ---- while_loop --------------------------------------------------------------------------------------------------------


def grown(carry):
    """A trip."""
    x, k = carry
    return (x * W + 0.1).sin() + x, k + 1


def counted(n):
    """Whether there is another trip."""
    return lambda carry: carry[1] < n


def python_while(test, body, carry):
    """What ``while_loop`` stands for."""
    while test(carry):
        carry = body(carry)
    return carry


@pytest.mark.parametrize("n", TRIPS)
def test_while_loops(n):
    """Values, gradients of two orders, forward mode."""
    x, k = drawn(1, 3).requires_grad_(), nbgrad.tensor(0)
    results = []
    for loop in (while_loop, python_while):
        y, count = loop(counted(n), grown, (x, k))
        assert int(count) == n
        gs = nbgrad.grad((y * y).sum(), [x, W], create_graph=True, allow_unused=True, materialize_grads=True)
        hs = nbgrad.grad(sum((g * g).sum() for g in gs), [x, W], allow_unused=True, materialize_grads=True)
        moved = jvp(lambda x: loop(counted(n), grown, (x, k))[0], (x.detach(),), (x.detach(),))[1]  # noqa: B023
        results.append([y, *gs, *hs, moved])
    close(*results)


def test_elements_of_a_batch_end_when_they_end():
    """``vmap`` of loops of different lengths, and of their gradients."""
    x = nbgrad.tensor([[0.1, 0.2, 0.1], [3.0, 0.5, 0.1], [30.0, 1.0, 1.0]], dtype=nbgrad.float64)

    def norm(loop, x):
        return loop(lambda c: (c[0] * c[0]).sum() < 10, lambda c: (c[0] * 1.5, c[1] + 1), (x, nbgrad.tensor(0)))

    y, count = nbgrad.vmap(lambda x: norm(while_loop, x))(x)
    assert count.tolist() == [7, 1, 0]
    close([y], [nbgrad.stack([norm(python_while, row)[0] for row in x])])
    slopes = nbgrad.vmap(grad(lambda x: norm(while_loop, x)[0].prod()))(x)
    close([slopes], [nbgrad.stack([grad(lambda x: norm(python_while, x)[0].prod())(row) for row in x])])


@pytest.mark.parametrize("wrap", [lambda fn: fn, lambda fn: nbgrad.compile(fn, fullgraph=True)])
def test_members_of_a_tuple_one_by_one(wrap):
    """Where functions take so many arguments, as torch calls them; those that take one get the tuple."""

    def powers(x, k):
        return nbgrad.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, y * x), (k, x))

    def tree(x, k):
        return nbgrad.while_loop(lambda carry: carry[0] < 3, lambda carry, z=2: (carry[0] + 1, carry[1] * x), (k, x))

    x, k = nbgrad.tensor([2.0, 3.0], requires_grad=True), nbgrad.tensor(0)
    for fn in (powers, tree):
        n, y = wrap(fn)(x, k)
        assert (n.item(), y.tolist()) == (3, [16.0, 81.0])
        assert nbgrad.grad(y.sum(), x)[0].tolist() == [32.0, 108.0]
    for predicate, wanted in ((True, [4.0, 6.0]), (False, [4.0, 9.0])):
        flag = nbgrad.tensor(predicate)
        for operands in (((x, x),), (x, x)):
            choose = wrap(lambda flag, x: nbgrad.cond(flag, lambda a, b: a + b, lambda a, b: a * b, *operands))  # noqa: B023
            assert choose(flag, x).tolist() == wanted
        assert nbgrad.cond(flag, lambda t: t[0] + t[1], lambda t: t[0] * t[1], (x, x)).tolist() == wanted


def test_a_list_is_one_argument():
    """Only tuples are taken apart."""
    with pytest.raises(TypeError, match="missing 1 required"):
        nbgrad.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, y), [nbgrad.tensor(0), nbgrad.ones(2)])


def test_captured_while_loops_are_one_node():
    """The number of trips is that of the operands, in forward mode and in batches too; so it is when compiled."""

    def fn(x, w):
        def last(x, w):
            return while_loop(lambda x: x.sum() < 10, lambda x: x * w + 0.1, x)

        return last(x, w), jvp(lambda x: last(x, w), (x,), (w,))[1], nbgrad.vmap(last, (0, None))(nbgrad.stack([x, w]), w)

    def expected(x, w):
        def last(x, w):
            return python_while(lambda x: x.sum() < 10, lambda x: x * w + 0.1, x)

        return last(x, w), jvp(lambda x: last(x, w), (x,), (w,))[1], nbgrad.stack([last(x, w), last(w, w)])

    x, w = drawn(1, 3).abs(), drawn(2, 3).abs() + 1
    graph, compiled = nbgrad.jit.trace(fn, x, w), nbgrad.jit.compile(fn, fullgraph=True)
    nbgrad.jit.check(graph)
    assert sum(node.name == "while_loop" for node in graph.nodes) >= 3
    for factor in (1.0, 0.01, 20.0):
        for run in (graph, compiled):
            close(run(x * factor, w), expected(x * factor, w))


def test_gradients_of_compiled_while_loops():
    """Backward from outside."""
    x = drawn(1, 3).abs().requires_grad_()

    def fn(x):
        return while_loop(lambda x: x.sum() < 10, lambda x: x * 1.5, x).prod()

    close(nbgrad.grad(nbgrad.jit.compile(fn, fullgraph=True)(x), x), nbgrad.grad(fn(x), x))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: while_loop(1, grown, x), ArgumentError, "while_loop"),
        (lambda x: while_loop(lambda x: x > 0, lambda x: x, x), ArgumentError, r"cond returned bool \[3\], expected a 0-d"),
        (lambda x: while_loop(lambda x: x.sum(), lambda x: x, x), ArgumentError, "cond returned float64"),
        (lambda x: while_loop(lambda x: 1.0, lambda x: x, x), ArgumentError, "cond returned float"),
        (lambda x: while_loop(lambda x: True, lambda x: x, None), ArgumentError, "init holds no tensor"),
        (lambda x: while_loop(lambda x: x.sum() < 1, lambda x: (x,), x), ArgumentError, r"init is \*, and body returned \(\*,\)"),
        (lambda x: while_loop(lambda x: x.sum() < 1, lambda x: x[:2], x), ShapeError, "body returned float64"),
        (lambda x: while_loop(lambda x: x.sum() < 1, lambda x: x.float(), x), DTypeError, "body returned float32"),
        (lambda x: while_loop(lambda x: x.sum() < 1, lambda x: x, x, memory=-1), RangeError, "memory is -1"),
        (
            lambda x: while_loop(lambda x: x.sum() < 1e3, lambda x: x + 1, x.requires_grad_(), memory=100),
            GradError,
            "5 carries of 24 bytes.*more than the 100 bytes",
        ),
    ],
)
def test_bad_while_loops(call, error, message):
    """What came, what was expected."""
    with pytest.raises(error, match=message):
        call(drawn(1, 3))


# ---- cond --------------------------------------------------------------------------------------------------------------


def up(x, y):
    """A branch."""
    return {"a": x * y * W, "b": (x + 1).sum()}


def down(x, y):
    """The other."""
    return {"a": (x - y).exp(), "b": (W * y).sum()}


def python_cond(pred, true_fn, false_fn, *operands):
    """What ``cond`` stands for."""
    return true_fn(*operands) if pred else false_fn(*operands)


def conditional(choose, x, y):
    """Values and gradients of two orders."""

    def value(x, y):
        out = choose(x.sum() > 0, up, down, x, y)
        return (out["a"] * out["a"]).sum() + out["b"]

    second = grad(lambda x: sum((g * g).sum() for g in grad(value, (0, 1))(x, y)))(x)
    return value(x, y), *grad(value, (0, 1))(x, y), second, jvp(value, (x, y), (y, x))[1]


@pytest.mark.parametrize("sign", [1, -1])
def test_branches(sign):
    """Values, gradients of two orders, forward mode; the captured tensors of the branch that was taken."""
    x, y = sign * drawn(1, 3).abs(), drawn(2, 3)
    close(conditional(cond, x, y), conditional(python_cond, x, y))
    assert cond(nbgrad.tensor(sign > 0), up, down, x, y)["b"].requires_grad == (sign < 0)


@pytest.mark.parametrize("wrap", [lambda f: f, nbgrad.compile])
def test_what_a_branch_only_hands_on_is_copied(wrap):
    """An operand, a part of it, a captured tensor, one twice: results have memory of their own, also in eager mode."""
    x, w = drawn(1, 3).requires_grad_(), drawn(2, 3)
    whole, part, captured, first, second = wrap(
        lambda x, p: cond(p, lambda x: (x, x[:2], w, *(x * 2,) * 2), lambda x: (w, w[:2], x, x, x), x)
    )(x, nbgrad.tensor(True))
    close([whole, part, captured, first], [x, x[:2], w, 2 * x])
    for made in (whole, part, captured, second):
        with nbgrad.no_grad():
            made += 1
    close([x, w, first], [drawn(1, 3), drawn(2, 3), 2 * drawn(1, 3)])
    (whole.sum() + part.sum()).backward()
    assert x.grad.tolist() == [2, 2, 1]


def test_branches_of_a_bool_are_calls():
    """There is nothing to choose: what the function returns is what comes back."""
    x = drawn(1, 3)
    assert cond(True, lambda x: x, lambda x: -x, x) is x


def test_branches_of_a_batch():
    """A predicate of the batch, and one of all of it."""
    x, y = nbgrad.stack([drawn(1, 3).abs(), -drawn(1, 3).abs()]), drawn(2, 3)
    expected = [nbgrad.stack(each) for each in zip(*[conditional(python_cond, row, y) for row in x], strict=True)]
    close(nbgrad.vmap(lambda x: conditional(cond, x, y))(x), expected)
    found = nbgrad.vmap(lambda x: cond(y.sum() > 0, up, down, x, y)["a"])(x)
    close([found], [nbgrad.stack([python_cond(y.sum() > 0, up, down, row, y)["a"] for row in x])])


def test_captured_branches_are_one_node():
    """A graph holds for either value, in derivatives too, in batches and when compiled."""
    x, y = drawn(1, 3).abs(), drawn(2, 3)
    w = W.detach()

    def fn(x, y):
        def value(x, y):
            return cond(x.sum() > 0, lambda x, y: (x * y * w).sum(), lambda x, y: ((x - y) * w).exp().sum(), x, y)

        second = grad(lambda x: sum((g * g).sum() for g in grad(value, (0, 1))(x, y)))(x)
        rows = nbgrad.vmap(grad(value), (0, None))(nbgrad.stack([x, -x]), y)
        mapped = nbgrad.vmap(lambda x: cond(y.sum() > 0, nbgrad.sin, nbgrad.cos, x))(nbgrad.stack([x, -x]))
        return value(x, y), *grad(value, (0, 1))(x, y), second, jvp(value, (x, y), (y, x))[1], rows, mapped

    graph, compiled = nbgrad.jit.trace(fn, x, y), nbgrad.jit.compile(fn, fullgraph=True)
    nbgrad.jit.check(graph)
    assert sum(node.name == "cond" for node in graph.nodes) >= 4
    for a, b in ((x, y), (-x, y), (x, -y), (-x, -y)):
        for run in (graph, compiled):
            close(run(a, b), fn(a, b))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: cond(x, up, down, x, x), ArgumentError, r"pred is float64 \[3\], expected a 0-d tensor of bools"),
        (lambda x: cond(1, up, down, x, x), ArgumentError, "pred is int"),
        (lambda x: cond(True, 3, down, x, x), ArgumentError, "cond"),
        (
            lambda x: cond(True, lambda x: x, lambda x: (x,), x),
            ArgumentError,
            r"true_fn returned \*, and false_fn returned \(\*,\)",
        ),
        (lambda x: cond(False, lambda x: x, lambda x: x[:2], x), ShapeError, r"true_fn returned float64 \[3\], and false_fn"),
        (lambda x: cond(True, lambda x: x, lambda x: x.float(), x), DTypeError, "false_fn returned float32"),
        (lambda x: cond(True, lambda x: {1}, lambda x: x, x), ArgumentError, "type set"),
        (
            lambda x: nbgrad.jit.trace(lambda x: cond(x.sum() > 0, lambda x: x, lambda x: (x,), x), x),
            ArgumentError,
            "expected the same structure",
        ),
    ],
)
def test_bad_branches(call, error, message):
    """What came, what was expected, whichever branch is taken."""
    with pytest.raises(error, match=message):
        call(drawn(1, 3))


# ---- associative_scan --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 13])
def test_associative_scans(n, reverse):
    """Products of matrices, with their gradients; affine maps in a tree."""
    xs = (drawn(1, n, 2, 2) * 0.5).requires_grad_()

    def loop(xs):
        order = range(n - 1, -1, -1) if reverse else range(n)
        ys: dict = {}
        for k in order:
            before = k + 1 if reverse else k - 1
            ys[k] = ys[before] @ xs[k] if before in ys else xs[k]
        return nbgrad.stack([ys[k] for k in range(n)]) if n else xs

    one, other = associative_scan(nbgrad.matmul, xs, reverse=reverse), loop(xs)
    close([one], [other])
    close(*[nbgrad.grad((y * y).sum(), xs) for y in (one, other)])


def test_associative_scans_of_trees():
    """A linear recurrence is a scan of affine maps."""
    a, b = drawn(1, 9), drawn(2, 9)
    _, sums = associative_scan(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (a, b))
    close([sums], [scan(lambda c, x: (c * x[0] + x[1],) * 2, nbgrad.tensor(0.0, dtype=nbgrad.float64), (a, b))[1]])
    with pytest.raises(ShapeError, match="fn returned"):
        associative_scan(lambda x, y: nbgrad.stack([x, y]), a)
    with pytest.raises(RangeError, match="slices, expected 9"):
        associative_scan(lambda x, y: x, (a, b[:3]))


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


def test_graphs_with_loops_are_differentiated():
    """The gradient of a scan is a scan, which the cut leaves whole; so is the gradient of that."""
    c, xs, w = drawn(1, 3).requires_grad_(), drawn(2, 4, 3), drawn(3, 3).requires_grad_()

    def fn(c, w):
        return scan(lambda c, x: ((c * w + x).sin(), c), c, xs)[0].sum()

    gradient = differentiate(nbgrad.jit.trace(fn, c, w))
    assert sum(node.name == "scan" for node in gradient.df.all_nodes()) == 1
    outs = gradient.f(c.detach(), w.detach())
    captured = [(c, w)[k].detach() for k in gradient.df_input_captured_inputs]
    captured += [outs[k] for k in gradient.df_input_captured_outputs]
    given = [nbgrad.ones_like(outs[0]), *(nbgrad.zeros_like(x) for x in outs[1 : len(gradient.df_input_vjps)])]
    close(gradient.df(*given, *captured), nbgrad.grad(fn(c, w), [c, w]))
    assert any(node.name == "scan" for node in differentiate(gradient.df).df.all_nodes())


def test_histories_of_results_of_compiled_loops():
    """A result whose graph was used up within the function says so, as in eager mode."""

    def fn(c, xs):
        y = total(scan, c, xs)
        return (y, *nbgrad.grad(y, [c, xs]))

    c, xs = drawn(1, 3).requires_grad_(), drawn(2, 4, 3).requires_grad_()
    for run in (fn, nbgrad.jit.compile(fn, fullgraph=True)):
        with pytest.raises(GradError, match="freed"):
            run(c, xs)[0].backward()


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


# ---- native trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [*TRIPS, 5000])
@pytest.mark.parametrize("checkpoint", ["all", 3])
def test_native_trips_are_those_of_python(n, checkpoint, monkeypatch):
    """Carries that are given on, exchanged and views; slices twice: to the bit what one call a trip gives."""

    def fn(carry, x):
        a, b, t, k = carry
        return (b, a * 0.5 + x, t.t(), k + 1), (x, x, a[::2], k)

    init = drawn(1, 3), drawn(2, 3), drawn(3, 2, 2), nbgrad.tensor(0)
    xs = drawn(4, n, 3).requires_grad_()
    found = []
    for native in (True, False):
        if not native:
            monkeypatch.setattr("nbgrad.jit.loops.iterations.repeated", lambda body: None)
        carry, ys = scan(fn, init, xs, checkpoint=checkpoint)
        (g,) = nbgrad.grad((carry[0] * carry[1]).sum() + (ys[2] * ys[2]).sum(), xs, create_graph=True, materialize_grads=True)
        found.append([*carry, *ys, g])
    for x, y in zip(*found, strict=True):
        np.testing.assert_array_equal(x.detach().numpy(), y.detach().numpy())


def test_the_only_member_of_a_tuple_is_passed_as_the_operand():
    """As torch's functions take their operands; of more members a function of one argument gets the tuple."""
    x = drawn(1, 3)
    np.testing.assert_array_equal(cond(x.sum() > 5, lambda x: x * 2, lambda x: x * 3, (x,)).numpy(), (x * 3).numpy())
    (last,) = while_loop(lambda x: x.sum() < 10, lambda x: (x + 4,), (x * 0,))
    np.testing.assert_array_equal(last.numpy(), np.full(3, 4.0))
    assert cond(True, lambda pair: pair[0] * 2, lambda pair: pair[1], (nbgrad.tensor(3.0), nbgrad.tensor(4.0))).item() == 6.0


# ---- loops of numbers --------------------------------------------------------------------------------------------------

TRIP_FUNCTIONS = {
    "arithmetic": lambda c, x, w: (c * w - x / (1 + c * c), c + x),
    "exchange": lambda c, x, w: (x, c),
    "functions": lambda c, x, w: (c.sin() + (x * w).tanh(), c.exp().log1p() * 0.5),
    "large arguments": lambda c, x, w: ((c * 1e6).cos(), (1e5 * x).sin() + (700 * w).exp()),
    "choices": lambda c, x, w: (nbgrad.where(c > x, c * 0.5, x.clamp(max=0.25)), c.abs().sqrt().maximum(w)),
    "powers": lambda c, x, w: ((c * c + 1) ** 0.3, (c * c) ** w.abs() + c.sigmoid()),
    "parts": lambda c, x, w: (c * x.detach(), w.detach() * c),
}


@pytest.mark.parametrize(
    "name, dtype",
    [*((name, nbgrad.float64) for name in TRIP_FUNCTIONS), ("arithmetic", nbgrad.float32), ("functions", nbgrad.float32)],
)
def test_loops_of_numbers_are_one_kernel(name, dtype):
    """To the bit what eager gives, with gradients; also of special values, from either end, and without trips."""
    fn = TRIP_FUNCTIONS[name]

    def program(a, b, xs, w, reverse):
        def value(a, b, xs, w):
            (a, b), ys = scan(
                lambda c, x: ((fn(c[0], x, w[1])[0], fn(c[1], c[0], w[2])[1]), fn(*c, x)), (a, b), xs, reverse=reverse
            )
            return a + b, a * b, *ys

        outs = value(a, b, xs, w)
        return *outs, *grad(lambda *args: sum(y.sum() for y in value(*args)), (0, 1, 2))(a, b, xs, w)

    compiled = nbgrad.jit.compile(program, fullgraph=True, limit=100)
    for n, reverse in ((1, False), (3, True), (20, False), (0, False)):
        for odd in (False, True):
            xs, w = drawn(n, n).to(dtype), drawn(2, 4).to(dtype)
            if odd and n > 2:
                xs = nbgrad.cat([xs[:-3], nbgrad.tensor([0.0, float("inf"), float("nan")], dtype=dtype)])
            args = nbgrad.tensor(0.3, dtype=dtype), nbgrad.tensor(-0.7, dtype=dtype), xs, w, reverse
            for x, y in zip(compiled(*args), program(*args), strict=True):
                np.testing.assert_array_equal(x.numpy(), y.numpy())
    steps = [step for variant in compiled.variants for step in variant.program.schedule.steps]
    assert any(isinstance(step, Launch) and not step.nodes and step.units == 1 for step in steps)


def test_a_step_refuses_what_the_unrolled_loop_refuses():
    """Though nothing reads the result."""
    x, places = nbgrad.ones(3), nbgrad.tensor([0, 7])
    with pytest.raises(nbgrad.errors.DimError, match="take"):
        scan(lambda c, i: ((x.take(i), c + 1)[1], None), nbgrad.zeros(()), places)


def test_associative_scans_along_any_dimension():
    """``dim`` counts the slices, which the function takes without it."""
    x = nbgrad.arange(1.0, 7.0).reshape(2, 3)
    assert associative_scan(lambda x, y: x * y, x, dim=-1).tolist() == [[1, 2, 6], [4, 20, 120]]
    sums, _ = associative_scan(lambda f, g: (f[0] + g[0], f[1] * g[1]), (x, x), 1, reverse=True)
    assert sums.tolist() == [[6, 5, 3], [15, 11, 6]]
    with pytest.raises(IndexError, match="dim 2 is out of range"):
        associative_scan(lambda x, y: x * y, x, dim=2)
