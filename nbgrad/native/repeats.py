"""Native code: a list of launches, and of other such loops, as the body of a loop.

NOTE [Moves]: a body knows results, operands and constants by addresses, which move from trip to trip. Of each there are kept: where
it is in even trips and in odd ones, where in the first trip and in the last (0: as in the others), and bytes from trip to trip. So
a trip writes what it carries on where the next one reads it, and slices where they belong; nothing is copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernels.cpu.pool import HAS_WORKERS
from .language import Words, entry, native
from .launches import array_of, data
from .primitives import (
    address_of,
    address_of_bytes,
    array_data,
    get_int64,
    give_lock,
    put_int64,
    run_kernel,
    take_lock,
    words,
    words_of,
)

if HAS_WORKERS:
    from .pool import parallel
else:
    from .serial import parallel

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["launch_step", "repeat", "repeat_step"]


@native(inline=True)
def launch_step(code: Words, at: int, table: int, start: int, pointers: Words) -> None:
    """A step that is a launch.

    Args:
        at: where it is among the words. table: of the addresses. start: of the words.
        pointers: for the kernel's.
    """
    pointers[0] = start + 8 * code[at + 6]
    pair = at + 8
    for k in range(code[at + 7]):
        pointers[1 + k] = get_int64(table + 8 * code[pair]) + code[pair + 1]
        pair = pair + 2
    if code[at + 5] == 0:
        run_kernel(code[at + 2], code[at + 3], pointers)
    else:
        thread = give_lock()
        parallel(code[at + 2], code[at + 3], code[at + 4], address_of(pointers))
        take_lock(thread)


@native(inline=True)
def begin_loop(code: Words, body: int, table: int, count: int, start: int) -> None:
    """Note in a table where the memory of a body begins, and where its words do."""
    put_int64(table, table + 8 * code[body + 2])
    put_int64(table + 8 * (count + 1), start + 8 * body)


@native(inline=True)
def move_on(table: int, kept: int, count: int, trip: int, trips: int) -> None:
    """Note in a table where the addresses of a trip are."""
    for k in range(count):
        cell, address = kept + 40 * k, 0
        if trip == 0:
            address = get_int64(cell + 16)
        if address == 0 and trip == trips - 1:
            address = get_int64(cell + 24)
        if address == 0:
            address = get_int64(cell + 8 * (trip & 1)) + trip * get_int64(cell + 32)
        put_int64(table + 8 + 8 * k, address)


@native
def run_trips(code: Words, body: int, table: int, kept: int, count: int, trips: int, begin: int, end: int, start: int) -> None:
    """Run trips of a loop; of a loop within it, what is to go on behind it lies in the memory of that: nothing is called again.

    Args:
        body: where its words begin; ``start``: the address of all words.
        table: of the addresses that the steps know; ``kept``: NOTE [Moves]; ``count``: how many move.
        trips: of the whole loop; from ``begin`` to before ``end``, which is behind it, they are run.
    """
    begin_loop(code, body, table, count, start)
    move_on(table, kept, count, begin, trips)
    pointers, depth, trip = words(128), 0, begin
    at, left = body + 5, code[body + 1]
    while True:
        if left != 0 and code[at] != 4:
            launch_step(code, at, table, start + 8 * body, pointers)
            at = at + code[at + 1]
            left = left - 1
        elif left != 0:
            inner = room_of(code, at, table)
            within = inner + code[at + 7]
            fill_moves(code, at, table, within)
            frame = within + 40 * code[at + 6]
            put_int64(frame, body)
            put_int64(frame + 8, table)
            put_int64(frame + 16, kept)
            put_int64(frame + 24, count)
            put_int64(frame + 32, trips)
            put_int64(frame + 40, trip)
            put_int64(frame + 48, end)
            put_int64(frame + 56, at)
            put_int64(frame + 64, left)
            depth = depth + 1
            body, table, kept, count = body + code[at + 2], inner, within, code[at + 6]
            trips, trip, end = code[at + 3], code[at + 4], code[at + 5]
            begin_loop(code, body, table, count, start)
            move_on(table, kept, count, trip, trips)
            at, left = body + 5, code[body + 1]
        elif trip + 1 < end:
            trip = trip + 1
            move_on(table, kept, count, trip, trips)
            at, left = body + 5, code[body + 1]
        elif depth != 0:
            depth = depth - 1
            frame = kept + 40 * count
            body, table, kept = get_int64(frame), get_int64(frame + 8), get_int64(frame + 16)
            count, trips, trip = get_int64(frame + 24), get_int64(frame + 32), get_int64(frame + 40)
            end, at, left = get_int64(frame + 48), get_int64(frame + 56), get_int64(frame + 64) - 1
            at = at + code[at + 1]
        else:
            return


@native
def room_of(code: Words, at: int, table: int) -> int:
    """Where the memory of a step that is a loop begins."""
    return (get_int64(table + 8 * code[at + 8]) + code[at + 9] + 63) & -64


@native
def fill_moves(code: Words, at: int, table: int, kept: int) -> None:
    """Note where the addresses of a step that is a loop move."""
    word = at + 10
    for k in range(code[at + 6]):
        cell = kept + 40 * k
        for which in range(4):
            address = 0
            if code[word] >= 0:
                address = get_int64(table + 8 * code[word]) + code[word + 1]
            put_int64(cell + 8 * which, address)
            word = word + 2
        put_int64(cell + 32, code[word])
        word = word + 1


@native
def repeat_step(code: Words, at: int, table: int, start: int) -> None:
    """A step that is a loop: REPEAT of NOTE [Sequence words]."""
    inner = room_of(code, at, table)
    kept = inner + code[at + 7]
    fill_moves(code, at, table, kept)
    run_trips(code, code[at + 2], inner, kept, code[at + 6], code[at + 3], code[at + 4], code[at + 5], start)


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
        code: what a trip does: NOTE [Sequence words] of sequences.py, launches and loops alone.
        moves: how many addresses move, where in the block they are kept, how many trips the loop has; then for every address (of
            results, operands and constants, as they are numbered): on which of the tensors it lies in even trips, and how many
            bytes from there; the same of odd ones, of the first, and of the last (-1: as in the others); bytes from trip to trip.
        tensors: that the moves speak of.
        block: the memory that the steps share.
    """
    steps, move = words_of(code), words_of(moves)
    arrays: list = []
    for k in range(len(tensors)):
        x: Tensor = tensors[k]
        arrays.append(array_of(x))  # other threads may exchange what the tensors have while the lock is away
    table = (array_data(block) + 63) & -64
    count, kept, word = move[0], table + move[1], 3
    for k in range(count):
        cell = kept + 40 * k
        for which in range(4):
            address = place_of(tensors, move[word])
            if address != 0:
                address = address + move[word + 1]
            put_int64(cell + 8 * which, address)
            word = word + 2
        put_int64(cell + 32, move[word])
        word = word + 1
    run_trips(steps, 0, table, kept, count, move[2], int(begin), int(end), address_of_bytes(code))
