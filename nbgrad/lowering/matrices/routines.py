"""Which routine of LAPACK an operation is, for matrices of given layouts: its sizes, letters, results and memory.

``launch`` of launches.py makes a launch of it.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Callable, NamedTuple

import numpy as np

from ...base.dtypes import DType, int32, int64
from ...kernels.cpu.blas import lapack
from ...tensors.layout import Layout

ROW_MAJOR, UPPER, LOWER, AS_GIVEN, TURNED, PLAIN, UNIT = 101, 121, 122, 111, 112, 131, 132
# Up to which condition (in the 1-norm) the inverse gives cofactors to 1e-4 and 1e-10.
WELL_CONDITIONED = {"float32": 1000, "complex64": 1000, "float64": 1000000, "complex128": 1000000}


class Routine(NamedTuple):
    """A call of LAPACK for a matrix.

    Attributes:
        name: of the kernel.
        functions: of LAPACK, and of BLAS with their prefix.
        sizes: m, n and k: see NOTE [Record of LAPACK].
        parts: shape and dtype of every result of a matrix.
        work: elements of the operands' dtype that LAPACK asks for.
        more: further bytes to work in.
        letters, flags: the routine's.
        integers: the size of LAPACK's own integer memory, where that is an argument.
    """

    name: str
    functions: tuple[str, ...]
    sizes: tuple[int, int, int]
    parts: tuple[tuple[tuple[int, ...], DType], ...]
    work: int = 0
    more: int = 0
    letters: tuple[int, int] = (0, 0)
    flags: tuple[int, int] = (0, 0)
    integers: int = 0


def letter(character: str) -> int:
    """What LAPACK reads as a letter, as a word."""
    return ord(character)


@cache
def workspace_size(name: str, dtype: str, arguments: tuple) -> int:
    """How many elements LAPACK wants to work in: the answer to a call with -1 for it.

    ``arguments``: integers and letters by value, None for an array, "work", and -1 for its size.
    """
    function = lapack(name, dtype, len(arguments))
    if function is None:
        return 0
    words = np.zeros((len(arguments) + 1, 8), np.int64)
    for k, value in enumerate(arguments):
        words[k, 0] = letter(value) if type(value) is str and value != "work" else value if type(value) is int else 0
    base = words.ctypes.data
    function(*[base + 64 * k for k in range(len(arguments))])
    answer = words[arguments.index("work")].view(dtype)[0]
    return -(-int(answer) // 16) * 16


def strided(layout: Layout) -> tuple[int, int]:
    """Elements between the rows and between the columns of a matrix."""
    return layout.strides[-2], layout.strides[-1]


def by_rows(layout: Layout) -> int | None:
    """Elements between rows that BLAS can take; None for columns with gaps."""
    rows, columns = layout.shape[-2:]
    down, across = strided(layout)
    return max(down, columns, 1) if across == 1 and (down >= columns or rows <= 1) else None


ROUTINES: dict[str, Callable] = {}


def routine(function: Callable) -> Callable:
    """Register what says, for layouts and attributes, which routine it is, under the function's name."""
    ROUTINES[function.__name__] = function
    return function


def sides(layout: Layout) -> tuple[int, int]:
    """Rows and columns."""
    return layout.shape[-2], layout.shape[-1]


@routine
def lu(layouts):
    """Both triangles in one matrix, pivots from 1 on."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    return Routine("lu", ("getrf",), (m, n, 0), (((m, n), dtype), ((min(m, n),), int32)), more=16 * min(m, n))


@routine
def lu_row(layouts):
    """``lu`` with pivots, and the report, as numbers of the matrix' dtype."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    return Routine("lu", ("getrf",), (m, n, 0), (((m, n), dtype), ((k,), dtype), ((1,), dtype)), more=16 * k, flags=(1, 0))


@routine
def exchange(layouts, back):
    """Rows exchanged as pivots say, or taken back."""
    (m, n), pivots = sides(layouts[0]), layouts[1]
    if pivots.dtype not in (int32, int64) or not is_row(pivots):
        return None
    return Routine(
        "exchange", (), (m, n, pivots.shape[-1]), (((m, n), layouts[0].dtype),), flags=(int(back), int(pivots.dtype is int64))
    )


@routine
def cross(layouts, turned):
    """Vector products along the columns, or along the rows if ``turned``."""
    m, n = sides(layouts[0])
    return Routine("cross", (), (m, n, 0), (((m, n), layouts[0].dtype),), flags=(int(turned), 0))


