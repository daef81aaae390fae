"""Any layout, any dtype: gather operands into blocks, run a contiguous kernel on them, scatter the results.

One dtype-independent routine serves every elementwise kernel, so that strides, broadcasting and mixed dtypes need no
kernels of their own. A plain function for ``kernels/cpu/build``; its free names are intrinsics.

NOTE [Iteration record]: int64 words. 0 kernel, 1 outputs, 2 inputs, 3 dimensions, 4 elements at a time, 5 whether blocks end with
rows (the innermost dimension); then four words an operand, outputs first:
  bytes an element in memory; bytes an element for the kernel; address of the conversion (0: none); how it is reached:
  0 DIRECT   its elements lie in the order of iteration: the kernel gets a pointer into it
  1 SINGLE   one element for all positions, for a kernel that expects that
  2 STRIDED  gathered or scattered
  3 ROW      its rows are contiguous: a pointer into the row (only where blocks end with rows, as the next)
  4 ROW_SINGLE  one element for a row, for a kernel that expects a single one
then the shape, then for every operand its strides in bytes.
"""

# ruff: noqa: F821  (names bound by instantiate)
from __future__ import annotations

from ..late import Code

__all__ = ["iterate", "iteration_words", "collapse", "DIRECT", "SINGLE", "STRIDED", "ROW", "ROW_SINGLE", "LONG_ROW", "locate"]

DIRECT, SINGLE, STRIDED, ROW, ROW_SINGLE = range(5)
BLOCK = 512  # elements that a buffer holds, or fewer where there are many operands
LONG_ROW = 256  # from here on a block a row beats gathering (benchmarks/test_kernels.py, broadcast operand)
BUFFERS = 196608  # bytes of all buffers: two of 16 bytes an element for every operand


def move(target, target_step, source, source_step, count, size):
    """Copy ``count`` elements of ``size`` bytes between addresses, with steps in bytes.

    It is inlined, and takes LLVM long: benchmarks/test_graph_costs.py. So it stands in one place, and what is copied as it lies
    is told to have ``few`` trips.
    """
    if size == 4:
        to4, from4 = at_int32(target, 0), at_int32(source, 0)
        if target_step == 4 and source_step == 4:
            for i in few(count):
                to4[i] = from4[i]
        elif target_step == 4 and source_step == 0:
            value4 = from4[0]
            for i in few(count):
                to4[i] = value4
        elif target_step == -4 and source_step == 4:  # of a flip: stores ascend
            last4 = at_int32(target, 4 * (1 - count))
            for i in range(count):
                last4[i] = from4[count - 1 - i]
        elif target_step == 4:
            for i in range(count):
                to4[i] = at_int32(source, i * source_step)[0]
        else:
            for i in range(count):
                at_int32(target, i * target_step)[0] = at_int32(source, i * source_step)[0]
    elif size == 8:
        to8, from8 = at_int64(target, 0), at_int64(source, 0)
        if target_step == 8 and source_step == 8:
            for i in few(count):
                to8[i] = from8[i]
        elif target_step == 8 and source_step == 0:
            value8 = from8[0]
            for i in few(count):
                to8[i] = value8
        elif target_step == -8 and source_step == 8:  # of a flip: stores ascend
            last8 = at_int64(target, 8 * (1 - count))
            for i in range(count):
                last8[i] = from8[count - 1 - i]
        elif target_step == 8:
            for i in range(count):
                to8[i] = at_int64(source, i * source_step)[0]
        else:
            for i in range(count):
                at_int64(target, i * target_step)[0] = at_int64(source, i * source_step)[0]
    elif size == 1:
        for i in range(count):
            at_uint8(target, i * target_step)[0] = at_uint8(source, i * source_step)[0]
    elif size == 2:
        to2 = at_int16(target, 0)
        if target_step == 2:
            for i in range(count):
                to2[i] = at_int16(source, i * source_step)[0]
        else:
            for i in range(count):
                at_int16(target, i * target_step)[0] = at_int16(source, i * source_step)[0]
    else:
        for i in few(count):
            at_int64(target, i * target_step)[0] = at_int64(source, i * source_step)[0]
            at_int64(target, i * target_step)[1] = at_int64(source, i * source_step)[1]


