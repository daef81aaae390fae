"""Decompositions of matrices: Cholesky, QR, eigenvalues and singular values."""

from __future__ import annotations

from ...base.calls import CALLS
from ...base.errors import RangeError, ShapeError
from ...lowering.matrices.at_once import at_once
from ...ops.expr import scalar
from ...ops.matrices.parts import eigh_parts, parts_of, qr_parts, svd_parts
from .operands import checked, h, has_slope, is_recorded, own_real
from .results import (
    EighResult,
    EigResult,
    QRResult,
    SVDResult,
    SVDTurned,
    WithInfo,
    eigen_pair,
    first,
    hermitian_pair,
    low_with_info,
    q_and_r,
    svd_triple,
)
from .systems import same_batch

__all__: list[str] = []


@at_once(lambda A, upper=False: ("cholesky", (A,), {"upper": bool(upper)}, first))
def cholesky(A, *, upper=False):
    """The lower triangle L with A = L @ L^H of positive definite matrices; with ``upper`` L^H.

    Raises:
        LinAlgError: one is not positive definite.
    """
    checked("linalg.cholesky", A, True)
    low = scalar.cholesky_factor(A if not upper else h(A).resolve_conj(), True)
    return h(low).resolve_conj() if upper else low


@at_once(lambda A, upper=False, check_errors=False: ("cholesky", (A,), {"upper": bool(upper)}, low_with_info))
def cholesky_ex(A, *, upper=False, check_errors=False):
    """(L, info); info is the order of the first part that is not positive definite, 0 if there is none."""
    checked("linalg.cholesky_ex", A, True)
    A = h(A).resolve_conj() if upper else A
    low = scalar.cholesky_factor(A, bool(check_errors))
    return WithInfo(h(low).resolve_conj() if upper else low, scalar.cholesky_info(A.detach(), low.detach()))


@at_once(lambda L, upper=False: ("cholesky_inverse", (L,), {"upper": bool(upper)}, first))
def cholesky_inverse(L, upper=False):
    """The inverse of L @ L^H."""
    return scalar.inverse_of_factored(checked("cholesky_inverse", L, True), bool(upper))


@at_once(lambda B, L, upper=False: ("cholesky_solve", (L, B), {"upper": bool(upper)}, first) if L.ndim == B.ndim else None)
def cholesky_solve(B, L, upper=False):
    """The X with L @ L^H @ X = B."""
    checked("cholesky_solve", L, True), checked("cholesky_solve", B)
    if B.shape[-2] != L.shape[-1]:
        raise ShapeError(f"cholesky_solve: L {list(L.shape)} and B {list(B.shape)} do not go together.")
    return scalar.solve_factored(*same_batch("cholesky_solve", L, B), bool(upper))


