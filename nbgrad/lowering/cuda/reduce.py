"""Reductions on a GPU: rows and columns of memory as they lie, everything else copied to [kept, reduced] first.

Which dimensions are folded into which layout is the CPU's decision (lowering/reduce.py), as are the walks. A GPU takes any steps
between columns, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...dispatch.device_copies import copy_step
from ...dispatch.lowerings import FOLD
from ...kernels.cuda.access import compute_dtype, itemsize
from ...kernels.cuda.accumulators import Accumulator, accumulator
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.folds import lanes_for
from ...kernels.cuda.moments import variance_accumulator
from ...kernels.cuda.reductions import (
    MAX_PARTIALS,
    SHORT,
    column_plan,
    reduce_columns,
    reduce_rows,
    reduce_short_rows,
    row_plan,
    short_rows_grid,
    short_width,
)
from ...kernels.cuda.rows import RowProgram, Shape, fold_program, map_rows, row_shape, rows_grid
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, operand, out as result
from ...kernels.cuda.templates import WARP, ceil_div
from ...ops.core import General
from ...tensors.layout import Layout, layout_of
from ..extremum_places import extremum_dims
from ..fold_walks import FoldWalk, merged, walk_of
from ..reduce import folded, summed_over, traced_sum
from ..variances import variance_dims
from .registry import lowering

__all__ = ["Folding", "fold_steps", "kept_first", "memory_name", "program_step"]

MOST_PLANES = 65535
FEW = 1 << 16  # elements up to which blocks may be mostly idle


def memory_name(x: Layout) -> str:
    """How kernels of numbers name the dtype of a tensor: truth values are bytes."""
    return "uint8" if x.dtype.name == "bool" else x.dtype.name


class Folding(NamedTuple):
    """What is folded: by an accumulator, from memory of a dtype.

    Attributes:
        of: the accumulator.
        memory: the dtype of the elements.
        read: where they are; of partial results, where each part of them is.
        output: the dtype of the results, ``written``: where they go; of partial results, where each part goes.
        values: for ``finish``.
        stage: NOTE [Reduction stages] of kernels/cuda/reductions.py.
    """

    of: Accumulator
    memory: str
    read: tuple[Place, ...]
    output: str
    written: tuple[Place, ...]
    values: tuple[float, ...]
    stage: str = "whole"

    def recipe(self, template) -> Recipe:
        """The kernel of a template."""
        return Recipe(template, self.of.term, self.of.dtype, self.of.source())

    @property
    def pointers(self) -> tuple[Place, ...]:
        return (*self.written, *self.read)

    @property
    def given(self) -> tuple[float, ...]:
        """The values that the kernel is given."""
        return () if self.stage in ("partial", "join") else self.values

    def halves(self, count: int, workspace: Workspace) -> tuple[Folding, Folding]:
        """Two foldings in the place of this one: into ``count`` partial results, and of those."""
        joins, parts = self.stage in ("merge", "join"), self.stage in ("partial", "join")
        between = tuple([workspace.take(count * itemsize(dtype)) for dtype in self.of.state])
        first = self._replace(written=between, stage="join" if joins else "partial")
        return first, self._replace(read=between, stage="join" if parts else "merge")


def fold_steps(of: Accumulator, x: Layout, dims: tuple[int, ...], out: Layout, values: tuple[float, ...] | None = None) -> Steps:
    """The launches that fold the dimensions ``dims`` of the call's first operand into its first result.

    Args:
        values: for what becomes of the accumulators; the count of elements, if that is what they take.
    """
    if not out.numel:
        return Steps(())
    count = math.prod([x.shape[d] for d in dims])
    if values is None:
        values = (float(count),) * of.values
    folding = Folding(of, memory_name(x), (operand(0),), out.dtype.name, (result(0),), values)
    workspace, before = Workspace(), list[Step]()
    walk = device_walk(x, dims, of.indexed)
    if walk is None:
        source = kept_first(x, dims)
        target = source.like()
        place = workspace.take(target.numel * target.dtype.itemsize)
        step = copy_step(source, target, operand(0), place)
        assert step is not None
        before.append(step)
        folding = folding._replace(read=(place,))
        walk = FoldWalk(False, out.numel, count, count)
    return Steps((*before, *walk_steps(folding, walk, workspace)), workspace.size)


def kept_first(x: Layout, dims: tuple[int, ...]) -> Layout:
    """The layout with the dimensions to be reduced last."""
    order = (*(d for d in range(x.ndim) if d not in dims), *dims)
    shape, strides = tuple([x.shape[d] for d in order]), tuple([x.strides[d] for d in order])
    return layout_of(x.dtype, shape, strides, x.device, x.conj, x.neg)


def device_walk(x: Layout, dims: tuple[int, ...], ordered: bool) -> FoldWalk | None:
    """How kernels go through the operand; None if only a copy can be walked.

    Args:
        ordered: whether the elements' positions count.
    """
    walk = None
    if not ordered or x.contiguous or len(dims) < x.ndim:
        walk = walk_of(x, dims)
    if walk is None and not (x.conj or x.neg):
        kinds, sizes, steps, _ = merged(x, frozenset(dims), False)
        if kinds in ("RK", "KR", "KRK"):
            kept = [k for k, kind in enumerate(kinds) if kind == "K"]
            inner, reduced = kept[-1], kinds.index("R")
            outer = (sizes[0], steps[0]) if kinds == "KRK" else (1, 0)
            walk = FoldWalk(True, *outer, sizes[reduced], steps[reduced], sizes[inner], column_step=steps[inner])
    if walk is None or (walk.segments > 1 and walk.segment_step != walk.outer * walk.outer_step):
        return None
    if walk.columns and walk.outer > 1 and 2 * walk.width <= WARP and walk.outer * walk.length * walk.width > FEW:
        return None  # most threads would have no column
    return walk


def walk_steps(folding: Folding, walk: FoldWalk, workspace: Workspace) -> list[Step]:
    """The launches for a walk."""
    if walk.columns:
        return column_steps(folding, walk, workspace)
    if walk.segments == 1:
        return row_steps(folding, walk.outer, walk.length, walk.outer_step, workspace)
    rows = walk.segments * walk.outer
    first, second = folding.halves(rows, workspace)
    columns = FoldWalk(True, 1, 0, walk.segments, walk.outer, walk.outer)
    return row_steps(first, rows, walk.length, walk.outer_step, workspace) + column_steps(second, columns, workspace)


def row_steps(folding: Folding, rows: int, n: int, step: int, workspace: Workspace) -> list[Step]:
    """The launches that fold rows of ``n`` elements, ``step`` apart."""
    of, inputs = folding.of, (folding.memory,)
    joins = folding.stage in ("merge", "join")
    lanes = 1 if joins else lanes_for(of, inputs)
    if n < 2 * lanes:
        lanes = 1
    vectors = lanes > 1 and (rows == 1 or step % lanes == 0)
    if of.around and folding.stage == "whole" and (rows == 1 or step == n):
        shape = row_shape(n, inputs, of.dtype)
        if shape.held:
            return [program_step(fold_program(of), inputs, folding.output, shape, folding.pointers, folding.given, (rows, n))]
    if n <= SHORT and rows > 1:
        width = short_width(n, lanes)

        def made(by_vectors: bool):
            return reduce_short_rows(of, inputs, folding.output, width, lanes, by_vectors, folding.stage)

        return [both(folding, made, vectors, short_rows_grid(rows, width), (rows, n, step))]
    blocks, share = row_plan(n, lanes, rows)
    if blocks > 1:
        first, second = folding.halves(rows * blocks, workspace)
    else:
        first, second = folding, None

    def made_rows(by_vectors: bool):
        return reduce_rows(of, inputs, folding.output, first.stage, lanes, by_vectors)

    steps = [both(first, made_rows, vectors, (rows, blocks), (n, step, share))]
    return steps if second is None else steps + row_steps(second, rows, blocks, blocks, workspace)


def both(folding: Folding, made, vectors: bool, grid: tuple[int, ...], counts: tuple[int, ...]) -> Step:
    """A launch by vectors if they fit, with the same by single elements for memory that is not aligned."""
    single = Step(folding.recipe(made(False)), grid, folding.pointers, folding.given, counts)
    return single._replace(recipe=folding.recipe(made(True)), single=single) if vectors else single


def program_step(
    program: RowProgram,
    names: tuple[str, ...],
    output: str,
    shape: Shape,
    pointers: tuple[Place, ...],
    values: tuple[float, ...],
    counts: tuple[int, ...],
) -> Step:
    """The launch of a program over contiguous rows.

    Args:
        names: dtypes of the operands in memory; ``output``: that of the result.
        counts: rows, elements of each, then the program's own integers.
    """

    def recipe(vectors: bool) -> Recipe:
        template = map_rows(program, names, output, shape, vectors)
        return Recipe(template, program.of.term, program.of.dtype, program.source())

    single = Step(recipe(False), rows_grid(counts[0], shape), pointers, values, counts)
    return single._replace(recipe=recipe(True), single=single) if shape.lanes > 1 else single


def column_steps(folding: Folding, walk: FoldWalk, workspace: Workspace) -> list[Step]:
    """The launches that fold columns."""
    outers, rows, columns = walk.outer, walk.length, walk.width
    joins = folding.stage in ("merge", "join")
    splits, share = (1, rows) if joins and rows <= MAX_PARTIALS else column_plan(outers, rows, columns)
    first, second = (folding, None) if splits == 1 else folding.halves(splits * outers * columns, workspace)
    recipe = first.recipe(reduce_columns(folding.of, (folding.memory,), folding.output, first.stage))
    tiles, steps = ceil_div(columns, WARP), []
    for plane in range(0, outers, MOST_PLANES):
        grid = tiles, splits, min(MOST_PLANES, outers - plane)
        counts = plane, outers, rows, columns, share, walk.outer_step, walk.step, walk.column_step
        steps.append(Step(recipe, grid, first.pointers, first.given, counts))
    if second is not None:
        width = outers * columns
        steps += column_steps(second, FoldWalk(True, 1, 0, splits, width, width), workspace)
    return steps


# ---- lowerings --------------------------------------------------------------------------------------------------------


def reduction(op: General, x: Layout, dims: tuple[int, ...], out: Layout) -> tuple[tuple[Layout], Steps]:
    """What an operation's monoid folds."""
    return (out,), fold_steps(accumulator(op, compute_dtype(memory_name(x))), x, dims, out)


@lowering(FOLD)
def _fold(op, layouts, attributes):
    return folded(op, layouts, attributes, reduction)


@lowering("trace")
def _trace(op, layouts, attributes):
    return traced_sum(layouts[0], reduction)


@lowering("sum_over")
def _sum_over(op, layouts, attributes):
    return summed_over(layouts[0], attributes["shape"], reduction)


@lowering("argmax", "argmin")
def _argmax(op, layouts, attributes):
    dims, out = extremum_dims(op, layouts[0], attributes)
    return reduction(op, layouts[0], dims, out)


@lowering("variance", "deviation")
def _variance(op, layouts, attributes):
    x = layouts[0]
    dims, out = variance_dims(op, x, attributes)
    count = math.prod([x.shape[d] for d in dims])
    freedom = max(count - attributes["correction"], 0.0)
    return (out,), fold_steps(variance_accumulator(op.name, compute_dtype(x.dtype.name)), x, dims, out, (freedom,))
