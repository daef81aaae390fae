"""Kernels that fold each row, or column, and then map its elements by what was found: softmax and its family, losses by class.

NOTE [Held rows]: a row that fits is read once: its threads hold their elements in registers from the fold to the map. What is
folded around something in common (NOTE [Elements at once] of ``accumulators.py``) is folded twice there: to the greatest score of
the row, then to the sum of exponentials, which stay in the place of the scores if they are what is mapped. Each thread of a warp
folds what all have (``meet``): rows of a warp need no memory, and no barrier. Longer rows are read twice, and folded in one pass.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple, Sequence

from .access import Access, Function, compute_dtype, itemsize, vector_lanes
from .accumulators import Accumulator
from .build import blocks_with
from .folds import AHEAD, MOST_HELD, Fold, several_ahead, whole_vectors
from .meetings import in_pairs, meet, meeting_places
from .reductions import short_width
from .templates import BLOCK, WARP, WARPS, Template, ceil_div, compile_template, indent

__all__ = ["RowProgram", "Shape", "fold_program", "map_columns", "map_rows", "row_shape", "rows_grid"]

ROW_BYTES = 128  # of one operand that a thread holds before more threads share the row
HELD_BYTES = 256  # of registers that a thread's elements may take
TERMS = 8  # that are added in pairs before they are added to a carried sum
BESIDE = 56  # registers that a thread needs beside what it holds; fewer blocks than fit were measured to cost nothing
PLACES = 16  # registers of the places of elements


class RowProgram(NamedTuple):
    """What becomes of a row.

    Attributes:
        of: what it is folded with.
        numbers: ``(*state, *sides, *values, *integers) -> numbers``: what the map needs to know; with ``picks`` the element at the
            first side comes behind the sides.
        kinds: dtypes of these numbers, each a compute dtype.
        mapped: ``(*elements, *numbers) -> result``; with ``indexed`` the element's place in the row is before the numbers. None:
            the first number is the one result of the row.
        sides: dtypes of operands that have an element a row; "" for the row's own.
        terms: whether elements are mapped from their terms, of which the accumulator is a sum: ``mapped(*terms, ...)``.
        values, integers: how many numbers and counts ``numbers`` is given.
        names: what these functions mention.
    """

    of: Accumulator
    numbers: Function
    kinds: tuple[str, ...]
    mapped: Function | None
    sides: tuple[str, ...] = ()
    values: int = 0
    integers: int = 0
    indexed: bool = False
    picks: bool = False
    terms: bool = False
    names: tuple[tuple[str, Any], ...] = ()

    def source(self) -> dict:
        """The names that the templates take."""
        mapped = {} if self.mapped is None else {"mapped": self.mapped}
        return {**self.of.source(), "numbers_of": self.numbers, **mapped, **dict(self.names)}


def fold_program(of: Accumulator) -> RowProgram:
    """The program of rows that are folded, and no more: the result of a row is what becomes of its accumulators."""
    return RowProgram(of, of.finish, (of.dtype,), None, values=of.values)


class Shape(NamedTuple):
    """How threads share rows.

    Attributes:
        width: threads of a row: up to a block.
        held: vectors that a thread holds; 0 if a block reads them twice.
        lanes: elements of a vector.
    """

    width: int
    held: int
    lanes: int


def row_shape(n: int, dtypes: tuple[str, ...], compute: str) -> Shape:
    """The shape for rows of ``n`` elements of so many operands.

    >>> one = ("float32",)
    >>> row_shape(1000, one, "float32"), row_shape(8192, one, "float32"), row_shape(16388, one, "float32")
    (Shape(width=32, held=8, lanes=4), Shape(width=256, held=8, lanes=4), Shape(width=256, held=0, lanes=4))
    """
    lanes = vector_lanes(dtypes)
    if n % lanes:
        lanes = 1
    vectors = n // lanes
    width = short_width(n, lanes)
    while width < BLOCK and ceil_div(vectors, width) * lanes * itemsize(compute) > ROW_BYTES:
        width *= 2
    held = ceil_div(vectors, width)
    fits = held * lanes * len(dtypes) * itemsize(compute) <= HELD_BYTES
    return Shape(width, held, lanes) if fits else Shape(BLOCK, 0, lanes)


class Program(Fold):
    """The source of a program: its parameters, and lines."""

    def __init__(self, program: RowProgram, inputs: tuple[str, ...], output: str, lanes: int = 1, vectors: bool = True):
        super().__init__(program.of, inputs, output, "whole", lanes, vectors)
        self.program = program
        self.values = [f"value{k}" for k in range(program.values)]
        self.sides = [dtype or inputs[0] for dtype in program.sides]
        self.numbers = [f"r{k}" for k in range(len(program.kinds))]
        # Beside the numbers: what terms are relative to.
        self.kept = ["pivot"] * program.terms + self.numbers
        self.kinds = (program.of.dtype,) * program.terms + program.kinds

    @property
    def groups(self) -> list[str]:
        if self.of.around:
            return ["a0"]
        return [f"a{k}" for k in range(max(1, min(self.lanes, MOST_HELD // len(self.of.state) // 2)))]

    def parameters(self) -> list[str]:
        sides = [f"side{k}" for k in range(len(self.sides))]
        return ["out0", *(f"x{k}" for k in range(len(self.inputs))), *sides, *self.values]

    def integers(self) -> list[str]:
        """Names of the counts behind the template's own."""
        return [f"integer{k}" for k in range(self.program.integers)] + [f"side{k}_step" for k in range(len(self.sides))]

    def finished(self, name: str, source: str, resident: int = 0) -> Template:
        """The template."""
        how = f"x{self.lanes}" + ("" if self.vectors or self.lanes == 1 else "s")
        name = f"{name}_{self.of.name}_{'_'.join(self.inputs)}_to_{self.outputs[0]}_{how}"
        width = self.lanes if self.vectors else 1
        loads = [self._load(dtype, width) for dtype in self.inputs]
        stores = [Access("store", self.outputs[0], width)] if self.program.mapped is not None else []
        accesses = {*loads, *stores, Access("store", self.outputs[0]), *(self._load(dtype, 1) for dtype in self.inputs)}
        accesses |= {self._load(dtype, 1) for dtype in self.sides}
        return Template(
            name,
            compile_template(name, source),
            (*self.outputs, *self.inputs, *self.sides),
            len(self.values),
            frozenset(accesses),
            Counter([*loads, *stores] * (1 if self.vectors else self.lanes)),
            state=(*self.of.state, *self.kinds),
            resident=resident,
        )

    def map_lanes(self, row: str, i: str, elements: Sequence[Sequence[str]]) -> list[str]:
        """Map the elements of each lane, or their terms, and store the results."""
        results = []
        for k, given in enumerate(elements):
            place = [f"{i} * {self.lanes} + {k}" if self.lanes > 1 else i] if self.program.indexed else []
            results.append(f"mapped({', '.join([*given, *place, *self.numbers])})")
        dtype = self.outputs[0]
        if self.vectors:
            shift = self.lanes.bit_length() - 1
            return [f"{Access('store', dtype, self.lanes).name}(out0, ({row} >> {shift}) + {i}, ({', '.join(results)}))"]
        places = [f"{row} + {i}"] if self.lanes == 1 else [f"{row} + {i} * {self.lanes} + {k}" for k in range(self.lanes)]
        return [f"{Access('store', dtype).name}(out0, {at}, {result})" for at, result in zip(places, results)]

    def map_loaded(self, row: str, i: str, names: str) -> list[str]:
        """Map what was loaded under these names, and store the results."""
        elements = self.elements(names)
        if self.program.terms:
            elements = [[f"term_of(scalar({', '.join(given)}), pivot)"] for given in elements]
        return self.map_lanes(row, i, elements)

    def numbered(self, row: str = "row") -> list[str]:
        """Lines that make the row's numbers of what was folded, ``r0`` and so on, and what terms are relative to."""
        sides = [f"s{k} = {self._load(dtype, 1).name}(side{k}, {row} * side{k}_step)" for k, dtype in enumerate(self.sides)]
        given = [f"s{k}" for k in range(len(self.sides))]
        if self.program.picks:
            sides.append(f"picked = {self._load(self.inputs[0], 1).name}(x0, at + min(max(s0, 0), n - 1))")
            given.append("picked")
        if self.program.terms:
            sides.append("pivot = pivot_of(a0_0)")
        integers = [f"integer{k}" for k in range(self.program.integers)]
        found = [*self.names("a0"), *given, *self.values, *integers]
        return [*sides, f"{', '.join(self.numbers)} = numbers_of({', '.join(found)})"]

    def shared_numbers(self, size: int) -> list[str]:
        first = len(self.of.state)
        return [f"numbers_{k} = cuda.shared.array({size}, STATE{first + k})" for k in range(len(self.kinds))]

    def put_numbers(self, at: str) -> list[str]:
        return [f"numbers_{k}[{at}] = {name}" for k, name in enumerate(self.kept)]

    def get_numbers(self, at: str) -> list[str]:
        return [f"{name} = numbers_{k}[{at}]" for k, name in enumerate(self.kept)]

    def _load(self, dtype: str, lanes: int) -> Access:
        """A load; integers beside floats, as targets are, stay what they are."""
        exact = compute_dtype(dtype) == "int64" and self.of.dtype != "int64"
        return Access("load", dtype, lanes, exact=exact)


