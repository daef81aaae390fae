"""Pools of adaptive windows, and their cotangents, as text for a dtype; CPU. NOTE [Windows] of ops/pooling.py.

As in pool.py a unit of work is the last dimensions of one sample and channel, and all lines that a line of windows meets are folded
first. Windows are of several sizes and may overlap: each is folded, or looked through, on its own.

Record words: 0-2 sizes, 3-5 windows, 6 divisor of all windows, or 0; then, for every window of each dimension, where it begins and
ends.
"""

from __future__ import annotations

from functools import cache
from textwrap import indent
from typing import Callable

from ..texts import in_dtype, late_text
from .pool import GREATER, SPAN

__all__ = ["adaptive_pool_kernel"]

HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    deep, high, wide = word(record, 0), word(record, 1), word(record, 2)
    planes, rows, columns = word(record, 3), word(record, 4), word(record, 5)
    over_rows = record + 8 * (7 + 2 * planes)
    over_columns = over_rows + 16 * rows
    folded = at_T(stack(STACK), 0)
    for unit in range(start, stop):
        x = at_T(pointer_word(args, OPERAND), unit * deep * high * wide * SIZE)
        BEFORE
        for z in range(planes):
            z0, z1 = word(record, 7 + 2 * z), word(record, 8 + 2 * z)
            for y in range(rows):
                y0, y1 = word(over_rows, 2 * y), word(over_rows, 2 * y + 1)
                line = ((unit * planes + z) * rows + y) * columns
"""
FOLD = """
for k in few(wide):
    folded[k] = T(FIRST)
for i in range(z0, z1):
    for j in range(y0, y1):
        of_line = (i * high + j) * wide
        for k in few(wide):
            folded[k] = EACH
"""
WINDOWS = """
for c in range(columns):
    x0, x1 = word(over_columns, 2 * c), word(over_columns, 2 * c + 1)
"""
OWN = """
    total = T(FIRST)
    for k in one_by_one(x1 - x0):
        total = EACH
"""
# The first element that equals the greatest: mostly one column alone has any.
FIND = """
    left, right, found = x0, x1, 0
    for k in one_by_one(x1 - x0):
        v = folded[x0 + k]
        if (v == total) | ((v != v) & (total != total)):
            left, found = x0 + k, found + 1
    if found == 1:
        right = left + 1
    else:
        left = x0
    place, i = 0, z0
    while i < z1:
        j = y0
        while j < y1:
            k = left
            while k < right:
                v = x[(i * high + j) * wide + k]
                if (v == total) | ((v != v) & (total != total)):
                    place = (i * high + j) * wide + k
                    i, j, k = z1, y1, right
                k += 1
            j += 1
        i += 1
"""
DIVISOR = "T(word(record, 6) if word(record, 6) != 0 else (z1 - z0) * (y1 - y0) * (x1 - x0))"
SPREAD = f"""
for k in few(wide):
    folded[k] = T(0.0)
{WINDOWS}
    share = at_T(pointer_word(args, 2), (line + c) * SIZE)[0] / {DIVISOR}
    for k in one_by_one(x1 - x0):
        folded[x0 + k] += share
for i in range(z0, z1):
    for j in range(y0, y1):
        of_line = (i * high + j) * wide
        for k in few(wide):
            x[of_line + k] += folded[k]
"""
# Of what is added to: zeros first.
NOTHING = """out = at_T(pointer_word(args, 1), unit * deep * high * wide * SIZE)
        for k in range(deep * high * wide):
            out[k] = T(0.0)"""


def folding(first: str, each: str) -> str:
    """Every window of a line folded, into ``total``."""
    lines = each.replace("A", "folded[k]").replace("B", "x[of_line + k]")
    own = each.replace("A", "total").replace("B", "folded[x0 + k]")
    return (FOLD.replace("EACH", lines) + WINDOWS + OWN.replace("EACH", own)).replace("FIRST", first)


def in_head(text: str, operand: int, before: str = "") -> str:
    """What is done of a line of windows, in the loops over all."""
    return HEAD.replace("OPERAND", str(operand)).replace("BEFORE", before) + indent(text, " " * 16)


PUT = "    at_T(pointer_word(args, 1), (line + c) * SIZE)[0] = VALUE\n"
TEXTS = {
    "max_pool": in_head(folding("-INF", GREATER) + PUT.replace("VALUE", "total"), 2),
    "avg_pool": in_head(folding("0.0", "A + B") + PUT.replace("VALUE", f"total / {DIVISOR}"), 2),
    "avg_pool_spread": in_head(SPREAD, 1, NOTHING),
    "max_pool_places": in_head(
        folding("-INF", GREATER) + FIND + "    at_int64(pointer_word(args, 1), (line + c) * 8)[0] = place\n", 2
    ),
    "max_pool_spread": in_head(
        folding("-INF", GREATER) + FIND + "    out[place] += at_T(pointer_word(args, 2), (line + c) * SIZE)[0]\n", 3, NOTHING
    ),
}


@cache
def adaptive_pool_kernel(name: str, dtype: str) -> Callable:
    """The kernel of an operation for a real dtype; lines have ``SPAN`` elements at most."""
    text = in_dtype(TEXTS[name].replace("STACK", str(8 * SPAN)), dtype)
    return late_text(text, f"adaptive {name} {dtype}", {}, "kernel")[0]
