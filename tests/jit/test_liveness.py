"""What results of loops depend on by values, and transposes of linear functions with loops, which rest on that."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.errors import GraphError
from nbgrad.jit import cond, linearize, scan, trace, transpose, while_loop

X, G = nbgrad.tensor([1.0, 2.0, 3.0]), nbgrad.tensor([1.0, 10.0, 100.0])
W = nbgrad.tensor([0.5, 0.25, -0.5])


def counted(x):
    return while_loop(lambda n, c: n < 3, lambda n, c: (n + 1, c * W + x), (0, x))[1]


def kept(x):
    return scan(lambda c, _: (c * W + x, c * 2), x, length=6, checkpoint=2)[1].sum(0)


def binomial(x):
    return scan(lambda c, _: (c * W, c + x), x, length=9, checkpoint=("binomial", 2))[1].sum(0)


def repeated(x):
    def step(c, _):
        return while_loop(lambda n, d: n < 3, lambda n, d: (n + 1, d * W + c), (0, c))[1] * W, c

    return scan(step, x, length=2)[1].sum(0)


def nested(x):
    def step(c, _):
        return scan(lambda d, _: (d * W + c, None), c, length=3)[0], c

    return scan(step, x, length=2)[1].sum(0)


def chosen(x):
    def step(c, w):
        return cond(w > 0, lambda c: c * w, lambda c: c.flip(0) + x, c), None

    return scan(step, x, W)[0]


LINEAR = {
    "a while loop": counted,
    "a checkpointed scan": kept,
    "a binomial scan": binomial,
    "nested scans": nested,
    "a branch in a scan": chosen,
    "a while loop in a scan": repeated,
}


@pytest.mark.parametrize("name", LINEAR)
def test_transposes_of_linear_loops(name):
    """They are the pull-back, whatever values the loop would go through."""
    f = LINEAR[name]
    assert transpose(trace(f, X))(G)[0].allclose(nbgrad.func.vjp(f, X)[1](G)[0])


@pytest.mark.parametrize("name", LINEAR)
def test_transposes_of_linearized_loops(name):
    """What is linear in tangents has a transpose: the gradient."""
    loop = LINEAR[name]
    f = lambda x: loop(x.sin() * x)
    linear = linearize(trace(f, X))
    outs = linear.f(X)
    saved = [X] * len(linear.captured_inputs) + [outs[k] for k in linear.captured_outputs]
    (found,) = transpose(linear.linear, [len(saved)])(*saved, G)
    assert found.allclose(nbgrad.func.vjp(f, X)[1](G)[0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: while_loop(lambda n, c: n < 3, lambda n, c: (n + 1, c * x), (0, x))[1],
        lambda x: while_loop(lambda c: c.sum() < 30, lambda c: c * 2, x),
        lambda x: scan(lambda c, _: (c * c + x, None), x, length=6, checkpoint=2)[0],
        lambda x: scan(lambda c, _: (scan(lambda d, _: (d * c, None), c, length=2)[0], None), x, length=2)[0],
        lambda x: cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, x),
    ],
)
def test_loops_that_are_not_linear_are_refused(f):
    """A product of carries; a test or a predicate of what it shall be linear in."""
    with pytest.raises(GraphError, match="is not linear in input x"):
        transpose(trace(f, X))
