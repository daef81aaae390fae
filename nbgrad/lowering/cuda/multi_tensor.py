"""Folds of all elements of many tensors of a GPU, in few launches: what a norm of all gradients is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...base.dtypes import dtype_of
from ...creation.allocation import empty_of
from ...dispatch.device_plans import device_plan, device_record
from ...dispatch.lowerings import GeneralPlan
from ...kernels.cuda.access import compute_dtype
from ...kernels.cuda.accumulators import Accumulator, accumulator
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.folds import lanes_for
from ...kernels.cuda.multi_tensor import FEW_ROWS, FOLDED, blocks_of, fold_rows, most_rows, table_of
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, operand, out
from ...ops.core import OPS
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import Tensor, native
from .reduce import Folding, row_steps

__all__ = ["folded_together"]


class Folded(NamedTuple):
    """The launches of a fold.

    Attributes:
        parts: layouts of the accumulators of all blocks.
        writes: ``write(*parts, *tensors)`` of so many tensors each; ``counts``: these numbers.
        last: the launch that folds the accumulators.
    """

    parts: tuple[Layout, ...]
    writes: tuple[Callable, ...]
    counts: tuple[int, ...]
    last: GeneralPlan


def folded_together(op: str, tensors: Sequence[Tensor]) -> Tensor:
    """What the monoid of a reduction folds of all elements of tensors on one GPU, in float32 or float64.

    Args:
        tensors: of one real floating dtype, each dense in memory, with elements.
    """
    plan = folded_plan(op, tuple([x.layout for x in tensors]))
    parts, first = [empty_of(layout) for layout in plan.parts], 0
    for write, count in zip(plan.writes, plan.counts):
        write(*parts, *tensors[first : first + count])
        first += count
    made: Tensor = native.fresh(plan.last, *parts)
    return made


@lru_cache(maxsize=64)
def folded_plan(op: str, layouts: tuple[Layout, ...]) -> Folded:
    """The launches for tensors of these layouts."""
    dtype, device = layouts[0].dtype, layouts[0].device
    of = accumulator(OPS[op], compute_dtype(dtype.name))
    lanes, most = lanes_for(of, (dtype.name,)), most_rows(1, 1 + len(of.state))
    blocks = [blocks_of(x.numel, lanes, FOLDED) for x in layouts]
    parts = tuple([layout_of(dtype_of(name), (sum(blocks),), None, device) for name in of.state])
    writes, counts, first = list[Callable](), list[int](), 0
    for at in range(0, len(layouts), most):
        some = layouts[at : at + most]
        step = part_of_fold(of, some, blocks[at : at + most], lanes, first)
        record = device_record(Steps((step,)), parts, (0,) * len(some))
        writes.append(native.table_writer(GeneralPlan(record, tuple([x.template for x in parts]), some)))
        counts.append(len(some))
        first += sum(blocks[at : at + most])
    result = layout_of(dtype_of(compute_dtype(dtype.name)), (), None, device)
    total = tuple([operand(s) for s in range(len(parts))])
    folding = Folding(
        of, dtype.name, total, result.dtype.name, (out(),), (float(sum(x.numel for x in layouts)),) * of.values, "merge"
    )
    workspace = Workspace()
    steps = row_steps(folding, 1, sum(blocks), sum(blocks), workspace)
    return Folded(parts, tuple(writes), tuple(counts), device_plan((result,), parts, Steps(tuple(steps), workspace.size)))


def part_of_fold(of: Accumulator, layouts: tuple[Layout, ...], blocks: list[int], lanes: int, first: int) -> Step:
    """The launch that folds some of the tensors; ``first``: where their accumulators begin."""
    at, rows = 0, list[tuple[int, int, list[Place]]]()
    for k, x in enumerate(layouts):
        rows.append((at, x.numel, [operand(k)]))
        at += blocks[k]
    size = FEW_ROWS if len(rows) <= FEW_ROWS else most_rows(1, 1 + len(of.state))
    table, name = table_of(rows, size), layouts[0].dtype.name
    outs = tuple([out(s) for s in range(len(of.state))])

    def step(by_vectors: bool) -> Step:
        recipe = Recipe(fold_rows(of, name, size, lanes, by_vectors), of.term, of.dtype, of.source())
        return Step(recipe, (at,), outs, (), (first,), table=table)

    return step(True)._replace(single=step(False)) if lanes > 1 else step(True)
