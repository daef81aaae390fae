"""Graphs draw the numbers that the program would draw, and leave generators as it would."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import GraphError, NbgradError
from nbgrad.jit import compile, cond, map as map_slices, parse, scan, trace, while_loop
from tests.helpers import leaf

G = nbgrad.Generator()
F = nbgrad.nn.functional
X = nbgrad.tensor(np.linspace(-2, 2, 12).reshape(3, 4)).requires_grad_()


def forked(x):
    with nbgrad.fork_rng():
        inside = nbgrad.rand(3)
    return inside, nbgrad.rand(2), nbgrad.rand(2)


def own(x):
    """From a generator that the function makes, which gives the same numbers in every call."""
    generator = nbgrad.Generator().manual_seed(7)
    return x * nbgrad.rand(4, generator=generator) + nbgrad.rand(4, generator=generator.clone_state())


def leaf_inside(x):
    y = nbgrad.rand(3, 4, dtype=nbgrad.float64, requires_grad=True)
    return nbgrad.grad((y * y * x).sum(), (x, y))


PROGRAMS = {
    "rand": lambda x: x * nbgrad.rand(3, 4),
    "randn_like": lambda x: nbgrad.randn_like(x) + x,
    "randint": lambda x: nbgrad.randint(5, (3,)),
    "randint_like": lambda x: nbgrad.randint_like(x, 7),
    "randperm": lambda x: x[:, nbgrad.randperm(4)],
    "float16": lambda x: nbgrad.rand(3, 5, dtype=nbgrad.float16),
    "bfloat16 and strides": lambda x: nbgrad.rand_like(x.t(), dtype=nbgrad.bfloat16),
    "complex": lambda x: nbgrad.randn(3, dtype=nbgrad.complex128),
    "nothing": lambda x: (nbgrad.rand(0), nbgrad.rand(2)),
    "unused": lambda x: (nbgrad.rand(5), x * 2)[1],
    "normal": lambda x: nbgrad.normal(0.5, 2.0, (3,)),
    "normal of tensors": lambda x: nbgrad.normal(x.detach(), 2.0),
    "in place": lambda x: x.clone().normal_(1.0, 2.0) + nbgrad.empty(3, 4).uniform_(2, 3),
    "exponential_": lambda x: x.clone().exponential_(2.0),
    "bernoulli_": lambda x: x.clone().bernoulli_(0.4),
    "random_": lambda x: x.clone().random_(3, 9),
    "a part in place": lambda x: (y := x.clone(), y[:, 1].normal_())[0],
    "out": lambda x: nbgrad.rand(3, out=nbgrad.zeros(3)),
    "dropout": lambda x: nbgrad.dropout(x, 0.3),
    "dropout in place": lambda x: nbgrad.dropout(x * 2, 0.3, inplace=True),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5, True),
    "feature_dropout": lambda x: nbgrad.feature_dropout(x[None], 0.5, True),
    "rrelu": lambda x: F.rrelu(x, training=True),
    "explicit": lambda x: x + nbgrad.rand(3, 4, generator=G) * nbgrad.rand(4),
    "explicit in place": lambda x: x.clone().normal_(generator=G),
    "own": own,
    "forked": forked,
    "gradient": lambda x: nbgrad.grad((nbgrad.dropout(x, 0.3) * x).sum(), x),
    "gradient of a leaf": leaf_inside,
    "checkpoint": lambda x: nbgrad.grad(
        nbgrad.checkpoint(lambda y: nbgrad.dropout(y.sin(), 0.5) * y, x, use_reentrant=False).sum() + nbgrad.rand(1).sum(), x
    ),
    "vmap": lambda x: nbgrad.vmap(lambda y: nbgrad.dropout(y) + nbgrad.rand(4), randomness="different")(x),
    "vmap of the same": lambda x: nbgrad.vmap(lambda y: nbgrad.dropout(y), randomness="same")(x),
    "jvp": lambda x: nbgrad.func.jvp(lambda y: nbgrad.dropout(y) * y, (x.detach(),), (x.detach(),)),
}


def drawn(fn, x, times=3) -> list:
    """The results of some calls from the same start, and the generators behind them."""
    nbgrad.manual_seed(1)
    G.manual_seed(2)
    found = [nbgrad.utils._pytree.tree_flatten(fn(x))[0] for _ in range(times)]
    states = [np.array(each.get_state().tolist()) for each in (nbgrad.random.default_generator, G)]
    return [y.detach().numpy() for outs in found for y in outs] + states


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_those_of_the_program(name):
    """Compiled, and replayed by calls, from the same state of the generators, call after call."""
    fn = PROGRAMS[name]
    graph, compiled = trace(fn, X), compile(fn, fullgraph=True)
    want = drawn(fn, X)
    for other in (compiled, graph):
        found = drawn(other, X)
        assert len(found) == len(want)
        for a, b in zip(found, want):
            np.testing.assert_array_equal(a, b)


def test_a_capture_moves_no_generator():
    """What the capture has drawn, the first run of the graph draws."""
    nbgrad.manual_seed(3)
    before = nbgrad.get_rng_state().tolist()
    trace(PROGRAMS["dropout"], X)
    with pytest.raises(GraphError):
        trace(lambda x: (nbgrad.rand(2), x.detach().numpy())[0], X)
    assert nbgrad.get_rng_state().tolist() == before


def test_a_pass_through_a_compiled_function_has_its_numbers():
    """The gradient of a result knows what was drawn; it draws nothing itself."""
    w = leaf([1.0, 2.0, -3.0, 0.5], dtype=nbgrad.float64)

    def fn(x):
        h = nbgrad.dropout(x * w, 0.5)
        return (h * h).sum(), nbgrad.rand(2) * h[0, :2]

    compiled, found = compile(fn, fullgraph=True), []
    for each in (fn, compiled, compiled):
        nbgrad.manual_seed(4)
        a, b = each(X)
        between = nbgrad.rand(1)
        found.append([x.tolist() for x in (a, b, between, *nbgrad.grad(a + 3 * b.sum(), [X, w]), nbgrad.rand(1))])
    assert found[0] == found[1] == found[2]
    assert any(x != 0 for row in found[0][3] for x in row)


def test_training_steps_draw():
    """A net with dropout and its optimizer as one compiled step."""
    losses = []
    for wrap in (lambda f: f, lambda f: compile(f, fullgraph=True)):
        nbgrad.manual_seed(5)
        net = nbgrad.nn.Sequential(nbgrad.nn.Linear(4, 8), nbgrad.nn.Dropout(0.5), nbgrad.nn.ReLU(), nbgrad.nn.Linear(8, 1))
        optimizer = nbgrad.optim.SGD(net.parameters(), lr=0.1)

        def step(x, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = wrap(step)
        losses.append([step(X.detach().float()).item() for _ in range(5)])
    assert losses[0] == losses[1] and len(set(losses[0])) == 5


def test_generators_may_be_arguments():
    """Each is a variant of its own."""
    compiled = compile(lambda x, generator: x + nbgrad.rand(4, generator=generator), fullgraph=True)
    for seed in (1, 2):
        generator = nbgrad.Generator().manual_seed(seed)
        twin = generator.clone_state()
        for _ in range(2):
            assert compiled(X, generator).tolist() == (X + nbgrad.rand(4, generator=twin)).tolist()
    assert len(compiled.variants) == 2


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: (nbgrad.manual_seed(1), x * 2)[1],
        lambda x: x * nbgrad.initial_seed(),
        lambda x: x * nbgrad.Generator().seed(),
        lambda x: (G.set_state(nbgrad.zeros(16, dtype=nbgrad.uint8)), x * 2)[1],
        lambda x: (G.set_state(nbgrad.get_rng_state()), x * 2)[1],
    ],
)
def test_what_generators_hold_is_no_part_of_a_graph(fn):
    """Seeds that are set or read would be those of the capture."""
    with pytest.raises(GraphError, match="Hint"):
        trace(fn, X)


def unrolled(step, c, xs, length, reverse=False):
    """What a scan stands for."""
    order, ys = range(length), [None] * length
    for k in reversed(order) if reverse else order:
        c, ys[k] = step(c, None if xs is None else xs[k])
    return c, nbgrad.stack(ys)


def recurrent(loop, x, reverse=False):
    """A step with three draws from two generators, the same ones again in a checkpoint, within other draws."""

    def step(c, s):
        c = nbgrad.checkpoint(lambda c: (nbgrad.dropout(c * 1.1, 0.3) * s).sin(), c, use_reentrant=False)
        return c + nbgrad.rand(4, generator=G, dtype=nbgrad.float64), c * nbgrad.randn(4, dtype=nbgrad.float64)

    before = nbgrad.rand(4, dtype=nbgrad.float64)
    c, ys = loop(step, x[0] * before, x, length=3, reverse=reverse)
    return (c * nbgrad.rand(4, dtype=nbgrad.float64)).sum() + ys.sum(), c, ys


def nested(loop, x):
    """A loop with draws in a step with draws."""

    def outer(c, s):
        d, ys = loop(lambda d, t: (nbgrad.dropout(d * t, 0.5), d), c, s.reshape(4, 1), length=4)
        return d + nbgrad.rand(4, dtype=nbgrad.float64), ys.sum(0)

    c, ys = loop(outer, x[0], x, length=3)
    return c.sum() + ys.sum(), c, ys


LOOPS = {
    "forward": lambda loop, x: recurrent(loop, x)[1:],
    "reverse": lambda loop, x: recurrent(loop, x, True)[1:],
    "gradient": lambda loop, x: nbgrad.grad(recurrent(loop, x)[0], x),
    "second gradient": lambda loop, x: nbgrad.grad(nbgrad.grad(recurrent(loop, x)[0], x, create_graph=True)[0].sum(), x),
    "forward mode": lambda loop, x: nbgrad.func.jvp(lambda y: recurrent(loop, y)[0], (x.detach(),), (x.detach(),)),
    "nested": lambda loop, x: nbgrad.grad(nested(loop, x)[0], x),
}


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_draw_what_their_trips_draw(name, compiles):
    """And so do their derivatives; generators are left where the unrolled loop leaves them."""
    fn = LOOPS[name]
    looped = lambda x: fn(scan, x)
    want, found = drawn(lambda x: fn(unrolled, x), X), drawn(compile(looped, fullgraph=True) if compiles else looped, X)
    assert len(want) == len(found)
    for a, b in zip(found, want):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_maps_and_loops_without_trips_draw():
    """Every slice its own numbers; of no slices none."""
    x = nbgrad.zeros(3, 2)
    found = drawn(lambda x: map_slices(lambda row: row + nbgrad.rand(2), x), x)
    want = drawn(lambda x: nbgrad.stack([row + nbgrad.rand(2) for row in x]), x)
    for a, b in zip(found, want):
        np.testing.assert_array_equal(a, b)
    empty = drawn(lambda x: map_slices(lambda row: row + nbgrad.rand(2), x[:0]), x)
    assert empty[0].shape == (0, 2) and empty[-2][8] == 0


def test_a_step_that_draws_otherwise_is_noticed():
    """A name decides how many calls a trip takes."""
    twice = False

    def step(c, _):
        c = c + nbgrad.rand(2)
        return (c + nbgrad.rand(2) if twice else c), c

    x = nbgrad.zeros(2)
    for twice in (False, True, False):  # noqa: B007
        for a, b in zip(drawn(lambda x: scan(step, x, length=3), x), drawn(lambda x: unrolled(step, x, None, 3), x)):
            np.testing.assert_array_equal(a, b)


def until(loop, test, body, x):
    """A loop that a test ends: ``while_loop``, or the loop that it is."""
    if loop is scan:
        return while_loop(test, body, x)
    while test(x):
        x = body(x)
    return x


def either(loop, predicate, first, second, x):
    """``cond``, or the choice that it is."""
    if loop is scan:
        return cond(predicate, first, second, x)
    return first(x) if predicate else second(x)


def walk(loop, x):
    """Steps of a random walk until it has left a region, between other draws."""
    start = x[0] * nbgrad.rand(4, dtype=nbgrad.float64)
    end = until(loop, lambda c: c.abs().sum() < 6, lambda c: c + x[1] * nbgrad.rand(4, dtype=nbgrad.float64), start)
    return end * nbgrad.rand(4, dtype=nbgrad.float64)


def metropolis(loop, x):
    """A test that draws in front of a body that does."""
    test, body = lambda c: nbgrad.rand(()) < 0.8, lambda c: c * x[1] + nbgrad.rand(4, generator=G)
    return until(loop, test, body, x[0]) * nbgrad.rand(4)


def branches(loop, x):
    """Trips of which each takes as many calls as its branch, and as the loop within it."""

    def step(c, row):
        c = either(loop, c.sum() > 1, lambda c: c * nbgrad.rand(4), lambda c: c + nbgrad.rand(4) * nbgrad.randn(4), c)
        c = until(loop, lambda c: c.sum() < 2, lambda c: c + row.exp() * nbgrad.rand(4, generator=G), c)
        return c * nbgrad.rand(4, dtype=c.dtype), c

    c, ys = loop(step, x[0].exp(), x, 3)
    return c * nbgrad.rand(4) * ys.sum(0)


def again(loop, x):
    """States are read, and returned to, around a loop."""
    before = nbgrad.get_rng_state()
    first = walk(loop, x)
    behind = nbgrad.get_rng_state()
    nbgrad.set_rng_state(before)
    second = walk(loop, x) * nbgrad.rand(4)
    nbgrad.set_rng_state(behind)
    return first + second * nbgrad.rand(4)


def checkpointed(loop, x):
    """What is computed again draws the same numbers."""
    return nbgrad.checkpoint(lambda y: walk(loop, y), x, use_reentrant=False) + nbgrad.rand(4)


BY_VALUES = {f.__name__: f for f in (walk, metropolis, branches, again, checkpointed)}
WAYS = {
    "results": lambda f: f,
    "gradient": lambda f: lambda x: nbgrad.grad(f(x).square().sum(), x),
    "second gradient": lambda f: lambda x: nbgrad.grad(nbgrad.grad(f(x).square().sum(), x, create_graph=True)[0].square().sum(), x),
    "forward mode": lambda f: lambda x: nbgrad.func.jvp(f, (x.detach(),), (x.detach().cos(),)),
}
FORMS = {"eager": lambda f: f, "compiled": lambda f: compile(f, fullgraph=True), "traced": lambda f: trace(f, X)}


@pytest.mark.parametrize("form", ["eager", "compiled", "traced"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BY_VALUES)
def test_loops_and_branches_draw_as_often_as_values_say(name, way, form):
    """As the loops that they are do, whose derivatives draw the same numbers; generators follow."""
    fn = BY_VALUES[name]
    looped = WAYS[way](lambda x: fn(scan, x))
    want = drawn(WAYS[way](lambda x: fn(unrolled, x)), X, 2)
    found = drawn(FORMS[form](looped), X, 2)
    assert len(want) == len(found)
    for a, b in zip(found, want):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_a_run_that_stops_has_drawn_nothing():
    """A value that is asked for behind such a loop chooses another program."""

    def program(x, loop=scan):
        y = walk(loop, x)
        return y * nbgrad.rand(4) if y.sum() > -1 else y

    compiled = compile(program, fullgraph=True)
    for a, b in zip(drawn(compiled, X, 8), drawn(lambda x: program(x, unrolled), X, 8)):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert len(compiled.variants) == 2


def test_a_text_with_such_a_loop_reads_back():
    """The generator follows by a statement of its own."""
    graph = trace(lambda x: walk(scan, x), X)
    assert str(graph).rstrip().splitlines()[-2].lstrip().startswith("advance(")
    again = parse(str(graph))
    for a, b in zip(drawn(lambda x: again(x), X), drawn(lambda x: walk(unrolled, x), X)):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("form", ["eager", "traced"])
@pytest.mark.parametrize("way", ["results", "gradient", "forward mode"])
def test_loops_of_batches_draw_as_randomness_says(way, form, randomness):
    """The numbers of the loop that they are, also of a graph that is mapped."""

    def step(c, _):
        c = nbgrad.dropout(c, 0.3).sin() * c + nbgrad.rand(4, dtype=c.dtype)
        return c, c * nbgrad.rand(())

    def program(loop):
        def run(x):
            c, ys = loop(step, x, None, 3)
            return c * ys.sum(0)

        if way == "gradient":
            return nbgrad.func.grad(lambda x: run(x).sum())
        return run if way == "results" else lambda x: nbgrad.func.jvp(run, (x,), (x.cos(),))[1]

    looped, x = program(scan), X.detach()
    if form == "traced":
        graph = trace(looped, x[0])
        looped = lambda x: graph(x)[0]
    mapped = [nbgrad.vmap(f, randomness=randomness) for f in (looped, program(unrolled))]
    for a, b in zip(*[drawn(f, x, 2) for f in mapped]):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_loops_of_batches_that_draw_as_often_as_values_say():
    """A test that is the same for all elements; others are refused, as a batch is that says nothing."""

    def counted(x):
        return while_loop(lambda n, c: n < 3, lambda n, c: (n + 1, c * nbgrad.rand(4)), (0, x))[1]

    def by_element(x):
        return while_loop(lambda c: c.sum() < 9, lambda c: c + nbgrad.rand(4), x)

    x = X.detach()
    want = drawn(nbgrad.vmap(lambda c: c * nbgrad.rand(4) * nbgrad.rand(4) * nbgrad.rand(4), randomness="same"), x)
    for a, b in zip(drawn(nbgrad.vmap(counted, randomness="same"), x), want):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    graph = trace(by_element, x[0])
    for f, randomness in ((by_element, "same"), (counted, "different"), (lambda x: graph(x)[0], "same")):
        with pytest.raises(GraphError, match="vmap: .* as many .* Hint"):
            nbgrad.vmap(f, randomness=randomness)(x)
    for f in (counted, lambda x: graph(x)[0]):
        with pytest.raises(NbgradError, match="randomness="):
            nbgrad.vmap(f)(x)


def test_loops_that_cannot_draw():
    """A test that takes as many numbers as values say."""

    def test(c):
        return while_loop(lambda d: d < 1, lambda d: d + nbgrad.rand(()), c.sum()) < 3

    with pytest.raises(GraphError, match="while_loop: cond takes as many random numbers as values say.*Hint"):
        while_loop(test, lambda c: c + 1, nbgrad.zeros(2))


def test_texts_of_graphs_that_draw():
    """A call that is taken, and what is drawn in it, are two statements, that read back."""
    graph = trace(PROGRAMS["dropout"], X)
    assert [node.name for node in graph.nodes] == ["reserve", "draw", "kept_scaled"]
    assert str(parse(str(graph))) == str(graph)
    want = drawn(graph, X)
    for a, b in zip(drawn(parse(str(graph)), X), want):
        np.testing.assert_array_equal(a, b)
