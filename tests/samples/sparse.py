"""Samples of products of sparse matrices, whose places are those of one matrix: rows of 2, 0, 1 and 5 values in 3 columns."""

from __future__ import annotations

import numpy as np

import nbgrad

from .row import REAL, case, fails, row

BEGINS, COLUMNS = np.array([0, 2, 2, 3, 8]), np.array([0, 2, 1, 0, 1, 1, 2, 0])
ROWS = np.repeat(np.arange(4), np.diff(BEGINS))


def matrix(values):
    """The sparse matrix."""
    found = np.zeros((4, 3), np.result_type(values))
    np.add.at(found, (ROWS, COLUMNS), values)
    return found


row(
    "sparse_rows",
    lambda values, y, begins, others: matrix(values) @ y,
    REAL,
    case((8,), (3, 2), BEGINS, COLUMNS),
    errors=[fails(nbgrad.ShapeError, "expected a matrix and places as vectors", (8,), (3,), BEGINS, COLUMNS)],
    seldom=True,
)
row(
    "sparse_columns",
    lambda values, x, begins, others, count: matrix(values).T @ x,
    REAL,
    case((8,), (4, 2), BEGINS, COLUMNS, 3),
    seldom=True,
)
row("sparse_dots", lambda x, y, begins, others: (x @ y.T)[ROWS, COLUMNS], REAL, case((4, 5), (3, 5), BEGINS, COLUMNS), seldom=True)
