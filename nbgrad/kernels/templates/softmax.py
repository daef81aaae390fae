"""Softmax and its family along one dimension: loops as source text; CPU. An operand is ``[outer, length, width]``, contiguous.

A unit of work is one row (``width`` 1) or ``TILE`` neighbouring columns, walked together so that every pass
vectorises. Record words: length, width, tiles a block of columns.

NOTE [Infinite maxima]: logsumexp subtracts the maximum only where it is finite. Then -inf everywhere sums to 0, of
which the logarithm is -inf, and +inf sums to +inf, without a NaN that the operand did not hold. Softmax has no such
limits: it is NaN.

NOTE [Short rows]: a loop that writes elements and adds them up is compiled twice, in lanes and one by one, with sums of
other orders. The latter runs where the result begins less than the lanes' bytes behind the operand, which it can only
if both are that small. So that the last bits do not depend on where memory lies, rows of fewer than ``SHORT`` elements
are written first and added up then.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import math
from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import fill_template
from .keys import KEY_CONSTANTS, KEY_TYPES, float_of_max, key_max, least_key
from .reduce import TILE

__all__ = [
    "SHORT",
    "score_bindings",
    "softmax_loop",
    "SOFTMAX",
    "LOG_SOFTMAX",
    "LOGSUMEXP",
    "SOFTMAX_BACKWARD",
    "LOG_SOFTMAX_BACKWARD",
]

SOFTMAX, LOG_SOFTMAX, LOGSUMEXP, SOFTMAX_BACKWARD, LOG_SOFTMAX_BACKWARD = (
    "softmax",
    "log_softmax",
    "logsumexp",
    "softmax_backward",
    "log_softmax_backward",
)
SHORT = 64  # up to 256 bytes are taken in lanes: NOTE [Short rows]


def larger(x, m):
    """The maximum; NaN wins."""
    return where((x <= m) | (m != m), m, x)


def finite_or_zero(m):
    """``m``, or 0 where it is infinite; NaN stays."""
    return where(fabs(m) == INF, 0.0, m)


def score_bindings(dtype: str) -> tuple:
    """What loops over scores mention: exponentials and logarithms, and the keys by which they find the greatest score."""
    from ..scalars import FUNCTIONS  # needed by kernels, not by an import

    return (
        ("finite_or_zero", finite_or_zero),
        ("INF", math.inf),
        ("exp", FUNCTIONS["exp"]),
        ("log", FUNCTIONS["log"]),
        ("key_max", key_max),
        ("float_of_max", float_of_max),
        ("least_key", least_key),
        *KEY_CONSTANTS[dtype],
    )


def shifted(x, m, shift):
    """``x - m - shift`` in this order, which ``reassociate`` would not keep: m may be large and shift small."""
    return (x - m) - shift


HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, width, tiles = word(record, 0), word(record, 1), word(record, 2)
    target, source, other = pointer_word(args, 1), pointer_word(args, 2), pointer_word(args, OTHER)
    tops, logs, sums = at_T(stack(1024), 0), at_T(stack(1024), 0), at_float64(stack(1024), 0)
    for unit in range(start, stop):
        outer = unit // tiles
        column = (unit % tiles) * TILE
        n = min(TILE, width - column)
        base = (outer * length * width + column) * SIZE
"""

ROW_TOP = """
        x = at_T(source, base)
        keys = at_KEY(source, base)
        out = at_T(target, base)
        top = least_key()
        for i in range(length):
            key = key_max(keys[i])
            top = where(key > top, key, top)
        m = float_of_max(top)
"""
ROWS = {
    SOFTMAX: ROW_TOP
    + """
        total = float64(0.0)
        for low in range(0, length, 512):
            s = T(0.0)
            if length < SHORT:
                for i in range(length):
                    out[i] = exp(x[i] - m)
                for i in range(length):
                    s += out[i]
            else:
                for i in abreast(low, min(low + 512, length)):
                    e = exp(x[i] - m)
                    out[i] = e
                    s += e
            total += float64(s)
        scale = T(float64(1.0) / total)
        for i in range(length):
            out[i] = out[i] * scale
""",
    LOG_SOFTMAX: ROW_TOP
    + """
        total = float64(0.0)
        for low in range(0, length, 512):
            s = T(0.0)
            for i in abreast(low, min(low + 512, length)):
                s += exp(x[i] - m)
            total += float64(s)
        shift = log(T(total))
        for i in range(length):
            out[i] = shifted(x[i], m, shift)
""",
    LOGSUMEXP: ROW_TOP
    + """
        m = finite_or_zero(m)
        total = float64(0.0)
        for low in range(0, length, 512):
            s = T(0.0)
            for i in abreast(low, min(low + 512, length)):
                s += exp(x[i] - m)
            total += float64(s)
        at_T(target, unit * SIZE)[0] = m + log(T(total))
""",
    SOFTMAX_BACKWARD: """
        g = at_T(source, base)
        y = at_T(other, base)
        out = at_T(target, base)
        total = float64(0.0)
        for i in range(length):
            total += float64(g[i] * y[i])
        dot = T(total)
        for i in range(length):
            out[i] = (g[i] - dot) * y[i]
""",
    LOG_SOFTMAX_BACKWARD: """
        g = at_T(source, base)
        y = at_T(other, base)
        out = at_T(target, base)
        total = float64(0.0)
        for i in range(length):
            total += float64(g[i])
        dot = T(total)
        for i in abreast(length):
            out[i] = g[i] - exp(y[i]) * dot
""",
}

