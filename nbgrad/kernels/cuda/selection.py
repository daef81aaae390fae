"""Kernels that find the first few elements of lines of integer keys without sorting the lines.

NOTE [Selection]: the key at a place of a line's order is found byte by byte, from the highest on. Blocks count how often each byte
comes among the elements whose bytes above are those found already (``count_candidates``), and add it to the line's counts, of
which follow the next byte, and how many places are left among the elements that have it (``choose_byte``). In the end the key is
known, and how many of its equals belong to the first few: the ones that come first. Counts of lesser and of equal elements, two in
a word, give each of them its place (``count_first``, ``take_first``): in the order of the line, not yet in that of keys. Places
follow from counts alone, whatever the order in which these were added up.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from .access import Access
from .sorting import BYTES, PLACE_IN_LINE, SCANNED, byte_of, scanned_lines
from .templates import BLOCK, WARPS, Template, compile_template, indent

__all__ = ["BLOCKS", "PART", "choose_byte", "count_candidates", "count_first", "take_first", "through"]

BLOCKS = 1024  # that work on all lines together, about
PART = BLOCK * SCANNED  # elements that a block sees at once
HALF = (1 << 32) - 1


@cache
def count_candidates(key: str) -> Template:
    """counts[line, byte] += how many elements of a block's share, whose higher bytes are those of ``found``, have a byte.

    Pointers: counts, keys, found keys of lines. Integer parameters: ``n`` elements of a line, ``tiles``: its blocks, ``share`` of a
    block in PARTs, ``shift`` to the byte, ``flip`` (128 for the byte with the sign), ``first``: whether nothing is found yet.
    Grid: lines x tiles, in one row.
    """
    load, change = Access("load", key, exact=True), Access("add", "int32")
    name = f"count_candidates_{key}"
    loads = [f"key_{k} = {load.name}(keys, line * n + min(at + {k * BLOCK}, n - 1))" for k in range(SCANNED)]
    added = [
        line
        for k in range(SCANNED)
        for line in (
            f"if at + {k * BLOCK} < n and (first != 0 or (((key_{k} ^ prefix) >> shift) >> 8) == 0):",
            f"    {change.name}(found, {byte_of(key, f'key_{k}')}, 1)",
        )
    ]
    function = compile_template(
        name,
        f"""
def NAME(counts, keys, prefixes, n, tiles, share, shift, flip, first):
    found = cuda.shared.array({BYTES}, STATE0)
    {indent(4, PLACE_IN_LINE)}
    found[thread] = 0
    cuda.syncthreads()
    prefix = 0
    if first == 0:
        prefix = {load.name}(prefixes, line)
    for s in range(share):
        at = (tile * share + s) * {PART} + thread
        {indent(8, loads)}
        {indent(8, added)}
    cuda.syncthreads()
    total = found[thread]
    if total > 0:
        {change.name}(counts, line * {BYTES} + thread, total)
""",
    )
    return Template(name, function, ("int32", key, key), 0, frozenset((load, change)), Counter([load]), 64, ("int32",))


@cache
def choose_byte(key: str) -> Template:
    """The next byte of each line's key, and which of the elements that have it is meant, counted from 1.

    Pointers: found keys, places left, counts. Integer parameters: ``shift``, ``flip``, ``first``, ``base`` (the bits of all keys
    above those that they differ in), ``place``: which element of a line's order is looked for, counted from 1. Grid: a block a
    line.
    """
    load, store, count = Access("load", key, exact=True), Access("store", key, exact=True), Access("load", "int32", exact=True)
    load_left, store_left = Access("load", "int64", exact=True), Access("store", "int64", exact=True)
    name = f"choose_byte_{key}"
    function = compile_template(
        name,
        f"""
def NAME(found, left, counts, shift, flip, first, base, place):
    sums = cuda.shared.array({WARPS}, STATE0)
    thread = cuda.threadIdx.x
    line = cuda.blockIdx.x
    prefix = base
    wanted = place
    if first == 0:
        prefix = {load.name}(found, line)
        wanted = {load_left.name}(left, line)
    total = {count.name}(counts, line * {BYTES} + thread)
    {indent(4, scanned_lines())}
    if before < wanted and wanted <= before + total:
        {store.name}(found, line, prefix | ((thread - flip) << shift))  # the highest byte with its sign
        {store_left.name}(left, line, wanted - before)
