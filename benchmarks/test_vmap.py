"""Batches: gradients of single elements, Jacobians and Hessians, each beside a loop and beside torch."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from benchmarks.peers import both, jax

# torch's forward mode is loaded when first used, with a warning of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=shape).astype(np.float32) for shape in ((16, 8), (16,), (1, 16))]


def functional_of(lib):
    """The module of Jacobians, which torch keeps in torch.autograd."""
    return lib.functional if lib is nbgrad else lib.autograd.functional


def loss(weights, x):
    """A small network's squared output; works on tensors of either library."""
    first, bias, second = weights
    return ((second @ (first @ x + bias).tanh()) ** 2).sum()


@pytest.mark.parametrize("count", [20, 1000])
def test_gradients_of_single_elements(compare, count):
    """The gradient of the loss of every sample by shared weights: one pass for the batch."""
    data = RNG.normal(size=(count, 8)).astype(np.float32)

    def program(lib):
        weights, x = tuple(map(lib.tensor, WEIGHTS)), lib.tensor(data)
        slopes = lib.vmap(lib.func.grad(loss), in_dims=(None, 0))
        return lambda: slopes(weights, x)

    def in_jax():
        np_ = jax().numpy
        one = jax().grad(lambda w, x: ((w[2] @ np_.tanh(w[0] @ x + w[1])) ** 2).sum())
        compiled, weights, x = jax().jit(jax().vmap(one, in_axes=(None, 0))), tuple(map(np_.asarray, WEIGHTS)), np_.asarray(data)
        return lambda: jax().block_until_ready(compiled(weights, x))

    compare(f"vmap(grad), {count} samples", both(program) | {"jax jit": in_jax()}, budget=1.2, tolerance=1e-3)


def test_batch_beside_a_loop(compare):
    """The same 1,000 gradients by one call and by a Python loop: the peer is nbgrad itself."""
    weights = tuple(map(nbgrad.tensor, WEIGHTS))
    x = nbgrad.tensor(RNG.normal(size=(1000, 8)).astype(np.float32))
    slope = nbgrad.func.grad(loss)
    batched = nbgrad.vmap(slope, in_dims=(None, 0))

    def loop():
        rows = [slope(weights, row) for row in x]
        return tuple(nbgrad.stack(column) for column in zip(*rows))

    candidates = {"nbgrad": lambda: batched(weights, x), "loop": loop}
    compare("1,000 gradients, vmap against a loop", candidates, budget=0.1, peer="loop", tolerance=1e-3)


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}], ids=["loop", "reverse", "forward"]
)
def test_jacobian(compare, options):
    """The Jacobian of a layer of 64: a pass for each row, or batched rows, or batched columns."""
    matrix, data = RNG.normal(size=(64, 64)).astype(np.float32), RNG.normal(size=64).astype(np.float32)

    def program(lib):
        a, x, jacobian = lib.tensor(matrix), lib.tensor(data), functional_of(lib).jacobian
        return lambda: jacobian(lambda z: (a @ z.tanh()).sin(), x, **options)

    how = "row by row" if not options else "forward" if "strategy" in options else "vectorized"
    compare(f"jacobian of 64 by 64, {how}", both(program), budget=1.0, tolerance=1e-3)


def test_hessian(compare):
    """Forward over reverse, both batched."""
    data = RNG.normal(size=64).astype(np.float32)

    def program(lib):
        x, second = lib.tensor(data), lib.func.hessian(lambda z: (z.tanh() ** 2).sum() * z.sum())
        return lambda: second(x)

    def in_jax():
        np_ = jax().numpy
        compiled, x = jax().jit(jax().hessian(lambda z: (np_.tanh(z) ** 2).sum() * z.sum())), np_.asarray(data)
        return lambda: jax().block_until_ready(compiled(x))

    compare("hessian of 64 by 64", both(program) | {"jax jit": in_jax()}, budget=1.0, tolerance=1e-3)


def test_overhead_of_a_mapped_call(compare):
    """Four small operations on a batch: what every call of a mapped function costs."""
    data = RNG.normal(size=(16, 4)).astype(np.float32)

    def program(lib):
        x, mapped = lib.tensor(data), lib.vmap(lambda row: (row * 2 + 1).tanh().sum())
        return lambda: mapped(x)

    compare("vmap of 4 operations, 16 x 4", both(program), budget=1.0)
