"""Scan kernel templates: what an accumulator has folded up to each element, along rows and along lines of columns.

NOTE [Three passes]: a row that one block scans takes one kernel, stage ``"whole"``. A longer one is cut into parts: stage
``"totals"`` folds each part, ``"offsets"`` scans what these give, and ``"carried"`` scans each part from there on. No thread waits
for another block: the order depends on the shape alone.

NOTE [Tiles of a scan]: a block reads ``TILE`` neighbours into shared memory, so that loads are of neighbours though each thread
scans elements that follow each other; what threads have folded is scanned by doubling distances.
"""

# ruff: noqa: F821  (absorb, finish and merge are bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

from ...base.dtypes import dtype_of
from ...ops.core import OPS
from ..monoids import last_greatest, last_smallest
from .access import Access, compute_dtype, itemsize
from .accumulators import Accumulator, accumulator, identity
from .scores import logsumexp_accumulator
from .templates import BLOCK, Template, ceil_div, compile_template, indent

__all__ = ["STAGES", "Scan", "parts_of", "scan_lines", "scan_of", "scan_rows", "scan_tile"]

STAGES = ("whole", "totals", "offsets", "carried")


class Scan(NamedTuple):
    """What is scanned.

    Attributes:
        of: the accumulator; ``finish`` gives a result, of the state behind the element.
        operands: how many an element has.
        before: the result is that of the state before the element; with ``takes`` it is given the element's operands, too.
        takes: see ``before``.
        exact: the result is an index, whatever the kernel computes in.
        alone: elements cannot be folded apart: a thread goes along the whole line.
    """

    of: Accumulator
    operands: int = 1
    before: bool = False
    takes: bool = False
    exact: bool = False
    alone: bool = False

    @property
    def name(self) -> str:
        """Of the operation."""
        return self.of.name


# ---- what is scanned ---------------------------------------------------------------------------------------------------


def absorb_indexed(x, i, j, y):
    """An element and its place."""
    return combine(x, i, y, j)


def place_of(x, i):
    """The place of an extremum."""
    return i


def step_on(carry, x, y):
    """A linear recurrence's next value."""
    return y + x * carry


def step_lagged(carry, x, y):
    """What a recurrence hands on that is multiplied behind its result."""
    return x * (y + carry)


def value_of(carry):
    """The value itself."""
    return carry


def value_before(carry, x, y):
    """The result of a lagged recurrence."""
    return y + carry


def first_operand(carry, later):
    """Of a recurrence no parts are merged."""
    return later


@cache
def scan_of(name: str, dtype: str) -> Scan:
    """A scan of elements in compute dtype ``dtype``: sum, product, product_before, greatest, smallest, logsumexp, recurrence and
    recurrence_lagged. Products and recurrences are computed in double: what is between may be out of a float's range.
    """
    if name == "sum":
        return Scan(accumulator(OPS["sum"], dtype))
    if name == "logsumexp":
        return Scan(logsumexp_accumulator(dtype))
    kind = dtype_of(dtype)
    wide = "complex128" if kind.is_complex else "float64" if kind.is_floating_point else "int64"
    if name.startswith("product"):
        return Scan(accumulator(OPS["prod"], wide)._replace(name=name), before=name == "product_before")
    if name in ("greatest", "smallest"):
        of = accumulator(OPS["argmax" if name == "greatest" else "argmin"], dtype)
        combine = {"greatest": last_greatest, "smallest": last_smallest}[name]
        of = of._replace(name=name, absorb=absorb_indexed, merge=combine, finish=place_of, names=(("combine", combine),))
        return Scan(of, exact=True)
    if kind.is_complex:
        return complex_recurrence(name)
    lagged = name == "recurrence_lagged"
    step, finish = (step_lagged, value_before) if lagged else (step_on, value_of)
    of = Accumulator(name, wide, identity, (wide,), (0,) if wide == "int64" else (0.0,), step, first_operand, finish, pairs=True)
    return Scan(of, 2, before=lagged, takes=lagged, alone=True)


