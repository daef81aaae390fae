"""Custom Functions that read arrays are steps in Python of compiled functions: forward and backward."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import GraphError
from nbgrad.jit import compile, differentiate, jvp, parse, trace
from nbgrad.testing import assert_close

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
    compiled, graph = compile(fn, fullgraph=True), trace(fn, ARGUMENTS[0])
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
    for wrap in (lambda f: f, lambda f: compile(f, fullgraph=True)):
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


# ---- Functions in bodies, and in graphs that are differentiated ---------------------------------------------------------


class Scaled(nbgrad.Function):
    """Of operations, with derivatives that are no derivatives of them."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return (x * x).sum(-1, keepdim=True) * factor * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0], None

    @staticmethod
    def jvp(ctx, t, _):
        return 5 * t * ctx.saved_tensors[0]


def unrecorded(x):
    """What is computed where nothing is recorded: no gradients, but tangents flow through it."""
    with nbgrad.no_grad():
        y = Scaled.apply(x, 0.5) + x.exp()
    return y * x * x + Scaled.apply(x.detach(), 0.5)


def looped(body, x):
    return nbgrad.scan(lambda c, _: (body(c), None), x, length=2)[0]


def counted(body, x):
    return nbgrad.while_loop(lambda n, c: n < 2, lambda n, c: (n + 1, body(c)), (nbgrad.tensor(0), x))[1]


def branched(body, x):
    return nbgrad.scan(lambda c, _: (nbgrad.cond(c.sum() > -100, body, lambda c: c, c), None), x, length=2)[0]


BODIES = {
    "Function": lambda x: Scaled.apply(x, 0.25).sin() + x,
    "Function of what is written to": lambda x: Scaled.apply(x.clone().mul_(0.5), 0.25).mul_(x),
    "nothing recorded": unrecorded,
    "arrays": Square.apply,
}
POINT, MOVE = nbgrad.tensor([0.5, -0.25], dtype=nbgrad.float64), nbgrad.tensor([1.0, 2.0], dtype=nbgrad.float64)


def derivatives(fn, orders=2):
    """Value and gradient; if there are more orders, forward, reverse over reverse, forward over reverse, and a batch."""
    x = POINT.clone().requires_grad_()
    y = fn(x)
    (g,) = nbgrad.grad(y.sum(), x, create_graph=orders > 1)
    if orders == 1:
        return y, g
    slope = nbgrad.func.grad(lambda x: fn(x).sum())
    (second,) = nbgrad.grad((g * MOVE).sum(), x)
    forward = [nbgrad.func.jvp(each, (POINT,), (MOVE,)) for each in (fn, slope)]
    return y, g, second, *forward, nbgrad.vmap(fn)(x[None])


@pytest.mark.parametrize(
    "name, loop",
    [
        ("Function", looped),
        ("Function", branched),
        ("Function of what is written to", counted),
        ("nothing recorded", looped),
        ("nothing recorded", counted),
        ("arrays", looped),
        ("arrays", branched),
    ],
)
def test_bodies_have_the_derivatives_of_their_functions(name, loop):
    """A loop or a branch is what its trips are one by one: Functions have their own derivatives there, to any order."""
    body, orders = BODIES[name], 1 if name == "arrays" else 2
    want = derivatives(lambda x: body(body(x)), orders)
    for fn in (lambda x: loop(body, x), compile(lambda x: loop(body, x))):
        assert_close(derivatives(fn, orders), want)


def test_second_derivatives_of_arrays_in_bodies_are_refused():
    """Whose ``backward`` reads arrays cannot be differentiated twice, in a loop either, where that is said."""
    x = POINT.clone().requires_grad_()
    (g,) = nbgrad.grad(looped(Square.apply, x).sum(), x, create_graph=True)
    with pytest.raises(nbgrad.errors.GradError, match="cannot be differentiated again"):
        g.sum().backward()


