"""Elementwise operations: one declaration each.

A partial derivative may use the operands and ``out``; what it mentions is what backward saves, so ``out`` is preferred where it
is at hand (and where torch's users expect the result, not the operand, to be guarded against changes).
"""

from __future__ import annotations

import math
import operator

from .core import elementwise, general, of_reals, undifferentiable
from .expr import scalar

where = scalar.where


def bounded(x, far):
    """x moved into [-far, far], beyond which what it belongs to has come to its limit: no inf meets a 0."""
    return at_least(where(x > far, far, x), -far)


def at_least(x, least):
    """The greater one: one instruction, where scalar.maximum says of either operand that it is NaN."""
    return where(x < least, least, x)


# ---- arithmetic ----------------------------------------------------------------------------------------------------

elementwise(
    "add",
    lambda x, y: x + y,
    {"x": lambda: 1, "y": lambda: 1},
    complex=True,
    numbers=True,
    shows={"alpha": 1},
    text="{0} + {1}",
    of_numbers=operator.add,
    doc="x + y.",
)
elementwise(
    "add_scaled",
    lambda x, y, alpha: x + alpha * y,
    {"x": lambda: 1, "y": lambda alpha: alpha},
    complex=True,
    method=False,
    function=False,
    node="AddBackward0",
    public="add",
    doc="x + alpha * y.",
)
elementwise(
    "sub",
    lambda x, y: x - y,
    {"x": lambda: 1, "y": lambda: -1},
    complex=True,
    refuses_bool=True,
    aliases=("subtract",),
    numbers=True,
    shows={"alpha": 1},
    nodes={(True, False): "RsubBackward1"},
    text="{0} - {1}",
    of_numbers=operator.sub,
    doc="x - y.",
)
elementwise(
    "mul",
    lambda x, y: x * y,
    {"x": lambda y: y, "y": lambda x: x},
    complex=True,
    exact=("x", "y"),
    aliases=("multiply",),
    numbers=True,
    text="{0} * {1}",
    of_numbers=operator.mul,
    doc="x * y.",
)
elementwise(
    "div",
    lambda x, y: x / y,
    {"x": lambda y: 1 / y, "y": lambda x, y: -((x / y) / y)},
    policy="float",
    complex=True,
    exact=("x", "y"),
    numbers=True,
    text=of_reals("{0} / {1}"),
    doc="x / y; integers are divided as floats.",
)
elementwise(
    "div_floor",
    lambda x, y: scalar.floor_divide(x, y),
    {"x": lambda: 0, "y": lambda: 0},
    refuses_bool=True,
    method=False,
    function=False,
    integer_divisor="y",
    node="DivBackward2",
    public="div",
    shows={"rounding_mode": "floor"},
    numbers=True,
    exact=("x", "y"),
    doc="The floor of x / y.",
)
elementwise(
    "div_trunc",
    lambda x, y: scalar.trunc_divide(x, y),
    {"x": lambda: 0, "y": lambda: 0},
    refuses_bool=True,
    method=False,
    function=False,
    integer_divisor="y",
    node="DivBackward2",
    public="div",
    shows={"rounding_mode": "trunc"},
    numbers=True,
    exact=("x", "y"),
    doc="x / y rounded towards 0.",
)
elementwise(
    "floor_divide",
    lambda x, y: scalar.floor_divide(x, y),
    {"x": undifferentiable, "y": undifferentiable},
    refuses_bool=True,
    integer_divisor="y",
    numbers=True,
    exact=("x", "y"),
    doc="The floor of x / y. It has no derivative: div(rounding_mode=) has.",
)
# The whole quotient behind a remainder, which has a derivative (0); floor(x / y) is one too many for 1.0 and 0.1.
elementwise(
    "remainder",
    lambda x, y: scalar.remainder(x, y),
    {"x": lambda: 1, "y": lambda x, y: -scalar.round((x - scalar.remainder(x, y)) / y)},
    refuses_bool=True,
    integer_divisor="y",
    nodes={(False, False): "RemainderBackward1"},
    doc="x - floor(x / y) * y: the sign of y.",
)
elementwise(
    "fmod",
    lambda x, y: scalar.fmod(x, y),
    {"x": lambda: 1, "y": lambda x, y: -scalar.round((x - scalar.fmod(x, y)) / y)},
    refuses_bool=True,
    integer_divisor="y",
    nodes={(False, False): "FmodBackward1"},
    doc="x - trunc(x / y) * y: the sign of x.",
)
elementwise(
    "neg",
    lambda x: -x,
    {"x": lambda: -1},
    complex=True,
    refuses_bool=True,
    aliases=("negative",),
    text="-{0}",
    of_numbers=operator.neg,
    rounds=False,
    doc="-x.",
)
elementwise(
    "positive",
    lambda x: scalar.positive(x),
    {"x": lambda: 1},
    complex=True,
    refuses_bool=True,
    inplace=False,
    out=False,
    text="{0}",
    rounds=False,
    doc="x.",
)
elementwise(
    "conj_physical",
    lambda x: scalar.conj_physical(x),
    {"x": lambda g: scalar.conj_physical(g)},
    tangents={"x": lambda t_x: scalar.conj_physical(t_x)},
    complex=True,
    text=of_reals("{0}"),
    rounds=False,
    doc="The complex conjugate, computed.",
)
elementwise(
    "square",
    lambda x: x * x,
    {"x": lambda x: 2 * scalar.pow_one(x)},
    policy="number",
    complex=True,
    node="PowBackward0",
    shows={"exponent": 2},
    text="{0} * {0}",
    doc="x * x.",
)
elementwise("reciprocal", lambda x: 1 / x, {"x": lambda out: -(out * out)}, policy="float", complex=True, doc="1 / x.")
elementwise(
    "pow",
    lambda x, y: scalar.pow(x, y),
    {
        "x": lambda x, y: where(y == 0, where((x == 0) | scalar.isnan(x), 0, y * scalar.pow(x, y - 1)), y * scalar.pow(x, y - 1)),
        "y": lambda x, y, out: where((x == 0) & (scalar.real(y) >= 0), 0, out * scalar.log(x)),
    },
    refuses_bool=True,
    complex=True,
    saved_as={"exponent": "y"},
    nodes={(False, False): "PowBackward1", (True, False): "PowBackward2"},
    numpy=("power",),
    doc="x to the power y.",
)
elementwise(
    "abs",
    lambda x: scalar.abs(x),
    {"x": lambda x: scalar.sign(x)},
    refuses_bool=True,
    complex_form=lambda x: scalar.modulus(scalar.real(x), scalar.imag(x)),
    aliases=("absolute",),
    numpy=("fabs",),
    text={"real": "fabs({0})"},
    of_numbers=abs,
    rounds=False,
    doc="|x|; the derivative at 0 is 0.",
)
elementwise("sign", lambda x: scalar.sign(x), {"x": lambda: 0}, cheap=True, rounds=False, doc="-1, 0 or 1.")
elementwise(
    "lerp",
    lambda x, end, weight: where(scalar.abs(weight) < 0.5, x + weight * (end - x), end - (end - x) * (1 - weight)),
    {"x": lambda weight: 1 - weight, "end": lambda weight: weight, "weight": lambda x, end: end - x},
    policy="floating",
    complex=True,
    exact=("weight",),
    nodes={(False, False, False): "LerpBackward1"},
    doc="x + weight * (end - x).",
)
elementwise(
    "addcmul_scaled",
    lambda x, tensor1, tensor2, value: x + value * tensor1 * tensor2,
    {"x": lambda: 1, "tensor1": lambda tensor2, value: value * tensor2, "tensor2": lambda tensor1, value: value * tensor1},
    complex=True,
    method=False,
    function=False,
    node="AddcmulBackward0",
    public="addcmul",
    exact=("value",),
    saved_as={"value": "value"},
    doc="x + value * tensor1 * tensor2.",
)
elementwise(
    "addcdiv_scaled",
    lambda x, tensor1, tensor2, value: x + value * (tensor1 / tensor2),
    {
        "x": lambda: 1,
        "tensor1": lambda tensor2, value: value / tensor2,
        "tensor2": lambda tensor1, tensor2, value: -((value * tensor1 / tensor2) / tensor2),
    },
    policy="floating",
    complex=True,
    method=False,
    function=False,
    node="AddcdivBackward0",
    public="addcdiv",
    saved_as={"value": "value"},
    doc="x + value * tensor1 / tensor2.",
)

