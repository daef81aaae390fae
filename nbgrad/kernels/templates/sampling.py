"""A tensor looked up between its elements, and the cotangents of that, as text for a call's settings; CPU.

NOTE [Sampled grids] of ops/sampling.py. What a place needs is found for a block of places at once: for every dimension the offset
of each tap, or NOWHERE outside, and its weight. Then every channel reads, or adds to, the elements at all choices of taps. What
outside is read is 0, whatever its weight.

Units of work are blocks of places of one sample; where elements are added to, groups of its channels. Dimension 0 is the last one.

Record words: 0 channels, 1 places of a sample, 2 elements of a channel, 3 units of a sample, 4 sizes of the dimensions.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from itertools import product
from textwrap import indent
from typing import Callable, NamedTuple

from ...ops.sampling import TAPS, derivative, first_tap
from ..texts import in_dtype, late_text, with_lines

__all__ = ["BLOCK", "GROUP", "INDICES", "Settings", "sampling_kernel"]

BLOCK, GROUP = 128, 8
# By dtype: the type of offsets, as wide as elements are, and below how many elements they do not overflow. So far below 0 is
# NOWHERE, which stays negative with the offsets of other dimensions added, and with itself twice.
INDICES = {"float32": ("int32", 1 << 29), "float64": ("int64", 1 << 60)}


class Settings(NamedTuple):
    """Of a call: NOTE [Sampled grids]."""

    mode: str
    padding: str
    align: bool
    orders: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Over how many dimensions it goes."""
        return len(self.orders)

    @property
    def leaves(self) -> bool:
        """Whether taps may be outside."""
        return self.padding == "zeros" or self.mode == "bilinear"


# ---- what a place needs ----------------------------------------------------------------------------------------------------

INSIDE = """
AT = where(AT > 0.0, AT, 0.0)
AT = where(AT < last, AT, last)
"""
# NaN, of an infinite place, becomes 0 by INSIDE.
REFLECTED = """
away = fabs(AT - edge)
flips = floor(away / span)
rest = away - flips * span
odd = flips - 2.0 * floor(flips * 0.5)
left = where(AT < edge, -1.0, 1.0)
AT = edge + where(odd > 0.0, span - rest, rest)
"""
TURNED = "turn = where((at > 0.0) & (at < last), TURN, 0.0)\n"


def moved_inside(name: str, padding: str) -> str:
    """Lines that move a coordinate inside."""
    return ((REFLECTED if padding == "reflection" else "") + INSIDE).replace("AT", name)


def padded_place(settings: Settings) -> str:
    """Lines that move a place inside, and say how many elements a step of the grid moves it: ``turn``."""
    if settings.padding == "zeros" or settings.mode == "bicubic":
        return "turn = scale\n"
    turned = TURNED.replace("TURN", "scale")
    if settings.padding == "border":
        return turned + INSIDE.replace("AT", "at")
    return REFLECTED.replace("AT", "at") + turned.replace("scale", "scale * left * (1.0 - 2.0 * odd)") + INSIDE.replace("AT", "at")


def horner(coefficients: tuple[float, ...]) -> str:
    """A polynomial of ``part``."""
    text = "0.0"
    for c in reversed(coefficients):
        text = repr(float(c)) if text == "0.0" else f"({text} * part + {float(c)!r})"
    return text


def tap_lines(settings: Settings, d: int, orders: tuple[int, ...]) -> str:
    """Lines that find the offset of each tap of a dimension, and its weight for each of these orders."""
    mode, lines = settings.mode, ""
    for t in range(len(TAPS[mode])):
        lines += f"tap = before + {float(t + first_tap(mode))!r}\n"
        if mode == "bicubic" and settings.padding != "zeros":
            lines += moved_inside("tap", settings.padding)
        if settings.leaves:
            lines += "known = (tap >= 0.0) & (tap <= last)\n"
            lines += f"offset{d}{t}[k] = where(known, imul(to_int(where(known, tap, 0.0)), step), NOWHERE)\n"
        else:
            lines += f"offset{d}{t}[k] = imul(to_int(tap), step)\n"
        for n in orders:
            lines += f"weight{d}{t}_{n}[k] = {horner(derivative(mode, t, n))}{' * turn' * n}\n"
    return lines


