"""Kernels that fold each row, or column, and then map its elements by what was found: softmax and its family, losses by class.

NOTE [Held rows]: a row that fits is read once: its threads hold their elements in registers from the fold to the map. Longer rows
are read twice. Either way a fold is a single pass (accumulators of ``scores.py`` and ``moments.py``): a maximum and the sum of
exponentials below it, a mean and the squares around it.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple

from .access import Access, Function, compute_dtype, itemsize, vector_lanes
from .accumulators import Accumulator
from .reductions import MOST_HELD, SHORT, Fold, short_width, whole_vectors
from .templates import BLOCK, WARP, WARPS, Template, ceil_div, compile_template, indent

__all__ = ["RowProgram", "Shape", "map_columns", "map_rows", "row_shape", "rows_grid"]

HELD_BYTES = 256  # of registers that a thread's elements may take
MANY_BYTES = 128  # beyond which no more than two blocks are to be resident


class RowProgram(NamedTuple):
    """What becomes of a row.

    Attributes:
        of: what it is folded with.
        numbers: ``(*state, *sides, *values, *integers) -> numbers``: what the map needs to know; with ``picks`` the element at the
            first side comes behind the sides.
        kinds: dtypes of these numbers, each a compute dtype.
        mapped: ``(*elements, *numbers) -> result``; with ``indexed`` the element's place in the row is before the numbers. None:
        the
            first number is the one result of the row.
        sides: dtypes of operands that have an element a row; "" for the row's own.
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
    names: tuple[tuple[str, Any], ...] = ()

    def source(self) -> dict:
        """The names that the templates take."""
        mapped = {} if self.mapped is None else {"mapped": self.mapped}
        return {**self.of.source(), "numbers_of": self.numbers, **mapped, **dict(self.names)}


class Shape(NamedTuple):
    """How threads share rows.

    Attributes:
        width: threads of a row: up to a warp, or a block.
        held: vectors that a thread holds; 0 if it reads them twice.
        lanes: elements of a vector.
    """

    width: int
    held: int
    lanes: int


def row_shape(n: int, dtypes: tuple[str, ...], compute: str) -> Shape:
    """The shape for rows of ``n`` elements of so many operands.

    >>> row_shape(1000, ("float32",), "float32"), row_shape(8192, ("float32",), "float32"), row_shape(8196, ("float32",), "float32")
    (Shape(width=32, held=8, lanes=4), Shape(width=256, held=8, lanes=4), Shape(width=256, held=0, lanes=4))
    """
    lanes = vector_lanes(dtypes)
    if n % lanes:
        lanes = 1
    vectors = n // lanes
    width = short_width(n, lanes) if n <= SHORT else BLOCK
    held = 1
    while held * width < vectors:
        held *= 2
    fits = held * lanes * len(dtypes) * itemsize(compute) <= HELD_BYTES
    return Shape(width, held if fits else 0, lanes)


