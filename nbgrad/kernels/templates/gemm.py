"""Matrix products: one kernel for a batch of them, which calls BLAS or, where there is none, as for integers, multiplies.

NOTE [Product record]: int64 words.
   0 address of cblas_?gemm (0: none)      1, 2 how A and B are stored (``AS_IS``, ``TRANSPOSED``)
   3 m   4 n   5 k   6 lda   7 ldb   8 ldc    9 bias: 0, or 1 with a fourth argument that is added (see 10)
  10 step of the bias along a row, in bytes (0: one element for all)
  11 blocks that one product is cut into  12 rows or columns a block   13 whether columns are cut
  14 step of the bias from row to row   15 from matrix to matrix, in bytes
  16 batch dimensions; then their sizes, then for each dimension the steps of A, B and C in bytes.
A unit of work is one block; blocks depend on the shape alone, so that every number of threads gives the same bits.
"""

# ruff: noqa: F821  (names bound by instantiate)
from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import in_dtype, late_text

__all__ = ["AS_IS", "TRANSPOSED", "gemm", "blas_call", "move_to", "row_products", "column_sums", "typed_parts"]

AS_IS, TRANSPOSED = 111, 112  # CblasNoTrans, CblasTrans
ROW_MAJOR = 101


def gemm(start, stop, args):
    """The kernel: see NOTE [Product record]."""
    record = pointer_word(args, 0)
    m, n, k = word(record, 3), word(record, 4), word(record, 5)
    blocks, block, cut_columns = word(record, 11), word(record, 12), word(record, 13)
    size = itemsize()
    bias = 0
    if word(record, 9) != 0:
        bias = pointer_word(args, 4)
    for unit in range(start, stop):
        batch = quotient(unit, blocks)
        first = (unit - batch * blocks) * block
        to_a, to_b, to_c = move_all(record + 128, batch)
        a, b, c = pointer_word(args, 2) + to_a, pointer_word(args, 3) + to_b, pointer_word(args, 1) + to_c
        rows, columns, bias_at = m, n, bias + batch * word(record, 15)
        if cut_columns != 0:
            columns = min(block, n - first)
            b += first * size * (word(record, 7) if word(record, 2) == 112 else 1)
            c += first * size
            bias_at += first * word(record, 10)
        else:
            rows = min(block, m - first)
            a += first * size * (1 if word(record, 1) == 112 else word(record, 6))
            bias_at += first * word(record, 14)
            c += first * size * word(record, 8)
        begin(c, rows, columns, word(record, 8), bias_at, word(record, 10), word(record, 14), word(record, 9))
        add_product(record, a, b, c, rows, columns, k)


def move_to(walk, batch, which):
    """Bytes from an operand's first matrix to that of index ``batch``; ``walk``: address of the batch dimensions."""
    dims = word(walk, 0)
    moved = 0
    for back in one_by_one(dims):
        d = dims - 1 - back
        extent = word(walk, 1 + d)
        moved += batch % extent * word(walk, 1 + dims + 3 * d + which)
        batch //= extent
    return moved


def move_all(walk, batch):
    """The same of the three operands, in one loop."""
    dims = word(walk, 0)
    first, second, third = 0, 0, 0
    for back in one_by_one(dims):
        d = dims - 1 - back
        extent = word(walk, 1 + d)
        steps = walk + 8 * (1 + dims + 3 * d)
        outer = quotient(batch, extent)
        i = batch - outer * extent
        first += i * word(steps, 0)
        second += i * word(steps, 1)
        third += i * word(steps, 2)
        batch = outer
    return first, second, third


def blas_call(record, a, b, c, m, n, k):
    """C = A @ B + beta * C of real numbers, by BLAS."""
    beta = 1.0 if word(record, 9) != 0 else 0.0
    call_c(
        word(record, 0),
        (
            ROW_MAJOR,
            word(record, 1),
            word(record, 2),
            m,
            n,
            k,
            1.0,
            a,
            word(record, 6),
            b,
            word(record, 7),
            beta,
            c,
            word(record, 8),
        ),
    )


TEXT = '''
def begin(c, rows, columns, ldc, bias, step, down, present):
    """What C holds before the products are added: the bias, or nothing."""
    if present != 0:
        to = at_T(c, 0)
        for i in range(rows):
            source = at_T(bias, i * down)
            if step == 0:
                value = source[0]
                for j in few(columns):
                    to[i * ldc + j] = value
            elif step == SIZE:
                for j in few(columns):
                    to[i * ldc + j] = source[j]
            else:
                for j in one_by_one(columns):
                    to[i * ldc + j] = at_T(bias, i * down + j * step)[0]


def multiply(record, a, b, c, m, n, k):
    """C = A @ B (+ C where it holds a bias), row by row; integers wrap around."""
    lda, ldb, ldc = word(record, 6), word(record, 7), word(record, 8)
    row, step = lda, 1
    if word(record, 1) == 112:
        row, step = 1, lda
    down, across = ldb, 1
    if word(record, 2) == 112:
        down, across = 1, ldb
    x, y, to = at_T(a, 0), at_T(b, 0), at_T(c, 0)
    if word(record, 9) == 0:
        for i in range(m):
            for j in few(n):
                to[i * ldc + j] = ZERO
    for i in range(m):
        for l in range(k):
            value = x[i * row + l * step]
            if across == 1:
                for j in few(n):
                    to[i * ldc + j] += value * y[l * down + j]
            else:
                for j in one_by_one(n):
                    to[i * ldc + j] += value * y[l * down + j * across]


def complex_call(record, a, b, c, m, n, k):
    """C = A @ B + beta * C of complex numbers, by BLAS, which takes alpha and beta by address."""
    factors = stack(32)
    one, other = at_T(factors, 0), at_T(factors, 16)
    one[0] = ONE
    other[0] = ONE if word(record, 9) != 0 else ZERO
    call_c(word(record, 0), (101, word(record, 1), word(record, 2), m, n, k, factors, a, word(record, 6),
                             b, word(record, 7), factors + 16, c, word(record, 8)))


def itemsize():
    """Bytes an element."""
    return SIZE
'''


