"""Loops in strips and the sums that end them: which there are, and that they give the bits of the calls."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import compile, trace
from nbgrad.jit.execution.schedule import schedule

SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-310, 3e38, 0.3, 88.0, -104.0]


def names_of(fn, *examples):
    """What each launch of a function's graph computes."""
    return [[node.name for node in step.nodes] for step in schedule(trace(fn, *examples)).steps]


def assert_same_bits(fn, *inputs):
    """The compiled function gives what the calls give."""
    compiled = compile(fn, fullgraph=True)
    with np.errstate(all="ignore"):
        for _ in range(2):
            for x, y in zip(compiled(*inputs), fn(*inputs), strict=True):
                assert x.stride() == y.stride() and x.dtype is y.dtype
                np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_sums_end_the_loop_that_computes_them():
    """What is summed is written nowhere; a launch of its own merges the blocks."""

    def fn(x):
        y = x * x + 1
        return y.sum(), (y * 3).mean(), (x - 2).view(-1).sum()

    graph = trace(fn, nbgrad.ones(50, 100))
    loop, *merges = schedule(graph).steps
    assert [node.name for node in loop.nodes] == ["mul", "add", "mul", "sub", "sum", "mean", "sum"]
    assert [value.layout.shape for value in loop.writes] == [(2,)] * 3 and [step.units for step in merges] == [1] * 3


def test_what_is_made_of_a_sum_comes_after_it():
    """A loop that reads a sum is another one."""
    assert names_of(lambda x: x.exp() / x.exp().sum(), nbgrad.ones(5000)) == [["exp", "exp", "sum"], ["sum"], ["div"]]


@pytest.mark.parametrize("reduced", [lambda y: y.sum((0, 2)), lambda y: y.prod(), lambda y: y[:10].sum(), lambda y: y.argmax()])
def test_other_reductions_are_launches_of_their_own(reduced):
    """Of some dimensions or some elements, products, positions."""
    assert [len(each) for each in names_of(lambda x: reduced(x * 2), nbgrad.ones(50, 10, 10))] == [1, 1]


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("numel", [2048, 4096, 4097, 12345, 300_001])
def test_sums_have_the_bits_of_calls(dtype, numel):
    """Sums, means and extrema of several values of one loop, and the gradient of one."""
    x = nbgrad.tensor(np.random.default_rng(numel).standard_normal(numel), dtype=dtype)

    def fn(x):
        y, z = x.exp() * 1.5, (x * 2).tanh() + 1
        total = (y * z).sum()
        return total, y.mean(), z.sum(), z, (y > z).sum(), x.detach().mul(2).amax(), *nbgrad.grad(total, [x])

    assert_same_bits(lambda x: tuple(each.detach() for each in fn(x)), x.requires_grad_())


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
def test_sums_of_many_elements_are_folded_in_pieces(dtype):
    """So many that threads share the call, too."""
    x = nbgrad.tensor(np.random.default_rng(0).standard_normal((1 << 21) + 12345), dtype=dtype)
    assert_same_bits(lambda x: ((x * 3).sum(), (x + 1).mean()), x)


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("values", [[np.inf, 1.0], [np.inf, -np.inf], [np.nan], [-0.0], [3e38, 3e38]])
@pytest.mark.usefixtures("any_values")
def test_sums_of_special_values(dtype, values):
    """Infinite totals, NaN, zeros with a sign."""
    x = nbgrad.tensor(np.resize(values, 9000), dtype=dtype)
    assert_same_bits(lambda x: ((x * 1).sum(), (x + 0).mean(), (-x).amax()), x)


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("shape", [(5000,), (3, 4097), (40, 130), (2, 30, 200), (60, 37)])
@pytest.mark.usefixtures("any_values")
def test_strips_round_as_calls_do(dtype, shape):
    """Random expressions of operands that lie in rows, in columns, strided, or are single."""
    draw = np.random.default_rng(len(shape) + 7 * shape[0])
    unary = ["exp", "sin", "tanh", "neg", "abs", "sqrt", "log", "sigmoid", "relu", "square", "reciprocal", "erf"]
    binary = ["mul", "add", "sub", "div", "maximum", "minimum", "atan2", "pow"]
    special = nbgrad.tensor(np.resize(SPECIAL, shape), dtype=dtype)
    plain = nbgrad.tensor(draw.standard_normal(shape), dtype=dtype)
    wide = nbgrad.tensor(draw.standard_normal((*shape[:-1], shape[-1] + 5)), dtype=dtype)
    turned = nbgrad.tensor(draw.standard_normal(shape[::-1]), dtype=dtype).permute(*range(len(shape))[::-1])
    row, single = nbgrad.tensor(draw.standard_normal(shape[-1]), dtype=dtype), nbgrad.tensor(draw.standard_normal(), dtype=dtype)
    inputs = [special, plain, wide, row, single, plain[..., :1] + 1, turned]
    for others in (5, 6, 7):
        plan = [tuple(draw.integers(0, 99, 4)) for _ in range(18)]

        def fn(*xs, plan=plan, others=others):
            special, plain, wide, row, single, column, turned = xs
            values = [special, plain, wide[..., 2:-3], row, single, column, turned][:others]
            for kind, name, first, second in plan:
                x, y = values[first % len(values)], values[second % len(values)]
                if kind % 3 == 0:
                    values.append(getattr(nbgrad, unary[name % len(unary)])(x))
                elif kind % 3 == 1:
                    values.append(getattr(nbgrad, binary[name % len(binary)])(x, y if second % 3 else 1.5))
                else:
                    values.append(nbgrad.where(x > y, x, y * 2))
            whole = [each for each in values if each.shape == special.shape]
            return values[-1], values[-2], whole[-1].sum(), whole[-2].mean(), values[-3]

        assert_same_bits(fn, *inputs)


def test_a_long_body_is_one_loop():
    """What several functions with gradients take is not parted by memory."""

    def fn(x):
        total = (0.5 * x * (1 + (0.8 * (x + 0.04 * x * x * x)).tanh()) * x.sigmoid() + (x * x + 1).log()).sum()
        return total.detach(), *nbgrad.grad(total, [x])

    assert [len(each) for each in names_of(fn, nbgrad.ones(5000).requires_grad_())][1:] == [1]


def test_threads_change_no_bit():
    """Blocks are those of one thread."""
    x = nbgrad.tensor(np.random.default_rng(0).standard_normal(700_001), dtype=nbgrad.float32)
    fn = compile(lambda x: ((x.tanh() * x.exp()).sum(), x.sin() * x.exp()), fullgraph=True)
    threads = nbgrad.get_num_threads()
    try:
        nbgrad.set_num_threads(1)
        one = [each.numpy() for each in fn(x)]
        nbgrad.set_num_threads(2)
        two = [each.numpy() for each in fn(x)]
    finally:
        nbgrad.set_num_threads(threads)
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)
