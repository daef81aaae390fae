"""Compiled programs, values and gradients, beside the same program compiled by JAX, eager, and of torch."""

from __future__ import annotations

import numpy as np
import torch

import nbgrad
from benchmarks.peers import grad_of, jax
from benchmarks.test_training import IMAGES, LABELS, WEIGHTS, network

RNG = np.random.default_rng(1)
whole = jax()
jnp = whole.numpy


def compiled(function, *arguments):
    """Candidates of nbgrad: the compiled function, and the function as it is."""
    call = nbgrad.compile(function, fullgraph=True)
    call(*arguments)
    return {"nbgrad": lambda: call(*arguments), "nbgrad, eager": lambda: function(*arguments)}


def leaves(lib, *arrays):
    """Tensors that require grad."""
    return [lib.tensor(array, requires_grad=True) for array in arrays]


def in_jax(function, *arrays, wanted=0):
    """Value and gradients compiled by JAX; a call waits for its answer."""
    call = whole.jit(whole.value_and_grad(function, argnums=wanted))
    given = [jnp.asarray(array) for array in arrays]
    return lambda: whole.block_until_ready(call(*given))


def with_gradients(value, *inputs):
    """A program of nbgrad: value and gradients."""
    return (value, *nbgrad.grad(value, inputs))


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


def row(compare, name, program, arrays, wanted, budget, jax_program=None):
    """One program of arrays in nbgrad, JAX and torch."""
    ours = [nbgrad.tensor(array, requires_grad=k in wanted) for k, array in enumerate(arrays)]
    theirs = [torch.tensor(array, requires_grad=k in wanted) for k, array in enumerate(arrays)]

    def value_and_gradients(*xs):
        return with_gradients(program(nbgrad, *xs), *[xs[k] for k in wanted])

    call = in_jax(jax_program or (lambda *xs: program(jnp, *xs)), *arrays, wanted=tuple(wanted))
    candidates = compiled(value_and_gradients, *ours)
    candidates |= {"jax jit": lambda: flat(call()), "torch": eager_in_torch(lambda *xs: program(torch, *xs), *theirs)}
    compare(name, candidates, budget=budget, peer="jax jit", tolerance=1e-3)


def chain(lib, x, c):
    """20 products."""
    y = x
    for _ in range(20):
        y = y * c
    return y.sum()


def test_chain(compare):
    """Launches, and next to no arithmetic."""
    arrays = np.full(16, 1.01, np.float32), np.full(16, 0.99, np.float32)
    row(compare, "compiled: 20 mul + sum of 16 elements, value and gradient", chain, arrays, [0], 0.15)


def perceptron(lib, w1, w2, x, y):
    """Two layers."""
    return ((lib.tanh(x @ w1) @ w2 - y) ** 2).mean()


def test_mlp(compare):
    """Small products."""
    arrays = [(RNG.normal(size=shape) * 0.3).astype(np.float32) for shape in ((8, 16), (16, 1), (64, 8), (64, 1))]
    row(compare, "compiled: MLP 64x8-16-1, value and gradients", perceptron, arrays, [0, 1], 0.1)


def test_fused(compare):
    """One pass over memory."""

    def program(lib, x):
        return (lib.tanh(2 * x + 1) * lib.exp(-x * x)).sum()

    arrays = [np.linspace(-2, 2, 1_000_000, dtype=np.float32)]
    row(compare, "compiled: sum(tanh(2x+1) exp(-x^2)), 1M float32, value and gradient", program, arrays, [0], 0.5)


def test_cross_entropy(compare):
    """Rows."""
    scores = RNG.normal(size=(256, 1000)).astype(np.float32)
    targets = RNG.integers(0, 1000, 256)
    own, other = nbgrad.tensor(targets), torch.tensor(targets)

    def program(lib, x):
        if lib is jnp:
            return -jnp.take_along_axis(whole.nn.log_softmax(x), targets[:, None], 1).mean()
        return lib.nn.functional.cross_entropy(x, own if lib is nbgrad else other)

    row(compare, "compiled: softmax cross entropy 256x1000, value and gradient", program, [scores], [0], 0.5)


