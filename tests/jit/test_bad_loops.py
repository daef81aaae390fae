"""What loops and branches refuse, each with what came and what was expected; and what is legal everywhere: no trips."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import ArgumentError, DeviceError, DTypeError, GradError, GraphError, RangeError, ShapeError
from nbgrad.func import grad
from nbgrad.jit import associative_scan, cond, map as map_slices, scan, trace, while_loop
from nbgrad.jit.loops.trees import Leaves, check_carry
from nbgrad.tensors import layout
from nbgrad.tensors.layout import layout_of

C, XS = nbgrad.ones(3), nbgrad.ones(4, 3)
HELD = nbgrad.ones(3)


def small(c):
    """A predicate."""
    return c["a"].sum() < 10


CARRIES = {
    "structure": (
        lambda a: {"b": a},
        ArgumentError,
        r"init is \{'a': \*\}, and (step|body) returned \{'b': \*\}; expected the same",
    ),
    "shape": (lambda a: {"a": a[:2]}, ShapeError, r"carry\['a'\]: init is float32 \[3\], and (step|body) returned float32 \[2\]"),
    "dtype": (
        lambda a: {"a": a.double()},
        DTypeError,
        r"carry\['a'\]: init is float32 \[3\], and (step|body) returned float64 \[3\]",
    ),
}


@pytest.mark.parametrize("what", CARRIES)
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: nbgrad.compile(f), lambda f: lambda c: trace(f, c)])
def test_carries_that_change(what, wrap):
    """Which leaf, what came, what was expected, by whatever way the loop is met."""
    change, error, message = CARRIES[what]
    for loop in (
        lambda c: scan(lambda c, x: (change(c["a"]), x), {"a": c}, XS),
        lambda c: while_loop(small, lambda c: change(c["a"]), {"a": c}),
    ):
        with pytest.raises(error, match=message):
            wrap(loop)(C)


def test_carries_that_change_their_device(monkeypatch):
    """There is no other device here, but layouts of one."""
    monkeypatch.setattr(layout, "memory_on", lambda device: None)
    other = layout_of(nbgrad.float32, (3,), None, nbgrad.device("cuda", 1)).template
    with pytest.raises(
        DeviceError, match=r"carry\['a'\]: init is float32 \[3\] on cpu, and step returned .* on cuda:1; expected the same"
    ):
        check_carry("scan", "step", Leaves("scan", "init", {"a": C}), Leaves("scan", "the carry", {"a": other}))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: scan(lambda c, x: (c, None), C, (XS, XS[:2])), r"scan: xs\[1\] has 2 slices, expected 4"),
        (lambda: map_slices(lambda x: x[0], {"a": XS, "b": XS[:3]}), r"map: xs\['b'\] has 3 slices, expected 4"),
        (lambda: associative_scan(lambda x, y: x, (XS, XS[:1])), r"associative_scan: xs\[1\] has 1 slices, expected 4"),
        (lambda: scan(lambda c, x: (c, None), C, XS, length=3), "scan: xs has 4 slices, expected 3"),
    ],
)
def test_lengths_that_contradict_one_another(call, message):
    """Of slices, and of a length."""
    with pytest.raises(RangeError, match=message):
        call()


@pytest.mark.parametrize("x, came", [(XS > 0, r"bool \[4, 3\]"), (C.sum(), r"float32 \[\]"), (None, "NoneType"), (1, "int")])
def test_predicates_that_are_no_bool(x, came):
    """Of branches and of loops."""
    for call in (lambda: cond(x, lambda y: y, lambda y: y, C), lambda: while_loop(lambda y: x, lambda y: y, C)):
        with pytest.raises(ArgumentError, match=f"{came}, expected a 0-d tensor of bools"):
            call()


WRITING = {
    "scan": lambda: scan(lambda c, x: (c + HELD.add_(1), x), C, XS),
    "scan, its carry": lambda: scan(lambda c, x: (c.add_(1), x), C, XS),
    "scan, its slice": lambda: scan(lambda c, x: (c + x.mul_(2), x), C, XS),
    "scan, an element": lambda: scan(lambda c, x: (HELD.__setitem__(0, 2.0) or c, x), C, XS),
    "map": lambda: map_slices(lambda x: x + HELD.add_(1), XS),
    "while_loop, its body": lambda: while_loop(lambda c: c.sum() < 9, lambda c: c + HELD.add_(1), C),
    "while_loop, its predicate": lambda: while_loop(lambda c: HELD.add_(1).sum() < 9, lambda c: c + 1, C),
    "cond": lambda: trace(lambda x: cond(x.sum() > 0, lambda x: x, lambda x: x + HELD.add_(1), x), C),
}


@pytest.mark.parametrize("name", WRITING)
def test_bodies_that_write_to_what_they_capture(name):
    """The operation and its line; nothing has changed."""
    before = [x._version for x in (C, XS, HELD)]
    with pytest.raises(
        GraphError, match=r"_: writes to a tensor that the function does not make, at .*test_bad_loops.py:\d+.*Hint"
    ):
        WRITING[name]()
    assert [x._version for x in (C, XS, HELD)] == before
    assert (C == 1).all() and (XS == 1).all() and (HELD == 1).all()


def test_reverse_loops_beyond_their_memory():
    """Eager, in a graph, and compiled."""

    def slope(x):
        return grad(lambda x: while_loop(lambda x: x.sum() < 1e3, lambda x: x + 1, x, memory=100).sum())(x)

    for call in (slope, nbgrad.compile(slope, fullgraph=True), lambda x: trace(slope, x * 400)(x)):
        with pytest.raises(GradError, match=r"while_loop: 9 carries of 12 bytes.* more than the 100 bytes of memory=\. Hint"):
            call(C)


TRIPS = [0, 1, 2, 100]


@pytest.mark.parametrize("checkpoint", ["auto", "all", 1, 7, 1000, "sqrt", "binomial", ("binomial", 1), ("binomial", 4)])
@pytest.mark.parametrize("n", TRIPS)
def test_compiled_scans_are_unrolled_loops(n, checkpoint):
    """Value and gradients, for any number of trips and every schedule."""
    draw = np.random.default_rng(n)
    c, xs, w = (nbgrad.tensor(draw.normal(size=shape) * 0.5) for shape in ((3,), (n, 3), (3,)))

    def step(c, x, w):
        return (c * w + x).sin(), (c * x).sum()

    def value(c, xs, w):
        c, ys = scan(lambda c, x: step(c, x, w), c, xs, checkpoint=checkpoint)
        return (c * c).sum() + ys.exp().sum()

    def unrolled(c, xs, w):
        total = 0.0
        for k in range(n):
            c, y = step(c, xs[k], w)
            total = total + y.exp()
        return (c * c).sum() + total

    def both(value):
        return lambda c, xs, w: (value(c, xs, w), *grad(value, (0, 1, 2))(c, xs, w))

    for run in (both(value), nbgrad.compile(both(value), fullgraph=True)):
        for x, y in zip(run(c, xs, w), both(unrolled)(c, xs, w), strict=True):
            np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("n", TRIPS)
def test_other_loops_are_unrolled_loops(n):
    """``map``, ``associative_scan`` and ``while_loop``, eager and compiled, with their gradients."""
    xs = nbgrad.tensor(np.random.default_rng(n).normal(size=(n, 3)) * 0.5 + 1)

    def loops(xs):
        count = nbgrad.tensor(0)
        last = while_loop(lambda c: c[1] < n, lambda c: (c[0].sin() + 0.5, c[1] + 1), (xs.sum(0), count))[0]
        return map_slices(lambda x: x * x.sum(), xs), associative_scan(lambda x, y: x * y, xs), last

    def unrolled(xs):
        last, product, products = xs.sum(0), 1.0, []
        for k in range(n):
            last, product = last.sin() + 0.5, product * xs[k]
            products.append(product)
        return xs * xs.sum(1, keepdim=True), nbgrad.stack(products) if n else xs, last

    def both(fn):
        return lambda xs: (*fn(xs), grad(lambda xs: sum(y.sum() for y in fn(xs)))(xs))

    for run in (both(loops), nbgrad.compile(both(loops), fullgraph=True)):
        for x, y in zip(run(xs), both(unrolled)(xs), strict=True):
            np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-10, atol=1e-13)
