"""Standardised rows, and their cotangents with those of weight and bias: loops as source text; CPU. NOTE [Standardised rows] of
ops/standardise.py says what they are; operands are contiguous.

Record words: 0 elements of a row, 1 groups, 2 channels of a group, 3 elements of a channel, 4 samples of a part, 5 samples,
6 (float64) what is added to the variance.

A unit of work is a row. With the cotangents of a weight it is what one group has in a *part* of the samples, whose sums it leaves
behind: so the order of all sums follows from the shape alone, and no two threads write to one place.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from textwrap import indent
from typing import Callable, NamedTuple

from ...base.dtypes import WIDTHS
from .reduce import compile_kernel

__all__ = ["Rows", "standardise_loop"]


class Rows(NamedTuple):
    """Which of the loops.

    Attributes:
        backward: whether cotangents are taken back.
        centred: whether rows have their mean subtracted.
        scale: what a weight has numbers for: ``"elements"``, ``"channels"``; "" without one.
        biased: whether there is a bias, or its cotangent is asked for.
    """

    backward: bool
    centred: bool
    scale: str = ""
    biased: bool = False

    @property
    def sums(self) -> int:
        """How many sums cotangents leave: those of a weight, of a bias."""
        return 1 + self.biased if self.backward and self.scale else 0


HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    length, groups, channels, inner = word(record, 0), word(record, 1), word(record, 2), word(record, 3)
    eps = at_float64(record, 48)[0]
    for unit in range(start, stop):
"""
# A sum of double precision of TERM over the elements I from FIRST to LAST.
SUM = """
NAME = float64(0.0)
for low in range(FIRST, LAST, 512):
    s = T(0.0)
    for i in range(low, min(low + 512, LAST)):
        s += TERM
    NAME += float64(s)
"""
# The same of two terms at once, and with squares of what is left around the mean.
SUMS = """
plain = float64(0.0)
joint = float64(0.0)
for low in range(FIRST, LAST, 512):
    s = T(0.0)
    t = T(0.0)
    for i in range(low, min(low + 512, LAST)):
        s += PLAIN
        t += JOINT
    plain += float64(s)
    joint += float64(t)
"""
SUMS_AND_SQUARES = """
plain = float64(0.0)
joint = float64(0.0)
total = float64(0.0)
for low in range(0, length, 512):
    s = T(0.0)
    t = T(0.0)
    q = T(0.0)
    for i in range(low, min(low + 512, length)):
        s += PLAIN
        t += JOINT
        q += AWAY * AWAY
    plain += float64(s)
    joint += float64(t)
    total += float64(q)
"""
R = "r = 1.0 / sqrt(T(total / float64(length) + eps))\n"
FIRST_CHANNEL = """
first = (unit % groups) * channels * SIZE
"""
# In a part of the samples: where its sums are, and rows one after the other.
PART = """
part = unit // groups
here = part * groups * channels * SIZE + first
dw = at_T(pointer_word(args, 2), here)
db = at_T(pointer_word(args, LAST_OUT), here)
for j in range(channels):
    dw[j] = T(0.0)
    db[j] = T(0.0)
for sample in range(part * word(record, 4), min((part + 1) * word(record, 4), word(record, 5))):
    row = sample * groups + unit % groups
"""
BY_CHANNELS = """
for c in range(channels):
    k = c * inner
"""


def replaced(text: str, **words: str) -> str:
    """A text with capitalised words replaced."""
    for name, value in words.items():
        text = text.replace(name, value)
    return text


def pointer(name: str, place: int, offset: str) -> str:
    return f"{name} = at_T(pointer_word(args, {place}), {offset})\n"


def moments(rows: Rows) -> str:
    """The mean m of a row x, and r."""
    text = ""
    if rows.centred:
        text += replaced(SUM, NAME="total", FIRST="0", LAST="length", TERM="x[i]") + "m = T(total / float64(length))\n"
    if rows.backward and rows.scale != "channels":  # squares come with the sums
        return text
    return text + replaced(SUM, NAME="total", FIRST="0", LAST="length", TERM=f"{away(rows)} * {away(rows)}") + R


