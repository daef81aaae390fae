"""The driver as this process's ``libcuda.so.1``."""

from __future__ import annotations

import atexit
import ctypes
import re
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..library import Library
from . import codes
from .entries import ENTRIES, Entry, Refused, put

if TYPE_CHECKING:
    from . import Driver

__all__ = ["Installed"]

# What a name meant before a version of CUDA, where its parameters were others.
CHANGED = {
    "cuStreamGetCaptureInfo": (12030, "cuStreamGetCaptureInfo_v2"),
    "cuStreamUpdateCaptureDependencies": (12030, "cuStreamUpdateCaptureDependencies_v1"),
}
MOST_ENTRIES = 1024  # names that may be asked for


class Installed:
    """The library, and the functions that it jumps to; when Python ends it jumps to none, for what cuda.core destroys last.

    NOTE [Calls by address]: an entry point may be called with the interpreter's lock or without it, by any thread. Calls take turns
    by a lock of the driver's, which is not held while a caller waits for it. As they are Python, another thread may run meanwhile
    even if the caller holds the interpreter's lock: with a real driver it would not.

    Attributes:
        driver: which may be exchanged by another one.
    """

    def __init__(self, driver: Driver):
        self.driver, self.kept, self.jumps = driver, dict[str, Any](), dict[str, int]()
        kinds = ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
        find = self.kept["find"] = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self.find)
        address = self.address = ctypes.cast(find, ctypes.c_void_p).value or 0
        self.library = Library("libcuda.so.1", {"cuGetProcAddress_v2": address, "cuGetProcAddress": address}, MOST_ENTRIES)
        atexit.register(self.library.end)

    def find(self, symbol: bytes, out: Any, version: int, flags: int, status: int | None) -> int:
        """cuGetProcAddress: every name has an address."""
        name = symbol.decode()
        if name.startswith("cuGetProcAddress"):
            out[0] = self.address
            return codes.SUCCESS
        since, older = CHANGED.get(name, (0, ""))
        out[0] = self.jump(older if version < since else name)
        put(ctypes.c_int, status, 0)
        return codes.SUCCESS

    def jump(self, name: str) -> int:
        """The address of an entry point."""
        if name not in ENTRIES:  # the name of one version of it
            name = re.sub(r"(_v\d|_ptsz)+$", "", name)
        if name not in self.jumps:
            found = ENTRIES.get(name)
            call = not_supported(self, name) if found is None else entry_point(self, name, found)
            self.kept[name] = ctypes.CFUNCTYPE(ctypes.c_int, *(found.kinds if found else ()))(call)
            self.jumps[name] = self.library.add(ctypes.cast(self.kept[name], ctypes.c_void_p).value or 0)
        return self.jumps[name]

    def at_once(self, *names: str) -> None:
        """Let calls of these entry points do nothing and succeed: what is left is our own cost."""
        for name in names:
            self.library.silence(self.jump(name))


def entry_point(installed: Installed, name: str, found: Entry) -> Callable[..., int]:
    """What is called under a name."""
    function, harmless, frees, unsafe = found.function, found.harmless, found.frees, found.unsafe

    def call(*operands: Any) -> int:
        driver = installed.driver
        with driver.lock:
            try:
                driver.meet(name)
                if unsafe and driver.captures:
                    driver.check_unsafe(name)
                if not driver.faults or harmless:
                    function(driver, *operands)
                    return codes.SUCCESS
                if frees:
                    function(driver, *operands)
                contexts = driver.thread.contexts
                driver.check_fault(contexts[-1] if contexts else None)
                if not frees:
                    function(driver, *operands)
            except Refused as refused:
                driver.refused, driver.reason = refused.number, f"{name}: {refused.reason}" if refused.reason else name
                return refused.number
            except BaseException:  # a fault of ours, or an interrupt: ctypes would print it, and give whatever number is there
                driver.reason = f"{name}: {traceback.format_exc()}"
                print(driver.reason, file=sys.stderr)
                return codes.UNKNOWN
        return codes.SUCCESS

    return call


def not_supported(installed: Installed, name: str) -> Callable[..., int]:
    """What is called under a name that nothing plays."""

    def call(*operands: Any) -> int:
        driver = installed.driver
        driver.calls[name] = driver.calls.get(name, 0) + 1
        driver.reason = f"{name}: the emulated driver does not play it"
        return codes.NOT_SUPPORTED

    return call
