"""Conventions of orders, NaN, padding and indices that samples of smooth points do not show; types of errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbgrad
import nbgrad.nn.functional as F

NAN, INF = math.nan, math.inf


def lists(result) -> list:
    """Results as nested lists."""
    return [x.tolist() for x in result] if isinstance(result, tuple) else result.tolist()


# ---- orders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, want",
    [
        (lambda: nbgrad.tensor([3.0, 1.0, 2.0, 0.0]).median(), 1.0),  # the lower of two
        (lambda: nbgrad.tensor([1.0, NAN, 2.0]).nanmedian(), 1.0),
        (lambda: nbgrad.tensor([[2.0, 1.0, 2.0]]).median(1), [[2.0], [0]]),
        (lambda: nbgrad.tensor([1.0, 2.0, 2.0, 1.0]).mode(), [1.0, 3]),  # the smallest, at its last place
        (lambda: nbgrad.tensor([1.0, 3.0, 3.0, 2.0]).cummax(0), [[1.0, 3.0, 3.0, 3.0], [0, 1, 2, 2]]),
        (lambda: nbgrad.tensor([2, 2, 1, 3]).cummin(0), [[2, 2, 1, 1], [0, 1, 2, 2]]),
    ],
)
def test_conventions_of_orders(call, want):
    """Which of equal elements counts, and where."""
    assert lists(call()) == want


def test_nan_wins_in_median_and_running_extrema():
    """A missing number makes the median missing; from it on, every running extremum."""
    x = nbgrad.tensor([1.0, NAN, 0.0])
    values, index = x.median(0)
    assert math.isnan(values.item()) and index.item() == 1
    assert np.isnan(x.cummax(0).values.numpy()).tolist() == [False, True, True]


def test_gradient_goes_to_the_element_that_was_chosen():
    """Of the median, the mode and a running maximum."""
    x = nbgrad.tensor([3.0, 1.0, 2.0], requires_grad=True)
    assert lists(nbgrad.grad(x.median(), x)) == [[0.0, 0.0, 1.0]]
    assert lists(nbgrad.grad(x.mode().values, x)) == [[0.0, 1.0, 0.0]]
    assert lists(nbgrad.grad(x.cummax(0).values.sum(), x)) == [[3.0, 0.0, 0.0]]


def test_nothing_has_no_median():
    """Of no numbers it is NaN, with an empty gradient; an empty dimension, or no integers, are an error that names it."""
    for dtype in ("float16", "float32", "float64"):
        x = nbgrad.empty((2, 0), dtype=dtype, requires_grad=True)
        for y in (x.median(), x.nanmedian()):
            assert math.isnan(y.item()) and y.dtype is x.dtype and nbgrad.grad(y, x)[0].shape == (2, 0)
    for call in (lambda: nbgrad.empty(2, 0).median(1), lambda: nbgrad.empty(0, dtype=nbgrad.int64).median()):
        with pytest.raises(nbgrad.DimError, match="median: .*no elements"):
            call()


@pytest.mark.parametrize("shape", [(5,), (700,), (2, 3, 600), (600, 4)])
def test_median_of_equal_elements(shape):
    """The index, where the gradient goes, is the one that a stable sort has there, however long the rows are."""
    x = nbgrad.tensor(np.random.default_rng(0).integers(0, 4, shape).astype(float))
    for dim, size in enumerate(shape):
        expected = np.take(np.argsort(x.numpy(), dim, kind="stable"), (size - 1) // 2, dim)
        np.testing.assert_array_equal(x.median(dim).indices.numpy(), expected)


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float32", "int64"])
def test_no_indices_are_of_any_dtype(dtype):
    """An empty index gathers and scatters nothing."""
    x, index = nbgrad.ones(3), nbgrad.empty(0, dtype=dtype)
    assert x.gather(0, index).tolist() == []
    assert x.scatter(0, index, 2.0).tolist() == x.scatter_add(0, index, nbgrad.ones(0)).tolist() == [1.0] * 3
    with pytest.raises(nbgrad.DTypeError, match="index must be int64 or int32, got uint8"):
        x.gather(0, nbgrad.zeros(1, dtype=nbgrad.uint8))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_complex_numbers_without_an_imaginary_part_are_stored(dtype):
    """As the real numbers that they are; any other is refused."""
    x = nbgrad.zeros(2, dtype=dtype)
    x[0] = 2 + 0j
    assert x.tolist() == [2, 0] and x.fill_(3 + 0j).tolist() == [3, 3] and nbgrad.full_like(x, 4 + 0j).tolist() == [4, 4]
    assert x.masked_fill(nbgrad.tensor([True, False]), 5 + 0j).tolist() == [5, 3]
    for call in (lambda: x.fill_(1j), lambda: nbgrad.full_like(x, 1j), lambda: x.fill_(complex(0, NAN))):
        with pytest.raises(nbgrad.DTypeError, match="complex"):
            call()


# ---- missing numbers -------------------------------------------------------------------------------------------------


def test_sums_and_means_without_nan():
    """NaN neither counts nor gets a gradient."""
    x = nbgrad.tensor([[1.0, NAN], [2.0, 4.0]], requires_grad=True)
    assert x.nansum().item() == 7.0 and x.nanmean(0).tolist() == [1.5, 4.0]
    assert lists(nbgrad.grad(x.nansum(), x)) == [[[1.0, 0.0], [1.0, 1.0]]]


def test_numbers_in_the_place_of_nan_and_infinities():
    """By default 0 and the limits of the dtype; replaced elements have gradient 0, integers stay."""
    x = nbgrad.tensor([NAN, INF, -INF, 1.0], requires_grad=True)
    limit = nbgrad.finfo(nbgrad.float32).max
    y = nbgrad.nan_to_num(x)
    assert y.tolist() == [0.0, limit, -limit, 1.0]
    assert lists(nbgrad.grad(y.sum(), x)) == [[0.0, 0.0, 0.0, 1.0]]
    assert nbgrad.nan_to_num(x, 5.0, 6.0, 7.0).tolist() == [5.0, 6.0, 7.0, 1.0]
    assert nbgrad.nan_to_num(nbgrad.tensor([1, 2])).tolist() == [1, 2]


def test_fmax_and_fmin_prefer_numbers():
    """NaN only if both are."""
    x, y = nbgrad.tensor([NAN, 1.0, NAN]), nbgrad.tensor([2.0, NAN, NAN])
    assert nbgrad.fmax(x, y).tolist()[:2] == [2.0, 1.0] and nbgrad.fmin(x, y).tolist()[:2] == [2.0, 1.0]
    assert math.isnan(nbgrad.fmax(x, y)[2].item())


def test_xlogy_at_zero():
    """0 log(y) is 0 for every number y, NaN for NaN."""
    out = nbgrad.xlogy(0.0, nbgrad.tensor([0.0, -1.0, INF, NAN]))
    assert out.tolist()[:3] == [0.0, 0.0, 0.0] and math.isnan(out[3].item())


# ---- joins and indices -----------------------------------------------------------------------------------------------


def test_unique_gives_what_is_asked_for():
    """Values alone, or with inverse and counts, of elements or of slices."""
    x = nbgrad.tensor([[2, 1], [2, 1], [3, 1]])
    assert nbgrad.unique(x).tolist() == [1, 2, 3]
    values, inverse, counts = nbgrad.unique(x, return_inverse=True, return_counts=True)
    assert values[inverse].tolist() == x.tolist() and counts.tolist() == [3, 2, 1]
    assert nbgrad.unique(x, dim=0).tolist() == [[2, 1], [3, 1]]


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float16, nbgrad.bfloat16])
def test_nan_is_the_greatest_to_searches_in_every_dtype(dtype):
    """Where it is put, whether it is a member, and the order of different values."""
    nan = float("nan")
    x, line = nbgrad.tensor([3.0, nan, 1.0, nan, 1.0], dtype=dtype), nbgrad.tensor([1.0, 2.0, nan], dtype=dtype)
    assert nbgrad.searchsorted(line, x).tolist() == [2, 2, 0, 2, 0]
    assert nbgrad.isin(x, line).tolist() == [False, False, True, False, True]
    values, counts = nbgrad.unique(x, return_counts=True)
    assert values.dtype is dtype and str(values.tolist()) == "[1.0, 3.0, nan, nan]" and counts.tolist() == [2, 1, 1, 1]


def test_searchsorted_beside_equal_elements():
    """Left of them by default; in rows of their own where the sequences have several."""
    rows = nbgrad.tensor([[1.0, 2.0, 2.0], [0.0, 5.0, 6.0]])
    assert nbgrad.searchsorted(rows, nbgrad.tensor([[2.0], [5.5]])).tolist() == [[1], [2]]
    assert nbgrad.searchsorted(rows[0], 2.0, right=True).item() == 3
    assert nbgrad.bucketize(nbgrad.tensor([2]), rows[0], out_int32=True).dtype is nbgrad.int32


def test_one_hot_of_any_shape():
    """A new last dimension; without num_classes as many as there are."""
    assert F.one_hot(nbgrad.tensor([[0], [2]])).tolist() == [[[1, 0, 0]], [[0, 0, 1]]]
    with pytest.raises(nbgrad.DTypeError, match="one_hot: expected classes in int64"):
        F.one_hot(nbgrad.ones(2))


def test_padding_takes_elements_away_where_it_is_negative():
    """The result is that of a slice, with its gradient."""
    x = nbgrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert F.pad(x, (-1, 1)).tolist() == [2.0, 3.0, 0.0]
    assert lists(nbgrad.grad(F.pad(x, (-1, 1)).sum(), x)) == [[0.0, 1.0, 1.0]]
    with pytest.raises(nbgrad.ShapeError, match="cannot reflect"):
        F.pad(x, (3, 0), "reflect")


@pytest.mark.parametrize("name", ["hardtanh", "relu6", "hardsigmoid", "hardswish", "celu", "selu", "mish", "elu", "relu", "silu"])
def test_activations_take_inplace(name):
    """``inplace=True`` overwrites and returns the input."""
    x = nbgrad.tensor([-4.0, 0.5, 7.0])
    want = getattr(F, name)(x)
    assert getattr(F, name)(x, inplace=True) is x
    assert x.tolist() == want.tolist()


# ---- errors ----------------------------------------------------------------------------------------------------------


def x():
    """A matrix."""
    return nbgrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize(
    "call, errors, match",
    [
        (lambda: x()[1.0], (IndexError, TypeError), "index: float is no index"),
        (lambda: F.cross_entropy(x(), nbgrad.tensor([0, 7])), (IndexError,), "cross_entropy: a target is out of range"),
        (lambda: F.cross_entropy(x(), nbgrad.tensor([0, 1, 2])), (ValueError,), "cross_entropy: input"),
        (lambda: nbgrad.gather(x(), 1, nbgrad.tensor([[5]])), (RuntimeError, IndexError), "gather: index 5"),
        (lambda: nbgrad.index_select(x(), 0, nbgrad.tensor([[0]])), (IndexError,), "index_select: index must have"),
        (lambda: nbgrad.cat([]), (ValueError,), "cat: expected at least one tensor"),
        (lambda: nbgrad.cat(x()), (TypeError,), "cat: expected a sequence of tensors, got a Tensor"),
        (lambda: x().clamp(), (RuntimeError, ValueError), "clamp: min and max are None"),
        (lambda: ~x(), (TypeError,), "bitwise_not: expected integer or bool"),
        (lambda: x() & x(), (NotImplementedError,), "bitwise_and: expected integer or bool"),
        (lambda: nbgrad.tensor(None), (RuntimeError,), "tensor: expected numbers, got NoneType"),
        (lambda: nbgrad.kron(x(), 1), (TypeError,), "kron: other must be a Tensor, got int. Hint"),
        (lambda: nbgrad.topk(x(), 9), (RuntimeError,), "topk: k = 9"),
        # Of a shape that no other test sums: where there is a plan for 1, 1.0 finds it (docs/differences.md).
        (lambda: nbgrad.ones(7, 1, 3, 1, 2).sum(1.0), (TypeError,), "sum: dim must be an int, got float"),
        (lambda: x().cumsum(4), (IndexError,), "cumsum: dim 4"),
        (lambda: F.gelu(nbgrad.tensor([1])), (NotImplementedError,), "gelu: expected floating operands, got nbgrad.int64"),
        (lambda: F.softplus(nbgrad.tensor([1])), (NotImplementedError,), "softplus: expected floating operands, got nbgrad.int64"),
        (lambda: F.mse_loss(x(), "y"), (TypeError,), "mse_loss: "),
        (lambda: nbgrad.div(nbgrad.tensor([1]), 0, rounding_mode="floor"), (RuntimeError, ZeroDivisionError), "div: y is 0"),
        (lambda: x().var(5), (IndexError,), "var: dim 5"),
        (lambda: F.layer_norm([[1.0]], (1,)), (TypeError,), "layer_norm: expected a Tensor"),
    ],
)
def test_error_is_what_users_catch(call, errors, match):
    """The type is that of torch, and of Python where it differs; the message names the function that was called."""
    with pytest.raises(nbgrad.NbgradError, match=match) as caught:
        call()
    assert all(isinstance(caught.value, error) for error in (RuntimeError, *errors))


@pytest.mark.parametrize(
    "data, value, index",
    [
        ([np.nan, 1.0, 2.0], np.nan, 0),
        ([np.nan, np.nan, 2.0], np.nan, 0),
        ([1.0, np.nan, 2.0, np.nan], np.nan, 1),
        ([np.nan, 2.0, 2.0], 2.0, 2),
        ([3.0, np.nan, 3.0, np.nan, np.nan], 3.0, 2),
        ([np.nan], np.nan, 0),
    ],
)
def test_mode_of_nan(data, value, index):
    """No NaN equals another: a number that comes twice is the mode, else the first NaN is."""
    values, indices = nbgrad.mode(nbgrad.tensor(data))
    np.testing.assert_equal((values.item(), indices.item()), (value, index))


def test_mode_of_nothing():
    """A dimension without elements has none; no rows have none each."""
    with pytest.raises(nbgrad.NbgradError, match="mode: dimension 0 of"):
        nbgrad.zeros(0, 2).mode(0)
    assert nbgrad.zeros(0, 2).mode(-1).values.shape == (0,)


@pytest.mark.parametrize("shape, dim", [((), None), ((1,), None), ((0,), None), ((1, 2), 0), ((1, 2), 1), ((0, 2), 0), ((2, 1), 1)])
def test_unique_consecutive_of_one_or_none(shape, dim):
    """One slice is its own only one, and none are none."""
    x = nbgrad.ones(shape)
    values, inverse, counts = x.unique_consecutive(return_inverse=True, return_counts=True, dim=dim)
    number = x.numel() if dim is None else x.shape[dim]
    assert counts.tolist() == ([number] if number else []) and inverse.numel() == number
    assert values.shape == ((min(number, 1),) if dim is None else tuple(min(s, 1) if d == dim else s for d, s in enumerate(shape)))


def test_unique_consecutive_refuses_dimensions_of_a_number():
    """A 0-d tensor has none."""
    with pytest.raises(nbgrad.NbgradError, match="unique_consecutive: input has no dimensions"):
        nbgrad.tensor(1.0).unique_consecutive(dim=0)


def test_no_difference_is_the_input():
    """With n = 0 nothing is attached, and nothing is shared."""
    x = nbgrad.arange(4.0).reshape(2, 2)
    y = x.diff(0, prepend=nbgrad.ones(2, 1), append=nbgrad.ones(2, 3))
    assert y.tolist() == x.tolist() and y.data_ptr() != x.data_ptr()
    assert x.diff(5).shape == (2, 0)


def test_prelu_of_numbers_and_of_weights_that_do_not_fit():
    """A 0-d input stays one, with a weight of any form; several weights need a dimension of channels."""
    x = nbgrad.tensor(-2.0)
    assert nbgrad.prelu(x, nbgrad.tensor([0.5])).shape == nbgrad.prelu(x, nbgrad.tensor(0.5)).shape == ()
    for shape in ((), (2,), (2, 2)):
        with pytest.raises(nbgrad.ShapeError, match="prelu: weight has shape"):
            nbgrad.prelu(nbgrad.ones(shape), nbgrad.ones(3))


def test_powers_as_columns():
    """Any number of them, none included; ``vander`` takes one vector, ``linalg.vander`` a batch."""
    x = nbgrad.tensor([2.0, 3.0])
    assert nbgrad.vander(x, 3).tolist() == [[4, 2, 1], [9, 3, 1]]
    assert nbgrad.vander(x, 0).shape == nbgrad.linalg.vander(x, N=0).shape == (2, 0)
    for call in (
        lambda: nbgrad.vander(x, -1),
        lambda: nbgrad.linalg.vander(x, N=-1),
        lambda: nbgrad.vander(nbgrad.ones(2, 2)),
        lambda: nbgrad.linalg.vander(nbgrad.tensor(1.0)),
    ):
        with pytest.raises(nbgrad.NbgradError, match="vander: "):
            call()


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dx", [None, 1, 0.5, 3])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 6])
def test_trapezoids_of_evenly_spaced_points(size, dx, dim):
    """As with coordinates: values, derivatives of both modes, infinities at the ends; of integers too."""
    shape = (size, 3) if dim == 0 else (3, size)
    values = np.random.default_rng(0).normal(size=shape)
    if size > 2:
        values[-1, -1] = np.inf
    places = nbgrad.arange(size) * (1.0 if dx is None else float(dx))
    y = nbgrad.tensor(values, requires_grad=True)
    out, expected = nbgrad.trapezoid(y, dx=dx, dim=dim), nbgrad.trapezoid(y, places.double(), dim=dim)
    assert np.allclose(out.detach().numpy(), expected.detach().numpy()) and out.shape == expected.shape
    weight = nbgrad.tensor([1.0, -2.0, 3.0], dtype=nbgrad.float64)
    assert np.allclose(*(nbgrad.grad((each * weight).sum(), y)[0].numpy() for each in (out, expected)))
    t = nbgrad.ones_like(y.detach())
    assert np.allclose(
        *(
            nbgrad.func.jvp(f, (y.detach(),), (t,))[1].numpy()
            for f in (lambda y: nbgrad.trapezoid(y, dx=dx, dim=dim), lambda y: nbgrad.trapezoid(y, places.double(), dim=dim))
        )
    )
    whole = nbgrad.arange(3 * size).reshape(shape)
    assert np.allclose(nbgrad.trapezoid(whole, dx=dx, dim=dim).numpy(), nbgrad.trapezoid(whole.double(), dx=dx, dim=dim).numpy())


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("spacing", [1, 0.5, -2])
@pytest.mark.parametrize("size", [3, 4, 7])
def test_differences_of_evenly_spaced_points(size, spacing, edge_order):
    """A number is what evenly spaced coordinates are: values and gradients, and NumPy's values."""
    values = np.random.default_rng(0).normal(size=(3, size))
    x = nbgrad.tensor(values, requires_grad=True)
    found = [
        nbgrad.gradient(x, spacing=each, dim=1, edge_order=edge_order)[0]
        for each in (spacing, (nbgrad.arange(size).double() * spacing,))
    ]
    assert np.allclose(found[0].detach().numpy(), np.gradient(values, spacing, axis=1, edge_order=edge_order))
    assert np.allclose(*(nbgrad.grad((each**2).sum(), x)[0].numpy() for each in found))


