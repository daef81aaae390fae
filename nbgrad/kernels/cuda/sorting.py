"""Kernels that sort lines of integer keys, stably: short lines in shared memory, long ones by eight bits at a time.

NOTE [Radix passes]: a pass orders lines by one byte of their keys and keeps what was equal in its order. Tiles of a line count how
often each byte comes (``count_bytes``); the sums of all counts before a tile's, over lines, bytes and tiles in this order, are the
places at which its elements of each byte begin (``scan_sums``, ``scan_tiles``); then every element moves (``move_bytes``). There
are no atomics: places follow from counts alone.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from .access import Access
from .templates import BLOCK, WARP, WARPS, Template, ceil_div, compile_template, indent

__all__ = [
    "BYTES",
    "CAPACITY",
    "GREATEST",
    "PLACE_IN_LINE",
    "SCANNED",
    "TILE",
    "TILE_OF_BYTES",
    "count_bytes",
    "move_bytes",
    "scan_sums",
    "scan_tiles",
    "scanned_lines",
    "sort_lines",
    "tiles_of",
    "tile_sums",
]

CAPACITY = 2048  # elements that a block sorts in shared memory
STEPS = 8  # in which a warp reads its part of a tile, 32 neighbours at a time
TILE = BLOCK * STEPS
BYTES = 256
GREATEST = {"int32": 2**31 - 1, "int64": 2**63 - 1}  # keys, behind which there is none
SCANNED = 8  # neighbours that a thread of a scan adds up


def tiles_of(n: int) -> int:
    """Tiles of a line."""
    return ceil_div(n, TILE)


@cache
def sort_lines(key: str, order: str, keeps: bool) -> Template:
    """order[line, :] = the stable order of keys[line, :]: several lines a block.

    Args:
        order: dtype of the result. keeps: whether a second result gets the sorted keys.

    A bitonic network over pairs of key and place, of which no two are equal. Integer parameters: ``lines``, ``n`` elements of a
    line, ``width``, the power of 2 that holds them. Grid: a block for CAPACITY // width lines.
    """
    load, store, store_key = Access("load", key, exact=True), Access("store", order, exact=True), Access("store", key, exact=True)
    name = f"sort_lines_{key}_{order}{'_keys' * keeps}"
    kept = [f"{store_key.name}(sorted, line * n + at, keys_of[t])"] if keeps else []
    function = compile_template(
        name,
        f"""
