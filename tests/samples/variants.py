"""Samples of what the public functions choose among, and of random operations."""

from __future__ import annotations

import numpy as np

import nbgrad

from .row import NONZERO, POSITIVE, REAL, case, fails, row

NO_GRADIENT = {"gradient": "a truth value has none"}

row("pow_zero", np.ones_like)
row("pow_one", np.copy)
row("pow_three", lambda x: x**3, saves="x")
row("pow_inverse", lambda x: 1.0 / x, NONZERO, saves="out")
row("pow_half", np.sqrt, POSITIVE, saves="out")
row("float_power", lambda x, exponent: x**exponent, POSITIVE, case((2, 3), (3,)), case((2, 3), 2))
row(
    "isclose_finite",
    lambda x, y, rtol, atol: np.abs(x - y) <= atol + rtol * np.abs(y),
    REAL,
    case((2, 3), (2, 3), 0.1, 1.0),
    unlike={"bool": "a difference of truth values"},
)
row(
    "isclose",
    lambda x, y, rtol=1e-5, atol=1e-8: np.isclose(x, y, rtol, atol),
    REAL,
    case((2, 3), (2, 3), 0.1, 1.0),
    unlike=NO_GRADIENT,
)
row(
    "allclose",
    lambda x, y, rtol=1e-5, atol=1e-8: np.allclose(x, y, rtol, atol),
    REAL,
    case((2, 3), (2, 3)),
    case((2, 3), (2, 3), 9.0, 9.0),
    unlike=NO_GRADIENT,
)
row("equal", np.array_equal, REAL, case((2, 3), (2, 3)), case((2, 3), (3,)), unlike=NO_GRADIENT)
# Of probability 0 and 1 nothing is random.
row(
    "dropout_mask",
    lambda x, keep: np.full(x.shape, keep > 0),
    REAL,
    case((2, 3), 1.0),
    case((2, 3), 0.0),
    errors=[fails(nbgrad.DTypeError, "floating", (2,), in_dtype="int64", keep=0.5)],
)
for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
    row(
        name,
        lambda x, p=0.5, training=True: x * (1.0 if p == 0 or not training else 0.0),
        REAL,
        case((2, 3), 0.0, True),
        case((2, 3), 1.0, True),
        case((2, 3), 0.5, False),
        errors=[fails(nbgrad.RangeError, "from 0 to 1", (2,), p=1.5)],
    )