@cache
def map_rows(program: RowProgram, inputs: tuple[str, ...], output: str, shape: Shape, vectors: bool = True) -> Template:
    """out[row, i] = mapped(x0[row, i], ..., what the row was folded to), on contiguous rows; or out[row] = that.

    Args:
        vectors: whether by vector accesses: NOTE [Single loads] of reductions.py.

    Pointers: result, operands, sides. Integer parameters: ``rows``, ``n``, those of the program, then elements between the sides of
    rows, each. Grid: a block for ``BLOCK // width`` rows. Bind ``**program.source()``.
    """
    p = Program(program, inputs, output, shape.lanes, vectors)
    held = HeldLines(p, shape)
    body = held.body() if shape.held else looped(p)
    return p.finished(
        f"map_rows{shape.width}h{shape.held}",
        f"""
def NAME({", ".join([*p.parameters(), "rows", "n", *p.integers()])}):
    lane = cuda.threadIdx.x % {shape.width}
    which = cuda.threadIdx.x // {shape.width}
    row = cuda.blockIdx.x * {BLOCK // shape.width} + which
    at = min(row, rows - 1) * n
    count = {whole_vectors(shape.lanes)}
    {indent(4, body)}
""",
        resident(program, shape, len(inputs)),
    )


def resident(program: RowProgram, shape: Shape, operands: int) -> int:
    """How many blocks a multiprocessor is to hold; 0: as many as of other kernels."""
    double = itemsize(program.of.dtype) // 4
    needed = shape.held * shape.lanes * operands * double + BESIDE * double + PLACES * program.indexed
    return blocks_with(needed) if shape.held else 0


