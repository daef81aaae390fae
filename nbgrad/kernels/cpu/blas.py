"""The matrix product of the BLAS that NumPy brought along, by address.

NumPy's wheels bundle OpenBLAS under names of their own; conda's link a plain one. Whatever the NumPy of this process
is linked with is found through the shared library of its core. Kernels call it with the address as a parameter, so
that a cached kernel knows no library.

NOTE [Threads of BLAS]: large products are cut over our own pool, in blocks that depend on the shape alone; the library
is told to use one thread. Its own workers spin after a product, on the cores that the next kernel wants, and
cut according to the number of threads, so that results would depend on it.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np

__all__ = ["gemm_address", "PREFIX", "core_name", "eliminated", "packs_operands", "triangular_solver"]

# cblas_<letter>gemm
PREFIX = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
# How builds decorate the names. In a plain LP64 library integers are 32 bits wide: in registers, and in the 8-byte
# slots that the four last arguments take on the stack, a small int64 looks the same.
DECORATIONS = ("scipy_{}64_", "scipy_{}", "{}64_", "{}$NEWLAPACK$ILP64", "{}")
# Kernels of OpenBLAS that pack whatever they multiply. Those of newer processors have others for small matrices.
PACKING = {b"Katmai", b"Nehalem", b"Sandybridge", b"Haswell", b"Zen"}
CORE_NAMES = ("openblas_get_corename", "openblas_get_corename64_")
THREAD_SETTERS = ("openblas_set_num_threads", "openblas_set_num_threads64_")


def candidates() -> Iterator[str]:
    """Files that may lead to the library: NumPy's core, whose dependencies are searched too, then bundled ones."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]     # private: NumPy's stubs leave it out

    yield _multiarray_umath.__file__
    yield from bundled()


@cache
def bundled() -> list[str]:
    """Libraries that NumPy's wheels have beside it."""
    folders = (Path(np.__file__).parent / ".dylibs", Path(np.__file__).parent.parent / "numpy.libs")
    return [str(path) for folder in folders if folder.is_dir() for path in sorted(folder.glob("*blas*"))]


@cache
def loaded(path: str) -> ctypes.CDLL | None:
    """A candidate, if it loads. They are part of the process already: nothing is read from the disk."""
    try:
        return ctypes.CDLL(path)
    except OSError:
        return None


def libraries() -> Iterator[ctypes.CDLL]:
    """The candidates that load; the first nearly always has what is looked for, and the others are not looked at."""
    yield from filter(None, map(loaded, candidates()))


def find(name: str) -> int:
    """The address of a function under whichever decoration, or 0."""
    for library in libraries():
        for decoration in DECORATIONS:
            function = getattr(library, decoration.format(name), None)
            if function is not None:
                return ctypes.cast(function, ctypes.c_void_p).value or 0
    return 0


@lru_cache(maxsize=1)
def use_one_thread() -> None:
    """See NOTE [Threads of BLAS]."""
    for name in THREAD_SETTERS:
        found = find(name)
        if found:
            ctypes.CFUNCTYPE(None, ctypes.c_int)(found)(1)
            return


@cache
def gemm_address(dtype: str) -> int:
    """The address of ``cblas_?gemm`` for a dtype; 0 where there is none, and our own loop multiplies.

    Args:
        dtype: any dtype of computation; integers have no BLAS.
    """
    if dtype not in PREFIX:
        return 0
    found = find(f"cblas_{PREFIX[dtype]}gemm")
    if found:
        use_one_thread()
    return found


@cache
def packs_operands() -> bool:
    """Whether products of matrices give the same bits however their operands lie: NOTE [Packed operands] of lowering/linalg.py."""
    return core_name() in PACKING


def core_name() -> bytes:
    """The processor whose kernels OpenBLAS uses, as it calls it; nothing of another library."""
    found = next(filter(None, map(find, CORE_NAMES)), 0)
    name: bytes = ctypes.CFUNCTYPE(ctypes.c_char_p)(found)() if found else b""
    return name


# ---- LAPACK and BLAS on arrays ---------------------------------------------------------------------------------------

INTEGER, POINTER = ctypes.c_int64, ctypes.c_void_p
ROW_MAJOR, LEFT, UPPER, LOWER, AS_GIVEN, PLAIN, UNIT = 101, 141, 121, 122, 111, 131, 132
NUMBERS = {"float32": ctypes.c_float, "float64": ctypes.c_double}


@cache
def is_wide() -> bool:
    """Whether the library's integers have 64 bits: those that it writes into arrays."""
    for library in libraries():
        for decoration in DECORATIONS:
            if getattr(library, decoration.format("cblas_sgemm"), None) is not None:
                return "64" in decoration
    return False


@cache
def triangular_solver(dtype: str) -> Callable | None:
    """``solve(x, y, upper, unit)``: y becomes the solution of a triangular system, by ``cblas_?trsm``; both row-major matrices.

    What lies on the other side of the diagonal is not read; a zero on it gives infinities.
    """
    found = find(f"cblas_{PREFIX[dtype]}trsm")
    if not found:
        return None
    use_one_thread()
    number = NUMBERS.get(dtype)
    one: Any = number(1) if number else (ctypes.c_double * 2)(1, 0) if dtype == "complex128" else (ctypes.c_float * 2)(1, 0)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int] * 5, INTEGER, INTEGER, number or POINTER, POINTER, INTEGER, POINTER, INTEGER)(
        found
    )

    def solve(x: np.ndarray, y: np.ndarray, upper: bool, unit: bool) -> None:
        rows, columns = y.shape
        function(
            ROW_MAJOR,
            LEFT,
            UPPER if upper else LOWER,
            AS_GIVEN,
            UNIT if unit else PLAIN,
            rows,
            columns,
            one,
            x.ctypes.data,
            max(rows, 1),
            y.ctypes.data,
            max(columns, 1),
        )

    return solve


@cache
def lapack(name: str, dtype: str, count: int) -> Callable | None:
    """A function of LAPACK, which takes ``count`` addresses; None where there is none."""
    found = find(f"{PREFIX[dtype]}{name}_")
    if not found:
        return None
    use_one_thread()
    return ctypes.CFUNCTYPE(None, *[POINTER] * count)(found)


def eliminated(x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """L and U in one matrix and, for every step, the row that was exchanged with it (from 0 on), by ``?getrf``.

    ``x`` is one matrix, which stays as it is. None where there is no LAPACK.
    """
    function = lapack("getrf", x.dtype.name, 6)
    if function is None:
        return None
    rows, columns = x.shape
    steps = min(rows, columns)
    by_columns = np.array(x.T, order="C")  # a copy, as Fortran stores it
    sizes = np.array([rows, columns, max(rows, 1), 0])  # of 64 bits: in a narrow library the low halves are read
    exchanged = np.zeros(steps, np.int64 if is_wide() else np.int32)
    word = sizes.ctypes.data
    function(word, word + 8, by_columns.ctypes.data, word + 16, exchanged.ctypes.data, word + 24)
    return by_columns.T, exchanged.astype(np.int64) - 1
