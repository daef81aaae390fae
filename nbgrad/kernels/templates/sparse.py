"""Products of a sparse matrix by rows, as text for a dtype; CPU.

Rows of the dense matrix are runs in memory; four values of a sparse row are taken at a time, so that a row of the result is loaded
and stored once for all of them. Of the transpose, threads share the columns of the dense matrix (``STRIP`` of them are a unit of
work): what a value adds to lies anywhere, and nobody else may write there.

Record words: 0 columns of the dense matrix, 1 rows of the sparse one, 2 its columns.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import in_dtype, run_text

__all__ = ["STRIP", "sparse_kernel"]

STRIP = 64  # columns of a unit of work: a few lines of memory of each row

HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    width, rows, columns = word(record, 0), word(record, 1), word(record, 2)
    begins, others = p_int64(args, 4), p_int64(args, 5)
    first, second = pointer_word(args, 2), pointer_word(args, 3)
"""
BODIES = {
    "sparse_rows": """
    values = at_T(first, 0)
    for i in range(start, stop):
        out = at_T(pointer_word(args, 1), i * width * SIZE)
        for j in range(width):
            out[j] = 0.0
        k, last = begins[i], begins[i + 1]
        while k + 4 <= last:
            y0, y1 = at_T(second, others[k] * width * SIZE), at_T(second, others[k + 1] * width * SIZE)
            y2, y3 = at_T(second, others[k + 2] * width * SIZE), at_T(second, others[k + 3] * width * SIZE)
            v0, v1, v2, v3 = values[k], values[k + 1], values[k + 2], values[k + 3]
            for j in range(width):
                out[j] += (v0 * y0[j] + v1 * y1[j]) + (v2 * y2[j] + v3 * y3[j])
            k += 4
        while k < last:
            y, v = at_T(second, others[k] * width * SIZE), values[k]
            for j in range(width):
                out[j] += v * y[j]
            k += 1
""",
    "sparse_columns": """
    values = at_T(first, 0)
    low, high = start * STRIP, min(stop * STRIP, width)
    for i in range(columns):
        out = at_T(pointer_word(args, 1), i * width * SIZE)
        for j in range(low, high):
            out[j] = 0.0
    for i in range(rows):
        x = at_T(second, i * width * SIZE)
        for k in range(begins[i], begins[i + 1]):
            out, v = at_T(pointer_word(args, 1), others[k] * width * SIZE), values[k]
            for j in range(low, high):
                out[j] += v * x[j]
""",
    "sparse_dots": """
    out = p_T(args, 1)
    for i in range(start, stop):
        x = at_T(first, i * width * SIZE)
        for k in range(begins[i], begins[i + 1]):
            y, total = at_T(second, others[k] * width * SIZE), FLOAT(0.0)
            for j in range(width):
                total += x[j] * y[j]
            out[k] = total
""",
}


@cache
def sparse_kernel(name: str, dtype: str) -> Callable:
    """The kernel of one of the operations for a real dtype."""
    text = in_dtype(HEAD + BODIES[name], dtype).replace("FLOAT", dtype).replace("STRIP", str(STRIP))
    kernel: Callable = run_text(text, f"{name} {dtype}")["kernel"]
    return kernel
