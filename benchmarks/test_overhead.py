"""What a call costs when there is almost nothing to compute: dispatch, recording, and the walk back."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest

from benchmarks.peers import both, gradient_in_jax, jax

RNG = np.random.default_rng(0)
ROW = RNG.uniform(0.5, 1.5, 16).astype(np.float32)
OTHER = RNG.uniform(0.9, 1.1, 16).astype(np.float32)


def mul(lib):
    """One product, recorded."""
    x, y = lib.tensor(ROW, requires_grad=True), lib.tensor(OTHER)
    return lambda: x * y


def chain(lib):
    """Twenty products by a constant and their sum, there and back."""
    x, y = lib.tensor(ROW, requires_grad=True), lib.tensor(OTHER)

    def run():
        x.grad = None
        h = x
        for _ in range(20):
            h = h * y
        h.sum().backward()
        return x.grad

    return run


def chain_in(np_like, gradient):
    """The same chain for a library that differentiates functions, given its NumPy and its ``grad``."""
    y = np_like.asarray(OTHER)

    def total(x):
        for _ in range(20):
            x = x * y
        return np_like.sum(x)

    derivative, x = gradient(total), np_like.asarray(ROW)
    return lambda: derivative(x)


def test_mul_recorded(compare):
    """A single product of 16 elements, with its node, against torch and against NumPy's bare product."""
    compare("mul of 16 elements, grad recorded", both(mul) | {"numpy": lambda: ROW * OTHER}, budget=0.5)


def test_mul_not_recorded(compare):
    """The same product when no gradient is wanted."""

    def program(lib):
        x, y = lib.tensor(ROW), lib.tensor(OTHER)
        return lambda: x * y

    compare("mul of 16 elements, nothing recorded", both(program) | {"numpy": lambda: ROW * OTHER})


def test_chain(compare):
    """Twenty recorded products, a sum and the backward pass; HIPS autograd eager, JAX compiled."""
    import autograd
    import autograd.numpy as hips

    candidates = both(chain) | {"jax jit": chain_in(jax().numpy, gradient_in_jax), "autograd": chain_in(hips, autograd.grad)}
    compare("20 mul + sum of 16 elements, forward and backward", candidates, budget=0.35)


def test_mlp(compare):
    """A small network written in ops: what eager code in notebooks looks like."""
    shapes = {"w1": (8, 16), "b1": (16,), "w2": (16, 1), "b2": (1,)}
    data = {name: RNG.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    inputs, targets = RNG.normal(size=(64, 8)).astype(np.float32), RNG.normal(size=(64, 1)).astype(np.float32)

    def program(lib):
        parameters = [lib.tensor(value, requires_grad=True) for value in data.values()]
        w1, b1, w2, b2 = parameters
        x, y = lib.tensor(inputs), lib.tensor(targets)

        def run():
            for parameter in parameters:
                parameter.grad = None
            error = (x @ w1 + b1).tanh() @ w2 + b2 - y
            (error * error).mean().backward()
            return w1.grad, b2.grad

        return run

    compare("MLP 64x8-16-1, forward and backward", both(program), budget=0.5)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("mul by a Python number", lambda x: x * 2.5),
        ("slice of 16 elements", lambda x: x[2:9]),
        ("transpose of 4x4", lambda x: x.view(4, 4).transpose(0, 1)),
        ("select a row", lambda x: x[3]),
        ("expand", lambda x: x.expand(4, 16)),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
def test_small_operand(compare, name, use):
    """A Python number as an operand, and views, each with its node recorded."""

    def program(lib):
        x = lib.tensor(ROW, requires_grad=True)
        return lambda: use(x)

    compare(f"{name}, grad recorded", both(program), budget=0.5)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("x[index] of 3", lambda lib, x, index, mask: x[index]),
        ("x[mask] of 16", lambda lib, x, index, mask: x[mask]),
        ("gather of 3", lambda lib, x, index, mask: lib.gather(x, 0, index)),
        ("cat of two", lambda lib, x, index, mask: lib.cat((x, x))),
        ("stack of two", lambda lib, x, index, mask: lib.stack((x, x))),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
def test_steps(compare, name, use):
    """Operations that check an index, or take a sequence of tensors: there and back."""

    def program(lib):
        x = lib.tensor(ROW, requires_grad=True)
        index, mask = lib.tensor([0, 2, 1]), lib.tensor([True, False] * 8)
        weight = lib.ones_like(use(lib, x, index, mask).detach())

        def run():
            x.grad = None
            use(lib, x, index, mask).backward(weight)
            return x.grad

        return run

    compare(f"{name}, forward and backward", both(program), budget=1.5)


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_shape_never_seen(compare, settings, backward):
    """``(x[:n] * y[:n]).sum()`` with another n at every call: nothing that a table of shapes could remember."""
    calls, most = 100, 8192
    assert calls * (settings.rounds + 2) < most, "a length would come back"
    data = RNG.normal(size=most).astype(np.float32)
    lengths = np.random.default_rng(1).permutation(most) + 1

    def program(lib):
        x, y, length = lib.tensor(data, requires_grad=True), lib.tensor(data), cycle(lengths.tolist())

        def run():
            n = next(length)
            total = (x[:n] * y[:n]).sum()
            if backward:
                x.grad = None
                total.backward()
            return total

        return run

    compare(
        f"(x[:n] * y[:n]).sum(), every n new, {'forward and backward' if backward else 'grad recorded'}",
        both(program),
        budget=1.0,
        inner=calls,
        rounds=settings.rounds,
    )
