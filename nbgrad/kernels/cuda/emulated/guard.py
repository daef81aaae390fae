"""The devices' memory, out of the host's reach: what reads or writes it and is no work of a device ends the process, as it would
with a GPU, whose addresses are none of the host's.

The memory of an emulated device is the process's own, so host code that takes a device's address for its own would go unnoticed.
Where the processor has protection keys (x86-64 with PKU, under Linux) the devices' pages have one, and a thread may touch them only
between ``open`` and ``close``. Elsewhere nothing is guarded.

Source: pkeys(7) of the Linux manual; the instructions RDPKRU and WRPKRU in Intel's Software Developer's Manual, volume 2.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import llvmlite.binding as llvm

from ...cpu.build import loader

__all__ = ["guard", "opened"]

PROTECT, ALLOCATE = 329, 330  # Linux's numbers of pkey_mprotect and pkey_alloc, on x86-64
READ_WRITE, DENIED = 3, 1  # PROT_READ | PROT_WRITE; PKEY_DISABLE_ACCESS
NAMES = ["nbgrad_keys_now", "nbgrad_set_keys"]
TEXT = """
target triple = "@TRIPLE"
define i32 @nbgrad_keys_now() {
  %keys = call i32 asm sideeffect "xorl %ecx, %ecx; rdpkru", "={eax},~{ecx},~{edx},~{dirflag},~{fpsr},~{flags}"()
  ret i32 %keys
}
define void @nbgrad_set_keys(i32 %keys) {
  call void asm sideeffect "xorl %ecx, %ecx; xorl %edx, %edx; wrpkru", "{eax},~{ecx},~{edx},~{memory},~{flags}"(i32 %keys)
  ret void
}
"""


class Keys:
    """The protection key of all devices' memory."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.key = int(libc.syscall(ALLOCATE, 0, DENIED))
        self.protect = lambda start, nbytes: libc.syscall(
            PROTECT, ctypes.c_void_p(start), ctypes.c_size_t(nbytes), READ_WRITE, self.key
        )
        if self.key > 0:
            llvm.initialize_native_asmparser()
            found = loader().module(TEXT.replace("@TRIPLE", llvm.get_process_triple()), NAMES)
            self.now = ctypes.CFUNCTYPE(ctypes.c_uint32)(found[NAMES[0]])
            self.set = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(found[NAMES[1]])
            self.mask = 3 << 2 * self.key


@cache
def keys() -> Keys | None:
    """The key; None where there are none."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    made = Keys()
    return made if made.key > 0 else None


def guard(start: int, nbytes: int) -> None:
    """Keep the host from whole pages of memory."""
    found = keys()
    if found is not None:
        found.protect(start, nbytes)


@contextmanager
def opened() -> Iterator[None]:
    """Let this thread touch the devices' memory."""
    found = keys()
    if found is None:
        yield
        return
    before = found.now()
    found.set(before & ~found.mask)
    try:
        yield
    finally:
        found.set(before)
