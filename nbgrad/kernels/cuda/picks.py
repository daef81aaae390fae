"""Kernels that move elements along the middle one of three dimensions: shifts, elements at an index, elements put there."""

from __future__ import annotations

from collections import Counter
from functools import cache

from .access import Access
from .templates import BLOCK, Template, compile_template, indent

__all__ = ["IN_LINE", "pick", "pick_in_line", "place", "shift"]

IN_LINE = 4  # elements that a thread picks from a line, all at once: they lie anywhere


def move_template(name: str, dtype: str, parameters: str, pointers: tuple[str, ...], lines: list[str]) -> Template:
    """A thread for each of ``n`` elements ``i``."""
    accesses = frozenset((Access("load", dtype), Access("store", dtype), Access("load", "int64", exact=True)))
    function = compile_template(
        f"{name}_{dtype}",
        f"""
def NAME({parameters}):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        {indent(8, lines)}
""",
    )
    return Template(f"{name}_{dtype}", function, pointers, 0, accesses, Counter(), 64)


@cache
def shift(dtype: str) -> Template:
    """Elements moved by ``by`` along the middle one of three dimensions; zeros come in. Counts: ``n length width by``."""
    lines = [
        "r = i // width % length - by",
        "if (r >= 0) & (r < length):",
        f"    {Access('store', dtype).name}(out0, i, {Access('load', dtype).name}(x0, i - by * width))",
        "else:",
        f"    {Access('store', dtype).name}(out0, i, 0)",
    ]
    return move_template("shift", dtype, "out0, x0, n, length, width, by", (dtype, dtype), lines)


INDEX = [
    "column = i % width",
    "outer = i // width // count",
    f"at = (outer * length + {Access('load', 'int64', exact=True).name}(index, i)) * width + column",
]


@cache
def pick(dtype: str) -> Template:
    """out[outer, k, column] = x[outer, index[outer, k, column], column]. Counts: ``n length width count``."""
    lines = [*INDEX, f"{Access('store', dtype).name}(out0, i, {Access('load', dtype).name}(x0, at))"]
    return move_template("pick", dtype, "out0, x0, index, n, length, width, count", (dtype, dtype, "int64"), lines)


@cache
def pick_in_line(dtype: str) -> Template:
    """out[i] = x[index[i]], some elements a thread. Counts: ``n``."""
    load, store, at = Access("load", dtype), Access("store", dtype), Access("load", "int64", exact=True)
    name = f"pick_in_line_{dtype}"
    lines = [f"at_{k} = {at.name}(index, min(first + {k * BLOCK}, n - 1))" for k in range(IN_LINE)]
    lines += [f"value_{k} = {load.name}(x0, at_{k})" for k in range(IN_LINE)]
    for k in range(IN_LINE):
        lines += [f"if first + {k * BLOCK} < n:", f"    {store.name}(out0, first + {k * BLOCK}, value_{k})"]
    function = compile_template(
        name,
        f"""
def NAME(out0, x0, index, n):
    first = cuda.blockIdx.x * {BLOCK * IN_LINE} + cuda.threadIdx.x
    {indent(4, lines)}
""",
    )
    return Template(name, function, (dtype, dtype, "int64"), 0, frozenset((load, store, at)), Counter(), 64)


@cache
def place(dtype: str) -> Template:
    """The transpose of ``pick``, into memory that holds zeros; no index may come twice."""
    lines = [*INDEX, f"{Access('store', dtype).name}(out0, at, {Access('load', dtype).name}(x0, i))"]
    return move_template("place", dtype, "out0, x0, index, n, length, width, count", (dtype, dtype, "int64"), lines)
