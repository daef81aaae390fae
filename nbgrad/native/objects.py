"""The layout of CPython's and NumPy's objects, found at run time, and whether this interpreter is one whose layout is known."""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any

import numpy as np

__all__ = [
    "ARRAY_BASE",
    "ARRAY_DATA",
    "BYTES_ITEMS",
    "NEW_FROM_DESCR",
    "TUPLE_ITEMS",
    "builtin",
    "check_layouts",
    "MethodDef",
    "copied_slots",
    "numpy_function",
    "read_word",
    "slot_offset",
]

# Offsets in PyArrayObject, PyTupleObject, PyBytesObject.
ARRAY_DATA, ARRAY_BASE, BYTES_ITEMS = 16, 48, 32
TUPLE_ITEMS = tuple.__basicsize__  # since Python 3.14 behind the hash
METH_FASTCALL = 0x80
NEW_FROM_DESCR = 94  # index in NumPy's C API table, part of its stable ABI


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def builtin(definition: MethodDef, owner: Any) -> Any:
    """The builtin function of a definition, which has to live as long; bound to an object if there is one."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(definition), owner, None)


def read_word(address: int) -> int:
    """The pointer-sized integer at ``address``."""
    return ctypes.c_size_t.from_address(address).value


def slot_offset(owner: type, name: str) -> int:
    """Where an instance of ``owner`` keeps the slot ``name``, from its member descriptor."""
    for cls in owner.__mro__:
        if name in vars(cls):
            return read_word(read_word(id(vars(cls)[name]) + 40) + 16)  # d_member->offset
    raise AttributeError(f"launch: {owner.__name__} has no slot {name!r}.")


def copied_slots(template: Any, slots: tuple[str, ...]) -> list[str]:
    """The template's set slots but ``slots``."""
    named = [s for cls in type(template).__mro__ for s in getattr(cls, "__slots__", ()) if not s.startswith("__")]
    return [s for s in named if s not in slots and hasattr(template, s)]


def pack_words(*words: int) -> bytes:
    """Words as native code reads them."""
    return struct.pack(f"{len(words)}q", *words)


def check_layouts(tensor_type: type, storage_type: type) -> str | None:
    """Why this interpreter or NumPy cannot run the native functions, or None."""
    if sys.implementation.name != "cpython":
        return f"implementation {sys.implementation.name}"
    if "t" in getattr(sys, "abiflags", "") or hasattr(sys, "gettotalrefcount"):
        return "free-threaded or debug build"
    array, marker, text = np.empty(3), object(), b"plan"
    single, part = (marker,), array[:2]
    instance: Any = object.__new__(storage_type)
    instance.array = marker
    sound = (
        read_word(id(array) + ARRAY_DATA) == array.ctypes.data
        and read_word(id(array) + ARRAY_BASE) == 0
        and read_word(id(part) + ARRAY_BASE) == id(array)
        and read_word(id(single) + TUPLE_ITEMS) == id(marker)
        and ctypes.string_at(id(text) + BYTES_ITEMS, 4) == text
        and read_word(id(tensor_type) + 32) == tensor_type.__basicsize__
        and read_word(id(instance) + slot_offset(storage_type, "array")) == id(marker)
    )
    return None if sound else "unknown object layout"


def numpy_function(index: int) -> int:
    """Address of an entry of NumPy's C API table."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    core: Any = np._core  # type: ignore[attr-defined]     # private: NumPy's stubs leave it out
    return read_word(get(core._multiarray_umath._ARRAY_API, None) + 8 * index)
