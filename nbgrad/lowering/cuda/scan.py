"""Scans along one dimension on a GPU, and elements picked from it or put into it.

Rows that lie one after the other are scanned by blocks, in parts if they are long; other lines by a thread each, in parts if there
are few lines. Recurrences go along a whole line, as on the CPU, whose bits they have.
"""

from __future__ import annotations

from ...base.dtypes import int64
from ...dispatch.device_fills import zeros_step
from ...dispatch.device_lowerings import on_host
from ...kernels.cuda.access import compute_dtype, itemsize
from ...kernels.cuda.accumulators import identity
from ...kernels.cuda.build import Recipe
from ...kernels.cuda.moves import bits_of
from ...kernels.cuda.picks import IN_LINE, pick, pick_in_line, place, shift
from ...kernels.cuda.scans import Scan, parts_of, scan_lines, scan_of, scan_rows, scan_tile
from ...kernels.cuda.steps import Place, Step, Steps, Workspace, out as result
from ...kernels.cuda.templates import BLOCK, Template, ceil_div
from ...ops.shapes import wrap
from ...tensors.layout import Layout
from ..lines import split_at
from ..reduce import in_dtype
from ..scan import pick_split, require_running_order, running_dim, scan_call, scan_split
from .reduce import memory_name
from .registry import lowering
from .softmax import gapless

__all__ = ["scan_steps"]

MOST_PARTS = 4096  # of a row: one block scans what they give
ALONE = 4  # tiles that one block scans
FEW_LINES, MANY = 1 << 12, 1 << 14  # lines of which each has a thread; threads that are enough
LEAST = 64  # elements of a line's part


def scan_steps(scan: Scan, layouts: tuple[Layout, ...], split: tuple[int, int, int], out: Layout, reverse: bool) -> tuple:
    """The result's layout, and the steps of a scan over ``[outer, length, width]``."""
    outer, length, width = split
    if not out.numel:
        return (out,), Steps(())
    workspace = Workspace()
    places, steps = gapless(layouts, workspace)
    passes = Passes(scan, tuple(map(memory_name, layouts)), out.dtype.name, tuple(places), reverse, workspace)
    parts_are_complex = "complex" in scan.of.dtype
    if width == 1 and not scan.alone and not parts_are_complex:
        steps += passes.over_rows(outer, length)
    else:
        steps += passes.over_lines(outer * width, length, width)
    return (out,), Steps(tuple(steps), workspace.size)


