"""Convolutions: rows of memory times numbers, added up, as text for a dtype; CPU. NOTE [Convolutions] of ops/convolution.py.

NOTE [Planes]: each channel is first written, with its padding, as *planes*: one for each remainder of a position divided by the
stride that a tap of the kernel meets. All planes of a call have the sizes A, which are those of the short side and as many more as
taps reach beyond them. Then whatever stride and dilation, a tap reads the plane of its remainder from a fixed distance on, and the
sum over taps and channels is one over rows that lie in memory as they are read: ``out[j] += w[t] * plane[distance[t] + j]``, for
one long run of j. Places between the rows of the short side are computed too, and left out. Nothing is gathered for each tap.

The transpose reads the short side, with zeros around it, at the opposite distances, and gives the planes; its weights are by
channels of the long side, then of the short side. Of weights each is one
sum along such a run.

Record words: 0 groups, 1 channels of a group of the long side (C), 2 of the short side (O), 3 taps of the kernel (K), 4-6 sizes of
the long side, 7-9 of the short side, 10-12 A, 13-15 strides, 16-18 padding, 19 planes of a channel, 20 elements of a plane,
21 elements of a run, 22 items, 23 items of a unit, 24 parts of an image (an item each), 25 elements of a piece of a run, 26 bytes
of a unit's memory, 27 whether there is a bias, 28 the largest distance in a plane, 29 whether the long side is read as it lies,
30 whether the transpose leaves elements out, 31 where in a unit's memory rows and 32 where planes begin (bytes), then from 33 on:
for each tap its plane and its distance in there, for each plane its three remainders, where its taps begin in the last list, how
many there are, where the run of the transpose begins, and its length; the list of taps by planes.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..instantiate import part_of_loop
from ..texts import late_text
from .tiles import ADD_TERMS, in_lanes

__all__ = ["convolution_kernel", "helpers_of", "turning_kernel"]

# Rows whose sums of weights are computed side by side, and taps at a time for them: in 16 registers. Taps of a single row.
SIDE_BY_SIDE, TAPS, TAPS_ALONE = 4, 3, 9

# How rows go into planes, by the stride: a kernel has one of them, as each makes the code of the others slower.
COPIES = {
    1: """                    here, line = at_T(to, 0), at_T(row, 0)
                    for k in few(last - first):
                        here[k] = line[k]""",
    2: """                    every_second_T(to, row, last - first)""",
    3: """                    here, line = at_T(to, 0), at_T(row, 0)
                    for k in one_by_one(last - first):
                        here[k] = line[k * step]""",
}
HELPERS = '''
def plane_word(record, plane, which):
    """What is known of a plane: NOTE [Planes]."""
    return word(record, TABLES + 2 * word(record, 3) + 7 * plane + which)


def clear(target, count):
    """Zeros. Places beside rows stay so: what is written there later is rows of the same sizes at the same places."""
    to = at_T(target, 0)
    for k in range(count):
        to[k] = T(0.0)


def spread(record, source, target):
    """A channel of the long side as planes, among zeros."""
    rows, columns, width = word(record, 4), word(record, 5), word(record, 6)
    deep, high, wide = word(record, 10), word(record, 11), word(record, 12)
    deeper, down, step = word(record, 13), word(record, 14), word(record, 15)
    for plane in range(word(record, 19)):
        shift = plane_word(record, plane, 2) - word(record, 18)
        first, last = max(0, -shift), width - shift
        if step > 1:
            first = quotient(first + step - 1, step)
            last = quotient(max(last, 0) + step - 1, step)
        last = min(wide, last)
        for z in range(deep):
            i = z * deeper + plane_word(record, plane, 0) - word(record, 16)
            above = plane_word(record, plane, 1) - word(record, 17)
            for y in range(high):
                j = y * down + above
                if (i >= 0) & (i < rows) & (j >= 0) & (j < columns) & (first < last):
                    to = target + (((plane * deep + z) * high + y) * wide + first) * SIZE
                    row = source + ((i * columns + j) * width + shift + first * step) * SIZE
COPY


def embed(record, source, target):
    """A channel of the short side among zeros."""
    deep, high, wide = word(record, 7), word(record, 8), word(record, 9)
    tall, width = word(record, 11), word(record, 12)
    for z in range(deep):
        for y in range(high):
            row = at_T(source, (z * high + y) * wide * SIZE)
            to = at_T(target, (z * tall + y) * width * SIZE)
            for k in few(wide):
                to[k] = row[k]


def compact(record, row, target, low, count):
    """The part of a run that are elements of the short side, to where they belong."""
    deep, high, wide = word(record, 7), word(record, 8), word(record, 9)
    tall, width = word(record, 11), word(record, 12)
    j = low
    line = quotient(j, width)
    k = j - line * width
    z = quotient(line, tall)
    y = line - z * tall
    while j < low + count:
        many = min(width - k, low + count - j)
        if (y < high) & (z < deep) & (k < wide):
            source, to = at_T(row, (j - low) * SIZE), at_T(target, ((z * high + y) * wide + k) * SIZE)
            for i in few(min(many, wide - k)):
                to[i] = source[i]
        j += many
        k = 0
        y += 1
        if y == tall:
            y = 0
            z += 1


def unspread(record, row, target, plane, low, count):
    """The part of a plane that are elements of the long side, to where they belong."""
    rows, columns, length = word(record, 4), word(record, 5), word(record, 6)
    tall, width, step = word(record, 11), word(record, 12), word(record, 15)
    shift = plane_word(record, plane, 2) - word(record, 18)
    begin, end = max(0, -shift), length - shift
    if step > 1:
        begin = quotient(begin + step - 1, step)
        end = quotient(max(end, 0) + step - 1, step)
    j = low
    line = quotient(j, width)
    k = j - line * width
    z = quotient(line, tall)
    y = line - z * tall
    while j < low + count:
        many = min(width - k, low + count - j)
        i = z * word(record, 13) + plane_word(record, plane, 0) - word(record, 16)
        h = y * word(record, 14) + plane_word(record, plane, 1) - word(record, 17)
        if (i >= 0) & (i < rows) & (h >= 0) & (h < columns):
            first, last = max(begin - k, 0), min(many, end - k)
            source, to = at_T(row, (j - low) * SIZE), at_T(target, ((i * columns + h) * length + shift + k * step) * SIZE)
            if step == 1:
                for q in few(max(last - first, 0)):
                    to[first + q] = source[first + q]
            else:
                for q in one_by_one(max(last - first, 0)):
                    to[(first + q) * step] = source[first + q]
        j += many
        k = 0
        y += 1
        if y == tall:
            y = 0
            z += 1


def list_terms(record, table, distance):
    """The terms of a sum over channels and taps, in pairs of words: how far off a row is, and where its number is in the weight."""
    taps = word(record, 3)
    for c in range(word(record, 1)):
        for t in one_by_one(taps):
            shift = word(record, TABLES + 2 * t) * word(record, 20) + word(record, TABLES + 2 * t + 1)
            set_word(table, 2 * (c * taps + t), c * distance + shift * SIZE)
            set_word(table, 2 * (c * taps + t) + 1, c * taps + t)


def share_of(count, parts):
    """How many channels a part of an image has."""
    share = (count + parts - 1) // parts
    if parts > 1:
        share = (share + 3) // 4 * 4
    return share


def first_number(record, args, channel):
    """What a channel's sums begin with: its bias, or 0."""
    value = T(0.0)
    if word(record, 27) != 0:
        value = at_T(pointer_word(args, 5), channel * SIZE)[0]
    return value
