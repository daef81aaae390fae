"""Eigenvalues and singular values on a GPU by cuSOLVER: NOTE [By columns] and NOTE [Errors of matrices] of solvers.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.calls import CALLS
from ...base.dtypes import complex64, complex128, float32
from ...base.errors import LinAlgError
from ...creation import factories
from ...kernels.cuda.cusolver import SMALL, solvers
from ...tensors.tensor import Tensor
from ..matrices.requirements import not_finite
from .solvers import Matrices, adjoint_of, by_columns, copied, numbers, packed, solver, turned

__all__: list[str] = []


# Matrices side by side that one call takes: of some more than twice as many the library has been seen to refuse.
SIDE_BY_SIDE = 16_384


def is_finite(x: Tensor, upper: bool | None = None) -> Tensor:
    """Whether matrices have neither infinities nor NaN; Hermitian ones in the triangle that is read."""
    seen = x if upper is None else x.triu() if upper else x.tril()
    return CALLS["isfinite"](seen).all(-1).all(-1)


def said(here: Matrices, finite: Tensor) -> Tensor:
    """What was found wrong with matrices: -1 of those that are not finite, so that both are read at once."""
    return CALLS["where"](finite, here.info, -1)


def require_found(here: Matrices, what: str, said: np.ndarray) -> None:
    """Refuse matrices that are not finite, and what did not come to an end.

    Raises:
        LinAlgError: there is one.
    """
    if (said < 0).any():
        raise not_finite(here.op.public, said >= 0)
    if said.any():
        raise LinAlgError(f"{here.op.public}: {what} did not converge.")


# ---- Hermitian matrices ------------------------------------------------------------------------------------------------


def hermitian(op: Any, x: Tensor, upper: bool, vectors: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues, and vectors in rows. By columns the matrix is its conjugate, of the other triangle; and so are the vectors.

    Those of a batch are decomposed by one call, where the library has ``syevBatched``; complex64 in double precision, since of
    that dtype it has been seen to give wrong vectors and say nothing. The same is known of the older ``syevjBatched``.

    Source: https://github.com/JuliaGPU/CUDA.jl/pull/2577, https://github.com/cupy/cupy/issues/4847,
    https://github.com/pytorch/pytorch/issues/192483.
    """
    here, n = Matrices(op, x), x.layout.shape[-1]
    together = here.count > 1 and here.session.has("cusolverDnXsyevBatched")
    if together and x.layout.dtype is complex64:
        w, v = hermitian(op, x.to(complex128), upper, vectors)
        return w.to(float32), v.to(complex64)
    v, w, session = copied(x), here.new((*here.batch, n), here.real), here.session
    if together:
        here.parts(
            SIDE_BY_SIDE, lambda count, a, w, info: session.hermitian_of_many(vectors, not upper, n, a, w, info, count), v, w
        )
    else:
        here.each(lambda a, w, info: session.hermitian(vectors, not upper, n, a, w, info), v, w)
    require_found(here, "Eigenvalues", numbers(said(here, is_finite(x, upper))))
    return w, v


@solver("eigh_row")
def _eigh_row(op, attributes, x):
    w, v = hermitian(op, x, attributes["upper"], True)
    return packed(turned(v).conj(), w.to(x.layout.dtype))


@solver("hermitian_eigenvalues")
def _hermitian_eigenvalues(op, attributes, x):
    return hermitian(op, x, attributes["upper"], False)[0]


# ---- any matrices ------------------------------------------------------------------------------------------------------


def eigen(op: Any, x: Tensor, vectors: bool) -> tuple[Tensor, Tensor]:
    """Complex eigenvalues, and vectors in columns, one matrix after the other."""
    finite = numbers(is_finite(x))  # before: of others the library might never come back
    if not finite.all():
        raise not_finite(op.public, finite)
    here, a, n = Matrices(op, x), by_columns(x), x.layout.shape[-1]
    is_real = not x.layout.dtype.is_complex
    w, v = here.new((*here.batch, 2 * n if is_real else n)), here.new(x.layout.shape)
    here.each(lambda a, w, v, info: here.session.eigen(vectors, n, a, w, v, info), a, w, v)
    require_found(here, "Eigenvalues", numbers(here.info))
    if not is_real:
        return w, turned(v)
    w = CALLS["complex"](w[..., :n], w[..., n:])
    return w, paired(w.imag[..., None, :], turned(v)) if vectors else v


