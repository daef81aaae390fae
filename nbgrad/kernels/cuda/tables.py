"""One elementwise kernel for many tensors: a table among its parameters says where they are, and which blocks do which of them.

A captured graph keeps the table with the launch: nothing of it lies in memory that somebody else must keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .steps import Place
from .templates import BLOCK, Operand, Signature, Template, ceil_div, compile_template, indent

__all__ = ["FEW_ROWS", "blocks_of", "elementwise_rows", "most_rows", "table_of"]

PARAMETERS = 512  # words of a launch's parameters, at most
VECTORS = 4  # that a thread takes one after the other: finding the row costs a block about as much as one of them
FEW_ROWS = 16  # a table of so many rows is an eighth of the largest
NEVER = (1 << 62) - 1  # the first block of a row that is not there


def most_rows(pointers: int, numbers: int) -> int:
    """Rows that a table may have, of so many pointers each, beside numbers.

    >>> most_rows(4, 9), most_rows(2, 3)
    (82, 126)
    """
    return (PARAMETERS - 2 * numbers) // (2 + pointers)


def blocks_of(n: int, lanes: int) -> int:
    """The blocks that do a row of ``n`` elements."""
    return ceil_div(n, BLOCK * VECTORS * lanes)


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
    found = [f"{pointer} = pointer_of(table[{(2 + k) * rows} + row])" for k, pointer in enumerate(pointers)]
    whole = signature.body(lanes, [lambda pointer: "i"])
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*signature.values, "table"])}):
    block = cuda.blockIdx.x
    row = 0
    above = {rows}
    while above - row > 1:
        middle = (row + above) // 2
        if table[middle] <= block:
            row = middle
        else:
            above = middle
    n = table[{rows} + row]
    tile = (block - table[row]) * {BLOCK * VECTORS}
    {indent(4, [*found, *signature.load_singles()])}
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
