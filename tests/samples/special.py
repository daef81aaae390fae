"""Samples of special functions; the reference is mpmath's, in 30 digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import scipy.special

import nbgrad

from .row import POSITIVE, UNIT, case, fails, row, through

OPEN = ((0.05, 0.95),)
OVERFLOW = "the value has overflowed, or is a pole: inf - inf"
FAR = (1e30, -1e30, np.inf, -np.inf)


def exact(function):
    """A function of mpmath's, on arrays of real numbers."""

    def number(*xs):
        with mp.workdps(30):
            return float(mp.re(function(*(mp.mpf(float(x)) for x in xs))))

    return lambda *xs: np.vectorize(number, otypes=[float])(*xs)


def ndtri(p):
    """The inverse of the normal distribution."""
    return mp.sqrt(2) * mp.erfinv(2 * p - 1) if 0 < p < 1 else mp.inf * (2 * p - 1)


def entr(x):
    """-x log(x)."""
    return -x * mp.log(x) if x > 0 else x * 0 if x == 0 else -mp.inf


def logit(x, eps=None):
    """The logarithm of the odds."""
    x = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(x / (1 - x))


row("erfc", exact(mp.erfc), saves="x")
row("erfinv", exact(mp.erfinv), UNIT, saves="out")
row("erfcx", exact(lambda x: mp.exp(x * x) * mp.erfc(x)))
row("ndtr", exact(mp.ncdf), saves="x")
row("ndtri", exact(ndtri), OPEN, saves="out")
row(
    "log_ndtr",
    exact(lambda x: mp.log(mp.ncdf(x))),
    saves="x",
    edges={"second": ((-1e30, -np.inf), "the square of 1e30 has overflowed in float32; inf / inf")},
)
row(
    "lgamma",
    exact(lambda x: mp.loggamma(x) if x else mp.inf),
    POSITIVE,
    saves="x",
    edges={"first": ((-1.0, -1e30, -np.inf), OVERFLOW), "second": ((-np.inf,), OVERFLOW)},
)
row("digamma", exact(lambda x: mp.psi(0, x) if x else -mp.inf), POSITIVE, saves="x")
row("trigamma", exact(lambda x: mp.psi(1, x) if x else mp.inf), POSITIVE, saves="x")
row(
    "zeta",
    exact(lambda x, q: mp.zeta(x, q) if q else mp.inf),
    POSITIVE,
    case(3.0, (2, 3)),
    case(1.5, (3,)),
    unlike={"layout": "its first operand is a number: it has no derivative by a tensor"},
)
row(
    "polygamma",
    lambda n, x: exact(lambda v: mp.psi(n, v))(x),
    POSITIVE,
    *(case(n, np.array([[0.5, 1.25, 3.0]])) for n in range(4)),
    unlike={"type": "the first operand is a number"},
    errors=[fails(nbgrad.RangeError, "n is -1", -1, (3,))],
)
row("polygamma_of", lambda x, n: exact(lambda v: mp.psi(n, v))(x), POSITIVE, case((2, 3), 1), case((2, 3), 3))
row(
    "mvlgamma",
    lambda x, p: sum(exact(mp.loggamma)(x - k / 2) for k in range(p)) + p * (p - 1) / 4 * np.log(np.pi),
    ((2.0, 5.0),),
    case((2, 3), 3),
    case((2, 3), 1),
    errors=[fails(nbgrad.RangeError, "p is 0", (3,), 0)],
)
WITHOUT = {"formula": "it refuses", "half": "the first operand is given"}
ORDERS = np.array([0.5, 1.0, 3.0])
for _name, _reference in (
    ("igamma", exact(lambda a, x: mp.gammainc(a, 0, x, regularized=True))),
    ("igammac", exact(lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True))),
):
    row(
        f"{_name}_pair",
        _reference,
        POSITIVE,
        case(ORDERS, np.array([2.0, 0.25, 5.0])),
        unlike={**WITHOUT, "gradient": "by the second operand alone: in tests/test_special.py"},
    )
    for _form in (_name, f"{_name}_"):
        row(
            _form,
            _reference,
            POSITIVE,
            case(ORDERS, (3,)) if _form == _name else case(ORDERS, np.array([2.0, 0.25, 5.0])),
            unlike={**WITHOUT, "gradient": "by the second operand alone: in tests/test_special.py"},
        )
