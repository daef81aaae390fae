"""Forward mode: tangents of small operations, of a network, of all columns of a Jacobian, each beside torch."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from benchmarks.peers import both

# torch's forward mode is loaded when first used, with a warning of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=shape).astype(np.float32) for shape in ((16, 8), (16,), (1, 16))]


def forward_ad_of(lib):
    """The module of dual tensors, which torch keeps in torch.autograd."""
    return lib.forward_ad if lib is nbgrad else lib.autograd.forward_ad


@pytest.mark.parametrize("size", [16, 100_000])
def test_chain_of_dual_tensors(compare, size):
    """20 products of dual tensors and a sum, a level for each."""
    data = (1 + RNG.normal(size=size) * 0.01).astype(np.float32)

    def program(lib):
        x, t, forward_ad = lib.tensor(data), lib.tensor(data), forward_ad_of(lib)

        def run():
            with forward_ad.dual_level():
                y = dual = forward_ad.make_dual(x, t)
                for _ in range(20):
                    y = y * dual
                return forward_ad.unpack_dual(y.sum()).tangent

        return run

    compare(f"20 dual products of {size:,} and a sum", both(program), budget=1.0, tolerance=1e-2)


def test_jvp_of_a_network(compare):
    """The loss of a small network and its derivative in a direction of all weights."""
    data = RNG.normal(size=8).astype(np.float32)

    def program(lib):
        weights, x = tuple(map(lib.tensor, WEIGHTS)), lib.tensor(data)

        def loss(first, bias, second):
            return ((second @ (first @ x + bias).tanh()) ** 2).sum()

        return lambda: lib.func.jvp(loss, weights, weights)[1]

    compare("jvp of a small network", both(program), budget=1.0, tolerance=1e-3)


def test_jacfwd(compare):
    """All columns of a Jacobian as one batch of tangents; the values are computed once."""
    matrix, data = RNG.normal(size=(64, 64)).astype(np.float32), RNG.normal(size=64).astype(np.float32)

    def program(lib):
        a, x = lib.tensor(matrix), lib.tensor(data)
        columns = lib.func.jacfwd(lambda z: (a @ z.tanh()).sin())
        return lambda: columns(x)

    compare("jacfwd of 64 by 64", both(program), budget=1.0, tolerance=1e-3)


def test_forward_over_reverse(compare):
    """A gradient and its derivative in a direction: a Hessian-vector product of 64 elements."""
    data = RNG.normal(size=64).astype(np.float32)

    def program(lib):
        x = lib.tensor(data)
        slope = lib.func.grad(lambda z: (z.tanh() ** 2).sum() * z.sum())
        return lambda: lib.func.jvp(slope, (x,), (x,))[1]

    compare("Hessian-vector product, forward over reverse", both(program), budget=1.0, tolerance=1e-3)


OPERATIONS = {
    "var": lambda lib, x: x.var(),
    "std": lambda lib, x: x.std(),
    "softmax": lambda lib, x: lib.softmax(x, 0),
    "logsumexp": lambda lib, x: lib.logsumexp(x, 0),
    "norm": lambda lib, x: lib.linalg.vector_norm(x),
    "prod": lambda lib, x: x.prod(),
    "amax": lambda lib, x: x.amax(),
    "cat": lambda lib, x: lib.cat((x, x)),
    "stack": lambda lib, x: lib.stack((x, x)),
    "gather": lambda lib, x: x.gather(0, lib.tensor(INDEX)),
    "index_select": lambda lib, x: x.index_select(0, lib.tensor(INDEX)),
    "mul_": lambda lib, x: x.clone().mul_(x),
}
INDEX = np.array([3, 1, 2, 0])
# Of the others 1.0: times of nbgrad / times of torch that are not to be exceeded.
BUDGETS = {"var": 3.5, "std": 3.5, "softmax": 4.0, "logsumexp": 3.5, "norm": 6.5, "prod": 4.5, "amax": 4.5, "cat": 6.5,
           "stack": 5.5, "gather": 5.0, "index_select": 5.0, "mul_": 5.0}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_of_a_dual_tensor(compare, name):
    """100 calls of one operation of 16 elements that is no elementwise one, or writes in place."""
    data = RNG.normal(size=16).astype(np.float32)

    def program(lib):
        forward_ad, call = forward_ad_of(lib), OPERATIONS[name]
        x = lib.tensor(data)

        def run():
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(x, x)
                for _ in range(100):
                    out = call(lib, dual)
                return forward_ad.unpack_dual(out).tangent

        return run

    compare(f"{name} of a dual tensor, 16 elements", both(program), budget=BUDGETS.get(name, 1.0), tolerance=1e-3)
