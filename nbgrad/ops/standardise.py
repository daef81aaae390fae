"""Standardised rows: with mean 0 and variance 1, or mean square 1, perhaps times a weight and plus a bias. Layer, group and
root-mean-square norms are these.

NOTE [Standardised rows]: the last ``count`` dimensions are what one sample is normalised over, in ``groups`` equal parts that
follow one another; None is one part. ``h = r (x - m)``, ``m`` the mean and ``r = 1 / sqrt(variance + eps)``, both of a part; not
``centred``, ``h = r x`` with ``r = 1 / sqrt(mean square + eps)``. A weight has one number for each element of a sample, or, with
groups, for each channel: a run of neighbours. Nothing but ``x`` and the weight is saved: m and r are found again in the pass that
reads the row anyway.
"""

from __future__ import annotations

from .core import general
from .expr import scalar
from .reduce import cast, wide

__all__ = ["cotangents_in_steps", "scaled_in_steps", "seen_by_elements"]


def seen_by_elements(weight, count: int):
    """A weight, or a bias, in the shape that broadcasts to a sample's: numbers of channels are the first of its dimensions."""
    shape = weight.layout.shape
    return weight if len(shape) == count else scalar.view_shape(weight, (*shape, *(1,) * (count - len(shape))))


def scaled_in_steps(x, weight, bias, count, eps, groups, centred):
    """Standardised rows times a weight, plus a bias, if there are any, in other operations."""
    rows = wide(x)
    out = scalar.standardise(rows, count, eps, groups, centred)
    if weight is not None:
        out = out * seen_by_elements(weight, count)
    if bias is not None:
        out = out + seen_by_elements(bias, count)
    return out if rows is x else cast(out, x.dtype)


def of_rows(g, x, weight, count, eps, groups, centred):
    """The cotangent of ``x``."""
    given = wide(g) * seen_by_elements(weight, count)
    return cast(scalar.standardise_backward(given, wide(x), count, eps, groups, centred), x.dtype)


def of_weight(g, x, weight_shape, weight_dtype, count, eps, groups, centred):
    """The cotangent of a weight: what each of its numbers was multiplied by, times ``g``, summed."""
    return gathered(wide(g) * scalar.standardise(wide(x), count, eps, groups, centred), weight_shape, weight_dtype, count)


def of_bias(g, bias_shape, bias_dtype, count):
    """The cotangent of a bias."""
    return gathered(wide(g), bias_shape, bias_dtype, count)


def gathered(terms, shape, dtype, count, lead=()):
    """The sum of terms, one for each element, over those that a number of a weight belongs to; ``lead``: (1,) for one part."""
    own = terms.layout.shape
    samples, channel = product(own[: len(own) - count]), product(own[len(own) - count + len(shape) :])
    parts = scalar.reshape(terms, (*lead, samples, *shape, channel))
    return cast(parts.sum((len(lead), -1)), dtype)


def product(sizes):
    """How many elements a shape has."""
    count = 1
    for size in sizes:
        count *= size
    return count


def cotangents_in_steps(g, x, weight, count, eps, groups, centred, biased):
    """``standardise_cotangents`` in other operations; the sums are one part."""
    shape, dtype = weight.layout.shape, wide(weight).dtype
    rows = of_rows(g, x, weight, count, eps, groups, centred)
    products = wide(g) * scalar.standardise(wide(x), count, eps, groups, centred)
    sums = [gathered(each, shape, dtype, count, (1,)) for each in (products, wide(g))[: 1 + biased]]
    return (rows, *sums)


def whole_sum(parts, dtype):
    """The sum of parts, in the dtype of what it is the cotangent of."""
    total = scalar.select(parts, 0, 0) if parts.layout.shape[0] == 1 else scalar.sum(parts, 0)
    return cast(total, dtype)


def all_weighted(g, x, weight, weight_dtype, count, eps, groups, centred):
    """The cotangents of rows and their weight, from one pass over memory."""
    rows, weights = scalar.standardise_cotangents(g, x, weight, count, eps, groups, centred, False)
    return rows, whole_sum(weights, weight_dtype)


