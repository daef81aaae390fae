"""Inverses, determinants and decompositions of batches of matrices: the declarations, with their cotangents.

An operation with several results is declared with one flat result, which holds all parts in a row (``parts_of``): so forward
mode, batching and derivatives of every order work as for any operation. Eigenvalues and singular values without their vectors are
operations of their own, whose derivatives are sound where some of them are equal.

Source: M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008, and for
each formula what is named beside it. x^H stands for the conjugate transpose, sym and skew for x + x^H and x - x^H.
"""

from __future__ import annotations

import math
from typing import Any, Callable

from ..base.dtypes import int64
from ..base.errors import GradError, NotSupportedError
from .core import general, refusing
from .expr import scalar

__all__ = ["parts_of", "eigh_parts", "svd_parts", "qr_parts", "lu_parts"]

INTERNAL = {"method": False, "function": False, "out": False}


# ---- parts -------------------------------------------------------------------------------------------------------------


def parts_of(flat, *shapes) -> list:
    """The parts that lie in a row along the last dimension, each of its own shape."""
    parts, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        parts.append(flat.slice(-1, start, start + size, 1).reshape((*flat.shape[:-1], *shape)))
        start += size
    return parts


def eigh_parts(flat, n: int) -> list:
    """Eigenvectors (n, n) and eigenvalues (n,)."""
    return parts_of(flat, (n, n), (n,))


def svd_parts(flat, m: int, n: int, full: bool) -> list:
    """Left singular vectors, singular values, right ones in rows."""
    k = min(m, n)
    return parts_of(flat, (m, m if full else k), (k,), (n if full else k, n))


def qr_parts(flat, m: int, n: int) -> list:
    """Q (m, n) and R (n, n)."""
    return parts_of(flat, (m, n), (n, n))


def h(x):
    """The conjugate transpose."""
    return x.adjoint().resolve_conj()


def on_diagonal(x):
    """Vectors as the diagonals of matrices."""
    return scalar.diagonal_backward(x, (*x.shape, x.shape[-1]), 0, -2, -1)


def real_part(x):
    """The real part, in the dtype of ``x``."""
    return x.real.to_dtype(x.dtype) if x.dtype.is_complex else x


def in_kind(g, dtype):
    """``g`` as a cotangent of a tensor of that dtype: of a real one its real part."""
    return g.real if g.dtype.is_complex and not dtype.is_complex else g


def without_diagonal(x):
    """The matrix with zeros on its diagonal."""
    return x.tril(-1) + x.triu(1)


def eigenvalue_gaps(left, right):
    """``right_j - left_i``, with 1 on the diagonal."""
    difference = right.unsqueeze(-2) - left.unsqueeze(-1)
    return without_diagonal(difference) + on_diagonal((right * 0).detach() + 1)


def require_gauge(name: str, imaginary, what: str) -> None:
    """Refuse a cotangent of a result that is unique only up to phases: the loss depends on the phase that LAPACK chose.

    Raises:
        GradError: it does.
    """
    from ..base.grad_mode import special

    if special or imaginary.layout.special or imaginary.is_meta:  # no values to look at, or values of a batch
        return
    size = float(imaginary.detach().abs().max()) if imaginary.numel() else 0.0
    if size > 1e-2:
        raise GradError(
            f"{name}: the gradient depends on the phase of the {what}, which is arbitrary: it is off by {size:.3g}. "
            "Hint: let the loss depend on absolute values, or on products in which phases cancel."
        )


def found_in(out, strict: bool):
    """Results, with 0 for what singular matrices lack, on which nothing depends."""
    return out if strict else scalar.where(scalar.eq(out, out), out, 0)


def inverse_cotangent(g, adjoint):
    """-x^-H g x^-H."""
    return -(adjoint @ g @ adjoint)


# ---- inverses and determinants -----------------------------------------------------------------------------------------

general(
    "inverse_matrix",
    lambda x, strict: x,
    {"x": lambda g, out, strict: inverse_cotangent(g, h(found_in(out, strict)))},
    **INTERNAL,
    node="LinalgInvExBackward0",
    public="linalg.inv",
    doc="The inverse; NaN of a singular matrix, unless strict.",
)
general(
    "singular_order",
    lambda x, found: x,
    None,
    operands=("x", "found"),
    **INTERNAL,
    public="linalg.inv_ex",
    doc="The order of the first leading part without a pivot; 0 if the matrix has an inverse, as where what was found by it is "
    "finite.",
)
general(
    "solve_system",
    lambda x, y, strict: x,
    {"y": lambda g, x, strict: found_in(scalar.solve_system(h(x), g, False), strict)},
    after={"x": ("y", lambda w, out, strict: -(w @ h(found_in(out, strict))))},
    operands=("x", "y"),
    **INTERNAL,
    node="LinalgSolveExBackward0",
    public="linalg.solve",
    doc="The z with x @ z = y; NaN of a singular matrix, unless strict.",
)


