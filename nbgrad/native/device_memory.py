"""The type of a GPU's memory: NOTE [Device memory] of heaps.py."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable

from .objects import ARRAY_BASE, ARRAY_DATA

__all__ = ["device_memory_type"]

DEALLOC, MEMBERS, DOC = 52, 72, 56  # Python's numbers of slots, part of its stable ABI
WORD, SIZE, OBJECT = 18, 19, 6  # T_ULONGLONG, T_PYSSIZET, T_OBJECT
DEFAULT = 1 << 18  # Py_TPFLAGS_DEFAULT
NO_INSTANCES = 1 << 7  # Py_TPFLAGS_DISALLOW_INSTANTIATION
DOCUMENTATION = ctypes.create_string_buffer(b"Memory of a GPU: its address, and how many bytes were asked for.")


class SlotDef(ctypes.Structure):
    """CPython's PyType_Slot."""

    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class TypeSpec(ctypes.Structure):
    """CPython's PyType_Spec."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(SlotDef)),
    ]


class Member(ctypes.Structure):
    """CPython's PyMemberDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_kept: list[Any] = []  # what the type points to


def device_memory_type(free: int) -> type:
    """The type DeviceMemory, whose instances the function at the address ``free`` takes leave of."""
    members = (Member * 5)(
        Member(b"address", WORD, ARRAY_DATA, 1, b"of the first byte"),
        Member(b"nbytes", SIZE, 32, 1, b"how many were asked for"),
        Member(b"owner", OBJECT, 40, 1, b"whose memory it is, if it is not ours"),
        Member(b"base", OBJECT, ARRAY_BASE, 1, b"None: it is no part of another one"),
        Member(),
    )
    slots = (SlotDef * 4)(
        SlotDef(DEALLOC, free),
        SlotDef(MEMBERS, ctypes.addressof(members)),
        SlotDef(DOC, ctypes.addressof(DOCUMENTATION)),
        SlotDef(),
    )
    name = b"nbgrad.DeviceMemory"
    spec = TypeSpec(name, 64, 0, DEFAULT | NO_INSTANCES, slots)
    new = ctypes.pythonapi.PyType_FromSpec
    new.restype, new.argtypes = ctypes.py_object, [ctypes.POINTER(TypeSpec)]
    made = new(ctypes.byref(spec))
    _kept.append((members, slots, name, spec, made))
    return made


class PlainMemory:
    """``DeviceMemory`` where native code is off.

    Args:
        free: called with the object when it dies, or None.
        lists: those of its stream.

    Attributes:
        shared: the bits of other streams that have used it.
    """

    __slots__ = ("address", "nbytes", "owner", "free", "size", "lists", "shared")
    base = None

    def __init__(
        self, address: int, nbytes: int, size: int = 0, owner: Any = None, free: Callable[[Any], None] | None = None, lists: int = 0
    ):
        self.address, self.nbytes, self.size, self.owner, self.free = address, nbytes, size, owner, free
        self.lists, self.shared = lists, 0

    @classmethod
    def nowhere(cls, nbytes: int) -> PlainMemory:
        """Memory at no address."""
        return cls(0, nbytes)

    def use(self, lists: int, bit: int) -> None:
        """Note that a stream uses it, of which these are the lists and the bit."""
        if lists != self.lists:
            self.shared |= bit

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if self.free is not None and not ending():  # lists of blocks may be gone before
            self.free(self)