class Program(Fold):
    """The source of a program: its parameters, and lines."""

    def __init__(self, program: RowProgram, inputs: tuple[str, ...], output: str, lanes: int = 1, vectors: bool = True):
        super().__init__(program.of, inputs, output, "whole", lanes, vectors)
        self.program = program
        self.values = [f"value{k}" for k in range(program.values)]
        self.sides = [dtype or inputs[0] for dtype in program.sides]
        self.groups = [f"a{k}" for k in range(max(1, min(lanes, MOST_HELD // len(program.of.state) // 2)))]

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
            state=(*self.of.state, *self.program.kinds),
            resident=resident,
        )

    def fold_lanes(self, i: str, names: str) -> list[str]:
        """Fold each lane of what was loaded under these names."""
        lanes = [None] if self.lanes == 1 else range(self.lanes)
        places = [i] if self.lanes == 1 else [f"{i} * {self.lanes} + {k}" for k in range(self.lanes)]
        return [
            self.absorb(self.groups[k % len(self.groups)], place, lane, names) for k, (lane, place) in enumerate(zip(lanes, places))
        ]

    def map_lanes(self, row: str, i: str, names: str) -> list[str]:
        """Map each lane of what was loaded under these names, and store the results."""
        numbers = [f"r{k}" for k in range(len(self.program.kinds))]
        results = []
        for k in range(self.lanes):
            given = [f"{names}{x}" + (f"[{k}]" if self.lanes > 1 else "") for x in range(len(self.inputs))]
            place = [f"{i} * {self.lanes} + {k}" if self.lanes > 1 else i] if self.program.indexed else []
            results.append(f"mapped({', '.join([*given, *place, *numbers])})")
        dtype = self.outputs[0]
        if self.vectors:
            shift = self.lanes.bit_length() - 1
            return [f"{Access('store', dtype, self.lanes).name}(out0, ({row} >> {shift}) + {i}, ({', '.join(results)}))"]
        places = [f"{row} + {i}"] if self.lanes == 1 else [f"{row} + {i} * {self.lanes} + {k}" for k in range(self.lanes)]
        return [f"{Access('store', dtype).name}(out0, {at}, {result})" for at, result in zip(places, results)]

    def numbered(self, group: str, row: str = "row", at: str = "at") -> list[str]:
        """Lines that make the row's numbers of what was folded, ``r0`` and so on."""
        sides = [f"s{k} = {self._load(dtype, 1).name}(side{k}, {row} * side{k}_step)" for k, dtype in enumerate(self.sides)]
        given = [f"s{k}" for k in range(len(self.sides))]
        if self.program.picks:
            sides.append(f"picked = {self._load(self.inputs[0], 1).name}(x0, {at} + min(max(s0, 0), n - 1))")
            given.append("picked")
        integers = [f"integer{k}" for k in range(self.program.integers)]
        numbers = ", ".join(f"r{k}" for k in range(len(self.program.kinds)))
        return [*sides, f"{numbers} = numbers_of({', '.join([*self.names(group), *given, *self.values, *integers])})"]

    def shared_numbers(self, size: int) -> list[str]:
        first = len(self.of.state)
        return [f"numbers_{k} = cuda.shared.array({size}, STATE{first + k})" for k in range(len(self.program.kinds))]

    def put_numbers(self, at: str) -> list[str]:
        return [f"numbers_{k}[{at}] = r{k}" for k in range(len(self.program.kinds))]

    def get_numbers(self, at: str) -> list[str]:
        return [f"r{k} = numbers_{k}[{at}]" for k in range(len(self.program.kinds))]

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
    width, held, lanes = shape
    p = Program(program, inputs, output, lanes, vectors)
    load, fold, mapping = [], [], []
    if held:
        for u in range(held):
            i = f"min(lane + {u * width}, count - 1)"
            load += p.load_lanes("at", i, f"v{u}_")
            fold += [f"if lane + {u * width} < count:", *(f"    {x}" for x in p.fold_lanes(f"(lane + {u * width})", f"v{u}_"))]
            mapping += [f"if lane + {u * width} < count:"]
            mapping += [f"    {x}" for x in p.map_lanes("at", f"(lane + {u * width})", f"v{u}_")]
    else:
        head = f"for i in range(lane, count, {width}):"
        fold = [head, *(f"    {x}" for x in [*p.load_lanes("at", "i"), *p.fold_lanes("i", "v")])]
        mapping = [head, *(f"    {x}" for x in [*p.load_lanes("at", "i", "w"), *p.map_lanes("at", "i", "w")])]
    rows = BLOCK // width
    if width <= WARP:
        meet = p.shuffle("a0", width)
    else:
        meet = [
            *p.shuffle("a0", WARP),
            f"if lane % {WARP} == 0:",
            *(f"    {x}" for x in p.put(f"lane // {WARP}", "a0")),
            "cuda.syncthreads()",
            f"if lane < {WARP}:",
            *(f"    {x}" for x in p.start("a0")),
            f"    if lane < {WARPS}:",
            *(f"        {x}" for x in p.get("a0", "lane")),
            *(f"    {x}" for x in p.shuffle("a0", WARPS)),
        ]
    alone = program.mapped is None
    publish = [*p.numbered("a0"), *([f"{Access('store', output).name}(out0, row, r0)"] if alone else p.put_numbers("which"))]
    spread = [] if alone else ["cuda.syncthreads()", "if row < rows:", *(f"    {x}" for x in [*p.get_numbers("which"), *mapping])]
    # Of the last block's rows that are none, the threads read the last row that is one: loads need no branch.
    return p.finished(
        f"map_rows{width}h{held}",
        f"""
def NAME({", ".join([*p.parameters(), "rows", "n", *p.integers()])}):
    lane = cuda.threadIdx.x % {width}
    which = cuda.threadIdx.x // {width}
    row = cuda.blockIdx.x * {rows} + which
    at = min(row, rows - 1) * n
    count = {whole_vectors(lanes)}
    {indent(4, p.shared(WARPS) if width > WARP else [])}
    {indent(4, [] if alone else p.shared_numbers(rows))}
    {indent(4, [line for group in p.groups for line in p.start(group)])}
    {indent(4, load + fold)}
    {indent(4, p.merge_tree(p.groups) + meet)}
    if (lane == 0) & (row < rows):
        {indent(8, publish)}
    {indent(4, spread)}
""",
        2 if held * lanes * len(inputs) * itemsize(program.of.dtype) > MANY_BYTES else 0,
    )


@cache
def map_columns(program: RowProgram, inputs: tuple[str, ...], output: str) -> Template:
    """The same along the middle one of three dimensions, contiguous: 32 neighbours a block, whose warps take rows in turn.

    Integer parameters: ``first`` (the outer index of grid plane 0), ``n``, ``columns``, those of the program. Grid: (tiles of 32
    columns, 1, planes).
    """
    p = Program(program, inputs, output)
    later = [line for w in range(1, WARPS) for line in [*p.get("t", f"lane + {w * WARP}"), p.merge("a0", p.names("t"))]]
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
            {indent(12, [*p.load("at + i * columns"), *p.fold_lanes("i", "v")])}
    {indent(4, p.put(f"warp * {WARP} + lane", "a0"))}
    cuda.syncthreads()
    if warp == 0:
        {indent(8, later + p.numbered("a0") + p.put_numbers("lane"))}
    cuda.syncthreads()
    if column < columns:
        {indent(8, p.get_numbers("lane"))}
        for i in range(warp, n, {WARPS}):
            {indent(12, [*p.load("at + i * columns", "w"), *p.map_lanes("at", "i * columns", "w")])}
""",
    )


def rows_grid(rows: int, shape: Shape) -> tuple[int, ...]:
    """The blocks of ``map_rows``."""
    return (ceil_div(rows, BLOCK // shape.width),)
