"""Variances of rows and columns of [outer, length, width], contiguous, in two passes.

The mean is the first element and that of the distances from it: a constant's is exact, as the quotient of its sum is not. Record
words: length, width, tiles a block of columns, the correction; of rows their segments and the elements of a plane, too.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from typing import Callable

from .reduce import TILE, bound

__all__ = ["deviation_of", "variance_loop", "variance_of"]


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


def variance_loop(dtype: str, by_columns: bool) -> tuple[Callable, tuple]:
    """``kernel(start, stop, args)``: the mean, then the squares around it, and its bindings; words of its own are the correction
    and, of rows, their segments, and the elements of a plane.
    """
    return variance_columns if by_columns else variance_rows, bound(memory=dtype)