@routine
def plu(layouts):
    """P, L and U."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    return Routine("plu", ("getrf",), (m, n, 0), (((m, m), dtype), ((m, k), dtype), ((k, n), dtype)), more=16 * k + 16 * m)


@routine
def unpack(layouts):
    """P, L and U of what ``lu`` found."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    if layouts[1].dtype is not int32 or layouts[1].shape[-1] != k or not is_row(layouts[1]):
        return None
    return Routine("unpack", (), (m, n, 0), (((m, m), dtype), ((m, k), dtype), ((k, n), dtype)), more=8 * m)


def is_row(layout: Layout) -> bool:
    """Whether the elements of a vector lie side by side."""
    return layout.strides[-1] == 1 or layout.shape[-1] == 1


@routine
def cholesky(layouts, upper=False):
    """The lower triangle, or the upper one of the upper triangle."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("cholesky", ("potrf",), (n, n, 0), (((n, n), dtype),), letters=(ord("U"), 0), flags=(int(upper), 0))


@routine
def inverse(layouts):
    """The inverse."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("inverse", ("getrf", "cblas_gemm"), (n, n, n), (((n, n), dtype),), more=8 * n)


@routine
def solve(layouts):
    """The solution of systems whose right sides are columns of matrices."""
    n, k, dtype = layouts[0].shape[-1], layouts[1].shape[-1], layouts[0].dtype
    return Routine("solve", ("getrf", "cblas_gemm"), (n, n, k), (((n, k), dtype),), more=8 * n)


@routine
def triangle(layouts, upper, unit):
    """The solution of triangular systems."""
    x, y = layouts
    n, k, stored = x.shape[-1], y.shape[-1], as_stored(x, upper)
    if stored is None:
        return None
    return Routine(
        "triangle", ("cblas_gemm",), (n, n, k), (((n, k), x.dtype),), letters=stored[:2], flags=(UNIT if unit else PLAIN, stored[2])
    )


def as_stored(x: Layout, upper: bool) -> tuple[int, int, int] | None:
    """Which triangle, whether turned, and elements between rows: by rows or by columns. None for matrices with gaps."""
    n, (down, across) = x.shape[-1], strided(x)
    if n == 1 or across == 1 and down >= n:
        return UPPER if upper else LOWER, AS_GIVEN, max(down, n)
    if down == 1 and across >= n:
        return LOWER if upper else UPPER, TURNED, across
    return None


@routine
def determinant(layouts):
    """The determinant."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("determinant", ("getrf",), (n, n, 0), (((), dtype),), more=8 * n)


@routine
def cofactors(layouts):
    """The determinant times the turned inverse, of well-conditioned matrices."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine(
        "cofactors",
        ("getrf", "getri"),
        (n, n, 0),
        (((n, n), dtype),),
        work=64 * n,
        more=8 * n,
        flags=(WELL_CONDITIONED[dtype.name], 0),
    )


@routine
def slogdet(layouts):
    """Sign and logarithm of the determinant."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("slogdet", ("getrf",), (n, n, 0), (((), dtype), ((), dtype)), more=8 * n)


def eigh_routine(name: str, job: str, layouts: tuple, upper: bool, parts: tuple) -> Routine:
    """Of Hermitian matrices."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    which, integers = "U" if upper else "L", 3 + 5 * n
    work = workspace_size("syevd", dtype.name, (job, which, n, None, n, None, "work", -1, None, -1, None))
    return Routine(
        name, ("syevd",), (n, n, 0), parts, work=work, more=8 * integers, letters=(ord(job), ord(which)), integers=integers
    )


@routine
def eigh(layouts, upper):
    """Eigenvectors and eigenvalues."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return eigh_routine("eigh", "V", layouts, upper, (((n, n), dtype), ((n,), dtype)))


@routine
def eigvalsh(layouts, upper):
    """Eigenvalues."""
    return eigh_routine("eigvalsh", "N", layouts, upper, (((layouts[0].shape[-1],), layouts[0].dtype),))


def svd_routine(name: str, job: str, layouts: tuple, parts: tuple, full: bool = False) -> Routine:
    """Of any matrices."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    work = workspace_size("gesdd", dtype.name, (job, m, n, None, m, None, None, m, None, n if full else k, "work", -1, None, None))
    vectors = 0 if job == "N" else m * (m if full else k) + n * (n if full else k)
    return Routine(
        name,
        ("gesdd",),
        (m, n, 0),
        parts,
        work=work,
        more=64 * k + vectors * dtype.itemsize + 128,
        letters=(ord(job), 0),
        flags=(int(full), 0),
    )


