"""Kullback-Leibler divergences: a registry by two types, and the pairs that have a formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, NotSupportedError, ShapeError
from ..base.user_stack import warn_user
from .combined import Independent, TransformedDistribution
from .continuous import Beta, ContinuousBernoulli, Exponential, Gamma, InverseGamma, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import Distribution
from .location_scale import EULER, LOG_2PI, Cauchy, Gumbel, Laplace, Normal
from .multivariate import Dirichlet, LowRankMultivariateNormal, MultivariateNormal, Wishart, distance, log_det
from .transformed import Pareto
from .transforms import summed

__all__ = ["kl_divergence", "register_kl"]

FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
FOUND: dict[tuple[type, type], Callable[[Any, Any], Tensor] | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """A decorator: the function computes ``kl_divergence`` of two distributions of these types, and of those derived from them.

    Raises:
        ArgumentError: no class. It need not be derived from ``Distribution``: a mixin of such classes will do.

    >>> class Mine(Normal): ...
    >>> @register_kl(Mine, Mine)
    ... def of_mine(p, q):
    ...     return p.loc - q.loc
    >>> kl_divergence(Mine(3.0, 1.0), Mine(1.0, 1.0))
    tensor(2.)
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise ArgumentError(f"register_kl: expected types of distributions, got {kind!r}.")

    def enter(formula: Callable) -> Callable:
        FORMULAS[type_p, type_q] = formula
        FOUND.clear()
        return formula

    return enter


def formula_of(kind_p: type, kind_q: type) -> Callable[[Any, Any], Tensor] | None:
    """The formula of the nearest types."""
    key = kind_p, kind_q
    if key not in FOUND:
        fitting = [(p, q) for p, q in FORMULAS if issubclass(kind_p, p) and issubclass(kind_q, q)]
        by_p = min(fitting, key=lambda pair: (kind_p.__mro__.index(pair[0]), kind_q.__mro__.index(pair[1])), default=None)
        by_q = min(fitting, key=lambda pair: (kind_q.__mro__.index(pair[1]), kind_p.__mro__.index(pair[0])), default=None)
        if by_p is not None and FORMULAS[by_p] is not FORMULAS[by_q]:  # type: ignore[index]
            warn_user(f"kl_divergence({kind_p.__name__}, {kind_q.__name__}) has several formulas.", RuntimeWarning)
        FOUND[key] = None if by_p is None else FORMULAS[by_p]
    return FOUND[key]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of p from q, of shape ``batch_shape``.

    Raises:
        NotSupportedError: no formula is known for these types.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    formula = formula_of(type(p), type(q))
    if formula is None:
        raise lacking(p, q)
    return formula(p, q)


def lacking(p: Distribution, q: Distribution) -> NotSupportedError:
    """The error for a pair that has no formula."""
    return NotSupportedError(
        f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}. Hint: register_kl, or the mean of "
        "p.log_prob(x) - q.log_prob(x) over samples of p."
    )


