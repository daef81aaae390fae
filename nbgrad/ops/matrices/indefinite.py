"""Symmetric and Hermitian matrices that need not be definite: L D L^T, with blocks of one or two rows on the diagonal of D."""

from __future__ import annotations

from ...base.errors import NotSupportedError
from ..core import general, refusing
from ..expr import scalar

__all__: list[str] = []

HIDDEN: dict = {"method": False, "function": False, "out": False, "batched": "looped"}


@refusing
def of_factored(g):
    """Refused, as in torch."""
    raise NotSupportedError(
        "linalg.ldl_factor: the factors have no derivative by the matrix. Hint: linalg.solve, linalg.lu_factor."
    )


@refusing
def of_factors(g):
    """Refused, as in torch."""
    raise NotSupportedError("linalg.ldl_solve: the solution has no derivative by the factors. Hint: linalg.solve.")


def of_right_side(g, x, pivots, hermitian):
    """The solution of the system of the adjoint matrix, which is the conjugate of a symmetric one."""
    if hermitian or not g.dtype.is_complex:
        return scalar.ldl_solution(x, pivots, g, hermitian)
    return scalar.ldl_solution(x, pivots, g.conj(), hermitian).conj()


general(
    "ldl",
    lambda x, hermitian: x,
    {"x": of_factored},
    outputs=3,
    node="LinalgLdlFactorExBackward0",
    public="linalg.ldl_factor",
    doc="L and D in one matrix, the rows that steps exchanged, as LAPACK counts them, and the first step without a pivot, or 0.",
    **HIDDEN,
)
general(
    "ldl_solution",
    lambda x, pivots, y, hermitian: x,
    {"x": of_factors, "y": of_right_side},
    operands=("x", "pivots", "y"),
    node="LinalgLdlSolveBackward0",
    public="linalg.ldl_solve",
    doc="The z with A @ z = y, by what ``ldl`` has made of A.",
    **HIDDEN,
)
