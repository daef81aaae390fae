"""Scans, and elements picked from a dimension and put into it, on the emulated device: against the CPU and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.base.errors import DTypeError, ShapeError
from nbgrad.lowering.cuda import scan
from tests.cuda.lowered import assert_same, launches, memory_of, on_cuda, run_all

SHAPES = [((7,), 0), ((), 0), ((3, 17), 1), ((2, 40, 3), 1), ((300, 2), 0), ((2, 2049), 1)]
SLOW = pytest.mark.slow


def numbers(shape, dtype="float32", seed=0):
    """Normal numbers, or small integers."""
    random = np.random.default_rng(seed)
    if dtype.startswith("complex"):
        return nbgrad.tensor((random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype))
    made = random.standard_normal(shape) if "float" in dtype else random.integers(-3, 4, shape)
    return nbgrad.tensor(made).to(getattr(nbgrad, dtype))


@pytest.fixture(params=["whole", "parts"])
def cut(request, monkeypatch):
    """Rows and lines in one part, or in several."""
    if request.param == "parts":
        monkeypatch.setattr(scan, "ALONE", 0)
        monkeypatch.setattr(scan, "LEAST", 8)


def close(found, expected, tolerance=2.0**-20):
    """Within a few roundings of numbers about 1."""
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
def test_running_sums(shape, dim, cut):
    """Along rows and columns, from both ends, in one part or several; of integers the CPU's bits."""
    x, whole = numbers(shape), numbers(shape, "int32", 1)
    wide = x.double().numpy()
    close(on_cuda("scan_sum", x, dim=dim, dtype=None, reverse=False), np.cumsum(wide, dim).reshape(shape))
    backwards = np.flip(np.cumsum(np.flip(wide, dim), dim), dim) if shape else wide
    close(on_cuda("scan_sum", x, dim=dim, dtype=None, reverse=True), backwards)
    assert_same(on_cuda("scan_sum", whole, dim=dim, dtype=None, reverse=True), CALLS["scan_sum"](whole, dim, None, True))


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("shape, dim", [((3, 17), 1), ((2, 40, 3), 1)], ids=str)
def test_running_products(shape, dim, exclusive, cut):
    """Computed in double, so that a float's range is no limit of what is between."""
    x = numbers(shape) + 1.5
    found = on_cuda("scan_product", x, dim=dim, dtype=None, exclusive=exclusive, reverse=False)
    close(found, CALLS["scan_product"](x.double(), dim, None, exclusive, False).numpy())
    large = nbgrad.tensor([[0.0] + [1e30] * 9, [1e30] * 5 + [1e-30] * 5])
    found = on_cuda("scan_product", large, dim=1, dtype=None, exclusive=False, reverse=False)
    close(found, CALLS["scan_product"](large, 1, None, False, False).numpy())


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "bool", "complex64"])
def test_sums_of_other_dtypes(dtype, cut):
    """Half types in float32, truth values in int64, complex numbers by parts."""
    x = (numbers((2, 30), "int32") > 0) if dtype == "bool" else numbers((2, 30), dtype)
    found, expected = on_cuda("scan_sum", x, dim=1, dtype=None, reverse=False), CALLS["scan_sum"](x, 1, None, False)
    if dtype == "bool":
        assert_same(found, expected)
    else:
        tolerance = 2.0**-6 if dtype == "bfloat16" else 2.0**-19
        close(
            found.float() if dtype == "bfloat16" else found,
            (expected.float() if dtype == "bfloat16" else expected).numpy(),
            tolerance,
        )


@pytest.mark.parametrize("lagged", [False, True])
@pytest.mark.parametrize("dtype", ["float32", pytest.param("complex64", marks=SLOW), pytest.param("int64", marks=SLOW)])
def test_recurrences_have_the_cpus_bits(dtype, lagged):
    """A thread goes along its line, as the CPU does, in the same arithmetic."""
    x, y = numbers((3, 11), dtype), numbers((3, 11), dtype, 1)
    for dim, reverse in ((1, False), (0, True)):
        expected = CALLS["recurrence"](x, y, dim, lagged, reverse)
        found = on_cuda("recurrence", x, y, dim=dim, lagged=lagged, reverse=reverse)
        if dtype == "complex64":  # products of complex numbers are not contracted here
            close(found, expected.numpy())
        else:
            assert_same(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "int8", pytest.param("float64", marks=SLOW), pytest.param("bfloat16", marks=SLOW)])
