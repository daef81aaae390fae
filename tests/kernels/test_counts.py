"""Comparisons, counts and searches: the kernels of repeated calls against NumPy, and against the first call."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad

FLOATS = ("float32", "float64")
DTYPES = (*FLOATS, "float16", "int64", "int32", "int8", "uint8", "bool")
LENGTHS = (1, 2, 16, 65, 300)


def few_numbers(dtype, length, rng):
    """Few different values; both zeros, infinity and NaN among floats."""
    x = np.abs(rng.integers(-5, 6, length)) if dtype in ("uint8", "bool") else rng.integers(-5, 6, length)
    x = x.astype(dtype)
    if dtype in FLOATS:
        for value in (-0.0, np.inf, np.nan):
            x[rng.random(length) < 0.1] = value
    return x


def repeated(function, *args, **named):
    """The result of the third call, the first two being alike."""
    found = [function(*args, **named) for _ in range(3)]
    for each in found:
        np.testing.assert_array_equal(np.asarray(each), np.asarray(found[0]))
        assert getattr(each, "dtype", bool) is getattr(found[0], "dtype", bool)
    return found[2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_equality_of_all_elements(dtype):
    """A NaN equals nothing, both zeros are one number, and one difference decides wherever it is."""
    rng = np.random.default_rng(0)
    for length in (*LENGTHS, 5000):
        x = few_numbers(dtype, length, rng)
        y = x.copy()
        assert repeated(nbgrad.equal, nbgrad.tensor(x), nbgrad.tensor(y)) is np.array_equal(x, y)
        x = np.ones(length, dtype)
        assert repeated(nbgrad.equal, nbgrad.tensor(x), nbgrad.tensor(x.copy())) is True
        y = x.copy()
        y[rng.integers(length)] = 0
        assert repeated(nbgrad.equal, nbgrad.tensor(x), nbgrad.tensor(y)) is False


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("invert", [True, False])
def test_members(dtype, invert):
    """As NumPy says, among few tests and many."""
    rng = np.random.default_rng(1)
    for length in LENGTHS:
        x = few_numbers(dtype, length, rng)
        for tests in (few_numbers(dtype, 3, rng), few_numbers(dtype, 40, rng)):
            found = repeated(nbgrad.isin, nbgrad.tensor(x), nbgrad.tensor(tests), invert=invert)
            np.testing.assert_array_equal(found.numpy(), np.isin(x, tests, invert=invert))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("right", [True, False])
def test_places_in_sorted_sequences(dtype, right):
    """Before equal elements or behind them, NaN being the greatest number; a sequence for each row of values."""
    rng, side = np.random.default_rng(2), "right" if right else "left"
    for length in LENGTHS:
        sequence, x = np.sort(few_numbers(dtype, length, rng)), few_numbers(dtype, 50, rng)
        expected = np.searchsorted(sequence, x, side)
        found = repeated(nbgrad.searchsorted, nbgrad.tensor(sequence), nbgrad.tensor(x), right=right)
        np.testing.assert_array_equal(found.numpy(), expected)
        found = repeated(nbgrad.bucketize, nbgrad.tensor(x), nbgrad.tensor(sequence), right=right)
        np.testing.assert_array_equal(found.numpy(), expected)
        rows, values = np.sort(few_numbers(dtype, (2, length), rng)), few_numbers(dtype, (2, 5), rng)
        found = repeated(nbgrad.searchsorted, nbgrad.tensor(rows), nbgrad.tensor(values), right=right)
        np.testing.assert_array_equal(found.numpy(), [np.searchsorted(*each, side) for each in zip(rows, values)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_different_elements(dtype):
    """Every NaN is one of its own; repetitions go, in order or beside one another."""
    rng = np.random.default_rng(3)
    for length in LENGTHS:
        for x in (few_numbers(dtype, length, rng), np.arange(length).astype(dtype), np.zeros(length, dtype)):
            found = repeated(nbgrad.unique, nbgrad.tensor(x))
            np.testing.assert_array_equal(found.numpy(), np.unique(x, equal_nan=False))
            found = repeated(nbgrad.unique_consecutive, nbgrad.tensor(x))
            np.testing.assert_array_equal(found.numpy(), x[np.insert(x[1:] != x[:-1], 0, True)])


@pytest.mark.parametrize("bins", [1, 3, 10])
@pytest.mark.parametrize("dtype", FLOATS)
def test_histograms_have_the_edges_of_numpy(dtype, bins):
    """Elements on edges are counted where NumPy counts them; all of them, and those of an interval."""
    rng = np.random.default_rng(4)
    for x in (rng.normal(size=200), rng.integers(0, bins + 1, 50), np.full(4, 2.5), rng.normal(size=9) * 1e-30):
        x = x.astype(dtype)
        hist, edges = (repeated(lambda t, k=k: nbgrad.histogram(t, bins)[k], nbgrad.tensor(x)) for k in range(2))
        ends = (x.min(), x.max()) if x.min() < x.max() else (x.min() - 0.5, x.max() + 0.5)
        np.testing.assert_array_equal(edges.numpy(), np.linspace(*map(float, ends), bins + 1).astype(dtype))
        np.testing.assert_array_equal(hist.numpy(), np.histogram(x, edges.numpy())[0])
        found = repeated(nbgrad.histc, nbgrad.tensor(x), bins, 0, bins)
        assert found.sum() == ((x >= 0) & (x <= bins)).sum() and found.dtype.name == dtype


@pytest.mark.parametrize("function", [nbgrad.histc, nbgrad.histogram])
def test_a_histogram_of_the_same_layout_may_have_no_interval(function):
    """NaN and infinity are refused in every call."""
    good = nbgrad.tensor([1.0, 2.0, 3.0])
    for value in (float("nan"), float("inf")):
        function(good, 4)
        with pytest.raises(nbgrad.RangeError, match="is not finite"):
            function(nbgrad.tensor([1.0, value, 3.0]), 4)


def test_counts_and_classes():
    """As many as the greatest number says, or more; the next tensor of the layout has its own greatest."""
    for values in ([0, 2, 2], [5, 0, 1], [1, 1, 1]):
        x = nbgrad.tensor(values)
        np.testing.assert_array_equal(repeated(nbgrad.bincount, x).numpy(), np.bincount(values))
        np.testing.assert_array_equal(repeated(nbgrad.bincount, x, minlength=4).numpy(), np.bincount(values, minlength=4))
        found = repeated(nbgrad.nn.functional.one_hot, x)
        np.testing.assert_array_equal(found.numpy(), np.eye(max(values) + 1, dtype=int)[values])
        np.testing.assert_array_equal(repeated(nbgrad.nn.functional.one_hot, x, 6).numpy(), np.eye(6, dtype=int)[values])
    for dtype, sums in ((nbgrad.float32, nbgrad.float32), (nbgrad.float16, nbgrad.float64), (nbgrad.int64, nbgrad.float64)):
        found = nbgrad.bincount(nbgrad.tensor([0, 2, 2]), nbgrad.tensor([1, 2, 3], dtype=dtype))
        assert found.tolist() == [1.0, 0.0, 5.0] and found.dtype is sums
    with pytest.raises(nbgrad.DTypeError):
        nbgrad.bincount(nbgrad.tensor([0, -1, 2]))
    for wrong in ([0, 6, 2], [0, -1, 2]):
        with pytest.raises(nbgrad.DimError):
            nbgrad.nn.functional.one_hot(nbgrad.tensor(wrong), 6)
    with pytest.raises(nbgrad.DimError):
        nbgrad.nn.functional.one_hot(nbgrad.tensor([0, -1, 2]))


@pytest.mark.parametrize("name", ["unique", "unique_consecutive", "histogram"])
def test_a_repeated_call_of_what_has_no_derivative_refuses_it(name):
    """Prepared for tensors without gradients; with one it is what it was before."""

    def call(x):
        return nbgrad.histogram(x, 3)[0] if name == "histogram" else getattr(nbgrad, name)(x)

    call(nbgrad.tensor([1.0, 1.0, 2.0])), call(nbgrad.tensor([1.0, 1.0, 2.0]))
    for _ in range(2):
        out = call(nbgrad.tensor([1.0, 1.0, 2.0], requires_grad=True))
        with pytest.raises(nbgrad.NotSupportedError):
            out.sum().backward()


def test_negative_indices_after_others():
    """``take_along_dim`` counts from the end in any call."""
    x = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    for index in ([[0, 1], [1, 0]], [[0, 1], [1, 0]], [[-1, 1], [1, -2]]):
        expected = np.take_along_axis(x.numpy(), np.array(index), 1)
        np.testing.assert_array_equal(nbgrad.take_along_dim(x, nbgrad.tensor(index), 1).numpy(), expected)
