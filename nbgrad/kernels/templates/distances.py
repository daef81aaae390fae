"""Distances between the rows of two matrices, and their cotangents: differences one by one, as text for a dtype; CPU.

Products of matrices would be |x|^2 - 2 x y + |y|^2, which loses the digits of points that are close to one another. Here the
other points lie by columns, so that loops run along them. Squares that leave the range of the dtype are computed again, scaled, in
float64.

Record words: 0 rows of x, 1 rows of y, 2 columns, 3 and 4 elements between rows and columns of the weights (``pull``).
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import in_dtype, run_text
from .lapack_helpers import BRING

__all__ = ["distance_kernel"]

HELPERS = '''
def scaled(x, y, count):
    """The distance of two points by squares of at most 1."""
    top, total, strange = float64(0.0), float64(0.0), float64(0.0)
    for l in range(count):
        size = fabs(float64(x[l]) - float64(y[l]))
        strange += size
        top = max(top, size)
    if (top == 0.0) | (strange != strange):
        return strange
    if top * 0.0 != 0.0:
        return top
    for l in range(count):
        part = (float64(x[l]) - float64(y[l])) / top
        total += part * part
    return top * sqrt(total)
'''
BODIES = {
    "distances": """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    m, n, k = word(record, 0), word(record, 1), word(record, 2)
    work = pointer_word(args, 2)
    for unit in range(start, stop):
        y = pointer_word(args, 4) + unit * n * k * SIZE
        bring(y, k, 1, n, k, work)
        for i in range(m):
            x = at_T(pointer_word(args, 3), (unit * m + i) * k * SIZE)
            out = at_T(pointer_word(args, 1), (unit * m + i) * n * SIZE)
            for j in range(n):
                out[j] = FLOAT(0.0)
            l = 0
            while l + 4 <= k:
                c0, c1 = at_T(work, l * n * SIZE), at_T(work, (l + 1) * n * SIZE)
                c2, c3 = at_T(work, (l + 2) * n * SIZE), at_T(work, (l + 3) * n * SIZE)
                x0, x1, x2, x3 = x[l], x[l + 1], x[l + 2], x[l + 3]
                for j in range(n):
                    d0, d1, d2, d3 = x0 - c0[j], x1 - c1[j], x2 - c2[j], x3 - c3[j]
                    out[j] = fma(d0, d0, fma(d1, d1, fma(d2, d2, fma(d3, d3, out[j]))))
                l += 4
            while l < k:
                column, value = at_T(work, l * n * SIZE), x[l]
                for j in range(n):
                    difference = value - column[j]
                    out[j] += difference * difference
                l += 1
            outside = 0
            for j in range(n):
                outside |= int64(not ((out[j] > FLOAT(LEAST)) & (out[j] < FLOAT(MOST))))
                out[j] = sqrt(out[j])
            if outside != 0:
                for j in range(n):
                    if not ((out[j] > FLOAT(LOW)) & (out[j] < FLOAT(HIGH))):
                        out[j] = scaled(x, at_T(y, j * k * SIZE), k)
""",
    "pull": """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    m, n, k = word(record, 0), word(record, 1), word(record, 2)
    down, across = word(record, 3), word(record, 4)
    columns = pointer_word(args, 2)
    rows = columns + n * k * SIZE
    for unit in range(start, stop):
        bring(pointer_word(args, 5) + unit * n * k * SIZE, k, 1, n, k, columns)
        weights = pointer_word(args, 3) + unit * m * n * SIZE
        if across != 1:
            bring(weights, across, down, n, m, rows)
            weights = rows
        for i in range(m):
            x = at_T(pointer_word(args, 4), (unit * m + i) * k * SIZE)
            out = at_T(pointer_word(args, 1), (unit * m + i) * k * SIZE)
            w = at_T(weights, i * n * SIZE)
            l = 0
            while l + 4 <= k:
                c0, c1 = at_T(columns, l * n * SIZE), at_T(columns, (l + 1) * n * SIZE)
                c2, c3 = at_T(columns, (l + 2) * n * SIZE), at_T(columns, (l + 3) * n * SIZE)
                x0, x1, x2, x3 = x[l], x[l + 1], x[l + 2], x[l + 3]
                s0, s1, s2, s3 = FLOAT(0.0), FLOAT(0.0), FLOAT(0.0), FLOAT(0.0)
                for j in range(n):
                    value = w[j]
                    s0 += value * (x0 - c0[j])
                    s1 += value * (x1 - c1[j])
                    s2 += value * (x2 - c2[j])
                    s3 += value * (x3 - c3[j])
                out[l] = s0
                out[l + 1] = s1
                out[l + 2] = s2
                out[l + 3] = s3
                l += 4
            while l < k:
                column, value, total = at_T(columns, l * n * SIZE), x[l], FLOAT(0.0)
                for j in range(n):
                    total += w[j] * (value - column[j])
                out[l] = total
                l += 1
""",
}
# Between which squares, and their roots, lose nothing.
RANGES = {"float32": ("1e-30", "1e37", "1e-15", "3e18"), "float64": ("1e-280", "1e300", "1e-140", "1e150")}


@cache
def distance_kernel(which: str, dtype: str) -> tuple[Callable, tuple]:
    """``distances`` or ``pull``: the kernel for a real dtype, and what its Program binds."""
    text = BRING + HELPERS + BODIES[which]
    for word, value in zip(("LEAST", "MOST", "LOW", "HIGH"), RANGES[dtype]):
        text = text.replace(word, value)
    text = in_dtype(text, dtype).replace("FLOAT", dtype)
    scope = run_text(text, f"{which} {dtype}")
    return scope["kernel"], (("bring", scope["bring"]), ("scaled", scope["scaled"]))
