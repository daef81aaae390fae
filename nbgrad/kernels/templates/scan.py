"""Scans and moves along one dimension of ``[outer, length, width]``, contiguous; as source text; CPU.

Record words: length, width, tiles a block of columns, whether the walk is from the end, and one number of the loop's
own. A unit of work is ``TILE`` neighbouring columns, so that the sequential walk along the dimension vectorises
across them.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import fill_template
from .reduce import TILE

__all__ = ["SCANS", "pick_loop", "place_loop", "repeat_loop", "running_logsumexp_loop", "scan_loop", "shift_loop"]

SCAN = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width, tiles, reverse = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    memory = stack(2048)
    carry = at_ACC(memory, 0)
    for unit in range(start, stop):
        outer = unit // tiles
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        for j in range(n):
            carry[j] = INIT
        for r in range(length):
            row = outer * length + (length - 1 - r if reverse != 0 else r)
            position = row * width + column
            out = at_OUT(pointer_word(args, 1), position * OUT_SIZE)
            x = at_IN(pointer_word(args, 2), position * SIZE)
            y = at_IN(pointer_word(args, SECOND), position * SIZE)
            for j in range(n):
                BODY
"""
# One column: what is carried stays in a register.
SCAN_LINE = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, reverse = word(record, 0), word(record, 3)
    for outer in range(start, stop):
        x = at_IN(pointer_word(args, 2), outer * length * SIZE)
        y = at_IN(pointer_word(args, SECOND), outer * length * SIZE)
        out = at_OUT(pointer_word(args, 1), outer * length * OUT_SIZE)
        carry = INIT
        for r in range(length):
            j = length - 1 - r if reverse != 0 else r
            BODY
"""
# The same of a long line by groups of four, whose own totals come first, so that one operation in four waits for the one before.
# For accumulators that are wider than the elements: in those, four of them neither overflow nor vanish.
SCAN_GROUPS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, reverse = word(record, 0), word(record, 3)
    by = -1 if reverse != 0 else 1
    for outer in range(start, stop):
        x = at_IN(pointer_word(args, 2), outer * length * SIZE)
        out = at_OUT(pointer_word(args, 1), outer * length * OUT_SIZE)
        carry = INIT
        for r in range(0, length - 3, 4):
            j = length - 1 - r if reverse != 0 else r
            one, second, third, last = ACC(x[j]), ACC(x[j + by]), ACC(x[j + 2 * by]), ACC(x[j + 3 * by])
            two = one OF second
            three, four = two OF third, two OF (third OF last)
            STORES
            carry = carry OF four
        for r in range(length - length % 4, length):
            j = length - 1 - r if reverse != 0 else r
            BODY
"""
# Text of one step. ``lagged``: the factor is that of the step before; see ops/scans.py.
SCANS = {
    "sum": ("carry[j] = carry[j] + ACC(x[j])", "out[j] = carry[j]"),
    "product": ("carry[j] = carry[j] * ACC(x[j])", "out[j] = carry[j]"),
    "product_before": ("out[j] = carry[j]", "carry[j] = carry[j] * ACC(x[j])"),
    "recurrence": ("carry[j] = ACC(y[j]) + ACC(x[j]) * carry[j]", "out[j] = carry[j]"),
    "recurrence_lagged": ("value = ACC(y[j]) + carry[j]", "out[j] = value", "carry[j] = ACC(x[j]) * value"),
}
# Of those that go by groups: the operation, and what is stored at the four places.
WITH, BEFORE = (
    ("carry OF one", "carry OF two", "carry OF three", "carry OF four"),
    ("carry", "carry OF one", "carry OF two", "carry OF three"),
)
GROUPS = {"sum": ("+", WITH), "product": ("*", WITH), "product_before": ("*", BEFORE)}

