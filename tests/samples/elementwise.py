"""Samples of the elementwise operations."""

from __future__ import annotations

import math

import numpy as np

from .row import NONZERO, POSITIVE, REAL, SMALL, UNIT, case, row

# Of `alpha=2` and the like.
FACTOR = {"bool": "the factor 2 makes an integer of it"}

INVERSE = ((np.inf, -np.inf), "inf / inf in the derivative of 1 / (1 + x**2), as in torch")
erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def scaled(*shapes, **numbers):
    """Operands of these shapes, then plain numbers."""
    return case(*shapes, *numbers.values())


# ---- arithmetic ------------------------------------------------------------------------------------------------------

row("add", np.add, saves="")
row("add_scaled", lambda x, y, alpha: x + alpha * y, REAL, scaled((2, 3), (3,), alpha=2), saves="alpha", unlike=FACTOR)
row("sub", np.subtract, saves="")
row("mul", np.multiply, saves="x y")
row("div", np.divide, NONZERO, saves="x y")
row("div_floor", np.floor_divide, NONZERO)
row("div_trunc", lambda x, y: np.trunc(x / y), NONZERO)
row("floor_divide", np.floor_divide, NONZERO)
row("remainder", np.remainder, NONZERO, saves="x y")
row("fmod", np.fmod, NONZERO)
row("neg", np.negative, saves="")
row("positive", np.positive, saves="")
row("conj_physical", np.conj, saves="")
row("square", np.square, saves="x")
row("reciprocal", lambda x: 1 / x, NONZERO, saves="out")
row(
    "pow",
    np.power,
    POSITIVE,
    at={(0.0, 2.0): (0.0, 0.0), (0.0, 0.0): (0.0, 0.0), (0.0, 1.0): (1.0, 0.0)},
    edges={
        "second": (lambda x, y: x < 0, "the logarithm of a negative number"),
        "mixed": (lambda x, y: x <= 0, "at x = 0 the derivative by y is 0 by convention; logarithms"),
    },
)
row("abs", np.abs, at={(0.0,): (0.0,)}, saves="x")
row("sign", lambda x: np.where(x > 0, 1, np.where(x < 0, -1, 0)), at={(0.0,): (0.0,)}, saves="")
row("lerp", lambda x, end, weight: x + weight * (end - x))
row("addcmul_scaled", lambda x, y, z, value: x + value * y * z, REAL, scaled((2, 3), (3,), (2, 1), value=2), unlike=FACTOR)
row("kept_scaled", lambda x, kept, factor: x * kept * factor, REAL, scaled((2, 3), (3,), factor=2), saves="kept factor")
row("addcdiv_scaled", lambda x, y, z, value: x + value * y / z, NONZERO, scaled((2, 3), (3,), (2, 1), value=2))

# ---- powers, exponentials, logarithms --------------------------------------------------------------------------------

