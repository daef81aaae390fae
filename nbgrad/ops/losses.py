"""Losses of single elements: elementwise operations with a reduction. Those by class index are in class_losses.py.

``reduction`` is "mean", "sum" or "none"; ``size_average`` and ``reduce`` are the flags that torch's early versions had for it.
"""

from __future__ import annotations

from ..base.errors import ArgumentError, RangeError, ShapeError
from ..base.grad_mode import converted_in_modes, special
from ..base.user_stack import warn_user
from .core import composite, elementwise
from .expr import scalar
from .kinds import constant_number

where = scalar.where
INTERNAL = {"method": False, "function": False, "inplace": False, "out": False}


elementwise(
    "squared_difference",
    lambda x, y: (x - y) * (x - y),
    {"x": lambda x, y: 2 * (x - y), "y": lambda x, y: -2 * (x - y)},
    policy="promote",
    node="MseLossBackward0",
    public="mse_loss",
    doc="(x - y)**2.",
    **INTERNAL,
)
elementwise(
    "absolute_difference",
    lambda x, y: scalar.abs(x - y),
    {"x": lambda x, y: scalar.sign(x - y), "y": lambda x, y: -scalar.sign(x - y)},
    node="L1LossBackward0",
    complex_form=lambda x, y: scalar.abs(x - y),
    public="l1_loss",
    doc="|x - y|.",
    **INTERNAL,
)


def smooth(d, beta):
    """0.5 d**2 / beta near 0, else |d| - beta / 2."""
    return where(scalar.abs(d) < beta, 0.5 * d * d / beta, scalar.abs(d) - 0.5 * beta)


def smooth_slope(d, beta):
    """The derivative of ``smooth``; of NaN NaN."""
    return where(scalar.abs(d) >= beta, scalar.sign(d), d / beta)


def huber(d, delta):
    """0.5 d**2 near 0, else delta * (|d| - delta / 2)."""
    return where(scalar.abs(d) <= delta, 0.5 * d * d, delta * (scalar.abs(d) - 0.5 * delta))


def huber_slope(d, delta):
    """The derivative of ``huber``; of NaN NaN."""
    return where(scalar.abs(d) > delta, delta * scalar.sign(d), d)


elementwise(
    "smooth_difference",
    lambda x, y, beta: smooth(x - y, beta),
    {"x": lambda x, y, beta: smooth_slope(x - y, beta), "y": lambda x, y, beta: -smooth_slope(x - y, beta)},
    policy="floating",
    node="SmoothL1LossBackward0",
    public="smooth_l1_loss",
    doc="|x - y|, quadratic below beta.",
    **INTERNAL,
)
elementwise(
    "huber_difference",
    lambda x, y, delta: huber(x - y, delta),
    {"x": lambda x, y, delta: huber_slope(x - y, delta), "y": lambda x, y, delta: -huber_slope(x - y, delta)},
    policy="floating",
    node="HuberLossBackward0",
    public="huber_loss",
    doc="(x - y)**2 / 2, linear above delta.",
    **INTERNAL,
)


def log1p_exp_neg(x):
    """log(1 + e**-x) for x of either sign, without overflow."""
    return scalar.log1p(scalar.exp(-scalar.abs(x))) - scalar.minimum(x, 0.0)


