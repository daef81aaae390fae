"""What tests of passes share: a graph before and after one, and that both give the same bits."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from nbgrad import Tensor
from nbgrad.base import config
from nbgrad.jit import Graph, trace

# Numbers at which careless algebra shows, among plain ones.
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.0, 5e-324])


def assert_same_bits(got: Any, want: Any) -> None:
    """Equal layouts and elements, zeros of equal signs; NaN is NaN."""
    assert (got.layout.dtype, got.layout.shape, got.layout.strides) == (want.layout.dtype, want.layout.shape, want.layout.strides)
    x, y = got.detach().numpy(), want.detach().numpy()
    np.testing.assert_array_equal(x, y)
    if x.dtype.kind in "fc":
        known = ~np.isnan(y)
        np.testing.assert_array_equal(np.signbit(x.real)[known], np.signbit(y.real)[known])


def after(run_pass: Callable, graph: Graph, *xs: Tensor) -> Graph:
    """The graph after a pass, which is checked, and to give what the graph before gives."""
    made, _ = graph.copy()
    before, config.CHECK = config.CHECK, True
    try:
        run_pass(made)
    finally:
        config.CHECK = before
    for got, want in zip(made(*xs), graph(*xs), strict=True):
        assert_same_bits(got, want)
    return made


def names(graph: Graph) -> list[str]:
    """The operations of a graph, in order."""
    return [node.name for node in graph.nodes]


def passed(run_pass: Callable, fn: Callable, *xs: Tensor) -> list[str]:
    """The operations that are left of a function."""
    return names(after(run_pass, trace(fn, *xs), *xs))
