"""Kernels that move elements: transposes, several operands into one result, triangles, sums of what overlaps, sequences.

Copies of one operand that need no tile are kernels of ``templates.py`` around the identity.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from math import prod
from typing import NamedTuple

from ...base.dtypes import COMPLEX, dtype_of
from .access import Access, compute_dtype, conversion_dtype, vector_lanes
from .accumulators import Accumulator
from .templates import BLOCK, WARP, WARPS, Template, ceil_div, compile_template, indent, strided_args, strided_parameters, unravel

__all__ = [
    "MOST_JOINED",
    "bits_of",
    "fits_32",
    "fold_overlaps",
    "identity",
    "join",
    "join_args",
    "join_grid",
    "of_parts",
    "place_in_line",
    "place_in_count",
    "sequence",
    "sequence_grid",
    "shared_dtype",
    "transpose",
    "transpose_tiles",
    "triangle",
]

TILE = 32  # rows and columns of a transpose's tile; a warp moves 32 neighbours of one of them
MOST_JOINED = 8  # operands of a launch: their walks are its parameters


def identity(x):
    """The element itself."""
    return x


def of_parts(x, y):
    """A complex number of its parts."""
    return complex(x, y)


def bits_of(itemsize: int) -> str:
    """The dtype as which elements of that size are moved when only their bits count.

    >>> bits_of(2), bits_of(16)
    ('int16', 'complex128')
    """
    return {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "complex128"}[itemsize]


def fits_32(*numbers: int) -> int:
    """The bits of indices, the largest of which, and of offsets in elements, these are."""
    return 32 if all(abs(n) < 1 << 31 for n in numbers) else 64


def renamed(lines: Iterable[str], prefix: str, names: Sequence[str]) -> list[str]:
    """Lines whose parameters have a prefix."""
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    return [pattern.sub(lambda found: prefix + found[0], line) for line in lines]


# ---- transposes --------------------------------------------------------------------------------------------------------


@cache
def transpose(source: str, target: str, shared: str, ndim: int, bits: int = 32) -> Template:
    """out[..., b, a] = scalar(x[..., a, b]): neighbours of the result are so along ``a``, of the operand along ``b``.

    A block moves a tile of 32 x 32 through shared memory, so that both its loads and its stores are of neighbours.

    Args:
        source, target: dtypes in memory; ``shared``: in shared memory.
        ndim: of the walk over tiles: batch dimensions, tiles along b, tiles along a.

    Integer parameters: sizes of a and b, the result's stride along b, the operand's along a, then the walk over tiles.
    Bind ``**index_source(bits)``.
    """
    pointers = ["out0", "x0", "a", "b"]  # the last two are no pointers: where a tile begins
    load, store = Access("load", source), Access("store", target)
    name = f"transpose{bits}_{source}_to_{target}_{ndim}d"
    function = compile_template(
        name,
        f"""
def NAME(out0, x0, a_size, b_size, out_step, x_step, {", ".join(strided_parameters(pointers, ndim))}):
    tile = cuda.shared.array({TILE * (TILE + 1)}, STATE0)
    lane = cuda.threadIdx.x % {WARP}
    warp = cuda.threadIdx.x // {WARP}
    i = cuda.blockIdx.x
    {indent(4, unravel(pointers, ndim))}
    for k in range(0, {TILE}, {WARPS}):
        row = warp + k
        if a_at + row < a_size and b_at + lane < b_size:
            tile[row * {TILE + 1} + lane] = scalar({load.name}(x0, multiply_add(row, x_step, x0_at) + lane))
    cuda.syncthreads()
    for k in range(0, {TILE}, {WARPS}):
        row = warp + k
        if a_at + lane < a_size and b_at + row < b_size:
            {store.name}(out0, multiply_add(row, out_step, out0_at) + lane, tile[lane * {TILE + 1} + row])
