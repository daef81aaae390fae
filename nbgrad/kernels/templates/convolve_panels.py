"""Convolutions of many channels: channels side by side in vectors, numbers of images spread over them; text for a dtype, CPU.

NOTE [Panels]: a vector has neighbouring channels of one side, and a sum over terms is made of outer products, of some numbers that
lie side by side and of two vectors (``outer_tile_T`` of ``cpu/tiles.py``). So rows of images may be of any length without a rest,
which tiles of NOTE [Planes] fill with places between the rows, and no vector crosses a line of the cache. What gives the vectors is
written as *panels* first, of ``BLOCK`` channels each (two vectors), with zeros behind the last channel:

- of the convolution, weights ``[panel][channel, tap][head]``; numbers are of a row of a plane (NOTE [Planes]);
- of the transpose, weights ``[panel][head, tap][channel]``; numbers are of a row of the short side among zeros;
- of sums of weights, the short side ``[panel][place][head]``; numbers are channels of the long side, which is written with its
  channels last, among its padding, in an odd number of lines of the cache each, as an even one would find few places there; the
  places of several small images follow one another.

Sums are ``[panel][place or weight][channel of a panel]``, and are turned in the end. Of the convolution and its transpose, terms are
added by as many channels at a time as have their numbers and weights in the nearest cache.

The record: words 0 to 32 as in NOTE [Planes], but 25 elements from place to place of the long side with its channels last, and of
sums of weights 24 into how many parts panels are divided; then 33 how many channels terms are added of at a time, or images, 34 panels of a group,
35-37 sizes of the kernel, 38-40 dilation, 41 where in a unit's memory turned rows begin (bytes); tables begin at 42.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..cpu.tiles import most_rows
from ..texts import late_text
from .convolve import helpers_of
from .tiles import in_panels

__all__ = ["TABLES", "panel_convolution_kernel", "panels_kernel"]

TABLES = 42  # the word of a record at which tables begin

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
    places = deep * high * wide
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
            for panel in range(part * share, last):
                left = heads - panel * BLOCK
                begin_sums(record, args, sums + panel * places * BLOCK * SIZE, group * heads + panel * BLOCK, left, places)
            for c in range(0, channels, depth):
                terms = min(depth, channels - c) * taps
                for panel in range(part * share, last):
                    weights = pointer_word(args, 4) + ((group * panels + panel) * channels + c) * taps * BLOCK * SIZE
                    vectors = 2 if heads - panel * BLOCK > LANES else 1
                    to = sums + panel * places * BLOCK * SIZE
                    for z in range(deep):
                        for y in range(high):
                            row = base + c * distance + (z * tall + y) * width * SIZE
                            add_row(vectors, wide, to, BLOCK * SIZE, row, memory, weights, terms)
                            to += wide * BLOCK * SIZE
            for panel in range(part * share, last):
                to = pointer_word(args, 1) + (image * heads + panel * BLOCK) * places * SIZE
                many = min(BLOCK, heads - panel * BLOCK)
                transposed(to, places * SIZE, sums + panel * places * BLOCK * SIZE, BLOCK * SIZE, places, many)
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
        sums, lines, turned = memory + word(record, 31), memory + word(record, 32), memory + word(record, 41)
        for plane in range(planes):
            begin, many_taps = plane_word(record, plane, 3), plane_word(record, plane, 4)
            for o in range(depth):
                for t in one_by_one(many_taps):
                    tap = word(listed, begin + t)
                    at = 2 * (begin * depth + o * many_taps + t)
                    set_word(memory, at, o * distance - word(record, TABLES + 2 * tap + 1) * SIZE)
                    set_word(memory, at + 1, (o * taps + tap) * BLOCK * SIZE)
        clear(lines, heads * quotient(distance, SIZE) + 16)
        first_item = unit * word(record, 23)
        for item in range(first_item, min(first_item + word(record, 23), word(record, 22))):
            image = item // parts
            part = item - image * parts
            group = image % groups
            if (item == first_item) | (part == 0):
                for o in range(heads):
                    embed(record, pointer_word(args, 3) + (image * heads + o) * size, lines + o * distance + before * SIZE)
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
                wide = max(x1 - x0, 0)
                places = max(z1 - z0, 0) * max(y1 - y0, 0) * wide
                if places > 0:
                    table = memory + 16 * plane_word(record, plane, 3) * depth
                    many_taps = plane_word(record, plane, 4)
                    for panel in range(part * share, last):
                        to = sums + panel * places * BLOCK * SIZE
                        begin_sums(record, args, to, group * channels + panel * BLOCK, channels - panel * BLOCK, places)
                    for o in range(0, heads, depth):
                        terms = min(depth, heads - o) * many_taps
                        for panel in range(part * share, last):
                            weights = pointer_word(args, 4) + ((group * panels + panel) * heads + o) * taps * BLOCK * SIZE
                            vectors = 2 if channels - panel * BLOCK > LANES else 1
                            to = sums + panel * places * BLOCK * SIZE
                            for z in range(z0, z1):
                                for y in range(y0, y1):
                                    row = lines + o * distance + (before + (z * tall + y) * width + x0) * SIZE
                                    add_row(vectors, wide, to, BLOCK * SIZE, row, table, weights, terms)
                                    to += wide * BLOCK * SIZE
                    for panel in range(part * share, last):
                        source = sums + panel * places * BLOCK * SIZE
                        many = min(BLOCK, channels - panel * BLOCK)
                        to = out + panel * BLOCK * own * SIZE
                        if places == own:
                            transposed(to, own * SIZE, source, BLOCK * SIZE, places, many)
                        else:
                            transposed(turned, places * SIZE, source, BLOCK * SIZE, places, many)
                            for c in range(many):
                                line = turned + c * places * SIZE
                                for z in range(z0, z1):
                                    for y in range(y0, y1):
                                        above = (z * deeper + i - word(record, 16)) * columns + y * down + h - word(record, 17)
                                        first = above * length + x0 * step + k - word(record, 18)
                                        here, there = at_T(line, 0), at_T(to, (c * own + first) * SIZE)
                                        for q in one_by_one(wide):
                                            there[q * step] = here[q]
                                        line += wide * SIZE
"""
WEIGHT = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    groups, channels, heads, taps = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    parts, together, panels = word(record, 24), word(record, 33), word(record, 34)
    share = (panels + parts - 1) // parts
    rows, columns, length = word(record, 4), word(record, 5), word(record, 6)
    deep, high, wide = word(record, 7), word(record, 8), word(record, 9)
    tall, width = columns + 2 * word(record, 17), length + 2 * word(record, 18)
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
            for panel in range(first_panel, last_panel):
                vectors = 2 if heads - panel * BLOCK > LANES else 1
                own_given = given + (panel - first_panel) * together * places * BLOCK * SIZE
                own_sums = sums + (group * share + panel - first_panel) * terms * BLOCK * SIZE
                pieces = quotient(channels + MOST_ROWS - 1, MOST_ROWS)
                c = 0
                for piece in range(pieces):
                    count = quotient(channels - c + pieces - piece - 1, pieces - piece)
                    for kz in range(word(record, 35)):
                        for ky in range(word(record, 36)):
                            for kx in range(word(record, 37)):
                                above = (kz * word(record, 38) * tall + ky * word(record, 39)) * width + kx * word(record, 40)
                                tap = (kz * word(record, 36) + ky) * word(record, 37) + kx
                                to = own_sums + (c * taps + tap) * BLOCK * SIZE
                                row = lying + above * pitch + c * SIZE
                                add_row(vectors, count, to, taps * BLOCK * SIZE, row, memory, own_given, many * places)
                    c += count
        total = pointer_word(args, 1) + images * groups * heads * terms * SIZE
        for group in range(groups):
            for panel in range(first_panel, last_panel):
                to = total + (group * heads + panel * BLOCK) * terms * SIZE
                source = sums + (group * share + panel - first_panel) * terms * BLOCK * SIZE
                transposed(to, terms * SIZE, source, BLOCK * SIZE, terms, min(BLOCK, heads - panel * BLOCK))
