"""Inverses, systems of equations, determinants."""

from __future__ import annotations

import math

import numpy as np

from ...base.dtypes import int32
from ...base.errors import DTypeError, LinAlgError, ShapeError
from ...creation import factories
from ...dispatch.arguments import require_tensors
from ...dispatch.joint import joint
from ...lowering.matrices.at_once import at_once
from ...ops.expr import scalar
from ...tensors.arrays import checked_values
from ...tensors.batch_levels import whole
from ...tensors.layout import broadcast_shapes
from .operands import checked, own_real
from .results import (
    InverseWithInfo,
    SlogdetResult,
    SolveWithInfo,
    TriangularSolution,
    first,
    inverse_with_info,
    result_with_info,
    sign_with_size,
)

__all__: list[str] = []


@at_once(lambda A: ("inverse", (A,), {}, first))
def inv(A):
    """The inverse of square matrices.

    Raises:
        LinAlgError: one is singular. ShapeError, DTypeError: no square matrices of single or double precision.
    """
    return scalar.inverse_matrix(checked("linalg.inv", A, True), True)


def require_regular(name: str, info) -> None:
    """Refuse what elimination found no pivot for.

    Raises:
        LinAlgError: a matrix has none in one of its rows.
    """
    orders = checked_values(whole(info))
    if orders is not None and orders.any():
        place = np.argwhere(orders)[0].tolist()
        raise LinAlgError(
            f"{name}: {f'matrix {place}' if place else 'the matrix'} is singular: row {orders[tuple(place)]} has no pivot."
        )


def without_pivot(name: str, A, found, check_errors: bool):
    """The order of the first part without a pivot of matrices with which something was found.

    Raises:
        LinAlgError: there is one, if ``check_errors``.
    """
    info = scalar.singular_order(A.detach(), found.detach())
    if check_errors:
        require_regular(name, info)
    return info


@at_once(lambda A, check_errors=False: ("inverse", (A,), {}, inverse_with_info))
def inv_ex(A, *, check_errors=False):
    """(inverse, info) of square matrices; of singular ones the inverse is NaN, and info the first row without a pivot, from 1 on.

    Raises:
        LinAlgError: one is singular, if ``check_errors``.
    """
    inverse = scalar.inverse_matrix(checked("linalg.inv_ex", A, True), False)
    return InverseWithInfo(inverse, without_pivot("linalg.inv_ex", A, inverse, check_errors))


def nothing_said(A):
    """The reports of matrices that are as they should be."""
    return factories.zeros(A.shape[:-2], dtype=int32, device=A.device)


def same_batch(name: str, x, y) -> tuple:
    """Two operands, their batches expanded to one another's."""
    if x.dtype is not y.dtype:
        raise DTypeError(f"{name}: A is {x.dtype}, B is {y.dtype}, expected one dtype.")
    if x.layout.shape[:-2] == y.layout.shape[:-2]:
        return x, y
    batch = broadcast_shapes(name, [tuple(x.shape[:-2]), tuple(y.shape[:-2])])
    return tuple(t if tuple(t.shape[:-2]) == batch else t.expand_shape((*batch, *t.shape[-2:])) for t in (x, y))


def are_vectors(A, B) -> bool:
    """Whether the right sides of a system are vectors: one, or one for each matrix."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


@at_once(lambda A, B, left=True: ("solve", (A, B), {}, first) if left and A.ndim == B.ndim else None)
def solve(A, B, *, left=True):
    """The X with A @ X = B, or X @ A = B; B is a matrix, a vector, or a batch of either.

    Raises:
        LinAlgError: A is singular. ShapeError: they do not go together.
    """
    x, y, finish = system("linalg.solve", A, B, left)
    return finish(scalar.solve_system(x, y, True))


def system(name: str, A, B, left: bool) -> tuple:
    """The x and y of ``x @ z = y``, and what makes of z the solution.

    Raises:
        ShapeError: they do not go together.
    """
    checked(name, A, True)
    require_tensors(name, B)
    is_vector = are_vectors(A, B)
    if is_vector and not left:
        raise ShapeError(f"{name}: B is a vector, expected a matrix with left=False.")
    y = B.unsqueeze(-1) if is_vector else checked(name, B)
    if y.shape[-2 if left else -1] != A.shape[-1]:
        raise ShapeError(f"{name}: A {list(A.shape)} and B {list(B.shape)} do not go together.")
    x, y = same_batch(name, A if left else A.mT, y if left else y.mT)
    return x, y, (lambda out: out.squeeze_dim(-1)) if is_vector else (lambda out: out if left else out.mT)


@at_once(lambda A, B, left=True, check_errors=False: ("solve", (A, B), {}, result_with_info) if left and A.ndim == B.ndim else None)
def solve_ex(A, B, *, left=True, check_errors=False):
    """(result, info) of ``solve``; see ``inv_ex``.

    Raises:
        LinAlgError: a matrix is singular, if ``check_errors``.
    """
    x, y, finish = system("linalg.solve_ex", A, B, left)
    out = scalar.solve_system(x, y, False)
    return SolveWithInfo(finish(out), without_pivot("linalg.solve_ex", A, out, check_errors))


@at_once(
    lambda A, B, upper, left=True, unitriangular=False: (
        ("triangle", (A, B), {"upper": bool(upper), "unit": bool(unitriangular)}, first) if left and A.ndim == B.ndim else None
    )
)
def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """``solve`` of a triangle of A; what is on the other side of its diagonal is not looked at.

    Raises:
        ShapeError: they do not go together.
    """
    checked("linalg.solve_triangular", A, True), checked("linalg.solve_triangular", B)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise ShapeError(f"linalg.solve_triangular: A {list(A.shape)} and B {list(B.shape)} do not go together.")
    x, y = same_batch("linalg.solve_triangular", A, B)
    if left:
        return scalar.solve_triangle(x, y, bool(upper), bool(unitriangular))
    return scalar.solve_triangle(x.mT, y.mT, not upper, bool(unitriangular)).mT


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """(solution, A) of ``linalg.solve_triangular``, with A transposed if asked for."""
    x, above = (A.mT, not upper) if transpose else (A, upper)
    return TriangularSolution(solve_triangular(x, b, upper=above, unitriangular=unitriangular), A.clone())


@at_once(lambda A: ("determinant", (A,), {}, first))
def det(A):
    """The determinant of square matrices."""
    return scalar.determinant(checked("linalg.det", A, True))


@at_once(lambda A: ("slogdet", (A,), {}, sign_with_size))
@joint("LinalgSlogdetBackward0", lambda A: not A.dtype.is_complex)
def slogdet(A):
    """(sign, logabsdet): the determinant's sign, and the logarithm of its magnitude."""
    both = scalar.sign_and_size(checked("linalg.slogdet", A, True))
    return SlogdetResult(both.select(-1, 0).clone(), own_real(both.select(-1, 1)))


def logdet(A):
    """The logarithm of the determinant; NaN if that is negative."""
    sign, size = slogdet(checked("logdet", A, True))
    if A.dtype.is_complex:
        return size + scalar.log(sign)
    return scalar.where(sign < 0, math.nan, size)
