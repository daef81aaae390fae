"""A shared library that Python writes: its functions jump to addresses that the process fills in.

So ``libcuda.so.1`` can be played without a compiler: whoever asks the dynamic linker for that name later is given this one, since a
library of that name is loaded already.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import tempfile
from collections.abc import Mapping, Sequence

from ....base.errors import NotSupportedError

__all__ = ["Library", "written"]

TEXT = 0x1000  # virtual address of the jumps
TABLE_NAME = "nbgrad_jumps"
MACHINES = {"x86_64": 62, "aarch64": 183}  # ELF's numbers
LOAD, DYNAMIC = 1, 2
READ_EXECUTE, READ_WRITE = 5, 6


def jump(machine: str, at: int, word: int) -> bytes:
    """Sixteen bytes at an address that jump to the address in a word."""
    if machine == "x86_64":
        return b"\xff\x25" + struct.pack("<i", word - (at + 6)) + b"\x90" * 10
    page = (word >> 12) - (at >> 12)  # adrp x16; ldr x16, [x16, word]; br x16
    adrp = 0x90000010 | (page & 3) << 29 | (page >> 2 & 0x7FFFF) << 5
    return struct.pack("<4I", adrp, 0xF9400210 | (word & 0xFFF) // 8 << 10, 0xD61F0200, 0xD503201F)


def nothing(machine: str) -> bytes:
    """Sixteen bytes: a function that returns 0."""
    return (
        b"\x31\xc0\xc3" + b"\x90" * 13
        if machine == "x86_64"
        else struct.pack("<4I", 0x52800000, 0xD65F03C0, 0xD503201F, 0xD503201F)
    )


def hash_of(name: str) -> int:
    """ELF's hash of a symbol's name."""
    found = 0
    for byte in name.encode():
        found = (found << 4) + byte
        high = found & 0xF0000000
        found = (found ^ high >> 24) & ~high & 0xFFFFFFFF
    return found


def written(name: str, functions: Sequence[str], machine: str | None = None, more: int = 0) -> bytes:
    """The bytes of a shared library.

    Args:
        name: its own; ``functions``: those that it has; ``more``: functions without a name, behind them.
        machine: the processor; this one by default.

    Raises:
        NotSupportedError: jumps are not written for the processor.

    Source: System V ABI, Object Files and Dynamic Linking.
    """
    machine = platform.machine() if machine is None else machine
    if machine not in MACHINES:
        raise NotSupportedError(f"emulated device: a library for {', '.join(MACHINES)}, and this is {machine}.")
    names, count = [*functions, TABLE_NAME], len(functions) + more
    table = -(-(TEXT + 16 * (count + 1)) // 0x1000) * 0x1000
    strings, places = b"\0", []
    for each in (*names, name):
        places.append(len(strings))
        strings += each.encode() + b"\0"
    text = b"".join(jump(machine, TEXT + 16 * k, table + 8 * k) for k in range(count)) + nothing(machine)
    symbols = bytes(24)
    for k in range(len(functions)):
        symbols += struct.pack("<IBBHQQ", places[k], 0x12, 0, 1, TEXT + 16 * k, 16)
    symbols += struct.pack("<IBBHQQ", places[len(functions)], 0x11, 0, 2, table, 8 * count)
    buckets, chain = [0] * len(names), [0] * (len(names) + 1)
    for k, each in enumerate(names, 1):
        bucket = hash_of(each) % len(buckets)
        chain[k], buckets[bucket] = buckets[bucket], k
    hashes = struct.pack(f"<{2 + len(buckets) + len(chain)}I", len(buckets), len(chain), *buckets, *chain)
    hash_at = 64 + 3 * 56
    symbols_at = -(-(hash_at + len(hashes)) // 8) * 8
    strings_at = symbols_at + len(symbols)
    entries = [(14, places[-1]), (4, hash_at), (5, strings_at), (6, symbols_at), (10, len(strings)), (11, 24), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", *each) for each in entries)
    dynamic_at = table + 8 * count
    data = bytes(8 * count) + dynamic
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, MACHINES[machine], 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    segments = [
        (LOAD, READ_EXECUTE, 0, TEXT + len(text), 0x1000),
        (LOAD, READ_WRITE, table, len(data), 0x1000),
        (DYNAMIC, READ_WRITE, dynamic_at, len(dynamic), 8),
    ]
    header += b"".join(struct.pack("<IIQQQQQQ", kind, flags, at, at, at, n, n, align) for kind, flags, at, n, align in segments)
    image = bytearray(table + len(data))
    for at, part in ((0, header), (hash_at, hashes), (symbols_at, symbols), (strings_at, strings), (TEXT, text), (table, data)):
        image[at : at + len(part)] = part
    return bytes(image)


class Library:
    """A library that is loaded.

    Args:
        name: its own; ``functions``: those that it has, by their names; ``more``: so many without a name.

    Attributes:
        handle: as ctypes has it.
    """

    def __init__(self, name: str, functions: Mapping[str, int], more: int = 0):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(written(name, list(functions), more=more))
            self.handle = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)  # stays loaded when its file is gone
        self.count = len(functions)
        self.table = (ctypes.c_uint64 * (self.count + more)).in_dll(self.handle, TABLE_NAME)
        self.table[: self.count] = list(functions.values())
        first = ctypes.cast(getattr(self.handle, next(iter(functions))), ctypes.c_void_p).value or 0
        self.base = first - TEXT

    def add(self, address: int) -> int:
        """The address of one more function, which jumps to another."""
        self.table[self.count] = address
        self.count += 1
        return self.base + TEXT + 16 * (self.count - 1)

    def silence(self, function: int) -> None:
        """Let a function return 0 from now on; ``function``: its address."""
        self.table[(function - self.base - TEXT) // 16] = self.base + TEXT + 16 * len(self.table)

    def end(self) -> None:
        """Let all functions return 0: what they jump to may go."""
        for k in range(len(self.table)):
            self.silence(self.base + TEXT + 16 * k)
