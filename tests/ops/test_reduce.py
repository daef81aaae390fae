"""Reductions, scans, softmax and orders: values against NumPy in float64, gradients against finite differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.base.calls import CALLS
from nbgrad.base.errors import DimError, DTypeError, RangeError, ShapeError
from tests.helpers import leaf

RNG = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    """Normal numbers in float64."""
    return RNG.standard_normal(shape)


def gradient(function, array, weights=None) -> np.ndarray:
    """The gradient of ``sum(weights * function(x))``."""
    x = leaf(array)
    y = function(x)
    if weights is not None:
        y = y * nbgrad.tensor(weights)
    return nbgrad.grad(y.sum(), [x])[0].numpy()


def slopes(function, array, step=1e-6) -> np.ndarray:
    """Central differences of a scalar function of an array."""
    result = np.empty(array.shape)
    for place in np.ndindex(array.shape):
        up, down = array.copy(), array.copy()
        up[place] += step
        down[place] -= step
        result[place] = (function(up) - function(down)) / (2 * step)
    return result


def check_gradients(function, array, tolerance=1e-7) -> None:
    """First and second derivatives of a random projection against central differences of value and gradient."""
    array = np.asarray(array, np.float64)
    weights = drawn(*function(nbgrad.tensor(array)).shape)

    def value(a):
        return float((function(nbgrad.tensor(a)).numpy() * weights).sum())

    np.testing.assert_allclose(gradient(function, array, weights), slopes(value, array), rtol=tolerance, atol=tolerance)
    direction = drawn(*array.shape)
    x = leaf(array)
    (first,) = nbgrad.grad((function(x) * nbgrad.tensor(weights)).sum(), [x], create_graph=True)
    if not first.requires_grad:  # linear: no second derivative
        return
    (second,) = nbgrad.grad((first * nbgrad.tensor(direction)).sum(), [x])

    def projected(a):
        return float((gradient(function, a, weights) * direction).sum())

    np.testing.assert_allclose(second.numpy(), slopes(projected, array), rtol=10 * tolerance, atol=10 * tolerance)


DIMS = [None, 0, 1, 2, -1, (0, 1), (1, 2), (0, 2), (0, 1, 2)]
ORDERS = list(itertools.permutations(range(3)))
VALUES = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "any": np.any,
    "all": np.all,
    "count_nonzero": np.count_nonzero,
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_reduction_equals_numpys_on_every_layout(name, dim, keepdim):
    """Every reduction agrees with NumPy on permuted, sliced and expanded operands."""
    array = np.where(drawn(3, 4, 5) > 1, 0, drawn(3, 4, 5))
    for order in ORDERS:
        for whole in (array.transpose(order), array.transpose(order)[:, 1:]):
            x = nbgrad.tensor(array).permute(order)
            x = x if whole.shape[1] == x.shape[1] else x.narrow(1, 1, x.shape[1] - 1)
            result = getattr(x, name)(() if dim is None and name not in ("any", "all") else dim, keepdim)
            np.testing.assert_allclose(result.numpy(), VALUES[name](whole, axis=dim, keepdims=keepdim), rtol=1e-13)
            assert result.is_contiguous()


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.float32, nbgrad.int32, nbgrad.uint8, nbgrad.bool_])
def test_sum_dtypes(dtype):
    """Integers and bools add up in int64, half types in float32 with one rounding at the end."""
    array = (drawn(40, 30) * 9).astype(dtype.numpy)
    total = nbgrad.tensor(array).sum(1)
    assert total.dtype is (dtype if dtype.differentiable else nbgrad.int64)
    expected = array.astype(np.float64 if dtype.differentiable else np.int64).sum(1)
    np.testing.assert_array_equal(total.numpy(), expected.astype(total.numpy().dtype))


def test_expanded_operand_is_counted_without_a_copy():
    """A dimension of stride 0 multiplies the sum and leaves the mean."""
    x = nbgrad.tensor([1.5, 2.5]).expand(1000, 2)
    np.testing.assert_array_equal(x.sum(0).numpy(), [1500, 2500])
    np.testing.assert_array_equal(x.mean(0).numpy(), [1.5, 2.5])


@pytest.mark.parametrize("length", [10, 1000, 100_003, 3_000_001])
def test_float32_sum_is_within_one_rounding(length):
    """The sum of float32 numbers is within 0.6 eps of the exact sum, whatever the length."""
    array = RNG.random(length).astype(np.float32)
    exact = math.fsum(array.tolist())
    assert abs(nbgrad.tensor(array).sum().item() - exact) <= 0.6 * np.finfo(np.float32).eps * exact


def test_float32_elements_are_added_in_trees():
    """Of a number and seven that are half its last bit only the one beside it in its tree of eight is lost, in rows and columns."""
    half = 2.0**-24
    for place in range(8):
        array = np.zeros(256, np.float32)
        array[::32], array[32 * place] = half, 1
        row = nbgrad.tensor(array)
        columns = nbgrad.tensor(array[::32]).reshape(8, 1).repeat(8, 9)
        assert 6 * half <= (row.sum() - 1).item() <= 8 * half, place
        assert (columns.sum(0) - 8 >= 8 * 6 * half).all(), place


@pytest.mark.skipif(config.NUMBA, reason="Numba's loops take one vector at a time")
def test_exponentials_are_added_in_many_chains():
    """Beside a term 1 few of 511 terms of 2**-25 are lost: there are as many chains as four vectors have elements."""
    scores = nbgrad.full((2, 512), -25 * math.log(2))
    scores[:, 100] = 0
    exact = math.log1p(511 * 2.0**-25)
    target = nbgrad.tensor([100, 100])
    cross = nbgrad.nn.functional.cross_entropy(scores, target)
    for got in (scores.logsumexp(1)[0], -scores.log_softmax(1)[0, 100], -scores.softmax(1)[0, 100].double().log(), cross):
        assert abs(got.item() - exact) <= 40 * 2.0**-25


def test_float64_sum_is_compensated():
    """Three million float64 numbers add up to within 2 eps."""
    array = RNG.random(3_000_001)
    exact = math.fsum(array.tolist())
    assert abs(nbgrad.tensor(array).sum().item() - exact) <= 2 * np.finfo(np.float64).eps * exact


def test_results_do_not_depend_on_the_number_of_threads():
    """One and two threads give the same bits, for rows, columns and one result of many blocks."""
    array = drawn(2100, 1100).astype(np.float32)

    def results():
        x = nbgrad.tensor(array)
        tensors = (x.sum(), x.sum(0), x.sum(1), x.mean(), x.amax(), x.softmax(1), x.logsumexp(0), x.var(0))
        return [y.numpy() for y in tensors]

    before = nbgrad.get_num_threads()
    try:
        nbgrad.set_num_threads(1)
        alone = results()
        nbgrad.set_num_threads(2)
        together = results()
    finally:
        nbgrad.set_num_threads(before)
    for one, two in zip(alone, together):
        np.testing.assert_array_equal(one, two)


def test_empty_reductions():
    """Nothing adds up to 0, multiplies to 1, has no mean, and is all and not any."""
    x = nbgrad.zeros(0, 3)
    assert x.sum().item() == 0 and x.prod().item() == 1 and math.isnan(x.mean().item())
    assert x.all().item() is True and x.any().item() is False
    np.testing.assert_array_equal(x.sum(0).numpy(), [0, 0, 0])
    assert x.amax(1).shape == (0,)
    with pytest.raises(DimError, match="no elements"):
        x.amax(0)
    with pytest.raises(DimError, match="no elements"):
        x.max()


def test_infinite_and_nan_sums():
    """Compensation does not turn an infinite sum into NaN."""
    assert nbgrad.tensor([1e308, 1e308], dtype=nbgrad.float64).sum().item() == math.inf
    assert nbgrad.tensor([-math.inf, 1.0], dtype=nbgrad.float64).sum().item() == -math.inf
    assert math.isnan(nbgrad.tensor([math.inf, -math.inf]).sum().item())


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_infinite_parts_of_complex_sums(dtype):
    """An infinite real part makes nothing of the imaginary one: NumPy's sums of the parts."""
    x = nbgrad.tensor([complex(-math.inf, 2), complex(1, 2)], dtype=dtype)
    for got, imaginary in ((x.sum(), 4), (x.sum(0), 4), (x.mean(), 2), (nbgrad.stack([x, x], 1).mean(0)[1], 2)):
        assert got.real.item() == -math.inf and got.imag.item() == imaginary


