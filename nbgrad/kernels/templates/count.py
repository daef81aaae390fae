"""Loops of the CPU that compare, count and search contiguous operands, where a result depends on more than one element.

Each is one unit of work. Record words: elements of the operand, then what the loop says. Sums that index a result are compared with
its size first, so that memory is safe whatever another thread has made of the operand.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import fill_template

__all__ = ["counting_loop", "insertion_loop", "precedes"]

HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    count, size = word(record, 0), word(record, 1)
"""
# Whether all elements of two operands are equal: 1 or 0. The first block with a difference decides.
EQUAL = """
    out, x, y = at_int64(pointer_word(args, 1), 0), at_IN(pointer_word(args, 2), 0), at_IN(pointer_word(args, 3), 0)
    low, different = 0, False
    while (low < count) & (not different):
        for i in range(low, min(low + 1024, count)):
            different |= x[i] != y[i]
        low += 1024
    out[0] = int64(not different)
"""
# The least and the greatest of some integers.
ENDS = """
    out, x = at_int64(pointer_word(args, 1), 0), at_IN(pointer_word(args, 2), 0)
    low, high = int64(x[0]), int64(x[0])
    for i in range(count):
        low = min(low, int64(x[i]))
        high = max(high, int64(x[i]))
    out[0] = low
    out[1] = high
"""
# How often each of 0, ..., size - 1 comes.
COUNTS = """
    out, x = at_int64(pointer_word(args, 1), 0), at_IN(pointer_word(args, 2), 0)
    for i in range(size):
        out[i] = 0
    for i in range(count):
        j = int64(x[i])
        if (j >= 0) & (j < size):
            out[j] += 1
"""
# A row of ``size`` zeros for each element, with a 1 at its place.
ONE_HOT = """
    out, status = at_int64(pointer_word(args, 1), 0), at_int64(pointer_word(args, 2), 0)
    x = at_IN(pointer_word(args, 3), 0)
    bad = False
    for i in range(count * size):
        out[i] = 0
    for i in range(count):
        j = x[i]
        if (j >= 0) & (j < size):
            out[i * size + j] = 1
        else:
            bad = True
    status[0] = int64(bad)
"""
# Elements that differ from the one before them, and how many they are. Blocks without equal neighbours are copied.
DISTINCT = """
    out, status = at_IN(pointer_word(args, 1), 0), at_int64(pointer_word(args, 2), 0)
    x = at_IN(pointer_word(args, 3), 0)
    out[0] = x[0]
    at = 1
    for low in range(1, count, 64):
        high = min(low + 64, count)
        same = False
        for i in range(low, high):
            same |= x[i] == x[i - 1]
        if same:
            for i in range(low, high):
                out[at] = x[i]
                at += int64(x[i] != x[i - 1])
        else:
            for i in range(low, high):
                out[at + i - low] = x[i]
            at += high - low
    status[0] = at
"""
# Whether elements are among ``size`` others; the third word turns the answer around.
MEMBERS = """
    out, x, tests = at_uint8(pointer_word(args, 1), 0), at_IN(pointer_word(args, 2), 0), at_IN(pointer_word(args, 3), 0)
    invert = word(record, 2) != 0
    for low in range(0, count, 256):
        high = min(low + 256, count)
        for i in range(low, high):
            out[i] = invert
        for j in range(size):
            test = tests[j]
            for i in range(low, high):
                out[i] = (not invert) if x[i] == test else out[i]
"""
# Elements in each of ``size`` equal intervals between two ends, which follow in the record as float64: those of the elements where
# the two are equal, APART to both sides if there is one number. The status is 1 where they are not finite.
HISTOGRAM = """
    ends = at_float64(record, 16)
    out, counts = at_IN(pointer_word(args, 1), 0), at_int64(pointer_word(args, 2), 0)
    status, x = at_int64(pointer_word(args, 3), 0), at_IN(pointer_word(args, SOURCE), 0)
    low, high, lost = ends[0], ends[1], False
    if low == high:
        least, most = x[0], x[0]
        for i in range(count):
            v = x[i]
            least = v if v < least else least
            most = v if v > most else most
            lost |= v != v
        low, high = float64(least), float64(most)
        if low == high:
            low, high = low - APART, high + APART
    for k in range(size):
        counts[k] = 0
    if (not lost) & (low - low == 0.0) & (high - high == 0.0):
        status[0] = 0
        FOUND
    else:
        status[0] = 1
    for k in range(size):
        out[k] = counts[k]
"""
# By the element's place in the interval, computed in its own dtype, so that an element may be an end.
BY_PLACE = """
        first, last = IN(low), IN(high)
        for i in range(count):
            v = x[i]
            if (v >= first) & (v <= last):
                k = int64((v - first) * IN(size) / (last - first))
                counts[min(k, size - 1)] += 1
"""
# By edges, which are a result too, rounded to the dtype; the place is a guess from which the bin is looked for.
BY_EDGES = """
        edges, step = at_IN(pointer_word(args, 4), 0), (high - low) / size
        for k in range(size):
            edges[k] = k * step + low
        edges[size] = high
        for i in range(count):
            v = x[i]
            if (v >= edges[0]) & (v <= edges[size]):
                k = min(max(int64((v - low) / step), 0), size - 1)
                while k + 1 < size and edges[k + 1] <= v:
                    k += 1
                while k > 0 and edges[k] > v:
                    k -= 1
                counts[k] += 1
"""
LOOPS = {
    "equal": EQUAL,
    "ends": ENDS,
    "counts": COUNTS,
    "one_hot": ONE_HOT,
    "distinct": DISTINCT,
    "members": MEMBERS,
    "histc": HISTOGRAM.replace("        FOUND\n", BY_PLACE[1:]).replace("SOURCE", "4").replace("APART", "1.0"),
    "histogram": HISTOGRAM.replace("        FOUND\n", BY_EDGES[1:]).replace("SOURCE", "5").replace("APART", "0.5"),
}

