"""Boxes in layers: edges go down, boxes do not overlap, and neighbours are near."""

from __future__ import annotations

import random

import pytest

from nbgrad.jit.text.placing import Placed, place

SIZE = (50.0, 20.0)


def overlap(placed: Placed, sizes: list[tuple[float, float]]) -> bool:
    """Whether two boxes do."""
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(placed.corners, sizes)]
    return any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for k, a in enumerate(boxes) for b in boxes[:k])


@pytest.mark.parametrize("seed", range(10))
def test_boxes_of_random_graphs_lie_apart_within_the_picture_and_edges_go_down(seed):
    """The three things that make a drawing readable."""
    rng = random.Random(seed)
    count = rng.randrange(1, 40)
    edges = [(rng.randrange(end), end) for end in range(1, count) for _ in range(rng.randrange(4))]
    sizes = [(rng.uniform(20, 200), rng.uniform(10, 90)) for _ in range(count)]
    late = [k for k in range(count) if not any(end == k for _, end in edges) and rng.random() < 0.5]
    placed = place(sizes, edges, late)
    assert not overlap(placed, sizes)
    for (x, y), (w, h) in zip(placed.corners, sizes, strict=True):
        assert x > -1e-6 and y > -1e-6 and x + w < placed.width + 1e-6 and y + h < placed.height + 1e-6
    for (start, end), way in zip(edges, placed.ways, strict=True):
        heights = [placed.corners[start][1] + sizes[start][1], *(y for _, y in way), placed.corners[end][1]]
        assert heights == sorted(heights)


def test_a_chain_is_a_straight_line():
    """Every box stands below the one before."""
    placed = place([SIZE] * 5, [(k, k + 1) for k in range(4)])
    assert len({x for x, _ in placed.corners}) == 1
    assert placed.height == 5 * 20 + 4 * 54


def test_an_edge_over_several_layers_goes_round_the_boxes_between():
    """It has a way of its own through each of them."""
    placed = place([SIZE] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert len(placed.ways[3]) == 4  # in and out of two layers
    for x, _ in placed.ways[3]:
        assert all(not left <= x <= left + 50 for left, _ in placed.corners[1:3])


def test_crossings_are_avoided():
    """Two pairs whose lower boxes come in the wrong order."""
    placed = place([SIZE] * 4, [(0, 3), (1, 2)])
    assert (placed.corners[0][0] < placed.corners[1][0]) is (placed.corners[3][0] < placed.corners[2][0])


def test_late_boxes_stand_above_their_first_reader():
    """A constant that is read at the end is not drawn on top."""
    placed = place([SIZE] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)], late=[4])
    assert placed.corners[4][1] == placed.corners[2][1]


def test_nothing_takes_no_room():
    """Of an empty graph."""
    assert place([], []) == Placed([], [], 0.0, 0.0)
