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
    x = log_probs.unsqueeze(1) if single else log_probs
    if x.ndim != 3:
        raise ShapeError(f"ctc_loss: log_probs is {list(log_probs.shape)}, expected (t, n, classes), or (t, classes).")
    steps, samples, classes = x.shape
    if not 0 <= blank < classes:
        raise RangeError(f"ctc_loss: blank is {blank}, expected one of {classes} classes.")
    lengths = whole_numbers("input_lengths", input_lengths, samples, steps)
    table, sizes = table_of_targets(targets, target_lengths, samples, classes)
    states = np.full((samples, 2 * table.shape[1] + 1), blank)
    states[:, 1::2] = table
    counts = np.array([lengths, [2 * size + 1 for size in sizes]], np.int64).reshape(2, samples)
    path, both = (nbgrad.from_numpy(each).to(x.device) for each in (states, counts))
    losses = CALLS["path_loss"](x.float() if x.dtype.itemsize == 2 else x, path, both, blank)
    if zero_infinity:
        losses = nbgrad.where(losses == nbgrad.inf, 0.0, losses)
    if reduction == "mean":
        longest = [max(size, 1) for size in sizes]
        alike = longest.count(longest[0]) == samples if longest else True
        total = losses / (longest[0] if alike and longest else nbgrad.tensor(longest, dtype=losses.dtype, device=losses.device))
        return total.mean().to(log_probs.dtype)
    losses = losses.squeeze(0) if single and reduction == "none" else losses
    return reduced("ctc_loss", losses, reduction).to(log_probs.dtype)


def whole_numbers(name: str, given: Any, count: int, most: int) -> list[int]:
    """Lengths, each at most so large."""
    values = np.asarray(given.tolist() if isinstance(given, Tensor) else given).reshape(-1).tolist()
    if len(values) != count:
        raise ShapeError(f"ctc_loss: {name} has {len(values)} numbers, expected one for each of {count} sequences.")
    if count and not (0 <= min(values) and max(values) <= most):
        raise RangeError(f"ctc_loss: {name} is {values}, expected numbers from 0 to {most}.")
    return list(map(int, values))


def table_of_targets(targets: Tensor, given: Any, samples: int, classes: int) -> tuple[np.ndarray, list[int]]:
    """Targets ``(n, s)``, 0 where a sequence has none any more, and how many of each count."""
    values = np.zeros(tuple(targets.shape), np.int64) if targets.is_meta else targets.cpu().detach().numpy()
    if values.ndim == 2 or samples == 1:
        table = values.reshape(samples, -1 if values.size else 0)
        width = table.shape[1]
        sizes = whole_numbers("target_lengths", given, samples, width)
        if sizes.count(width) != samples:
            table = np.where(np.arange(width) < np.array(sizes)[:, None], table, 0)
    else:
        sizes = whole_numbers("target_lengths", given, samples, values.size)
        if values.ndim != 1 or sum(sizes) != values.size:
            raise ShapeError(f"ctc_loss: targets are {list(values.shape)}, expected (n, s), or {sum(sizes)} in a row.")
        table = np.zeros((samples, max(sizes, default=0)), np.int64)
        table[np.arange(table.shape[1]) < np.array(sizes)[:, None]] = values
    if table.size and table.astype(np.uint64).max() >= classes:  # as are negative ones, then
        raise RangeError(f"ctc_loss: a target is not one of {classes} classes.")
    return table, sizes


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