def triangle(x, upper: bool, unit: bool):
    """The part of a matrix that a triangular solve reads."""
    return x.triu(int(unit)) if upper else x.tril(-int(unit))


general(
    "solve_triangle",
    lambda x, y, upper, unit: x,
    {"y": lambda g, x, upper, unit: scalar.solve_triangle(h(x), g, not upper, unit)},
    after={"x": ("y", lambda w, out, upper, unit: triangle(-(w @ h(out)), upper, unit))},
    operands=("x", "y"),
    **INTERNAL,
    node="LinalgSolveTriangularBackward0",
    public="linalg.solve_triangular",
    doc="The z with x @ z = y, of a triangle of x, with 1 on its diagonal if it is a unit one.",
)
general(
    "determinant",
    lambda x: x,
    {"x": lambda g, x: g.unsqueeze(-1).unsqueeze(-1) * scalar.cofactors(x)},
    **INTERNAL,
    node="LinalgDetBackward0",
    public="linalg.det",
    doc="The determinant.",
)


general(
    "cofactors",
    lambda x: x,
    {"x": lambda g, x: scalar.cofactor_slope(x, g)},
    **INTERNAL,
    public="linalg.det",
    doc="The conjugated cofactors: the derivative of the determinant, of singular matrices too.",
)


def greatest(x):
    """The greatest magnitude of each matrix, as a constant."""
    return scalar.abs(x.detach()).amax((-2, -1), True)


def turned(x, angle: float):
    """Complex numbers turned by an angle."""
    return x * math.cos(angle) + x * math.sin(angle) * 1j


def slope_cotangent(g, x, y):
    """What the slope in the direction of y changes by in that of g: a coefficient of a polynomial in t, the slope at x + t g.

    From its values at roots of unity, so that no matrix is inverted.

    Source: J. N. Lyness and C. B. Moler, "Numerical differentiation of analytic functions", 1967.
    """
    n, large_x, large_g = x.shape[-1], greatest(x), greatest(g)
    if n < 3:  # the slope is constant
        return x * 0
    radius = scalar.where((large_x > 0) & (large_g > 0), large_x / large_g, 1.0)
    dtype = x.dtype.to_complex() if not x.dtype.is_complex else x.dtype
    x, y, step, dtype = x.to_dtype(dtype), y.to_dtype(dtype), (g * radius).to_dtype(dtype), x.dtype
    here, total = scalar.cofactor_slope(x, y), 0
    for k in range(n):  # less what does not change, which is 0 in all: without a g there is nothing, exactly
        angle = 2 * math.pi * k / n
        total = total + turned(scalar.cofactor_slope(x + turned(step, angle), y) - here, angle)
    return in_kind(total / (n * radius), dtype)


general(
    "cofactor_slope",
    lambda x, y: x,
    {"x": slope_cotangent, "y": lambda g, x: scalar.cofactor_slope(x, g)},
    operands=("x", "y"),
    **INTERNAL,
    public="linalg.det",
    doc="The conjugate of the cofactors' derivative in the direction of y, of singular matrices too: linear in y, and its own "
    "transpose.",
)


def phase_cotangent(g, x, out):
    """Of the logarithm, the transposed inverse; of a complex sign only its turning, -i Im(conj(g) sign): real signs do not turn."""
    along = real_part(g.select(-1, 1))
    if x.dtype.is_complex:
        along = along + (scalar.conj_physical(g.select(-1, 0)) * out.select(-1, 0)).imag * -1j
    return along.unsqueeze(-1).unsqueeze(-1) * h(scalar.inverse_matrix(x, False))


general(
    "sign_and_size",
    lambda x: x,
    {"x": phase_cotangent},
    **INTERNAL,
    node="LinalgSlogdetBackward0",
    public="linalg.slogdet",
    doc="The determinant divided by its magnitude, and the logarithm of that.",
)


