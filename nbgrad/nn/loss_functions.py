"""Losses of distances, margins and likelihoods, composed of operations. ``reduction`` is "mean", "sum" or "none"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, ShapeError
from ..dispatch.device_requirements import require
from ..modes.autocast import casts
from ..ops.losses import old_reduction, reduced
from ..tensors.batch_levels import is_batched

__all__ = [
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
    "pdist",
    "poisson_nll_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


@casts(cpu="single", cuda="single")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos of the angle where the target is 1, cos - margin (at least 0) where it is -1.

    Args:
        input1, input2: shape ``(samples, size)`` or ``(size,)``; sizes of 1 broadcast.
        target: 1 or -1, one for each sample.

    Raises:
        ShapeError: not a target for each sample. RangeError: another reduction.

    >>> import nbgrad
    >>> x, y = nbgrad.tensor([[1.0, 0.0], [1.0, 1.0]]), nbgrad.tensor([[1.0, 1.0], [2.0, 2.0]])
    >>> cosine_embedding_loss(x, y, nbgrad.tensor([1.0, -1.0]))
    tensor(0.6464)
    """
    reduction = old_reduction(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise ShapeError(
            f"cosine_embedding_loss: inputs {list(input1.shape)} and {list(input2.shape)}, target "
            f"{list(target.shape)}; expected one shape and a target for each sample."
        )
    if input1.shape != input2.shape:
        input1, input2 = nbgrad.broadcast_tensors(input1, input2)
    # 1e-12 as torch: it keeps a vector of zeros from dividing.
    lengths = [(x * x).sum(-1) + 1e-12 for x in (input1, input2)]
    cosine = (input1 * input2).sum(-1) / (lengths[0] * lengths[1]).sqrt()
    losses = nbgrad.where(target == 1, 1 - cosine, (cosine - margin).clamp_min(0) * (target == -1))
    return reduced("cosine_embedding_loss", losses, reduction)


@casts(cpu="single", cuda="single")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, margin - input (at least 0) where it is -1.

    >>> import nbgrad
    >>> hinge_embedding_loss(nbgrad.tensor([0.25, 0.25]), nbgrad.tensor([1.0, -1.0]), reduction="none")
    tensor([0.2500, 0.7500])
    """
    reduction = old_reduction(size_average, reduce, reduction)
    far = nbgrad.where(target != 1, (margin - input).clamp_min(0), 0.0)
    return reduced("hinge_embedding_loss", far + nbgrad.where(target != -1, input, 0.0), reduction)


@casts(cpu="single", cuda="single")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """margin - target (input1 - input2), at least 0: the first input is to be greater where the target is 1, smaller where -1.

    >>> import nbgrad
    >>> margin_ranking_loss(nbgrad.tensor([1.0, 1.0]), nbgrad.tensor([0.5, 2.0]), nbgrad.ones(2), margin=1.0, reduction="none")
    tensor([0.5000, 2.0000])
    """
    reduction = old_reduction(size_average, reduce, reduction)
    require_same_rank("margin_ranking_loss", input1=input1, input2=input2, target=target)
    return reduced("margin_ranking_loss", (margin - target * (input1 - input2)).clamp_min(0), reduction)


def require_same_rank(name: str, **tensors: Tensor) -> None:
    """Losses that broadcast sizes of 1, but add no dimensions.

    Raises:
        ShapeError: they differ in how many they have.
    """
    if len({x.ndim for x in tensors.values()}) > 1:
        shapes = ", ".join(f"{word} {list(x.shape)}" for word, x in tensors.items())
        raise ShapeError(f"{name}: got {shapes}, expected as many dimensions of each.")


@casts(cpu="single", cuda="single")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The distance to the positive, plus the margin, less the distance to the negative; at least 0.

    With ``swap`` the distance between positive and negative counts where it is smaller.

    >>> import nbgrad
    >>> triplet_margin_loss(nbgrad.zeros(1, 2), nbgrad.tensor([[3.0, 4.0]]), nbgrad.tensor([[0.0, 2.0]]))
    tensor(4.0000)
    """
    reduction = old_reduction(size_average, reduce, reduction)

    def distance(x: Tensor, y: Tensor) -> Tensor:
        return nbgrad.pairwise_distance(x, y, p, eps)

    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=distance, margin=margin, swap=swap, reduction=reduction
    )