def complex_step(re, im, x, y):
    """A linear recurrence's next value, by parts."""
    z = y + x * complex(re, im)
    return z.real, z.imag


def complex_step_lagged(re, im, x, y):
    """What a lagged recurrence hands on, by parts."""
    z = x * (y + complex(re, im))
    return z.real, z.imag


def complex_value(re, im):
    """The value of two parts."""
    return complex(re, im)


def complex_value_before(re, im, x, y):
    """The result of a lagged recurrence."""
    return y + complex(re, im)


def second_parts(re, im, later, later_im):
    """Of a recurrence no parts are merged."""
    return later, later_im


def complex_recurrence(name: str) -> Scan:
    """A recurrence of complex numbers."""
    lagged = name == "recurrence_lagged"
    step, finish = (complex_step_lagged, complex_value_before) if lagged else (complex_step, complex_value)
    of = Accumulator(name, "complex128", identity, ("float64",) * 2, (0.0,) * 2, step, second_parts, finish, pairs=True)
    return Scan(of, 2, before=lagged, takes=lagged, alone=True)


# ---- templates ---------------------------------------------------------------------------------------------------------


class Source:
    """Lines of a scan, over a state named ``{group}_{s}``."""

    def __init__(self, scan: Scan, inputs: tuple[str, ...], output: str, stage: str):
        self.scan, self.of, self.stage = scan, scan.of, stage
        self.width = range(len(self.of.state))
        self.inputs = self.of.state if stage == "offsets" else inputs
        self.outputs = self.of.state if stage in ("totals", "offsets") else (output,)
        self.carries = self.of.state if stage == "carried" else ()

    def parameters(self) -> list[str]:
        groups = (("out", self.outputs), ("x", self.inputs), ("carry", self.carries))
        return [f"{name}{k}" for name, dtypes in groups for k in range(len(dtypes))]

    def names(self, group: str) -> list[str]:
        return [f"{group}_{s}" for s in self.width]

    def start(self, group: str) -> list[str]:
        return [f"{group}_{s} = IDENTITY{s}" for s in self.width]

    def load(self, at: str) -> list[str]:
        return [f"v{k} = {self.loads(dtype).name}(x{k}, {at})" for k, dtype in enumerate(self.inputs)]

    def loads(self, dtype: str) -> Access:
        return Access("load", dtype, exact=self.stage == "offsets")

    def stores(self, dtype: str) -> Access:
        return Access("store", dtype, exact=self.scan.exact or self.stage in ("totals", "offsets"))

    def carried(self, group: str, at: str) -> list[str]:
        """The state from which a part goes on."""
        return [f"{group}_{s} = {Access('load', d, exact=True).name}(carry{s}, {at})" for s, d in enumerate(self.carries)]

    def absorb(self, group: str, index: str) -> str:
        loaded = [f"v{k}" for k in range(len(self.inputs))]
        if self.stage == "offsets":
            return self.merge(group, group, loaded)
        elements = loaded if self.of.pairs else [f"scalar({', '.join(loaded)})"]
        place = [index] if self.of.indexed else []
        return f"{', '.join(self.names(group))} = absorb({', '.join([*self.names(group), *place, *elements])})"

    def merge(self, group: str, first: str, later: list[str]) -> str:
        return f"{', '.join(self.names(group))} = merge({', '.join([*self.names(first), *later])})"

    def results(self, group: str) -> list[str]:
        """Lines that make the results ``y0`` and so on of the element."""
        if self.stage == "offsets":
            return [f"y{s} = {group}_{s}" for s in self.width]
        operands = [f"v{k}" for k in range(len(self.inputs))] if self.scan.takes else []
        return [f"y0 = finish({', '.join([*self.names(group), *operands])})"]

    def advance(self, group: str, index: str) -> list[str]:
        """Lines that go on by the loaded element, and make its results."""
        if self.stage == "totals":
            return [self.absorb(group, index)]
        made = self.results(group)
        exclusive = self.scan.before or self.stage == "offsets"
        return [*made, self.absorb(group, index)] if exclusive else [self.absorb(group, index), *made]

    def kept(self, names: str, at: str) -> list[str]:
        return [f"{self.stores(dtype).name}(out{k}, {at}, {names}{k})" for k, dtype in enumerate(self.outputs)]

    def template(self, name: str, source: str, kinds: tuple[str, ...] = ()) -> Template:
        name = f"{name}_{self.of.name}_{self.stage}_{'_'.join(self.inputs)}_to_{self.outputs[0]}"
        loads, stores = [*map(self.loads, self.inputs)], [*map(self.stores, self.outputs)]
        accesses = frozenset([*loads, *stores, *(Access("load", dtype, exact=True) for dtype in self.carries)])
        pointers = (*self.outputs, *self.inputs, *self.carries)
        return Template(
            name, compile_template(name, source), pointers, 0, accesses, Counter([*loads, *stores]), 64, (*self.of.state, *kinds)
        )


