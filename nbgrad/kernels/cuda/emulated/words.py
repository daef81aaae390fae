"""What the words (int64) of a machine, its fibers and its memory say, to Python and to machine code."""

from __future__ import annotations

__all__ = ["ALLOCATION_WORDS", "FAULTS", "FIBER_WORDS", "MACHINE_WORDS", "STACK"]

# ---- of a machine ------------------------------------------------------------------------------------------------------

THREAD = 0  # number in the block
BLOCK = 1  # three
GRID = 4  # three: blocks of the launch
THREADS = 7  # of a block
KERNEL = 8  # address of what a thread does
PARAMETERS = 9  # their address: a word each
FIBER = 10  # the one that runs: its address
SCHEDULER = 11  # where the scheduler's stack was left
SWITCH = 12  # address of the function that leaves one stack for another
BARRIER = 13  # ... that a thread calls at a barrier
SHUFFLE = 14  # ... and for the value of another lane
CHECK = 15  # ... before it touches memory
SHARED = 16  # address of the block's shared memory
SHARED_BYTES = 17  # so many of it are in use
TABLE = 18  # of allocations, by rising addresses
COUNT = 19  # of its rows
FIBERS = 20  # address of the first fiber
STACKS = 21  # ... and of the first stack
BEGIN = 22  # address of the function that a fiber runs
SCRATCH = 23  # address of memory that an access which is not allowed touches instead
ORDER = 24  # odd: threads take turns k * ORDER + SHIFT
SHIFT = 25
EPOCH = 26  # rises with each block and each barrier, in all launches
FIRST_OF_LAUNCH = 27  # the epoch with which this launch began
FIRST_OF_BLOCK = 28  # ... and this block
FAULT = 29  # what was wrong first; 0: nothing
FAULT_ADDRESS = 30
FAULT_BYTES = 31
FAULT_THREAD = 32
FAULT_BLOCK = 33  # three
FAULT_OTHER = 36  # the thread that touched it before
TRAMPOLINE = 37  # address of where a new stack begins
SHARED_SHADOW = 38  # of shared memory
MEETS = 39  # whether threads wait for each other: the others need no stack of their own
DEVICE = 40  # a bit: which device this is
TOUCHED = 41  # address of the numbers of the rows that this launch touched
TOUCHED_COUNT = 42
MACHINE_WORDS = 48

# ---- of a fiber --------------------------------------------------------------------------------------------------------

POINTER = 0  # where its stack was left
WAITS = 1  # for what: see below
VALUE = 2  # that it gives to other lanes
ANSWER = 3  # what it gets
DISTANCE = 4  # of the lane that it asks
FIBER_WORDS = 8

# NOTE [Distances]: what a shuffle gives by its distance: from 0 on the value of the thread so far on, from a warp on that of the
# thread whose number differs in the bits of what is more, MATCHES a bit for each thread that has the same value, MATCHES - k the
# value of the thread k before; where there is no such thread, the own value.
MATCHES = -1

AT_BARRIER, AT_SHUFFLE, ENDED = 1, 2, 3
STACK = 1 << 16  # bytes; code that is not optimised keeps each value there

# ---- of an allocation --------------------------------------------------------------------------------------------------

ADDRESS = 0
SIZE = 1  # bytes
SHADOW = 2  # address of two words for every byte: who wrote it last, and who read it
STATE = 3
ACCESS = 4  # bits: which devices may touch it
READ_IN = 5  # the first epoch of the last launch that read it
WRITTEN_IN = 6  # ... and that wrote to it
CHANGED_IN = 7  # ... and that did to it what several threads may do at once
ALLOCATION_WORDS = 8

ALIVE, FREED = 0, 1
EVERYBODY = -1

# A word of the shadow is ``epoch << THREAD_BITS | thread + 1``; 0: nobody has.
THREAD_BITS = 12
SEVERAL = (1 << THREAD_BITS) - 1  # in the place of a thread: more than one of them


# ---- what a thread must not do -----------------------------------------------------------------------------------------

OUTSIDE, MISALIGNED, AFTER_FREE, UNWRITTEN, WRITE_WRITE, READ_WRITE, DIVERGENT, NO_STACK, FOREIGN = range(1, 10)

FAULTS = {
    OUTSIDE: "access outside of every allocation",
    MISALIGNED: "misaligned access",
    AFTER_FREE: "access to memory that was freed",
    UNWRITTEN: "read of memory that nobody has written to",
    WRITE_WRITE: "race: two threads write to one place, and no barrier is between them",
    READ_WRITE: "race: one thread writes what another one reads, and no barrier is between them",
    DIVERGENT: "divergence: threads wait for others that do not come",
    NO_STACK: "the kernel needs more of a stack than a thread has",
    FOREIGN: "access to memory of another device, which this one was not given access to",
}