# ---- powers, exponentials, logarithms ------------------------------------------------------------------------------

LN2, LN10 = math.log(2), math.log(10)


def _log_of_sum(x, y):
    """log(e**x + e**y) of complex numbers: the one of greater real part is taken out."""
    is_first = scalar.real(x) >= scalar.real(y)
    top, other = where(is_first, x, y), where(is_first, y, x)
    return top + scalar.log1p(scalar.exp(other - top))


def _sinc_of_complex(x):
    """sin(pi x) / (pi x); at 0 the first terms of its series, which has its derivatives."""
    nothing = x == 0
    y = PI * where(nothing, 1.0, x)
    z = (PI * x) * (PI * x)
    return where(nothing, 1 - z * (1 / 6 - z * (1 / 120 - z * (1 / 5040 - z / 362880))), scalar.sin(y) / y)


def _share(x, y, rate):
    """e**x / (e**x + e**y), or of powers of another base; of two equal infinities the half."""
    return where(scalar.isinf(x) & (x == y), 0.5, scalar.sigmoid(rate * (x - y)))


elementwise(
    "sqrt",
    lambda x: scalar.sqrt(x),
    {"x": lambda out: 1 / (2 * out)},
    policy="float",
    complex=True,
    cheap=True,
    doc="The square root.",
)
elementwise(
    "rsqrt",
    lambda x: scalar.rsqrt(x),
    {"x": lambda out: -0.5 * (out * out * out)},
    policy="float",
    complex=True,
    doc="1 / sqrt(x).",
)
elementwise("exp", lambda x: scalar.exp(x), {"x": lambda out: out}, policy="float", complex=True, doc="e**x.")
elementwise(
    "exp2", lambda x: scalar.exp2(x), {"x": lambda out: out * LN2}, policy="float", complex=True, special=("exp2",), doc="2**x."
)
elementwise(
    "expm1",
    lambda x: scalar.expm1(x),
    {"x": lambda out: out + 1},
    policy="float",
    complex=True,
    special=("expm1",),
    doc="e**x - 1, exact near 0.",
)
elementwise("log", lambda x: scalar.log(x), {"x": lambda x: 1 / x}, policy="float", complex=True, doc="The natural logarithm.")
elementwise(
    "log2", lambda x: scalar.log2(x), {"x": lambda x: 1 / (x * LN2)}, policy="float", complex=True, doc="The logarithm to base 2."
)
elementwise(
    "log10",
    lambda x: scalar.log10(x),
    {"x": lambda x: 1 / (x * LN10)},
    policy="float",
    complex=True,
    doc="The logarithm to base 10.",
)
elementwise(
    "log1p",
    lambda x: scalar.log1p(x),
    {"x": lambda x: 1 / (x + 1)},
    policy="float",
    complex=True,
    node="Log1PBackward0",
    special=("log1p",),
    doc="log(1 + x), exact near 0.",
)
elementwise(
    "logaddexp",
    lambda x, y: where(x == y, x + LN2, scalar.maximum(x, y) + scalar.log1p(scalar.exp(-scalar.abs(x - y)))),
    {"x": lambda x, y: _share(x, y, 1.0), "y": lambda x, y: _share(y, x, 1.0)},
    policy="floating",
    inplace=False,
    complex_form=lambda x, y: _log_of_sum(x, y),
    doc="log(e**x + e**y), without overflow.",
)

