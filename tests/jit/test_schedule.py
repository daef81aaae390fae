"""Which loops a graph becomes, and that these compute what the calls compute, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import compile, trace
from nbgrad.jit.execution.schedule import schedule
from nbgrad.jit.ir.steps import Host, Launch

SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-310, 3e38, 0.3, 88.0, -104.0]


def steps_of(fn, *examples):
    """The steps of a function's graph: for a launch the names of what it computes."""
    made = schedule(trace(fn, *examples)).steps
    return [[node.name for node in step.nodes] if isinstance(step, Launch) else step.node.name for step in made]


def test_a_chain_is_one_loop():
    """Values between its calls have no memory."""
    graph = trace(lambda x, y: (x * y + 1).tanh() * x - y, nbgrad.ones(5), nbgrad.ones(5))
    (step,) = schedule(graph).steps
    assert [node.name for node in step.nodes] == ["mul", "add", "tanh", "mul", "sub"] and step.writes == (graph.outputs[0],)


def test_what_is_read_elsewhere_is_stored():
    """Results of a loop that are returned, or read by another step."""
    graph = trace(lambda x: (x.exp(), (x.exp() * 2).sum(), x.exp() + 1), nbgrad.ones(5))
    loop, total = schedule(graph).steps
    assert len(loop.writes) == 3 and isinstance(total, Launch)


def test_a_reduction_parts_loops():
    """What is made of a sum comes after it; what is not may come before."""
    assert steps_of(lambda x: (x.exp() / x.exp().sum()).log() * x.sin(), nbgrad.ones(5)) == [
        ["exp", "exp", "sin"],
        ["sum"],
        ["div", "log", "mul"],
    ]


def test_other_shapes_and_dtypes_have_loops_of_their_own():
    """A loop has one space."""
    found = steps_of(lambda x, y: (x * 2 + 1, y * 2 + 1, x.double() * 2 + 1), nbgrad.ones(5), nbgrad.ones(2, 3))
    assert sorted(len(each) for each in found if isinstance(each, list)) == [1, 2, 2, 2]


def test_views_cost_nothing():
    """They are windows; a call reads through them."""
    assert steps_of(lambda x: (x.t() * 2)[0], nbgrad.ones(2, 3)) == [["mul"]]


def test_a_long_chain_is_several_loops():
    """A loop has a bounded number of calls, and of operands."""

    def fn(x):
        for k in range(200):
            x = x * 1.5 + (k + 0.5)
        return x

    found = steps_of(fn, nbgrad.ones(7))
    assert sum(map(len, found)) == 400 and 8 < len(found) < 40
    x = nbgrad.linspace(-1, 1, 7)
    np.testing.assert_array_equal(compile(fn)(x).numpy(), fn(x).numpy())


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("shape", [(12,), (3, 4), (), (0, 3), (1, 1), (700,), (3, 4000)])
@pytest.mark.usefixtures("any_values")
def test_loops_round_as_calls_do(dtype, shape):
    """Random expressions on special values, strided, broadcast and single operands, against the calls."""
    draw = np.random.default_rng(len(shape) + (dtype is nbgrad.float64))
    unary = ["exp", "sin", "tanh", "neg", "abs", "sqrt", "log", "sigmoid", "relu", "square", "reciprocal", "erf"]
    binary = ["mul", "add", "sub", "div", "maximum", "minimum", "atan2", "pow"]

    def operand(at):
        count = int(np.prod(shape))
        values = np.resize(np.array(SPECIAL), count).reshape(shape) if at % 2 else draw.standard_normal(shape)
        x = nbgrad.tensor(values, dtype=dtype)
        if at == 2 and len(shape) == 2:
            return nbgrad.tensor(values.T.copy(), dtype=dtype).t()
        if at == 3 and len(shape) == 2:
            return x[:, :1]
        return x if at != 4 else nbgrad.tensor(draw.standard_normal(), dtype=dtype)

    inputs = [operand(at) for at in range(5)]
    for _ in range(2):
        plan = [(draw.integers(0, 3), draw.integers(0, 99), draw.integers(0, 99), draw.integers(0, 99)) for _ in range(14)]

        def fn(*xs, plan=plan):
            values = list(xs)
            for kind, name, first, second in plan:
                x, y = values[first % len(values)], values[second % len(values)]
                if kind == 0:
                    values.append(getattr(nbgrad, unary[name % len(unary)])(x))
                elif kind == 1:
                    values.append(getattr(nbgrad, binary[name % len(binary)])(x, y if second % 3 else 1.5))
                else:
                    values.append(nbgrad.where(x > y, x, y * 2))
            return values[-1], values[-2], values[-3]

        compiled = compile(fn, fullgraph=True)
        with np.errstate(all="ignore"):
            for _ in range(2):
                for x, y in zip(compiled(*inputs), fn(*inputs)):
                    assert x.stride() == y.stride() and x.dtype is y.dtype
                    np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_calls_without_a_kernel_of_their_own_stay_calls():
    """Several steps, or values that are looked at."""
    made = schedule(trace(lambda x: x.sort()[0] * 2, nbgrad.ones(5))).steps
    assert [type(step) for step in made][-1] is Launch and any(isinstance(step, Host) for step in made)


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.bfloat16])
def test_half_types_share_a_loop_in_which_calls_round(dtype):
    """After each call, and numbers before it where the call rounds them; there and back."""

    def chain(x, y):
        z = nbgrad.where(x > 0.1, (x * 0.1 + y) / 3.0, x**2)
        return (z - 1.7).tanh() * y * 3e4, x != 0.3

    x = nbgrad.tensor([*SPECIAL, *np.linspace(-2, 2, 50)]).to(dtype)
    y = x.flip(0) * 1.7
    assert steps_of(chain, x, y) == [["gt", "mul", "add", "div", "square", "where", "sub", "tanh", "mul", "mul", "ne"]]
    compiled, x = compile(chain), x.requires_grad_()
    for _ in range(2):
        for one, other in zip(compiled(x, y), chain(x, y)):
            np.testing.assert_array_equal(one.detach().double().numpy(), other.detach().double().numpy())
        found, expected = (nbgrad.grad(f(x, y)[0], x, y)[0].double().numpy() for f in (compiled, chain))
        np.testing.assert_array_equal(found, expected)