def test_trapezoids_of_small_integers():
    """Pairs are added up in int64, as in sums: of uint8, of int32 at its end, and of truth values."""
    assert nbgrad.trapezoid(nbgrad.tensor([200, 100, 250], dtype=nbgrad.uint8)).item() == 325.0
    assert nbgrad.trapezoid(nbgrad.tensor([2**30] * 3, dtype=nbgrad.int32)).item() == 2.0**31
    assert nbgrad.cumulative_trapezoid(nbgrad.tensor([True, True, False])).tolist() == [1.0, 1.5]


def test_trapezoids_beside_more_points_than_values():
    """Coordinates of more dimensions than the values: the values are the same for all rows."""
    y, x = nbgrad.tensor([1.0, 3.0, 2.0]), nbgrad.tensor([[0.0, 1.0, 3.0], [0.0, 2.0, 3.0]])
    assert nbgrad.trapezoid(y, x).tolist() == [nbgrad.trapezoid(y, row).item() for row in x]
    assert nbgrad.cumulative_trapezoid(y, x).tolist() == [nbgrad.cumulative_trapezoid(y, row).tolist() for row in x]


# ---- numbers beside tensors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.bfloat16, nbgrad.float32, nbgrad.float64], ids=str)
def test_numbers_are_looked_for_in_the_dtype_of_the_tensor(dtype):
    """0.1 is among the elements of a tensor made of it, and has a place before them."""
    x = nbgrad.tensor([0.1], dtype=dtype)
    assert nbgrad.isin(x, 0.1).tolist() == [True] and nbgrad.isin(0.1, x).item() is True
    assert nbgrad.searchsorted(x, 0.1).item() == 0 and nbgrad.searchsorted(x, 0.1, right=True).item() == 1
    assert nbgrad.isin(nbgrad.tensor([1, 2], dtype=nbgrad.int8), 257).tolist() == [False, False]
    assert nbgrad.isin(nbgrad.tensor([1, 2]), 1.5).tolist() == [False, False]


