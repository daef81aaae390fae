"""Reduction kernel templates: rows, short rows and columns, folded with an accumulator.

NOTE [Reduction stages]: a long row is cut into blocks, each of which folds its share: stage ``"partial"`` stores the
blocks' accumulators, stage ``"merge"`` folds those and finishes. A row that one block can fold takes one kernel, stage
``"whole"``. Where results are folded along two dimensions that do not follow each other, stage ``"join"`` folds
accumulators into fewer accumulators. There are no atomics: the order depends on the shape alone, hence the same bits on every run
and every GPU.

NOTE [Single loads]: memory that is not aligned to vectors, and rows that are no multiple of them, are loaded element by element by
a kernel that folds in the very order of vectors: where memory lies changes no bit.
"""

from __future__ import annotations

from functools import cache

from .accumulators import Accumulator
from .folds import Fold, lanes_for, several_ahead, whole_vectors
from .templates import BLOCK, WARP, WARPS, Template, ceil_div, indent

__all__ = [
    "MAX_PARTIALS",
    "SHORT",
    "column_plan",
    "reduce_columns",
    "reduce_rows",
    "reduce_short_rows",
    "row_plan",
    "short_rows_grid",
    "short_width",
]

MAX_PARTIALS = 1024  # blocks of a row's first stage: fills the largest GPU, and one block can finish it
SHORT = 1024  # elements of the longest rows that a warp folds, or fewer threads
ROWS_AHEAD = 16  # rows of columns that a thread loads before it folds them


@cache
def reduce_rows(
    of: Accumulator, inputs: tuple[str, ...], output: str, stage: str = "whole", lanes: int | None = None, vectors: bool = True
) -> Template:
    """out[row] = the fold of scalar(x0[row, i], ...) over rows that lie without gaps: a block, or several, for a row.

    Args:
        of: the accumulator; bind ``**of.source()``.
        inputs: dtypes of the map's operands, all of one shape.
        output: dtype of the result.
        stage: see NOTE [Reduction stages]; partial results are (rows, blocks).
        lanes: elements that a thread takes at once. Of accumulators: 1.
        vectors: whether by vector accesses, for which pointers and ``step`` are multiples: NOTE [Single loads].

    Integer parameters: ``n``, elements of a row; ``step``, elements from row to row; ``share``, how many times ``lanes`` elements
    a block takes (``row_plan``). Grid: (rows, blocks). What is left of a row behind its last vector the last block takes.
    """
    lanes = 1 if stage in ("merge", "join") else lanes or lanes_for(of, inputs)
    fold = Fold(of, inputs, output, stage, lanes, vectors)
    left = [
        "if cuda.blockIdx.y == cuda.gridDim.y - 1:",
        f"    j = count * {lanes} + thread",
        "    if j < n:",
        *(f"        {line}" for line in [*fold.load("row + j", "w"), fold.absorb("a0", "j", names="w")]),
    ]
    return fold.template(
        "reduce_rows",
        f"""
def NAME({", ".join(fold.parameters())}, n, step, share):
    thread = cuda.threadIdx.x
    row = cuda.blockIdx.x * step
    count = {whole_vectors(lanes)}
    start = cuda.blockIdx.y * share
    {indent(4, fold.shared(WARPS))}
    {indent(4, [line for group in fold.groups for line in fold.start(group)])}
    {indent(4, fold.walk("row", "start + thread", "min(start + share, count)", BLOCK))}
    {indent(4, left if lanes > 1 else [])}
    {indent(4, fold.end(fold.groups, "cuda.blockIdx.x * cuda.gridDim.y + cuda.blockIdx.y"))}
""",
    )


def row_plan(n: int, lanes: int, rows: int = 1) -> tuple[int, int]:
    """``(blocks, share)`` for rows of ``n``: each block takes ``share`` vectors, four or more for each thread.

    Many rows fill a GPU with a block each.
    """
    vectors = n // lanes
    blocks = max(1, min(ceil_div(MAX_PARTIALS, max(rows, 1)), ceil_div(vectors, 4 * BLOCK)))
    share = ceil_div(ceil_div(vectors, blocks), BLOCK) * BLOCK
    return max(1, ceil_div(vectors, share) if share else 1), share