elementwise(
    "logaddexp2",
    lambda x, y: where(x == y, x + 1, scalar.maximum(x, y) + scalar.log1p(scalar.exp2(-scalar.abs(x - y))) * (1 / LN2)),
    {"x": lambda x, y: _share(x, y, LN2), "y": lambda x, y: _share(y, x, LN2)},
    policy="floating",
    inplace=False,
    doc="log2(2**x + 2**y), without overflow.",
)


def _powers(x, y, z):
    """The greatest, and e to the power of each above it."""
    top = scalar.maximum(scalar.maximum(x, y), z)
    return top, *(scalar.exp(each - top) for each in (x, y, z))


def _log_of_three(x, y, z):
    top, *powers = _powers(x, y, z)
    return top + scalar.log(powers[0] + powers[1] + powers[2])


def _share_of_three(k, x, y, z):
    _, *powers = _powers(x, y, z)
    return powers[k] / (powers[0] + powers[1] + powers[2])


def _gamma_proposal(normal, uniform, concentration):
    d = concentration + where(concentration < 1, 1, 0) - 1 / 3
    root = 1 + normal * (1 / scalar.sqrt(9 * d))
    v = where(root > 0, root * root * root, 1)
    accepted = (scalar.log(uniform) < 0.5 * normal * normal + d * (1 - v + scalar.log(v))) & (root > 0)
    return where(accepted, scalar.log(d * v), math.nan)


elementwise(
    "gamma_proposal",
    _gamma_proposal,
    {"normal": undifferentiable, "uniform": undifferentiable, "concentration": undifferentiable},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="gamma",
    doc="The logarithm of an event of a Gamma distribution, or of concentration + 1 if that is below 1; NaN if it is not accepted.",
)
elementwise(
    "gamma_event",
    lambda proposal, uniform, concentration: proposal + where(concentration < 1, scalar.log1p(-uniform) / concentration, 0),
    {"proposal": undifferentiable, "uniform": undifferentiable, "concentration": undifferentiable},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="gamma",
    doc="The logarithm of an event of a Gamma distribution, of a proposal that was accepted.",
)

