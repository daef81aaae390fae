"""What families of one probability share: it is given as it is, or as the logarithm of its odds."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError
from .constraints import real, unit_interval
from .distribution import Family, lazy, options_of

__all__ = ["Odds", "broadcast_all", "clamp_probs", "lazy_property", "log_odds", "logits_to_probs", "probs_to_logits"]

lazy_property = lazy


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of their common shape; numbers take the dtype and device of the first tensor.

    Raises:
        ArgumentError: one is neither. ShapeError: they do not broadcast.

    >>> broadcast_all(nbgrad.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    for value in values:
        if not isinstance(value, (Tensor, bool, int, float, complex)):
            raise ArgumentError(f"broadcast_all: expected tensors and numbers, got {type(value).__name__}.")
    options = options_of(values)
    return nbgrad.broadcast_tensors(*(v if isinstance(v, Tensor) else nbgrad.tensor(v, **options) for v in values))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logarithms of odds, or, where not ``is_binary``, from logarithms of weights along the last dimension.

    >>> logits_to_probs(nbgrad.zeros(2)), logits_to_probs(nbgrad.zeros(1), is_binary=True)
    (tensor([0.5000, 0.5000]), tensor([0.5000]))
    """
    return nbgrad.sigmoid(logits) if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logarithm of the odds, or, where not ``is_binary``, of the probabilities, away from infinity.

    >>> probs_to_logits(nbgrad.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    return log_odds(probs) if is_binary else clamp_probs(probs).log()


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities away from 0 and 1 by the dtype's epsilon.

    >>> clamp_probs(nbgrad.tensor([0.0, 0.5])) > 0
    tensor([True, True])
    """
    eps = nbgrad.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def log_odds(probs: Tensor) -> Tensor:
    """The logarithm of the odds of probabilities.

    >>> log_odds(nbgrad.tensor([0.5]))
    tensor([0.])
    """
    p = clamp_probs(probs)
    return p.log() - nbgrad.log1p(-p)


class Odds(Family, shared=True):
    """Families of one probability, given as it is or as the logarithm of its odds."""

    parameters = {"probs": unit_interval, "logits": real}
    either = ("probs", "logits")

    @lazy
    def probs(self) -> Tensor:
        """The probability."""
        return nbgrad.sigmoid(self.logits)

    @lazy
    def logits(self) -> Tensor:
        """The logarithm of the odds."""
        return log_odds(self.probs)
