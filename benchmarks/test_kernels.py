"""What a kernel costs when the arrays are large: arithmetic, memory traffic, libraries called, threads."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from benchmarks.peers import both, child, gradient_in_jax, jax

RNG = np.random.default_rng(0)
MILLION = 1_000_000
SQUARE = RNG.normal(size=(1000, 1000)).astype(np.float32)


def jitted(function, *arrays):
    """``function(jax.numpy, *arrays)`` compiled by JAX, waiting for its answer."""
    whole = jax()
    compiled = whole.jit(lambda *a: function(whole.numpy, *a))
    placed = [whole.numpy.asarray(array) for array in arrays]
    return lambda: whole.block_until_ready(compiled(*placed))


def bumps(lib, x):
    """The function that the fused kernels are judged by."""
    return ((2 * x + 1).tanh() * (-x * x).exp()).sum()


def bumps_by_hand(x):
    """The same with its gradient as one Numba loop: what a programmer would write who needs just this."""
    import numba

    @numba.njit
    def loop(x, gradient):
        total = 0.0
        for i in range(x.size):
            t, e = math.tanh(2 * x[i] + 1), math.exp(-x[i] * x[i])
            total += t * e
            gradient[i] = 2 * e * (1 - t * t - x[i] * t)
        return total

    def run():
        gradient = np.empty_like(x)
        loop(x, gradient)
        return gradient

    return run


def bumps_in(np_like, gradient, x):
    """The same for a library that differentiates functions."""
    derivative = gradient(lambda x: np_like.sum(np_like.tanh(2 * x + 1) * np_like.exp(-x * x)))
    placed = np_like.asarray(x)
    return lambda: derivative(placed)


def backward_of(total, *arrays):
    """A program: the gradients of ``total(lib, *tensors)`` with respect to all of ``arrays``."""

    def program(lib):
        leaves = [lib.tensor(array, requires_grad=True) for array in arrays]

        def run():
            for leaf in leaves:
                leaf.grad = None
            total(lib, *leaves).backward()
            return tuple(leaf.grad for leaf in leaves)

        return run

    return program


def test_fused_expression(compare):
    """Elementwise work and a sum, there and back, on a million elements, run eagerly."""
    import autograd
    import autograd.numpy as hips

    x = RNG.normal(size=MILLION).astype(np.float32)
    program = backward_of(bumps, x)
    candidates = {name: (lambda run=run: run()[0]) for name, run in both(program).items()} | {
        "jax jit": bumps_in(jax().numpy, gradient_in_jax, x),
        "autograd": bumps_in(hips, autograd.grad, x),
        "numba by hand": bumps_by_hand(x),
    }
    compare("sum(tanh(2x+1) exp(-x^2)), 1M float32, forward and backward", candidates, budget=0.35)


def function_of(name):
    """``name`` in NumPy, or in SciPy where NumPy lacks it, and that library's name."""
    import scipy.special

    if hasattr(np, name):
        return "numpy", getattr(np, name)
    return "scipy", getattr(scipy.special, {"sigmoid": "expit"}.get(name, name))


BUDGETS = {name: {"torch": 0.4, "numpy": 1.0} for name in ("exp", "tanh", "log", "sin", "cos")}
BUDGETS |= {"erf": {"torch": 0.6}, "sigmoid": {"torch": 0.9}}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [100_000, MILLION])
@pytest.mark.parametrize("name", BUDGETS)
def test_function(compare, name, size, dtype):
    """One function of one array, into a new array."""
    x = RNG.normal(size=size).astype(dtype)
    values = np.abs(x) + x.dtype.type(0.01) if name == "log" else x
    library, function = function_of(name)

    def program(lib):
        tensor, apply = lib.tensor(values), getattr(lib, name)
        return lambda: apply(tensor)

    in_jax = {"erf": lambda jnp, x: jax().scipy.special.erf(x), "sigmoid": lambda jnp, x: jax().nn.sigmoid(x)}
    candidates = both(program) | {
        library: lambda: function(values),
        "jax jit": jitted(in_jax.get(name, lambda jnp, x: getattr(jnp, name)(x)), values),
    }
    compare(f"{name} {size:,} {dtype}", candidates, budget=BUDGETS[name], tolerance=1e-5)