elementwise(
    "logits_difference",
    lambda x, y: (1 - y) * x + log1p_exp_neg(x),
    {"x": lambda x, y: scalar.sigmoid(x) - y, "y": lambda x: -x},
    policy="floating",
    node="BinaryCrossEntropyWithLogitsBackward0",
    public="binary_cross_entropy_with_logits",
    shows={"weight": None, "pos_weight": None},
    doc="-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)).",
    **INTERNAL,
)
elementwise(
    "weighted_logits_difference",
    lambda x, y, p: (1 - y) * x + (1 + (p - 1) * y) * log1p_exp_neg(x),
    {
        "x": lambda x, y, p: (1 - y) - (1 + (p - 1) * y) * scalar.sigmoid(-x),
        "y": lambda x, p: (p - 1) * log1p_exp_neg(x) - x,
        "p": lambda x, y: y * log1p_exp_neg(x),
    },
    policy="floating",
    node="BinaryCrossEntropyWithLogitsBackward0",
    public="binary_cross_entropy_with_logits",
    shows={"weight": None},
    doc="The same, the first term times p.",
    **INTERNAL,
)
# Logarithms end at -100, so that a certain mistake costs something finite: as torch's.
elementwise(
    "are_probabilities",
    lambda x, y: (x >= 0) & (x <= 1) & (y >= 0) & (y <= 1),
    predicate=True,
    method=False,
    function=False,
    inplace=False,
    public="binary_cross_entropy",
    doc="Whether both are numbers from 0 to 1.",
)
elementwise(
    "probability_difference",
    lambda x, y: (y - 1) * scalar.maximum(scalar.log1p(-x), -100.0) - y * scalar.maximum(scalar.log(x), -100.0),
    {
        "x": lambda x, y: (x - y) / scalar.maximum((1 - x) * x, 1e-12),
        "y": lambda x: scalar.maximum(scalar.log1p(-x), -100.0) - scalar.maximum(scalar.log(x), -100.0),
    },
    policy="floating",
    node="BinaryCrossEntropyBackward0",
    public="binary_cross_entropy",
    shows={"weight": None},
    doc="-y log(x) - (1 - y) log(1 - x).",
    **INTERNAL,
)
elementwise(
    "entropy_difference",
    lambda x, y: where(y == 0, 0, y * (scalar.log(y) - x)),
    {"x": lambda y: -y, "y": lambda x, y: where(y == 0, 0, scalar.log(y) + 1 - x)},
    policy="floating",
    node="KlDivBackward0",
    public="kl_div",
    doc="y (log(y) - x), 0 where y is.",
    **INTERNAL,
)
elementwise(
    "log_entropy_difference",
    lambda x, y: scalar.exp(y) * (y - x),
    {"x": lambda y: -scalar.exp(y), "y": lambda x, y: scalar.exp(y) * (y - x + 1)},
    policy="floating",
    node="KlDivBackward0",
    public="kl_div",
    doc="e**y (y - x).",
    **INTERNAL,
)


def reduced(name: str, losses, reduction: str):
    """The mean, the sum or all of the losses."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    check_reduction(name, reduction)
    return losses


def old_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that torch's old flags name: ``reduce`` unless False, to the mean unless ``size_average`` is False.

    Raises:
        ArgumentError: a flag is a word, which is what ``reduction`` takes.
    """
    if size_average is None and reduce is None:
        return reduction
    for flag in (size_average, reduce):
        if isinstance(flag, str):
            raise ArgumentError(f"size_average and reduce are bools, got {flag!r}. Hint: reduction={flag!r}, by name.")
    named = "none" if reduce is False else "sum" if size_average is False else "mean"
    warn_user(f"size_average and reduce are the old form of reduction. Hint: reduction={named!r}.")
    return named


def weighted(name: str, losses, weight, reduction: str):
    """The losses times a weight each, reduced; the mean is that of the weights."""
    if weight is None:
        return reduced(name, losses, reduction)
    if weight.shape != losses.shape:
        raise ShapeError(f"{name}: weight {list(weight.shape)} must have the shape of the losses, {list(losses.shape)}.")
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(name, losses, reduction)


def check_reduction(name: str, reduction: str) -> None:
    """Refuse other words than the three."""
    if reduction not in ("mean", "sum", "none"):
        raise RangeError(f"{name}: reduction is {reduction!r}, expected 'mean', 'sum' or 'none'.")


