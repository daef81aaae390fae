"""Differentiable relatives of families of choices."""

from __future__ import annotations

import math
from typing import Any

import nbgrad

from .. import Tensor
from . import constraints
from .combined import TransformedDistribution
from .constraints import real, unit_interval
from .discrete import Bernoulli, Choice
from .distribution import REQUIRED, Size, noise
from .odds import Odds, clamp_probs, log_odds
from .transforms import ExpTransform, SigmoidTransform

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]

functional = nbgrad.nn.functional


class LogitRelaxedBernoulli(Odds):
    """Logarithms of the odds of ``RelaxedBernoulli``.

    Source: C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution", 2017.

    >>> LogitRelaxedBernoulli(0.5, probs=0.5).log_prob(nbgrad.tensor(0.0))
    tensor(-2.0794)
    """

    support = real
    has_rsample = True
    settings = {"temperature": REQUIRED}

    def draw(self, shape: Size) -> Tensor:
        return (log_odds(noise("uniform", self.param, shape)) + self.logits) / self.temperature

    def log_density(self, value: Tensor) -> Tensor:
        difference = self.logits - value * self.temperature
        return nbgrad.as_tensor(self.temperature, dtype=value.dtype).log() + difference - 2 * functional.softplus(difference)


class ExpRelaxedCategorical(Choice):
    """Logarithms of the events of ``RelaxedOneHotCategorical``.

    >>> ExpRelaxedCategorical(0.5, probs=nbgrad.ones(3)).event_shape
    nbgrad.Size([3])
    """

    support = constraints.real_vector
    has_rsample = True
    settings = {"temperature": REQUIRED}

    def draw(self, shape: Size) -> Tensor:
        gumbel = -(-clamp_probs(noise("uniform", self.param, shape)).log()).log()
        return functional.log_softmax((self.logits + gumbel) / self.temperature, -1)

    def log_density(self, value: Tensor) -> Tensor:
        n, temperature = self._num_events, nbgrad.as_tensor(self.temperature, dtype=value.dtype)
        score = functional.log_softmax(self.logits - value * temperature, -1).sum(-1)
        return score + math.lgamma(n) + (n - 1) * temperature.log()


class Relaxed(TransformedDistribution):
    """Families of a temperature and of choices."""

    base_family: Any
    transform: Any

    def __init__(self, temperature, probs=None, logits=None, validate_args=None) -> None:
        super().__init__(self.base_family(temperature, probs, logits, validate_args), self.transform(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(Relaxed, _instance))

    temperature = property(lambda d: d.base_dist.temperature)
    probs = property(lambda d: d.base_dist.probs)
    logits = property(lambda d: d.base_dist.logits)


class RelaxedBernoulli(Relaxed):
    """A differentiable relative of Bernoulli, which becomes it as the temperature falls to 0.

    >>> RelaxedBernoulli(nbgrad.tensor(0.5), probs=nbgrad.tensor(0.5)).log_prob(nbgrad.tensor(0.5))
    tensor(-0.6931)
    """

    base_family, transform = LogitRelaxedBernoulli, SigmoidTransform
    support = unit_interval
    arg_constraints = Bernoulli.parameters


class RelaxedOneHotCategorical(Relaxed):
    """A differentiable relative of OneHotCategorical, which becomes it as the temperature falls to 0.

    >>> RelaxedOneHotCategorical(nbgrad.tensor(0.5), probs=nbgrad.ones(3)).event_shape
    nbgrad.Size([3])
    """

    base_family, transform = ExpRelaxedCategorical, ExpTransform
    support = constraints.simplex
    arg_constraints = Choice.arg_constraints
