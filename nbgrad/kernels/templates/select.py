"""Positions of greatest elements: the first few of each row, and the greatest up to each position; as source text for the CPU.

``best``: a row keeps its ``k`` best so far, sorted. Elements are looked at in blocks, as vectors: one that beats the last of the
best is rare (k log(n / k) of n in random order), and only its block is walked one by one. Of equal elements the first one stays
ahead. Record words: elements a row, k.

``running``: over ``[outer, length, width]``, as the scans of ``scan.py``, whose record it has. Of equal elements the last one
counts.

``order``: of ``[outer, length, width]``, a unit is one line of at most ``MOST_SORTED`` elements. It is sorted on the stack, equal
elements in their order; what is asked of it is then written: all of it, or one element, with their places, or what lies between
two. Record words: length, width, a number of its own, and a float64.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import fill_template
from .keys import KEY_TYPES, integer_keys, key_max, key_min
from .reduce import TILE

__all__ = ["MOST_BEST", "MOST_SORTED", "best_loop", "order_loop", "rank_of", "running_loop"]

MOST_BEST = 16  # k up to which an insertion is cheap even where every element is one
MOST_SORTED = 256  # elements whose ranks and places lie on the stack, twice

BEST = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, k = word(record, 0), word(record, 1)
    best = at_ACC(stack(256), 0)
    for row in range(start, stop):
        found = at_int64(pointer_word(args, 1), row * k * 8)
        x = at_IN(pointer_word(args, 2), row * length * SIZE)
        filled = 0
        for low in range(0, length, 128):
            high = min(low + 128, length)
            if filled == k:
                top = rank(x[low])
                for i in range(low, high):
                    r = rank(x[i])
                    top = where(r > top, r, top)
                if top <= best[k - 1]:
                    continue
            for i in range(low, high):
                r = rank(x[i])
                if filled < k or r > best[k - 1]:
                    j = filled if filled < k else k - 1
                    while j > 0 and r > best[j - 1]:
                        best[j] = best[j - 1]
                        found[j] = found[j - 1]
                        j -= 1
                    best[j] = r
                    found[j] = i
                    filled = min(filled + 1, k)
"""

