"""Linear algebra by NumPy's LAPACK, matrix by matrix: kernels that bring operands into its order and call it by address.

A matrix by rows is its transpose to LAPACK, which stores by columns. Where the mathematics allows, that is what it works on (the
inverse, triangular systems); elsewhere it gets a turned copy. Real matrices only.

NOTE [Record of LAPACK]: int64 words, which LAPACK reads by address; of narrow integers their low halves.
   0 rows m   1 columns n   2 columns k of the second operand   3 the least of m and n   4, 5 sizes of work   6, 7 letters
   8 the number 1, for what Fortran adds to letters   9, 10 elements between rows and columns of the first operand
  11, 12 of the second   13 whether LAPACK's integers have 64 bits   14, 15 flags of the routine   16..19 functions
  20 for each of three results and the report: which argument, bytes from its beginning, bytes between matrices
  32 which argument is memory to work in   33 which is the first operand   34 the batch, as in NOTE [Product record]
A unit of work is one matrix. Its report is an int32: 0 where LAPACK had nothing to say.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..scalars.logarithm import log
from ..texts import in_dtype, run_text
from .gemm import move_to
from .lapack_bodies import BODIES
from .lapack_helpers import BRING, HELPERS

__all__ = ["lapack_kernel"]

KERNEL = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    m, n, k, least, wide = word(record, 0), word(record, 1), word(record, 2), word(record, 3), word(record, 13)
    M, N, K, LEAST, LWORK, LIWORK = record, record + 8, record + 16, record + 24, record + 32, record + 40
    A, B = record + 48, record + 56
    down, across, down_y, across_y = word(record, 9), word(record, 10), word(record, 11), word(record, 12)
    area = (m * n * SIZE + 63) // 64 * 64
    f0, f1 = word(record, 16), word(record, 17)
    flag, other_flag = word(record, 14), word(record, 15)
    work = pointer_word(args, word(record, 32))
    info = stack(16)
    for unit in range(start, stop):
        set_word(info, 0, 0)
        x = operand(record, args, 0, unit)
        out = result(record, args, 0, unit)
BODY
        report(record, args, unit, said(info))
"""
PARTS = '''
def apart(source, down, across, m, n, least, low, up):
    """L and U of both in one matrix."""
    x = at_T(source, 0)
    for i in range(m):
        for j in range(least):
            low[i * least + j] = 0.0
        for j in range(min(i, least)):
            low[i * least + j] = x[i * down + j * across]
        if i < least:
            low[i * least + i] = 1.0
            for j in range(i):
                up[i * n + j] = 0.0
            for j in range(i, n):
                up[i * n + j] = x[i * down + j * across]


def permutation(pivots, steps, m, order, to):
    """The matrix that takes exchanges of rows back; 1 where a row does not exist, else 0."""
    exchanged = at_int32(pivots, 0)
    for i in range(m):
        set_word(order, i, i)
    for i in range(m * m):
        to[i] = 0.0
    for i in range(steps):
        other = int64(exchanged[i]) - 1
        if (other < 0) | (other >= m):
            return 1
        held = word(order, i)
        set_word(order, i, word(order, other))
        set_word(order, other, held)
    for i in range(m):
        to[word(order, i) * m + i] = 1.0
    return 0
'''


@cache
def lapack_kernel(routine: str, dtype: str) -> tuple[Callable, tuple]:
    """The kernel of a routine for a real dtype, and what its Program binds."""
    text = BRING + HELPERS + PARTS + KERNEL.replace("BODY", BODIES[routine].strip("\n"))
    text = in_dtype(text, dtype).replace("FLOAT", dtype)
    scope = run_text(text, f"{routine} {dtype}")
    names = (
        "result",
        "operand",
        "bring",
        "has_strange",
        "greatest_sum",
        "pivot_at",
        "report",
        "said",
        "subtract_multiple",
        "substitute",
        "solve_eliminated",
        "apart",
        "permutation",
    )
    return scope["kernel"], (*((name, scope[name]) for name in names), ("move_to", move_to), ("log", log))