def pseudo_cotangent(g, x, out, x_shape):
    """Source: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973."""
    g, p = h(g), h(out)
    if x_shape[-2] <= x_shape[-1]:
        k = g @ out
        return -h(out @ k) + k @ p - (x @ out) @ (k @ p) + (p @ out) @ (g - k @ x)
    k = out @ g
    return -h(k @ out) + (g - x @ k) @ out @ p + p @ k - (p @ k @ out) @ x


general(
    "pseudo_inverse",
    lambda x, rtol, atol, hermitian: x,
    {"x": pseudo_cotangent},
    **INTERNAL,
    node="LinalgPinvBackward0",
    public="linalg.pinv",
    doc="The Moore-Penrose inverse.",
)


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

# ---- decompositions ----------------------------------------------------------------------------------------------------


def cholesky_cotangent(g, out):
    """L^-H sym(tril(L^H g) with half its diagonal) L^-1 / 2. Source: I. Murray, arXiv:1602.07527, 2016."""
    inner = (h(out) @ g).tril()
    inner = inner - on_diagonal(inner.diagonal(0, -2, -1)) / 2
    left = scalar.solve_triangle(h(out), (inner + h(inner)) / 2, True, False)
    return h(scalar.solve_triangle(h(out), h(left), True, False))


general(
    "cholesky_factor",
    lambda x, strict: x,
    {"x": cholesky_cotangent},
    **INTERNAL,
    node="LinalgCholeskyExBackward0",
    public="linalg.cholesky",
    doc="The lower triangle L with x = L L^H; NaN where there is none, unless strict.",
)
general(
    "cholesky_info",
    lambda x, found: x,
    None,
    operands=("x", "found"),
    **INTERNAL,
    public="linalg.cholesky_ex",
    doc="The order of the first leading part that is not positive definite, 0 if all are, as they are where the factor is finite.",
)


def factor_cotangent(x, outer, upper: bool):
    """What reaches the factor in L L^H, or U^H U, from there."""
    both, x = outer + h(outer), triangle(x, upper, False)
    return -triangle(x @ both if upper else both @ x, upper, False)


general(
    "inverse_of_factored",
    lambda x, upper: x,
    {"x": lambda g, x, out, upper: factor_cotangent(x, h(out) @ g @ h(out), upper)},
    **INTERNAL,
    node="CholeskyInverseBackward0",
    public="cholesky_inverse",
    doc="The inverse of x @ x^H, or of x^H @ x of an upper triangle.",
)
general(
    "solve_factored",
    lambda x, y, upper: x,
    {"y": lambda g, x, upper: scalar.solve_factored(x, g, upper)},
    after={"x": ("y", lambda w, x, out, upper: factor_cotangent(x, w @ h(out), upper))},
    operands=("x", "y"),
    **INTERNAL,
    node="CholeskySolveBackward0",
    public="cholesky_solve",
    doc="The z with x @ x^H @ z = y, or x^H @ x @ z = y of an upper triangle.",
)


def low_of(x):
    """L of both factors in one matrix."""
    low = x.tril(-1)
    return low + on_diagonal((x.diagonal(0, -2, -1) * 0).detach() + 1)


def within(g, x):
    """L^-1 g U^-1: what reaches the sum in ``pull_to_matrix``."""
    left = scalar.solve_triangle(x, g, False, True)
    return h(scalar.solve_triangle(h(x), h(left), False, False))


def pull_of_pulled(g, y):
    """The cotangent of x in ``pull_to_matrix``."""
    inner = within(g, y)
    return (low_of(y) @ inner.tril(-1)).tril(-1) + (inner.triu() @ y.triu()).triu()


def pull_of_factors(g, x, y, out):
    """The cotangent of y in ``pull_to_matrix``: of the sum's terms, less what reaches the inverses."""
    inner, low, up = within(g, y), low_of(y), y.triu()
    by_low = x.tril(-1) @ h(inner.tril(-1)) - out @ h(inner @ up)
    by_up = h(inner.triu()) @ x.triu() - h(low @ inner) @ out
    return by_low.tril(-1) + by_up.triu()


general(
    "pull_to_matrix",
    lambda x, y: x,
    {"x": lambda g, y: pull_of_pulled(g, y), "y": lambda g, x, y, out: pull_of_factors(g, x, y, out)},
    operands=("x", "y"),
    **INTERNAL,
    public="linalg.lu",
    doc="The cotangent of L U, from x, that of L below the diagonal and of U, and both factors y in one matrix: "
    "L^-H (tril(L^H x, -1) + triu(x U^H)) U^-H, of the same parts of x.",
)
general(
    "share_of_factors",
    lambda x, y: x,
    {
        "x": lambda g, y: y.tril(-1) @ g.triu() + g.tril(-1) @ y.triu(),
        "y": lambda g, x: (x @ h(g.triu())).tril(-1) + (h(g.tril(-1)) @ x).triu(),
    },
    operands=("x", "y"),
    **INTERNAL,
    public="linalg.lu_solve",
    doc="tril(x U^H, -1) + triu(L^H x), of factors y: of L what is below its diagonal.",
)


