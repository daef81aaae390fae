"""Random numbers in graphs of a GPU: each replay draws what calls would have drawn. Emulated, in a child."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import cuda, nn
from nbgrad.base.errors import GraphError, RangeError
from nbgrad.nn import functional
from nbgrad.utils.checkpoint import checkpoint

from .emulation import launches, on_gpus

DRAWS = {
    "rand": lambda x: nbgrad.rand(5, device="cuda"),
    "randn of float64": lambda x: nbgrad.randn(3, 3, dtype=nbgrad.float64, device="cuda"),
    "rand of bfloat16": lambda x: nbgrad.rand(9, dtype=nbgrad.bfloat16, device="cuda"),
    "randint": lambda x: nbgrad.randint(0, 100, (6,), device="cuda"),
    "randperm": lambda x: nbgrad.randperm(17, device="cuda"),
    "normal_": lambda x: nbgrad.empty(4, device="cuda").normal_(1.0, 2.0),
    "bernoulli": lambda x: nbgrad.bernoulli(x),
    "bernoulli_": lambda x: nbgrad.empty(7, device="cuda").bernoulli_(0.5),
    "normal around a tensor": lambda x: nbgrad.normal(x, x),
    "multinomial": lambda x: nbgrad.multinomial(x, 5),
    "multinomial with replacement": lambda x: nbgrad.multinomial(x, 20, replacement=True),
    "dropout": lambda x: functional.dropout(x, 0.5),
    "rand_like": lambda x: nbgrad.rand_like(x),
    "exponential_": lambda x: nbgrad.empty(4, device="cuda").exponential_(),
}


def capture(act):
    """A graph of ``act()``, which has run before, and its result."""
    act()
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        out = act()
    return g, out


@on_gpus
@pytest.mark.parametrize("name", DRAWS)
def test_replays_draw_what_calls_draw(name):
    """Three replays, a call between them, and one behind: the numbers are those of five calls."""
    x = nbgrad.full((8,), 0.5, device="cuda")
    g, out = capture(lambda: DRAWS[name](x))
    nbgrad.manual_seed(3)
    found = []
    for k in range(4):
        g.replay()
        found.append(out.tolist())
        if k == 1:
            found.append(DRAWS[name](x).tolist())
    found.append(DRAWS[name](x).tolist())
    nbgrad.manual_seed(3)
    assert found == [DRAWS[name](x).tolist() for _ in range(6)]


@on_gpus
def test_several_draws_of_a_capture():
    """Each has its own numbers, in the order of the program."""

    def act():
        return nbgrad.rand(3, device="cuda"), nbgrad.randn(2, device="cuda"), nbgrad.rand(3, device="cuda")

    g, out = capture(act)
    nbgrad.manual_seed(5)
    found = []
    for _ in range(3):
        g.replay()
        found.append([x.tolist() for x in out])
    nbgrad.manual_seed(5)
    assert found == [[x.tolist() for x in act()] for _ in range(3)]


@on_gpus
def test_a_capture_draws_nothing():
    """The generator is where it was, also after a capture that failed."""
    act = DRAWS["rand"]
    act(None)
    nbgrad.manual_seed(7)
    state = cuda.get_rng_state()
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        act(None)
    with pytest.raises(RuntimeError, match="stop"), cuda.graph(cuda.CUDAGraph()):
        act(None)
        raise RuntimeError("stop")
    assert nbgrad.equal(cuda.get_rng_state(), state)


@on_gpus
def test_seeds_between_replays():
    """Another seed, a state from before: replays go on from there."""
    g, out = capture(lambda: nbgrad.rand(4, device="cuda"))
    nbgrad.manual_seed(1)
    g.replay()
    first = out.tolist()
    state = cuda.get_rng_state()
    g.replay()
    second = out.tolist()
    cuda.manual_seed(1)
    g.replay()
    assert out.tolist() == first != second
    cuda.set_rng_state(state)
    g.replay()
    assert out.tolist() == second


@on_gpus
def test_generators_of_ones_own():
    """Two of them in one graph; each goes on by what is drawn from it."""
    one, two = nbgrad.Generator("cuda").manual_seed(1), nbgrad.Generator("cuda").manual_seed(2)

    def act():
        a = nbgrad.rand(3, device="cuda", generator=one)
        return a, nbgrad.rand(3, device="cuda", generator=two), nbgrad.rand(3, device="cuda", generator=one)

    g, out = capture(act)
    one.manual_seed(1)
    two.manual_seed(2)
    found = []
    for _ in range(3):
        g.replay()
        found.append([x.tolist() for x in out])
    one.manual_seed(1)
    two.manual_seed(2)
    assert found == [[x.tolist() for x in act()] for _ in range(3)]
    assert repr(one) == "Generator(seed=1, calls=6, device=cuda:0)"


@on_gpus
def test_replays_on_several_streams():
    """The words of one replay are not overwritten by the next before they are read."""
    g, out = capture(lambda: nbgrad.rand(1000, device="cuda"))
    found, streams = [], [cuda.Stream(), cuda.Stream()]
    nbgrad.manual_seed(2)
    for k in range(6):
        with cuda.stream(streams[k % 2]):
            streams[k % 2].wait_stream(streams[1 - k % 2])
            g.replay()
            found.append(out.clone())
    cuda.synchronize()
    found = [x.tolist() for x in found]
    nbgrad.manual_seed(2)
    assert found == [nbgrad.rand(1000, device="cuda").tolist() for _ in range(6)]


@on_gpus
def test_graphs_in_turn():
    """Two graphs, one pool: the numbers are those of calls in the same order."""
    a, x = capture(lambda: nbgrad.rand(3, device="cuda"))
    b = cuda.CUDAGraph()
    with cuda.graph(b, pool=a.pool()):
        y = nbgrad.rand(3, device="cuda")
    nbgrad.manual_seed(4)
    found = []
    for g, out in ((a, x), (b, y), (b, y), (a, x)):
        g.replay()
        found.append(out.tolist())
    nbgrad.manual_seed(4)
    assert found == [nbgrad.rand(3, device="cuda").tolist() for _ in range(4)]


@on_gpus
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("n", [10, 4099])
def test_dropout_draws_and_multiplies_at_once(n, dtype):
    """From the second call on there is one launch: with the numbers of the CPU, of two launches, and of a call behind hooks, also
    of memory that is not aligned; gradients and what is drawn later are the same.
    """
    base = nbgrad.arange(1.0, n + 2).to(getattr(nbgrad, dtype))
    for x in (base[:n], base[1:]):
        nbgrad.manual_seed(5)
        expected = functional.dropout(x, 0.3).tolist()
        x, found = x.cuda().requires_grad_(), []
        for k in range(3):
            nbgrad.manual_seed(5)
            if k < 2:
                y = functional.dropout(x, 0.3)
            else:
                with nbgrad.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                    y = functional.dropout(x, 0.3)
            (g,) = nbgrad.grad(y, x, nbgrad.ones_like(y))
            found.append((y.tolist(), g.tolist(), nbgrad.rand(2, device="cuda").tolist()))
        assert found[0] == found[1] == found[2] and found[0][0] == expected
    assert launches(lambda: functional.dropout(x, 0.3)) == 1


@on_gpus
def test_a_checkpoint_in_a_capture():
    """The second run draws the numbers of the first again, in each replay."""
    x = nbgrad.ones(64, device="cuda", requires_grad=True)

    def act():
        y = checkpoint(lambda x: functional.dropout(x * 2, 0.5), x, use_reentrant=False)
        (g,) = nbgrad.grad(y, x, nbgrad.ones_like(y))
        return y.detach(), g

    graph, (y, g) = capture(act)
    nbgrad.manual_seed(6)
    for _ in range(3):
        graph.replay()
        assert y.tolist() == g.tolist()
    after = nbgrad.rand(3, device="cuda").tolist()
    nbgrad.manual_seed(6)
    for _ in range(3):
        expected = act()
    assert y.tolist() == expected[0].tolist()
    assert after == nbgrad.rand(3, device="cuda").tolist()


@on_gpus
@pytest.mark.parametrize("seed", [lambda: nbgrad.manual_seed(1), lambda: cuda.manual_seed(1), lambda: cuda.set_rng_state(STATE[0])])
def test_a_seed_in_a_capture_is_refused(seed):
    """Each replay would begin with it."""
    STATE[:] = [nbgrad.Generator("cuda").manual_seed(99).get_state()]
    with pytest.raises(
        GraphError, match=r"CUDAGraph: a generator is given a seed or a state during a capture.*Hint: seed it before"
    ):
        with cuda.graph(cuda.CUDAGraph()):
            seed()


STATE: list = []


@on_gpus
@pytest.mark.parametrize(
    "draw, text",
    [
        (lambda x: nbgrad.bernoulli(x), "bernoulli: probabilities must be from 0 to 1"),
        (lambda x: nbgrad.normal(x, -x), "normal: std must be >= 0, got a tensor with negative elements"),
        (lambda x: nbgrad.multinomial(x - 2, 1), "multinomial: weights must be finite and >= 0"),
    ],
)
def test_what_no_numbers_are_drawn_by(draw, text):
    """It is seen on the GPU, and raised when the program next waits; then everything goes on."""
    x = nbgrad.full((3,), 1.5, device="cuda")
    with pytest.raises(RangeError, match=text):
        draw(x)
        cuda.synchronize()
    assert x.tolist() == [1.5] * 3


@on_gpus
def test_graphed_modules_draw():
    """Dropout in make_graphed_callables: the numbers of eager calls, forward and backward."""
    layer = nn.Dropout(0.5)
    x = nbgrad.ones(32, device="cuda", requires_grad=True)
    graphed = cuda.make_graphed_callables(nn.Dropout(0.5), (x,))
    ends = []
    for f in (graphed, layer):
        nbgrad.manual_seed(8)
        for _ in range(3):
            x.grad = None
            y = f(x)
            y.backward(nbgrad.ones_like(y))
            ends.append((y.tolist(), x.grad.tolist()))
    assert ends[:3] == ends[3:] and len({str(each) for each in ends}) == 3


@on_gpus
@pytest.mark.parametrize("compiled", [False, True])
def test_a_pass_through_a_loop_whose_graph_is_gone(compiled):
    """It draws the numbers of the last replay again."""
    x, start = nbgrad.ones(4, 3, device="cuda", requires_grad=True), nbgrad.zeros(3, device="cuda")

    def step(total, row):
        total = total + functional.dropout(row, 0.5)
        return total, total

    total = lambda x: nbgrad.scan(step, start, x)[0].sum()
    total = nbgrad.compile(total) if compiled else total
    nbgrad.grad(total(x), x)
    g, out = capture(lambda: total(x))
    g.replay()
    drawn = out.item()
    del g
    cuda.empty_cache()
    out.backward()
    assert set(x.grad.flatten().tolist()) == {0.0, 2.0} and x.grad.sum().item() == drawn
