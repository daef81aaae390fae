"""The standard's linear algebra, on nbgrad's functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import nbgrad
from nbgrad.linalg import det, eigh, eigvalsh, inv, matrix_power, svdvals

from .. import Tensor
from .dtypes import together
from .folds import sum, vecdot
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
    """The triangular factor of a positive definite matrix.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    return nbgrad.linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The vector product along an axis of size 3.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.cross(xp.asarray([1.0, 0.0, 0.0]), xp.asarray([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return nbgrad.linalg.cross(*together(x1, x2), dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return nbgrad.diagonal(x, offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of the last two axes.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    tensor(5)
    """
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of all pairs of two vectors' elements.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return nbgrad.outer(*together(x1, x2))


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices, of the dtype that theirs are promoted to.

    >>> from nbgrad import array_api as xp
    >>> xp.matmul(xp.asarray([[1, 2]]), xp.asarray([[3.0], [4.0]]))
    tensor([[11.]])
    """
    return nbgrad.matmul(*together(x1, x2))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution of systems of linear equations.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 4.0]))
    tensor([1., 1.])
    """
    return nbgrad.linalg.solve(*together(x1, x2))


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.qr(xp.ones((3, 2)))[1].shape
    nbgrad.Size([2, 2])
    """
    return nbgrad.linalg.qr(x, mode=mode)


def slogdet(x: Tensor, /) -> Any:
    """The sign of the determinant, and the logarithm of its magnitude.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.slogdet(xp.eye(2))[0]
    tensor(1.)
    """
    return nbgrad.linalg.slogdet(x)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """Singular values and vectors.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.svd(xp.eye(2)).S
    tensor([1., 1.])
    """
    return SVD(*nbgrad.linalg.svd(x, full_matrices=full_matrices))


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values count.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.matrix_rank(xp.ones((2, 2)))
    tensor(1)
    """
    return nbgrad.linalg.matrix_rank(x, rtol=rtol)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.pinv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return nbgrad.linalg.pinv(x, rtol=rtol)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """A norm of matrices.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.matrix_norm(xp.ones((2, 2)))
    tensor(2.)
    """
    return nbgrad.linalg.matrix_norm(x, ord, keepdim=keepdims)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """A norm over axes.

    >>> from nbgrad import array_api as xp
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    tensor(5.)
    """
    return nbgrad.linalg.vector_norm(x, ord, axis, keepdims)
