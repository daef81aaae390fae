"""Samples of linear algebra. Gradients of what is unique up to signs and phases are checked in tests/test_linalg.py."""

from __future__ import annotations

import numpy as np

import nbgrad

from .row import REAL, case, fails, row, through

ShapeError = nbgrad.ShapeError
HALF = {"half": "of single and double precision"}
NONE = {**HALF, "gradient": "whole numbers"}
SYMMETRIC = {
    **HALF,
    "second order": "in tests/test_linalg.py: of matrices that stay symmetric",
    "differences": "of a matrix of which one half is read",
}
UNIQUE = {**HALF, "gradient": "in tests/test_linalg.py: unique up to signs, of matrices that stay symmetric"}
A = np.array([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
B = np.stack([A, A.T @ A])
Z = A + 1j * np.array([[0.5, -1.0, 0.25], [1.0, 0.0, -0.5], [0.75, 0.5, 1.0]])
P = A @ A.T + np.eye(3) / 32  # eigenvalues that print alike, whatever the last bits
S = A + np.eye(3)  # singular values likewise
TALL = np.array([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
RIGHT = np.array([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
SINGULAR = np.stack([A, np.diag([1.0, 0.0, 1.0]), 0 * A])
INDEFINITE = np.stack([P, np.diag([1.0, -1.0, 1.0])])
STEPS = np.array([1, 2, 3])
ONES = np.array([[[2.0]], [[3.0]]])
VECTOR = np.array([1.0, -0.5, 2.0])


def symmetric(function):
    """Of the symmetric part: for matrices that are symmetric the function itself."""
    return lambda x, *args, **named: function((x + np.swapaxes(x, -1, -2).conj()) / 2, *args, **named)


def tri(x, upper, unit=False):
    """The triangle that is read."""
    x = np.triu(x) if upper else np.tril(x)
    return x - np.diag(np.diag(x)) + np.eye(len(x)) if unit else x


def of_factor(x, upper):
    """The matrix of which a triangle is the factor."""
    x = tri(x, upper)
    return x.T @ x if upper else x @ x.T


def in_a_row(*parts):
    """The parts of a decomposition as one vector."""
    return np.concatenate([part.ravel() for part in parts])


def elimination(x):
    """L and U of a square matrix, in place of its elements."""
    x = np.array(x)
    for k in range(len(x)):
        x[k + 1 :, k] /= x[k, k]
        x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x


def factors(x):
    """P, L, U of a matrix whose pivots stand in order."""
    both = elimination(x)
    return np.eye(len(x)), np.tril(both, -1) + np.eye(len(x)), np.triu(both)


def exponential(x):
    """The series."""
    out = term = np.eye(len(x), dtype=x.dtype)
    for k in range(1, 60):
        term = term @ x / k
        out = out + term
    return out


def phase(x):
    """Sign and logarithm of the determinant."""
    return tuple(np.linalg.slogdet(x))


def cofactor_slope(x, y):
    """What the cofactors of an invertible matrix change by in the direction of y."""
    inverse = np.linalg.inv(x).T
    return np.linalg.det(x) * ((inverse * y).sum() * inverse - inverse @ y.T @ inverse)


def pulled_factors(g, x):
    """The transpose of what a change of the matrix is in its factors."""
    low, up = tri(x, False, True), np.triu(x)
    inner = np.tril(low.T @ np.tril(g, -1), -1) + np.triu(np.triu(g) @ up.T)
    return np.linalg.inv(low).T @ inner @ np.linalg.inv(up).T


def solution_by_factors(x, y, pivots, adjoint):
    """By the matrix itself."""
    whole = tri(x, False, True) @ np.triu(x)
    return np.linalg.solve(whole.T if adjoint else whole, y)


# ---- the work --------------------------------------------------------------------------------------------------------

row(
    "inverse_matrix",
    lambda x, strict: np.linalg.inv(x),
    REAL,
    case(A, True),
    case(B, False),
    case(Z, True),
    unlike=HALF,
    saves="out",
)
row("singular_order", lambda x, found: np.array([0, 2, 1]), REAL, case(SINGULAR, SINGULAR * np.nan), unlike=NONE)
row(
    "solve_system",
    lambda x, y, strict: np.linalg.solve(x, y),
    REAL,
    case(A, RIGHT, True),
    case(Z, np.array([[1.0 + 2j], [0.5], [1j]]), False),
    unlike=HALF,
)
row(
    "solve_triangle",
    lambda x, y, upper, unit: np.linalg.solve(tri(x, upper, unit), y),
    REAL,
    case(A, RIGHT, True, False),
    case(A, RIGHT, False, True),
    unlike=HALF,
)
row("determinant", np.linalg.det, REAL, case(A), case(B), case(Z), unlike=HALF)
row("cofactors", lambda x: np.linalg.det(x) * np.linalg.inv(x).T, REAL, case(A), unlike=HALF)
row("cofactor_slope", cofactor_slope, REAL, case(A, RIGHT @ RIGHT.T + A.T), unlike=HALF, saves="x y")
row("sign_and_size", lambda x: np.stack(np.linalg.slogdet(x), -1), REAL, case(A), case(B), case(Z), unlike=HALF)
row(
    "pseudo_inverse",
    lambda x, rtol, atol, hermitian: np.linalg.pinv(x, rtol),
    REAL,
    case(TALL, 1e-15, 0.0, False),
    case(TALL.T.copy(), 1e-15, 0.0, False),
    unlike=HALF,
)
row("matrix_exponential", exponential, REAL, case(A / 2), case(Z / 2), unlike=HALF)
row(
    "cholesky_factor",
    symmetric(lambda x, strict: np.linalg.cholesky(x)),
    REAL,
    case(P, True),
    case(ONES, True),
    case(Z @ Z.conj().T, True),
    unlike=SYMMETRIC,
    errors=[fails(nbgrad.LinAlgError, "^linalg.cholesky: ", -P, True)],
)
row("cholesky_info", lambda x, found: np.array([0, 2]), REAL, case(INDEFINITE, INDEFINITE * np.nan), unlike=NONE)
row("lu_factors", elimination, REAL, case(A), unlike=HALF)
for _name, _public in (
    ("qr_row", "linalg_qr"),
    ("eigh_row", "linalg_eigh"),
    ("eig_row", "linalg_eig"),
    ("svd_row", "linalg_svd"),
    ("lu_row", "linalg_lu_factor"),
):
    through(_name, _public)
row("inverse_of_factored", lambda x, upper: np.linalg.inv(of_factor(x, upper)), REAL, case(A, False), case(A, True), unlike=HALF)
row(
    "solve_factored",
    lambda x, y, upper: np.linalg.solve(of_factor(x, upper), y),
    REAL,
    case(A, RIGHT, False),
    case(A, RIGHT, True),
    unlike=HALF,
)
row("hermitian_eigenvalues", lambda x, upper: np.linalg.eigvalsh(x), REAL, case(P, False), unlike=UNIQUE)
row("eigenvalues", lambda x: as_complex(np.linalg.eigvals(x)), REAL, case(P), unlike=UNIQUE)
row("singular_values", lambda x: np.linalg.svd(x, compute_uv=False), REAL, case(A), case(Z), unlike=HALF)
row(
    "known_hermitian_eigenvalues",
    lambda x, known, upper: np.linalg.eigvalsh(x),
    REAL,
    case(P, known=in_a_row(*np.linalg.eigh(P)[::-1]), upper=False),
    unlike=UNIQUE,
)
row(
    "known_eigenvalues",
    lambda x, known: as_complex(np.linalg.eigvals(x)),
    REAL,
    case(P, known=in_a_row(*np.linalg.eig(P)[::-1]).astype(complex)),
    unlike=UNIQUE,
)
row(
    "known_singular_values",
    lambda x, known: np.linalg.svd(x, compute_uv=False),
    REAL,
    case(A, known=in_a_row(*np.linalg.svd(A))),
    case(TALL, known=in_a_row(*np.linalg.svd(TALL, False))),
    unlike=UNIQUE,
)
row("exchange_rows", lambda x, pivots, back: x[[2, 1, 0]], REAL, case((3, 2), pivots=np.array([2, 1]), back=False), saves="")
row("pull_to_matrix", pulled_factors, REAL, case(B[1], A), unlike=HALF)
row(
    "share_of_factors", lambda m, x: np.triu(np.tril(x, -1).T @ m) + np.tril(m @ np.triu(x).T, -1), REAL, case(B[1], A), unlike=HALF
)
row(
    "solve_by_factors",
    solution_by_factors,
    REAL,
    case(A, RIGHT, pivots=STEPS, adjoint=False),
    case(A, RIGHT, pivots=STEPS, adjoint=True),
    unlike=HALF,
)
row(
    "complete_qr_row",
    lambda x: np.concatenate([part.ravel() for part in np.linalg.qr(x, "complete")]),
    REAL,
    case(TALL),
    unlike={**HALF, "gradient": "refused", "formula": "it refuses"},
)

# ---- systems, inverses, determinants ---------------------------------------------------------------------------------


def reflections(x, tau):
    """The whole product of two Householder reflections, whose vectors are below the diagonal of a matrix of three rows."""
    vectors = np.append(1, x[1:, 0]), np.append([0, 1], x[2:, 1])
    return np.linalg.multi_dot([np.eye(3) - t * np.outer(v, v) for t, v in zip(tau, vectors)])


ROWS = {
    "inv": (np.linalg.inv, case(A), case(B)),
    "inv_ex": (lambda x: (np.linalg.inv(x), np.zeros(x.shape[:-2])), case(A)),
    "solve": (
        lambda x, y, left=True: np.linalg.solve(x, y) if left else np.linalg.solve(x.T, y.T).T,
        case(A, RIGHT),
        case(A, VECTOR),
        case(A, RIGHT.T.copy(), left=False),
    ),
    "solve_ex": (lambda x, y: (np.linalg.solve(x, y), np.zeros(())), case(A, RIGHT)),
    "solve_triangular": (
        lambda x, y, upper, left=True, unitriangular=False: (
            np.linalg.solve(tri(x, upper, unitriangular), y) if left else np.linalg.solve(tri(x, upper, unitriangular).T, y.T).T
        ),
        case(A, RIGHT, upper=True),
        case(A, RIGHT.T.copy(), upper=False, left=False),
    ),
    "det": (np.linalg.det, case(A), case(B)),
    "slogdet": (phase, case(A), case(B)),
    "pinv": (np.linalg.pinv, case(TALL), case(TALL.T.copy())),
    "lstsq": (
        lambda x, y, driver: (np.linalg.lstsq(x, y, rcond=None)[0], np.zeros(0), np.array(2), np.zeros(0)),
        case(TALL, RIGHT, driver="gelsy"),  # since a GPU's own one is another
    ),
    "cholesky": (symmetric(np.linalg.cholesky), case(P), case(ONES)),
    "cholesky_ex": (symmetric(lambda x: (np.linalg.cholesky(x), np.zeros(x.shape[:-2]))), case(P), case(ONES)),
    "lu": (factors, case(A)),
    "lu_factor": (lambda x: (elimination(x), np.arange(1, 4)), case(A)),
    "lu_factor_ex": (lambda x: (elimination(x), np.arange(1, 4), np.zeros(())), case(A)),
    "matrix_exp": (exponential, case(A / 2)),
    "matrix_power": (np.linalg.matrix_power, case(A, 3), case(A, -1)),
    "matrix_rank": (lambda x: np.linalg.matrix_rank(x), case(TALL)),
    "multi_dot": (np.linalg.multi_dot, case([(2, 3), (3, 4), (4, 2)]), case([(3,), (3, 4)])),
    "matrix_norm": (
        lambda x, ord="fro", dim=(-2, -1), keepdim=False: np.linalg.norm(x, ord, dim, keepdim),
        case(A),
        case(A, "nuc"),
        case(A, 2, keepdim=True),
        case(A, -2),
        case(A, 1),
        case(B, -np.inf),
    ),
    "vector_norm": (
        lambda x, ord=2, dim=None, keepdim=False: np.linalg.norm(x.ravel() if dim is None else x, ord, dim, keepdim),
        case(A),
        case(A, 3, 1, True),
    ),
    "norm": (
        lambda x, ord=None, dim=None, keepdim=False: np.linalg.norm(x, ord, dim, keepdim),
        case(A),
        case(A, 1),
        case(VECTOR, 3),
    ),
    "cond": (np.linalg.cond, case(A), case(A, 1), case(A, -2)),
    "svdvals": (lambda x: np.linalg.svd(x, compute_uv=False), case(S), case(TALL)),
    "cross": (lambda x, y, dim=-1: np.cross(x, y, axis=dim), case((2, 3), (1, 3))),
    "vecdot": (lambda x, y, dim=-1: (x * y).sum(dim), case((2, 3), (1, 3))),
    "vander": (lambda x, N=None: np.vander(x, N, True), case(VECTOR), case(VECTOR, N=2)),
    "tensorinv": (lambda x, ind=2: np.linalg.inv(x.reshape(3, 3)).reshape(3, 3, 1), case(A.reshape(3, 1, 3), 2)),
    "tensorsolve": (lambda x, y: np.linalg.solve(x, y), case(A, VECTOR)),
    "householder_product": (lambda x, tau: reflections(x, tau)[:, :2], case(TALL, np.array([0.5, 1.25]))),
    "diagonal": (lambda x, offset=0: np.diagonal(x, offset), case(A, offset=1)),
    "matmul": (np.matmul, case((2, 3), (3, 2))),
}
FAILS = {
    "inv": [fails(nbgrad.LinAlgError, "^linalg.inv: ", np.zeros((2, 2))), fails(ShapeError, "square", (2, 3))],
    "solve": [fails(ShapeError, "do not go together", A, (2, 2))],
    "multi_dot": [fails(ShapeError, "at least 2", [(2, 2)])],
    "matrix_norm": [fails(nbgrad.RangeError, "ord is", A, "other")],
}
for _name, (_reference, *_cases) in ROWS.items():
    row(
        f"linalg_{_name}",
        _reference,
        REAL,
        *_cases,
        errors=FAILS.get(_name, ()),
        unlike={
            "matrix_rank": NONE,
            "cholesky": SYMMETRIC,
            "cholesky_ex": SYMMETRIC,
            "cross": {},
            "vecdot": {},
            "diagonal": {},
            "matmul": {},
        }.get(_name, HALF),
    )
row(
    "linalg_lu_solve",
    lambda x, p, y: np.linalg.solve((np.tril(x, -1) + np.eye(3)) @ np.triu(x), y),
    REAL,
    case(A, STEPS, RIGHT),
    unlike=HALF,
)
row(
    "linalg_qr",
    lambda x: tuple(np.linalg.qr(x)),
    REAL,
    case(TALL),
    case(TALL.T.copy()),
    unlike=UNIQUE,
    errors=[fails(nbgrad.RangeError, "mode is", A, "other")],
)
row(
    "linalg_eigh",
    lambda x: tuple(np.linalg.eigh(x)),
    REAL,
    case(P),
    unlike=UNIQUE,
    errors=[fails(nbgrad.RangeError, "UPLO is", A, "X")],
)
row("linalg_eigvalsh", np.linalg.eigvalsh, REAL, case(P), unlike=UNIQUE)
row("linalg_eig", lambda x: tuple(map(as_complex, np.linalg.eig(x))), REAL, case(P), unlike=UNIQUE)
row("linalg_eigvals", lambda x: as_complex(np.linalg.eigvals(x)), REAL, case(P), unlike=UNIQUE)
row("linalg_svd", lambda x, full=True: tuple(np.linalg.svd(x, full)), REAL, case(S), case(TALL, False), unlike=UNIQUE)


def as_complex(x):
    """NumPy returns real numbers where all are."""
    return np.asarray(x, complex)


# ---- torch's older names ---------------------------------------------------------------------------------------------

row("det", np.linalg.det, REAL, case(A), unlike=HALF)
row("logdet", lambda x: np.log(np.linalg.det(x)), REAL, case(A), unlike=HALF)
row("slogdet", phase, REAL, case(A), unlike=HALF)
row("inverse", np.linalg.inv, REAL, case(A), unlike=HALF)
row("pinverse", np.linalg.pinv, REAL, case(TALL), unlike=HALF)
row("matrix_exp", exponential, REAL, case(A / 2), unlike=HALF)
row("matrix_power", np.linalg.matrix_power, REAL, case(A, 2), unlike=HALF)
row("cholesky", symmetric(np.linalg.cholesky), REAL, case(P), case(ONES), unlike=SYMMETRIC)
row(
    "cholesky_solve",
    lambda y, x: np.linalg.solve(tri(x, False) @ tri(x, False).T, y),
    REAL,
    case(RIGHT, np.linalg.cholesky(P)),
    unlike=HALF,
)
row("cholesky_inverse", lambda x: np.linalg.inv(tri(x, False) @ tri(x, False).T), REAL, case(np.linalg.cholesky(P)), unlike=HALF)
row("qr", lambda x: tuple(np.linalg.qr(x)), REAL, case(TALL), unlike=UNIQUE)
row("svd", lambda x: (lambda u, s, v: (u, s, v.T))(*np.linalg.svd(x, False)), REAL, case(TALL), unlike=UNIQUE)
row("triangular_solve", lambda y, x, upper=True: (np.linalg.solve(tri(x, upper), y), x), REAL, case(RIGHT, A), unlike=HALF)
row(
    "lu_solve",
    lambda y, x, p: np.linalg.solve((np.tril(x, -1) + np.eye(3)) @ np.triu(x), y),
    REAL,
    case(RIGHT, A, STEPS),
    unlike=HALF,
)
row(
    "lu",
    lambda x, get_infos=False: (elimination(x), np.arange(1, 4), *([np.zeros(())] if get_infos else [])),
    REAL,
    case(A),
    case(A, get_infos=True),
    unlike=HALF,
)
row("lu_unpack", lambda x, p: (np.eye(3), np.tril(x, -1) + np.eye(3), np.triu(x)), REAL, case(A, STEPS), unlike=HALF)
row("orgqr", ROWS["householder_product"][0], REAL, case(TALL, np.array([0.5, 1.25])), unlike=HALF)
row("geqrf", lambda x: (lambda turned, tau: (turned.T, tau))(*np.linalg.qr(x, mode="raw")), REAL, case(TALL), unlike=NONE)
row(
    "ormqr",
    lambda x, tau, other, left=True, transpose=False: (lambda q: q @ other if left else other @ q)(
        reflections(x, tau).T if transpose else reflections(x, tau)
    ),
    REAL,
    case((3, 2), (2,), (3, 2)),
    case((3, 2), (2,), (2, 3), left=False, transpose=True),
    errors=[fails(ShapeError, "3 rows of other", TALL, np.array([0.5, 1.25]), (2, 3))],
    unlike=HALF,
)
row("nuclear_norm", lambda x: np.linalg.norm(x, "nuc"), REAL, case(A), unlike=HALF)


# ---- L D L^T -------------------------------------------------------------------------------------------------------------

# Of a symmetric matrix whose pivots are its diagonal's, with L and D in one; no derivative, and what is exchanged is LAPACK's.
SYMMETRIC_3 = np.array([[4.0, 1.0, 2.0], [1.0, -5.0, 0.5], [2.0, 0.5, 6.0]])
LD = np.array([[4.0, 0.0, 0.0], [0.25, -5.25, 0.0], [0.5, 0.0, 5.0]])
IN_PLACE = np.array([1, 2, 3], np.int32)
REFUSED = {**HALF, "formula": "it has no derivative", "gradient": "it has none"}

row("linalg_ldl_factor", lambda x: (LD, IN_PLACE), REAL, case(SYMMETRIC_3), unlike=REFUSED)
row("linalg_ldl_factor_ex", lambda x: (LD, IN_PLACE, np.array(0)), REAL, case(SYMMETRIC_3), unlike=REFUSED)
row(
    "linalg_ldl_solve",
    lambda x, pivots, y: np.linalg.solve(SYMMETRIC_3, y),
    REAL,
    case(LD, IN_PLACE, RIGHT),
    errors=[fails(ShapeError, "square", (2, 3), IN_PLACE, RIGHT)],
    unlike=REFUSED,
)
row("ldl", lambda x, hermitian: (LD, IN_PLACE, np.array(0)), REAL, case(SYMMETRIC_3, False), unlike=REFUSED)
row(
    "ldl_solution",
    lambda x, pivots, y, hermitian: np.linalg.solve(SYMMETRIC_3, y),
    REAL,
    case(LD, IN_PLACE, RIGHT, False),
    unlike=REFUSED,
)