# The logarithm of the sum of exponentials up to each element, in float64: the greatest so far, and the sum relative to it. A unit
# is a line. Where the greatest is infinite, what equals it counts as 1; a NaN stays in the sum.
LOGSUMEXP = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width = word(record, 0), word(record, 1)
    for line in range(start, stop):
        base = (line // width) * length * width + line % width
        x, out = at_IN(pointer_word(args, 2), base * SIZE), at_IN(pointer_word(args, 1), base * SIZE)
        top, total = LOWEST, 0.0
        for r in range(length):
            v = float64(x[r * width])
            if v <= top:
                total += 1.0 if v == top else exp(v - top)
            else:
                total = total * exp(top - v) + 1.0
                top = v
            out[r * width] = IN(top + log(total))
"""

PICK = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width, count = word(record, 0), word(record, 1), word(record, 4)
    out, x, index = p_T(args, 1), p_T(args, 2), p_int64(args, 3)
    for outer in range(start, stop):
        for k in range(count):
            for j in range(width):
                position = (outer * count + k) * width + j
                MOVE
"""
GATHER = "out[position] = x[(outer * length + index[position]) * width + j]"
SCATTER = "out[(outer * length + index[position]) * width + j] = x[position]"
CLEAR = """        for k in range(length * width):
            out[outer * length * width + k] = 0
"""

SHIFT = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width, by = word(record, 0), word(record, 1), word(record, 4)
    out, x = p_T(args, 1), p_T(args, 2)
    for outer in range(start, stop):
        for r in range(length):
            to = (outer * length + r) * width
            inside = 0 <= r - by < length
            for j in range(width):
                out[to + j] = x[to + j - by * width] if inside else 0
"""

# ``[rows, width]`` to ``[rows, count, width]``; record words: count, width, rows.
REPEAT = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    count, width, rows = word(record, 0), word(record, 1), word(record, 2)
    out, x = p_T(args, 1), p_T(args, 2)
    if (width == 1) & (count == 2):
        for i in range(rows):
            out[2 * i] = x[i]
            out[2 * i + 1] = x[i]
    else:
        for i in range(rows):
            for k in range(count):
                for j in range(width):
                    out[(i * count + k) * width + j] = x[i * width + j]
"""


@cache
def scan_loop(name: str, source: str, acc: str, out: str, by_columns: bool, is_long: bool) -> Callable:
    """``kernel(start, stop, args)`` of one of ``SCANS``: accumulates in ``acc`` and stores ``out``; ``is_long``: lines are."""
    cast = "" if acc.startswith("complex") else acc
    template, steps, init = SCAN, SCANS[name], "1" if name.startswith("product") else "0"
    operation, stored = GROUPS.get(name, ("", ()))
    if not by_columns:
        template = SCAN_GROUPS if is_long and operation and cast and acc != source else SCAN_LINE
        steps = tuple(step.replace("carry[j]", "carry") for step in steps)
        init = f"({init} + 0j)" if not cast else f"{acc}({init})"
    indent = "\n" + " " * (16 if by_columns else 12)
    body = indent.join(steps).replace("ACC", cast)
    stores = indent.join([f"out[j + {k} * by] = {value.replace('OF', operation)}" for k, value in enumerate(stored)])
    return fill_template(
        template,
        f"scan {name} {source} {out} {by_columns} {is_long}",
        {
            "BODY": body,
            "STORES": stores,
            "INIT": init,
            " OF ": f" {operation} ",
            "ACC(": f"{cast}(",
            "at_ACC": f"at_{acc}",
            "at_OUT": f"at_{out}",
            "at_IN": f"at_{source}",
            "OUT_SIZE": WIDTHS[out],
            "SIZE": WIDTHS[source],
            "TILE": TILE,
            "SECOND": 3 if name.startswith("recurrence") else 2,
        },
    )


@cache
def running_logsumexp_loop(memory: str) -> Callable:
    """``kernel(start, stop, args)``: running logarithms of sums; needs ``exp`` and ``log`` of float64."""
    return fill_template(LOGSUMEXP, f"running_logsumexp {memory}", {"at_IN": f"at_{memory}", "IN": memory, "SIZE": WIDTHS[memory]})


@cache
def repeat_loop(bits: str) -> Callable:
    """``kernel(start, stop, args)``: every row of so many elements repeated; one unit of work."""
    return fill_template(REPEAT, f"repeat {bits}", {"p_T": f"p_{bits}"})


@cache
def pick_loop(bits: str) -> Callable:
    """``kernel``: the elements at an index along the dimension; the fifth word is their number."""
    return fill_template(PICK, f"pick {bits}", {"MOVE": GATHER, "p_T": f"p_{bits}"})


@cache
def place_loop(bits: str) -> Callable:
    """``kernel``: zeros, with elements put at an index along the dimension; no index may come twice."""
    text = PICK.replace("        for k in range(count):", CLEAR + "        for k in range(count):")
    return fill_template(text, f"place {bits}", {"MOVE": SCATTER, "p_T": f"p_{bits}"})


@cache
def shift_loop(bits: str) -> Callable:
    """``kernel``: elements moved by the fifth word along the dimension; zeros come in."""
    return fill_template(SHIFT, f"shift {bits}", {"p_T": f"p_{bits}"})
