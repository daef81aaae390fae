"""Bytes that steps move: what lies in memory, each element once."""

from __future__ import annotations

import nbgrad
from nbgrad.jit.execution.costs import bytes_in, measured


def test_elements_at_one_place_count_once():
    """A spread tensor is what it is spread from; an empty one is nothing."""
    assert bytes_in(nbgrad.ones(3, 4).layout) == 48
    assert bytes_in(nbgrad.ones(4).expand(3, 4).layout) == 16
    assert bytes_in(nbgrad.ones(0, 4).layout) == bytes_in(nbgrad.ones(1, 4).expand(0, 4).layout) == 0
    assert bytes_in(None) == 0


def test_time_is_measured_to_the_end_of_the_block():
    """And what was compiled in it is counted: nothing here."""
    with measured() as cost:
        sum(range(1000))
    assert cost.seconds > 0 and cost.objects == 0
    assert repr(cost).endswith("no objects compiled")
