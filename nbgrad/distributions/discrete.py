"""Families of whole numbers and of choices."""

from __future__ import annotations

import math
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import NotSupportedError
from . import constraints
from .constraints import real, unit_interval
from .distribution import Family, Size, lazy, noise, require, values_are_known
from .exp_family import ExponentialFamily
from .odds import Odds, broadcast_all, clamp_probs
from .sampling import binomial_sample, log_gamma_sample, poisson_sample

__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
]

functional = nbgrad.nn.functional


class Bernoulli(Odds, ExponentialFamily):
    """1 with probability ``probs``, else 0.

    >>> Bernoulli(0.25).log_prob(nbgrad.tensor([1.0, 0.0]))
    tensor([-1.3863, -0.2877])
    """

    support = constraints.boolean
    has_enumerate_support = True
    mean = property(lambda d: d.probs)
    variance = property(lambda d: d.probs * (1 - d.probs))
    mode = property(lambda d: nbgrad.where(d.probs == 0.5, math.nan, (d.probs >= 0.5).to(d.probs.dtype)))

    def draw(self, shape: Size) -> Tensor:
        return nbgrad.bernoulli(self.probs.expand(tuple(shape)))

    def log_density(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -functional.binary_cross_entropy_with_logits(logits, value.to(logits.dtype), reduction="none")

    def entropy(self) -> Tensor:
        return functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return enumerated(self, 2, self.param, expand)


def enumerated(d: Any, count: int, like: Tensor, expand: bool, dtype: Any = None) -> Tensor:
    """The numbers below ``count``, in a dimension in front of the batch's."""
    values = nbgrad.arange(count, dtype=dtype or like.dtype, device=like.device).reshape(-1, *(1,) * len(d.batch_shape))
    return values.expand((-1, *d.batch_shape)) if expand else values


class Geometric(Odds):
    """How many failures come before the first success.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    support = constraints.nonnegative_integer
    mean = property(lambda d: 1 / d.probs - 1)
    mode = property(lambda d: nbgrad.zeros_like(d.probs))
    variance = property(lambda d: (1 / d.probs - 1) / d.probs)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if "probs" in vars(self):
            require("Geometric", "the parameter probs", self.probs, constraints.positive)  # a first success has to come

    def draw(self, shape: Size) -> Tensor:
        return (
            noise("exponential", self.probs, shape) / -nbgrad.log1p(-self.probs.clamp(min=nbgrad.finfo(self.probs.dtype).tiny))
        ).floor()

    def log_density(self, value: Tensor) -> Tensor:
        p = self.probs
        return nbgrad.special.xlog1py(value, -p) + p.log()

    def entropy(self) -> Tensor:
        return functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Binomial(Odds):
    """How many of ``total_count`` events of probability ``probs`` happen.

    >>> Binomial(3, probs=0.5).log_prob(nbgrad.tensor(1.0))
    tensor(-0.9808)
    """

    parameters = {"total_count": constraints.nonnegative_integer, "probs": unit_interval, "logits": real}
    defaults = {"total_count": 1}
    has_enumerate_support = True
    mean = property(lambda d: d.total_count * d.probs)
    variance = property(lambda d: d.total_count * d.probs * (1 - d.probs))
    mode = property(lambda d: ((d.total_count + 1) * d.probs).floor().clamp(max=d.total_count))

    @constraints.dependent_property(is_discrete=True)
    def support(self) -> constraints.Constraint:
        """Whole numbers up to ``total_count``."""
        return constraints.integer_interval(0, self.total_count)

    def draw(self, shape: Size) -> Tensor:
        return binomial_sample(self.total_count.expand(tuple(shape)), self.probs.expand(tuple(shape)))

    def log_density(self, value: Tensor) -> Tensor:
        n, lgamma, logits = self.total_count, nbgrad.lgamma, self.logits
        return lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1) + value * logits - n * functional.softplus(logits)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return enumerated(self, 1 + all_alike(self), self.param, expand)

    def entropy(self) -> Tensor:
        log_prob = self.log_density(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)


def all_alike(d: Any) -> int:
    """The number of trials.

    Raises:
        NotSupportedError: they differ.
    """
    most = int(d.total_count.max())
    if int(d.total_count.min()) != most:
        raise NotSupportedError(
            f"{type(d).__name__}: distributions of the batch have different total_count, and so different supports."
        )
    return most


class NegativeBinomial(Odds):
    """How many successes of probability ``probs`` come before ``total_count`` failures.

    >>> NegativeBinomial(2.0, probs=0.5).mean
    tensor(2.)
    """

    parameters = {"total_count": constraints.nonnegative, "probs": constraints.half_open_interval(0.0, 1.0), "logits": real}
    support = constraints.nonnegative_integer
    mean = property(lambda d: d.total_count * nbgrad.exp(d.logits))
    mode = property(lambda d: ((d.total_count - 1) * d.logits.exp()).floor().clamp(min=0))
    variance = property(lambda d: d.mean / nbgrad.sigmoid(-d.logits))

    def draw(self, shape: Size) -> Tensor:
        rate = log_gamma_sample(self.total_count.expand(tuple(shape))) + self.logits
        return poisson_sample(rate.exp())

    def log_density(self, value: Tensor) -> Tensor:
        n, lgamma = self.total_count, nbgrad.lgamma
        log_weight = n * functional.logsigmoid(-self.logits) + value * functional.logsigmoid(self.logits)
        counted = -lgamma(n + value) + lgamma(1 + value) + lgamma(n)
        return log_weight - counted.masked_fill(n + value == 0, 0.0)


class Poisson(Family, ExponentialFamily):
    """The Poisson distribution: how many independent events happen, of which ``rate`` are expected.

    >>> Poisson(2.0).log_prob(nbgrad.tensor(0.0))
    tensor(-2.)
    """

    parameters = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    mean = variance = property(lambda d: d.rate)
    mode = property(lambda d: d.rate.floor())

    def draw(self, shape: Size) -> Tensor:
        return poisson_sample(self.rate.expand(tuple(shape)))

    def log_density(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return nbgrad.xlogy(value, rate) - rate - nbgrad.lgamma(value + 1)

    def cumulative(self, value: Tensor) -> Tensor:
        return nbgrad.special.gammaincc(value.floor() + 1, self.rate)


class _OpenInterval(constraints.interval):
    """Reals of an open interval."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound < value) & (value < self.upper_bound)


class Choice(Family, shared=True):
    """Families of weights in the last dimension, given as they are or by their logarithms; they are scaled to a sum of 1."""

    parameters = {"probs": constraints.independent(constraints.nonnegative, 1), "logits": constraints.real_vector}
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}  # of what they become
    either = ("probs", "logits")

    def fill(self, values: dict, validate_args: bool | None) -> None:
        super().fill(values, validate_args)
        if "probs" in vars(self):
            total = self.probs.sum(-1, keepdim=True)
            self.check_total("the sum of probs", total, 0.0)
            self.probs = self.probs / total
        else:
            total = self.logits.logsumexp(-1, keepdim=True)
            self.check_total("logsumexp of logits", total, -math.inf)
            self.logits = self.logits - total

    def check_total(self, what: str, total: Tensor, least: float) -> None:
        """Refuse weights that cannot be scaled.

        Raises:
            RangeError: there is nothing to choose, or a weight is infinite.
        """
        if self._validate_args and values_are_known():
            require(type(self).__name__, what, total, _OpenInterval(least, math.inf))

    @lazy
    def probs(self) -> Tensor:
        """The probability of each choice."""
        return functional.softmax(self.logits, -1)

    @lazy
    def logits(self) -> Tensor:
        """The logarithm of each choice's probability."""
        return clamp_probs(self.probs).log()

    @property
    def _num_events(self) -> int:
        return self.param.size(-1)

    def entropy(self) -> Tensor:
        least = nbgrad.finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def chosen(self, shape: Any) -> Tensor:
        """Numbers of choices: ``shape`` before the batch's."""
        probs = self.probs.reshape(-1, self._num_events)
        count = math.prod(shape)
        if not count or not probs.size(0):
            return nbgrad.zeros(*shape, *self._batch_shape, dtype=nbgrad.int64, device=probs.device)
        return nbgrad.multinomial(probs, count, True).T.reshape(*shape, *self._batch_shape)