@pytest.mark.parametrize("name", ["exp", "tanh"])
def test_function_into_given_output(compare, name):
    """The same kernels without the allocation of a result."""
    x = RNG.normal(size=100_000).astype(np.float32)
    out = np.empty_like(x)

    def program(lib):
        tensor, result, apply = lib.tensor(x), lib.tensor(x), getattr(lib, name)
        return lambda: apply(tensor, out=result)

    candidates = both(program) | {"numpy": lambda: getattr(np, name)(x, out=out)}
    compare(f"{name} 100,000 float32, out given", candidates, budget={"torch": 0.4, "numpy": 1.0})


TURNED = {
    "copy of a transpose": (lambda x: x.t().contiguous(), lambda np, x: np.ascontiguousarray(x.T)),
    "x + x.t()": (lambda x: x + x.t(), lambda np, x: x + x.T),
}


@pytest.mark.parametrize("size", [1000, 2048])
@pytest.mark.parametrize("name", TURNED)
def test_operand_that_is_turned(compare, name, size):
    """A matrix read by columns; of a power of two they lie in the same places of caches."""
    x = RNG.normal(size=(size, size)).astype(np.float32)
    function, in_numpy = TURNED[name]

    def program(lib):
        tensor = lib.tensor(x)
        return lambda: function(tensor)

    candidates = both(program) | {"numpy": lambda: in_numpy(np, x)}
    compare(f"{name}, {size}x{size} float32", candidates, budget={"torch": 1.0, "numpy": 1.0})


def softmax_with(np_like, x):
    """Softmax along the last dimension, for NumPy and JAX."""
    e = np_like.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def logsumexp_with(np_like, x):
    """Log-sum-exp along the last dimension, for NumPy and JAX."""
    top = x.max(axis=1, keepdims=True)
    return np_like.log(np_like.exp(x - top).sum(axis=1)) + top[:, 0]


LARGE = {
    "mul": (lambda lib, x, y: x * y, lambda xp, x, y: x * y),
    "add": (lambda lib, x, y: x + y, lambda xp, x, y: x + y),
    "mul by a broadcast row": (lambda lib, x, y: x * y[0], lambda xp, x, y: x * y[0]),
    "add a broadcast column": (lambda lib, x, y: x + y[:, :1], lambda xp, x, y: x + y[:, :1]),
    "mul by a transposed operand": (lambda lib, x, y: x * y.transpose(0, 1), lambda xp, x, y: x * y.T),
    "sum": (lambda lib, x, y: x.sum(), lambda xp, x, y: x.sum()),
    "sum of dim 0": (lambda lib, x, y: x.sum(0), lambda xp, x, y: x.sum(axis=0)),
    "sum of dim 1": (lambda lib, x, y: x.sum(1), lambda xp, x, y: x.sum(axis=1)),
    "max": (lambda lib, x, y: x.max(), lambda xp, x, y: x.max()),
    "logsumexp of dim 1": (lambda lib, x, y: lib.logsumexp(x, 1), lambda xp, x, y: logsumexp_with(xp, x)),
    "softmax of dim 1": (lambda lib, x, y: lib.softmax(x, 1), lambda xp, x, y: softmax_with(xp, x)),
}


@pytest.mark.parametrize("name", LARGE)
def test_large(compare, name):
    """Memory-bound work on a 1000x1000 array: contiguous, broadcast, transposed, reduced."""
    ours, theirs = LARGE[name]
    y = np.ascontiguousarray(SQUARE[::-1])

    def program(lib):
        tensors = lib.tensor(SQUARE), lib.tensor(y)
        return lambda: ours(lib, *tensors)

    candidates = both(program) | {"numpy": lambda: theirs(np, SQUARE, y), "jax jit": jitted(theirs, SQUARE, y)}
    compare(f"{name}, 1000x1000 float32", candidates, budget=1.0)


def test_cross_entropy_in_ops(compare):
    """Softmax cross-entropy as a user writes it: one reduction, one gather, one mean."""
    logits = RNG.normal(size=(256, 1000)).astype(np.float32)
    targets = RNG.integers(0, 1000, (256, 1))

    def program(lib):
        index = lib.tensor(targets)

        def loss(lib, x):
            return (lib.logsumexp(x, 1, keepdim=True) - x.gather(1, index)).mean()

        return backward_of(loss, logits)(lib)

    def in_jax(jnp, x):
        def loss(x):
            return (jax().nn.logsumexp(x, 1, keepdims=True) - jnp.take_along_axis(x, targets, 1)).mean()

        return (jax().grad(loss)(x),)

    candidates = both(program) | {"jax jit": jitted(in_jax, logits)}
    compare("softmax cross-entropy 256x1000 in ops, forward and backward", candidates, budget=0.8)


