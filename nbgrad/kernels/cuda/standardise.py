"""Kernels of standardised rows that are held: NOTE [Standardised rows] of ops/standardise.py, NOTE [Held rows] of rows.py.

A row is folded twice where it lies in registers: to its mean, then to what is left around that. ``drift`` is the mean of what is
left, which is what the rounding of the mean has left out.

The cotangents of weight and bias come from the same pass. A block takes several rows, and its threads add up what belongs to the
elements they hold; what a block has found is one part of the sums, in an order that the shape alone decides.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

from ..templates.standardise import Rows
from .access import Access, compute_dtype, itemsize, vector_lanes
from .build import blocks_with
from .meetings import in_pairs, meet, meeting_places
from .reductions import short_width
from .templates import BLOCK, WARP, Template, ceil_div, compile_template, indent

__all__ = ["HeldRow", "held_row", "held_rows"]

MOST_HELD = 128  # bytes of one operand that a thread may hold
# Registers of what a thread holds before more threads share a row: of an operand; of all where it adds up, too, since what threads
# of one warp share needs no barrier, and that costs more than warps that have no room.
MOST_NUMBERS, MOST_ADDED = 16, 64
MOST_SUMS = 96  # registers of all that a thread holds where it adds up: sm_80 has none to spare
BESIDE = 56  # registers that a thread needs beside the numbers it holds, and addresses of their vectors


class HeldRow(NamedTuple):
    """How threads share a row.

    Attributes:
        width: threads of a row.
        held: vectors that a thread holds.
        lanes: elements of a vector.
        even: whether the elements of a vector belong to one channel.
    """

    width: int
    held: int
    lanes: int
    even: bool = True

    @property
    def at_once(self) -> int:
        """Rows that a block has at a time."""
        return BLOCK // self.width

    def registers(self, rows: Rows, compute: str) -> int:
        """Registers that a thread holds numbers in: of rows, their cotangents, and the sums."""
        return self.held * self.lanes * (1 + rows.backward + rows.sums) * itemsize(compute) // 4


def held_row(n: int, inner: int, dtypes: tuple[str, ...], rows: Rows) -> HeldRow | None:
    """The shape for rows of ``n`` elements, in channels of ``inner``; None for rows that are too long to be held.

    >>> rows = Rows(False, True)
    >>> held_row(768, 1, ("float32",), rows), held_row(768, 1, ("bfloat16",), rows), held_row(8193, 1, ("float32",), rows)
    (HeldRow(width=64, held=3, lanes=4, even=False), HeldRow(width=64, held=2, lanes=8, even=False), None)
    """
    lanes = vector_lanes(dtypes)
    if n % lanes:
        lanes = 1
    vectors, width, compute = n // lanes, short_width(n, lanes), compute_dtype(dtypes[0])
    row = HeldRow(width, ceil_div(vectors, width), lanes, inner % lanes == 0)
    most = MOST_ADDED if rows.sums else MOST_NUMBERS * (1 + rows.backward)
    while row.width < BLOCK and row.registers(rows, compute) > most:
        row = row._replace(width=2 * row.width, held=ceil_div(vectors, 2 * row.width))
    too_long = row.held * lanes * itemsize(compute) > MOST_HELD or rows.sums and row.registers(rows, compute) > MOST_SUMS
    return None if too_long else row


class Source:
    """The source of a kernel, in parts: lines for each vector that a thread holds, of each of its lanes."""

    def __init__(self, rows: Rows, dtype: str, weight: str, row: HeldRow, vectors: bool):
        self.rows, self.dtype, self.weight, self.row, self.vectors = rows, dtype, weight, row, vectors and row.lanes > 1
        self.compute = compute_dtype(dtype)
        self.accesses: set[Access] = set()

    def access(self, direction: str, dtype: str, lanes: int = 1) -> str:
        made = Access(direction, dtype, lanes)
        self.accesses.add(made)
        return made.name

    def load(self, name: str, pointer: str, dtype: str, row: str, i: str) -> str:
        """Load the ``i``-th vector from element ``row`` on."""
        lanes = self.row.lanes
        if lanes == 1:
            return f"{name} = {self.access('load', dtype)}({pointer}, {row} + {i})"
        if self.vectors:
            return f"{name} = {self.access('load', dtype, lanes)}({pointer}, ({row} >> {lanes.bit_length() - 1}) + {i})"
        places = [f"{self.access('load', dtype)}({pointer}, {row} + {i} * {lanes} + {k})" for k in range(lanes)]
        return f"{name} = ({', '.join(places)})"

    def load_scale(self, name: str, pointer: str, i: str) -> list[str]:
        """Load what a weight or bias has for the ``i``-th vector of the row: a number for each lane."""
        lanes, one = self.row.lanes, self.access("load", self.weight)
        if self.rows.scale == "elements":
            return [self.load(name, pointer, self.weight, "first", i)]
        if lanes == 1:
            return [f"{name} = {one}({pointer}, (first + {i}) // inner)"]
        if self.row.even:
            return [f"c = {one}({pointer}, (first + {i} * {lanes}) // inner)", f"{name} = ({', '.join(['c'] * lanes)})"]
        places = [f"{one}({pointer}, (first + {i} * {lanes} + {k}) // inner)" for k in range(lanes)]
        return [f"{name} = ({', '.join(places)})"]

    def store(self, values: list[str], i: str) -> list[str]:
        """Store the ``i``-th vector of the row's result."""
        lanes = self.row.lanes
        if self.vectors:
            shift = lanes.bit_length() - 1
            return [f"{self.access('store', self.dtype, lanes)}(out0, (at >> {shift}) + {i}, ({', '.join(values)}))"]
        one = self.access("store", self.dtype)
        places = [f"at + {i}"] if lanes == 1 else [f"at + {i} * {lanes} + {k}" for k in range(lanes)]
        return [f"{one}(out0, {place}, {value})" for place, value in zip(places, values)]

    def lane(self, name: str, u: int, k: int) -> str:
        return f"{name}{u}" if self.row.lanes == 1 else f"{name}{u}[{k}]"

    def each(self, lines) -> list[str]:
        """``lines(u, i)`` for the vectors that a thread has."""
        made = []
        for u in range(self.row.held):
            i = f"(lane + {u * self.row.width})"
            made += self.guarded(u, lines(u, i))
        return made

    def guarded(self, u: int, lines: list[str]) -> list[str]:
        """Lines for a vector, if a thread has that many: all threads have all but the last."""
        return lines if u + 1 < self.row.held else [f"if lane + {u * self.row.width} < count:", *(f"    {line}" for line in lines)]

    def loads(self) -> list[str]:
        """Load the row: of threads that have no such vector, the last one."""
        made = []
        for u in range(self.row.held):
            i = f"lane + {u * self.row.width}"
            i = f"min({i}, count - 1)" if u + 1 == self.row.held else f"({i})"
            made.append(self.load(f"x{u}", "x", self.dtype, "at", i))
            if self.rows.backward:
                made.append(self.load(f"g{u}", "g", self.dtype, "at", i))
        return made

    def added(self, totals: dict, shared: str) -> list[str]:
        """Add up what the threads of a row have found; ``totals``: name and term of each lane."""
        lanes = range(self.row.lanes)

        def terms(u: int, i: str) -> list[str]:
            made = self.weights(u, i, "slope" in totals)
            for name, term in totals.items():
                made += [*in_pairs([term(u, k) for k in lanes], "u", "{} + {}"), f"{name} = {name} + u0"]
            return made

        made = [f"{name} = 0.0" for name in totals] + self.each(terms)
        merged = f"{', '.join(totals)} = {', '.join(f'{name} + {{}}' for name in totals)}"
        return made + meet([*totals], lambda later: merged.format(*later), self.row.width, shared)

    def weights(self, u: int, i: str, needed: bool) -> list[str]:
        """Load the weights of a vector, if there are any; twice a row, since they are near, and would take registers."""
        return self.load_scale(f"w{u}", "w", i) if self.rows.scale and needed else []

    def given(self, u: int, k: int) -> str:
        """The cotangent of an element of the standardised row."""
        g = self.lane("g", u, k)
        return f"({g} * {self.lane('w', u, k)})" if self.rows.scale else g

    def folds(self) -> list[str]:
        """What a row is folded to: m, drift and r; of cotangents shift and slope."""
        made, totals = list[str](), {}
        if self.rows.centred:
            made += [*self.added({"m": lambda u, k: self.lane("x", u, k)}, "first_"), "m = m * each"]
            totals["drift"] = self.away
        totals["squares"] = lambda u, k: f"{self.away(u, k)} * {self.away(u, k)}"
        if self.rows.backward:
            totals |= {"shift": self.given} if self.rows.centred else {}
            totals["slope"] = lambda u, k: f"{self.given(u, k)} * {self.away(u, k)}"
        made += self.added(totals, "second_")
        if not self.rows.centred:
            made.append("r = 1.0 / sqrt(squares * each + eps)")
            return made + ["slope = slope * each * r * r"] * self.rows.backward
        made += ["drift = drift * each", "spread = squares * each - drift * drift"]
        made.append("r = 1.0 / sqrt(where(spread < 0.0, 0.0, spread) + eps)")
        if self.rows.backward:
            made += ["shift = shift * each", "slope = (slope * each - drift * shift) * r * r"]
        return made

    def away(self, u: int, k: int) -> str:
        """An element less the mean as it was rounded."""
        return f"({self.lane('x', u, k)} - m)" if self.rows.centred else self.lane("x", u, k)

    def settled(self, u: int, k: int) -> str:
        """An element less the mean."""
        return f"({self.away(u, k)} - drift)" if self.rows.centred else self.away(u, k)

    def mapped(self, u: int, i: str) -> list[str]:
        """What becomes of a vector, and what it adds to the sums of the block."""
        lanes = range(self.row.lanes)
        if not self.rows.backward:
            before = self.weights(u, i, True)
            before += self.load_scale(f"b{u}", "b", i) if self.rows.biased else []
            ends = [
                f" * {self.lane('w', u, k)}" * bool(self.rows.scale) + f" + {self.lane('b', u, k)}" * self.rows.biased
                for k in lanes
            ]
            return [*before, *self.store([f"{self.settled(u, k)} * r{end}" for k, end in enumerate(ends)], i)]
        shift = " - shift" if self.rows.centred else ""
        made = self.weights(u, i, True)
        made += self.store([f"r * (({self.given(u, k)}{shift}) - slope * {self.settled(u, k)})" for k in lanes], i)
        if self.rows.sums:
            made += [f"dw{u}_{k} = dw{u}_{k} + {self.lane('g', u, k)} * ({self.settled(u, k)} * r)" for k in lanes]
            made += [f"db{u}_{k} = db{u}_{k} + {self.lane('g', u, k)}" for k in lanes] * self.rows.biased
        return made

    def shared(self) -> list[str]:
        """Memory of the block."""
        second = 1 + self.rows.centred + self.rows.backward * (1 + self.rows.centred)
        folds = ("first_", int(self.rows.centred)), ("second_", second)
        return [line for place, count in folds for line in meeting_places([0] * count, self.row.width, place)]

    def start_sums(self) -> list[str]:
        """The sums of the block, of what each thread holds."""
        names = ["dw"] + ["db"] * self.rows.biased
        return [f"{name}{u}_{k} = 0.0" for name in names for u in range(self.row.held) for k in range(self.row.lanes)]

    def store_sums(self) -> list[str]:
        """The sums of the rows that the block had at once meet in its memory, and are one part."""
        lanes, size = self.row.lanes, self.row.width * self.row.held * self.row.lanes
        made = [f"meeting = cuda.shared.array({size * self.row.at_once}, STATE0)"]
        for number, name in enumerate(["dw"] + ["db"] * self.rows.biased):

            def put(u: int, i: str, name: str = name) -> list[str]:
                return [f"meeting[which * {size} + {i} * {lanes} + {k}] = {name}{u}_{k}" for k in range(lanes)]

            total = " + ".join(f"meeting[column + {size * w}]" for w in range(self.row.at_once))
            made += ["cuda.syncthreads()", *self.each(put), "cuda.syncthreads()"]
            made.append(f"for column in range(cuda.threadIdx.x, n, {BLOCK}):")
            made.append(f"    {self.access('store', self.compute)}(sums{number}, part + column, {total})")
        return made


