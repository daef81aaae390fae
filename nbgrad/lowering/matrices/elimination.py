"""LU factors by NumPy's arrays, and the rows that are exchanged on the way."""

from __future__ import annotations

import math
from typing import Iterator

import numpy as np

from ...kernels.cpu.blas import eliminated
from .parts import packed


def lu_array(x: np.ndarray) -> np.ndarray:
    """L and U in one, and as numbers the pivots, from 1 on, and the first row without one."""
    pivots = exchanges(x)
    rows = np.take_along_axis(x, order_of(pivots, x.shape[-2])[..., None], -2)
    factors = elimination(rows)
    zero = np.diagonal(factors, axis1=-2, axis2=-1) == 0
    first = np.where(zero.any(-1), zero.argmax(-1) + 1 if zero.shape[-1] else 0, 0)[..., None]
    return packed(factors, (pivots + 1).astype(x.dtype), first.astype(x.dtype))


def by_lapack(x: np.ndarray) -> Iterator[tuple[tuple, np.ndarray, np.ndarray]]:
    """The place of every matrix of a batch, L and U in one, and the exchanges; nothing where there is no LAPACK, or no element."""
    for place in np.ndindex(x.shape[:-2]) if x.size else ():
        found = eliminated(x[place])
        if found is not None:
            yield (place, *found)


def elimination(x: np.ndarray) -> np.ndarray:
    """L and U in one matrix, without exchanging rows; a column without a pivot stays."""
    out, steps = np.empty_like(x), np.arange(min(x.shape[-2:]))
    done = 0
    for place, factors, exchanged in by_lapack(x):
        if (exchanged != steps).any():  # of columns whose pivots tie
            break
        out[place], done = factors, done + 1
    return out if done and done == math.prod(x.shape[:-2]) else elimination_in_order(x)


def elimination_in_order(x: np.ndarray) -> np.ndarray:
    """``elimination`` step by step."""
    x = x.copy()
    for k in range(min(x.shape[-2:])):
        pivot = x[..., k, k, None]
        nothing = pivot == 0
        x[..., k + 1 :, k] = np.where(nothing, x[..., k + 1 :, k], x[..., k + 1 :, k] / np.where(nothing, 1, pivot))
        x[..., k + 1 :, k + 1 :] -= x[..., k + 1 :, k, None] * x[..., k, None, k + 1 :]
    return x


def exchanges(x: np.ndarray) -> np.ndarray:
    """For every step of the elimination the row that is exchanged with it: the one with the greatest pivot."""
    found, done = np.zeros((*x.shape[:-2], min(x.shape[-2:])), np.int64), 0
    for place, _, exchanged in by_lapack(x):
        found[place], done = exchanged, done + 1
    return found if done else exchanges_in_order(x)


def exchanges_in_order(x: np.ndarray) -> np.ndarray:
    """``exchanges`` step by step."""
    x = x.copy()
    steps = min(x.shape[-2:])
    found = np.zeros((*x.shape[:-2], steps), np.int64)
    for place in np.ndindex(x.shape[:-2]):
        a = x[place]
        for k in range(steps):
            best = k + int(np.argmax(np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)))  # LAPACK's magnitude
            found[(*place, k)] = best
            a[[k, best]] = a[[best, k]]
            if a[k, k]:
                a[k + 1 :, k] /= a[k, k]
                a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return found


def order_of(exchanged: np.ndarray, count: int) -> np.ndarray:
    """The order of rows after exchanging them step by step."""
    order = np.empty((*exchanged.shape[:-1], count), np.int64)
    for place in np.ndindex(exchanged.shape[:-1]):
        row = list(range(count))
        for k, other in enumerate(exchanged[place].tolist()):
            row[k], row[other] = row[other], row[k]
        order[place] = row
    return order