def test_layer_norm_in_ops(compare):
    """Layer normalisation as a user writes it, with weight and bias."""
    x = RNG.normal(size=(512, 256)).astype(np.float32)
    weight, bias, seed = (RNG.normal(size=shape).astype(np.float32) for shape in ((256,), (256,), (512, 256)))

    def program(lib):
        direction = lib.tensor(seed)

        def loss(lib, x, weight, bias):
            centred = x - x.mean(1, keepdim=True)
            variance = (centred * centred).mean(1, keepdim=True)
            return ((centred * (variance + 1e-5).rsqrt() * weight + bias) * direction).sum()

        return backward_of(loss, x, weight, bias)(lib)

    def in_jax(jnp, x, weight, bias):
        def loss(x, weight, bias):
            centred = x - x.mean(1, keepdims=True)
            variance = (centred * centred).mean(1, keepdims=True)
            return ((centred / jnp.sqrt(variance + 1e-5) * weight + bias) * seed).sum()

        return jax().grad(loss, (0, 1, 2))(x, weight, bias)

    candidates = both(program) | {"jax jit": jitted(in_jax, x, weight, bias)}
    compare("layer norm 512x256, forward and backward", candidates, budget=0.8)


@pytest.mark.parametrize("gradients", [False, True], ids=["forward", "with gradients"])
@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
def test_attention(compare, causal, gradients):
    """Attention and its gradients: torch has a kernel for both, whose tiles MKL multiplies."""
    arrays = [RNG.normal(size=(8, 4, 128, 64)).astype(np.float32) for _ in range(3)]
    name = "attention 8x4x128x64" + ", causal" * causal

    def attend(lib, *tensors):
        return lib.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)

    def forward(lib):
        tensors = [lib.tensor(a) for a in arrays]
        return lambda: attend(lib, *tensors)

    if gradients:
        program = backward_of(lambda lib, *tensors: attend(lib, *tensors).sum(), *arrays)
        compare(f"{name}, forward and backward", both(program), budget=0.8)
    else:
        compare(name, both(forward), budget=0.8)


# Images, weights, groups and stride; what the time may be of torch's.
CONVOLUTIONS = {
    "conv2d 32x3x32x32 to 16": ((32, 3, 32, 32), (16, 3, 3, 3), 1, 1, 1.1),
    "conv2d 32x64x16x16 to 64": ((32, 64, 16, 16), (64, 64, 3, 3), 1, 1, 1.1),
    "conv2d 32x16x32x32 to 32, stride 2": ((32, 16, 32, 32), (32, 16, 3, 3), 1, 2, 1.1),
    "conv2d 32x64x16x16 to 64, 8 groups": ((32, 64, 16, 16), (64, 8, 3, 3), 8, 1, 0.8),
    "conv2d 32x64x16x16, depthwise": ((32, 64, 16, 16), (64, 1, 3, 3), 64, 1, 0.8),
    "conv2d 8x96x28x28, depthwise, stride 2": ((8, 96, 28, 28), (96, 1, 3, 3), 96, 2, 0.8),
    "conv2d 8x384x7x7, depthwise": ((8, 384, 7, 7), (384, 1, 3, 3), 384, 1, 0.8),
    "conv2d 4x256x14x14 to 256": ((4, 256, 14, 14), (256, 256, 3, 3), 1, 1, 1.1),
    "conv2d 8x256x8x8 to 256": ((8, 256, 8, 8), (256, 256, 3, 3), 1, 1, 1.1),
    "conv2d 8x64x28x28 to 128, stride 2": ((8, 64, 28, 28), (128, 64, 3, 3), 1, 2, 1.1),
    "conv2d 4x3x112x112 to 64, 7x7, stride 2": ((4, 3, 112, 112), (64, 3, 7, 7), 1, 2, 1.1),
    "conv2d 8x64x28x28 to 256, 1x1": ((8, 64, 28, 28), (256, 64, 1, 1), 1, 1, 1.1),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(compare, name):
    """A convolution with half its kernel for padding, and the cotangents of images, weight and bias."""
    images, weights, groups, stride, budget = CONVOLUTIONS[name]
    x, weight, bias = (RNG.normal(size=shape).astype(np.float32) for shape in (images, weights, weights[:1]))

    def loss(lib, x, weight, bias):
        return lib.nn.functional.conv2d(x, weight, bias, stride, weights[-1] // 2, 1, groups).sum()

    compare(f"{name}, forward and backward", both(backward_of(loss, x, weight, bias)), budget=budget)


POOLS = {
    "max_pool2d": lambda F, x: F.max_pool2d(x, 2),
    "max_pool2d, overlapping": lambda F, x: F.max_pool2d(x, 3, 2, 1),
    "avg_pool2d": lambda F, x: F.avg_pool2d(x, 2),
    "avg_pool2d, overlapping": lambda F, x: F.avg_pool2d(x, 3, 2, 1),
    "adaptive_avg_pool2d": lambda F, x: F.adaptive_avg_pool2d(x, 4),
    "adaptive_avg_pool2d, of several sizes": lambda F, x: F.adaptive_avg_pool2d(x, 5),
    "adaptive_max_pool2d, of several sizes": lambda F, x: F.adaptive_max_pool2d(x, 5),
}


@pytest.mark.parametrize("name", POOLS)
def test_pool(compare, name):
    """A pool of 512 planes of 32 by 32, and its cotangent."""
    x = RNG.normal(size=(32, 16, 32, 32)).astype(np.float32)

    def loss(lib, x):
        return POOLS[name](lib.nn.functional, x).sum()

    compare(f"{name} 32x16x32x32, forward and backward", both(backward_of(loss, x)), budget=0.8)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (8, 32, 56, 56)], ids=str)
