"""Families of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, ShapeError
from . import constraints
from .constraints import positive, real_vector
from .continuous import Beta, dirichlet_mode
from .distribution import REQUIRED, Family, Size, lazy, noise
from .exp_family import ExponentialFamily
from .location_scale import LOG_2PI
from .sampling import _sample_dirichlet, log_gamma_sample

__all__ = ["Dirichlet", "LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]


class Dirichlet(Family, ExponentialFamily):
    """The Dirichlet distribution of vectors with a sum of 1.

    >>> Dirichlet(nbgrad.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    parameters = {"concentration": constraints.independent(positive, 1)}
    support = constraints.simplex
    has_rsample = True
    total = property(lambda d: d.concentration.sum(-1, keepdim=True))
    mean = property(lambda d: d.concentration / d.total)
    variance = property(lambda d: d.mean * (1 - d.mean) / (d.total + 1))
    mode = property(lambda d: dirichlet_mode(d.concentration))

    def draw(self, shape: Size) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(tuple(shape)))

    def log_density(self, value: Tensor) -> Tensor:
        a = self.concentration
        return nbgrad.xlogy(a - 1, value).sum(-1) - self.log_norm

    @property
    def log_norm(self) -> Tensor:
        """The logarithm of the multivariate beta function."""
        return nbgrad.lgamma(self.concentration).sum(-1) - nbgrad.lgamma(self.concentration.sum(-1))

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.size(-1)
        a0 = a.sum(-1)
        return self.log_norm + (a0 - k) * nbgrad.digamma(a0) - ((a - 1) * nbgrad.digamma(a)).sum(-1)


def lower_inverse(factor: Tensor) -> Tensor:
    """The inverse of lower triangular matrices."""
    eye = nbgrad.eye(factor.size(-1), dtype=factor.dtype, device=factor.device)
    return nbgrad.linalg.solve_triangular(factor, eye.expand(factor.shape), upper=False)


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Products of matrices and vectors, of batches that broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def factor_of_inverse(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of the inverse of matrices: of the factor of the matrix that is turned by 180 degrees."""
    turned = nbgrad.linalg.cholesky(precision.flip(-2, -1))
    return lower_inverse(turned.flip(-2, -1).mT)


def log_det(factor: Tensor) -> Tensor:
    """Half the logarithm of the determinant of which this is the Cholesky factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def distance(factor: Tensor, difference: Tensor) -> Tensor:
    """Squared Mahalanobis distances; by one factor for all differences in one system of equations."""
    if factor.dim() == 2:
        columns = difference.reshape(-1, difference.size(-1)).mT
        return nbgrad.linalg.solve_triangular(factor, columns, upper=False).square().sum(0).reshape(difference.shape[:-1])
    factor = factor.expand(*difference.shape[:-1], -1, -1)
    solved = nbgrad.linalg.solve_triangular(factor, difference.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).square().sum(-1)


# torch's names of them, by which other families are written.
_batch_mv, _batch_mahalanobis, _precision_to_scale_tril = times, distance, factor_of_inverse

MATRICES = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}
# The lower Cholesky factor, of whichever is given.
FACTOR_OF: dict[str, Callable[[Tensor], Tensor]] = {
    "scale_tril": lambda factor: factor,
    "covariance_matrix": nbgrad.linalg.cholesky,
    "precision_matrix": factor_of_inverse,
}


