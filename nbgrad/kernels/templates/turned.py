"""Operands whose neighbours are not the result's, as in ``x + y.T``: by tiles, of which each is read along its own memory.

An iteration (iterate.py) that goes along rows of the result reads one element of each line of such an operand, and comes back for
the next one when the line has left the cache: where lines lie a power of two apart, at once.

NOTE [Turned record]: int64 words. 0 kernel, 1 outputs, 2 inputs, 3 outer dimensions, 4 rows, 5 columns of a plane, 6 and 7 rows
and columns of a tile; then four words an operand, outputs first, as in NOTE [Iteration record], but for how it is reached:
  1 SINGLE     one element for all positions, for a kernel that expects that
  2 ALONG      rows of a tile are copied one by one
  3 TURNED     its neighbours are in a column: squares of eight by eight elements, or four by four, are transposed in registers
then the outer dimensions' sizes, then for every operand its strides in bytes: of the outer dimensions, rows and columns.
A unit of work is a tile.
"""

# ruff: noqa: F821  (names bound by instantiate)
from __future__ import annotations

from ..late import Code
from .iterate import BUFFERS, SINGLE

__all__ = ["ALONG", "LEAST", "MOST_OPERANDS", "TURNED", "turned", "turned_words"]

ALONG, TURNED = 2, 3
LEAST = 8  # rows and columns from which on there are squares
TILE = 4096  # bytes of a tile, of the widest elements that a call has: those of several operands are in the first-level cache
ROWS = {1: 64, 2: 32, 4: 64, 8: 32, 16: 16}  # of it, by bytes of an element
MOST_OPERANDS = BUFFERS // (2 * TILE)  # two buffers each


def squares(buffer, memory, rows, columns, across, size):
    """Transpose what fills squares: columns of memory become rows of a buffer."""
    side = 4 if size == 16 else 8
    j = 0
    while j + side <= columns:
        i = 0
        while i + side <= rows:
            to, source = buffer + (i * columns + j) * size, memory + j * across + i * size
            if size == 4:
                turn_4(to, columns * 4, source, across)
            elif size == 8:
                turn_8(to, columns * 8, source, across)
            elif size == 2:
                turn_2(to, columns * 2, source, across)
            elif size == 1:
                turn_1(to, columns, source, across)
            else:
                turn_16(to, columns * 16, source, across)
            i += side
        j += side


def copy_tile(buffer, memory, scatter, rows, columns, down, across, size, how):
    """Gather a tile from memory to a buffer, row by row, or scatter it."""
    lines, count, near, far = rows, columns, 0, 0
    near_line, near_step, far_line, far_step = columns * size, size, down, across
    parts, whole_rows, whole_columns = 1, 0, 0
    if how == 3:
        parts, side = 2, 4 if size == 16 else 8
        whole_rows, whole_columns = rows // side * side, columns // side * side
        squares(buffer, memory, rows, columns, across, size)
        lines, count, near, far = columns - whole_columns, rows, whole_columns * size, whole_columns * across
        near_line, near_step, far_line, far_step = size, columns * size, across, size
    for part in range(parts):
        if part == 1:  # what is left below the squares
            lines, count = whole_columns, rows - whole_rows
            near, far = whole_rows * columns * size, whole_rows * size
        for _ in one_by_one(lines):
            to, to_step, source, source_step = buffer + near, near_step, memory + far, far_step
            if scatter != 0:
                to, to_step, source, source_step = memory + far, far_step, buffer + near, near_step
            move(to, to_step, source, source_step, count, size)
            near += near_line
            far += far_line


def turned(start, stop, args):
    """The kernel: see NOTE [Turned record]; ``start`` and ``stop`` number tiles."""
    buffers = stack(196608)  # per operand one for memory's type and one for the kernel's
    arguments = stack(1088)
    pair = stack(32)
    record = pointer_word(args, 0)
    kernel, outs = word(record, 0), word(record, 1)
    operands = outs + word(record, 2)
    dims, all_rows, all_columns = word(record, 3), word(record, 4), word(record, 5)
    most_rows, most_columns = word(record, 6), word(record, 7)
    down_all, across_all = (all_rows + most_rows - 1) // most_rows, (all_columns + most_columns - 1) // most_columns
    room = 4096
    shape = record + 8 * (8 + 4 * operands)
    for tile in one_by_one(stop - start):
        rest = start + tile
        column = rest % across_all * most_columns
        rest //= across_all
        row = rest % down_all * most_rows
        rest //= down_all
        rows, columns = min(most_rows, all_rows - row), min(most_columns, all_columns - column)
        count = rows * columns
        for after in range(2):  # operands are gathered, results scattered
            if after != 0:
                run_kernel(kernel, 0, count, arguments)
            for k in range(outs if after != 0 else operands):
                entry = record + 8 * (8 + 4 * k)
                size, cast, how = word(entry, 0), word(entry, 2), word(entry, 3)
                strides = shape + 8 * dims + 8 * (dims + 2) * k
                down, across = word(strides, dims), word(strides, dims + 1)
                memory = pointer_word(args, 1 + k)
                if how != 1:  # the outer dimensions, as if a row of one element came behind them
                    memory = locate(memory + row * down + column * across, rest, 0, dims + 1, shape, strides)
                raw = buffers + 2 * room * k
                ready = raw + room
                if after != 0 and cast != 0:
                    convert(cast, raw, ready, count, pair)
                if how != 1 and (after != 0 or k >= outs):
                    buffer = raw if after == 0 or cast != 0 else ready
                    copy_tile(buffer, memory, after, rows, columns, down, across, size, how)
                if after == 0:
                    given = ready  # to the kernel
                    if k >= outs:
                        source = memory if how == 1 else raw
                        if cast == 0:
                            given = source
                        else:
                            convert(cast, ready, source, 1 if how == 1 else count, pair)
                    set_word(arguments, 1 + k, given)


def turned_words(
    kernel: int | Code,
    outs: int,
    operands: list[tuple[int, int, int | Code, bool]],
    sizes: tuple[int, ...],
    steps: list[tuple[int, ...]],
    rows: int,
) -> tuple[int, int, list[int | Code]]:
    """How many tiles there are, of how many elements, and the kernel's parameters.

    Args:
        operands: as (size, width, conversion, whether it is single), outputs first.
        sizes, steps: of the dimensions, and for every operand its strides in bytes.
        rows: the dimension along which the turned operands are contiguous; columns are the last one.
    """
    last = len(sizes) - 1
    outer = [d for d in range(last) if d != rows]
    widest = max([max(size, width) for size, width, _, _ in operands])
    most_rows = ROWS[widest]
    most_columns = TILE // widest // most_rows
    words: list[int | Code] = [kernel, outs, len(operands) - outs, len(outer), sizes[rows], sizes[last], most_rows, most_columns]
    for (size, width, cast, single), own in zip(operands, steps):
        is_turned = own[rows] == size and own[last] != size
        words += size, width, cast, SINGLE if single else TURNED if is_turned else ALONG
    words += [sizes[d] for d in outer]
    units = -(-sizes[rows] // most_rows) * -(-sizes[last] // most_columns)
    for d in outer:
        units *= sizes[d]
    for own in steps:
        words += [*(own[d] for d in outer), own[rows], own[last]]
    return units, most_rows * most_columns, words