@pytest.mark.parametrize("dtype", [nbgrad.bfloat16, nbgrad.float32, nbgrad.float64], ids=str)
def test_the_ends_of_a_histogram_are_numbers_of_its_dtype(dtype):
    """An element that equals ``max`` is counted, in the last interval."""
    x = nbgrad.tensor([0.1, 0.2, 0.3], dtype=dtype)
    assert nbgrad.histc(x, 3, 0.0, 0.3).sum().item() == 3
    if dtype is not nbgrad.bfloat16:
        assert nbgrad.histogram(x, 3, range=(0.0, x.max().item())).hist.sum().item() == 3


def test_histogram_of_one_number():
    """The interval is half a unit to both sides; without elements from 0 to 1."""
    found = nbgrad.histogram(nbgrad.full((4,), 2.0), 2, density=True)
    assert found.bin_edges.tolist() == [1.5, 2.0, 2.5] and found.hist.tolist() == [0.0, 2.0]
    assert nbgrad.histogram(nbgrad.zeros(0), 2).bin_edges.tolist() == [0.0, 0.5, 1.0]
    assert nbgrad.histogram(nbgrad.full((4,), 2.0), 2, range=(0.0, 0.0)).bin_edges.tolist() == [-0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nbgrad.bincount(x, minlength=-1),
        lambda x: nbgrad.combinations(x, -1),
        lambda x: nbgrad.bucketize(x, nbgrad.tensor(1)),
        lambda x: nbgrad.searchsorted(nbgrad.tensor(1), x),
        lambda x: nbgrad.searchsorted(nbgrad.zeros(0, 3), x),
        lambda x: nbgrad.rot90(nbgrad.ones(2, 2), 1, [0]),
        lambda x: nbgrad.rot90(nbgrad.ones(2, 2), 1, [0, 1, 0]),
        lambda x: nbgrad.repeat_interleave(x[0], 2, 1),
        lambda x: nbgrad.cross(x[0], x[0]),
    ],
)
def test_arguments_that_the_functions_underneath_refuse(call):
    """What NumPy's functions underneath cannot do is refused in the house's words."""
    with pytest.raises(nbgrad.NbgradError):
        call(nbgrad.tensor([1, 2, 3]))