@at_once(lambda A, mode="reduced": ("qr", (A,), {}, q_and_r) if mode == "reduced" else None)
def qr(A, mode="reduced"):
    """(Q, R) with A = Q @ R: orthonormal columns and an upper triangle. ``mode`` is "reduced", "complete" or "r".

    Raises:
        RangeError: another mode. NotSupportedError from backward: of "complete" where Q has more columns than A.
    """
    checked("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RangeError(f"linalg.qr: mode is {mode!r}, expected 'reduced', 'complete' or 'r'.")
    m, n = A.shape[-2:]
    if mode == "complete" and m > n:
        return QRResult(*(x.clone() for x in parts_of(scalar.complete_qr_row(A), (m, m), (m, n))))
    if m >= n:
        q, r = (x.clone() for x in qr_parts(scalar.qr_row(A), m, n))
    else:  # of the first columns; the others are what Q^H makes of them
        q, first = qr_parts(scalar.qr_row(A.slice(-1, 0, m, 1)), m, m)
        r = CALLS["cat"]([first, h(q) @ A.slice(-1, m, None, 1)], -1)
    return QRResult(A.new_empty((0,)), r) if mode == "r" else QRResult(q, r)


@at_once(lambda A, UPLO="L": ("eigh", (A,), {"upper": UPLO.upper() == "U"}, hermitian_pair))
def eigh(A, UPLO="L"):
    """(eigenvalues, eigenvectors) of symmetric or Hermitian matrices, in ascending order; one triangle is looked at.

    The gradient is that of a loss which does not depend on the sign or phase of the eigenvectors; vectors of equal eigenvalues
    have none.
    """
    upper = is_upper("linalg.eigh", UPLO)
    row = scalar.eigh_row(checked("linalg.eigh", A, True), upper)
    v, w = eigh_parts(row, A.shape[-1])
    return EighResult(scalar.known_hermitian_eigenvalues(A, row.detach(), upper) if has_slope(A) else own_real(w), v.clone())


def is_upper(name: str, UPLO: str) -> bool:
    """Which triangle is looked at.

    Raises:
        RangeError: neither "L" nor "U".
    """
    if UPLO.upper() not in ("L", "U"):
        raise RangeError(f"{name}: UPLO is {UPLO!r}, expected 'L' or 'U'.")
    return UPLO.upper() == "U"


@at_once(lambda A, UPLO="L": ("eigvalsh", (A,), {"upper": UPLO.upper() == "U"}, first))
def eigvalsh(A, UPLO="L"):
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order."""
    upper = is_upper("linalg.eigvalsh", UPLO)
    if is_recorded(checked("linalg.eigvalsh", A, True)):
        return scalar.known_hermitian_eigenvalues(A, scalar.eigh_row(A.detach(), upper), upper)
    return scalar.hermitian_eigenvalues(A, upper)


@at_once(lambda A: ("eig", (A,), {}, eigen_pair))
def eig(A):
    """(eigenvalues, eigenvectors) of square matrices: complex, the vectors of length 1, in no particular order."""
    row = scalar.eig_row(checked("linalg.eig", A, True))
    v, w = eigh_parts(row, A.shape[-1])
    return EigResult(scalar.known_eigenvalues(A, row.detach()) if has_slope(A) else w.clone(), v.clone())


@at_once(lambda A: ("eigvals", (A,), {}, first))
def eigvals(A):
    """The eigenvalues of square matrices: complex, in no particular order."""
    if is_recorded(checked("linalg.eigvals", A, True)):
        return scalar.known_eigenvalues(A, scalar.eig_row(A.detach()))
    return scalar.eigenvalues(A)


@at_once(lambda A, full_matrices=True, driver=None: ("svd", (A,), {"full": bool(full_matrices)}, svd_triple))
def svd(A, full_matrices=True, *, driver=None):
    """(U, S, Vh) with A = U @ diag(S) @ Vh, singular values in descending order.

    The gradient is that of a loss which does not depend on the signs or phases of the vectors; those of equal singular values
    have none.
    """
    checked("linalg.svd", A)
    (m, n), full = A.shape[-2:], bool(full_matrices)
    row = scalar.svd_row(A, full)
    u, s, v = svd_parts(row, m, n, full)
    if not has_slope(A):
        return SVDResult(u.clone(), own_real(s), v.clone())
    known = (row if m == n or not full else reduced_row(u, s, v, min(m, n))).detach()
    return SVDResult(u.clone(), scalar.known_singular_values(A, known), v.clone())


def reduced_row(u, s, v, k: int):
    """The row of ``svd`` without the vectors that complete the bases."""
    flat = (*s.shape[:-1], -1)
    return CALLS["cat"]([u.slice(-1, 0, k, 1).reshape(flat), s, v.slice(-2, 0, k, 1).reshape(flat)], -1)


@at_once(lambda A, driver=None: ("svdvals", (A,), {}, first))
def svdvals(A, *, driver=None):
    """The singular values, in descending order."""
    if is_recorded(checked("linalg.svdvals", A)):
        return scalar.known_singular_values(A, scalar.svd_row(A.detach(), False))
    return scalar.singular_values(A)


def svd_turned(input, some=True, compute_uv=True):
    """(U, S, V) with input = U @ diag(S) @ V^H: see ``linalg.svd``, which returns V^H."""
    u, s, v = svd(input, not some)
    if not compute_uv:
        m, n = input.shape[-2:]
        return SVDTurned(input.new_zeros((*input.shape[:-2], m, m)), svdvals(input), input.new_zeros((*input.shape[:-2], n, n)))
    return SVDTurned(u, s, h(v))


def qr_some(input, some=True):
    """(Q, R): see ``linalg.qr``."""
    return qr(input, "reduced" if some else "complete")
