"""Losses of sequences and of sets of classes as modules; a softmax over many classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, ShapeError
from .container import ModuleList, Sequential
from .layers import Linear
from .linear_loss import linear_cross_entropy
from .loss import NLLLoss, _Loss
from .module import Module
from .sequence_losses import ctc_loss, multilabel_margin_loss

__all__ = ["AdaptiveLogSoftmaxWithLoss", "CTCLoss", "LinearCrossEntropyLoss", "MultiLabelMarginLoss", "NLLLoss2d"]


class NLLLoss2d(NLLLoss):
    """``NLLLoss`` under the name of its older form for images.

    >>> import nbgrad
    >>> NLLLoss2d()(nbgrad.full((1, 2, 1, 1), -1.0), nbgrad.tensor([[[1]]]))
    tensor(1.)
    """


class CTCLoss(_Loss):
    """``functional.ctc_loss`` as a module.

    >>> import nbgrad
    >>> scores = nbgrad.zeros(5, 2, 3).log_softmax(-1)
    >>> CTCLoss()(scores, nbgrad.tensor([[1, 2], [2, 2]]), (5, 5), (2, 2)).shape
    nbgrad.Size([])
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """See ``functional.ctc_loss``."""
        return ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


class MultiLabelMarginLoss(_Loss):
    """``functional.multilabel_margin_loss`` as a module.

    >>> import nbgrad
    >>> MultiLabelMarginLoss()(nbgrad.zeros(1, 2), nbgrad.tensor([[0, -1]]))
    tensor(0.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Both ``(samples, classes)``."""
        return multilabel_margin_loss(input, target, reduction=self.reduction)


class Prediction(NamedTuple):
    """The logarithms of the targets' probabilities, and the mean of their negatives."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax over many classes, the rare ones of which are found in clusters, with fewer features.

    Args:
        in_features: of the input.
        n_classes: how many, the frequent ones first.
        cutoffs: where clusters begin, rising.
        div_value: the features of each cluster are those of the one before, divided by it.
        head_bias: whether the first layer has a bias.

    Raises:
        RangeError: the cutoffs do not rise from 1 to below ``n_classes``.

    Source: Grave et al., "Efficient softmax approximation for GPUs", 2016.

    >>> import nbgrad
    >>> layer = AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5])
    >>> layer(nbgrad.ones(3, 4), nbgrad.tensor([0, 3, 9])).output.shape
    nbgrad.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        ends = [int(each) for each in cutoffs]
        if not ends or ends != sorted(set(ends)) or ends[0] <= 0 or ends[-1] >= n_classes or ends != list(cutoffs):
            raise RangeError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs are {list(cutoffs)}, expected rising numbers from 1 to {n_classes - 1}."
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*ends, n_classes]
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        made: Any = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for k in range(self.n_clusters):
            size = int(in_features // div_value ** (k + 1))
            classes = self.cutoffs[k + 1] - self.cutoffs[k]
            layers = Linear(in_features, size, bias=False, **made), Linear(size, classes, bias=False, **made)
            self.tail.append(Sequential(*layers))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for layer in (self.head, *(each for pair in self.tail for each in pair)):
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Prediction:
        """``(n, in_features)`` and classes ``(n,)``, or of one sample ``(in_features,)`` and ``()``: ``(output, loss)``."""
        single = input_.ndim == 1
        x, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if target.ndim != 1 or x.ndim != 2 or x.shape[0] != target.shape[0]:
            raise ShapeError(
                f"AdaptiveLogSoftmaxWithLoss: input is {list(input_.shape)}, target {list(target_.shape)}, not (n, features), (n,)."
            )
        if target.numel() and not bool(((target >= 0) & (target < self.n_classes)).all()):
            raise RangeError(f"AdaptiveLogSoftmaxWithLoss: a target is not one of {self.n_classes} classes.")
        head = self.head(x).log_softmax(1)
        places, output = target.clamp(max=self.shortlist_size - 1), x.new_zeros((x.shape[0],))
        for k in range(self.n_clusters):
            low, high = self.cutoffs[k], self.cutoffs[k + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if not rows.numel():
                continue
            inside = self.tail[k](x.index_select(0, rows)).log_softmax(1)
            found = inside.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            output = output.index_add(0, rows, found)
            places = places.index_fill(0, rows, self.shortlist_size + k)
        output = output + head.gather(1, places.unsqueeze(1)).squeeze(1)
        return Prediction(output.squeeze(0) if single else output, (-output).mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes, ``(n, n_classes)``.

        >>> import nbgrad
        >>> AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5]).log_prob(nbgrad.ones(3, 4)).exp().sum(1).allclose(nbgrad.ones(3))
        True
        """
        head = self.head(input).log_softmax(1)
        parts = [head[:, : self.shortlist_size]]
        for k, layers in enumerate(self.tail):
            parts.append(layers(input).log_softmax(1) + head[:, self.shortlist_size + k].unsqueeze(1))
        return nbgrad.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable classes, ``(n,)``.

        >>> import nbgrad
        >>> AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5]).predict(nbgrad.ones(3, 4)).shape
        nbgrad.Size([3])
        """
        return self.log_prob(input).argmax(1)


class LinearCrossEntropyLoss(_Loss):
    """A linear layer and the cross-entropy of its scores.

    Args:
        in_features, num_classes: sizes of input and scores.
        out_features: further dimensions of the scores.
        bias: whether the layer has one.
        weight, reduction, ignore_index, label_smoothing, options: as of ``functional.linear_cross_entropy``.

    Attributes:
        linear: the layer, of ``num_classes * prod(out_features)`` scores.

    >>> import nbgrad
    >>> loss = LinearCrossEntropyLoss(3, 4)
    >>> loss(nbgrad.ones(2, 3), nbgrad.tensor([0, 1])).shape, list(loss.state_dict())
    (nbgrad.Size([]), ['linear.weight'])
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: None = None,
    ) -> None:
        super().__init__(reduction=reduction)
        self.register_buffer("weight", weight)
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(f"LinearCrossEntropyLoss: weight is {list(weight.shape)}, expected [{num_classes}].")
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, math.prod(self.out_features, start=num_classes), bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        shape, layer = (self.num_classes, *self.out_features), self.linear
        return linear_cross_entropy(
            input,
            layer.weight.reshape((*shape, layer.in_features)),
            target,
            linear_bias=None if layer.bias is None else layer.bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