@cache
def typed_parts(dtype: str, blas: bool) -> tuple[tuple[str, Callable], ...]:
    """The functions that ``gemm`` calls, for one dtype, as bindings of a Program.

    Args:
        blas: whether there is a BLAS for it. The kernel is then a call and little more, however small the matrices are: our own
            loops add products in another order, and take LLVM as long as all else of a small program
            (benchmarks/test_graph_costs.py).
    """
    zero = {"f": "0.0", "c": "0j"}.get(dtype[0], "0")
    one = {"f": "1.0", "c": "(1 + 0j)"}.get(dtype[0], "1")
    text = in_dtype(TEXT, dtype).replace("ZERO", zero).replace("ONE", one)
    if dtype[0] not in "fc":  # no BLAS takes the large ones
        text = text.replace("few(", "range(").replace("one_by_one(", "range(")
    names = "begin", "itemsize", "multiply", "complex_call"
    begin, itemsize, multiply, complex_call = late_text(text, f"gemm {dtype}", {}, *names)
    call = complex_call if dtype.startswith("complex") else blas_call
    return ("begin", begin), ("itemsize", itemsize), ("move_all", move_all), ("add_product", call if blas else multiply)


VECTOR_TEXT = '''
def row_products(start, stop, args):
    """Every row times the vector. Sums of 4096 products in the kernel's dtype, those in float64."""
    record = pointer_word(args, 0)
    rows, length, lead = word(record, 0), word(record, 1), word(record, 2)
    block, blocks = word(record, 3), word(record, 4)
    which, other = word(record, 5), word(record, 6)
    for unit in range(start, stop):
        batch = quotient(unit, blocks)
        first = (unit - batch * blocks) * block
        to_x, to_y, to_out = move_all(record + 56, batch)
        v = at_T(pointer_word(args, other) + (to_x if other == 2 else to_y), 0)
        matrix = pointer_word(args, which) + (to_x if which == 2 else to_y)
        out = at_T(pointer_word(args, 1) + to_out, 0)
        for i in range(first, min(first + block, rows)):
            row = at_T(matrix, i * lead * SIZE)
            total = float64(ZERO)
            for low in range(0, length, 4096):
                part = ZERO
                for l in range(low, min(low + 4096, length)):
                    part += row[l] * v[l]
                total += part
            out[i] = total


def column_sums(start, stop, args):
    """The columns, which lie side by side, weighted by the vector: eight columns a pass over the result."""
    record = pointer_word(args, 0)
    rows, length, lead = word(record, 0), word(record, 1), word(record, 2)
    block, blocks = word(record, 3), word(record, 4)
    which, other = word(record, 5), word(record, 6)
    for unit in range(start, stop):
        batch = quotient(unit, blocks)
        first = (unit - batch * blocks) * block
        to_x, to_y, to_out = move_all(record + 56, batch)
        v = at_T(pointer_word(args, other) + (to_x if other == 2 else to_y), 0)
        matrix = pointer_word(args, which) + (to_x if which == 2 else to_y) + first * SIZE
        out = at_T(pointer_word(args, 1) + to_out, first * SIZE)
        count = min(block, rows - first)
        for i in few(count):
            out[i] = ZERO
        l = 0
        while l + 8 <= length:
            c0, c1 = at_T(matrix, l * lead * SIZE), at_T(matrix, (l + 1) * lead * SIZE)
            c2, c3 = at_T(matrix, (l + 2) * lead * SIZE), at_T(matrix, (l + 3) * lead * SIZE)
            c4, c5 = at_T(matrix, (l + 4) * lead * SIZE), at_T(matrix, (l + 5) * lead * SIZE)
            c6, c7 = at_T(matrix, (l + 6) * lead * SIZE), at_T(matrix, (l + 7) * lead * SIZE)
            v0, v1, v2, v3, v4, v5, v6, v7 = v[l], v[l + 1], v[l + 2], v[l + 3], v[l + 4], v[l + 5], v[l + 6], v[l + 7]
            for i in few(count):
                out[i] += ((v0 * c0[i] + v1 * c1[i]) + (v2 * c2[i] + v3 * c3[i])) \\
                    + ((v4 * c4[i] + v5 * c5[i]) + (v6 * c6[i] + v7 * c7[i]))
            l += 8
        while l < length:
            column = at_T(matrix, l * lead * SIZE)
            value = v[l]
            for i in few(count):
                out[i] += value * column[i]
            l += 1
'''


@cache
def vector_loops(dtype: str) -> dict[str, Callable]:
    """The kernels of a matrix times a vector for one dtype.

    Their record: 0 rows (results) 1 length 2 elements between rows, or columns 3 results a unit 4 units a matrix
    5 argument of the matrix 6 of the vector 7 the batch, as in NOTE [Product record].
    """
    text = in_dtype(VECTOR_TEXT, dtype).replace("ZERO", "0.0")
    names = "row_products", "column_sums"
    return dict(zip(names, late_text(text, f"matrix times vector {dtype}", {}, *names)))


def row_products(dtype: str) -> Callable:
    """The kernel for a matrix whose rows lie side by side."""
    return vector_loops(dtype)["row_products"]


def column_sums(dtype: str) -> Callable:
    """The kernel for a matrix whose columns lie side by side."""
    return vector_loops(dtype)["column_sums"]
