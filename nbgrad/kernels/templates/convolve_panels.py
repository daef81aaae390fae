"""Convolutions of many channels: channels side by side in vectors, numbers of images spread over them; text for a dtype, CPU.

NOTE [Panels]: a vector has neighbouring channels of one side, and a sum over terms is made of outer products, of some numbers that
lie side by side and of two vectors (``outer_tile_T`` of ``cpu/tiles.py``). So rows of images may be of any length without a rest,
which tiles of NOTE [Planes] fill with places between the rows, and no vector crosses a line of the cache. What gives the vectors is
written as *panels* first, of ``BLOCK`` channels each (two vectors), with zeros behind the last channel:

- of the convolution, weights ``[panel][channel, tap][head]``; numbers are of a row of a plane (NOTE [Planes]);
- of the transpose, weights ``[panel][head, tap][channel]``; numbers are of a row of the short side among zeros;
- of sums of weights, the short side ``[panel][place][head]``; numbers are channels of the long side, which is written with its
  channels last, among its padding, every place in an odd number of lines of the cache, since of an even one many would be at the
  same place there; the places of several small images follow one another.

Sums are ``[panel][place or weight][channel of a panel]``, and are turned in the end. Of the convolution and its transpose,
terms are added by as many channels at a time as have their numbers and weights in the nearest cache, to as many lines as have their
sums in the next one.

The record: words 0 to 32 as in NOTE [Planes], but 21 how many places are computed at a time, or of sums of weights added; of these
24 into how many parts panels are divided, 25 elements from place to place of the long side with its channels last. Then 33 of how
many channels terms are added at a time, or how many images follow one another, 34 panels of a group, 35-37 sizes of the kernel,
38-40 dilation, 41 where in a unit's memory turned rows, or the long side, begin (bytes), 42 the address of ``rows_kernel`` of
tiles.py; tables begin at 43.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import late_text
from .convolve import helpers_of
from .tiles import in_panels

__all__ = ["panel_convolution_kernel", "panels_kernel"]

TABLES = 43  # the word of a record at which tables begin

HELPERS = '''
def transposed(target, down, source, across, rows, columns):
    """Columns of lines that are ``across`` bytes apart, as lines that are ``down`` bytes apart."""
    if (rows >= 8) & (columns >= 8):
        i = 0
        while i < rows:
            row = min(i, rows - 8)
            j = 0
            while j < columns:
                column = min(j, columns - 8)
                turn_SIZE(target + column * down + row * SIZE, down, source + row * across + column * SIZE, across)
                j += 8
            i += 8
    else:
        for j in one_by_one(columns):
            to = at_T(target, j * down)
            for i in one_by_one(rows):
                to[i] = at_T(source, i * across + j * SIZE)[0]


def begin_sums(record, args, target, channel, many, places):
    """Sums of a panel begin with the bias of each channel, or with 0."""
    first = at_T(target, 0)
    for k in few(BLOCK):
        first[k] = T(0.0)
    if word(record, 27) != 0:
        bias = at_T(pointer_word(args, 5), channel * SIZE)
        for k in few(min(many, BLOCK)):
            first[k] = bias[k]
    for place in range(1, places):
        to = at_T(target, place * BLOCK * SIZE)
        for k in few(BLOCK):
            to[k] = first[k]


def low_of(remainder, padding, stride):
    """The first position of a plane's dimension that is one of the long side."""
    return quotient(max(0, padding - remainder) + stride - 1, stride)


def high_of(remainder, padding, stride, size, most):
    """The first position of a plane's dimension behind the long side."""
    return min(most, quotient(max(0, size - 1 + padding - remainder + stride), stride))


def add_row(record, vectors, width, out, down, base, table, weights, terms):
    """Terms added to so many vectors of so many neighbouring numbers: by ``rows_kernel``."""
    given = stack(64)
    set_word(given, 0, vectors)
    set_word(given, 1, width)
    set_word(given, 2, out)
    set_word(given, 3, down)
    set_word(given, 4, base)
    set_word(given, 5, table)
    set_word(given, 6, weights)
    set_word(given, 7, terms)
    run_kernel(word(record, 42), 0, 1, given)


