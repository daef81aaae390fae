"""Losses of sequences and of sets of classes: ``ctc_loss``, ``multilabel_margin_loss``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import nbgrad

from .. import Tensor
from ..base.calls import CALLS
from ..base.errors import RangeError, ShapeError
from ..modes.autocast import casts
from ..ops.losses import check_reduction, old_reduction, reduced

__all__ = ["ctc_loss", "multilabel_margin_loss"]

# The logarithm of 0 in sums: finite, so that no difference of two of them is NaN; and what a loss exceeds that is made of it.
NEVER, IMPOSSIBLE = -1e30, 1e29


@casts(cpu="single", cuda="")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability that a sequence of draws, without blanks and repetitions, is the target.

    Args:
        log_probs: shape ``(t, n, classes)``, or ``(t, classes)`` of one sequence: logarithms of probabilities.
        targets: shape ``(n, s)``, or all targets in a row; classes that are not ``blank``.
        input_lengths, target_lengths: ``n`` whole numbers.
        blank: the class that stands for nothing.
        reduction: "mean" of losses divided by the targets' lengths, "sum" or "none".
        zero_infinity: whether the loss of a target that is too long, infinity, counts as 0.

    Raises:
        ShapeError: sizes do not go together. RangeError: an unknown reduction, a length or class that is out of range.

    Source: Graves et al., "Connectionist Temporal Classification", 2006.

    >>> import nbgrad
    >>> uniform = nbgrad.full((2, 1, 2), 0.5).log()  # of four sequences of two draws three are "1"
    >>> ctc_loss(uniform, nbgrad.tensor([[1]]), [2], [1], reduction="sum").exp()
    tensor(1.3333)
    """
    check_reduction("ctc_loss", reduction)
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    if log_probs.ndim != 3:
        raise ShapeError(f"ctc_loss: log_probs is {list(log_probs.shape)}, expected (t, n, classes), or (t, classes).")
    steps, samples, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RangeError(f"ctc_loss: blank is {blank}, expected one of {classes} classes.")
    lengths = whole_numbers("input_lengths", input_lengths, samples, steps)
    table, sizes = table_of_targets(targets, target_lengths, samples, classes)
    x = log_probs.float() if log_probs.dtype.itemsize == 2 else log_probs
    losses = path_losses(x, table, lengths, sizes, blank)
    infinite = losses > IMPOSSIBLE
    losses = nbgrad.where(infinite, 0.0 if zero_infinity else nbgrad.inf, losses)
    if reduction == "mean":
        longest = np.maximum(sizes, 1)
        return (losses / nbgrad.tensor(longest, dtype=losses.dtype, device=losses.device)).mean().to(log_probs.dtype)
    losses = losses.squeeze(0) if single and reduction == "none" else losses
    return reduced("ctc_loss", losses, reduction).to(log_probs.dtype)


def whole_numbers(name: str, given: Any, count: int, most: int) -> np.ndarray:
    """Lengths as an array, each at most so large."""
    values = np.atleast_1d(np.asarray(given.tolist() if isinstance(given, Tensor) else given)).reshape(-1)
    if len(values) != count:
        raise ShapeError(f"ctc_loss: {name} has {len(values)} numbers, expected one for each of {count} sequences.")
    if count and not (0 <= values.min() and values.max() <= most):
        raise RangeError(f"ctc_loss: {name} is {values.tolist()}, expected numbers from 0 to {most}.")
    return values.astype(np.int64)


def table_of_targets(targets: Tensor, lengths: Any, samples: int, classes: int) -> tuple[Tensor, np.ndarray]:
    """Targets ``(n, s)``, and how many of each count."""
    if targets.ndim == 2 or samples == 1:
        rows = targets.reshape((samples, -1)) if targets.numel() else targets.reshape((samples, 0))
        return rows.to(nbgrad.int64), whole_numbers("target_lengths", lengths, samples, rows.shape[1])
    sizes = whole_numbers("target_lengths", lengths, samples, targets.numel())
    if targets.ndim != 1 or sizes.sum() != targets.numel():
        raise ShapeError(f"ctc_loss: targets are {list(targets.shape)}, expected (n, s), or {sizes.sum()} in a row.")
    firsts = np.cumsum(sizes) - sizes
    places = np.minimum(firsts[:, None] + np.arange(sizes.max(initial=0)), max(targets.numel() - 1, 0))
    return targets.to(nbgrad.int64)[nbgrad.tensor(places, device=targets.device)], sizes


