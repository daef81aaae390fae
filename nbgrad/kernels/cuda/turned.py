"""Elementwise kernels of operands that lie the other way round: x + y.T reads y by tiles, as a transpose does, and stores sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import prod

from .access import Access, compute_dtype
from .moves import TILE, Tiles
from .templates import (
    WARP,
    WARPS,
    Operand,
    Signature,
    Template,
    ceil_div,
    compile_template,
    indent,
    strided_args,
    strided_parameters,
    unravel,
)

__all__ = ["turned", "turned_tiles"]


@cache
def turned(
    inputs: tuple[Operand, ...], outputs: tuple[str, ...], dtype: str, ndim: int, bits: int = 32, into: tuple[int, ...] = ()
) -> Template:
    """outputs[..., b, a] = scalar(inputs[..., b, a]): neighbours of results are so along ``a``, of ``across`` inputs along ``b``.

    A block has a tile of 32 x 32, and loads all of it before it waits for what comes through shared memory.

    Args:
        inputs: arrays with any strides, ``across`` and values; outputs, into: as ``elementwise``'s; ``dtype``: of the kernel.
        ndim: of the walk over tiles: batch dimensions, tiles along b, tiles along a.

    Integer parameters: sizes of a and b, each pointer's strides along a and b, then the walk over tiles. Bind
    ``**index_source(bits)``.
    """
    signature = Signature(inputs, outputs, into)
    pointers = list(signature.pointers)
    across = [f"x{k}" for k, x in enumerate(inputs) if x.kind == "across"]
    loads = {f"x{k}": Access("load", x.dtype).name for k, x in enumerate(inputs)}
    walked = [*pointers, "a", "b"]  # the last two are no pointers: where a tile begins
    steps = [f"{p}_step{axis}" for p in pointers for axis in "ab"]
    first, second, last = list[str](), list[str](), list[str]()
    for u in range(TILE // WARPS):
        names, row = f"n{u}_", f"(warp + {u * WARPS})"

        def place(p: str, row: str = row) -> str:
            return f"multiply_add({row}, {p}_stepb, multiply_add(lane, {p}_stepa, {p}_at))"

        inside = f"if (b_at + {row} < b_size) & (a_at + lane < a_size):"
        outside = f"if (a_at + {row} < a_size) & (b_at + lane < b_size):"
        there = [
            f"{p}_{u} = {loads[p]}({p}, multiply_add({row}, {p}_stepa, multiply_add(lane, {p}_stepb, {p}_at)))" for p in across
        ]
        kept = [f"tile_{p}[{row} * {TILE + 1} + lane] = {p}_{u}" for p in across]
        taken = [f"{names}{p}_0 = tile_{p}[lane * {TILE + 1} + {row}]" for p in across]
        near, rest = signature.parts(1, [place], names)
        first += [inside, *(f"    {line}" for line in near or ["pass"]), outside, *(f"    {line}" for line in there)]
        second += [outside, *(f"    {line}" for line in kept)]
        last += [inside, *(f"    {line}" for line in [*taken, *rest])]
    name = f"turned{bits}_{signature.label}_{ndim}d"
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*pointers, *signature.values, "a_size", "b_size", *steps, *strided_parameters(walked, ndim)])}):
    {indent(4, [f"tile_{p} = cuda.shared.array({TILE * (TILE + 1)}, STATE0)" for p in across])}
    lane = cuda.threadIdx.x % {WARP}
    warp = cuda.threadIdx.x // {WARP}
    i = cuda.blockIdx.x
    {indent(4, unravel(walked, ndim) + signature.load_singles())}
    {indent(4, first + second)}
    cuda.syncthreads()
    {indent(4, last)}
""",
    )
    types = tuple(signature.pointers.values())
    accesses = signature.accesses(1)
    return Template(
        name, function, types, len(signature.values), accesses, Counter[Access](), index_bits=bits, state=(compute_dtype(dtype),)
    )


def turned_tiles(batch: Sequence[tuple[int, Sequence[int]]], a: tuple[int, Sequence[int]], b: tuple[int, Sequence[int]]) -> Tiles:
    """The walk: each dimension with its size and the strides of all pointers."""
    dims = [(size, (*steps, 0, 0)) for size, steps in batch]
    dims += [(ceil_div(b[0], TILE), (*(TILE * step for step in b[1]), 0, TILE))]
    dims += [(ceil_div(a[0], TILE), (*(TILE * step for step in a[1]), TILE, 0))]
    dims = [dim for dim in dims if dim[0] > 1] or dims[:1]
    shape = [size for size, _ in dims]
    steps = [step for both in zip(a[1], b[1]) for step in both]
    return Tiles(len(dims), [a[0], b[0], *steps, *strided_args(shape, zip(*(each for _, each in dims)))], (prod(shape),))
