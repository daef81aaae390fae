"""Kernels that find what is not zero, and that move elements through masks: each element knows how many true ones are before it.

NOTE [Ranks]: sums over tiles, and over what is before each tile (``sorting.py``), give every element's rank; no thread waits for
another one's result.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from .access import Access, itemsize
from .sorting import SCANNED
from .templates import BLOCK, WARP, WARPS, Template, compile_template, indent, strided_parameters

__all__ = ["nonzero", "nonzero_complex", "note_zeros", "pack", "positions", "spread", "truth"]


def nonzero(x):
    """1 where an element is not zero."""
    return int(x != 0)


def nonzero_complex(z):
    """1 where a part is not zero."""
    return int((z.real != 0.0) | (z.imag != 0.0))


def truth(x):
    """1 where a mask is true."""
    return int(x)


@cache
def note_zeros(dtype: str) -> Template:
    """Notes that an element is 0, for which scalar gives 0; nothing else is written. Integer parameters: ``n``, ``fault``."""
    load, name = Access("load", dtype), f"note_zeros_{dtype}"
    function = compile_template(
        name,
        f"""
def NAME(x0, errors, n, fault):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        if scalar({load.name}(x0, i)) == 0:
            note_error(errors, fault, 0)
""",
    )
    return Template(name, function, (dtype, "int64"), 0, frozenset((load,)), Counter([load]), index_bits=64)


@cache
def positions(source: str, ndim: int, apart: bool, bits: int = 32) -> Template:
    """The indices of the elements for which scalar is 1, in their order: a row each; ``apart`` a result a dimension.

    Pointers: results, operand (row-major), sums before tiles. Integer parameters: ``n``, ``total``, the divisors of
    ``strided_parameters``. Grid: tiles of BLOCK * SCANNED. Bind ``**index_source(bits)``.
    """
    load, store, start = Access("load", source), Access("store", "int64", exact=True), Access("load", "int64", exact=True)
    name = f"positions{bits}_{source}_{ndim}d{'_apart' * apart}"
    outs = [f"out{d}" for d in range(ndim)] if apart else ["out0"]
    if ndim == 1:
        stores = [
            line
            for k in range(SCANNED)
            for line in (f"if found_{k} and rank_{k} < total:", f"    {store.name}(out0, rank_{k}, first + {k * WARP})")
        ]
    else:  # ranks wait in shared memory: coordinates of all elements at once would need too many registers
        coordinates = [f"rest{ndim - 1} = first + k * {WARP}"]
        for d in reversed(range(ndim)):
            divided = [f"rest{d - 1} = where_index(size{d} == 1, rest{d}, divide(rest{d}, size{d}, magic{d}, shift{d}))"]
            divided += [f"c{d} = multiply_add(rest{d - 1}, -size{d}, rest{d})"]
            coordinates += divided if d else ["c0 = rest0"]
            to = f"out{d}, rank" if apart else f"out0, rank * {ndim} + {d}"
            coordinates.append(f"{store.name}({to}, c{d})")
        stores = [f"ranks[{k * BLOCK} + thread] = where_index(found_{k}, rank_{k}, total)" for k in range(SCANNED)]
        stores += [
            f"for k in range({SCANNED}):",
            f"    rank = ranks[k * {BLOCK} + thread]",
            "    if rank < total:",
            *("        " + line for line in coordinates),
        ]
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*outs, "x0", "starts", "n", "total", *strided_parameters([], ndim)])}):
    {indent(4, [f"ranks = cuda.shared.array({BLOCK * SCANNED}, STATE0)"] * (ndim > 1))}
    {indent(4, ranked_lines(load.name, start.name))}
    {indent(4, stores)}
""",
    )
    pointed = (*("int64",) * len(outs), source, "int64")
    resident = 3 if itemsize(source) > 4 else 0  # four blocks would leave too few registers
    return Template(name, function, pointed, 0, frozenset((load, store, start)), Counter(), 64, ("int64",), resident)


