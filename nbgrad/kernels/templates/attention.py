"""Attention and its cotangents, a block of rows of scores at a time: loops as source text; CPU. NOTE [Attention] of
ops/attention.py says what they are.

A unit of work is a block of rows of one matrix of scores, or, of the cotangents, all blocks of one matrix, one after the other:
so the order of all sums follows from the shape alone, and no two threads write to one place. Blocks of scores lie in memory that
the kernel asks the C library for, once for all units that it is given. Where there is none left, their results are NaN: kernels
cannot raise, and nobody takes NaN for a result.

Record words: 0 address of cblas_?gemm, 1 of posix_memalign, 2 of free, 3 queries, 4 keys, 5 and 6 elements of a key and of a
value, 7 rows of a block, 8 blocks of a matrix, 9 whether causal, 10 (float64) what scores are multiplied by, 11 to 17 elements
between rows of query, key, value, first result, g, second and third result, 18 bytes between rows of the mask; 19 batch
dimensions, then their sizes, then for each of them the steps of all pointers in bytes.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import run_text
from .keys import KEY_TYPES

__all__ = ["attention_loop"]

PARTS = '''
def place(args, which, batch):
    """Where the matrix of a pointer is, for an index of the batch."""
    walk = pointer_word(args, 0) + 152
    dims = word(walk, 0)
    moved = 0
    for back in one_by_one(dims):
        d = dims - 1 - back
        extent = word(walk, 1 + d)
        moved += batch % extent * word(walk, 1 + dims + COUNT * d + which - 1)
        batch //= extent
    return pointer_word(args, which) + moved


def multiply(record, turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    """C = alpha * A @ B + beta * C."""
    call_c(word(record, 0), (101, turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))


def soften(record, tile, rows, columns, first, mask):
    """Scores of a block of rows, made softmax where they lie; ``first``: the number of its first row."""
    keys_of_all, causal = word(record, 4), word(record, 9)
    for i in one_by_one(rows):
        x = at_T(tile, i * keys_of_all * SIZE)
        bits = at_KEY(tile, i * keys_of_all * SIZE)
        n = columns
        if causal != 0:
            n = min(columns, first + i + 1)
        MASKING
        top = least_key()
        for j in range(n):
            key = key_max(bits[j])
            top = where(key > top, key, top)
        m = float_of_max(top)
        if m == -INF:
            n = 0
        total = float64(0.0)
        for low in range(0, n, 512):
            s = FLOAT(0.0)
            for j in abreast(low, min(low + 512, n)):
                e = exp(x[j] - m)
                x[j] = e
                s += e
            total += float64(s)
        share = FLOAT(float64(1.0) / total)
        for j in range(n):
            x[j] = x[j] * share
        for j in range(n, columns):
            x[j] = FLOAT(0.0)


def fill(address, rows, columns, lead, value):
    """One number in a matrix."""
    for i in one_by_one(rows):
        x = at_T(address, i * lead * SIZE)
        for j in range(columns):
            x[j] = value
'''
MASKS = {
    "": "",
    "bool": """allowed = at_uint8(mask, (first + i) * word(record, 18))
        for j in range(n):
            x[j] = where(allowed[j] != 0, x[j], -INF)""",
    "number": """addend = at_T(mask, (first + i) * word(record, 18))
        for j in range(n):
            x[j] = x[j] + addend[j]""",
}
BEGIN = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, others, size, width = word(record, 3), word(record, 4), word(record, 5), word(record, 6)
    block, blocks, causal = word(record, 7), word(record, 8), word(record, 9)
    scale, one, zero = FLOAT(at_float64(record, 80)[0]), FLOAT(1.0), FLOAT(0.0)
    slot = stack(16)
    set_word(slot, 0, 0)
    call_c(word(record, 1), (slot, 64, TILES * block * others * SIZE))
    tile = word(slot, 0)
"""
SCORES = """multiply(record, 111, 112, rows, columns, size, scale, q, word(record, 11), k, word(record, 12), zero, tile, others)
SPACEsoften(record, tile, rows, columns, first, mask)"""
LOOPS = {
    "attention": BEGIN
    + """
    for unit in range(start, stop):
        batch = unit // blocks
        first = (unit - batch * blocks) * block
        rows = min(block, length - first)
        columns = others
        if causal != 0:
            columns = min(others, first + rows)
        q = place(args, 2, batch) + first * word(record, 11) * SIZE
        k, v = place(args, 3, batch), place(args, 4, batch)
        mask = MASK
        out = place(args, 1, batch) + first * word(record, 14) * SIZE
        if tile == 0:
            fill(out, rows, width, word(record, 14), NAN)
            continue
        SCORES
        multiply(record, 111, 111, rows, width, columns, one, tile, others, v, word(record, 13), zero, out, word(record, 14))
    call_c(word(record, 2), (tile,))
""".replace("SCORES", SCORES.replace("SPACE", " " * 8)),
    "attention_cotangents": BEGIN
    + """
    other = tile + block * others * SIZE
    for batch in range(start, stop):
        dk, dv = place(args, 2, batch), place(args, 3, batch)
        k, v = place(args, 6, batch), place(args, 7, batch)
        mask = MASK
        begin = zero if tile != 0 else NAN
        fill(dk, others, size, word(record, 16), begin)
        fill(dv, others, width, word(record, 17), begin)
        for first in range(0, length, block):
            rows = min(block, length - first)
            columns = others
            if causal != 0:
                columns = min(others, first + rows)
            q = place(args, 5, batch) + first * word(record, 11) * SIZE
            g = place(args, 4, batch) + first * word(record, 15) * SIZE
            dq = place(args, 1, batch) + first * word(record, 14) * SIZE
            if tile == 0:
                fill(dq, rows, size, word(record, 14), NAN)
                continue
            SCORES
            multiply(record, 112, 111, columns, width, rows, one, tile, others, g, word(record, 15), one, dv, word(record, 17))
            multiply(record, 111, 112, rows, columns, width, one, g, word(record, 15), v, word(record, 13), zero, other, others)
            for i in one_by_one(rows):
                p, s = at_T(tile, i * others * SIZE), at_T(other, i * others * SIZE)
                total = float64(0.0)
                for low in range(0, columns, 512):
                    part = FLOAT(0.0)
                    for j in range(low, min(low + 512, columns)):
                        part += p[j] * s[j]
                    total += float64(part)
                mean = FLOAT(total)
                for j in range(columns):
                    s[j] = p[j] * (s[j] - mean)
            multiply(record, 111, 111, rows, size, columns, scale, other, others, k, word(record, 12), zero, dq, word(record, 14))
            multiply(record, 112, 111, columns, size, rows, scale, other, others, q, word(record, 11), one, dk, word(record, 16))
    call_c(word(record, 2), (tile,))
""".replace("SCORES", SCORES.replace("SPACE", " " * 12)),
}


@cache
def attention_loop(name: str, dtype: str, mask: str) -> tuple[Callable, tuple]:
    """The kernel for a dtype and a kind of mask (``"bool"``, ``"number"``, "" for none), and what its Program binds."""
    pointers = 4 if name == "attention" else 7
    text = (PARTS + LOOPS[name]).replace("MASKING", MASKS[mask] or "pass")
    words = {
        "MASK": f"place(args, {pointers + 1}, batch)" if mask else "0",
        "COUNT": str(pointers + bool(mask)),
        "TILES": str(1 if name == "attention" else 2),
        "at_T(": f"at_{dtype}(",
        "at_KEY(": f"at_{KEY_TYPES[dtype]}(",
        "FLOAT": dtype,
        "SIZE": str(WIDTHS[dtype]),
    }
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    scope = run_text(text, f"{name} {dtype} {mask}")
    scope["soften"].part_of_loop = True
    return scope["kernel"], tuple([(part, scope[part]) for part in ("place", "multiply", "soften", "fill")])
