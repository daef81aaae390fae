"""What both exchanges of memory know of DLPack's capsules. Source: DLPack 1.1 (dlpack.h)."""

from __future__ import annotations

import ctypes

__all__ = ["BFLOAT", "NAMES", "PLAIN", "VERSIONED", "is_valid", "pointer_of"]

PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"  # names of capsules that nobody has used: of before version 1, and of it
NAMES = VERSIONED, PLAIN
BFLOAT = 4  # kDLBfloat, the code of an element type

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
is_valid = ctypes.pythonapi.PyCapsule_IsValid
is_valid.restype, is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
