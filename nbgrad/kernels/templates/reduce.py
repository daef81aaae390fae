"""Reduction loops, as source text; CPU.

A ``Fold`` says what is accumulated, ``rows`` and ``columns`` how memory
is walked.

NOTE [Fixed blocks]: elements are folded in blocks of fixed size, blocks are merged in order. Threads get whole rows,
tiles or blocks, so that the bits of a result never depend on their number.

NOTE [Accuracy]: long runs of float32 are added in trees of eight, the trees in float64: three roundings on the way of
an element, averaged over all trees, and an eighth of the conversions (42 us instead of 70 us for 1 M elements).
Blocks of float64 are merged with compensation, so the error does not grow with the length. Inside a block the
compiler may reorder (``reassociate``), which is how the loop vectorises; the functions ``merge`` and ``finish`` are
compiled without that freedom.

NOTE [Keys]: an extremum of floats is the maximum of integer keys. A float's bits, magnitudes of negative ones
inverted, sort as the float does; NaN gets the greatest key of all, so it wins; for minima the key is inverted first.
Integer maxima vectorise, float ones only under flags that forbid NaN.
"""
# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import math
import re
from functools import cache
from typing import Any, Callable, NamedTuple

from ...base.dtypes import WIDTHS
from ..codegen import register_source

__all__ = ["Fold", "rows", "short_rows", "columns", "compile_kernel", "TILE", "two_sum", "add_plain",
           "key_max", "key_min", "float_of_max", "float_of_min", "least_key", "KEY_CONSTANTS", "KEY_TYPES"]

TILE = 128              # columns that one unit of work accumulates side by side


class Fold(NamedTuple):
    """What a reduction accumulates.

    Attributes:
        name: for symbols and people.
        memory: element type behind the operand's pointer (integers for keys).
        acc: element type of the accumulator.
        out: element type of the result.
        init: the accumulator's start, source text.
        step: the accumulator after the element ``{x}``, source text over ``s`` and ``{x}``.
        grouped: the operator, ``"+"`` or ``"*"``, that combines eight elements before one step takes them; "" where none may.
        bindings: ``merge(hi, lo, s)`` -> ``(hi, lo)``, ``finish(hi, lo, times, over)``, and what the texts mention.
        dtype: dtype of float literals and primitives.
        element: how an element enters a group, source text over ``{x}``.
    """

    name: str
    memory: str
    acc: str
    out: str
    init: str
    step: str
    grouped: str
    bindings: tuple[tuple[str, Any], ...]
    dtype: str | None = None
    element: str = "{x}"


def two_sum(hi, lo, s):
    """Neumaier's step: ``hi + s``, the rounding error of which goes to ``lo``."""
    total = hi + s
    shadow = total - hi
    return total, lo + ((hi - (total - shadow)) + (s - shadow))


def add_plain(hi, lo, s):
    """A sum that needs no compensation."""
    return hi + s, lo


ROWS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, row_step, segments = word(record, 0), word(record, 1), word(record, 2)
    segment_step, total, times, over = word(record, 3), word(record, 4), word(record, 5), word(record, 6)
    out = p_OUT(args, 1)
    data = pointer_word(args, 2)
    for row in range(start, stop):
        hi = INIT
        lo = INIT
        count = min(length, total - row * length)
        for segment in range(segments):
            base = data + row * row_step + segment * segment_step
            for low in range(0, count, 4096):
                x = at_IN(base, low * SIZE)
                n = min(4096, count - low)
                s = INIT
                EACH
                hi, lo = merge(hi, lo, s)
        out[row] = finish(hi, lo, times, over)
