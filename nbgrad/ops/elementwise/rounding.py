"""Rounding, and the parts of floating-point numbers: signs, exponents, mantissas, neighbours.

What is a ``general`` operation here has no formula: its lowering is in lowering/formulas.py.
"""

from __future__ import annotations

import math

from ..core import elementwise, general
from ..expr import scalar

where = scalar.where


elementwise(
    "floor",
    lambda x: scalar.floor(x),
    {"x": lambda: 0},
    refuses_bool=True,
    text={"integer": "{0}"},
    cheap=True,
    doc="The largest integer <= x.",
)
elementwise(
    "ceil",
    lambda x: scalar.ceil(x),
    {"x": lambda: 0},
    refuses_bool=True,
    text={"integer": "{0}"},
    cheap=True,
    doc="The smallest integer >= x.",
)
elementwise(
    "round",
    lambda x: scalar.round(x),
    {"x": lambda: 0},
    refuses_bool=True,
    special=("round",),
    numpy=("rint",),
    text={"integer": "{0}"},
    cheap=True,
    doc="The nearest integer, ties to even.",
)
elementwise(
    "trunc",
    lambda x: scalar.trunc(x),
    {"x": lambda: 0},
    refuses_bool=True,
    aliases=("fix",),
    text={"integer": "{0}"},
    cheap=True,
    doc="x without its fraction.",
)
elementwise("frac", lambda x: x - scalar.trunc(x), {"x": lambda: 1}, policy="floating", doc="The fraction of x, with its sign.")
elementwise(
    "load_exponent",
    lambda x, other: scalar.ldexp(x, other),
    {"x": lambda g, other: scalar.ldexp(g, other)},
    tangents={"x": lambda t_x, other: scalar.ldexp(t_x, other)},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    node="MulBackward0",
    public="ldexp",
    doc="x * 2**other, for whole numbers other.",
    aten=".Tensor",
)
elementwise(
    "mantissa_of",
    lambda x, exponent: scalar.ldexp(x, -exponent),
    {"x": lambda g, exponent: scalar.ldexp(g, -exponent)},
    tangents={"x": lambda t_x, exponent: scalar.ldexp(t_x, -exponent)},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    node="FrexpBackward0",
    public="frexp",
    doc="x * 2**-exponent, for whole exponents.",
)
elementwise(
    "copysign",
    lambda x, y: scalar.copysign(x, y),
    {"x": lambda x, out: where(scalar.isnan(x), math.nan, scalar.sign(x) * scalar.sign(out)), "y": lambda: 0},
    policy="float",
    doc="The magnitude of x with the sign of y.",
    aten={(): ".Tensor", (False, True): ".Scalar"},
)
elementwise(
    "nan_replaced",
    lambda x, nan, posinf, neginf: where(scalar.isnan(x), nan, where(scalar.isinf(x), where(x > 0, posinf, neginf), x)),
    {"x": lambda x: where(scalar.isfinite(x), 1, 0)},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    node="NanToNumBackward0",
    public="nan_to_num",
    doc="x with numbers for NaN and the infinities.",
)
general(
    "adjacent",
    lambda x, y: x,
    {
        "x": lambda g, x, y: scalar.where(scalar.eq(x, y), 0, g),
        "y": lambda g, y: scalar.where(scalar.eq(y, y) | scalar.isnan(y), 0, g),
    },
    operands=("x", "y"),
    method=False,
    function=False,
    public="nextafter",
    node="NextafterBackward0",
    batched="broadcasting",
    doc="The next number after x in the direction of y.",
)
general(
    "binary_exponent",
    lambda x: x,
    method=False,
    function=False,
    public="frexp",
    doc="The exponent e of x = m 2**e with 1/2 <= |m| < 1, in int32.",
)