def ranked_lines(load: str, start: str) -> list[str]:
    """Lines that make of each element ``k`` of a thread, which is at ``first + k * WARP``, ``found_k``, whether it counts, and
    ``rank_k``: how many before it count.

    A warp has neighbours: its lanes' votes tell each how many of the others count.
    """
    lines = [
        f"sums = cuda.shared.array({WARPS}, STATE0)",
        "thread = cuda.threadIdx.x",
        f"lane = thread & {WARP - 1}",
        f"warp = thread >> {WARP.bit_length() - 1}",
        "lower = (1 << lane) - 1",
        f"first = cuda.blockIdx.x * {BLOCK * SCANNED} + warp * {WARP * SCANNED} + lane",
        *(f"x_{k} = {load}(x0, min(first + {k * WARP}, n - 1))" for k in range(SCANNED)),
        "within = 0",
    ]
    for k in range(SCANNED):
        lines += [
            f"found_{k} = (scalar(x_{k}) != 0) & (first + {k * WARP} < n)",
            f"votes = cuda.ballot(found_{k})",
            f"rank_{k} = within + cuda.popcount(votes & lower)",
            "within += cuda.popcount(votes)",
        ]
    lines += ["if lane == 0:", "    sums[warp] = within", "cuda.syncthreads()", f"base = {start}(starts, cuda.blockIdx.x)"]
    lines += [f"base += where_index(warp > {w}, sums[{w}], 0)" for w in range(WARPS - 1)]
    return lines + [f"rank_{k} = rank_{k} + base" for k in range(SCANNED)]


@cache
def spread(dtype: str, other: str, checked: bool) -> Template:
    """out[i] = the next of ``source`` where a mask is true; elsewhere x[i], or zero.

    Args:
        other: "x", or "zero". checked: too few elements in ``source`` are an error, which names how many the mask selects; none is
            taken then.

    Pointers: result, mask, sums before tiles and behind them the sum of all, source, x, ``ERRORS``. Integer parameters: ``n``,
    ``room`` of the source, ``tiles``, ``fault``.
    """
    load, store = Access("load", dtype), Access("store", dtype)
    mask, start = Access("load", "bool"), Access("load", "int64", exact=True)
    name = f"spread_{dtype}_{other}{'_checked' * checked}"
    elsewhere = f"{load.name}(x1, i)" if other == "x" else "0"
    wrong = f"note_error(errors, fault, {start.name}(starts, tiles))" if checked else "pass"

    def lines(k: int) -> list[str]:
        return [
            f"i = first + {k * WARP}",
            "if i < n:",
            f"    if found_{k} and rank_{k} < room and fits:",
            f"        {store.name}(out0, i, {load.name}(source, rank_{k}))",
            "    else:",
            f"        {store.name}(out0, i, {elsewhere})",
            f"        if found_{k}:",
            f"            {wrong}",
        ]

    stores = [line for k in range(SCANNED) for line in lines(k)]
    given = ["out0", "x0", "starts", "source", *["x1"] * (other == "x"), *["errors"] * checked]
    counts = ["n", "room", *["tiles", "fault"] * checked]
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*given, *counts])}):
    fits = {f"{start.name}(starts, tiles) <= room" if checked else "True"}
    {indent(4, ranked_lines(mask.name, start.name))}
    {indent(4, stores)}
""",
    )
    pointed = (dtype, "bool", "int64", dtype, *([dtype] if other == "x" else []), *["int64"] * checked)
    return Template(name, function, pointed, 0, frozenset((load, store, mask, start)), Counter(), 64, ("int64",))


@cache
def pack(dtype: str) -> Template:
    """out[rank] = x[i] where a mask is true. Integer parameters: ``n``, ``room`` of the result."""
    load, store = Access("load", dtype), Access("store", dtype)
    mask, start = Access("load", "bool"), Access("load", "int64", exact=True)
    name = f"pack_{dtype}"
    stores = [
        line
        for k in range(SCANNED)
        for line in (f"if found_{k} and rank_{k} < room:", f"    {store.name}(out0, rank_{k}, {load.name}(x1, first + {k * WARP}))")
    ]
    function = compile_template(
        name,
        f"""
def NAME(out0, x0, starts, x1, n, room):
    {indent(4, ranked_lines(mask.name, start.name))}
    {indent(4, stores)}
""",
    )
    pointed = (dtype, "bool", "int64", dtype)
    return Template(name, function, pointed, 0, frozenset((load, store, mask, start)), Counter(), 64, ("int64",))
