"""Loops of several kernels over strips, and the sums that end them: NOTE [Strips] of kernels/templates/fused_loop.py.

A group of calls (fusion.py) is a loop for each function that is no instruction; what is cheap joins the loop that reads it, so that
few values go from loop to loop, by memory that stays in the first-level cache. Sums of all elements are folded block by block, by
the kernels that fold them alone; a launch of its own makes a number of the blocks. So all bits are those of the calls.
"""

from __future__ import annotations

import math
import struct
from functools import cache, partial
from typing import Any, Mapping, NamedTuple

from ...base.dtypes import WIDTHS, DType, dtype_of, float32, float64
from ...dispatch.lowerings import FOLD, LOWERINGS, lowering_of
from ...dispatch.plans import cost, elementwise_code, thread_shares
from ...kernels.cpu.build import Program, address
from ...kernels.late import Code, late
from ...kernels.templates.folds import Fold
from ...kernels.templates.fused_loop import BLOCK, FOLDED, ROOM, STRIP, Reached, blocks_of, fused_loop, fused_record, run_step
from ...kernels.templates.iterate import collapse
from ...lowering.fold_walks import PIECE, SHARED_FROM, WALK_WORDS, ReductionFolds, folds_of, kernel as fold_kernel
from ...native.plans import MOST_OPERANDS, NUMBER_CODES
from ...ops.core import OPS, General
from ...ops.expr import postorder
from ...ops.reduce import names_none, reduced_dims
from ...tensors.layout import layout_of
from ...tensors.storage import CPU
from ..ir.ir import Node, Value
from ..ir.steps import Launch, Place, Schedule, number
from .fusion import NONE, Group, formula_of

__all__ = ["CACHED", "Ending", "Partial", "ending_of", "heavy", "kernel_of_rows", "merges", "parted", "partial_sums", "strips_of"]

FEWEST = 2048  # positions of a loop in strips
SHORTEST = 128  # and of its rows
CACHED = 32768  # bytes that the strips of a loop have together: in the first-level cache, with what they are read from


class Ending(NamedTuple):
    """A sum of all elements, or of the columns, of a value that a loop computes."""

    node: Node
    value: Value
    stage: int
    columns: bool = False


def ending_of(node: Node, group: Group | None, stage: int, made: Schedule) -> Ending | None:
    """The call as the end of a loop, if it can be one."""
    op = node.op
    if group is None or not isinstance(op, General) or not op.monoid or len(node.outs) != 1 or len(node.ins) != 1:
        return None
    out, window = node.outs[0].layout, made.window(node.ins[0])
    x, value = window.layout, window.place.value
    if value in group.numbers:
        return None
    whole = window.place.offset == 0 and x.dense and value.layout is not None and value.layout.numel == x.numel
    if not whole or x.special or out is None or x.dtype not in (float32, float64) or x.dtype is not out.dtype or x.conj or x.neg:
        return None
    dim = node.attributes.get("dim")
    if lowering_of(op) is not LOWERINGS[FOLD] or names_none(op, dim) or node.attributes.get("dtype") not in (None, x.dtype):
        return None
    if x.numel < FEWEST or len(reduced_dims(op.name, x.ndim, dim)) < x.ndim:
        return None
    folds = folds_of(op, x.dtype, out.dtype)
    return Ending(node, value, stage) if folds.piece is not None and folds.piece.memory == x.dtype.name else None


class Partial(NamedTuple):
    """Accumulators of an ending, one for each block, and its folds."""

    value: Value
    ending: Ending
    folds: ReductionFolds