def path_losses(x: Tensor, table: Tensor, lengths: np.ndarray, sizes: np.ndarray, blank: int) -> Tensor:
    """The losses of all sequences: sums over all paths through the targets with blanks around each class."""
    steps, samples, classes = x.shape
    states = 2 * table.shape[1] + 1

    def constant(values: Any, dtype: Any = None) -> Tensor:
        return nbgrad.tensor(values, dtype=dtype, device=x.device)

    shorter = np.arange(table.shape[1]) >= sizes[:, None]
    inside = (table >= 0) & (table < classes)
    if shorter.any():
        beyond = constant(shorter)
        inside, table = inside | beyond, nbgrad.where(beyond, blank, table)
    if table.numel() and not (table.is_meta or inside.all()):
        raise RangeError(f"ctc_loss: a target is not one of {classes} classes.")
    blanks = nbgrad.full((samples, table.shape[1] + 3), blank, dtype=nbgrad.int64, device=x.device)
    between = nbgrad.stack([table, blanks[:, 3:]], -1).reshape((samples, states - 1))
    path = nbgrad.cat([blanks[:, :1], between], 1)
    scores = x.gather(2, path.expand(steps, samples, states)).clamp(min=NEVER)
    skips = (path != blank) & (path != nbgrad.cat([blanks[:, :2], path], 1)[:, :states])
    barrier = nbgrad.where(skips, 0.0, NEVER).to(x.dtype)
    always = int(lengths.min(initial=steps))
    alive = constant(np.arange(steps)[:, None, None] < lengths[:, None]) if always < steps else None
    # Before the first draw all paths are where the first blank is: no skip leads on from there.
    padding = np.full((samples, states + 2), NEVER)
    padding[:, 2] = 0.0
    padded = constant(padding, x.dtype)
    never, sums = padded.narrow(1, 0, 2), padded.narrow(1, 2, states)
    for t, score in enumerate(scores.unbind(0)):
        padded = nbgrad.cat([never, sums], 1) if t else padded
        further = CALLS["path_score"](sums, padded.narrow(1, 1, states), padded.narrow(1, 0, states), barrier, score)
        sums = further if alive is None or t < always else nbgrad.where(alive[t], further, sums)
    ends = sums.gather(1, constant(np.maximum(2 * sizes[:, None] - np.arange(2), 0)))
    alone = (sizes == 0) | (lengths == 0)
    if alone.any():  # the last blank has no class before it that a path could end with
        ends = nbgrad.where(constant(alone[:, None] & (np.arange(2) == 1)), NEVER, ends)
    return -nbgrad.logsumexp(ends, 1)


@casts(cpu="single", cuda="single")
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """What the scores of right classes lack of being above those of all others by 1, summed and divided by the classes.

    Args:
        input: scores, ``(n, classes)`` or ``(classes,)``.
        target: int64, of the same shape: the right classes, those before the first negative number.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: shapes differ. RangeError: an unknown reduction.

    >>> import nbgrad
    >>> multilabel_margin_loss(nbgrad.tensor([[0.1, 0.2, 0.4, 0.8]]), nbgrad.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """
    reduction = old_reduction(size_average, reduce, reduction)
    if input.shape != target.shape or input.ndim not in (1, 2):
        raise ShapeError(
            f"multilabel_margin_loss: input is {list(input.shape)}, target {list(target.shape)}, expected (n, classes)."
        )
    scores, classes = (x.unsqueeze(0) if x.ndim == 1 else x for x in (input, target))
    counted = (classes < 0).to(nbgrad.int64).cumsum(1) == 0
    places = nbgrad.where(counted, classes, 0)
    right = nbgrad.zeros(tuple(scores.shape), dtype=nbgrad.int64, device=input.device)
    right = right.scatter_add(1, places, counted.to(nbgrad.int64)) > 0
    gaps: Any = (1 - scores.gather(1, places).unsqueeze(-1) + scores.unsqueeze(1)).relu()
    gaps = nbgrad.where(counted.unsqueeze(-1) & ~right.unsqueeze(1), gaps, 0.0)
    losses = gaps.sum((1, 2)) / scores.shape[1]
    return reduced("multilabel_margin_loss", losses.squeeze(0) if input.ndim == 1 else losses, reduction)