""",
    )
    return Template(
        name, function, (target, source), 0, frozenset((load, store)), Counter((load, store)), index_bits=bits, state=(shared,)
    )


class Tiles(NamedTuple):
    """The walk of a transpose over its tiles.

    Attributes:
        ndim: of the walk; counts: of the kernel; grid: a block for every tile.
    """

    ndim: int
    counts: list[int]
    grid: tuple[int, ...]


def transpose_tiles(
    batch: Sequence[int], out_batch: Sequence[int], x_batch: Sequence[int], sizes: tuple[int, int], out_step: int, x_step: int
) -> Tiles:
    """Batch dimensions with their strides, the sizes of a and b, the result's stride along b and the operand's along a."""
    a, b = sizes
    dims = [(size, (out, x, 0, 0)) for size, out, x in zip(batch, out_batch, x_batch)]
    dims += [(ceil_div(b, TILE), (TILE * out_step, TILE, 0, TILE)), (ceil_div(a, TILE), (TILE, TILE * x_step, TILE, 0))]
    dims = [dim for dim in dims if dim[0] > 1] or dims[:1]
    shape = [size for size, _ in dims]
    counts = [a, b, out_step, x_step, *strided_args(shape, zip(*(steps for _, steps in dims)))]
    return Tiles(len(dims), counts, (prod(shape),))


# ---- joining -----------------------------------------------------------------------------------------------------------


@cache
def join(source: str, target: str, parts: int, ndim: int, lanes: int = 1, bits: int = 32) -> Template:
    """Several operands into their places of one result, each along a walk of its own; a row of the grid for each.

    Args:
        parts: how many operands; ndim: dimensions of every walk. lanes: of a vector access, in which walks then count.

    Integer parameters: ``join_args``. Bind ``**index_source(bits)``.
    """
    load, store = Access("load", source, lanes), Access("store", target, lanes)
    name, parameters, body = f"join{bits}_{parts}_{source}_to_{target}_{ndim}d_x{lanes}", list[str](), list[str]()
    for k in range(parts):
        pointers = [f"to{k}", f"x{k}"]
        own = strided_parameters(pointers, ndim)
        parameters += [f"n{k}", f"first{k}", *(f"p{k}_{each}" for each in own)]
        lines = renamed(unravel(pointers, ndim), f"p{k}_", own)
        value = f"{load.name}(x{k}, x{k}_at)"
        moved = f"({', '.join(f'scalar(v[{lane}])' for lane in range(lanes))})" if lanes > 1 else "scalar(v)"
        lines += [f"v = {value}", f"{store.name}(out0, to{k}_at + first{k}, {moved})"]
        body += [f"if part == {k} and i < n{k}:", *("    " + line for line in lines)]
    function = compile_template(
        name,
        f"""
def NAME(out0, {", ".join(f"x{k}" for k in range(parts))}, {", ".join(parameters)}):
    part = cuda.blockIdx.y
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    {indent(4, body)}
""",
    )
    return Template(
        name, function, (target, *(source,) * parts), 0, frozenset((load, store)), Counter([load, store] * parts), index_bits=bits
    )


def join_args(parts: Sequence[tuple[int, int, Sequence[int], Sequence[int], Sequence[int]]]) -> list[int]:
    """The counts of ``join``: for each operand how many vectors it has, where in the result it begins, the shape of its walk,
    and the strides of result and operand.
    """
    found = list[int]()
    for count, first, shape, out_steps, x_steps in parts:
        found += [count, first, *strided_args(shape, [out_steps, x_steps])]
    return found


def join_grid(counts: Iterable[int]) -> tuple[int, ...]:
    """As many blocks for every operand as the largest needs."""
    counts = list(counts)
    return ceil_div(max(counts), BLOCK), len(counts)


@cache
def triangle(source: str, target: str, ndim: int, upper: bool, bits: int = 32) -> Template:
    """out[i] = scalar(x[...]) above (or below) a diagonal of matrices, zeros elsewhere.

    Integer parameters: ``n``, ``diagonal``, then the walk of operand, row and column. Bind ``**index_source(bits)``.
    """
    pointers = ["x0", "row", "column"]
    load, store = Access("load", source), Access("store", target)
    name = f"{'upper' if upper else 'lower'}{bits}_{source}_to_{target}_{ndim}d"
    sign = ">=" if upper else "<="
    function = compile_template(
        name,
        f"""
def NAME(out0, x0, n, diagonal, {", ".join(strided_parameters(pointers, ndim))}):
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    if i < n:
        at = i
        {indent(8, unravel(pointers, ndim))}
        if column_at - row_at {sign} diagonal:
            {store.name}(out0, at, scalar({load.name}(x0, x0_at)))
        else:
            {store.name}(out0, at, 0)