@cache
def scan_lines(scan: Scan, inputs: tuple[str, ...], output: str, stage: str = "whole") -> Template:
    """out[outer, i, column] = the fold of x[outer, ..i, column], a thread a line and part.

    States of parts are (part, outer, column). Integer parameters: ``lines``, ``length``, ``width``, ``share`` elements a part,
    ``reverse``. Grid: (blocks of lines, parts).
    """
    s = Source(scan, inputs, output, stage)
    state = [f"{s.stores(dtype).name}(out{k}, part, a_{k})" for k, dtype in enumerate(s.outputs)] if stage == "totals" else []
    return s.template(
        "scan_lines",
        f"""
def NAME({", ".join(s.parameters())}, lines, length, width, share, reverse):
    line = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if line < lines:
        outer = line // width
        base = outer * length * width + (line - outer * width)
        part = cuda.blockIdx.y * lines + line
        {indent(8, s.carried("a", "part") if stage == "carried" else s.start("a"))}
        first = cuda.blockIdx.y * share
        for i in range(first, min(first + share, length)):
            place = i
            if reverse != 0:
                place = length - 1 - i
            {indent(12, [*s.load("base + place * width"), *s.advance("a", "place")])}
            {indent(12, s.kept("y", "base + place * width") if stage != "totals" else ["pass"])}
        {indent(8, state or ["pass"])}
""",
    )


def scan_tile(scan: Scan, stage: str) -> int:
    """Elements of a tile of ``scan_rows``: as many as shared memory has room for."""
    if stage == "offsets":
        return BLOCK
    wide = max(map(itemsize, (scan.of.dtype, *scan.of.state))) > 4 or scan.exact
    return BLOCK * (4 if wide else 8)