row("i0", exact(lambda x: mp.besseli(0, x)), saves="x", edges={"second": (FAR, OVERFLOW)})
row(
    "i0e",
    exact(lambda x: mp.besseli(0, x) * mp.exp(-abs(x))),
    edges={"second": ((0.0,), "the first derivative jumps at 0, and is 0 there")},
)
row("i1", exact(lambda x: mp.besseli(1, x)), at={(0.0,): (0.5,)}, edges={"first": (FAR, OVERFLOW), "second": (FAR, OVERFLOW)})
row("i1e", exact(lambda x: mp.besseli(1, x) * mp.exp(-abs(x))), at={(0.0,): (0.5,)})
row(
    "entr",
    exact(entr),
    POSITIVE,
    saves="x",
    edges={"first": ((-1.0, -1e-30, -1e30, -np.inf), "outside of the domain the value is -inf by convention, the derivative NaN")},
)
row("xlog1py", lambda x, y: np.where(x == 0, 0, x * np.log1p(np.where(x == 0, 1, y))), POSITIVE)
row("logit_open", logit, OPEN, saves="x")
row("logit_within", logit, OPEN, case((2, 3), 0.2))
row(
    "mvlgamma_",
    lambda x, p: sum(exact(mp.loggamma)(x - k / 2) for k in range(p)) + p * (p - 1) / 4 * np.log(np.pi),
    ((2.0, 5.0),),
    case((2, 3), 2),
)
row("polygamma_of_", lambda x, n: exact(lambda v: mp.psi(n, v))(x), POSITIVE, case((2, 3), 1))


# ---- Bessel functions, Airy's function, orthogonal polynomials -----------------------------------------------------------

POLE = ((0.0,), OVERFLOW)
AWAY = {"first": POLE, "second": ((0.0, 1e-30), OVERFLOW)}
WAVES = ((-np.inf,), "the derivatives oscillate, ever more")
for _name, _function, _options in (
    ("bessel_j0", lambda x: mp.besselj(0, x), {"saves": "x"}),
    ("bessel_j1", lambda x: mp.besselj(1, x), {"at": {(0.0,): (0.5,)}}),
    ("bessel_y0", lambda x: mp.bessely(0, x) if x else -mp.inf, {"saves": "x", "domain": POSITIVE, "edges": AWAY}),
    ("bessel_y1", lambda x: mp.bessely(1, x) if x else -mp.inf, {"domain": POSITIVE, "edges": AWAY}),
    ("modified_bessel_k0", lambda x: mp.besselk(0, x), {"saves": "x", "domain": POSITIVE, "edges": AWAY}),
    ("modified_bessel_k1", lambda x: mp.besselk(1, x), {"domain": POSITIVE, "edges": AWAY}),
    ("scaled_modified_bessel_k0", lambda x: mp.exp(x) * mp.besselk(0, x), {"domain": POSITIVE, "edges": AWAY}),
    ("scaled_modified_bessel_k1", lambda x: mp.exp(x) * mp.besselk(1, x), {"domain": POSITIVE, "edges": AWAY}),
    ("spherical_bessel_j0", lambda x: mp.sin(x) / x if x else mp.mpf(1), {"at": {(0.0,): (0.0,)}}),
    ("airy_ai", mp.airyai, {"saves": "x", "edges": {"first": WAVES, "second": WAVES}}),
):
    row(_name, exact(_function), seldom=True, **_options)
through("airy_ai_slope", "airy_ai")


def chebyshev(x, n, slope, shift):
    """By the two kinds that SciPy has."""
    u = scipy.special.eval_chebyu
    return u(n, x) + ((slope - 2) * x + shift) * np.where(n > 0, u(n - 1, x), 0)


def polynomial(function):
    """SciPy's functions take the degree first."""
    return lambda x, n: function(n, x)


for _letter, _slope, _shift in (("t", 1.0, 0.0), ("u", 2.0, 0.0), ("v", 2.0, -1.0), ("w", 2.0, 1.0)):
    _name = f"chebyshev_polynomial_{_letter}"
    row(_name, lambda x, n, a=_slope, b=_shift: chebyshev(x, n, a, b), UNIT, case((2, 3), 2), seldom=True)
    row(f"shifted_{_name}", lambda x, n, a=_slope, b=_shift: chebyshev(2 * x - 1, n, a, b), UNIT, case((2, 3), 2), seldom=True)
for _name, _function in (
    ("hermite_polynomial_h", scipy.special.eval_hermite),
    ("hermite_polynomial_he", scipy.special.eval_hermitenorm),
    ("laguerre_polynomial_l", scipy.special.eval_laguerre),
    ("legendre_polynomial_p", scipy.special.eval_legendre),
):
    row(_name, polynomial(_function), UNIT, case((2, 3), 2), seldom=True)
for _name, _public in (
    ("chebyshev", "chebyshev_polynomial_u"),
    ("gegenbauer", "legendre_polynomial_p"),
    ("hermite", "hermite_polynomial_h"),
    ("laguerre", "laguerre_polynomial_l"),
):
    through(_name, _public)
