"""Eigenvalues and singular values on a GPU by cuSOLVER: NOTE [By columns] and NOTE [Errors of matrices] of solvers.py."""

from __future__ import annotations

from typing import Any

from ...base.calls import CALLS
from ...base.errors import LinAlgError
from ...dispatch.device_lowerings import on_host
from ...tensors.tensor import Tensor
from ..decompositions import not_finite
from .solvers import Matrices, by_columns, copied, numbers, packed, solver, turned

__all__: list[str] = []


def require_finite(op: Any, x: Tensor, upper: bool | None = None) -> None:
    """Refuse infinities and NaN; of Hermitian matrices in the triangle that is read.

    Raises:
        LinAlgError: there is one.
    """
    seen = x if upper is None else x.triu() if upper else x.tril()
    finite = numbers(CALLS["isfinite"](seen).all(-1).all(-1))
    if not finite.all():
        raise not_finite(op.public, finite)


def require_converged(here: Matrices, what: str) -> None:
    """Refuse what did not come to an end.

    Raises:
        LinAlgError: something did not.
    """
    if numbers(here.info).any():
        raise LinAlgError(f"{here.op.public}: {what} did not converge.")


def hermitian(op: Any, x: Tensor, upper: bool, vectors: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues, and vectors in rows. By columns the matrix is its conjugate, of the other triangle; and so are the vectors."""
    require_finite(op, x, upper)
    here, v, n = Matrices(op, x), copied(x), x.layout.shape[-1]
    w = here.new((*here.batch, n), here.real)
    here.each(lambda a, w, info: here.session.hermitian(vectors, not upper, n, a, w, info), v, w)
    require_converged(here, "Eigenvalues")
    return w, v


@solver("eigh_row")
def _eigh_row(op, attributes, x):
    w, v = hermitian(op, x, attributes["upper"], True)
    return packed(turned(v).conj(), w.to(x.layout.dtype))


@solver("hermitian_eigenvalues")
def _hermitian_eigenvalues(op, attributes, x):
    return hermitian(op, x, attributes["upper"], False)[0]


def singular(op: Any, x: Tensor, job: str) -> tuple[Tensor, Tensor, Tensor]:
    """U, singular values, and V in rows. A wide matrix is, by columns, its transpose, a tall one: its U and V change places."""
    require_finite(op, x)
    here, (m, n) = Matrices(op, x), x.layout.shape[-2:]
    tall = m >= n
    a, rows, columns = (by_columns(x), m, n) if tall else (copied(x), n, m)
    s = here.new((*here.batch, columns), here.real)
    u = here.new((*here.batch, rows if job == "A" else columns, rows))
    v = here.new((*here.batch, columns, columns))
    here.each(lambda a, s, u, v, info: here.session.singular(job, rows, columns, a, s, u, v, info), a, s, u, v)
    require_converged(here, "Singular values")
    return (turned(u), s, turned(v)) if tall else (v, s, u)


@solver("svd_row", square=False)
def _svd_row(op, attributes, x):
    u, s, v = singular(op, x, "A" if attributes["full"] else "S")
    return packed(u, s.to(x.layout.dtype), v)


@solver("singular_values", square=False)
def _singular_values(op, attributes, x):
    return singular(op, x, "N")[1]


@solver("pseudo_inverse", square=False)
def _pseudo_inverse(op, attributes, x):
    """Singular values that are not greater than both tolerances allow count as 0."""
    rtol, atol = attributes["rtol"], attributes["atol"]
    if isinstance(rtol, Tensor) or isinstance(atol, Tensor):
        return on_host(op, (x,), attributes)
    u, s, v = singular(op, x, "S")
    counts = (s > s.amax(-1, True) * rtol) & (s > atol)
    inverse = CALLS["where"](counts, 1 / s, 0.0).to(x.layout.dtype)
    return (copied(turned(v).conj()) * inverse[..., None, :]) @ copied(turned(u).conj())