"""
ROW_SINGLY = """for i in range(n):
                    s = STEP"""
# Sums: pieces of 256, whose eight streams lie close together (42 us instead of 48 us for 1 M float32); what is left in eight
# streams and in four as long as they can be. Each loop has an accumulator of its own: if it went on with the last one's, all its
# vector additions would wait for that one to be folded (1,000 rows of 1,000: 53.9 -> 48.0 us; 10,000 rows of 100: 138 -> 116).
ROW_GROUPS = """first = 0
                for piece in range(n // 256):
                    t = INIT
                    for i in range(32):
                        t = NEAR
                    s = s JOIN t
                    first += 256
                eighth = (n - first) // 128 * 16
                t = INIT
                for i in range(eighth):
                    t = EIGHT
                s = s JOIN t
                first += 8 * eighth
                fourth = (n - first) // 32 * 8
                t = INIT
                for i in range(fourth):
                    t = FOUR
                s = s JOIN t
                t = INIT
                for i in range(first + 4 * fourth, n):
                    t = ONE
                s = s JOIN t"""

# Rows of few elements that lie one behind the other, of a length that the compiler knows: it takes several of them side by side.
SHORT_ROWS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    times, over = word(record, 5), word(record, 6)
    out = p_OUT(args, 1)
    data = at_IN(pointer_word(args, 2), 0)
    for row in range(start, stop):
        s = INIT
        EACH
        hi, lo = merge(INIT, INIT, s)
        out[row] = finish(hi, lo, times, over)
"""

COLUMNS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, step, width = word(record, 0), word(record, 1), word(record, 2)
    outer_step, tiles, times, over = word(record, 3), word(record, 4), word(record, 5), word(record, 6)
    target = pointer_word(args, 1)
    data = pointer_word(args, 2)
    block = stack(2048)
    high = stack(2048)
    low_part = stack(2048)
    s, hi, lo = at_ACC(block, 0), at_ACC(high, 0), at_ACC(low_part, 0)
    for unit in range(start, stop):
        outer = unit // tiles
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        base = data + outer * outer_step + column * SIZE
        out = at_OUT(target, (outer * width + column) * OUT_SIZE)
        for i in range(n):
            hi[i] = INIT
            lo[i] = INIT
        for top in range(0, length, 1024):
            rows = min(1024, length - top)
            for i in range(n):
                s[i] = INIT
            first = top
            GROUPS
            for r in range(first, top + rows):
                x = at_IN(base, r * step)
                for i in range(n):
                    s[i] = STEP
            for i in range(n):
                hi[i], lo[i] = merge(hi[i], lo[i], s[i])
        for i in range(n):
            out[i] = finish(hi[i], lo[i], times, over)
"""
COLUMN_GROUPS = """for r in range(rows // 8 if length >= 64 else 0):
                x0, x1 = at_IN(base, first * step), at_IN(base, (first + 1) * step)
                x2, x3 = at_IN(base, (first + 2) * step), at_IN(base, (first + 3) * step)
                x4, x5 = at_IN(base, (first + 4) * step), at_IN(base, (first + 5) * step)
                x6, x7 = at_IN(base, (first + 6) * step), at_IN(base, (first + 7) * step)
                first += 8
                for i in range(n):
                    s[i] = GROUP"""


def tree(names: list[str], operator: str = "+") -> str:
    """Source text of a balanced sum, or of another operation."""
    while len(names) > 1:
        names = [f"({a} {operator} {b})" for a, b in zip(names[::2], names[1::2])]
    return names[0]


def group_step(fold: Fold, accumulator: str, elements: list[str]) -> str:
    """Source text of one step with a group of elements."""
    return fold.step.format(s=accumulator, x=tree([fold.element.format(x=x) for x in elements], fold.grouped))


def compile_kernel(text: str, label: str, replacements: dict[str, Any]) -> Callable:
    """The function ``kernel`` of a template, its capitalised words replaced in one pass."""
    longest_first = map(re.escape, sorted(replacements, key=len, reverse=True))
    text = re.sub("|".join(longest_first), lambda found: str(replacements[found.group()]), text)
    scope: dict = {}
    exec(compile(text, register_source(text, label), "exec"), scope)
    return scope["kernel"]


@cache
def rows(fold: Fold) -> Callable:
    """``kernel(start, stop, args)`` that reduces contiguous rows; a unit is a row.

    The record: elements of a row's segment, bytes between rows, segments a row, bytes between them, elements in all
    (the last row may be short), and the numbers ``times`` and ``over`` for ``finish``.
    """
    each = ROW_SINGLY
    if fold.grouped:
        groups = {"NEAR": [f"x[first + i + {32 * k}]" for k in range(8)],
                  "EIGHT": [f"x[first + i + {k} * eighth]" for k in range(8)],
                  "FOUR": [f"x[first + i + {k} * fourth]" for k in range(4)], "ONE": ["x[i]"]}
        each = ROW_GROUPS.replace("JOIN", fold.grouped)
        for name, elements in groups.items():
            each = each.replace(name, group_step(fold, "t", elements))
    return compile_kernel(ROWS.replace("EACH", each), f"rows {fold.name} {fold.memory} {fold.out}",
                          {"INIT": fold.init, "STEP": fold.step.format(s="s", x="x[i]"), "IN": fold.memory,
                           "OUT": fold.out, "SIZE": WIDTHS[fold.memory]})


@cache
def short_rows(fold: Fold, length: int) -> Callable:
    """``kernel(start, stop, args)`` of ``rows`` for those of one length that lie one behind the other."""
    each = "\n        ".join(f"s = {fold.step.format(s='s', x=f'data[row * {length} + {k}]')}" for k in range(length))
    return compile_kernel(SHORT_ROWS.replace("EACH", each), f"{length} in a row {fold.name} {fold.memory} {fold.out}",
                          {"INIT": fold.init, "IN": fold.memory, "OUT": fold.out})


@cache
def columns(fold: Fold) -> Callable:
    """``kernel(start, stop, args)`` that reduces an outer dimension; a unit is a tile of ``TILE`` columns.

    The record: elements a column, bytes between them, columns, bytes between the outermost index's blocks, tiles a
    block, and ``times`` and ``over``.
    """
    groups = ""
    if fold.grouped:
        groups = COLUMN_GROUPS.replace("GROUP", group_step(fold, "s[i]", [f"x{k}[i]" for k in range(8)]))
    return compile_kernel(COLUMNS.replace("            GROUPS\n", f"            {groups}\n" if groups else ""),
                          f"columns {fold.name} {fold.memory} {fold.out}",
                          {"INIT": fold.init, "STEP": fold.step.format(s="s[i]", x="x[i]"), "IN": fold.memory,
                           "ACC": fold.acc, "OUT_SIZE": WIDTHS[fold.out], "OUT": fold.out, "SIZE": WIDTHS[fold.memory],
                           "TILE": TILE})


# ---- keys ------------------------------------------------------------------------------------------------------------
# SHIFT, MAGNITUDE (all bits but the sign), INFINITE (bits of infinity), LEAST (smallest integer): bound per dtype.

def key_max(bits):
    """The key of a float's bits: greater for the greater float, greatest for NaN."""
    key = ixor(bits, iand(ishr(bits, SHIFT), MAGNITUDE))
    return where(iand(bits, MAGNITUDE) > INFINITE, iadd(MAGNITUDE, 0), key)


def key_min(bits):
    """The key of a float's bits: greater for the smaller float, greatest for NaN."""
    key = ixor(ixor(bits, iand(ishr(bits, SHIFT), MAGNITUDE)), -1)
    return where(iand(bits, MAGNITUDE) > INFINITE, iadd(MAGNITUDE, 0), key)


def float_of_max(key):
    """The float behind a ``key_max``."""
    return fbits(ixor(key, iand(ishr(key, SHIFT), MAGNITUDE)))


def float_of_min(key):
    """The float behind a ``key_min``."""
    turned = ixor(key, -1)
    return where(key == MAGNITUDE, NAN, fbits(ixor(turned, iand(ishr(turned, SHIFT), MAGNITUDE))))


def joined_zeros(key):
    """The key of a float, of zeros of both signs the same: -1 is the other one's."""
    return where(key == -1, ixor(key, -1), key)


def own_key(key):
    """The key of an integer: there is one zero."""
    return key


def least_key():
    """Below every key."""
    return iadd(LEAST, 0)


KEY_CONSTANTS = {
    "float32": (("SHIFT", 31), ("MAGNITUDE", 0x7FFFFFFF), ("INFINITE", 0x7F800000), ("LEAST", -(1 << 31)),
                ("NAN", math.nan)),
    "float64": (("SHIFT", 63), ("MAGNITUDE", (1 << 63) - 1), ("INFINITE", 0x7FF << 52), ("LEAST", -(1 << 63)),
                ("NAN", math.nan)),
}
KEY_TYPES = {"float32": "int32", "float64": "int64"}


def int_key_max(x):
    """An integer as its own key."""
    return int64(x)


def int_key_min(x):
    """Inverted, integers sort the other way."""
    return ~int64(x)


def larger_key(hi, lo, s):
    """``merge`` of maxima."""
    return where(s > hi, s, hi), lo


def multiply(hi, lo, s):
    """``merge`` of products."""
    return hi * s, lo


def either(hi, lo, s):
    """``merge`` of flags."""
    return hi | s, lo


# ---- two passes and positions, over [outer, length, width], contiguous -----------------------------------------------
# Record words: length, width, tiles a block of columns; what else there is follows.

ARG_ROWS = """
def kernel(start, stop, args):
    length = word(pointer_word(args, 0), 0)
    out = p_int64(args, 1)
    for row in range(start, stop):
        x = at_KEY(pointer_word(args, 2), row * length * SIZE)
        top = least()
        for i in range(length):
            k = key(x[i])
            top = where(k > top, k, top)
        i = 0
        if top == 0:        # of the greater zero; the other one may come first
            while joined(key(x[i])) != 0:
                i += 1
        else:
            while key(x[i]) != top:
                i += 1
        out[row] = i
"""
ARG_COLUMNS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width, tiles = word(record, 0), word(record, 1), word(record, 2)
    tops, places = at_ACC(stack(1024), 0), at_ACC(stack(1024), 0)
    for unit in range(start, stop):
        outer = unit // tiles
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        out = at_int64(pointer_word(args, 1), (outer * width + column) * 8)
        base = pointer_word(args, 2) + (outer * length * width + column) * SIZE
        x = at_KEY(base, 0)
        for j in range(n):
            tops[j] = key(x[j])
            places[j] = 0
        for r in range(1, length):
            x = at_KEY(base, r * width * SIZE)
            for j in range(n):
                k = key(x[j])
                places[j] = where(k > tops[j], r, places[j])
                tops[j] = where(k > tops[j], k, tops[j])
        for j in range(n):
            if tops[j] == 0:
                r = 0
                while joined(key(at_KEY(base, r * width * SIZE)[j])) != 0:
                    r += 1
                places[j] = r
            out[j] = places[j]
"""
# The mean is the first element and that of the distances from it: a constant's is exact, as the quotient of its sum is not.
VARIANCE_ROWS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, taken = word(record, 0), word(record, 3)
    out = p_T(args, 1)
    for row in range(start, stop):
        x = at_T(pointer_word(args, 2), row * length * SIZE)
        start_of_row = float64(x[0])
        total = float64(0.0)
        for i in range(length):
            total += float64(x[i]) - start_of_row
        mean = start_of_row + total / float64(length)
        squares = float64(0.0)
        for i in range(length):
            away = float64(x[i]) - mean
            squares += away * away
        out[row] = finish(squares, length - taken)
"""
VARIANCE_COLUMNS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width, tiles, taken = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    starts, means, squares = at_float64(stack(1024), 0), at_float64(stack(1024), 0), at_float64(stack(1024), 0)
    for unit in range(start, stop):
        outer = unit // tiles
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        out = at_T(pointer_word(args, 1), (outer * width + column) * SIZE)
        base = pointer_word(args, 2) + (outer * length * width + column) * SIZE
        x = at_T(base, 0)
        for j in range(n):
            starts[j] = float64(x[j])
            means[j] = float64(0.0)
            squares[j] = float64(0.0)
        for r in range(1, length):
            x = at_T(base, r * width * SIZE)
            for j in range(n):
                means[j] += float64(x[j]) - starts[j]
        for j in range(n):
            means[j] = starts[j] + means[j] / float64(length)
        for r in range(length):
            x = at_T(base, r * width * SIZE)
            for j in range(n):
                away = float64(x[j]) - means[j]
                squares[j] += away * away
        for j in range(n):
            out[j] = finish(squares[j], length - taken)
"""


def variance_of(squares, freedom):
    """The variance; NaN or infinite where nothing is left after the correction."""
    return squares / float64(max(freedom, 0))


def deviation_of(squares, freedom):
    """The standard deviation."""
    return sqrt(squares / float64(max(freedom, 0)))


@cache
def arg_loop(dtype: str, by_columns: bool) -> Callable:
    """``kernel(start, stop, args)``: the first position of the greatest ``key``."""
    memory = KEY_TYPES.get(dtype, dtype)
    return compile_kernel(ARG_COLUMNS if by_columns else ARG_ROWS, f"arg {dtype} {by_columns}",
                          {"at_KEY": f"at_{memory}", "at_ACC": f"at_{KEY_TYPES.get(dtype, 'int64')}",
                           "SIZE": WIDTHS[dtype], "TILE": TILE})


@cache
def variance_loop(dtype: str, by_columns: bool) -> Callable:
    """``kernel(start, stop, args)``: the mean, then the squares around it; the fourth word is the correction."""
    return compile_kernel(VARIANCE_COLUMNS if by_columns else VARIANCE_ROWS, f"variance {dtype} {by_columns}",
                          {"at_T": f"at_{dtype}", "p_T": f"p_{dtype}", "SIZE": WIDTHS[dtype], "TILE": TILE})
