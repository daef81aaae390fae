"""Pools, and their cotangents, as text for a dtype; CPU. NOTE [Windows] of ops/pooling.py; windows have a kernel and a stride.

A unit of work is the last dimensions of one sample and channel, which are taken for three. Of a line of windows all lines of the
operand that they meet are folded first, element by element, then what lies side by side in there, window by window: both go along
memory. A cotangent takes the opposite way; that of a maximum is given to the first element that equals it.

Record words: 0-2 sizes, 3-5 windows, 6-8 kernel, 9-11 strides, 12-14 padding, 15-17 dilation, 18 divisor of all windows, or 0;
19 windows of a line that are done together, whose elements are SPAN at most; then, for every window of each dimension, by how many
elements its sum is divided.
"""

from __future__ import annotations

from functools import cache
from textwrap import indent
from typing import Callable

from ..texts import in_dtype, late_text

__all__ = ["SPAN", "pool_kernel"]

SPAN = 2048
STACK = 8 * SPAN

HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    deep, high, wide = word(record, 0), word(record, 1), word(record, 2)
    planes, rows, columns = word(record, 3), word(record, 4), word(record, 5)
    kernel_0, kernel_1, kernel_2 = word(record, 6), word(record, 7), word(record, 8)
    stride_0, stride_1, step = word(record, 9), word(record, 10), word(record, 11)
    padding_0, padding_1, shift = word(record, 12), word(record, 13), word(record, 14)
    dilation_0, dilation_1, dilation_2 = word(record, 15), word(record, 16), word(record, 17)
    many = word(record, 19)
    folded, halves = at_T(stack(STACK), 0), at_T(stack(PAIRS), 0)
    SPACE
    for unit in range(start, stop):
        BEFORE
        for z in range(planes):
            for y in range(rows):
                for low in range(0, columns, many):
                    count = min(many, columns - low)
                    left = low * step - shift
                    begin = max(left, 0)
                    end = min(wide, left + (count - 1) * step + (kernel_2 - 1) * dilation_2 + 1)
"""
# The lines that a line of windows meets.
MET = """
for a in range(kernel_0):
    i = z * stride_0 + a * dilation_0 - padding_0
    for b in range(kernel_1):
        j = y * stride_1 + b * dilation_1 - padding_1
        if (i >= 0) & (i < deep) & (j >= 0) & (j < high):
            EACH
