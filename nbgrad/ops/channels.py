"""Standardised channels: each with mean 0 and variance 1 over all samples, times a weight, plus a bias. Batch norms are these.

NOTE [Standardised channels]: channels are dimension 1. ``h = r (x - m)``, with the mean ``m`` over all other dimensions and
``r = 1 / sqrt(variance + eps)``. Beside ``x`` and the weight the moments are saved, mean and variance of each channel, towards
which a layer moves its running statistics. Each way is one launch for a matrix, whose neighbours are of several channels; else a
fold for each sum, and one launch for all elements. A pass that is recorded, or has tangents, finds the moments again.
"""

from __future__ import annotations

from ..base.calls import CALLS
from .core import composite, elementwise, general
from .expr import scalar
from .reduce import cast, wide
from .standardise import HIDDEN

__all__ = ["channels_in_steps", "moments_of", "reduced", "seen_by_channels"]


def reduced(x) -> tuple[int, ...]:
    """All dimensions but that of channels."""
    return (0, *range(2, x.layout.ndim))


def seen_by_channels(weight, x):
    """A number for each channel, in the shape that broadcasts to ``x``'s."""
    return scalar.view_shape(weight, (*weight.layout.shape, *(1,) * (x.layout.ndim - 2))) if x.layout.ndim > 2 else weight


def moments_of(x):
    """The mean and the variance of each channel, in shapes that broadcast to ``x``'s."""
    return scalar.mean(x, reduced(x), True), scalar.variance(x, reduced(x), 0, True)


def channels_in_steps(x, weight, bias, eps):
    """``standardise_channels`` in other operations: the result, and the moments, (2, channels)."""
    rows = wide(x)
    mean, variance = moments_of(rows)
    out = scalar.scaled_around(rows, mean, variance, seen_by_channels(weight, x), seen_by_channels(bias, x), eps)
    moments = scalar.view_shape(CALLS["cat"]((mean, variance), 0), (2, x.layout.shape[1]))
    return cast(out, x.dtype), moments