def test_combinations_of_none():
    """There is nothing to choose: no element."""
    assert nbgrad.combinations(nbgrad.tensor([1, 2, 3]), 0).shape == (0,)
    assert nbgrad.combinations(nbgrad.tensor([1, 2, 3]), 4).shape == (0, 4)


@pytest.mark.parametrize(
    "before, after, mode, want",
    [
        (-1, 2, "reflect", [1, 2, 1, 0]),
        (2, -2, "reflect", [2, 1, 0]),
        (-2, 1, "reflect", [2, 1]),
        (-1, -1, "reflect", [1]),
        (2, 2, "reflect", [2, 1, 0, 1, 2, 1, 0]),
        (-3, 2, "replicate", [2, 2]),
        (-2, 3, "replicate", [2, 2, 2, 2]),
        (3, -2, "replicate", [0, 0, 0, 0]),
        (-3, 0, "replicate", []),
        (-1, 2, "circular", [1, 2, 1, 2]),
        (4, 0, "circular", [2, 0, 1, 2, 0, 1, 2]),
    ],
)
def test_padding_repeats_elements_that_it_takes_away(before, after, mode, want):
    """Reflection and replication are of the whole dimension, whatever is cut off at its other end."""
    x = nbgrad.arange(3.0).reshape(1, 1, 3).requires_grad_()
    out = F.pad(x, (before, after), mode)
    assert out.flatten().tolist() == want
    counts = [want.count(k) for k in range(3)]
    assert nbgrad.grad(out.sum(), x)[0].flatten().tolist() == counts


