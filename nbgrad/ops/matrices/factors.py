"""Triangular factors, by Cholesky, with exchanged rows (LU) and orthogonal (QR), and solutions by them."""

from __future__ import annotations

from ...base.dtypes import int64
from ...base.errors import NotSupportedError
from ..core import general, refusing
from ..expr import scalar
from .parts import INTERNAL, h, on_diagonal, parts_of, qr_parts, real_part, triangle


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
general(
    "exchange_rows",
    lambda x, pivots, back: x,
    {"x": lambda g, pivots, back: scalar.exchange_rows(g, pivots, not back)},
    **INTERNAL,
    public="linalg.lu",
    doc="Rows exchanged step by step with those that pivots name, or taken back.",
)
