"""Copies and conversions on a GPU: vectors where elements lie in one order, tiles where neighbours differ, single elements else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from ..kernels.codegen import scalar_function
from ..kernels.cuda.access import Function, compute_dtype, conversion_dtype, itemsize, vector_lanes
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.moves import bits_of, fits_32, identity, shared_dtype, transpose, transpose_tiles
from ..kernels.cuda.steps import Number, Place, Step, Steps, operand, out
from ..kernels.cuda.templates import (
    Operand,
    array,
    collapse,
    elementwise,
    elementwise_grid,
    index_source,
    repeated,
    single,
    strided,
    strided_args,
    strided_grid,
)
from ..kernels.texts import ready
from ..ops.expr import operation as expression_of, symbol
from ..ops.shapes import expanded
from ..tensors.layout import Layout
from .device_formulas import Operation

__all__ = [
    "Move",
    "copy_step",
    "in_vectors",
    "index_bits",
    "move_of",
    "move_step",
    "one_step",
    "reach_of",
    "repeating",
    "walk_step",
    "with_single",
]

TILED_FROM = 16  # neighbours on both sides from which a tile is worth it


class Move(NamedTuple):
    """What becomes of an element on its way.

    Attributes:
        source, target: dtypes in memory; dtype: in which a kernel computes; scalar: its function.
    """

    source: str
    target: str
    dtype: str
    scalar: Function


def move_of(source: Layout, target: Layout) -> Move:
    """Elements of one layout as those of another: bits as they are, or converted; lazy conjugation and negation resolved."""
    conj, neg = source.conj is not target.conj, source.neg is not target.neg
    if source.dtype is target.dtype and not (conj or neg):
        bits = bits_of(source.dtype.itemsize)
        return Move(bits, bits, compute_dtype(bits), identity)
    dtype = conversion_dtype(source.dtype.name, target.dtype.name)
    if dtype.startswith("complex") and not source.dtype.is_complex:  # a real number is negated before it becomes complex
        return Move(source.dtype.name, target.dtype.name, dtype, negative_real if neg else identity)
    return Move(source.dtype.name, target.dtype.name, dtype, resolved(conj, neg, dtype))


def negative_real(z):
    """The negative of a real number."""
    return complex(-z.real, z.imag)


@cache
def resolved(conj: bool, neg: bool, dtype: str) -> Function:
    """The scalar function that conjugates or negates."""
    found, name = symbol("x"), "resolved"
    if conj:
        found, name = expression_of("conj_physical", found), name + "_conj"
    if neg:
        found, name = expression_of("neg", found), name + "_neg"
    if not (conj or neg):
        return identity
    function = ready(scalar_function(name, (("x", False),), (found,), dtype))
    function.__name__ = name
    return function


def reach_of(shape: Sequence[int], steps: Sequence[int]) -> int:
    """The farthest that steps lead, in either direction."""
    return sum((size - 1) * abs(step) for size, step in zip(shape, steps))


def index_bits(shape: Sequence[int], *steps: Sequence[int]) -> int:
    """The bits of indices over a walk."""
    return fits_32(math.prod(shape), *(reach_of(shape, each) for each in steps))


def in_vectors(
    lanes: int, sizes: Sequence[int], steps: Sequence[Sequence[int]], repeats: bool = False
) -> tuple[tuple[int, ...], list[tuple[int, ...]]] | None:
    """A collapsed walk in vectors; None where the innermost dimension or a stride does not divide.

    With ``repeats`` what is the same along that dimension is walked in elements.
    """
    whole = [each for each in steps if each[-1] or not repeats]
    if any(each[-1] != 1 for each in whole) or sizes[-1] % lanes or any(step % lanes for each in whole for step in each[:-1]):
        return None
    vectors = [(*(step // lanes for step in each[:-1]), 1) if each[-1] else tuple(each) for each in steps]
    if sizes[-1] == lanes and len(sizes) > 1:  # one in a row
        return tuple(sizes[:-1]), [each[:-1] for each in vectors]
    return (*sizes[:-1], sizes[-1] // lanes), vectors


def aligned(places: Sequence[Place], dtypes: Sequence[str], lanes: int) -> bool:
    """Whether what lies at places is aligned to vectors where memory itself is."""
    return all(place.offset % (itemsize(dtype) * lanes) == 0 for place, dtype in zip(places, dtypes))


def move_step(
    move: Move, shape: Sequence[int], out_steps: Sequence[int], x_steps: Sequence[int], read: Place, write: Place
) -> Step | None:
    """The launch of a copy over a shape with strides in elements; None where there is no element."""
    if not math.prod(shape):
        return None
    source, target, dtype, scalar = move
    order = sorted(range(len(shape)), key=lambda d: -abs(out_steps[d]))
    sizes, (to, x) = collapse([shape[d] for d in order], [[steps[d] for d in order] for steps in (out_steps, x_steps)])
    n, pointers = math.prod(sizes), (write, read)
    lanes = vector_lanes((source, target))
    if not aligned(pointers, (target, source), lanes):
        lanes = 1
    if n == 1 or to == (1,) and x in ((1,), (0,)):
        given = single(source) if x == (0,) else array(source)

        def contiguous(lanes: int) -> Step:
            recipe = Recipe(elementwise((given,), (target,), (), lanes), scalar, dtype)
            return Step(recipe, elementwise_grid(n, lanes), pointers, (), (n,))

        return with_single(contiguous, lanes)
    tiled = tile_step(move, sizes, to, x, pointers)
    if tiled is not None:
        return tiled
    operation = Operation(scalar, (array(source),), (target,), dtype)
    return walk_step(operation, repeating(operation, [to, x]), sizes, [to, x], pointers, (), lanes)


def repeating(operation: Operation, steps: Sequence[Sequence[int]]) -> tuple[Operand, ...]:
    """The operands of an operation by vectors: what is the same along the innermost dimension of a walk is loaded once.

    Args:
        steps: of what pointers are to: results that overwrite no operand, then operands.
    """
    own = iter(steps[len(operation.outputs) - len(operation.into) :])
    return tuple([x if x.kind not in ("array", "single") or next(own)[-1] else repeated(x.dtype) for x in operation.inputs])


def walk_step(
    operation: Operation,
    inputs: tuple[Operand, ...],
    sizes: Sequence[int],
    steps: Sequence[Sequence[int]],
    pointers: tuple[Place, ...],
    values: tuple[Number, ...],
    lanes: int,
) -> Step:
    """The launch over a collapsed walk with any strides.

    Args:
        inputs, steps: those of ``repeating``; ``lanes``: elements of a vector, at most.
    """
    bits = index_bits(sizes, *steps)

    def walked(lanes: int) -> Step:
        vectors, counted = in_vectors(lanes, sizes, steps, True) or (sizes, steps)
        given = inputs if lanes > 1 else operation.inputs
        template = strided(given, operation.outputs, len(vectors), bits, operation.into, lanes)
        recipe, count = Recipe(template, operation.scalar, operation.dtype, index_source(bits)), math.prod(vectors)
        return Step(recipe, strided_grid(count), pointers, values, (count, *strided_args(vectors, counted)))

    while lanes > 1 and in_vectors(lanes, sizes, steps, True) is None:
        lanes //= 2
    return with_single(walked, lanes)


def with_single(make: Callable[[int], Step], lanes: int) -> Step:
    """A step by vectors, and the same by single elements."""
    return make(lanes)._replace(single=make(1)) if lanes > 1 else make(1)


def tile_step(move: Move, sizes: tuple, to: tuple, x: tuple, pointers: tuple[Place, ...]) -> Step | None:
    """The launch of a transpose by tiles; None where neighbours are the same ones, or few."""
    shared, inner = shared_dtype(move.source, move.target), len(sizes) - 1
    across = next((d for d in range(inner) if x[d] == 1), None)
    if shared is None or across is None or to[inner] != 1 or min(sizes[inner], sizes[across]) < TILED_FROM:
        return None
    batch, bits = [d for d in range(inner) if d != across], index_bits(sizes, to, x)
    counts, out_steps, x_steps = ([each[d] for d in batch] for each in (sizes, to, x))
    tiles = transpose_tiles(counts, out_steps, x_steps, (sizes[inner], sizes[across]), to[across], x[inner])
    template = transpose(move.source, move.target, shared, tiles.ndim, bits)
    return Step(Recipe(template, move.scalar, move.dtype, index_source(bits)), tiles.grid, pointers, (), tuple(tiles.counts))


def copy_step(source: Layout, target: Layout, read: Place | None = None, write: Place | None = None) -> Step | None:
    """The launch that writes ``source``'s elements, converted, into ``target``'s layout; the shapes broadcast."""
    steps = source.strides if source.shape == target.shape else expanded(source, target.shape)[1]
    return move_step(move_of(source, target), target.shape, target.strides, steps, read or operand(), write or out())


def one_step(step: Step | None) -> Steps:
    """A call of one launch, or of none."""
    return Steps(() if step is None else (step,))
