"""Native code: the end of memory that was lent to other libraries in DLPack's capsules (creation/gpu_exchange.py).

It may come anywhere: in a thread that does not have the interpreter's lock, or while an error is on its way, which a function of
Python would meet and lose. So nothing of Python's runs here. What a capsule points to is ``managed``; the word before it is a
reference to all that belongs to it.
"""

from __future__ import annotations

import sys

from .language import c_entry, c_function
from .primitives import get_int64

__all__ = ["OWNER_BYTES"]

OWNER_BYTES = 8  # before what a capsule points to: the reference
UNUSED = int.from_bytes(b"dltensor", sys.byteorder)  # how the names begin of capsules that nobody has taken

Py_DecRef, strlen = c_function("Py_DecRef", 1, "void"), c_function("strlen", 1, "i64")
PyGILState_Ensure, PyGILState_Release = c_function("PyGILState_Ensure", 0), c_function("PyGILState_Release", 1, "void")
PyCapsule_GetName, PyCapsule_GetPointer = c_function("PyCapsule_GetName", 1, "i64"), c_function("PyCapsule_GetPointer", 2, "i64")


@c_entry
def let_go(managed: int) -> None:
    """Called by who has taken a capsule, when the memory is needed no more. Errors that are on their way stay."""
    lock = PyGILState_Ensure()
    Py_DecRef(get_int64(managed - OWNER_BYTES))
    PyGILState_Release(lock)


@c_entry
def end_capsule(capsule: int) -> None:
    """Called for a capsule that dies; one that nobody has taken gives its memory back."""
    name = PyCapsule_GetName(capsule)
    if name == 0:
        return
    if strlen(name) >= 8 and get_int64(name) == UNUSED:
        let_go(PyCapsule_GetPointer(capsule, name))
