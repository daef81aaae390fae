"""Reduction loops of the CPU: how a monoid folds rows and columns of memory.

The loops are plain functions whose free names are bound: to pointers of the operand's type, to sizes, and to what ``fold`` makes of
an operation's declaration. A ``Fold`` (folds.py) says what is accumulated, ``rows``, ``short_rows`` and ``columns`` how memory is
walked.

NOTE [Fixed blocks]: elements are folded in blocks of fixed size, blocks are merged in order. Threads get whole rows,
tiles or blocks, so that the bits of a result never depend on their number.

NOTE [Accuracy]: long runs of float32 are added in trees of eight, the trees in float64: three roundings on the way of
an element, averaged over all trees, and an eighth of the conversions.
Blocks of float64 are merged with compensation, so the error does not grow with the length. Inside a block the
compiler may reorder, which is how the loop vectorises: what is ``part_of_loop`` is compiled as if it stood there. ``join``, of
which trees are made, ``absorb`` and ``result`` are compiled without that freedom: of a tree LLVM would make a chain, of seven
roundings. Terms that are computed, as squares are, are computed and added in float64.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Any, Callable

from ...base.dtypes import WIDTHS
from ..instantiate import part_of_loop
from ..texts import fill_template
from .folds import Fold, eight, four

__all__ = ["COLUMN_BLOCK", "TILE", "bound", "column_parts", "columns", "rows", "short_rows"]

TILE = 128  # columns that one unit of work accumulates side by side
COLUMN_BLOCK = 128  # rows that are folded one after the other, column by column


# ---- rows --------------------------------------------------------------------------------------------------------------


def row_loop(start, stop, args):
    """A unit is a row of segments, each folded in blocks of 4096; the compiler takes as many elements side by side as it likes."""
    record = pointer_word(args, 0)
    length, row_step, segments = word(record, 0), word(record, 1), max(word(record, 2), 1)
    segment_step, all_elements, times, over = word(record, 3), word(record, 4), word(record, 5), word(record, 6)
    out = p_out(args, 1)
    data = pointer_word(args, 2)
    for row in range(start, stop):
        hi = wide(IDENTITY)
        lo = wide(IDENTITY)
        count = min(length, all_elements - row * length)
        for segment in range(segments):
            base = data + row * row_step + segment * segment_step
            for low in range(0, count, 4096):
                x = at_memory(base, low * SIZE)
                n = min(4096, count - low)
                s = wide(IDENTITY)
                for i in range(n):
                    s = combine(s, taken(x[i]))
                hi, lo = absorb(hi, lo, s)
        out[row] = result(hi, lo, times, over)


# Pieces of 256, whose eight streams lie close together; what is left in eight streams and
# in four as long as they can be. Each loop has an accumulator of its own: if it went on with the last one's, all its vector
# additions would wait for that one to be folded.
def row_loop_in_eights(start, stop, args):
    """The same, eight or four elements at a time."""
    record = pointer_word(args, 0)
    length, row_step, segments = word(record, 0), word(record, 1), word(record, 2)
    segment_step, all_elements, times, over = word(record, 3), word(record, 4), word(record, 5), word(record, 6)
    out = p_out(args, 1)
    data = pointer_word(args, 2)
    for row in range(start, stop):
        hi = wide(IDENTITY)
        lo = wide(IDENTITY)
        count = min(length, all_elements - row * length)
        for segment in range(max(segments, 1)):
            base = data + row * row_step + segment * segment_step
            for low in range(0, count, 4096):
                x = at_memory(base, low * SIZE)
                n = min(4096, count - low)
                s = wide(IDENTITY)
                first = 0
                for _ in range(quotient(n, 256)):
                    t = wide(IDENTITY)
                    for i in eight_wide(32):
                        t = combine(
                            t,
                            wide(
                                eight(
                                    x[first + i],
                                    x[first + i + 32],
                                    x[first + i + 64],
                                    x[first + i + 96],
                                    x[first + i + 128],
                                    x[first + i + 160],
                                    x[first + i + 192],
                                    x[first + i + 224],
                                )
                            ),
                        )
                    s = combine(s, t)
                    first += 256
                if first < n:
                    k = quotient(n - first, 128) * 16
                    t = wide(IDENTITY)
                    for i in few(k):
                        t = combine(
                            t,
                            wide(
                                eight(
                                    x[first + i],
                                    x[first + i + k],
                                    x[first + i + 2 * k],
                                    x[first + i + 3 * k],
                                    x[first + i + 4 * k],
                                    x[first + i + 5 * k],
                                    x[first + i + 6 * k],
                                    x[first + i + 7 * k],
                                )
                            ),
                        )
                    s = combine(s, t)
                    first += 8 * k
                    k = quotient(n - first, 32) * 8
                    t = wide(IDENTITY)
                    for i in range(k):
                        t = combine(t, wide(four(x[first + i], x[first + i + k], x[first + i + 2 * k], x[first + i + 3 * k])))
                    s = combine(s, t)
                    t = wide(IDENTITY)
                    for i in range(first + 4 * k, n):
                        t = combine(t, taken(x[i]))
                    s = combine(s, t)
                hi, lo = absorb(hi, lo, s)
        out[row] = result(hi, lo, times, over)


def rows(fold: Fold) -> tuple[Callable, tuple]:
    """``kernel(start, stop, args)`` that reduces contiguous rows, and its bindings; a unit is a row.

    The record: elements of a row's segment, bytes between rows, segments a row, bytes between them, elements in all
    (the last row may be short), and the numbers ``times`` and ``over`` for ``result``.
    """
    return row_loop_in_eights if fold.eights else row_loop, (*bound(memory=fold.memory, out=fold.out), *fold.bindings)


# Rows of few elements that lie one behind the other, of a length that the compiler knows: it takes several of them side by side.
# Text, since every element is a line.
SHORT_ROWS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    times, over = word(record, 5), word(record, 6)
    out = p_out(args, 1)
    data = at_memory(pointer_word(args, 2), 0)
    for row in range(start, stop):
        s = wide(IDENTITY)
        EACH
        hi, lo = absorb(wide(IDENTITY), wide(IDENTITY), s)
        out[row] = result(hi, lo, times, over)
"""