def broadcast(name: str, input, target) -> tuple:
    """Input and target, of one shape where their dtypes differ: one without dimensions counts as one with them.

    It warns, since other shapes are rarely what was meant.
    """
    if input.shape == target.shape:
        return input, target
    warn_user(f"{name}: target {list(target.shape)} is broadcast against input {list(input.shape)}. Hint: reshape one of them.")
    return (input, target) if input.dtype is target.dtype else scalar.broadcast_tensors(input, target)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target)**2, times weight (of the same shape), reduced; a weighted mean is divided by the sum of the weights."""
    reduction = old_reduction(size_average, reduce, reduction)
    input, target = broadcast("mse_loss", input, target)
    return weighted("mse_loss", scalar.squared_difference(input, target), weight, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|, times weight (of the same shape), reduced; a weighted mean is divided by the sum of the weights."""
    reduction = old_reduction(size_average, reduce, reduction)
    input, target = broadcast("l1_loss", input, target)
    return weighted("l1_loss", scalar.absolute_difference(input, target), weight, reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """|d| - beta / 2, or d**2 / (2 beta) where |d| < beta, for d = input - target; reduced."""
    reduction, beta = old_reduction(size_average, reduce, reduction), constant_number("smooth_l1_loss", "beta", beta)
    if beta < 0:
        raise RangeError(f"smooth_l1_loss: beta is {beta}, expected a number >= 0.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    input, target = broadcast("smooth_l1_loss", input, target)
    return reduced("smooth_l1_loss", scalar.smooth_difference(input, target, float(beta)), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """d**2 / 2, or delta (|d| - delta / 2) where |d| > delta, for d = input - target; times weight, reduced as in mse_loss.

    The dtype is that of input, unless that is integer.
    """
    delta = constant_number("huber_loss", "delta", delta)
    if delta <= 0:
        raise RangeError(f"huber_loss: delta is {delta}, expected a number > 0.")
    input, target = broadcast("huber_loss", input, target)
    if special:
        input, target = converted_in_modes("huber_difference", input, target)
    losses = scalar.huber_difference(input, target, float(delta))
    if losses.dtype is not input.dtype and input.dtype.differentiable:
        losses = losses.to_dtype(input.dtype)
    return weighted("huber_loss", losses, weight, reduction)


NO_PROBABILITY = (
    "binary_cross_entropy: an element of {} is not from 0 to 1. "
    "Hint: binary_cross_entropy_with_logits takes any input; probabilities are those of sigmoid()."
)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-y log(x) - (1 - y) log(1 - x) of probabilities x and targets y of one shape, times weight, reduced.

    Raises:
        RangeError: an element of input or target is not from 0 to 1.
    """
    reduction = old_reduction(size_average, reduce, reduction)
    require_same_shape("binary_cross_entropy", input, target)
    probable, told = scalar.are_probabilities(input, target), NO_PROBABILITY.format  # one pass over both
    if not probable._everywhere_(RangeError, told("input or target")):
        right = scalar.are_probabilities(input, input)._everywhere_(RangeError, told("input"))
        raise RangeError(told("target" if right else "input"))
    losses = scalar.probability_difference(input, target)
    return reduced("binary_cross_entropy", losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """``binary_cross_entropy`` of sigmoid(input), without overflow.

    Args:
        input: scores. target: numbers from 0 to 1, of the same shape.
        weight: of each loss, broadcast.
        pos_weight: of the term of positive targets, broadcast.
    """
    reduction = old_reduction(size_average, reduce, reduction)
    require_same_shape("binary_cross_entropy_with_logits", input, target)
    losses = (
        scalar.logits_difference(input, target)
        if pos_weight is None
        else scalar.weighted_logits_difference(input, target, pos_weight)
    )
    return reduced("binary_cross_entropy_with_logits", losses if weight is None else losses * weight, reduction)


def require_same_shape(name: str, input, target) -> None:
    """Losses that do not broadcast."""
    if input.shape != target.shape:
        raise ShapeError(f"{name}: target {list(target.shape)} must have the shape of input {list(input.shape)}.")


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target (log(target) - input), where input is a log-probability, and target too with ``log_target``.

    ``reduction="batchmean"`` divides the sum by ``input.shape[0]``, which is the divergence.
    """
    reduction = old_reduction(size_average, reduce, reduction)
    losses = (scalar.log_entropy_difference if log_target else scalar.entropy_difference)(input, target)
    if reduction == "batchmean" and input.ndim:
        return losses.sum() / input.shape[0]
    return reduced("kl_div", losses, reduction)


for _function in (mse_loss, l1_loss, smooth_l1_loss, huber_loss, binary_cross_entropy, binary_cross_entropy_with_logits, kl_div):
    composite(_function.__name__, _function, method=False, doc=_function.__doc__)