def test_complex_totals_are_finished_by_parts_or_refused():
    """The quotient of a total is that of its parts; its root is not, so the fold that ends in one takes real numbers alone."""
    z = nbgrad.tensor([[1 + 2j, 3 - 1j]])
    assert z.mean(1).tolist() == [2 + 0.5j]
    with pytest.raises(DTypeError, match="norm2: x is nbgrad.complex64, expected real numbers.*Hint"):
        CALLS["norm2"](z, 1, False)
    assert nbgrad.linalg.vector_norm(z).item() == pytest.approx(15**0.5)


@pytest.mark.parametrize("call", [lambda x: x.sum(2), lambda x: x.softmax(-3), lambda x: x.cumsum(5)])
def test_dim_out_of_range_is_an_index_error(call):
    """A dimension that is not there is named."""
    with pytest.raises(DimError, match="out of range"):
        call(nbgrad.zeros(2, 3))


def test_other_errors():
    """Repeated dims, means of integers, order of complex numbers, k out of range."""
    with pytest.raises(ShapeError, match="twice"):
        nbgrad.zeros(2, 3).sum((0, -2))
    with pytest.raises(DTypeError, match="floating"):
        nbgrad.arange(3).mean()
    with pytest.raises(DTypeError, match="order"):
        nbgrad.tensor([1j]).amax()
    with pytest.raises(RangeError, match="k = 4"):
        nbgrad.zeros(3).topk(4)


