"""Loops within loops are native steps, too: values and gradients of the unrolled loops, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.func import grad


def looped(fn, c, xs, length=None, reverse=False, checkpoint="auto"):
    """``scan`` of a function of a carry and a slice; the last carry."""
    return nbgrad.scan(lambda c, x: (fn(c, x), None), c, xs, length, reverse, checkpoint)[0]


def unrolled(fn, c, xs, length=None, reverse=False, checkpoint="auto"):
    """The same, trip by trip."""
    order = range(len(xs) if length is None else length)
    for k in reversed(order) if reverse else order:
        c = fn(c, None if xs is None else xs[k])
    return c


PROGRAMS = {
    "inner slices": lambda loop, c, xs, w: loop(lambda c, x: loop(lambda d, y: (d * y + x).tanh(), c, xs), c, xs),
    "inner products": lambda loop, c, xs, w: loop(lambda c, x: loop(lambda d, _: (w @ d + x).tanh(), c, None, 3), c, xs),
    "three levels": lambda loop, c, xs, w: loop(
        lambda c, x: loop(lambda d, y: loop(lambda e, _: (e * y + x).sin(), d, None, 2) + y, c, xs, reverse=True), c, xs
    ),
    "two loops": lambda loop, c, xs, w: loop(
        lambda c, x: loop(lambda d, y: d * y, c, xs) + loop(lambda d, y: (w @ d).sin() + y, x, xs, reverse=True), c, xs
    ),
    "one trip": lambda loop, c, xs, w: loop(lambda c, x: loop(lambda d, _: (w @ d).sin() * x, c, None, 1), c, xs),
    "checkpoints": lambda loop, c, xs, w: loop(
        lambda c, x: loop(lambda d, y: (d * y + x).tanh(), c, xs, checkpoint=2), c, xs, checkpoint=2
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_within_loops(name):
    """Compiled and eager; no step of a compiled function is a call, but ways back through kept carries within ways back."""
    draw = np.random.default_rng(3)
    args = [nbgrad.tensor(draw.normal(size=shape) * 0.5) for shape in ((3,), (4, 3), (3, 3))]
    program = PROGRAMS[name]

    def value(c, xs, w):
        return program(looped, c, xs, w).sum()

    def both(c, xs, w):
        return value(c, xs, w), *grad(value, (0, 1, 2))(c, xs, w)

    compiled, found = nbgrad.compile(both, fullgraph=True), both(*args)
    for _ in range(2):
        for x, y in zip(compiled(*args), found, strict=True):
            np.testing.assert_array_equal(x.numpy(), y.numpy())
    expected = grad(lambda *args: program(unrolled, *args).sum(), (0, 1, 2))(*args)
    for x, y in zip(found[1:], expected, strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-11, atol=1e-13)
    (told,) = compiled.explain().variants
    assert name == "checkpoints" or "call" not in [step.kind for step in told.steps]
