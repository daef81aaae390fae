"""L D L^T of symmetric and Hermitian matrices that need not be definite, and systems of equations with them."""

from __future__ import annotations

from ...base.dtypes import int32
from ...base.errors import DTypeError
from ...ops.expr import scalar
from .operands import checked
from .results import LDLFactors, LDLFactorsWithInfo
from .systems import require_regular, same_batch

__all__: list[str] = []


def ldl_factor(A, *, hermitian=False):
    """(LD, pivots) of symmetric matrices, or with ``hermitian`` of Hermitian ones: what ``ldl_solve`` takes.

    LD has L below the diagonal and D on it; of a pivot below 0, which two rows share, D has an element beside the diagonal.
    Of A the lower triangle is read.

    Raises:
        LinAlgError: D is singular. Hint: ldl_factor_ex. NotSupportedError: asked for a derivative.
    """
    return LDLFactors(*factors_and_info("linalg.ldl_factor", A, hermitian, True)[:2])


def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """(LD, pivots, info) of ``ldl_factor``; info is the first step, counted from 1, without a pivot, else 0.

    Raises:
        LinAlgError: there is one, if ``check_errors``. NotSupportedError: asked for a derivative.
    """
    return factors_and_info("linalg.ldl_factor_ex", A, hermitian, check_errors)


def factors_and_info(name: str, A, hermitian: bool, check_errors: bool) -> LDLFactorsWithInfo:
    """The factors of each matrix, and where they end."""
    found = LDLFactorsWithInfo(*scalar.ldl(checked(name, A, True), bool(hermitian)))
    if check_errors:
        require_regular(name, found.info)
    return found


def ldl_solve(LD, pivots, B, *, hermitian=False):
    """The X with A @ X = B, from what ``ldl_factor(A, hermitian=hermitian)`` returns.

    Raises:
        ShapeError, DTypeError: operands that do not go together. NotSupportedError: asked for a derivative by LD.
    """
    if pivots.dtype.is_floating_point or pivots.dtype.is_complex:
        raise DTypeError(f"linalg.ldl_solve: pivots are {pivots.dtype}, expected integers, as ldl_factor gives them.")
    LD, B = same_batch("linalg.ldl_solve", checked("linalg.ldl_solve", LD, True), checked("linalg.ldl_solve", B))
    return scalar.ldl_solution(LD, pivots.to(int32).expand_shape((*LD.shape[:-2], pivots.shape[-1])), B, bool(hermitian))
