"""What an access may touch, and who else touched it: called by the threads of a checked kernel, at every load and store.

NOTE [Stamps]: for every byte of memory two words tell who wrote it last and who read it: an epoch and a thread. Epochs rise with
each block and each barrier, and never fall. So a stamp of an epoch before the launch's first is of work that was ordered before;
one before the block's first is of another block, which nothing orders; one of this epoch is of this block, since its last barrier;
all others are behind a barrier. Several readers of an epoch are one stamp of ``SEVERAL``; a reader of another block stays, since
whoever writes after it races with it whatever this block does. What several threads may do at once (``add``, ``max``, ``put`` of
access.py) leaves a writer's stamp of ``SEVERAL``, beside which there may be more of the same, and nothing else.
"""

# ruff: noqa: F821  (word and set_word are bound by the compiler)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from .words import (
    ACCESS,
    ADDRESS,
    AFTER_FREE,
    ALIVE,
    ALLOCATION_WORDS,
    BLOCK,
    CHANGED_IN,
    COUNT,
    DEVICE,
    EPOCH,
    FAULT,
    FAULT_ADDRESS,
    FAULT_BLOCK,
    FAULT_BYTES,
    FAULT_OTHER,
    FAULT_THREAD,
    FIRST_OF_BLOCK,
    FIRST_OF_LAUNCH,
    FOREIGN,
    MISALIGNED,
    OUTSIDE,
    READ_IN,
    READ_WRITE,
    SCRATCH,
    SEVERAL,
    SHADOW,
    SIZE,
    STATE,
    TABLE,
    THREAD,
    THREAD_BITS,
    TOUCHED,
    TOUCHED_COUNT,
    UNWRITTEN,
    WRITE_WRITE,
    WRITTEN_IN,
)

__all__ = ["check"]


def note_fault(machine, fault, address, nbytes, other):
    """Keep what was wrong first, and where."""
    if word(machine, FAULT) == 0:
        set_word(machine, FAULT, fault)
        set_word(machine, FAULT_ADDRESS, address)
        set_word(machine, FAULT_BYTES, nbytes)
        set_word(machine, FAULT_THREAD, word(machine, THREAD))
        set_word(machine, FAULT_OTHER, other)
        for k in range(3):
            set_word(machine, FAULT_BLOCK + k, word(machine, BLOCK + k))
    return word(machine, SCRATCH)


def row_of(machine, address):
    """The row of the table whose allocation begins last before an address, or 0."""
    table = word(machine, TABLE)
    low = 0
    high = word(machine, COUNT)
    while low < high:
        middle = (low + high) >> 1
        if word(table, middle * ALLOCATION_WORDS + ADDRESS) <= address:
            low = middle + 1
        else:
            high = middle
    return table + (low - 1) * ALLOCATION_WORDS * 8 if low > 0 else 0


def races(machine, stamp):
    """Whether nothing orders what left a stamp before this thread."""
    epoch = stamp >> THREAD_BITS
    if stamp == 0 or epoch < word(machine, FIRST_OF_LAUNCH):
        return False
    if epoch < word(machine, FIRST_OF_BLOCK):
        return True
    return epoch == word(machine, EPOCH) and stamp & SEVERAL != word(machine, THREAD) + 1


def note_touch(machine, row, place):
    """Keep that this launch touched what a row is of; ``place``: READ_IN, WRITTEN_IN or CHANGED_IN."""
    launch = word(machine, FIRST_OF_LAUNCH)
    if word(row, place) != launch:
        if word(row, READ_IN) != launch and word(row, WRITTEN_IN) != launch and word(row, CHANGED_IN) != launch:
            count = word(machine, TOUCHED_COUNT)
            set_word(word(machine, TOUCHED), count, (row - word(machine, TABLE)) // (8 * ALLOCATION_WORDS))
            set_word(machine, TOUCHED_COUNT, count + 1)
        set_word(row, place, launch)


def check(machine, address, nbytes, writes):
    """The address, if a thread may touch so many bytes there; memory that belongs to nobody otherwise, and the fault is noted.

    ``writes``: 0 of a load, 1 of a store, 2 of what several threads may do.
    """
    row = row_of(machine, address)
    if row == 0:
        return note_fault(machine, OUTSIDE, address, nbytes, 0)
    first = address - word(row, ADDRESS)
    if first + nbytes > word(row, SIZE):
        return note_fault(machine, OUTSIDE, address, nbytes, 0)
    if word(row, STATE) != ALIVE:
        return note_fault(machine, AFTER_FREE, address, nbytes, 0)
    if word(row, ACCESS) & word(machine, DEVICE) == 0:
        return note_fault(machine, FOREIGN, address, nbytes, 0)
    if address & (nbytes - 1) != 0:
        return note_fault(machine, MISALIGNED, address, nbytes, 0)
    note_touch(machine, row, READ_IN + writes)
    mine = (word(machine, EPOCH) << THREAD_BITS) + word(machine, THREAD) + 1
    stamps = word(row, SHADOW) + first * 16
    for k in range(nbytes):
        writer = word(stamps, 2 * k)
        reader = word(stamps, 2 * k + 1)
        if writes != 1 and writer == 0:
            return note_fault(machine, UNWRITTEN, address, nbytes, 0)
        if races(machine, writer) and (writes != 2 or writer & SEVERAL != SEVERAL):
            return note_fault(machine, WRITE_WRITE if writes != 0 else READ_WRITE, address, nbytes, (writer & SEVERAL) - 1)
        if writes != 0:
            if races(machine, reader):
                return note_fault(machine, READ_WRITE, address, nbytes, (reader & SEVERAL) - 1)
            set_word(stamps, 2 * k, mine | SEVERAL if writes == 2 else mine)
        elif reader >> THREAD_BITS == word(machine, EPOCH):
            if reader != mine:
                set_word(stamps, 2 * k + 1, mine | SEVERAL)
        elif not races(machine, reader):
            set_word(stamps, 2 * k + 1, mine)
    return address
