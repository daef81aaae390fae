"""Bessel functions, Airy's function and orthogonal polynomials: names that torch has in ``torch.special`` alone.

torch has none of their derivatives; here they have those of every order, which are functions of the same families.
"""

from __future__ import annotations

from typing import Any, Callable

from .core import composite, elementwise
from .expr import scalar
from .special import SPECIAL

where = scalar.where
BY_X: dict[str, Any] = {"arguments": {"x": "x"}}  # torch calls the operand of these x


def special(name: str, partial: Callable, doc: str, **options: Any) -> None:
    """Declare the scalar function of that name, which ``nbgrad.special`` alone has."""
    elementwise(
        name,
        lambda x: getattr(scalar, name)(x),
        {"x": partial},
        **SPECIAL,
        node=f"Special{''.join(word.capitalize() for word in name.split('_'))}Backward0",
        special=(name,),
        doc=doc,
        **options,
    )


# ---- Bessel functions ----------------------------------------------------------------------------------------------------


def j1_ratio(x):
    """J_1(x) / x near 0, by its power series: the derivatives of a quotient would be differences of equals."""
    square, series = -0.25 * (x * x), 1.0
    for k in range(9, 0, -1):
        series = 1 + square * series * (1 / (k * (k + 1)))
    return 0.5 * series


def j1_slope(x, out):
    """J_0(x) - J_1(x) / x."""
    return scalar.bessel_j0(x) - where(scalar.abs(x) < 1, j1_ratio(x), out / x)


special("bessel_j0", lambda x: -scalar.bessel_j1(x), "The Bessel function of the first kind of order 0.")
special("bessel_j1", j1_slope, "The Bessel function of the first kind of order 1.")
special("bessel_y0", lambda x: -scalar.bessel_y1(x), "The Bessel function of the second kind of order 0: -inf at 0, NaN below.")
special(
    "bessel_y1",
    lambda x, out: scalar.bessel_y0(x) - out / x,
    "The Bessel function of the second kind of order 1: -inf at 0, NaN below.",
)
special(
    "modified_bessel_k0",
    lambda x: -scalar.modified_bessel_k1(x),
    "The modified Bessel function of the second kind of order 0: inf at 0, NaN below.",
)
special(
    "modified_bessel_k1",
    lambda x, out: -scalar.modified_bessel_k0(x) - out / x,
    "The modified Bessel function of the second kind of order 1: inf at 0, NaN below.",
)
special(
    "scaled_modified_bessel_k0",
    lambda x, out: out - scalar.scaled_modified_bessel_k1(x),
    "e**x times ``modified_bessel_k0(x)``.",
    **BY_X,
)
special(
    "scaled_modified_bessel_k1",
    lambda x, out: out - out / x - scalar.scaled_modified_bessel_k0(x),
    "e**x times ``modified_bessel_k1(x)``.",
    **BY_X,
)


def spherical_slope(x, out):
    """(cos(x) - out) / x; near 0, where that is a difference of equals, by its power series."""
    square, series = x * x, 1.0
    for k in range(9, 0, -1):
        series = 1 - square * series * (1 / (2 * k * (2 * k + 3)))
    is_near = scalar.abs(x) < 1
    return where(is_near, -x / 3 * series, (scalar.cos(x) - out) / where(is_near, 1, x))


elementwise(
    "spherical_bessel_j0",
    lambda x: where(x == 0, 1, where(scalar.isinf(x), 0, scalar.sin(x) / where(x == 0, 1, x))),
    {"x": lambda x, out: where(scalar.isinf(x), 0, spherical_slope(x, out))},
    **SPECIAL,
    node="SpecialSphericalBesselJ0Backward0",
    special=("spherical_bessel_j0",),
    **BY_X,
    doc="The spherical Bessel function of order 0, sin(x) / x.",
)

# ---- Airy's function -----------------------------------------------------------------------------------------------------

