"""Reduction kernel templates: rows, short rows and columns, folded with an accumulator.

NOTE [Reduction stages]: a long row is cut into blocks, each of which folds its share: stage ``"partial"`` stores the
blocks' accumulators, stage ``"merge"`` folds those and finishes. A row that one block can fold takes one kernel, stage
``"whole"``. There are no atomics: the order depends on the shape alone, hence the same bits on every run and every GPU.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Sequence

from ...base.errors import KernelError
from .access import Access, vector_lanes
from .accumulators import Accumulator
from .templates import BLOCK, WARP, WARPS, Template, ceil_div, compile_template, indent

__all__ = [
    "MAX_PARTIALS",
    "STAGES",
    "reduce_rows",
    "reduce_short_rows",
    "reduce_columns",
    "row_plan",
    "column_plan",
    "short_rows_grid",
]

MAX_PARTIALS = 1024  # blocks of a row's first stage: fills the largest GPU, and one block can finish it
STAGES = ("whole", "partial", "merge")


class Fold:
    """The source of one reduction: its parameters, and lines over accumulators named ``{group}_{s}``."""

    def __init__(self, of: Accumulator, inputs: tuple[str, ...], output: str, stage: str, lanes: int = 1):
        if stage not in STAGES:
            raise KernelError(f"reduce: stage {stage!r}. Hint: one of {', '.join(STAGES)}.")
        self.of, self.stage, self.lanes = of, stage, lanes
        self.inputs = of.state if stage == "merge" else inputs
        self.outputs = of.state if stage == "partial" else (output,)
        self.values = [] if stage == "partial" else [f"value{k}" for k in range(of.values)]
        self.width = range(len(of.state))

    def parameters(self) -> list[str]:
        return [f"out{j}" for j in range(len(self.outputs))] + [f"x{k}" for k in range(len(self.inputs))] + self.values

    def template(self, name: str, source: str) -> Template:
        """The finished template; it promises a vector load of each input."""
        name = f"{name}_{self.of.name}_{self.stage}_{'_'.join(self.inputs)}_to_{self.outputs[0]}_x{self.lanes}"
        loads = [self._load(dtype) for dtype in self.inputs]
        accesses = frozenset(loads) | {self._store(dtype) for dtype in self.outputs}
        return Template(
            name,
            compile_template(name, source),
            self.outputs + self.inputs,
            len(self.values),
            accesses,
            Counter(loads),
            state=self.of.state,
        )

    def start(self, group: str) -> list[str]:
        return [f"{group}_{s} = IDENTITY{s}" for s in self.width]

    def load(self, at: str) -> list[str]:
        return [f"v{k} = {self._load(dtype).name}(x{k}, {at})" for k, dtype in enumerate(self.inputs)]

    def absorb(self, group: str, index: str, lane: int = 0) -> str:
        """Fold one lane of the loaded operands into ``group``."""
        loaded = [f"v{k}[{lane}]" if self.lanes > 1 else f"v{k}" for k in range(len(self.inputs))]
        if self.stage == "merge":
            return self.merge(group, loaded)
        place = [f"{index} * {self.lanes} + {lane}"] if self.of.indexed else []
        arguments = [*self.names(group), *place, f"scalar({', '.join(loaded)})"]
        return f"{', '.join(self.names(group))} = absorb({', '.join(arguments)})"

    def merge(self, group: str, later: Sequence[str]) -> str:
        return f"{', '.join(self.names(group))} = merge({', '.join([*self.names(group), *later])})"

    def merge_tree(self, groups: Sequence[str]) -> list[str]:
        """Fold all of ``groups`` into the first, in pairs."""
        if len(groups) == 1:
            return []
        half = len(groups) // 2
        left, right = groups[:half], groups[half:]
        return self.merge_tree(left) + self.merge_tree(right) + [self.merge(left[0], self.names(right[0]))]

    def shuffle(self, group: str, width: int) -> list[str]:
        """Fold ``width`` neighbouring threads into the first by halving distances."""
        distances = [width >> k for k in range(1, width.bit_length())]
        return [
            line
            for d in distances
            for line in [
                *(f"t_{s} = cuda.shfl_down_sync(0xffffffff, {group}_{s}, {d})" for s in self.width),
                self.merge(group, self.names("t")),
            ]
        ]

    def shared(self, size: int) -> list[str]:
        return [f"shared_{s} = cuda.shared.array({size}, STATE{s})" for s in self.width]

    def put(self, at: str, group: str) -> list[str]:
        return [f"shared_{s}[{at}] = {group}_{s}" for s in self.width]

    def get(self, group: str, at: str) -> list[str]:
        return [f"{group}_{s} = shared_{s}[{at}]" for s in self.width]

    def store(self, group: str, at: str) -> list[str]:
        """Store the accumulators, or finish them and store the result."""
        if self.stage == "partial":
            return [f"{self._store(dtype).name}(out{s}, {at}, {group}_{s})" for s, dtype in enumerate(self.outputs)]
        result = f"finish({', '.join([*self.names(group), *self.values])})"
        return [f"{self._store(self.outputs[0]).name}(out0, {at}, {result})"]

    def names(self, group: str) -> list[str]:
        return [f"{group}_{s}" for s in self.width]

    def _load(self, dtype: str) -> Access:
        return Access("load", dtype, self.lanes, exact=self.stage == "merge")

    def _store(self, dtype: str) -> Access:
        return Access("store", dtype, exact=self.stage == "partial")


@cache
def reduce_rows(of: Accumulator, inputs: tuple[str, ...], output: str, stage: str = "whole", lanes: int | None = None) -> Template:
    """out[row] = the fold of scalar(x0[row, i], ...) over contiguous rows: a block, or several, for a row.

    Args:
        of: the accumulator; bind ``**of.source()``.
        inputs: dtypes of the map's operands, all of one shape.
        output: dtype of the result.
        stage: see NOTE [Reduction stages]; partial results are (rows, blocks).
        lanes: elements of a vector access; more than 1 needs rows and pointers that are multiples of it. A merge: 1.

    Integer parameters: ``vectors`` of a row, and ``share``, how many of them a block takes (``row_plan``). Grid: (rows,
    blocks).
    """
    lanes = 1 if stage == "merge" else lanes or vector_lanes(inputs)
    fold = Fold(of, inputs, output, stage, lanes)
    groups = [f"a{k}" for k in range(lanes)]
    return fold.template(
        "reduce_rows",
        f"""