def solution_share(w, x, out, pivots, adjoint):
    """The cotangent of the factors P^T A = L U of a system: -(tril(m U^H, -1) + triu(L^H m)).

    m is P^T w z^H, or, of the adjoint system, P^T z w^H.
    """
    left, right = (out, w) if adjoint else (w, out)
    m = scalar.exchange_rows(left, pivots.to_dtype(int64) - 1, False) @ h(right)
    return -(m.triu() + scalar.share_of_factors(m, x))


general(
    "solve_by_factors",
    lambda x, y, pivots, adjoint: x,
    {"y": lambda g, x, pivots, adjoint: scalar.solve_by_factors(x, g, pivots, not adjoint)},
    after={"x": ("y", lambda w, x, out, pivots, adjoint: solution_share(w, x, out, pivots, adjoint))},
    operands=("x", "y"),
    **INTERNAL,
    node="LinalgLuSolveBackward0",
    public="linalg.lu_solve",
    doc="The z with P @ L @ U @ z = y, or of the adjoint matrix, from both factors in one matrix and pivots from 1 on.",
)
general(
    "lu_factors",
    lambda x: x,
    {"x": lambda g, out: scalar.pull_to_matrix(g, out)},
    **INTERNAL,
    node="LinalgLuFactorExBackward0",
    public="linalg.lu",
    doc="L below the diagonal and U on it and above, with x = L U: without exchanging rows.",
)


def lu_parts(flat, m: int, n: int) -> list:
    """L and U in one matrix (m, n), the row that each step exchanged with its own, and the first without a pivot, from 1 on."""
    return parts_of(flat, (m, n), (min(m, n),), (1,))


def lu_row_cotangent(g, out, x_shape):
    """Of the square part ``pull_to_matrix``; what is beside or below it are solutions of triangular systems. Then rows go back."""
    m, n = x_shape[-2:]
    k = min(m, n)
    (both, pivots), (g,) = parts_of(out, (m, n), (k,)), parts_of(g, (m, n))
    if m == n:
        inner = scalar.pull_to_matrix(g, both)
    elif m > n:
        square, low, g_square, g_low = (part for x in (both, g) for part in (x.slice(-2, 0, k, 1), x.slice(-2, k, m, 1)))
        w = h(scalar.solve_triangle(square, h(g_low), True, False))
        inner = scalar.pull_to_matrix(g_square - (h(low) @ w).triu(), square).slice_backward(x_shape, -2, 0, k, 1)
        inner = inner + w.slice_backward(x_shape, -2, k, m, 1)
    else:
        square, up, g_square, g_up = (part for x in (both, g) for part in (x.slice(-1, 0, k, 1), x.slice(-1, k, n, 1)))
        w = scalar.solve_triangle(h(square), g_up, True, True)
        inner = scalar.pull_to_matrix(g_square - (w @ h(up)).tril(-1), square).slice_backward(x_shape, -1, 0, k, 1)
        inner = inner + w.slice_backward(x_shape, -1, k, n, 1)
    return scalar.exchange_rows(inner, real_part(pivots).detach().to_dtype(int64) - 1, True)


general(
    "lu_row",
    lambda x: x,
    {"x": lu_row_cotangent},
    **INTERNAL,
    node="LinalgLuFactorExBackward0",
    public="linalg.lu",
    doc="L and U in one matrix; the row, counted from 1, that each step exchanged with its own, and the first without a pivot, "
    "as numbers of its dtype.",
)


def qr_cotangent(g, out, x_shape):
    """(g_Q + Q sym'(triu(g_R R^H - Q^H g_Q))) R^-H; sym' counts the diagonal once.

    Source: M. Seeger et al., "Auto-differentiating linear algebra", arXiv:1710.08717, 2017.
    """
    m, n = x_shape[-2:]
    (q, r), (g_q, g_r) = qr_parts(out, m, n), qr_parts(g, m, n)
    inner = (g_r @ h(r) - h(q) @ g_q).triu()
    diagonal = real_part(inner.diagonal(0, -2, -1))
    inner = inner.triu(1) + h(inner.triu(1)) + on_diagonal(diagonal)
    return h(scalar.solve_triangle(r, h(g_q + q @ inner), True, False))


