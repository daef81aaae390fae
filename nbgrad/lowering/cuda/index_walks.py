"""How indices lead on a GPU: the steps of a read along them, and of a write whose result no order of threads changes.

NOTE [Keys of a write] of ``kernels/cuda/gathers.py`` says how writes are done. One that is seen by others (in place) is guarded:
an index out of range leaves everything as it was, so all are looked at first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...base.dtypes import bool_
from ...base.errors import DimError
from ...dispatch.device_copies import copy_step, index_bits, with_single
from ...dispatch.device_fills import number_step
from ...kernels.cuda.access import compute_dtype, itemsize, vector_lanes
from ...kernels.cuda.accumulators import accumulator
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.faults import fault_number
from ...kernels.cuda.gathers import claim, fold_segments, gather, index_keys, merge_segments, most_folded, put
from ...kernels.cuda.moves import bits_of, identity
from ...kernels.cuda.steps import ERRORS, Place, Step, Steps, Workspace, operand, out
from ...kernels.cuda.templates import Template, collapse, index_source, strided_args, strided_grid
from ...ops import shapes
from ...ops.core import OPS
from ...tensors.layout import Layout, layout_of
from ..index_checks import check_index_dtype, range_text
from ..index_forms import points_of, points_walk
from ..index_walks import IndexWalk
from .orders import Keys, sort_steps

__all__ = ["Values", "Walk", "one_index", "point_walk", "read_steps", "write_steps"]

CHUNKS = 32, 1024  # sorted positions that a thread folds: at least, at most
FILLING = 1 << 17  # threads with which memory is busy
MERGED = 4096  # chunks whose ends one thread may merge without being waited for


class Index(NamedTuple):
    """One index of a walk.

    Attributes:
        dtype: of the index tensor; steps: its strides over the walk; limit, stride: of the dimension that it leads along.
        bias: what is added to negative ones; fault: the number of the error of one out of range.
        place: where it lies.
    """

    dtype: str
    steps: tuple[int, ...]
    limit: int
    stride: int
    bias: int
    fault: int
    place: Place


class Walk(NamedTuple):
    """The shape that is walked, the strides of the indexed tensor over it, the indices."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]
    indices: tuple[Index, ...]


def refuse_nowhere(op: str, index: Layout, dim: int | None, limit: int) -> None:
    """Refuse indices along a dimension without elements: nobody reads them where the result has none either.

    Raises:
        DimError: there are some.
    """
    if not limit and index.numel:
        raise DimError(range_text(op, "of any value", dim, 0, True))


def one_index(op: str, walk: IndexWalk, index: Layout, place: Place) -> Walk:
    """The walk of one index. Errors: see ``refuse_nowhere``."""
    refuse_nowhere(op, index, walk.dim, walk.limit)
    text = range_text(op, "{element}", walk.dim, walk.limit, walk.wraps)
    bias = walk.limit if walk.wraps else 0
    found = Index(index.dtype.name, walk.index_strides, walk.limit, walk.step, bias, fault_number(DimError, text), place)
    return Walk(walk.shape, walk.strides, (found,))


def point_walk(op: str, layout: Layout, indices: tuple, first: int) -> Walk:
    """The walk of ``x[...]`` with index tensors; ``first``: the operand that the first of them is.

    Raises:
        DimError: more indices than dimensions. IndexShapeError: they do not broadcast. DTypeError: no indices.
    """
    if len(indices) > layout.ndim:
        raise DimError(f"{op}: {len(indices)} indices for {layout.ndim} dimensions.")
    dims = tuple([d for d, index in enumerate(indices) if index is not None])
    for d in dims:
        check_index_dtype(op, indices[d], False)
    shape = points_of(op, [indices[d].shape for d in dims])
    whole = points_walk(op, layout, layout_of(indices[dims[0]].dtype, shape, None, layout.device), dims)
    lead = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    after = len(whole.shape) - lead - len(shape)
    found = []
    for k, d in enumerate(dims):
        limit = layout.shape[d]
        refuse_nowhere(op, indices[d], d, limit)
        own = shapes.expanded(indices[d], shape)[1]
        fault = fault_number(DimError, range_text(op, "{element}", d, limit, True))
        steps = (*(0,) * lead, *own, *(0,) * after)
        found.append(Index(indices[d].dtype.name, steps, limit, layout.strides[d], limit, fault, operand(first + k)))
    return Walk(whole.shape, whole.strides, tuple(found))


