"""Reductions on any layout: fold the dimensions into one of two walks, or copy into an order that has one.

NOTE [Walks]: dimensions that memory joins are merged, each kept (K) or reduced (R). What remains is
  rows      K?R, RKR      the reduced elements lie one after the other; one result after the other
  columns   RK, KRK       the kept elements do; ``TILE`` of them are accumulated side by side
A reduced dimension of stride 0 (an expanded operand) only multiplies. Few elements that lie otherwise (a diagonal) are columns of
one element each. Everything else is copied to [kept, reduced] first.

NOTE [Several steps]: a lowering that cannot do with one launch returns a function instead of a plan: half types
(widened first, narrowed last), layouts that have no walk, and results of so many elements each that threads should
share one.
"""

from __future__ import annotations

import math
import struct
from functools import cache
from itertools import pairwise
from typing import Any, Callable, NamedTuple

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import WIDTHS, DType, bool_, complex128, float32, float64, int32, int64, uint8
from ..base.errors import DimError, DTypeError, RangeError, ShapeError
from ..dispatch.lowerings import FOLD, GeneralPlan, lowering
from ..kernels.cpu.build import Program, address
from ..kernels.late import Code, late
from ..kernels.monoids import MONOIDS
from ..kernels.templates.keys import joined_zeros, key_bindings, own_key
from ..kernels.templates.reduce import (
    TILE,
    Fold,
    arg_loop,
    columns,
    deviation_of,
    fold,
    rows,
    short_rows,
    variance_loop,
    variance_of,
)
from ..native.plans import PARALLEL, known, pack_record
from ..ops.core import OPS, General
from ..ops.reduce import kept_shape, names_none, reduced_dims
from ..ops.shapes import diagonal_of, wrap
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native

__all__ = [
    "FoldWalk",
    "extremum_dims",
    "folded",
    "merged",
    "reduce_plan",
    "reduction",
    "summed_over",
    "traced_sum",
    "variance_dims",
    "walk_of",
]

# Elements from which one launch may use several threads; from which one result is cut into blocks of PIECE for them.
PARALLEL_FROM = 1 << 15
SHARED_FROM = 1 << 21
PIECE = 1 << 15
MOST_WITH_GAPS = 1 << 12
# Elements of the longest rows that are short, and elements in all from which such rows have a kernel of their own.
SHORT, MANY = 16, 1 << 14


class FoldWalk(NamedTuple):
    """How a kernel goes through an operand; steps in elements.

    Attributes:
        columns: which of the two walks.
        outer, outer_step: kept dimension outside.
        length, step: reduced dimension (of rows: always step 1).
        width: kept dimension inside (1 for rows).
        segments, segment_step: reduced dimension outside the rows' kept one.
        times: how often every element counts.
        column_step: between the kept elements inside (of what CPUs walk always 1).
    """

    columns: bool
    outer: int
    outer_step: int
    length: int
    step: int = 1
    width: int = 1
    segments: int = 1
    segment_step: int = 0
    times: int = 1
    column_step: int = 1


def walk_of(layout: Layout, dims: tuple[int, ...], multiplies: bool = False) -> FoldWalk | None:
    """The walk for reducing ``dims``, None if only a copy has one.

    Args:
        multiplies: whether counting an element n times may be left to ``finish``.
    """
    if layout.numel == 0 or layout.conj or layout.neg:
        outer = 1
        for d, size in enumerate(layout.shape):
            outer *= 1 if d in dims else size
        return FoldWalk(False, outer, 0, 0) if layout.numel == 0 else None
    if layout.dense and len(dims) == layout.ndim:
        return FoldWalk(False, 1, 0, layout.numel)
    kinds, sizes, steps, times = merged(layout, frozenset(dims), multiplies)
    rows = match_rows(kinds, sizes, steps) or match_columns(kinds, sizes, steps) or match_gaps(kinds, sizes, steps)
    return rows._replace(times=times) if rows else None


