"""Loops over rows, strip by strip: NOTE [Strips of rows] of kernels/templates/fused_rows.py.

A group of calls (fusion.py) that folds rows is parted into steps: elements, the folds of rows, what becomes of their numbers, then
the elements that need those, and so on. Every fold is the kernel that folds alone, so all bits are those of the calls.
"""

from __future__ import annotations

import math
import struct
from functools import partial
from typing import Any

from ..base.dtypes import WIDTHS
from ..dispatch.plans import cost, elementwise_code, thread_shares
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.fused_loop import FOLDED
from ..kernels.templates.fused_rows import BLOCK, ROOM, STRIP, RowFold, RowStep, Stripped, fused_rows, rows_record, run_step
from ..native.plans import MOST_OPERANDS, NUMBER_CODES, LateRecord, known
from .fusion import Group, formula_of
from .ir import Node, Value
from .rows import reach
from .steps import Launch, Place, Schedule, number
from .strips import Ending, kernel_of_rows, merges, parted, partial_sums

__all__ = ["row_strips_of"]

CACHED = 32768  # bytes that the strips of a loop have together
LINE = 64


def row_strips_of(group: Group, stored: list[Value], endings: list[Ending], made: Schedule) -> list[tuple[int, Launch]] | None:
    """The launches of a group that folds rows, with their stages; None where operands do not lie as they need.

    Args:
        stored: what is read outside of the group, but by ``endings``.
    """
    return RowStrips(group, stored, endings, made).launches() if len(group.nodes) > 1 else None


class RowStrips:
    """A group's launches while they are made.

    Attributes:
        steps: the calls of each step; all of elements, or of numbers, or one fold.
        places: how values of the group are reached.
        reads: operands from outside: the number of the pointer, and what it leads to.
    """

    def __init__(self, group: Group, stored: list[Value], endings: list[Ending], made: Schedule):
        self.group, self.stored, self.endings, self.made = group, stored, endings, made
        self.shape, self.dtype = group.space.shape, group.space.dtype
        self.rows, self.width = math.prod(self.shape[:-1]), self.shape[-1]
        self.partials = [partial_sums(ending, self.dtype, self.rows * self.width) for ending in endings]
        self.writes = [*stored, *(partial.value for partial in self.partials)]
        self.reads: dict[Any, tuple[int, Place | bytes]] = {}
        self.places: dict[Value, Stripped] = {}
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
            found += [[node] for node in nodes] if kind == 1 else parted(nodes)
        return found

    def roots(self, node: Node) -> list[Value]:
        """The values that a call reads, in memory."""
        return [self.made.window(value).place.value for value in node.values()]

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
        most = FOLDED // self.width if self.endings else max(1, min(self.rows, CACHED // row))
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
        return [(self.group.stage, loop), *(each for partial in self.partials for each in merges(partial, self.rows * self.width))]

    def cost(self, nodes: list[Node]) -> float:
        """Nanoseconds of an element."""
        if nodes[0].outs[0] in self.group.numbers:
            return 0.0
        formula, _ = formula_of(nodes, [node.outs[0] for node in nodes if node.outs[0] in self.places])
        return cost(formula, self.dtype.name)

    def fold(self, node: Node) -> RowStep:
        """The step that folds rows."""
        record = known(self.group.folds[node].plan.record)
        kernel = record.lacks[0] if type(record) is LateRecord else struct.unpack_from("q", record)[0]
        (value,), (out,) = node.values(), node.outs
        root = self.made.window(value).place.value
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
        formula, operands = formula_of(nodes, results)
        found = [self.reached(x, of_numbers) for x in operands]
        if None in found:
            return None
        reached: list[tuple[Stripped, bool]] = [each for each in found if each is not None]
        singles = tuple([single for _, single in reached])
        places = [*(self.places[value] for value in results), *(place for place, _ in reached)]
        by_row = not of_numbers and any(single != (not place.row) for place, single in reached)
        kernel = elementwise_code(formula, self.dtype.name, singles)
        return RowStep(kernel, b"", by_row, 1 if of_numbers else self.width, places)

    def reached(self, x: Any, of_numbers: bool) -> tuple[Stripped, bool] | None:
        """How a step reaches an operand, and whether it is one element: for all, or for those of a row."""
        if not isinstance(x, Value):
            key = (type(x), repr(x))
            if key not in self.reads:
                self.reads[key] = (self.next, number(x, NUMBER_CODES[self.dtype.name]))
            return Stripped(self.reads[key][0], 0, 0), True
        window = self.made.window(x)
        root = window.place.value
        if root in self.group.inside:
            return self.places[root], root in self.group.numbers and not of_numbers
        size = window.layout.dtype.itemsize
        if of_numbers:
            single = window.layout.numel == 1
            return self.read(x, window.place, 0 if single else size), single
        steps = reach(window.layout, self.shape)
        return None if steps is None else (self.read(x, window.place, steps[0]), steps[1] == 0)

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
        record = partial(rows_record, self.rows, block, block, strip, steps, folds)
        grain, shared_from = thread_shares(nanoseconds)
        reads = tuple([read for _, read in self.reads.values()])
        nodes = (*self.group.nodes, *(ending.node for ending in self.endings))
        units, shared = -(-self.rows // block), self.rows * self.width >= shared_from
        grain = max(1, grain // (block * self.width))
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


@late
def loop_address() -> int:
    """Address of the kernel of all loops over rows."""
    return address(Program("fused_rows", fused_rows, None, (("run_step", run_step),)))
