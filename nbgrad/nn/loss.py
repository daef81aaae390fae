"""Losses as modules. ``reduction`` is "mean", "sum" or "none"."""

from __future__ import annotations

from collections.abc import Callable

from .. import Tensor
from ..base.errors import RangeError
from ..ops.losses import old_reduction
from . import functional as F
from .loss_functions import check_margin
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _Loss(Module):
    """A loss with a reduction.

    Raises:
        RangeError: ``reduction`` is none of the three.
    """

    reductions: tuple[str, ...] = ("mean", "sum", "none")

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        reduction = old_reduction(size_average, reduce, reduction)
        if reduction not in self.reductions:
            *others, last = (f'"{name}"' for name in self.reductions)
            raise RangeError(f"{type(self).__name__}: reduction is {reduction!r}, expected {', '.join(others)} or {last}.")
        self.reduction = reduction


class _WeightedLoss(_Loss):  # torch's, which losses of users' own inherit from
    """A loss with a weight for each class, a buffer."""

    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """The squared difference.

    >>> import nbgrad
    >>> nbgrad.nn.MSELoss()(nbgrad.tensor([1.0, 3.0]), nbgrad.tensor([1.0, 1.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both of one shape; a scalar, or that shape if nothing is reduced."""
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """The absolute difference.

    >>> import nbgrad
    >>> nbgrad.nn.L1Loss()(nbgrad.tensor([1.0, 3.0]), nbgrad.tensor([1.0, 1.0]))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both of one shape; a scalar, or that shape if nothing is reduced."""
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Minus the logarithm of the probability of the right class, weighted by class.

    Args:
        weight: shape ``(classes,)``; the mean is then a weighted one.
        ignore_index: samples with this target do not count.
        reduction: see the module.

    >>> import nbgrad
    >>> nbgrad.nn.NLLLoss()(nbgrad.tensor([[-0.5, -1.0]]), nbgrad.tensor([1]))
    tensor(1.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``input``: log-probabilities ``(samples, classes)``; ``target``: int64 classes ``(samples,)``."""
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """``NLLLoss`` of ``log_softmax``: its input is any real scores.

    Args:
        weight: shape ``(classes,)``; the mean is then a weighted one.
        ignore_index: samples with this target do not count.
        reduction: see the module.
        label_smoothing: the part of the target that is spread evenly over all classes, 0 to 1.

    >>> import nbgrad
    >>> nbgrad.nn.CrossEntropyLoss()(nbgrad.zeros(1, 2), nbgrad.tensor([0]))
    tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``input``: scores ``(samples, classes)``; ``target``: int64 ``(samples,)``, or probabilities like ``input``."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCEWithLogitsLoss(_Loss):
    """The cross-entropy of a yes-or-no target and the sigmoid of a score.

    Args:
        weight: broadcast over the samples' losses.
        reduction: see the module.
        pos_weight: weight of the positive part, broadcast likewise.

    >>> import nbgrad
    >>> nbgrad.nn.BCEWithLogitsLoss()(nbgrad.zeros(1), nbgrad.ones(1))
    tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``input``: scores; ``target``: numbers from 0 to 1 of the same shape."""
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class SmoothL1Loss(_Loss):
    """The absolute difference, quadratic below ``beta``.

    >>> import nbgrad
    >>> nbgrad.nn.SmoothL1Loss(reduction="none")(nbgrad.tensor([0.5, 3.0]), nbgrad.zeros(2))
    tensor([0.1250, 2.5000])
    """

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both of one shape."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half of the squared difference, linear above ``delta``.

    >>> import nbgrad
    >>> nbgrad.nn.HuberLoss(reduction="none", delta=2.0)(nbgrad.tensor([0.5, 3.0]), nbgrad.zeros(2))
    tensor([0.1250, 4.0000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both of one shape."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(_WeightedLoss):
    """The cross-entropy of a yes-or-no target and a probability.

    >>> import nbgrad
    >>> BCELoss()(nbgrad.tensor([0.5]), nbgrad.ones(1))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``input``: probabilities; ``target``: numbers from 0 to 1 of the same shape."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """One less the cosine of the angle between pairs that belong together, the cosine above a margin of others.

    >>> import nbgrad
    >>> x, y = nbgrad.tensor([[1.0, 0.0], [1.0, 1.0]]), nbgrad.tensor([[1.0, 1.0], [2.0, 2.0]])
    >>> nbgrad.nn.CosineEmbeddingLoss(reduction="none")(x, y, nbgrad.tensor([1.0, -1.0]))
    tensor([0.2929, 1.0000])
    """

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """``(samples, size)`` twice, and targets 1 or -1."""
        return F.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1; where it is -1, what the input lacks of the margin: ``max(0, margin - input)``.

    >>> import nbgrad
    >>> nbgrad.nn.HingeEmbeddingLoss(reduction="none")(nbgrad.tensor([0.25, 0.25]), nbgrad.tensor([1.0, -1.0]))
    tensor([0.2500, 0.7500])
    """

    def __init__(
        self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both of one shape."""
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """What the first input lacks of being greater (target 1) or smaller (-1) than the second by the margin.

    >>> import nbgrad
    >>> x, y = nbgrad.tensor([1.0, 1.0]), nbgrad.tensor([0.5, 2.0])
    >>> nbgrad.nn.MarginRankingLoss(margin=1.0, reduction="none")(x, y, nbgrad.ones(2))
    tensor([0.5000, 2.0000])
    """

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """All of one shape."""
        return F.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + e**(-target * input)), for targets 1 and -1.

    >>> import nbgrad
    >>> nbgrad.nn.SoftMarginLoss(reduction="none")(nbgrad.tensor([2.0, 2.0]), nbgrad.tensor([1.0, -1.0]))
    tensor([0.1269, 2.1269])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both of one shape."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """What an anchor lacks of being nearer to the positive than to the negative by the margin.

    >>> import nbgrad
    >>> anchor, positive, negative = nbgrad.zeros(1, 2), nbgrad.tensor([[3.0, 4.0]]), nbgrad.tensor([[0.0, 2.0]])
    >>> nbgrad.nn.TripletMarginLoss(margin=1.0)(anchor, positive, negative)
    tensor(4.0000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        check_margin("TripletMarginLoss", margin)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Three of shape ``(samples, size)``."""
        return F.triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction)


class KLDivLoss(_Loss):
    """The divergence of a target distribution from one given by its logarithm; reduction="batchmean" divides by the batch's size.

    Args:
        log_target: the target is a logarithm too.

    >>> import nbgrad
    >>> target = nbgrad.tensor([[0.5, 0.5]])
    >>> nbgrad.nn.KLDivLoss(reduction="batchmean")(nbgrad.tensor([[0.25, 0.75]]).log(), target)
    tensor(0.1438)
    """

    reductions = ("mean", "sum", "none", "batchmean")

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both of one shape."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """Minus the logarithm of the Poisson probability of the target: see ``functional.poisson_nll_loss``.

    >>> import nbgrad
    >>> nbgrad.nn.PoissonNLLLoss(reduction="none")(nbgrad.tensor([0.0, 1.0]), nbgrad.tensor([1.0, 2.0]))
    tensor([1.0000, 0.7183])
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Both of one shape."""
        return F.poisson_nll_loss(log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """Minus the logarithm of the normal density of the target: see ``functional.gaussian_nll_loss``.

    >>> import nbgrad
    >>> nbgrad.nn.GaussianNLLLoss(reduction="none")(nbgrad.tensor([0.0, 2.0]), nbgrad.zeros(2), nbgrad.ones(2))
    tensor([0., 2.])
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Means, targets and variances, which broadcast."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """What the score of the right class lacks of being above the others by the margin: see ``functional.multi_margin_loss``.

    >>> import nbgrad
    >>> MultiMarginLoss()(nbgrad.tensor([[0.5, 0.0]]), nbgrad.tensor([0]))
    tensor(0.2500)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Scores ``(samples, classes)``, and int64 classes ``(samples,)``."""
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the cross-entropies of yes-or-no targets and the sigmoids of scores.

    >>> import nbgrad
    >>> MultiLabelSoftMarginLoss()(nbgrad.zeros(1, 2), nbgrad.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both ``(samples, classes)``."""
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class PairwiseDistance(Module):
    """The p-norm of the differences of vectors: see ``functional.pairwise_distance``.

    >>> import nbgrad
    >>> nbgrad.nn.PairwiseDistance()(nbgrad.tensor([[3.0, 4.0]]), nbgrad.zeros(1, 2))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """``(*, size)`` twice."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors: see ``functional.cosine_similarity``.

    >>> import nbgrad
    >>> nbgrad.nn.CosineSimilarity()(nbgrad.tensor([[1.0, 0.0], [1.0, 1.0]]), nbgrad.tensor([[1.0, 1.0], [2.0, 2.0]]))
    tensor([0.7071, 1.0000])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Vectors along ``dim``, twice."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class TripletMarginWithDistanceLoss(_Loss):
    """``TripletMarginLoss`` with a distance of your own, by default ``PairwiseDistance``.

    >>> import nbgrad
    >>> loss = nbgrad.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))
    >>> loss(nbgrad.zeros(1, 2), nbgrad.tensor([[1.0, 2.0]]), nbgrad.tensor([[0.0, 2.0]]))
    tensor(2.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        check_margin("TripletMarginWithDistanceLoss", margin)
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Three of one shape."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