def test_grid_sample(compare, mode, shape):
    """Elements between those of images, at places that are drawn, and the cotangents of both."""
    x = RNG.normal(size=shape).astype(np.float32)
    grid = RNG.uniform(-1.1, 1.1, size=(shape[0], *shape[2:], 2)).astype(np.float32)

    def loss(lib, x, grid):
        found = lib.nn.functional.grid_sample(x, grid, mode, align_corners=False)
        return (found * found).sum()

    compare(f"grid_sample {mode} {'x'.join(map(str, shape))}, forward and backward", both(backward_of(loss, x, grid)), budget=1)


@pytest.mark.parametrize("sizes", [(50, 16, 20, 20), (150, 8, 5000, 30)], ids=str)
def test_ctc_loss(compare, sizes):
    """Steps, sequences, classes, and classes of a target."""
    steps, count, classes, length = sizes
    x = RNG.normal(size=(steps, count, classes)).astype(np.float32)
    targets = RNG.integers(1, classes, size=(count, length))

    def loss(lib, x):
        # torch's gradient by the logarithms is right behind log_softmax alone.
        return lib.nn.functional.ctc_loss(x.log_softmax(2), lib.asarray(targets), (steps,) * count, (length,) * count)

    compare(f"ctc_loss {'x'.join(map(str, sizes))}, forward and backward", both(backward_of(loss, x)), budget=0.8, tolerance=1e-3)


# A norm of rows or channels, and the shapes of its operand and of its parameters.
NORMS = {
    "batch_norm 32x16x32x32": (lambda F, x, *affine: F.batch_norm(x, None, None, *affine, True), (32, 16, 32, 32), (16,), 2),
    "batch_norm 256x128": (lambda F, x, *affine: F.batch_norm(x, None, None, *affine, True), (256, 128), (128,), 2),
    "rms_norm 2048x64": (lambda F, x, *affine: F.rms_norm(x, (64,), *affine), (2048, 64), (64,), 1),
}


@pytest.mark.parametrize("gradients", [False, True], ids=["forward", "with gradients"])
@pytest.mark.parametrize("name", NORMS)
def test_norm(compare, name, gradients):
    """A norm with its parameters, and its cotangents, of which that of the operand is not zero."""
    norm, shape, parameters, count = NORMS[name]
    x, factors, *affine = (RNG.normal(size=each).astype(np.float32) for each in (shape, shape, *[parameters] * count))
    if gradients:

        def program(lib):
            times = lib.tensor(factors)
            return backward_of(lambda lib, *tensors: (norm(lib.nn.functional, *tensors) * times).sum(), x, *affine)(lib)

        compare(f"{name}, forward and backward", both(program), budget=0.8)
    else:

        def forward(lib):
            tensors = [lib.tensor(each) for each in (x, *affine)]
            return lambda: norm(lib.nn.functional, *tensors)

        compare(name, both(forward), budget=0.8)