@cache
def reduce_short_rows(
    of: Accumulator,
    inputs: tuple[str, ...],
    output: str,
    width: int = WARP,
    lanes: int = 1,
    vectors: bool = True,
    stage: str = "whole",
) -> Template:
    """As ``reduce_rows`` for rows of up to ``SHORT`` elements: a warp for each, or ``width`` threads of one; no shared memory.

    Integer parameters: ``rows``, ``n``, ``step``. Grid: ``short_rows_grid(rows, width)``.
    """
    fold = Fold(of, inputs, output, stage, lanes, vectors)
    one = [*fold.load("at + j", "w"), fold.absorb("a0", "j", names="w")]
    left: list[str] = []
    for first in range(0, lanes - 1, width):  # a row may have fewer threads than elements behind its last vector
        left += [f"j = count * {lanes} + {first} + lane", "if j < n:", *(f"    {x}" for x in one)]
    return fold.template(
        f"reduce_short_rows{width}",
        f"""
def NAME({", ".join(fold.parameters())}, rows, n, step):
    lane = cuda.threadIdx.x % {width}
    row = cuda.blockIdx.x * {BLOCK // width} + cuda.threadIdx.x // {width}
    {indent(4, [line for group in fold.groups for line in fold.start(group)])}
    if row < rows:
        at = row * step
        count = {whole_vectors(lanes)}
        {indent(8, fold.walk("at", "lane", "count", width))}
        {indent(8, left)}
    {indent(4, fold.merge_tree(fold.groups) + fold.shuffle("a0", width))}
    if (lane == 0) & (row < rows):
        {indent(8, fold.store("a0", "row"))}
""",
    )


def short_rows_grid(rows: int, width: int = WARP) -> tuple[int, ...]:
    """Blocks for ``rows`` rows, each of ``width`` threads."""
    return (ceil_div(rows, BLOCK // width),)


def short_width(n: int, lanes: int) -> int:
    """Threads for a short row: two vectors each, or more.

    >>> short_width(1000, 4), short_width(16, 4), short_width(3, 1)
    (32, 2, 2)
    """
    threads = 1
    while threads < WARP and threads * 2 * lanes < n:
        threads *= 2
    return threads


@cache
def reduce_columns(of: Accumulator, inputs: tuple[str, ...], output: str, stage: str = "whole") -> Template:
    """out[outer, column] = the fold of scalar(x0[outer, i, column], ...) over i, with any steps.

    A warp reads 32 neighbouring columns of a row; the warps of a block take rows in turn and meet in shared memory.
    Partial results are (splits, outer, columns): to the merge, one column for each of their (outer, column).

    Integer parameters: ``first`` (the outer index of grid plane 0: a grid has at most 65535 planes), ``outers`` (their
    number), ``rows``, ``columns``, ``share`` (rows a block takes, ``column_plan``), ``outer_step``, ``row_step`` and
    ``column_step``. Grid: (tiles of 32 columns, splits, planes).
    """
    fold = Fold(of, inputs, output, stage)
    steps = fold.ahead(ROWS_AHEAD)
    ahead = [line for u in range(steps) for line in fold.load(f"at + (i + {u * WARPS}) * row_step", f"v{u}_")]
    folded = [fold.absorb("a", f"i + {u * WARPS}", names=f"v{u}_") for u in range(steps)]
    if fold.gathers:
        folded = fold.at_once("a", [f"v{u}_" for u in range(steps)], "i", WARPS)
    one = [*fold.load("at + i * row_step"), fold.absorb("a", "i")]
    return fold.template(
        "reduce_columns",
        f"""
def NAME({", ".join(fold.parameters())}, first, outers, rows, columns, share, outer_step, row_step, column_step):
    lane = cuda.threadIdx.x % {WARP}
    warp = cuda.threadIdx.x // {WARP}
    outer = first + cuda.blockIdx.z
    column = cuda.blockIdx.x * {WARP} + lane
    start = cuda.blockIdx.y * share
    {indent(4, fold.shared(BLOCK))}
    {indent(4, fold.start("a"))}
    if column < columns:
        at = outer * outer_step + column * column_step
        stop = min(start + share, rows)
        i = start + warp
        {indent(8, several_ahead("i", "stop", WARPS, steps, ahead + folded, one))}
    {indent(4, fold.put(f"warp * {WARP} + lane", "a"))}
    cuda.syncthreads()
    if warp == 0:
        {indent(8, fold.merge_warps("a"))}
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
