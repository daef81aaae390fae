"""Kernels that read or write through indices: one walk serves gather, index_select, ``x[...]``, scatter and their like.

NOTE [Walk record]: int64 words. 0 positions, 1 dimensions (at least one), 2 limit, 3 step, 4 whether negative indices
count from the end; then the shape that is walked in row-major order, and for the index, the source (and the target)
their strides in elements. At position p the index gives j, and the indexed operand is read or written ``j * step``
elements from where its strides lead. No index outside ``[0, limit)`` is ever followed, so that memory is safe whatever
else fails; that there was one is noted in the second result. Writes into a tensor that the user sees are run only
after ``outside`` found none.

NOTE [Write order]: writers walk in row-major order on one thread. Repeated indices therefore accumulate in a fixed
order, and of several values for one place the last one stays.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import run_text

__all__ = ["take", "scatter", "linear", "outside", "triangle", "BLOCK", "REDUCTIONS"]

# Positions that make one unit of work of `take`, `linear` and `outside`.
BLOCK = 8192
# Indices that are checked together before any of them is followed: the check is a vector loop, and they stay in the
# first cache.
SEGMENT = 1024

CARRY = """            d = last - 1
            while d >= 0:
                c = word(cursor, d) + 1
                @MOVE
                if c < word(shape, d):
                    set_word(cursor, d, c)
                    break
                @BACK
                set_word(cursor, d, 0)
                d -= 1
"""

TAKE = """def take(start, stop, args):
    cursor = stack(512)
    record = pointer_word(args, 0)
    positions, dims, limit = word(record, 0), word(record, 1), word(record, 2)
    step, wraps, shape = word(record, 3), word(record, 4), record + 40
    index_strides, x_strides = shape + 8 * dims, shape + 16 * dims
    out, status, x, index = p_T(args, 1), p_int64(args, 2), p_T(args, 3), p_int64(args, 4)
    last = dims - 1
    extent, index_step, x_step = word(shape, last), word(index_strides, last), word(x_strides, last)
    bias = limit if wraps != 0 else 0
    for unit in range(start, stop):
        position, high = unit * @BLOCK, min(unit * @BLOCK + @BLOCK, positions)
        rest, ii, xx = position, 0, 0
        for back in range(dims):
            d = last - back
            size = word(shape, d)
            c = rest % size
            rest //= size
            set_word(cursor, d, c)
            ii += c * word(index_strides, d)
            xx += c * word(x_strides, d)
        bad = 0
        looked_at, looked_far = -1, 0       # where an index has been found right: index_select walks the same one for every row
        while position < high:
            c = word(cursor, last)
            run = min(extent - c, high - position)
            if index_step == 0:
                j = index[ii]
                j = j + bias if j < 0 else j
                if (j < 0) | (j >= limit):
                    bad = 1
                    for k in range(run):
                        out[position + k] = 0
                elif x_step == 1:
                    at = xx + j * step
                    for k in range(run):
                        out[position + k] = x[at + k]
                else:
                    at = xx + j * step
                    for k in range(run):
                        out[position + k] = x[at + k * x_step]
            else:
                run = min(run, @SEGMENT)
                wrong = 0
                if (ii != looked_at) | (run > looked_far):
                    if index_step == 1:
                        for k in range(run):
                            j = index[ii + k]
                            wrong |= (j < -bias) | (j >= limit)
                    else:
                        for k in range(run):
                            j = index[ii + k * index_step]
                            wrong |= (j < -bias) | (j >= limit)
                    looked_at, looked_far = ii, 0 if wrong != 0 else run
                bad |= wrong
                if wrong != 0:
                    for k in range(run):
                        out[position + k] = 0
                elif (index_step == 1) & (x_step == 0) & (step == 1) & (bias == 0):
                    for k in range(run):
                        out[position + k] = x[xx + index[ii + k]]
                else:
                    for k in range(run):
                        j = index[ii + k * index_step]
                        out[position + k] = x[xx + k * x_step + (j + bias if j < 0 else j) * step]
            position += run
            if c + run < extent:
                set_word(cursor, last, c + run)
                ii += run * index_step
                xx += run * x_step
                continue
            ii -= c * index_step
            xx -= c * x_step
            set_word(cursor, last, 0)