def test_nothing_can_be_repeated():
    """Of a dimension without elements, or further than reflection reaches."""
    for mode in ("reflect", "replicate", "circular"):
        with pytest.raises(nbgrad.ShapeError, match="pad: "):
            F.pad(nbgrad.zeros(1, 1, 0), (1, 1), mode)
    with pytest.raises(nbgrad.ShapeError, match="cannot reflect 3 and 0"):
        F.pad(nbgrad.zeros(1, 1, 3), (3, 0), "reflect")


def test_the_cosine_of_complex_vectors_is_refused():
    """It has several meanings; integers have no lengths."""
    for x in (nbgrad.tensor([1j]), nbgrad.tensor([1])):
        with pytest.raises(nbgrad.DTypeError, match="cosine_similarity: x1 and x2 are"):
            F.cosine_similarity(x, x, 0)


def test_logsumexp_of_nothing():
    """The logarithm of 0, of complex numbers too."""
    for dtype in (nbgrad.float32, nbgrad.complex64):
        assert nbgrad.zeros(0, 2, dtype=dtype).logsumexp(0).real.tolist() == [-np.inf, -np.inf]
        assert nbgrad.zeros(2, 0, dtype=dtype).logsumexp(0, keepdim=True).shape == (1, 0)


def test_numbers_for_nan_in_both_parts():
    """nan_to_num of complex numbers replaces real and imaginary parts; the gradient is 0 where they were."""
    x = nbgrad.tensor([complex(NAN, INF), complex(-INF, 1), complex(1, 2)], dtype=nbgrad.complex128, requires_grad=True)
    most = nbgrad.finfo(nbgrad.float64).max
    y = nbgrad.nan_to_num(x)
    assert y.tolist() == [complex(0, most), complex(-most, 1), complex(1, 2)]
    assert nbgrad.grad(y.real.sum() + y.imag.sum(), x)[0].tolist() == [0, 1j, 1 + 1j]
    assert nbgrad.nan_to_num(x, 7.0, 8.0, 9.0).tolist() == [7 + 8j, 9 + 1j, 1 + 2j]


