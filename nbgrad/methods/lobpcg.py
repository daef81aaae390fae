"""A few eigenvalues of a large symmetric matrix, of which only products with vectors are asked: ``lobpcg``."""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import float32, float64
from ..base.errors import DTypeError, NotSupportedError, RangeError, ShapeError
from ..base.grad_mode import mode
from ..base.mode_contexts import no_grad
from ..graph.edges import requires_grad
from ..tensors.tensor import Tensor
from .low_rank import orthonormal, require_matrix
from .random import randn

__all__ = ["lobpcg"]

MOST_STEPS = 1000


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: dict | None = None,
    ortho_fparams: dict | None = None,
    ortho_bparams: dict | None = None,
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest, or smallest, solutions of ``A x = e B x``, by locally optimal block conjugate gradients.

    Where gradients are recorded, and for small matrices, all eigenvalues are computed, of which these are some: they have
    derivatives of every order. Eigenvectors have any sign, and those of equal eigenvalues are any basis.

    Args:
        A: ``(*, m, m)``, symmetric, single or double precision; without gradients a sparse matrix, too.
        k: how many; as many as ``X`` has columns, or 1, unless given.
        B: ``(*, m, m)``, symmetric and positive definite; None is the identity.
        X: ``(*, m, n)``, first guesses of eigenvectors, at least ``k``; random ones unless given.
        n: how many guesses are drawn; ``k`` unless given.
        iK: ``(*, m, m)``, a preconditioner: nearly the inverse of ``A``.
        niter: how many steps at most; 1000 unless given, -1 for any number.
        tol: of ``|A x - e B x|`` relative to ``|A| |x|``; the square root of the dtype's precision unless given.
        largest: True unless given.
        method: torch's word; both ways, "basic" and "ortho", are the robust one.
        tracker: must be None.
        ortho_iparams, ortho_fparams, ortho_bparams: torch's options of the second way, which have no effect.

    Returns:
        ``(*, k)`` eigenvalues, the largest, or smallest, first; ``(*, m, k)`` eigenvectors, orthonormal with respect to ``B``.

    Raises:
        ShapeError: no square matrices. RangeError: ``k`` or ``n`` are no counts of eigenvalues, or ``method`` is another word.
        DTypeError: neither single nor double precision, or complex.
        NotSupportedError: a tracker; gradients of a sparse matrix.

    Source: A. V. Knyazev, "Toward the Optimal Preconditioned Eigensolver", SIAM J. Sci. Comput. 23, 2001.

    >>> import nbgrad
    >>> values, vectors = nbgrad.lobpcg(nbgrad.diag(nbgrad.tensor([1.0, 5.0, 3.0, 2.0])))
    >>> values.round(), vectors.abs().round().flatten()
    (tensor([5.]), tensor([0., 1., 0., 0.]))
    """
    if tracker is not None:
        raise NotSupportedError("lobpcg: there is no tracker here. Hint: niter=, and X= of the call before, go on from there.")
    if method not in (None, "basic", "ortho"):
        raise RangeError(f"lobpcg: method is {method!r}, expected 'basic' or 'ortho'.")
    rows, columns = require_matrix("lobpcg", A)
    if rows != columns:
        raise ShapeError(f"lobpcg: A is {list(A.shape)}, expected square matrices.")
    if A.dtype not in (float32, float64):
        raise DTypeError(f"lobpcg: A is {A.dtype}, expected float32 or float64.")
    k = k or (1 if X is None else X.shape[-1])
    guesses = X.shape[-1] if X is not None else n or k
    if not 1 <= k <= guesses <= rows:
        raise RangeError(f"lobpcg: k is {k}, of {guesses} guesses, expected 1 <= k <= guesses <= {rows}.")
    recorded = mode.enabled and any(x is not None and requires_grad(x) for x in (A, B))
    if recorded and A.is_sparse:
        raise NotSupportedError("lobpcg: a sparse matrix has no gradient here. Hint: A.to_dense(), or detach().")
    if recorded or 3 * guesses > rows:
        return first_of(*all_pairs(A, B), k, largest is not False)
    with no_grad():
        start = randn(*A.shape[:-2], rows, guesses, dtype=A.dtype, device=A.device) if X is None else X
        steps = MOST_STEPS if niter is None else niter
        error = 2.0 ** (-12 if A.dtype is float32 else -26) if tol is None else tol
        return iterated(A, B, start, iK, k, steps, error, largest is not False)


def all_pairs(A: Tensor, B: Tensor | None) -> tuple[Tensor, Tensor]:
    """All eigenvalues, from the smallest on, and their vectors."""
    A = A if not A.is_sparse else A.to_dense()
    A = (A + A.mT) / 2
    if B is None:
        return tuple(CALLS["linalg_eigh"](A))
    low = CALLS["linalg_cholesky"](B)
    solved = CALLS["linalg_solve_triangular"]
    values, vectors = CALLS["linalg_eigh"](solved(low, solved(low, A, upper=False).mT, upper=False))
    return values, solved(low.mT, vectors, upper=True)


def first_of(values: Tensor, vectors: Tensor, k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The first ``k`` of eigenvalues in rising order, or the last, turned round."""
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


def best_in(A: Any, B: Any, span: Tensor, count: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The best eigenvalues and vectors in a span: those of the small problem in an orthonormal basis of it."""
    product, basis = CALLS["matmul"], orthonormal(span)
    small = product(basis.mT, product(A, basis))
    of_b = None if B is None else product(basis.mT, product(B, basis))
    values, vectors = first_of(*all_pairs(small, of_b), count, largest)
    return values, product(basis, vectors)


def iterated(A: Any, B: Any, X: Any, iK: Any, k: int, steps: int, tol: float, largest: bool) -> tuple[Tensor, Tensor]:
    """The pairs by steps: each takes the best vectors in the span of guesses, residuals, and the directions of the step before."""
    product, count = CALLS["matmul"], X.shape[-1]
    size = length(product(A, X)).amax(-1, True) / length(X).amin(-1, True)  # |A|, from below
    values, X = best_in(A, B, X, count, largest)
    directions: list[Tensor] = []
    while True:
        residual = product(A, X) - (X if B is None else product(B, X)) * values.unsqueeze(-2)
        error = length(residual) / (length(X) * (size + values.abs()))
        if steps == 0 or bool((error[..., :k] <= tol).all()):
            return values[..., :k], X[..., :k]
        steps -= 1
        better = residual if iK is None else product(iK, residual)
        better = better / length(better).clamp(min=1e-30).unsqueeze(-2)
        values, moved = best_in(A, B, CALLS["cat"]([X, better, *directions], -1), count, largest)
        along = moved - product(X, product(X.mT, moved if B is None else product(B, moved)))
        directions, X = [along / length(along).clamp(min=1e-30).unsqueeze(-2)], moved


def length(x: Tensor) -> Tensor:
    """The lengths of columns."""
    return x.square().sum(-2).sqrt()
