"""What it takes to compile a program: every sample is a fresh interpreter, with nothing on the disk, or all that is needed."""

from __future__ import annotations

import tempfile
from time import perf_counter

import pytest

import nbgrad
from benchmarks.graph_programs import LOOPS, PROGRAMS, SGD
from benchmarks.harness import SelfMeasured
from benchmarks.peers import child
from nbgrad.jit.loops.checkpoints import policy_of
from nbgrad.jit.loops.stretches import Ahead, depth_of, stretches

FIRST_CALL = """
import json, sys
from time import perf_counter
import nbgrad
from benchmarks.graph_programs import made
function, arguments = made({name!r}, nbgrad)
call = nbgrad.compile(function, fullgraph=True)
before = nbgrad.cache.info().compiled
start = perf_counter()
while not call.variants:  # with Adam the first call makes the optimizer's state, as it is
    call(*arguments)
seconds, objects = perf_counter() - start, nbgrad.cache.info().compiled - before
{then}
"""
FACTS = """
(variant,) = call.explain().variants
programs = [variant, *variant.backward]
print(json.dumps([seconds, objects, sum(len(each.steps) for each in programs), sum(each.arena_bytes for each in programs)]))
"""
NEW_SIZE = """
arguments = [x if x.ndim < 2 else x[:32] for x in arguments]
start = perf_counter()
call(*arguments)
print(json.dumps([perf_counter() - start, nbgrad.cache.info().compiled - before - objects]))
"""
MODULES = "print(sum(name.partition('.')[0] == 'numba' for name in sys.modules))"
JAX = """
from time import perf_counter
import jax, jax.numpy as jnp, numpy as np
draws = np.random.default_rng(0)
sizes = (8, 16), (16,), (16, 1), (1,), (64, 8), (64, 1)
w1, b1, w2, b2, x, y = (jnp.asarray(draws.normal(size=size).astype(np.float32)) for size in sizes)

def loss(weights, x, y):
    w1, b1, w2, b2 = weights
    return ((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2).mean()

@jax.jit
def step(weights, x, y):
    value, gradients = jax.value_and_grad(loss)(weights, x, y)
    return value, [w - 1e-3 * g for w, g in zip(weights, gradients)]

weights = [w1, b1, w2, b2]
start = perf_counter()
jax.block_until_ready(step(weights, x, y))
print(perf_counter() - start)
"""


@pytest.fixture
def rounds(settings):
    """Processes to start for each candidate."""
    return 1 if settings.quick else 5


def first_call(name, then, folder):
    """What a new process says of its first call."""
    return child(FIRST_CALL.format(name=name, then=then), NBGRAD_CACHE_DIR=folder)


@pytest.mark.parametrize("name", [*PROGRAMS, *LOOPS])
def test_first_call(summarise, rounds, name):
    """The first call with the objects on disk; beside it what it takes without, and what the program is."""
    cold, warm = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            seconds, objects, steps, arena = first_call(name, FACTS, folder)
            cold.append(seconds)
            warm.append(first_call(name, FACTS, folder)[0])
    cold.sort()
    note = f"with nothing on disk {1e3 * cold[len(cold) // 2]:.0f} ms and {objects} objects; {steps} steps, arena {arena:,} bytes"
    summarise(f"first call of compiled {name}", {"nbgrad": warm}, limit=0.02 if name == SGD else None, note=note)


def test_first_call_with_nothing_on_disk(compare, rounds):
    """A training step, beside JAX's compiler."""

    def cold():
        with tempfile.TemporaryDirectory() as folder:
            return first_call(SGD, FACTS, folder)[0]

    candidates = {"nbgrad": SelfMeasured(cold), "jax jit": SelfMeasured(lambda: child(JAX))}
    compare("first call of a compiled training step, nothing on disk", candidates, 0.5, "jax jit", inner=1, rounds=rounds)


def test_compiling_needs_no_numba(summarise):
    """With nothing on disk either."""
    with tempfile.TemporaryDirectory() as folder:
        found = child(FIRST_CALL.format(name=SGD, then=MODULES), NBGRAD_CACHE_DIR=folder)
    summarise("Numba modules loaded by a compiled training step, nothing on disk", {"nbgrad": [found]}, limit=0, unit="modules")


def test_another_batch_size(summarise, rounds):
    """A call with another number of rows: the program is captured again, and no object is made."""
    with tempfile.TemporaryDirectory() as folder:
        samples = [first_call(SGD, NEW_SIZE, folder) for _ in range(rounds + 1)][1:]
    summarise("compiled training step, another batch size", {"nbgrad": [seconds for seconds, _ in samples]}, limit=3e-3)
    objects = [float(count) for _, count in samples]
    summarise("objects made for another batch size", {"nbgrad": objects}, limit=0, unit="objects")


@pytest.mark.parametrize("count, limit", [(1000, None), (2000, None), (4000, 1.0)])
def test_unrolled_loops(summarise, rounds, count, limit):
    """A Python loop of so many calls, captured and compiled."""

    def program(x, c):
        for _ in range(count):
            x = x * c
        return x.sum()

    samples = []
    for _ in range(rounds):
        x, c = nbgrad.full((16,), 1.01), nbgrad.full((16,), 0.99)
        call = nbgrad.compile(program, fullgraph=True)
        start = perf_counter()
        call(x, c)
        samples.append(perf_counter() - start)
    summarise(f"first call of {count:,} unrolled calls", {"nbgrad": samples}, limit=limit)


TRIPS, ELEMENTS = 10_000, 16


@pytest.mark.parametrize("checkpoint, most", [("all", TRIPS), ("sqrt", 200), (("binomial", 20), 41)])
def test_memory_of_scans(summarise, checkpoint, most):
    """Bytes of carries that a long loop keeps for its way back, those that are computed again counted; what is run again."""
    x = nbgrad.full((ELEMENTS,), 1.01, requires_grad=True)
    y, _ = nbgrad.scan(lambda c, _: (c.sin(), None), x, length=TRIPS, checkpoint=checkpoint)
    carry = x.numel() * x.element_size()
    held = sum(saved.numel() * saved.element_size() for saved in y.grad_fn.saved_tensors) - carry
    policy, again = policy_of(checkpoint, TRIPS, ()), 0
    if policy is not None:
        found = list(stretches(policy, TRIPS, tuple(policy.stops(0, TRIPS, None))))
        held += carry * depth_of(found)
        again = sum(each.trips for each in found if isinstance(each, Ahead))
    name = checkpoint if isinstance(checkpoint, str) else f"{checkpoint[1]} slots"
    note = f"{again:,} of {TRIPS:,} trips again; a carry has {carry} bytes"
    summarise(f"carries kept by a scan of {TRIPS:,} trips, {name}", {"nbgrad": [held]}, limit=most * carry, unit="bytes", note=note)
