"""The first place of the greatest key in rows and columns of [outer, length, width], contiguous.

Record words: length, width, tiles a block of columns.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from typing import Callable

from .folds import accumulator
from .keys import KEY_TYPES
from .reduce import TILE, bound

__all__ = ["arg_loop"]


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


def arg_loop(dtype: str, by_columns: bool) -> tuple[Callable, tuple]:
    """``kernel(start, stop, args)``: the first position of the greatest ``key``, and its bindings."""
    return arg_columns if by_columns else arg_rows, bound(memory=KEY_TYPES.get(dtype, dtype), acc=accumulator(dtype, keys=True))
