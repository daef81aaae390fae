"""Samples of the operations that draw random numbers, where what they draw is certain."""
from __future__ import annotations

import numpy as np

import nbgrad

from .row import REAL, case, fails, row

row("dropout", lambda x, p, training: x * (p < 1 or not training), REAL, case((2, 3), p=0.0, training=True),
    case((2, 3), p=0.5, training=False), case((2, 3), p=1.0, training=True),
    errors=[fails(nbgrad.RangeError, "from 0 to 1", (2,), p=1.5)])
row("dropout_mask", lambda x, keep: np.full_like(x, keep), REAL, case((2, 3), keep=1.0), case((2, 3), keep=0.0),
    errors=[fails(nbgrad.DTypeError, "floating", (2,), dtype="int64", keep=0.5)])