@CARRY        status[unit] = bad
"""

REDUCTIONS = {
    "set": "{v}",
    "add": "{o} + {v}",
    "prod": "{o} * {v}",
    "or": "{o} | {v}",
    "and": "{o} & {v}",
    # A NaN is neither greater nor less: it is taken where it comes, and stays.
    "amax": "{v} if ({v} > {o}) | ({v} != {v}) else {o}",
    "amin": "{v} if ({v} < {o}) | ({v} != {v}) else {o}",
}

SCATTER = """def scatter(start, stop, args):
    cursor = stack(512)
    record = pointer_word(args, 0)
    positions, dims, limit = word(record, 0), word(record, 1), word(record, 2)
    step, wraps, shape = word(record, 3), word(record, 4), record + 40
    index_strides, x_strides, out_strides = shape + 8 * dims, shape + 16 * dims, shape + 24 * dims
    out, status, index, x = p_T(args, 1), p_int64(args, 2), p_int64(args, 3), p_T(args, 4)
    last = dims - 1
    extent, index_step = word(shape, last), word(index_strides, last)
    x_step, out_step = word(x_strides, last), word(out_strides, last)
    bias = limit if wraps != 0 else 0
    for d in range(dims):
        set_word(cursor, d, 0)
    position, ii, xx, oo, bad = 0, 0, 0, 0, 0
    while position < positions:
        if index_step == 0:
            j = index[ii]
            j = j + bias if j < 0 else j
            at = oo + j * step
            if (j < 0) | (j >= limit):
                bad = 1
            elif (x_step == 1) & (out_step == 1):
                for k in range(extent):
                    out[at + k] = @CONTIGUOUS
            else:
                for k in range(extent):
                    out[at + k * out_step] = @STRIDED
        else:
            for low in range(0, extent, @SEGMENT):
                high = min(low + @SEGMENT, extent)
                wrong = 0
                if index_step == 1:
                    for k in range(low, high):
                        j = index[ii + k]
                        wrong |= (j < -bias) | (j >= limit)
                else:
                    for k in range(low, high):
                        j = index[ii + k * index_step]
                        wrong |= (j < -bias) | (j >= limit)
                if wrong != 0:
                    bad = 1
                elif (index_step == 1) & (x_step == 1) & (out_step == 0) & (step == 1) & (bias == 0):
                    fours = low + (high - low) // 4 * 4
                    for k in range(low, fours, 4):
                        at0, at1 = oo + index[ii + k], oo + index[ii + k + 1]
                        at2, at3 = oo + index[ii + k + 2], oo + index[ii + k + 3]
@FOUR                    for k in range(fours, high):
                        at = oo + index[ii + k]
                        out[at] = @ROW
                else:
                    for k in range(low, high):
                        j = index[ii + k * index_step]
                        at = oo + k * out_step + (j + bias if j < 0 else j) * step
                        out[at] = @SINGLE
        position += extent
@CARRY    status[0] = bad
"""

LINEAR = """def linear(start, stop, args):
    record = pointer_word(args, 0)
    positions = word(record, 0)
    out, status = p_int64(args, 1), p_int64(args, 2)
@LOAD    for unit in range(start, stop):
        bad = 0
        for i in range(unit * @BLOCK, min(unit * @BLOCK + @BLOCK, positions)):
            at = 0
            wrong = False
@EACH            bad |= wrong
            out[i] = 0 if wrong else at
        status[unit] = bad
"""

LINEAR_EACH = """            j = x{k}[i]
            wrong |= (j < -limit{k}) | (j >= limit{k})
            at += (j + limit{k} if j < 0 else j) * step{k}
