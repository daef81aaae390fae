"""Terms added to vectors of rows that stay in registers: what kernels of products and of convolutions share, as text; CPU.

A tile (``kernels/cpu/tiles.py``) is of four rows and three vectors, so that twelve sums, three vectors and a number are in sixteen
registers, and no sum waits for the one before; of four vectors with AVX-512, which has twice as many registers. Smaller ones are
for what is left: three and two vectors rather than four and a single one, whose sums would wait. A single row has eight. *Outer*
tiles, of up to fourteen rows and two vectors, are for kernels over panels (convolve_panels.py).
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..cpu.emit import lanes
from ..cpu.tiles import most_rows, most_vectors
from ..texts import in_dtype, late_text

__all__ = ["ADD_TERMS", "in_lanes", "in_panels", "panel_width", "rows_kernel"]

# ``TILE`` is ``tile`` or ``listed_tile``.
ADD_TERMS = '''
def add_terms(many, count, out, down, base, lead, weights, across, terms):
    """Terms added to so many vectors of four rows, or of one."""
    k = 0
    while k < count:
        left = count - k
        to, line = out + k * LANES * SIZE, base + k * LANES * SIZE
        if many == 4:
            if (MOST_VECTORS > 3) & (left > 3) & (left != 5):
                TILE_T(4, MOST_VECTORS, to, down, line, lead, weights, across, terms)
                k += MOST_VECTORS
            elif (left > 4) | (left == 3):
                TILE_T(4, 3, to, down, line, lead, weights, across, terms)
                k += 3
            elif left > 1:
                TILE_T(4, 2, to, down, line, lead, weights, across, terms)
                k += 2
            else:
                TILE_T(4, 1, to, down, line, lead, weights, across, terms)
                k += 1
        elif left > 7:
            TILE_T(1, 8, to, down, line, lead, weights, across, terms)
            k += 8
        elif left > 3:
            TILE_T(1, 4, to, down, line, lead, weights, across, terms)
            k += 4
        else:
            TILE_T(1, 1, to, down, line, lead, weights, across, terms)
            k += 1
'''


def in_lanes(text: str, dtype: str) -> str:
    """``in_dtype``, ``LANES``, how many numbers a vector has, and ``MOST_VECTORS``, those of a row that a tile has."""
    return in_dtype(text, dtype).replace("LANES", str(lanes(WIDTHS[dtype]))).replace("MOST_VECTORS", str(most_vectors()))


def panel_width(dtype: str) -> int:
    """How many channels a panel has: NOTE [Panels] of convolve_panels.py."""
    return 2 * lanes(WIDTHS[dtype])


def in_panels(text: str, dtype: str) -> str:
    """``in_lanes``, and ``BLOCK``, how many numbers a line of a panel has, and ``MOST_ROWS``, those of an outer tile."""
    return in_lanes(text, dtype).replace("BLOCK", str(panel_width(dtype))).replace("MOST_ROWS", str(most_rows()))


def tiles_of(vectors: int, counts: tuple[int, ...]) -> list[str]:
    """Lines that add the greatest outer tile of those sizes that what is left of a row has room for."""
    lines = list[str]()
    for count in counts:
        lines.append(f"            {'elif' if lines else 'if'} left >= {count}:")
        lines.append(f"                count = {count}")
        lines.append(f"                outer_tile_T({count}, {vectors}, out, down, base, table, weights, terms)")
    return lines


@cache
def rows_kernel(dtype: str) -> Callable:
    """The kernel that adds terms to a row of any length: what all kernels over panels call, since LLVM takes long for its tiles.

    Its arguments are words: vectors, length of the row, then those of ``outer_tile_T``. Of two vectors tiles have as many rows as
    each other, or one less; of a single one, which only a last panel has, there are tiles of few sizes.
    """
    most = most_rows()
    lines = ["def kernel(start, stop, args):", "    vectors, width, terms = (ARG0), (ARG1), (ARG7)"]
    lines.append("    out, down, base, table, weights = (ARG2), (ARG3), (ARG4), (ARG5), (ARG6)")
    lines += ["    x = 0", "    pieces = quotient(width + MOST_ROWS - 1, MOST_ROWS)", "    while x < width:", "        count = 0"]
    lines += ["        left = width - x", "        if vectors == 2:", "            left = quotient(left + pieces - 1, pieces)"]
    lines += [*tiles_of(2, tuple(range(most, 0, -1))), "        else:", *tiles_of(1, (most, most // 2, 2, 1))]
    lines += ["        x += count", "        out += count * down", "        base += count * SIZE", "        pieces -= 1"]
    text = "\n".join(lines) + "\n"
    for k in range(8):
        text = text.replace(f"(ARG{k})", f"pointer_word(args, {k})")
    return late_text(in_panels(text, dtype), f"rows of panels {dtype}", {}, "kernel")[0]