SMOOTH = {
    "sum": lambda x: x.sum((0, 2)),
    "mean": lambda x: x.mean(1),
    "prod": lambda x: x.prod(1),
    "prod all": lambda x: x.prod(),
    "prod dims": lambda x: x.prod((0, 2)),
    "var": lambda x: x.var(1),
    "var dims": lambda x: x.var((0, 2), correction=0),
    "std": lambda x: x.std(2),
    "norm1": lambda x: x.norm(1, 1),
    "norm2": lambda x: x.norm(2, (0, 1)),
    "norm3": lambda x: x.norm(3, 1),
    "norm inf": lambda x: x.norm(math.inf, 1),
    "norm 1.5": lambda x: x.norm(1.5, 1),
    "logsumexp": lambda x: x.logsumexp((0, 2)),
    "softmax": lambda x: x.softmax(1),
    "softmax last": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(0),
    "log_softmax last": lambda x: x.log_softmax(-1),
    "amax": lambda x: x.amax(1),
    "max": lambda x: x.max(),
    "min dim": lambda x: x.min(1).values,
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(1),
    "sort": lambda x: x.sort(1).values,
    "topk": lambda x: x.topk(2, 1).values,
}


def test_topk_of_a_number_is_the_number():
    """A tensor without dimensions gives its element for k = 0 as for k = 1, and its gradient."""
    for k in (0, 1):
        x = nbgrad.tensor(2.5, requires_grad=True)
        values, indices = x.topk(k)
        values.backward()
        assert values.item() == 2.5 and indices.item() == 0 and x.grad.item() == 1.0
    with pytest.raises(RuntimeError, match="k = 2"):
        nbgrad.tensor(2.5).topk(2)


@pytest.mark.parametrize("name", SMOOTH)
def test_first_and_second_derivatives(name):
    """Derivatives of both orders agree with central differences."""
    check_gradients(SMOOTH[name], drawn(2, 3, 2), 2e-6)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["prod", "prod all", "prod dims", "cumprod"])
def test_products_with_zeros_have_exact_derivatives(name, zeros):
    """No zero, one and several zeros in a product, first and second order."""
    array = np.array([[[0.5], [1.5], [-2.0]], [[3.0], [0.25], [2.0]]])
    array.reshape(-1)[:zeros] = 0
    check_gradients(SMOOTH[name], array, 1e-6)