def test_every_nan_is_a_value_of_its_own():
    """NaN equals nothing, so unique keeps each of them."""
    values, counts = nbgrad.unique(nbgrad.tensor([NAN, 1.0, NAN, 1.0]), return_counts=True)
    assert values[0].item() == 1 and values[1:].isnan().all()
    assert counts.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    "dtype, value, decimals, want",
    [
        ("float16", 1000.0, 2, 1000.0),
        ("float16", 60000.0, -4, 60000.0),
        ("float32", 3e38, 2, 3e38),
        ("float32", 1.25, 1, 1.2),
        ("float32", INF, 2, INF),
        ("float64", -0.04, 1, -0.0),
    ],
)
def test_rounding_to_decimals_stays_in_range(dtype, value, decimals, want):
    """Numbers whose product with a power of ten no float holds are whole already."""
    x = nbgrad.tensor([value], dtype=dtype)
    assert x.round(decimals=decimals).tolist() == nbgrad.tensor([want], dtype=dtype).tolist()
    assert x.round_(decimals=decimals).tolist() == nbgrad.tensor([want], dtype=dtype).tolist()
    with pytest.raises(nbgrad.DTypeError):
        nbgrad.tensor([1]).round(decimals=1)


def test_sinc_is_exact_at_integers_and_near_0():
    """0 at whole numbers, however great; derivatives near 0 from the power series: -pi**2 x / 3, -pi**2 / 3, pi**4 x / 5."""
    assert not nbgrad.sinc(nbgrad.tensor([1.0, -2.0, 12345.0, 1e30, INF])).any()
    for dtype, x in ((nbgrad.float32, 1e-30), (nbgrad.float64, 1e-200), (nbgrad.float64, 1e-3)):
        point, orders = nbgrad.tensor(x, dtype=dtype), []
        f = nbgrad.sinc
        for _ in range(3):
            f = nbgrad.func.grad(f)
            orders.append(f(point).item())
        assert orders == pytest.approx([-(math.pi**2) * x / 3, -(math.pi**2) / 3, math.pi**4 * x / 5], rel=1e-4)