def put_lines(record, plane, source, target, many, low, high, z0, y0, span, x0, wide):
    """Lines of a plane, of so many channels, to where they are on the long side."""
    rows, columns, length = word(record, 4), word(record, 5), word(record, 6)
    down, step = word(record, 14), word(record, 15)
    left = x0 * step + plane_word(record, plane, 2) - word(record, 18)
    for c in range(many):
        for line in range(low, high):
            z = quotient(line, span)
            above = (z0 + z) * word(record, 13) + plane_word(record, plane, 0) - word(record, 16)
            beside = (y0 + line - z * span) * down + plane_word(record, plane, 1) - word(record, 17)
            here = at_T(source, 0)
            there = at_T(target, (((c * rows + above) * columns + beside) * length + left) * SIZE)
            for k in one_by_one(wide):
                there[k * step] = here[k]
            source += wide * SIZE


def band_of(record, lines, wide):
    """How many lines are computed at a time: about as many as each other, of so many places as the record says, or one."""
    most = max(1, quotient(word(record, 21), max(wide, 1)))
    bands = max(1, quotient(lines + most - 1, most))
    return max(1, quotient(lines + bands - 1, bands))
'''
ADD_TAPS = '''def add_taps(record, vectors, sums, given, lying, table, places):
    """Products of places, added to the sums of a panel: of all channels and taps."""
    channels, taps, pitch = word(record, 1), word(record, 3), word(record, 25) * SIZE
    tall, width = word(record, 5) + 2 * word(record, 17), word(record, 6) + 2 * word(record, 18)
    pieces = quotient(channels + MOST_ROWS - 1, MOST_ROWS)
    c = 0
    for piece in range(pieces):
        count = quotient(channels - c + pieces - piece - 1, pieces - piece)
        tap = 0
        for z in range(word(record, 35)):
            for y in range(word(record, 36)):
                for x in range(word(record, 37)):
                    above = (z * word(record, 38) * tall + y * word(record, 39)) * width + x * word(record, 40)
                    to = sums + (c * taps + tap) * BLOCK * SIZE
                    add_row(record, vectors, count, to, taps * BLOCK * SIZE, lying + above * pitch + c * SIZE, table, given, places)
                    tap += 1
        c += count