def test_extrema_rules_of_nan():
    """NaN wins every extremum, and the first NaN is its place."""
    x = nbgrad.tensor([[1.0, math.nan, math.nan], [2.0, -1.0, 3.0]])
    assert math.isnan(x.max().item()) and math.isnan(x.amin().item())
    values, indices = x.max(1)
    np.testing.assert_array_equal(values.numpy(), [math.nan, 3])
    np.testing.assert_array_equal(indices.numpy(), [1, 2])
    np.testing.assert_array_equal(x.argmin(1).numpy(), [1, 1])
    np.testing.assert_array_equal(x.argmax(0).numpy(), [1, 0, 0])
    assert x.argmax().item() == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.uint8])
@pytest.mark.parametrize("width", [1, 3, 300])
def test_extrema_of_every_kind(dtype, width):
    """Extrema and their first places along both walks, negative zero and infinities included."""
    array = (drawn(70, width) * 50).astype(dtype)
    if array.dtype.kind == "f":
        array[3], array[5] = math.inf, -math.inf
    x = nbgrad.tensor(array)
    for dim in (0, 1):
        np.testing.assert_array_equal(x.amax(dim).numpy(), array.max(dim))
        np.testing.assert_array_equal(x.amin(dim).numpy(), array.min(dim))
        np.testing.assert_array_equal(x.argmax(dim).numpy(), array.argmax(dim))
        np.testing.assert_array_equal(x.argmin(dim).numpy(), array.argmin(dim))


def test_ties_share_the_gradient_of_amax_and_max():
    """Over several dims the gradient is shared evenly; along one dim it goes to the index returned."""
    tied = [[1.0, 2.0, 2.0], [2.0, 0.0, 1.0]]
    third = 1 / 3
    shared = [[0, third, third], [third, 0, 0]]
    np.testing.assert_allclose(gradient(lambda x: x.max(), tied), shared)
    np.testing.assert_allclose(gradient(lambda x: x.amax((0, 1)), tied), shared)
    np.testing.assert_allclose(gradient(lambda x: x.max(1).values, tied), [[0, 1, 0], [1, 0, 0]])


def test_max_of_two_tensors_is_maximum():
    """``max`` and ``min`` with a second tensor are elementwise."""
    x, y = nbgrad.tensor([1.0, 5.0]), nbgrad.tensor([3.0, 2.0])
    np.testing.assert_array_equal(nbgrad.max(x, y).numpy(), [3, 5])
    np.testing.assert_array_equal(x.min(other=y).numpy(), [1, 2])


def test_norm_at_zero_has_subgradient_zero():
    """Every norm of the zero vector has gradient 0, and so has a standard deviation of 0."""
    for p in (1, 2, 3, 1.5, math.inf):
        np.testing.assert_array_equal(gradient(lambda x: x.norm(p), np.zeros(3)), np.zeros(3))  # noqa: B023
    np.testing.assert_array_equal(gradient(lambda x: x.std(), np.ones(3)), np.zeros(3))


def test_norm_does_not_overflow_in_float32():
    """Squares are added in float64."""
    assert nbgrad.tensor([3e30, 4e30]).norm().item() == pytest.approx(5e30)


def test_logsumexp_of_infinities():
    """-inf everywhere gives -inf and gradient 0; +inf gives +inf."""
    rows = [[-math.inf, -math.inf], [-math.inf, 0.0]]
    np.testing.assert_array_equal(nbgrad.tensor(rows).logsumexp(1).numpy(), [-math.inf, 0])
    np.testing.assert_array_equal(gradient(lambda x: x.logsumexp(1), rows), [[0, 0], [0, 1]])
    assert nbgrad.tensor([math.inf, 0.0]).logsumexp(0).item() == math.inf


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_softmax_family_equals_numpy(dim, dtype):
    """Softmax, its logarithm and logsumexp, at 1e4 where exp alone would overflow, along both walks."""
    array = (drawn(150, 170) * 3 + (1e4 if dtype != "float16" else 0)).astype(dtype)
    wide = array.astype(np.float64)
    top = wide.max(dim, keepdims=True)
    total = np.exp(wide - top).sum(dim, keepdims=True)
    x, eps = nbgrad.tensor(array), np.finfo(dtype).eps
    np.testing.assert_allclose(x.softmax(dim).numpy(), np.exp(wide - top) / total, rtol=8 * eps, atol=eps)
    np.testing.assert_allclose(x.log_softmax(dim).numpy(), wide - top - np.log(total), rtol=8 * eps, atol=8 * eps)
    np.testing.assert_allclose(x.logsumexp(dim, True).numpy(), top + np.log(total), rtol=4 * eps)


