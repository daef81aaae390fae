"""Products of a sparse matrix, whose values lie row by row: what its products, and their derivatives of every order, are made of.

``begins`` says where each row begins in ``values``, and where the last ends, ``others`` the column of each value. Three operations
are all that there is of ``sum of values[k] x[row of k] y[column of k]``: each is what one factor is multiplied by.
"""

from __future__ import annotations

from .core import general

PLACES = {"function": False, "batched": "looped"}

general(
    "sparse_rows",
    lambda values, y, begins, others: values,
    {
        "values": lambda g, y, begins, others: g.sparse_dots(y, begins, others),
        "y": lambda g, values, begins, others, y_shape: values.sparse_columns(g, begins, others, y_shape[0]),
    },
    operands=("values", "y", "begins", "others"),
    node="MmBackward0",
    doc="The sparse matrix of the values times y: out[i] is the sum of values[k] y[others[k]] over row i.",
    **PLACES,
)
general(
    "sparse_columns",
    lambda values, x, begins, others, count: values,
    {
        "values": lambda g, x, begins, others: x.sparse_dots(g, begins, others),
        "x": lambda g, values, begins, others: values.sparse_rows(g, begins, others),
    },
    operands=("values", "x", "begins", "others"),
    node="MmBackward0",
    doc="Its transpose, with count rows, times x: out[others[k]] has values[k] x[i] added, for each k of row i.",
    **PLACES,
)
general(
    "sparse_dots",
    lambda x, y, begins, others: x,
    {
        "x": lambda g, y, begins, others: g.sparse_rows(y, begins, others),
        "y": lambda g, x, begins, others, y_shape: g.sparse_columns(x, begins, others, y_shape[0]),
    },
    operands=("x", "y", "begins", "others"),
    node="SparseSampledAddmmBackward0",
    doc="The elements of x y^T at the places of the values: out[k] is the product of x[i] and y[others[k]], k of row i.",
    **PLACES,
)