class OfMatrix(Family, shared=True):
    """Families of a positive definite matrix, of its inverse or of its lower Cholesky factor, of which one is given."""

    defaults = dict.fromkeys(MATRICES)
    _unbroadcasted_scale_tril: Tensor

    def fill(self, values: dict, validate_args: bool | None) -> None:
        named = [name for name in FACTOR_OF if values[name] is not None]
        if len(named) != 1:
            raise RangeError(f"{type(self).__name__}: expected one of {', '.join(FACTOR_OF)}, got {', '.join(named) or 'none'}.")
        super().fill(values, validate_args)
        self._unbroadcasted_scale_tril = FACTOR_OF[named[0]](vars(self)[named[0]])

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, factor = super().expand(batch_shape, _instance), self._unbroadcasted_scale_tril
        new._unbroadcasted_scale_tril = factor.expand(new.batch_shape + factor.shape[-2:])
        return new

    @lazy
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor."""
        return self._unbroadcasted_scale_tril

    @lazy
    def covariance_matrix(self) -> Tensor:
        """The matrix."""
        return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT

    @lazy
    def precision_matrix(self) -> Tensor:
        """The inverse of the matrix."""
        inverse = lower_inverse(self._unbroadcasted_scale_tril)
        return inverse.mT @ inverse


class MultivariateNormal(OfMatrix):
    """The normal distribution of vectors, by the covariance matrix, its inverse, or its lower Cholesky factor, which is fastest.

    >>> MultivariateNormal(nbgrad.zeros(2), nbgrad.eye(2)).log_prob(nbgrad.zeros(2))
    tensor(-1.8379)
    """

    parameters = {"loc": real_vector, **MATRICES}
    support = real_vector
    has_rsample = True
    mean = mode = property(lambda d: d.loc)
    variance = property(lambda d: d._unbroadcasted_scale_tril.square().sum(-1))

    def event_of(self, events: dict[str, Any]) -> Any:
        matrix = next(shape for name, shape in events.items() if name != "loc")
        if tuple(matrix) != (events["loc"][-1],) * 2:
            raise ShapeError(f"MultivariateNormal: loc has {events['loc'][-1]} elements, the matrix shape {list(matrix)}.")
        return events["loc"]

    def draw(self, shape: Size) -> Tensor:
        return self.loc + times(self._unbroadcasted_scale_tril, noise("normal", self.loc, shape))

    def log_density(self, value: Tensor) -> Tensor:
        difference = value - self.loc
        factor = self._unbroadcasted_scale_tril
        return -0.5 * (self._event_shape[0] * LOG_2PI + distance(factor, difference)) - log_det(factor)

    def entropy(self) -> Tensor:
        return 0.5 * self._event_shape[0] * (1 + LOG_2PI) + log_det(self._unbroadcasted_scale_tril)


class LowRankMultivariateNormal(Family):
    """The normal distribution of vectors with covariance ``cov_factor cov_factor' + diag(cov_diag)``.

    Costs grow with the number of columns of ``cov_factor``, not with the cube of the vectors' length.

    >>> LowRankMultivariateNormal(nbgrad.zeros(2), nbgrad.ones(2, 1), nbgrad.ones(2)).covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    parameters = {
        "loc": real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(positive, 1),
    }
    support = real_vector
    has_rsample = True
    mean = mode = property(lambda d: d.loc)
    variance = property(lambda d: d.cov_factor.square().sum(-1) + d.cov_diag)

    # W' D**-1.
    weighted = property(lambda d: d.cov_factor.mT / d.cov_diag.unsqueeze(-2))

    @property
    def capacitance(self) -> Tensor:
        """The Cholesky factor of 1 + W' D**-1 W."""
        weighted = self.weighted
        eye = nbgrad.eye(weighted.size(-2), dtype=weighted.dtype, device=weighted.device)
        return nbgrad.linalg.cholesky(weighted @ self.cov_factor + eye)

    @lazy
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self.cov_factor @ self.cov_factor.mT + nbgrad.diag_embed(self.cov_diag)

    @lazy
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return nbgrad.linalg.cholesky(self.covariance_matrix)

    @lazy
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix, by Woodbury's formula."""
        part = nbgrad.linalg.solve_triangular(self.capacitance, self.weighted, upper=False)
        return nbgrad.diag_embed(self.cov_diag.reciprocal()) - part.mT @ part

    def draw(self, shape: Size) -> Tensor:
        inner = noise("normal", self.loc, (*shape[:-1], self.cov_factor.size(-1)))
        return self.loc + times(self.cov_factor, inner) + self.cov_diag.sqrt() * noise("normal", self.loc, shape)

    def half_log_det(self, capacitance: Tensor) -> Tensor:
        """Half the logarithm of the covariance's determinant."""
        return log_det(capacitance) + 0.5 * self.cov_diag.log().sum(-1)

    def log_density(self, value: Tensor) -> Tensor:
        difference, capacitance = value - self.loc, self.capacitance
        scaled = difference / self.cov_diag
        squared = (difference * scaled).sum(-1) - distance(capacitance, times(self.cov_factor.mT, scaled))
        return -0.5 * (self._event_shape[0] * LOG_2PI + squared) - self.half_log_det(capacitance)

    def entropy(self) -> Tensor:
        return 0.5 * self._event_shape[0] * (1 + LOG_2PI) + self.half_log_det(self.capacitance)