elementwise(
    "path_score",
    lambda x, y, z, barrier, score: _log_of_three(x, y, z + barrier) + score,
    {
        "x": lambda x, y, z, barrier: _share_of_three(0, x, y, z + barrier),
        "y": lambda x, y, z, barrier: _share_of_three(1, x, y, z + barrier),
        "z": lambda x, y, z, barrier: _share_of_three(2, x, y, z + barrier),
        "barrier": lambda x, y, z, barrier: _share_of_three(2, x, y, z + barrier),
        "score": lambda: 1,
    },
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="ctc_loss",
    doc="log(e**x + e**y + e**(z + barrier)) + score, of finite numbers: what paths that go on in one place have scored.",
)


def by_factor(g, x, y, lowest, logarithm):
    """The cotangent, or the tangent, ``g`` by the first factor of ``x * log(y)``: 0 where that or ``x`` is 0 and so the product is.

    Elsewhere it is not asked for zeros, so that derivatives by ``g`` are those of the product.
    """
    return where((y <= lowest) & ((x == 0) | (g == 0)) | (y == math.inf) & (g == 0), 0, g * logarithm(y))


elementwise(
    "xlogy",
    lambda x, y: where(scalar.isnan(y), y, where(x == 0, 0, x * scalar.log(y))),
    {"x": lambda g, x, y: by_factor(g, x, y, 0, scalar.log), "y": lambda x, y: where((x == 0) & (y == 0), 0, x / y)},
    tangents={"x": lambda t_x, x, y: by_factor(t_x, x, y, 0, scalar.log)},
    policy="float",
    special=("xlogy",),
    doc="x * log(y); 0 where x is 0, unless y is NaN.",
)

# ---- trigonometry --------------------------------------------------------------------------------------------------

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
PI = math.pi


def _sinc_bend(x):
    """The second derivative of sinc near 0, by its power series."""
    square, series = PI * x * (PI * x), 1.0
    for n in range(10, 0, -1):
        series = 1 - square * series * ((2 * n + 1) / (2 * n * (2 * n - 1) * (2 * n + 3)))
    return -PI * PI / 3 * series


def density(x, rate):
    """e**(-rate x**2), whose derivatives at infinity are 0."""
    near = bounded(x, 60.0)
    return scalar.exp(-rate * (near * near))


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
elementwise(
    "erf",
    lambda x: scalar.erf(x),
    {"x": lambda x: 2 / math.sqrt(math.pi) * density(x, 1.0)},
    policy="float",
    special=("erf",),
    doc="The error function.",
)

