"""Loops over rows: which calls share one, and that it gives the bits of the calls."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import compile, trace
from nbgrad.jit.execution.schedule import schedule
from tests.jit.test_strips import assert_same_bits, names_of

SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-310, 3e38, 0.3, 88.0, -104.0]
REDUCTIONS = ["sum", "mean", "amax", "amin", "prod", "any", "all", "count_nonzero"]


def drawn(shape, dtype=nbgrad.float32):
    """Numbers."""
    return nbgrad.tensor(np.random.default_rng(sum(shape)).standard_normal(shape), dtype=dtype)


def softmax(x):
    """Written out."""
    y = (x - x.amax(-1, keepdim=True)).exp()
    return y / y.sum(-1, keepdim=True)


def layer_norm(x, w, b):
    """Written out."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + 1e-5).sqrt() * w + b


def with_gradients(fn, *inputs):
    """The value and the gradients of a function."""

    def run(*xs):
        value = fn(*xs)
        total = (value * value).sum()
        return value.detach(), total.detach(), *nbgrad.grad(total, xs)

    return run, [x.detach().requires_grad_() for x in inputs]


def test_softmax_is_one_loop():
    """Forwards; what is folded is written nowhere."""
    graph = trace(softmax, drawn((40, 100)))
    (loop,) = schedule(graph).steps
    assert [node.name for node in loop.nodes] == ["amax", "sub", "exp", "sum", "div"] and list(loop.writes) == graph.outputs


def test_layer_norm_and_its_gradient_are_one_loop():
    """And what merges the blocks of columns and of all elements."""
    run, inputs = with_gradients(layer_norm, drawn((512, 256)), drawn((256,)), drawn((256,)))
    loop, *merges = names_of(run, *inputs)
    assert len(loop) > 25 and sorted(merges) == [["sum"], ["sum_over"], ["sum_over"]]


def test_numbers_of_rows_by_views():
    """A fold without ``keepdim``, expanded by hand; one that is a column by chance is not the rows'."""
    assert names_of(lambda x: x * x.sum(1).unsqueeze(1), drawn((50, 64))) == [["sum", "mul"]]
    assert names_of(lambda x: x * (x.sum(1).sqrt() + 1)[:, None], drawn((50, 64))) == [["sum", "sqrt", "add", "mul"]]
    assert len(names_of(lambda x: x * x.sum(1), drawn((64, 64)))) == 2
    assert len(names_of(lambda x: x * x.sum(1)[:1], drawn((64, 64)))) == 2


def test_numbers_of_rows_read_by_views_in_their_own_step():
    """Functions of them, in loops of their own, in their order."""

    def fn(x):
        total = x.sum(1)
        y = (total.sin().unsqueeze(1) * 2).exp().squeeze(1).tanh()[:, None] + total[:, None].cos()
        return x * y, y.view(-1) * total.sin()

    assert len(names_of(fn, drawn((50, 64)))) == 1
    assert_same_bits(fn, drawn((50, 64)))


@pytest.mark.parametrize("shape", [(4, 16), (1, 4000), (3, 5000), (2, 20)])
def test_rows_that_share_no_loop(shape):
    """Short ones, a single one, ones beyond the cache, few elements."""
    assert len(names_of(softmax, drawn(shape))) > 1


def test_what_lies_across_is_no_part_of_a_loop():
    """An operand in columns: the calls that remain are those of before."""
    x = drawn((128, 128))
    assert_same_bits(lambda x: (softmax(x) * x.t(), layer_norm(x.t(), x, x)), x)


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.usefixtures("any_values")
def test_folds_of_rows_have_the_bits_of_calls(dtype, name):
    """Of what a loop computes and of what it reads, of special values and rows of all of them."""
    x = drawn((70, 257), dtype)
    x[::3] = nbgrad.tensor(np.resize(SPECIAL, 257), dtype=dtype)
    for row, value in enumerate(SPECIAL):
        x[row + 12] = value

    def fn(x):
        y, z = getattr(x, name)(-1, keepdim=True), getattr(x * 2 - 1, name)(-1)
        if y.dtype is not x.dtype:
            return y, z, (x * 2 - 1).sum(1)
        return y, z, x - y, (x * 2 - 1) * z[:, None], (z * z + 1).log()

    assert_same_bits(fn, x)


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("shape", [(64, 32), (33, 64), (513, 256), (70, 1000), (9, 4096), (3, 7, 130), (2, 5, 1, 999)])
def test_softmax_and_layer_norm_have_the_bits_of_calls(dtype, shape):
    """Values and gradients, of all sizes of blocks and strips, with blocks that are not full."""
    for fn, others in ((softmax, ()), (layer_norm, (shape[-1:], shape[-1:]))):
        run, inputs = with_gradients(fn, drawn(shape, dtype), *(drawn(each, dtype) for each in others))
        assert_same_bits(run, *inputs)


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.usefixtures("any_values")
def test_operands_of_all_layouts(dtype):
    """Rows with gaps, one row for all, one number a row or with gaps, single ones, truth values, Python's numbers."""
    wide, row, column, single = drawn((60, 140), dtype), drawn((130,), dtype), drawn((60, 3), dtype), drawn((), dtype)

    def fn(wide, row, column, single):
        x = wide[:, 5:-5]
        top = (x * row).amax(1, keepdim=True)
        y = nbgrad.where(x > top * single, x - column[:, :1], row * 2) * column[:, 1:2]
        low = y.amin(1, keepdim=True) + column[:, :1].contiguous() * single
        return y, (y - low).sum(1), (y * (low > 0)).mean(-1), top, low

    assert_same_bits(fn, wide, row, column, single)


