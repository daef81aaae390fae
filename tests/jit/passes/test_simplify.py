"""All passes together leave what graphs compute, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.jit import compile, same, trace
from nbgrad.jit.passes import simplify
from tests.helpers import leaf
from tests.jit.passes.before_after import SPECIAL, after, assert_same_bits, names
from tests.jit.programs import sample_graphs

W = nbgrad.tensor(np.linspace(-1, 1, 4))


def test_the_doctest_of_simplify():
    """What is left of a function that wastes nearly everything."""

    def fn(x):
        y = (x.t().t() * 1).exp()
        (y * W).sum()
        return y.neg().neg() + x.exp() * nbgrad.ones(4, dtype=nbgrad.float64)

    assert names(after(simplify, trace(fn, W), W)) == ["exp", "add"]


def test_operations_and_their_gradients_give_the_same_bits():
    """Every eighth operation, with the checker behind each pass."""
    for _, graph, xs in sample_graphs(8):
        if not any(node.effect != "pure" for node in graph.nodes):
            after(simplify, graph, *xs)


def test_simplified_twice_is_simplified_once():
    """Nothing is found behind the last round."""
    for _, graph, _ in sample_graphs(16):
        once = simplify(graph.copy()[0])
        assert same(once, simplify(once.copy()[0]))


def random_step(rng, pool):
    """Another value, of those there are, by an operation that some pass looks at."""
    x, y = (pool[rng.integers(len(pool))] for _ in range(2))
    c = float(rng.choice([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, 0.3]))
    n = rng.integers(16)
    if n < 6:
        return [lambda: x + y, lambda: x - y, lambda: x * y, lambda: x / y, lambda: nbgrad.maximum(x, y), lambda: x * x][n]()
    if n < 10:
        return [lambda: x + c, lambda: c - x, lambda: c * x, lambda: x / c][n - 6]()
    if n == 10:
        return x.t()
    if n == 11:
        return nbgrad.full((4, 4), c, dtype=nbgrad.float64) * x
    if n == 12:
        z = x.clone()
        z[rng.integers(4)] = y[rng.integers(4)]
        return z
    return [lambda: -x, lambda: -x, lambda: x.abs()][n - 13]()


def random_program(seed):
    """A function of two matrices: a few results of many steps, and the gradient of one of them."""

    def fn(a, b):
        rng = np.random.default_rng(seed)
        pool = [a, b]
        for _ in range(30):
            pool.append(random_step(rng, pool))
        g = nbgrad.grad(pool[-1].sum(), (a, b), allow_unused=True, materialize_grads=True)
        return *[pool[k].detach() for k in rng.integers(2, len(pool), 3)], *g

    return fn


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("any_values")
def test_random_graphs(seed):
    """With the checker behind each pass, on special values."""
    xs = [leaf(np.random.default_rng(seed).choice(SPECIAL, (4, 4))) for _ in range(2)]
    with np.errstate(all="ignore"):
        graph = trace(random_program(seed), *xs)
        assert len(after(simplify, graph, *xs).nodes) < len(graph.nodes)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("any_values")
def test_random_programs_compiled(seed):
    """As the graph gives them that nobody has simplified."""
    fn = random_program(seed)
    f = compile(fn, fullgraph=True)
    graph = trace(fn, *[leaf(np.ones((4, 4))) for _ in range(2)])
    for k in range(2):
        xs = [leaf(np.random.default_rng(k).standard_normal((4, 4))) for _ in range(2)]
        before, config.CHECK = config.CHECK, True
        try:
            got = f(*xs)
        finally:
            config.CHECK = before
        for x, y in zip(got, graph(*xs), strict=True):
            assert_same_bits(x, y)


def test_what_is_written_to_arguments_is_written():
    """Values that end in memory that was there before, equal ones too."""

    def fn(x, y):
        x.copy_((x + 1) * 1.0)
        y.copy_(x.clone())
        return x * 1

    f = compile(fn, fullgraph=True)
    for k in range(3):
        xs, ys = ([nbgrad.full((3,), float(k)), nbgrad.zeros(3)] for _ in range(2))
        assert_same_bits(f(*xs), fn(*ys))
        for x, y in zip(xs, ys):
            assert_same_bits(x, y)


def test_a_long_chain_takes_few_rounds(monkeypatch):
    """A sign that moves out of a thousand products, in the rounds that one takes."""
    count = []
    module = __import__("sys").modules["nbgrad.jit.passes.simplify"]
    merge = module.merge_calls
    monkeypatch.setattr(module, "merge_calls", lambda graph: count.append(1) or merge(graph))

    def fn(x):
        y = -x
        for _ in range(1000):
            y = y * x
        return y - x

    assert len(simplify(trace(fn, W)).nodes) == 1002
    assert len(count) <= 4
