"""Standardised rows, and their cotangents with those of weight and bias: loops as source text; CPU. NOTE [Standardised rows] of
ops/standardise.py says what they are; operands are contiguous.

Record words: 0 elements of a row, 1 groups, 2 channels of a group, 3 elements of a channel, 4 samples of a part, 5 samples,
6 (float64) what is added to the variance.

A unit of work is a row. With the cotangents of a weight it is what one group has in a *part* of the samples, whose sums it leaves
behind: so the order of all sums follows from the shape alone, and no two threads write to one place.
"""

# ruff: noqa: F821  (names bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

import math
from functools import cache
from textwrap import indent
from typing import Any, Callable, NamedTuple

from ...base.dtypes import WIDTHS
from ..prims import fma, where
from ..texts import fill_template
from .softmax import shifted

__all__ = ["Rows", "names_of", "standardise_loop"]

AT_ONCE, CACHED = 16, 4096  # rows, and elements of them, at a time


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
"""
# Rows are taken a few at a time: the sums of each, the roots of all of them side by side, then the elements. So nothing waits for
# the end of a sum, and the roots are taken in lanes (benchmarks/test_operations.py, layer_norm).
FEW_ROWS = """
most = max(1, min(AT_ONCE, CACHED // max(length, 1)))
totals = at_float64(stack(BYTES_OF_TOTALS), 0)
means, scales, rests = at_T(stack(BYTES), 0), at_T(stack(BYTES), 0), at_T(stack(BYTES), 0)
for top in range(start, stop, most):
    bottom = min(top + most, stop)
    for unit in range(top, bottom):
        SUMS_OF_A_ROW
    for k in few(bottom - top):
        v = T(totals[k] / float64(length) + eps)
        root = sqrt(v)
        scales[k] = 1.0 / root
        rests[k] = rest_of_inverse(v, root, scales[k])
    for unit in range(top, bottom):
        ELEMENTS
"""
KEEP = """
totals[unit - top] = total
means[unit - top] = m
"""
FOUND = """
m = means[unit - top]
r = scales[unit - top]
rest = rests[unit - top]
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


def rest_of_inverse(v, root, r):
    """What 1 / sqrt(v) is more than r = 1 / root, to first order; 0 where one of them is no number, or 0."""
    of_quotient, of_root = fma(-r, root, 1.0), fma(-root, root, v)
    return where((root > 0.0) & (root < INF), r * (of_quotient - 0.5 * (of_root * r * r)), 0.0)


def scaled(x, r, rest):
    """``x (r + rest)``, rounded once."""
    return fma(x, r, x * rest)


def times_scaled(g, away, r):
    """The product in this order."""
    return g * r * away


def names_of() -> tuple[tuple[str, Any], ...]:
    """What the loops mention."""
    functions = (shifted, scaled, times_scaled, rest_of_inverse)
    return *((function.__name__, function) for function in functions), ("INF", math.inf)


def moments(rows: Rows) -> str:
    """The mean m of a row x, and the sum of the squares around it; of a backward pass over channels, these come with other sums."""
    text = ""
    if rows.centred:
        text += replaced(SUM, NAME="total", FIRST="0", LAST="length", TERM="x[i]") + "m = T(total / float64(length))\n"
    if rows.backward and rows.scale != "channels":
        return text
    return text + replaced(SUM, NAME="total", FIRST="0", LAST="length", TERM=f"{away(rows)} * {away(rows)}")


def away(rows: Rows) -> str:
    """An element less the mean."""
    return "(x[i] - m)" if rows.centred else "x[i]"


def forward(rows: Rows) -> str:
    """What becomes of a row."""
    at = {"elements": "i", "channels": "c", "": ""}[rows.scale]
    value = f"scaled({away(rows)}, r, rest)" + f" * w[{at}]" * bool(rows.scale) + f" + b[{at}]" * rows.biased
    if rows.scale != "channels":
        return f"for i in range(length):\n    out[i] = {value}\n"
    return BY_CHANNELS + f"    for i in range(k, k + inner):\n        out[i] = {value}\n"


def backward(rows: Rows) -> str:
    """The cotangent of a row, and what it adds to the sums of its part."""
    given = {"elements": "g[i] * w[i]", "channels": "g[i] * w[c]", "": "g[i]"}[rows.scale]
    result = f"r * shifted({given}, shift, slope * {away(rows)})" if rows.centred else f"r * ({given} - slope * {away(rows)})"
    ends = "shift = T(plain / float64(length))\nslope = T(joint / float64(length)) * r * r\n"
    if rows.scale != "channels":
        sums = replaced(SUMS_AND_SQUARES, PLAIN=given, JOINT=f"{given} * {away(rows)}", AWAY=away(rows))
        text = sums + R + ends + f"for i in range(length):\n    out[i] = {result}\n"
        text += f"    dw[i] += times_scaled(g[i], {away(rows)}, r)\n" * bool(rows.scale)
        return text + "    db[i] += g[i]\n" * bool(rows.scale and rows.biased)
    sums = replaced(SUMS, FIRST="k", LAST="k + inner", PLAIN="g[i]", JOINT=f"g[i] * {away(rows)}")
    adds = "all_plain += plain * float64(w[c])\nall_joint += joint * float64(w[c])\ndw[c] += T(joint) * r\n"
    adds += "db[c] += T(plain)\n" * rows.biased
    return (
        R
        + "all_plain = float64(0.0)\nall_joint = float64(0.0)\n"
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
    outs, base = 1 + rows.sums, f"{'row' if rows.sums else 'unit'} * length * SIZE"
    names = (["g", "x"] if rows.backward else ["x"]) + ["w"] * bool(rows.scale) + ["b"] * (rows.biased and not rows.backward)
    loads = {name: pointer(name, 1 + outs + k, "first" if name in "wb" else base) for k, name in enumerate(names)}
    of_group = FIRST_CHANNEL * bool(rows.scale) + "".join(loads[name] for name in names if name in "wb")
    of_row = "".join(loads[name] for name in names if name in "gx")
    out = pointer("out", 1, base)
    if rows.backward:
        loop = of_parts(rows, of_group, out + of_row + moments(rows) + backward(rows))
    else:
        loop = of_few_rows(rows, of_row, of_group + out + forward(rows))
    label = f"standardise {' '.join(map(str, rows))} {dtype}"
    size = WIDTHS[dtype]
    words: dict[str, Any] = {"SIZE": size, "AT_ONCE": AT_ONCE, "BYTES_OF_TOTALS": 8 * AT_ONCE, "BYTES": AT_ONCE * size}
    words |= {"CACHED": CACHED, "at_T": f"at_{dtype}", " T(": f" {dtype}(", "(T(": f"({dtype}("}
    return fill_template(HEAD + indent(loop, "    "), label, words)


def of_few_rows(rows: Rows, of_row: str, elements: str) -> str:
    """The loop over rows whose elements are computed when the sums of some are known."""
    text = FEW_ROWS
    for name, part in (("SUMS_OF_A_ROW", of_row + moments(rows) + KEEP), ("ELEMENTS", of_row + FOUND + elements)):
        text = text.replace(f"        {name}\n", indent(part, " " * 8))
    return text if rows.centred else "".join(line for line in text.splitlines(True) if "means[" not in line)


def of_parts(rows: Rows, of_group: str, of_row: str) -> str:
    """The loop over rows; with a weight, that over parts of the samples and their rows."""
    head = "for unit in range(start, stop):\n"
    if not rows.sums:
        return head + indent(of_row, "    ")
    part = replaced(PART, LAST_OUT=str(1 + rows.sums))
    if not rows.biased:
        part = "".join(line for line in part.splitlines(True) if not line.lstrip().startswith("db"))
    return head + indent(of_group + part, "    ") + indent(of_row, " " * 8)
