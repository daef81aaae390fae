"""Drawings of graphs: SVG, written by hand.

Inputs and outputs are round, constants grey, calls boxes, and control nodes frames around their blocks. Edges carry names and
shapes, and are blue where gradients flow. What a call says in full, and its line, show where the pointer rests.
"""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Sequence

from ...base.errors import ArgumentError, require_path
from ...ops.core import Op
from ..ir.ir import Block, Control, Node, Value, values_in
from ..ir.literals import constant_text, is_inline, literal, type_text
from .drawing_layout import Point, place
from .text import Printer, ordered

__all__ = ["drawing", "write_drawing"]

CHARACTER, LINE, MARGIN = 7.3, 16.0, 24.0
LONGEST, WIDEST = 30, 60  # characters of the arguments of a call, and of a control node
STYLE = """
text { font: 12px ui-monospace, Menlo, Consolas, monospace; text-anchor: middle; fill: #1f2328; }
.small { font-size: 11px; fill: #57606a; }
.label { font-size: 11px; fill: #57606a; text-anchor: start; }
.halo { stroke: #fff; stroke-width: 4px; stroke-linejoin: round; }
.name { font-weight: bold; }
.title { text-anchor: start; font-weight: bold; fill: #8250df; }
rect { stroke-width: 1.2; }
.call { fill: #fff; stroke: #57606a; }
.input { fill: #ddf4ff; stroke: #0969da; }
.output { fill: #dafbe1; stroke: #1a7f37; }
.constant { fill: #f0f0f0; stroke: #a0a6ad; }
.outer { fill: #fff; stroke: #a0a6ad; stroke-dasharray: 3 3; }
.control { fill: #fbf7ff; stroke: #8250df; }
.block { fill: #fff; stroke: #d8c8f5; }
path { fill: none; stroke: #8c959f; stroke-width: 1.2; }
.gradient { stroke: #0969da; }
"""


class Item(NamedTuple):
    """A box.

    Attributes:
        kind: its class in STYLE.
        lines: what stands in it.
        tip: what shows when the pointer rests on it.
        reads: values that lead to it.
        gives: values that come from it.
        inside: what a frame holds.
    """

    kind: str
    lines: list[str]
    tip: str
    reads: Sequence[Value] = ()
    gives: Sequence[Value] = ()
    inside: Sequence[tuple[str, Picture]] = ()

    def size(self) -> Point:
        """Width and height."""
        if self.inside:
            width = sum(picture.width + 2 * MARGIN for _, picture in self.inside) + MARGIN
            return max(width, self.text_width()), max(p.height for _, p in self.inside) + 2 * MARGIN + 2 * LINE + 8
        return self.text_width(), LINE * len(self.lines) + 12

    def text_width(self) -> float:
        """What its longest line takes."""
        longest = max(map(len, self.lines)) if not self.inside else len("  ".join(self.lines)) + 2
        return max(44.0, CHARACTER * longest + 20)


class Picture(NamedTuple):
    """Elements of SVG, and the room that they take."""

    elements: list[str]
    width: float
    height: float


def write_drawing(block: Block, constants: Sequence[Value], path: Any, name: str = "graph", limit: int = 500) -> None:
    """Write the drawing of a block to a file.

    Raises:
        ArgumentError: it is no path, or called as files of another format are.
    """
    require_path("draw", path)
    if Path(path).suffix.lower() not in ("", ".svg"):
        raise ArgumentError(
            f"draw: {str(path)!r} is not called as a drawing in SVG is. Hint: {str(Path(path).with_suffix('.svg'))!r}, which "
            "browsers show; programs like rsvg-convert and Inkscape make other formats of it."
        )
    Path(path).write_text(drawing(block, constants, name, limit), encoding="utf-8", errors="backslashreplace")


def drawing(block: Block, constants: Sequence[Value] = (), name: str = "graph", limit: int = 500) -> str:
    """The drawing of a block, as the text of an SVG file.

    Args:
        limit: how many calls of each block are drawn; a line above says how many are not.
    """
    printer = Printer(block, constants)
    list(printer.function(block, name, "", constants))  # gives the names that the text has
    artist = Artist(printer, usual_dtype(block), limit)
    picture = artist.picture(block, constants)
    width, height = max(picture.width, CHARACTER * len(artist.note(name))) + 2 * MARGIN, picture.height + 2 * MARGIN + LINE + 8
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
    )
    return "\n".join(
        [
            head,
            f"<title>{escape(name)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
            f'<text x="{MARGIN}" y="{MARGIN}" class="small" style="text-anchor: start">{escape(artist.note(name))}</text>',
            f'<g transform="translate({MARGIN}, {MARGIN + LINE + 8})">',
            *picture.elements,
            "</g>",
            "</svg>\n",
        ]
    )


