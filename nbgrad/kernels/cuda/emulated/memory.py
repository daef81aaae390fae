"""Memory of the emulated devices: what is allocated where, who may touch it, and the table in which kernels look that up.

NOTE [Ranges]: the table has a row for each allocation, by rising addresses, and one for each stretch of freed ones. Addresses are
given out in rising order within a region, and not again: whoever touches memory that was freed is told. A region whose allocations
are all freed is kept for a while, its address space with it, and goes when younger ones have filled ``KEPT``: so memory and table
are bounded by what lives, however much was allocated before.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from bisect import bisect_left, bisect_right
from collections import deque

import numpy as np

from ....base.errors import KernelError
from . import words
from .guard import guard, opened
from .timeline import History
from .words import ALIVE, ALLOCATION_WORDS, EVERYBODY, FREED

__all__ = ["Allocation", "Memory", "named"]

APART = 256  # bytes between allocations, which belong to none
GARBAGE = 0xFB  # what fresh and freed memory holds: as bytes, integers and numbers nothing that a program would have
FILLED = 16 << 20  # larger allocations hold no garbage at first: what nobody touches costs nothing
MAPPED = 256 << 10  # bytes of which the system is asked directly
NO_RESERVE = 0x4000  # Linux's MAP_NORESERVE, which mmap has from Python 3.13 on
RESERVED = 1 << 20  # bytes that are taken of this process's memory at once
KEPT = 16 << 20  # bytes of regions of which nothing is left
REMEMBERED = 256  # freed allocations that messages know by name
NO_SHADOW = np.zeros((0, 2), np.int64)
HOST = -1  # in the place of a device's number

ROW = struct.Struct(f"{ALLOCATION_WORDS}q")


def fresh(nbytes: int) -> np.ndarray:
    """Bytes that are 0, of which those that nobody touches cost nothing, and which go back to the system with the array."""
    if nbytes < MAPPED or sys.platform != "linux":
        return np.zeros(nbytes, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    return np.frombuffer(mmap.mmap(-1, nbytes, flags), np.uint8)


class Region:
    """Memory of this process out of which allocations are given.

    Attributes:
        free: where the next one begins; ``living``: how many have not been freed.
    """

    __slots__ = ("block", "start", "end", "free", "living")

    def __init__(self, nbytes: int, guarded: bool):
        self.block = fresh(nbytes)
        if nbytes <= FILLED:
            self.block[:] = GARBAGE
        self.start = self.block.__array_interface__["data"][0]
        if guarded:
            guard(self.start, nbytes)
        self.end = self.start + nbytes
        self.free, self.living = -(-self.start // APART) * APART, 0


class Allocation:
    """Memory of a device, or of the host where devices reach it.

    Attributes:
        address, nbytes: where it is; ``name``: what messages call it.
        device: whose it is, or ``HOST``.
        alive: whether it has not been freed.
        shadow: NOTE [Stamps] of check.py, of every byte, while it is alive.
        history: NOTE [Clocks] of timeline.py; None for what one launch after the other uses and leaves.
        copies: those from or to memory of the host that are queued.
    """

    __slots__ = ("address", "nbytes", "name", "device", "alive", "shadow", "history", "region", "copies", "owner")

    def __init__(self, address: int, nbytes: int, name: str = "", device: int = 0, region: Region | None = None):
        self.address, self.nbytes, self.name, self.device, self.alive = address, nbytes, name, device, True
        self.shadow = fresh(16 * nbytes).view(np.int64).reshape(nbytes, 2)
        self.history: History | None = History()
        self.region = region
        self.copies: list = []
        self.owner: object = None  # the driver's: a pool, a graph

    def __str__(self) -> str:
        return f"{self.nbytes} bytes at {self.address:#x}"

    def note_written(self, first: int = 0, nbytes: int | None = None, stamps: np.ndarray | None = None) -> None:
        """Somebody wrote to memory before all epochs; with ``stamps`` as far as where that was copied from had been written to."""
        last = self.nbytes if nbytes is None else first + nbytes
        self.shadow[first:last, 0] = 1 if stamps is None else stamps != 0


class Memory:
    """What the devices of one process have, the host's memory that they reach included.

    Attributes:
        epoch: of the last launch, on any device: see NOTE [Stamps] of check.py.
        table, count: rows for machine code, as words.py says; ``entries``: what each is of, None for freed memory.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.addresses: list[int] = []
        self.entries: list[Allocation | None] = []
        self.table = np.zeros((64, ALLOCATION_WORDS), np.int64)
        self.regions: dict[bool, Region] = {}  # those that are given out of now, of the devices and of the host
        self.left: deque[Region] = deque()
        self.left_bytes = 0
        self.remembered: deque[Allocation] = deque(maxlen=REMEMBERED)
        self.grown()

    @property
    def count(self) -> int:
        return len(self.addresses)

    # ---- allocations -------------------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int, name: str = "", device: int = 0, access: int = EVERYBODY) -> Allocation:
        """Memory that nobody has written to; ``access``: a bit for each device that may touch it."""
        taken = -(-nbytes // APART) * APART + APART
        guarded = device != HOST
        region = self.regions.get(guarded)
        if taken > RESERVED // 4:
            region = Region(taken + APART, guarded)
        elif region is None or region.free + taken > region.end:
            if region is not None and not region.living:
                self.leave(region)
            region = self.regions[guarded] = Region(RESERVED, guarded)
        made = Allocation(region.free, nbytes, name, device, region)
        region.free += taken
        region.living += 1
        self.insert(made, access)
        return made

    def adopt(self, address: int, nbytes: int, name: str, device: int = HOST) -> Allocation:
        """Memory that is there already, and which the host may write to at any time.

        Raises:
            KernelError: part of it is known already.
        """
        at = bisect_right(self.addresses, address + max(nbytes, 1) - 1) - 1
        if at >= 0 and self.addresses[at] + max(int(self.table[at, words.SIZE]), 1) > address:
            raise KernelError(f"emulated device: {nbytes} bytes at {address:#x} are known already.")
        made = Allocation(address, nbytes, name, device)
        made.note_written()
        self.insert(made, EVERYBODY)
        return made

    def release(self, allocation: Allocation) -> None:
        """Give memory back; whoever touches it later is told."""
        if not allocation.alive:
            raise KernelError(f"emulated device: {named(allocation)} is freed twice.")
        at = self.row_of(allocation)
        allocation.alive, allocation.shadow = False, NO_SHADOW
        region = allocation.region
        if region is None:
            self.remove(at)
            return
        if allocation.nbytes <= FILLED:
            with opened():
                ctypes.memset(allocation.address, GARBAGE, allocation.nbytes)
        self.entries[at] = None
        self.fill(at, allocation.address, allocation.nbytes, 0, FREED, EVERYBODY)
        for left in (at, at - 1):
            self.join(left, region)
        allocation.region = None
        self.remembered.append(allocation)
        region.living -= 1
        if not region.living and region not in self.regions.values():
            self.leave(region)

    def find(self, address: int) -> Allocation | None:
        """The allocation in which an address lies."""
        at = bisect_right(self.addresses, address) - 1
        found = self.entries[at] if at >= 0 else None
        return found if found is not None and address < found.address + max(found.nbytes, 1) else None

    def was_freed(self, address: int) -> bool:
        """Whether an address lies in memory that was allocated once, and is not now."""
        at = bisect_right(self.addresses, address) - 1
        return at >= 0 and self.entries[at] is None and address < self.addresses[at] + int(self.table[at, words.SIZE])

    def allow(self, allocation: Allocation, access: int) -> None:
        """Say which devices may touch memory."""
        self.table[self.row_of(allocation), words.ACCESS] = access

    def row_of(self, allocation: Allocation) -> int:
        return bisect_right(self.addresses, allocation.address) - 1

    def place(self, address: int) -> str:
        """An address in words: the allocation in which it lies, or that is next to it."""
        at = bisect_right(self.addresses, address) - 1
        near = self.entries[at] if at >= 0 else None
        if near is None or address >= near.address + near.nbytes + APART:
            for each in reversed(self.remembered):
                if each.address <= address < each.address + each.nbytes + APART:
                    near = each
                    break
        return f"byte {address - near.address} of {named(near)}" if near is not None else f"address {address:#x}"

    # ---- rows ----------------------------------------------------------------------------------------------------------------

    def grown(self) -> None:
        """Note where the table is now."""
        self.start = self.table.__array_interface__["data"][0]
        self.touched = np.zeros(len(self.table), np.int64)
        self.touched_start = self.touched.__array_interface__["data"][0]

    def fill(self, at: int, address: int, nbytes: int, shadow: int, state: int, access: int) -> None:
        ROW.pack_into(self.table.data, at * ROW.size, address, nbytes, shadow, state, access, 0, 0, 0)

    def insert(self, made: Allocation, access: int) -> None:
        """A row for an allocation."""
        count = self.count
        if count == len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            self.grown()
        at = bisect_right(self.addresses, made.address)
        if at < count:
            self.move(at, at + 1)
        self.addresses.insert(at, made.address)
        self.entries.insert(at, made)
        self.fill(at, made.address, made.nbytes, made.shadow.__array_interface__["data"][0], ALIVE, access)

    def remove(self, at: int) -> None:
        """Forget a row."""
        self.move(at + 1, at)
        del self.addresses[at], self.entries[at]

    def move(self, at: int, to: int) -> None:
        """Move all rows from one on."""
        ctypes.memmove(self.start + to * ROW.size, self.start + at * ROW.size, (self.count - at) * ROW.size)

    def join(self, at: int, region: Region) -> None:
        """Make one row of two neighbours that are freed, if both are in a region."""
        if at < 0 or at + 1 >= self.count or self.entries[at] is not None or self.entries[at + 1] is not None:
            return
        first, second = self.addresses[at], self.addresses[at + 1]
        if region.start <= first and second < region.end:
            self.table[at, words.SIZE] = second + int(self.table[at + 1, words.SIZE]) - first
            self.remove(at + 1)

    def leave(self, region: Region) -> None:
        """Keep a region of which nothing is left, and let the oldest of those go."""
        self.left.append(region)
        self.left_bytes += region.block.nbytes
        while self.left_bytes > KEPT:
            gone = self.left.popleft()
            self.left_bytes -= gone.block.nbytes
            at = bisect_left(self.addresses, gone.start)
            while at < self.count and self.addresses[at] < gone.end:
                self.remove(at)


def named(allocation: Allocation) -> str:
    """An allocation in words."""
    return f"{allocation.name or 'an allocation'} of {allocation.nbytes} bytes"