def all_affine(g, x, weight, weight_dtype, bias_dtype, count, eps, groups, centred):
    """The cotangents of rows, their weight and their bias, from one pass over memory."""
    rows, weights, biases = scalar.standardise_cotangents(g, x, weight, count, eps, groups, centred, True)
    return rows, whole_sum(weights, weight_dtype), whole_sum(biases, bias_dtype)


def bend(g, x, y, count, eps, groups, centred):
    """The cotangent of ``y`` in ``standardise_backward``: of n r (mean(g x) - mean(g) mean(x) - mean(g h) mean(x h))."""
    shape = y.layout.shape
    split = (*shape[: len(shape) - count], groups or 1, product(shape[len(shape) - count :]) // (groups or 1))
    rows, given, other = (scalar.reshape(each, split) for each in (y, g, x))

    def mean(z):
        return z.mean(-1, True)

    h, away = scalar.standardise(rows, 1, eps, None, centred), rows - mean(rows) if centred else rows
    r, of_g, of_x = scalar.rsqrt(mean(away * away) + eps), mean(given * h), mean(other * h)
    common = mean(given * other) - of_g * of_x
    if centred:
        common = common - mean(given) * mean(other)
    made = scalar.standardise_backward(-r * (given * of_x + other * of_g), rows, 1, eps, None, centred) - r * r * common * h
    return scalar.reshape(made, shape)


HIDDEN: dict = {"method": False, "function": False, "out": False}


def node_of(facts: dict) -> str:
    """torch's name of the node."""
    if not facts["centred"]:
        return "FusedRmsNormBackward0"
    return "NativeLayerNormBackward0" if facts["groups"] is None else "NativeGroupNormBackward0"


general(
    "standardise",
    lambda x, count, eps, groups=None, centred=True: x,
    {"x": lambda g, x, count, eps, groups, centred: scalar.standardise_backward(g, x, count, eps, groups, centred)},
    node=node_of,
    public="layer_norm",
    doc="x with mean 0 and variance 1 over its last ``count`` dimensions; eps is added to the variance.",
    **HIDDEN,
)
# r (x - mean(x) - h mean(x h)): symmetric in x, so its transpose is itself.
general(
    "standardise_backward",
    lambda x, y, count, eps, groups=None, centred=True: x,
    {"x": lambda g, y, count, eps, groups, centred: scalar.standardise_backward(g, y, count, eps, groups, centred), "y": bend},
    operands=("x", "y"),
    node="NativeLayerNormBackwardBackward0",
    public="layer_norm",
    doc="Cotangent x of a standardised y, taken back to y.",
    **HIDDEN,
)
general(
    "standardise_weighted",
    lambda x, weight, count, eps, groups=None, centred=True: x,
    {"x": of_rows, "weight": of_weight},
    together={("x", "weight"): all_weighted},
    operands=("x", "weight"),
    node=node_of,
    public="layer_norm",
    batched="scaled rows",
    doc="Standardised rows times a weight.",
    **HIDDEN,
)
general(
    "standardise_affine",
    lambda x, weight, bias, count, eps, groups=None, centred=True: x,
    {"x": of_rows, "weight": of_weight, "bias": of_bias},
    together={("x", "weight", "bias"): all_affine},
    operands=("x", "weight", "bias"),
    node=node_of,
    public="layer_norm",
    batched="scaled rows",
    doc="Standardised rows times a weight, plus a bias.",
    **HIDDEN,
)
general(
    "standardise_cotangents",
    lambda g, x, weight, count, eps, groups, centred, biased: g,
    operands=("g", "x", "weight"),
    outputs=None,
    in_steps=cotangents_in_steps,
    public="layer_norm",
    batched="in steps",
    doc="The cotangents of standardised rows, and of weight and bias sums over parts of the rows.",
    **HIDDEN,
)
