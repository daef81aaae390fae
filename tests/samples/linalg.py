"""Samples of products of vectors and matrices."""

from __future__ import annotations

import numpy as np

import nbgrad

from .row import REAL, case, fails, row

ShapeError = nbgrad.ShapeError
Z = np.array([[1.5 - 0.5j, -2.0 + 1.0j, 0.5j], [0.3 + 2.0j, -1.0 - 1.0j, 1.0 + 0.0j]])

row(
    "matmul",
    np.matmul,
    REAL,
    case((2, 3), (3, 4)),
    case((3,), (3,)),
    case((2, 3), (3,)),
    case((3,), (3, 2)),
    case((4, 2, 3), (3, 2)),
    case((2, 1, 2, 3), (3, 3, 2)),
    case((2, 0), (0, 3)),
    case(Z, Z.T),
    case(Z, Z[0]),
    errors=[fails(ShapeError, "^matmul: .*3.*5", (2, 3), (5, 6))],
)
row(
    "mm",
    np.matmul,
    REAL,
    case((2, 3), (3, 4)),
    errors=[fails(ShapeError, "^mm: ", (2, 3), (2, 3)), fails(ShapeError, "^mm: ", (3,), (3,))],
)
row("bmm", np.matmul, REAL, case((2, 2, 3), (2, 3, 4)), errors=[fails(ShapeError, "^bmm: ", (2, 2, 3), (3, 3, 4))])
row("mv", np.matmul, REAL, case((2, 3), (3,)), errors=[fails(ShapeError, "^mv: ", (2, 3), (2,))])
row("dot", np.dot, REAL, case((3,), (3,)), errors=[fails(ShapeError, "^dot: ", (3,), (4,))])
row(
    "gemm",
    lambda x, y, transpose_x=False, transpose_y=False: np.matmul(
        np.swapaxes(x, -1, -2) if transpose_x else x, np.swapaxes(y, -1, -2) if transpose_y else y
    ),
    REAL,
    case((2, 3), (3, 4)),
    case((3, 2), (3, 4), True, False),
    case((2, 3), (4, 3), False, True),
    case((3, 2), (4, 3), True, True),
    case((2, 3, 2), (2, 3, 4), True, False),
)
row(
    "gemm_bias",
    lambda x, y, bias, transpose_y=False: x @ (y.T if transpose_y else y) + bias,
    REAL,
    case((2, 3), (3, 4), (4,)),
    case((2, 3), (4, 3), (4,), transpose_y=True),
)
row(
    "linear",
    lambda x, weight, bias=0.0: x @ weight.T + bias,
    REAL,
    case((2, 3), (4, 3), (4,)),
    case((2, 3), (4, 3)),
    case((2, 2, 3), (4, 3), (4,)),
    case((3,), (4, 3)),
    errors=[fails(ShapeError, "^linear: ", (2, 3), (4, 2))],
)
row(
    "addmm",
    lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    REAL,
    case((2, 4), (2, 3), (3, 4)),
    case((4,), (2, 3), (3, 4)),
    case((2, 4), (2, 3), (3, 4), beta=0.5, alpha=2.0),
)
row(
    "addmv",
    lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    REAL,
    case((2,), (2, 3), (3,)),
    case((2,), (2, 3), (3,), beta=0.5, alpha=2.0),
)
row("addr", lambda x, a, b, beta=1, alpha=1: beta * x + alpha * np.outer(a, b), REAL, case((2, 3), (2,), (3,)))
row("baddbmm", lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b), REAL, case((2, 2, 4), (2, 2, 3), (2, 3, 4)))
row("addbmm", lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b).sum(0), REAL, case((2, 4), (2, 2, 3), (2, 3, 4)))
for _name in ("outer", "ger"):
    row(_name, np.outer, REAL, case((2,), (3,)))
row("vdot", np.vdot, REAL, case((3,), (3,)))
row("inner", np.inner, REAL, case((3,), (3,)), case((2, 3), (4, 3)))
row("kron", np.kron, REAL, case((2, 2), (1, 3)))
row("trace", np.trace, REAL, case((3, 3)), case((2, 3)))
row("tensordot", lambda a, b, dims=2: np.tensordot(a, b, dims), REAL, case((2, 3), (3, 4), dims=1), case((2, 3, 4), (3, 4, 2)))
row(
    "einsum",
    lambda equation, *operands: np.einsum(equation, *operands),
    REAL,
    case("ij,jk->ik", (2, 3), (3, 4)),
    case("ii->i", (3, 3)),
    case("bij,bj->bi", (2, 3, 2), (2, 2)),
    case("i,j,k->ijk", (2,), (3,), (2,)),
    unlike={"type": "the first argument is an equation"},
)