def find_lines(settings: Settings, orders: list[tuple[int, ...]]) -> str:
    """Lines that find all that a block of places needs, in one loop: it loads neighbours of the grid together."""
    head, lines = "", ""
    for d in range(settings.ndim):
        step = " * ".join(f"size{e}" for e in range(d))
        head += f"size{d}, step{d} = word(record, {4 + d}), {step or 1}\n"
        head += f"last{d} = T(size{d} - 1)\n"
        if settings.align:
            head += f"scale{d}, shift{d}, edge{d}, span{d} = last{d} * 0.5, T(0.0), T(0.0), last{d}\n"
        else:
            head += f"scale{d}, shift{d}, edge{d}, span{d} = T(size{d}) * 0.5, T(0.5), T(-0.5), T(size{d})\n"
        place = f"at = (grid[k * {settings.ndim} + {d}] + 1.0) * scale - shift\n{padded_place(settings)}"
        rounded = "before = rint(at)\n" if settings.mode == "nearest" else "before = floor(at)\npart = at - before\n"
        own = place + rounded + tap_lines(settings, d, orders[d])
        lines += re.sub(r"\b(step|last|scale|shift|edge|span)\b", rf"\g<1>{d}", own)
    return f"{head}for k in range(count):\n{indent(lines, '    ')}"


# ---- sums over taps ------------------------------------------------------------------------------------------------------


def choices(settings: Settings) -> list[tuple[int, ...]]:
    """All choices of a tap in each dimension."""
    return list(product(range(len(TAPS[settings.mode])), repeat=settings.ndim))


def offset(taps: tuple[int, ...]) -> str:
    """Where the element of a choice is."""
    return reduce(lambda text, each: f"iadd({text}, {each})", [f"offset{d}{t}[k]" for d, t in enumerate(taps)])


def weight(taps: tuple[int, ...], orders: tuple[int, ...]) -> str:
    """Its weight."""
    return " * ".join(f"weight{d}{t}_{orders[d]}[k]" for d, t in enumerate(taps))


def value_lines(settings: Settings) -> str:
    """Lines that read the element of every choice."""
    lines = ""
    for taps in choices(settings):
        name = "value" + "".join(map(str, taps))
        if settings.leaves:
            lines += f"i = {offset(taps)}\n{name} = x[i] if i >= 0 else 0.0\n"
        else:
            lines += f"{name} = x[{offset(taps)}]\n"
    return lines


def summed(settings: Settings, orders: tuple[int, ...], d: int = -1, later: tuple[int, ...] = ()) -> str:
    """The sum of the elements that have been read, times their weights, innermost over the first dimension."""
    d = settings.ndim - 1 if d == -1 else d
    terms = []
    for t in range(len(TAPS[settings.mode])):
        taps = (t, *later)
        inner = "value" + "".join(map(str, taps)) if d == 0 else summed(settings, orders, d - 1, taps)
        terms.append(f"weight{d}{t}_{orders[d]}[k] * {inner}")
    return f"({' + '.join(terms)})"


# ---- kernels -------------------------------------------------------------------------------------------------------------

HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    channels, places, volume, parts = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    MEMORY
    for unit in range(start, stop):
        sample, own = unit // parts, unit % parts
"""
ONE_BLOCK = """
        low = own * BLOCK
        count = min(BLOCK, places - low)
        grid = at_T(pointer_word(args, GRID), (sample * places + low) * NDIM * SIZE)
        FIND
"""
BODIES = {
    "grid_sample": HEAD
    + ONE_BLOCK
    + """
        for c in range(sample * channels, (sample + 1) * channels):
            x = at_T(pointer_word(args, 2), c * volume * SIZE)
            out = at_T(pointer_word(args, 1), (c * places + low) * SIZE)
            for k in range(count):
                VALUES
                out[k] = SUM
