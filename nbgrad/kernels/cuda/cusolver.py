"""Decompositions and systems by cuSOLVER's 64-bit functions, and triangular systems by cuBLAS: one matrix at a time, by columns; or
all of a batch by one call, where the libraries have that: matrices side by side, or their addresses in memory of the GPU.

They are called from Python: what they find wrong with a matrix is read before the call returns anyway. Whoever calls gives memory
that is its own on the current stream.

Source of names, numbers and order of parameters: cuSOLVER Library and cuBLAS Library User Guide.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from ...base.bounded import keep
from ...base.locks import cached_once, new_rlock
from .cublas import OPERATIONS, TYPES, constants, made
from .driver import card
from .libraries import Library, found_library

__all__ = ["Session", "solvers"]

OLDEST = 11400  # version 11.4
STATUS = {1: "NOT_INITIALIZED", 2: "ALLOC_FAILED", 3: "INVALID_VALUE", 4: "ARCH_MISMATCH", 5: "MAPPING_ERROR"}
STATUS |= {6: "EXECUTION_FAILED", 7: "INTERNAL_ERROR", 8: "MATRIX_TYPE_NOT_SUPPORTED", 9: "NOT_SUPPORTED", 31: "INVALID_WORKSPACE"}
LETTERS = {"float32": "S", "float64": "D", "complex64": "C", "complex128": "Z"}


def of_each(name: str) -> dict[str, str]:
    """The functions of a name, by the dtype that its letter says."""
    return {dtype: name.format(letter) for dtype, letter in LETTERS.items()}


REFLECTORS = {dtype: f"cusolverDn{letter}{'ung' if dtype.startswith('c') else 'org'}qr" for dtype, letter in LETTERS.items()}
CHOLESKY_OF_MANY, SINGULAR_OF_MANY = of_each("cusolverDn{}potrfBatched"), of_each("cusolverDn{}gesvdjBatched")
# Those that came with later versions than the oldest one.
LATER = {
    "cusolverDnXsyevBatched_bufferSize": "ppiiqipqipippq",
    "cusolverDnXsyevBatched": "ppiiqipqipipnpnpq",
    "cusolverDnXgeev_bufferSize": "ppiiqipqipipqipqipp",
    "cusolverDnXgeev": "ppiiqipqipipqipqipnpnp",
}
FUNCTIONS = {
    "cusolverGetVersion": "p",
    "cusolverDnCreate": "p",
    "cusolverDnSetStream": "pp",
    "cusolverDnCreateParams": "p",
    "cusolverDnCreateGesvdjInfo": "p",
    "cusolverDnXpotrf_bufferSize": "ppiqipqipp",
    "cusolverDnXpotrf": "ppiqipqipnpnp",
    "cusolverDnXgetrf_bufferSize": "ppqqipqipp",
    "cusolverDnXgetrf": "ppqqipqpipnpnp",
    "cusolverDnXgetrs": "ppiqqipqpipqp",
    "cusolverDnXgeqrf_bufferSize": "ppqqipqipipp",
    "cusolverDnXgeqrf": "ppqqipqipipnpnp",
    "cusolverDnXsyevd_bufferSize": "ppiiqipqipipp",
    "cusolverDnXsyevd": "ppiiqipqipipnpnp",
    "cusolverDnXgesvd_bufferSize": "ppbbqqipqipipqipqipp",
    "cusolverDnXgesvd": "ppbbqqipqipipqipqipnpnp",
    **{f"{name}_bufferSize": "piiipipp" for name in REFLECTORS.values()},
    **dict.fromkeys(REFLECTORS.values(), "piiipippip"),
    **dict.fromkeys(CHOLESKY_OF_MANY.values(), "piipipi"),
    **{f"{name}_bufferSize": "piiipippipippi" for name in SINGULAR_OF_MANY.values()},
    **dict.fromkeys(SINGULAR_OF_MANY.values(), "piiipippipipippi"),
    **LATER,
}
TRIANGULAR, TRIANGULAR_OF_MANY = of_each("cublas{}trsm_v2_64"), of_each("cublas{}trsmBatched")
ELIMINATE, SUBSTITUTE = of_each("cublas{}getrfBatched"), of_each("cublas{}getrsBatched")
INVERT, REFLECT = of_each("cublas{}matinvBatched"), of_each("cublas{}geqrfBatched")
BLAS_FUNCTIONS = {
    "cublasCreate_v2": "p",
    "cublasSetStream_v2": "pp",
    "cublasGetProperty": "ip",
    "cublasGetStatusName": "i>s",
    **dict.fromkeys(TRIANGULAR.values(), "piiiiqqppqpq"),
    **dict.fromkeys(TRIANGULAR_OF_MANY.values(), "piiiiiippipii"),
    **dict.fromkeys(ELIMINATE.values(), "pipippi"),
    **dict.fromkeys(SUBSTITUTE.values(), "piiipippipi"),
    **dict.fromkeys(INVERT.values(), "pipipipi"),
    **dict.fromkeys(REFLECT.values(), "piipippi"),
}
BYTES = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
SMALL = 32  # the greatest order of matrices that matinvBatched and gesvdjBatched take
LOWER, UPPER = 0, 1  # cublasFillMode_t
RIGHT = 1  # cublasSideMode_t


class Solvers(NamedTuple):
    """The two libraries."""

    solver: Library
    blas: Library


@cached_once
def solvers() -> Solvers | None:
    """The libraries; None where one of them is not there."""
    solver = found_library("cusolver", FUNCTIONS, STATUS, solver_version, OLDEST, "cuda-linalg", LATER)
    blas = found_library("cublas", BLAS_FUNCTIONS, "cublasGetStatusName", blas_version, 12, "cuda-linalg")
    return None if solver is None or blas is None else Solvers(solver, blas)


def solver_version(library: Library) -> int:
    """As in 12004 of version 12.0.4."""
    cell = ctypes.c_int()
    library.call("cusolverGetVersion", ctypes.addressof(cell))
    return cell.value


def blas_version(library: Library) -> int:
    """The first number."""
    cell = ctypes.c_int()
    library.call("cublasGetProperty", 0, ctypes.addressof(cell))
    return cell.value


class Handles(NamedTuple):
    """Of both libraries for a GPU, and cuSOLVER's parameters: of its 64-bit functions, and of singular values by rotations."""

    solver: int
    parameters: int
    rotations: int
    blas: int


