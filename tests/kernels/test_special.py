"""How far the special functions are from the truth: mpmath's, in 160 bits.

``python -m pytest tests/kernels/test_special.py -rP`` prints the table of errors.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS

SEED, COUNT = 7, 150
REAL = ("float32", "float64")
TOP = {"float32": 88.0, "float64": 700.0}
DEEP = {"float32": -36.0, "float64": -300.0}


def uniform(*intervals):
    """Numbers of intervals, as a function of a generator."""
    return lambda rng, dtype: np.concatenate([rng.uniform(a, b, COUNT) for a, b in intervals])


def magnitudes(low: float, high: float):
    """Powers of ten of all sizes."""
    return lambda rng, dtype: 10.0 ** rng.uniform(low, high, COUNT)


def both(*samplers):
    """All of several samples."""
    return lambda rng, dtype: np.concatenate([sample(rng, dtype) for sample in samplers])


def near_one(rng, dtype):
    """Numbers that come ever closer to 1."""
    return 1 - 2.0 ** -rng.uniform(1, 24 if dtype == "float32" else 53, COUNT)


def normal_quantile(p):
    """By Newton's method on the logarithm, from the lower tail."""
    least = min(p, 1 - p)
    y = -mp.sqrt(-2 * mp.log(least))
    for _ in range(100):
        step = (mp.log(mp.ncdf(y)) - mp.log(least)) * mp.ncdf(y) / mp.npdf(y)
        y -= step
        if abs(step) < mp.mpf("1e-40"):
            break
    return y if p < 0.5 else -y


# name: (mpmath's function, the sample, how many ulp it may be off)
FUNCTIONS = {
    "erfc": (mp.erfc, uniform((-6, 9), (-1, 1), (0, 0.2)), 4.5),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), both(uniform((-9, 27)), magnitudes(-5, 4)), 4.5),
    "erfinv": (mp.erfinv, both(uniform((-1, 1)), near_one), 3.0),
    "ndtri": (normal_quantile, both(uniform((0.01, 0.99)), lambda rng, dtype: 10.0 ** rng.uniform(DEEP[dtype], -2, 40)), 5.0),
    "lgamma": (mp.loggamma, both(uniform((0, 10), (0.5, 2.5)), magnitudes(-30, 20)), 5.0),
    "trigamma": (lambda x: mp.psi(1, x), both(uniform((-10, 12)), magnitudes(-10, 10)), 5.5),
    "i0": (lambda x: mp.besseli(0, x), both(uniform((-20, 20)), lambda rng, dtype: rng.uniform(0, TOP[dtype], COUNT)), 4.5),
    "i1": (lambda x: mp.besseli(1, x), both(uniform((-20, 20)), lambda rng, dtype: rng.uniform(0, TOP[dtype], COUNT)), 4.5),
    "modified_bessel_k0": (lambda x: mp.besselk(0, x), uniform((0, 1), (0, 20)), 3.5),
    "modified_bessel_k1": (lambda x: mp.besselk(1, x), uniform((0, 1), (0, 20)), 3.5),
    "scaled_modified_bessel_k0": (lambda x: mp.exp(x) * mp.besselk(0, x), uniform((0, 1), (0, 90)), 4.5),
    "scaled_modified_bessel_k1": (lambda x: mp.exp(x) * mp.besselk(1, x), uniform((0, 1), (0, 90)), 3.5),
    "spherical_bessel_j0": (lambda x: mp.sin(x) / x, uniform((-20, 20)), 2.5),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), uniform((-20, 20), (0, 700)), 3.0),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), uniform((-20, 20), (0, 700)), 3.5),
}
# With zeros that no float is: off by a few epsilon, relative to the value or 1.
ABSOLUTE = {
    "lgamma": (lambda x: mp.re(mp.loggamma(x)), uniform((-10, 0)), 8.0),
    "logit": (lambda x: mp.log(x / (1 - x)), uniform((0.01, 0.99), (0.499, 0.501)), 8.0),
    "digamma": (lambda x: mp.psi(0, x), both(uniform((-10, 12)), magnitudes(-20, 20)), 8.0),
    "bessel_j0": (lambda x: mp.besselj(0, x), both(uniform((-9, 9)), magnitudes(-5, 3)), 8.0),
    "bessel_j1": (lambda x: mp.besselj(1, x), both(uniform((-9, 9)), magnitudes(-5, 3)), 8.0),
    "bessel_y0": (lambda x: mp.bessely(0, x), both(uniform((0, 9)), magnitudes(-5, 3)), 8.0),
    "bessel_y1": (lambda x: mp.bessely(1, x), both(uniform((0, 9)), magnitudes(-5, 3)), 8.0),
    "airy_ai": (mp.airyai, uniform((-30, 10), (-6, 2), (-500, 0)), 8.0),
}


