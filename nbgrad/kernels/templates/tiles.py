"""Terms added to vectors of rows that stay in registers: what kernels of products and of convolutions share, as text; CPU.

A tile (``kernels/cpu/tiles.py``) is of four rows and three vectors, so that twelve sums, three vectors and a number are in sixteen
registers, and no sum waits for the one before; of four vectors with AVX-512, which has twice as many registers. Smaller ones are
for what is left: three and two vectors rather than four and a single one, whose sums would wait. A single row has eight.
"""

from __future__ import annotations

from ...base.dtypes import WIDTHS
from ..cpu.emit import lanes
from ..cpu.tiles import most_rows, most_vectors
from ..texts import in_dtype

__all__ = ["ADD_TERMS", "in_lanes", "in_panels", "panel_width"]

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