def test_running_extrema(dtype, cut):
    """The last of equal elements; NaN wins and the last of several is found; zeros of both signs are equal."""
    x = numbers((3, 70), "int8", 2).to(getattr(nbgrad, dtype))
    if dtype != "int8":
        x[0, 5], x[0, 60], x[1, 3], x[1, 4] = np.nan, np.nan, 0.0, -0.0
    for largest in (True, False):
        for dim in (0, 1):
            expected = CALLS["running_indices"](x, dim, largest)
            assert_same(on_cuda("running_indices", x, dim=dim, largest=largest), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_running_logarithms(dtype, cut):
    """Logarithms of running sums of exponentials, with infinities and NaN."""
    x = numbers((4, 30), dtype, 3) * 20
    x[1, :3], x[2, 4], x[3, 7] = -np.inf, np.inf, np.nan
    tolerance = {"float32": 2.0**-20, "float64": 2.0**-46, "float16": 2.0**-9}[dtype]
    for dim in (0, 1):
        expected = CALLS["running_logsumexp"](x.double(), dim).numpy()
        close(on_cuda("running_logsumexp", x, dim=dim).double(), expected, tolerance)


def test_nothing_to_scan_and_operands_with_gaps():
    """No elements are no launch; transposed and sliced operands are copied first."""
    assert launches("scan_sum", nbgrad.zeros(3, 0), dim=1, dtype=None, reverse=False)[0][1].steps == ()
    x = numbers((12, 10), "int64")
    for y in (x.t(), x[::2, 3:], x[0].expand(4, 10)):
        expected = CALLS["scan_sum"](y, 1, None, False)
        assert_same(on_cuda("scan_sum", y, dim=1, dtype=None, reverse=False), expected)


def test_threads_in_any_order_give_the_same_bits(cut):
    """No thread waits for another block, and the order of sums depends on the shape alone."""
    (outs, steps), operands = launches("scan_sum", numbers((1, 2500)), dim=1, dtype=None, reverse=False)
    assert len({memory_of(run_all(outs, steps, operands, seed)[0]).tobytes() for seed in range(3)}) == 1


def test_what_cannot_be_scanned_is_refused():
    """In the CPU's words."""
    z = numbers((3, 4), "complex64")
    with pytest.raises(DTypeError, match="cummax: complex numbers have no order"):
        launches("running_indices", z, dim=1, largest=True)
    with pytest.raises(DTypeError, match="logcumsumexp: x is .*int64, expected a floating dtype"):
        launches("running_logsumexp", numbers((3, 4), "int64"), dim=1)
    with pytest.raises(ShapeError, match="place: values .* must have one shape"):
        launches("place", numbers((3, 4)), nbgrad.zeros(3, 1, dtype=nbgrad.int64), dim=1, size=4)


# ---- moves -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16", "complex128"])
def test_shifts(dtype):
    """Zeros come in; a shift beyond the end leaves nothing else."""
    x = numbers((3, 5, 2), "int64").to(getattr(nbgrad, dtype))
    for dim, by in ((1, 1), (1, -2), (0, 7), (2, -1)):
        assert_same(on_cuda("shift_along", x, dim=dim, by=by), CALLS["shift_along"](x, dim, by))


@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex128"])
def test_elements_picked_and_put(dtype):
    """One of each line, or several; the transpose puts them among zeros."""
    x = numbers((4, 6, 3), "int64").to(getattr(nbgrad, dtype))
    for dim in (0, 1, 2):
        index = numbers((4, 6, 3), "int64", 5).abs().amax(dim, True) % x.shape[dim]
        for keepdim in (True, False):
            assert_same(on_cuda("pick", x, index, dim=dim, keepdim=keepdim), CALLS["pick"](x, index, dim, keepdim))
        values = CALLS["pick"](x, index, dim, True)
        assert_same(on_cuda("place", values, index, dim=dim, size=9), CALLS["place"](values, index, dim, 9))