# The first place in a sorted line before which (``behind``: behind equal elements) a value may stand, by halving without a branch.
# Four values at a time: a search waits for each of its loads. Record words: values a line, elements of a line, whether behind; a
# unit is a line.
INSERTION = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    count, length, behind = word(record, 0), word(record, 1), word(record, 2)
    for line in range(start, stop):
        out = at_int64(pointer_word(args, 1), line * count * 8)
        sequence, x = at_IN(pointer_word(args, 2), line * length * SIZE), at_IN(pointer_word(args, 3), line * count * SIZE)
        fours = count // 4 * 4
        for i in range(0, fours, 4):
            a, b, c, d = rank(x[i]), rank(x[i + 1]), rank(x[i + 2]), rank(x[i + 3])
            at_a, at_b, at_c, at_d, rest = 0, 0, 0, 0, length
            while rest > 1:
                half = rest // 2
                at_a += half * precedes(rank(sequence[at_a + half - 1]), a, behind)
                at_b += half * precedes(rank(sequence[at_b + half - 1]), b, behind)
                at_c += half * precedes(rank(sequence[at_c + half - 1]), c, behind)
                at_d += half * precedes(rank(sequence[at_d + half - 1]), d, behind)
                rest -= half
            out[i] = at_a + precedes(rank(sequence[at_a]), a, behind)
            out[i + 1] = at_b + precedes(rank(sequence[at_b]), b, behind)
            out[i + 2] = at_c + precedes(rank(sequence[at_c]), c, behind)
            out[i + 3] = at_d + precedes(rank(sequence[at_d]), d, behind)
        for i in range(fours, count):
            value = rank(x[i])
            at, rest = 0, length
            while rest > 1:
                half = rest // 2
                at += half * precedes(rank(sequence[at + half - 1]), value, behind)
                rest -= half
            out[i] = at + precedes(rank(sequence[at]), value, behind)
"""


def precedes(rank, value, behind):
    """1 if an element stands before a value, else 0.

    By the sign of a difference, with what it borrowed, as the compiler makes branches of comparisons, half of which are foretold
    wrongly.
    """
    x, y = int64(rank), int64(value)  # noqa: F821  (bound by instantiate)
    if behind != 0:
        x, y = y, x
    borrow = ((x & ~y) | (~(x ^ y) & (x - y))) >> 63
    return (borrow & 1) ^ behind


@cache
def counting_loop(name: str, memory: str) -> Callable:
    """``kernel(start, stop, args)`` of one of ``LOOPS``."""
    return fill_template(HEAD + LOOPS[name][1:], f"{name} {memory}", {"at_IN": f"at_{memory}", "IN": memory})


@cache
def insertion_loop(memory: str) -> Callable:
    """``kernel(start, stop, args)``: where values may stand in sorted lines; NaN counts as the greatest number."""
    return fill_template(INSERTION, f"insertion {memory}", {"at_IN": f"at_{memory}", "SIZE": WIDTHS[memory]})
