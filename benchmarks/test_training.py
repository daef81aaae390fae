"""Training: a whole step with its optimizer, and the memory of a loop that runs for long."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.peers import both, child, jax

RNG = np.random.default_rng(0)
WIDTHS = (64, 128, 128, 10)
SHAPES = list(pairwise(WIDTHS))
WEIGHTS = [RNG.normal(size=(n_out, n_in)).astype(np.float32) / n_in**0.5 for n_in, n_out in SHAPES]
IMAGES, LABELS = RNG.normal(size=(128, 64)).astype(np.float32), RNG.integers(0, 10, 128)
RATE = 1e-3


def network(lib):
    """The perceptron with the shared initial weights and zero biases."""
    layers = [lib.nn.Linear(n_in, n_out) for n_in, n_out in SHAPES]
    with lib.no_grad():
        for layer, weight in zip(layers, WEIGHTS, strict=True):
            layer.weight.copy_(lib.tensor(weight))
            layer.bias.zero_()
    return lib.nn.Sequential(layers[0], lib.nn.ReLU(), layers[1], lib.nn.ReLU(), layers[2])


def step_of(lib, optimizer, **options):
    """A training step as every tutorial writes it."""
    model, loss_of = network(lib), lib.nn.CrossEntropyLoss()
    update = getattr(lib.optim, optimizer)(model.parameters(), lr=RATE, **options)
    images, labels = lib.tensor(IMAGES), lib.tensor(LABELS)

    def run():
        update.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        update.step()
        return loss

    return run


def step_in_jax():
    """The SGD step as one function compiled by JAX."""
    whole = jax()
    jnp = whole.numpy

    def loss(parameters):
        h = IMAGES
        for weight, bias in parameters[:-1]:
            h = whole.nn.relu(h @ weight.T + bias)
        weight, bias = parameters[-1]
        scores = whole.nn.log_softmax(h @ weight.T + bias)
        return -jnp.take_along_axis(scores, LABELS[:, None], 1).mean()

    @whole.jit
    def step(parameters):
        value, gradients = whole.value_and_grad(loss)(parameters)
        return value, whole.tree.map(lambda p, g: p - RATE * g, parameters, gradients)

    state = [[(jnp.asarray(weight), jnp.zeros(len(weight), jnp.float32)) for weight in WEIGHTS]]

    def run():
        value, state[0] = step(state[0])
        return whole.block_until_ready(value)

    return run


def test_step_with_sgd(compare):
    """Forward, backward and update of a perceptron at batch 128."""
    candidates = both(step_of, "SGD") | {"jax jit": step_in_jax()}
    compare("MLP training step, batch 128, 64-128-128-10, SGD", candidates, budget=0.6)


def steps_of(lib, method):
    """Steps of an optimizer over 50 small tensors, whose gradients stay."""
    params = [lib.ones(8, 8).requires_grad_() for _ in range(50)]
    for p in params:
        p.grad = lib.full((8, 8), 0.5)
    update = getattr(lib.optim, method)(params, lr=RATE)
    return update.step


@pytest.mark.parametrize(("method", "budget"), [("Adam", 0.3), ("Adafactor", None)])
def test_steps_over_many_small_tensors(compare, method, budget):
    """What an optimizer costs beside the arithmetic."""
    compare(f"{method}, 50 tensors of 8x8, one step", both(steps_of, method), budget=budget, tolerance=None)


def valley_of(lib):
    """A step of LBFGS, of 20 directions, from the same place in the valley."""
    start = lib.tensor([-1.2, 1.0])
    x = start.clone().requires_grad_()

    def run():
        with lib.no_grad():
            x.copy_(start)
        optimizer = lib.optim.LBFGS([x], line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
            loss.backward()
            return loss

        return optimizer.step(closure)

    return run


def test_step_of_lbfgs(compare):
    """A search in Rosenbrock's valley: passes over tiny tensors, and numbers that Python reads."""
    compare("LBFGS with a line search, Rosenbrock's function of 2, one step", both(valley_of), budget=0.3)


@pytest.mark.parametrize("optimizer", ["SGD with momentum", "Adam"])
def test_step_with_other_optimizers(compare, optimizer):
    """The same with an optimizer that keeps state."""
    options = {"momentum": 0.9} if "momentum" in optimizer else {}
    programs = both(lambda lib: step_of(lib, optimizer.partition(" ")[0], **options))
    compare(f"MLP training step, batch 128, 64-128-128-10, {optimizer}", programs)


# Run in a child: its memory is nobody else's. The first tenth of the loop warms caches and pools up. Tracing slows a
# step several times, so the traced loop is a tenth as long.
LOOP = """
import gc, importlib, json, os, tracemalloc
lib = importlib.import_module(LIBRARY)
lib.set_num_threads(1)
x, y = lib.randn(32, 16), lib.randn(32, 1)
model = lib.nn.Sequential(lib.nn.Linear(16, 32), lib.nn.Tanh(), lib.nn.Linear(32, 1))
update = lib.optim.SGD(model.parameters(), lr=1e-3)

def train(steps):
    for _ in range(steps):
        update.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        update.step()

def resident():
    gc.collect()
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def traced():
    gc.collect()
    return tracemalloc.get_traced_memory()[0]

train(STEPS // 10)
before = resident()
train(STEPS)
grown = resident() - before
tracemalloc.start()
train(STEPS // 100)
before = traced()
train(STEPS // 10)
print(json.dumps({"resident": grown, "traced": traced() - before}))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc")
def test_memory_of_a_long_loop(summarise, settings):
    """Resident memory and Python's allocations stay where they were: what a step makes, it gives back."""
    growth = {
        name: child(LOOP.replace("LIBRARY", repr(name)).replace("STEPS", str(settings.steps))) for name in ("nbgrad", "torch")
    }
    # A leak of one 16-byte object a step is 320 kB over the loop; allocators round their arenas up to more than that.
    for kind, steps, limit in (("resident", settings.steps, 1e6), ("traced", settings.steps // 10, 16e3)):
        samples = {name: [float(grown[kind])] for name, grown in growth.items()}
        summarise(f"growth of {kind} memory over {steps:,} training steps", samples, limit=limit, unit="B")
