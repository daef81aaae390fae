"""Decompositions of matrices of which a few directions hold nearly all: by products with random vectors.

Source: N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness", SIAM Rev. 53, 2011; algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from ..base.calls import CALLS
from ..base.errors import RangeError, ShapeError
from ..tensors.tensor import Tensor
from .random import randn
from .tensor_info import require_tensor

__all__ = ["pca_lowrank", "svd_lowrank"]


def require_matrix(op: str, A: Tensor) -> tuple[int, int]:
    """Rows and columns.

    Raises:
        ArgumentError: no tensor. ShapeError: fewer than two dimensions.
    """
    shape = require_tensor(op, A).layout.shape
    if len(shape) < 2:
        raise ShapeError(f"{op}: A is {list(shape)}, expected a matrix or a batch of matrices.")
    return shape[-2], shape[-1]


def orthonormal(A: Tensor) -> Tensor:
    """An orthonormal basis of the columns' span."""
    return CALLS["linalg_qr"](A)[0]


def range_of(A: Tensor, q: int, niter: int) -> Tensor:
    """``q`` orthonormal columns whose span holds nearly all that the columns of ``A`` reach: algorithm 4.4."""
    product, across = CALLS["matmul"], A.adjoint()
    basis = orthonormal(product(A, randn(A.layout.shape[-1], q, dtype=A.layout.dtype, device=A.layout.device)))
    for _ in range(niter):
        basis = orthonormal(product(A, orthonormal(product(across, basis))))
    return basis


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The ``q`` largest singular values of ``A - M`` with their vectors, nearly: ``A - M = U diag(S) V^H``.

    Args:
        A: ``(*, m, n)``.
        q: how many, at most ``min(m, n)``; a few more than are looked for. None: 6.
        niter: how often the basis is improved; singular values that fall slowly need more. None: 2.
        M: broadcasts to ``A``.

    Returns:
        ``U`` of ``(*, m, q)``, ``S`` of ``(*, q)``, ``V`` of ``(*, n, q)``.

    Raises:
        ShapeError: no matrices. RangeError: ``q`` or ``niter`` are negative, or ``q`` too large.

    >>> import nbgrad
    >>> nbgrad.svd_lowrank(nbgrad.ones(4, 4), q=1)[1].round()
    tensor([4.])
    """
    return directions("svd_lowrank", A, 6 if q is None else q, 2 if niter is None else niter, M)


def directions(op: str, A: Tensor, q: int, niter: int, M: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """``svd_lowrank`` for whom ``op`` names: algorithm 5.1, from the side with fewer rows."""
    m, n = require_matrix(op, A)
    if not 0 <= q <= min(m, n) or niter < 0:
        raise RangeError(f"{op}: expected q from 0 to {min(m, n)} and niter >= 0, got {q} and {niter}.")
    X = A if M is None else A - M
    if m < n:
        V, S, U = directions(op, X.adjoint(), q, niter, None)
        return U, S, V
    basis = range_of(X, q, niter)
    U, S, Vh = CALLS["linalg_svd"](CALLS["matmul"](basis.adjoint(), X), False)
    return CALLS["matmul"](basis, U), S, Vh.adjoint()


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of rows, nearly: ``svd_lowrank`` of ``A`` less the means of its columns.

    Args:
        A: ``(*, m, n)``, a row each observation.
        q: how many components, at most ``min(m, n)``. None: 6, or as many as there are.
        center: whether the means are subtracted.
        niter: how often the basis is improved.

    Returns:
        ``U, S, V``; the columns of ``V`` are the components, ``S ** 2 / (m - 1)`` the variances along them.

    Raises:
        ShapeError: no matrices. RangeError: ``q`` or ``niter`` are negative, or ``q`` too large.

    >>> import nbgrad
    >>> rows = nbgrad.tensor([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> nbgrad.pca_lowrank(rows, q=1)[2].abs()
    tensor([[1.],
            [0.]])
    """
    m, n = require_matrix("pca_lowrank", A)
    means = A.mean(-2, keepdim=True) if center else None
    return directions("pca_lowrank", A, min(6, m, n) if q is None else q, niter, means)