def partial_sums(ending: Ending, dtype: DType, numel: int) -> Partial:
    """The accumulators of an ending of ``numel`` elements."""
    folds = folds_of(ending.node.op, dtype, dtype)
    assert folds.piece is not None
    return Partial(Value(layout_of(dtype_of(folds.piece.out), (-(-numel // FOLDED),), None, CPU)), ending, folds)


def kernel_of_rows(fold: Fold) -> Code:
    """Address of the kernel that folds rows."""
    return fold_kernel(fold, False)


# ---- which call is in which loop ---------------------------------------------------------------------------------------


@cache
def heavy(op: Any) -> bool:
    """Whether an operation takes more than instructions."""
    return any(
        each.op not in ("symbol", "constant", "where") and not (each.op in OPS and OPS[each.op].cheap)
        for each in postorder((op.expression(),))
    )


def parted(nodes: list[Node], viewed: Mapping[Value, Value] = NONE) -> list[list[Node]]:
    """The calls of each loop: the first that an operand allows, for functions one of their own; then as late as a reader allows.

    Args:
        viewed: operands that are views, with what they show.
    """
    at: dict[Node, int] = {}
    taken = set[int]()
    makers = {node: [viewed.get(x, x).node for x in node.values()] for node in nodes}
    for node in nodes:
        part = max([at[maker] for maker in makers[node] if maker in at], default=0)
        if heavy(node.op):
            while part in taken:
                part += 1
            taken.add(part)
        at[node] = part
    readers: dict[Node, list[Node]] = {}
    for node in nodes:
        for maker in makers[node]:
            if maker in at:
                readers.setdefault(maker, []).append(node)
    for node in reversed(nodes):
        if node in readers and not heavy(node.op):
            at[node] = min(at[each] for each in readers[node])
    parts: list[list[Node]] = [[] for _ in range(max(at.values()) + 1)]
    for node in nodes:
        parts[at[node]].append(node)
    return [part for part in parts if part]


# ---- the launch --------------------------------------------------------------------------------------------------------


def strips_of(group: Group, stored: list[Value], endings: list[Ending], made: Schedule) -> list[tuple[int, Launch]] | None:
    """The launches of a group in strips, with their stages; None where one loop is as good, or operands do not lie as strips need.

    Args:
        stored: what is read outside of the group, but by ``endings``.
    """
    numel = math.prod(group.space.shape)
    parts = parted(group.nodes)
    if numel < FEWEST or not endings and sum(heavy(node.op) for node in group.nodes) < 2 or not (stored or endings):
        return None
    walk = walked(group, made)
    if walk is None:
        return None
    return Strips(group, stored, endings, made, walk, numel).launches(parts)


class Walk(NamedTuple):
    """Rows of positions.

    Attributes:
        width: of a row.
        steps: for each operand of the group its bytes from row to row and from column to column; both 0: a single element.
    """

    width: int
    steps: dict[Any, tuple[int, int]]


def walked(group: Group, made: Schedule) -> Walk | None:
    """How the loops go through memory, in the order of the results'; None where an operand's elements do not lie side by side."""
    shape, strides = group.space.shape, group.space.strides
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    found: dict[Any, tuple[int, ...]] = {}
    for x in group.read:
        if not isinstance(x, Value):
            continue
        layout = x.layout
        assert layout is not None
        if layout.conj or layout.neg:
            return None
        own = [0 if size == 1 else step * layout.dtype.itemsize for size, step in zip(layout.shape, layout.strides)]
        own = [0] * (len(shape) - len(own)) + own
        found[x] = tuple([own[d] for d in order])
    unit = tuple([strides[d] if shape[d] > 1 else 0 for d in order])
    sizes, steps = collapse(tuple([shape[d] for d in order]), [unit, *found.values()])
    if len(sizes) > 2 or sizes[-1] < SHORTEST or steps[0][-1] != 1:
        return None
    pairs = [(0, *each)[-2:] for each in steps]
    by_value = dict(zip(found, pairs[1:]))
    if any(column not in (0, x.layout.dtype.itemsize) for x, (_, column) in by_value.items()):
        return None
    return Walk(sizes[-1], by_value)


class Strips:
    """A group's launches while they are made."""

    def __init__(self, group: Group, stored: list[Value], endings: list[Ending], made: Schedule, walk: Walk, numel: int):
        self.group, self.stored, self.endings, self.made, self.walk, self.numel = group, stored, endings, made, walk, numel
        self.dtype: DType = group.space.dtype
        self.blocks = -(-numel // FOLDED)
        self.partials = [partial_sums(ending, self.dtype, numel) for ending in endings]
        self.writes = [*stored, *(value for value, _, _ in self.partials)]
        self.reads: dict[Any, tuple[int, Place | bytes]] = {}
        self.places: dict[Value, Reached] = {}

    def launches(self, parts: list[list[Node]]) -> list[tuple[int, Launch]] | None:
        """See ``strips_of``."""
        crossing = self.crossing(parts)
        size, width = self.dtype.itemsize, self.walk.width
        blocked = {ending.value for ending in self.endings if ending.value not in self.stored}
        slots = [value for value in crossing if value not in blocked and value not in self.stored]
        strip = 512 if len(slots) * 512 * size <= CACHED else 256
        room = 0
        for k, value in enumerate(self.stored):
            each = value.layout.dtype.itemsize  # type: ignore[union-attr]
            self.places[value] = Reached(1 + k, each * width, each)
        for value in blocked:
            self.places[value] = Reached(BLOCK, room, size)
            room += FOLDED * size
        for value in slots:
            self.places[value] = Reached(STRIP, room, size)
            room += strip * size
        if room > ROOM:
            return None
        steps, nanoseconds = [], 0.0
        for part in parts:
            results = [node.outs[0] for node in part if node.outs[0] in self.places]
            if not results:
                continue
            formula, operands = formula_of(part, results)
            reached = [self.reached(x) for x in operands]
            singles = tuple([pointer >= 0 and column == 0 for pointer, _, column in reached])
            steps.append(
                (elementwise_code(formula, self.dtype.name, singles), [*(self.places[value] for value in results), *reached])
            )
            nanoseconds += cost(formula, self.dtype.name)
        if 1 + len(self.writes) + len(self.reads) > MOST_OPERANDS:
            return None
        return [
            (self.group.stage, self.loop(steps, strip, nanoseconds)),
            *(each for partial in self.partials for each in merges(partial, self.numel)),
        ]

    def crossing(self, parts: list[list[Node]]) -> list[Value]:
        """Values that a later loop reads."""
        at = {node.outs[0]: k for k, part in enumerate(parts) for node in part}
        found = {x: None for k, part in enumerate(parts) for node in part for x in node.values() if at.get(x, k) != k}
        return list(found)

    def reached(self, x: Any) -> Reached:
        """How a step reaches an operand."""
        if isinstance(x, Value) and x in self.places:
            return self.places[x]
        key = x if isinstance(x, Value) else (type(x), repr(x))
        if key not in self.reads:
            read = self.made.window(x).place if isinstance(x, Value) else number(x, NUMBER_CODES[self.dtype.name])
            self.reads[key] = (1 + len(self.writes) + len(self.reads), read)
        return Reached(self.reads[key][0], *self.walk.steps.get(key, (0, 0)))

    def loop(self, steps: list, strip: int, nanoseconds: float) -> Launch:
        """The launch of the loops."""
        folds = []
        for k, (_, ending, (_, piece, _, _)) in enumerate(self.partials):
            assert piece is not None
            folds.append((kernel_of_rows(piece), WIDTHS[piece.out], 1 + len(self.stored) + k, self.places[ending.value]))
        record = partial(fused_record, self.numel, self.walk.width, FOLDED, strip, steps, folds)
        grain, shared_from = thread_shares(nanoseconds)
        reads = tuple([read for _, read in self.reads.values()])
        nodes = (*self.group.nodes, *(ending.node for ending in self.endings))
        shared = self.numel >= shared_from
        codes = [code for code, *_ in (*steps, *folds)]
        return Launch(loop_address(), self.blocks, tuple(self.writes), reads, record, max(1, grain // FOLDED), shared, nodes, codes)


def merges(partial: Partial, numel: int) -> list[tuple[int, Launch]]:
    """The launches that make a number of the blocks' accumulators, with their stage: as many merges as the call has."""
    value, (node, _, stage, _), (whole, piece, merge, _) = partial
    assert piece is not None and merge is not None
    reads, outs, blocks = (Place(value),), (node.outs[0],), -(-numel // FOLDED)
    if numel < SHARED_FROM:
        record = struct.pack("4q", blocks, blocks, 1, numel)
        return [(stage, Launch(blocks_address(whole), 1, outs, reads, record, nodes=(node,)))]
    pieces = -(-numel // PIECE)
    sums = Value(layout_of(dtype_of(piece.out), (pieces,), None, CPU))
    record = struct.pack("4q", blocks, PIECE // FOLDED, 1, 1)
    last = WALK_WORDS.pack(pieces, 0, 1, 0, 1 << 62, 1, merge.over(numel))
    return [
        (stage, Launch(blocks_address(piece), pieces, (sums,), reads, record, nodes=(node,))),
        (stage, Launch(kernel_of_rows(merge), 1, outs, (Place(sums),), last, nodes=(node,))),
    ]


@late
def loop_address() -> int:
    """Address of the kernel of all loops in strips."""
    return address(Program("fused_loop", fused_loop, None, (("run_step", run_step),)))


@late
def blocks_address(fold: Fold) -> int:
    """Address of the kernel that makes a result of blocks."""
    made, bindings = blocks_of(fold)
    return address(Program(f"{fold.name}_of_blocks", made, fold.dtype, bindings, True))