def NAME({", ".join(fold.parameters())}, vectors, share):
    thread = cuda.threadIdx.x
    row = cuda.blockIdx.x * vectors
    start = cuda.blockIdx.y * share
    {indent(4, fold.shared(WARPS))}
    {indent(4, [line for group in groups for line in fold.start(group)])}
    for i in range(start + thread, min(start + share, vectors), {BLOCK}):
        {indent(8, fold.load("row + i") + [fold.absorb(group, "i", k) for k, group in enumerate(groups)])}
    {indent(4, fold.merge_tree(groups) + fold.shuffle("a0", WARP))}
    if thread % {WARP} == 0:
        {indent(8, fold.put(f"thread // {WARP}", "a0"))}
    cuda.syncthreads()
    if thread < {WARP}:  # the whole first warp takes part in the shuffles, though only {WARPS} threads hold a value
        {indent(8, fold.start("a0"))}
        if thread < {WARPS}:
            {indent(12, fold.get("a0", "thread"))}
        {indent(8, fold.shuffle("a0", WARPS))}
        if thread == 0:
            {indent(12, fold.store("a0", "cuda.blockIdx.x * cuda.gridDim.y + cuda.blockIdx.y"))}
""",
    )


def row_plan(n: int, lanes: int) -> tuple[int, int]:
    """``(blocks, share)`` for a row of ``n``: each block takes ``share`` vectors, four or more for each thread."""
    vectors = n // lanes
    blocks = max(1, min(MAX_PARTIALS, ceil_div(vectors, 4 * BLOCK)))
    return blocks, ceil_div(ceil_div(vectors, blocks), BLOCK) * BLOCK


@cache
def reduce_short_rows(of: Accumulator, inputs: tuple[str, ...], output: str) -> Template:
    """As ``reduce_rows`` for rows of up to about a thousand elements: a warp for each, no shared memory, one stage.

    Integer parameters: ``rows``, ``n``. Grid: ``short_rows_grid(rows)``.
    """
    fold = Fold(of, inputs, output, "whole")
    return fold.template(
        "reduce_short_rows",
        f"""
