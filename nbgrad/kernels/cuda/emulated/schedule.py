"""How the threads of a launch take turns: blocks one after the other, the threads of a block as fibers that meet at barriers and
shuffles. Machine code, written as kernels are.
"""

# ruff: noqa: F821  (word, set_word and call_c are bound by the compiler)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from .check import note_fault
from .switch import FIRST_ARGUMENT, REGISTERS, RETURN_ADDRESS, SECOND_ARGUMENT
from .words import (
    ANSWER,
    AT_BARRIER,
    AT_SHUFFLE,
    BEGIN,
    BLOCK,
    DISTANCE,
    DIVERGENT,
    ENDED,
    EPOCH,
    FAULT,
    FIBER,
    FIBER_WORDS,
    FIBERS,
    FIRST_OF_BLOCK,
    FIRST_OF_LAUNCH,
    GRID,
    KERNEL,
    MATCHES,
    MEETS,
    NO_STACK,
    ORDER,
    PARAMETERS,
    POINTER,
    SCHEDULER,
    SHARED_BYTES,
    SHARED_SHADOW,
    SHIFT,
    STACK,
    STACKS,
    SWITCH,
    THREAD,
    THREADS,
    TOUCHED_COUNT,
    TRAMPOLINE,
    VALUE,
    WAITS,
)

__all__ = ["begin", "launch", "shuffle", "wait"]

WARP = 32
UNTOUCHED = 0x5AFE5AFE5AFE5AFE  # lies at the far end of a stack


def leave(machine, reason):
    """Go back to the scheduler until that one comes again."""
    fiber = word(machine, FIBER)
    set_word(fiber, WAITS, reason)
    call_c(word(machine, SWITCH), (fiber + 8 * POINTER, word(machine, SCHEDULER)))


def begin(machine):
    """What a fiber does: its thread; then it is never come back to."""
    call_c(word(machine, KERNEL), (machine, word(machine, PARAMETERS)))
    leave(machine, ENDED)
    return 0


def wait(machine):
    """A thread at a barrier."""
    leave(machine, AT_BARRIER)
    return 0


def shuffle(machine, value, distance):
    """A thread's value for others; what it gets for its own."""
    fiber = word(machine, FIBER)
    set_word(fiber, VALUE, value)
    set_word(fiber, DISTANCE, distance)
    leave(machine, AT_SHUFFLE)
    return word(fiber, ANSWER)


def fiber_at(machine, thread):
    return word(machine, FIBERS) + thread * FIBER_WORDS * 8


def resume(machine, thread):
    """Let a thread run to where it waits."""
    fiber = fiber_at(machine, thread)
    set_word(machine, THREAD, thread)
    set_word(machine, FIBER, fiber)
    set_word(fiber, WAITS, 0)
    call_c(word(machine, SWITCH), (machine + 8 * SCHEDULER, word(fiber, POINTER)))


def start(machine, thread):
    """A new stack for a thread, as ``switch`` leaves one: NOTE [A new stack]."""
    stack = word(machine, STACKS) + thread * STACK
    set_word(stack, 0, UNTOUCHED)
    top = stack + STACK - 8 * REGISTERS
    for k in range(REGISTERS):
        set_word(top, k, 0)
    set_word(top, FIRST_ARGUMENT, machine)
    set_word(top, SECOND_ARGUMENT, word(machine, BEGIN))
    set_word(top, RETURN_ADDRESS, word(machine, TRAMPOLINE))
    set_word(fiber_at(machine, thread), POINTER, top)
    set_word(fiber_at(machine, thread), WAITS, 0)