""",
    "grid_slopes": HEAD
    + ONE_BLOCK
    + """
        out = at_T(pointer_word(args, 1), (sample * places + low) * NDIM * SIZE)
        for k in range(count):
            CLEAR
        for c in range(sample * channels, (sample + 1) * channels):
            x = at_T(pointer_word(args, 3), c * volume * SIZE)
            given = at_T(pointer_word(args, 2), (c * places + low) * SIZE)
            for k in range(count):
                VALUES
                ADD
        for k in range(count):
            WRITE
""",
    "grid_spread": HEAD
    + """
        first, beyond = sample * channels + own * GROUP, sample * channels + min((own + 1) * GROUP, channels)
        all = at_T(pointer_word(args, 1), first * volume * SIZE)
        for i in range((beyond - first) * volume):
            all[i] = 0.0
        for low in range(0, places, BLOCK):
            count = min(BLOCK, places - low)
            grid = at_T(pointer_word(args, GRID), (sample * places + low) * NDIM * SIZE)
            FIND
            for c in range(first, beyond):
                out = at_T(pointer_word(args, 1), c * volume * SIZE)
                given = at_T(pointer_word(args, 2), (c * places + low) * SIZE)
                for k in range(count):
                    g = given[k]
                    SPREAD
""",
}


def spread_lines(settings: Settings) -> str:
    """Lines that add to the element of every choice."""
    lines = ""
    for taps in choices(settings):
        add = f"out[i] += g * {weight(taps, settings.orders)}\n"
        lines += f"i = {offset(taps)}\n" + (f"if i >= 0:\n    {add}" if settings.leaves else add)
    return lines


def memory_lines(settings: Settings, orders: list[tuple[int, ...]], sums: bool) -> str:
    """Lines that take memory for what a block of places needs."""
    lines = ""
    for d, t in product(range(settings.ndim), range(len(TAPS[settings.mode]))):
        lines += f"offset{d}{t} = at_INDEX(stack({8 * BLOCK}), 0)\n"
        lines += "".join(f"weight{d}{t}_{n} = at_T(stack({8 * BLOCK}), 0)\n" for n in orders[d])
    return lines + "".join(f"sum{d} = at_T(stack({8 * BLOCK}), 0)\n" for d in range(settings.ndim) if sums)


@cache
def sampling_kernel(name: str, dtype: str, settings: Settings) -> Callable:
    """The kernel of an operation for a real dtype."""
    dims, slopes = range(settings.ndim), name == "grid_slopes"
    orders = [tuple(range(n, n + 1 + slopes)) for n in settings.orders]
    by = [tuple(n + (d == e) for e, n in enumerate(settings.orders)) for d in dims]
    parts = {
        "MEMORY": memory_lines(settings, orders, slopes),
        "FIND": find_lines(settings, orders),
        "VALUES": value_lines(settings),
        "CLEAR": "".join(f"sum{d}[k] = 0.0\n" for d in dims),
        "ADD": "".join(f"sum{d}[k] += given[k] * {summed(settings, by[d])}\n" for d in dims) if slopes else "",
        "WRITE": "".join(f"out[k * NDIM + {d}] = sum{d}[k]\n" for d in dims),
        "SPREAD": spread_lines(settings),
    }
    text = with_lines(BODIES[name], parts)
    integer, most = INDICES[dtype]
    sizes = {"BLOCK": BLOCK, "GROUP": GROUP, "NDIM": settings.ndim, "GRID": 4 if slopes else 3, "NOWHERE": -most, "INDEX": integer}
    for word, size in sizes.items():
        text = text.replace(word, str(size))
    text = in_dtype(text.replace("= SUM", f"= {summed(settings, settings.orders)}"), dtype)
    kernel: Callable = late_text(text, f"{name} {dtype} {settings.mode} {settings.padding}", {}, "kernel")[0]
    return kernel
