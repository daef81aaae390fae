"""Compiled programs, values and gradients, beside the same program compiled by JAX, eager, and of torch."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from time import perf_counter

import numpy as np
import pytest
import torch

import nbgrad
from benchmarks.graph_programs import ADAM, HVP, PROGRAMS, RATES, START, euler_step, made, training
from benchmarks.harness import SelfMeasured
from benchmarks.peers import grad_of, jax
from benchmarks.test_training import IMAGES, LABELS, WEIGHTS, network

whole = jax()
jnp = whole.numpy


def compiled(function, *arguments):
    """Candidates of nbgrad: the compiled function, and the function as it is."""
    call = nbgrad.compile(function, fullgraph=True)
    call(*arguments)
    return {"nbgrad": lambda: call(*arguments), "nbgrad, eager": lambda: function(*arguments)}


def in_jax(function, *arrays, wanted=0):
    """Value and gradients compiled by JAX; a call waits for its answer."""
    call = whole.jit(whole.value_and_grad(function, argnums=wanted))
    given = [jnp.asarray(array) for array in arrays]
    return lambda: whole.block_until_ready(call(*given))


def flat(answer):
    """Value and gradients of JAX as a row."""
    value, gradients = answer
    return [value, *(gradients if isinstance(gradients, (tuple, list)) else [gradients])]


def eager_in_torch(program, *tensors):
    """Value and gradients of torch."""

    def run():
        value = program(*tensors)
        return (value, *torch.autograd.grad(value, [x for x in tensors if x.requires_grad]))

    return run


def row(compare, name, budget, jax_function=None, kind="value and gradients"):
    """One program of arrays in nbgrad, JAX and torch."""
    program = PROGRAMS[name]
    theirs = [torch.tensor(array, requires_grad=k in program.wanted) for k, array in enumerate(program.arrays)]
    call = in_jax(jax_function or partial(program.function, jnp), *program.arrays, wanted=program.wanted)
    function, arguments = program.compiled(nbgrad)
    candidates = compiled(function, *arguments)
    candidates |= {"jax jit": lambda: flat(call()), "torch": eager_in_torch(partial(program.function, torch), *theirs)}
    compare(f"compiled: {name}, {kind}", candidates, budget=budget, peer="jax jit", tolerance=1e-3)


def test_chain(compare):
    """Launches, and next to no arithmetic."""
    row(compare, "20 mul + sum of 16 elements", 0.15, kind="value and gradient")


def test_mlp(compare):
    """Small products."""
    row(compare, "MLP 64x8-16-1", 0.1)


def test_fused(compare):
    """One pass over memory."""
    row(compare, "sum(tanh(2x+1) exp(-x^2)), 1M float32", 0.5, kind="value and gradient")


def test_cross_entropy(compare):
    """Rows."""

    def program(x, targets):
        return -jnp.take_along_axis(whole.nn.log_softmax(x), targets[:, None], 1).mean()

    row(compare, "softmax cross entropy 256x1000", 0.5, program, kind="value and gradient")


def test_layer_norm(compare):
    """Means and variances of rows, written out."""
    row(compare, "layer norm 512x256", 0.4)


def test_hessian_vector_product(compare):
    """A gradient of a gradient."""
    a, w, v = HVP

    def loss(w):
        return jnp.log(1 + jnp.exp(-(a @ w))).sum()

    call = whole.jit(lambda w, v: whole.grad(lambda w: jnp.vdot(whole.grad(loss)(w), v))(w))
    given = jnp.asarray(w), jnp.asarray(v)
    function, arguments = made("logistic Hessian-vector product 200x10", nbgrad)
    candidates = compiled(function, *arguments) | {"jax jit": lambda: whole.block_until_ready(call(*given))}
    compare("compiled: logistic Hessian-vector product 200x10", candidates, budget=0.4, peer="jax jit")


def by_hand():
    """The value and its gradient as one writes them for Numba."""
    import numba

    @numba.njit
    def run(rates, x, y, n):
        xs, ys, dt = np.empty(n, np.float32), np.empty(n, np.float32), np.float32(0.05)
        for k in range(n):
            xs[k], ys[k] = x, y
            meals = x * y
            x, y = x + dt * (rates[0] * x - rates[1] * meals), y + dt * (rates[3] * meals - rates[2] * y)
        g, gx, gy = np.zeros(4, np.float32), np.float32(1), np.float32(0)
        for k in range(n - 1, -1, -1):
            meals, px, py = xs[k] * ys[k], gx * dt, gy * dt
            g[0] += px * xs[k]
            g[1] -= px * meals
            g[2] -= py * ys[k]
            g[3] += py * meals
            pm = py * rates[3] - px * rates[1]
            gx, gy = gx + px * rates[0] + pm * ys[k], gy - py * rates[2] + pm * xs[k]
        return x, g[0], g[1], g[2], g[3]

    rates, start = np.array(RATES, np.float32), [np.float32(x) for x in START]
    return lambda: run(rates, *start, 100)


def test_variants_in_turn(compare):
    """A module that is called with and without history in turn, in batches of two sizes: calls of four variants."""

    def blocks(module):
        parts = [[module.nn.LayerNorm(32), module.nn.Linear(32, 32), module.nn.SiLU()] for _ in range(4)]
        return module.nn.Sequential(*sum(parts, []))

    def steps(module, called):
        large, small = (module.ones(n, 32) / 2 for n in (16, 8))

        def run():
            sums = [called(large).sum(), called(small).sum()]
            with module.no_grad():
                return [*sums, called(large).sum(), called(small).sum()]

        for _ in range(3):
            run()
        return run

    theirs, model = blocks(torch), blocks(nbgrad)
    model.load_state_dict({name: nbgrad.tensor(x.numpy()) for name, x in theirs.state_dict().items()})
    candidates = {"nbgrad": steps(nbgrad, nbgrad.compile(model)), "nbgrad, eager": steps(nbgrad, model)}
    candidates["torch"] = steps(torch, theirs)
    name = "compiled: 4 layers, two batch sizes, with and without history in turn"
    compare(name, candidates, budget=0.3, peer="torch", tolerance=1e-3)


def test_scan(compare):
    """A loop of numbers, of 100 trips, and the same unrolled."""
    (scanned, tensors), (unrolled, _) = (made(f"Lotka-Volterra, 100 steps {how}", nbgrad) for how in ("by scan", "unrolled"))

    def in_scan(rates, *start):
        return whole.lax.scan(lambda state, _: (euler_step(state, rates), None), start, None, length=100)[0][0]

    call = whole.jit(whole.value_and_grad(in_scan))
    rates, start = tuple(map(jnp.float32, RATES)), tuple(map(jnp.float32, START))
    other = compiled(unrolled, *tensors)["nbgrad"]
    candidates = compiled(scanned, *tensors) | {"unrolled": other, "by hand for Numba": by_hand()}
    candidates |= {"jax jit": lambda: flat(whole.block_until_ready(call(rates, *start)))}
    budget = {"jax jit": 0.08, "by hand for Numba": 1.3}
    compare("compiled: Lotka-Volterra, 100 steps by scan, value and gradient", candidates, budget=budget, tolerance=1e-3)


def test_call(compare):
    """A call, and next to nothing in it."""
    x, y = nbgrad.tensor(1.0), torch.tensor(1.0)
    candidates = compiled(lambda x: x + 1, x) | {"torch": lambda: y + 1}
    compare("compiled: x + 1 without dimensions", candidates, budget={"nbgrad, eager": 1.2}, limit=4e-7)


def stepping(lib, run):
    """Training steps of a small perceptron with Adam."""
    step, arguments = training(lib)
    call = run(step)
    for _ in range(3):
        call(*arguments)
    return lambda: call(*arguments)


def test_training_step(compare):
    """A whole step, with its optimizer, as one program."""
    candidates = {"nbgrad": stepping(nbgrad, lambda step: nbgrad.compile(step, fullgraph=True))}
    candidates |= {"nbgrad, eager": stepping(nbgrad, lambda step: step), "torch": stepping(torch, lambda step: step)}
    compare(f"compiled: {ADAM}", candidates, budget=0.03, tolerance=None)


def test_larger_model(compare):
    """Products of matrices, of which both libraries' are BLAS."""

    def program(lib, run):
        model, loss_of = network(lib), lib.nn.CrossEntropyLoss()
        images, labels, parameters = lib.tensor(IMAGES), lib.tensor(LABELS), list(model.parameters())

        def step(images):
            loss = loss_of(model(images), labels)
            return (loss, *grad_of(lib)(loss, parameters))

        call = run(step)
        call(images)
        return lambda: call(images)

    def loss(parameters):
        h = IMAGES
        for weight, bias in parameters[:-1]:
            h = whole.nn.relu(h @ weight.T + bias)
        weight, bias = parameters[-1]
        return -jnp.take_along_axis(whole.nn.log_softmax(h @ weight.T + bias), LABELS[:, None], 1).mean()

    state = [(jnp.asarray(weight), jnp.zeros(len(weight), jnp.float32)) for weight in WEIGHTS]
    call = whole.jit(whole.value_and_grad(loss))

    def jitted():
        value, gradients = whole.block_until_ready(call(state))
        return [value, *(each for pair in gradients for each in pair)]

    candidates = {"nbgrad": program(nbgrad, lambda step: nbgrad.compile(step, fullgraph=True))}
    candidates |= {
        "nbgrad, eager": program(nbgrad, lambda step: step),
        "torch": program(torch, lambda step: step),
        "jax jit": jitted,
    }
    compare(
        "compiled: MLP 64-128-128-10, batch 128, cross entropy, value and gradients",
        candidates,
        budget=0.5,
        peer="jax jit",
        tolerance=1e-3,
    )


def live(lib, count, hooked=0):
    """Backward of a chain that is built anew for every pass."""
    w = lib.tensor(np.full(16, 0.999, np.float32), requires_grad=True)

    def build():
        y = w
        for k in range(count):
            y = y * w
            if hooked and k % hooked == 0:
                y.register_hook(lambda g: g * 0.5)
        return y.sum()

    return build


def passes(hooked, compile_it):
    """What a pass through a graph of 1,000 nodes takes, that was built for it."""
    build = live(nbgrad, 1000, hooked)
    context = nbgrad.jit.compiled_autograd() if compile_it else nullcontext()

    def run():
        y = build()
        with context:
            start = perf_counter()
            y.backward()
            return perf_counter() - start

    return SelfMeasured(run)


@pytest.mark.parametrize("hooked, budget", [(0, 0.5), (10, 0.33)])
def test_compiled_autograd(compare, hooked, budget):
    """Passes that are alike, without hooks and with one on every tenth node."""
    candidates = {"nbgrad": passes(hooked, True), "nbgrad, engine": passes(hooked, False)}
    name = f"compiled autograd: pass through 1,000 nodes{', a hook on every tenth' if hooked else ''}"
    compare(name, candidates, budget={"nbgrad, engine": budget}, tolerance=None)