COLUMN_TOP = """
        x = at_T(source, base)
        for j in range(n):
            tops[j] = x[j]
            sums[j] = float64(0.0)
        for r in range(1, length):
            x = at_T(source, base + r * width * SIZE)
            for j in range(n):
                tops[j] = larger(x[j], tops[j])
"""
COLUMN_SUM = """
        for r in range(length):
            x = at_T(source, base + r * width * SIZE)
            for j in range(n):
                sums[j] += float64(exp(x[j] - tops[j]))
"""
COLUMNS = {
    SOFTMAX: COLUMN_TOP
    + """
        for r in range(length):
            x = at_T(source, base + r * width * SIZE)
            out = at_T(target, base + r * width * SIZE)
            for j in range(n):
                e = exp(x[j] - tops[j])
                out[j] = e
                sums[j] += float64(e)
        for j in range(n):
            tops[j] = T(float64(1.0) / sums[j])
        for r in range(length):
            out = at_T(target, base + r * width * SIZE)
            for j in range(n):
                out[j] = out[j] * tops[j]
""",
    LOG_SOFTMAX: COLUMN_TOP
    + COLUMN_SUM
    + """
        for j in range(n):
            logs[j] = log(T(sums[j]))
        for r in range(length):
            x = at_T(source, base + r * width * SIZE)
            out = at_T(target, base + r * width * SIZE)
            for j in range(n):
                out[j] = shifted(x[j], tops[j], logs[j])
""",
    LOGSUMEXP: COLUMN_TOP
    + """
        for j in range(n):
            tops[j] = finite_or_zero(tops[j])
"""
    + COLUMN_SUM
    + """
        out = at_T(target, (outer * width + column) * SIZE)
        for j in range(n):
            out[j] = tops[j] + log(T(sums[j]))
""",
    SOFTMAX_BACKWARD: """
        for j in range(n):
            sums[j] = float64(0.0)
        for r in range(length):
            g = at_T(source, base + r * width * SIZE)
            y = at_T(other, base + r * width * SIZE)
            for j in range(n):
                sums[j] += float64(g[j] * y[j])
        for r in range(length):
            g = at_T(source, base + r * width * SIZE)
            y = at_T(other, base + r * width * SIZE)
            out = at_T(target, base + r * width * SIZE)
            for j in range(n):
                out[j] = (g[j] - T(sums[j])) * y[j]
""",
    LOG_SOFTMAX_BACKWARD: """
        for j in range(n):
            sums[j] = float64(0.0)
        for r in range(length):
            g = at_T(source, base + r * width * SIZE)
            for j in range(n):
                sums[j] += float64(g[j])
        for r in range(length):
            g = at_T(source, base + r * width * SIZE)
            y = at_T(other, base + r * width * SIZE)
            out = at_T(target, base + r * width * SIZE)
            for j in range(n):
                out[j] = g[j] - exp(y[j]) * T(sums[j])
""",
}


@cache
def softmax_loop(name: str, dtype: str, by_columns: bool) -> Callable:
    """``kernel(start, stop, args)`` for one member of the family; operands after the output: x, or g and the result."""
    body = (COLUMNS if by_columns else ROWS)[name]
    other = 3 if name.endswith("backward") else 2
    text = HEAD + body
    # ``T(`` is the cast; ``at_T`` the pointer.
    return fill_template(
        text,
        f"{name} {dtype} {by_columns}",
        {
            "at_T": f"at_{dtype}",
            "at_KEY": f"at_{KEY_TYPES[dtype]}",
            " T(": f" {dtype}(",
            "(T(": f"({dtype}(",
            "SIZE": WIDTHS[dtype],
            "TILE": TILE,
            "OTHER": other,
            "SHORT": SHORT,
        },
    )