def NAME(order, {"sorted, " * keeps}keys, lines, n, width):
    keys_of = cuda.shared.array({CAPACITY}, STATE0)
    places = cuda.shared.array({CAPACITY}, STATE1)
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * ({CAPACITY} // width)
    for t in range(thread, {CAPACITY}, {BLOCK}):
        line = first + t // width
        at = t & (width - 1)
        key = GREATEST
        if line < lines and at < n:
            key = {load.name}(keys, line * n + at)
        keys_of[t] = key
        places[t] = at
    cuda.syncthreads()
    size = 2
    while size <= width:
        distance = size >> 1
        while distance > 0:
            for t in range(thread, {CAPACITY // 2}, {BLOCK}):
                low = t & (distance - 1)
                i = ((t - low) << 1) + low
                j = i + distance
                a, b, p, q = keys_of[i], keys_of[j], places[i], places[j]
                later = (a > b) | ((a == b) & (p > q))
                falling = (i & (width - 1) & size) != 0
                if later != falling:
                    keys_of[i] = b
                    keys_of[j] = a
                    places[i] = q
                    places[j] = p
            cuda.syncthreads()
            distance = distance >> 1
        size = size << 1
    for t in range(thread, {CAPACITY}, {BLOCK}):
        line = first + t // width
        at = t & (width - 1)
        if line < lines and at < n:
            {store.name}(order, line * n + at, places[t])
            {indent(12, kept) or "pass"}
""",
    )
    accesses = frozenset((load, store, *([store_key] if keeps else [])))
    pointers = (order, key, key) if keeps else (order, key)
    return Template(name, function, pointers, 0, accesses, Counter([load, store]), 64, (key, "int32"))


# Where a thread is, of blocks that each have a tile of a line.
PLACE_IN_LINE = ("thread = cuda.threadIdx.x", "line = cuda.blockIdx.x // tiles", "tile = cuda.blockIdx.x - line * tiles")
# The same, and counts of each warp's bytes, which are 0.
TILE_OF_BYTES = (
    f"found = cuda.shared.array({WARPS * (BYTES + 1)}, STATE0)",
    *PLACE_IN_LINE,
    f"lane = thread % {WARP}",
    f"warp = thread // {WARP}",
    f"for t in range(thread, {WARPS * (BYTES + 1)}, {BLOCK}):",
    "    found[t] = 0",
    "cuda.syncthreads()",
)


def digit_lines(key: str) -> list[str]:
    """Lines that load the elements of a warp's step ``s`` and their byte; behind the line's end it is a byte that none has."""
    return [
        f"at = tile * {TILE} + warp * {WARP * STEPS} + s * {WARP} + lane",
        f"byte = {BYTES}",
        "if at < n:",
        f"    byte = (({Access('load', key, exact=True).name}(keys, line * n + at) >> shift) & 255) ^ flip",
        "peers = cuda.match_any(byte)",
        "before = cuda.popcount(peers & ((1 << lane) - 1))",
    ]


@cache
def count_bytes(key: str, counts: str = "int32") -> Template:
    """counts[line, byte, tile] = how many elements of a tile have a byte of their key.

    Args:
        counts: dtype of counts, and of the places that are made of them.

    Integer parameters: ``n`` elements of a line, ``tiles``, ``shift`` to the byte, ``flip`` (128 for the byte with the sign). Grid:
    lines x tiles, in one row.
    """
    load, store = Access("load", key, exact=True), Access("store", counts, exact=True)
    name = f"count_bytes_{key}_{counts}"
    function = compile_template(
        name,
        f"""
def NAME(counts, keys, n, tiles, shift, flip):
    {indent(4, TILE_OF_BYTES)}
    for s in range({STEPS}):
        {indent(8, digit_lines(key))}
        if before == 0:
            found[warp * {BYTES + 1} + byte] += cuda.popcount(peers)
        cuda.syncthreads()
    total = 0
    for w in range({WARPS}):
        total += found[w * {BYTES + 1} + thread]
    {store.name}(counts, (line * {BYTES} + thread) * tiles + tile, total)
""",
    )
    return Template(name, function, (counts, key), 0, frozenset((load, store)), Counter([load, store]), 64, ("int32",))


@cache
def move_bytes(key: str, source: str, order: str, keeps: bool, counts: str = "int32") -> Template:
    """Move the elements of a tile to where those of their byte are, in their order.

    Args:
        source: dtype of the places that keys come from; "" in the first pass: their own. order: that of those written. keeps:
            whether the keys are moved too.

    Pointers: order, moved keys, keys, places, starts. Integer parameters: those of ``count_bytes``. Starts are those of ``counts``.
    """
    load, start = Access("load", key, exact=True), Access("load", counts, exact=True)
    place, store = Access("load", source or "int32", exact=True), Access("store", order, exact=True)
    store_key = Access("store", key, exact=True)
    name = f"move_bytes_{key}_{source or 'first'}_{order}_{counts}{'_keys' * keeps}"
    own = f"{place.name}(places, line * n + at)" if source else "at"
    kept = [f"{store_key.name}(moved, to, {load.name}(keys, line * n + at))"] if keeps else []
    given = ["order", *["moved"] * keeps, "keys", *["places"] * bool(source), "starts"]
    steps = range(STEPS)
    ranks = [
        line
        for s in steps
        for line in [
            f"s = {s}",
            *digit_lines(key),
            f"byte_{s} = byte",
            f"rank_{s} = found[warp * {BYTES + 1} + byte] + before",
            "cuda.syncthreads()",
            "if before == 0:",
            f"    found[warp * {BYTES + 1} + byte] += cuda.popcount(peers)",
            "cuda.syncthreads()",
        ]
    ]
    moves = [
        line
        for s in steps
        for line in [
            f"at = tile * {TILE} + warp * {WARP * STEPS} + {s * WARP} + lane",
            "if at < n:",
            f"    to = found[warp * {BYTES + 1} + byte_{s}] + rank_{s}",
            f"    {store.name}(order, to, {own})",
            *("    " + each for each in kept),
        ]
    ]
    function = compile_template(
        name,
        f"""
def NAME({", ".join(given)}, n, tiles, shift, flip):
    {indent(4, TILE_OF_BYTES)}
    {indent(4, ranks)}
    total = {start.name}(starts, (line * {BYTES} + thread) * tiles + tile)
    for w in range({WARPS}):
        count = found[w * {BYTES + 1} + thread]
        found[w * {BYTES + 1} + thread] = total
        total += count
    cuda.syncthreads()
    {indent(4, moves)}
""",
    )
    pointers = (order, *[key] * keeps, key, *([source] if source else []), counts)
    accesses = {load, start, store, *([place] if source else []), *([store_key] if keeps else [])}
    return Template(name, function, pointers, 0, frozenset(accesses), Counter([load, store]), 64, (counts,))


# ---- sums of all before ------------------------------------------------------------------------------------------------


def scanned_lines() -> list[str]:
    """Lines that make of every thread's ``total`` the sum of those before it, ``before``, and of all, ``whole``; two arrays take
    turns.
    """
    lines = ["sums[thread] = total", "cuda.syncthreads()", "side = 0"]
    distance = 1
    while distance < BLOCK:
        lines += [
            f"value = sums[side * {BLOCK} + thread]",
            f"if thread >= {distance}:",
            f"    value += sums[side * {BLOCK} + thread - {distance}]",
            "side = 1 - side",
            f"sums[side * {BLOCK} + thread] = value",
            "cuda.syncthreads()",
        ]
        distance *= 2
    return [*lines, f"whole = sums[side * {BLOCK} + {BLOCK - 1}]", f"before = sums[side * {BLOCK} + thread] - total"]


@cache
def tile_sums(source: str, target: str) -> Template:
    """sums[tile] = the sum of scalar(x) over a tile of BLOCK * SCANNED neighbours. Integer parameters: ``n``."""
    load, store = Access("load", source), Access("store", target, exact=True)
    name = f"tile_sums_{source}_{target}"
    function = compile_template(
        name,
        f"""
def NAME(out0, x0, n):
    sums = cuda.shared.array({2 * BLOCK}, STATE0)
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * {BLOCK * SCANNED}
    total = 0
    for k in range({SCANNED}):
        i = first + k * {BLOCK} + thread
        if i < n:
            total += scalar({load.name}(x0, i))
    {indent(4, scanned_lines())}
    if thread == 0:
        {store.name}(out0, cuda.blockIdx.x, whole)
""",
    )
    return Template(name, function, (target, source), 0, frozenset((load, store)), Counter([load]), 64, (target,))


@cache
def scan_sums(dtype: str) -> Template:
    """Every sum replaced by that of all before it; behind them the whole: one block. Integer parameters: ``n``."""
    load, store = Access("load", dtype, exact=True), Access("store", dtype, exact=True)
    name = f"scan_sums_{dtype}"
    function = compile_template(
        name,
        f"""
def NAME(x0, n):
    sums = cuda.shared.array({2 * BLOCK}, STATE0)
    thread = cuda.threadIdx.x
    carried = 0
    for first in range(0, n, {BLOCK}):
        i = first + thread
        total = 0
        if i < n:
            total = {load.name}(x0, i)
        {indent(8, scanned_lines())}
        if i < n:
            {store.name}(x0, i, carried + before)
        carried += whole
        cuda.syncthreads()
    if thread == 0:
        {store.name}(x0, n, carried)
""",
    )
    return Template(name, function, (dtype,), 0, frozenset((load, store)), Counter([load, store]), 64, (dtype,))


@cache
def scan_tiles(source: str, target: str) -> Template:
    """out[i] = the sum of scalar(x) over all before i, of which ``tile_sums`` and ``scan_sums`` have made those before each tile;
    behind them the sum of all.

    Integer parameters: ``n``. Grid: the tiles.
    """
    load, store, start = Access("load", source), Access("store", target, exact=True), Access("load", target, exact=True)
    name = f"scan_tiles_{source}_{target}"
    function = compile_template(
        name,
        f"""
def NAME(out0, x0, starts, n):
    sums = cuda.shared.array({2 * BLOCK}, STATE0)
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * {BLOCK * SCANNED} + thread * {SCANNED}
    total = 0
    for k in range({SCANNED}):
        if first + k < n:
            total += scalar({load.name}(x0, first + k))
    {indent(4, scanned_lines())}
    before += {start.name}(starts, cuda.blockIdx.x)
    for k in range({SCANNED}):
        if first + k < n:
            term = scalar({load.name}(x0, first + k))
            {store.name}(out0, first + k, before)
            before += term
    if first < n and first + {SCANNED} >= n:
        {store.name}(out0, n, before)
""",
    )
    accesses = frozenset((load, store, start))
    return Template(name, function, (target, source, target), 0, accesses, Counter([load, store]), 64, (target,))
