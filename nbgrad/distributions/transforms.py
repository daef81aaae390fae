"""Invertible functions, with the logarithm of how they change volumes: what distributions are transformed by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ShapeError
from . import constraints
from .constraints import Constraint
from .mappings import (
    ComposeTransform,
    Fixed,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _InverseTransform as _InverseTransform,
    at_least,
    identity_transform,
    summed,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

functional = nbgrad.nn.functional


class ExpTransform(Fixed):
    """y = exp(x).

    >>> ExpTransform()(nbgrad.zeros(1)), ExpTransform().inv(nbgrad.ones(1))
    (tensor([1.]), tensor([0.]))
    """

    codomain, bijective, sign = constraints.positive, True, 1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x**exponent of positive x.

    >>> PowerTransform(2.0)(nbgrad.tensor([3.0]))
    tensor([9.])
    """

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = nbgrad.as_tensor(exponent)

    sign = property(lambda t: t.exponent.sign())

    def _compared(self) -> tuple:
        return (self.exponent,)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return nbgrad.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class SigmoidTransform(Fixed):
    """y = 1 / (1 + exp(-x)), and its inverse, the logarithm of odds.

    >>> SigmoidTransform()(nbgrad.zeros(1))
    tensor([0.5000])
    """

    codomain, bijective, sign = constraints.unit_interval, True, 1

    def _call(self, x: Tensor) -> Tensor:
        limits = nbgrad.finfo(x.dtype)
        return nbgrad.sigmoid(x).clamp(limits.tiny, 1 - limits.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = nbgrad.finfo(y.dtype)
        y = y.clamp(limits.tiny, 1 - limits.eps)
        return y.log() - nbgrad.log1p(-y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -functional.softplus(-x) - functional.softplus(x)


class SoftplusTransform(Fixed):
    """y = log(1 + exp(x)).

    >>> SoftplusTransform()(nbgrad.zeros(1))
    tensor([0.6931])
    """

    codomain, bijective, sign = constraints.positive, True, 1

    def _call(self, x: Tensor) -> Tensor:
        return functional.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-nbgrad.expm1(-y)).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -functional.softplus(-x)


class TanhTransform(Fixed):
    """y = tanh(x). Its inverse loses digits near -1 and 1: ``cache_size=1`` keeps the argument.

    >>> TanhTransform().log_abs_det_jacobian(nbgrad.zeros(1), nbgrad.zeros(1))
    tensor([0.])
    """

    codomain, bijective, sign = constraints.interval(-1.0, 1.0), True, 1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return nbgrad.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return log_slope_of_tanh(x)


def log_slope_of_tanh(x: Tensor) -> Tensor:
    """The logarithm of 1 - tanh(x)**2, which is 4 exp(-2 x) / (1 + exp(-2 x))**2."""
    return 2 * (math.log(2) - x - functional.softplus(-2 * x))


class AbsTransform(Fixed):
    """y = |x|, of which both signs are arguments.

    >>> AbsTransform()(nbgrad.tensor([-2.0, 3.0]))
    tensor([2., 3.])
    """

    codomain = constraints.nonnegative

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale x.

    >>> AffineTransform(1.0, 2.0)(nbgrad.tensor([0.0, 3.0]))
    tensor([1., 7.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda t: t._event_dim)
    domain = codomain = property(lambda t: constraints.widened(constraints.real, t._event_dim))
    sign = property(lambda t: t.scale.sign() if isinstance(t.scale, Tensor) else (t.scale > 0) - (t.scale < 0))

    def _compared(self) -> tuple:
        return self.loc, self.scale

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = nbgrad.as_tensor(self.scale, dtype=x.dtype, device=x.device)
        return summed(scale.abs().log().expand(nbgrad.broadcast_shapes(scale.shape, x.shape)), self._event_dim)

    def forward_shape(self, shape: Any) -> Any:
        return nbgrad.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class SoftmaxTransform(Fixed):
    """Vectors with a sum of 1, by exponentials; logarithms are one of the arguments.

    >>> SoftmaxTransform()(nbgrad.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return functional.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Fixed):
    """Vectors with a sum of 1 and one more element: each element breaks its part off what is left of a stick.

    >>> StickBreakingTransform()(nbgrad.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    @staticmethod
    def offset(x: Tensor) -> Tensor:
        """What makes parts equal where x is 0."""
        return nbgrad.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        part = nbgrad.sigmoid(x - self.offset(x))
        left = (1 - part).cumprod(-1)
        return functional.pad(part, (0, 1), value=1.0) * functional.pad(left, (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        head = y[..., :-1]
        left = (1 - head.cumsum(-1)).clamp(min=nbgrad.finfo(y.dtype).tiny)
        return head.log() - left.log() + self.offset(head)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        moved = x - self.offset(x)
        return (-moved + functional.logsigmoid(moved) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        at_least(self, shape, 1)
        return nbgrad.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        at_least(self, shape, 1)
        return nbgrad.Size((*shape[:-1], shape[-1] - 1))


class CorrCholeskyTransform(Fixed):
    """Cholesky factors of correlation matrices, from vectors of n (n - 1) / 2 reals: rows on half spheres, by canonical partial
    correlations ``tanh(x)``.

    >>> CorrCholeskyTransform()(nbgrad.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x: Tensor) -> Tensor:
        r = matrix_below(x.tanh().clamp(-1 + nbgrad.finfo(x.dtype).eps, 1 - nbgrad.finfo(x.dtype).eps))
        left = (1 - r.square()).sqrt().cumprod(-1)
        eye = nbgrad.eye(r.shape[-1], dtype=x.dtype, device=x.device)
        return (r + eye) * functional.pad(left[..., :-1], (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        return nbgrad.atanh(vector_below(y) / self.left_before(y).sqrt())

    @staticmethod
    def left_before(y: Tensor) -> Tensor:
        """Of each row's length of 1 what the elements before one leave, squared: for those below the diagonal."""
        left = (1 - y.square().cumsum(-1)).clamp(min=nbgrad.finfo(y.dtype).tiny)
        return vector_below(functional.pad(left[..., :-1], (1, 0), value=1.0))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (0.5 * self.left_before(y).log()).sum(-1) + log_slope_of_tanh(x).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        n = side_of(at_least(self, shape, 1)[-1])
        return nbgrad.Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Any:
        at_least(self, shape, 2)
        if shape[-2] != shape[-1]:
            raise ShapeError(f"CorrCholeskyTransform: matrices of {shape[-2]} rows and {shape[-1]} columns are not square.")
        return nbgrad.Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def side_of(count: int) -> int:
    """The side of matrices that have so many elements below the diagonal.

    Raises:
        ShapeError: none has.
    """
    n = round((0.25 + 2 * count) ** 0.5 + 0.5)
    if n * (n - 1) // 2 != count:
        raise ShapeError(f"CorrCholeskyTransform: {count} elements are no lower triangle.")
    return n


def matrix_below(x: Tensor) -> Tensor:
    """Vectors as what is below a diagonal, row by row."""
    n = side_of(x.shape[-1])
    rows, columns = nbgrad.tril_indices(n, n, -1, device=x.device)
    flat = nbgrad.zeros(*x.shape[:-1], n * n, dtype=x.dtype, device=x.device)
    return flat.scatter(-1, (rows * n + columns).expand(x.shape), x).reshape(*x.shape[:-1], n, n)


def vector_below(x: Tensor) -> Tensor:
    """What is below the diagonal of matrices, row by row."""
    rows, columns = nbgrad.tril_indices(x.shape[-1], x.shape[-1], -1, device=x.device)
    return x[..., rows, columns]


class LowerCholeskyTransform(Fixed):
    """Lower triangular matrices with a positive diagonal, of matrices of which what is above the diagonal is forgotten.

    >>> LowerCholeskyTransform()(nbgrad.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + nbgrad.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + nbgrad.diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Fixed):
    """Positive definite matrices, of matrices of which what is above the diagonal is forgotten.

    >>> PositiveDefiniteTransform()(nbgrad.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(nbgrad.linalg.cholesky(y))


class _Parts(Transform):
    """Transforms of the parts of a tensor along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, lengths: Sequence[int] | None, cache_size: int) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim, self.lengths = [t.with_cache(cache_size) for t in tseq], dim, lengths

    bijective = property(lambda t: all(part.bijective for part in t.transforms))

    def _compared(self) -> tuple:
        return self.transforms, self.dim, self.lengths

    def split(self, x: Tensor) -> Sequence[Tensor]:
        """The parts."""
        return x.unbind(self.dim) if self.lengths is None else x.split(list(self.lengths), self.dim)

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """The tensor of parts."""
        return (nbgrad.stack if self.lengths is None else nbgrad.cat)(list(parts), self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return self.join([part(v) for part, v in zip(self.transforms, self.split(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self.join([part.inv(v) for part, v in zip(self.transforms, self.split(y), strict=True)])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self.split(x), self.split(y), strict=True)
        return self.join([part.log_abs_det_jacobian(v, w) for part, v, w in pairs])

    def constraint(self, parts: Sequence[Constraint]) -> Constraint:
        """Of all parts."""
        return constraints.stack(parts, self.dim) if self.lengths is None else constraints.cat(parts, self.dim, self.lengths)

    domain = property(lambda t: t.constraint([part.domain for part in t.transforms]))
    codomain = property(lambda t: t.constraint([part.codomain for part in t.transforms]))


class CatTransform(_Parts):
    """Transforms of parts of the given lengths along a dimension.

    >>> CatTransform([ExpTransform(), TanhTransform()], lengths=[2, 1])(nbgrad.zeros(3))
    tensor([1., 1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, [1] * len(tseq) if lengths is None else list(lengths), cache_size)

    length = property(lambda t: sum(t.lengths))


class StackTransform(_Parts):
    """Transforms of the slices along a dimension.

    >>> StackTransform([ExpTransform(), TanhTransform()])(nbgrad.zeros(2, 2))
    tensor([[1., 1.],
            [0., 0.]])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, None, cache_size)


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution: its events become uniform numbers.

    >>> CumulativeDistributionTransform(nbgrad.distributions.Normal(0.0, 1.0))(nbgrad.zeros(1))
    tensor([0.5000])
    """

    codomain, bijective, sign = constraints.unit_interval, True, 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda t: t.distribution.support)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
