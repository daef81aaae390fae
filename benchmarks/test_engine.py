"""The engine: long, deep and nested backward passes, and writes through views."""

from __future__ import annotations

import gc
from time import perf_counter

import numpy as np
import pytest

import nbgrad
from benchmarks.peers import BOTH, both, grad_of, gradient_in_jax, jax

RNG = np.random.default_rng(0)


def lotka_volterra(rates, prey, predators, steps=100, dt=0.05):
    """Prey after ``steps`` explicit Euler steps; works on tensors of no dimension and on JAX scalars alike."""
    a, b, c, d = rates
    for _ in range(steps):
        meals = prey * predators
        prey, predators = prey + dt * (a * prey - b * meals), predators + dt * (d * meals - c * predators)
    return prey


RATES, START = (1.1, 0.4, 0.4, 0.1), (10.0, 5.0)


def test_lotka_volterra(compare):
    """A simulation on numbers: 800 operations on tensors of no dimension, and the gradient of the last state."""

    def program(lib):
        rates = [lib.tensor(rate, requires_grad=True) for rate in RATES]
        start = [lib.tensor(population) for population in START]
        grad = grad_of(lib)
        return lambda: grad(lotka_volterra(rates, *start), rates)

    def in_autograd():
        import autograd

        derivative = autograd.grad(lambda rates: lotka_volterra(rates, *START))
        return lambda: tuple(derivative(RATES))

    def in_jax():
        derivative = gradient_in_jax(lambda rates: lotka_volterra(rates, *START))
        return lambda: derivative(RATES)

    candidates = both(program) | {"autograd": in_autograd(), "jax jit": in_jax()}
    compare("Lotka-Volterra, 100 steps, gradient", candidates, budget=0.4, tolerance=1e-3)


@pytest.mark.parametrize("size", [1024, 262_144])
def test_in_place_on_views(compare, size):
    """Writes through slices, rows and transposes of one tensor: every one rebases its history."""
    side = int(size**0.5)
    data = RNG.normal(size=size).astype(np.float32)

    def program(lib):
        x = lib.tensor(data, requires_grad=True)

        def run():
            x.grad = None
            y = x.clone()
            square = y.view(side, side)
            y[: size // 2].mul_(2.0)
            square[1].add_(square[0])
            square.transpose(0, 1)[3].mul_(x[:side])
            square[:, 5:9] = 0.5
            (y * y).sum().backward()
            return x.grad

        return run

    compare(f"in-place writes through views of {size:,}, forward and backward", both(program), budget=0.7)


def cubic(xp, x):
    """A function whose second derivative is not constant."""
    return (xp.tanh(x) * x * x).sum()


@pytest.mark.parametrize("size", [16, 100_000])
def test_double_backward(compare, size):
    """The gradient of a gradient, through the graph that the first backward pass recorded."""
    import autograd
    import autograd.numpy as hips

    data = RNG.normal(size=size).astype(np.float32)

    def program(lib):
        x, grad = lib.tensor(data, requires_grad=True), grad_of(lib)

        def run():
            (first,) = grad(cubic(lib, x), x, create_graph=True)
            return grad(first.sum(), x)[0]

        return run

    def in_jax():
        once, x = jax().grad(lambda x: cubic(jax().numpy, x)), jax().numpy.asarray(data)
        twice = gradient_in_jax(lambda x: once(x).sum())
        return lambda: twice(x)

    def in_autograd():
        once = autograd.grad(lambda x: cubic(hips, x))
        twice = autograd.grad(lambda x: once(x).sum())
        return lambda: twice(data)

    candidates = both(program) | {"autograd": in_autograd(), "jax jit": in_jax()}
    compare(f"double backward, {size:,} elements", candidates, budget=0.5, tolerance=1e-3)


@pytest.mark.parametrize("which", ["all", "one"])
def test_gradient_of_some_leaves(compare, which):
    """The gradient of a chain of products, each by a leaf of its own: of all leaves, and of the one that lies deepest."""
    data = RNG.uniform(0.9, 1.1, (20, 16)).astype(np.float32)

    def program(lib):
        factors, grad = [lib.tensor(row, requires_grad=True) for row in data], grad_of(lib)

        def run():
            product = factors[0]
            for factor in factors[1:]:
                product = product * factor
            return grad(product.sum(), factors if which == "all" else factors[:1])[0]

        return run

    compare(f"19 mul + sum of 16 elements, gradient of {which} of 20 leaves", both(program), budget=0.6)


def test_gradient_of_an_operand(compare):
    """The gradient of a product with respect to one of its two leaves: what ``grad`` itself costs."""

    def program(lib):
        x, y, weight = (lib.ones(16, requires_grad=wanted) for wanted in (True, True, False))
        grad = grad_of(lib)
        return lambda: grad(x * y, [x], weight)[0]

    compare("mul of 16 elements, gradient of one operand", both(program), budget=0.7)


def life_of_a_chain(lib, nodes):
    """Seconds to build a chain of ``nodes`` products, to run it backward, and to destroy one that never ran."""
    x, factor = lib.ones(4, requires_grad=True), lib.ones(4)

    def build():
        y = x
        for _ in range(nodes):
            y = y * factor
        return y.sum()

    start = perf_counter()
    root = build()
    built = perf_counter()
    root.backward()
    done = perf_counter()
    del root
    x.grad = None
    root = build()
    last = perf_counter()
    del root
    return {"build": built - start, "backward": done - built, "destruction": perf_counter() - last}


def stages_of(runs, rounds):
    """Two runs for ``rounds`` rounds, and one to warm up, in alternating order: ``samples[stage][run][round]``."""
    samples = {}
    for number in range(rounds + 1):
        for name in sorted(runs, reverse=number % 2 == 0):
            for stage, seconds in runs[name]().items():
                if number:
                    samples.setdefault(stage, {}).setdefault(name, []).append(seconds)
    return samples


@pytest.mark.parametrize("nodes", [1_000, 10_000, 100_000, 1_000_000])
def test_deep_chain(summarise, settings, nodes):
    """Building, walking and freeing a graph of any depth, against torch."""
    if nodes > settings.deepest:
        pytest.skip("a quick run builds smaller graphs")
    rounds = max(3, min(settings.rounds, settings.deepest // nodes))
    runs = {name: lambda lib=lib: life_of_a_chain(lib, nodes) for name, lib in BOTH.items()}
    for stage, samples in stages_of(runs, rounds).items():
        summarise(f"chain of {nodes:,} nodes: {stage}", samples, 0.6)
    gc.collect()


def test_deep_chain_is_linear(summarise, settings):
    """A node of a deep graph costs what one of a graph a hundred times smaller does, give or take the caches.

    A step that is quadratic in the graph would show as 100; torch, whose every step is linear, measures up to 4, since
    freeing a graph that fills the caches costs a miss or two a node.
    """
    shallow = settings.deepest // 100

    def seconds_per_node(nodes):
        return {stage: seconds / nodes for stage, seconds in life_of_a_chain(nbgrad, nodes).items()}

    def after_settling():
        for _ in range(5):  # the allocator is still sorting what the deep graph freed
            life_of_a_chain(nbgrad, shallow)
        return seconds_per_node(shallow)

    runs = {"nbgrad": lambda: seconds_per_node(settings.deepest), "shallow": after_settling}
    for stage, samples in stages_of(runs, 3).items():
        summarise(f"{stage} per node, {settings.deepest:,} against {shallow:,} nodes", samples, 5.0, "shallow")
