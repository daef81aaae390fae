"""What functions of linear algebra return: named tuples under torch's names, and how they are made of the results of one launch."""

from __future__ import annotations

from typing import Callable, NamedTuple

from ...base.results import result_type
from ...tensors.tensor import Tensor

__all__: list[str] = []


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


@result_type("geqrf")
class Reflections(NamedTuple):
    """What ``geqrf`` returns."""

    a: Tensor
    tau: Tensor


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


@result_type("linalg_ldl_factor")
class LDLFactors(NamedTuple):
    """What ``ldl_factor`` returns."""

    LD: Tensor
    pivots: Tensor


@result_type("linalg_ldl_factor_ex")
class LDLFactorsWithInfo(NamedTuple):
    """What ``ldl_factor_ex`` returns."""

    LD: Tensor
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