""",
    )
    return Template(name, function, (target, source), 0, frozenset((load, store)), Counter((load, store)), index_bits=bits)


# ---- overlapping sums --------------------------------------------------------------------------------------------------


@cache
def fold_overlaps(of: Accumulator, dtype: str, ndim: int) -> Template:
    """out[first + i . steps] = the sum of all x[i . x_steps] that lie there: a thread for each element of the result.

    Dimensions come by falling steps. A thread looks for the indices of one after the other, among those only that the later ones
    can complete: where nothing overlaps, that is one. Steps are positive, but of leading dimensions, which may be 0.

    Integer parameters: ``n`` elements of the result, ``first``, then for every dimension its size, its step, the operand's stride,
    and how far all later ones reach together. Grid: ``strided_grid(n)``.
    """
    load, store = Access("load", dtype), Access("store", dtype)
    name = f"fold_overlaps_{of.name}_{dtype}_{ndim}d"
    state = [f"a_{s}" for s in range(len(of.state))]
    counts = [f"{part}{d}" for d in range(ndim) for part in ("size", "step", "x_step", "reach")]
    lines, pad = [f"{s} = IDENTITY{k}" for k, s in enumerate(state)] + ["r_0 = i - first", "x_0 = 0"], ""
    for d in range(ndim):
        lines += [
            f"{pad}low_{d} = 0",
            f"{pad}high_{d} = size{d} - 1",
            f"{pad}if step{d} > 0:",
            f"{pad}    low_{d} = max(0, (r_{d} - reach{d} + step{d} - 1) // step{d})",
            f"{pad}    high_{d} = min(size{d} - 1, r_{d} // step{d})",
            f"{pad}for k_{d} in range(low_{d}, high_{d} + 1):",
        ]
        pad += "    "
        lines += [f"{pad}r_{d + 1} = r_{d} - k_{d} * step{d}", f"{pad}x_{d + 1} = x_{d} + k_{d} * x_step{d}"]
    lines += [
        f"{pad}if r_{ndim} == 0:",
        f"{pad}    {', '.join(state)} = absorb({', '.join(state)}, scalar({load.name}(x0, x_{ndim})))",
    ]
    function = compile_template(
        name,
        f"""
def NAME(out0, x0, n, first, {", ".join(counts)}):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        {indent(8, lines)}
        {store.name}(out0, i, finish({", ".join(state)}))
""",
    )
    return Template(name, function, (dtype, dtype), 0, frozenset((load, store)), index_bits=64, state=of.state)


# ---- sequences ---------------------------------------------------------------------------------------------------------


def place_in_count(i, low, step):
    """``low + i * step``: each element has one rounding."""
    return low + i * step


def place_in_line(i, low, high, step, half, last):
    """The i-th of equidistant numbers, symmetric about the middle, the ends as they are."""
    value = low + step * i if i < half else high - step * (last - i)
    return low if i == 0.0 else (high if i == last else value)


@cache
def sequence(dtype: str, kind: str, values: int) -> Template:
    """out[i] = scalar(i, *values), computed in ``kind``: a vector a thread.

    Integer parameters: ``n``. Launch ``sequence_grid`` blocks.
    """
    lanes = vector_lanes([dtype])
    vector, element = Access("store", dtype, lanes), Access("store", dtype)
    name = f"sequence_{kind}_to_{dtype}_{values}"
    place = "float" if kind == "float64" else "int"
    passed = "".join(f", v{k}" for k in range(values))
    numbers = ", ".join(f"scalar({place}(i + {k}){passed})" for k in range(lanes))
    tail = [f"if i + {k} < n:\n            {element.name}(out0, i + {k}, scalar({place}(i + {k}){passed}))" for k in range(lanes)]
    whole = f"{vector.name}(out0, i // {lanes}, ({numbers}))" if lanes > 1 else f"{vector.name}(out0, i, {numbers})"
    function = compile_template(
        name,
        f"""
def NAME(out0{passed}, n):
    i = (cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x) * {lanes}
    if i + {lanes} <= n:
        {whole}
    else:
        {indent(8, tail)}
""",
    )
    return Template(name, function, (dtype,), values, frozenset((vector, element)), Counter([vector]))


def sequence_grid(n: int, dtype: str) -> tuple[int, ...]:
    """The blocks that make ``n`` elements."""
    return (ceil_div(n, BLOCK * vector_lanes([dtype])),)


def shared_dtype(source: str, target: str) -> str | None:
    """The dtype in which elements lie in shared memory between two in memory; None where there is none: complex numbers."""
    if COMPLEX in (dtype_of(source).category, dtype_of(target).category):
        return None
    if source == target and dtype_of(source).itemsize <= 4 and compute_dtype(source) == "int64":
        return "int32"
    return conversion_dtype(source, target)