def test_rows_with_gaps():
    """Where no operand has one element a row."""
    assert_same_bits(lambda x: ((x[:, 3:-3] * 2).sum(1), x[:, 3:-3].tanh(), (x[:, 3:-3] + 1).sum(0)), drawn((60, 140)))


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("shape", [(64, 32), (63, 100), (300, 257), (2000, 256), (4, 20, 64), (50, 1024), (16, 4096)])
@pytest.mark.usefixtures("any_values")
def test_columns_end_loops_with_the_bits_of_calls(dtype, shape):
    """Sums, means and extrema of columns, of special values too, beside those of rows and of all elements."""
    x = drawn(shape, dtype)
    x.view(-1)[: 5 * len(SPECIAL)] = nbgrad.tensor(np.resize(SPECIAL, 5 * len(SPECIAL)), dtype=dtype)
    lead = tuple(range(len(shape) - 1))

    def fn(x):
        y = x * 1.5 - 1
        z = y * y.amax(-1, keepdim=True)
        columns = y.sum(lead), z.mean(lead, keepdim=True), z.amax(lead), y.amin(lead), y.count_nonzero(lead)
        return *columns, y.sum(-1), z.sum(), y.mean(), z.any(lead), z

    assert_same_bits(fn, x)
    assert_same_bits(lambda x: ((x + 1).sum(lead), (x * 2).prod(lead), (x * 2).mean(), (x + 1).amax()), x)


def test_columns_end_loops_that_fold_no_rows():
    """As gradients of biases do."""
    assert names_of(lambda x, g: (g * x.exp()).sum(0), drawn((128, 128)), drawn((128, 128))) == [["exp", "mul", "sum"], ["sum"]]


@pytest.mark.usefixtures("any_values")
def test_random_programs_of_rows():
    """Elements, folds and numbers in any order."""
    for seed in range(12):
        draw = np.random.default_rng(seed)
        shape = [(40, 64), (65, 130), (5, 9, 100)][seed % 3]
        plan = [tuple(draw.integers(0, 99, 4)) for _ in range(16)]

        def fn(x, y, plan=plan):
            full, numbers = [x, y], [x.sum(-1, keepdim=True)]
            for kind, name, first, second in plan:
                a, b, n = full[first % len(full)], full[second % len(full)], numbers[second % len(numbers)]
                if kind % 4 == 0:
                    numbers.append(getattr(a, ["sum", "mean", "amax", "amin"][name % 4])(-1, keepdim=True))
                elif kind % 4 == 1:
                    numbers.append(getattr(nbgrad, ["mul", "add", "sub"][name % 3])(n, numbers[first % len(numbers)]).sin())
                elif kind % 4 == 2:
                    full.append(getattr(nbgrad, ["mul", "add", "sub", "div", "maximum"][name % 5])(a, n if second % 2 else b))
                else:
                    full.append([nbgrad.tanh, nbgrad.exp, nbgrad.neg, nbgrad.sigmoid][name % 4](a))
            sums = full[-1].sum(), (full[-3] * 2).mean(), full[-2].sum(0), (full[-1] + 1).amax(tuple(range(x.ndim - 1)))
            return full[-1], full[-2], numbers[-1], numbers[-2], *sums

        assert_same_bits(fn, drawn(shape), drawn(shape[::-1]).permute(*range(len(shape))[::-1]).contiguous())


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.bfloat16, nbgrad.int32, nbgrad.complex64])
def test_other_dtypes_share_no_loop(dtype):
    """They are what they were."""
    x = (drawn((50, 64)) * 9).to(dtype)
    assert_same_bits(lambda x: ((x - x.sum(1, keepdim=True)) * 2, (x * x).sum(1)), x)


@pytest.mark.parametrize("shape", [(0, 64), (64, 0), (50, 1), (1, 64)])
def test_rows_of_nothing_and_of_one(shape, any_values):
    """Shapes without a loop over rows."""
    assert_same_bits(lambda x: (x * x.sum(1, keepdim=True), (x + 1).mean(1), (x + 1).sum(0)), drawn(shape))


def test_threads_change_no_bit():
    """Rows are those of one thread."""
    run, inputs = with_gradients(layer_norm, drawn((2000, 256)), drawn((256,)), drawn((256,)))
    fn, threads, found = compile(run, fullgraph=True), nbgrad.get_num_threads(), []
    try:
        for count in (1, 2):
            nbgrad.set_num_threads(count)
            found.append([each.numpy() for each in fn(*inputs)])
    finally:
        nbgrad.set_num_threads(threads)
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)
