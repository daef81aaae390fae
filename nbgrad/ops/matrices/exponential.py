"""The exponential of a matrix."""

from __future__ import annotations

from ..core import general
from ..expr import scalar
from .parts import INTERNAL, h


def exponential_cotangent(g, x):
    """The block above the diagonal of the exponential of [[x^H, g], [0, x^H]].

    Source: N. J. Higham, "Functions of Matrices", 2008, theorem 3.6.
    """
    n, x = x.shape[-1], h(x)
    whole = placed(x, 0, 0, n) + placed(g, 0, n, n) + placed(x, n, n, n)
    return scalar.matrix_exponential(whole).slice(-2, 0, n, 1).slice(-1, n, 2 * n, 1)


def placed(x, row: int, column: int, n: int):
    """A matrix (n, n) as a block of one (2 n, 2 n) of zeros."""
    wide = x.slice_backward((*x.shape[:-1], 2 * n), -1, column, column + n, 1)
    return wide.slice_backward((*x.shape[:-2], 2 * n, 2 * n), -2, row, row + n, 1)


general(
    "matrix_exponential",
    lambda x: x,
    {"x": exponential_cotangent},
    **INTERNAL,
    node="LinalgMatrixExpBackward0",
    public="linalg.matrix_exp",
    doc="The exponential of a square matrix.",
)