class HeldLines:
    """The lines of rows that are held. Of the last block's rows that are none, the threads read the last row that is one."""

    def __init__(self, p: Program, shape: Shape):
        self.p, self.shape = p, shape
        self.loaded = [f"v{u}_" for u in range(shape.held)]

    def place(self, u: int) -> str:
        """The number of a thread's ``u``-th vector."""
        return f"lane + {u * self.shape.width}" if u else "lane"

    def sure(self, u: int) -> bool:
        """Whether every thread of a row has a ``u``-th vector."""
        return u + 1 < self.shape.held

    def body(self) -> list[str]:
        """All of it."""
        p, lines = self.p, list[str]()
        for u, names in enumerate(self.loaded):
            lines += p.load_lanes("at", f"({self.place(u)})" if self.sure(u) else f"min({self.place(u)}, count - 1)", names)
        lines += self.folded_around() if p.of.around else self.folded()
        lines += p.numbered("min(row, rows - 1)")
        if p.program.mapped is None:
            return [*lines, "if (lane == 0) & (row < rows):", f"    {Access('store', p.outputs[0]).name}(out0, row, r0)"]
        lines.append("if row < rows:")
        for u, names in enumerate(self.loaded):
            elements = p.elements(names)
            if p.program.terms:
                elements = [[f"t{u * p.lanes + k}_0"] for k in range(p.lanes)]
            lines += [f"    {x}" for x in self.guarded(u, p.map_lanes("at", f"({self.place(u)})", elements))]
        return lines

    def folded(self) -> list[str]:
        """Fold the elements one by one, then threads."""
        p, lines = self.p, list[str]()
        lines += [line for group in p.groups for line in p.start(group)]
        for u, names in enumerate(self.loaded):
            lines += self.guarded(u, p.absorb_lanes(p.groups, f"({self.place(u)})", names))
        met = meet(p.names("a0"), lambda later: p.merge("a0", later), self.shape.width, "met")
        return [*meeting_places(p.width, self.shape.width, "met"), *lines, *p.merge_tree(p.groups), *met]

    def folded_around(self) -> list[str]:
        """Fold the elements to what they have in common, then to carried sums of terms relative to that, and these to a state."""
        p, width, around = self.p, self.shape.width, self.p.of.around
        assert around is not None
        elements = [f"e{k}" for k in range(self.shape.held * p.lanes)]
        last = len(elements) - p.lanes  # of the vector that a thread may not have
        sums = [f"{name}{j}" for j in range(around.terms) for name in ("sum", "carry")]
        lines = meeting_places([0], width, "first") + meeting_places([0] * len(sums), width, "met")
        loaded = [given for names in self.loaded for given in p.elements(names)]
        lines += [f"{name} = scalar({', '.join(given)})" for name, given in zip(elements, loaded)]
        lines += ["common = START", "share = 1.0 / to_float(n)"]
        firsts = [f"{p._load(dtype, 1).name}(x{k}, at)" for k, dtype in enumerate(p.inputs)]
        lines.append(f"origin = scalar({', '.join(firsts)})")

        def common(names: list[str]) -> list[str]:
            parts = [f"part_of({name}, origin, share)" for name in names]
            return [*in_pairs(parts, "c", "join({}, {})"), "common = join(common, c0)"] if names else []

        lines += common(elements[:last]) + self.guarded(self.shape.held - 1, common(elements[last:]))
        lines += meet(["common"], lambda later: f"common = join(common, {later[0]})", width, "first")
        lines += ["common = whole_of(common, origin)", "pivot = pivot_of(common)"]
        terms = [[f"t{k}_{j}" for j in range(around.terms)] for k in range(len(elements))]
        lines += [f"{name} = 0.0" for name in sums]

        def added(low: int, high: int) -> list[str]:
            made = [f"{', '.join(terms[k])} = term_of({elements[k]}, pivot)" for k in range(low, high)]
            for j in range(around.terms):
                made += in_pairs([each[j] for each in terms[low:high]], "u", "{} + {}")
                made.append(f"sum{j}, carry{j} = add_carried(sum{j}, carry{j}, u0)")
            return made

        for low in range(0, last, TERMS):
            lines += added(low, min(low + TERMS, last))
        lines += self.guarded(self.shape.held - 1, added(last, len(terms)))

        def merged(later: list[str]) -> str:
            pairs = [(sums[k], sums[k + 1], later[k], later[k + 1]) for k in range(0, len(sums), 2)]
            return "; ".join(f"{x}, {y} = merge_carried({', '.join((x, y, *others))})" for x, y, *others in pairs)

        lines += meet(sums, merged, width, "met")
        totals = [f"carried_total(sum{j}, carry{j})" for j in range(around.terms)]
        return [*lines, f"{', '.join(p.names('a0'))} = state_of(common, pivot, to_float(n), {', '.join(totals)})"]

    def guarded(self, u: int, lines: list[str]) -> list[str]:
        """Lines for the ``u``-th vector of a thread, if it has that many."""
        return lines if self.sure(u) else [f"if {self.place(u)} < count:", *(f"    {line}" for line in lines)]