@cache
def scan_rows(scan: Scan, inputs: tuple[str, ...], output: str, stage: str = "whole") -> Template:
    """out[row, i] = the fold of x[row, ..i], on contiguous rows: a block for each part of a row.

    States of parts are (row, part). Integer parameters: ``n``, ``share`` elements a part (a multiple of ``scan_tile``),
    ``reverse``. Grid: (rows, parts).
    """
    s, tile = Source(scan, inputs, output, stage), scan_tile(scan, stage)
    each, kind = tile // BLOCK, compute_dtype(scan.of.dtype)
    elements = s.inputs if stage == "offsets" else (kind,) * len(inputs)
    results = () if stage == "totals" else s.inputs if stage == "offsets" else ("int64" if scan.exact else kind,)
    first, space = len(s.width), tile + tile // each
    shared = [f"sums_{k} = cuda.shared.array({2 * BLOCK}, STATE{k})" for k in s.width]
    shared += [f"elements_{k} = cuda.shared.array({space}, STATE{first + k})" for k in range(len(elements))]
    shared += [f"results_{k} = cuda.shared.array({space}, STATE{first + len(elements) + k})" for k in range(len(results))]
    move_in = [f"elements_{k}[t + t // {each}] = {s.loads(d).name}(x{k}, at)" for k, d in enumerate(s.inputs)]
    move_out = [f"{s.stores(d).name}(out{k}, at, results_{k}[t + t // {each}])" for k, d in enumerate(s.outputs)]
    own = [f"v{k} = elements_{k}[thread * {each + 1} + k]" for k in range(len(elements))]
    keep = [f"results_{k}[thread * {each + 1} + k] = y{k}" for k in range(len(results))]
    scanned = [f"sums_{k}[thread] = a_{k}" for k in s.width] + ["cuda.syncthreads()"]
    for number in range((BLOCK - 1).bit_length()):
        distance, side = 1 << number, BLOCK * (number % 2)
        other = BLOCK - side
        scanned += [
            f"if thread >= {distance}:",
            *(f"    t_{k} = sums_{k}[{side} + thread - {distance}]" for k in s.width),
            f"    {s.merge('a', 't', s.names('a'))}",
            *(f"sums_{k}[{other} + thread] = a_{k}" for k in s.width),
            "cuda.syncthreads()",
        ]
    last = BLOCK * ((BLOCK - 1).bit_length() % 2)
    # The state before a thread's first element: that of the row so far, then that of the threads before it.
    before = [
        *(f"b_{k} = c_{k}" for k in s.width),
        "if thread > 0:",
        *(f"    t_{k} = sums_{k}[{last} + thread - 1]" for k in s.width),
        f"    {s.merge('b', 'c', s.names('t'))}",
        *(f"t_{k} = sums_{k}[{last + BLOCK - 1}]" for k in s.width),
        s.merge("c", "c", s.names("t")),
    ]
    place = ["place = low + thread * {each} + k".replace("{each}", str(each)), "if reverse != 0:", "    place = n - 1 - place"]
    again = [
        f"for k in range({each}):",
        f"    if low + thread * {each} + k < stop:",
        *(f"        {x}" for x in [*own, *place, *s.advance("b", "place"), *keep]),
        "cuda.syncthreads()",
        f"for k in range({each}):",
        f"    t = k * {BLOCK} + thread",
        "    if low + t < stop:",
        *(f"        {x}" for x in [*at_lines(), *move_out]),
    ]
    at_part = "cuda.blockIdx.x * cuda.gridDim.y + cuda.blockIdx.y"
    totals = ["if thread == 0:", *(f"    {s.stores(d).name}(out{k}, {at_part}, c_{k})" for k, d in enumerate(s.outputs))]
    return s.template(
        "scan_rows",
        f"""
def NAME({", ".join(s.parameters())}, n, share, reverse):
    thread = cuda.threadIdx.x
    row = cuda.blockIdx.x * n
    first = cuda.blockIdx.y * share
    stop = min(first + share, n)
    {indent(4, shared)}
    {indent(4, s.carried("c", at_part) if stage == "carried" else s.start("c"))}
    for low in range(first, stop, {tile}):
        for k in range({each}):
            t = k * {BLOCK} + thread
            if low + t < stop:
                {indent(16, [*at_lines(), *move_in])}
        cuda.syncthreads()
        {indent(8, s.start("a"))}
        for k in range({each}):
            if low + thread * {each} + k < stop:
                {indent(16, [*own, *place, s.absorb("a", "place")])}
        {indent(8, scanned + before)}
        {indent(8, [] if stage == "totals" else again)}
        cuda.syncthreads()
    {indent(4, totals if stage == "totals" else [])}
""",
        (*elements, *results),
    )


def at_lines() -> list[str]:
    """Lines that make ``at``, where the element ``low + t`` of a row is."""
    return ["at = row + low + t", "if reverse != 0:", "    at = row + n - 1 - low - t"]


def parts_of(n: int, most: int, least: int) -> tuple[int, int]:
    """``(parts, share)``: at most ``most`` parts of at least ``least`` elements, of which each share is a multiple."""
    share = ceil_div(ceil_div(n, most), least) * least
    return ceil_div(n, share), share
