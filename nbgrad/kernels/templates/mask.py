"""Positions of elements that are not zero, and moves through masks, as source text for the CPU.

``positions``: an operand of ``lines`` of ``width`` elements. Record words: lines, width, dimensions, how many positions there are,
whether each dimension's coordinates are a result of their own (else one result has a row for each position), and the sizes of the
dimensions but the last. Positions are found without a branch, in blocks on the stack.

The others walk over as many elements as the first word says, beside a mask; the second word is the room in what has an element only
for each true one, so that memory is safe whatever the mask has become. The second result says whether that was too little.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import fill_template

__all__ = ["masked_loop", "positions_loop"]

POSITIONS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    lines, width, dims, total, apart = word(record, 0), word(record, 1), word(record, 2), word(record, 3), word(record, 4)
    step = 1 if apart != 0 else dims
    source = pointer_word(args, 2) if apart == 0 else pointer_word(args, 1 + dims)
    found = at_int64(stack(4096), 0)
    at = 0
    for line in range(lines):
        for low in range(0, width, 512):
            x = at_IN(source, (line * width + low) * SIZE)
            count = 0
            for i in range(min(512, width - low)):
                found[count] = low + i
                count += int64(x[i] != 0)
            count = min(count, total - at)
            rest = line
            for back in range(dims):
                d = dims - 1 - back
                out = at_int64(pointer_word(args, 1 + d), at * 8) if apart != 0 else (
                    at_int64(pointer_word(args, 1), (at * dims + d) * 8))
                if back == 0:
                    for k in range(count):
                        out[k * step] = found[k]
                else:
                    size = word(record, 5 + d)
                    coordinate = rest % size
                    rest //= size
                    for k in range(count):
                        out[k * step] = coordinate
            at += count
"""

# Elements of ``source``, one after another, where the mask is true; elsewhere those of ``x``, or zeros.
TAKEN = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    count, room = word(record, 0), word(record, 1)
    out, status, x = at_IN(pointer_word(args, 1), 0), at_int64(pointer_word(args, 2), 0), at_IN(pointer_word(args, 3), 0)
    mask, source = at_uint8(pointer_word(args, MASK), 0), at_IN(pointer_word(args, SOURCE), 0)
    at = 0
    for i in range(count):
        chosen = mask[i] != 0
        if chosen:
            out[i] = source[min(at, room - 1)]
        else:
            out[i] = OTHER
        at += int64(chosen)
    status[0] = int64(at > room)
"""
# And back: elements where the mask is true, one after another; zeros behind them.
PACKED = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    count, room = word(record, 0), word(record, 1)
    out, status = at_IN(pointer_word(args, 1), 0), at_int64(pointer_word(args, 2), 0)
    x, mask = at_IN(pointer_word(args, 3), 0), at_uint8(pointer_word(args, 4), 0)
    at = 0
    for i in range(count):
        if (mask[i] != 0) & (at < room):
            out[at] = x[i]
            at += 1
    for i in range(at, room):
        out[i] = 0
    status[0] = 0
"""
MASKED = {
    "scatter": (TAKEN, {"MASK": 4, "SOURCE": 5, "OTHER": "x[i]"}),
    "spread": (TAKEN, {"MASK": 4, "SOURCE": 3, "OTHER": "0"}),
    "pack": (PACKED, {}),
}


@cache
def positions_loop(memory: str) -> Callable:
    """``kernel(start, stop, args)``: where elements of a type are not zero; one unit of work."""
    return fill_template(POSITIONS, f"positions {memory}", {"at_IN": f"at_{memory}", "SIZE": WIDTHS[memory]})


@cache
def masked_loop(name: str, bits: str) -> Callable:
    """``kernel(start, stop, args)`` of one of ``MASKED``, for elements of so many bytes; one unit of work."""
    text, names = MASKED[name]
    return fill_template(text, f"masked {name} {bits}", {**names, "at_IN": f"at_{bits}"})