@register_kl(Normal, Normal)
def normal(p: Normal, q: Normal) -> Tensor:
    """Normal and Normal."""
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def laplace(p: Laplace, q: Laplace) -> Tensor:
    """Laplace and Laplace."""
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Cauchy and Cauchy."""
    return ((p.scale + q.scale).square() + (p.loc - q.loc).square()).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    """Gumbel and Gumbel."""
    ratio, apart = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - apart + ratio * EULER + (apart + nbgrad.lgamma(1 + ratio)).exp() - (1 + EULER)


@register_kl(Exponential, Exponential)
def exponential(p: Exponential, q: Exponential) -> Tensor:
    """Exponential and Exponential."""
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def gamma(p: Gamma, q: Gamma) -> Tensor:
    """Gamma and Gamma."""
    a, b = p.concentration, q.concentration
    size = b * (p.rate / q.rate).log() + nbgrad.lgamma(b) - nbgrad.lgamma(a)
    return size + (a - b) * nbgrad.digamma(a) + (q.rate - p.rate) * (a / p.rate)


register_kl(InverseGamma, InverseGamma)(gamma)


@register_kl(Beta, Beta)
def beta(p: Beta, q: Beta) -> Tensor:
    """Beta and Beta."""
    a, b, digamma = p.concentration1, p.concentration0, nbgrad.digamma
    first = (a - q.concentration1) * digamma(a) + (b - q.concentration0) * digamma(b)
    return q.log_norm - p.log_norm + first + (q.total - p.total) * digamma(p.total)


@register_kl(Dirichlet, Dirichlet)
def dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    """Dirichlet and Dirichlet."""
    a, b = p.concentration, q.concentration
    return q.log_norm - p.log_norm + ((a - b) * (nbgrad.digamma(a) - nbgrad.digamma(p.total))).sum(-1)


@register_kl(Uniform, Uniform)
def uniform(p: Uniform, q: Uniform) -> Tensor:
    """Uniform and Uniform."""
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return nbgrad.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Normal, Laplace)
def normal_laplace(p: Normal, q: Laplace) -> Tensor:
    """Normal and Laplace."""
    z = (p.loc - q.loc) / p.scale
    mean_apart = p.scale * (math.sqrt(2 / math.pi) * (-0.5 * z.square()).exp() + z * nbgrad.erf(z / math.sqrt(2)))
    return mean_apart / q.scale + (2 * q.scale).log() - p.entropy()


@register_kl(Bernoulli, Bernoulli)
def bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    """Bernoulli and Bernoulli."""
    softplus = nbgrad.nn.functional.softplus
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = nbgrad.where(p.probs == 0, 0.0, nbgrad.where(q.probs == 0, math.inf, one))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = nbgrad.where(p.probs == 1, 0.0, nbgrad.where(q.probs == 1, math.inf, zero))
    return one + zero


@register_kl(Bernoulli, Poisson)
def bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    """Bernoulli and Poisson."""
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Binomial, Binomial)
def binomial(p: Binomial, q: Binomial) -> Tensor:
    """Binomial and Binomial."""
    found = p.total_count * bernoulli(p, q)
    return nbgrad.where(p.total_count > q.total_count, math.inf, found)


@register_kl(Geometric, Geometric)
def geometric(p: Geometric, q: Geometric) -> Tensor:
    """Geometric and Geometric."""
    return -p.entropy() - nbgrad.log1p(-q.probs) * p.mean - q.probs.log()


@register_kl(Poisson, Poisson)
def poisson(p: Poisson, q: Poisson) -> Tensor:
    """Poisson and Poisson."""
    return nbgrad.xlogy(p.rate, p.rate) - nbgrad.xlogy(p.rate, q.rate) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def categorical(p: Categorical, q: Categorical) -> Tensor:
    """Categorical and Categorical."""
    parts = p.probs * (p.logits - q.logits)
    parts = nbgrad.where((q.probs == 0).expand(parts.shape), math.inf, parts)
    return nbgrad.where((p.probs == 0).expand(parts.shape), 0.0, parts).sum(-1)


register_kl(OneHotCategorical, OneHotCategorical)(categorical)


def alike(*factors: Tensor) -> list[Tensor]:
    """Matrices of one size, of the same batch."""
    batch = nbgrad.broadcast_shapes(*[factor.shape[:-2] for factor in factors])
    return [factor.expand(*batch, *factor.shape[-2:]) for factor in factors]


def quotient_trace(first: Tensor, other: Tensor) -> Tensor:
    """The trace of a matrix times the inverse of another, by their Cholesky factors."""
    return nbgrad.linalg.solve_triangular(other, first, upper=False).square().sum((-2, -1))


def normals(p: Any, q: Any) -> Tensor:
    """Of two normal distributions of vectors, by Cholesky factors."""
    if p.event_shape != q.event_shape:
        raise ShapeError(f"kl_divergence: events of {list(p.event_shape)} and {list(q.event_shape)}.")
    first, other = (d.scale_tril if isinstance(d, LowRankMultivariateNormal) else d._unbroadcasted_scale_tril for d in (p, q))
    n, (first, other) = p.event_shape[0], alike(first, other)
    trace = quotient_trace(first, other)
    difference = (q.loc - p.loc).expand(*first.shape[:-1])
    return log_det(other) - log_det(first) + 0.5 * (trace + distance(other, difference) - n)


for kind_p in (MultivariateNormal, LowRankMultivariateNormal):
    for kind_q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(kind_p, kind_q)(normals)


@register_kl(Wishart, Wishart)
def wishart(p: Wishart, q: Wishart) -> Tensor:
    """Wishart and Wishart: the mean of the difference of their log densities."""
    if p.event_shape != q.event_shape:
        raise ShapeError(f"kl_divergence: events of {list(p.event_shape)} and {list(q.event_shape)}.")
    n, (first, other) = p.event_shape[-1], alike(p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril)
    halves = 0.5 * (p.df.unsqueeze(-1) - nbgrad.arange(n, dtype=p.df.dtype, device=p.df.device))
    norms = nbgrad.mvlgamma(q.df / 2, n) - nbgrad.mvlgamma(p.df / 2, n) + q.df * (log_det(other) - log_det(first))
    return norms + 0.5 * (p.df - q.df) * nbgrad.digamma(halves).sum(-1) + 0.5 * p.df * (quotient_trace(first, other) - n)


@register_kl(TransformedDistribution, TransformedDistribution)
def transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """TransformedDistribution and TransformedDistribution."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotSupportedError("kl_divergence: two distributions with different transforms.")
    return summed(kl_divergence(p.base_dist, q.base_dist), len(p.event_shape) - len(p.base_dist.event_shape))


@register_kl(Independent, Independent)
def independent(p: Independent, q: Independent) -> Tensor:
    """Independent and Independent."""
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotSupportedError("kl_divergence: two Independent of different dimensions.")
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def infinite(p: Distribution, q: Distribution) -> Tensor:
    """Where events of p may be none of q."""
    shape, like = nbgrad.broadcast_shapes(p.batch_shape, q.batch_shape), p.mean
    return nbgrad.full(shape, math.inf, dtype=like.dtype, device=like.device)