def answer(machine, warp, lane, threads, distance):
    """What a thread gets: NOTE [Distances] of ``words.py``."""
    if distance >= WARP:
        return word(fiber_at(machine, warp + (lane ^ (distance - WARP))), VALUE)
    if distance >= 0:
        source = lane + distance if lane + distance < threads else lane
        return word(fiber_at(machine, warp + source), VALUE)
    if distance < MATCHES:
        source = lane + distance + 1 if lane + distance + 1 >= 0 else lane
        return word(fiber_at(machine, warp + source), VALUE)
    own = word(fiber_at(machine, warp + lane), VALUE)
    found = 0
    for other in range(threads):
        if word(fiber_at(machine, warp + other), VALUE) == own:
            found |= 1 << other
    return found


def meet_shuffle(machine, warp):
    """Exchange values if all threads of a warp are at one shuffle; whether they were."""
    threads = min(WARP, word(machine, THREADS) - warp)
    distance = word(fiber_at(machine, warp), DISTANCE)
    for lane in range(threads):
        fiber = fiber_at(machine, warp + lane)
        if word(fiber, WAITS) != AT_SHUFFLE or word(fiber, DISTANCE) != distance:
            return False
    for lane in range(threads):
        set_word(fiber_at(machine, warp + lane), ANSWER, answer(machine, warp, lane, threads, distance))
    for lane in range(threads):
        resume(machine, warp + lane)
    return True


def meet_shuffles(machine):
    """Whether the threads of any warp met."""
    met = False
    for warp in range(0, word(machine, THREADS), WARP):
        if meet_shuffle(machine, warp):
            met = True
    return met


def count_of(machine, reason):
    """How many threads wait for something."""
    found = 0
    for thread in range(word(machine, THREADS)):
        if word(fiber_at(machine, thread), WAITS) == reason:
            found += 1
    return found


def clear_shared(machine):
    """A block finds nothing in shared memory."""
    stamps = word(machine, SHARED_SHADOW)
    for k in range(2 * word(machine, SHARED_BYTES)):
        set_word(stamps, k, 0)


def run_block(machine):
    """Run the threads of a block until all have ended, or are stuck."""
    threads = word(machine, THREADS)
    set_word(machine, EPOCH, word(machine, EPOCH) + 1)
    set_word(machine, FIRST_OF_BLOCK, word(machine, EPOCH))
    clear_shared(machine)
    order = word(machine, ORDER)
    shift = word(machine, SHIFT)
    if word(machine, MEETS) == 0:
        for k in range(threads):
            set_word(machine, THREAD, (k * order + shift) % threads)
            call_c(word(machine, KERNEL), (machine, word(machine, PARAMETERS)))
        return
    for thread in range(threads):
        start(machine, thread)
    for k in range(threads):
        resume(machine, (k * order + shift) % threads)
    while count_of(machine, ENDED) < threads:
        if not meet_shuffles(machine):
            if count_of(machine, AT_BARRIER) < threads:
                note_fault(machine, DIVERGENT, 0, 0, 0)
                return
            set_word(machine, EPOCH, word(machine, EPOCH) + 1)
            for k in range(threads):
                resume(machine, (k * order + shift) % threads)


def stacks_are_whole(machine):
    """Whether no thread has written beyond the end of its stack."""
    whole = True
    for thread in range(word(machine, THREADS)):
        if word(word(machine, STACKS) + thread * STACK, 0) != UNTOUCHED:
            whole = False
    return whole


def launch(machine):
    """Run all blocks of a launch; what was wrong."""
    set_word(machine, EPOCH, word(machine, EPOCH) + 1)
    set_word(machine, FIRST_OF_LAUNCH, word(machine, EPOCH))
    set_word(machine, TOUCHED_COUNT, 0)
    for z in range(word(machine, GRID + 2)):
        for y in range(word(machine, GRID + 1)):
            for x in range(word(machine, GRID)):
                set_word(machine, BLOCK, x)
                set_word(machine, BLOCK + 1, y)
                set_word(machine, BLOCK + 2, z)
                run_block(machine)
                if word(machine, MEETS) != 0 and not stacks_are_whole(machine):
                    note_fault(machine, NO_STACK, 0, 0, 0)
                if word(machine, FAULT) != 0:
                    return word(machine, FAULT)
    return 0