general(
    "qr_row",
    lambda x: x,
    {"x": qr_cotangent},
    **INTERNAL,
    node="LinalgQrBackward0",
    public="linalg.qr",
    doc="Q and R of a matrix that is at least as tall as wide.",
)


@refusing
def no_cotangent(g, x_shape):
    """Refused: the columns that complete Q are no function of the matrix."""
    raise NotSupportedError(
        f"linalg.qr: mode 'complete' of {x_shape[-2]} by {x_shape[-1]} matrices has no derivative. Hint: mode='reduced'."
    )


general(
    "complete_qr_row",
    lambda x: x,
    {"x": no_cotangent},
    **INTERNAL,
    node="LinalgQrBackward0",
    public="linalg.qr",
    doc="A square Q, and R.",
)


def eigh_cotangent(g, out, x_shape):
    """The Hermitian part of V (diag(g_w) + V^H g_V / (w_j - w_i)) V^H: what differs from it reaches no Hermitian matrix."""
    n = x_shape[-1]
    (v, w), (g_v, g_w) = eigh_parts(out, n), eigh_parts(g, n)
    inner = h(v) @ g_v
    if g.dtype.is_complex:
        require_gauge("linalg.eigh", inner.diagonal(0, -2, -1).imag, "eigenvectors")
    inner = without_diagonal(inner / eigenvalue_gaps(w, w))
    return v @ ((inner + h(inner)) / 2 + on_diagonal(real_part(g_w))) @ h(v)


general(
    "eigh_row",
    lambda x, upper: x,
    {"x": eigh_cotangent},
    **INTERNAL,
    node="LinalgEighBackward0",
    public="linalg.eigh",
    doc="Eigenvectors and eigenvalues of a Hermitian matrix.",
)


def is_first_order() -> bool:
    """Whether a cotangent is computed for itself: no derivative of it is asked for, so that what was known before serves."""
    from ..base.grad_mode import mode, special

    return not (special or mode.enabled)


def known_or(known, make: Callable):
    """A decomposition that is known, where that serves; else it is made again, with its history."""
    return make() if known is None or not is_first_order() else known


def eigvalsh_cotangent(g, x, x_shape, upper, known=None):
    """V diag(g) V^H."""
    v = eigh_parts(known_or(known, lambda: scalar.eigh_row(x, upper)), x_shape[-1])[0]
    return (v * g.unsqueeze(-2)) @ h(v)


general(
    "hermitian_eigenvalues",
    lambda x, upper: x,
    {"x": lambda g, x, x_shape, upper: eigvalsh_cotangent(g, x, x_shape, upper)},
    **INTERNAL,
    node="LinalgEighBackward0",
    public="linalg.eigvalsh",
    doc="The eigenvalues of a Hermitian matrix.",
)
general(
    "known_hermitian_eigenvalues",
    lambda x, known, upper: x,
    {"x": lambda g, x, known, x_shape, upper: eigvalsh_cotangent(g, x, x_shape, upper, known)},
    **INTERNAL,
    node="LinalgEighBackward0",
    public="linalg.eigvalsh",
    doc="The eigenvalues of a Hermitian matrix of which ``eigh_row`` is known.",
)


def eig_cotangent(g, out, x_shape, x_dtype):
    """V^-H (diag(g_w) + (V^H g_V - V^H V diag(Re(V^H g_V))) / conj(w_j - w_i)) V^H: the vectors have length 1.

    Source: C. Boeddeker et al., "On the computation of complex-valued gradients", arXiv:1701.00392, 2017.
    """
    n = x_shape[-1]
    (v, w), (g_v, g_w) = eigh_parts(out, n), eigh_parts(g, n)
    inner = h(v) @ g_v
    require_gauge("linalg.eig", inner.diagonal(0, -2, -1).imag, "eigenvectors")
    inner = inner - h(v) @ (v * real_part(inner.diagonal(0, -2, -1)).unsqueeze(-2))
    w = scalar.conj_physical(w)
    inner = on_diagonal(g_w) + without_diagonal(inner / eigenvalue_gaps(w, w))
    return in_kind(scalar.solve_system(h(v), inner @ h(v), True), x_dtype)


general(
    "eig_row",
    lambda x: x,
    {"x": eig_cotangent},
    **INTERNAL,
    node="LinalgEigBackward0",
    public="linalg.eig",
    doc="Eigenvectors and eigenvalues, both complex.",
)