class Doubling(nbgrad.Function):
    """Writes to what it is given."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)


class Drawing(nbgrad.Function):
    """Draws."""

    @staticmethod
    def forward(ctx, x):
        return x * nbgrad.rand(2)


def hooked(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y


def hooked_argument(x):
    x.register_hook(lambda g: g * 3)
    return x * 2


@pytest.mark.parametrize("body", [lambda x: Doubling.apply(x * 1), Drawing.apply, hooked, hooked_argument])
def test_what_no_body_can_be_is_refused(body):
    """Functions that write to their arguments or draw, and hooks: nothing of it is dropped."""
    with pytest.raises(GraphError, match="a graph cannot hold"):
        looped(body, POINT)


class Underived(nbgrad.Function):
    """Has no derivative."""

    @staticmethod
    def forward(ctx, x):
        return x * 2


def test_graphs_with_functions_have_their_derivatives():
    """Of a traced graph: reverse and forward, also in the text of it; a Function without one is an error, not zero."""

    def fn(x):
        return Scaled.apply(x * 2, 0.25) * x

    x = POINT.clone().requires_grad_()
    graph = trace(fn, x)
    gradient = differentiate(graph)
    outs = gradient.f(POINT)
    cotangents = [MOVE, *[None] * (len(gradient.df_input_vjps) - 1)]
    saved = [*[POINT] * len(gradient.df_input_captured_inputs), *[outs[k] for k in gradient.df_input_captured_outputs]]
    assert_close(gradient.df(*cotangents, *saved)[0], nbgrad.grad(fn(x), x, MOVE)[0])
    for each in (graph, parse(str(graph)), trace(fn, POINT)):
        assert_close(jvp(each)(POINT, MOVE), list(nbgrad.func.jvp(fn, (POINT,), (MOVE,))))
    with pytest.raises(NotImplementedError, match="must define the static method backward"):
        differentiate(trace(Underived.apply, x))


SECOND = {
    "detached": lambda x: (lambda y: y.detach() * x + y * y)(x.sin()),
    "nothing recorded": lambda x: unrecorded(x) + x.sin(),
    "Function": lambda x: Scaled.apply(Scaled.apply(x, 0.5) * x, 0.5) * x,
}


@pytest.mark.parametrize("name", SECOND)
def test_gradients_of_graphs_are_differentiated_as_they_were_written(name):
    """In ``df``, where values are computed again, gradients stop where they stopped, and Functions have their derivatives."""
    fn, x = SECOND[name], POINT.clone().requires_grad_()
    gradient = differentiate(trace(fn, x))
    outs = [y.detach().requires_grad_() for y in gradient.f(POINT)]
    saved = [*[x for _ in gradient.df_input_captured_inputs], *[outs[k] for k in gradient.df_input_captured_outputs]]
    first = [nbgrad.ones(2, dtype=nbgrad.float64) if k == 0 else None for k in gradient.df_input_vjps]
    own, *others = nbgrad.grad((gradient.df(*first, *saved)[0] * MOVE).sum(), [x, *outs], materialize_grads=True)
    back = gradient.df(*[others[k] for k in gradient.df_input_vjps], *saved)[0]
    (g,) = nbgrad.grad(fn(x).sum(), x, create_graph=True)
    assert_close(own + back.detach(), nbgrad.grad((g * MOVE).sum(), x)[0])


class Reversal(nbgrad.Function):
    """The argument itself, whose gradient is reversed."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.factor * g, None


def test_a_function_that_gives_its_argument_back():
    """The usual form of a gradient's reversal: in the middle of a program it is a step like any other."""
    w = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    f = nbgrad.compile(lambda x: (Reversal.apply(x * w, 0.5) * 3).sum(), fullgraph=True)
    for x in (nbgrad.ones(2), nbgrad.arange(2.0)):
        w.grad = None
        loss = f(x)
        loss.backward()
        assert loss.item() == (3 * x * w).sum().item() and w.grad.equal(-1.5 * x)

    x = nbgrad.ones(2, requires_grad=True)
    with pytest.raises(nbgrad.errors.GraphError, match="Reversal: returns an argument"):
        nbgrad.compile(lambda x: Reversal.apply(x, 0.5), fullgraph=True)(x)