""",
    )
    accesses = frozenset((load, store, count, load_left, store_left))
    return Template(name, function, (key, "int64", "int32"), 0, accesses, Counter([count]), 64, ("int64",))


def counted_lines(load: str, at: str) -> list[str]:
    """Lines that make ``c`` of an element: 1 if its key is less than ``key``, 1 in the upper half if it is the same."""
    return [
        f"own = {load}(keys, line * n + min({at}, n - 1))",
        f"c = where_index({at} < n, where_index(own < key, 1, where_index(own == key, 1 << 32, 0)), 0)",
    ]


SHARE_OF_LINE = (f"sums = cuda.shared.array({WARPS}, STATE0)", *PLACE_IN_LINE)


@cache
def count_first(key: str) -> Template:
    """counts[line, block] = how many elements of a block's share have a lesser key than the found one; in the upper half the same.

    Pointers: counts, keys, found keys. Integer parameters: ``n``, ``tiles``, ``share``. Grid: lines x tiles, in one row.
    """
    load, store = Access("load", key, exact=True), Access("store", "int64", exact=True)
    name = f"count_first_{key}"
    counted = [line for k in range(SCANNED) for line in (*counted_lines(load.name, f"at + {k * BLOCK}"), "total += c")]
    function = compile_template(
        name,
        f"""
def NAME(counts, keys, found, n, tiles, share):
    {indent(4, SHARE_OF_LINE)}
    key = {load.name}(found, line)
    total = 0
    for s in range(share):
        at = (tile * share + s) * {PART} + thread
        {indent(8, counted)}
    {indent(4, scanned_lines())}
    if thread == 0:
        {store.name}(counts, cuda.blockIdx.x, whole)
""",
    )
    return Template(name, function, ("int64", key, key), 0, frozenset((load, store)), Counter([load]), 64, ("int64",))


@cache
def take_first(key: str) -> Template:
    """The first ``place`` elements of each line's order: their keys, and where they are; lesser ones first, in the line's order.

    Blocks whose share has none of them read no keys.

    Pointers: keys of results, places, keys, found keys, places left, sums of the counts before each block's. Integer parameters:
    ``n``, ``tiles``, ``share``, ``place``. Grid: lines x tiles, in one row.
    """
    load, store = Access("load", key, exact=True), Access("store", key, exact=True)
    count, store_place = Access("load", "int64", exact=True), Access("store", "int64", exact=True)
    name = f"take_first_{key}"
    function = compile_template(
        name,
        f"""
def NAME(taken, places, keys, found, left, starts, n, tiles, share, place):
    {indent(4, SHARE_OF_LINE)}
    key = {load.name}(found, line)
    equals = {count.name}(left, line)
    start = {count.name}(starts, line * tiles + tile)
    base = start - {count.name}(starts, line * tiles)
    parts = where_index({count.name}(starts, line * tiles + tile + 1) == start, 0, share)
    for s in range(parts):
        for k in range({SCANNED}):
            i = ((tile * share + s) * {SCANNED} + k) * {BLOCK} + thread
            {indent(12, counted_lines(load.name, "i"))}
            total = c
            {indent(12, scanned_lines())}
            rank = base + before
            to = where_index(c == 1, rank & {HALF}, place - equals + (rank >> 32))
            if c == 1 or (c != 0 and (rank >> 32) < equals):
                {store.name}(taken, line * place + to, own)
                {store_place.name}(places, line * place + to, i)
            base += whole
            cuda.syncthreads()
""",
    )
    pointers = (key, "int64", key, key, "int64", "int64")
    return Template(name, function, pointers, 0, frozenset((load, store, count, store_place)), Counter([load]), 64, ("int64",))


@cache
def through() -> Template:
    """out[line, k] = places[line, order[line, k]], all of int64. Integer parameters: ``n`` results, ``width`` of a line."""
    load, store = Access("load", "int64", exact=True), Access("store", "int64", exact=True)
    function = compile_template(
        "through",
        f"""
def NAME(out0, places, order, n, width):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        line = i // width
        {store.name}(out0, i, {load.name}(places, line * width + {load.name}(order, i)))
""",
    )
    return Template("through", function, ("int64",) * 3, 0, frozenset((load, store)), Counter([load, store]), 64)
