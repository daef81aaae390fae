# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

from builtins import bool as _bool, int as _int
from .base.dtypes import DType
from .base.errors import LinAlgError as LinAlgError
from .composites.linalg.results import (
    EigResult, EighResult, InverseWithInfo, LDLFactors, LDLFactorsWithInfo, LUFactors, LUFactorsWithInfo, LUResult, LstsqResult,
    QRResult, SVDResult, SlogdetResult, SolveWithInfo, WithInfo,
)
from .tensors.members import Array, Ints, Number
from .tensors.tensor import Tensor

def cholesky(A: Array, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangle L with A = L @ L^H of positive definite matrices; with ``upper`` L^H."""
def cholesky_ex(A: Array, *, upper: _bool = False, check_errors: _bool = False, out: Tensor | None = None) -> WithInfo:
    """(L, info); info is the order of the first part that is not positive definite, 0 if there is none."""
def cond(A: Array, p: Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number of matrices in a norm of ``matrix_norm``, 2 by default."""
def cross(input: Array, other: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The vector product along a dimension of size 3; the operands broadcast."""
def det(A: Array, *, out: Tensor | None = None) -> Tensor: """The determinant of square matrices."""
def diagonal(A: Array, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1, out: Tensor | None = None) -> Tensor:
    """The diagonals of matrices, as a view."""
def eig(A: Array, *, out: Tensor | None = None) -> EigResult:
    """(eigenvalues, eigenvectors) of square matrices: complex, the vectors of length 1, in no particular order."""
def eigh(A: Array, UPLO: str = 'L', *, out: Tensor | None = None) -> EighResult:
    """(eigenvalues, eigenvectors) of symmetric or Hermitian matrices, in ascending order; one triangle is looked at."""
def eigvals(A: Array, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of square matrices: complex, in no particular order."""
def eigvalsh(A: Array, UPLO: str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order."""
def householder_product(A: Array, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of Householder's reflections, whose vectors are below the diagonal of A."""
def inv(A: Array, *, out: Tensor | None = None) -> Tensor: """The inverse of square matrices."""
def inv_ex(A: Array, *, check_errors: _bool = False, out: Tensor | None = None) -> InverseWithInfo:
    """(inverse, info) of square matrices; of singular ones the inverse is NaN, and info the first row without a pivot, from 1
    on."""
def ldl_factor(A: Array, *, hermitian: _bool = False, out: Tensor | None = None) -> LDLFactors:
    """(LD, pivots) of symmetric matrices, or with ``hermitian`` of Hermitian ones: what ``ldl_solve`` takes."""
def ldl_factor_ex(A: Array, *, hermitian: _bool = False, check_errors: _bool = False,
                  out: Tensor | None = None) -> LDLFactorsWithInfo:
    """(LD, pivots, info) of ``ldl_factor``; info is the first step, counted from 1, without a pivot, else 0."""
def ldl_solve(LD: Array, pivots: Tensor, B: Tensor, *, hermitian: _bool = False, out: Tensor | None = None) -> Tensor:
    """The X with A @ X = B, from what ``ldl_factor(A, hermitian=hermitian)`` returns."""
def lstsq(A: Array, B: Tensor, rcond: Number | None = None, *, driver: str | None = None, out: Tensor | None = None) -> LstsqResult:
    """(solution, residuals, rank, singular_values) of the X that minimises the length of A @ X - B."""
def lu(A: Array, *, pivot: _bool = True, out: Tensor | None = None) -> LUResult:
    """(P, L, U) with A = P @ L @ U: a permutation, a unit lower and an upper triangle."""
def lu_factor(A: Array, *, pivot: _bool = True, out: Tensor | None = None) -> LUFactors:
    """(LU, pivots): both triangles of ``lu`` in one matrix, and the row, counted from 1, that each step exchanged with its own."""
def lu_factor_ex(A: Array, *, pivot: _bool = True, check_errors: _bool = False, out: Tensor | None = None) -> LUFactorsWithInfo:
    """(LU, pivots, info) of ``lu_factor``; info is the first row, counted from 1, where the diagonal of U is 0, else 0."""
def lu_solve(LU: Array, pivots: Tensor, B: Tensor, *, left: _bool = True, adjoint: _bool = False,
             out: Tensor | None = None) -> Tensor:
    """The X with A @ X = B, or X @ A = B, from what ``lu_factor(A)`` returns; with ``adjoint`` of A^H."""
def matmul(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor: """The matrix product: see ``nbgrad.matmul``."""
def matrix_exp(A: Array, *, out: Tensor | None = None) -> Tensor: """The exponential of square matrices."""
def matrix_norm(A: Array, ord: Number | str = 'fro', dim: Ints = (-2, -1), keepdim: _bool = False, *, dtype: DType | None = None,
                axis: Ints | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """A norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2 or -2."""
def matrix_power(A: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of square matrices, by squaring, of any dtype that has products; of a negative n that of the inverse."""
def matrix_rank(A: Array, tol: Number | None = None, hermitian: _bool = False, *, atol: Number | None = None,
                rtol: Number | None = None, out: Tensor | None = None) -> Tensor:
    """How many singular values are greater than max(atol, rtol * the greatest). It has no gradient."""
def multi_dot(tensors: Array, *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices in the order that takes the fewest multiplications; the ends may be vectors."""
def norm(A: Array, ord: Number | None = None, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None,
         axis: Ints | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """``vector_norm`` of one dimension, or of all elements without ``ord``; ``matrix_norm`` of two."""
def pinv(A: Array, rcond: Number | None = None, hermitian: _bool = False, *, atol: Number | None = None, rtol: Number | None = None,
         out: Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to max(atol, rtol * the greatest) count as 0."""
def qr(A: Array, mode: str = 'reduced', *, out: Tensor | None = None) -> QRResult:
    """(Q, R) with A = Q @ R: orthonormal columns and an upper triangle. ``mode`` is "reduced", "complete" or "r"."""
def slogdet(A: Array, *, out: Tensor | None = None) -> SlogdetResult:
    """(sign, logabsdet): the determinant's sign, and the logarithm of its magnitude."""
def solve(A: Array, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """The X with A @ X = B, or X @ A = B; B is a matrix, a vector, or a batch of either."""
def solve_ex(A: Array, B: Tensor, *, left: _bool = True, check_errors: _bool = False, out: Tensor | None = None) -> SolveWithInfo:
    """(result, info) of ``solve``; see ``inv_ex``."""
def solve_triangular(A: Array, B: Tensor, *, upper: _bool, left: _bool = True, unitriangular: _bool = False,
                     out: Tensor | None = None) -> Tensor:
    """``solve`` of a triangle of A; what is on the other side of its diagonal is not looked at."""
def svd(A: Array, full_matrices: _bool = True, *, driver: str | None = None, out: Tensor | None = None) -> SVDResult:
    """(U, S, Vh) with A = U @ diag(S) @ Vh, singular values in descending order."""
def svdvals(A: Array, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values, in descending order."""
def tensorinv(A: Array, ind: _int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor whose first ``ind`` dimensions are seen as rows and the others as columns."""
def tensorsolve(A: Array, B: Tensor, dims: Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """The X with tensordot(A, X, X.ndim) = B."""
def vander(x: Array, *, N: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Powers of the elements of vectors, from 1 up, one a column."""
def vecdot(x: Array, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """Sums of products along a dimension, the first operand conjugated."""
def vector_norm(x: Array, ord: Number = 2, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None,
                axis: Ints | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The p-norm over dimensions, of all elements by default."""
