"""Native code: a list of launches as the body of a loop, whose trips move from slice to slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .language import entry, native
from .launches import array_of, data
from .primitives import address_of_bytes, array_data, get_int64, put_int64, words, words_of
from .sequences import launch_step

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["repeat"]


@native
def place_of(tensors: tuple, which: int) -> int:
    """The address of a tensor; 0 of none."""
    if which < 0:
        return 0
    x: Tensor = tensors[which]
    return data(x)


@entry
def repeat(code: bytes, moves: bytes, tensors: tuple, block, begin, end) -> None:
    """Run the trips of a loop from ``begin`` to before ``end``.

    Args:
        code: what a trip does: NOTE [Sequence words] of sequences.py, launches alone.
        moves: how many addresses move from trip to trip, where in the block they are kept, how many trips the loop has; then for
            every address (of results, operands and constants, as they are numbered): which of the tensors it lies on in even
            trips, and in odd ones, bytes from there, bytes from trip to trip, on which tensor in the first trip, and in the last
            (-1: as in the others).
        tensors: that the moves speak of.
        block: the memory that the steps share.
    """
    steps, move = words_of(code), words_of(moves)
    arrays: list = []
    for k in range(len(tensors)):
        x: Tensor = tensors[k]
        arrays.append(array_of(x))  # other threads may exchange what the tensors have while the lock is away
    table = (array_data(block) + 63) & -64
    count, kept, trips = move[0], table + move[1], move[2]
    put_int64(table, table + 8 * steps[2])
    put_int64(table + 8 * (count + 1), address_of_bytes(code))
    for k in range(count):
        at = 3 + 6 * k
        put_int64(kept + 32 * k, place_of(tensors, move[at]) + move[at + 2])
        put_int64(kept + 32 * k + 8, place_of(tensors, move[at + 1]) + move[at + 2])
        put_int64(kept + 32 * k + 16, place_of(tensors, move[at + 4]))
        put_int64(kept + 32 * k + 24, place_of(tensors, move[at + 5]))
    pointers, start = words(128), address_of_bytes(code)
    for trip in range(int(begin), int(end)):
        for k in range(count):
            address = 0
            if trip == 0:
                address = get_int64(kept + 32 * k + 16)
            if address == 0 and trip == trips - 1:
                address = get_int64(kept + 32 * k + 24)
            if address == 0:
                address = get_int64(kept + 32 * k + 8 * (trip & 1)) + trip * move[6 + 6 * k]
            put_int64(table + 8 + 8 * k, address)
        at = 5
        for _step in range(steps[1]):
            launch_step(steps, at, table, start, pointers)
            at = at + steps[at + 1]