"""
# The windows, of those of a line, that have an element at one place.
TAP = """
for c in range(kernel_2):
    at = left + c * dilation_2
    first = (step - 1 - at) // step if at < 0 else 0
    last = min(count, (wide - 1 - at) // step + 1) if wide - 1 - at >= 0 else 0
"""
# The elements that windows have at one place, all inside.
TAPS = f"""{TAP}    if EVERY == 2:
        for k in few(last - first):
            STEP_2
    elif EVERY == 1:
        for k in few(last - first):
            STEP_1
    else:
        for k in one_by_one(last - first):
            STEP_N
"""
FOLD = """
for k in few(end - begin):
    folded[k] = T(FIRST)
LINES
for k in few(count):
    line[k] = T(FIRST)
"""
# Where windows begin at every second element, those in even places are brought side by side, and those in odd ones: vectors of
# elements that lie apart are made once for all places of a window, and then only there.
HALVED = f"""
if EVERY == 2:
    pairs = (end - begin) // 2
    for k in few(pairs):
        halves[k], halves[HALF + k] = folded[2 * k], folded[2 * k + 1]
    if begin + 2 * pairs < end:
        halves[pairs] = folded[2 * pairs]
    {indent(TAP.strip(), "    ").lstrip()}
        place = at - begin + 2 * first
        base = place // 2 + place % 2 * HALF
        for k in few(last - first):
            line[first + k] = TWO
else:
    """
ALONG = """x = at_T(pointer_word(args, OPERAND), (((unit * deep + i) * high + j) * wide + begin) * SIZE)
            for k in few(end - begin):
                folded[k] = FOLDED"""
OVER = """
over = word(record, 18)
if over == 0:
    over = word(record, 20 + z) * word(record, 20 + planes + y)
for k in few(count):
    line[k] = GIVEN / T(over * word(record, 20 + planes + rows + low + k))
"""
LINE = "line = at_T(pointer_word(args, PLACE), (((unit * planes + z) * rows + y) * columns + low) * SIZE)\n"
NOTHING = """out = at_T(pointer_word(args, 1), unit * deep * high * wide * SIZE)
        for k in range(deep * high * wide):
            out[k] = T(0.0)"""


def stepped(each: str) -> str:
    """What is done for an element of every window, as loops for strides 1, 2 and others."""
    text = TAPS
    for name, place in (("STEP_2", "2 * (first + k)"), ("STEP_1", "first + k"), ("STEP_N", "(first + k) * step")):
        text = text.replace(name, indent(each.replace("PLACE", place), " " * 12).lstrip())
    return text


def folding(first: str, folded: str, operand: int) -> str:
    """All windows of a line folded, into ``line``."""
    along = ALONG.replace("FOLDED", folded.replace("A", "folded[k]").replace("B", "x[k]")).replace("OPERAND", str(operand))
    lines = FOLD.replace("FIRST", first).replace("LINES", MET.replace("EACH", along))
    two, own = (
        folded.replace("A", "line[first + k]").replace("B", each) for each in ("halves[base + k]", "folded[at - begin + PLACE]")
    )
    return lines + HALVED.replace("TWO", two) + indent(stepped(f"line[first + k] = {own}"), "    ").strip()


def in_head(text: str, before: str = "", space: str = "") -> str:
    """What is done of a line of windows, in the loops over all."""
    return HEAD.replace("BEFORE", before).replace("SPACE", space) + indent(text, " " * 20)


GREATER = "where((B > A) | (B != B), B, A)"
# An element that equals the greatest, for each window once: `free` is 1 until it is found.
MATCH = """v = x[at + PLACE]
m = line[first + k]
hit = ((v == m) | ((v != v) & (m != m))) & (free[first + k] != 0.0)
"""
FREE = """
for k in few(count):
    free[k] = T(1.0)
"""
SPACES = "line, free = at_T(stack(STACK), 0), at_T(stack(STACK), 0)"
# Elements in even places, then those in odd ones: windows that begin at every second element have theirs side by side, and what is
# found and added takes vectors; behind the last window there are some that are not free, so that no vector has a rest.
APART = f"""
origin = begin - begin % 2
pairs = (end - origin) // 2
for k in few(pairs):
    seen[k], seen[HALF + k] = x[origin + 2 * k], x[origin + 2 * k + 1]
    sums[k], sums[HALF + k] = out[here + origin + 2 * k], out[here + origin + 2 * k + 1]
if origin + 2 * pairs < end:
    seen[pairs], sums[pairs] = x[end - 1], out[here + end - 1]
{TAP.strip()}
    place = at + 2 * first - origin
    base = place // 2 + place % 2 * HALF
    some = last - first
    for k in few((some + 15) // 16 * 16 if last == count else some):
        v = seen[base + k]
        m = line[first + k]
        hit = ((v == m) | ((v != v) & (m != m))) & (free[first + k] != 0.0)
        sums[base + k] += where(hit, given[first + k], T(0.0))
        free[first + k] = where(hit, T(0.0), free[first + k])
for k in few(pairs):
    out[here + origin + 2 * k], out[here + origin + 2 * k + 1] = sums[k], sums[HALF + k]
if origin + 2 * pairs < end:
    out[here + end - 1] = sums[pairs]
"""
HALF = SPAN // 2 + 32  # some more than the windows have, for those behind them
BESIDE = """
if EVERY == 2:
    for k in few(count):
        given[k] = g[k]
    for k in range(count, count + 16):
        free[k], line[k], given[k] = T(0.0), T(0.0), T(0.0)
"""
MATCHED = """x = at_T(pointer_word(args, OPERAND), ((unit * deep + i) * high + j) * wide * SIZE)
            here = (i * high + j) * wide
"""


def matching(each: str, operand: int, apart: str = "") -> str:
    """What is done where the greatest of every window is found; ``apart``: where windows begin at every second element."""
    steps, before = stepped(MATCH + each), FREE
    if apart:
        steps = f"\nif (EVERY == 2) & (kernel_2 > 2):{indent(apart, ' ' * 4)}else:{indent(steps, ' ' * 4)}"
        before += BESIDE
    loops = MATCHED.replace("OPERAND", str(operand)) + indent(steps, " " * 12)
    return folding("-INF", GREATER, operand) + before + MET.replace("EACH", loops.lstrip())


# Windows that lie side by side and leave nothing out: what they share is written, where it is added elsewhere.
TILED = """(kernel_0 == stride_0) & (kernel_1 == stride_1) & (kernel_2 == step) & (planes * stride_0 == deep)
    tiled = tiled & (rows * stride_1 == high) & (columns * step == wide) & (padding_0 + padding_1 + shift == 0)"""
SHARED = """
TAKEN
for k in few(end - begin):
    folded[k] = T(0.0)
"""
ADDED = """x = at_T(pointer_word(args, 1), (((unit * deep + i) * high + j) * wide + begin) * SIZE)
            if tiled:
                for k in few(end - begin):
                    x[k] = folded[k]
            else:
                for k in few(end - begin):
                    x[k] += folded[k]"""
TEXTS = {
    "max_pool": in_head(LINE.replace("PLACE", "1") + folding("-INF", GREATER, 2)),
    "avg_pool": in_head(LINE.replace("PLACE", "1") + folding("0.0", "A + B", 2) + OVER.replace("GIVEN", "line[k]")),
    "avg_pool_spread": in_head(
        LINE.replace("line =", "g =").replace("PLACE", "2")
        + OVER.replace("GIVEN", "g[k]")
        + SHARED.replace("TAKEN", "")
        + stepped("folded[at - begin + PLACE] += line[first + k]")
        + MET.replace("EACH", ADDED),
        "if not tiled:\n            " + NOTHING.replace("\n", "\n    "),
        "line = at_T(stack(STACK), 0)\n    tiled = " + TILED,
    ),
    "max_pool_places": in_head(
        "places = at_int64(pointer_word(args, 1), (((unit * planes + z) * rows + y) * columns + low) * 8)\n"
        "for k in few(count):\n    places[k] = 0\n"
        + matching("if hit:\n    free[first + k] = T(0.0)\n    places[first + k] = here + at + PLACE", 2),
        "",
        SPACES,
    ),
    "max_pool_spread": in_head(
        LINE.replace("line =", "g =").replace("PLACE", "2")
        + matching(
            "out[here + at + PLACE] += where(hit, g[first + k], T(0.0))\nfree[first + k] = where(hit, T(0.0), free[first + k])",
            3,
            APART,
        ),
        NOTHING,
        SPACES + "\n    seen, sums, given = at_T(stack(PAIRS), 0), at_T(stack(PAIRS), 0), at_T(stack(STACK), 0)",
    ),
}


@cache
def pool_kernel(name: str, dtype: str, step: int) -> Callable:
    """The kernel of an operation for a real dtype.

    Args:
        step: the stride along rows, 3 for all from there on: code for others makes loops slower.
    """
    sizes = {"STACK": STACK, "PAIRS": 16 * HALF, "HALF": HALF, "EVERY": step}
    text = TEXTS[name]
    for word, size in sizes.items():
        text = text.replace(word, str(size))
    text = in_dtype(text, dtype)
    return late_text(text, f"{name} {dtype} {step}", {}, "kernel")[0]
