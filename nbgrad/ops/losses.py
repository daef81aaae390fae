"""Losses. Those of single elements are elementwise operations with a reduction; those by class index have loops of their own.

``reduction`` is "mean", "sum" or "none"; ``size_average`` and ``reduce`` are the flags that torch's early versions had for it.
"""

from __future__ import annotations

from ..base.dtypes import int64
from ..base.errors import ArgumentError, DimError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import converted_in_modes, special
from ..base.user_stack import warn_user
from .core import composite, elementwise, general
from .expr import scalar
from .kinds import constant_number

where = scalar.where
INTERNAL = {"method": False, "function": False, "inplace": False, "out": False}
ROWS = {"function": False}


# ---- elements ------------------------------------------------------------------------------------------------------

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


# ---- rows with a class index ---------------------------------------------------------------------------------------


def second_cotangent(g, row_g, x, target, ignore_index):
    """The cotangent of the scores of ``cross_entropy_rows_backward``: the softmax's, times the rows' cotangents."""
    counted = row_g * (target != ignore_index).to_dtype(row_g.dtype)
    return counted.unsqueeze(1) * scalar.softmax_backward(g, x.softmax(1), 1)


general(
    "cross_entropy_rows",
    lambda x, target, ignore_index: x,
    {"x": lambda g, x, target, ignore_index: g.cross_entropy_rows_backward(x, target, ignore_index)},
    operands=("x", "target"),
    node="NllLossBackward0",
    public="cross_entropy",
    tells_by_nan=True,
    doc="logsumexp(row) - row[target] of every row; 0 where the target is ignored.",
    **ROWS,
    aten="nbgrad::cross_entropy_rows",
)
general(
    "cross_entropy_rows_backward",
    lambda row_g, x, target, ignore_index: row_g,
    {
        "row_g": lambda g, row_g, x, target, ignore_index: (
            g * scalar.fill(row_g, 1.0).cross_entropy_rows_backward(x, target, ignore_index)
        ).sum(1),
        "x": second_cotangent,
    },
    operands=("row_g", "x", "target"),
    doc="row_g (softmax(row) - 1 at the target).",
    **ROWS,
)
general(
    "nll_rows",
    lambda x, target, ignore_index: x,
    {"x": lambda g, target, x_shape, ignore_index: g.nll_rows_backward(target, x_shape[1], ignore_index)},
    operands=("x", "target"),
    node="NllLossBackward0",
    public="nll_loss",
    tells_by_nan=True,
    doc="-row[target] of every row; 0 where the target is ignored.",
    **ROWS,
    aten="nll_loss_forward",
)
general(
    "nll_rows_backward",
    lambda x, target, classes, ignore_index: x,
    {"x": lambda g, target, ignore_index: g.nll_rows(target, ignore_index)},
    operands=("x", "target"),
    doc="The transpose of nll_rows.",
    **ROWS,
)
general(
    "valid_mean",
    lambda x, target, classes, ignore_index, divide: x,
    {"x": lambda g, target, ignore_index, divide: g.valid_share(target, ignore_index, divide)},
    operands=("x", "target"),
    outputs=2,
    node="NllLossBackward0",
    shows={"weight": None},
    doc="The mean or sum of the rows that count, and whether a target is no class.",
    **ROWS,
    aten="nbgrad::valid_mean",
)
general(
    "valid_share",
    lambda x, target, ignore_index, divide: x,
    {"x": lambda g, target, ignore_index, divide: g.valid_mean(target, 0, ignore_index, divide)[0]},
    operands=("x", "target"),
    doc="The transpose of valid_mean.",
    **ROWS,
)


def as_rows(name: str, input, target):
    """``(scores [rows, classes], targets [rows])`` of scores (classes), (n, classes) or (n, classes, d1, ...)."""
    if input.ndim == 0:
        raise ShapeError(f"{name}: input is 0-d, expected (classes), (n, classes) or (n, classes, ...).")
    expected = () if input.ndim == 1 else (input.shape[0], *input.shape[2:])
    if target.shape != expected:
        raise ShapeError(f"{name}: input {list(input.shape)} needs targets {list(expected)}, got {list(target.shape)}.")
    if target.dtype is not int64:
        if target.dtype.name != "uint8":  # as in torch, which takes the labels of images as files have them
            raise DTypeError(f"{name}: target is {target.dtype}, expected int64 or uint8. Hint: target.to(nbgrad.int64).")
        target = target.to_dtype(int64)
    if input.ndim == 2:
        return input, target
    if input.ndim == 1:
        return input.unsqueeze(0), target.unsqueeze(0)
    return input.movedim(1, -1).reshape((-1, input.shape[1])), target.reshape((-1,))


def checked_mean(name: str, losses, target, classes: int, ignore_index: int, divide: bool):
    """The mean (or sum) of the losses that count.

    Raises:
        DimError: a target is no class.
    """
    result, wrong = losses.valid_mean(target, classes, ignore_index, divide)
    if not wrong.is_meta and wrong.item():
        raise DimError(f"{name}: a target is out of range: expected 0 to {classes - 1}, or ignore_index ({ignore_index}).")
    return result


