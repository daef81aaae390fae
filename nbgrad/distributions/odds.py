"""What families of one probability share: it is given as it is, or as the logarithm of its odds."""

from __future__ import annotations

import nbgrad

from .. import Tensor
from .constraints import real, unit_interval
from .distribution import Family, lazy

__all__ = ["Odds", "clamp_probs", "log_odds"]


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities away from 0 and 1 by the dtype's epsilon."""
    eps = nbgrad.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def log_odds(probs: Tensor) -> Tensor:
    """The logarithm of the odds of probabilities."""
    p = clamp_probs(probs)
    return p.log() - nbgrad.log1p(-p)


class Odds(Family):
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
