"""Kernels of general operations that a release carries, for some dtypes and layouts; others are compiled where they run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..kernels.cuda.access import compute_dtype, conversion_dtype, vector_lanes
from ..kernels.cuda.accumulators import accumulator
from ..kernels.cuda.build import Recipe
from ..kernels.cuda.exchanges import order_of_exchanges
from ..kernels.cuda.gathers import claim, fold_segments, gather, index_keys, merge_segments, most_folded, put
from ..kernels.cuda.masks import nonzero, note_zeros, pack, positions, spread, truth
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
from ..kernels.cuda.pools import fold_windows, greatest_places, pool_recipe, spread_greatest, spread_means
from ..kernels.cuda.products import join_parts, multiply, rows_times_vector, shape_of
from ..kernels.cuda.searches import bin_of, count_bins, find_members, find_one, insertion, rank_dtype, rank_source, ranked
from ..kernels.cuda.selection import choose_byte, count_candidates, count_first, take_first, through
from ..kernels.cuda.sorting import GREATEST, count_bytes, move_bytes, scan_sums, scan_tiles, sort_lines, tile_sums
from ..kernels.cuda.templates import across, array, index_source, repeated, strided
from ..kernels.cuda.turned import turned
from ..ops.core import OPS
from .operations import named

__all__ = ["general_recipes"]

SIZES = (1, 2, 4, 8, 16)  # bytes of an element of which only the bits count
BITS = tuple(map(bits_of, SIZES))


def general_recipes() -> Iterator[Recipe]:
    """All of them."""
    yield from itertools.chain(moves(), sequences(), indices(), orders(), searches(), products(), pools())


def moves() -> Iterator[Recipe]:
    """Copies by vectors and by tiles, joins, triangles, overlapping sums."""
    for dtype in BITS:
        compute, lanes = compute_dtype(dtype), vector_lanes([dtype])
        if lanes > 1:
            for given in (array(dtype), repeated(dtype)):
                template = strided((given,), (dtype,), 2, 32, (), lanes)
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
    for dtype, ndim, bits in itertools.product(("float32", "float64", "bfloat16", "int64"), (2, 3), (32, 64)):
        product = named("mul", dtype)
        template = turned((array(dtype), across(dtype)), (dtype,), product.dtype, ndim, bits)
        yield Recipe(template, product.scalar, product.dtype, index_source(bits))
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


# ---- indices, masks ----------------------------------------------------------------------------------------------------

INDICES = (("int64",), ("int32",), ("int64", "int64"))


def indices() -> Iterator[Recipe]:
    """Reads and writes through indices, moves through masks."""
    for dtype, (which, ndim), lanes in itertools.product(BITS, zip(INDICES, (2, 2, 2)), (1, 0)):
        width = lanes or vector_lanes([dtype])
        for bits in (32, 64):
            yield Recipe(gather(dtype, which, ndim, width, bits), identity, compute_dtype(dtype), index_source(bits))
    for which, guarded, ndim in itertools.product(INDICES, (False, True), (1, 2)):
        yield Recipe(index_keys("int32", which, ndim, guarded), identity, "int64", index_source(32))
    yield Recipe(claim("int32", "int32"), identity, "int64")
    for back in (False, True):
        yield Recipe(order_of_exchanges(back), identity, "int64")
    for dtype, owner, guarded in itertools.product(BITS, ("int32", ""), (False, True)):
        for width in {1, vector_lanes([dtype])}:
            recipe = put(dtype, "int32", owner, 2, guarded, width)
            yield Recipe(recipe, identity, compute_dtype(dtype), index_source(32))
    for dtype, name in itertools.product(
        ("float32", "float64", "float16", "bfloat16", "int64", "complex64"), ("sum", "amax", "prod")
    ):
        if dtype == "complex64" and name == "amax":
            continue
        of = accumulator(OPS[name], compute_dtype(dtype))
        source = {**of.source(), **index_source(64)}
        for (guarded, over), lanes in itertools.product(((False, False), (False, True), (True, True)), {1, most_folded(of, dtype)}):
            folding = fold_segments(of, dtype, "int32", "int32", 2, guarded, over, lanes)
            for template in (folding, merge_segments(of, dtype, "int32", 2, guarded, over, lanes)):
                yield Recipe(template, identity, of.dtype, source)
    for dtype, ndim, apart in itertools.product(("bool", "float32", "int64"), (1, 2, 3), (False, True)):
        scalar = truth if dtype == "bool" else nonzero
        yield Recipe(positions(dtype, ndim, apart), scalar, compute_dtype(dtype), index_source(32))
        yield Recipe(tile_sums(dtype, "int64"), scalar, compute_dtype(dtype))
    for dtype in ("uint8", "int32", "int64"):
        yield Recipe(note_zeros(dtype), nonzero, "int64")
    for dtype in BITS:
        compute = compute_dtype(dtype)
        for other, checked in (("x", True), ("zero", False)):
            yield Recipe(spread(dtype, other, checked), truth, compute)
        yield Recipe(pack(dtype), truth, compute)


def orders() -> Iterator[Recipe]:
    """Sorts of keys, and the sums of counts."""
    for key, order in itertools.product(("int32", "int64"), ("int32", "int64")):
        for keeps in (False, True):
            yield Recipe(sort_lines(key, order, keeps), identity, "int64", {"GREATEST": GREATEST[key]})
            for source in ("", "int32"):
                yield Recipe(move_bytes(key, source, order, keeps), identity, "int64")
        for template in (count_bytes, count_candidates, choose_byte, count_first, take_first):
            yield Recipe(template(key), identity, "int64")
    yield Recipe(through(), identity, "int64")
    for dtype in ("int32", "int64"):
        yield Recipe(scan_sums(dtype), identity, "int64")
        yield Recipe(tile_sums(dtype, dtype), identity, "int64")
        yield Recipe(scan_tiles(dtype), identity, "int64")


def searches() -> Iterator[Recipe]:
    """Ranks, places in sorted lines, members, bins."""
    for dtype in ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8"):
        compute, key = compute_dtype(dtype), rank_dtype(dtype)
        for largest, ndim in itertools.product((False, True), (1, 2)):
            source = {**rank_source(dtype, largest), **index_source(64)}
            yield Recipe(strided((array(dtype),), (key,), ndim, 64), ranked(dtype), compute, source)
        for flag in (False, True):
            yield Recipe(insertion(dtype, flag), ranked(dtype), compute, rank_source(dtype, True))
            yield Recipe(find_members(dtype, key, flag), ranked(dtype), compute, rank_source(dtype, True))
        for search in ("median", "mode"):
            yield Recipe(find_one(key, search), identity, compute, rank_source(dtype, True))
        if dtype.startswith("float"):
            yield Recipe(count_bins(dtype, 3), bin_of, compute)


def products() -> Iterator[Recipe]:
    """Products of matrices by tiles, and with a vector."""
    for dtype in ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "complex64", "complex128"):
        compute = compute_dtype(dtype)
        for x, y, (addend, parts) in itertools.product(
            (False, True), (False, True), ((False, False), (True, False), (False, True))
        ):
            for shape in {shape_of(dtype, 1, 1), shape_of(dtype, 1 << 14, 1 << 14)}:
                yield Recipe(multiply(dtype, x, y, 2, shape, addend, parts), identity, compute, index_source(64))
        yield Recipe(join_parts(dtype, 1, False), identity, compute, index_source(64))
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        of = accumulator(OPS["sum"], compute_dtype(dtype))
        yield Recipe(rows_times_vector(dtype, 1), identity, of.dtype, {**of.source(), **index_source(64)})


def pools() -> Iterator[Recipe]:
    """Windows of one and two dimensions that are folded, and their cotangents."""
    for dtype, ndim, adaptive in itertools.product(("float32", "float64", "float16", "bfloat16"), (1, 2), (False, True)):
        bits = 64 if adaptive else 32
        yield pool_recipe(fold_windows, "amax", dtype, ndim, adaptive, False, False, bits)
        for place, least in (("int64", 0), ("int32", -1)):
            yield pool_recipe(greatest_places, "amax", dtype, place, ndim, adaptive, least, bits)
        yield pool_recipe(spread_greatest, "sum", dtype, "int32", ndim, adaptive, bits)
        for padded in (False,) if adaptive else (False, True):
            yield pool_recipe(fold_windows, "sum", dtype, ndim, adaptive, True, padded, bits)
            yield pool_recipe(spread_means, "sum", dtype, ndim, adaptive, padded, bits)
