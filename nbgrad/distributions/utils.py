"""``torch.distributions.utils``: what programs write families of their own with."""

from __future__ import annotations

import math
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, ShapeError
from .mappings import summed
from .odds import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

_sum_rightmost = summed


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Numbers of the standard normal distribution."""
    return nbgrad.randn(tuple(shape), dtype=dtype, device=device)


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices, filled row by row, of the elements in the last dimension.

    Args:
        diag: the last diagonal that is filled, counted from the main one.

    Raises:
        ShapeError: no square matrix has so many elements there.

    >>> vec_to_tril_matrix(nbgrad.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count = vec.size(-1)
    sizes = reversed(range(math.isqrt(2 * count) + abs(diag) + 2))
    size = next((n for n in sizes if sum(min(max(row + diag + 1, 0), n) for row in range(n)) == count), None)
    if size is None:
        raise ShapeError(f"vec_to_tril_matrix: got {count} elements, which fill no square matrix up to diagonal {diag}.")
    mat = vec.new_zeros((*vec.shape[:-1], size, size))
    rows, columns = nbgrad.tril_indices(size, size, diag, device=vec.device)
    mat[..., rows, columns] = vec
    return mat


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of lower triangular matrices, row by row.

    Args:
        diag: the last diagonal that is taken, counted from the main one; from ``-n`` to ``n - 1``.

    Raises:
        RangeError: another one.

    >>> tril_matrix_to_vec(nbgrad.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    size = mat.size(-1)
    if not -size <= diag < size:
        raise RangeError(f"tril_matrix_to_vec: diag is {diag}, expected from {-size} to {size - 1}.")
    rows, columns = nbgrad.tril_indices(size, size, diag, device=mat.device)
    return mat[..., rows, columns]
