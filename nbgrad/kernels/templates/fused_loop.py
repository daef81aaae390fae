"""Several kernels over one range of positions, strip by strip, so that what they hand on stays in the first-level cache.

Plain functions for ``kernels/cpu/build``; their free names are intrinsics, or bound as those of ``reduce.py`` are.

NOTE [Strips]: a unit of work is a block of positions, which is computed strip by strip, and then folded, where something is. The
record, in int64 words: 0 positions in all, 1 in a row, 2 in a block, 3 in a strip, 4 steps, 5 folds. Then for every step its
elementwise kernel and the number of that one's operands, outputs first, with three words for each:
  pointer >= 0   of this launch; bytes from row to row; bytes from column to column
  STRIP          memory of a strip; its offset; bytes from position to position
  BLOCK          memory of a block; likewise
and for every fold the kernel that reduces a row (NOTE [Fixed blocks] of reduce.py), bytes of an accumulator, the number of the
pointer to the accumulators, one for each block; then three words as above, where the folded values are.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import struct
from typing import Any, NamedTuple

from ..late import Code
from .folds import Fold
from .reduce import bound

__all__ = ["BLOCK", "FOLDED", "ROOM", "STRIP", "Reached", "absorb_blocks", "blocks_of", "fused_loop", "fused_record", "run_step"]

STRIP, BLOCK = -1, -2
FOLDED = 4096  # positions in a block: as many as the loops of reduce.py fold at a time
ROOM = 163840  # bytes of memory that strips and blocks have


class Reached(NamedTuple):
    """How an operand of a step is reached: the three words of NOTE [Strips]."""

    pointer: int
    row: int
    column: int


def run_step(kernel, count, arguments):
    """Run a kernel on ``count`` positions: its pointers lead to the first of them."""
    run_kernel(kernel, 0, count, arguments)


def fused_loop(start, stop, args):
    """The kernel: see NOTE [Strips]."""
    memory = stack(163840)
    arguments = stack(1088)
    row_record = stack(64)
    record = pointer_word(args, 0)
    positions, width, block = word(record, 0), word(record, 1), word(record, 2)
    strip, steps, folds = word(record, 3), word(record, 4), word(record, 5)
    for unit in range(start, stop):
        first = unit * block
        last = min(first + block, positions)
        position = first
        while position < last:
            row = position // width
            column = position - row * width
            count = min(min(strip, last - position), width - column)
            at = record + 48
            for _ in range(steps):
                kernel, operands = word(at, 0), word(at, 1)
                at += 16
                for k in range(operands):
                    pointer = word(at, 0)
                    if pointer >= 0:
                        address = pointer_word(args, pointer) + row * word(at, 1) + column * word(at, 2)
                    elif pointer == -1:
                        address = memory + word(at, 1)
                    else:
                        address = memory + word(at, 1) + (position - first) * word(at, 2)
                    set_word(arguments, 1 + k, address)
                    at += 24
                run_step(kernel, count, arguments)
            position += count
        at = record + 48
        for _ in range(steps):
            at += 16 + 24 * word(at, 1)
        for _ in range(folds):
            set_word(row_record, 0, last - first)
            set_word(row_record, 1, 0)
            set_word(row_record, 2, 1)
            set_word(row_record, 3, 0)
            set_word(row_record, 4, 1 << 62)
            set_word(row_record, 5, 1)
            set_word(row_record, 6, 1)
            set_word(arguments, 0, row_record)
            set_word(arguments, 1, pointer_word(args, word(at, 2)) + unit * word(at, 1))
            if word(at, 3) >= 0:
                set_word(arguments, 2, pointer_word(args, word(at, 3)) + first * word(at, 5))
            else:
                set_word(arguments, 2, memory + word(at, 4))
            run_step(word(at, 0), 1, arguments)
            at += 48


def fused_record(
    positions: int,
    width: int,
    block: int,
    strip: int,
    steps: list[tuple[Code, list[Reached]]],
    folds: list[tuple[Code, int, int, Reached]],
) -> bytes:
    """Build the record: kernels with how their operands are reached, outputs first; kernel, bytes, pointer and place of folds."""
    words: list[Any] = [positions, width, block, strip, len(steps), len(folds)]
    for kernel, operands in steps:
        words += [kernel, len(operands), *(word for operand in operands for word in operand)]
    for kernel, size, pointer, reached in folds:
        words += [kernel, size, pointer, *reached]
    return struct.pack(f"{len(words)}q", *words)


def absorb_blocks(start, stop, args):
    """A unit is a result of the accumulators of consecutive blocks.

    The record: how many blocks there are, and how many a result has; ``times`` and ``over`` of reduce.py.
    """
    record = pointer_word(args, 0)
    blocks, each = word(record, 0), word(record, 1)
    out = p_out(args, 1)
    s = p_acc(args, 2)
    for unit in range(start, stop):
        hi = wide(IDENTITY)
        lo = wide(IDENTITY)
        for k in range(unit * each, min(unit * each + each, blocks)):
            hi, lo = absorb(hi, lo, s[k])
        out[unit] = result(hi, lo, word(record, 2), word(record, 3))


def blocks_of(fold: Fold) -> tuple:
    """``absorb_blocks`` and its bindings, for what a fold gives."""
    return absorb_blocks, (*bound(acc=fold.acc, out=fold.out), *fold.bindings)
