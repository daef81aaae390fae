"""Scalar functions of complex numbers: how far they are from the truth, branch cuts, infinities, huge angles, a division's range.

``python -m pytest tests/kernels/test_complex_scalars.py -k accuracy -rP`` prints the table of errors. Oracles: mpmath, NumPy.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import nbgrad

LIMIT = 3.0  # eps of |f(z)|
EXACT = {
    "exp": mp.exp,
    "exp2": lambda z: mp.mpf(2) ** z,
    "expm1": mp.expm1,
    "log": mp.log,
    "log2": lambda z: mp.log(z) / mp.log(2),
    "log10": mp.log10,
    "log1p": mp.log1p,
    "sqrt": mp.sqrt,
    "rsqrt": lambda z: 1 / mp.sqrt(z),
    "reciprocal": lambda z: 1 / z,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "sigmoid": lambda z: 1 / (1 + mp.exp(-z)),
}
NUMPY_NAMES = {name: "arc" + name[1:] for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}
KINDS = ("complex64", "complex128")


def numpy_function(name: str):
    """NumPy's function of that name."""
    return getattr(np, NUMPY_NAMES.get(name, name))


def points(dtype: str) -> np.ndarray:
    """Random numbers of several sizes, on the unit circle, and next to 1, -1, i: where something cancels."""
    rng = np.random.default_rng(7)

    def cloud(size, centre=0.0, count=40):
        return centre + size * (rng.standard_normal(count) + 1j * rng.standard_normal(count))

    parts = [cloud(size) for size in (1e-6, 1e-3, 0.1, 1, 3, 20)]
    parts += [np.exp(1j * rng.uniform(-np.pi, np.pi, 40)), cloud(1e-4, 1), cloud(1e-4, -1), cloud(1e-4, 1j)]
    return np.concatenate(parts).astype(dtype)


def applied(name: str, *operands: np.ndarray) -> np.ndarray:
    """The operation on arrays."""
    return getattr(nbgrad, name)(*map(nbgrad.tensor, operands)).numpy()


def errors(got: np.ndarray, exact: list) -> np.ndarray:
    """|got - exact| in eps of |exact|."""
    eps = float(np.finfo(got.dtype).eps)
    return np.array([float(abs(mp.mpc(complex(g)) - w) / abs(w)) / eps for g, w in zip(got, exact)])


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", EXACT)
def test_accuracy(name, dtype):
    """Every function is within 3 eps of the truth's modulus."""
    mp.mp.prec = 200
    z = points(dtype)
    wrong = errors(applied(name, z), [EXACT[name](mp.mpc(complex(v))) for v in z])
    at = int(np.argmax(wrong))
    print(f"{name:10s} {dtype:10s} {wrong[at]:5.2f} eps at {z[at]}")
    assert wrong[at] <= LIMIT, f"{name} of {z[at]} in {dtype}: {wrong[at]:.2f} eps"


@pytest.mark.parametrize("dtype", KINDS)
def test_accuracy_of_pow(dtype):
    """A power is as exact as its logarithm times the exponent: the error grows with that product."""
    mp.mp.prec = 200
    rng = np.random.default_rng(3)
    x, y = ((rng.standard_normal((2, 200)) + 1j * rng.standard_normal((2, 200))) * 2).astype(dtype)
    exact = [mp.power(mp.mpc(complex(a)), mp.mpc(complex(b))) for a, b in zip(x, y)]
    allowed = 3 + 2 * np.abs(y * np.log(x))
    assert (errors(applied("pow", x, y), exact) <= allowed).all()


@pytest.mark.parametrize("dtype", KINDS)
def test_quotients_neither_overflow_nor_vanish(dtype):
    """Parts near the ends of the range divide as if there were no ends."""
    big = float(np.finfo(dtype).max) / 4
    z = np.array([complex(big, big), complex(big, 1), complex(1 / big, 1 / big), complex(1, big)], dtype)
    np.testing.assert_allclose(applied("div", z, z), np.ones(4), rtol=4 * np.finfo(dtype).eps)
    assert applied("abs", z).tolist() == pytest.approx(np.abs(z).tolist(), rel=1e-6)


NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5)
GRID = np.array([complex(x, y) for x in NUMBERS for y in NUMBERS])
SAME_CUTS = (
    "exp",
    "log",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
)


@pytest.mark.parametrize("name", SAME_CUTS)
def test_branch_cuts_follow_signed_zeros(name):
    """On the axes, with either sign of zero, the result lies on NumPy's side of the cut, signs of its zeros included."""
    with np.errstate(all="ignore"):
        want = numpy_function(name)(GRID)
    got = applied(name, GRID)
    for part in ("real", "imag"):
        g, w = getattr(got, part), getattr(want, part)
        # Where NumPy gives rounding noise in place of a zero, or the other way round, signs mean nothing.
        np.testing.assert_allclose(g, w, rtol=1e-14, atol=1e-15)
        solid = (w == g) | (np.abs(w) > 1e-15)
        assert (np.signbit(g) == np.signbit(w))[solid & ~np.isnan(w)].all(), (name, part)


INFINITIES = np.array([complex(x, y) for x in (np.inf, -np.inf) for y in (0.0, 1.0, -1.0, np.inf, -np.inf)])


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sinh", "cosh", "tanh"])
def test_infinite_arguments(name):
    """Infinite arguments give what C99 says: limits and directions, not NaN from inf - inf."""
    with np.errstate(all="ignore"):
        want = numpy_function(name)(INFINITIES)
    got = applied(name, INFINITIES)
    for part in ("real", "imag"):
        np.testing.assert_allclose(np.abs(getattr(got, part)), np.abs(getattr(want, part)), rtol=1e-14)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", ["exp", "sinh", "cosh", "sin", "cos"])
def test_huge_angles_are_reduced_precisely(name, dtype):
    """Angles beyond the fast reduction go through the precise one, the whole block with them."""
    mp.mp.prec = 1500
    angles = np.array([1e10, 3e15, 1e22, -7e30, 0.5])
    z = (0.5 + 1j * angles if name in ("exp", "sinh", "cosh") else angles + 0.5j).astype(dtype)
    assert errors(applied(name, z), [EXACT[name](mp.mpc(complex(v))) for v in z]).max() <= LIMIT


def test_exponentials_near_overflow():
    """e**x overflows before e**x cos y does: the product is what counts."""
    z = 710 + 0.785j
    mp.mp.prec = 200
    assert z.real > np.log(np.finfo(float).max)
    assert errors(applied("exp", np.array([z])), [mp.exp(mp.mpc(z))])[0] <= LIMIT


def test_zero_to_a_power():
    """0 to the power 0 is 1, to a power with a positive real part 0."""
    zero = np.zeros(3, "complex128")
    assert applied("pow", zero, np.array([0, 2, 1 + 1j])).tolist() == [1, 0, 0]


def test_nan_is_contagious():
    """NaN in either part makes every result NaN in some part."""
    for name in EXACT:
        got = applied(name, np.array([complex(np.nan, 1), complex(1, np.nan)]))
        assert np.isnan(got).all(), name


def test_classification():
    """isnan, isinf and isfinite look at both parts, as NumPy's."""
    z = np.array([complex(x, y) for x in (0, np.inf, np.nan) for y in (1, -np.inf, np.nan)])
    for name in ("isnan", "isinf", "isfinite"):
        assert applied(name, z).tolist() == getattr(np, name)(z).tolist()


def test_modulus_is_accurate_over_the_whole_range():
    """hypot of float32 is within 2 ulp of float64's, from the smallest numbers to the largest."""
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal((2, 20_000)) * 2.0 ** rng.uniform(-126, 126, (2, 20_000))).astype("float32")
    exact = np.hypot(x.astype("float64"), y.astype("float64"))
    got = applied("hypot", x, y)
    assert (np.abs(got - exact) / np.spacing(exact.astype("float32"))).max() <= 2
    ends = np.array([[0, np.inf, np.nan, np.inf, np.nan], [0, 1, np.inf, np.nan, 1]], "float32")
    np.testing.assert_array_equal(applied("hypot", *ends), np.hypot(*ends))