def away(rows: Rows) -> str:
    """An element less the mean."""
    return "(x[i] - m)" if rows.centred else "x[i]"


def forward(rows: Rows) -> str:
    """What becomes of a row."""
    at = {"elements": "i", "channels": "c", "": ""}[rows.scale]
    value = f"{away(rows)} * r" + f" * w[{at}]" * bool(rows.scale) + f" + b[{at}]" * rows.biased
    if rows.scale != "channels":
        return f"for i in range(length):\n    out[i] = {value}\n"
    return BY_CHANNELS + f"    for i in range(k, k + inner):\n        out[i] = {value}\n"


def backward(rows: Rows) -> str:
    """The cotangent of a row, and what it adds to the sums of its part."""
    given = {"elements": "g[i] * w[i]", "channels": "g[i] * w[c]", "": "g[i]"}[rows.scale]
    result = f"r * below({given}, shift, slope * {away(rows)})" if rows.centred else f"r * ({given} - slope * {away(rows)})"
    ends = "shift = T(plain / float64(length))\nslope = T(joint / float64(length)) * r * r\n"
    if rows.scale != "channels":
        sums = replaced(SUMS_AND_SQUARES, PLAIN=given, JOINT=f"{given} * {away(rows)}", AWAY=away(rows))
        # Loops that write to more memory than two operands are not run in lanes: too many might overlap.
        text = sums + R + ends + f"for i in range(length):\n    out[i] = {result}\n"
        text += f"    dw[i] += g[i] * ({away(rows)} * r)\n" * bool(rows.scale)
        return text + "for i in range(length):\n    db[i] += g[i]\n" * bool(rows.scale and rows.biased)
    sums = replaced(SUMS, FIRST="k", LAST="k + inner", PLAIN="g[i]", JOINT=f"g[i] * {away(rows)}")
    adds = "all_plain += plain * float64(w[c])\nall_joint += joint * float64(w[c])\ndw[c] += T(joint) * r\n"
    adds += "db[c] += T(plain)\n" * rows.biased
    return (
        "all_plain = float64(0.0)\nall_joint = float64(0.0)\n"
        + BY_CHANNELS
        + indent(sums + adds, "    ")
        + "plain = all_plain\njoint = all_joint\n"
        + ends
        + BY_CHANNELS
        + f"    for i in range(k, k + inner):\n        out[i] = {result}\n"
    )


@cache
def standardise_loop(rows: Rows, dtype: str) -> Callable:
    """``kernel(start, stop, args)``. Pointers: results, then operands, as the operations of ops/standardise.py have them."""
    parts, outs = rows.sums > 0, 1 + rows.sums
    base = f"{'row' if parts else 'unit'} * length * SIZE"
    names = (["g", "x"] if rows.backward else ["x"]) + ["w"] * bool(rows.scale) + ["b"] * (rows.biased and not rows.backward)
    offsets = {"w": "first", "b": "first"}
    loads = {name: pointer(name, 1 + outs + k, offsets.get(name, base)) for k, name in enumerate(names)}
    row = pointer("out", 1, base) + "".join(text for name, text in loads.items() if name not in offsets)
    row += moments(rows) + (backward if rows.backward else forward)(rows)
    before = "".join(text for name, text in loads.items() if name in offsets)
    if rows.scale:
        before = FIRST_CHANNEL + before
    if parts:
        before += replaced(PART, LAST_OUT=str(outs))
        if not rows.biased:
            before = "".join(line for line in before.splitlines(True) if not line.lstrip().startswith("db"))
    text = HEAD + indent(before, " " * 8) + indent(row, " " * (12 if parts else 8))
    label = f"standardise {' '.join(map(str, rows))} {dtype}"
    return compile_kernel(text, label, {"at_T": f"at_{dtype}", " T(": f" {dtype}(", "(T(": f"({dtype}(", "SIZE": WIDTHS[dtype]})