def test_the_derivative_of_erfcx_far_out():
    """-1 / (root(pi) x**2), and twice that over x: the difference of equals that it is by definition has no digits there."""
    for x in (1e3, 1e8, 1e20):
        first, second = nbgrad.func.grad(nbgrad.special.erfcx), nbgrad.func.grad(nbgrad.func.grad(nbgrad.special.erfcx))
        point = nbgrad.tensor(x, dtype=nbgrad.float64)
        assert first(point).item() == pytest.approx(-1 / (math.sqrt(math.pi) * x * x), rel=1e-5)
        assert second(point).item() == pytest.approx(2 / (math.sqrt(math.pi) * x**3), rel=1e-5)


def test_where_takes_bytes_as_truth_values():
    """Torch's masks before it had bools: 0 is false, all else is true, in every form; other integers are no condition."""
    mask, x = nbgrad.tensor([2, 0], dtype=nbgrad.uint8), nbgrad.tensor([1.0, 2.0], requires_grad=True)
    y = nbgrad.tensor([3.0, 4.0])
    for made in (nbgrad.where(mask, x, y), x.where(mask, y), nbgrad.vmap(nbgrad.where)(mask, x, y)):
        assert made.tolist() == [1.0, 4.0] and nbgrad.grad(made.sum(), x)[0].tolist() == [1.0, 0.0]
    assert nbgrad.where(mask, 1.0, 2.0).tolist() == [1.0, 2.0]
    assert nbgrad.where(mask, y, 0.0, out=nbgrad.empty(2)).tolist() == [3.0, 0.0]
    assert nbgrad.func.jvp(lambda x: nbgrad.where(mask, x, y), (y,), (y,))[1].tolist() == [3.0, 0.0]
    with pytest.raises(nbgrad.DTypeError, match="condition"):
        nbgrad.where(mask.long(), x, y)


