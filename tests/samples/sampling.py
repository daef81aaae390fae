"""Samples of tensors looked up between their elements: sums over all elements of what each weighs at a place."""

from __future__ import annotations

import itertools

import numpy as np

import nbgrad

from .row import REAL, case, fails, row

PLACES = (("nearest", "zeros", False), ("bilinear", "zeros", False), ("bilinear", "border", True), ("bilinear", "reflection", True))
CUBIC = (("bicubic", "zeros", True), ("bicubic", "reflection", False))


def inside(at, size, outside, align):
    """A coordinate in the range of elements, and how it moves with the one given."""
    if outside == "reflection":
        low, high = (0, size - 1) if align else (-0.5, size - 0.5)
        away = (at - low) % (2 * (high - low))
        at, turn = (low + away, 1) if away <= high - low else (2 * high - low - away, -1)
        return min(max(at, 0), size - 1), turn * (0 < at < size - 1)
    return (at, 1) if outside == "zeros" else (min(max(at, 0), size - 1), float(0 < at < size - 1))


def keys(d, order):
    """Keys' kernel with -0.75, or its derivative."""
    a, s, d = -0.75, np.sign(d), abs(d)
    if d < 1:
        return ((a + 2) * d**3 - (a + 3) * d**2 + 1, s * (3 * (a + 2) * d**2 - 2 * (a + 3) * d))[order]
    return (a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a, s * (3 * a * d**2 - 10 * a * d + 8 * a))[order] if d < 2 else 0.0


def weights(at, size, mode, outside, align, order):
    """What each element of a line weighs, or how that changes with the grid."""
    scale, found = (size - 1) / 2 if align else size / 2, np.zeros(size)
    at = (at + 1) * scale - (0 if align else 0.5)
    turn = scale
    if mode != "bicubic":
        at, turned = inside(at, size, outside, align)
        turn = scale * turned
    if mode == "nearest":
        k = int(np.rint(at))
        if 0 <= k < size:
            found[k] = 1 - order
        return found
    below = int(np.floor(at))
    for k in range(below - 1, below + 3):
        weight = keys(at - k, order) if mode == "bicubic" else ((1 - abs(at - k)), -np.sign(at - k))[order] * (abs(at - k) < 1)
        own = int(round(inside(k, size, outside, align)[0])) if mode == "bicubic" else k
        if 0 <= own < size:
            found[own] += weight * (turn if order else 1)
    return found


def matrices(sizes, grid, mode, outside, align, orders):
    """What each element weighs at each place: (n, places, *sizes)."""
    places = grid.reshape(len(grid), -1, len(sizes))
    found = np.ones((*places.shape[:2], *sizes))
    for n, k in itertools.product(*map(range, places.shape[:2])):
        for d, (size, at, order) in enumerate(zip(sizes, places[n, k, ::-1], orders[::-1])):
            shape = [size if e == d else 1 for e in range(len(sizes))]
            found[n, k] *= weights(at, size, mode, outside, align, order).reshape(shape)
    return found


def sampled(x, grid, interpolation, outside, align, orders):
    """The sums."""
    every = matrices(x.shape[2:], grid, interpolation, outside, align, orders)
    made = np.einsum("nkq,ncq->nck", every.reshape(*every.shape[:2], -1), x.reshape(*x.shape[:2], -1))
    return made.reshape(*x.shape[:2], *grid.shape[1:-1])


def spread(values, grid, sizes, interpolation, outside, align, orders):
    """The transpose."""
    every = matrices(sizes, grid, interpolation, outside, align, orders)
    made = np.einsum("nkq,nck->ncq", every.reshape(*every.shape[:2], -1), values.reshape(*values.shape[:2], -1))
    return made.reshape(*values.shape[:2], *sizes)


def slopes(values, x, grid, interpolation, outside, align, orders):
    """The derivatives by each dimension of the grid, summed over channels."""
    made = []
    for d in range(len(orders)):
        more = tuple(n + (d == e) for e, n in enumerate(orders))
        made.append((values * sampled(x, grid, interpolation, outside, align, more)).sum(1))
    return np.stack(made, -1)


def how(interpolation, outside, align, ndim=2):
    """The attributes of a call."""
    return {"interpolation": interpolation, "outside": outside, "align": align, "orders": (0,) * ndim}


GRID = {"grid": ((-1.3, 1.3),)}
row(
    "grid_sample",
    sampled,
    REAL,
    *(case((2, 2, 3, 4), (2, 3, 1, 2), **how(*each)) for each in (*PLACES, *CUBIC)),
    case((1, 2, 2, 3, 2), (1, 2, 1, 2, 3), **how("bilinear", "border", False, 3)),
    domains=GRID,
    errors=[
        fails(nbgrad.RangeError, "mode is 'linear'", (1, 1, 2, 2), (1, 1, 1, 2), **how("linear", "zeros", False)),
        fails(nbgrad.RangeError, "padding_mode is 'none'", (1, 1, 2, 2), (1, 1, 1, 2), **how("nearest", "none", False)),
        fails(nbgrad.ShapeError, "input is .*, grid ", (1, 1, 2, 2), (2, 1, 1, 2), **how("nearest", "zeros", False)),
        fails(nbgrad.ShapeError, "expected elements", (1, 1, 0, 2), (1, 1, 1, 2), **how("nearest", "zeros", False)),
    ],
    seldom=True,
)
row(
    "grid_spread",
    spread,
    REAL,
    *(case((2, 2, 3, 1), (2, 3, 1, 2), sizes=(3, 4), **how(*each)) for each in (PLACES[1], CUBIC[1])),
    domains=GRID,
    seldom=True,
)
row(
    "grid_slopes",
    slopes,
    REAL,
    *(case((2, 2, 3, 1), (2, 2, 3, 4), (2, 3, 1, 2), **how(*each)) for each in (PLACES[0], PLACES[3])),
    domains=GRID,
    seldom=True,
)
