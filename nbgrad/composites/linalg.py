"""The functions of ``nbgrad.linalg``, written in the operations of ``ops/decompositions.py`` and ``ops/linalg.py``."""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import float32, int32, int64
from ..base.errors import ArgumentError, DTypeError, LinAlgError, RangeError, ShapeError
from ..base.grad_mode import mode, special
from ..base.results import result_type
from ..creation import factories
from ..dispatch.arguments import require_tensors
from ..dispatch.device_lowerings import are_on_gpu
from ..dispatch.joint import joint
from ..graph.edges import requires_grad
from ..lowering.decompositions import require_matrices
from ..lowering.lapack import at_once
from ..ops.core import composite
from ..ops.decompositions import eigh_parts, lu_parts, parts_of, qr_parts, svd_parts
from ..ops.expr import scalar
from ..ops.kinds import constant_number
from ..ops.shapes import wrap
from ..tensors.arrays import tensor_of, values_of
from ..tensors.batch_levels import whole
from ..tensors.layout import broadcast_shapes
from ..tensors.tensor import Tensor
from .distances import cross_launch
from .shapes import columns_of_powers

__all__: list[str] = []


def is_recorded(x: Tensor) -> bool:
    """Whether a call is recorded and no more than that: its backward pass may use what the call found on the way."""
    return mode.enabled and not special and not x.layout.special and requires_grad(x)


def has_slope(x: Tensor) -> bool:
    """Whether a call may be differentiated. Then eigenvalues and singular values beside their vectors are results of operations of
    their own, too: the derivative of a row of both goes through the gaps between values, and is NaN where two of them are equal."""
    return bool(special) or x.layout.special or mode.enabled and requires_grad(x)


def checked(name: str, x: Any, square: bool = False) -> Tensor:
    """The operand, if it is one."""
    require_tensors(name, x)
    require_matrices(name, x, square)
    return x


def h(x):
    """The conjugate transpose."""
    return x.adjoint()


def own_real(x):
    """The real part, in memory of its own."""
    return (x.real if x.dtype.is_complex else x).clone()


# ---- results -----------------------------------------------------------------------------------------------------------


@result_type("linalg_slogdet", "slogdet")
class SlogdetResult(NamedTuple):
    """What ``slogdet`` returns."""

    sign: Tensor
    logabsdet: Tensor


@result_type("linalg_eigh")
class EighResult(NamedTuple):
    """What ``eigh`` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@result_type("linalg_eig")
class EigResult(NamedTuple):
    """What ``eig`` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@result_type("linalg_svd")
class SVDResult(NamedTuple):
    """What ``linalg.svd`` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@result_type("svd")
class SVDTurned(NamedTuple):
    """What ``svd`` returns."""

    U: Tensor
    S: Tensor
    V: Tensor


@result_type("linalg_qr", "qr")
class QRResult(NamedTuple):
    """What ``qr`` returns."""

    Q: Tensor
    R: Tensor


@result_type("linalg_cholesky_ex")
class WithInfo(NamedTuple):
    """What ``cholesky_ex`` returns."""

    L: Tensor
    info: Tensor


@result_type("linalg_inv_ex")
class InverseWithInfo(NamedTuple):
    """What ``inv_ex`` returns."""

    inverse: Tensor
    info: Tensor


@result_type("linalg_solve_ex")
class SolveWithInfo(NamedTuple):
    """What ``solve_ex`` returns."""

    result: Tensor
    info: Tensor


@result_type("linalg_lu")
class LUResult(NamedTuple):
    """What ``linalg.lu`` returns."""

    P: Tensor
    L: Tensor
    U: Tensor


@result_type("lu_unpack")
class Unpacked(NamedTuple):
    """What ``lu_unpack`` returns."""

    P: Tensor
    L: Tensor
    U: Tensor


@result_type("linalg_lu_factor")
class LUFactors(NamedTuple):
    """What ``lu_factor`` returns."""

    LU: Tensor
    pivots: Tensor


@result_type("linalg_lu_factor_ex")
class LUFactorsWithInfo(NamedTuple):
    """What ``lu_factor_ex`` returns."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