# ---- rounding ------------------------------------------------------------------------------------------------------

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
)
elementwise(
    "heaviside",
    lambda x, values: where(x == 0, values, where(scalar.isnan(x), x, where(x > 0, 1, 0))),
    {"x": undifferentiable, "values": undifferentiable},
    doc="0 below 0, 1 above, values at 0. It has no derivative.",
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


# 1e-7 as torch: it keeps the new norm from being rounded above the greatest.
elementwise(
    "renorm_factor",
    lambda x, maxnorm: where(x > maxnorm, maxnorm / (x + 1e-7), 1.0),
    {"x": lambda x, maxnorm: where(x > maxnorm, -maxnorm / (x + 1e-7) / (x + 1e-7), 0)},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="renorm",
    doc="By what a length is scaled to maxnorm; 1 below it.",
)

# ---- comparison, logic, bits ---------------------------------------------------------------------------------------

for _name, _sign, _alias in (
    ("lt", "<", "less"),
    ("le", "<=", "less_equal"),
    ("gt", ">", "greater"),
    ("ge", ">=", "greater_equal"),
):
    elementwise(
        _name,
        (lambda name: lambda x, y: getattr(scalar, name)(x, y))(_name),
        predicate=True,
        aliases=(_alias,),
        text=of_reals(f"{{0}} {_sign} {{1}}"),
        of_numbers=getattr(operator, _name),
        doc=f"x {_sign} y.",
    )
elementwise(
    "eq",
    lambda x, y: scalar.eq(x, y),
    predicate=True,
    complex=True,
    numpy=("equal",),
    text="{0} == {1}",
    of_numbers=operator.eq,
    doc="x == y.",
)
elementwise(
    "ne",
    lambda x, y: scalar.ne(x, y),
    predicate=True,
    aliases=("not_equal",),
    complex=True,
    text="{0} != {1}",
    of_numbers=operator.ne,
    doc="x != y.",
)
elementwise(
    "logical_and", lambda x, y: scalar.logical_and(x, y), predicate=True, complex=True, text="{0} & {1}", doc="Both are not zero."
)
elementwise(
    "logical_or",
    lambda x, y: scalar.logical_or(x, y),
    predicate=True,
    complex=True,
    text="{0} | {1}",
    doc="At least one is not zero.",
)
elementwise(
    "logical_xor",
    lambda x, y: scalar.logical_xor(x, y),
    predicate=True,
    complex=True,
    text="{0} ^ {1}",
    doc="Exactly one is not zero.",
)
elementwise("logical_not", lambda x: scalar.logical_not(x), predicate=True, complex=True, text="(not {0})", doc="x is zero.")
elementwise(
    "bitwise_and", lambda x, y: x & y, policy="integer", text="{0} & {1}", of_numbers=operator.and_, doc="The bits that both have."
)
elementwise(
    "bitwise_or",
    lambda x, y: x | y,
    policy="integer",
    text="{0} | {1}",
    of_numbers=operator.or_,
    doc="The bits that at least one has.",
)
elementwise("bitwise_xor", lambda x, y: x ^ y, policy="integer", text="{0} ^ {1}", doc="The bits that exactly one has.")
elementwise(
    "bitwise_not",
    lambda x: ~x,
    policy="integer",
    numpy=("invert",),
    text={**dict.fromkeys(("real", "integer", "complex"), "~{0}"), "bool": "(not {0})"},
    doc="The bits inverted; of a bool the negation.",
)
elementwise(
    "bitwise_left_shift",
    lambda x, y: x << y,
    policy="integer",
    refuses_bool=True,
    numpy=("left_shift",),
    doc="x * 2**y; 0 where y is negative or leaves no bit.",
)
elementwise(
    "bitwise_right_shift",
    lambda x, y: x >> y,
    policy="integer",
    refuses_bool=True,
    numpy=("right_shift",),
    doc="x // 2**y; 0 or -1 where y is negative or leaves no bit.",
)
elementwise("gcd", lambda x, y: scalar.gcd(x, y), policy="integer", refuses_bool=True, doc="The greatest common divisor.")
elementwise("lcm", lambda x, y: scalar.lcm(x, y), policy="integer", refuses_bool=True, doc="The least common multiple.")
elementwise("isposinf", lambda x: scalar.isinf(x) & (x > 0), predicate=True, inplace=False, doc="x is positive infinity.")
elementwise("isneginf", lambda x: scalar.isinf(x) & (x < 0), predicate=True, inplace=False, doc="x is negative infinity.")
elementwise(
    "sign_bit",
    lambda x: scalar.copysign(1.0, x) < 0,
    policy="floating",
    predicate=True,
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="signbit",
    doc="The sign is negative, that of -0.0 too.",
)
elementwise(
    "isnan",
    lambda x: scalar.isnan(x),
    predicate=True,
    complex=True,
    inplace=False,
    out=False,
    text={"integer": "False"},
    doc="x is not a number.",
)
elementwise(
    "isinf",
    lambda x: scalar.isinf(x),
    predicate=True,
    complex=True,
    inplace=False,
    out=False,
    text={"integer": "False"},
    doc="x is infinite.",
)
elementwise(
    "isfinite",
    lambda x: scalar.isfinite(x),
    predicate=True,
    complex=True,
    inplace=False,
    out=False,
    text={"integer": "True"},
    doc="x is neither infinite nor NaN.",
)

# ---- choice --------------------------------------------------------------------------------------------------------

elementwise(
    "where",
    lambda condition, x, y: where(condition, x, y),
    {"x": lambda condition: where(condition, 1, 0), "y": lambda condition: where(condition, 0, 1)},
    boolean=("condition",),
    old_masks=True,
    complex=True,
    method=False,
    inplace=False,
    cheap=True,
    rounds=False,
    of_numbers=lambda condition, x, y: x if condition else y,
    doc="x where condition is true, else y.",
)
elementwise(
    "maximum",
    lambda x, y: scalar.maximum(x, y),
    {"x": lambda x, y: where(x == y, 0.5, where(x < y, 0, 1)), "y": lambda x, y: where(x == y, 0.5, where(x > y, 0, 1))},
    inplace=False,
    cheap=True,
    rounds=False,
    doc="The larger one; NaN if one is. Ties share the gradient.",
)
elementwise(
    "minimum",
    lambda x, y: scalar.minimum(x, y),
    {"x": lambda x, y: where(x == y, 0.5, where(x > y, 0, 1)), "y": lambda x, y: where(x == y, 0.5, where(x < y, 0, 1))},
    inplace=False,
    cheap=True,
    rounds=False,
    doc="The smaller one; NaN if one is. Ties share the gradient.",
)
elementwise(
    "fmax",
    lambda x, y: where(scalar.isnan(y), x, where(scalar.isnan(x), y, scalar.maximum(x, y))),
    {"x": lambda x, y: where((x >= y) | scalar.isnan(y), 1, 0), "y": lambda x, y: where((x >= y) | scalar.isnan(y), 0, 1)},
    inplace=False,
    doc="The larger one; the number if the other is NaN. Ties go to x.",
)
elementwise(
    "fmin",
    lambda x, y: where(scalar.isnan(y), x, where(scalar.isnan(x), y, scalar.minimum(x, y))),
    {"x": lambda x, y: where((x <= y) | scalar.isnan(y), 1, 0), "y": lambda x, y: where((x <= y) | scalar.isnan(y), 0, 1)},
    inplace=False,
    doc="The smaller one; the number if the other is NaN. Ties go to x.",
)
elementwise(
    "clamp_both",
    lambda x, min, max: scalar.minimum(scalar.maximum(x, min), max),
    {
        "x": lambda x, min, max: where((x >= min) & (x <= max), 1, 0),
        "min": lambda x, min, max: where((min < max) & (x < min), 1, 0),
        "max": lambda x, min, max: where((x > max) | (max < min), 1, 0),
    },
    method=False,
    function=False,
    node="ClampBackward1",
    public="clamp",
    bounds=("min", "max"),
    nodes={(False, False, False): "ClampBackward0"},
    doc="x moved into [min, max].",
)
elementwise(
    "clamp_min",
    lambda x, min: scalar.maximum(x, min),
    {"x": lambda x, min: where(x >= min, 1, 0), "min": lambda x, min: where(x < min, 1, 0)},
    node="ClampBackward1",
    shows={"max": None},
    doc="x, but at least min.",
)
elementwise(
    "clamp_max",
    lambda x, max: scalar.minimum(x, max),
    {"x": lambda x, max: where(x <= max, 1, 0), "max": lambda x, max: where(x > max, 1, 0)},
    node="ClampBackward1",
    shows={"min": None},
    doc="x, but at most max.",
)

# ---- activations ---------------------------------------------------------------------------------------------------

# NOTE [NaN in pieces]: comparisons ask for the pieces where something else than x happens (`x < 0`, not `x >= 0`), so that NaN
# passes through, and so do gradients there.
elementwise(
    "relu",
    lambda x: where(x < 0, 0, x),
    {"x": lambda out: where(out <= 0, 0, 1)},
    refuses_bool=True,
    out=False,
    backward_node="ThresholdBackwardBackward0",
    doc="max(x, 0).",
)
elementwise(
    "sigmoid",
    lambda x: scalar.sigmoid(x),
    {"x": lambda out: out * (1 - out)},
    policy="float",
    complex=True,
    special=("expit",),
    doc="1 / (1 + e**-x).",
)
# Beyond 800 the sigmoid is 0 or 1 in every dtype, beyond 60 the normal distribution is.
elementwise(
    "silu",
    lambda x: at_least(x, -800.0) * scalar.sigmoid(x),
    {"x": lambda x: scalar.sigmoid(x) * (1 + bounded(x, 800.0) * (1 - scalar.sigmoid(x)))},
    policy="floating",
    out=False,
    complex_form=lambda x: x * scalar.sigmoid(x),
    doc="x * sigmoid(x).",
)
elementwise(
    "logsigmoid",
    lambda x: scalar.minimum(x, 0.0) - scalar.log1p(scalar.exp(-scalar.abs(x))),
    {"x": lambda x: scalar.sigmoid(-x)},
    policy="floating",
    node="LogSigmoidBackward0",
    row_major=True,
    doc="log(sigmoid(x)).",
)
elementwise(
    "softplus",
    lambda x, beta=1.0, threshold=20.0: where(x * beta > threshold, x, scalar.log1p(scalar.exp(x * beta)) / beta),
    {"x": lambda x, beta, threshold: where(x * beta > threshold, 1, scalar.sigmoid(x * beta))},
    policy="floating",
    inplace=False,
    doc="log(1 + e**(beta x)) / beta; x itself where beta x > threshold.",
)
elementwise(
    "leaky_relu",
    lambda x, negative_slope=0.01: where(x > 0, x, negative_slope * x),
    {"x": lambda x, negative_slope: where(x > 0, 1, negative_slope)},
    policy="floating",
    out=False,
    backward_node="LeakyReluBackwardBackward0",
    doc="x where x > 0, else negative_slope * x.",
)
elementwise(
    "prelu_by",
    lambda x, weight: where(x > 0, x, weight * x),
    {"x": lambda x, weight: where(x > 0, 1, weight), "weight": lambda x: where(x > 0, 0, x)},
    exact=("weight",),
    method=False,
    function=False,
    inplace=False,
    out=False,
    node="PreluKernelBackward0",
    public="prelu",
    doc="x where x > 0, else weight * x.",
)
elementwise(
    "gated",
    lambda x, y: x * scalar.sigmoid(y),
    {"x": lambda y: scalar.sigmoid(y), "y": lambda x, y: x * (scalar.sigmoid(y) * (1 - scalar.sigmoid(y)))},
    policy="float",
    complex=True,
    method=False,
    function=False,
    inplace=False,
    out=False,
    node="GluBackward0",
    public="glu",
    doc="x * sigmoid(y).",
)
elementwise(
    "elu",
    lambda x, alpha=1.0: where(x > 0, x, alpha * scalar.expm1(x)),
    {"x": lambda x, alpha: where(x <= 0, alpha * scalar.exp(x), 1)},
    policy="floating",
    out=False,
    shows={"scale": 1, "input_scale": 1},
    doc="x where x > 0, else alpha * (e**x - 1).",
)
_CDF = lambda x: 0.5 * (1 + scalar.erf(x * math.sqrt(0.5)))  # of the normal distribution


def _gelu_slope(x):
    """The distribution function and x times the density."""
    near = bounded(x, 60.0)
    return _CDF(x) + near * (scalar.exp(-0.5 * (near * near)) / math.sqrt(2 * math.pi))


elementwise(
    "gelu_erf",
    lambda x: at_least(x, -60.0) * _CDF(x),
    {"x": _gelu_slope},
    policy="floating",
    method=False,
    function=False,
    node="GeluBackward0",
    public="gelu",
    shows={"approximate": "none"},
    doc="x times the normal distribution function of x.",
)
_INNER = lambda x: math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))