def short_rows(fold: Fold, length: int) -> tuple[Callable, tuple]:
    """``rows`` for those of one length that lie one behind the other."""
    return short_row_loop(length), (*bound(memory=fold.memory, out=fold.out), *fold.bindings)


@cache
def short_row_loop(length: int) -> Callable:
    """The loop of rows of a length."""
    each = "\n        ".join(f"s = combine(s, taken(data[row * {length} + {k}]))" for k in range(length))
    return fill_template(SHORT_ROWS, f"{length} in a row", {"EACH": each})


# ---- columns -----------------------------------------------------------------------------------------------------------


def column_loop(start, stop, args):
    """A unit is a tile of ``TILE`` columns, whose accumulators lie side by side; blocks of ``COLUMN_BLOCK`` rows."""
    record = pointer_word(args, 0)
    length, step, width = word(record, 0), word(record, 1), word(record, 2)
    outer_step, tiles, times, over = word(record, 3), word(record, 4), word(record, 5), word(record, 6)
    target = pointer_word(args, 1)
    data = pointer_word(args, 2)
    s, hi, lo = at_acc(stack(2048), 0), at_acc(stack(2048), 0), at_acc(stack(2048), 0)
    for unit in range(start, stop):
        outer = unit // tiles
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        base = data + outer * outer_step + column * SIZE
        out = at_out(target, (outer * width + column) * OUT_SIZE)
        for i in few(n):
            hi[i] = wide(IDENTITY)
            lo[i] = wide(IDENTITY)
        for top in range(0, length, COLUMN_BLOCK):
            rows = min(COLUMN_BLOCK, length - top)
            for i in few(n):
                s[i] = wide(IDENTITY)
            take_rows(s, n, base + top * step, step, rows, rows // 8 if length >= 64 else 0)
            for i in few(n):
                hi[i], lo[i] = absorb(hi[i], lo[i], s[i])
        for i in few(n):
            out[i] = result(hi[i], lo[i], times, over)


def take_rows(s, n, base, step, rows, groups):
    """Take rows, the first ones in ``groups`` of eight, into the accumulators of ``n`` columns; none are reordered."""
    first = fold_eights(s, n, base, step, groups)
    for r in range(first, rows):
        x = at_memory(base, r * step)
        for i in range(n):
            s[i] = combine(s[i], taken(x[i]))


def take_columns(start, stop, args):
    """Take some rows of a block into the accumulators of its columns, which a launch behind finishes: ``finish_columns``.

    The record: how many rows, bytes between them, columns; how many rows of the block came before, a multiple of eight, and how
    many rows there are in all.
    """
    record = pointer_word(args, 0)
    rows, step, n, before, length = word(record, 0), word(record, 1), word(record, 2), word(record, 3), word(record, 4)
    s = p_acc(args, 1)
    if before == 0:
        for i in range(n):
            s[i] = wide(IDENTITY)
    take_rows(s, n, pointer_word(args, 2), step, rows, rows // 8 if length >= 64 else 0)


def finish_columns(start, stop, args):
    """A unit is a tile of ``TILE`` columns, of which accumulators of several blocks are there.

    The record: blocks, columns, and ``times`` and ``over``.
    """
    record = pointer_word(args, 0)
    blocks, width, times, over = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    out, s = p_out(args, 1), p_acc(args, 2)
    for unit in range(start, stop):
        for column in range(unit * TILE, min(unit * TILE + TILE, width)):
            hi = wide(IDENTITY)
            lo = wide(IDENTITY)
            for block in range(blocks):
                hi, lo = absorb(hi, lo, s[block * width + column])
            out[column] = result(hi, lo, times, over)


@part_of_loop
def columns_in_eights(s, n, base, step, groups):
    """Take ``groups`` of eight rows into the accumulators of ``n`` columns; how many rows that are."""
    for group in range(groups):
        first = base + 8 * group * step
        x0, x1, x2, x3 = (at_memory(first, 0), at_memory(first, step), at_memory(first, 2 * step), at_memory(first, 3 * step))
        x4, x5, x6, x7 = (
            at_memory(first, 4 * step),
            at_memory(first, 5 * step),
            at_memory(first, 6 * step),
            at_memory(first, 7 * step),
        )
        for i in eight_wide(n):
            s[i] = combine(s[i], wide(eight(x0[i], x1[i], x2[i], x3[i], x4[i], x5[i], x6[i], x7[i])))
    return 8 * groups


@part_of_loop
def columns_singly(s, n, base, step, groups):
    """No row is taken in a group."""
    return 0


def columns(fold: Fold) -> tuple[Callable, tuple]:
    """``kernel(start, stop, args)`` that reduces an outer dimension, and its bindings; a unit is a tile of ``TILE`` columns.

    The record: elements a column, bytes between them, columns, bytes between the outermost index's blocks, tiles a
    block, and ``times`` and ``over``.
    """
    return column_loop, column_bindings(fold)


def column_parts(fold: Fold) -> tuple[Callable, Callable, tuple]:
    """The same in two kernels: ``take_columns``, ``finish_columns``, and their bindings."""
    return take_columns, finish_columns, column_bindings(fold)


def column_bindings(fold: Fold) -> tuple:
    """What loops over columns mention."""
    groups = columns_in_eights if fold.eights else columns_singly
    return *bound(memory=fold.memory, acc=fold.acc, out=fold.out), ("fold_eights", groups), *fold.bindings


def bound(**types: str) -> tuple[tuple[str, Any], ...]:
    """The names by which loops reach memory: ``at_memory``, ``p_memory`` and ``SIZE`` of ``memory``; ``OUT_SIZE`` of ``out``."""
    pointers = [(f"{prefix}_{name}", f"{prefix}_{kind}") for name, kind in types.items() for prefix in ("at", "p")]
    sizes = [(SIZES[name], WIDTHS[kind]) for name, kind in types.items() if name in SIZES]
    return *pointers, *sizes


SIZES = {"memory": "SIZE", "out": "OUT_SIZE"}
