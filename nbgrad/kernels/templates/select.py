"""Where the greatest elements are: the few of each row, and the one up to each position; as source text; CPU.

``best``: a row keeps its ``k`` best so far, sorted. Elements are looked at in blocks, as vectors: one that beats the last of the
best is rare (k log(n / k) of n in random order), and only its block is walked one by one. Of equal elements the first one stays
ahead. Record words: elements a row, k.

``running``: over ``[outer, length, width]``, as the scans of ``scan.py``, whose record it has. Of equal elements the last one
counts.
"""
# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from .reduce import KEY_TYPES, TILE, WIDTHS, compile_kernel, int_key_max, int_key_min, key_max, key_min

__all__ = ["MOST_BEST", "best_loop", "rank_of", "running_loop"]

MOST_BEST = 16          # k up to which an insertion is cheap even where every element is one

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
        x = at_IN(pointer_word(args, 2), base * SIZE)
        for j in range(n):
            best[j] = rank(x[j])
        for r in range(length):
            x = at_IN(pointer_word(args, 2), (base + r * width) * SIZE)
            out = at_int64(pointer_word(args, 1), (base + r * width) * 8)
            for j in range(n):
                k = rank(x[j])
                places[j] = r if k >= best[j] else places[j]
                best[j] = k if k >= best[j] else best[j]
                out[j] = places[j]
"""
# One column: what is carried stays in registers.
RUNNING_LINE = """
def kernel(start, stop, args):
    length = word(pointer_word(args, 0), 0)
    for outer in range(start, stop):
        x = at_IN(pointer_word(args, 2), outer * length * SIZE)
        out = at_int64(pointer_word(args, 1), outer * length * 8)
        best, place = rank(x[0]), 0
        for r in range(length):
            k = rank(x[r])
            place = r if k >= best else place
            best = k if k >= best else best
            out[r] = place
"""


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
    return "uint8" if dtype == "bool" else dtype, "int64", int_key_max if largest else int_key_min


@cache
def best_loop(memory: str, ranks: str) -> Callable:
    """``kernel(start, stop, args)``: the positions of the ``k`` elements of greatest ``rank``, best first; a unit is a row."""
    names = {"at_ACC": f"at_{ranks}", "at_IN": f"at_{memory}", "SIZE": WIDTHS[memory]}
    return compile_kernel(BEST, f"best {memory} {ranks}", names)


@cache
def running_loop(memory: str, ranks: str, by_columns: bool) -> Callable:
    """``kernel(start, stop, args)``: the position of the element of greatest ``rank`` so far."""
    names = {"at_ACC": f"at_{ranks}", "at_IN": f"at_{memory}", "SIZE": WIDTHS[memory], "TILE": TILE}
    return compile_kernel(RUNNING if by_columns else RUNNING_LINE, f"running {memory} {ranks} {by_columns}", names)
