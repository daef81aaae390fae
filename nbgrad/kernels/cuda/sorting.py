"""Kernels that sort lines of integer keys, stably: short lines in shared memory, long ones by eight bits at a time.

NOTE [Radix passes]: a pass orders lines by one byte of their keys and keeps what was equal in its order. Tiles of a line count how
often each byte comes (``count_bytes``); the sums of all counts before a tile's, over lines, bytes and tiles in this order, are the
places at which its elements of each byte begin (``scan_sums``, ``scan_tiles``); then every element moves (``move_bytes``), by way
of shared memory, where a tile is put in order, so that neighbours in memory are written by neighbours. Places follow from counts
alone: what is added up in any order is counts of a tile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from .access import Access
from .templates import BLOCK, WARP, WARPS, Template, ceil_div, compile_template, indent

__all__ = [
    "BYTES",
    "CAPACITY",
    "GREATEST",
    "PLACE_IN_LINE",
    "SCANNED",
    "STEPS",
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
STEPS = {"int32": 16, "int64": 8}  # in which a warp reads its part of a tile of keys, 32 neighbours at a time
BYTES = 256
PACKED = 1 << 13  # more than any rank within a tile: a byte and a rank are one word
GREATEST = {"int32": 2**31 - 1, "int64": 2**63 - 1}  # keys, behind which there is none
SCANNED = 16  # elements of a scan that a thread adds up


def tiles_of(n: int, key: str) -> int:
    """Tiles of a line of keys."""
    return ceil_div(n, BLOCK * STEPS[key])


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
PLACE_IN_LINE = (
    "thread = cuda.threadIdx.x",
    "line = 0",
    "tile = cuda.blockIdx.x",
    "if cuda.gridDim.x > tiles:",  # a division takes as long as the work on some elements
    "    line = tile // tiles",
    "    tile = tile - line * tiles",
)


def byte_of(key: str, value: str) -> str:
    """The byte of a key that a pass orders by."""
    return f"(byte_of_word({value}, shift) ^ flip)" if key == "int32" else f"((({value} >> shift) & 255) ^ flip)"


def loaded(name: str, load: Access, pointer: str, at: str) -> list[str]:
    """Lines that load an element of a tile into a variable, if it is one of the ``count`` that there are."""
    return [f"{name} = 0", f"if {at} < count:", f"    {name} = {load.name}({pointer}, {at})"]


@cache
def count_bytes(key: str, counts: str = "int32") -> Template:
    """counts[line, byte, tile] = how many elements of a tile have a byte of their key.

    Args:
        counts: dtype of counts, and of the places that are made of them.

    Integer parameters: ``n`` elements of a line, ``tiles``, ``shift`` to the byte, ``flip`` (128 for the byte with the sign). Grid:
    lines x tiles, in one row.
    """
    load, store, change = Access("load", key, exact=True), Access("store", counts, exact=True), Access("add", "int32")
    name, tile = f"count_bytes_{key}_{counts}", BLOCK * STEPS[key]
    loads = [line for s in range(STEPS[key]) for line in loaded(f"key_{s}", load, "here", f"thread + {s * BLOCK}")]
    added = [
        line
        for s in range(STEPS[key])
        for line in (f"if thread + {s * BLOCK} < count:", f"    {change.name}(found, {byte_of(key, f'key_{s}')}, 1)")
    ]
    function = compile_template(
        name,
        f"""
def NAME(counts, keys, n, tiles, shift, flip):
    found = cuda.shared.array({BYTES}, STATE0)
    {indent(4, PLACE_IN_LINE)}
    count = min(n - tile * {tile}, {tile})
    here = moved(keys, line * n + tile * {tile})
    {indent(4, loads)}
    found[thread] = 0
    cuda.syncthreads()
    {indent(4, added)}
    cuda.syncthreads()
    {store.name}(counts, (line * {BYTES} + thread) * tiles + tile, found[thread])