RUNNING = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width, tiles = word(record, 0), word(record, 1), word(record, 2)
    best, places = at_ACC(stack(1024), 0), at_int64(stack(1024), 0)
    for unit in range(start, stop):
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        base = (unit // tiles) * length * width + column
        x = at_IN(pointer_word(args, SOURCE), base * SIZE)
        for j in range(n):
            best[j] = rank(x[j])
        for r in range(length):
            x = at_IN(pointer_word(args, SOURCE), (base + r * width) * SIZE)
            out = at_int64(pointer_word(args, PLACES), (base + r * width) * 8)
            for j in range(n):
                k = rank(x[j])
                places[j] = r if k >= best[j] else places[j]
                best[j] = k if k >= best[j] else best[j]
                out[j] = places[j]
            VALUES
"""
COLUMN_VALUES = """values = at_IN(pointer_word(args, 1), (base + r * width) * SIZE)
            first = at_IN(pointer_word(args, SOURCE), base * SIZE)
            for j in range(n):
                values[j] = first[places[j] * width + j]"""
# One column: what is carried stays in registers.
RUNNING_LINE = """
def kernel(start, stop, args):
    length = word(pointer_word(args, 0), 0)
    for outer in range(start, stop):
        x = at_IN(pointer_word(args, SOURCE), outer * length * SIZE)
        out = at_int64(pointer_word(args, PLACES), outer * length * 8)
        values = at_IN(pointer_word(args, 1), outer * length * SIZE)
        best, place, value = rank(x[0]), 0, x[0]
        for r in range(length):
            k = rank(x[r])
            place = r if k >= best else place
            value = x[r] if k >= best else value
            best = k if k >= best else best
            out[r] = place
            VALUES
"""

# Eight neighbours are sorted by insertion, then ever longer runs merged, without a branch that is hard to foresee.
ORDER = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width, first = word(record, 0), word(record, 1), word(record, 2)
    ranks, other_ranks = at_ACC(stack(2048), 0), at_ACC(stack(2048), 0)
    places, other_places = at_int64(stack(2048), 0), at_int64(stack(2048), 0)
    for line in range(start, stop):
        outer, column = line // width, line % width
        x = at_IN(pointer_word(args, 3), (outer * length * width + column) * SIZE)
        for low in range(0, length, 8):
            for i in range(low, min(low + 8, length)):
                r = rank(x[i * width])
                j = i
                while j > low and r < ranks[j - 1]:
                    ranks[j] = ranks[j - 1]
                    places[j] = places[j - 1]
                    j -= 1
                ranks[j] = r
                places[j] = i
        size = 8
        while size < length:
            for low in range(0, length, 2 * size):
                middle, high = min(low + size, length), min(low + 2 * size, length)
                i, j, k = low, middle, low
                while (i < middle) & (j < high):
                    a, b, p, q = ranks[i], ranks[j], places[i], places[j]
                    earlier = a <= b
                    other_ranks[k] = a if earlier else b
                    other_places[k] = p if earlier else q
                    step = int64(earlier)
                    i += step
                    j += 1 - step
                    k += 1
                while i < middle:
                    other_ranks[k] = ranks[i]
                    other_places[k] = places[i]
                    i += 1
                    k += 1
                while j < high:
                    other_ranks[k] = ranks[j]
                    other_places[k] = places[j]
                    j += 1
                    k += 1
            ranks, other_ranks = other_ranks, ranks
            places, other_places = other_places, places
            size *= 2
        FOUND
"""
WHOLE = """
        out = at_IN(pointer_word(args, 1), (outer * length * width + column) * SIZE)
        found = at_int64(pointer_word(args, 2), (outer * length * width + column) * 8)
        for i in range(length):
            out[i * width] = x[places[i] * width]
            found[i * width] = places[i]
"""
# ``first`` is its place in the order.
ONE = """
        at = first
        SEARCH
        at_IN(pointer_word(args, 1), line * SIZE)[0] = x[places[at] * width]
        at_int64(pointer_word(args, 2), line * 8)[0] = places[at]
"""
# ``first``: whether what is missing does not count; else the first of it is found.
MEDIAN = """
        count = length
        while count > 0 and missing(ranks[count - 1]):
            count -= 1
        at = max(count - 1, 0) // 2 if (count == length) | (first != 0) else count
"""
# The end of the longest run of equal elements; where no element comes twice, the first that is missing.
MODE = """
        longest, run = 0, 0
        at = 0
        for i in range(1, length):
            run = run + 1 if (ranks[i] == ranks[i - 1]) & (not missing(ranks[i])) else 0
            at = i if run > longest else at
            longest = max(run, longest)
        if longest == 0 and missing(ranks[length - 1]):
            at = length - 1
            while at > 0 and missing(ranks[at - 1]):
                at -= 1
"""
# ``first``: whether what is missing does not count; else it is found. The float64 is which share of the others lies before it.
QUANTILE = """
        count = length
        while count > 0 and missing(ranks[count - 1]):
            count -= 1
        place = FLOAT(at_float64(record, 24)[0]) * FLOAT(max(count, 1) - 1)
        if (first == 0) & (count < length):
            place = FLOAT(length - 1)
        lower = int64(place)
        weight = place - FLOAT(lower)
        upper = min(lower + int64(weight > 0.0), length - 1)
        line_of_x = at_FLOAT(pointer_word(args, 3), (outer * length * width + column) * SIZE)
        a, b = line_of_x[places[lower] * width], line_of_x[places[upper] * width]
        at_FLOAT(pointer_word(args, 1), line * SIZE)[0] = a + weight * (b - a) if weight < 0.5 else b - (b - a) * (1.0 - weight)
        at_int64(pointer_word(args, 2), line * 8)[0] = places[lower]
"""
SEARCHES = {
    "sort": WHOLE,
    "quantile": QUANTILE,
    "kth": ONE.replace("        SEARCH\n", ""),
    **{name: ONE.replace("        at = first\n        SEARCH\n", text[1:]) for name, text in (("median", MEDIAN), ("mode", MODE))},
}


def rank_largest(bits):
    """The key of a float's bits; both zeros have one."""
    key = key_max(bits)
    return where(key == -1, 0, key)


def rank_smallest(bits):
    """Inverted: NaN, the greatest of all, comes last."""
    return ixor(rank_largest(bits), -1)


def rank_smallest_nan(bits):
    """Inverted, but NaN comes first all the same; both zeros have one."""
    key = key_min(bits)
    return where(key == 0, -1, key)


def rank_of(dtype: str, largest: bool, nan_first: bool = False) -> tuple[str, str, Callable]:
    """How elements of a dtype are compared: their type in memory, that of their ranks, and the function from one to the other.

    Args:
        nan_first: NaN is greater than all others, and smaller too; otherwise greater only.
    """
    if dtype in KEY_TYPES:
        smallest = rank_smallest_nan if nan_first else rank_smallest
        return KEY_TYPES[dtype], KEY_TYPES[dtype], rank_largest if largest else smallest
    return "uint8" if dtype == "bool" else dtype, "int64", integer_keys(dtype, largest)[0]


def missing_number(rank):
    """Whether a rank of ``rank_largest`` is that of NaN."""
    return rank == MAGNITUDE


def never_missing(rank):
    """Integers are never missing."""
    return rank != rank


def missing_of(dtype: str) -> Callable:
    """How NaN is known by its rank."""
    return missing_number if dtype in KEY_TYPES else never_missing


@cache
def order_loop(memory: str, ranks: str, search: str) -> Callable:
    """``kernel(start, stop, args)``: what ``search``, one of ``SEARCHES``, finds in sorted lines."""
    names = {
        "at_ACC": f"at_{ranks}",
        "at_IN": f"at_{memory}",
        "SIZE": WIDTHS[memory],
        "FLOAT": {"int32": "float32", "int64": "float64"}.get(memory),
    }
    text = ORDER.replace("        FOUND\n", SEARCHES[search][1:])
    return fill_template(text, f"order {search} {memory} {ranks}", names)


@cache
def best_loop(memory: str, ranks: str) -> Callable:
    """``kernel(start, stop, args)``: the positions of the ``k`` elements of greatest ``rank``, best first; a unit is a row."""
    names = {"at_ACC": f"at_{ranks}", "at_IN": f"at_{memory}", "SIZE": WIDTHS[memory]}
    return fill_template(BEST, f"best {memory} {ranks}", names)


@cache
def running_loop(memory: str, ranks: str, by_columns: bool, values: bool) -> Callable:
    """``kernel(start, stop, args)``: where the element of greatest ``rank`` so far is; if ``values``, first what it is."""
    names = {
        "at_ACC": f"at_{ranks}",
        "at_IN": f"at_{memory}",
        "SIZE": WIDTHS[memory],
        "TILE": TILE,
        "PLACES": 1 + values,
        "SOURCE": 2 + values,
    }
    text = RUNNING if by_columns else RUNNING_LINE
    text = text.replace("VALUES", (COLUMN_VALUES if by_columns else "values[r] = value") if values else "pass")
    return fill_template(text, f"running {memory} {ranks} {by_columns} {values}", names)
