"""Losses of rows of scores with the index of a class, or with probabilities of all.

Rows are one operation whose pass over memory is one kernel; the composites bring any shape into rows.
"""

from __future__ import annotations

from ..base.dtypes import int64
from ..base.errors import ArgumentError, DimError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import converted_in_modes, special
from .core import composite, general
from .expr import scalar
from .losses import check_reduction, old_reduction, reduced, require_same_shape

where = scalar.where
ROWS = {"function": False}


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


for _function in (nll_loss, cross_entropy):
    composite(_function.__name__, _function, method=False, doc=_function.__doc__)