""",
    )
    return Template(name, function, (counts, key), 0, frozenset((load, store, change)), Counter([load, store]), 64, ("int32",))


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
    name, tile = f"move_bytes_{key}_{source or 'first'}_{order}_{counts}{'_keys' * keeps}", BLOCK * STEPS[key]
    given = ["order", *["moved_keys"] * keeps, "keys", *["places"] * bool(source), "starts"]
    add = (lambda x, y: f"multiply_add_i32({x}, 1, {y})") if counts == "int32" else (lambda x, y: f"{x} + {y}")
    steps, begun = range(STEPS[key]), f"begin[{byte_of(key, 'key')}]"
    loads = [line for s in steps for line in loaded(f"key_{s}", load, "keys_here", f"wide + {s * WARP}")]
    # Within a warp, an element's rank is how many of its byte came in earlier steps, and in lower lanes of this one. What is behind
    # the line's end has the last byte, and comes behind all that have it.
    ranks = [
        line
        for s in steps
        for line in [
            f"byte = where_index(wide + {s * WARP} < count, {byte_of(key, f'key_{s}')}, {BYTES - 1})",
            f"peers = cuda.match_bits(byte, {BYTES.bit_length() - 1})",
            "before = cuda.popcount(peers & lower)",
            "rank = found[column + byte] + before",
            "cuda.syncwarp()",
            "if before == 0:",
            "    found[column + byte] = rank + cuda.popcount(peers)",
            "cuda.syncwarp()",
            f"to_{s} = multiply_add_i32(byte, {PACKED}, rank)",
        ]
    ]
    here = [f"{x}_here = moved({x}, line * n + tile * {tile})" for x in ("keys", *["places"] * bool(source))]

    def local(some: Sequence[int]) -> list[str]:
        """Lines that put elements where they come in the tile."""
        lines = list[str]()
        for s in some:
            at = f"wide + {s * WARP}"
            lines += loaded(f"place_{s}", place, "places_here", at) if source else [f"place_{s} = {add(f'tile * {tile}', at)}"]
        for s in some:
            lines += [
                f"to = multiply_add_i32(found[column + (to_{s} // {PACKED})], 1, to_{s} & {PACKED - 1})",
                f"staged_keys[to] = key_{s}",
                f"staged_places[to] = place_{s}",
            ]
        return lines

    out = [
        line
        for s in steps
        for line in [
            f"t = {s * BLOCK} + thread",
            "if t < count:",
            "    key = staged_keys[t]",
            f"    final = {add(begun, 't')}",
            *[f"    {store_key.name}(moved_keys, final, key)"] * keeps,
            f"    {store.name}(order, final, staged_places[t])",
        ]
    ]
    within = [line for w in range(WARPS) for line in [f"count_{w} = found[{w * BYTES} + thread]", f"total += count_{w}"]]
    before = [line for w in range(WARPS) for line in [f"found[{w * BYTES} + thread] = before", f"before += count_{w}"]]
    function = compile_template(
        name,
        f"""