"""

TRIANGLE = """def triangle(start, stop, args):
    record = pointer_word(args, 0)
    rows, columns, diagonal, upper = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    out, x = p_T(args, 1), p_T(args, 2)
    for unit in range(start, stop):
        base = unit * columns
        cut = unit % rows + diagonal + (0 if upper != 0 else 1)
        cut = min(max(cut, 0), columns)
        if upper != 0:
            for k in range(cut):
                out[base + k] = 0
            for k in range(cut, columns):
                out[base + k] = x[base + k]
        else:
            for k in range(cut):
                out[base + k] = x[base + k]
            for k in range(cut, columns):
                out[base + k] = 0
"""


def outside(start, stop, args):
    """Note for every block of an index whether it leaves ``[low, high)``; parameters: positions, low, high."""
    record = pointer_word(args, 0)  # noqa: F821
    positions, low, high = word(record, 0), word(record, 1), word(record, 2)  # noqa: F821
    status, index = p_int64(args, 1), p_int64(args, 2)  # noqa: F821
    for unit in range(start, stop):
        bad = 0
        for i in range(unit * BLOCK, min(unit * BLOCK + BLOCK, positions)):
            j = index[i]
            bad |= (j < low) | (j >= high)
        status[unit] = bad


def made(text: str, name: str, label: str) -> Callable:
    """A plain function from template text."""
    text = text.replace("@BLOCK", str(BLOCK)).replace("@SEGMENT", str(SEGMENT))
    return run_text(text, label)[name]


def carry(*names: str) -> str:
    """The step to the next row: cursors and the given offsets of the operands, by their strides."""
    pad = "\n" + 16 * " "
    offsets = {"index": "ii", "x": "xx", "out": "oo"}
    move = pad.join(f"{offsets[n]} += word({n}_strides, d)" for n in names)
    back = pad.join(f"{offsets[n]} -= c * word({n}_strides, d)" for n in names)
    return CARRY.replace("@MOVE", move).replace("@BACK", back)


@cache
def take(dtype: str) -> Callable:
    """``out[p] = x[... + index[p] * step]``; the second result notes per block whether an index was out of range."""
    text = TAKE.replace("@CARRY", carry("index", "x")).replace("p_T(", f"p_{dtype}(")
    return made(text, "take", f"take {dtype}")


@cache
def scatter(dtype: str, reduction: str) -> Callable:
    """``out[... + index[p] * step] = x[p]``, or combined with what is there: see REDUCTIONS and NOTE [Write order]."""

    def value(out, x):
        return REDUCTIONS[reduction].format(o=out, v=x)

    # Four places are known before the first of them is written to.
    four = "".join(f"{' ' * 24}out[at{i}] = {value(f'out[at{i}]', f'x[xx + k + {i}]')}\n" for i in range(4))
    steps = carry("index", "x", "out").replace("\n    ", "\n")[4:]
    text = (
        SCATTER.replace("@CONTIGUOUS", value("out[at + k]", "x[xx + k]"))
        .replace("@STRIDED", value("out[at + k * out_step]", "x[xx + k * x_step]"))
        .replace("@SINGLE", value("out[at]", "x[xx + k * x_step]"))
        .replace("@ROW", value("out[at]", "x[xx + k]"))
        .replace("@FOUR", four)
        .replace("@CARRY", steps)
        .replace("p_T(", f"p_{dtype}(")
    )
    return made(text, "scatter", f"scatter {reduction} {dtype}")


@cache
def linear(count: int) -> Callable:
    """Several indices as one offset: ``out = sum(index_k * step_k)``; parameters: positions, then limit and step of
    each."""
    load = "".join(
        f"    x{k} = p_int64(args, {3 + k})\n    limit{k}, step{k} = word(record, {1 + 2 * k}), word(record, {2 + 2 * k})\n"
        for k in range(count)
    )
    text = LINEAR.replace("@LOAD", load).replace("@EACH", "".join(LINEAR_EACH.format(k=k) for k in range(count)))
    return made(text, "linear", f"linear {count}")


@cache
def triangle(dtype: str) -> Callable:
    """Copy the lower or upper triangle of row-major matrices, zero the rest; a unit is a row.

    Parameters: rows, columns, diagonal, whether the upper one.
    """
    return made(TRIANGLE.replace("p_T(", f"p_{dtype}("), "triangle", f"triangle {dtype}")
