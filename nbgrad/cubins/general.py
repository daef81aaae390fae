"""Kernels of general operations that a release carries, for some dtypes and layouts; others are compiled where they run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..kernels.cuda.access import compute_dtype, conversion_dtype, vector_lanes
from ..kernels.cuda.accumulators import accumulator
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.moves import (
    MOST_JOINED,
    bits_of,
    fold_overlaps,
    identity,
    join,
    place_in_count,
    place_in_line,
    sequence,
    shared_dtype,
    transpose,
    triangle,
)
from ..kernels.cuda.templates import array, index_source, strided
from ..ops.core import OPS

__all__ = ["general_recipes"]

SIZES = (1, 2, 4, 8, 16)  # bytes of an element of which only the bits count
BITS = tuple(map(bits_of, SIZES))


def general_recipes() -> Iterator[Recipe]:
    """All of them."""
    yield from itertools.chain(moves(), sequences())


def moves() -> Iterator[Recipe]:
    """Copies by vectors and by tiles, joins, triangles, overlapping sums."""
    for dtype in BITS:
        compute, lanes = compute_dtype(dtype), vector_lanes([dtype])
        if lanes > 1:
            template = strided((array(dtype),), (dtype,), 2, 32, (), lanes)
            yield Recipe(template, identity, compute, index_source(32))
        for parts, ndim, width in itertools.product((2, 4, MOST_JOINED), (1, 2), {1, lanes}):
            yield Recipe(join(dtype, dtype, parts, ndim, width), identity, compute, index_source(32))
        for upper, ndim in itertools.product((False, True), (1, 2, 3)):
            yield Recipe(triangle(dtype, dtype, ndim, upper), identity, compute, index_source(32))
    pairs = [*zip(BITS, BITS), ("float32", "bfloat16"), ("bfloat16", "float32"), ("float32", "float16"), ("float16", "float32")]
    for (source, target), ndim, bits in itertools.product(pairs, (2, 3), (32, 64)):
        shared = shared_dtype(source, target)
        if shared is not None:
            recipe = transpose(source, target, shared, ndim, bits)
            yield Recipe(recipe, identity, conversion_dtype(source, target), index_source(bits))
    for dtype in ("float32", "float64", "float16", "bfloat16", "complex64", "int64"):
        of = accumulator(OPS["sum"], compute_dtype(dtype))
        yield Recipe(fold_overlaps(of, dtype, 2 if dtype == "complex64" else 3), of.term, of.dtype, of.source())


def sequences() -> Iterator[Recipe]:
    """Equidistant numbers."""
    for dtype in ("int64", "int32", "float32", "float64", "float16", "bfloat16"):
        kind = "int64" if dtype.startswith("int") else "float64"
        yield Recipe(sequence(dtype, kind, 2), place_in_count, kind)
        if kind == "float64":
            yield Recipe(sequence(dtype, kind, 5), place_in_line, kind)
