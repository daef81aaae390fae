"""Operations along one dimension: memory as [outer, length, width]."""

from __future__ import annotations

import math

from ..kernels.late import Code
from ..kernels.templates.reduce import TILE
from ..native.plans import PARALLEL, pack_record

__all__ = ["PARALLEL_FROM", "split_at", "split_launch"]

# Elements from which one launch may use several threads.
PARALLEL_FROM = 1 << 15


def split_at(shape: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """``(outer, length, width)``: the elements before, along and after a dimension."""
    return math.prod(shape[:dim]), shape[dim] if shape else 1, math.prod(shape[dim + 1 :])


def split_launch(
    code: Code, split: tuple[int, int, int], operands: int, by_columns: bool, *own: int, outs: int = 1, segments: int = 1
) -> bytes:
    """The record of a kernel over ``[outer, length, width]``; ``own`` are its further words, a unit is so many ``segments``."""
    outer, length, width = split
    tiles = -(-width // TILE) if by_columns else 1
    units, work = (outer * tiles if length and width else 0), length * min(width, TILE) * segments
    parallel = PARALLEL if units * work >= PARALLEL_FROM else 0
    grain = max(1, PARALLEL_FROM // 8 // max(work, 1))
    words = (length, width, tiles, *own)
    return pack_record(code, units, grain, outs, (0,) * operands, parallel, words)