row("sqrt", np.sqrt, POSITIVE, saves="out")
row("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE, saves="out")
row("exp", np.exp, saves="out")
row("exp2", np.exp2, saves="out")
row("expm1", np.expm1, saves="out")
row("log", np.log, POSITIVE, saves="x")
row("log2", np.log2, POSITIVE, saves="x")
row("log10", np.log10, POSITIVE, saves="x")
row("log1p", np.log1p, POSITIVE, saves="x")


def logaddexp(x, y):
    """log(e**x + e**y); of complex numbers on the branch of the one of greater real part."""
    if not np.iscomplexobj(x):
        return np.logaddexp(x, y)
    top, other = np.where(x.real >= y.real, x, y), np.where(x.real >= y.real, y, x)
    return top + np.log1p(np.exp(other - top))


row("logaddexp", logaddexp, saves="x y")


def gamma_proposal(normal, uniform, concentration):
    """Marsaglia and Tsang's, of concentration + 1 below 1; NaN where it is refused."""
    d = concentration + (concentration < 1) - 1 / 3
    root = 1 + normal / np.sqrt(9 * d)
    v = np.where(root > 0, root**3, 1)
    return np.where((root > 0) & (np.log(uniform) < normal**2 / 2 + d * (1 - v + np.log(v))), np.log(d * v), np.nan)


row("gamma_proposal", gamma_proposal, domains={"uniform": UNIT, "concentration": POSITIVE})
row(
    "gamma_event",
    lambda proposal, uniform, concentration: proposal + np.where(concentration < 1, np.log1p(-uniform) / concentration, 0),
    domains={"uniform": UNIT, "concentration": POSITIVE},
)
row("path_score", lambda x, y, z, barrier, score: np.logaddexp(np.logaddexp(x, y), z + barrier) + score, saves="x y z barrier")

# ---- trigonometry ----------------------------------------------------------------------------------------------------

row("sin", np.sin, saves="x")
row("cos", np.cos, saves="x")
row("tan", np.tan, UNIT, saves="out")
row("asin", np.arcsin, UNIT)
row("acos", np.arccos, UNIT)
row("atan", np.arctan, edges={"second": INVERSE})
row("atan2", np.arctan2, NONZERO)
row("over_square", lambda x, y: y / (x * x + y * y), NONZERO, at={(0.0, 0.0): (0.0, 0.0)})
row("sinh", np.sinh)
row("cosh", np.cosh)
row("tanh", np.tanh, saves="out")
row("asinh", np.arcsinh, saves="x", edges={"second": INVERSE})
row("acosh", np.arccosh, ((1.2, 4.0),), saves="x")
row("atanh", np.arctanh, UNIT, saves="x", edges={"second": ((np.inf, -np.inf), "the value is NaN there")})
row("hypot", np.hypot, NONZERO)
row("erf", erf)

# ---- rounding --------------------------------------------------------------------------------------------------------

row("floor", np.floor)
row("ceil", np.ceil)
row("round", np.round)
row("trunc", np.trunc)
row("frac", lambda x: x - np.trunc(x), edges={"value": ((np.inf, -np.inf), "no limit")})

# ---- comparison, logic, bits -----------------------------------------------------------------------------------------

row("eq", np.equal)
row("ne", np.not_equal)
row("lt", np.less)
row("le", np.less_equal)
row("gt", np.greater)
row("ge", np.greater_equal)
row("logical_and", np.logical_and)
row("logical_or", np.logical_or)
row("logical_xor", np.logical_xor)
row("logical_not", np.logical_not)
row("bitwise_and", np.bitwise_and)
row("bitwise_or", np.bitwise_or)
row("bitwise_xor", np.bitwise_xor)
row("bitwise_not", np.bitwise_not)
row("bitwise_left_shift", np.left_shift, SMALL)
row("bitwise_right_shift", np.right_shift, SMALL)
row("isnan", np.isnan, REAL, case((2, 3)), case(np.array([1.0, np.nan, np.inf, -np.inf, 0.0])))
row("isinf", np.isinf, REAL, case((2, 3)), case(np.array([1.0, np.nan, np.inf, -np.inf, 0.0])))
row("isfinite", np.isfinite, REAL, case((2, 3)), case(np.array([1.0, np.nan, np.inf, -np.inf, 0.0])))

# ---- choice ----------------------------------------------------------------------------------------------------------

row("where", np.where, saves="condition")
row("maximum", np.maximum, at={(1.0, 1.0): (0.5, 0.5)})
row("minimum", np.minimum, at={(1.0, 1.0): (0.5, 0.5)})
row("clamp_both", np.clip, domains={"min": ((-1.0, 0.0),), "max": ((0.3, 1.0),)})
row("clamp_min", np.maximum, at={(1.0, 1.0): (1.0, 0.0)})
row("clamp_max", np.minimum, at={(1.0, 1.0): (1.0, 0.0)})

# ---- activations -----------------------------------------------------------------------------------------------------

row("relu", lambda x: np.maximum(x, 0), at={(0.0,): (0.0,)}, saves="out")
row("sigmoid", sigmoid, saves="out")
row("silu", lambda x: x * sigmoid(x), saves="x")
row("logsigmoid", lambda x: -np.logaddexp(0, -x))
row(
    "softplus",
    lambda x, beta=1.0, threshold=20.0: np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta),
    REAL,
    case((2, 3)),
    case((2, 3), 2.0, 1.0),
)
row("leaky_relu", lambda x, slope=0.01: np.where(x > 0, x, slope * x), REAL, case((2, 3)), case((2, 3), 0.2), at={(0.0,): (0.01,)})
row("elu", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)), REAL, case((2, 3)), case((2, 3), 0.5))
row("gelu_erf", lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))))
row("gelu_tanh", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))

# ---- copies and writes -----------------------------------------------------------------------------------------------

row("clone", np.copy, saves="")
row("copy", lambda x, y: np.broadcast_to(y, x.shape), saves="")
row("fill", lambda x, y: np.broadcast_to(y, x.shape), REAL, case((2, 3), ()), saves="")
row("zero", np.zeros_like, saves="")

for _name in ("drawn_with_probability", "drawn_around", "counted_of"):
    row(_name, lambda x, y: x + 0 * y, REAL)
