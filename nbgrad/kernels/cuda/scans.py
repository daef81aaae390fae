"""Scan kernel templates: what an accumulator has folded up to each element, along rows and along lines of columns.

NOTE [Three passes]: a row that one block scans takes one kernel, stage ``"whole"``. A longer one is cut into parts: stage
``"totals"`` folds each part, ``"offsets"`` scans what these give, and ``"carried"`` scans each part from there on. No thread waits
for another block: the order depends on the shape alone.

NOTE [Tiles of a scan]: a block reads a tile of neighbours into shared memory, so that loads are of neighbours though each thread
scans elements that follow each other; what threads have folded is scanned by doubling distances within warps, then along warps.
"""

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
from .templates import BLOCK, WARP, WARPS, Template, ceil_div, compile_template, indent

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
        return Scan(of._replace(name=name, merge=combine, names=(("combine", combine),)), exact=True)
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
        # An exponential and a logarithm of float64 beside a thread's elements: more would spill.
        resident = 2 if self.of.name == "logsumexp" and self.of.dtype == "float64" and name.startswith("scan_rows") else 0
        return Template(
            name,
            compile_template(name, source),
            pointers,
            0,
            accesses,
            Counter([*loads, *stores]),
            64,
            (*self.of.state, *kinds),
            resident,
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
        return BLOCK * 4
    wide = max(map(itemsize, (scan.of.dtype, *scan.of.state))) > 4 or scan.exact
    return BLOCK * (8 if wide else 16)


@cache
def scan_rows(scan: Scan, inputs: tuple[str, ...], output: str, stage: str = "whole") -> Template:
    """out[row, i] = the fold of x[row, ..i], on contiguous rows: a block for each part of a row.

    States of parts are (row, part). Integer parameters: ``n``, ``share`` elements a part (a multiple of ``scan_tile``),
    ``reverse``. Grid: (rows, parts).
    """
    s, tile = Source(scan, inputs, output, stage), scan_tile(scan, stage)
    return fold_parts(s, tile) if stage == "totals" else scan_parts(s, tile)


AT_PART = "cuda.blockIdx.x * cuda.gridDim.y + cuda.blockIdx.y"
# Where a block's part of a row begins and ends, and its elements are: ``low + t`` at ``here + t * step``.
PART_LINES = (
    "thread = cuda.threadIdx.x",
    f"lane = thread & {WARP - 1}",
    f"warp = thread >> {WARP.bit_length() - 1}",
    "first = cuda.blockIdx.y * share",
    "stop = min(first + share, n)",
    "step = where_index(reverse != 0, -1, 1)",
    "origin = cuda.blockIdx.x * n + where_index(reverse != 0, n - 1, 0)",
)


def fold_parts(s: Source, tile: int) -> Template:
    """Stage ``totals``: threads fold what is BLOCK apart, then what threads have folded. No scan minds the order in which it
    merges: where one does, as of equal extrema, it asks for places.
    """
    each, operands = tile // BLOCK, [*enumerate(s.inputs)]

    def folded(loaded: list[str], k: int) -> list[str]:
        return [*loaded, f"place = low + {k * BLOCK} + thread", *turned(), s.absorb("a", "place")]

    loads = both_ways([f"e{m}_{k} = {s.loads(d).name}(x{m}, here {{}} {k * BLOCK})" for k in range(each) for m, d in operands])
    absorbed = [line for k in range(each) for line in folded([f"v{m} = e{m}_{k}" for m, _ in operands], k)]
    single = [f"v{m} = {s.loads(d).name}(x{m}, origin + (low + t) * step)" for m, d in operands]
    shared = [f"sums_{k} = cuda.shared.array({WARPS}, STATE{k})" for k in s.width]
    merged = []
    for d in (1, 2, 4, 8, 16):
        merged += [*(f"t_{k} = cuda.shfl_down_sync(0xffffffff, a_{k}, {d})" for k in s.width)]
        merged += [f"if lane < {WARP - d}:", f"    {s.merge('a', 'a', s.names('t'))}"]
    last = [
        line for w in range(1, WARPS) for line in [*(f"t_{k} = sums_{k}[{w}]" for k in s.width), s.merge("a", "a", s.names("t"))]
    ]
    return s.template(
        "scan_rows",
        f"""
def NAME({", ".join(s.parameters())}, n, share, reverse):
    {indent(4, shared)}
    {indent(4, PART_LINES)}
    {indent(4, s.start("a"))}
    for low in range(first, stop, {tile}):
        here = origin + (low + thread) * step
        {indent(8, whole_or_not(tile, [*loads, *absorbed], [*single, "place = low + t", *turned(), s.absorb("a", "place")]))}
    {indent(4, merged)}
    if lane == 0:
        {indent(8, [f"sums_{k}[warp] = a_{k}" for k in s.width])}
    cuda.syncthreads()
    if thread == 0:
        {indent(8, last)}
        {indent(8, [f"{s.stores(d).name}(out{k}, {AT_PART}, a_{k})" for k, d in enumerate(s.outputs)])}
""",
    )


def whole_or_not(tile: int, whole: list[str], single: list[str]) -> list[str]:
    """Lines for a tile from ``low`` on that the part has all of, or for each element ``low + t`` that is left."""
    left = [f"    for t in range(thread, stop - low, {BLOCK}):", *(f"        {line}" for line in single)]
    return [f"if low + {tile} <= stop:", *(f"    {line}" for line in whole), "else:", *left]


def both_ways(lines: list[str]) -> list[str]:
    """Lines with the sign of the scan's direction in them, so that distances from ``here`` are constants."""
    ways = [("if reverse == 0:", "+"), ("else:", "-")]
    return [line for test, sign in ways for line in (test, *("    " + each.format(sign) for each in lines))]


def turned() -> list[str]:
    """Lines that make ``place``, counted along the scan, what it is along the row."""
    return ["if reverse != 0:", "    place = n - 1 - place"]


def scan_parts(s: Source, tile: int) -> Template:
    """The other stages: a tile goes through shared memory, where each thread scans elements that follow each other; results take
    the place of elements of their dtype.
    """
    each, kind, scan, stage = tile // BLOCK, compute_dtype(s.of.dtype), s.scan, s.stage
    elements = s.inputs if stage == "offsets" else (kind,) * len(s.inputs)
    results = s.inputs if stage == "offsets" else ("int64" if scan.exact else kind,)
    first, space, own = len(s.width), tile + tile // each, f"thread * {each + 1}"
    apart = results[0] != elements[0]
    made = "results" if apart else "elements"
    shared = [f"sums_{k} = cuda.shared.array({WARPS}, STATE{k})" for k in s.width]
    shared += [f"elements_{k} = cuda.shared.array({space}, STATE{first + k})" for k in range(len(elements))]
    shared += [f"results_0 = cuda.shared.array({space}, STATE{first + len(elements)})"] * apart
    operands, targets = [*enumerate(s.inputs)], [*enumerate(s.outputs)]
    spread = [f"padded + {k * BLOCK + k * BLOCK // each}" for k in range(each)]
    loads = [f"e{m}_{k} = {s.loads(d).name}(x{m}, here {{}} {k * BLOCK})" for k in range(each) for m, d in operands]
    loads = both_ways([*loads, *(f"elements_{m}[{spread[k]}] = e{m}_{k}" for k in range(each) for m, _ in operands)])
    single = [f"elements_{m}[t + t // {each}] = {s.loads(d).name}(x{m}, origin + (low + t) * step)" for m, d in operands]
    stores = both_ways(
        [f"{s.stores(d).name}(out{m}, here {{}} {k * BLOCK}, {made}_{m}[{spread[k]}])" for k in range(each) for m, d in targets]
    )
    single_out = [f"{s.stores(d).name}(out{m}, origin + (low + t) * step, {made}_{m}[t + t // {each}])" for m, d in targets]

    def walked(lines: list[str]) -> list[str]:
        """Lines for each element of a thread that there is."""
        found = []
        for k in range(each):
            loaded = [f"v{m} = elements_{m}[{own} + {k}]" for m, _ in operands]
            place = [f"place = low + thread * {each} + {k}", *turned()] if s.of.indexed else []
            found += [f"if {k} < left:", *("    " + line.replace("OWN", f"{own} + {k}") for line in [*loaded, *place, *lines])]
        return found

    scanned = []
    for d in (1, 2, 4, 8, 16):
        scanned += [*(f"t_{k} = cuda.shfl_up_sync(0xffffffff, a_{k}, {d})" for k in s.width)]
        scanned += [f"if lane >= {d}:", f"    {s.merge('a', 't', s.names('a'))}"]
    # The state before a thread's first element: that of the row so far, then of the warps, and of the lanes, before it.
    before = [*(f"t_{k} = cuda.shfl_up_sync(0xffffffff, a_{k}, 1)" for k in s.width), *(f"b_{k} = c_{k}" for k in s.width)]
    for w in range(WARPS):
        before += [*(f"w_{k} = sums_{k}[{w}]" for k in s.width), s.merge("c", "c", s.names("w"))]
        before += [f"if warp > {w}:", *(f"    b_{k} = c_{k}" for k in s.width)]
    before += ["if lane > 0:", f"    {s.merge('b', 'b', s.names('t'))}"]
    keep = [f"{made}_{k}[OWN] = y{k}" for k in range(len(results))]
    return s.template(
        "scan_rows",
        f"""
def NAME({", ".join(s.parameters())}, n, share, reverse):
    {indent(4, shared)}
    {indent(4, PART_LINES)}
    padded = thread + (thread >> {each.bit_length() - 1})
    {indent(4, s.carried("c", AT_PART) if stage == "carried" else s.start("c"))}
    for low in range(first, stop, {tile}):
        here = origin + (low + thread) * step
        {indent(8, whole_or_not(tile, loads, single))}
        cuda.syncthreads()
        left = multiply_add_i32(thread, {-each}, min(stop - low, {tile}))
        {indent(8, s.start("a"))}
        {indent(8, walked([s.absorb("a", "place")]))}
        {indent(8, scanned)}
        if lane == {WARP - 1}:
            {indent(12, [f"sums_{k}[warp] = a_{k}" for k in s.width])}
        cuda.syncthreads()
        {indent(8, before)}
        {indent(8, walked([*s.advance("b", "place"), *keep]))}
        cuda.syncthreads()
        {indent(8, whole_or_not(tile, stores, single_out))}
        cuda.syncthreads()
""",
        (*elements, *results[:1]) if apart else elements,
    )


def parts_of(n: int, most: int, least: int) -> tuple[int, int]:
    """``(parts, share)``: at most ``most`` parts of at least ``least`` elements, of which each share is a multiple."""
    share = ceil_div(ceil_div(n, most), least) * least
    return ceil_div(n, share), share
