"""The standard's linear algebra, on nbgrad's functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import nbgrad
from nbgrad.linalg import det, eigh, eigvalsh, inv, matmul, matrix_power, solve, svdvals

from .. import Tensor
from .folds import vecdot
from .shapes import matrix_transpose, tensordot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class SVD(NamedTuple):
    """The factors of a matrix: U, singular values, and the conjugate transpose of V."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of a positive definite matrix."""
    return nbgrad.linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The vector product along an axis of size 3."""
    return nbgrad.linalg.cross(x1, x2, dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes."""
    return nbgrad.diagonal(x, offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of the last two axes."""
    return diagonal(x, offset=offset).sum(-1, dtype=dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of all pairs of two vectors' elements."""
    return nbgrad.outer(x1, x2)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor."""
    return nbgrad.linalg.qr(x, mode=mode)


def slogdet(x: Tensor, /) -> Any:
    """The sign of the determinant, and the logarithm of its magnitude."""
    return nbgrad.linalg.slogdet(x)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """Singular values and vectors."""
    return SVD(*nbgrad.linalg.svd(x, full_matrices=full_matrices))


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values count."""
    return nbgrad.linalg.matrix_rank(x, rtol=rtol)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse."""
    return nbgrad.linalg.pinv(x, rtol=rtol)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """A norm of matrices."""
    return nbgrad.linalg.matrix_norm(x, ord, keepdim=keepdims)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """A norm over axes."""
    return nbgrad.linalg.vector_norm(x, ord, axis, keepdims)