class Passes:
    """The launches of a scan: NOTE [Three passes] of kernels/cuda/scans.py."""

    def __init__(
        self, scan: Scan, inputs: tuple[str, ...], output: str, read: tuple[Place, ...], reverse: bool, workspace: Workspace
    ):
        self.scan, self.inputs, self.output, self.read = scan, inputs, output, read
        self.reverse, self.workspace = int(reverse), workspace

    def states(self, count: int) -> tuple[Place, ...]:
        """Memory for so many states."""
        return tuple([self.workspace.take(count * itemsize(dtype)) for dtype in self.scan.of.state])

    def step(self, template: Template, grid: tuple[int, ...], pointers: tuple[Place, ...], *counts: int) -> Step:
        """A launch."""
        of = self.scan.of
        return Step(Recipe(template, of.term, of.dtype, of.source()), grid, pointers, (), counts)

    def over_rows(self, rows: int, n: int) -> list[Step]:
        """Rows that lie one after the other."""
        scan, inputs, output, reverse = self.scan, self.inputs, self.output, self.reverse
        tile = scan_tile(scan, "whole")
        parts, share = (1, n) if rows >= FEW_LINES // 8 or n <= ALONE * tile else parts_of(n, MOST_PARTS, tile)
        if parts == 1:
            return [self.step(scan_rows(scan, inputs, output), (rows, 1), (result(), *self.read), n, n, reverse)]
        totals, offsets = self.states(rows * parts), self.states(rows * parts)
        return [
            self.step(scan_rows(scan, inputs, output, "totals"), (rows, parts), (*totals, *self.read), n, share, reverse),
            self.step(scan_rows(scan, inputs, output, "offsets"), (rows, 1), (*offsets, *totals), parts, parts, 0),
            self.step(
                scan_rows(scan, inputs, output, "carried"), (rows, parts), (result(), *self.read, *offsets), n, share, reverse
            ),
        ]

    def over_lines(self, lines: int, length: int, width: int) -> list[Step]:
        """Lines of columns, a thread each, or several."""
        scan, inputs, output, reverse = self.scan, self.inputs, self.output, self.reverse
        blocks, alone = ceil_div(lines, BLOCK), scan.alone or lines >= FEW_LINES or length < 2 * LEAST
        parts, share = (1, length) if alone else parts_of(length, max(1, min(MOST_PARTS, MANY // lines)), LEAST)
        if parts == 1:
            template = scan_lines(scan, inputs, output)
            return [self.step(template, (blocks, 1), (result(), *self.read), lines, length, width, length, reverse)]
        totals, offsets = self.states(lines * parts), self.states(lines * parts)
        counts = lines, length, width, share, reverse
        return [
            self.step(scan_lines(scan, inputs, output, "totals"), (blocks, parts), (*totals, *self.read), *counts),
            self.step(scan_lines(scan, inputs, output, "offsets"), (blocks, 1), (*offsets, *totals), lines, parts, lines, parts, 0),
            self.step(scan_lines(scan, inputs, output, "carried"), (blocks, parts), (result(), *self.read, *offsets), *counts),
        ]


@lowering("scan_sum", "scan_product")
def _scan(op, layouts, attributes):
    x, dtype = layouts[0], attributes["dtype"]
    if (steps := in_dtype(x, dtype)) is not None:
        return steps
    name, _, dim, out = scan_call(op, x, attributes)
    scan = scan_of(name, compute_dtype(memory_name(x)))
    return scan_steps(scan, layouts, scan_split(name, x, dim), out, attributes["reverse"])


@lowering("recurrence")
def _recurrence(op, layouts, attributes):
    x = layouts[0]
    scan = scan_of("recurrence_lagged" if attributes["lagged"] else "recurrence", compute_dtype(memory_name(x)))
    return scan_steps(scan, layouts, scan_split("recurrence", x, attributes["dim"]), x.like(), attributes["reverse"])


@lowering("running_indices")
def _running_indices(op, layouts, attributes):
    (x,) = layouts
    require_running_order(x)
    split = split_at(x.shape, wrap("cummax", attributes["dim"], x.ndim))
    scan = scan_of("greatest" if attributes["largest"] else "smallest", compute_dtype(memory_name(x)))
    return scan_steps(scan, layouts, split, x.like(int64), False)


@lowering("running_logsumexp")
def _running_logsumexp(op, layouts, attributes):
    (x,) = layouts
    if x.dtype.is_complex:
        return on_host
    split = split_at(x.shape, running_dim(x, attributes["dim"]))
    return scan_steps(scan_of("logsumexp", compute_dtype(x.dtype.name)), layouts, split, x.like(), False)


# ---- moves -------------------------------------------------------------------------------------------------------------


def move(template: Template, places: list[Place], *counts: int) -> Step:
    """The launch of a move: a thread for each of ``counts[0]`` elements."""
    recipe = Recipe(template, identity, compute_dtype(template.pointers[0]))
    return Step(recipe, (ceil_div(counts[0], BLOCK),), (result(), *places), (), counts)


@lowering("shift_along")
def _shift(op, layouts, attributes):
    (x,) = layouts
    out, workspace = x.like(), Workspace()
    _, length, width = split_at(x.shape, wrap("shift", attributes["dim"], x.ndim))
    if not out.numel:
        return (out,), Steps(())
    places, steps = gapless(layouts, workspace)
    steps.append(move(shift(bits_of(x.dtype.itemsize)), places, x.numel, length, width, attributes["by"]))
    return (out,), Steps(tuple(steps), workspace.size)


@lowering("pick", "place")
def _pick(op, layouts, attributes):
    x, index = layouts
    (_, length, width), count, out = pick_split(op, x, index, attributes)
    workspace, size = Workspace(), x.dtype.itemsize
    zeros = zeros_step(out.numel * size, size) if op.name == "place" else None
    if not index.numel:
        return (out,), Steps(() if zeros is None else (zeros,))
    places, steps = gapless(layouts, workspace)
    steps += [] if zeros is None else [zeros]
    if op.name == "pick" and width == 1 and count == index.numel:  # of one line
        recipe = Recipe(pick_in_line(bits_of(size)), identity, compute_dtype(bits_of(size)))
        steps.append(Step(recipe, (ceil_div(count, BLOCK * IN_LINE),), (result(), *places), (), (count,)))
        return (out,), Steps(tuple(steps), workspace.size)
    template = (pick if op.name == "pick" else place)(bits_of(size))
    steps.append(move(template, places, index.numel, length, width, count))
    return (out,), Steps(tuple(steps), workspace.size)
