"""Pseudo-inverses and least squares."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import int64
from ...base.errors import RangeError, ShapeError
from ...dispatch.arguments import require_tensors
from ...dispatch.device_lowerings import are_on_gpu
from ...lowering.matrices.at_once import at_once
from ...ops.expr import scalar
from ...tensors.arrays import values_of
from ...tensors.batch_levels import whole
from ...tensors.tensor import Tensor
from .decompositions import qr, svdvals
from .norms import matrix_rank
from .operands import checked, h, tolerances
from .results import LstsqResult, first, shortest_solution
from .systems import solve_triangular

__all__: list[str] = []


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
    known = map(numbers_of, ("rtol", "atol"), tolerances(A, atol, rtol))
    return scalar.pseudo_inverse(A, *known, bool(hermitian))


def numbers_of(name: str, tolerance: Any) -> Any:
    """A tolerance as a number, or the numbers of a batch; of a batch of no matrices any number."""
    if isinstance(tolerance, Tensor):
        return values_of(tolerance._constant_("linalg.pinv", name)).tolist() if tolerance.numel() else 0.0
    return float(tolerance) if type(tolerance) is int else tolerance


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