@cached_once
def handles_of(gpu: int) -> Handles:
    """They live as long as the process."""
    found = solvers()
    assert found is not None
    card(gpu).activate()
    solver, parameters, rotations = (made(found.solver, f"cusolverDnCreate{each}") for each in ("", "Params", "GesvdjInfo"))
    return Handles(solver, parameters, rotations, made(found.blas, "cublasCreate_v2"))


lock = new_rlock()  # a handle has one stream


class Work(NamedTuple):
    """Bytes that a function works in: on the GPU, and on the host."""

    there: int
    here: int


_works: dict[tuple, Work] = {}


def work_of(gpu: int, function: str, arguments: tuple[int, ...], count: tuple[int, ...]) -> Work:
    """What a function of cuSOLVER asks for; ``arguments``: of the question, but for handle, parameters, answers and ``count``."""
    found, handles, question = solvers(), handles_of(gpu), f"{function}_bufferSize"
    assert found is not None
    key = gpu, function, *(x for x, kind in zip(arguments, FUNCTIONS[question][2:]) if kind != "p"), *count
    if key not in _works:
        there, here = ctypes.c_size_t(), ctypes.c_size_t()
        answers = ctypes.addressof(there), ctypes.addressof(here)
        found.solver.call(question, handles.solver, handles.parameters, *arguments, *answers, *count)
        keep(_works, key, Work(there.value, here.value))
    return _works[key]


