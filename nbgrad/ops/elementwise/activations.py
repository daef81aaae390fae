"""Activations of networks.

NOTE [NaN in pieces]: comparisons ask for the pieces where something else than x happens (`x < 0`, not `x >= 0`), so that NaN
passes through, and so do gradients there.
"""

from __future__ import annotations

import math

from ..core import elementwise
from ..expr import scalar
from .limits import at_least, bounded

where = scalar.where


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
    aten="log_sigmoid_forward",
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
    aten="_prelu_kernel",
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
    aten="nbgrad::",
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