'''
FORWARD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    groups, channels, heads, taps = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    parts, piece, run = word(record, 24), word(record, 25), word(record, 21)
    block = (word(record, 19) * word(record, 20) + 16) * SIZE
    own = word(record, 4) * word(record, 5) * word(record, 6) * SIZE
    size = word(record, 7) * word(record, 8) * word(record, 9) * SIZE
    as_it_lies = word(record, 29)
    distance = own if as_it_lies != 0 else block
    terms = channels * taps
    for unit in range(start, stop):
        memory = pointer_word(args, 2) + unit * word(record, 26)
        row, planes = memory + word(record, 31), memory + word(record, 32)
        list_terms(record, memory, distance)
        if as_it_lies == 0:
            clear(planes, channels * quotient(block, SIZE))
        first_item = unit * word(record, 23)
        for item in range(first_item, min(first_item + word(record, 23), word(record, 22))):
            image = item // parts
            part = item - image * parts
            group = image % groups
            source = pointer_word(args, 3) + image * channels * own
            base = source
            if as_it_lies == 0:
                base = planes
                if (item == first_item) | (part == 0):
                    for c in range(channels):
                        spread(record, source + c * own, planes + c * block)
            share = share_of(heads, parts)
            last = min(heads, (part + 1) * share)
            for low in range(0, run, piece):
                count = min(piece, run - low)
                head = part * share
                while head < last:
                    many = 4 if last - head >= 4 else 1
                    weight = pointer_word(args, 4) + (group * heads + head) * terms * SIZE
                    for r in range(many):
                        value = first_number(record, args, group * heads + head + r)
                        to = at_T(row, r * piece * SIZE)
                        for k in few(count):
                            to[k] = value
                    vectors = (count + LANES - 1) // LANES
                    add_terms(many, vectors, row, piece * SIZE, base + low * SIZE, memory, weight, terms * SIZE, terms)
                    for r in range(many):
                        to_image = pointer_word(args, 1) + (image * heads + head + r) * size
                        compact(record, row + r * piece * SIZE, to_image, low, count)
                    head += many
"""
TRANSPOSED = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    groups, channels, heads, taps = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    parts, piece, plane_size = word(record, 24), word(record, 25), word(record, 20)
    own = word(record, 4) * word(record, 5) * word(record, 6)
    size = word(record, 7) * word(record, 8) * word(record, 9) * SIZE
    before = word(record, 28)
    distance = (before + plane_size) * SIZE
    planes = word(record, 19)
    listed = record + 8 * (33 + 2 * taps + 7 * planes)
    for unit in range(start, stop):
        memory = pointer_word(args, 2) + unit * word(record, 26)
        row, rows = memory + word(record, 31), memory + word(record, 32)
        for plane in range(planes):
            begin, many_taps = plane_word(record, plane, 3), plane_word(record, plane, 4)
            for o in range(heads):
                for t in one_by_one(many_taps):
                    tap = word(listed, begin + t)
                    place = 2 * (begin * heads + o * many_taps + t)
                    set_word(memory, place, o * distance + (before - word(record, 34 + 2 * tap)) * SIZE)
                    set_word(memory, place + 1, o * taps + tap)
        clear(rows, heads * (before + plane_size) + 16)
        first_item = unit * word(record, 23)
        for item in range(first_item, min(first_item + word(record, 23), word(record, 22))):
            image = item // parts
            part = item - image * parts
            group = image % groups
            if (item == first_item) | (part == 0):
                for o in range(heads):
                    embed(record, pointer_word(args, 3) + (image * heads + o) * size, rows + o * distance + before * SIZE)
            share = share_of(channels, parts)
            last = min(channels, (part + 1) * share)
            for c in range(part * share, last):
                if word(record, 30) != 0:
                    value = first_number(record, args, group * channels + c)
                    to = at_T(pointer_word(args, 1), (image * channels + c) * own * SIZE)
                    for k in range(own):
                        to[k] = value
            for plane in range(planes):
                begin, many_taps = plane_word(record, plane, 3), plane_word(record, plane, 4)
                table = memory + 16 * begin * heads
                first, run = plane_word(record, plane, 5), plane_word(record, plane, 6)
                for low in range(first, first + run, piece):
                    count = min(piece, first + run - low)
                    head = part * share
                    while head < last:
                        many = 4 if last - head >= 4 else 1
                        weight = pointer_word(args, 4) + (group * channels + head) * heads * taps * SIZE
                        for r in range(many):
                            value = first_number(record, args, group * channels + head + r)
                            to = at_T(row, r * piece * SIZE)
                            for k in few(count):
                                to[k] = value
                        vectors, terms = (count + LANES - 1) // LANES, heads * many_taps
                        add_terms(many, vectors, row, piece * SIZE, rows + low * SIZE, table, weight, heads * taps * SIZE, terms)
                        for r in range(many):
                            to_image = pointer_word(args, 1) + (image * channels + head + r) * own * SIZE
                            unspread(record, row + r * piece * SIZE, to_image, plane, low, min(count, plane_size - low))
                        head += many
"""
WEIGHT = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    groups, channels, heads, taps = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    piece, run = word(record, 25), word(record, 21)
    pitch = (word(record, 20) + 15) // 16 * 16
    block = (word(record, 19) * word(record, 20) + 16) * SIZE
    own = word(record, 4) * word(record, 5) * word(record, 6) * SIZE
    size = word(record, 7) * word(record, 8) * word(record, 9) * SIZE
    as_it_lies = word(record, 29)
    distance = own if as_it_lies != 0 else block
    terms = channels * taps
    for unit in range(start, stop):
        memory = pointer_word(args, 2) + unit * word(record, 26)
        rows, planes = memory + word(record, 31), memory + word(record, 32)
        list_terms(record, memory, distance)
        total = pointer_word(args, 1) + unit * groups * heads * terms * SIZE
        clear(total, groups * heads * terms)
        clear(rows, heads * pitch)
        if as_it_lies == 0:
            clear(planes, channels * quotient(block, SIZE))
        first_item = unit * word(record, 23)
        for image in range(first_item, min(first_item + word(record, 23), word(record, 22))):
            group = image % groups
            source = pointer_word(args, 3) + image * channels * own
            base = source
            if as_it_lies == 0:
                base = planes
                for c in range(channels):
                    spread(record, source + c * own, planes + c * block)
            for o in range(heads):
                embed(record, pointer_word(args, 4) + (image * heads + o) * size, rows + o * pitch * SIZE)
            for low in range(0, run, piece):
                count = min(piece, run - low)
                head = 0
                while head < heads:
                    many = 4 if heads - head >= 4 else 1
                    given = rows + (head * pitch + low) * SIZE
                    sums = total + (group * heads + head) * terms * SIZE
                    if many == 4:
                        dot_four(sums, terms, count, given, pitch * SIZE, base + low * SIZE, memory, terms)
                    else:
                        dot_one(sums, count, given, base + low * SIZE, memory, terms)
                    head += many
"""
# A unit is a channel; the record: channels and heads of a group, taps.
TURN = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    channels, heads, taps = word(record, 0), word(record, 1), word(record, 2)
    for unit in range(start, stop):
        group = unit // channels
        first = group * heads * channels + unit - group * channels
        for o in range(heads):
            to = at_T(pointer_word(args, 1), (unit * heads + o) * taps * SIZE)
            weight = at_T(pointer_word(args, 2), (first + o * channels) * taps * SIZE)
            for t in few(taps):
                to[t] = weight[t]
"""
TEXTS = {"convolve": FORWARD, "convolve_transposed": TRANSPOSED, "convolve_weight": WEIGHT}


def dotting(name: str, rows: int, taps: int) -> str:
    """The text of what adds products of so many rows with terms to their sums."""
    several = "sums, step, count, given, width, base, table, terms" if rows > 1 else "sums, count, given, base, table, terms"
    lines = [f"def {name}({several}):"]
    lines += [f"    g{r} = at_T(given, {r} * width)" if r else "    g0 = at_T(given, 0)" for r in range(rows)]
    lines += ["    out = at_T(sums, 0)", "    t = 0"]
    for many in (taps, 1):
        lines.append(f"    while t + {many} <= terms:")
        for k in range(many):
            lines.append(f"        x{k} = at_T(base, word(table, 2 * t + {2 * k}))")
            lines.append(f"        k{k} = word(table, 2 * t + {2 * k + 1})")
        lines += [f"        s{r}_{k} = T(0.0)" for r in range(rows) for k in range(many)]
        lines.append("        for j in few(count):")
        lines += [f"            v{k} = x{k}[j]" for k in range(many)]
        for r in range(rows):
            lines.append(f"            u{r} = g{r}[j]")
            lines += [f"            s{r}_{k} += u{r} * v{k}" for k in range(many)]
        lines += [f"        out[{f'{r} * step + ' * (r > 0)}k{k}] += s{r}_{k}" for r in range(rows) for k in range(many)]
        lines.append(f"        t += {many}")
    return "\n".join(lines) + "\n"


def helpers_of(step: int, tables: int) -> str:
    """The text of what kernels of planes call, for a stride along rows and records whose tables begin at a word."""
    return HELPERS.replace("COPY", COPIES[step]).replace("TABLES", str(tables))


@cache
def convolution_kernel(which: str, dtype: str, step: int) -> tuple[Callable, tuple]:
    """``convolve``, ``convolve_transposed``, ``convolve_weight``: the kernel for a real dtype, and what its Program binds.

    Args:
        step: the stride along rows, 3 for all from there on; the transpose has one kernel for all.
    """
    if which == "convolve_weight":
        inner = dotting("dot_four", SIDE_BY_SIDE, TAPS) + dotting("dot_one", 1, TAPS_ALONE)
        names = ["clear", "list_terms", "spread", "embed", "dot_four", "dot_one"]
    else:
        inner = ADD_TERMS.replace("TILE", "listed_tile")
        names = ["embed", "unspread"] if which == "convolve_transposed" else ["list_terms", "spread", "compact"]
        names += ["clear", "share_of", "first_number", "add_terms"]
    text = in_lanes(helpers_of(step, 33) + inner + TEXTS[which], dtype)
    kernel, *helpers = late_text(text, f"{which} {dtype} {step}", {}, "kernel", "plane_word", *names)
    helpers = [part_of_loop(each) if each.__name__.startswith("dot_") else each for each in helpers]
    return kernel, tuple(zip(("plane_word", *names), helpers))


@cache
def turning_kernel(dtype: str) -> Callable:
    """The kernel that writes weights by channels of the long side, then of the short side, as the transpose reads them."""
    kernel: Callable = late_text(in_lanes(TURN, dtype), f"turned weights {dtype}", {}, "kernel")[0]
    return kernel
