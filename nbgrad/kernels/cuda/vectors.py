"""How many elements a thread of an elementwise kernel takes at once."""

from __future__ import annotations

from collections.abc import Iterable

from ...base.dtypes import COMPLEX, FLOATING, dtype_of
from .access import Function, vector_lanes
from .build import right_everywhere

__all__ = ["SERIES", "is_guarded", "lanes_for"]

MOST_LOADED = 32  # numbers that a thread loads before it computes: five halves of eight lanes spill (amsgrad)
# Every lane has its own branch to the precise path: a sine of eight takes ptxas 10 s, of four 1 s. A complex function has a
# sine and a cosine.
MOST_GUARDED = {FLOATING: 4, COMPLEX: 1}
# Sums of many terms, each a power: what spills (at most 192 bytes, float64) is little beside the work.
SERIES = ("zeta",)
# One element at a time: those, and tangents of six operands, whose registers two elements would need twice.
SINGLY = (*SERIES, "weighted_logits_difference_jvp")


def lanes_for(scalar: Function, dtype: str, arrays: Iterable[str], outputs: Iterable[str]) -> int:
    """Elements of a vector access: 16 bytes of the widest operand, less where a thread could not hold all operands.

    Args:
        dtype: in which the scalar function computes; ``arrays``, ``outputs``: dtypes in memory.
    """
    arrays = list(arrays)
    lanes, most = vector_lanes([*arrays, *outputs]), MOST_LOADED // max(len(arrays), 1)
    if is_guarded(scalar):
        most = min(most, MOST_GUARDED[dtype_of(dtype).category])
    if scalar.__name__.startswith(SINGLY):
        most = 1
    while lanes > most:
        lanes //= 2
    return lanes


def is_guarded(scalar: Function) -> bool:
    """Whether threads may branch to a precise version, which works on integers (NOTE [Guards] of ``scalars``)."""
    return right_everywhere(scalar) is not scalar
