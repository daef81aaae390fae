"""Norms of vectors and matrices, condition numbers, ranks."""

from __future__ import annotations

import math

from ...base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ...dispatch.arguments import require_tensors
from ...ops.expr import scalar
from ...ops.kinds import constant_number
from ...ops.shapes import wrap
from ...tensors.tensor import Tensor
from .decompositions import eigvalsh, svdvals
from .operands import checked, tolerances
from .systems import inv

__all__: list[str] = []


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The p-norm over dimensions, of all elements by default."""
    require_tensors("linalg.vector_norm", x)
    if not x.dtype.differentiable and dtype is None:
        raise DTypeError(f"linalg.vector_norm: expected a floating or complex tensor, got {x.dtype}.")
    if isinstance(ord, str):
        raise ArgumentError(f"linalg.vector_norm: ord is {ord!r}, expected a number.")
    return x.norm(ord, dim, keepdim, dtype)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """A norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2 or -2.

    Raises:
        RangeError: another one.
    """
    if type(ord) is str and ord == "fro" and dim == (-2, -1) and dtype is None and keepdim is False and isinstance(A, Tensor):
        layout = A.layout
        if layout.ndim == 2 and layout.dtype.differentiable:
            return A.norm()
    require_tensors("linalg.matrix_norm", A)
    A, ord = A if dtype is None else A.to(dtype), constant_number("linalg.matrix_norm", "ord", ord)
    if ord in ("nuc", 2, -2) or A.ndim < 2 or not A.dtype.differentiable:
        checked("linalg.matrix_norm", A)
    rows, columns = (wrap("linalg.matrix_norm", d, A.ndim) for d in dim)
    if rows == columns:
        raise ShapeError(f"linalg.matrix_norm: dims {list(dim)} are the same, expected two.")
    if ord == "fro":
        return A.norm(2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        out = values.sum(-1) if ord == "nuc" else greatest(values, -1) if ord == 2 else values.amin(-1)
        return kept(out, rows, columns) if keepdim else out
    if ord not in (1, -1, math.inf, -math.inf):
        raise RangeError(f"linalg.matrix_norm: ord is {ord!r}, expected 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2.")
    first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = scalar.abs(A).sum(first, True)
    sums = greatest(sums, second, True) if ord > 0 else sums.amin(second, True)
    return sums if keepdim else sums.squeeze_dims((rows, columns))


def is_half(x) -> bool:
    """Whether numbers are of a half type, which sums of products are not computed in."""
    return bool(x.dtype.compute != x.dtype.name)


def greatest(x, dim: int, keepdim: bool = False):
    """The greatest of numbers >= 0 along a dimension: 0 of none."""
    return x.amax(dim, keepdim) if x.shape[dim] else x.sum(dim, keepdim)


def kept(out, rows: int, columns: int):
    """With the two dimensions back, of size 1."""
    for d in sorted((rows, columns)):
        out = out.unsqueeze(d)
    return out


def norm_of(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """``vector_norm`` of one dimension, or of all elements without ``ord``; ``matrix_norm`` of two."""
    if ord is None and dim is None and dtype is None and keepdim is False and isinstance(A, Tensor):
        if A.layout.dtype.differentiable:
            return A.norm()
    require_tensors("linalg.norm", A)
    if dim is None and ord is not None and A.ndim not in (1, 2):
        raise ShapeError(f"linalg.norm: A has {A.ndim} dimensions, expected 1 or 2. Hint: pass dim.")
    several = isinstance(dim, (tuple, list))
    if ord is not None and ((several and len(dim) == 2) or (dim is None and A.ndim == 2)):
        return matrix_norm(A, ord, tuple(dim) if several else (-2, -1), keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def cond(A, p=None):
    """The condition number of matrices in a norm of ``matrix_norm``, 2 by default."""
    checked("linalg.cond", A)
    if p in (None, 2, -2):
        values = svdvals(A)
        if not values.shape[-1]:
            return values.sum(-1)
        largest, smallest = values.select(-1, 0), values.select(-1, values.shape[-1] - 1)
        return smallest / largest if p == -2 else largest / smallest
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """How many singular values are greater than max(atol, rtol * the greatest). It has no gradient."""
    checked("linalg.matrix_rank", A)
    values = scalar.abs(eigvalsh(A.detach())) if hermitian else svdvals(A.detach())
    rtol, atol = (
        x.detach().to(values.dtype).unsqueeze(-1) if isinstance(x, Tensor) else x
        for x in tolerances(A, tol if atol is None else atol, rtol)
    )
    least = (greatest(values, -1, True) * rtol).clamp_min(atol)
    return (values > least).sum(-1)
