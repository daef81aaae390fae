"""Operations that draw random numbers, from the default generator: see creation/generators.py."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..base.errors import ArgumentError, RangeError, ShapeError
from .core import composite, elementwise, general, undifferentiable
from .expr import scalar
from .kinds import constant_number

__all__: list[str] = []

general(
    "dropout_mask",
    lambda x, keep: x,
    {},
    function=False,
    draws=True,
    doc="Truth values in the shape of x: true with probability keep.",
)

elementwise(
    "kept_scaled",
    lambda x, kept, factor: x * scalar.where(kept, factor, 0),
    {"x": lambda kept, factor: scalar.where(kept, factor, 0)},
    boolean=("kept",),
    complex=True,
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    node="MulBackward0",
    doc="x * factor where kept is true, else x * 0.",
    aten=".Tensor",
)

# ---- events of a Gamma distribution: distributions/sampling.py draws until a proposal is accepted ----------------------------


def _gamma_proposal(normal, uniform, concentration):
    d = concentration + scalar.where(concentration < 1, 1, 0) - 1 / 3
    root = 1 + normal * (1 / scalar.sqrt(9 * d))
    v = scalar.where(root > 0, root * root * root, 1)
    accepted = (scalar.log(uniform) < 0.5 * normal * normal + d * (1 - v + scalar.log(v))) & (root > 0)
    return scalar.where(accepted, scalar.log(d * v), math.nan)


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
    lambda proposal, uniform, concentration: proposal + scalar.where(concentration < 1, scalar.log1p(-uniform) / concentration, 0),
    {"proposal": undifferentiable, "uniform": undifferentiable, "concentration": undifferentiable},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="gamma",
    doc="The logarithm of an event of a Gamma distribution, of a proposal that was accepted.",
)

# ---- dropout ---------------------------------------------------------------------------------------------------------

SATURATED = -1.0507009873554805 * 1.6732632423543772  # what selu tends to far below 0


def elements(name, x):
    """The tensor itself: each of its elements is dropped or not."""
    return x


def channels(name, x):
    """An element of each channel, which is dropped or not as a whole: dimensions 0 and 1 count samples and channels."""
    if x.ndim < 2:
        raise ShapeError(f"{name}: input has shape {list(x.shape)}, expected at least 2 dimensions: samples and channels.")
    for dim in range(2, x.ndim):
        x = x.narrow(dim, 0, 1)
    return x


def scaled(x, mask, p, inplace):
    """What stays is divided by 1 - p."""
    factor = 1 / (1 - p) if p < 1 else 0.0
    return x.mul_(mask).mul_(factor) if inplace else scalar.kept_scaled(x, mask, factor)


def saturated(x, mask, p, inplace):
    """What goes becomes the value to which selu tends; then all is scaled and moved so that mean 0 and variance 1 stay.

    Source: Klambauer, Unterthiner, Mayr, Hochreiter, "Self-Normalizing Neural Networks", 2017.
    """
    if p == 1:
        return scaled(x, mask, p, inplace)
    factor = 1 / math.sqrt((1 - p) * (1 + p * SATURATED * SATURATED))
    moved = mask.logical_not().to_dtype(x.dtype) * (SATURATED * factor) - p * SATURATED * factor
    return x.mul_(mask).mul_(factor).add_(moved) if inplace else scalar.kept_scaled(x, mask, factor) + moved


def dropped(name, shown: Callable, change: Callable, x, p, training, inplace):
    """Nothing is drawn, and ``x`` itself returned, where nothing would be dropped."""
    p = constant_number(name, "p", p)
    try:
        possible = 0 <= p <= 1
    except TypeError:
        raise ArgumentError(f"{name}: p must be a number, got {type(p).__name__}.") from None
    if not possible:
        raise RangeError(f"{name}: p must be from 0 to 1, got {p}.")
    if not (training and p) or 0 in x.shape:
        return x
    return change(x, shown(name, x).dropout_mask(1 - p), p, inplace)


composite(
    "dropout",
    lambda input, p=0.5, training=True, inplace=False: dropped("dropout", elements, scaled, input, p, training, inplace),
    method=False,
    doc="x with each element zeroed with probability p and the others divided by 1 - p; "
    "x itself unless training. inplace=True overwrites x.",
)
composite(
    "feature_dropout",
    lambda input, p=0.5, training=True, inplace=False: dropped("feature_dropout", channels, scaled, input, p, training, inplace),
    method=False,
    doc="dropout of whole channels: x of shape (N, C, *) is zeroed at all of * or nowhere.",
)
composite(
    "alpha_dropout",
    lambda input, p=0.5, training=False, inplace=False: dropped("alpha_dropout", elements, saturated, input, p, training, inplace),
    method=False,
    doc="dropout behind selu: what is dropped becomes the value to which selu tends, and mean 0 and variance 1 are kept; "
    "x itself unless training. inplace=True overwrites x.",
)
composite(
    "feature_alpha_dropout",
    lambda input, p=0.5, training=False, inplace=False: dropped(
        "feature_alpha_dropout", channels, saturated, input, p, training, inplace
    ),
    method=False,
    doc="alpha_dropout of whole channels: x of shape (N, C, *) is dropped at all of * or nowhere.",
)