def reduced_rows(name: str, losses, target, shape, classes: int, weight, ignore_index: int, reduction: str):
    """Reduce losses by class index, weighted by class if there are weights; ``shape`` is that of unreduced losses."""
    check_reduction(name, reduction)
    if weight is None:
        result = checked_mean(name, losses, target, classes, ignore_index, reduction == "mean")
        return losses.reshape(shape) if reduction == "none" else result
    checked_mean(name, losses, target, classes, ignore_index, False)
    weights = target_weights(name, weight, target, classes, ignore_index)
    losses = losses * weights
    if reduction == "none":
        return losses.reshape(shape)
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum()


def target_weights(name: str, weight, target, classes: int, ignore_index: int):
    """The weight of every row: that of its class, 0 where it is ignored. The targets are in range."""
    if weight.shape != (classes,):
        raise ShapeError(f"{name}: weight has shape {list(weight.shape)}, expected one for each class, [{classes}].")
    counts = target != ignore_index
    return weight.index_select(0, target * counts) * counts


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Minus the log-probability of the target class.

    Args:
        input: log-probabilities, (classes), (n, classes) or (n, classes, d1, ...).
        target: int64 or uint8 classes, of the shape without classes.
        weight: of each class; "mean" then divides by the sum of the weights of the targets.
        ignore_index: a target that counts for nothing.

    Raises:
        DimError: a target is no class.
    """
    reduction = old_reduction(size_average, reduce, reduction)
    rows, targets = as_rows("nll_loss", input, target)
    losses = rows.nll_rows(targets, ignore_index)
    return reduced_rows("nll_loss", losses, targets, target.shape, rows.shape[1], weight, ignore_index, reduction)


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    """``nll_loss`` of ``log_softmax(input)``, in one pass.

    Args:
        input: scores, (classes), (n, classes) or (n, classes, d1, ...).
        target: int64 or uint8 classes, of the shape without classes; or probabilities of input's shape.
        weight: of each class; "mean" then divides by the sum of the weights of the targets.
        ignore_index: a target class that counts for nothing.
        label_smoothing: the share of the target, 0 to 1, that is spread evenly over all classes.

    Raises:
        DimError: a target is no class. RangeError: label_smoothing out of range.
    """
    reduction = old_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RangeError(f"cross_entropy: label_smoothing is {label_smoothing}, expected a number from 0 to 1.")
    if special:
        (input,) = converted_in_modes("cross_entropy_rows", input)
    if target.dtype.is_floating_point:
        return probability_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    rows, targets = as_rows("cross_entropy", input, target)
    classes = rows.shape[1]
    if label_smoothing:
        return smoothed_cross_entropy(rows, targets, target.shape, weight, ignore_index, reduction, label_smoothing)
    losses = rows.cross_entropy_rows(targets, ignore_index)
    return reduced_rows("cross_entropy", losses, targets, target.shape, classes, weight, ignore_index, reduction)


def smoothed_cross_entropy(rows, targets, shape, weight, ignore_index: int, reduction: str, smoothing: float):
    """Cross-entropy with part of every target spread over the classes, each weighted by its own weight."""
    name, classes = "cross_entropy", rows.shape[1]
    log_p = rows.log_softmax(1)
    sharp = reduced_rows(name, log_p.nll_rows(targets, ignore_index), targets, shape, classes, weight, ignore_index, reduction)
    counts = targets != ignore_index
    # A choice, not a product: where nothing counts the mean is NaN, and its cotangent must not reach ignored rows.
    even = where(counts, -(log_p if weight is None else log_p * weight).sum(1), 0.0)
    if reduction == "none":
        even = even.reshape(shape)
    else:
        even = even.sum()
        if reduction == "mean":
            weights = counts if weight is None else target_weights(name, weight, targets, classes, ignore_index)
            even = even / weights.sum()
    return sharp * (1 - smoothing) + even * (smoothing / classes)


def probability_cross_entropy(input, target, weight, ignore_index: int, reduction: str, smoothing: float):
    """Cross-entropy with a distribution as target."""
    require_same_shape("cross_entropy", input, target)
    if ignore_index >= 0:
        raise ArgumentError("cross_entropy: ignore_index applies to targets that are classes; these are probabilities.")
    dim = 0 if input.ndim == 1 else 1
    classes = input.shape[dim]
    if not classes:
        raise ShapeError(f"cross_entropy: input is {list(input.shape)}, expected at least one class.")
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    weighted = input.log_softmax(dim) * target
    if weight is not None:
        if weight.shape != (classes,):
            raise ShapeError(f"cross_entropy: weight has shape {list(weight.shape)}, expected one for each class, [{classes}].")
        weighted = weighted * weight.reshape((classes,) + (1,) * (input.ndim - dim - 1))
    losses = -weighted.sum(dim)
    if reduction == "mean":
        return losses.sum() / (input.numel() // classes)
    return reduced("cross_entropy", losses, reduction)


for _function in (
    mse_loss,
    l1_loss,
    smooth_l1_loss,
    huber_loss,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    kl_div,
    nll_loss,
    cross_entropy,
):
    composite(_function.__name__, _function, method=False, doc=_function.__doc__)
