"""Custom Functions that read arrays are steps in Python of compiled functions: forward and backward."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import GraphError
from nbgrad.jit import compile, parse, trace

RNG = np.random.default_rng(0)
ARGUMENTS = [nbgrad.tensor(RNG.normal(size=(3, 4)) + m).requires_grad_() for m in (0, 1, -1)]
W = nbgrad.tensor([2.0, 1.0, 0.5, -1.0], dtype=nbgrad.float64)


class Square(nbgrad.Function):
    """With ctx, through NumPy in both directions."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return nbgrad.from_numpy(x.numpy() ** 2)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return nbgrad.from_numpy(2 * x.detach().numpy() * g.numpy())


class Telling(nbgrad.Function):
    """Arrays, tensors, numbers and intermediate values on the way to backward; two results; an argument without gradient."""

    @staticmethod
    def forward(ctx, x, y, p):
        a = x.numpy()
        ctx.mask, ctx.p, ctx.positive, ctx.sines = a > 0, p, bool(a.sum() > 0), nbgrad.from_numpy(np.sin(a))
        out = nbgrad.from_numpy(np.where(ctx.mask, a**p, 0) + y.numpy())
        ctx.save_for_backward(out, nbgrad.from_numpy(a * 3), None)
        return out, nbgrad.from_numpy(a.argmax(-1))

    @staticmethod
    @nbgrad.once_differentiable
    def backward(ctx, g, _):
        out, thrice, nothing = ctx.saved_tensors
        assert nothing is None
        factor = 2.0 if ctx.positive else 1.0
        gx = g.numpy() * ctx.mask * ctx.p * thrice.numpy() / 3 * factor + ctx.sines.numpy() + out.numpy()
        return nbgrad.from_numpy(gx), (g * 2 if ctx.needs_input_grad[1] else None), None


class Exponential(nbgrad.Function):
    """Forward without ctx and of operations; backward through NumPy."""

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return nbgrad.from_numpy(y.numpy().copy()) * g


PROGRAMS = {
    "forward": lambda x: Square.apply(x.detach()) * 2,
    "gradient": lambda x: nbgrad.grad((Square.apply(x * 2) * x).sum(), x),
    "twice": lambda x: nbgrad.grad(Square.apply(Square.apply(x)).sum(), x),
    "backward alone": lambda x: nbgrad.grad((Exponential.apply(x) * x).sum(), x),
    "a constant argument": lambda x: nbgrad.grad((Telling.apply(x, W, 2)[0] * x).sum(), x),
    "two gradients": lambda x: nbgrad.grad((Telling.apply(x, x * 2, 2)[0] * x).sum(), x),
    "integers": lambda x: Telling.apply(x.detach(), W, 2)[1],
}


def leaves(fn, x) -> list:
    return [y.detach().numpy() for y in nbgrad.utils._pytree.tree_flatten(fn(x))[0]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_function(name):
    """Compiled, replayed by calls, read from the text; what forward tells backward is that of the run."""
    fn = PROGRAMS[name]
    compiled, graph = compile(fn, fullgraph=True, exact=True), trace(fn, ARGUMENTS[0])
    for _ in range(2):
        for x in ARGUMENTS:
            for a, b in zip(leaves(compiled, x), leaves(fn, x), strict=True):
                np.testing.assert_array_equal(a, b)
    again = parse(str(graph))
    for other in (graph, again):
        for a, b in zip(leaves(other, ARGUMENTS[0]), leaves(fn, ARGUMENTS[0]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_each_direction_is_one_node():
    """And nothing of what NumPy does is a constant."""
    graph = trace(PROGRAMS["gradient"], ARGUMENTS[0])
    names = [node.name for node in graph.nodes]
    assert names.count("function_forward") == names.count("function_backward") == 1
    assert not any(isinstance(value.data, nbgrad.Tensor) for value in graph.constants)


def test_other_facts_are_another_variant():
    """A number that forward keeps on ctx decides: a graph with another one stops, and compiled functions are captured again."""
    fn = PROGRAMS["a constant argument"]
    compiled = compile(fn, fullgraph=True)
    for x in ARGUMENTS:
        compiled(x)
    assert len(compiled.variants) == 2
    with pytest.raises(GraphError, match="told backward other things"):
        [trace(fn, ARGUMENTS[0])(x) for x in ARGUMENTS]


def test_training_with_a_function_of_arrays():
    """A compiled step through NumPy."""
    losses = []
    for wrap in (lambda f: f, lambda f: compile(f, fullgraph=True, exact=True)):
        nbgrad.manual_seed(2)
        net = nbgrad.nn.Linear(4, 1)
        optimizer = nbgrad.optim.SGD(net.parameters(), lr=0.1)

        def step(x, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = Square.apply(net(x)).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = wrap(step)
        losses.append([step(x.detach().float()).item() for x in ARGUMENTS * 2])
    assert losses[0] == losses[1]


class Writing(nbgrad.Function):
    """Writes to its argument."""

    @staticmethod
    def forward(ctx, x):
        x.numpy()[...] = 0
        ctx.mark_dirty(x)
        return x


class Holding(nbgrad.Function):
    """Keeps an object."""

    @staticmethod
    def forward(ctx, x):
        ctx.thing = object()
        return nbgrad.from_numpy(x.numpy() * 2)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: Writing.apply(x.detach() * 1),
        lambda x: Holding.apply(x.detach()),
        lambda x: nbgrad.grad(nbgrad.grad(Square.apply(x).sum(), x, create_graph=True)[0].sum(), x, allow_unused=True),
    ],
)
def test_what_no_step_can_be_is_refused(fn):
    """Writes, objects on the ctx, second derivatives."""
    with pytest.raises(GraphError, match="Hint"):
        trace(fn, ARGUMENTS[0])