def looped(p: Program) -> list[str]:
    """The lines of rows that a block reads twice, the second time from the end: that is what caches still have."""
    alone = p.program.mapped is None
    stored = [f"{Access('store', p.outputs[0]).name}(out0, row, r0)"]
    ahead = p.ahead(AHEAD)

    def mapping(count: int) -> list[str]:
        places = [f"(last - j - {u * BLOCK})" for u in range(count)]
        made = [line for u, i in enumerate(places) for line in p.load_lanes("at", i, f"w{u}_")]
        return made + [line for u, i in enumerate(places) for line in p.map_loaded("at", i, f"w{u}_")]

    lines = [
        *p.shared(WARPS),
        *([] if alone else p.shared_numbers(1)),
        *(line for group in p.groups for line in p.start(group)),
        *p.walk("at", "lane", "count", BLOCK),
        *p.meet(p.groups, "lane"),
        "if lane == 0:",
        *(f"    {x}" for x in [*p.numbered(), *(stored if alone else p.put_numbers("0"))]),
    ]
    if alone:
        return lines
    mapped = ["last = count - 1", "j = lane", *several_ahead("j", "count", BLOCK, ahead, mapping(ahead), mapping(1))]
    return [*lines, "cuda.syncthreads()", *p.get_numbers("0"), *mapped]


