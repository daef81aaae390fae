"""Distributions of other distributions: independent ones as one, mixtures, and transformed ones with their families."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, ShapeError
from . import constraints
from .discrete import Categorical
from .distribution import EMPTY, Distribution, Size
from .transforms import ComposeTransform, Transform, summed

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]

functional = nbgrad.nn.functional


class Independent(Distribution):
    """A distribution whose last batch dimensions are part of the event.

    >>> from nbgrad.distributions import Normal
    >>> d = Independent(Normal(nbgrad.zeros(3), nbgrad.ones(3)), 1)
    >>> d.batch_shape, d.event_shape, d.log_prob(nbgrad.zeros(3))
    (nbgrad.Size([]), nbgrad.Size([3]), tensor(-2.7568))
    """

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        shape, dims = base_distribution.batch_shape + base_distribution.event_shape, len(base_distribution.batch_shape)
        if not 0 <= reinterpreted_batch_ndims <= dims:
            raise ShapeError(
                f"Independent: reinterpreted_batch_ndims is {reinterpreted_batch_ndims}, the distribution has {dims} to give."
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        place = dims - reinterpreted_batch_ndims
        super().__init__(shape[:place], shape[place:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, batch = self._get_checked_instance(Independent, _instance), Size(batch_shape)
        new.base_dist = self.base_dist.expand(batch + self.event_shape[: self.reinterpreted_batch_ndims])
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return new._expanded_from(self, batch)

    has_rsample = property(lambda d: d.base_dist.has_rsample)
    mean = property(lambda d: d.base_dist.mean)
    mode = property(lambda d: d.base_dist.mode)
    variance = property(lambda d: d.base_dist.variance)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """That of the distribution, of all dimensions of the event."""
        inner = self.base_dist.support
        return constraints.widened(inner, inner.event_dim + self.reinterpreted_batch_ndims)

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise self._lacks("enumerate_support")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """A mixture: a ``Categorical`` chooses among the distributions in the last batch dimension of another one.

    >>> from nbgrad.distributions import Categorical, Normal
    >>> parts = Normal(nbgrad.tensor([-1.0, 1.0]), 0.5)
    >>> MixtureSameFamily(Categorical(nbgrad.ones(2)), parts).variance
    tensor(1.2500)
    """

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise RangeError(f"MixtureSameFamily: the mixture is a {type(mixture_distribution).__name__}, expected a Categorical.")
        if not isinstance(component_distribution, Distribution):
            raise RangeError(
                f"MixtureSameFamily: the components are a {type(component_distribution).__name__}, not a Distribution."
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        count, batch = mixture_distribution._num_events, component_distribution.batch_shape
        if not batch or batch[-1] != count:
            raise ShapeError(f"MixtureSameFamily: {count} weights, and components of batch shape {list(batch)}.")
        weights = mixture_distribution.batch_shape
        if any(1 != size != other != 1 for size, other in zip(reversed(weights), reversed(batch[:-1]))):
            raise ShapeError(
                f"MixtureSameFamily: weights of batch shape {list(weights)}, and components of batch shape {list(batch)}: "
                f"expected {list(batch[:-1])}."
            )
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    mixture_distribution = property(lambda d: d._mixture_distribution)
    component_distribution = property(lambda d: d._component_distribution)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """That of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, batch = self._get_checked_instance(MixtureSameFamily, _instance), Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(Size((*batch, self._mixture_distribution._num_events)))
        new._mixture_distribution = self._mixture_distribution.expand(batch)
        return new._expanded_from(self, batch)

    def beside(self, value: Tensor) -> Tensor:
        """A value for each component."""
        return value.unsqueeze(-1 - len(self.event_shape))

    def weighted(self, values: Tensor) -> Tensor:
        """The mean over components."""
        probs = self._mixture_distribution.probs
        return (probs.reshape(*probs.shape, *(1,) * len(self.event_shape)) * values).sum(-1 - len(self.event_shape))

    @property
    def mean(self) -> Tensor:
        return self.weighted(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        between = self._component_distribution.mean - self.beside(self.mean)
        return self.weighted(self._component_distribution.variance + between.square())

    def cdf(self, x: Tensor) -> Tensor:
        return (self._component_distribution.cdf(self.beside(x)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        weights = functional.log_softmax(self._mixture_distribution.logits, -1)
        return (self._component_distribution.log_prob(self.beside(x)) + weights).logsumexp(-1)

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        with nbgrad.no_grad():
            chosen = self._mixture_distribution.expand(self.batch_shape).sample(sample_shape)  # weights may be shared
            values = self._component_distribution.sample(sample_shape)
            dims = len(self.event_shape)
            place = chosen.reshape(*chosen.shape, 1, *(1,) * dims)
            place = place.expand(*chosen.shape, 1, *self.event_shape)
            return values.gather(-1 - dims, place).squeeze(-1 - dims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"


class TransformedDistribution(Distribution):
    """The distribution of transformed events of another one.

    Args:
        base_distribution: whose events are transformed.
        transforms: one, or a list of those that follow one another.

    >>> from nbgrad.distributions import ExpTransform, Normal
    >>> d = TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])
    >>> d.log_prob(nbgrad.tensor(1.0))
    tensor(-0.9189)
    """

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(transform, Transform) for transform in self.transforms):
            raise RangeError(f"TransformedDistribution: expected a Transform or a list of them, got {transforms!r}.")
        whole, shape = self.whole, base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ShapeError(
                f"TransformedDistribution: transforms of {whole.domain.event_dim} dimensions, events of {list(shape)}."
            )
        after = whole.forward_shape(shape)
        before = whole.inverse_shape(after)
        if before != shape:
            base_distribution = base_distribution.expand(before[: len(before) - len(base_distribution.event_shape)])
        apart = whole.domain.event_dim - len(base_distribution.event_shape)
        self.base_dist = Independent(base_distribution, apart) if apart > 0 else base_distribution
        dims = whole.codomain.event_dim + max(-apart, 0)
        super().__init__(after[: len(after) - dims], after[len(after) - dims :], validate_args)

    has_rsample = property(lambda d: d.base_dist.has_rsample)
    whole = property(lambda d: ComposeTransform(d.transforms))

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """The last transform's codomain, of all dimensions of an event."""
        found = self.transforms[-1].codomain if self.transforms else self.base_dist.support
        return constraints.widened(found, len(self.event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        new.transforms = self.transforms
        shape = self.whole.inverse_shape(Size(batch_shape) + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new._expanded_from(self, batch_shape)

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        with nbgrad.no_grad():
            return self.whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        return self.whole(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        dims, y = len(self.event_shape), value
        changed: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            changed = changed - summed(transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim)
            y = x
        return changed + summed(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def monotone(self, value: Tensor) -> Tensor:
        """A probability, or what is left where the transforms fall."""
        sign = self.whole.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        return self.monotone(self.base_dist.cdf(self.whole.inv(value)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.whole(self.base_dist.icdf(self.monotone(value)))
