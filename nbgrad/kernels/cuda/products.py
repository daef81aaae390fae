"""Matrix products by tiles in shared memory, and products with a vector: for all dtypes, for operands of any strides.

NOTE [Tiles of a product]: 256 threads compute sixteen times as many rows and columns of the result as each of them does
(``Shape``), each thread every sixteenth, so that loads from shared memory never meet in a bank and stores are of neighbours. Tiles
of the operands are DEPTH deep; a long sum over few tiles is split among blocks, whose parts are added up by ``join_parts``.
Integers wrap around in 64 bits, half types add up in float32. Sums go in an order that the shapes alone decide.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ...base.dtypes import COMPLEX, INTEGER, dtype_of
from .access import Access, compute_dtype
from .templates import BLOCK, WARP, WARPS, Template, compile_template, indent, strided_parameters, unravel

__all__ = ["DEPTH", "Shape", "WALKED", "WIDE", "join_parts", "multiply", "rows_times_vector", "shape_of"]

DEPTH = 16  # of tiles
SIDE = 16  # threads along each side of a tile
WIDE_FROM = 132 * 128 * 64  # results from which there is a wide tile for every multiprocessor
RESIDENT = 2  # blocks on a multiprocessor: their threads have twice the registers that others have

# What is walked over batches and tiles: operands, result, addend, first row and column of a tile.
WALKED = ("x", "y", "c", "d", "row", "column")


class Shape(NamedTuple):
    """Of a thread's part: rows and columns."""

    rows: int
    columns: int

    @property
    def tile(self) -> tuple[int, int]:
        """Of a block's."""
        return SIDE * self.rows, SIDE * self.columns


WIDE = Shape(8, 4)


def shape_of(dtype: str, m: int, n: int) -> Shape:
    """As many results as registers hold with their operands; fewer where that would leave a large GPU without work."""
    if compute_dtype(dtype) != "float32":
        return Shape(4, 2)
    return WIDE if m * n >= WIDE_FROM else Shape(4, 4)


def shared_kind(dtype: str) -> str:
    """The dtype of tiles in shared memory: of the parts of complex numbers."""
    found = dtype_of(dtype)
    if found.category == COMPLEX:
        return found.to_real().name
    compute = compute_dtype(dtype)
    return "int32" if compute == "int64" and found.itemsize <= 4 else compute


class Operand(NamedTuple):
    """How a tile of an operand is loaded.

    Attributes:
        name: of its pointer, offset and strides; tile: of its shared array.
        long: rows, or columns, of a tile along the result.
        deep_first: whether neighbours lie along the sum.
        conj: whether it is conjugated.
    """

    name: str
    tile: str
    long: int
    deep_first: bool
    conj: bool


