"""The matrix product of the BLAS that NumPy brought along, by address.

NumPy's wheels bundle OpenBLAS under names of their own; conda's link a plain one. Whatever the NumPy of this process
is linked with is found through the shared library of its core. Kernels call it with the address as a parameter, so
that a cached kernel knows no library.

NOTE [Threads of BLAS]: large products are cut over our own pool, in blocks that depend on the shape alone; the library
is told to use one thread. Its own workers spin for 20 ms after a product, on the cores that the next kernel wants, and
cut according to the number of threads, so that results would depend on it.
"""
from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

__all__ = ["gemm_address", "PREFIX"]

# cblas_<letter>gemm
PREFIX = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
# How builds decorate the names. In a plain LP64 library integers are 32 bits wide: in registers, and in the 8-byte
# slots that the four last arguments take on the stack, a small int64 looks the same.
DECORATIONS = ("scipy_{}64_", "scipy_{}", "{}64_", "{}$NEWLAPACK$ILP64", "{}")
THREAD_SETTERS = ("openblas_set_num_threads", "openblas_set_num_threads64_")


def candidates() -> list[str]:
    """Files that may lead to the library: NumPy's core, whose dependencies are searched too, then bundled ones."""
    from numpy._core import _multiarray_umath
    core = Path(_multiarray_umath.__file__)
    folders = (Path(np.__file__).parent / ".dylibs", Path(np.__file__).parent.parent / "numpy.libs")
    return [str(core), *(str(path) for folder in folders if folder.is_dir() for path in sorted(folder.glob("*blas*")))]


@lru_cache(maxsize=1)
def libraries() -> tuple[ctypes.CDLL, ...]:
    """The candidates that load. They are part of the process already: nothing is read from the disk."""
    loaded = []
    for path in candidates():
        try:
            loaded.append(ctypes.CDLL(path))
        except OSError:
            continue
    return tuple(loaded)


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
