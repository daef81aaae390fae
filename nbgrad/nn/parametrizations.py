"""Parametrizations that many programs use: ``weight_norm``, ``spectral_norm``, ``orthogonal``."""

from __future__ import annotations

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, NotSupportedError, RangeError, ShapeError
from . import functional as F
from .module import Module
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_but(x: Tensor, dim: int | None) -> Tensor:
    """The Euclidean norm over all dimensions but one, which keep their places; over all for None or -1."""
    if dim is None or dim == -1:
        return x.norm()
    kept = dim % x.ndim
    return x.norm(2, tuple(d for d in range(x.ndim) if d != kept), True) if x.ndim > 1 else x.abs()


def length_times_direction(g: Tensor, v: Tensor, dim: int | None) -> Tensor:
    """``v`` with the lengths ``g``."""
    return v * (g / norm_but(v, dim))


def rows_along(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix, with a row for each place of a dimension."""
    return weight.movedim(dim, 0).flatten(1)


def over_largest(weight: Tensor, matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The weight divided by the singular value of its matrix that has these vectors, buffers to which a later call writes."""
    u, v = u.clone(), v.clone()
    return weight / (u @ (matrix @ v))


def outputs_of(module: Module) -> int:
    """The dimension of a layer's weight that its outputs have."""
    return 1 if type(module).__name__.startswith("ConvTranspose") else 0


def tensor_of(op: str, module: Module, name: str) -> Tensor:
    """The tensor that is to be computed.

    Raises:
        ArgumentError: there is none of that name.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentError(f"{op}: {type(module).__name__} has no parameter {name!r}.")
    return weight


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return length_times_direction(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_but(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight as a length times a direction, each a parameter.

    Args:
        name: of the parameter. dim: has a length of its own for each of its places; None is one length for all.

    Returns:
        ``module``, with ``parametrizations.weight.original0`` (the length) and ``original1``.

    Source: Salimans, Kingma, "Weight Normalization", 2016.

    >>> import nbgrad
    >>> layer = weight_norm(nbgrad.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    nbgrad.Size([3, 1])
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise RangeError(f"spectral_norm: dim is {dim}, expected a dimension of {weight.ndim}.")
        if n_power_iterations <= 0:
            raise RangeError(f"spectral_norm: n_power_iterations is {n_power_iterations}, expected a positive number.")
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            with nbgrad.no_grad():
                matrix = rows_along(weight, self.dim)
                rows, columns = matrix.shape
                for name, size in (("_u", rows), ("_v", columns)):
                    self.register_buffer(name, F.normalize(matrix.new_empty((size,)).normal_(), dim=0, eps=eps))
                self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        with nbgrad.no_grad():
            for _ in range(count):
                self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.mT @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = rows_along(weight, self.dim)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return over_largest(weight, matrix, self._u, self._v)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, found by power iterations, one or a few each time it is read while training.

    Args:
        name: of the parameter. dim: that of outputs: 0, of transposed convolutions 1, unless given.

    Raises:
        RangeError: no iterations, or no such dimension. ArgumentError: no such parameter.

    Source: Miyato et al., "Spectral Normalization for Generative Adversarial Networks", 2018.

    >>> import nbgrad
    >>> layer = spectral_norm(nbgrad.nn.Linear(1, 3))
    >>> nbgrad.linalg.matrix_norm(layer.weight, 2).allclose(nbgrad.tensor(1.0))
    True
    """
    dim, weight = outputs_of(module) if dim is None else dim, tensor_of("spectral_norm", module, name)
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    base: Tensor | None

    def __init__(self, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map, self.use_trivialization = orthogonal_map, use_trivialization
        self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        turned = X.shape[-2] < X.shape[-1]
        x = X.mT if turned else X
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            q = reflected(x.tril(-1)) * x.diagonal(dim1=-2, dim2=-1).detach().sign().unsqueeze(-2)
        else:
            a = x.tril()
            if n != k:
                a = nbgrad.cat([a, a.new_zeros((*a.shape[:-1], n - k))], -1)
            a = a - a.mT
            if self.orthogonal_map == "matrix_exp":
                q = nbgrad.linalg.matrix_exp(a)
            else:
                one = nbgrad.eye(n, dtype=a.dtype, device=a.device)
                q = nbgrad.linalg.solve(one - a * 0.5, one + a * 0.5)
            q = q[..., :k]
        if self.base is not None:
            q = self.base @ q
        return q.mT if turned else q

    def right_inverse(self, Q: Tensor) -> Tensor:
        if not self.use_trivialization:
            raise NotSupportedError("orthogonal: nothing can be assigned to what is computed. Hint: use_trivialization=True.")
        turned = Q.shape[-2] < Q.shape[-1]
        q = Q.mT if turned else Q
        n, k = q.shape[-2:]
        if n != k:
            q = nbgrad.cat([q, nbgrad.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)], -1)
        made, r = nbgrad.linalg.qr(q)
        self.base = made * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
        first = nbgrad.zeros_like(Q.mT if turned else Q)
        first.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return first.mT if turned else first


def reflected(a: Tensor) -> Tensor:
    """The first columns of the product of reflections whose vectors are the columns of ``a`` with ones on the diagonal."""
    n, k = a.shape[-2:]
    one = nbgrad.eye(n, k, dtype=a.dtype, device=a.device)
    vectors, q = a + one, one
    factors = 2 / (vectors * vectors).sum(-2)
    for j in reversed(range(k)):
        v = vectors[..., j : j + 1]
        q = q - factors[..., j, None, None] * v @ (v.mT @ q)
    return q


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Compute a weight so that its rows, or columns if they are fewer, are orthonormal.

    Args:
        name: of the parameter, a matrix or a batch of them.
        orthogonal_map: "matrix_exp", "cayley" (both of a skew matrix) or "householder" (reflections); the first of square matrices
            and the last of others, unless given.
        use_trivialization: whether it is times a fixed orthogonal matrix, so that the weight begins as the orthogonal one nearby.

    Raises:
        ShapeError: fewer than two dimensions. RangeError: no such map. ArgumentError: no such parameter.

    Source: Lezcano-Casado, "Trivializations for Gradient-Based Optimization on Manifolds", 2019.

    >>> import nbgrad
    >>> weight = orthogonal(nbgrad.nn.Linear(2, 4)).weight
    >>> (weight.mT @ weight).allclose(nbgrad.eye(2), atol=1e-5)
    True
    """
    weight = tensor_of("orthogonal", module, name)
    if weight.ndim < 2:
        raise ShapeError(f"orthogonal: {name} is {list(weight.shape)}, expected two dimensions or more.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise RangeError(f"orthogonal: map is {orthogonal_map!r}, expected 'matrix_exp', 'cayley' or 'householder'.")
    return register_parametrization(module, name, _Orthogonal(orthogonal_map, use_trivialization), unsafe=True)