def paired(imaginary: Tensor, v: Tensor) -> Tensor:
    """The complex vectors of a real matrix, of which the columns of a pair hold real and imaginary parts."""
    first, second = imaginary > 0, imaginary < 0
    before, behind = CALLS["roll"](v, 1, -1), CALLS["roll"](v, -1, -1)
    real = CALLS["where"](second, before, v)
    return CALLS["complex"](real, CALLS["where"](first, behind, CALLS["where"](second, -v, 0.0)))


def has_eigen() -> bool:
    """Whether the library decomposes matrices that are not Hermitian."""
    found = solvers()
    return found is not None and "cusolverDnXgeev" in found.solver.functions


@solver("eig_row", fits=lambda x: has_eigen())
def _eig_row(op, attributes, x):
    w, v = eigen(op, x, True)
    return packed(v, w)


@solver("eigenvalues", fits=lambda x: has_eigen())
def _eigenvalues(op, attributes, x):
    return eigen(op, x, False)[0]


# ---- singular values ---------------------------------------------------------------------------------------------------


def singular(op: Any, x: Tensor, job: str) -> tuple[Tensor, Tensor, Tensor]:
    """U, singular values, and V in rows. A wide matrix is, by columns, its transpose, a tall one: its U and V change places."""
    m, n = x.layout.shape[-2:]
    here, tall = Matrices(op, x), m >= n
    u, s, v = tall_and_singular(here, by_columns if tall else copied, x, job)
    return (turned(u), s, turned(v)) if tall else (v, s, u)


def tall_and_singular(here: Matrices, given: Callable[[Tensor], Tensor], x: Tensor, job: str) -> tuple[Tensor, Tensor, Tensor]:
    """U by columns, singular values, and V^H by columns, of the tall matrices that ``given(x)`` has by columns.

    Small matrices of a batch are rotated together. Those of which that comes to no end, and larger ones, are decomposed one by
    one: what the library has for many of these is told to be inaccurate.
    """
    rows, columns, finite = max(x.layout.shape[-2:]), min(x.layout.shape[-2:]), is_finite(x)
    s = here.new((*here.batch, columns), here.real)
    if here.count > 1 and rows <= SMALL:
        u, v = (here.new((*here.batch, size, size)) for size in (rows, columns))
        session, vectors = here.session, job != "N"
        here.parts(
            SIDE_BY_SIDE,
            lambda count, a, s, u, v, info: session.singular_of_many(vectors, rows, columns, a, s, u, v, info, count),
            *(given(x), s, u, v),
        )
        if not numbers(said(here, finite)).any():
            return u if job == "A" else u[..., :columns, :], s, turned(v).conj()
    u, v = here.new((*here.batch, rows if job == "A" else columns, rows)), here.new((*here.batch, columns, columns))
    here.each(lambda a, s, u, v, info: here.session.singular(job, rows, columns, a, s, u, v, info), given(x), s, u, v)
    require_found(here, "Singular values", numbers(said(here, finite)))
    return u, s, v


@solver("svd_row", square=False)
def _svd_row(op, attributes, x):
    u, s, v = singular(op, x, "A" if attributes["full"] else "S")
    return packed(u, s.to(x.layout.dtype), v)


@solver("singular_values", square=False)
def _singular_values(op, attributes, x):
    return singular(op, x, "N")[1]


@solver("pseudo_inverse", square=False)
def _pseudo_inverse(op, attributes, x):
    """Singular values not greater than both tolerances allow count as 0; these are numbers, or lists of one for each matrix."""
    u, s, v = singular(op, x, "S")
    rtol, atol = (
        factories.tensor(each, dtype=s.layout.dtype, device=s.layout.device).unsqueeze(-1) if isinstance(each, list) else each
        for each in (attributes["rtol"], attributes["atol"])
    )
    counts = (s > s.amax(-1, True) * rtol) & (s > atol)
    inverse = CALLS["where"](counts, 1 / s, 0.0).to(x.layout.dtype)
    return (adjoint_of(v) * inverse[..., None, :]) @ adjoint_of(u)
