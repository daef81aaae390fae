"""One elementwise kernel for many tensors: a table among its parameters says where they are, and which blocks do which of them.

A captured graph keeps the table with the launch: nothing of it lies in memory that somebody else must keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from .accumulators import Accumulator
from .folds import Fold
from .steps import Place
from .templates import BLOCK, WARPS, Operand, Signature, Template, ceil_div, compile_template, indent

__all__ = ["FEW_ROWS", "FOLDED", "blocks_of", "elementwise_rows", "fold_rows", "most_rows", "table_of"]

PARAMETERS = 512  # words of a launch's parameters, at most
VECTORS = 4  # that a thread takes one after the other: finding the row costs a block about as much as one of them
FOLDED = 16  # of a fold, whose blocks have to meet
FEW_ROWS = 16  # a table of so many rows is an eighth of the largest
NEVER = (1 << 62) - 1  # the first block of a row that is not there


def most_rows(pointers: int, numbers: int) -> int:
    """Rows that a table may have, of so many pointers each, beside numbers.

    >>> most_rows(4, 9), most_rows(2, 3)
    (82, 126)
    """
    return (PARAMETERS - 2 * numbers) // (2 + pointers)


def blocks_of(n: int, lanes: int, vectors: int = VECTORS) -> int:
    """The blocks that do a row of ``n`` elements, so many vectors a thread."""
    return ceil_div(n, BLOCK * vectors * lanes)


def table_of(rows: Sequence[tuple[int, int, Sequence[Place]]], size: int) -> tuple[int | Place, ...]:
    """The words of a table.

    Args:
        rows: first block, elements and pointers of each, by rising first blocks.
        size: rows of the table; those that are missing are empty.
    """
    missing, pointers = size - len(rows), len(rows[0][2])
    words: list[int | Place] = [*(first for first, _, _ in rows), *[NEVER] * missing, *(n for _, n, _ in rows), *[0] * missing]
    for k in range(pointers):
        words += [*(places[k] for _, _, places in rows), *[0] * missing]
    return tuple(words)


def found_row(rows: int, pointers: Sequence[str], vectors: int) -> list[str]:
    """Lines that find the row of a block: how many elements it has, where they are, and the first vector that is the block's."""
    return [
        "block = cuda.blockIdx.x",
        "row = 0",
        f"above = {rows}",
        "while above - row > 1:",
        "    middle = (row + above) // 2",
        "    if table[middle] <= block:",
        "        row = middle",
        "    else:",
        "        above = middle",
        f"n = table[{rows} + row]",
        f"tile = (block - table[row]) * {BLOCK * vectors}",
        *(f"{pointer} = pointer_of(table[{(2 + k) * rows} + row])" for k, pointer in enumerate(pointers)),
    ]


@cache
def elementwise_rows(
    inputs: tuple[Operand, ...], outputs: tuple[str, ...], into: tuple[int, ...], rows: int, lanes: int
) -> Template:
    """``elementwise`` of many tensors: for every row of a table the elements of its tensors, each contiguous.

    Args:
        inputs, outputs, into: as ``elementwise``'s.
        rows: of the table: a column with their first blocks, one with how many elements they have, one for each pointer.
        lanes: elements of a vector access.

    Launch as many blocks as the rows have together.
    """
    signature = Signature(inputs, outputs, into)
    pointers = list(signature.pointers)
    name = f"rows{rows}_{signature.label}_x{lanes}"
    whole = signature.body(lanes, [lambda pointer: "i"])
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*signature.values, "table"])}):
    {indent(4, found_row(rows, pointers, VECTORS) + signature.load_singles())}
    if (tile + {BLOCK * VECTORS}) * {lanes} <= n:
        for u in range({VECTORS}):
            i = tile + u * {BLOCK} + cuda.threadIdx.x
            {indent(12, whole)}
    else:
        for j in range(tile * {lanes} + cuda.threadIdx.x, n, {BLOCK}):
            {indent(12, signature.body(1, [lambda pointer: "j"], "one_"))}
""",
    )
    words = (2 + len(pointers)) * rows
    return Template(
        name,
        function,
        (),
        len(signature.values),
        signature.accesses(lanes),
        signature.traffic(lanes, 1),
        index_bits=64,
        resident=3 if len(pointers) > 3 else 0,  # Adam of halves would spill 16 bytes, of float64 with amsgrad 32
        table=words,
    )


@cache
def fold_rows(of: Accumulator, dtype: str, rows: int, lanes: int, by_vectors: bool = True) -> Template:
    """Every block's share of the fold of all elements of many tensors, as accumulators: NOTE [Reduction stages].

    Args:
        of: the accumulator; bind ``**of.source()``.
        dtype: of the tensors; ``rows``: of the table, as ``elementwise_rows``' for one pointer.
        lanes, by_vectors: as of ``reduce_rows``.

    Integer parameters: ``first``, where the accumulators of the first block go.
    """
    fold = Fold(of, (dtype,), dtype, "partial", lanes, by_vectors)
    groups, outs = [f"a{k}" for k in range(lanes)], [f"out{s}" for s in fold.width]
    made = fold.template(
        f"fold_rows{rows}",
        f"""
def NAME({", ".join([*outs, "first", "table"])}):
    thread = cuda.threadIdx.x
    {indent(4, found_row(rows, ["x0"], FOLDED))}
    {indent(4, fold.shared(WARPS))}
    {indent(4, [line for group in groups for line in fold.start(group)])}
    if (tile + {BLOCK * FOLDED}) * {lanes} <= n:
        for u in range({FOLDED}):
            i = tile + u * {BLOCK} + thread
            {indent(12, fold.load_lanes("0", "i") + fold.absorb_lanes(groups, "i"))}
    else:
        for j in range(tile * {lanes} + thread, n, {BLOCK}):
            {indent(12, [*fold.load("j", "w"), fold.absorb("a0", "j", names="w")])}
    {indent(4, fold.end(groups, "first + block"))}
""",
        3 * rows,
    )
    return replace(made, resident=3 if by_vectors else 2) if lanes > 4 else made  # accumulators of eight halves would spill