'''
FORWARD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    groups, channels, heads, taps = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    parts, depth, panels = word(record, 24), word(record, 33), word(record, 34)
    deep, high, wide = word(record, 7), word(record, 8), word(record, 9)
    tall, width = word(record, 11), word(record, 12)
    block = (word(record, 19) * word(record, 20) + 16) * SIZE
    own = word(record, 4) * word(record, 5) * word(record, 6) * SIZE
    lines, places = deep * high, deep * high * wide
    band = band_of(record, lines, wide)
    as_it_lies = word(record, 29)
    distance = own if as_it_lies != 0 else block
    for unit in range(start, stop):
        memory = pointer_word(args, 2) + unit * word(record, 26)
        sums, planes = memory + word(record, 31), memory + word(record, 32)
        for c in range(depth):
            for t in one_by_one(taps):
                shift = word(record, TABLES + 2 * t) * word(record, 20) + word(record, TABLES + 2 * t + 1)
                set_word(memory, 2 * (c * taps + t), c * distance + shift * SIZE)
                set_word(memory, 2 * (c * taps + t) + 1, (c * taps + t) * BLOCK * SIZE)
        if as_it_lies == 0:
            clear(planes, channels * quotient(block, SIZE))
        first_item = unit * word(record, 23)
        for item in range(first_item, min(first_item + word(record, 23), word(record, 22))):
            image = item // parts
            part = item - image * parts
            group = image % groups
            base = pointer_word(args, 3) + image * channels * own
            if as_it_lies == 0:
                if (item == first_item) | (part == 0):
                    for c in range(channels):
                        spread(record, base + c * own, planes + c * block)
                base = planes
            share = (panels + parts - 1) // parts
            last = min(panels, (part + 1) * share)
            for low in range(0, lines, band):
                some = min(band, lines - low) * wide
                for panel in range(part * share, last):
                    to = sums + panel * band * wide * BLOCK * SIZE
                    begin_sums(record, args, to, group * heads + panel * BLOCK, heads - panel * BLOCK, some)
                for c in range(0, channels, depth):
                    terms = min(depth, channels - c) * taps
                    for panel in range(part * share, last):
                        weights = pointer_word(args, 4) + ((group * panels + panel) * channels + c) * taps * BLOCK * SIZE
                        vectors = 2 if heads - panel * BLOCK > LANES else 1
                        to = sums + panel * band * wide * BLOCK * SIZE
                        for line in range(low, min(low + band, lines)):
                            row = base + c * distance + (line + quotient(line, high) * (tall - high)) * width * SIZE
                            add_row(record, vectors, wide, to, BLOCK * SIZE, row, memory, weights, terms)
                            to += wide * BLOCK * SIZE
                for panel in range(part * share, last):
                    to = pointer_word(args, 1) + ((image * heads + panel * BLOCK) * places + low * wide) * SIZE
                    source = sums + panel * band * wide * BLOCK * SIZE
                    transposed(to, places * SIZE, source, BLOCK * SIZE, some, min(BLOCK, heads - panel * BLOCK))
"""
TRANSPOSED = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    groups, channels, heads, taps = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    parts, depth, panels = word(record, 24), word(record, 33), word(record, 34)
    rows, columns, length = word(record, 4), word(record, 5), word(record, 6)
    own = rows * columns * length
    size = word(record, 7) * word(record, 8) * word(record, 9) * SIZE
    tall, width = word(record, 11), word(record, 12)
    deeper, down, step = word(record, 13), word(record, 14), word(record, 15)
    planes, before = word(record, 19), word(record, 28)
    distance = (before + word(record, 20)) * SIZE
    listed = record + 8 * (TABLES + 2 * taps + 7 * planes)
    for unit in range(start, stop):
        memory = pointer_word(args, 2) + unit * word(record, 26)
        sums, given, turned = memory + word(record, 31), memory + word(record, 32), memory + word(record, 41)
        for plane in range(planes):
            begin, many_taps = plane_word(record, plane, 3), plane_word(record, plane, 4)
            for o in range(depth):
                for t in one_by_one(many_taps):
                    tap = word(listed, begin + t)
                    at = 2 * (begin * depth + o * many_taps + t)
                    set_word(memory, at, o * distance - word(record, TABLES + 2 * tap + 1) * SIZE)
                    set_word(memory, at + 1, (o * taps + tap) * BLOCK * SIZE)
        clear(given, heads * quotient(distance, SIZE) + 16)
        first_item = unit * word(record, 23)
        for item in range(first_item, min(first_item + word(record, 23), word(record, 22))):
            image = item // parts
            part = item - image * parts
            group = image % groups
            if (item == first_item) | (part == 0):
                for o in range(heads):
                    embed(record, pointer_word(args, 3) + (image * heads + o) * size, given + o * distance + before * SIZE)
            share = (panels + parts - 1) // parts
            last = min(panels, (part + 1) * share)
            out = pointer_word(args, 1) + image * channels * own * SIZE
            if word(record, 30) != 0:
                for c in range(min(part * share * BLOCK, channels), min(last * BLOCK, channels)):
                    value = first_number(record, args, group * channels + c)
                    to_all = at_T(out, c * own * SIZE)
                    for k in range(own):
                        to_all[k] = value
            for plane in range(planes):
                i, h, k = plane_word(record, plane, 0), plane_word(record, plane, 1), plane_word(record, plane, 2)
                z0, z1 = low_of(i, word(record, 16), deeper), high_of(i, word(record, 16), deeper, rows, word(record, 10))
                y0, y1 = low_of(h, word(record, 17), down), high_of(h, word(record, 17), down, columns, tall)
                x0, x1 = low_of(k, word(record, 18), step), high_of(k, word(record, 18), step, length, width)
                wide, span = max(x1 - x0, 0), max(y1 - y0, 0)
                lines = max(z1 - z0, 0) * span if wide > 0 else 0
                band = band_of(record, lines, wide)
                table = memory + 16 * plane_word(record, plane, 3) * depth
                many_taps = plane_word(record, plane, 4)
                for low in range(0, lines, band):
                    high = min(low + band, lines)
                    some = (high - low) * wide
                    for panel in range(part * share, last):
                        to = sums + panel * band * wide * BLOCK * SIZE
                        begin_sums(record, args, to, group * channels + panel * BLOCK, channels - panel * BLOCK, some)
                    for o in range(0, heads, depth):
                        terms = min(depth, heads - o) * many_taps
                        for panel in range(part * share, last):
                            weights = pointer_word(args, 4) + ((group * panels + panel) * heads + o) * taps * BLOCK * SIZE
                            vectors = 2 if channels - panel * BLOCK > LANES else 1
                            to = sums + panel * band * wide * BLOCK * SIZE
                            for line in range(low, high):
                                z = quotient(line, span)
                                at = ((z0 + z) * tall + y0 + line - z * span) * width + x0
                                row = given + o * distance + (before + at) * SIZE
                                add_row(record, vectors, wide, to, BLOCK * SIZE, row, table, weights, terms)
                                to += wide * BLOCK * SIZE
                    for panel in range(part * share, last):
                        source = sums + panel * band * wide * BLOCK * SIZE
                        many = min(BLOCK, channels - panel * BLOCK)
                        to = out + panel * BLOCK * own * SIZE
                        if lines * wide == own:
                            transposed(to + low * wide * SIZE, own * SIZE, source, BLOCK * SIZE, some, many)
                        else:
                            transposed(turned, some * SIZE, source, BLOCK * SIZE, some, many)
                            put_lines(record, plane, turned, to, many, low, high, z0, y0, span, x0, wide)
"""
WEIGHT = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    groups, channels, heads, taps = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    parts, together, panels = word(record, 24), word(record, 33), word(record, 34)
    share = (panels + parts - 1) // parts
    rows, columns, length = word(record, 4), word(record, 5), word(record, 6)
    deep, high, wide = word(record, 7), word(record, 8), word(record, 9)
    tall, width = columns + 2 * word(record, 17), length + 2 * word(record, 18)  # with the padding
    own, places = rows * columns * length * SIZE, deep * high * wide
    pitch = word(record, 25) * SIZE
    image_size = (rows + 2 * word(record, 16)) * tall * width * pitch
    terms = channels * taps
    for unit in range(start, stop):
        memory = pointer_word(args, 2) + unit * word(record, 26)
        sums, given, lying = memory + word(record, 31), memory + word(record, 32), memory + word(record, 41)
        for i in range(together):
            for z in range(deep):
                for y in range(high):
                    for x in one_by_one(wide):
                        place = ((i * deep + z) * high + y) * wide + x
                        above = (z * word(record, 13) * tall + y * word(record, 14)) * width + x * word(record, 15)
                        set_word(memory, 2 * place, i * image_size + above * pitch)
                        set_word(memory, 2 * place + 1, place * BLOCK * SIZE)
        images = unit // parts
        first_panel = (unit - images * parts) * share
        last_panel = min(first_panel + share, panels)
        clear(sums, groups * share * terms * BLOCK)
        clear(given, share * together * places * BLOCK)
        clear(lying, together * quotient(image_size, SIZE))
        first_item = images * word(record, 23)
        last_item = min(first_item + word(record, 23), word(record, 22))
        for image in range(first_item, last_item, together):
            many = min(together, last_item - image)
            group = image % groups
            for i in range(many):
                source = pointer_word(args, 3) + (image + i) * channels * own
                for z in range(rows):
                    for y in range(columns):
                        place = ((z + word(record, 16)) * tall + y + word(record, 17)) * width + word(record, 18)
                        to = lying + i * image_size + place * pitch
                        transposed(to, pitch, source + (z * columns + y) * length * SIZE, own, channels, length)
                for panel in range(first_panel, last_panel):
                    to = given + ((panel - first_panel) * together + i) * places * BLOCK * SIZE
                    source = pointer_word(args, 4) + ((image + i) * heads + panel * BLOCK) * places * SIZE
                    transposed(to, BLOCK * SIZE, source, places * SIZE, min(BLOCK, heads - panel * BLOCK), places)
            for low in range(0, many * places, word(record, 21)):
                some = min(word(record, 21), many * places - low)
                for panel in range(first_panel, last_panel):
                    vectors = 2 if heads - panel * BLOCK > LANES else 1
                    own_given = given + (panel - first_panel) * together * places * BLOCK * SIZE
                    own_sums = sums + (group * share + panel - first_panel) * terms * BLOCK * SIZE
                    add_taps(record, vectors, own_sums, own_given, lying, memory + 16 * low, some)
        total = pointer_word(args, 1) + images * groups * heads * terms * SIZE
        for group in range(groups):
            for panel in range(first_panel, last_panel):
                to = total + (group * heads + panel * BLOCK) * terms * SIZE
                source = sums + (group * share + panel - first_panel) * terms * BLOCK * SIZE
                transposed(to, terms * SIZE, source, BLOCK * SIZE, terms, min(BLOCK, heads - panel * BLOCK))
"""
# A unit is a panel; the record: channels of a group that vectors have, panels of a group, blocks of a panel and columns of a block,
# then elements between lines, between blocks and between groups.
PANELS = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    side, panels, blocks, columns = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    for unit in range(start, stop):
        group = unit // panels
        first = (unit - group * panels) * BLOCK
        many = min(BLOCK, side - first)
        target = pointer_word(args, 1) + unit * blocks * columns * BLOCK * SIZE
        source = pointer_word(args, 2) + (group * word(record, 6) + first * word(record, 4)) * SIZE
        if many < BLOCK:
            clear(target, blocks * columns * BLOCK)
        for block in range(blocks):
            to = target + block * columns * BLOCK * SIZE
            transposed(to, BLOCK * SIZE, source + block * word(record, 5) * SIZE, word(record, 4) * SIZE, many, columns)
"""
TEXTS = {"convolve": FORWARD, "convolve_transposed": TRANSPOSED, "convolve_weight": WEIGHT}
CALLED = {
    "convolve": ("plane_word", "spread", "begin_sums", "band_of", "add_row"),
    "convolve_transposed": (
        "plane_word",
        "embed",
        "first_number",
        "begin_sums",
        "low_of",
        "high_of",
        "put_lines",
        "band_of",
        "add_row",
    ),
    "convolve_weight": ("add_taps", "add_row"),
}


@cache
def panel_convolution_kernel(which: str, dtype: str, step: int) -> tuple[Callable, tuple]:
    """``convolve``, ``convolve_transposed``, ``convolve_weight`` by panels for a real dtype, and what its Program binds.

    Args:
        step: the stride along rows, 3 for all from there on; the transpose and sums of weights have one kernel for all.
    """
    text = helpers_of(step, TABLES) + HELPERS + ADD_TAPS + TEXTS[which].replace("TABLES", str(TABLES))
    names = ("transposed", "clear", *CALLED[which])
    kernel, *helpers = late_text(in_panels(text, dtype), f"{which} by panels {dtype} {step}", {}, "kernel", *names)
    return kernel, tuple(zip(names, helpers))


@cache
def panels_kernel(dtype: str) -> tuple[Callable, tuple]:
    """The kernel that writes weights as panels, and what its Program binds."""
    text = in_panels(helpers_of(1, TABLES) + HELPERS + PANELS, dtype)
    kernel, *helpers = late_text(text, f"panels {dtype}", {}, "kernel", "transposed", "clear")
    return kernel, tuple(zip(("transposed", "clear"), helpers))