def values(name: str, dtype: str, sample) -> tuple:
    """Arguments, results, and true values."""
    x = sample(np.random.default_rng(SEED), dtype).astype(dtype)
    exact = ABSOLUTE if sample is ABSOLUTE.get(name, (0, 0))[1] else FUNCTIONS
    with mp.workprec(160):
        call = CALLS.get(name, getattr(nbgrad, name, None))
        return x, call(nbgrad.tensor(x)).numpy(), [exact[name][0](mp.mpf(float(v))) for v in x]


def worst(name: str, x: np.ndarray, errors: list, unit: str) -> float:
    """The largest error; prints its row of the table."""
    k = int(np.argmax(errors))
    print(f"{name:10s} {x.dtype} {errors[k]:6.2f} {unit} at {float(x[k])!r}")
    return errors[k]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name, dtype):
    """Every function is within the stated number of ulp of the truth."""
    x, got, exact = values(name, dtype, FUNCTIONS[name][1])
    spacing = np.spacing(np.abs(np.array([float(v) for v in exact], dtype)))
    errors = [float(abs(mp.mpf(float(g)) - v) / mp.mpf(float(s))) for g, v, s in zip(got, exact, spacing)]
    assert worst(name, x, errors, "ulp") <= FUNCTIONS[name][2]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ABSOLUTE)
def test_accuracy_around_zeros(name, dtype):
    """Functions with zeros are within the stated number of epsilon, relative to the value or 1."""
    x, got, exact = values(name, dtype, ABSOLUTE[name][1])
    errors = [float(abs(mp.mpf(float(g)) - v) / max(1, abs(v))) / np.finfo(dtype).eps for g, v in zip(got, exact)]
    assert worst(name, x, errors, "eps") <= ABSOLUTE[name][2]


