"""Samples of losses of paths: the sum over all sequences of states, one by one."""

from __future__ import annotations

import itertools

import numpy as np

import nbgrad

from .row import REAL, case, fails, row, through

# The targets 1 2 and 2 2 2, blanks 0 around them; the second has room for a repetition only with blanks between.
PATH = np.array([[0, 1, 0, 2, 0, 0, 0], [0, 2, 0, 2, 0, 2, 0]])
LENGTHS = np.array([[3, 5], [5, 7]])


def ways(path, steps, states, blank):
    """All sequences of states from one of the first two to one of the last two."""
    for way in itertools.product(range(states), repeat=steps):
        steps_taken = np.diff(way)
        passes = [k for k, step in zip(way[1:], steps_taken) if step == 2]
        allowed = all(0 <= step <= 2 for step in steps_taken) and all(path[k] not in (blank, path[k - 2]) for k in passes)
        if way[0] < 2 and way[-1] >= states - 2 and allowed:
            yield np.array(way)


def losses(x, path, lengths, blank):
    """Of each sequence."""
    found = []
    for n, (steps, states) in enumerate(lengths.T):
        every = ways(path[n], steps, states, blank)
        found.append(-np.log(sum(np.exp(x[np.arange(steps), n, path[n, way]].sum()) for way in every)))
    return np.array(found)


row(
    "path_loss",
    losses,
    REAL,
    case((5, 2, 3), PATH, LENGTHS, 0),
    errors=[fails(nbgrad.ShapeError, "with n paths", (5, 3, 3), PATH, LENGTHS, 0)],
    seldom=True,
)
through("path_losses", "path_loss")
through("path_cotangents", "path_loss")
