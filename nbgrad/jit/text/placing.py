"""Boxes in layers, from top to bottom, so that edges go down and cross seldom: where they lie, and by which way edges go.

The usual three steps: a layer for each box, an order within each layer by the mean of the neighbours, and places as near to the
neighbours as the order allows. An edge over several layers keeps a gap free in each of them.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

__all__ = ["Placed", "place"]

ACROSS, BETWEEN, ORDERINGS, SHIFTS = 24.0, 54.0, 12, 24  # gaps between boxes and between layers, numbers of sweeps
GAP = 10.0  # width that an edge keeps free
Point = tuple[float, float]


class Placed(NamedTuple):
    """Where everything lies.

    Attributes:
        corners: left upper corners of the boxes.
        ways: for each edge the points between its ends, two for each layer that it passes.
        width, height: of all.
    """

    corners: list[Point]
    ways: list[list[Point]]
    width: float
    height: float


class Slot:
    """A box, or the gap that an edge keeps free in a layer.

    Attributes:
        above, below: slots of the neighbouring layers that it is connected with.
        x: of its middle.
    """

    __slots__ = ("width", "height", "layer", "above", "below", "x")

    def __init__(self, width: float, height: float, layer: int):
        self.width, self.height, self.layer = width, height, layer
        self.above: list[Slot] = []
        self.below: list[Slot] = []
        self.x = 0.0


def place(sizes: Sequence[Point], edges: Sequence[tuple[int, int]], late: Sequence[int] = ()) -> Placed:
    """Place boxes.

    Args:
        sizes: widths and heights; a box stands behind those from which edges come to it.
        edges: from box to box.
        late: boxes without edges to them that stand directly above the first that they lead to, and not on top; what follows from
            them alone moves along.
    """
    layers = layers_of(len(sizes), edges, late)
    boxes = [Slot(width, height, layer) for (width, height), layer in zip(sizes, layers)]
    gaps = connect(boxes, edges)
    rows: list[list[Slot]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for slot in (*boxes, *gaps.values()):
        rows[slot.layer].append(slot)
    order(rows)
    shift(rows)
    left = min((slot.x - slot.width / 2 for row in rows for slot in row), default=0.0)
    right = max((slot.x + slot.width / 2 for row in rows for slot in row), default=0.0)
    tops, y = [], 0.0
    for row in rows:
        tops.append(y)
        y += max(slot.height for slot in row) + BETWEEN
    heights = [max(slot.height for slot in row) for row in rows]
    corners = [(box.x - box.width / 2 - left, tops[box.layer] + (heights[box.layer] - box.height) / 2) for box in boxes]
    ways = [
        [
            (gaps[start, layer].x - left, y)
            for layer in range(layers[start] + 1, layers[end])
            for y in (tops[layer], tops[layer] + heights[layer])
        ]
        for start, end in edges
    ]
    return Placed(corners, ways, right - left, max(y - BETWEEN, 0.0))


def layers_of(count: int, edges: Sequence[tuple[int, int]], late: Sequence[int]) -> list[int]:
    """The layer of each box: below all that lead to it; of what follows from late boxes alone, directly above where it leads to."""
    layers, below, above = [0] * count, [list[int]() for _ in range(count)], [list[int]() for _ in range(count)]
    for start, end in sorted(edges, key=lambda edge: edge[1]):
        layers[end] = max(layers[end], layers[start] + 1)
        below[start].append(end)
        above[end].append(start)
    moving = set(late)
    for box in range(count):
        if above[box] and moving.issuperset(above[box]):
            moving.add(box)
    for box in sorted(moving, reverse=True):
        if below[box]:
            layers[box] = max(min(layers[end] for end in below[box]) - 1, layers[box])
    return layers


def connect(boxes: Sequence[Slot], edges: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Slot]:
    """Connect neighbours; the gaps that edges keep free, by where they start and by layer: those of one box share them."""
    gaps: dict[tuple[int, int], Slot] = {}
    for start, end in edges:
        last = boxes[start]
        for layer in range(boxes[start].layer + 1, boxes[end].layer):
            if (start, layer) not in gaps:
                gaps[start, layer] = Slot(GAP, 0.0, layer)
                join(last, gaps[start, layer])
            last = gaps[start, layer]
        join(last, boxes[end])
    return gaps


def join(upper: Slot, lower: Slot) -> None:
    """Make neighbours."""
    upper.below.append(lower)
    lower.above.append(upper)


def order(rows: list[list[Slot]]) -> None:
    """Order each layer by the mean place of its neighbours, downwards and upwards in turn."""
    places = {slot: float(k) for row in rows for k, slot in enumerate(row)}
    for sweep in range(ORDERINGS):
        for row in rows if sweep % 2 == 0 else reversed(rows):

            def mean(slot: Slot, down: bool = sweep % 2 == 0) -> float:
                near = slot.above if down else slot.below
                return sum(places[x] for x in near) / len(near) if near else places[slot]

            row.sort(key=mean)
            places.update((slot, float(k)) for k, slot in enumerate(row))


def shift(rows: list[list[Slot]]) -> None:
    """Move boxes towards their neighbours, as far as the order of their layer allows."""
    for row in rows:
        settle(row, [0.0] * len(row))
    for sweep in range(SHIFTS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = []
            for slot in row:
                near = (slot.above if sweep % 2 == 0 else slot.below) or slot.above or slot.below
                wanted.append(sum(x.x for x in near) / len(near) if near else slot.x)
            settle(row, wanted)


def settle(row: list[Slot], wanted: Sequence[float]) -> None:
    """Put a layer's boxes as near to the wanted places as possible, without overlap: least squares under an order."""
    offsets, offset = [], 0.0
    for k, slot in enumerate(row):
        offset += (row[k - 1].width + slot.width) / 2 + ACROSS if k else 0.0
        offsets.append(offset)
    groups: list[list[float]] = []  # sums and numbers of wanted places of boxes that touch
    for place, offset in zip(wanted, offsets):
        groups.append([place - offset, 1.0])
        while len(groups) > 1 and groups[-2][0] * groups[-1][1] > groups[-1][0] * groups[-2][1]:
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    places = (total / count for total, count in groups for _ in range(int(count)))
    for slot, offset, place in zip(row, offsets, places):
        slot.x = place + offset