class Session:
    """Calls for matrices of one dtype on a stream of a GPU.

    Args:
        space: ``space(bytes)``, something that keeps memory, and its address.
    """

    def __init__(self, gpu: int, stream: int, dtype: str, space):
        found = solvers()
        assert found is not None
        card(gpu).ask_guard("read")
        card(gpu).activate()
        self.gpu, self.stream, self.dtype, self.space = gpu, stream, dtype, space
        self.found, self.handles = found, handles_of(gpu)
        self.kind = TYPES[dtype].element
        self.hosts: list[Any] = []  # memory of the host that functions work in, which may outlast the call
        self.real = TYPES[{"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)].element

    def by_solver(self, function: str, *arguments: int) -> None:
        """Call a function of cuSOLVER."""
        with lock:
            self.found.solver.call("cusolverDnSetStream", self.handles.solver, self.stream)
            self.found.solver.call(function, self.handles.solver, *arguments)

    def solve(self, function: str, *arguments: int) -> None:
        """Call one of its 64-bit functions."""
        self.by_solver(function, self.handles.parameters, *arguments)

    def in_space(self, function: str, asked: tuple[int, ...], arguments: tuple[int, ...], info: int, *count: int) -> None:
        """Call a function with the memory that it works in; ``asked``: the arguments of the question how much that is."""
        work = work_of(self.gpu, function, asked, count)
        here = ctypes.create_string_buffer(max(work.here, 1))
        self.hosts.append(here)
        kept, there = self.space(max(work.there, 1))
        self.solve(function, *arguments, there, work.there, ctypes.addressof(here), work.here, info, *count)

    def in_elements(self, function: str, arguments: tuple[int, ...], info: int, *more: int) -> None:
        """``in_space`` of the functions of a letter, which count the elements of their dtype; ``more`` stands behind the report."""
        size = ctypes.c_int()
        self.found.solver.call(f"{function}_bufferSize", self.handles.solver, *arguments, ctypes.addressof(size), *more)
        kept, there = self.space(max(size.value, 1) * BYTES[self.dtype])
        self.by_solver(function, *arguments, there, size.value, info, *more)

    def by_blas(self, function: dict[str, str], *arguments: int) -> None:
        """Call a function of cuBLAS."""
        with lock:
            self.found.blas.call("cublasSetStream_v2", self.handles.blas, self.stream)
            self.found.blas.call(function[self.dtype], self.handles.blas, *arguments)

    def cholesky(self, n: int, a: int, info: int) -> None:
        """The factor U^H U of what lies above the diagonal, there."""
        arguments = UPPER, n, self.kind, a, n, self.kind
        self.in_space("cusolverDnXpotrf", arguments, arguments, info)

    def cholesky_of_many(self, n: int, places: int, info: int, count: int) -> None:
        """Cholesky factors of ``count`` matrices, whose addresses are in ``places``; what lies below the diagonals is lost."""
        self.by_solver(CHOLESKY_OF_MANY[self.dtype], UPPER, n, places, n, info, count)

    def eliminate_many(self, n: int, places: int, pivots: int, info: int, count: int) -> None:
        """``eliminate`` of square matrices, whose addresses are in ``places``; the numbers of rows have 32 bits."""
        self.by_blas(ELIMINATE, n, places, n, pivots, info, count)

    def substitute_many(self, turn: str, n: int, columns: int, places: int, pivots: int, right: int, count: int) -> None:
        """``substitute`` of matrices and right sides whose addresses are there."""
        said = ctypes.c_int()  # which argument is wrong: a status says as much
        arguments = OPERATIONS[turn], n, columns, places, n, pivots, right, n
        self.by_blas(SUBSTITUTE, *arguments, ctypes.addressof(said), count)

    def invert_many(self, n: int, places: int, inverses: int, info: int, count: int) -> None:
        """The inverses of small matrices, in other memory, and the step that found no pivot, from 1 on."""
        self.by_blas(INVERT, n, places, n, inverses, n, info, count)

    def reflect_many(self, m: int, n: int, places: int, tau: int, count: int) -> None:
        """``reflect`` of matrices whose addresses, and those of their factors, are there."""
        said = ctypes.c_int()
        self.by_blas(REFLECT, m, n, places, m, tau, ctypes.addressof(said), count)

    def eliminate(self, m: int, n: int, a: int, pivots: int, info: int) -> None:
        """L and U in the place of a matrix (m, n), and the row, from 1 on, that each step exchanged with its own."""
        asked = m, n, self.kind, a, m, self.kind
        self.in_space("cusolverDnXgetrf", asked, (m, n, self.kind, a, m, pivots, self.kind), info)

    def substitute(self, turn: str, n: int, count: int, a: int, pivots: int, b: int, info: int) -> None:
        """The solutions of ``count`` systems in the place of their right sides, of a matrix that was eliminated."""
        self.solve("cusolverDnXgetrs", OPERATIONS[turn], n, count, self.kind, a, n, pivots, self.kind, b, n, info)

    def reflect(self, m: int, n: int, a: int, tau: int, info: int) -> None:
        """R above the diagonal, and reflectors below, in the place of a matrix (m, n)."""
        arguments = m, n, self.kind, a, m, self.kind, tau, self.kind
        self.in_space("cusolverDnXgeqrf", arguments, arguments, info)

    def orthogonal(self, m: int, n: int, k: int, a: int, tau: int, info: int) -> None:
        """Q (m, n) in the place of k reflectors."""
        self.in_elements(REFLECTORS[self.dtype], (m, n, k, a, m, tau), info)

    def hermitian(self, vectors: bool, upper: bool, n: int, a: int, w: int, info: int) -> None:
        """Eigenvalues, in rising order, and the vectors in the place of the matrix, of which one triangle is read."""
        arguments = int(vectors), UPPER if upper else LOWER, n, self.kind, a, n, self.real, w, self.kind
        self.in_space("cusolverDnXsyevd", arguments, arguments, info)

    def hermitian_of_many(self, vectors: bool, upper: bool, n: int, a: int, w: int, info: int, count: int) -> None:
        """Eigenvalues and vectors of Hermitian matrices that lie side by side: see ``hermitian``."""
        arguments = int(vectors), UPPER if upper else LOWER, n, self.kind, a, n, self.real, w, self.kind
        self.in_space("cusolverDnXsyevBatched", arguments, arguments, info, count)

    def has(self, function: str) -> bool:
        """Whether the library has one of the functions of later versions."""
        return function in self.found.solver.functions

    def eigen(self, vectors: bool, n: int, a: int, w: int, v: int, info: int) -> None:
        """Eigenvalues of any matrix, of a real one their real parts and then the others, and vectors as LAPACK gives them."""
        k = self.kind
        arguments = 0, int(vectors), n, k, a, n, k, w, k, 0, n, k, v, n, k
        self.in_space("cusolverDnXgeev", arguments, arguments, info)

    def singular(self, job: str, m: int, n: int, a: int, s: int, u: int, v: int, info: int) -> None:
        """Singular values of a matrix (m, n) with m >= n, and vectors: all ("A"), as many as columns ("S"), none ("N")."""
        letter, k = ord(job), self.kind
        arguments = letter, letter, m, n, k, a, m, self.real, s, k, u, m, k, v, n, k
        self.in_space("cusolverDnXgesvd", arguments, arguments, info)

    def singular_of_many(self, vectors: bool, m: int, n: int, a: int, s: int, u: int, v: int, info: int, count: int) -> None:
        """Singular values of small matrices that lie side by side, with all vectors: the right ones in columns."""
        arguments = int(vectors), m, n, a, m, s, u, m, v, n
        self.in_elements(SINGULAR_OF_MANY[self.dtype], arguments, info, self.handles.rotations, count)

    def triangular(self, upper: bool, unit: bool, m: int, n: int, a: int, b: int, count: int = 0) -> None:
        """The solution of Z A = B in the place of B (m, n), of a triangle of A; with ``count`` of so many, whose addresses are in
        ``a`` and ``b``.
        """
        one, fill = constants(TYPES[self.dtype].scale)[2], UPPER if upper else LOWER
        function, more = (TRIANGULAR_OF_MANY, (count,)) if count else (TRIANGULAR, ())
        self.by_blas(function, RIGHT, fill, OPERATIONS["N"], int(unit), m, n, one, a, n, b, m, *more)