@cache
def held_rows(rows: Rows, dtype: str, weight: str, row: HeldRow, vectors: bool = True) -> Template:
    """The kernel of rows in memory of ``dtype``, whose weight and bias are of dtype ``weight``.

    Args:
        vectors: whether by vector accesses: NOTE [Single loads] of reductions.py.

    Pointers: the result; of the cotangents with a weight, the parts of the sums; the cotangent, the rows, weight, bias. Values: the
    elements of a row, what is added to the variance. Integers: ``rows``, ``n``, ``groups``, ``inner``; of the cotangents with a
    weight ``samples`` and ``share``, samples of a part. Grid: a block for as many rows as it has at once; or (parts, groups).
    """
    s = Source(rows, dtype, weight, row, vectors)
    sums = [f"sums{k}" for k in range(rows.sums)]
    scale = ["w"] * bool(rows.scale) + ["b"] * (rows.biased and not rows.backward)
    parameters = ["out0", *sums, *["g"] * rows.backward, "x", *scale, "length", "eps", "rows", "n", "groups", "inner"]
    parameters += ["samples", "share"] if sums else []
    shift = row.lanes.bit_length() - 1
    if sums:
        again = ["cuda.syncthreads()"] * (not rows.centred and row.width > WARP)  # before the next row's numbers are shared
        body = f"""
    first = cuda.blockIdx.y * n
    part = (cuda.blockIdx.x * groups + cuda.blockIdx.y) * n
    start = cuda.blockIdx.x * share
    stop = min(start + share, samples)
    {indent(4, s.start_sums())}
    for sample in range(start, stop, {row.at_once}):
        at = (min(sample + which, stop - 1) * groups + cuda.blockIdx.y) * n
        {indent(8, s.loads() + s.folds())}
        if sample + which < stop:
            {indent(12, s.each(s.mapped))}
        {indent(8, again)}
    {indent(4, s.store_sums())}
"""
    else:
        body = f"""
    row = cuda.blockIdx.x * {row.at_once} + which
    at = min(row, rows - 1) * n
    first = (min(row, rows - 1) % groups) * n
    {indent(4, s.loads() + s.folds())}
    if row < rows:
        {indent(8, s.each(s.mapped))}
"""
    kind = "_cotangents" * rows.backward + "_plain" * (not rows.centred) + "_even" * (row.even and rows.scale == "channels")
    kind += f"_{rows.scale}" * bool(rows.scale) + "_biased" * rows.biased
    how = f"x{row.lanes}" + ("" if s.vectors or row.lanes == 1 else "s")
    name = f"standardise{kind}_{row.width}h{row.held}_{dtype}_{weight}_{how}"
    function = compile_template(
        name,
        f"""
def NAME({", ".join(parameters)}):
    lane = cuda.threadIdx.x % {row.width}
    which = cuda.threadIdx.x // {row.width}
    count = n >> {shift}
    each = 1.0 / length
    {indent(4, s.shared())}
{body}
""",
    )
    pointers = (dtype, *[s.compute] * len(sums), *[dtype] * (1 + rows.backward), *[weight] * len(scale))
    needed = row.registers(rows, s.compute) + 4 * row.held * (1 + rows.backward) + BESIDE * (2 if s.compute == "float64" else 1)
    needed += row.at_once if sums else 0  # what its rows have added up meets at the end
    traffic = Counter([Access("load", dtype, row.lanes), Access("store", dtype, row.lanes)] if s.vectors else [])
    return Template(name, function, pointers, 2, frozenset(s.accesses), traffic, 64, (s.compute,), blocks_with(needed))