@pytest.mark.parametrize("correction", [0, 1, 3])
def test_variance_equals_numpys(correction):
    """Variance and deviation with a correction; NaN or infinite where nothing is left."""
    array = drawn(4, 3, 5) + 1e6
    x = nbgrad.tensor(array)
    for dim in (0, 2, (0, 2), (1, 2)):
        variance, deviation = x.var(dim, correction=correction), x.std(dim, correction=correction)
        np.testing.assert_allclose(variance.numpy(), array.var(dim, ddof=correction), rtol=1e-9)
        np.testing.assert_allclose(deviation.numpy(), array.std(dim, ddof=correction), rtol=1e-9)
    assert math.isnan(nbgrad.tensor([1.0]).var().item())
    assert nbgrad.tensor([1.0, 3.0]).var(False).item() == 1.0
    variance, mean = nbgrad.var_mean(x, 2, unbiased=False)
    np.testing.assert_allclose(variance.numpy(), array.var(2), rtol=1e-9)
    np.testing.assert_allclose(mean.numpy(), array.mean(2))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scans_equal_numpys(dim):
    """Cumulative sums and products; of integers in int64."""
    array = drawn(6, 5, 4)
    np.testing.assert_allclose(nbgrad.tensor(array).cumsum(dim).numpy(), array.cumsum(dim), rtol=1e-13)
    np.testing.assert_allclose(nbgrad.tensor(array).cumprod(dim).numpy(), array.cumprod(dim), rtol=1e-13)
    whole = (array * 3).astype(np.int8)
    result = nbgrad.tensor(whole).cumsum(dim)
    assert result.dtype is nbgrad.int64
    np.testing.assert_array_equal(result.numpy(), whole.cumsum(dim))


@pytest.mark.parametrize("length", [31, 32, 33, 34, 35, 100])
def test_scans_of_long_lines(length):
    """Groups of elements and what is left behind them: both ways, exclusive (the cotangents), large and small on the way."""
    array = (1 + drawn(3, length) / length).astype(np.float32)
    array[0, ::2], array[0, 1::2] = 2e38, 5e-39
    array[1, 7] = 0
    x, wide = (nbgrad.tensor(each, requires_grad=True) for each in (array, array.astype(np.float64)))
    for scan, rows in ((nbgrad.cumsum, slice(1, 3)), (nbgrad.cumprod, slice(3))):
        result, expected = (scan(each[rows], 1) for each in (x, wide))
        np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy().astype(np.float32), rtol=1e-6)
        got, wanted = (nbgrad.grad(y[-2:].sum(), z)[0].numpy() for y, z in ((result, x), (expected, wide)))
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
    got, wanted = (nbgrad.grad(each[1:].prod(1).sum(), each)[0].numpy() for each in (x, wide))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable_and_puts_nan_with_the_greatest(descending):
    """Equal elements keep their order in both directions."""
    array = np.array([2.0, math.nan, 1.0, 2.0, math.nan, 1.0])
    keys = [
        (0 if math.isnan(a) else 1, -a if not math.isnan(a) else 0)
        if descending
        else (1 if math.isnan(a) else 0, a if not math.isnan(a) else 0)
        for a in array
    ]
    expected = sorted(range(6), key=lambda i: keys[i])
    values, indices = nbgrad.tensor(array).sort(0, descending)
    assert indices.numpy().tolist() == expected
    np.testing.assert_array_equal(values.numpy(), array[expected])


@pytest.mark.parametrize("size", [8, 200])
@pytest.mark.parametrize("largest", [False, True])
def test_topk_takes_the_extreme_elements(size, largest):
    """The k greatest or smallest in order, by sorting (small) and by partition (large)."""
    array = RNG.permutation(size * 3).reshape(3, size).astype(np.float64)
    values, indices = nbgrad.tensor(array).topk(3, 1, largest)
    expected = np.sort(array, 1)[:, ::-1][:, :3] if largest else np.sort(array, 1)[:, :3]
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(array, indices.numpy(), 1), expected)


