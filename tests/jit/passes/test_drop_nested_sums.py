"""Reductions of reductions are one where numbers may be combined in any order."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit.passes.drop_nested_sums import drop_nested_sums
from nbgrad.jit.passes.eliminate_dead import eliminate_dead
from tests.jit.passes.before_after import passed

N = nbgrad.tensor(np.arange(24).reshape(2, 3, 4) - 7)
X = nbgrad.tensor(np.linspace(-1, 1, 24).reshape(2, 3, 4))


def dropped(graph):
    """Nested reductions dropped, and those that nobody reads any more."""
    drop_nested_sums(graph)
    eliminate_dead(graph)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.sum(1).sum(1),
        lambda x: x.sum(0).sum(-1),
        lambda x: x.sum(0).sum(0).sum(0),
        lambda x: x.sum((0, 2)).sum(),
        lambda x: x.sum(1, keepdim=True).sum((0, 1), keepdim=True),
        lambda x: x.prod(2).prod(0),
        lambda x: x.amax(1).amax(0),
        lambda x: x.amin((0, 1)).amin(0),
        lambda x: (x > 3).any(0).any(1),
        lambda x: x.all(1).all(),
    ],
)
def test_nested_reductions_of_integers_are_one(fn):
    """Over all their dimensions, those that are kept too."""
    assert len([name for name in passed(dropped, fn, N) if name != "gt"]) == 1


def test_truths_of_floating_numbers():
    """Whatever is folded, these are truth values."""
    assert passed(dropped, lambda x: x.any(0).any(0), X) == ["any"]


@pytest.mark.parametrize(
    ("fn", "x"),
    [
        (lambda x: x.sum(1).sum(1), X),
        (lambda x: x.amax(1).amax(1), X),
        (lambda x: x.mean(1).mean(1), X),
        (lambda n: n.count_nonzero(0).count_nonzero(), N),
        (lambda n: n.sum(1).amax(1), N),
        (lambda n: n.sum(1, keepdim=True).sum(0), N),
        (lambda n: n.sum(1, dtype=nbgrad.int32).sum(1), N),
        (lambda n: ((y := n.sum(1)).sum(1), y), N),
    ],
)
def test_what_rounds_counts_or_is_read_elsewhere_stays(fn, x):
    """Another order of floating numbers is another sum; counts of counts are none of elements."""
    assert len(passed(dropped, fn, x)) == 2
