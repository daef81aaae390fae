"""Reduction loops of the CPU: how a monoid folds rows and columns of memory.

The loops are plain functions whose free names are bound: to pointers of the operand's type, to sizes, and to what ``fold`` makes of
an operation's declaration. A ``Fold`` says what is accumulated, ``rows``, ``short_rows`` and ``columns`` how memory is walked.

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

import re
from functools import cache
from typing import Any, Callable, NamedTuple

from ...base.dtypes import WIDTHS, dtype_of
from ...ops.core import General
from ...ops.expr import symbol
from ..codegen import scalar_function
from ..instantiate import part_of_loop
from ..monoids import MONOIDS, Monoid, add_carried, carried_total
from ..texts import run_text
from .keys import KEY_TYPES, key_bindings, larger_key

__all__ = [
    "COLUMN_BLOCK",
    "TILE",
    "Fold",
    "arg_loop",
    "bound",
    "column_parts",
    "columns",
    "compile_kernel",
    "deviation_of",
    "fold",
    "rows",
    "short_rows",
    "variance_loop",
    "variance_of",
]

TILE = 128  # columns that one unit of work accumulates side by side
COLUMN_BLOCK = 128  # rows that are folded one after the other, column by column


class Fold(NamedTuple):
    """What the loops accumulate.

    Attributes:
        name: for symbols and people.
        memory: element type behind the operand's pointer (integers for keys).
        acc: element type of the accumulator.
        out: element type of the result.
        eights: whether eight elements are combined before the accumulator takes them.
        bindings: the names of the loops: ``IDENTITY``, the first number; ``wide``, the accumulator's type, to which everything is
            converted; ``taken(x)``, an element as the accumulator takes it; ``combine(x, y)``; ``absorb(hi, lo, s)``, which gives
            ``(hi, lo)`` and takes a block's accumulator; ``result(hi, lo, times, over)`` of elements that count ``times`` each, and
            are ``over`` in number; in eights ``near(x)``, an element as it joins others. And what these mention.
        dtype: dtype of float literals and primitives.
        counted: whether ``over`` is asked for; see ``over``.
        long_rows: what loops over long rows accumulate, where it is something else: sums and means have one kernel.
    """

    name: str
    memory: str
    acc: str
    out: str
    eights: bool
    bindings: tuple[tuple[str, Any], ...]
    dtype: str | None = None
    counted: bool = False
    long_rows: Any = None

    def over(self, count: int) -> int:
        """The word ``over`` of a record for results of ``count`` elements: 1 where only the total is wanted."""
        return count if self.counted else 1


# ---- a declaration's fold ----------------------------------------------------------------------------------------------


@cache
def fold(op: General, source: str, out: str, stage: str = "whole") -> Fold:
    """What the loops accumulate for an operation that has a monoid.

    Args:
        source, out: dtypes in memory, none of half precision; ``out`` is the accumulator's in stage "piece".
        stage: "whole"; "piece" folds elements into accumulators, without ``finish``; "merge" folds those, in dtype ``source``.
    """
    monoid = MONOIDS[op.monoid]
    if monoid.order:
        return extremum_fold(monoid, source, out, stage)
    term = None if stage == "merge" else op.term_expression()
    total = None if stage == "piece" else op.finish_expression()
    acc = accumulator(source) if term is None or not term.boolean else "int64"
    near = term is None or op.near or term.boolean
    eights = near and acc in monoid.eights
    carries = near and monoid.carries and source == acc == "float64"
    bindings: list[tuple[str, Any]] = [
        ("IDENTITY", monoid.start(acc)),
        ("combine", monoid.operator or part_of_loop(monoid.combine)),
        ("join", monoid.combine),
        ("absorb", add_carried if carries else absorb_joined),
        ("total", carried_total if carries else first_part),
        ("wide", acc),
    ]
    dtype, memory = None, dtype_of(source).compute
    if term is None:
        bindings += [("taken", acc), ("near", memory if monoid.narrow else acc)]
    else:
        computed = memory if near else acc
        bindings += [
            ("term", part_of_loop(scalar_function(f"{op.name}_term", ("x",), (term,), computed))),
            ("taken", wide_term if near else term_of_wide),
            ("near", near_term),
        ]
        dtype = computed if near and not term.boolean else None
    long_rows = None
    if term is None and monoid.repeats and acc in QUOTIENTS and (total is None or total is MEAN):
        shared = (*bindings, ("result", QUOTIENTS[acc]))
        long_rows = Fold(monoid.name, memory, acc, dtype_of(out).compute, eights, shared)
    if total is not None:
        real = dtype_of(acc).to_real().name
        bindings += [("finish", scalar_function(f"{op.name}_finish", ("total", "count"), (total,), real))]
    bindings += [("result", RESULTS[acc][total is not None] if monoid.repeats or total is not None else first_result)]
    name = op.name if term is not None or total is not None else monoid.name
    return Fold(name, memory, acc, dtype_of(out).compute, eights, tuple(bindings), dtype, total is not None, long_rows)


def extremum_fold(monoid: Monoid, source: str, out: str, stage: str) -> Fold:
    """Extrema, through integer keys: see NOTE [Keys]. In stage "merge" ``source`` is still the operand's dtype."""
    acc = accumulator(source, keys=True)
    memory = acc if stage == "merge" else KEY_TYPES.get(source, dtype_of(source).compute)
    keys = key_bindings(source, monoid.order == "greatest")
    bindings = (
        ("IDENTITY", -1 << (8 * WIDTHS[acc] - 1)),
        ("wide", acc),
        ("taken", acc if stage == "merge" else dict(keys)["key"]),
        ("combine", larger_key),
        ("join", larger_key),
        ("absorb", absorb_joined),
        ("result", first_result if stage == "piece" else decoded_result),
        *keys,
    )
    dtype = source if source in KEY_TYPES else None
    return Fold(monoid.name, memory, acc, acc if stage == "piece" else dtype_of(out).compute, False, bindings, dtype)


