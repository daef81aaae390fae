"""How a fold goes through memory: dimensions merged into rows or columns, and the kernel and the record of such a walk.

NOTE [Walks]: dimensions that memory joins are merged, each kept (K) or reduced (R). What remains is
  rows      K?R, RKR      the reduced elements lie one after the other; one result after the other
  columns   RK, KRK       the kept elements do; ``TILE`` of them are accumulated side by side
A reduced dimension of stride 0 (an expanded operand) only multiplies. Few elements that lie otherwise (a diagonal) are columns of
one element each. Everything else is copied to [kept, reduced] first.
"""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import Callable, NamedTuple

from ..base.dtypes import WIDTHS, DType
from ..dispatch.lowerings import GeneralPlan
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.monoids import MONOIDS
from ..kernels.templates.folds import Fold, fold
from ..kernels.templates.reduce import TILE, columns, rows, short_rows
from ..native.plans import PARALLEL, known, pack_record
from ..ops.core import General
from ..tensors.layout import Layout
from .lines import PARALLEL_FROM

__all__ = ["FoldWalk", "folds_of", "merged", "reduce_plan", "walk_of"]

# Elements from which one result is cut into blocks of PIECE, for several threads.
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
