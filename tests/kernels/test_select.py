"""Positions of the greatest elements: the few of each row, and the one up to each position."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.kernels.templates.select import MOST_BEST, MOST_SORTED

FLOATS = ("float32", "float64")
DTYPES = (*FLOATS, "int64", "int32", "int16", "int8", "uint8")
SHAPES = ((1,), (1000,), (7, 33), (3, 5, 129), (2, 128))


def tied_numbers(dtype, shape, rng):
    """Few different values, so that many are equal; both zeros, infinities and NaN among floats."""
    x = rng.integers(0, 50, shape).astype(dtype)
    if dtype in FLOATS:
        x -= 25
        for value in (-0.0, np.inf, -np.inf, np.nan):
            x[rng.random(shape) < 0.05] = value
    return x


def order_of(x, largest):
    """A stable order of the last dimension by the definition: NaN is the greatest number."""
    key = np.where(np.isnan(x.astype(float)), np.inf, x.astype(float))
    is_nan = np.isnan(x.astype(float))
    if largest:
        return np.lexsort((-key, ~is_nan), axis=-1)
    return np.lexsort((key, is_nan), axis=-1)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_best_few_are_the_first_of_a_stable_order(dtype, largest):
    """Of equal elements the first ones are taken, in their order, whether a kernel finds them or a sort."""
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x = tied_numbers(dtype, shape, rng)
        order = order_of(x, largest)
        for k in (1, 2, 5, MOST_BEST):
            k = min(k, shape[-1])
            values, indices = nbgrad.tensor(x).topk(k, largest=largest)
            np.testing.assert_array_equal(indices.numpy(), order[..., :k])
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order[..., :k], -1))


def test_elements_that_grow_are_all_insertions():
    """The worst case of the search: every element is the best so far."""
    x = np.arange(10_000, dtype=np.float32)
    for k in (1, MOST_BEST, MOST_BEST + 1):
        np.testing.assert_array_equal(nbgrad.tensor(x).topk(k)[1].numpy(), np.arange(9_999, 9_999 - k, -1))


def test_other_dimensions_layouts_and_half_types():
    """They are brought into the order that the kernel takes, or found otherwise."""
    rng = np.random.default_rng(1)
    x = rng.permutation(60).reshape(5, 12).astype(np.float32)
    expected = np.argsort(-x, axis=0)[:3]
    for t in (nbgrad.tensor(x), nbgrad.tensor(np.ascontiguousarray(x.T)).transpose(0, 1), nbgrad.tensor(x).to(nbgrad.float16)):
        np.testing.assert_array_equal(t.topk(3, 0)[1].numpy(), expected)
        np.testing.assert_array_equal(t.transpose(0, 1).topk(3, 1)[1].numpy(), expected.T)


def running(x, better):
    """Positions by the definition, along the last dimension: NaN wins once and for all, of equal elements the last one."""
    places = np.zeros(x.shape, np.int64)
    for row in np.ndindex(x.shape[:-1]):
        best = 0
        for i, value in enumerate(x[row]):
            if value != value or (x[row][best] == x[row][best] and better(value, x[row][best])):
                best = i
            places[row][i] = best
    return places


@pytest.mark.parametrize("name, better", [("cummax", np.greater_equal), ("cummin", np.less_equal)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_extrema(dtype, name, better):
    """Along the last dimension and across columns, the tile's end included."""
    rng = np.random.default_rng(2)
    for shape in ((1,), (60,), (4, 33), (2, 7, 130)):
        x = tied_numbers(dtype, shape, rng)
        for dim in range(len(shape)):
            values, indices = getattr(nbgrad.tensor(x), name)(dim)
            expected = np.moveaxis(running(np.moveaxis(x, dim, -1), better), -1, dim)
            np.testing.assert_array_equal(indices.numpy(), expected)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, dim))


def test_the_kth_value_takes_the_same_way():
    """For small and large k."""
    x = np.random.default_rng(3).permutation(400).astype(np.float64)
    for k in (1, MOST_BEST, 40, 399, 400):
        value, index = nbgrad.tensor(x).kthvalue(k)
        assert value.item() == k - 1 and x[index.item()] == k - 1


