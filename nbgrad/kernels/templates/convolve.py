"""Convolutions: rows of memory times numbers, added up, as text for a dtype; CPU. NOTE [Convolutions] of ops/convolution.py.

NOTE [Planes]: each channel is first written, with its padding, as *planes*: one for each remainder of a position divided by the
stride that a tap of the kernel meets. All planes of a call have the sizes A, which are those of the short side and as many more as
taps reach beyond them. Then whatever stride and dilation, a tap reads the plane of its remainder from a fixed distance on, and the
sum over taps and channels is one over rows that lie in memory as they are read: ``out[j] += w[t] * plane[distance[t] + j]``, for
one long run of j. Places between the rows of the short side are computed too, and left out. Nothing is gathered for each tap.

The transpose reads the short side, with zeros around it, at the opposite distances, and gives the planes. Of weights each is one
sum along such a run.

Record words: 0 groups, 1 channels of a group of the long side (C), 2 of the short side (O), 3 taps of the kernel (K), 4-6 sizes of
the long side, 7-9 of the short side, 10-12 A, 13-15 strides, 16-18 padding, 19 planes of a channel, 20 elements of a plane,
21 elements of a run, 22 items, 23 items of a unit, 24 parts of an image (an item each), 25 elements of a piece of a run, 26 bytes
of a unit's memory, 27 whether there is a bias, 28 the largest distance in a plane, 29 whether the long side is read as it lies,
30 whether the transpose leaves elements out, 31 where in a unit's memory rows and 32 where planes begin (bytes), then from 33 on:
for each tap its plane and its distance in there, for each plane its three remainders, where its taps begin in the last list, and
how many there are; the list of taps by planes.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..instantiate import part_of_loop
from ..texts import late_text

__all__ = ["convolution_kernel"]

# Rows that are computed side by side, and taps at a time for them: in 16 registers.
SIDE_BY_SIDE, TAPS = 4, 3
# Of a single row.
TAPS_ALONE = 9

HELPERS = '''
def plane_word(record, plane, which):
    """What is known of a plane: its remainders, where its taps begin in the list, how many there are."""
    return word(record, 33 + 2 * word(record, 3) + 5 * plane + which)


def spread(record, source, target):
    """A channel of the long side as planes."""
    rows, columns, width = word(record, 4), word(record, 5), word(record, 6)
    deep, high, wide = word(record, 10), word(record, 11), word(record, 12)
    step = word(record, 15)
    behind = at_T(target, word(record, 19) * deep * high * wide * SIZE)
    for k in range(8):
        behind[k] = T(0.0)
    for plane in range(word(record, 19)):
        shift = plane_word(record, plane, 2) - word(record, 18)
        first = min(max(0, (step - 1 - shift) // step), wide)
        last = max(first, min(wide, (width - 1 - shift) // step + 1)) if width - 1 - shift >= 0 else first
        for z in range(deep):
            i = z * word(record, 13) + plane_word(record, plane, 0) - word(record, 16)
            for y in range(high):
                j = y * word(record, 14) + plane_word(record, plane, 1) - word(record, 17)
                to = at_T(target, ((plane * deep + z) * high + y) * wide * SIZE)
                if (i < 0) | (i >= rows) | (j < 0) | (j >= columns):
                    for k in few(wide):
                        to[k] = T(0.0)
                else:
                    row = at_T(source, ((i * columns + j) * width + shift) * SIZE)
                    for k in few(first):
                        to[k] = T(0.0)
                    if step == 1:
                        for k in few(last - first):
                            to[first + k] = row[first + k]
                    elif step == 2:
                        for k in few(last - first):
                            to[first + k] = row[2 * (first + k)]
                    else:
                        for k in one_by_one(last - first):
                            to[first + k] = row[(first + k) * step]
                    for k in few(wide - last):
                        to[last + k] = T(0.0)


def embed(record, source, target, before):
    """A channel of the short side among zeros: ``before`` in front, and where planes are larger."""
    deep, high, wide = word(record, 7), word(record, 8), word(record, 9)
    tall, width = word(record, 11), word(record, 12)
    total = before + (word(record, 20) + 7) // 8 * 8
    to = at_T(target, 0)
    for k in range(total):
        to[k] = T(0.0)
    for z in range(deep):
        for y in range(high):
            row = at_T(source, (z * high + y) * wide * SIZE)
            to = at_T(target, (before + (z * tall + y) * width) * SIZE)
            for k in few(wide):
                to[k] = row[k]


def compact(record, row, target, low, count):
    """The part of a run that are elements of the short side, to where they belong."""
    deep, high, wide = word(record, 7), word(record, 8), word(record, 9)
    tall, width = word(record, 11), word(record, 12)
    j = low
    while j < low + count:
        line = j // width
        k = j - line * width
        many = min(width - k, low + count - j)
        z = line // tall
        y = line - z * tall
        if (y < high) & (z < deep) & (k < wide):
            source, to = at_T(row, (j - low) * SIZE), at_T(target, ((z * high + y) * wide + k) * SIZE)
            for i in few(min(many, wide - k)):
                to[i] = source[i]
        j += many


def unspread(record, row, target, plane, low, count):
    """The part of a plane that are elements of the long side, to where they belong."""
    rows, columns, length = word(record, 4), word(record, 5), word(record, 6)
    tall, width, step = word(record, 11), word(record, 12), word(record, 15)
    shift = plane_word(record, plane, 2) - word(record, 18)
    j = low
    while j < low + count:
        line = j // width
        k = j - line * width
        many = min(width - k, low + count - j)
        z = line // tall
        y = line - z * tall
        i = z * word(record, 13) + plane_word(record, plane, 0) - word(record, 16)
        h = y * word(record, 14) + plane_word(record, plane, 1) - word(record, 17)
        if (i >= 0) & (i < rows) & (h >= 0) & (h < columns):
            first = max(0, (step - 1 - shift - k * step) // step) if k * step + shift < 0 else 0
            last = (length - 1 - shift - k * step) // step + 1 if length - 1 - shift - k * step >= 0 else 0
            last = min(many, last)
            source, to = at_T(row, (j - low) * SIZE), at_T(target, ((i * columns + h) * length + shift + k * step) * SIZE)
            if step == 1:
                for q in few(max(last - first, 0)):
                    to[first + q] = source[first + q]
            else:
                for q in one_by_one(max(last - first, 0)):
                    to[(first + q) * step] = source[first + q]
        j += many


def list_terms(record, table, distance):
    """The terms of a sum over channels and taps, in pairs of words: how far off a row is, and where its number is in the weight."""
    taps = word(record, 3)
    for c in range(word(record, 1)):
        for t in one_by_one(taps):
            shift = word(record, 33 + 2 * t) * word(record, 20) + word(record, 34 + 2 * t)
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
    block = (word(record, 19) * word(record, 20) + 8) * SIZE
    own = word(record, 4) * word(record, 5) * word(record, 6) * SIZE
    size = word(record, 7) * word(record, 8) * word(record, 9) * SIZE
    as_it_lies = word(record, 29)
    distance = own if as_it_lies != 0 else block
    terms = channels * taps
    for unit in range(start, stop):
        memory = pointer_word(args, 2) + unit * word(record, 26)
        row, planes = memory + word(record, 31), memory + word(record, 32)
        list_terms(record, memory, distance)
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
                    if many == 4:
                        add_four(row, piece * SIZE, count, base + low * SIZE, memory, terms, weight, terms)
                    else:
                        add_one(row, count, base + low * SIZE, memory, terms, weight)
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
    listed = record + 8 * (33 + 2 * taps + 5 * planes)
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
                    set_word(memory, place + 1, o * channels * taps + tap)
        first_item = unit * word(record, 23)
        for item in range(first_item, min(first_item + word(record, 23), word(record, 22))):
            image = item // parts
            part = item - image * parts
            group = image % groups
            if (item == first_item) | (part == 0):
                for o in range(heads):
                    embed(record, pointer_word(args, 3) + (image * heads + o) * size, rows + o * distance, before)
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
                for low in range(0, word(record, 21), piece):
                    count = min(piece, word(record, 21) - low)
                    head = part * share
                    while head < last:
                        many = 4 if last - head >= 4 else 1
                        weight = pointer_word(args, 4) + (group * heads * channels + head) * taps * SIZE
                        for r in range(many):
                            value = first_number(record, args, group * channels + head + r)
                            to = at_T(row, r * piece * SIZE)
                            for k in few(count):
                                to[k] = value
                        if many == 4:
                            add_four(row, piece * SIZE, count, rows + low * SIZE, table, heads * many_taps, weight, taps)
                        else:
                            add_one(row, count, rows + low * SIZE, table, heads * many_taps, weight)
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
    pitch = (word(record, 20) + 7) // 8 * 8
    block = (word(record, 19) * word(record, 20) + 8) * SIZE
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
        to = at_T(total, 0)
        for k in range(groups * heads * terms):
            to[k] = T(0.0)
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
                embed(record, pointer_word(args, 4) + (image * heads + o) * size, rows + o * pitch * SIZE, 0)
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
TEXTS = {"convolve": FORWARD, "convolve_transposed": TRANSPOSED, "convolve_weight": WEIGHT}


def adding(name: str, rows: int, taps: int) -> str:
    """The text of what adds terms to so many rows, some taps at a time and the rest one by one."""
    several = ", width, count, base, table, terms, w, step" if rows > 1 else ", count, base, table, terms, w"
    lines = [f"def {name}(acc{several}):"]
    lines += [f"    a{r} = at_T(acc, {r} * width)" if r else "    a0 = at_T(acc, 0)" for r in range(rows)]
    lines += ["    weights = at_T(w, 0)", "    t = 0"]
    for many in (taps, 1):
        lines.append(f"    while t + {many} <= terms:")
        for k in range(many):
            lines.append(f"        x{k} = at_T(base, word(table, 2 * t + {2 * k}))")
            lines.append(f"        k{k} = word(table, 2 * t + {2 * k + 1})")
        lines += [f"        w{r}_{k} = weights[{f'{r} * step + ' * (r > 0)}k{k}]" for r in range(rows) for k in range(many)]
        lines.append("        for j in few(count):")
        lines += [f"            v{k} = x{k}[j]" for k in range(many)]
        for r in range(rows):
            text = f"a{r}[j]"
            for k in reversed(range(many)):
                text = f"fma(w{r}_{k}, v{k}, {text})"
            lines.append(f"            s{r} = {text}")
        lines += [f"            a{r}[j] = s{r}" for r in range(rows)]
        lines.append(f"        t += {many}")
    return "\n".join(lines) + "\n"


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


@cache
def convolution_kernel(which: str, dtype: str) -> tuple[Callable, tuple]:
    """``convolve``, ``convolve_transposed`` or ``convolve_weight``: the kernel for a real dtype, and what its Program binds."""
    if which == "convolve_weight":
        inner = dotting("dot_four", SIDE_BY_SIDE, TAPS) + dotting("dot_one", 1, TAPS_ALONE)
        names = ["list_terms", "spread", "embed", "dot_four", "dot_one"]
    else:
        inner = adding("add_four", SIDE_BY_SIDE, TAPS) + adding("add_one", 1, TAPS_ALONE)
        names = ["embed", "unspread"] if which == "convolve_transposed" else ["list_terms", "spread", "compact"]
        names += ["share_of", "first_number", "add_four", "add_one"]
    text = HELPERS + inner + TEXTS[which]
    text = text.replace("at_T(", f"at_{dtype}(").replace(" T(", f" {dtype}(").replace("SIZE", str(WIDTHS[dtype]))
    kernel, *helpers = late_text(text, f"{which} {dtype}", {}, "kernel", "plane_word", *names)
    helpers = [part_of_loop(each) if each.__name__.startswith("dot_") else each for each in helpers]
    return kernel, tuple(zip(("plane_word", *names), helpers))
