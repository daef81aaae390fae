"""Native code: objects whose call is that of what they keep in a slot, so that none of Python's frames lies on the way.

The ``__call__`` of a class of Python takes a frame, and packs and unpacks the arguments: as long as a small program runs
(benchmarks/test_graphs.py).
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from .device_memory import DEFAULT, DOC, SlotDef, TypeSpec

__all__ = ["Door", "door_type"]

CALL = 50  # Py_tp_call, part of Python's stable ABI
BASE = 1 << 10  # Py_TPFLAGS_BASETYPE
DOCUMENTATION = ctypes.create_string_buffer(b"What is called in the place of its instances lies in a slot.")


class Door:
    """Called by position it calls ``_quick_``, a slot; with names, ``_dispatch_(args, named)``, a method of a subclass."""

    __slots__ = ("_quick_",)
    _quick_: Callable
    _dispatch_: Callable[[tuple, dict], Any]

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._dispatch_(args, named) if named else self._quick_(*args)


_kept: list[Any] = []  # what the type points to


def door_type(call: int) -> type:
    """The type ``Door`` whose calls are the function at an address: ``call_door`` of ``support``."""
    slots = (SlotDef * 3)(SlotDef(CALL, call), SlotDef(DOC, ctypes.addressof(DOCUMENTATION)), SlotDef())
    name = b"nbgrad.native.doors.Called"
    spec = TypeSpec(name, object.__basicsize__, 0, DEFAULT | BASE, slots)
    new = ctypes.pythonapi.PyType_FromSpec
    new.restype, new.argtypes = ctypes.py_object, [ctypes.POINTER(TypeSpec)]
    called = new(ctypes.byref(spec))
    _kept.append((slots, name, spec))
    return type("Door", (called,), {"__slots__": ("_quick_",), "__doc__": Door.__doc__, "__module__": __name__})