def merged(layout: Layout, dims: frozenset, multiplies: bool) -> tuple[str, list[int], list[int], int]:
    """Kinds, sizes and steps of the dimensions that are left when neighbours of a kind are joined."""
    sizes: list[int] = []
    steps: list[int] = []
    kinds, times = "", 1
    for d, (size, step) in enumerate(zip(layout.shape, layout.strides)):
        kind = "R" if d in dims else "K"
        if size == 1:
            continue
        if multiplies and kind == "R" and step == 0:
            times *= size
        elif kinds and kinds[-1] == kind and steps[-1] == step * size:
            sizes[-1] *= size
            steps[-1] = step
        else:
            kinds += kind
            sizes.append(size)
            steps.append(step)
    return kinds, sizes, steps, times


def match_rows(kinds: str, sizes: list[int], steps: list[int]) -> FoldWalk | None:
    """Rows: the reduced elements have step 1."""
    if kinds in ("", "K"):
        return FoldWalk(False, sizes[0], steps[0], 1) if sizes else FoldWalk(False, 1, 0, 1)
    for form, (kept, reduced) in {"R": (None, 0), "KR": (0, 1), "RK": (1, 0), "RKR": (1, 2)}.items():
        if kinds == form and steps[reduced] == 1:
            outer = (1, 0) if kept is None else (sizes[kept], steps[kept])
            walk = FoldWalk(False, *outer, sizes[reduced])
            return walk if form != "RKR" else walk._replace(segments=sizes[0], segment_step=steps[0])
    return None


def match_columns(kinds: str, sizes: list[int], steps: list[int]) -> FoldWalk | None:
    """Columns: the kept elements have step 1."""
    for form, (reduced, kept) in {"RK": (0, 1), "KR": (1, 0), "KRK": (1, 2)}.items():
        if kinds == form and steps[kept] == 1:
            outer = (sizes[0], steps[0]) if form == "KRK" else (1, 0)
            return FoldWalk(True, *outer, sizes[reduced], steps[reduced], sizes[kept])
    return None


def match_gaps(kinds: str, sizes: list[int], steps: list[int]) -> FoldWalk | None:
    """Columns of one element each, for few elements that lie anywhere: one launch takes less time than a copy and another one."""
    if kinds not in ("R", "KR", "RK") or math.prod(sizes) > MOST_WITH_GAPS:
        return None
    reduced = kinds.index("R")
    outer = (1, 0) if kinds == "R" else (sizes[1 - reduced], steps[1 - reduced])
    return FoldWalk(True, *outer, sizes[reduced], steps[reduced])


@late
def kernel(fold: Fold, by_columns: bool, length: int = 0) -> int:
    """Address of the kernel of a fold and a walk; of rows of a ``length`` that are short."""
    if not by_columns and not length:
        fold = fold.long_rows or fold
    made, bindings = short_rows(fold, length) if length else (columns if by_columns else rows)(fold)
    return address(Program(f"{fold.name}_{'columns' if by_columns else 'rows'}", made, fold.dtype, bindings, True))


def short_length(walk: FoldWalk) -> int:
    """How many elements rows have that are taken side by side; 0 for all others."""
    many = 2 <= walk.length <= SHORT and walk.outer * walk.length >= MANY
    return walk.length if many and not walk.columns and walk.segments == 1 and walk.outer_step == walk.length else 0