def accumulator(source: str, keys: bool = False) -> str:
    """The dtype in which elements of a dtype are accumulated; or their keys."""
    if keys:
        return KEY_TYPES.get(source, "int64")
    dtype = dtype_of(source)
    return "complex128" if dtype.is_complex else "float64" if dtype.is_floating_point else "int64"


@part_of_loop
def near_term(x):
    """The term, in the operand's precision."""
    return term(x)


@part_of_loop
def wide_term(x):
    """The term, computed in the operand's precision, in the accumulator's."""
    return wide(term(x))


@part_of_loop
def term_of_wide(x):
    """The term, computed in the accumulator's precision."""
    return term(wide(x))


def absorb_joined(hi, lo, s):
    """``absorb`` of what carries nothing."""
    return join(hi, s), lo


def first_part(hi, lo):
    """``total`` of what carries nothing."""
    return hi


def first_result(hi, lo, times, over):
    """The accumulator itself."""
    return hi


def decoded_result(hi, lo, times, over):
    """The number of the greatest key."""
    return decode(hi)


def plain_result(hi, lo, times, over):
    """The total; of integers modulo 2**64."""
    return total(hi, lo) * times


def finished_result(hi, lo, times, over):
    """What becomes of the total of ``over`` elements."""
    return finish(total(hi, lo) * float64(times), float64(over))


def finished_whole(hi, lo, times, over):
    """What becomes of an integer total."""
    return finish(total(hi, lo) * times, over)


def complex_result(hi, lo, times, over):
    """The total, by parts: an infinite real part is not to make NaN of the imaginary one."""
    z = total(hi, lo)
    return complex(z.real * float64(times), z.imag * float64(times))


def finished_complex(hi, lo, times, over):
    """What becomes of the total, by parts."""
    z = total(hi, lo)
    return complex(finish(z.real * float64(times), float64(over)), finish(z.imag * float64(times), float64(over)))


def quotient_result(hi, lo, times, over):
    """The total, divided where there is a number to divide by."""
    found = total(hi, lo) * float64(times)
    return found if over == 1 else found / float64(over)


def complex_quotient(hi, lo, times, over):
    """The same, by parts."""
    z = total(hi, lo)
    x, y = z.real * float64(times), z.imag * float64(times)
    return complex(x, y) if over == 1 else complex(x / float64(over), y / float64(over))


MEAN = symbol("total") / symbol("count")  # what becomes of a mean's total
QUOTIENTS = {"float64": quotient_result, "complex128": complex_quotient}
# Of a total, and of one that something becomes of.
RESULTS = {
    "float64": (plain_result, finished_result),
    "int64": (plain_result, finished_whole),
    "complex128": (complex_result, finished_complex),
}


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


@part_of_loop
def four(a, b, c, d):
    """Four elements in a tree."""
    return join(join(near(a), near(b)), join(near(c), near(d)))


@part_of_loop
def eight(a, b, c, d, e, f, g, h):
    """Eight elements in a tree."""
    return join(join(join(near(a), near(b)), join(near(c), near(d))), join(join(near(e), near(f)), join(near(g), near(h))))


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
    return compile_kernel(SHORT_ROWS, f"{length} in a row", {"EACH": each})


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


# ---- two passes and positions, over [outer, length, width], contiguous -----------------------------------------------
# Record words: length, width, tiles a block of columns; what else there is follows.


def arg_rows(start, stop, args):
    """The first position of the greatest key in each row."""
    length = word(pointer_word(args, 0), 0)
    out = p_int64(args, 1)
    for row in range(start, stop):
        x = at_memory(pointer_word(args, 2), row * length * SIZE)
        top = least()
        for i in range(length):
            k = key(x[i])
            top = where(k > top, k, top)
        i = 0
        if top == 0:  # of the greater zero; the other one may come first
            while joined(key(x[i])) != 0:
                i += 1
        else:
            while key(x[i]) != top:
                i += 1
        out[row] = i


