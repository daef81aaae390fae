"""Kernels that place their inputs in a larger result: concatenation, cotangents of slices, flips; and overlapping sums.

Plain functions for ``kernels/cpu/build``; their free names are intrinsics.
"""

# ruff: noqa: F821  (names bound by instantiate)
from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import run_text

__all__ = ["place", "constant", "changed", "fold"]


def place(start, stop, args):
    """Zero the result if asked to, then run one copy kernel an input, each into its own part of the result.

    Parameters, int64 words: 0 bytes to zero, 1 number of parts; then six words a part: address of its copy kernel,
    its elements, where it begins in the result (bytes), where its kernel's parameters are (bytes from word 0), which input it
    is read from, and where it begins there (bytes).
    """
    arguments = stack(64)
    record = pointer_word(args, 0)
    out = pointer_word(args, 1)
    size = word(record, 0)
    zeros, tail = at_int64(out, 0), at_uint8(out, 0)
    for i in range(size // 8):
        zeros[i] = 0
    for i in range(size // 8 * 8, size):
        tail[i] = 0
    for k in range(word(record, 1)):
        entry = record + 8 * (2 + 6 * k)
        set_word(arguments, 0, record + word(entry, 3))
        set_word(arguments, 1, out + word(entry, 2))
        set_word(arguments, 2, pointer_word(args, 2 + word(entry, 4)) + word(entry, 5))
        run_kernel(word(entry, 0), 0, word(entry, 1), arguments)


def constant(start, stop, args):
    """Elements out of the parameters, int64 words: 0 their bytes; behind it they are."""
    record = pointer_word(args, 0)
    out = pointer_word(args, 1)
    size = word(record, 0)
    words, source, tail, rest = at_int64(out, 0), at_int64(record, 8), at_uint8(out, 0), at_uint8(record, 8)
    for i in range(size // 8):
        words[i] = source[i]
    for i in range(size // 8 * 8, size):
        tail[i] = rest[i]


def changed(start, stop, args):
    """Copy the first input into the result, or zero the result; then run a writer on it: two launches in one.

    Parameters, int64 words: 0 bytes to zero, 1 copy kernel (0: none, and no input for it), 2 its elements, 3 where its parameters
    are, 4 the writer, 5 where its parameters are (bytes from word 0). The writer's operands: result, status, index, values.
    """
    arguments = stack(64)
    record = pointer_word(args, 0)
    out = pointer_word(args, 1)
    size, first = word(record, 0), 3
    zeros, tail = at_int64(out, 0), at_uint8(out, 0)
    for i in range(size // 8):
        zeros[i] = 0
    for i in range(size // 8 * 8, size):
        tail[i] = 0
    if word(record, 1) != 0:
        first = 4
        set_word(arguments, 0, record + word(record, 3))
        set_word(arguments, 1, out)
        set_word(arguments, 2, pointer_word(args, 3))
        run_kernel(word(record, 1), 0, word(record, 2), arguments)
    set_word(arguments, 0, record + word(record, 5))
    set_word(arguments, 1, out)
    set_word(arguments, 2, pointer_word(args, 2))
    set_word(arguments, 3, pointer_word(args, first))
    set_word(arguments, 4, pointer_word(args, first + 1))
    run_kernel(word(record, 4), 0, 1, arguments)


FOLD = """def fold(start, stop, args):
    cursor = stack(512)
    record = pointer_word(args, 0)
    total, count, dims, first = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    shape, out_strides, x_strides = record + 32, record + 32 + 8 * dims, record + 32 + 16 * dims
    out, x = p_T(args, 1), p_T(args, 2)
    for i in range(total):
        out[i] = 0
    for d in range(dims):
        set_word(cursor, d, 0)
    last = dims - 1
    extent, out_step, x_step = word(shape, last), word(out_strides, last), word(x_strides, last)
    o, s, done = first, 0, 0
    while done < count:
        for i in range(extent):
            out[o + i * out_step] += x[s + i * x_step]
        done += extent
        d = last - 1
        while d >= 0:
            i = word(cursor, d) + 1
            o += word(out_strides, d)
            s += word(x_strides, d)
            if i < word(shape, d):
                set_word(cursor, d, i)
                break
            o -= i * word(out_strides, d)
            s -= i * word(x_strides, d)
            set_word(cursor, d, 0)
            d -= 1
"""


@cache
def fold(dtype: str) -> Callable:
    """Sum a strided walk into a flat result: ``out[first + i . out_strides] += x[i . x_strides]``, in row-major order
    of i.

    Parameters, int64 words: 0 elements of the result, 1 of the walk, 2 dimensions (at least one), 3 first; then the
    shape, the result's strides and the operand's, in elements.
    """
    text = FOLD.replace("p_T(", f"p_{dtype}(")
    return run_text(text, f"fold {dtype}")["fold"]
