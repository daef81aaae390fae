"""Loops that fill memory with sequences, as source text for the CPU. A unit of work is an element."""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import fill_template

__all__ = ["sequence_loop", "COUNT", "LINE"]

COUNT, LINE = "count", "line"
LOOPS = {
    # Of start and step: each element has one rounding.
    COUNT: """
def kernel(start, stop, args):
    out = p_T(args, 1)
    low, step = p_KIND(args, 2)[0], p_KIND(args, 3)[0]
    for i in range(start, stop):
        out[i] = T(low + KIND(i) * step)
""",
    # Of start, end, step, half of the number of elements and the last place: symmetric about the middle, the ends as they are.
    LINE: """
def kernel(start, stop, args):
    out = p_T(args, 1)
    low, high, step = p_KIND(args, 2)[0], p_KIND(args, 3)[0], p_KIND(args, 4)[0]
    half, last = p_KIND(args, 5)[0], p_KIND(args, 6)[0]
    for i in range(start, stop):
        at = KIND(i)
        value = where(at < half, low + step * at, high - step * (last - at))
        out[i] = T(where(at == 0.0, low, where(at == last, high, value)))
""",
}


@cache
def sequence_loop(name: str, kind: str, dtype: str) -> Callable:
    """``kernel(start, stop, args)`` that computes in ``kind`` and stores elements of ``dtype``."""
    return fill_template(
        LOOPS[name], f"{name} {kind} {dtype}", {"p_T": f"p_{dtype}", "p_KIND": f"p_{kind}", " T(": f" {dtype}(", "KIND": kind}
    )
