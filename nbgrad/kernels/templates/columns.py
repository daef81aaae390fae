"""Standardised columns of matrices, and their cotangents, as text for a dtype; CPU.

NOTE [Standardised channels] of ops/channels.py says what they are.

A unit of work is 64 columns side by side, whose sums are in single precision over 16 rows, then in double precision: so their order
follows from the shape alone. Record words: 0 rows, 1 columns, 2 (float64) what is added to the variance.
"""

from __future__ import annotations

from functools import cache
from textwrap import indent
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import in_dtype, late_text

__all__ = ["COLUMNS", "columns_kernel"]

COLUMNS, ROWS = 64, 16  # of a unit, and of a sum in single precision

HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    rows, columns = word(record, 0), word(record, 1)
    eps = at_float64(record, 16)[0]
    step = columns * SIZE
    sums, others = at_float64(stack(BYTES_OF_SUMS), 0), at_float64(stack(BYTES_OF_SUMS), 0)
    part, other = at_T(stack(BYTES), 0), at_T(stack(BYTES), 0)
    mean, scale = at_T(stack(BYTES), 0), at_T(stack(BYTES), 0)
    for unit in range(start, stop):
        low = unit * COLUMNS
        width, here = min(COLUMNS, columns - low), low * SIZE
"""
# Sums of TERM, and of a further one, over all rows.
SUM = """
for k in few(width):
    sums[k] = 0.0
for top in range(0, rows, ROWS):
    for k in few(width):
        part[k] = T(0.0)
    for row in range(top, min(top + ROWS, rows)):
        x = at_T(X, row * step)
        for k in few(width):
            part[k] += TERM
    for k in few(width):
        sums[k] += float64(part[k])
"""
SUMS = """
for k in few(width):
    sums[k] = 0.0
    others[k] = 0.0
for top in range(0, rows, ROWS):
    for k in few(width):
        part[k] = T(0.0)
        other[k] = T(0.0)
    for row in range(top, min(top + ROWS, rows)):
        x, g = at_T(X, row * step), at_T(G, row * step)
        for k in few(width):
            part[k] += g[k]
            other[k] += g[k] * (x[k] - mean[k])
    for k in few(width):
        sums[k] += float64(part[k])
        others[k] += float64(other[k])
"""
TEXTS = {
    "standardise_columns": f"""
X = pointer_word(args, 3) + here
means, variances = at_T(pointer_word(args, 2), here), at_T(pointer_word(args, 2), here + step)
w, b = at_T(pointer_word(args, 4), here), at_T(pointer_word(args, 5), here)
{SUM.replace("TERM", "x[k]")}
for k in few(width):
    mean[k] = T(sums[k] / float64(rows))
    means[k] = mean[k]
{SUM.replace("TERM", "(x[k] - mean[k]) * (x[k] - mean[k])")}
for k in few(width):
    variances[k] = T(sums[k] / float64(rows))
    scale[k] = w[k] / sqrt(variances[k] + T(eps))
for row in range(rows):
    x, out = at_T(X, row * step), at_T(pointer_word(args, 1), here + row * step)
    for k in few(width):
        out[k] = fma(x[k] - mean[k], scale[k], b[k])
""",
    "standardise_columns_back": f"""
X, G = pointer_word(args, 5) + here, pointer_word(args, 4) + here
means, variances = at_T(pointer_word(args, 7), here), at_T(pointer_word(args, 7), here + step)
dw, db, w = at_T(pointer_word(args, 2), here), at_T(pointer_word(args, 3), here), at_T(pointer_word(args, 6), here)
for k in few(width):
    mean[k] = means[k]
{SUMS}
for k in few(width):
    r = T(1.0) / sqrt(variances[k] + T(eps))
    dw[k] = T(others[k] * float64(r))
    db[k] = T(sums[k])
    scale[k] = w[k] * r
    part[k] = T(sums[k] / float64(rows))
    other[k] = T(others[k] * float64(r) / float64(rows)) * r
for row in range(rows):
    x, g, out = at_T(X, row * step), at_T(G, row * step), at_T(pointer_word(args, 1), here + row * step)
    for k in few(width):
        out[k] = (g[k] - part[k] - (x[k] - mean[k]) * other[k]) * scale[k]
""",
}


@cache
def columns_kernel(name: str, dtype: str) -> Callable:
    """``standardise_columns`` of x, weight and bias: the result and the moments. ``standardise_columns_back`` of the cotangent, x,
    weight and moments: the cotangents of x, weight and bias."""
    text = in_dtype(HEAD + indent(TEXTS[name], " " * 8), dtype)
    words = {"BYTES_OF_SUMS": 8 * COLUMNS, "BYTES": WIDTHS[dtype] * COLUMNS, "COLUMNS": COLUMNS, "ROWS": ROWS}
    for word, meaning in words.items():
        text = text.replace(word, str(meaning))
    return late_text(text, f"{name} {dtype}", {}, "kernel")[0]
