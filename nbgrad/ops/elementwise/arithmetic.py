"""Arithmetic: sums, products, quotients, remainders, whole powers, magnitudes and signs."""

from __future__ import annotations

import operator

from ..core import elementwise, of_reals, undifferentiable
from ..expr import scalar

where = scalar.where


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
    aten=".Tensor",
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
    aten=".Tensor",
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
    aten=".Tensor",
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
    aten=".Tensor",
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
    aten=".Tensor",
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
    aten=".Tensor_mode",
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
    aten=".Tensor_mode",
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
    aten=".Tensor",
)
elementwise(
    "fmod",
    lambda x, y: scalar.fmod(x, y),
    {"x": lambda: 1, "y": lambda x, y: -scalar.round((x - scalar.fmod(x, y)) / y)},
    refuses_bool=True,
    integer_divisor="y",
    nodes={(False, False): "FmodBackward1"},
    doc="x - trunc(x / y) * y: the sign of x.",
    aten=".Tensor",
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
    aten=".Tensor_Scalar",
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
    aten={(): ".Tensor_Tensor", (False, True): ".Tensor_Scalar", (True, False): ".Scalar"},
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
    aten={(): ".Tensor", (False, False, True): ".Scalar"},
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