def _gelu_tanh_slope(x):
    """As the formula has it, where its parts are finite."""
    near = bounded(x, 60.0)
    tanh = scalar.tanh(_INNER(near))
    return 0.5 * (1 + tanh) + 0.5 * near * (1 - tanh * tanh) * (math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * (near * near)))


elementwise(
    "gelu_tanh",
    lambda x: 0.5 * at_least(x, -60.0) * (1 + scalar.tanh(_INNER(x))),
    {"x": _gelu_tanh_slope},
    policy="floating",
    method=False,
    function=False,
    node="GeluBackward0",
    public="gelu",
    shows={"approximate": "tanh"},
    doc="gelu by Hendrycks and Gimpel's tanh.",
)

ACTIVATION = {"policy": "floating", "out": False, "method": False}
elementwise(
    "hardtanh",
    lambda x, min_val=-1.0, max_val=1.0: where(x <= min_val, min_val, where(x >= max_val, max_val, x)),
    {"x": lambda x, min_val, max_val: where((x <= min_val) | (x >= max_val), 0, 1)},
    **ACTIVATION,
    backward_node="HardtanhBackwardBackward0",
    of_integers=lambda x, least, most: scalar.clamp_max(scalar.clamp_min(x, least), most),
    doc="x moved into [min_val, max_val]; the derivative at the ends is 0.",
)
elementwise(
    "hardsigmoid",
    lambda x: where(x <= -3, 0, where(x >= 3, 1, x * (1 / 6) + 0.5)),
    {"x": lambda x: where((x > -3) & (x < 3), 1 / 6, 0)},
    **ACTIVATION,
    backward_node="HardsigmoidBackwardBackward0",
    doc="x / 6 + 1/2, moved into [0, 1].",
)
elementwise(
    "hardswish",
    lambda x: where(x <= -3, 0, where(x >= 3, x, x * (x + 3) * (1 / 6))),
    {"x": lambda x: where(x <= -3, 0, where(x < 3, x * (1 / 3) + 0.5, 1))},
    **ACTIVATION,
    doc="x * hardsigmoid(x).",
)
elementwise(
    "celu",
    lambda x, alpha=1.0: where(x > 0, x, alpha * scalar.expm1(x / alpha)),
    {"x": lambda x, alpha: where(x <= 0, scalar.exp(x / alpha), 1)},
    **ACTIVATION,
    doc="x where x > 0, else alpha * (e**(x / alpha) - 1).",
)
# Klambauer, Unterthiner, Mayr, Hochreiter, "Self-Normalizing Neural Networks", 2017: the fixed point of mean 0 and variance 1.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
elementwise(
    "selu",
    lambda x: where(x > 0, SELU_SCALE * x, SELU_SCALE * SELU_ALPHA * scalar.expm1(x)),
    {"x": lambda x: where(x <= 0, SELU_SCALE * SELU_ALPHA * scalar.exp(x), SELU_SCALE)},
    **ACTIVATION,
    node="EluBackward0",
    shows={"alpha": 1.6732632423543772, "scale": 1.0507009873554805, "input_scale": 1},
    doc="elu scaled so that mean 0 and variance 1 are a fixed point (Klambauer et al., 2017).",
)
_SOFTPLUS = lambda x: scalar.maximum(x, 0.0) + scalar.log1p(scalar.exp(-scalar.abs(x)))
elementwise(
    "mish",
    lambda x: at_least(x, -800.0) * scalar.tanh(_SOFTPLUS(x)),
    {
        "x": lambda x: (
            scalar.tanh(_SOFTPLUS(x))
            + bounded(x, 800.0) * scalar.sigmoid(x) * (1 - scalar.tanh(_SOFTPLUS(x)) * scalar.tanh(_SOFTPLUS(x)))
        )
    },
    **ACTIVATION,
    doc="x * tanh(log(1 + e**x)).",
)
elementwise(
    "threshold",
    lambda x, threshold, value: where(x <= threshold, value, x),
    {"x": lambda x, threshold: where(x <= threshold, 0, 1)},
    **ACTIVATION,
    backward_node="ThresholdBackwardBackward0",
    of_integers=lambda x, threshold, value: where(x <= threshold, value, x),
    doc="x where x > threshold, else value.",
)
elementwise(
    "tanhshrink",
    lambda x: x - scalar.tanh(x),
    {"x": lambda x: scalar.tanh(x) * scalar.tanh(x)},
    policy="float",
    complex=True,
    out=False,
    method=False,
    doc="x - tanh(x).",
)
elementwise(
    "hardshrink",
    lambda x, lambd=0.5: where((x >= -lambd) & (x <= lambd), 0, x),
    {"x": lambda x, lambd: where((x >= -lambd) & (x <= lambd), 0, 1)},
    policy="floating",
    inplace=False,
    backward_node="HardshrinkBackwardBackward0",
    exact=(),
    doc="x where |x| > lambd, else 0.",
)
elementwise(
    "softshrink",
    lambda x, lambd=0.5: where(x > lambd, x - lambd, where(x < -lambd, x + lambd, 0 * x)),
    {"x": lambda x, lambd: where((x >= -lambd) & (x <= lambd), 0, 1)},
    policy="floating",
    method=False,
    backward_node="SoftshrinkBackwardBackward0",
    doc="x moved towards 0 by lambd, as far as 0.",
)

