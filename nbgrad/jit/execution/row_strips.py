"""Loops over rows, strip by strip: NOTE [Strips of rows] of kernels/templates/fused_rows.py.

A group of calls (fusion.py) that folds rows is parted into steps: elements, the folds of rows, what becomes of their numbers, then
the elements that need those, and so on. Every fold is the kernel that folds alone, so all bits are those of the calls.
"""

from __future__ import annotations

import math
import struct
from functools import partial
from typing import Any

from ...base.dtypes import WIDTHS, dtype_of
from ...dispatch.plans import cost, elementwise_code, thread_shares
from ...kernels.cpu.build import Program, address
from ...kernels.late import late
from ...kernels.templates.folds import Fold
from ...kernels.templates.fused_loop import FOLDED
from ...kernels.templates.fused_rows import BLOCK, ROOM, STRIP, RowFold, RowStep, Stripped, fused_rows, rows_record, run_step
from ...kernels.templates.reduce import COLUMN_BLOCK, TILE, column_parts
from ...lowering.fold_walks import folds_of
from ...native.plans import MOST_OPERANDS, NUMBER_CODES, LateRecord, known
from ...ops.core import OPS
from ...tensors.layout import layout_of
from ...tensors.storage import CPU
from ..ir.ir import Node, Value
from ..ir.steps import Launch, Place, Schedule, number
from .fusion import Group, formula_of
from .rows import EIGHTS, reach
from .strips import CACHED, Ending, Partial, heavy, kernel_of_rows, merges, parted, partial_sums

__all__ = ["row_strips_of"]

LINE = 64


def row_strips_of(group: Group, stored: list[Value], endings: list[Ending], made: Schedule) -> list[tuple[int, Launch]] | None:
    """The launches of a group that folds rows, with their stages; None where operands do not lie as they need.

    Args:
        stored: what is read outside of the group, but by ``endings``.
    """
    return RowStrips(group, stored, endings, made).launches() if len(group.nodes) > 1 or endings else None