def pulled(g, x, mean, variance, weight, products, eps):
    """The cotangent of ``x``, and the sums of ``g`` and of ``products``, those of it with the standardised ``x``."""
    dims, channels = reduced(x), max(x.layout.shape[1], 1)
    total, joint = scalar.sum(g, dims), scalar.sum(products, dims)
    factors = [seen_by_channels(each, x) for each in (weight, total, joint)]
    return scalar.pulled_around(g, x, mean, variance, *factors, float(x.layout.numel // channels), eps), total, joint


def of_elements(g, x, weight, eps):
    """The cotangent of ``x``."""
    rows, given = wide(x), wide(g)
    mean, variance = moments_of(rows)
    products = scalar.scaled_around(rows, mean, variance, given, 0.0, eps)
    return cast(pulled(given, rows, mean, variance, wide(weight), products, eps)[0], x.dtype)


def of_weight(g, x, weight_dtype, eps):
    """The cotangent of a weight: what each of its numbers was multiplied by, times ``g``, summed."""
    rows = wide(x)
    products = scalar.scaled_around(rows, *moments_of(rows), wide(g), 0.0, eps)
    return cast(scalar.sum(products, reduced(x)), weight_dtype)


def of_bias(g, bias_dtype):
    """The cotangent of a bias."""
    return cast(scalar.sum(wide(g), reduced(g)), bias_dtype)


def cotangents_in_steps(g, x, weight, moments, eps):
    """``channel_cotangents`` in other operations."""
    rows, given = wide(x), wide(g)
    mean, variance = (seen_by_channels(scalar.select(moments, 0, k), x) for k in range(2))
    products = scalar.scaled_around(rows, mean, variance, given, 0.0, eps)
    out, total, joint = pulled(given, rows, mean, variance, weight, products, eps)
    return cast(out, x.dtype), joint, total


def all_affine(g, x, weight, moments, weight_dtype, bias_dtype, eps):
    """The cotangents of ``x``, a weight and a bias, by the moments."""
    out, weights, biases = scalar.channel_cotangents(g, x, weight, moments, eps)
    return out, cast(weights, weight_dtype), cast(biases, bias_dtype)


elementwise(
    "scaled_around",
    lambda x, mean, variance, weight, bias, eps: (x - mean) * (scalar.rsqrt(variance + eps) * weight) + bias,
    {
        "x": lambda variance, weight, eps: scalar.rsqrt(variance + eps) * weight,
        "mean": lambda variance, weight, eps: -(scalar.rsqrt(variance + eps) * weight),
        "variance": lambda x, mean, variance, weight, eps: (
            (x - mean) * (scalar.rsqrt(variance + eps) * weight) * (-0.5 / (variance + eps))
        ),
        "weight": lambda x, mean, variance, eps: (x - mean) * scalar.rsqrt(variance + eps),
        "bias": lambda: 1,
    },
    policy="floating",
    inplace=False,
    node="NativeBatchNormBackward0",
    public="batch_norm",
    doc="x less a mean, over a deviation, times a weight, plus a bias.",
    **HIDDEN,
)
elementwise(
    "pulled_around",
    lambda given, x, mean, variance, weight, total, joint, count, eps: (
        scalar.rsqrt(variance + eps) * weight * (given - (total + (x - mean) * scalar.rsqrt(variance + eps) * joint) / count)
    ),
    {
        "given": lambda variance, weight, eps: scalar.rsqrt(variance + eps) * weight,
        "x": lambda variance, weight, joint, count, eps: -(weight * joint / count) / (variance + eps),
        "mean": lambda variance, weight, joint, count, eps: (weight * joint / count) / (variance + eps),
        "variance": lambda given, x, mean, variance, weight, total, joint, count, eps: (
            weight
            * ((x - mean) * joint / count / (variance + eps) - 0.5 * scalar.rsqrt(variance + eps) * (given - total / count))
            / (variance + eps)
        ),
        "weight": lambda given, x, mean, variance, total, joint, count, eps: (
            scalar.rsqrt(variance + eps) * (given - (total + (x - mean) * scalar.rsqrt(variance + eps) * joint) / count)
        ),
        "total": lambda variance, weight, count, eps: -(scalar.rsqrt(variance + eps) * weight / count),
        "joint": lambda x, mean, variance, weight, count, eps: -(weight * (x - mean) / count) / (variance + eps),
    },
    policy="floating",
    inplace=False,
    node="NativeBatchNormBackwardBackward0",
    public="batch_norm",
    doc="The cotangent of x of standardised channels, by the sums of the cotangents given and of their products with the result.",
    **HIDDEN,
)
general(
    "standardise_channels",
    lambda x, weight, bias, eps: x,
    {"x": of_elements, "weight": of_weight, "bias": of_bias},
    together={("x", "weight", "bias"): all_affine},
    operands=("x", "weight", "bias"),
    outputs=2,
    second="moments",
    node="NativeBatchNormBackward0",
    public="batch_norm",
    doc="Standardised channels times a weight, plus a bias; and the mean and variance of each channel.",
    **HIDDEN,
)

general(
    "channel_cotangents",
    lambda g, x, weight, moments, eps: g,
    operands=("g", "x", "weight", "moments"),
    outputs=3,
    in_steps=cotangents_in_steps,
    public="batch_norm",
    batched="in steps",
    doc="The cotangents of standardised channels, and of their weight and bias in the dtype of computation, by the moments.",
    **HIDDEN,
)


def standardised_channels(x, weight, bias, eps):
    """Each channel of x with mean 0 and variance 1 over all samples, times a weight, plus a bias.

    Args:
        x: shape ``(batch, channels, *)``.
        weight, bias: shape ``(channels,)``.
        eps: added to the variance.

    Raises:
        ShapeError, DTypeError: operands that do not go together.
    """
    return scalar.standardise_channels(x, weight, bias, eps)[0]


composite(
    "standardised_channels",
    standardised_channels,
    method=False,
    function=False,
    public="batch_norm",
    doc=standardised_channels.__doc__,
)
