"""Functions of angles and hyperbolic ones, their inverses, and sinc."""

from __future__ import annotations

import math

from ..core import elementwise
from ..expr import scalar

where = scalar.where


elementwise(
    "sin", lambda x: scalar.sin(x), {"x": lambda x: scalar.cos(x)}, policy="float", complex=True, doc="The sine of x in radians."
)
elementwise(
    "cos", lambda x: scalar.cos(x), {"x": lambda x: -scalar.sin(x)}, policy="float", complex=True, doc="The cosine of x in radians."
)
elementwise(
    "tan",
    lambda x: scalar.tan(x),
    {"x": lambda out: 1 + out * out},
    policy="float",
    complex=True,
    doc="The tangent of x in radians.",
)
# NOTE [Sides of a cut]: on the cut of a complex function the sign of a zero says which side is meant. ``+ 1`` loses that of an
# imaginary part of -0, and ``1 -`` that of any zero; ``- (-1)`` keeps it. A real 0 comes out as +0, whose root has the infinity
# that is meant.
elementwise(
    "asin",
    lambda x: scalar.asin(x),
    {"x": lambda x: scalar.rsqrt(-x * x - (-1))},
    policy="float",
    complex=True,
    aliases=("arcsin",),
    doc="The angle in [-pi/2, pi/2] whose sine is x.",
)
elementwise(
    "acos",
    lambda x: scalar.acos(x),
    {"x": lambda x: -scalar.rsqrt(-x * x - (-1))},
    policy="float",
    complex=True,
    aliases=("arccos",),
    doc="The angle in [0, pi] whose cosine is x.",
)
elementwise(
    "atan",
    lambda x: scalar.atan(x),
    {"x": lambda x: 1 / (x * x + 1)},
    policy="float",
    complex=True,
    aliases=("arctan",),
    doc="The angle in [-pi/2, pi/2] whose tangent is x.",
)
elementwise(
    "atan2",
    lambda x, y: scalar.atan2(x, y),
    {"x": lambda x, y: scalar.over_square(x, y), "y": lambda x, y: -scalar.over_square(y, x)},
    policy="float",
    aliases=("arctan2",),
    doc="The angle of the point with ordinate x and abscissa y; the derivative at 0 is 0.",
)
# Its derivatives are polynomials of itself and of the other one.
elementwise(
    "over_square",
    lambda x, y: scalar.over_square(x, y),
    {
        "x": lambda x, y, out: -2 * out * scalar.over_square(y, x),
        "y": lambda x, y, out: scalar.over_square(y, x) * scalar.over_square(y, x) - out * out,
    },
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="atan2",
    doc="y / (x**2 + y**2); 0 at 0.",
)
elementwise(
    "sinh", lambda x: scalar.sinh(x), {"x": lambda x: scalar.cosh(x)}, policy="float", complex=True, doc="The hyperbolic sine."
)
elementwise(
    "cosh", lambda x: scalar.cosh(x), {"x": lambda x: scalar.sinh(x)}, policy="float", complex=True, doc="The hyperbolic cosine."
)
elementwise(
    "tanh", lambda x: scalar.tanh(x), {"x": lambda out: 1 - out * out}, policy="float", complex=True, doc="The hyperbolic tangent."
)
elementwise(
    "asinh",
    lambda x: scalar.asinh(x),
    {"x": lambda x: scalar.rsqrt(x * x - (-1))},
    policy="float",
    complex=True,
    aliases=("arcsinh",),
    doc="The inverse hyperbolic sine.",
)
elementwise(
    "acosh",
    lambda x: scalar.acosh(x),
    {"x": lambda x: scalar.rsqrt(x - 1) * scalar.rsqrt(x - (-1))},
    policy="float",
    complex=True,
    aliases=("arccosh",),
    doc="The inverse hyperbolic cosine; NaN below 1.",
)
elementwise(
    "atanh",
    lambda x: scalar.atanh(x),
    {"x": lambda x: 1 / (1 - x * x)},
    policy="float",
    complex=True,
    aliases=("arctanh",),
    doc="The inverse hyperbolic tangent; NaN beyond 1.",
)
elementwise(
    "rad2deg",
    lambda x: x * (180 / math.pi),
    {"x": lambda: 180 / math.pi},
    policy="float",
    node="Rad2DegBackward0",
    doc="Radians as degrees.",
)
elementwise(
    "deg2rad",
    lambda x: x * (math.pi / 180),
    {"x": lambda: math.pi / 180},
    policy="float",
    node="Deg2RadBackward0",
    doc="Degrees as radians.",
)
elementwise(
    "hypot",
    lambda x, y: scalar.hypot(x, y),
    {"x": lambda x, out: where(out == 0, 0, x / out), "y": lambda y, out: where(out == 0, 0, y / out)},
    policy="floating",
    doc="sqrt(x**2 + y**2); the derivative at 0 is 0.",
)


# ---- sinc ------------------------------------------------------------------------------------------------------------


PI = math.pi


def _sinc_of_complex(x):
    """sin(pi x) / (pi x); at 0 the first terms of its series, which has its derivatives."""
    nothing = x == 0
    y = PI * where(nothing, 1.0, x)
    z = (PI * x) * (PI * x)
    return where(nothing, 1 - z * (1 / 6 - z * (1 / 120 - z * (1 / 5040 - z / 362880))), scalar.sin(y) / y)


def _sinc_bend(x):
    """The second derivative of sinc near 0, by its power series."""
    square, series = PI * x * (PI * x), 1.0
    for n in range(10, 0, -1):
        series = 1 - square * series * ((2 * n + 1) / (2 * n * (2 * n - 1) * (2 * n + 3)))
    return -PI * PI / 3 * series


elementwise(
    "sinc",
    lambda x: scalar.sinc(x),
    {"x": lambda x: scalar.sinc_slope(x)},
    policy="float",
    complex_form=lambda x: _sinc_of_complex(x),
    special=("sinc",),
    doc="sin(pi x) / (pi x); 1 at 0.",
)
# x y" + 2 y' + pi**2 x y = 0.
elementwise(
    "sinc_slope",
    lambda x: scalar.sinc_slope(x),
    {"x": lambda x, out: where(scalar.abs(x) < 0.5, _sinc_bend(x), -PI * PI * scalar.sinc(x) - 2 * (out / x))},
    policy="float",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="sinc",
    doc="The derivative of sinc.",
)