class RowStrips:
    """A group's launches while they are made.

    Attributes:
        steps: the calls of each step; all of elements, or of numbers, or one fold.
        places: how values of the group are reached.
        reads: operands from outside: the number of the pointer, and what it leads to.
        viewed: operands that are views of the group's numbers, with those.
    """

    def __init__(self, group: Group, stored: list[Value], endings: list[Ending], made: Schedule):
        self.group, self.stored, self.endings, self.made = group, stored, endings, made
        self.shape, self.dtype = group.space.shape, group.space.dtype
        self.rows, self.width = math.prod(self.shape[:-1]), self.shape[-1]
        self.partials = [partial_sums(ending, self.dtype, self.rows * self.width) for ending in endings if not ending.columns]
        self.columns = [column_sums(ending, self.rows, self.width) for ending in endings if ending.columns]
        self.writes = [*stored, *(partial.value for partial in (*self.partials, *self.columns))]
        self.reads: dict[Any, tuple[int, Place | bytes]] = {}
        self.places: dict[Value, Stripped] = {}
        read = [(value, made.window(value).place.value) for node in group.nodes for value in node.values()]
        self.viewed = {value: root for value, root in read if value is not root and root in group.inside}
        self.steps = self.parted()

    def parted(self) -> list[list[Node]]:
        """The steps: of each level first elements, then folds, then numbers."""
        level: dict[Value, int] = {}
        kinds: dict[tuple[int, int], list[Node]] = {}
        group = self.group
        for node in group.nodes:
            kind = 0 if node.outs[0] not in group.numbers else 1 if node in group.folds else 2
            at = 0
            for root in self.roots(node):
                if root in group.inside:
                    at = max(at, level[root] + (kind == 0 and root in group.numbers))
            level[node.outs[0]] = at
            kinds.setdefault((at, kind), []).append(node)
        found: list[list[Node]] = []
        for (_, kind), nodes in sorted(kinds.items(), key=lambda each: each[0]):
            found += [[node] for node in nodes] if kind == 1 else parted(nodes, self.viewed)
        return found

    def roots(self, node: Node) -> list[Value]:
        """The values that a call reads, in memory."""
        return [self.made.owner(value) for value in node.values()]

    def row_bytes(self, value: Value) -> int:
        """Bytes of a row of a value."""
        assert value.layout is not None
        return value.layout.dtype.itemsize * (1 if value in self.group.numbers else self.width)

    # ---- memory --------------------------------------------------------------------------------------------------------

    def lives(self) -> dict[Value, tuple[int, int]]:
        """For each value that has memory of a strip the step that writes it and the last that reads it."""
        at = {node.outs[0]: k for k, step in enumerate(self.steps) for node in step}
        aside = {*self.stored, *(ending.value for ending in self.endings)}
        found: dict[Value, tuple[int, int]] = {}
        for node in self.group.nodes:
            k = at[node.outs[0]]
            for root in self.roots(node):
                if root in self.group.inside and root not in aside and at[root] != k:
                    found[root] = (at[root], max(k, found.get(root, (0, 0))[1]))
        return found

    def placed(self) -> tuple[int, int] | None:
        """Give every value a place; how many rows a block and a strip have. None: too much memory."""
        for k, value in enumerate(self.stored):
            self.places[value] = Stripped(1 + k, 0, self.row_bytes(value))
        lives = self.lives()
        slots, wide = slots_of({value: life for value, life in lives.items() if value not in self.group.numbers})
        numbers = [value for value in lives if value in self.group.numbers]
        row = self.width * self.dtype.itemsize
        blocked = list(dict.fromkeys(ending.value for ending in self.endings if ending.value not in self.places))
        most = self.block_rows(row, len(blocked))
        strip = min(most, max(1, CACHED // (max(1, wide) * row)))
        room = 0
        for value in blocked:
            self.places[value] = Stripped(BLOCK, room, row)
            room += most * row
        for value, slot in slots.items():
            self.places[value] = Stripped(STRIP, room + slot * strip * row, row)
        room += wide * strip * row
        for value in numbers:
            self.places[value] = Stripped(STRIP, room, self.row_bytes(value))
            room += -(-strip * self.row_bytes(value) // LINE) * LINE
        return (most, strip) if room <= ROOM else None

    def block_rows(self, row: int, blocked: int) -> int:
        """How many rows a block has, ``blocked`` values of which wait to be folded; a part of ``COLUMN_BLOCK`` if columns are."""
        if self.partials:
            return FOLDED // self.width
        most = max(1, CACHED // (row * max(1, blocked)))
        if not self.columns:
            return min(most, self.rows)
        return min(COLUMN_BLOCK, max(EIGHTS, 1 << (most.bit_length() - 1)))

    # ---- the launch ----------------------------------------------------------------------------------------------------

    def launches(self) -> list[tuple[int, Launch]] | None:
        """See ``row_strips_of``."""
        sizes = self.placed()
        if sizes is None:
            return None
        made, nanoseconds = [], 0.0
        for nodes in self.steps:
            step = self.fold(nodes[0]) if nodes[0] in self.group.folds else self.elementwise(nodes)
            if step is None:
                return None
            if step is not NOTHING:
                made.append(step)
                nanoseconds += 0.1 if nodes[0] in self.group.folds else self.cost(nodes)
        if 1 + len(self.writes) + len(self.reads) > MOST_OPERANDS:
            return None
        loop = self.loop(made, *sizes, nanoseconds)
        merged = [each for partial in self.partials for each in merges(partial, self.rows * self.width)]
        return [(self.group.stage, loop), *merged, *(finish(partial, self.rows, self.width) for partial in self.columns)]

    def cost(self, nodes: list[Node]) -> float:
        """Nanoseconds of an element."""
        if nodes[0].outs[0] in self.group.numbers:
            return 0.0
        formula, _ = formula_of(nodes, [node.outs[0] for node in nodes if node.outs[0] in self.places], self.viewed)
        return cost(formula, self.dtype.name)

    def fold(self, node: Node) -> RowStep:
        """The step that folds rows."""
        record = known(self.group.folds[node].plan.record)
        kernel = record.lacks[0] if type(record) is LateRecord else struct.unpack_from("q", record)[0]
        (value,), (out,) = node.values(), node.outs
        root = self.made.owner(value)
        operand = self.places.get(root) or self.read(value, self.made.window(value).place, self.row_bytes(value))
        if out not in self.places:
            return NOTHING
        return RowStep(kernel, record[72:], False, 1, [self.places[out], operand])

    def elementwise(self, nodes: list[Node]) -> RowStep | None:
        """The step that computes elements, or numbers; None where an operand's elements do not lie side by side."""
        results = [node.outs[0] for node in nodes if node.outs[0] in self.places]
        if not results:
            return NOTHING
        of_numbers = nodes[0].outs[0] in self.group.numbers
        formula, operands = formula_of(nodes, results, self.viewed)
        reached = [self.reached(x, of_numbers) for x in operands]
        if None in reached:
            return None
        singles = tuple([single for _, single, _ in reached])  # type: ignore[misc]
        places = [*(self.places[value] for value in results), *(place for place, _, _ in reached)]  # type: ignore[misc]
        by_row = not all(even for _, _, even in reached)  # type: ignore[misc]
        singly = by_row and any(heavy(node.op) for node in nodes)  # in a loop over rows LLVM has too few registers for functions
        if singly or not by_row:
            kernel = elementwise_code(formula, self.dtype.name, singles)
            return RowStep(kernel, b"", singly, 1 if of_numbers else self.width, places)
        kernel = elementwise_code(formula, self.dtype.name, singles, 0, True)
        return RowStep(kernel, struct.pack(f"{1 + len(places)}q", self.width, *(place.row for place in places)), False, 1, places)

    def reached(self, x: Any, of_numbers: bool) -> tuple[Stripped, bool, bool] | None:
        """How a step reaches an operand; whether it is one element, for all or for a row; whether rows make no difference."""
        if not isinstance(x, Value):
            key = (type(x), repr(x))
            if key not in self.reads:
                self.reads[key] = (self.next, number(x, NUMBER_CODES[self.dtype.name]))
            return Stripped(self.reads[key][0], 0, 0), True, True
        window = self.made.window(x)
        root = window.place.value
        if root in self.group.inside:
            single = root in self.group.numbers and not of_numbers
            return self.places[root], single, not single
        size = window.layout.dtype.itemsize
        if of_numbers:
            single = window.layout.numel == 1
            return self.read(x, window.place, 0 if single else size), single, True
        steps = reach(window.layout, self.shape)
        if steps is None:
            return None
        return self.read(x, window.place, steps[0]), steps[1] == 0, steps in ((0, 0), (self.width * size, size))

    @property
    def next(self) -> int:
        """The number of the next pointer."""
        return 1 + len(self.writes) + len(self.reads)

    def read(self, key: Value, place: Place, row: int) -> Stripped:
        """An operand from memory."""
        if key not in self.reads:
            self.reads[key] = (self.next, place)
        return Stripped(self.reads[key][0], 0, row)

    def loop(self, steps: list[RowStep], block: int, strip: int, nanoseconds: float) -> Launch:
        """The launch of the loop."""
        folds = []
        for k, (_, ending, folded) in enumerate(self.partials):
            assert folded.piece is not None
            pointer, size = 1 + len(self.stored) + k, WIDTHS[folded.piece.out]
            folds.append(RowFold(kernel_of_rows(folded.piece), False, self.width, pointer, size, self.places[ending.value]))
        for k, (_, ending, folded) in enumerate(self.columns, len(self.partials)):
            pointer, size = 1 + len(self.stored) + k, WIDTHS[folded.fold.acc] * self.width
            folds.append(RowFold(column_code(folded.fold, False), True, self.width, pointer, size, self.places[ending.value]))
        unit = COLUMN_BLOCK if self.columns else block
        record = partial(rows_record, self.rows, unit, block, strip, steps, folds)
        grain, shared_from = thread_shares(nanoseconds)
        reads = tuple([read for _, read in self.reads.values()])
        nodes = (*self.group.nodes, *(ending.node for ending in self.endings))
        units, shared = -(-self.rows // unit), self.rows * self.width >= shared_from
        grain = max(1, grain // (unit * self.width))
        codes = [*(step.kernel for step in steps), *(fold.kernel for fold in folds)]
        return Launch(loop_address(), units, tuple(self.writes), reads, record, grain, shared, nodes, codes)


NOTHING = RowStep(0, b"", False, 0, [])  # of calls whose results nobody reads


def slots_of(lives: dict[Value, tuple[int, int]]) -> tuple[dict[Value, int], int]:
    """Memory that values share one after the other: the slot of each, and how many there are."""
    busy: list[int] = []  # the last reader of what each slot holds
    found: dict[Value, int] = {}
    for value, (first, last) in sorted(lives.items(), key=lambda each: each[1]):
        slot = next((k for k, until in enumerate(busy) if until < first), len(busy))
        busy[slot : slot + 1] = [last]
        found[value] = slot
    return found, len(busy)


# ---- columns -----------------------------------------------------------------------------------------------------------


def column_sums(ending: Ending, rows: int, width: int) -> Partial:
    """The accumulators of columns, of each block of rows."""
    node = ending.node
    (x,), (out,) = node.values(), node.outs
    assert x.layout is not None and out.layout is not None
    op: Any = node.op if getattr(node.op, "monoid", None) else OPS["sum"]
    folds = folds_of(op, x.layout.dtype, out.layout.dtype)
    return Partial(Value(layout_of(dtype_of(folds.fold.acc), (-(-rows // COLUMN_BLOCK) * width,), None, CPU)), ending, folds)


def finish(partial: Partial, rows: int, width: int) -> tuple[int, Launch]:
    """The launch that makes results of columns' accumulators, with its stage."""
    value, (node, _, stage, _), folds = partial
    record = struct.pack("4q", -(-rows // COLUMN_BLOCK), width, 1, rows)
    return stage, Launch(column_code(folds.fold, True), -(-width // TILE), (node.outs[0],), (Place(value),), record, nodes=(node,))


@late
def column_code(fold: Fold, finishes: bool) -> int:
    """Address of the kernel that takes elements into columns' accumulators, or of the one that makes results of those."""
    *parts, bindings = column_parts(fold)
    part = parts[finishes]
    return address(Program(f"{fold.name}_{part.__name__}", part, fold.dtype, bindings, True))


@late
def loop_address() -> int:
    """Address of the kernel of all loops over rows."""
    return address(Program("fused_rows", fused_rows, None, (("run_step", run_step),)))
