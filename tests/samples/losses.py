"""Samples of losses."""

from __future__ import annotations

import numpy as np

import nbgrad

from .reduce import log_softmax, softmax
from .row import REAL, case, fails, row

ShapeError, RangeError = nbgrad.ShapeError, nbgrad.RangeError
PROBABILITY = ((0.05, 0.95),)
TARGET = np.array([1, 3, 0])
IGNORED = np.array([1, -100, 0])


def reduced(losses, reduction):
    """Mean, sum or all."""
    return {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction](losses)


def smooth(d, beta=1.0):
    """Quadratic near 0."""
    return np.where(np.abs(d) < beta, 0.5 * d * d / beta, np.abs(d) - 0.5 * beta)


def huber(d, delta=1.0):
    """Linear far from 0."""
    return np.where(np.abs(d) <= delta, 0.5 * d * d, delta * (np.abs(d) - 0.5 * delta))


def probability_loss(x, y):
    """Binary cross-entropy of probabilities."""
    return -y * np.log(x) - (1 - y) * np.log(1 - x)


def logits_loss(x, y, p=1.0):
    """Binary cross-entropy of scores; positive targets weighted by p."""
    return p * y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)


# ---- elements --------------------------------------------------------------------------------------------------------

ONE_OR_ZERO = {"bool": "a difference of truth values"}
row("squared_difference", lambda x, y: (x - y) ** 2, saves="x y", unlike=ONE_OR_ZERO)
row(
    "absolute_difference",
    lambda x, y: np.abs(x - y),
    saves="x y",
    unlike={**ONE_OR_ZERO, "uint8": "a difference that wraps around"},
    at={(1.0, 1.0): (0.0, 0.0)},
)
row("smooth_difference", lambda x, y, beta: smooth(x - y, beta), REAL, case((2, 3), (3,), 0.8))
row("huber_difference", lambda x, y, delta: huber(x - y, delta), REAL, case((2, 3), (3,), 0.8))
row("logits_difference", logits_loss, domains={"y": PROBABILITY})
row("weighted_logits_difference", logits_loss, domains={"y": PROBABILITY})
row("are_probabilities", lambda x, y: (x >= 0) & (x <= 1) & (y >= 0) & (y <= 1), ((-0.5, 1.5),))
row(
    "probability_difference", probability_loss, PROBABILITY, edges={"mixed": (lambda x, y: not 0 < x < 1, "logarithms end at -100")}
)
row(
    "entropy_difference",
    lambda x, y: y * (np.log(y) - x),
    domains={"y": PROBABILITY},
    edges={"mixed": (lambda x, y: y == 0, "the derivative by y at y = 0 is 0 by convention")},
)
row("log_entropy_difference", lambda x, y: np.exp(y) * (y - x))

# ---- reduced ---------------------------------------------------------------------------------------------------------


def loss(name, function, domain=REAL, *cases, y_domain=None, **options):
    """The row of a loss of input and target: reduced in three ways."""
    usual = (case((2, 3), (2, 3)), case((2, 3), (2, 3), reduction="sum"), case((2, 3), (2, 3), reduction="none"))
    row(
        name,
        lambda x, y, *rest, reduction="mean", **named: reduced(function(x, y, *rest, **named), reduction),
        domain,
        *usual,
        *cases,
        domains={"operand1": y_domain or domain},
        errors=[fails(RangeError, f"{name}: reduction", (2, 3), (2, 3), reduction="all")],
        **options,
    )


loss("mse_loss", lambda x, y: (x - y) ** 2)
loss("l1_loss", lambda x, y: np.abs(x - y))
loss("smooth_l1_loss", lambda x, y, beta=1.0: smooth(x - y, beta), REAL, case((2, 3), (2, 3), beta=0.5))
loss("huber_loss", lambda x, y, delta=1.0: huber(x - y, delta), REAL, case((2, 3), (2, 3), delta=0.5))
loss("binary_cross_entropy", lambda x, y, weight=1.0: weight * probability_loss(x, y), PROBABILITY, case((2, 3), (2, 3), (3,)))
loss(
    "binary_cross_entropy_with_logits",
    lambda x, y, weight=1.0: weight * logits_loss(x, y),
    REAL,
    case((2, 3), (2, 3), (3,)),
    y_domain=PROBABILITY,
)
loss(
    "kl_div",
    lambda x, y, log_target=False: np.exp(y) * (y - x) if log_target else y * (np.log(y) - x),
    REAL,
    case((2, 3), (2, 3), log_target=True),
    y_domain=PROBABILITY,
)