class Wishart(OfMatrix, ExponentialFamily):
    """The Wishart distribution of positive definite matrices, of ``df`` degrees of freedom.

    >>> Wishart(3.0, nbgrad.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    parameters = {"df": positive, **MATRICES}
    arg_constraints = {**MATRICES, "df": positive}
    support = constraints.positive_definite
    has_rsample = True
    mean = property(lambda d: d.df[..., None, None] * d.covariance_matrix)

    def fill(self, values: dict, validate_args: bool | None) -> None:
        super().fill(values, validate_args)
        if not bool((self.df > self._event_shape[-1] - 1).all()):
            raise RangeError(f"Wishart: df is {self.df.tolist()}, expected more than {self._event_shape[-1] - 1}.")

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return nbgrad.where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def draw(self, shape: Size) -> Tensor:
        """By Bartlett's decomposition."""
        p, like = self._event_shape[-1], self._unbroadcasted_scale_tril
        lower = noise("normal", like, shape).tril(-1)
        half = 0.5 * (self.df.unsqueeze(-1) - nbgrad.arange(p, dtype=like.dtype, device=like.device))
        roots = (0.5 * (log_gamma_sample(half.expand(*shape[:-1])) + math.log(2))).exp()
        factor = like @ (lower + nbgrad.diag_embed(roots))
        return factor @ factor.mT

    def log_density(self, value: Tensor) -> Tensor:
        p, nu = self._event_shape[-1], self.df
        factor = nbgrad.linalg.cholesky(value)
        batch = nbgrad.broadcast_shapes(value.shape[:-2], self._batch_shape)
        scale, whole = (m.expand(*batch, p, p) for m in (self._unbroadcasted_scale_tril, factor))
        trace = nbgrad.linalg.solve_triangular(scale, whole, upper=False).square().sum((-2, -1))
        norm = nu * (p * math.log(2) / 2 + log_det(self._unbroadcasted_scale_tril)) + nbgrad.mvlgamma(nu / 2, p)
        return (nu - p - 1) * log_det(factor) - trace / 2 - norm

    def entropy(self) -> Tensor:
        p, nu = self._event_shape[-1], self.df
        halves = 0.5 * (nu.unsqueeze(-1) - nbgrad.arange(p, dtype=nu.dtype, device=nu.device))
        digammas = nbgrad.digamma(halves).sum(-1)
        size = (p + 1) * (log_det(self._unbroadcasted_scale_tril) + 0.5 * p * math.log(2))
        return size + nbgrad.mvlgamma(nu / 2, p) - 0.5 * (nu - p - 1) * digammas + 0.5 * nu * p


class LKJCholesky(Family):
    """The LKJ distribution of Cholesky factors of correlation matrices: uniform on these where ``concentration`` is 1.

    Source: D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on vines and extended onion
    method", 2009: the onion method.

    >>> LKJCholesky(2, 1.0).log_prob(nbgrad.eye(2))
    tensor(-0.6931)
    """

    parameters = {"concentration": positive}
    support = constraints.corr_cholesky
    settings = {"dim": REQUIRED}
    defaults = {"concentration": 1.0}

    def fill(self, values: dict, validate_args: bool | None) -> None:
        if not isinstance(self.dim, int) or self.dim < 2:
            raise RangeError(f"LKJCholesky: dim is {self.dim!r}, expected an int of at least 2.")
        super().fill(values, validate_args)

    def event_of(self, events: dict[str, Any]) -> Any:
        return (self.dim, self.dim)

    def draw(self, shape: Size) -> Tensor:
        c, n = self.concentration, self.dim
        rows = nbgrad.arange(1, n, dtype=c.dtype, device=c.device)
        radius = Beta(rows / 2, c.unsqueeze(-1) + (n - 1 - rows) / 2, validate_args=False).sample(self.ahead(shape))
        radius = nbgrad.nn.functional.pad(radius, (1, 0)).unsqueeze(-1)
        directions = noise("normal", c, shape).tril(-1)
        norms = directions.norm(dim=-1, keepdim=True)
        directions = directions / nbgrad.where(norms > 0, norms, 1.0)
        diagonal = (1 - radius).clamp(min=nbgrad.finfo(c.dtype).tiny).sqrt().squeeze(-1)
        return radius.sqrt() * directions + nbgrad.diag_embed(diagonal)

    def log_density(self, value: Tensor) -> Tensor:
        c, n = self.concentration, self.dim
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        order = 2 * (c - 1).unsqueeze(-1) + n - nbgrad.arange(2, n + 1, dtype=c.dtype, device=c.device)
        alpha = c + 0.5 * (n - 1)
        norm = 0.5 * (n - 1) * math.log(math.pi) + nbgrad.mvlgamma(alpha - 0.5, n - 1) - nbgrad.lgamma(alpha) * (n - 1)
        return (order * diagonal.log()).sum(-1) - norm