"""
# A unit is a panel; the record: channels of a vector's side of a group, panels of a group, blocks of a panel and columns of a block,
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
    "convolve": ("plane_word", "spread", "begin_sums", "add_row"),
    "convolve_transposed": ("plane_word", "embed", "first_number", "begin_sums", "low_of", "high_of", "add_row"),
    "convolve_weight": ("add_row",),
}


def adding() -> str:
    """The text of what adds terms to a row of any length, by outer tiles whose rows are as many as each other, or one less."""
    lines = [
        "def add_row(vectors, width, out, down, base, table, weights, terms):",
        '    """Terms added to so many vectors of so many neighbouring numbers."""',
        "    pieces = quotient(width + MOST_ROWS - 1, MOST_ROWS)",
        "    x = 0",
        "    for piece in range(pieces):",
        "        count = quotient(width - x + pieces - piece - 1, pieces - piece)",
        "        to, row = out + x * down, base + x * SIZE",
    ]
    for vectors in (2, 1):
        lines.append(f"        {'if' if vectors == 2 else 'elif'} vectors == {vectors}:")
        for count in range(most_rows(), 0, -1):
            lines.append(f"            {'if' if count == most_rows() else 'elif'} count == {count}:")
            lines.append(f"                outer_tile_T({count}, {vectors}, to, down, row, table, weights, terms)")
    return "\n".join([*lines, "        x += count"]) + "\n"


@cache
def panel_convolution_kernel(which: str, dtype: str, step: int) -> tuple[Callable, tuple]:
    """``convolve``, ``convolve_transposed``, ``convolve_weight`` by panels for a real dtype, and what its Program binds.

    Args:
        step: the stride along rows, 3 for all from there on; the transpose and sums of weights have one kernel for all.
    """
    text = helpers_of(step, TABLES) + HELPERS + adding() + TEXTS[which].replace("TABLES", str(TABLES))
    names = ("transposed", "clear", *CALLED[which])
    kernel, *helpers = late_text(in_panels(text, dtype), f"{which} by panels {dtype} {step}", {}, "kernel", *names)
    return kernel, tuple(zip(names, helpers))


@cache
def panels_kernel(dtype: str) -> tuple[Callable, tuple]:
    """The kernel that writes weights as panels, and what its Program binds."""
    text = in_panels(helpers_of(1, TABLES) + HELPERS + PANELS, dtype)
    kernel, *helpers = late_text(text, f"panels {dtype}", {}, "kernel", "transposed", "clear")
    return kernel, tuple(zip(("transposed", "clear"), helpers))
