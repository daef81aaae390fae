"""Which calls share a loop over rows: elements of a matrix, folds of its rows, and what is computed of these, a number a row.

The last dimension is a row, all others together count rows. A row's number reaches elements as an operand that is broadcast along
the row. Folds of all elements and of columns may end such a loop (``Ending`` of strips.py, ``column_fold``).
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import Any, Iterator, NamedTuple

from ...base.dtypes import float32, float64
from ...kernels.templates.fused_loop import FOLDED, ROOM
from ...kernels.templates.reduce import COLUMN_BLOCK
from ...native.plans import Plan
from ...ops.core import General
from ...tensors.layout import Layout, contiguous_strides
from ..ir.devices import on_gpu
from ..ir.ir import Node, Value
from ..ir.steps import Schedule, Window
from .fusion import Group, Space
from .launches import plan_of
from .strips import Ending

__all__ = ["Folded", "attempts", "column_ending", "is_number_of_row", "numbers_of", "reach", "row_fold", "rows_in"]

NARROWEST, WIDEST = 32, 4096  # elements of a row
EIGHTS = 8  # rows that columns are folded by
SERIAL = 1 << 16  # elements that one thread may have
FEWEST = 2048  # elements in all


class Folded(NamedTuple):
    """A fold of rows or of columns.

    Attributes:
        space: of what is folded.
        plan: of the call alone.
        words: of its record: NOTE [Walks] of lowering/fold_walks.py.
    """

    space: Space
    plan: Plan
    words: tuple[int, ...]


def rows_in(space: Space) -> bool:
    """Whether a loop over rows is worth its while."""
    shape = space.shape
    if len(shape) < 2 or not NARROWEST <= shape[-1] <= WIDEST:
        return False
    numel = math.prod(shape)
    return numel >= FEWEST and numel > shape[-1] and space.strides == contiguous_strides(shape)


def fold_of(node: Node) -> Folded | None:
    """A call that folds some dimensions of a contiguous operand in one launch."""
    op = node.op
    if not isinstance(op, General) or not (op.monoid or op.name == "sum_over") or len(node.ins) != 1 or len(node.outs) != 1:
        return None
    (x,), (out,) = node.ins, node.outs
    layout = x.layout if isinstance(x, Value) else None
    if layout is None or layout.special or layout.dtype not in (float32, float64) or layout.conj or layout.neg:
        return None
    if on_gpu(layout):
        return None
    space = Space(layout.shape, layout.strides, layout.dtype)
    if not rows_in(space):
        return None
    plan = plan_of(node)
    if plan is None or len(plan.outs) != 1 or plan.outs[0].layout is not out.layout:
        return None
    words = struct.unpack(f"{len(plan.record) // 8}q", plan.record)
    return Folded(space, plan, words) if len(words) == 16 else None


def row_fold(node: Node) -> Folded | None:
    """A call that folds the last dimension."""
    found = fold_of(node)
    if found is None:
        return None
    shape, size = found.space.shape, found.space.dtype.itemsize
    of_rows = (shape[-1], shape[-1] * size, 1, 0, 1 << 62, 1)
    return found if found.words[1] == math.prod(shape[:-1]) and found.words[9:15] == of_rows else None


def column_fold(node: Node) -> Folded | None:
    """A call that folds all dimensions but the last."""
    found = fold_of(node)
    if found is None:
        return None
    shape, size = found.space.shape, found.space.dtype.itemsize
    length, step, width, _, tiles, times, _ = found.words[9:]
    by_columns = (length, step, width) == (math.prod(shape[:-1]), shape[-1] * size, shape[-1])
    return found if by_columns and found.words[1] == tiles and times == 1 else None


def column_ending(node: Node, group: Group, stage: int, made: Schedule) -> Ending | None:
    """A call that folds the columns of what a loop computes as its end, if it is one."""
    value: Any = node.ins[0]
    found = column_fold(node) if value in group.inside and value not in group.numbers else None
    return Ending(node, value, stage, True) if found is not None and found.space == group.space else None


def admitted(group: Group, endings: list[Ending]) -> list[Ending]:
    """The endings that a loop over rows may have; all, if it has none but those of all elements, and folds no rows.

    Blocks of elements are whole rows only where a row's width divides them; columns are folded eight rows at a time.
    """
    whole = [ending for ending in endings if not ending.columns]
    columns = [ending for ending in endings if ending.columns]
    if not group.folds and not columns:
        return endings
    width, size = group.space.shape[-1], group.space.dtype.itemsize
    few = len({ending.value for ending in columns}) * EIGHTS * width * size <= ROOM // 2
    rows = math.prod(group.space.shape[:-1])
    shared = rows * width <= SERIAL or rows >= 2 * COLUMN_BLOCK  # else one thread would have it all
    if not rows_in(group.space) or not few or not shared or whole and not group.folds and FOLDED % (EIGHTS * width):
        columns = []
    if columns and FOLDED % (EIGHTS * width) or group.folds and FOLDED % width:
        whole = []
    return whole + columns


def attempts(group: Group, endings: list[Ending]) -> Iterator[list[Ending]]:
    """Endings that a loop may have, ever fewer."""
    kept = admitted(group, endings)
    yield kept
    whole = [ending for ending in kept if not ending.columns]
    if len(whole) < len(kept):
        yield whole
    if whole:
        yield []


# ---- how operands lie --------------------------------------------------------------------------------------------------


def is_number_of_row(window: Window, shape: tuple[int, ...]) -> bool:
    """Whether a window on the numbers of all rows shows to every element that of its row.

    Args:
        shape: of the elements.
    """
    return window.place.offset == 0 and reach(window.layout, shape) == (window.layout.dtype.itemsize, 0)


def numbers_of(window: Window, count: int) -> bool:
    """Whether a window shows the numbers of all rows in their order."""
    return window.place.offset == 0 and window.layout.contiguous and window.layout.numel == count


@lru_cache(maxsize=4096)
def reach(layout: Layout, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Bytes from row to row, and from element to element of an operand that is broadcast to ``shape``; None where rows differ."""
    if layout.conj or layout.neg:
        return None
    size, lead = layout.dtype.itemsize, len(shape) - layout.ndim
    steps = [0] * lead + [0 if n == 1 else step for n, step in zip(layout.shape, layout.strides)]
    row = inner = 0
    for n, step in zip(reversed(shape[:-1]), reversed(steps[:-1])):
        if n == 1:
            continue
        if inner and step != row * inner:
            return None
        row, inner = (row, inner * n) if inner else (step, n)
    return (row * size, steps[-1] * size) if steps[-1] in (0, 1) else None