def eigvals_cotangent(g, x, x_shape, x_dtype, known=None):
    """V^-H diag(g) V^H."""
    v = eigh_parts(known_or(known, lambda: scalar.eig_row(x)), x_shape[-1])[0]
    return in_kind(scalar.solve_system(h(v), g.unsqueeze(-1) * h(v), True), x_dtype)


general(
    "eigenvalues",
    lambda x: x,
    {"x": lambda g, x, x_shape, x_dtype: eigvals_cotangent(g, x, x_shape, x_dtype)},
    **INTERNAL,
    node="LinalgEigBackward0",
    public="linalg.eigvals",
    doc="The eigenvalues, complex.",
)
general(
    "known_eigenvalues",
    lambda x, known: x,
    {"x": lambda g, x, known, x_shape, x_dtype: eigvals_cotangent(g, x, x_shape, x_dtype, known)},
    **INTERNAL,
    node="LinalgEigBackward0",
    public="linalg.eigvals",
    doc="The eigenvalues of a matrix of which ``eig_row`` is known.",
)


def skew(x):
    """x - x^H."""
    return x - h(x)


def svd_cotangent(g, out, x_shape, full):
    """U ((skew(U^H g_U) S + S skew(V^H g_V)) / (s_j^2 - s_i^2) + diag(g_s)) V^H, and what g_U and g_V have outside of U and V.

    Source: J. Townsend, "Differentiating the singular value decomposition", 2016; Z.-Q. Wan and S.-X. Zhang, arXiv:1909.02659, for
    the diagonal of complex ones.
    """
    m, n = x_shape[-2:]
    k = min(m, n)
    (u, s, v), (g_u, g_s, g_v) = svd_parts(out, m, n, full), svd_parts(g, m, n, full)
    u, v, g_u, g_v = u.slice(-1, 0, k, 1), v.slice(-2, 0, k, 1), g_u.slice(-1, 0, k, 1), g_v.slice(-2, 0, k, 1)
    s, g_s = real_part(s), real_part(g_s)
    left, right = skew(h(u) @ g_u), skew(v @ h(g_v))
    gaps = eigenvalue_gaps(s * s, s * s)
    inner = without_diagonal(left / gaps * s.unsqueeze(-2) + s.unsqueeze(-1) * (right / gaps))
    diagonal: Any = g_s
    if g.dtype.is_complex:
        own = left.diagonal(0, -2, -1)
        require_gauge("linalg.svd", (own + right.diagonal(0, -2, -1)).imag, "singular vectors")
        diagonal = g_s + own / (2 * s)
    whole = u @ (inner + on_diagonal(diagonal)) @ v
    if m > k:
        outside = g_u / s.unsqueeze(-2)
        whole = whole + (outside - u @ (h(u) @ outside)) @ v
    if n > k:
        outside = g_v / s.unsqueeze(-1)
        whole = whole + u @ (outside - (outside @ h(v)) @ v)
    return whole


general(
    "svd_row",
    lambda x, full: x,
    {"x": svd_cotangent},
    **INTERNAL,
    node="LinalgSvdBackward0",
    public="linalg.svd",
    doc="Left singular vectors, singular values and right singular vectors.",
)


def svdvals_cotangent(g, x, x_shape, known=None):
    """U diag(g) V^H."""
    u, _, v = svd_parts(known_or(known, lambda: scalar.svd_row(x, False)), *x_shape[-2:], False)
    return (u * g.unsqueeze(-2)) @ v


general(
    "singular_values",
    lambda x: x,
    {"x": lambda g, x, x_shape: svdvals_cotangent(g, x, x_shape)},
    **INTERNAL,
    node="LinalgSvdBackward0",
    public="linalg.svdvals",
    doc="The singular values.",
)
general(
    "known_singular_values",
    lambda x, known: x,
    {"x": lambda g, x, known, x_shape: svdvals_cotangent(g, x, x_shape, known)},
    **INTERNAL,
    node="LinalgSvdBackward0",
    public="linalg.svdvals",
    doc="The singular values of a matrix of which ``svd_row`` is known.",
)
general(
    "exchange_rows",
    lambda x, pivots, back: x,
    {"x": lambda g, pivots, back: scalar.exchange_rows(g, pivots, not back)},
    **INTERNAL,
    public="linalg.lu",
    doc="Rows exchanged step by step with those that pivots name, or taken back.",
)