def test_sum_to_is_the_transpose_of_expand():
    """<expand(x), y> = <x, sum_to(y)> for shapes that broadcast."""
    for small, large in [((3, 1), (3, 4)), ((4,), (2, 3, 4)), ((1, 1), (5, 6)), ((), (2, 2)), ((2, 1, 3), (2, 4, 3))]:
        x, y = nbgrad.tensor(drawn(*small)), nbgrad.tensor(drawn(*large))
        summed = y.sum_to(small)
        assert summed.shape == small
        assert (x.expand(large) * y).sum().item() == pytest.approx((x * summed).sum().item())
    assert y.sum_to(y.shape) is y


INTEGERS = [nbgrad.uint8, nbgrad.int8, nbgrad.int16, nbgrad.int32, nbgrad.int64]


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "nansum"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("given", [*INTEGERS, nbgrad.float32, nbgrad.bool], ids=str)
def test_dtype_of_integer_totals_is_the_one_asked_for(name, dtype, given):
    """``dtype=`` is the dtype of the result, the operand's own one too; what does not fit wraps as in NumPy."""
    data = np.array([[100, 3], [100, 5]])
    x = nbgrad.tensor(data, dtype=dtype)
    arguments = (0,) if name.startswith("cum") else ()
    out = getattr(nbgrad, name)(x, *arguments, dtype=given)
    wide = np.float64 if given is nbgrad.float32 else np.int64
    expected = getattr(np, name)(data.astype(given.numpy), *(arguments or (None,)), dtype=wide)
    assert out.dtype is given and np.array_equal(out.numpy(), expected.astype(given.numpy))


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.float32, nbgrad.float64], ids=str)
@pytest.mark.parametrize("correction", [0.5, 1.5, 2.0, 7.25])
def test_fractional_corrections(dtype, correction):
    """Variances are divided by n - correction, a whole number or not; nothing is left where that is not positive."""
    x = nbgrad.tensor([[1.0, 2.0, 4.0, 8.0], [0.0, 1.0, -1.0, 5.0]], dtype=dtype)
    squares = ((x.double() - x.double().mean(1, keepdim=True)) ** 2).sum(1)
    expected = squares / max(4 - correction, 0.0)
    rtol = 1e-3 if dtype is nbgrad.float16 else 1e-6
    assert nbgrad.var(x, 1, correction=correction).double().allclose(expected, rtol=rtol)
    assert nbgrad.std_mean(x, 1, correction=correction)[0].double().allclose(expected.sqrt(), rtol=rtol)


def test_gradient_with_a_fractional_correction():
    """The derivative has the same divisor."""
    x = nbgrad.tensor([1.0, 2.0, 4.0, 8.0], dtype=nbgrad.float64, requires_grad=True)
    assert nbgrad.gradcheck(lambda x: nbgrad.var(x, correction=0.5), x)
    assert nbgrad.gradgradcheck(lambda x: nbgrad.std(x, correction=1.5), x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(True),
        lambda x: x.softmax(True),
        lambda x: x.sort(True),
        lambda x: x.max(True),
        lambda x: x.cumsum(False),
        lambda x: x.sum(1.0),
        lambda x: x.mean(0.0, True),
        lambda x: x.cumsum(1.0),
        lambda x: x.argmax(True),
        lambda x: x.norm(2, True),
    ],
)
def test_truth_values_are_no_dimensions(call):
    """``sum(True)`` meant something else: dimensions are ints, also where the plan of an equal one is known."""
    x = nbgrad.ones(2, 2)
    for dim in (0, 1):
        x.sum(dim), x.mean(dim, True), x.softmax(dim), x.cumsum(dim), x.argmax(dim), x.norm(2, dim), x.sort(dim), x.max(dim)
    with pytest.raises(nbgrad.ArgumentError):
        call(x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [16, 40, 300])
def test_infinities_of_both_signs_have_no_sum_of_numbers(n, dtype):
    """Only elements that are NaN are left out, not sums on the way, wherever the infinities stand."""
    for k in range(1, n):
        x = np.ones(n, dtype)
        x[0], x[k] = math.inf, -math.inf
        assert math.isnan(nbgrad.tensor(x).nansum().item())
        assert math.isnan(nbgrad.tensor(np.stack([x, x], 1)).nansum(0)[0].item())