@pytest.mark.parametrize("dtype", REAL)
def test_accuracy_of_the_zeta_function(dtype):
    """The Hurwitz zeta function has all digits but a few, also left of 0 for whole arguments."""
    rng = np.random.default_rng(SEED)
    x = np.concatenate([rng.uniform(1.1, 12, 60), [2, 3, 4, 5]]).astype(dtype)
    q = np.concatenate([rng.uniform(0.05, 30, 60), [-0.5, -1.25, -2.7, -7.1]]).astype(dtype)
    got = CALLS["zeta"](nbgrad.tensor(x), nbgrad.tensor(q)).numpy()
    with mp.workprec(160):
        exact = [float(mp.zeta(float(a), float(b))) for a, b in zip(x, q)]
    np.testing.assert_allclose(got, exact, rtol=60 * np.finfo(dtype).eps)


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("erfc", (INF, -INF, 0.0, NAN), (0.0, 2.0, 1.0, NAN)),
        ("erfcx", (INF, -INF, 0.0, NAN), (0.0, INF, 1.0, NAN)),
        ("erfinv", (1.0, -1.0, 0.0, 1.5, NAN), (INF, -INF, 0.0, NAN, NAN)),
        ("ndtri", (0.0, 1.0, 0.5, -0.5, NAN), (-INF, INF, 0.0, NAN, NAN)),
        ("lgamma", (INF, -INF, 0.0, -0.0, -3.0, 1.0, 2.0, NAN), (INF, INF, INF, INF, INF, 0.0, 0.0, NAN)),
        ("digamma", (INF, 0.0, -0.0, -2.0, NAN), (INF, -INF, INF, NAN, NAN)),
        ("trigamma", (INF, 0.0, -2.0, NAN), (0.0, INF, INF, NAN)),
        ("i0", (INF, -INF, 0.0, NAN), (INF, INF, 1.0, NAN)),
        ("i1", (INF, -INF, 0.0, NAN), (INF, -INF, 0.0, NAN)),
        ("bessel_j0", (INF, -INF, 0.0, NAN), (0.0, 0.0, 1.0, NAN)),
        ("bessel_y0", (INF, 0.0, -1.0, NAN), (0.0, -INF, NAN, NAN)),
        ("modified_bessel_k0", (INF, 0.0, -1.0, NAN), (0.0, INF, NAN, NAN)),
        ("airy_ai", (INF, -INF, -1e30, NAN), (0.0, 0.0, NAN, NAN)),
        ("i0e", (INF, 0.0, NAN), (0.0, 1.0, NAN)),
        ("i1e", (INF, 0.0, NAN), (0.0, 0.0, NAN)),
    ],
)
def test_special_values(name, x, expected):
    """Infinities, zeros, poles and NaN."""
    np.testing.assert_array_equal(CALLS[name](nbgrad.tensor(x, dtype=nbgrad.float64)).numpy(), np.array(expected))


@pytest.mark.parametrize("upper", [False, True])
def test_accuracy_of_the_incomplete_gamma_functions(upper):
    """Both are within 2e-13 of the truth, relative to it, where they are tiny too."""
    rng = np.random.default_rng(SEED)
    a = np.concatenate([10.0 ** rng.uniform(-12, 0, 30), rng.uniform(0.5, 30, 30), [1e-10, 1e-300, 0.9, 200.0]])
    x = np.concatenate([10.0 ** rng.uniform(-6, 1, 30), rng.uniform(0.01, 60, 30), [0.1, 0.5, 1.8, 210.0]])
    got = (nbgrad.igammac if upper else nbgrad.igamma)(nbgrad.tensor(a), nbgrad.tensor(x)).numpy()
    with mp.workprec(160):
        for p, q, value in zip(a, x, got):
            limits = (mp.mpf(float(q)), mp.inf) if upper else (0, mp.mpf(float(q)))
            exact = mp.gammainc(mp.mpf(float(p)), *limits, regularized=True)
            assert abs(mp.mpf(float(value)) - exact) <= 2e-13 * exact, (p, q)


def test_incomplete_gamma_functions_of_great_numbers():
    """One half at a = x, the normal distribution around it, and no jump where the method changes."""
    a = nbgrad.tensor([1e7, 1e10, 1e20, 1e300], dtype=nbgrad.float64)
    assert nbgrad.igamma(a, a).allclose(nbgrad.full_like(a, 0.5), atol=2e-4)
    away = a[:3] + 2 * a[:3].sqrt()
    assert nbgrad.igammac(a[:3], away).allclose(nbgrad.special.ndtr(-2 * nbgrad.ones_like(away)), atol=1e-4)
    for below, above in ((1e6 * (1 - 1e-9), 1e6 * (1 + 1e-9)), (16 * (1 - 1e-13), 16 * (1 + 1e-13))):
        for ratio in (0.999, 1.0, 1.001, 1.2):
            a = nbgrad.tensor([below, above], dtype=nbgrad.float64)
            one, other = nbgrad.igamma(a, a * ratio).tolist()
            assert one == pytest.approx(other, rel=1e-8)