@result_type("linalg_lstsq")
class LstsqResult(NamedTuple):
    """What ``lstsq`` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def shortest_solution(out: tuple) -> LstsqResult:
    """What ``gelsy`` finds."""
    x, rank = out[:2]
    empty = x.new_empty((0,))
    return LstsqResult(x, empty, rank, empty)


@result_type("triangular_solve")
class TriangularSolution(NamedTuple):
    """What ``triangular_solve`` returns."""

    solution: Tensor
    cloned_coefficient: Tensor


def first(out: tuple):
    """The first of the results."""
    return out[0]


def result_maker(kind: type, count: int) -> Callable:
    """A function that puts ``count`` results together as a ``kind``."""
    return lambda out: tuple.__new__(kind, out[:count])


inverse_with_info, result_with_info, low_with_info = (
    result_maker(InverseWithInfo, 2),
    result_maker(SolveWithInfo, 2),
    result_maker(WithInfo, 2),
)
sign_with_size, svd_triple, q_and_r = result_maker(SlogdetResult, 2), result_maker(SVDResult, 3), result_maker(QRResult, 2)
lu_pair, lu_with_info, lu_triple = result_maker(LUFactors, 2), result_maker(LUFactorsWithInfo, 3), result_maker(LUResult, 3)
unpacked = result_maker(Unpacked, 3)


def hermitian_pair(out: tuple) -> EighResult:
    """Eigenvalues, and the vectors that come first."""
    return EighResult(out[1], out[0])


def eigen_pair(out: tuple) -> EigResult:
    """The same, of any matrix."""
    return EigResult(out[1], out[0])


# ---- inverses, systems, determinants -----------------------------------------------------------------------------------


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
    orders = values_of(whole(info))
    if orders.any():
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


def numbers_in(*values: Any) -> bool:
    """Whether tolerances are Python's numbers, or not given."""
    return all(value is None or type(value) in (int, float) for value in values)


def pinv_launch(A, rcond=None, hermitian=False, *, atol=None, rtol=None) -> tuple | None:
    """What ``at_once`` is told of ``pinv``."""
    if hermitian or not numbers_in(rcond, atol, rtol):
        return None
    rtol, atol = map(float, tolerances(A, atol, rcond if rtol is None else rtol))
    return "pinv", (A,), {"rtol": rtol, "atol": atol, "hermitian": False}, first


@at_once(pinv_launch)
def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The Moore-Penrose inverse; singular values up to max(atol, rtol * the greatest) count as 0.

    ``rtol`` (or ``rcond``) is max(m, n) eps unless one of the tolerances is given.
    """
    checked("linalg.pinv", A, hermitian)
    rtol = rcond if rtol is None else rtol
    known = (
        values_of(x._constant_("linalg.pinv", name)).tolist() if isinstance(x, Tensor) else float(x) if type(x) is int else x
        for name, x in zip(("rtol", "atol"), tolerances(A, atol, rtol))
    )
    return scalar.pseudo_inverse(A, *known, bool(hermitian))


def tolerances(A, atol, rtol) -> tuple:
    """(rtol, atol), one of them given or both by default."""
    if rtol is None:
        eps = float(np.finfo(A.dtype.to_real().numpy).eps)  # of Python, by which launches are found
        rtol = max(A.shape[-2:]) * eps if atol is None else 0.0
    return rtol, 0.0 if atol is None else atol


@at_once(
    lambda A, B, rcond=None, driver=None: (
        ("gelsy", (A, B), {"rcond": tolerances(A, None, rcond)[0]}, shortest_solution)
        if driver in (None, "gelsy") and A.ndim == B.ndim and numbers_in(rcond)
        else None
    )
)
def lstsq(A, B, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values) of the X that minimises the length of A @ X - B.

    ``driver`` "gels" takes A to be of full rank, and finds neither rank nor singular values. It is the default on a GPU, where it
    does not make the program wait; "gelsy" is that on the CPU.
    """
    checked("linalg.lstsq", A)
    require_tensors("linalg.lstsq", B)
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RangeError(f"linalg.lstsq: driver is {driver!r}, expected 'gels', 'gelsy', 'gelsd' or 'gelss'.")
    is_vector = A.ndim - 1 == B.ndim
    y = B.unsqueeze(-1) if is_vector else checked("linalg.lstsq", B)
    if A.shape[-2] != y.shape[-2]:
        raise ShapeError(f"linalg.lstsq: A {list(A.shape)} and B {list(B.shape)} do not go together.")
    driver = driver or ("gels" if are_on_gpu((A,)) else "gelsy")
    m, n = A.shape[-2:]
    if driver == "gels":
        x, rank, is_known = full_rank_solution(A, y), A.new_empty((0,), dtype=int64), m > n
    else:
        x, rank = pinv(A, rcond) @ y, matrix_rank(A.detach(), rtol=rcond)
        is_known = m > n and driver != "gelsy" and bool(whole(rank == n).all())
    residuals = (scalar.abs(A @ x - y) ** 2).sum(-2) if is_known else A.new_empty((0,), dtype=A.dtype.to_real())
    values = svdvals(A) if driver in ("gelsd", "gelss") else A.new_empty((0,), dtype=A.dtype.to_real())
    if is_vector:
        x, residuals = x.squeeze_dim(-1), residuals.squeeze_dim(-1) if is_known else residuals
    return LstsqResult(x, residuals, rank, values)