@pytest.mark.parametrize("dtype", (*DTYPES, "bool"))
@pytest.mark.parametrize("length", [1, 8, 9, 37, MOST_SORTED, MOST_SORTED + 1])
def test_lines_are_sorted_in_a_stable_order(dtype, length):
    """By a kernel as long as they are short, along each dimension; of equal elements the first one comes first."""
    rng = np.random.default_rng(4)
    for dim in range(3):
        x = (
            tied_numbers("int64", np.insert([2, 3], dim, length), rng) % 2 == 0
            if dtype == "bool"
            else (tied_numbers(dtype, np.insert([2, 3], dim, length), rng))
        )
        lines = np.moveaxis(x, dim, -1)
        for descending in (False, True):
            expected = np.moveaxis(order_of(lines, descending), -1, dim)
            for _ in range(2):
                values, indices = nbgrad.tensor(x).sort(dim, descending)
                np.testing.assert_array_equal(indices.numpy(), expected)
                np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, dim))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_found_in_short_lines(dtype):
    """Medians count what is not NaN, or find the first NaN; the mode is the smallest of the most frequent, its index the last."""
    rng = np.random.default_rng(5)
    x = tied_numbers(dtype, (40, 9), rng)
    x[:3] = np.nan if dtype in FLOATS else 1
    order, lost = order_of(x, False), np.isnan(x.astype(float))
    counts = (~lost).sum(1)
    places = {"median": np.where(lost.any(1), counts % 9, (counts - 1) // 2), "nanmedian": np.maximum(counts - 1, 0) // 2}
    for _ in range(2):
        for name, place in places.items():
            found = getattr(nbgrad.tensor(x), name)(1)
            np.testing.assert_array_equal(found.indices.numpy(), order[np.arange(40), place])
        values, indices = (each.numpy() for each in nbgrad.tensor(x).mode(1))
        for row, value, index in zip(x, values, indices):
            each, times = np.unique(row[~np.isnan(row.astype(float))], return_counts=True)
            if (times > 1).any() or len(each) == 9:
                assert value == each[times.argmax()] and index == np.flatnonzero(row == value)[-1]
            else:
                assert np.isnan(value) and index == np.isnan(row).argmax()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("q", [0, 0.3, 0.5, 1])
def test_quantiles_of_short_lines(dtype, q):
    """Between two elements of the order; NaN where there is one, or of what is not NaN: in every call."""
    rng = np.random.default_rng(6)
    for shape in ((1,), (17,), (3, 40), (2, 3, 5)):
        x = rng.normal(size=shape).astype(dtype)
        for lost in (False, True):
            x.reshape(-1)[0] = np.nan if lost else 0.5
            for _ in range(3):
                for dim in (None, *range(len(shape))):
                    expected = np.quantile(x, q, dim)
                    np.testing.assert_allclose(nbgrad.tensor(x).quantile(q, dim).numpy(), expected, rtol=1e-5, atol=1e-6)
                    if shape == (1,) and lost:
                        continue
                    counted = np.moveaxis(x, -1 if dim is None else dim, -1).reshape(-1, x.size if dim is None else shape[dim])
                    expected = [np.quantile(row[row == row], q) if (row == row).any() else np.nan for row in counted]
                    found = nbgrad.tensor(x).nanquantile(q, dim, True).numpy().reshape(-1)
                    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


LIMITS = np.iinfo(np.int64)


@pytest.mark.parametrize("low, high", [(LIMITS.min, LIMITS.max), (LIMITS.max - 2, LIMITS.max), (-3, 1 << 53)])
def test_orders_of_many_integers(low, high):
    """They are stable, also where integers and places do not fit into one word and numbers differ in their lowest bits alone."""
    rng = np.random.default_rng(7)
    x = rng.integers(low, high, (2, 3001), endpoint=True)
    x[0, 5::7], x[0, 6::7] = low, low + 1
    for descending in (False, True):
        expected = np.argsort(x if not descending else ~x, -1, kind="stable")
        assert (nbgrad.from_numpy(x).argsort(1, descending, stable=True).numpy() == expected).all()