@cache
def map_columns(program: RowProgram, inputs: tuple[str, ...], output: str) -> Template:
    """A row program along the middle one of three dimensions, contiguous: 32 neighbours a block, whose warps take rows in turn.

    Integer parameters: ``first`` (the outer index of grid plane 0), ``n``, ``columns``, those of the program. Grid: (tiles of 32
    columns, 1, planes).
    """
    p = Program(program, inputs, output)
    return p.finished(
        "map_columns",
        f"""
def NAME({", ".join([*p.parameters(), "first", "n", "columns", *p.integers()])}):
    lane = cuda.threadIdx.x % {WARP}
    warp = cuda.threadIdx.x // {WARP}
    column = cuda.blockIdx.x * {WARP} + lane
    at = (first + cuda.blockIdx.z) * n * columns + column
    {indent(4, p.shared(BLOCK) + p.shared_numbers(WARP))}
    {indent(4, p.start("a0"))}
    if column < columns:
        for i in range(warp, n, {WARPS}):
            {indent(12, [*p.load("at + i * columns"), p.absorb("a0", "i")])}
    {indent(4, p.put(f"warp * {WARP} + lane", "a0"))}
    cuda.syncthreads()
    if warp == 0:
        {indent(8, p.merge_warps("a0") + p.numbered() + p.put_numbers("lane"))}
    cuda.syncthreads()
    if column < columns:
        {indent(8, p.get_numbers("lane"))}
        for i in range(warp, n, {WARPS}):
            {indent(12, [*p.load("at + i * columns", "w"), *p.map_loaded("at", "i * columns", "w")])}
""",
    )


def rows_grid(rows: int, shape: Shape) -> tuple[int, ...]:
    """The blocks of ``map_rows``."""
    return (ceil_div(rows, BLOCK // shape.width),)
