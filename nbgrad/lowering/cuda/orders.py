"""The steps of sorts of integer keys, and of sums of all before."""

from __future__ import annotations

from ...kernels.cuda.access import Function, itemsize
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.moves import identity
from ...kernels.cuda.sorting import (
    BYTES,
    CAPACITY,
    GREATEST,
    SCANNED,
    count_bytes,
    move_bytes,
    scan_sums,
    scan_tiles,
    sort_lines,
    tile_sums,
    tiles_of,
)
from ...kernels.cuda.steps import Place, Step, Workspace
from ...kernels.cuda.templates import BLOCK, ceil_div

__all__ = ["Keys", "scan_steps", "sort_steps", "sums_before", "tiles_over"]


class Keys:
    """Lines of keys in memory.

    Attributes:
        place: where they are; dtype: theirs.
        lines, n: lines, and elements of each.
        bits: that keys use, the lowest ones; signed: whether the highest of them is a sign.
    """

    def __init__(self, place: Place, dtype: str, lines: int, n: int, bits: int, signed: bool):
        self.place, self.dtype, self.lines, self.n, self.bits, self.signed = place, dtype, lines, n, bits, signed


def sort_steps(keys: Keys, order: Place, order_dtype: str, space: Workspace, kept: Place | None = None) -> list[Step]:
    """The stable order of each line, and (``kept``) the sorted keys."""
    lines, n = keys.lines, keys.n
    if n <= CAPACITY:
        width = 1 << max(n - 1, 0).bit_length()
        template = sort_lines(keys.dtype, order_dtype, kept is not None)
        recipe = Recipe(template, identity, "int64", {"GREATEST": GREATEST[keys.dtype]})
        pointers = (order, kept, keys.place) if kept is not None else (order, keys.place)
        return [Step(recipe, (ceil_div(lines, CAPACITY // width),), pointers, (), (lines, n, width))]
    return radix_steps(keys, order, order_dtype, space, kept)


def radix_steps(keys: Keys, order: Place, order_dtype: str, space: Workspace, kept: Place | None) -> list[Step]:
    """The same by bytes: NOTE [Radix passes] of ``kernels/cuda/sorting.py``."""
    lines, n, key = keys.lines, keys.n, keys.dtype
    tiles, steps = tiles_of(n, key), list[Step]()
    counted = "int32" if lines * n < 1 << 31 else "int64"
    between = "int32" if n < 1 << 31 else "int64"
    passes = max(1, ceil_div(keys.bits, 8))
    counts = space.take((lines * BYTES * tiles + 1) * itemsize(counted))
    sides = [(space.take(lines * n * itemsize(between)), space.take(lines * n * itemsize(key))) for _ in range(min(passes - 1, 2))]
    places, read, source = None, keys.place, ""
    for number in range(passes):
        last = number == passes - 1
        flip = 128 if last and keys.signed else 0
        numbers = n, tiles, 8 * number, flip
        grid = (lines * tiles,)
        steps.append(Step(Recipe(count_bytes(key, counted), identity, "int64"), grid, (counts, read), (), numbers))
        steps += scan_steps(counts, counted, lines * BYTES * tiles, space)
        to, moved = (order, kept) if last else sides[number % 2]
        template = move_bytes(key, source, order_dtype if last else between, moved is not None, counted)
        pointers = (to, *([] if moved is None else [moved]), read, *([] if places is None else [places]), counts)
        steps.append(Step(Recipe(template, identity, "int64"), grid, pointers, (), numbers))
        places, read, source = to, moved or read, between
    return steps


def tiles_over(n: int) -> int:
    """Blocks that look at so many elements."""
    return ceil_div(n, BLOCK * SCANNED)


SCANNED_AT_ONCE = 1 << 13  # counts that one block scans by itself


def scan_steps(numbers: Place, dtype: str, n: int, space: Workspace) -> list[Step]:
    """Each of some integers replaced by the sum of those before it; there must be room for one more behind them."""
    if n <= SCANNED_AT_ONCE:
        return [Step(Recipe(scan_sums(dtype), identity, "int64"), (1,), (numbers,), (), (n,))]
    sums, steps = sums_before(numbers, dtype, dtype, n, identity, "int64", space)
    return [*steps, Step(Recipe(scan_tiles(dtype), identity, "int64"), (tiles_over(n),), (numbers, sums), (), (n,))]


def sums_before(
    x: Place, source: str, dtype: str, n: int, scalar: Function, compute: str, space: Workspace
) -> tuple[Place, list[Step]]:
    """Where the sums before each tile are, and the steps that make them; behind them is the sum of all."""
    tiles = tiles_over(n)
    sums = space.take((tiles + 1) * itemsize(dtype))
    first = Step(Recipe(tile_sums(source, dtype), scalar, compute), (tiles,), (sums, x), (), (n,))
    return sums, [first, *scan_steps(sums, dtype, tiles, space)]