register_kl(Poisson, Bernoulli)(infinite)
register_kl(Poisson, Binomial)(infinite)

# ---- pairs of different families -------------------------------------------------------------------------------------
# The divergence is the cross entropy, -E[log q(x)] for x of p, less p's entropy. The cross entropy is an expression of q's
# parameters and of a few expectations under p; where p has events outside of q's support it is infinite.

WHOLE, HALF, UNIT = (-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0)
BOUNDS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    Normal: lambda d: WHOLE,
    Laplace: lambda d: WHOLE,
    Gumbel: lambda d: WHOLE,
    Exponential: lambda d: HALF,
    Gamma: lambda d: HALF,
    Beta: lambda d: UNIT,
    ContinuousBernoulli: lambda d: UNIT,
    Uniform: lambda d: (d.low, d.high),
    Pareto: lambda d: (d.scale, math.inf),
}
# E[log x].
MEAN_LOG: dict[type, Callable[[Any], Tensor]] = {
    Exponential: lambda d: -EULER - d.rate.log(),
    Gamma: lambda d: nbgrad.digamma(d.concentration) - d.rate.log(),
    Beta: lambda d: nbgrad.digamma(d.concentration1) - nbgrad.digamma(d.total),
    Uniform: lambda d: (nbgrad.xlogy(d.high, d.high) - nbgrad.xlogy(d.low, d.low)) / (d.high - d.low) - 1,
    Pareto: lambda d: d.scale.log() + d.alpha.reciprocal(),
}
# E[exp(-s x)].
MEAN_EXP: dict[type, Callable[[Any, Tensor], Tensor]] = {
    Normal: lambda d, s: (0.5 * (s * d.scale).square() - s * d.loc).exp(),
    Exponential: lambda d, s: d.rate / (d.rate + s),
    Gamma: lambda d, s: (1 + s / d.rate) ** -d.concentration,
    Uniform: lambda d, s: ((-s * d.low).exp() - (-s * d.high).exp()) / (s * (d.high - d.low)),
}


def to_normal(p: Any, q: Normal) -> Tensor:
    """Cross entropy."""
    return 0.5 * (p.variance + (p.mean - q.loc).square()) / q.variance + q.scale.log() + 0.5 * LOG_2PI


def to_gamma(p: Any, q: Gamma) -> Tensor:
    """Cross entropy."""
    a, rate = q.concentration, q.rate
    return nbgrad.lgamma(a) - a * rate.log() + (1 - a) * MEAN_LOG[family_of(p, MEAN_LOG)](p) + rate * p.mean


def to_gumbel(p: Any, q: Gumbel) -> Tensor:
    """Cross entropy."""
    return (p.mean - q.loc) / q.scale + (q.loc / q.scale).exp() * MEAN_EXP[family_of(p, MEAN_EXP)](p, 1 / q.scale) + q.scale.log()


def to_beta(p: Uniform, q: Beta) -> Tensor:
    """Cross entropy."""
    turned = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    first = (1 - q.concentration1) * MEAN_LOG[Uniform](p) + (1 - q.concentration0) * MEAN_LOG[Uniform](turned)
    return first + q.log_norm


def to_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    """Cross entropy."""
    return nbgrad.nn.functional.softplus(q.logits) - p.mean * q.logits - q._log_norm


# By q's family: the cross entropy, and the families of p whose expectations it needs.
CROSS: dict[type, tuple[Callable[[Any, Any], Tensor], Any]] = {
    Normal: (to_normal, BOUNDS),
    Exponential: (lambda p, q: q.rate * p.mean - q.rate.log(), BOUNDS),
    Gamma: (to_gamma, MEAN_LOG),
    Gumbel: (to_gumbel, MEAN_EXP),
    Pareto: (lambda p, q: (q.alpha + 1) * MEAN_LOG[family_of(p, MEAN_LOG)](p) - q.alpha.log() - q.alpha * q.scale.log(), MEAN_LOG),
    Beta: (to_beta, (Uniform,)),
    Uniform: (lambda p, q: (q.high - q.low).log(), BOUNDS),
    ContinuousBernoulli: (to_continuous_bernoulli, BOUNDS),
}


def family_of(d: Any, table: Any) -> type:
    """The key of a table that a distribution is of."""
    return next(kind for kind in type(d).__mro__ if kind in table)


def crossed(p: Any, q: Any) -> Tensor:
    """Of two families."""
    low, high = BOUNDS[family_of(p, BOUNDS)](p)
    least, most = BOUNDS[family_of(q, BOUNDS)](q)
    outside = nbgrad.as_tensor(low < least) | nbgrad.as_tensor(high > most)
    formula, known = CROSS[family_of(q, CROSS)]
    if not any(kind in known for kind in type(p).__mro__):
        if bool(outside.all()):
            return infinite(p, q)
        raise lacking(p, q)
    return nbgrad.where(outside, math.inf, formula(p, q) - p.entropy())


for of_p in BOUNDS:
    for of_q in CROSS:
        if (of_p, of_q) not in FORMULAS:
            register_kl(of_p, of_q)(crossed)
