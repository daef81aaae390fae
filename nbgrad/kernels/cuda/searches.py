"""Kernels that look for elements in sorted lines, and that count them: ranks, places, members, bins.

Elements are compared by their ranks, integers that sort as they do: NaN is the greatest, zeros of both signs are one (NOTE [Keys]
of ``kernels/templates/keys.py``).
"""

# ruff: noqa: F821  (rank, ibits, missing and GREATEST are bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from ..compiler import kinds
from ..templates.keys import KEY_CONSTANTS, KEY_TYPES
from ..templates.select import missing_of, rank_of
from .access import Access, Function, compute_dtype, itemsize
from .templates import BLOCK, Template, compile_template, indent

__all__ = ["bin_of", "count_bins", "find_members", "find_one", "insertion", "rank_dtype", "rank_source", "ranked"]


def ranked_float(x):
    """The rank of a number, from its bits."""
    return rank(ibits(x))


def ranked_whole(x):
    """The rank of a whole number."""
    return rank(x)


def ranked(dtype: str) -> Function:
    """The scalar function that gives an element's rank."""
    return ranked_float if compute_dtype(dtype) in KEY_TYPES else ranked_whole


def rank_dtype(dtype: str) -> str:
    """The dtype of ranks in memory."""
    compute = compute_dtype(dtype)
    return KEY_TYPES[compute] if compute in KEY_TYPES else "int64" if itemsize(dtype) == 8 or dtype == "uint32" else "int32"


def rank_source(dtype: str, largest: bool) -> dict[str, Any]:
    """The names that ``ranked`` mentions; ``largest``: greater numbers have greater ranks."""
    compute = compute_dtype(dtype)
    name = compute if compute in KEY_TYPES or compute == "uint64" else "int64"
    _, _, rank = rank_of(name, largest)
    return {"rank": rank, "int64": kinds.int64, "missing": missing_of(name), **dict(KEY_CONSTANTS.get(name, ()))}


@cache
def insertion(dtype: str, behind: bool) -> Template:
    """out[line, i] = the first place in a sorted line before which x[line, i] may stand; ``behind``: behind equal elements.

    Pointers: result, sequence, x. Integer parameters: ``n`` values in all, ``count`` of a line (one line for all: n), ``length`` of
    a line. Bind ``rank_source``.
    """
    load, store = Access("load", dtype), Access("store", "int64", exact=True)
    name = f"insertion_{dtype}{'_behind' * behind}"
    function = compile_template(
        name,
        f"""
def NAME(out0, sequence, x0, n, count, length):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        first = i // count * length
        value = scalar({load.name}(x0, i))
        low = 0
        high = length
        while low < high:
            middle = (low + high) >> 1
            other = scalar({load.name}(sequence, first + middle))
            if other {"<=" if behind else "<"} value:
                low = middle + 1
            else:
                high = middle
        {store.name}(out0, i, low)
""",
    )
    return Template(name, function, ("int64", dtype, dtype), 0, frozenset((load, store)), Counter([load, store]), 64)


@cache
def find_members(dtype: str, key: str, invert: bool) -> Template:
    """out[i] = whether x[i] is among sorted ranks; a NaN is among none. Pointers: result, ranks, x. Integer parameters: ``n``,
    ``length``. Bind ``rank_source``.
    """
    load, store, keys = Access("load", dtype), Access("store", "bool"), Access("load", key, exact=True)
    name = f"find_members_{dtype}_{key}{'_invert' * invert}"
    function = compile_template(
        name,
        f"""
def NAME(out0, keys, x0, n, length):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        x = {load.name}(x0, i)
        value = scalar(x)
        low = 0
        high = length
        while low < high:
            middle = (low + high) >> 1
            if {keys.name}(keys, middle) < value:
                low = middle + 1
            else:
                high = middle
        found = False
        if low < length:
            found = ({keys.name}(keys, low) == value) & (x == x)
        {store.name}(out0, i, {"not found" if invert else "found"})
""",
    )
    return Template(name, function, ("bool", key, dtype), 0, frozenset((load, store, keys)), Counter([load, store]), 64)


@cache
def find_one(key: str, search: str) -> Template:
    """out[line] = the place of one element of a line, of which the order and the sorted ranks are known; a thread a line.

    ``median``: the lower one; ``ignore`` says whether what is missing does not count, else the first of it is found. ``mode``: the
    last of the longest run of equal elements; where no element comes twice, the first that is missing.

    Pointers: result, order, sorted ranks. Integer parameters: ``lines``, ``n``, ``ignore``. Bind ``rank_source``.
    """
    load, order, store = Access("load", key, exact=True), Access("load", "int64", exact=True), Access("store", "int64", exact=True)
    name = f"find_{search}_{key}"
    count = [
        "count = 0",
        "high = n",
        "while count < high:",
        "    middle = (count + high) >> 1",
        f"    if missing({load.name}(keys, first + middle)):",
        "        high = middle",
        "    else:",
        "        count = middle + 1",
    ]
    median = ["at = count", "if count == n or ignore != 0:", "    at = max(count - 1, 0) // 2"]
    mode = [
        "at = 0",
        "longest = 0",
        "run = 0",
        f"before = {load.name}(keys, first)",
        "for k in range(1, count):",
        f"    now = {load.name}(keys, first + k)",
        "    run = run + 1 if now == before else 0",
        "    if run > longest:",
        "        longest = run",
        "        at = k",
        "    before = now",
        "if longest == 0 and count < n:",
        "    at = count",
    ]
    function = compile_template(
        name,
        f"""
def NAME(out0, order, keys, lines, n, ignore):
    line = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if line < lines:
        first = line * n
        {indent(8, count + (median if search == "median" else mode))}
        {store.name}(out0, line, {order.name}(order, first + at))
""",
    )
    return Template(name, function, ("int64", "int64", key), 0, frozenset((load, order, store)), Counter(), 64)


def bin_of(x, low, high, bins):
    """The bin of an element between two ends, by its place there, in its own dtype, so that it may be an end; -1 outside."""
    k = int((x - low) * bins / (high - low)) if (x >= low) & (x <= high) else -1
    return min(k, int(bins) - 1)


@cache
def count_bins(dtype: str, values: int) -> Template:
    """counts[scalar(x[i], ...)] += 1, in int64, where that is no less than 0. Integer parameters: ``n``."""
    load, change = Access("load", dtype), Access("add", "int64")
    name, passed = f"count_bins_{dtype}_{values}", "".join(f", v{k}" for k in range(values))
    function = compile_template(
        name,
        f"""
def NAME(counts, x0{passed}, n):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        k = scalar({load.name}(x0, i){passed})
        if k >= 0:
            {change.name}(counts, k, 1)
""",
    )
    return Template(name, function, ("int64", dtype), values, frozenset((load, change)), Counter([load]), 64)