def full_rank_solution(A, y):
    """The solution by QR of a matrix of full rank: of several the shortest."""
    if A.shape[-2] >= A.shape[-1]:
        q, r = qr(A)
        return solve_triangular(r, h(q) @ y, upper=True)
    q, r = qr(h(A))
    return q @ solve_triangular(h(r), y, upper=False)


# ---- decompositions ----------------------------------------------------------------------------------------------------


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


# ---- elimination -------------------------------------------------------------------------------------------------------


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


# ---- norms, ranks ------------------------------------------------------------------------------------------------------


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


# ---- products and powers -----------------------------------------------------------------------------------------------


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


def in_linalg(name: str, formula: Callable, **options) -> None:
    """Declare a function of ``nbgrad.linalg``."""
    composite(
        f"linalg_{name}",
        formula,
        method=False,
        function=False,
        out=True,
        doc=str(formula.__doc__),
        public=f"linalg.{name}",
        **options,
    )


for _formula in (
    cholesky,
    cholesky_ex,
    cond,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    inv,
    inv_ex,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    matmul,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    svd,
    svdvals,
    tensorinv,
    vecdot,
    vector_norm,
):
    in_linalg(_formula.__name__, _formula)
in_linalg("cross", cross_along)
in_linalg("diagonal", diagonal_of)
in_linalg("lstsq", lstsq, arguments={"b": "B"})
in_linalg("multi_dot", multi_dot, spelling="steps")
in_linalg("norm", norm_of)
in_linalg("tensorsolve", tensorsolve, arguments={"other": "B"})
in_linalg("vander", vander_of)


def in_main(name: str, formula: Callable, out: bool = True, **options) -> None:
    """Declare what torch has in its main namespace, and as a method, under this name."""
    composite(name, formula, matrices=True, out=out, doc=str(formula.__doc__ or f"See ``linalg.{name}``."), **options)


for _formula in (det, slogdet, matrix_power, cholesky_inverse, triangular_solve):
    in_main(_formula.__name__, _formula)
in_main("logdet", logdet, out=False)
in_main("matrix_exp", matrix_exp, out=False)
in_main("inverse", inv)
in_main("pinverse", lambda A, rcond=1e-15: pinv(A, rcond))
in_main("cholesky", lambda input, upper=False: cholesky(input, upper=upper))
in_main("cholesky_solve", cholesky_solve, arguments={"input2": "L"})
in_main("qr", qr_some)
in_main("svd", svd_turned)
in_main("lu", lu_in_main)
in_main("lu_solve", lambda b, LU_data, LU_pivots: lu_solve(LU_data, LU_pivots, b))
in_main("orgqr", householder_product, arguments={"input2": "tau"})
for _formula in (nuclear_norm, lu_unpack):
    composite(_formula.__name__, _formula, method=False, out=True, doc=str(_formula.__doc__))
