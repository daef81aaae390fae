"""Sorts, searches and counts on the emulated device: the CPU's order, ties and NaN included."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import DTypeError, RangeError
from nbgrad.lowering.cuda import counts, sort
from tests.cuda.lowered import assert_same, launches, on_cpu, on_cuda, run_all, sample

BLOCK = 2048  # what a block sorts by itself
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
INF, NAN = float("inf"), float("nan")


def check(name, *tensors, seed=0, **attributes):
    """The same on both."""
    assert_same(on_cuda(name, *tensors, seed=seed, **attributes), on_cpu(name, *tensors, **attributes))


def special(n, dtype="float32", seed=0):
    """Numbers with ties, zeros of both signs, infinities and NaN."""
    x = sample((n,), dtype, seed, -4, 5)
    if x.is_floating_point():
        random = np.random.default_rng(seed)
        for value in (NAN, INF, -INF, -0.0, 0.0):
            x[nbgrad.asarray(random.integers(0, n, max(n // 9, 1)))] = value
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_argsort_of_every_dtype(dtype, descending):
    """Equal elements keep their order; NaN is the greatest."""
    check("argsort", special(300, dtype), dim=0, descending=descending, stable=True)


@pytest.mark.parametrize("n", [1, 2, 31, 1024, BLOCK - 1, BLOCK, BLOCK + 1])
def test_sizes_of_lines(n):
    """What a block sorts, and one more."""
    check("argsort", special(n), dim=0, descending=False, stable=True)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("seed", range(2))
def test_long_lines(dtype, seed):
    """By bytes, in as many passes as the dtype has; several tiles, the last not full; in any order of threads."""
    x = special(2 * 2500, dtype, seed).reshape(2, 2500)
    check("argsort", x, seed=seed, dim=1, descending=False, stable=True)
    check("argsort", x, seed=seed, dim=1, descending=True, stable=True)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_lines_along_any_dimension(dim):
    """Of operands in any layout."""
    x = special(3 * 5 * 7).reshape(3, 5, 7)
    for view in (x, x.permute(2, 0, 1), x[:, ::2]):
        check("argsort", view, dim=dim, descending=False, stable=True)
    check("argsort", sample(()), dim=0, descending=False, stable=True)
    check("argsort", sample((0, 3)), dim=0, descending=False, stable=True)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 5, 40])
def test_topk(k, largest):
    """The first of equal ones is ahead."""
    x = special(3 * 40).reshape(3, 40)
    order = x.argsort(1, descending=largest, stable=True)[:, :k]
    for found in (
        on_cuda("top_indices", x, k=k, dim=1, largest=largest),
        on_cuda("top_indices", x.t(), k=k, dim=0, largest=largest).t(),
    ):
        assert found.tolist() == order.tolist()
    x = special(2500)
    assert on_cuda("top_indices", x, k=k, dim=0, largest=largest).tolist() == x.argsort(0, largest, True)[:k].tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [False, True])
def test_selections(dtype, largest):
    """Few of long lines, of every dtype, with ties, NaN, infinities, zeros of both signs: the first of the stable order."""
    x = special(2 * 5000, dtype, 1).reshape(2, 5000)
    order = x.argsort(1, largest, True)
    for k in (1, 7, 600):
        found = on_cuda("top_indices", x, k=k, dim=1, largest=largest)
        assert_same(found, order[:, :k].contiguous())


@pytest.mark.parametrize("n", [4097, 3 * 4096, 70_001])
@pytest.mark.parametrize("seed", range(2))
def test_sizes_of_selections(n, seed):
    """Of lines of several blocks and of a part of one, along any dimension, in any order of threads."""
    x = special(n, seed=seed)
    order = x.argsort(0, True, True)
    assert_same(on_cuda("top_indices", x, k=33, dim=0, largest=True, seed=seed), order[:33].contiguous())
    both = nbgrad.stack([x, x.flip(0), -x], 1)
    assert_same(on_cuda("top_indices", both, k=9, dim=0, largest=False, seed=seed), both.argsort(0, False, True)[:9].contiguous())


def test_many_lines_are_selected_by_a_block_each(monkeypatch):
    """More lines than blocks that work at once."""
    monkeypatch.setattr(sort, "BLOCKS", 4)
    x = special(6 * 9000).reshape(6, 9000)
    assert_same(on_cuda("top_indices", x, k=2, dim=1, largest=True), x.argsort(1, True, True)[:, :2].contiguous())


@pytest.mark.parametrize("value", [0.0, NAN, -INF])
def test_a_selection_of_equal_elements(value):
    """The first of them."""
    x = nbgrad.full((9000,), value)
    assert on_cuda("top_indices", x, k=50, dim=0, largest=True).tolist() == list(range(50))


def test_more_is_selected_than_a_block_sorts():
    """The selected ones are sorted by bytes."""
    x = special(8 * 2100 + 9)
    assert_same(on_cuda("top_indices", x, k=2100, dim=0, largest=True), x.argsort(0, True, True)[:2100].contiguous())


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "bfloat16"])
def test_medians_and_modes(dtype):
    """With NaN that counts, and that does not; where nothing comes twice."""
    x = special(4 * 9, dtype).reshape(4, 9)
    for dim in (0, 1):
        for ignore in (False, True):
            check("median_indices", x, dim=dim, ignore_nan=ignore)
        check("mode_indices", x, dim=dim)
    if x.is_floating_point():
        check("mode_indices", nbgrad.tensor([[3.0, NAN, 1.0], [NAN, NAN, NAN]]).to(x.dtype), dim=1)
        check("median_indices", nbgrad.tensor([[NAN, NAN, NAN]]).to(x.dtype), dim=1, ignore_nan=True)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bfloat16"])
def test_searchsorted(right, dtype):
    """In one sequence for all, and in a line each; values that are there, NaN among them."""
    x, sequence = special(40, dtype, 1), special(30, dtype).sort().values
    check("insertion_places", sequence, x, right=right)
    lines, values = special(3 * 30, dtype).reshape(3, 30).sort(1).values, special(3 * 8, dtype, 1).reshape(3, 8)
    check("insertion_places", lines, values, right=right)
    check("insertion_places", sequence[:0], x, right=right)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_members(invert, dtype):
    """A NaN is among none; zeros of both signs are one."""
    x, tests = special(60, dtype).reshape(6, 10), special(9, dtype, 1)
    check("are_members", x, tests, invert=invert)
    check("are_members", x.t(), tests[:0], invert=invert)


def test_bins():
    """Elements at the ends count, those outside and NaN do not."""
    x = nbgrad.cat([special(500), nbgrad.tensor([-2.0, 3.0, 2.9999])])
    outs, steps = counts.bin_steps(x.layout, 7, -2.0, 3.0)
    (found,) = run_all(outs, steps, [x])
    assert found.tolist() == nbgrad.histc(x, 7, -2, 3).tolist()


def test_what_has_no_order_is_refused():
    """As on the CPU, before anything runs."""
    with pytest.raises(DTypeError, match="complex numbers have no order"):
        on_cuda("argsort", sample((3,), "complex64"), dim=0, descending=False, stable=True)
    with pytest.raises(RangeError, match="topk: k = 4, expected 0 to 3"):
        on_cuda("top_indices", sample((3,)), k=4, dim=0, largest=True)


def test_short_lines_are_sorted_by_one_launch_behind_their_ranks():
    """Many of them in a block."""
    (_, steps), _ = launches("argsort", sample((1000, 16)), dim=1, descending=False, stable=True)
    assert [step.grid for step in steps.steps][1:] == [(8,)]
