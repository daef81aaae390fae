"""Functions with a cheaper version for common arguments: when it is used, and that nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.kernels import prims, scalars
from nbgrad.kernels.instantiate import instantiate

DTYPES = ("float32", "float64")
ENDS = {"erfc": np.float32(9.0), "erfinv": np.float32(0.99)}
BLOCK = 512  # elements that are looked at together


def on_arrays(function, dtype):
    """A scalar function on NumPy's arrays."""
    return instantiate(function, prims.numpy_prims(dtype), scalars.BY_DTYPE[dtype], dtype)


def arguments(name, dtype, count):
    """Arguments inside of the common range, over all of it."""
    rng = np.random.default_rng(0)
    info = np.finfo(dtype)
    if name == "exp":
        return (rng.uniform(-1, 1, count) * scalars.BY_DTYPE[dtype]["EXP_NORMAL"]).astype(dtype)
    if name in ENDS:
        return np.concatenate([rng.uniform(-1, 1, count - BLOCK), 10.0 ** rng.uniform(-30, 0, BLOCK)]).astype(dtype) * ENDS[name]
    exponents = rng.integers(int(info.minexp), int(info.maxexp), count)
    return np.ldexp(rng.uniform(1, 2, count), exponents).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", scalars.COMMON)
def test_the_cheaper_version_has_the_same_bits(name, dtype):
    """A NaN in a block sends it to the version that is right everywhere."""
    x = arguments(name, dtype, 40 * BLOCK)
    function = getattr(nbgrad, name)
    cheaper = function(nbgrad.tensor(x)).numpy()
    with_nan = x.copy()
    with_nan[::BLOCK] = np.nan
    everywhere = function(nbgrad.tensor(with_nan)).numpy()
    kept = np.arange(x.size) % BLOCK != 0
    np.testing.assert_array_equal(cheaper[kept], everywhere[kept])
    assert np.isnan(everywhere[~kept]).all() and not np.isnan(cheaper).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", scalars.COMMON)
def test_the_cheaper_version_is_used_in_its_range_alone(name, dtype):
    """At the ends of the range, at zeros, subnormal and negative numbers, infinities and NaNs with any bits."""
    info = np.finfo(dtype)
    test = on_arrays(scalars.COMMON[name][0], dtype)
    zero, one, inf = (np.dtype(dtype).type(v) for v in (0.0, 1.0, np.inf))
    integer = f"i{info.bits // 8}"
    quiet = np.array([inf]).view(integer) + 12345
    nans = [quiet.view(dtype)[0], (quiet | np.iinfo(integer).min).view(dtype)[0]]
    if name == "exp" or name in ENDS:
        end = np.dtype(dtype).type({"erfc": 9.0, "erfinv": 0.996}.get(name, scalars.BY_DTYPE[dtype]["EXP_NORMAL"]))
        inside, outside = [zero, -zero, end / 2, -end, end], [np.nextafter(end, inf), -np.nextafter(end, inf), info.max, inf, -inf]
    else:
        inside = [info.smallest_normal, one, info.max]
        outside = [
            zero,
            -zero,
            np.nextafter(info.smallest_normal, zero),
            info.smallest_subnormal,
            -info.smallest_subnormal,
            -info.smallest_normal,
            -one,
            info.min,
            inf,
            -inf,
        ]
    assert (test(np.array(inside, dtype)) >= 0).all()
    assert (test(np.array([*outside, *nans], dtype)) < 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_expression_with_its_own_argument_is_computed_as_ever(dtype):
    """Values at the ends come out right in formulas too, alone in a block and among others."""
    x = np.array([0.0, 1.0, np.inf, 1e-40, 3.0] * 400, dtype)
    with np.errstate(divide="ignore"):
        expected = np.where(x == 0, 0.0, 2 * np.log(x.astype(np.float64)))
    actual = nbgrad.xlogy(nbgrad.tensor(np.where(x == 0, 0, 2).astype(dtype)), nbgrad.tensor(x)).numpy()
    np.testing.assert_allclose(actual, expected, rtol=1e-6 if dtype == "float32" else 1e-15)
