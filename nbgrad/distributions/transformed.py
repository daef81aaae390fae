"""Families that are a transformed one."""

from __future__ import annotations

import math
from typing import Any

import nbgrad

from .. import Tensor
from . import constraints
from .combined import TransformedDistribution
from .constraints import positive, real, unit_interval
from .continuous import Exponential, Uniform, log_beta
from .distribution import Declared, tensors_of
from .location_scale import EULER, Cauchy, Normal
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform, StickBreakingTransform

__all__ = ["HalfCauchy", "HalfNormal", "Kumaraswamy", "LogNormal", "LogisticNormal", "Pareto", "Weibull"]


class Transformed(Declared, TransformedDistribution, shared=True):
    """Families that are a transformed one. A subclass has ``parameters``, and ``made_of(parameters)``: a base, and transforms."""

    def fill(self, values: dict[str, Any], validate_args: bool | None) -> None:
        _, tensors = tensors_of(type(self).__name__, values, self.parameters)
        base, transforms = self.made_of(*tensors.values(), validate_args=validate_args)
        super().__init__(base, transforms, validate_args)

    def made_of(self, *parameters: Tensor, validate_args: bool | None) -> Any:
        """Base and transforms."""
        raise NotImplementedError

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(self.family, _instance)
        vars(new).update({name: vars(self)[name].expand(batch_shape) for name in self.parameters if name in vars(self)})
        return super().expand(batch_shape, new)

    def __repr__(self) -> str:
        return self._told(self.parameters)


class LogNormal(Transformed):
    """The distribution of ``exp(x)`` for normal x.

    >>> LogNormal(0.0, 1.0).mode
    tensor(0.3679)
    """

    parameters = {"loc": real, "scale": positive}
    support = positive
    loc = property(lambda d: d.base_dist.loc)
    scale = property(lambda d: d.base_dist.scale)
    mean = property(lambda d: (d.loc + d.scale.square() / 2).exp())
    mode = property(lambda d: (d.loc - d.scale.square()).exp())
    variance = property(lambda d: d.scale.square().expm1() * (2 * d.loc + d.scale.square()).exp())

    def made_of(self, loc: Tensor, scale: Tensor, validate_args: bool | None) -> Any:  # type: ignore[override]
        return Normal(loc, scale, validate_args), ExpTransform()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(Transformed):
    """The distribution of vectors with a sum of 1, of which normal numbers break sticks.

    >>> LogisticNormal(nbgrad.zeros(2), nbgrad.ones(2)).event_shape
    nbgrad.Size([3])
    """

    parameters = {"loc": real, "scale": positive}
    support = constraints.simplex
    loc = property(lambda d: d.base_dist.base_dist.loc)
    scale = property(lambda d: d.base_dist.base_dist.scale)

    def made_of(self, loc: Tensor, scale: Tensor, validate_args: bool | None) -> Any:  # type: ignore[override]
        base = Normal(loc, scale, validate_args)
        return (base if base.batch_shape else base.expand([1])), StickBreakingTransform()


class Half(Transformed, shared=True):
    """Absolute values of a symmetric distribution around 0."""

    parameters = {"scale": positive}
    support = constraints.nonnegative
    scale = property(lambda d: d.base_dist.scale)
    mode = property(lambda d: nbgrad.zeros_like(d.scale))
    base_family: Any = Normal

    def made_of(self, scale: Tensor, validate_args: bool | None) -> Any:  # type: ignore[override]
        return self.base_family(0.0, scale, validate_args=False), AbsTransform()

    def _check_parameters(self) -> None:
        self.base_dist._check_parameters()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return nbgrad.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Half):
    """Absolute values of normal numbers around 0.

    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    mean = property(lambda d: d.scale * math.sqrt(2 / math.pi))
    variance = property(lambda d: d.scale.square() * (1 - 2 / math.pi))


class HalfCauchy(Half):
    """Absolute values of Cauchy numbers around 0.

    >>> HalfCauchy(1.0).icdf(nbgrad.tensor(0.5))
    tensor(1.)
    """

    base_family = Cauchy
    mean = property(lambda d: nbgrad.full_like(d.scale, math.inf))
    variance = property(lambda d: d.base_dist.variance)


class Pareto(Transformed):
    """The Pareto distribution, from ``scale`` on.

    >>> Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    parameters = {"scale": positive, "alpha": positive}
    arg_constraints = {"alpha": positive, "scale": positive}

    def made_of(self, scale: Tensor, alpha: Tensor, validate_args: bool | None) -> Any:  # type: ignore[override]
        self.scale, self.alpha = scale, alpha
        return Exponential(self.alpha, validate_args), [ExpTransform(), AffineTransform(0, self.scale)]

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """From ``scale`` on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    mode = property(lambda d: d.scale)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.square() * a / ((a - 1).square() * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(Transformed):
    """The Weibull distribution.

    >>> Weibull(1.0, 1.0).mean
    tensor(1.)
    """

    parameters = {"scale": positive, "concentration": positive}
    support = positive

    def made_of(self, scale: Tensor, concentration: Tensor, validate_args: bool | None) -> Any:  # type: ignore[override]
        self.scale, self.concentration = scale, concentration
        base = Exponential(nbgrad.ones_like(self.scale), validate_args)
        return base, [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]

    concentration_reciprocal = property(lambda d: d.concentration.reciprocal())
    mean = property(lambda d: d.scale * nbgrad.lgamma(1 + d.concentration_reciprocal).exp())

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return nbgrad.where(k > 1, self.scale * ((k - 1).clamp(min=0) / k) ** k.reciprocal(), 0.0)

    @property
    def variance(self) -> Tensor:
        r, lgamma = self.concentration_reciprocal, nbgrad.lgamma
        return self.scale.square() * (lgamma(1 + 2 * r).exp() - (2 * lgamma(1 + r)).exp())

    def entropy(self) -> Tensor:
        return EULER * (1 - self.concentration_reciprocal) + (self.scale * self.concentration_reciprocal).log() + 1


class Kumaraswamy(Transformed):
    """The Kumaraswamy distribution on the unit interval.

    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    parameters = {"concentration1": positive, "concentration0": positive}
    support = unit_interval

    def made_of(self, concentration1: Tensor, concentration0: Tensor, validate_args: bool | None) -> Any:  # type: ignore[override]
        self.concentration1, self.concentration0 = concentration1, concentration0
        base = Uniform(nbgrad.zeros_like(self.concentration0), nbgrad.ones_like(self.concentration0), validate_args)
        powers = PowerTransform(self.concentration0.reciprocal()), PowerTransform(self.concentration1.reciprocal())
        return base, [powers[0], AffineTransform(1.0, -1.0), powers[1]]

    def moment(self, n: int) -> Tensor:
        """The n-th moment."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * log_beta(a, b).exp()

    mean = property(lambda d: d.moment(1))
    variance = property(lambda d: d.moment(2) - d.moment(1).square())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + nbgrad.xlogy(a - 1, value) + nbgrad.special.xlog1py(b - 1, -(value**a))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)).clamp(min=0) ** a.reciprocal()
        return nbgrad.where((a < 1) | (b < 1), math.nan, found)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * (nbgrad.digamma(b + 1) + EULER) - a.log() - b.log()