def index_counts(indices: Sequence[Index], unit: int) -> list[int]:
    """The counts of the kernels behind ``index_parameters``, with steps in units."""
    return [number for each in indices for number in (each.bias, each.limit, each.stride // unit, each.fault)]


def dtypes_of(indices: Sequence[Index]) -> tuple[str, ...]:
    """Those of index tensors."""
    return tuple(each.dtype for each in indices)


# ---- reads -------------------------------------------------------------------------------------------------------------


def read_steps(x: Layout, walk: Walk) -> tuple[tuple[Layout, ...], Steps]:
    """``x``, operand 0, which has no lazy bits, along a walk: the result is row-major."""
    result = x.like(shape=walk.shape)
    if not result.numel:
        return (result,), Steps(())
    sizes, steps = collapse(walk.shape, [walk.steps, *(each.steps for each in walk.indices)])
    bits = index_bits(sizes, *steps)
    bits = max(bits, 64 if any(each.limit * each.stride >= 1 << 31 for each in walk.indices) else 32)
    dtype, pointers = bits_of(x.dtype.itemsize), (out(), operand(), *(each.place for each in walk.indices), ERRORS)

    def made(lanes: int) -> Step:
        vectors, told = in_rows(lanes, sizes, steps)
        template = gather(dtype, dtypes_of(walk.indices), len(vectors), lanes, bits)
        recipe = Recipe(template, identity, compute_dtype(dtype), index_source(bits))
        count = math.prod(vectors)
        counts = (count, *index_counts(walk.indices, lanes), *strided_args(vectors, told))
        return Step(recipe, strided_grid(count), pointers, (), counts)

    strides = [each.stride for each in walk.indices]
    return (result,), Steps((with_single(made, row_lanes(dtype, sizes, steps, 1, strides)),))


def row_lanes(dtype: str, sizes: Sequence[int], steps: Sequence[Sequence[int]], moving: int, strides: Sequence[int]) -> int:
    """Elements of a vector, along which the first ``moving`` pointers move and the others stand.

    Args:
        strides: of dimensions that indices lead along.
    """
    if any(each[-1] != 1 for each in steps[:moving]) or any(each[-1] for each in steps[moving:]):
        return 1
    lanes = vector_lanes([dtype])
    numbers = [sizes[-1], *strides, *(step for each in steps[:moving] for step in each[:-1])]
    while lanes > 1 and any(number % lanes for number in numbers):
        lanes //= 2
    return lanes


def in_rows(lanes: int, sizes: Sequence[int], steps: Sequence[Sequence[int]], moving: int = 1) -> tuple[tuple, list[tuple]]:
    """A collapsed walk in vectors of the first ``moving`` pointers; without the innermost dimension where that is one vector."""
    if lanes == 1:
        return tuple(sizes), [tuple(each) for each in steps]
    told = [tuple(step // lanes for step in each[:-1]) for each in steps[:moving]] + [tuple(each[:-1]) for each in steps[moving:]]
    if sizes[-1] == lanes and len(sizes) > 1:
        return tuple(sizes[:-1]), told
    inner = [1] * moving + [0] * (len(steps) - moving)
    return (*sizes[:-1], sizes[-1] // lanes), [(*each, last) for each, last in zip(told, inner)]


# ---- writes ------------------------------------------------------------------------------------------------------------


class Values(NamedTuple):
    """What is written.

    Attributes:
        layout: that broadcasts to the walk; place: where it is.
    """

    layout: Layout
    place: Place


class Split(NamedTuple):
    """A walk in two: dimensions that an index has, or that lead nowhere else, and free ones.

    Attributes:
        indexed, free: the dimensions.
        unit: of keys, in elements; none: the key of what is out of range.
        dtype: of keys.
    """

    indexed: tuple[int, ...]
    free: tuple[int, ...]
    unit: int
    none: int
    dtype: str


def split(walk: Walk) -> Split:
    """The two parts of a walk."""
    indexed = tuple(
        d for d, size in enumerate(walk.shape) if size > 1 and (not walk.steps[d] or any(each.steps[d] for each in walk.indices))
    )
    free = tuple(d for d in range(len(walk.shape)) if d not in indexed)
    strides = [each.stride for each in walk.indices if each.limit > 1] + [walk.steps[d] for d in indexed]
    unit = math.gcd(*strides) or 1
    reach = sum((each.limit - 1) * each.stride for each in walk.indices if each.limit > 1)
    reach += sum((walk.shape[d] - 1) * walk.steps[d] for d in indexed)
    none = reach // unit + 1
    return Split(indexed, free, unit, none, "int32" if none < 1 << 31 else "int64")


def write_steps(
    target: Layout, walk: Walk, values: Values, reduction: str, guarded: bool, space: Workspace, over: bool = True
) -> list[Step]:
    """The steps of a write into the first result, whose memory is ``target``'s, and which has its elements already.

    Args:
        values: of the target's dtype, without lazy bits.
        reduction: "set", or the operation whose fold combines: sum, amax, amin, prod. Truth values are summed by amax.
        guarded: nothing is written if an index is out of range.
        over: whether what the target has is combined too; else what is combined replaces it.
    """
    if not math.prod(walk.shape):
        return []
    if reduction == "sum" and target.dtype is bool_:
        reduction = "amax"
    parts, steps = split(walk), list[Step | None]()
    count = math.prod(walk.shape[d] for d in parts.indexed)
    keys = space.take(count * itemsize(parts.dtype))
    flag = space.take(8) if guarded else None
    if flag is not None:
        steps.append(number_step("int64", 1, 0, flag))
    steps.append(keys_step(walk, parts, count, keys, flag))
    own = values.layout.strides if values.layout.shape == walk.shape else shapes.expanded(values.layout, walk.shape)[1]
    if reduction == "set":
        steps += set_steps(target, walk, parts, count, keys, own, values, flag, space)
    else:
        steps += fold_steps(target, walk, parts, count, keys, own, values, flag, reduction, space, over)
    return [step for step in steps if step is not None]


def keys_step(walk: Walk, parts: Split, count: int, keys: Place, flag: Place | None) -> Step:
    """The launch that makes keys."""
    lines = [walk.steps, *(each.steps for each in walk.indices)]
    strides = [[each[d] for d in parts.indexed] for each in lines]
    strides[0] = [step // parts.unit for step in strides[0]]
    sizes, told = collapse([walk.shape[d] for d in parts.indexed], strides)
    bits = index_bits(sizes, *told)
    template = index_keys(parts.dtype, dtypes_of(walk.indices), len(sizes), flag is not None, bits)
    pointers = (keys, *(each.place for each in walk.indices), ERRORS, *([flag] if flag is not None else []))
    counts = (count, parts.none, *index_counts(walk.indices, parts.unit), *strided_args(sizes, told))
    return Step(Recipe(template, identity, "int64", index_source(bits)), strided_grid(count), pointers, (), counts)


def set_steps(
    target: Layout,
    walk: Walk,
    parts: Split,
    count: int,
    keys: Place,
    own: tuple[int, ...],
    values: Values,
    flag: Place | None,
    space: Workspace,
) -> list[Step | None]:
    """The steps of a write of which the last one counts."""
    found = list[Step | None]()
    owner, owners = "", None
    if values.layout.numel > 1:
        owner = "int32" if count < 1 << 31 else "int64"
        owners = space.take(parts.none * itemsize(owner))
        found.append(number_step(owner, parts.none, -1, owners))
        claimed = Recipe(claim(parts.dtype, owner), identity, "int64")
        found.append(Step(claimed, strided_grid(count), (owners, keys), (), (count, parts.none)))
    position, step = dict[int, int](), 1
    for d in reversed(parts.indexed):
        position[d] = step
        step *= walk.shape[d]
    dims = range(len(walk.shape))
    lines = [[0 if d in position else walk.steps[d] for d in dims], own, [position.get(d, 0) for d in dims]]
    sizes, told = collapse(walk.shape, lines)
    bits = max(index_bits(sizes, *told), 64 if parts.none * parts.unit >= 1 << 31 else 32)
    dtype = bits_of(target.dtype.itemsize)
    pointers = [out(), values.place, keys, *(each for each in (owners, flag) if each is not None)]

    def made(lanes: int) -> Step:
        vectors, steps = in_rows(lanes, sizes, told, 2)
        template = put(dtype, parts.dtype, owner, len(vectors), flag is not None, lanes, bits)
        n = math.prod(vectors)
        counts = (n, parts.none, parts.unit // lanes, *strided_args(vectors, steps))
        recipe = Recipe(template, identity, compute_dtype(dtype), index_source(bits))
        return Step(recipe, strided_grid(n), tuple(pointers), (), counts)

    found.append(with_single(made, row_lanes(dtype, sizes, told, 2, (parts.unit,))))
    return found


def fold_steps(
    target: Layout,
    walk: Walk,
    parts: Split,
    count: int,
    keys: Place,
    own: tuple[int, ...],
    values: Values,
    flag: Place | None,
    reduction: str,
    space: Workspace,
    over: bool,
) -> list[Step | None]:
    """The steps of a combining write."""
    found, place = list[Step | None](), values.place
    order = "int32" if count < 1 << 31 else "int64"
    places, sorted_keys = space.take(count * itemsize(order)), space.take(count * itemsize(parts.dtype))
    lines = Keys(keys, parts.dtype, 1, count, parts.none.bit_length(), False)
    found += sort_steps(lines, places, order, space, sorted_keys)
    steps = [own[d] for d in parts.indexed]
    sizes, told = collapse([walk.shape[d] for d in parts.indexed], [steps])
    if len(sizes) > 1:  # positions are not evenly apart: lay them side by side
        place = space.take(math.prod(walk.shape) * target.dtype.itemsize)
        turned = (*parts.indexed, *parts.free)
        shape = tuple(walk.shape[d] for d in turned)
        source = layout_of(target.dtype, shape, tuple(own[d] for d in turned), target.device)
        found.append(copy_step(source, source.like(), values.place, place))
        own = tuple(dict(zip(turned, source.like().strides))[d] for d in range(len(walk.shape)))
        sizes, told = collapse([walk.shape[d] for d in parts.indexed], [[own[d] for d in parts.indexed]])
    x_step, columns = told[0][-1] if count > 1 else 0, math.prod(walk.shape[d] for d in parts.free)
    size = chunk_size(count, columns)
    chunks = -(-count // size)
    dtype = "uint8" if target.dtype is bool_ else target.dtype.name
    of = accumulator(OPS[reduction], compute_dtype(dtype))
    heads, tails = ([space.take(chunks * columns * itemsize(each)) for each in of.state] for _ in range(2))
    flags = [] if flag is None else [flag]
    sizes, told = chunked_walk(walk, parts, own, chunks)
    lanes = min(row_lanes(dtype, sizes, told, 3, (parts.unit, x_step)), most_folded(of, dtype))

    def made(stage: Callable[..., Template], pointers: tuple[Place, ...], *dtypes: str) -> Step:
        """One of both stages."""

        def by(width: int) -> Step:
            vectors, steps = in_rows(width, sizes, told, 3)
            template = stage(of, dtype, parts.dtype, *dtypes, len(vectors), flag is not None, over, width)
            rows = chunks * columns // width
            counts = (rows, count, parts.none, parts.unit // width, x_step // width, columns // width, size)
            recipe = Recipe(template, identity, of.dtype, {**of.source(), **index_source(64)})
            return Step(recipe, strided_grid(rows), (out(), *pointers, *flags), (), (*counts, *strided_args(vectors, steps)))

        return with_single(by, lanes)

    found.append(made(fold_segments, (place, sorted_keys, places, *heads, *tails), order))
    if chunks > 1:
        found.append(made(merge_segments, (sorted_keys, *heads, *tails)))
    return found


def chunk_size(count: int, columns: int) -> int:
    """How many sorted positions a thread folds.

    As many as there are chunks, so that both stages take as long where all keys are one; but fewer where the threads, a vector of
    four columns each, would not fill a GPU and the second stage stays short (measured by ``benchmarks.cuda``, "rows by index,
    backward": see docs/performance.md).
    """
    filling = count * columns // 4 // FILLING
    size = min(math.isqrt(count), max(filling, count // MERGED))
    return min(max(size // 32 * 32, CHUNKS[0]), CHUNKS[1])


def chunked_walk(walk: Walk, parts: Split, own: Sequence[int], chunks: int) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The collapsed walk of ``Segments``: chunks of positions by free dimensions, in which the columns are counted."""
    column, step = list[int](), 1
    for d in reversed(parts.free):
        column.insert(0, step)
        step *= walk.shape[d]
    lines = [[walk.steps[d] for d in parts.free], [own[d] for d in parts.free], column]
    return collapse((chunks, *(walk.shape[d] for d in parts.free)), [*((0, *each) for each in lines), (1, *(0 for _ in column))])