def usual_dtype(block: Block) -> str:
    """The dtype that most values have, which labels leave out."""
    found = Counter(value.layout.dtype.name for value in block.defined() if value.layout is not None)
    return found.most_common(1)[0][0] if found else ""


class Artist:
    """Draws blocks.

    Attributes:
        printer: knows names and statements.
        usual: the dtype that labels leave out.
        limit: how many calls of a block are drawn; ``left_out``: how many were not.
    """

    def __init__(self, printer: Printer, usual: str, limit: int):
        self.printer, self.usual, self.limit, self.left_out = printer, usual, limit, 0

    def note(self, name: str) -> str:
        """What stands above."""
        parts = [f"{self.usual} where nothing else is said"] if self.usual else []
        parts += [f"{self.left_out:,} more calls are not drawn"] if self.left_out else []
        return f"{name}: {', '.join(parts)}" if parts else name

    # ---- boxes -----------------------------------------------------------------------------------------------------

    def items(self, block: Block, constants: Sequence[Value]) -> Iterator[Item]:
        """The boxes of a block, each behind those that lead to it."""
        for value in block.inputs:
            yield Item("input", [self.printer.use(value), self.shape(value)], self.typed(value), (), (value,))
        nodes = block.nodes[: self.limit]
        self.left_out += len(block.nodes) - len(nodes)
        needed = {x: None for node in nodes for x in self.read(node)} | dict.fromkeys(values_in(tuple(block.outputs)))
        own = set(block.defined())
        for value in needed:
            if value not in own:
                kind = "constant" if value in constants else "outer"
                text = self.constant(value) if kind == "constant" else self.printer.use(value)
                yield Item(kind, [text, self.shape(value)], self.typed(value), (), (value,))
        for node in nodes:
            inside = [(f"block {k}", self.picture(inner, ())) for k, inner in enumerate(node.blocks)]
            kind = "control" if isinstance(node.op, Control) else "call"
            yield Item(kind, self.call_lines(node), self.statement(node), self.read(node), tuple(node.outs), inside)
        drawn = {value for node in nodes for value in node.outs}
        for k, x in enumerate(block.outputs):
            values = tuple(values_in(x))
            if all(value in drawn or value not in own or value.node is None for value in values):
                text = f"output {k}" if values else f"output {k}: {literal(x)}"
                yield Item("output", [text], ", ".join(map(self.typed, values)), values)

    def read(self, node: Node) -> tuple[Value, ...]:
        """What leads to a node: its operands, and what its blocks read from around them."""
        return (*node.values(), *dict.fromkeys(value for block in node.blocks for value in block.free()))

    def call_lines(self, node: Node) -> list[str]:
        """The operation, and those of its arguments that are no values and not as usual."""
        arguments = ["·" if isinstance(x, Value) else self.printer.argument(x) for x in node.ins]
        if all(x == "·" for x in arguments):
            arguments = []
        defaults = node.op.signature.parameters if isinstance(node.op, Op) else {}
        for name, x in ordered(node):
            usual = [literal(defaults[name].default)] if name in defaults else ["None", "False"]
            if literal(x) not in usual or isinstance(x, (tuple, list)):
                arguments.append(f"{name}={self.printer.argument(x)}")
        text, longest = ", ".join(arguments), WIDEST if node.blocks else LONGEST
        return [node.name, *([text if len(text) <= longest else text[: longest - 1] + "…"] if text else [])]

    def statement(self, node: Node) -> str:
        """A node as the text says it, and where it comes from."""
        lines = [line for line in self.printer.statement(node, "") if not line.lstrip().startswith("#")]
        return "\n".join([*(lines[-1:] if node.blocks else lines), node.line or "unknown line"])

    def constant(self, value: Value) -> str:
        """What stands in the box of a constant: a number, few elements, or a name."""
        text = constant_text(value) if is_inline(value) else ""
        text = re.split(r"[.](?:full|of)[(]", text)[1][:-1] if ".bits(" not in text and text else ""
        return text if text and len(text) <= LONGEST else self.printer.use(value)

    def typed(self, value: Value) -> str:
        """Name and type."""
        return f"{self.printer.use(value)}: {type_text(value.layout, value.requires_grad)}"

    def shape(self, value: Value) -> str:
        """The shape, and the dtype where it is another than usual."""
        layout = value.layout
        return "?" if layout is None else f"{layout.dtype.name * (layout.dtype.name != self.usual)}{list(layout.shape)}"

    # ---- elements --------------------------------------------------------------------------------------------------

    def picture(self, block: Block, constants: Sequence[Value]) -> Picture:
        """The boxes of a block, the edges between them, and their labels."""
        items = list(self.items(block, constants))
        source = {value: (k, nr) for k, item in enumerate(items) for nr, value in enumerate(item.gives)}
        edges = [(source[x], (k, nr), x) for k, item in enumerate(items) for nr, x in enumerate(item.reads) if x in source]
        sizes = [item.size() for item in items]
        late = [k for k, item in enumerate(items) if item.kind in ("constant", "outer")]
        placed = place(sizes, [(start[0], end[0]) for start, end, _ in edges], late)

        def port(which: tuple[int, int], count: int, bottom: bool) -> Point:
            (k, nr), (x, y) = which, placed.corners[which[0]]
            return x + sizes[k][0] * (nr + 1) / (count + 1), y + sizes[k][1] * bottom

        elements, labelled = [], set[Value]()
        for (start, end, value), way in zip(edges, placed.ways):
            first, last = port(start, len(items[start[0]].gives), True), port(end, len(items[end[0]].reads), False)
            style = ' class="gradient"' * (value.requires_grad is True)
            elements.append(f'<path{style} d="{curve([first, *way, last])}"><title>{escape(self.typed(value))}</title></path>')
        for item, corner, size in zip(items, placed.corners, sizes):
            elements += self.box(item, corner, size)
        width = placed.width
        for start, _, value in edges:
            if value not in labelled and value.node is not None:  # others have their shapes in their boxes
                labelled.add(value)
                x, y = port(start, len(items[start[0]].gives), True)
                down = 12 + 12 * (start[1] % 3)  # of several results one beneath the other
                text, at = f"{self.printer.use(value)} {self.shape(value)}", f'x="{x + 5:.1f}" y="{y + down:.1f}"'
                elements += (f'<text class="label{style}" {at}>{escape(text)}</text>' for style in (" halo", ""))
                width = max(width, x + 5 + CHARACTER * len(text))
        return Picture(elements, width, placed.height)

    def box(self, item: Item, corner: Point, size: Point) -> Iterator[str]:
        """A box, or a frame with what it holds."""
        (x, y), (width, height) = corner, size
        round_ = 14 if item.kind in ("input", "output") else 4
        yield f"<g><title>{escape(item.tip)}</title>"
        yield f'<rect class="{item.kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_:.1f}"/>'
        if item.inside:
            yield f'<text class="title" x="{x + 10:.1f}" y="{y + 17:.1f}">{escape("  ".join(item.lines))}</text>'
        else:
            for k, line in enumerate(item.lines):
                style = "small" if k else "name" if item.kind in ("call", "control") else "plain"
                yield (f'<text class="{style}" x="{x + width / 2:.1f}" y="{y + 18 + LINE * k:.1f}">{escape(line)}</text>')
        yield "</g>"
        across = x + MARGIN
        for name, picture in item.inside:
            top, high = y + LINE + 8, height - LINE - 16
            wide = picture.width + 24
            yield f'<rect class="block" x="{across - 8:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="4"/>'
            yield f'<text class="small" style="text-anchor: start" x="{across:.1f}" y="{top + 14:.1f}">{escape(name)}</text>'
            yield f'<g transform="translate({across + 4:.1f}, {top + MARGIN:.1f})">'
            yield from picture.elements
            yield "</g>"
            across += picture.width + 2 * MARGIN


def curve(points: Sequence[Point]) -> str:
    """A path through points that leaves and reaches each of them upright."""
    text = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x, y), (u, v) in zip(points, points[1:]):
        middle = (y + v) / 2
        text += f" V{v:.1f}" if x == u else f" C{x:.1f},{middle:.1f} {u:.1f},{middle:.1f} {u:.1f},{v:.1f}"
    return text
