"""Pinned memory: the host's, which a GPU fetches from and writes to while the program goes on.

NOTE [Pinned blocks]: an array in pinned memory has a ``Pinned`` as the base of its bases. It notes every copy that may still run
by an event. When the last array on it is gone its block is kept for others, but given to none before the copies are done: so the
source of a running copy is never used again too early, and nothing waits where memory ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import OutOfMemoryError
from ..base.locks import new_rlock
from ..kernels.cuda.driver import Card, Exhausted, card
from ..native.heaps import class_bytes
from .choices import current
from .storage import last_base

__all__ = ["Pinned", "owner_of", "pinned_array", "release", "stats"]


class Block:
    """A piece of pinned memory.

    Attributes:
        address, size: of it; ``buffer``: cuda.core's object.
        uses: the copies that may still run: GPUs and their events.
    """

    __slots__ = ("address", "size", "buffer", "uses")

    def __init__(self, buffer: Any, size: int):
        self.buffer, self.address, self.size = buffer, int(buffer.handle), size
        self.uses: list[tuple[Card, int]] = []

    def is_free(self, wait: bool = False) -> bool:
        """Whether no copy uses it any longer; ``wait``: until none does."""
        while self.uses:
            found, event = self.uses[-1]
            if wait:
                found.wait_for(event)
            elif not found.is_reached(event):
                return False
            found.give_event(event)
            self.uses.pop()
        return True


_lock = new_rlock()
_returned: list[Block] = []  # from arrays that are gone, by whichever thread; nobody has looked yet
_running: list[Block] = []  # those of them that a copy may still use
_free: dict[int, list[Block]] = {}  # by size
_held = [0, 0]  # bytes from the driver, and of those in arrays


class Pinned:
    """The owner of a block while there are arrays on it."""

    __slots__ = ("block", "__array_interface__")
    is_pinned = True

    def __init__(self, block: Block, nbytes: int):
        self.block = block
        self.__array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (block.address, False), "version": 3}

    def use(self, found: Card, stream: int) -> None:
        """Note that a stream's work up to here uses it."""
        event = found.take_event()
        found.record(event, stream)
        self.block.uses.append((found, event))

    def __del__(self) -> None:
        _returned.append(self.block)


def owner_of(array: Any) -> Pinned | None:
    """The owner of an array's memory if that is pinned."""
    last = last_base(array)
    return last if isinstance(last, Pinned) else None


def pinned_array(nbytes: int) -> np.ndarray:
    """Uninitialised bytes in pinned memory.

    Raises:
        OutOfMemoryError: there is none.
    """
    size = class_bytes(nbytes)
    with _lock:
        settle(False)
        kept = _free.get(size)
        block = kept.pop() if kept else None
        if block is None:
            block = from_driver(size)
            _held[0] += size
        _held[1] += size
    return np.asarray(Pinned(block, nbytes))


def from_driver(size: int) -> Block:
    """A new block; if there is none, after those that are kept went back."""
    found = card(current.index)
    for last in (False, True):
        try:
            return Block(found.allocate_pinned(size), size)
        except Exhausted:
            if not last:
                release()
    raise OutOfMemoryError(
        f"pin_memory: the system gives no {size} bytes of pinned memory; {_held[1]} are in use. Hint: leave pin_memory out."
    )


def settle(wait: bool) -> None:
    """Look which blocks can be used again; ``wait``: until all can."""
    while _returned:
        block = _returned.pop()
        _held[1] -= block.size
        _running.append(block)
    running, _running[:] = list(_running), []
    for block in running:
        if block.is_free(wait):
            _free.setdefault(block.size, []).append(block)
        else:
            _running.append(block)


def release() -> int:
    """Give blocks that no array has back to the driver; how many bytes that were."""
    given = 0
    with _lock:
        settle(True)
        for size, blocks in _free.items():
            while blocks:
                blocks.pop().buffer.close()
                given += size
        _held[0] -= given
    return given


def stats() -> tuple[int, int]:
    """Bytes that the driver has given, and those in arrays."""
    with _lock:
        settle(False)
        return _held[0], _held[1]
