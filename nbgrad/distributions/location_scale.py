"""Families that are a standard distribution, moved by ``loc`` and scaled by ``scale``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Tensor
from . import constraints
from .constraints import positive, real
from .distribution import Family, Size, noise
from .exp_family import ExponentialFamily
from .sampling import log_gamma_sample

__all__ = ["EULER", "LOG_2PI", "Cauchy", "GeneralizedPareto", "Gumbel", "Laplace", "LocationScale", "Normal", "StudentT"]

LOG_2PI = math.log(2 * math.pi)
EULER = 0.57721566490153286061  # the Euler-Mascheroni constant


class LocationScale(Family, shared=True):
    """Families of ``loc + scale z``. A subclass has the formulas for z, which are those of loc 0 and scale 1."""

    parameters = {"loc": real, "scale": positive}
    support = real
    has_rsample = True
    mode = property(lambda d: d.loc)
    standard_entropy: Any

    def standard_log_density(self, z: Tensor) -> Tensor:
        """``log_density`` of z."""
        raise self._lacks("log_prob")

    def standard_cumulative(self, z: Tensor) -> Tensor:
        """``cumulative`` of z."""
        raise self._lacks("cdf")

    def standard_quantile(self, p: Tensor) -> Tensor:
        """``quantile`` of a probability."""
        raise self._lacks("icdf")

    def standardized(self, value: Tensor) -> Tensor:
        """z, of an event."""
        return (value - self.loc) / self.scale

    def log_density(self, value: Tensor) -> Tensor:
        return self.standard_log_density(self.standardized(value)) - self.scale.log()

    def cumulative(self, value: Tensor) -> Tensor:
        return self.standard_cumulative(self.standardized(value))

    def quantile(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * self.standard_quantile(value)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.standard_entropy


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    >>> Normal(0.0, 2.0).log_prob(nbgrad.tensor(1.0))
    tensor(-1.7371)
    """

    mean = property(lambda d: d.loc)
    stddev = property(lambda d: d.scale)
    variance = property(lambda d: d.scale.square())
    standard_entropy = 0.5 + 0.5 * LOG_2PI

    def draw(self, shape: Size) -> Tensor:
        return self.loc + noise("normal", self.loc, shape) * self.scale

    def standard_log_density(self, z: Tensor) -> Tensor:
        return -0.5 * z.square() - 0.5 * LOG_2PI

    def standard_cumulative(self, z: Tensor) -> Tensor:
        return 0.5 * (1 + nbgrad.erf(z / math.sqrt(2)))

    def standard_quantile(self, p: Tensor) -> Tensor:
        return nbgrad.erfinv(2 * p - 1) * math.sqrt(2)


class Laplace(LocationScale):
    """The Laplace distribution around ``loc``.

    >>> Laplace(0.0, 1.0).log_prob(nbgrad.tensor(2.0))
    tensor(-2.6931)
    """

    mean = property(lambda d: d.loc)
    stddev = property(lambda d: math.sqrt(2) * d.scale)
    variance = property(lambda d: 2 * d.scale.square())
    standard_entropy = 1 + math.log(2)

    def standard_log_density(self, z: Tensor) -> Tensor:
        return -z.abs() - math.log(2)

    def standard_cumulative(self, z: Tensor) -> Tensor:
        return 0.5 - 0.5 * z.sign() * nbgrad.expm1(-z.abs())

    def standard_quantile(self, p: Tensor) -> Tensor:
        term = p - 0.5
        return -term.sign() * nbgrad.log1p(-2 * term.abs())


class Cauchy(LocationScale):
    """The Cauchy distribution, which has no mean.

    >>> Cauchy(0.0, 1.0).log_prob(nbgrad.tensor(0.0))
    tensor(-1.1447)
    """

    mean = property(lambda d: nbgrad.full_like(d.loc, math.nan))
    variance = property(lambda d: nbgrad.full_like(d.loc, math.inf))
    standard_entropy = math.log(4 * math.pi)

    def standard_log_density(self, z: Tensor) -> Tensor:
        return -math.log(math.pi) - nbgrad.log1p(z.square())

    def standard_cumulative(self, z: Tensor) -> Tensor:
        return nbgrad.atan(z) / math.pi + 0.5

    def standard_quantile(self, p: Tensor) -> Tensor:
        return nbgrad.tan(math.pi * (p - 0.5))