def NAME({", ".join(given)}, n, tiles, shift, flip):
    found = cuda.shared.array({WARPS * BYTES}, STATE0)
    begin = cuda.shared.array({BYTES}, STATE1)
    staged_keys = cuda.shared.array({tile}, STATE2)
    staged_places = cuda.shared.array({tile}, STATE3)
    sums = cuda.shared.array({WARPS}, STATE0)
    {indent(4, PLACE_IN_LINE)}
    lane = thread & {WARP - 1}
    warp = thread >> {WARP.bit_length() - 1}
    lower = (1 << lane) - 1
    column = warp * {BYTES}
    wide = warp * {WARP * STEPS[key]} + lane
    count = min(n - tile * {tile}, {tile})
    {indent(4, here)}
    {indent(4, loads)}
    for w in range({WARPS}):
        found[w * {BYTES} + thread] = 0
    cuda.syncthreads()
    {indent(4, ranks)}
    cuda.syncthreads()
    total = 0
    {indent(4, within)}
    {indent(4, scanned_lines())}
    begin[thread] = {start.name}(starts, (line * {BYTES} + thread) * tiles + tile) - before
    {indent(4, before)}
    cuda.syncthreads()
    {indent(4, local(steps[: len(steps) // 2]))}
    {indent(4, local(steps[len(steps) // 2 :]))}
    cuda.syncthreads()
    {indent(4, out)}
""",
    )
    pointers = (order, *[key] * keeps, key, *([source] if source else []), counts)
    accesses = {load, start, store, *([place] if source else []), *([store_key] if keeps else [])}
    state = ("int32", counts, key, source or "int32")
    return Template(
        name, function, pointers, 0, frozenset(accesses), Counter([load, store]), 64, state, resident=2 if key == "int32" else 3
    )


# ---- sums of all before ------------------------------------------------------------------------------------------------


def scanned_lines() -> list[str]:
    """Lines that make of every thread's ``total`` the sum of those before it, ``before``, and of all, ``whole``, by way of
    ``sums``, a shared array of WARPS; a barrier must come before the next ones.
    """
    lines = ["value = total"]
    for k in range(WARP.bit_length() - 1):
        lines += [
            f"other = cuda.shfl_up_sync(0xffffffff, value, {1 << k})",
            f"value += where_index((thread & {WARP - 1}) >= {1 << k}, other, 0)",
        ]
    lines += [
        f"if thread & {WARP - 1} == {WARP - 1}:",
        f"    sums[thread >> {WARP.bit_length() - 1}] = value",
        "cuda.syncthreads()",
        "before = value - total",
        "whole = 0",
    ]
    for w in range(WARPS):
        lines += [f"other = sums[{w}]", f"before += where_index(thread >= {(w + 1) * WARP}, other, 0)", "whole += other"]
    return lines


def summed_lines(load: str) -> list[str]:
    """Lines that make ``total``, what scalar gives of a thread's elements of a tile, all together."""
    loads = [f"x_{k} = {load}(x0, min(first + {k * BLOCK}, n - 1))" for k in range(SCANNED)]
    added = [f"total += where_index(first + {k * BLOCK} < n, scalar(x_{k}), 0)" for k in range(SCANNED)]
    return [*loads, "total = 0", *added]


@cache
def tile_sums(source: str, target: str) -> Template:
    """sums[tile] = the sum of scalar(x) over a tile of BLOCK * SCANNED neighbours. Integer parameters: ``n``."""
    load, store = Access("load", source), Access("store", target, exact=True)
    name = f"tile_sums_{source}_{target}"
    function = compile_template(
        name,
        f"""
def NAME(out0, x0, n):
    sums = cuda.shared.array({WARPS}, STATE0)
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * {BLOCK * SCANNED} + thread
    {indent(4, summed_lines(load.name))}
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
    {indent(4, ELEMENTS)}
    carried = 0
    for first in range(0, n, {BLOCK * SCANNED}):
        {indent(8, loaded_lines(load.name))}
        {indent(8, scanned_lines())}
        before += carried
        {indent(8, summed_up_lines(store.name))}
        carried += whole
        cuda.syncthreads()
    if thread == 0:
        {store.name}(x0, n, carried)
""",
    )
    return Template(name, function, (dtype,), 0, frozenset((load, store)), Counter([load, store]), 64, (dtype,))


def loaded_lines(load: str) -> list[str]:
    """Lines that load a tile from ``first`` on, side by side, and give each thread neighbours of it, by way of ``elements``:
    ``x_0`` and so on, and ``total`` of these.
    """
    into = [f"own_{k} = {load}(x0, min(first + {k * BLOCK} + thread, n - 1))" for k in range(SCANNED)]
    into += [f"elements[padded + {k * PADDED}] = where_index(first + {k * BLOCK} + thread < n, own_{k}, 0)" for k in range(SCANNED)]
    loads = [f"x_{k} = elements[thread * {SCANNED + 1} + {k}]" for k in range(SCANNED)]
    return [*into, "cuda.syncthreads()", *loads, "total = 0", *(f"total += x_{k}" for k in range(SCANNED))]


def summed_up_lines(store: str) -> list[str]:
    """Lines that store the sum before each of these."""
    sums = [line for k in range(SCANNED) for line in (f"elements[thread * {SCANNED + 1} + {k}] = before", f"before += x_{k}")]
    stores = [
        line
        for k in range(SCANNED)
        for line in (
            f"if first + {k * BLOCK} + thread < n:",
            f"    {store}(x0, first + {k * BLOCK} + thread, elements[padded + {k * PADDED}])",
        )
    ]
    return [*sums, "cuda.syncthreads()", *stores]


PADDED = BLOCK + BLOCK // SCANNED  # between elements of a thread in shared memory: one is left free behind the neighbours of each
ELEMENTS = (
    f"elements = cuda.shared.array({SCANNED * PADDED}, STATE0)",
    f"sums = cuda.shared.array({WARPS}, STATE0)",
    "thread = cuda.threadIdx.x",
    f"padded = thread + (thread >> {SCANNED.bit_length() - 1})",
)


@cache
def scan_tiles(dtype: str) -> Template:
    """Integers replaced by the sums of all before each, of which ``tile_sums`` and ``scan_sums`` have made those before each tile;
    behind them the sum of all.

    Integer parameters: ``n``. Grid: the tiles.
    """
    load, store = Access("load", dtype, exact=True), Access("store", dtype, exact=True)
    name = f"scan_tiles_{dtype}"
    function = compile_template(
        name,
        f"""
def NAME(x0, starts, n):
    {indent(4, ELEMENTS)}
    first = cuda.blockIdx.x * {BLOCK * SCANNED}
    {indent(4, loaded_lines(load.name))}
    {indent(4, scanned_lines())}
    start = {load.name}(starts, cuda.blockIdx.x)
    before += start
    {indent(4, summed_up_lines(store.name))}
    if thread == 0 and first + {BLOCK * SCANNED} >= n:
        {store.name}(x0, n, start + whole)
""",
    )
    accesses = frozenset((load, store))
    return Template(name, function, (dtype, dtype), 0, accesses, Counter([load, store]), 64, (dtype,))