def walk(buffer, memory, scatter, position, count, size, dims, shape, strides, index):
    """Gather (or scatter) ``count`` elements from flat ``position`` on, in row-major order of ``shape``."""
    rest = position
    address = memory
    for back in range(dims):
        d = dims - 1 - back
        extent = word(shape, d)
        i = rest % extent
        rest //= extent
        set_word(index, d, i)
        address += i * word(strides, d)
    last = dims - 1
    extent, step = word(shape, last), word(strides, last)
    done = 0
    while done < count:
        i = word(index, last)
        run = min(extent - i, count - done)
        rows = 0
        if last > 0 and i == 0 and extent < 8:
            rows = min(word(shape, last - 1) - word(index, last - 1), (count - done) // extent)
        lines, there, here, length = 1, step, size, run
        if rows > 3:  # short rows, column by column
            lines, there, here, length = extent, word(strides, last - 1), extent * size, rows
        for j in one_by_one(lines):
            near, far = buffer + (done + j) * size, address + j * step
            if scatter != 0:
                near, far = far, near
            move(near, there if scatter != 0 else here, far, here if scatter != 0 else there, length, size)
        if rows > 3:
            set_word(index, last - 1, word(index, last - 1) + rows - 1)
            address += (rows - 1) * there
            run = rows * extent
        done += run
        if done < count:
            # The run ended at the end of a row: carry into the outer dimensions.
            address -= i * step
            set_word(index, last, 0)
            d = last - 1
            while d >= 0:
                i = word(index, d) + 1
                address += word(strides, d)
                if i < word(shape, d):
                    set_word(index, d, i)
                    break
                address -= i * word(strides, d)
                set_word(index, d, 0)
                d -= 1


def locate(memory, row, column, dims, shape, strides):
    """The address of an element by its row (counted over all outer dimensions) and its place in it."""
    address = memory + column * word(strides, dims - 1)
    rest = row
    for d in range(dims - 2, 0, -1):
        extent = word(shape, d)
        address += rest % extent * word(strides, d)
        rest //= extent
    if dims > 1:
        address += rest * word(strides, 0)
    return address


def convert(kernel, target, source, count, arguments):
    """Run a conversion kernel from one address to another."""
    set_word(arguments, 1, target)
    set_word(arguments, 2, source)
    run_kernel(kernel, 0, count, arguments)


def iterate(start, stop, args):
    """The kernel: see NOTE [Iteration record]; ``start`` and ``stop`` are flat positions."""
    buffers = stack(196608)  # per operand one for memory's type and one for the kernel's
    arguments = stack(1088)  # of 128 pointers, as many as a launch has at most
    pair = stack(32)
    index = stack(512)
    record = pointer_word(args, 0)
    kernel, outs = word(record, 0), word(record, 1)
    operands = outs + word(record, 2)
    dims = word(record, 3)
    limit, rows = word(record, 4), word(record, 5)
    room = 16 * limit
    shape = record + 8 * (6 + 4 * operands)
    extent = word(shape, dims - 1)
    position = start
    while position < stop:
        count = min(limit, stop - position)
        row, column = 0, 0
        if rows != 0:
            row = position // extent
            column = position - row * extent
            count = min(count, extent - column)
        for after in range(2):  # operands are gathered, results scattered
            if after != 0:
                run_kernel(kernel, 0, count, arguments)
            for k in range(outs if after != 0 else operands):
                entry = record + 8 * (6 + 4 * k)
                size, cast, how = word(entry, 0), word(entry, 2), word(entry, 3)
                memory = pointer_word(args, 1 + k)
                raw = buffers + 2 * room * k
                ready = raw + room
                strides = shape + 8 * dims * (1 + k)
                given = ready  # to the kernel
                if after != 0 and cast != 0:
                    if how == 0:
                        convert(cast, memory + position * size, ready, count, pair)
                    elif how == 2:
                        convert(cast, raw, ready, count, pair)
                if how == 2 and (after != 0 or k >= outs):
                    buffer = raw if after == 0 or cast != 0 else ready
                    walk(buffer, memory, after, position, count, size, dims, shape, strides, index)
                if after == 0:
                    source = raw if how == 2 else memory if how == 1 else memory + position * size
                    if how >= 3:
                        given = locate(memory, row, column, dims, shape, strides)
                    elif cast == 0 and (k >= outs or how == 0):
                        given = source
                    elif k >= outs:
                        convert(cast, ready, source, 1 if how == 1 else count, pair)
                    set_word(arguments, 1 + k, given)
        position += count


def iteration_words(
    kernel: int | Code,
    outs: int,
    operands: list[tuple[int, int, int | Code, int]],
    shape: tuple[int, ...],
    strides: list[tuple[int, ...]],
) -> list[int | Code]:
    """The kernel's parameters: ``operands`` as (size, width, conversion, how), outputs first; strides in bytes."""
    buffered = any(how == STRIDED or cast for _, _, cast, how in operands)
    by_rows = any(how in (ROW, ROW_SINGLE) for _, _, _, how in operands)
    block = min(BLOCK, BUFFERS // (32 * len(operands)) // 8 * 8)
    words: list[int | Code] = [kernel, outs, len(operands) - outs, len(shape), block if buffered else 1 << 40, int(by_rows)]
    for operand in operands:
        words.extend(operand)
    words.extend(shape)
    for s in strides:
        words.extend(s)
    return words


def collapse(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Drop dimensions of size 1 and merge neighbours that every operand walks as one (outer = inner * size).

    >>> collapse((2, 3, 4), [(12, 4, 1), (0, 4, 1)])
    ((2, 12), [(12, 1), (0, 1)])
    """
    sizes: list[int] = []
    steps: list[tuple[int, ...]] = []
    for size, inner in zip(shape, zip(*strides)):
        if size == 1:
            continue
        if sizes and steps[-1] == tuple([i * size for i in inner]):
            sizes[-1] *= size
            steps[-1] = inner
        else:
            sizes.append(size)
            steps.append(inner)
    if not sizes:
        return (1,), [(0,)] * len(strides)
    return tuple(sizes), list(zip(*steps))