def NAME({", ".join(fold.parameters())}, rows, n):
    lane = cuda.threadIdx.x % {WARP}
    row = cuda.blockIdx.x * {WARPS} + cuda.threadIdx.x // {WARP}
    if row < rows:  # the same for all of a warp, as shuffles demand
        {indent(8, fold.start("a"))}
        for i in range(lane, n, {WARP}):
            {indent(12, [*fold.load("row * n + i"), fold.absorb("a", "i")])}
        {indent(8, fold.shuffle("a", WARP))}
        if lane == 0:
            {indent(12, fold.store("a", "row"))}
""",
    )


def short_rows_grid(rows: int) -> tuple[int, ...]:
    """Blocks for ``rows`` rows, one a warp."""
    return (ceil_div(rows, WARPS),)


@cache
def reduce_columns(of: Accumulator, inputs: tuple[str, ...], output: str, stage: str = "whole") -> Template:
    """out[outer, column] = the fold of scalar(x0[outer, i, column], ...) over i, on contiguous data.

    A warp reads 32 neighbouring columns of a row; the warps of a block take rows in turn and meet in shared memory.
    Partial results are (splits, outer, columns): to the merge, one column for each of their (outer, column).

    Integer parameters: ``first`` (the outer index of grid plane 0: a grid has at most 65535 planes), ``outers`` (their
    number), ``rows``, ``columns``, ``share`` (rows a block takes, ``column_plan``). Grid: (tiles of 32 columns, splits,
    planes).
    """
    fold = Fold(of, inputs, output, stage)
    return fold.template(
        "reduce_columns",
        f"""
def NAME({", ".join(fold.parameters())}, first, outers, rows, columns, share):
    lane = cuda.threadIdx.x % {WARP}
    warp = cuda.threadIdx.x // {WARP}
    outer = first + cuda.blockIdx.z
    column = cuda.blockIdx.x * {WARP} + lane
    start = cuda.blockIdx.y * share
    {indent(4, fold.shared(BLOCK))}
    {indent(4, fold.start("a"))}
    if column < columns:
        for i in range(start + warp, min(start + share, rows), {WARPS}):
            {indent(12, [*fold.load("(outer * rows + i) * columns + column"), fold.absorb("a", "i")])}
    {indent(4, fold.put(f"warp * {WARP} + lane", "a"))}
    cuda.syncthreads()
    if warp == 0:
        {
            indent(
                8,
                [
                    line
                    for w in range(1, WARPS)
                    for line in [*fold.get("t", f"lane + {w * WARP}"), fold.merge("a", fold.names("t"))]
                ],
            )
        }
        if column < columns:
            {indent(12, fold.store("a", "(cuda.blockIdx.y * outers + outer) * columns + column"))}
""",
    )


def column_plan(outers: int, rows: int, columns: int) -> tuple[int, int]:
    """``(splits, share)``: enough blocks to fill a GPU, each with 8 rows or more for each of its warps.

    >>> column_plan(1, 100_000, 64), column_plan(1, 10, 10_000)
    ((500, 200), (1, 16))
    """
    tiles = outers * ceil_div(columns, WARP)
    splits = max(1, min(ceil_div(MAX_PARTIALS, tiles), rows // (8 * WARPS)))
    share = ceil_div(ceil_div(rows, splits), WARPS) * WARPS
    return ceil_div(rows, share) or 1, share