@pytest.mark.parametrize("dim", [(0, 1), (0,), (), [1, 0]])
@pytest.mark.parametrize(
    "name",
    [
        "argmax",
        "argmin",
        "max",
        "min",
        "median",
        "nanmedian",
        "mode",
        "sort",
        "argsort",
        "cumsum",
        "cumprod",
        "cummax",
        "logcumsumexp",
        "softmax",
        "log_softmax",
    ],
)
def test_positions_and_orders_are_along_one_dimension(name, dim):
    """A sequence of dimensions is refused, also of one: an index of a row of them would be larger than the result."""
    with pytest.raises(nbgrad.ArgumentError, match="dim must be an int"):
        getattr(nbgrad.ones(3, 5), name)(dim)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.unsqueeze(False),
        lambda x: x.flip(True),
        lambda x: x.flip((True,)),
        lambda x: x.transpose(True, 0),
        lambda x: x.reshape(True, 2 * 211),
        lambda x: x.expand(True, 2, 211),
        lambda x: nbgrad.stack([x, x], True),
    ],
)
def test_truth_values_are_no_dimensions_of_views(call):
    """Nor are they sizes; in a layout of which no view is known."""
    with pytest.raises(nbgrad.ArgumentError):
        call(nbgrad.ones(2, 211))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_zeros_of_both_signs_are_equal(dtype):
    """The first extremum is the first of equal numbers: -0 and 0 are."""
    x = nbgrad.tensor([[-1.0, 2.0], [-0.0, 0.0], [0.0, -0.0]], dtype=dtype)
    assert x.flatten()[2:].argmax().item() == 0 and x.flatten()[2:].argmin().item() == 0
    assert x[1:].argmax(0).tolist() == [0, 0] and x[1:].argmin(0).tolist() == [0, 0]
    assert x.argmax(0).tolist() == [1, 0] and x.argmin(0).tolist() == [0, 1]
    assert nbgrad.tensor([-1, 0], dtype=nbgrad.int32).argmax().item() == 1


@pytest.mark.parametrize("dim", [0, -1, None])
def test_constants_do_not_deviate(dim):
    """Variance, standard deviation and its gradient of equal numbers are 0, whatever their mean is rounded to."""
    for constant in np.random.default_rng(0).standard_normal(50):
        x = nbgrad.full((36, 5), float(constant), dtype=nbgrad.float64, requires_grad=True)
        deviation = x.std(dim)
        assert not deviation.any() and not x.var(dim).any()
        assert not nbgrad.grad(deviation.sum(), x)[0].any()


def test_variance_far_from_zero():
    """Distances are not lost in a great mean: var of 1e8 + u is that of u."""
    x = np.random.default_rng(0).random((1000, 3))
    for offset in (0.0, 1e3, 1e8):
        shifted = x + offset
        expected = np.var(shifted.astype(np.longdouble) - np.longdouble(offset), 0, ddof=1).astype(float)
        assert nbgrad.tensor(shifted).var(0).allclose(nbgrad.tensor(expected), rtol=1e-13)


def test_mean_of_no_complex_numbers():
    """0 / 0 in both parts."""
    mean = nbgrad.zeros(0, dtype=nbgrad.complex64).mean()
    assert mean.real.isnan() and mean.imag.isnan()
    assert nbgrad.zeros(0, 2, dtype=nbgrad.complex64).mean(0).isnan().all()


@pytest.mark.parametrize("dim", [(), []])
def test_no_dimension_is_none_to_truths(dim):
    """``all`` and ``any`` over no dimension ask each element alone, as NumPy's over ``axis=()``; also of a batch."""
    x = nbgrad.tensor([[1.0, 0.0], [math.nan, 3.0]])
    for name in ("all", "any"):
        each = nbgrad.vmap(lambda row, name=name: getattr(row, name)(dim=dim))(x)
        assert getattr(x, name)(dim=dim).tolist() == each.tolist() == (x != 0).tolist()
    assert x.to(nbgrad.uint8).all(dim=dim).dtype is nbgrad.uint8