special(
    "airy_ai", lambda x: scalar.airy_ai_slope(x), "Airy's function Ai, the solution of y'' = x y that vanishes at infinity.", **BY_X
)
elementwise(
    "airy_ai_slope",
    lambda x: scalar.airy_ai_slope(x),
    {"x": lambda x: where(x > 200, 0, x * scalar.airy_ai(x))},  # x Ai(x), without inf * 0
    **SPECIAL,
    public="airy_ai",
    doc="The derivative of Airy's function.",
)

# ---- orthogonal polynomials ----------------------------------------------------------------------------------------------


def chebyshev_slope(x, n, slope, shift):
    """The derivative of U_n + ((slope - 2) x + shift) U_(n - 1), which is what ``chebyshev`` gives."""
    factor = (slope - 2) * x + shift
    derivative = 2 * scalar.gegenbauer(x, n - 1, 2.0) + 2 * factor * scalar.gegenbauer(x, n - 2, 2.0)
    return derivative + (slope - 2) * scalar.gegenbauer(x, n - 1, 1.0)


# Families of polynomials of x, of degree n, which ``nbgrad.special`` has members of.
elementwise(
    "chebyshev",
    lambda x, n, slope, shift: scalar.chebyshev(x, n, slope, shift),
    {"x": chebyshev_slope},
    **SPECIAL,
    doc="The polynomials 1, slope x + shift, ..., with Chebyshev's recurrence.",
)
elementwise(
    "gegenbauer",
    lambda x, n, order: scalar.gegenbauer(x, n, order),
    {"x": lambda x, n, order: 2 * order * scalar.gegenbauer(x, n - 1, order + 1)},
    **SPECIAL,
    doc="Gegenbauer's polynomials.",
)
elementwise(
    "hermite",
    lambda x, n, scale: scalar.hermite(x, n, scale),
    {"x": lambda x, n, scale: scale * scalar.trunc(n) * scalar.hermite(x, n - 1, scale)},
    **SPECIAL,
    doc="Hermite's polynomials of either scale.",
)
elementwise(
    "laguerre",
    lambda x, n, order: scalar.laguerre(x, n, order),
    {"x": lambda x, n, order: -scalar.laguerre(x, n - 1, order + 1)},
    **SPECIAL,
    doc="Laguerre's generalised polynomials.",
)


def polynomial(name: str, formula: Callable, doc: str) -> None:
    """Declare a polynomial of ``input`` whose degree ``n`` is a tensor or a number."""
    doc += " Degrees are cut to whole numbers; below 0 the value is 0, above 100,000 NaN."
    composite(name, formula, method=False, function=False, out=True, special=(name,), doc=doc)


KINDS = {"t": ("first", 1.0, 0.0), "u": ("second", 2.0, 0.0), "v": ("third", 2.0, -1.0), "w": ("fourth", 2.0, 1.0)}


def chebyshev_kind(letter: str) -> None:
    """Declare the polynomials of a kind, and those whose interval is moved from [-1, 1] to [0, 1]."""
    kind, slope, shift = KINDS[letter]
    polynomial(
        f"chebyshev_polynomial_{letter}",
        lambda input, n: scalar.chebyshev(input, n, slope, shift),
        f"Chebyshev's polynomial of the {kind} kind of degree n.",
    )
    polynomial(
        f"shifted_chebyshev_polynomial_{letter}",
        lambda input, n: scalar.chebyshev(2 * input - 1, n, slope, shift),
        f"Chebyshev's polynomial of the {kind} kind of degree n, at 2 x - 1.",
    )


for _letter in KINDS:
    chebyshev_kind(_letter)
polynomial(
    "hermite_polynomial_h", lambda input, n: scalar.hermite(input, n, 2.0), "The physicists' Hermite polynomial of degree n."
)
polynomial(
    "hermite_polynomial_he", lambda input, n: scalar.hermite(input, n, 1.0), "The probabilists' Hermite polynomial of degree n."
)
polynomial("laguerre_polynomial_l", lambda input, n: scalar.laguerre(input, n, 0.0), "Laguerre's polynomial of degree n.")
polynomial("legendre_polynomial_p", lambda input, n: scalar.gegenbauer(input, n, 0.5), "Legendre's polynomial of degree n.")
