"""Several kernels over one range of rows, strip by strip: what they hand on stays in the cache, and rows are folded on the way.

Plain functions for ``kernels/cpu/build``; their free names are intrinsics, or bound as those of ``reduce.py`` are.

NOTE [Strips of rows]: a unit of work is so many rows, in blocks, these in strips. The steps of a strip are kernels of operations:
of elements, all of the strip's, or of rows of them where an operand has one element a row, or one row for all; of rows, which fold
each; of one number a row. What is folded of a block, all elements or columns, is folded behind the last of its strips.
The record, in int64 words: 0 rows in all, 1 in a unit, 2 in a block, 3 in a strip, 4 steps, 5 folds. Then for every step
  0 its kernel; 1 where in the record its parameters begin, in bytes; 2 whether it is called row by row; 3 its units of work a row;
  4 how many operands it has, outputs first, with three words for each: the number of a pointer of this launch, or STRIP or BLOCK
  for memory of those; the offset there; bytes from row to row
and for every fold
  0 its kernel (NOTE [Fixed blocks] of reduce.py); 1 whether it folds columns; 2 elements a row; 3 the number of the pointer to the
  accumulators, and 4 bytes of those of a block, or of a unit's columns; then three words as above, of what is folded.
Parameters of steps follow.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import struct
from typing import Any, NamedTuple

from ..late import Code
from .fused_loop import ROOM, run_step

__all__ = ["BLOCK", "ROOM", "STRIP", "RowFold", "RowStep", "Stripped", "fused_rows", "rows_record", "run_step"]

STRIP, BLOCK = -1, -2


class Stripped(NamedTuple):
    """How an operand of a step is reached: the three words of NOTE [Strips of rows]."""

    pointer: int
    offset: int
    row: int


class RowStep(NamedTuple):
    """A kernel on a strip: see NOTE [Strips of rows]."""

    kernel: int | Code
    parameters: bytes
    singly: bool
    units: int
    operands: list[Stripped]


class RowFold(NamedTuple):
    """A kernel that folds a block: see NOTE [Strips of rows]."""

    kernel: int | Code
    columns: bool
    width: int
    pointer: int
    size: int
    operand: Stripped


def point_to_operands(args, at, memory, row, first, arguments):
    """Write down where a step's operands begin in a strip; where its description ends."""
    reached = at + 40
    for k in range(word(at, 4)):
        pointer, address = word(reached, 0), word(reached, 1)
        if pointer >= 0:
            address += pointer_word(args, pointer) + row * word(reached, 2)
        elif pointer == -1:
            address += memory
        else:
            address += memory + (row - first) * word(reached, 2)
        set_word(arguments, 1 + k, address)
        reached += 24
    return reached


def run_row_by_row(at, count, arguments):
    """Run a step's kernel on each row of a strip."""
    run_step(word(at, 0), word(at, 3), arguments)
    for _ in range(1, count):
        for k in range(word(at, 4)):
            set_word(arguments, 1 + k, word(arguments, 1 + k) + word(at, 7 + 3 * k))
        run_step(word(at, 0), word(at, 3), arguments)


def run_fold(args, at, memory, rows, first, last, number, unit, begin, arguments, fold_record):
    """Fold the rows of a block, which is the ``number``-th, of a unit that begins at row ``begin``."""
    count = last - first
    address = word(at, 6)
    if word(at, 5) >= 0:
        address += pointer_word(args, word(at, 5)) + first * word(at, 7)
    else:
        address += memory
    set_word(arguments, 0, fold_record)
    set_word(arguments, 2, address)
    target = pointer_word(args, word(at, 3))
    if word(at, 1) == 0:
        set_word(fold_record, 0, count * word(at, 2))
        set_word(fold_record, 1, 0)
        set_word(fold_record, 2, 1)
        set_word(fold_record, 3, 0)
        set_word(fold_record, 4, 1 << 62)
        set_word(fold_record, 5, 1)
        set_word(fold_record, 6, 1)
        set_word(arguments, 1, target + number * word(at, 4))
    else:
        set_word(fold_record, 0, count)
        set_word(fold_record, 1, word(at, 7))
        set_word(fold_record, 2, word(at, 2))
        set_word(fold_record, 3, first - begin)
        set_word(fold_record, 4, rows)
        set_word(arguments, 1, target + unit * word(at, 4))
    run_step(word(at, 0), 1, arguments)


def fused_rows(start, stop, args):
    """The kernel: see NOTE [Strips of rows]."""
    memory = stack(163840)
    arguments = stack(1088)
    fold_record = stack(64)
    record = pointer_word(args, 0)
    rows, unit_rows, block_rows = word(record, 0), word(record, 1), word(record, 2)
    strip_rows, steps, folds = word(record, 3), word(record, 4), word(record, 5)
    for unit in range(start, stop):
        begin = unit * unit_rows
        unit_last = min(begin + unit_rows, rows)
        for first in range(begin, unit_last, block_rows):
            last = min(first + block_rows, unit_last)
            at = record + 48
            for row in range(first, last, strip_rows):
                count = min(strip_rows, last - row)
                at = record + 48
                for _ in range(steps):
                    set_word(arguments, 0, record + word(at, 1))
                    reached = point_to_operands(args, at, memory, row, first, arguments)
                    if word(at, 2) == 0:
                        run_step(word(at, 0), count * word(at, 3), arguments)
                    else:
                        run_row_by_row(at, count, arguments)
                    at = reached
            for _ in range(folds):
                run_fold(args, at, memory, rows, first, last, first // block_rows, unit, begin, arguments, fold_record)
                at += 64


def rows_record(rows: int, unit: int, block: int, strip: int, steps: list[RowStep], folds: list[RowFold]) -> bytes:
    """Build the record of ``fused_rows``."""
    words: list[Any] = [rows, unit, block, strip, len(steps), len(folds)]
    size = 8 * (len(words) + sum(5 + 3 * len(step.operands) for step in steps) + 8 * len(folds))
    parameters = b""
    for step in steps:
        words += [step.kernel, size + len(parameters), int(step.singly), step.units, len(step.operands)]
        words += [word for operand in step.operands for word in operand]
        parameters += step.parameters
    for fold in folds:
        words += [fold.kernel, int(fold.columns), fold.width, fold.pointer, fold.size, *fold.operand]
    return struct.pack(f"{len(words)}q", *words) + parameters
