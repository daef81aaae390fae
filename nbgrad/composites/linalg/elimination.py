"""Elimination with exchanges of rows: factors L and U, and what is computed of them."""

from __future__ import annotations

import numpy as np

from ...base.calls import CALLS
from ...base.dtypes import int32, int64
from ...base.grad_mode import mode
from ...creation import factories
from ...dispatch.joint import joint
from ...graph.edges import requires_grad
from ...lowering.matrices.at_once import at_once
from ...ops.expr import scalar
from ...ops.matrices.parts import lu_parts
from ...tensors.arrays import tensor_of
from .operands import checked, h
from .results import LUFactors, LUFactorsWithInfo, LUResult, Unpacked, first, lu_pair, lu_triple, lu_with_info, unpacked
from .systems import nothing_said, require_regular, same_batch, solve_triangular

__all__: list[str] = []


def factored(A, pivot: bool) -> tuple:
    """(L and U in one matrix, pivots from 1 on, info): see ``lu_factor_ex``; whole numbers are of the matrix' dtype.

    Without pivots the square part by elimination, the rest by triangular systems.
    """
    m, n = A.shape[-2:]
    k = min(m, n)
    if pivot:
        return tuple(lu_parts(scalar.lu_row(A), m, n))
    both = square = scalar.lu_factors(A.slice(-2, 0, k, 1).slice(-1, 0, k, 1))
    if m > n:
        both = CALLS["cat"]([square, solve_triangular(square, A.slice(-2, k, None, 1), upper=True, left=False)], -2)
    if m < n:
        up = solve_triangular(square, A.slice(-1, k, None, 1), upper=False, unitriangular=True)
        both = CALLS["cat"]([square, up], -1)
    zeros = scalar.eq(square.detach().diagonal(0, -2, -1), 0)
    info = scalar.where(zeros.sum(-1) > 0, zeros.to(int32).argmax(-1) + 1, 0).to(int32) if k else nothing_said(A)
    return both, None, info.unsqueeze(-1)


def whole_numbers(x):
    """Counts of rows, which an operation gave as numbers of its dtype."""
    x = x.detach()
    return (x.real if x.dtype.is_complex else x).to_dtype(int32)


@at_once(lambda A, pivot=True: ("lu", (A,), {}, lu_pair) if pivot else None)
@joint("LinalgLuFactorExBackward0")
def lu_factor(A, *, pivot=True):
    """(LU, pivots): both triangles of ``lu`` in one matrix, and the row, counted from 1, that each step exchanged with its own.

    Raises:
        LinAlgError: U has a zero on its diagonal, so that systems have no solution. Hint: lu_factor_ex, lu.
    """
    return LUFactors(*factors_and_info("linalg.lu_factor", A, pivot, True)[:2])


@at_once(lambda A, pivot=True, check_errors=False: ("lu", (A,), {}, lu_with_info) if pivot else None)
@joint("LinalgLuFactorExBackward0")
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """(LU, pivots, info) of ``lu_factor``; info is the first row, counted from 1, where the diagonal of U is 0, else 0.

    Raises:
        LinAlgError: there is one, if ``check_errors``.
    """
    return factors_and_info("linalg.lu_factor_ex", A, pivot, check_errors)


def lu_in_main(input, pivot=True, get_infos=False):
    """(LU, pivots) of ``linalg.lu_factor``, also where U has a zero on its diagonal; with ``get_infos`` (LU, pivots, info).

    Info is that of ``linalg.lu_factor_ex``.
    """
    found = lu_factor_ex(input, pivot=pivot)
    return tuple(found) if get_infos else (found.LU, found.pivots)


def factors_and_info(name: str, A, pivot: bool, check_errors: bool) -> LUFactorsWithInfo:
    """The factors, and for each matrix the first row where the diagonal of U is 0."""
    checked(name, A)
    factors, pivots, info = factored(A, pivot)
    info = whole_numbers(info).squeeze_dim(-1)
    if check_errors:
        require_regular(name, info)
    if pivots is not None:
        return LUFactorsWithInfo(factors.clone(), whole_numbers(pivots), info)
    steps = np.arange(1, min(A.shape[-2:]) + 1, dtype=np.int32)
    return LUFactorsWithInfo(factors, tensor_of(np.broadcast_to(steps, (*A.shape[:-2], len(steps))), A), info)


def triangles(factors) -> tuple:
    """L and U of both in one matrix."""
    m, n = factors.shape[-2:]
    k = min(m, n)
    low, up = factors if k == n else factors.slice(-1, 0, k, 1), factors if k == m else factors.slice(-2, 0, k, 1)
    return low.tril(-1) + factories.eye(m, k, dtype=factors.dtype, device=factors.device), up.triu()


@at_once(lambda A, pivot=True: ("plu", (A,), {}, lu_triple) if pivot else None)
@joint("LinalgLuBackward0")
def lu(A, *, pivot=True):
    """(P, L, U) with A = P @ L @ U: a permutation, a unit lower and an upper triangle."""
    checked("linalg.lu", A)
    factors, pivots, _ = factored(A, pivot)
    low, up = triangles(factors)
    if pivots is None:
        return LUResult(A.new_empty((0,)), low, up)
    return LUResult(lu_unpack(factors.detach(), whole_numbers(pivots)).P, low, up)


def permutation(A, pivots):
    """The matrix P that takes the exchanges of rows back."""
    one = factories.eye(A.shape[-2], dtype=A.dtype, device=A.device)
    one = one.expand_shape((*A.shape[:-2], A.shape[-2], A.shape[-2]))
    return scalar.exchange_rows(one, pivots, True)


@at_once(
    lambda LU_data, LU_pivots, unpack_data=True, unpack_pivots=True: (
        ("unpack", (LU_data, LU_pivots), {}, unpacked) if unpack_data and unpack_pivots else None
    )
)
@joint("LuUnpackBackward0")
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) of what ``lu_factor`` returns."""
    low, up = triangles(LU_data) if unpack_data else (LU_data.new_empty((0,)),) * 2
    if not unpack_pivots:
        return Unpacked(LU_data.new_empty((0,)), low, up)
    if requires_grad(LU_data) and mode.enabled:  # P has none: it is that of the launch of all three
        return Unpacked(lu_unpack(LU_data.detach(), LU_pivots).P, low, up)
    return Unpacked(permutation(LU_data, LU_pivots.to(int64) - 1), low, up)


@at_once(
    lambda LU, pivots, B, left=True, adjoint=False: (
        ("lu_solve", (LU, B, pivots), {"adjoint": bool(adjoint)}, first)
        if left and B.ndim == LU.ndim and pivots.ndim == LU.ndim - 1
        else None
    )
)
def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """The X with A @ X = B, or X @ A = B, from what ``lu_factor(A)`` returns; with ``adjoint`` of A^H."""
    if not left:
        return h(lu_solve(LU, pivots, h(B).resolve_conj(), adjoint=not adjoint)).resolve_conj()
    LU, B = same_batch("linalg.lu_solve", LU, B)
    return scalar.solve_by_factors(LU, B, pivots.to(int32).expand_shape((*LU.shape[:-2], pivots.shape[-1])), bool(adjoint))