# ---- by class index --------------------------------------------------------------------------------------------------


def picked(log_p, target, ignore_index=-100):
    """Minus the log-probability of the target of every row; 0 where it is ignored."""
    counts = target != ignore_index
    rows = -np.take_along_axis(log_p, np.where(counts, target, 0)[:, None], 1)[:, 0]
    return np.where(counts, rows, 0.0), counts


def class_loss(log_p, target, weight=None, ignore_index=-100, reduction="mean"):
    """``nll_loss``."""
    losses, counts = picked(log_p, target, ignore_index)
    weights = counts * (1.0 if weight is None else weight[np.where(counts, target, 0)])
    losses = losses * weights
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)


def by_class(function):
    """``class_loss`` of scores through ``function``; smoothed; of distributions too."""

    def loss(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        log_p = function(x)
        if target.dtype.kind == "f":
            return reduced(-(log_p * target).sum(1), reduction)
        sharp = class_loss(log_p, target, weight, ignore_index, reduction)
        even = reduced(-log_p.mean(1), reduction)
        return (1 - label_smoothing) * sharp + label_smoothing * even if label_smoothing else sharp

    return loss


def scores(x):
    """log_softmax over classes."""
    return log_softmax(x, 1)


def rows_backward(row_g, x, target, ignore_index):
    """row_g (softmax - 1 at the target)."""
    hot = np.eye(x.shape[1])[np.where(target == ignore_index, 0, target)]
    return np.where((target == ignore_index)[:, None], 0.0, row_g[:, None] * (softmax(x, 1) - hot))


def placed(x, target, classes, ignore_index):
    """The transpose of ``picked``."""
    hot = np.eye(classes)[np.where(target == ignore_index, 0, target)]
    return np.where((target == ignore_index)[:, None], 0.0, -x[:, None] * hot)


def valid_mean(x, target, classes, ignore_index, divide):
    """The mean or sum of the rows that count, and whether a target is no class."""
    counts = target != ignore_index
    return (x * counts).sum() / (counts.sum() if divide else 1), np.array(False)


def valid_share(x, target, ignore_index, divide):
    """The transpose of ``valid_mean``."""
    counts = target != ignore_index
    return x * counts / (counts.sum() if divide else 1)


row(
    "cross_entropy_rows",
    lambda x, target, ignore_index: picked(scores(x), target)[0],
    REAL,
    case((3, 4), TARGET, -100),
    case((3, 4), IGNORED, -100),
)
row("cross_entropy_rows_backward", rows_backward, REAL, case((3,), (3, 4), IGNORED, -100))
row("nll_rows", lambda x, target, ignore_index: picked(x, target)[0], REAL, case((3, 4), IGNORED, -100))
row("nll_rows_backward", placed, REAL, case((3,), IGNORED, 4, -100))
row("valid_mean", valid_mean, REAL, case((3,), IGNORED, 4, -100, True), case((3,), IGNORED, 4, -100, False))
row("valid_share", valid_share, REAL, case((), IGNORED, -100, True), case((), IGNORED, -100, False))
CLASSES = (
    case((3, 4), TARGET),
    case((3, 4), IGNORED, reduction="sum"),
    case((3, 4), TARGET, reduction="none"),
    case((3, 4), IGNORED, (4,)),
)
BAD = (
    fails(nbgrad.DimError, "target is out of range", (3, 4), np.array([0, 4, 1])),
    fails(ShapeError, "targets", (3, 4), np.array([0, 1])),
    fails(RangeError, "reduction", (3, 4), TARGET, reduction="all"),
)
row("nll_loss", by_class(lambda x: x), REAL, *CLASSES, domains={"operand2": PROBABILITY}, errors=BAD)
row(
    "cross_entropy",
    by_class(scores),
    REAL,
    *CLASSES,
    case((3, 4), TARGET, label_smoothing=0.2),
    case((3, 4), (3, 4)),
    domains={"operand2": PROBABILITY},
    errors=BAD,
)