def test_a_truth_value_is_an_exponent_of_truth_values():
    """``b ** True`` is b and ``b ** False`` is true, in every form; no other power of theirs is."""
    b = nbgrad.tensor([True, False])
    for exponent, expected in ((True, [True, False]), (False, [True, True])):
        forms = (b**exponent, b.pow(exponent), nbgrad.pow(b, exponent), b.clone().pow_(exponent))
        for made in (*forms, nbgrad.pow(b, exponent, out=nbgrad.empty(2, dtype=nbgrad.bool))):
            assert made.dtype is nbgrad.bool and made.tolist() == expected
    for wrong in (lambda: b**b, lambda: True**b, lambda: b ** nbgrad.tensor(True)):
        with pytest.raises(nbgrad.DTypeError, match="not defined for bool"):
            wrong()


def test_einsum_multiplies_operands_of_two_dtypes():
    """Where nothing is summed over both of them; a sum of products needs one dtype, as a matrix product does."""
    x, i = nbgrad.tensor([1.0, 2.0], requires_grad=True), nbgrad.tensor([3, 4])
    d = nbgrad.tensor([1.0, 2.0], dtype=nbgrad.float64)
    for equation, operands, expected, dtype in (
        ("i,i->i", (x, i), [3.0, 8.0], nbgrad.float32),
        ("i,j->ij", (x, i), [[3.0, 4.0], [6.0, 8.0]], nbgrad.float32),
        ("i,j->i", (x, i), [7.0, 14.0], nbgrad.float32),
        ("i,i,i->i", (x, i, d), [3.0, 16.0], nbgrad.float64),
        ("i,->i", (x, nbgrad.tensor(2)), [2.0, 4.0], nbgrad.float32),
    ):
        made = nbgrad.einsum(equation, *operands)
        assert made.tolist() == expected and made.dtype is dtype
        assert nbgrad.grad(made.sum(), x)[0].dtype is nbgrad.float32
    for equation in ("i,i->", "ij,j->i"):
        with pytest.raises(nbgrad.DTypeError, match="expected one dtype"):
            nbgrad.einsum(equation, *((x, i) if equation == "i,i->" else (x[None], i)))