def load_lines(operand: Operand, dtype: str, complex_: bool) -> list[str]:
    """Lines that load a tile, zeros where there is no element."""
    name, tile, long, deep_first, conj = operand
    load = Access("load", dtype).name
    if deep_first:
        places = [(f"thread // {DEPTH} + {r * (BLOCK // DEPTH)}", f"thread % {DEPTH}") for r in range(long * DEPTH // BLOCK)]
    else:
        places = [(f"thread % {long}", f"thread // {long} + {r * (BLOCK // long)}") for r in range(long * DEPTH // BLOCK)]
    limit, first = ("m", "row_at") if name == "x" else ("n", "column_at")
    lines = list[str]()
    for along, deep in places:
        at = f"(deep) * {long + 1} + along"
        lines += [f"along = {along}", f"deep = {deep}"]
        index = f"{name}_at + along * {name}_step + (low + deep) * {name}_deep"
        inside = f"if {first} + along < {limit} and low + deep < high:"
        if complex_:
            sign = "-" if conj else ""
            lines += [
                f"{tile}_re[{at}] = 0.0",
                f"{tile}_im[{at}] = 0.0",
                inside,
                f"    z = {load}({name}, {index})",
                f"    {tile}_re[{at}] = z.real",
                f"    {tile}_im[{at}] = {sign}z.imag",
            ]
        else:
            lines += ["v = ZERO", inside, f"    v = {load}({name}, {index})", f"{tile}[{at}] = v"]
    return lines


def sum_lines(shape: Shape, complex_: bool, exact: bool) -> list[str]:
    """Lines that add the products at depth ``k`` to the results."""
    rows, columns = shape.tile
    lines = list[str]()
    parts = ("re", "im") if complex_ else ("",)
    for part in parts:
        suffix = f"_{part}" if part else ""
        lines += [f"a{i}{suffix} = a_tile{suffix}[k * {rows + 1} + down + {SIDE * i}]" for i in range(shape.rows)]
        lines += [f"b{j}{suffix} = b_tile{suffix}[k * {columns + 1} + across + {SIDE * j}]" for j in range(shape.columns)]
    for i in range(shape.rows):
        for j in range(shape.columns):
            if complex_:
                lines += [
                    f"re{i}_{j} = fma(a{i}_re, b{j}_re, fma(-a{i}_im, b{j}_im, re{i}_{j}))",
                    f"im{i}_{j} = fma(a{i}_re, b{j}_im, fma(a{i}_im, b{j}_re, im{i}_{j}))",
                ]
            else:
                lines.append(f"s{i}_{j} = s{i}_{j} + a{i} * b{j}" if exact else f"s{i}_{j} = fma(a{i}, b{j}, s{i}_{j})")
    return lines


@cache
def multiply(
    dtype: str,
    x_deep_first: bool,
    y_deep_first: bool,
    ndim: int,
    shape: Shape,
    addend: bool = False,
    parts: bool = False,
    conj: tuple[bool, bool] = (False, False),
) -> Template:
    """c = x @ y (+ d) for every index of a batch: NOTE [Tiles of a product].

    Args:
        x_deep_first, y_deep_first: whether an operand's neighbours lie along the sum.
        ndim: of the walk: batch dimensions, tiles of rows, tiles of columns.
        shape: of a thread's part, ``shape_of``.
        addend: whether there is d. parts: the result is a part of each sum, in the compute dtype, for ``join_parts``.
        conj: which operands are conjugated.

    Pointers: c, x, y, d. Integer parameters: m, n, depth, ``share`` of the depth that a row of the grid sums up, strides of x and y
    along the result and the depth, of d down and across, ``total`` elements of the result, then the walk of WALKED. Bind
    ``**index_source(64)``.
    """
    complex_, compute = dtype_of(dtype).category == COMPLEX, compute_dtype(dtype)
    exact, kind = dtype_of(compute).category == INTEGER, shared_kind(dtype)
    rows, columns = shape.tile
    target = compute if parts else dtype
    load, store = Access("load", dtype), Access("store", target, exact=parts)
    sides = f"{'k' if x_deep_first else 'm'}{'k' if y_deep_first else 'n'}{'c' * conj[0]}{'h' * conj[1]}"
    name = f"multiply_{dtype}_{sides}_{shape.rows}x{shape.columns}_{ndim}d{'_add' * addend}{'_parts' * parts}"
    zero = "0" if exact else "0.0"
    x = Operand("x", "a_tile", rows, x_deep_first, conj[0])
    y = Operand("y", "b_tile", columns, y_deep_first, conj[1])
    sums = ("re", "im") if complex_ else ("s",)
    names = [f"{each}{i}_{j}" for each in sums for i in range(shape.rows) for j in range(shape.columns)]
    suffixes = ("_re", "_im") if complex_ else ("",)
    tiles = [(f"{tile}{suffix}", long) for tile, long in (("a_tile", rows), ("b_tile", columns)) for suffix in suffixes]
    shared = [f"{tile} = cuda.shared.array({DEPTH * (long + 1)}, STATE0)" for tile, long in tiles]
    results = list[str]()
    for i in range(shape.rows):
        for j in range(shape.columns):
            value = f"complex(re{i}_{j}, im{i}_{j})" if complex_ else f"s{i}_{j}"
            results.append(f"if row_at + down + {SIDE * i} < m and column_at + across + {SIDE * j} < n:")
            results.append(f"    value = {value}")
            if addend:
                d = f"d_at + (down + {SIDE * i}) * d_down + (across + {SIDE * j}) * d_across"
                results.append(f"    value = value + {load.name}(d, {d})")
            at = f"(row_at + down + {SIDE * i}) * n + column_at + across + {SIDE * j}"
            results.append(f"    {store.name}(out0, {'cuda.blockIdx.y * total + ' * parts}c_at + {at}, value)")
    counts = ["m", "n", "depth", "share", "x_step", "x_deep", "y_step", "y_deep", "d_down", "d_across", "total"]
    function = compile_template(
        name,
        f"""
def NAME(out0, x, y, {"d, " * addend}{", ".join([*counts, *strided_parameters(WALKED, ndim)])}):
    {indent(4, shared)}
    thread = cuda.threadIdx.x
    across = thread % {SIDE}
    down = thread // {SIDE}
    i = cuda.blockIdx.x
    {indent(4, unravel(WALKED, ndim))}
    first = cuda.blockIdx.y * share
    high = min(first + share, depth)
    {indent(4, [f"{each} = ZERO" if not complex_ else f"{each} = 0.0" for each in names])}
    for low in range(first, high, {DEPTH}):
        {indent(8, load_lines(x, dtype, complex_) + load_lines(y, dtype, complex_))}
        cuda.syncthreads()
        for k in range({DEPTH}):
            {indent(12, sum_lines(shape, complex_, exact))}
        cuda.syncthreads()
    {indent(4, results)}
""".replace("ZERO", zero),
    )
    pointers = (target, dtype, dtype, *[dtype] * addend)
    return Template(name, function, pointers, 0, frozenset((load, store)), index_bits=64, state=(kind,), resident=RESIDENT)


@cache
def join_parts(dtype: str, ndim: int, addend: bool) -> Template:
    """out[i] = the sum of all parts (+ d), as ``multiply`` has made them.

    Pointers: result, parts, d. Integer parameters: ``n`` elements, ``count`` of parts, then the walk of d. Bind
    ``**index_source(64)``.
    """
    compute = compute_dtype(dtype)
    load, store, given = Access("load", compute, exact=True), Access("store", dtype), Access("load", dtype)
    name = f"join_parts_{dtype}_{ndim}d{'_add' * addend}"
    more = [*unravel(["d"], ndim), f"total = total + {given.name}(d, d_at)"] if addend else ["pass"]
    function = compile_template(
        name,
        f"""
def NAME(out0, parts, {"d, " * addend}n, count, {", ".join(strided_parameters(["d"], ndim))}):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        at = i
        total = {load.name}(parts, at)
        for part in range(1, count):
            total = total + {load.name}(parts, part * n + at)
        {indent(8, more)}
        {store.name}(out0, at, total)
""",
    )
    pointers = (dtype, compute, *[dtype] * addend)
    return Template(name, function, pointers, 0, frozenset((load, store, given)), index_bits=64)


@cache
def rows_times_vector(dtype: str, ndim: int) -> Template:
    """out[row] = a matrix's row times a vector, for every index of a batch: a warp for each, whose threads take neighbours.

    Real numbers that are no integers, of which each thread carries the rounding errors of its sum (NOTE [Carried sums] of
    ``kernels/monoids.py``). Integer parameters: ``n`` rows in all, ``depth``, strides of both along it, then the walk over batches
    and rows of matrix and vector. Bind ``**index_source(64)`` and the accumulator's source.
    """
    load, store = Access("load", dtype), Access("store", dtype)
    name, pointers = f"rows_times_vector_{dtype}_{ndim}d", ["x", "y"]
    distances = [WARP >> k for k in range(1, WARP.bit_length())]
    shuffles = [
        line
        for d in distances
        for line in (
            f"other = cuda.shfl_down_sync(0xffffffff, total, {d})",
            f"other_carry = cuda.shfl_down_sync(0xffffffff, carry, {d})",
            "total, carry = merge(total, carry, other, other_carry)",
        )
    ]
    function = compile_template(
        name,
        f"""
def NAME(out0, x, y, n, depth, x_deep, y_deep, {", ".join(strided_parameters(pointers, ndim))}):
    lane = cuda.threadIdx.x % {WARP}
    i = cuda.blockIdx.x * {WARPS} + cuda.threadIdx.x // {WARP}
    if i < n:  # the same for all of a warp
        row = i
        {indent(8, unravel(pointers, ndim))}
        total = IDENTITY0
        carry = IDENTITY1
        for k in range(lane, depth, {WARP}):
            total, carry = absorb(total, carry, {load.name}(x, x_at + k * x_deep) * {load.name}(y, y_at + k * y_deep))
        {indent(8, shuffles)}
        if lane == 0:
            {store.name}(out0, row, finish(total, carry))
""",
    )
    compute = compute_dtype(dtype)
    return Template(name, function, (dtype,) * 3, 0, frozenset((load, store)), index_bits=64, state=(compute, compute))