def launch_record(fold: Fold, walk: FoldWalk, over: int) -> bytes:
    """The record of a walk; see templates/reduce.py for the words."""
    size, code = WIDTHS[fold.memory], kernel(fold, walk.columns, short_length(walk))
    if walk.columns:
        tiles = -(-walk.width // TILE)
        units, work = walk.outer * tiles, walk.length * min(walk.width, TILE)
        words = (walk.length, walk.step * size, walk.width, walk.outer_step * size, tiles, walk.times, fold.over(over))
    else:
        units, work = walk.outer, walk.length * walk.segments
        words = (walk.length, walk.outer_step * size, walk.segments, walk.segment_step * size, 1 << 62, walk.times, fold.over(over))
    parallel = PARALLEL if units * work >= PARALLEL_FROM else 0
    grain = max(1, PARALLEL_FROM // 4 // max(work, 1))
    return pack_record(code, units, grain, 1, (0,), parallel, words)


def whole_record(fold: Fold, numel: int) -> bytes:
    """The record for reducing all of a dense operand to one element, of any shape."""
    flags, words = PARALLEL if numel >= PARALLEL_FROM else 0, (numel, 0, 1, 0, 1 << 62, 1, fold.over(numel))
    return pack_record(kernel(fold, False), 1, 1, 1, (0,), flags, words)


@cache
def whole_records(fold: Fold) -> Callable[[int], bytes | None]:
    """``whole_record`` of a fold by the number of elements; None for so many that threads should share them, and for none: an
    extremum of nothing is refused.
    """
    head, pack, over = pack_record(kernel(fold, False), 1, 1, 1, (0,), 0), WALK_WORDS.pack, fold.over

    def record(numel: int) -> bytes | None:
        nonlocal head
        if 0 < numel < PARALLEL_FROM:
            head = known(head)
            return head + pack(numel, 0, 1, 0, 1 << 62, 1, over(numel))
        return whole_record(fold, numel) if 0 < numel < SHARED_FROM else None

    return record


WALK_WORDS = struct.Struct("7q")


def reduce_plan(fold: Fold, layout: Layout, dims: tuple[int, ...], out: Layout, multiplies: bool = False) -> GeneralPlan | None:
    """One launch that reduces ``dims`` into ``out`` (contiguous, an element a result); None if there is no walk."""
    walk = walk_of(layout, dims, multiplies)
    if walk is None:
        return None
    over = 1
    for d in dims:
        over *= layout.shape[d]
    return GeneralPlan(launch_record(fold, walk, over), (out.template,), (layout,))


class ReductionFolds(NamedTuple):
    """The folds of a reduction at one dtype of computation.

    Attributes:
        fold: from the operand to the result.
        piece: from the operand to an accumulator, for blocks that threads share; None: never shared.
        merge: from those accumulators to the result.
        multiplies: see ``walk_of``.
    """

    fold: Fold
    piece: Fold | None = None
    merge: Fold | None = None
    multiplies: bool = False


@cache
def folds_of(op: General, source: DType, out: DType) -> ReductionFolds:
    """The folds of an operation's monoid, from a dtype to a dtype, neither of them a half type."""
    monoid, term = MONOIDS[op.monoid], op.term_expression()
    whole = fold(op, source.name, out.name)
    if not monoid.shared or not (term is None or op.near):
        return ReductionFolds(whole, multiplies=monoid.repeats)
    piece = fold(op, source.name, whole.acc, "piece")
    merge = fold(op, source.name if monoid.order else whole.acc, out.name, "merge")
    return ReductionFolds(whole, piece, merge, monoid.repeats)


def reduction(op: Any, layout: Layout, dims: tuple[int, ...], out: Layout):
    """A plan for one launch, or a function of several steps: see NOTE [Several steps].

    Args:
        op: the operation, declared with a monoid.
        out: the result's layout.
    """
    if layout.dtype.compute == "float32" and layout.dtype is not float32:
        return widened(op, dims, out)
    result = float32 if out.dtype.compute == "float32" else out.dtype
    folds = folds_of(op, layout.dtype, result)
    if layout.dense and len(dims) == layout.ndim and result is out.dtype and layout.numel < SHARED_FROM and not layout.special:
        sized = whole_records(folds.fold) if not out.ndim and layout.contiguous else None
        return GeneralPlan(whole_record(folds.fold, layout.numel), (out.template,), (layout,), sized)
    shared = folds.piece is not None and layout.dense and layout.numel >= SHARED_FROM and out.numel == 1
    if result is out.dtype and not shared:
        plan = reduce_plan(folds.fold, layout, dims, out, folds.multiplies)
        if plan is not None:
            return plan
    if shared and result is out.dtype and folds.piece and folds.merge:
        return in_pieces(folds.piece, folds.merge, layout, out)
    return stepwise(op, dims, out)


def widened(folded: General, dims, out):
    """Half types: convert, reduce, convert back."""
    reduced = stepwise(folded, dims, out)
    return lambda op, tensors, attributes: reduced(op, (CALLS["to_dtype"](tensors[0], float32),), attributes)


def stepwise(folded: General, dims: tuple[int, ...], out: Layout) -> Callable:
    """``run(op, tensors, attributes)``: reduce through a copy that has a walk, convert the result; planned once for a layout."""
    target = out.like(float32) if out.dtype.compute == "float32" else out
    known: dict[Layout, tuple[GeneralPlan, bool]] = {}

    def planned(x: Tensor) -> tuple[GeneralPlan, bool]:
        folds = folds_of(folded, x.layout.dtype, target.dtype)
        plan = reduce_plan(folds.fold, x.layout, dims, target, folds.multiplies)
        if plan is not None:
            return plan, False
        layout = kept_first(x, dims).layout.like()
        plan = reduce_plan(folds.fold, layout, tuple(range(layout.ndim - len(dims), layout.ndim)), target)
        assert plan is not None
        return plan, True

    def run(op, tensors, attributes):
        (x,) = tensors
        plan, copied = known.get(x.layout) or keep(known, x.layout, planned(x))
        result = native.fresh(plan, CALLS["contiguous_copy"](kept_first(x, dims)) if copied else x)
        return result if target is out else CALLS["to_dtype"](result, out.dtype)

    return run


def kept_first(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """A view with the dimensions to be reduced last."""
    return CALLS["permute_dims"](x, (*(d for d in range(x.layout.ndim) if d not in dims), *dims))


def in_pieces(piece: Fold, merge: Fold, layout: Layout, out: Layout) -> Callable:
    """One result of many elements: blocks of ``PIECE`` in parallel, then the merge of their accumulators."""
    pieces = -(-layout.numel // PIECE)
    size = WIDTHS[piece.memory]
    words = struct.pack("7q", PIECE, PIECE * size, 1, 0, layout.numel, 1, 1)
    partial = layout_of(layout.dtype if piece.out == layout.dtype.name else _DTYPES[piece.out], (pieces,), None, layout.device)
    record = pack_record(kernel(piece, False), pieces, 1, 1, (0,), PARALLEL, words)
    first = GeneralPlan(record, (partial.template,), (layout,))
    words = struct.pack("7q", pieces, 0, 1, 0, 1 << 62, 1, merge.over(layout.numel))
    record = pack_record(kernel(merge, False), 1, 1, 1, (0,), 0, words)
    second = GeneralPlan(record, (out.template,), (partial,))
    return lambda op, tensors, attributes: native.fresh(second, native.fresh(first, tensors[0]))


_DTYPES = {d.name: d for d in (float32, float64, int32, int64, complex128)}


# ---- what follows from a declaration ---------------------------------------------------------------------------------


def in_dtype(x: Layout, dtype: DType | None) -> Callable | None:
    """The steps of a sum or product in a given dtype; None where it is what the operand has without one.

    Integers are added up in int64, and then become the dtype that was asked for, modulo 2**width.
    """
    if dtype is None or dtype is (x.dtype if x.dtype.differentiable else int64):
        return None

    def steps(op, tensors, attributes):
        converted = tensors[0] if x.dtype is dtype else CALLS["to_dtype"](tensors[0], dtype)
        out = CALLS[op.name](converted, **{**attributes, "dtype": None})
        return out if out.layout.dtype is dtype else CALLS["to_dtype"](out, dtype)

    return steps


def converted_first(dtype: DType):
    """Convert the operand, then call the operation again."""

    def steps(op, tensors, attributes):
        return CALLS[op.name](CALLS["to_dtype"](tensors[0], dtype), **{**attributes, "dtype": None})

    return steps


def folded(op: General, layouts: tuple, attributes: dict, reduce: Callable) -> Any:
    """The lowering of an operation that is declared with a monoid: see NOTE [Folds] in ops/core.py.

    Args:
        reduce: ``reduce(op, x, dims, out)``, what folds on a device, as ``reduction`` is.
    """
    x, dtype = layouts[0], attributes.get("dtype")
    if op.gives == "total" and (steps := in_dtype(x, dtype)) is not None:
        return steps
    if op.gives == "floating" and dtype is not None and dtype is not x.dtype:
        return converted_first(dtype)
    if op.gives == "floating" and not x.dtype.differentiable:
        raise DTypeError(f"{op.name}: expected a floating or complex tensor, got {x.dtype}. Hint: pass dtype=nbgrad.float32.")
    if names_none(op, attributes["dim"]) and x.ndim:
        return lambda op, tensors, attributes: CALLS["to_dtype"](CALLS["ne"](tensors[0], 0), RESULTS["truth"](x.dtype))
    dims = reduced_dims(op.name, x.ndim, attributes["dim"])
    if MONOIDS[op.monoid].order:
        require_order(op.name, x, dims)
    elif x.dtype.is_complex and not (MONOIDS[op.monoid].operator and op.finishes_parts()):
        raise DTypeError(f"{op.name}: x is {x.dtype}, expected real numbers. Hint: x.abs(), or x.real.")
    return reduce(op, x, dims, x.like(RESULTS[op.gives](x.dtype), kept_shape(x.shape, dims, attributes["keepdim"])))


@lowering(FOLD)
def _fold(op: General, layouts, attributes):
    return folded(op, layouts, attributes, reduction)


# The dtype of a result from the operand's.
RESULTS: dict[str, Callable[[DType], DType | None]] = {
    "same": lambda dtype: None,
    "floating": lambda dtype: None,
    "total": lambda dtype: dtype if dtype.differentiable else int64,
    "truth": lambda dtype: dtype if dtype is uint8 else bool_,
    "count": lambda dtype: int64,
}


def traced_sum(x: Layout, reduce: Callable) -> Any:
    """The sum of a matrix's diagonal, which begins where the matrix does."""
    if x.ndim != 2:
        raise ShapeError(f"trace: expected a matrix, got {list(x.shape)}. Hint: x.diagonal(0, -2, -1).sum(-1).")
    shape, strides, _ = diagonal_of(x, 0, 0, 1)
    layout = layout_of(x.dtype, shape, strides, x.device)
    return reduce(OPS["sum"], layout, (0,), x.like(x.dtype if x.dtype.differentiable else int64, ()))


@lowering("trace")
def _trace(op, layouts, attributes):
    plan = traced_sum(layouts[0], reduction)
    if isinstance(plan, GeneralPlan):
        return GeneralPlan(plan.record, plan.outs, layouts)
    return lambda op, tensors, attributes: plan(op, (CALLS["diagonal"](tensors[0]),), attributes)


def summed_over(x: Layout, shape: tuple[int, ...], reduce: Callable) -> Any:
    """The sum over all dimensions that broadcasting a shape to ``x``'s added or stretched."""
    lead = x.ndim - len(shape)
    wrong = lead < 0 or any(s not in (1, size) for s, size in zip(shape, x.shape[lead:]))
    if wrong:
        raise RangeError(f"sum_to: {list(shape)} does not broadcast to {list(x.shape)}.")
    dims = (*range(lead), *(d for d in range(lead, x.ndim) if shape[d - lead] != x.shape[d]))
    return reduce(OPS["sum"], x, dims, x.like(None, shape))


@lowering("sum_over")
def _sum_over(op, layouts, attributes):
    return summed_over(layouts[0], attributes["shape"], reduction)


def require_order(op: str, x: Layout, dims: tuple[int, ...]) -> None:
    """Refuse what has no extremum."""
    if x.dtype.is_complex:
        raise DTypeError(f"{op}: complex numbers have no order, got {x.dtype}.")
    for d in dims:
        if x.shape[d] == 0:
            raise DimError(f"{op}: dimension {d} of {list(x.shape)} has no elements, so there is no extremum.")


# ---- along one dimension of [outer, length, width] -------------------------------------------------------------------


def split_at(shape: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """``(outer, length, width)``: the elements before, along and after a dimension."""
    return math.prod(shape[:dim]), shape[dim] if shape else 1, math.prod(shape[dim + 1 :])


def split_launch(
    code: Code, split: tuple[int, int, int], operands: int, by_columns: bool, *own: int, outs: int = 1, segments: int = 1
) -> bytes:
    """The record of a kernel over ``[outer, length, width]``; ``own`` are its further words, a unit is so many ``segments``."""
    outer, length, width = split
    tiles = -(-width // TILE) if by_columns else 1
    units, work = (outer * tiles if length and width else 0), length * min(width, TILE) * segments
    parallel = PARALLEL if units * work >= PARALLEL_FROM else 0
    grain = max(1, PARALLEL_FROM // 8 // max(work, 1))
    words = (length, width, tiles, *own)
    return pack_record(code, units, grain, outs, (0,) * operands, parallel, words)


def arranged(tensors: tuple) -> tuple:
    """The tensors, contiguous, half types widened."""
    result = []
    for x in tensors:
        if x.layout.dtype.compute == "float32":
            x = x if x.layout.dtype is float32 else CALLS["to_dtype"](x, float32)
        result.append(x if x.layout.contiguous and not x.layout.neg else CALLS["contiguous_copy"](x))
    return tuple(result)


def arranged_call(op, tensors, attributes):
    """Several steps: operands that kernels take, the same call, the result in the operand's half type."""
    dtype = tensors[0].layout.dtype
    result = CALLS[op.name](*arranged(tensors), **attributes)
    half = dtype.compute == "float32" and dtype is not float32 and result.layout.dtype is float32
    return CALLS["to_dtype"](result, dtype) if half else result


def runs_as_it_lies(layout: Layout) -> bool:
    """Whether kernels over ``[outer, length, width]`` take the operand as it is."""
    half = layout.dtype.compute == "float32" and layout.dtype is not float32
    return layout.contiguous and not (half or layout.neg or layout.conj)


@late
def extremum_kernel(name: str, dtype: DType, greatest: bool, by_columns: bool) -> int:
    """Address of the search for the place of an extremum."""
    made, bindings = arg_loop(dtype.compute, by_columns)
    floating = dtype.is_floating_point
    bindings = (*bindings, *key_bindings(dtype.name, greatest), ("joined", joined_zeros if floating else own_key))
    return address(Program(name, made, dtype.name if floating else None, bindings))


@late
def variance_kernel(name: str, dtype: str, by_columns: bool) -> int:
    """Address of the kernel of a variance, or of its root."""
    made, bindings = variance_loop(dtype, by_columns)
    finish = variance_of if name == "variance" else deviation_of
    return address(Program(name, made, None, (*bindings, ("finish", finish)), True))


def extremum_dims(op: General, x: Layout, attributes: dict) -> tuple[tuple[int, ...], Layout]:
    """The dimensions along which the place of an extremum is looked for, and the layout of the places."""
    dim = attributes["dim"]
    dims = reduced_dims(op.name, x.ndim, dim if dim is None else wrap(op.name, dim, x.ndim))
    require_order(op.name, x, dims)
    return dims, x.like(int64, kept_shape(x.shape, dims, attributes["keepdim"]))


@lowering("argmax", "argmin")
def _argmax(op, layouts, attributes):
    x, dim = layouts[0], attributes["dim"]
    if not runs_as_it_lies(x):
        return arranged_call
    dims, out = extremum_dims(op, x, attributes)
    split = (1, x.numel, 1) if dim is None else split_at(x.shape, dims[0] if dims else 0)
    by_columns = split[2] > 1
    code = extremum_kernel(op.name, x.dtype, MONOIDS[op.monoid].order == "greatest", by_columns)
    return GeneralPlan(split_launch(code, split, 1, by_columns), (out.template,), layouts)


def variance_dims(op: General, x: Layout, attributes: dict) -> tuple[tuple[int, ...], Layout]:
    """The dimensions over which a variance is taken, and the layout of the variances."""
    if not x.dtype.is_floating_point:
        raise DTypeError(f"{op.name}: expected a floating tensor, got {x.dtype}. Hint: x.to(nbgrad.float32).")
    dims = reduced_dims("var", x.ndim, attributes["dim"])
    return dims, x.like(None, kept_shape(x.shape, dims, attributes["keepdim"]))


@lowering("variance", "deviation")
def _variance(op, layouts, attributes):
    x = layouts[0]
    dims, out = variance_dims(op, x, attributes)
    correction = attributes["correction"]
    if not runs_as_it_lies(x):
        return arranged_call
    if not float(correction).is_integer():
        return lambda op, tensors, attributes: rescaled(op, tensors[0], math.prod(x.shape[d] for d in dims), attributes)
    kept = [d for d in range(x.ndim) if d not in dims]
    if dims and kept and dims[0] == 0 and kept == list(range(kept[0], kept[-1] + 1)) and dims[-1] > kept[-1]:
        segments, rows, length = (math.prod(x.shape[a:b]) for a, b in pairwise((0, kept[0], kept[-1] + 1, x.ndim)))
        split, by_columns = (rows, length, 1), False
    elif not dims or dims == tuple(range(dims[0], dims[-1] + 1)):
        first, last = (dims[0], dims[-1] + 1) if dims else (x.ndim, x.ndim)
        split, segments = (math.prod(x.shape[:first]), math.prod(x.shape[first:last]), math.prod(x.shape[last:])), 1
        by_columns = split[2] > 1
    else:
        return lambda op, tensors, attributes: reordered(op, tensors[0], dims, attributes)
    if split[1] * segments == 0:
        return lambda op, tensors, attributes: CALLS["new_full"](out, math.nan)
    code, own = variance_kernel(op.name, x.dtype.name, by_columns), (int(correction), segments, split[0] * split[1])
    return GeneralPlan(split_launch(code, split, 1, by_columns, *own, segments=segments), (out.template,), layouts)


def rescaled(op, x: Tensor, count: int, attributes: dict) -> Tensor:
    """A variance or deviation with a correction that is no whole number: from that without one."""
    freedom = max(count - attributes["correction"], 0.0)
    scale = count / freedom if freedom else math.inf
    raw = CALLS[op.name](x, **{**attributes, "correction": 0})
    return CALLS["mul"](raw, scale if op.name == "variance" else math.sqrt(scale))


def reordered(op, x: Tensor, dims: tuple[int, ...], attributes: dict) -> Tensor:
    """Reduce dimensions that lie apart: bring them to the end."""
    shape = kept_shape(x.layout.shape, dims, attributes["keepdim"])
    y = CALLS["contiguous_copy"](kept_first(x, dims))
    last = tuple(range(x.layout.ndim - len(dims), x.layout.ndim))
    return CALLS["view_shape"](CALLS[op.name](y, **{**attributes, "dim": last, "keepdim": False}), shape)


@lowering("power_norm", style="run", device=None)
def _power_norm(op, tensors, attributes):
    x, p = tensors[0], attributes["p"]
    total = CALLS["sum"](CALLS["pow"](CALLS["abs"](x), p), attributes["dim"], attributes["keepdim"])
    return CALLS["pow"](total, 1 / p)


@lowering("halved_ends_sum", style="run", device=None)
def _halved_ends_sum(op, tensors, attributes):
    x, dim = tensors[0], attributes["dim"]
    size = x.layout.shape[dim]
    ends = CALLS["add"](CALLS["select"](x, dim, 0), CALLS["select"](x, dim, size - 1))
    return CALLS["add"](CALLS["sum"](CALLS["slice"](x, dim, 1, size - 1), dim), CALLS["mul"](ends, 0.5))