class Gumbel(LocationScale):
    """The Gumbel distribution: of the largest of many.

    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    mean = property(lambda d: d.loc + d.scale * EULER)
    stddev = property(lambda d: math.pi / math.sqrt(6) * d.scale)
    variance = property(lambda d: d.stddev.square())
    standard_entropy = 1 + EULER

    def standard_log_density(self, z: Tensor) -> Tensor:
        return -z - (-z).exp()

    def standard_cumulative(self, z: Tensor) -> Tensor:
        return (-(-z).exp()).exp()

    def standard_quantile(self, p: Tensor) -> Tensor:
        return -(-p.log()).log()


class StudentT(LocationScale):
    """Student's t distribution of ``df`` degrees of freedom, moved and scaled.

    >>> StudentT(4.0).variance
    tensor(2.)
    """

    parameters = {"df": positive, "loc": real, "scale": positive}
    defaults = {"loc": 0.0, "scale": 1.0}
    mean = property(lambda d: nbgrad.where(d.df > 1, d.loc, math.nan))

    @property
    def variance(self) -> Tensor:
        df = self.df
        wide = nbgrad.where(df > 1, math.inf, math.nan).to(df.dtype)
        return nbgrad.where(df > 2, self.scale.square() * df / (df - 2), wide)

    def draw(self, shape: Size) -> Tensor:
        half = log_gamma_sample((0.5 * self.df).expand(tuple(shape)))  # of chi2 / 2
        return self.loc + self.scale * noise("normal", self.loc, shape) * (0.5 * ((0.5 * self.df).log() - half)).exp()

    @property
    def log_norm(self) -> Tensor:
        """The logarithm of what the density is divided by, of scale 1."""
        df = self.df
        return 0.5 * (df.log() + math.log(math.pi)) + nbgrad.lgamma(0.5 * df) - nbgrad.lgamma(0.5 * (df + 1))

    def standard_log_density(self, z: Tensor) -> Tensor:
        return -0.5 * (self.df + 1) * nbgrad.log1p(z.square() / self.df) - self.log_norm

    @property
    def standard_entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        return half * (nbgrad.digamma(half) - nbgrad.digamma(0.5 * self.df)) + self.log_norm


class GeneralizedPareto(LocationScale):
    """The generalised Pareto distribution: of how far events exceed a threshold.

    >>> GeneralizedPareto(0.0, 1.0, 0.25).mean
    tensor(1.3333)
    """

    parameters = {"loc": real, "scale": positive, "concentration": real}
    standard_entropy = property(lambda d: d.concentration + 1)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """From ``loc`` on; of negative concentrations, up to a bound."""
        top = self.loc - self.scale / nbgrad.where(self.concentration < 0, self.concentration, -1.0)
        return constraints.interval(self.loc, nbgrad.where(self.concentration < 0, top, math.inf))

    @property
    def mean(self) -> Tensor:
        return nbgrad.where(self.concentration < 1, self.loc + self.scale / (1 - self.concentration), math.inf)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return nbgrad.where(c < 0.5, self.scale.square() / ((1 - c).square() * (1 - 2 * c)), math.inf)

    def limited(self, x: Tensor, inner: Callable[[Tensor], Tensor], bend: float) -> Tensor:
        """``inner(c x) / c`` for the concentration c, or where that is near 0 the first terms: ``x + bend c x**2``."""
        c = self.concentration
        near = c.abs() < 1e-6
        apart = nbgrad.where(near, 1.0, c)
        return nbgrad.where(near, x + bend * c * x.square(), inner(apart * x) / apart)

    def survival_log(self, z: Tensor) -> Tensor:
        """-log(1 - cdf): log(1 + c z) / c."""
        return self.limited(z, nbgrad.log1p, -0.5)

    def standard_log_density(self, z: Tensor) -> Tensor:
        return -(1 + self.concentration) * self.survival_log(z)

    def standard_cumulative(self, z: Tensor) -> Tensor:
        return -nbgrad.expm1(-self.survival_log(z))

    def standard_quantile(self, p: Tensor) -> Tensor:
        return self.limited(-nbgrad.log1p(-p), nbgrad.expm1, 0.5)