# ---- copies and writes ---------------------------------------------------------------------------------------------

elementwise("clone", lambda x: scalar.positive(x), {"x": lambda: 1}, complex=True, inplace=False, doc="A copy.")
# Only the in-place forms of these are public.
elementwise(
    "copy",
    lambda x, y: y,
    {"x": lambda: 0, "y": lambda: 1},
    policy="first",
    complex=True,
    method=False,
    function=False,
    node="CopyBackwards",
    arguments={"src": "y"},
    doc="Write y into x.",
)
elementwise(
    "fill",
    lambda x, y: y,
    {"x": lambda: 0, "y": lambda: 1},
    policy="first",
    complex=True,
    method=False,
    function=False,
    arguments={"value": "y"},
    doc="Write one value into every element.",
)
elementwise(
    "zero",
    lambda x: 0.0,
    {"x": lambda: 0},
    policy="first",
    complex=True,
    method=False,
    function=False,
    doc="Write 0 into every element.",
)

# ---- what depends on an operand without being changed by it -----------------------------------------------------------
# The first operand, as a result of the second: it requires grad if that does, and its derivative by it is 0.
for _name, _node, _public in (
    ("drawn_with_probability", "BernoulliBackward0", "bernoulli"),
    ("drawn_around", "NormalBackward3", "normal"),
    ("counted_of", "LinalgVectorNormBackward0", "norm"),
):
    elementwise(
        _name,
        lambda x, y: x,
        {"x": lambda: 1, "y": lambda: 0},
        method=False,
        function=False,
        inplace=False,
        out=False,
        complex=True,
        node=_node,
        public=_public,
        doc="x; the derivative by y, on which it depends, is 0.",
    )


# ---- neighbours and exponents: their lowerings are lowering/formulas.py's --------------------------------------------

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