def check_margin(name: str, margin: float) -> None:
    """The margin of triplets.

    Raises:
        RangeError: it is not positive.
    """
    if margin <= 0:
        raise RangeError(f"{name}: margin is {margin}, expected a number > 0.")


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with a distance of your own.

    >>> import nbgrad
    >>> positive, negative = nbgrad.tensor([[1.0, 2.0]]), nbgrad.tensor([[0.0, 2.0]])
    >>> triplet_margin_with_distance_loss(nbgrad.zeros(1, 2), positive, negative, swap=True)
    tensor(2.2361)
    """
    check_margin("triplet_margin_loss", margin)
    require_same_rank("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    distance = distance_function or nbgrad.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = nbgrad.minimum(far, distance(positive, negative))
    return reduced("triplet_margin_loss", (near - far + margin).clamp_min(0), reduction)


@casts(cpu="single", cuda="single")
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + e**(-target * input)), for targets 1 and -1.

    >>> import nbgrad
    >>> soft_margin_loss(nbgrad.tensor([2.0, 2.0]), nbgrad.tensor([1.0, -1.0]), reduction="none")
    tensor([0.1269, 2.1269])
    """
    reduction = old_reduction(size_average, reduce, reduction)
    return reduced("soft_margin_loss", -nbgrad.logsigmoid(target * input), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the cross-entropies of yes-or-no targets and the sigmoids of scores.

    >>> import nbgrad
    >>> multilabel_soft_margin_loss(nbgrad.tensor([[2.0, -2.0]]), nbgrad.tensor([[1.0, 0.0]]))
    tensor(0.1269)
    """
    reduction = old_reduction(size_average, reduce, reduction)
    losses = -(target * nbgrad.logsigmoid(input) + (1 - target) * nbgrad.logsigmoid(-input))
    losses = losses if weight is None else losses * weight
    return reduced("multilabel_soft_margin_loss", losses.mean(-1), reduction)


@casts(cpu="single", cuda="single")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over wrong classes of (margin - right score + wrong score, at least 0) to the power p, 1 or 2.

    >>> import nbgrad
    >>> multi_margin_loss(nbgrad.tensor([[0.5, 1.0, 0.25]]), nbgrad.tensor([1]))
    tensor(0.2500)
    """
    reduction = old_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise RangeError(f"multi_margin_loss: p is {p}, expected 1 or 2.")
    rows: Any = input.reshape((1, input.numel())) if input.ndim < 2 else input
    classes = target.reshape((target.numel(), 1))
    if weight is not None and tuple(weight.shape) != (rows.shape[1],):
        raise ShapeError(f"multi_margin_loss: weight is {list(weight.shape)}, expected one for each class, [{rows.shape[1]}].")
    gaps: Any = (margin - rows.gather(1, classes) + rows).relu()  # a margin that is met exactly costs nothing
    gaps = gaps if p == 1 else gaps * gaps
    gaps = gaps if weight is None else gaps * weight.index_select(0, classes.reshape((-1,))).unsqueeze(-1)
    losses = gaps.scatter(1, classes, 0.0).sum(1) / rows.shape[1]
    return reduced("multi_margin_loss", losses.reshape(target.shape), reduction)


@casts(cpu="single", cuda="single")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithm of the Poisson probability of the target, the input being the rate or its logarithm.

    ``full`` adds Stirling's approximation of the logarithm of the target's factorial.

    >>> import nbgrad
    >>> poisson_nll_loss(nbgrad.tensor([0.0, 1.0]), nbgrad.tensor([1.0, 2.0]), reduction="none")
    tensor([1.0000, 0.7183])
    """
    reduction = old_reduction(size_average, reduce, reduction)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        counts = nbgrad.where(target > 1, target, 1.0)  # no logarithm of 0 reaches the gradient
        stirling = counts * counts.log() - counts + 0.5 * (2 * math.pi * counts).log()
        losses = losses + nbgrad.where(target > 1, stirling, 0.0)
    return reduced("poisson_nll_loss", losses, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of the normal density of the target, of mean ``input`` and variance ``var`` (taken to be at least eps).

    Args:
        input, target: of one shape, or of shapes that broadcast.
        var: of the shape of ``input``, but for sizes of 1 or without the last dimension; or a number.

    Raises:
        RangeError: a negative variance. ShapeError: a variance of another shape.

    >>> import nbgrad
    >>> gaussian_nll_loss(nbgrad.tensor([0.0, 2.0]), nbgrad.zeros(2), nbgrad.ones(2), reduction="none")
    tensor([0., 2.])
    """
    spread: Any = var if isinstance(var, Tensor) else nbgrad.full_like(input, var)
    if spread.ndim == input.ndim - 1 and tuple(spread.shape) == tuple(input.shape[:-1]):
        spread = spread.unsqueeze(-1)
    if spread.ndim != input.ndim or any(own not in (1, size) for own, size in zip(spread.shape, input.shape)):
        raise ShapeError(f"gaussian_nll_loss: var is {list(spread.shape)}, input {list(input.shape)}, expected its sizes, or 1.")
    if not is_batched(spread):
        require((spread < 0).any().logical_not(), RangeError, "gaussian_nll_loss: var has negative numbers.")
    # The bound has no gradient of its own, as torch's.
    spread = spread + (spread.detach().clamp_min(eps) - spread.detach())
    losses = 0.5 * (spread.log() + (input - target) ** 2 / spread)
    return reduced("gaussian_nll_loss", losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of all pairs of rows, (n, m) to (n (n - 1) / 2,).

    Raises:
        ShapeError: no matrix. RangeError: a negative p.
    """
    if p < 0:
        raise RangeError(f"pdist: p is {p}, expected a number >= 0.")
    if input.ndim != 2:
        raise ShapeError(f"pdist: input is {list(input.shape)}, expected a matrix.")
    pairs: Any = nbgrad.triu_indices(input.shape[0], input.shape[0], 1, device=input.device)
    first, second = (input.index_select(0, places) for places in pairs.unbind(0))
    return (first - second).norm(p, -1)