def arg_columns(start, stop, args):
    """The same in each column."""
    record = pointer_word(args, 0)
    length, width, tiles = word(record, 0), word(record, 1), word(record, 2)
    tops, places = at_acc(stack(1024), 0), at_acc(stack(1024), 0)
    for unit in range(start, stop):
        outer = unit // tiles
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        out = at_int64(pointer_word(args, 1), (outer * width + column) * 8)
        base = pointer_word(args, 2) + (outer * length * width + column) * SIZE
        x = at_memory(base, 0)
        for j in range(n):
            tops[j] = key(x[j])
            places[j] = 0
        for r in range(1, length):
            x = at_memory(base, r * width * SIZE)
            for j in range(n):
                k = key(x[j])
                places[j] = where(k > tops[j], r, places[j])
                tops[j] = where(k > tops[j], k, tops[j])
        for j in range(n):
            if tops[j] == 0:
                r = 0
                while joined(key(at_memory(base, r * width * SIZE)[j])) != 0:
                    r += 1
                places[j] = r
            out[j] = places[j]


# The mean is the first element and that of the distances from it: a constant's is exact, as the quotient of its sum is not.
def variance_rows(start, stop, args):
    """The mean of each row, then the squares around it; a row may be several segments, one in each plane of such rows."""
    record = pointer_word(args, 0)
    length, taken, segments, plane = word(record, 0), word(record, 3), word(record, 4), word(record, 5)
    out = p_memory(args, 1)
    for row in range(start, stop):
        start_of_row = float64(at_memory(pointer_word(args, 2), row * length * SIZE)[0])
        total = float64(0.0)
        for k in range(segments):
            x = at_memory(pointer_word(args, 2), (k * plane + row * length) * SIZE)
            for i in range(length):
                total += float64(x[i]) - start_of_row
        mean = start_of_row + total / float64(length * segments)
        squares = float64(0.0)
        for k in range(segments):
            x = at_memory(pointer_word(args, 2), (k * plane + row * length) * SIZE)
            for i in range(length):
                away = float64(x[i]) - mean
                squares += away * away
        out[row] = finish(squares, float64(max(length * segments - taken, 0)))


def variance_columns(start, stop, args):
    """The same of each column."""
    record = pointer_word(args, 0)
    length, width, tiles, taken = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    starts, means, squares = at_float64(stack(1024), 0), at_float64(stack(1024), 0), at_float64(stack(1024), 0)
    for unit in range(start, stop):
        outer = unit // tiles
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        out = at_memory(pointer_word(args, 1), (outer * width + column) * SIZE)
        base = pointer_word(args, 2) + (outer * length * width + column) * SIZE
        x = at_memory(base, 0)
        for j in range(n):
            starts[j] = float64(x[j])
            means[j] = float64(0.0)
            squares[j] = float64(0.0)
        for r in range(1, length):
            x = at_memory(base, r * width * SIZE)
            for j in range(n):
                means[j] += float64(x[j]) - starts[j]
        for j in range(n):
            means[j] = starts[j] + means[j] / float64(length)
        for r in range(length):
            x = at_memory(base, r * width * SIZE)
            for j in range(n):
                away = float64(x[j]) - means[j]
                squares[j] += away * away
        for j in range(n):
            out[j] = finish(squares[j], float64(max(length - taken, 0)))


def variance_of(squares, freedom):
    """The variance; NaN or infinite where nothing is left after the correction."""
    return squares / freedom


def deviation_of(squares, freedom):
    """The standard deviation."""
    return sqrt(squares / freedom)


def arg_loop(dtype: str, by_columns: bool) -> tuple[Callable, tuple]:
    """``kernel(start, stop, args)``: the first position of the greatest ``key``, and its bindings."""
    return arg_columns if by_columns else arg_rows, bound(memory=KEY_TYPES.get(dtype, dtype), acc=accumulator(dtype, keys=True))


def variance_loop(dtype: str, by_columns: bool) -> tuple[Callable, tuple]:
    """``kernel(start, stop, args)``: the mean, then the squares around it, and its bindings; words of its own are the correction
    and, of rows, their segments, and the elements of a plane.
    """
    return variance_columns if by_columns else variance_rows, bound(memory=dtype)


# ---- text --------------------------------------------------------------------------------------------------------------


def compile_kernel(text: str, label: str, replacements: dict[str, Any]) -> Callable:
    """The function ``kernel`` of a template, its capitalised words replaced in one pass."""
    longest_first = map(re.escape, sorted(replacements, key=len, reverse=True))
    text = re.sub("|".join(longest_first), lambda found: str(replacements[found.group()]), text)
    return run_text(text, label)["kernel"]