@pytest.mark.parametrize("size", [4, 64, 512])
def test_matmul(compare, size):
    """A square product: a library's work, so only its doorstep can differ."""
    a, b = (RNG.normal(size=(size, size)).astype(np.float32) for _ in range(2))

    def program(lib):
        x, y = lib.tensor(a), lib.tensor(b)
        return lambda: x @ y

    compare(f"matmul {size}x{size} float32", both(program) | {"numpy": lambda: a @ b}, budget=1.05)


ROWS = RNG.integers(0, 10_000, 4096)
COLUMNS = RNG.integers(0, 1000, (1000, 1000))
INDEXED = {
    "rows of a 10,000x64 table by 4,096 indices": (
        lambda lib, x, index: x[index],
        RNG.normal(size=(10_000, 64)).astype(np.float32),
        ROWS,
    ),
    "gather 1000x1000": (lambda lib, x, index: x.gather(1, index), SQUARE, COLUMNS),
    "scatter_add 1000x1000": (lambda lib, x, index: lib.zeros(1000, 1000).scatter_add(1, index, x), SQUARE, COLUMNS),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indexing(compare, name):
    """Reading or adding at indices, and the way back, which adds or reads at them."""
    use, data, positions = INDEXED[name]

    def program(lib):
        index = lib.tensor(positions)

        def loss(lib, x):
            taken = use(lib, x, index)
            return (taken * taken).sum()

        return backward_of(loss, data)(lib)

    compare(f"{name}, forward and backward", both(program), budget=0.8)


THREADED = {
    "tanh": "x.tanh()",
    "sum(tanh(2x+1) exp(-x^2))": "(lib.tanh(2 * x + 1) * lib.exp(-(x * x))).sum()",
    "softmax of dim 1": "lib.softmax(x.view(1000, 1000), 1)",
}

ON_THREADS = """
import json
from time import perf_counter
import numpy as np
import LIBRARY as lib

x = lib.tensor(np.random.default_rng(0).normal(size=1_000_000).astype(np.float32))

def clock(count, calls=5):
    lib.set_num_threads(count)
    WORK
    start = perf_counter()
    for _ in range(calls):
        WORK
    return (perf_counter() - start) / calls

clock(2), clock(1)
print(json.dumps([(clock(2), clock(1)) for _ in range(ROUNDS)]))
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core")
@pytest.mark.parametrize("name", THREADED)
def test_two_threads(summarise, settings, name):
    """A million elements on two threads against one: at least 1.6 times as fast.

    Every library has a process of its own: the pools of the others spin for a while after their turn, on the second core.
    """
    code = ON_THREADS.replace("ROUNDS", str(settings.rounds)).replace("WORK", THREADED[name])
    two, one = zip(*child(code.replace("LIBRARY", "nbgrad")), strict=True)
    theirs, _ = zip(*child(code.replace("LIBRARY", "torch")), strict=True)
    samples = {"nbgrad": list(two), "one thread": list(one), "torch": list(theirs)}
    summarise(f"{name}, 1M float32, two threads", samples, 1 / 1.6, "one thread")


ALTERNATION = """
import json
from statistics import median
from time import perf_counter
import nbgrad

a, x = nbgrad.ones(256, 256), nbgrad.linspace(-3, 3, 200_000)
work = {"matmul": lambda: a @ a, "tanh": lambda: x.tanh()}

def clock(run):
    start = perf_counter()
    run()
    return perf_counter() - start

def turn(first, second, calls=8):
    alone = median([clock(work[first]) for _ in range(calls)])
    beside = median([(clock(work[first]), work[second]())[0] for _ in range(calls)])
    return alone, beside

for first, second in (("matmul", "tanh"), ("tanh", "matmul")) * 20:
    turn(first, second)
samples = {first: [turn(first, second) for _ in range(ROUNDS)] for first, second in
           (("matmul", "tanh"), ("tanh", "matmul"))}
print(json.dumps(samples))
"""


def test_matmul_beside_tanh(summarise, settings):
    """A pool whose workers spin steals the cores of the BLAS library: alternation must not slow either by over 5 %."""
    samples = child(ALTERNATION.replace("ROUNDS", str(settings.rounds)))
    titles = {"matmul": "matmul 256x256 after tanh of 200,000", "tanh": "tanh of 200,000 after matmul 256x256"}
    for first, turns in samples.items():
        alone, beside = (list(column) for column in zip(*turns, strict=True))
        summarise(f"{titles[first]}, all threads", {"nbgrad": beside, "alone": alone}, 1.05, "alone")