def test_layer_norm(compare):
    """Means and variances of rows, written out."""

    def program(lib, x, w, b):
        centred = x - x.mean(1, **{"keepdims" if lib is jnp else "keepdim": True})
        scale = (centred * centred).mean(1, **{"keepdims" if lib is jnp else "keepdim": True}) + 1e-5
        y = centred / lib.sqrt(scale) * w + b
        return (y * y).sum()

    arrays = [RNG.normal(size=shape).astype(np.float32) for shape in ((512, 256), (256,), (256,))]
    row(compare, "compiled: layer norm 512x256, value and gradients", program, arrays, [0, 1, 2], 0.4)


def test_hessian_vector_product(compare):
    """A gradient of a gradient."""
    a, w, v = RNG.normal(size=(200, 10)), RNG.normal(size=10) * 0.1, RNG.normal(size=10)
    points = nbgrad.tensor(a)

    def product(w, v):
        (slope,) = nbgrad.grad((1 + (-(points @ w)).exp()).log().sum(), [w], create_graph=True)
        return nbgrad.grad((slope * v).sum(), [w])[0]

    def loss(w):
        return jnp.log(1 + jnp.exp(-(a @ w))).sum()

    call = whole.jit(lambda w, v: whole.grad(lambda w: jnp.vdot(whole.grad(loss)(w), v))(w))
    given = jnp.asarray(w), jnp.asarray(v)
    candidates = compiled(product, nbgrad.tensor(w, requires_grad=True), nbgrad.tensor(v))
    candidates |= {"jax jit": lambda: whole.block_until_ready(call(*given))}
    compare("compiled: logistic Hessian-vector product 200x10", candidates, budget=0.4, peer="jax jit")


RATES, START = (1.1, 0.4, 0.4, 0.1), (10.0, 5.0)


def euler_step(state, rates, dt=0.05):
    """Prey and predators after a step."""
    a, b, c, d = rates
    prey, predators = state
    meals = prey * predators
    return prey + dt * (a * prey - b * meals), predators + dt * (d * meals - c * predators)


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


def test_scan(compare):
    """A loop of numbers, of 100 trips, and the same unrolled."""
    tensors = [*leaves(nbgrad, *RATES), *map(nbgrad.tensor, START)]

    def scanned(*xs):
        (prey, _), _ = nbgrad.scan(lambda state, _: (euler_step(state, xs[:4]), None), xs[4:], length=100)
        return with_gradients(prey, *xs[:4])

    def unrolled(*xs):
        state = xs[4:]
        for _ in range(100):
            state = euler_step(state, xs[:4])
        return with_gradients(state[0], *xs[:4])

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


def training(lib, run):
    """A step of a small perceptron with Adam."""
    arrays = [(RNG.normal(size=shape) * 0.3).astype(np.float32) for shape in ((64, 8), (64, 1))]
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(8, 16), lib.nn.Tanh(), lib.nn.Linear(16, 1))
    optimizer = lib.optim.Adam(model.parameters(), lr=1e-3)
    x, y = map(lib.tensor, arrays)

    def step(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    call = run(step)
    for _ in range(3):
        call(x, y)
    return lambda: call(x, y)


def test_training_step(compare):
    """A whole step, with its optimizer, as one program."""
    candidates = {"nbgrad": training(nbgrad, lambda step: nbgrad.compile(step, fullgraph=True))}
    candidates |= {"nbgrad, eager": training(nbgrad, lambda step: step), "torch": training(torch, lambda step: step)}
    compare("compiled: MLP 64x8-16-1, training step with Adam", candidates, budget=0.03, tolerance=None)


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
    """Building and walking a graph of 1,000 nodes; building alone."""
    build = live(nbgrad, 1000, hooked)
    if not compile_it:
        return lambda: build().backward()
    context = nbgrad.jit.compiled_autograd()

    def run():
        y = build()
        with context:
            y.backward()

    return run


def test_compiled_autograd(compare):
    """Passes that are alike: building the graph is in both numbers."""
    candidates = {"nbgrad": passes(0, True), "nbgrad, engine": passes(0, False)}
    compare("compiled autograd: 1,000 nodes, built and passed", candidates, budget={"nbgrad, engine": 0.75}, tolerance=None)
