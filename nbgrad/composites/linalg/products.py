"""Products, powers and exponentials of matrices; tensors as matrices."""

from __future__ import annotations

import math

from ...base.calls import CALLS
from ...base.dtypes import float32
from ...base.errors import RangeError, ShapeError
from ...creation import factories
from ...dispatch.arguments import require_tensors
from ...lowering.matrices.at_once import at_once
from ...ops.expr import scalar
from ...tensors.layout import broadcast_shapes
from ..distances import cross_launch
from ..shapes import columns_of_powers
from .norms import is_half, matrix_norm
from .operands import checked, h
from .results import first
from .systems import inv, solve

__all__: list[str] = []


def matrix_power(A, n):
    """The n-th power of square matrices, by squaring, of any dtype that has products; of a negative n that of the inverse."""
    require_tensors("linalg.matrix_power", A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        checked("linalg.matrix_power", A, True)
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:  # which depends on A, with derivatives of 0
        one = factories.eye(A.shape[-1], dtype=A.dtype, device=A.device)
        return scalar.where(factories.full((), True, device=A.device), one, A)
    power, out = A, None
    while n:
        if n & 1:
            out = power if out is None else out @ power
        n >>= 1
        power = power @ power if n else power
    return out if out is not A else A.clone()


def matrix_exp(A):
    """The exponential of square matrices."""
    require_tensors("linalg.matrix_exp", A)
    if is_half(A):
        return matrix_exp(A.to(float32)).to(A.dtype)
    return scalar.matrix_exponential(checked("linalg.matrix_exp", A, True))


def multi_dot(tensors):
    """The product of several matrices in the order that takes the fewest multiplications; the ends may be vectors.

    Raises:
        ShapeError: fewer than two, or they do not go together.
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise ShapeError(f"linalg.multi_dot: got {len(tensors)} tensors, expected at least 2.")
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    tensors[0] = tensors[0].unsqueeze(0) if first else tensors[0]
    tensors[-1] = tensors[-1].unsqueeze(-1) if last else tensors[-1]
    for x in tensors:
        if x.ndim != 2:
            raise ShapeError(f"linalg.multi_dot: expected matrices, got {x.ndim} dimensions.")
    for x, y in zip(tensors, tensors[1:]):
        if x.shape[1] != y.shape[0]:
            raise ShapeError(f"linalg.multi_dot: cannot multiply {list(x.shape)} by {list(y.shape)}.")
    out = multiplied(tensors, best_splits([x.shape[0] for x in tensors] + [tensors[-1].shape[1]]), 0, len(tensors) - 1)
    out = out.squeeze_dim(0) if first else out
    return out.squeeze_dim(-1) if last else out


def best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each range of factors (T. H. Cormen et al., "Introduction to Algorithms", matrix-chain multiplication)."""
    count = len(sizes) - 1
    cost, splits = {(k, k): 0 for k in range(count)}, {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            splits[i, j] = min(options, key=options.__getitem__)
            cost[i, j] = options[splits[i, j]]
    return splits


def multiplied(tensors: list, splits: dict, i: int, j: int):
    """The product of a range of factors."""
    if i == j:
        return tensors[i]
    k = splits[i, j]
    return multiplied(tensors, splits, i, k) @ multiplied(tensors, splits, k + 1, j)


@at_once(lambda input, other, *, dim=-1: cross_launch(input, other, dim))
def cross_along(input, other, *, dim=-1):
    """The vector product along a dimension of size 3; the operands broadcast."""
    shape = tuple(input.shape)
    if shape == tuple(other.shape):
        return CALLS["cross"](input, other, dim)
    shape = broadcast_shapes("linalg.cross", [shape, tuple(other.shape)])
    return CALLS["cross"](input.expand_shape(shape), other.expand_shape(shape), dim)


def vecdot(x, y, *, dim=-1):
    """Sums of products along a dimension, the first operand conjugated."""
    return ((x.conj() if x.dtype.is_complex else x) * y).sum(dim)


def vander_of(x, *, N=None):
    """Powers of the elements of vectors, from 1 up, one a column.

    Raises:
        ShapeError: a 0-d tensor. RangeError: N is negative.
    """
    require_tensors("linalg.vander", x)
    if not x.ndim:
        raise ShapeError("linalg.vander: x has no dimension, expected vectors.")
    return columns_of_powers("linalg.vander", x, x.shape[-1] if N is None else N, False)


def tensorinv(A, ind=2):
    """The inverse of a tensor whose first ``ind`` dimensions are seen as rows and the others as columns."""
    if ind <= 0:
        raise RangeError(f"linalg.tensorinv: ind is {ind}, expected a number > 0.")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(f"linalg.tensorinv: {list(rows)} and {list(columns)} must have as many elements.")
    return inv(A.reshape((math.prod(rows), math.prod(columns)))).reshape((*columns, *rows))


def tensorsolve(A, B, dims=None):
    """The X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape = tuple(A.shape[B.ndim :])
    if math.prod(shape) != B.numel():
        raise ShapeError(f"linalg.tensorsolve: A {list(A.shape)} and B {list(B.shape)} do not go together.")
    return solve(A.reshape((B.numel(), -1)), B.reshape((-1,))).reshape(shape)


@at_once(lambda A, tau: ("reflections", (A, tau), {}, first) if tau.ndim == A.ndim - 1 else None)
def householder_product(A, tau):
    """The first columns of the product of Householder's reflections, whose vectors are below the diagonal of A."""
    checked("linalg.householder_product", A)
    m, n = A.shape[-2:]
    out = factories.eye(m, n, dtype=A.dtype, device=A.device).expand_shape((*A.shape[:-2], m, n))
    vectors = A.tril(-1) + factories.eye(m, n, dtype=A.dtype, device=A.device)
    for k in reversed(range(tau.shape[-1])):
        v = vectors.slice(-1, k, k + 1, 1)
        out = out - tau.slice(-1, k, k + 1, 1).unsqueeze(-1) * (v @ (h(v) @ out))
    return out


def diagonal_of(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, as a view."""
    return A.diagonal(offset, dim1, dim2)


def matmul(input, other):
    """The matrix product: see ``nbgrad.matmul``."""
    return input.matmul(other)


def nuclear_norm(input, dim=None, keepdim=False):
    """The sum of the singular values."""
    if dim is None and input.ndim != 2:
        raise ShapeError(f"nuclear_norm: input has {input.ndim} dimensions, expected a matrix. Hint: pass dim.")
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)
