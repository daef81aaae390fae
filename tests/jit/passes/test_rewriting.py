"""What passes know of views while values take the place of others."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import trace
from nbgrad.jit.passes.drop_stops import drop_stops
from nbgrad.jit.passes.fold_constants import fold_constants
from nbgrad.jit.passes.forward_identities import forward_identities
from nbgrad.jit.passes.merge_calls import merge_calls
from nbgrad.jit.passes.move_signs import move_signs
from nbgrad.jit.passes.rewriting import places_in

STEPS = {
    "rows": lambda x: x[1:3].reshape(2, 2) if x.numel() == 8 else x[:2],
    "turned": lambda x: x.t(),
    "flat": lambda x: x.reshape(x.shape[1], x.shape[0]),
    "copy": lambda x: x.clone(),
    "same": lambda x: x * 1,
    "signs": lambda x: x.neg().neg(),
    "stopped": lambda x: x.detach(),
    "product": lambda x: x * x,
    "written": lambda x: x.clone().add_(1),
    "part": lambda x: written(x.clone()),
    "ones": lambda x: x * nbgrad.ones(()),
}


def written(x):
    """The first row overwritten."""
    x[:1] = 2.0
    return x


def random_graph(seed):
    """A graph of views, copies and writes, of which several are equal."""
    draw = np.random.default_rng(seed)
    calls = [(int(draw.integers(0, k + 1)), str(draw.choice([*STEPS]))) for k in range(12)]
    picks = [int(k) for k in draw.integers(0, 13, 4)]

    def fn(x):
        values = [x]
        for k, name in calls:
            values.append(STEPS[name](values[k]))
        return tuple(values[k] * 2 for k in picks)

    return trace(fn, nbgrad.ones(2, 4, requires_grad=True))


@pytest.mark.parametrize("seed", range(40))
def test_windows_are_those_of_the_graph_as_it_is(seed):
    """Behind every pass, in any order, what is noted of views is what a look at the whole graph finds."""
    graph = random_graph(seed)
    graph.places = places_in(graph)
    passes = [fold_constants, forward_identities, move_signs, merge_calls, drop_stops]
    for k in np.random.default_rng(seed).permutation([*range(len(passes))] * 2):
        passes[k](graph)
        found = places_in(graph)
        for node in graph.nodes:
            for value in node.outs:
                assert graph.places.window(value) == found.window(value), f"{passes[k].__name__}: {node.name}\n{graph}"
