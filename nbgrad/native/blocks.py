"""The allocator of large arrays: it keeps freed blocks of memory and uses them again. Its native functions are in memory.py.

The C library gives a large block back to the system when it is freed. The next one then consists of fresh pages, and to map these
takes longer than a kernel takes to write them. NumPy lets a *handler* allocate an array's memory, and frees it by the same handler.
Ours is set only while nbgrad makes a large array; arrays that the program makes are untouched.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable

import numpy as np

from ..base import config
from ..base.locks import cached_once
from .objects import NEW_FROM_DESCR, numpy_function

__all__ = ["Blocks", "blocks"]

SET_HANDLER = 304  # index in NumPy's C API table (1.22 and later)


class Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        *[(name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")],
    ]


class Blocks:
    """The allocator, loaded. There is one, and it stays: it frees the arrays that were made with it, some when the process ends.

    Attributes:
        capsule: NumPy's handle of it.
        new_array: address of a function like NumPy's ``PyArray_NewFromDescr`` that puts arrays into blocks.
        entries: addresses of the module's functions and variables.
    """

    def __init__(self, entries: dict[str, int]):
        self.entries = entries
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        functions = [entries[f"memory_{name}"] for name in ("malloc", "calloc", "realloc", "free")]
        self._handler = Handler(b"nbgrad", 1, None, *functions)
        self._name = b"mem_handler"  # a capsule keeps the pointer
        self.capsule = capsule(ctypes.addressof(self._handler), self._name, None)
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(numpy_function(SET_HANDLER))
        self._release = ctypes.PYFUNCTYPE(ctypes.c_int64)(entries["memory_release"])
        # All of these under the interpreter's lock.
        self._counter = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(entries["memory_counter"])
        self._limit = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(entries["memory_limit"])
        self.new_array = entries["memory_array"]
        tell = ctypes.PYFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)(entries["memory_set"])
        tell(numpy_function(NEW_FROM_DESCR), numpy_function(SET_HANDLER), id(self.capsule))
        self.limit = config.KEPT_MEMORY

    def make(self, make: Callable[..., np.ndarray], *args: Any, **keywords: Any) -> np.ndarray:
        """An array from a function of NumPy that allocates it."""
        old = self._set(self.capsule)
        try:
            return make(*args, **keywords)
        finally:
            self._set(old)

    def release(self) -> int:
        """Give the blocks that are kept back to the system; returns how many bytes that were."""
        return self._release()

    @property
    def kept(self) -> int:
        """Bytes of blocks that are kept for later."""
        return self._counter(1)

    @property
    def mapped(self) -> int:
        """Bytes of all blocks, in use or kept."""
        return self._counter(2)

    @property
    def limit(self) -> int:
        """Bytes that may be kept."""
        return self._limit(-1)

    @limit.setter
    def limit(self, most: int) -> None:
        self._limit(most)


@cached_once  # threads make their first large tensors at the same time
def blocks() -> Blocks | None:
    """The allocator; None where it is not sound (another system, interpreter or NumPy, no lock) or with ``NBGRAD_NATIVE=0``."""
    locked = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
    if not (config.NATIVE and locked and sys.platform == "linux" and np.lib.NumpyVersion(np.__version__) >= "1.22.0"):
        return None
    from numpy import _core

    from ..kernels.cpu.store import loader
    from . import memory
    from .link import NativeModule

    store = loader()
    made = Blocks(NativeModule(store, (memory,), {}).entries)
    # Arrays may be freed after everything else: what frees them is never unloaded.
    for kept in (store, made):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    core: Any = _core
    return made if core.multiarray.get_handler_name(made.make(np.empty, 1)) == "nbgrad" else None