class Categorical(Choice):
    """The number of one of several choices, with the probabilities in the last dimension of ``probs``.

    >>> Categorical(probs=nbgrad.tensor([1.0, 3.0])).log_prob(nbgrad.tensor(1))
    tensor(-0.2877)
    """

    has_enumerate_support = True
    mean = variance = property(lambda d: nbgrad.full(d.batch_shape, math.nan, dtype=d.probs.dtype, device=d.probs.device))
    mode = property(lambda d: d.probs.argmax(-1))

    @constraints.dependent_property(is_discrete=True)
    def support(self) -> constraints.Constraint:
        """The numbers of the choices."""
        return constraints.integer_interval(0, self._num_events - 1)

    def draw(self, shape: Size) -> Tensor:
        return self.chosen(self.ahead(shape))

    def log_density(self, value: Tensor) -> Tensor:
        value, logits = nbgrad.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return enumerated(self, self._num_events, self.param, expand, nbgrad.int64)


class OneHotCategorical(Choice):
    """One of several choices, as a vector with a 1 at its place.

    >>> OneHotCategorical(probs=nbgrad.tensor([1.0, 3.0])).log_prob(nbgrad.tensor([0.0, 1.0]))
    tensor(-0.2877)
    """

    support = constraints.one_hot
    has_enumerate_support = True
    mean = property(lambda d: d.probs)
    variance = property(lambda d: d.probs * (1 - d.probs))
    mode = property(lambda d: functional.one_hot(d.probs.argmax(-1), d._num_events).to(d.probs.dtype))

    def draw(self, shape: Size) -> Tensor:
        chosen = self.chosen(self.ahead(shape))
        return functional.one_hot(chosen, self._num_events).to(self.probs.dtype)

    def log_density(self, value: Tensor) -> Tensor:
        value, logits = nbgrad.broadcast_tensors(value, self.logits)
        return logits.gather(-1, value.argmax(-1, keepdim=True)).squeeze(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._num_events
        values = nbgrad.eye(n, dtype=self.param.dtype, device=self.param.device).reshape(n, *(1,) * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A ``OneHotCategorical`` whose samples pass their gradient to the probabilities, as if these had been drawn.

    Source: Y. Bengio, N. Léonard and A. Courville, "Estimating or propagating gradients through stochastic neurons", 2013.

    >>> OneHotCategoricalStraightThrough(probs=nbgrad.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(Choice):
    """How often each of several choices is made in ``total_count`` trials.

    >>> Multinomial(3, probs=nbgrad.tensor([1.0, 1.0])).log_prob(nbgrad.tensor([2.0, 1.0]))
    tensor(-0.9808)
    """

    settings = {"total_count": 1}
    mean = property(lambda d: d.probs * d.total_count)
    variance = property(lambda d: d.total_count * d.probs * (1 - d.probs))

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        """Counts with a sum of ``total_count``."""
        return constraints.multinomial(self.total_count)

    def fill(self, values: dict, validate_args: bool | None) -> None:
        if not isinstance(self.total_count, int):
            raise NotSupportedError(
                f"Multinomial: total_count is a {type(self.total_count).__name__}, expected an int for the whole batch."
            )
        super().fill(values, validate_args)

    def draw(self, shape: Size) -> Tensor:
        chosen = self.chosen((self.total_count, *self.ahead(shape))).movedim(0, -1)
        counts = nbgrad.zeros(shape, dtype=self.probs.dtype, device=self.probs.device)
        return counts.scatter_add(-1, chosen, nbgrad.ones_like(chosen, dtype=counts.dtype))

    def log_density(self, value: Tensor) -> Tensor:
        logits, value = nbgrad.broadcast_tensors(self.logits, value)
        weighted = nbgrad.where((value == 0) & logits.isinf(), 0.0, logits) * value
        return nbgrad.lgamma(value.sum(-1) + 1) - nbgrad.lgamma(value + 1).sum(-1) + weighted.sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        each = Binomial(n, probs=self.probs, validate_args=False)
        counts = each.enumerate_support(False)[1:]
        expected = (each.log_density(counts).exp() * nbgrad.lgamma(counts + 1)).sum((0, -1))
        return n * Categorical(probs=self.probs, validate_args=False).entropy() - math.lgamma(n + 1) + expected
