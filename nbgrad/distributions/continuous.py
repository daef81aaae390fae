"""Families of real numbers: parameters, support and formulas."""

from __future__ import annotations

import math
from typing import Any

import nbgrad

from .. import Tensor
from . import constraints
from .constraints import positive, real
from .distribution import Family, Size, lazy, noise, require
from .exp_family import ExponentialFamily
from .location_scale import LOG_2PI
from .odds import Odds, clamp_probs
from .sampling import log_gamma_sample, log_gamma_samples, von_mises_sample

__all__ = ["Beta", "Chi2", "ContinuousBernoulli", "Exponential", "FisherSnedecor", "Gamma", "InverseGamma", "Uniform", "VonMises"]


class Uniform(Family):
    """Equally likely from ``low`` to ``high``, which itself is not drawn.

    >>> Uniform(1.0, 3.0).entropy()
    tensor(0.6931)
    """

    parameters = {"low": constraints.dependent, "high": constraints.dependent}
    has_rsample = True
    mean = property(lambda d: (d.high + d.low) / 2)
    mode = property(lambda d: math.nan * d.high)
    stddev = property(lambda d: (d.high - d.low) / math.sqrt(12))
    variance = property(lambda d: (d.high - d.low).square() / 12)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """``low`` lies below ``high``."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """From ``low`` to ``high``."""
        return constraints.interval(self.low, self.high)

    def _check_parameters(self) -> None:
        require("Uniform", "high - low", self.high - self.low, positive)

    def draw(self, shape: Size) -> Tensor:
        return self.quantile(nbgrad.rand(shape, dtype=self.low.dtype, device=self.low.device))

    def log_density(self, value: Tensor) -> Tensor:
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cumulative(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def quantile(self, value: Tensor) -> Tensor:
        return self.low + value * (self.high - self.low)

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Exponential(Family, ExponentialFamily):
    """The exponential distribution of mean ``1 / rate``.

    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    parameters = {"rate": positive}
    support = constraints.nonnegative
    has_rsample = True
    mean = stddev = property(lambda d: d.rate.reciprocal())
    mode = property(lambda d: nbgrad.zeros_like(d.rate))
    variance = property(lambda d: d.rate.pow(-2))

    def draw(self, shape: Size) -> Tensor:
        return noise("exponential", self.rate, shape) / self.rate

    def log_density(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def cumulative(self, value: Tensor) -> Tensor:
        return -nbgrad.expm1(-self.rate * value)

    def quantile(self, value: Tensor) -> Tensor:
        return -nbgrad.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()


class Gamma(Family, ExponentialFamily):
    """The gamma distribution of mean ``concentration / rate``.

    Samples are differentiable by both parameters: see ``sampling.log_gamma_sample``.

    >>> Gamma(2.0, 1.0).log_prob(nbgrad.tensor(1.0))
    tensor(-1.)
    """

    parameters = {"concentration": positive, "rate": positive}
    support = constraints.nonnegative
    has_rsample = True
    mean = property(lambda d: d.concentration / d.rate)
    mode = property(lambda d: ((d.concentration - 1) / d.rate).clamp(min=0))
    variance = property(lambda d: d.concentration / d.rate.square())

    def draw(self, shape: Size) -> Tensor:
        value = log_gamma_sample(self.concentration.expand(tuple(shape))).exp() / self.rate
        return value.clamp(min=nbgrad.finfo(value.dtype).tiny)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density at events, which may be numbers: they take the dtype of the parameters."""
        return super().log_prob(nbgrad.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))

    def log_density(self, value: Tensor) -> Tensor:
        a, rate = self.concentration, self.rate
        return nbgrad.xlogy(a, rate) + nbgrad.xlogy(a - 1, value) - rate * value - nbgrad.lgamma(a)

    def cumulative(self, value: Tensor) -> Tensor:
        return nbgrad.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + nbgrad.lgamma(a) + (1 - a) * nbgrad.digamma(a)


class Chi2(Gamma):
    """The chi-squared distribution of ``df`` degrees of freedom: a Gamma distribution.

    >>> Chi2(3.0).variance
    tensor(6.)
    """

    parameters = {"df": positive}

    @lazy
    def concentration(self) -> Tensor:
        """Half of ``df``."""
        return 0.5 * self.df

    @lazy
    def rate(self) -> Tensor:
        """1/2."""
        return nbgrad.full_like(self.df, 0.5)


class InverseGamma(Family):
    """The distribution of the reciprocal of a Gamma distribution's events.

    >>> InverseGamma(3.0, 2.0).mean
    tensor(1.)
    """

    parameters = {"concentration": positive, "rate": positive}
    support = positive
    has_rsample = True
    mean = property(lambda d: nbgrad.where(d.concentration > 1, d.rate / (d.concentration - 1), math.inf))
    mode = property(lambda d: d.rate / (d.concentration + 1))

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return nbgrad.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def draw(self, shape: Size) -> Tensor:
        return self.rate * (-log_gamma_sample(self.concentration.expand(tuple(shape)))).exp()

    def log_density(self, value: Tensor) -> Tensor:
        a = self.concentration
        return nbgrad.xlogy(a, self.rate) - (a + 1) * value.log() - self.rate / value - nbgrad.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value, constraints.nonnegative)  # 0 is no event, but none lies below it
        return self.cumulative(value)

    def cumulative(self, value: Tensor) -> Tensor:
        return nbgrad.special.gammaincc(self.concentration, self.rate / value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + nbgrad.lgamma(a) - (1 + a) * nbgrad.digamma(a)


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """The logarithm of the beta function."""
    return nbgrad.lgamma(a) + nbgrad.lgamma(b) - nbgrad.lgamma(a + b)


def dirichlet_mode(concentration: Tensor) -> Tensor:
    """The most likely vector; of concentrations that are all below 1, a corner."""
    a = (concentration - 1).clamp(min=0)
    mode, wide = a / a.sum(-1, keepdim=True), (concentration < 1).all(-1, keepdim=True)
    return nbgrad.where(wide, nbgrad.nn.functional.one_hot(mode.argmax(-1), a.size(-1)).to(a.dtype), mode)


class Beta(Family, ExponentialFamily):
    """The beta distribution on the unit interval.

    >>> Beta(2.0, 3.0).mean
    tensor(0.4000)
    """

    parameters = {"concentration1": positive, "concentration0": positive}
    support = constraints.unit_interval
    has_rsample = True
    total = property(lambda d: d.concentration1 + d.concentration0)
    mean = property(lambda d: d.concentration1 / d.total)
    variance = property(lambda d: d.mean * (1 - d.mean) / (d.total + 1))
    log_norm = property(lambda d: log_beta(d.concentration1, d.concentration0))

    @property
    def mode(self) -> Tensor:
        return dirichlet_mode(nbgrad.stack([self.concentration1, self.concentration0], -1))[..., 0]

    def draw(self, shape: Size) -> Tensor:
        first, other = log_gamma_samples(self.concentration1.expand(tuple(shape)), self.concentration0.expand(tuple(shape)))
        limits = nbgrad.finfo(first.dtype)
        return nbgrad.sigmoid(first - other).clamp(limits.tiny, 1 - limits.eps / 2)

    def log_density(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return nbgrad.xlogy(a - 1, value) + nbgrad.special.xlog1py(b - 1, -value) - self.log_norm

    def entropy(self) -> Tensor:
        a, b, digamma = self.concentration1, self.concentration0, nbgrad.digamma
        return self.log_norm - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b)


class FisherSnedecor(Family):
    """The F distribution: of the quotient of two mean squares.

    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    parameters = {"df1": positive, "df2": positive}
    support = positive
    has_rsample = True
    mean = property(lambda d: nbgrad.where(d.df2 > 2, d.df2 / (d.df2 - 2), math.nan))
    mode = property(lambda d: nbgrad.where(d.df1 > 2, (d.df1 - 2) / d.df1 * d.df2 / (d.df2 + 2), math.nan))

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        return nbgrad.where(b > 4, 2 * b.square() * (a + b - 2) / (a * (b - 2).square() * (b - 4)), math.nan)

    def draw(self, shape: Size) -> Tensor:
        halves = [(0.5 * df).expand(tuple(shape)) for df in (self.df1, self.df2)]
        first, other = (sample - df.log() for sample, df in zip(log_gamma_samples(*halves), (self.df1, self.df2)))
        return (first - other).exp()

    def log_density(self, value: Tensor) -> Tensor:
        a, b, ratio = 0.5 * self.df1, 0.5 * self.df2, self.df1 / self.df2
        return a * ratio.log() + (a - 1) * value.log() - (a + b) * nbgrad.log1p(ratio * value) - log_beta(a, b)


class VonMises(Family):
    """The von Mises distribution of angles around ``loc``, from -pi to pi.

    >>> VonMises(0.0, 1.0).log_prob(nbgrad.tensor(0.0))
    tensor(-1.0738)
    """

    parameters = {"loc": real, "concentration": positive}
    support = real
    mean = mode = property(lambda d: d.loc)

    @property
    def variance(self) -> Tensor:
        """The circular variance."""
        k = self.concentration
        return 1 - nbgrad.special.i1e(k) / nbgrad.special.i0e(k)

    def draw(self, shape: Size) -> Tensor:
        k = self.concentration.expand(tuple(shape))
        return (von_mises_sample(k) + math.pi + self.loc) % (2 * math.pi) - math.pi

    def log_density(self, value: Tensor) -> Tensor:
        k = self.concentration
        return k * (nbgrad.cos(value - self.loc) - 1) - LOG_2PI - nbgrad.special.i0e(k).log()


class ContinuousBernoulli(Odds, ExponentialFamily):
    """The continuous Bernoulli distribution on the unit interval, of density proportional to ``probs**x (1 - probs)**(1 - x)``.

    Args:
        lims: where ``probs`` lies between these, series about 1/2 stand for quotients that are 0 / 0 there.

    Source: G. Loaiza-Ganem and J. P. Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders",
    2019.

    >>> ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    support = constraints.unit_interval
    has_rsample = True
    settings = {"lims": (0.499, 0.501)}
    arguments = ("probs", "logits", "lims")
    _p = property(lambda d: clamp_probs(d.probs))

    def _apart(self) -> tuple[Tensor, Tensor]:
        """Where ``probs`` is away from 1/2, and a probability that is so everywhere."""
        apart = (self._p <= self.lims[0]) | (self._p > self.lims[1])
        return apart, nbgrad.where(apart, self._p, self.lims[0])

    @property
    def _log_norm(self) -> Tensor:
        """log of 2 atanh(1 - 2 p) / (1 - 2 p)."""
        apart, p = self._apart()
        x = (self._p - 0.5).square()
        quotient = (nbgrad.log1p(-p) - p.log()).abs().log() - (1 - 2 * p).abs().log()
        return nbgrad.where(apart, quotient, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        apart, p = self._apart()
        x = self._p - 0.5
        return nbgrad.where(apart, p / (2 * p - 1) + 1 / (nbgrad.log1p(-p) - p.log()), 0.5 + (1 / 3 + 16 / 45 * x.square()) * x)

    @property
    def variance(self) -> Tensor:
        apart, p = self._apart()
        x = (self._p - 0.5).square()
        wide = p * (p - 1) / (1 - 2 * p).square() + 1 / (nbgrad.log1p(-p) - p.log()).square()
        return nbgrad.where(apart, wide, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def log_density(self, value: Tensor) -> Tensor:
        logits = self.logits
        return value * logits - nbgrad.nn.functional.softplus(logits) + self._log_norm

    def cumulative(self, value: Tensor) -> Tensor:
        apart, p = self._apart()
        value = value.clamp(0, 1)
        inner = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        return nbgrad.where(apart, inner, value)

    def quantile(self, value: Tensor) -> Tensor:
        apart, p = self._apart()
        inner = (nbgrad.log1p(-p + value * (2 * p - 1)) - nbgrad.log1p(-p)) / (p.log() - nbgrad.log1p(-p))
        return nbgrad.where(apart, inner, value)

    def entropy(self) -> Tensor:
        p = self._p
        return -self.mean * (p.log() - nbgrad.log1p(-p)) - self._log_norm - nbgrad.log1p(-p)