@routine
def svd(layouts, full):
    """Left singular vectors, singular values, right singular vectors in rows."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    parts = ((m, m if full else k), dtype), ((k,), dtype), ((n if full else k, n), dtype)
    return svd_routine("svd", "A" if full else "S", layouts, parts, full)


@routine
def pinv(layouts, rtol, atol, hermitian):
    """The Moore-Penrose inverse, with one tolerance for all matrices."""
    if hermitian or type(rtol) is not float or type(atol) is not float:
        return None
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    made = svd_routine("pinv", "S", layouts, (((n, m), dtype),))
    return made._replace(
        functions=("gesdd", "cblas_gemm"),
        more=made.more + min(m, n) * dtype.itemsize + 64,
        flags=struct.unpack("2q", struct.pack("2d", rtol, atol)),
    )


@routine
def svdvals(layouts):
    """Singular values."""
    return svd_routine("svdvals", "N", layouts, (((min(sides(layouts[0])),), layouts[0].dtype),))


def eig_routine(name: str, job: str, layouts: tuple, parts: tuple) -> Routine:
    """Of square matrices."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    work = workspace_size("geev", dtype.name, ("N", job, n, None, n, None, None, None, n, None, n, "work", -1, None))
    return Routine(name, ("geev",), (n, n, 0), parts, work=work, more=2 * n * dtype.itemsize + 64, letters=(ord("N"), ord(job)))


@routine
def eig(layouts):
    """Eigenvectors and eigenvalues, both complex."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype.to_complex()
    return eig_routine("eig", "V", layouts, (((n, n), dtype), ((n,), dtype)))


@routine
def eigvals(layouts):
    """Eigenvalues, complex."""
    return eig_routine("eigvals", "N", layouts, (((layouts[0].shape[-1],), layouts[0].dtype.to_complex()),))


@routine
def qr(layouts):
    """Q and R of matrices at least as tall as wide."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    if m < n:
        return None
    return Routine("qr", ("geqrf", "orgqr"), (m, n, 0), (((m, n), dtype), ((n, n), dtype)), work=64 * n, more=n * dtype.itemsize)


@routine
def reflections(layouts):
    """The first columns of a product of Householder's reflections."""
    (m, n), dtype, k = sides(layouts[0]), layouts[0].dtype, layouts[1].shape[-1]
    if not k <= n <= m:
        return None
    return Routine("reflections", ("orgqr",), (m, n, k), (((m, n), dtype),), work=64 * n, more=k * dtype.itemsize)


@routine
def gelsy(layouts, rcond):
    """The shortest least-squares solutions, and the rank."""
    (m, n), k, dtype = sides(layouts[0]), layouts[1].shape[-1], layouts[0].dtype
    tall = max(m, n)
    (bits,) = struct.unpack("q", struct.pack("f4x" if dtype.name == "float32" else "d", rcond))
    work = workspace_size("gelsy", dtype.name, (m, n, k, None, m, None, tall, None, None, None, "work", -1, None))
    return Routine(
        "gelsy",
        ("gelsy",),
        (m, n, k),
        (((n, k), dtype), ((), int64)),
        work=work,
        more=tall * k * dtype.itemsize + 64 + 8 * n,
        flags=(bits, tall),
    )


@routine
def cholesky_inverse(layouts, upper):
    """The inverse of L @ L^H, or of U^H @ U."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("cholesky_inverse", ("potri",), (n, n, 0), (((n, n), dtype),), letters=(ord("U"), 0), flags=(int(upper), 0))


@routine
def cholesky_solve(layouts, upper):
    """The X with L @ L^H @ X = B."""
    x, y = layouts
    n, k, stored = x.shape[-1], y.shape[-1], as_stored(x, upper)
    if stored is None:
        return None
    turned = stored[1] if not upper else TURNED + AS_GIVEN - stored[1]
    return Routine(
        "cholesky_solve", ("cblas_gemm",), (n, n, k), (((n, k), x.dtype),), letters=(stored[0], turned), flags=(0, stored[2])
    )


@routine
def lu_solve(layouts, adjoint=False):
    """The X with A @ X = B, or A^H @ X = B, from what ``lu`` found of A."""
    x, y, pivots = layouts
    n, k, lead = x.shape[-1], y.shape[-1], by_rows(x)
    if lead is None or pivots.dtype is not int32 or pivots.shape[-1] != n or not is_row(pivots):
        return None
    return Routine("lu_solve", ("cblas_gemm",), (n, n, k), (((n, k), x.dtype),), flags=(int(adjoint), lead))


@routine
def pull_to_matrix(layouts):
    """What reaches the matrix, in the order of rows of its factors, from what reaches these."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("pull_to_matrix", ("cblas_trmm", "cblas_gemm"), (n, n, n), (((n, n), dtype),))


@routine
def share_of_factors(layouts):
    """What reaches the factors from a system that they solve."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("share_of_factors", ("cblas_trmm",), (n, n, n), (((n, n), dtype),))
