"""Rows of samples of recurrent layers."""

from __future__ import annotations

import numpy as np

from .row import UNIT, case, fails, row, through


def sigmoid(x):
    """1 / (1 + e**-x)."""
    return 1 / (1 + np.exp(-x))


def stepped(cell, p, q, s):
    """The states after one step, by the formulas of torch's documentation."""
    count = {"lstm": 4, "gru": 3}.get(cell, 1)
    p, q = np.split(p, count, -1), np.split(q, count, -1)
    if cell == "lstm":
        i, f, o = (sigmoid(p[k] + q[k]) for k in (0, 1, 3))
        c = f * s[1] + i * np.tanh(p[2] + q[2])
        return np.stack([o * np.tanh(c), c])
    if cell == "gru":
        r, z = (sigmoid(p[k] + q[k]) for k in (0, 1))
        return ((1 - z) * np.tanh(p[2] + r * q[2]) + z * s[0])[None]
    return (np.tanh(p[0] + q[0]) if cell == "tanh" else np.maximum(p[0] + q[0], 0))[None]


def states(p, w, b, s, lengths, cell, mirrored=False, ragged=False):
    """Step by step; a sequence that has ended keeps its states."""
    found = np.zeros((len(s), *p.shape[:2], s.shape[2]), p.dtype)
    for t in range(len(p))[:: -1 if mirrored else 1]:
        new = stepped(cell, p[t], s[0] @ w.T + b, s)
        s = np.where((lengths > t)[None, :, None], new, s) if ragged else new
        found[:, t] = s
    return found


LENGTHS = np.array([2, 1])
row(
    "rnn_states",
    states,
    UNIT,
    case((2, 2, 4), (4, 1), (4,), (2, 2, 1), LENGTHS, "lstm", mirrored=True, ragged=True),
    case((2, 1, 6), (6, 2), (6,), (1, 1, 2), LENGTHS[:1], "gru"),
    errors=[fails(ValueError, "w is", (2, 2, 8), (6, 2), (8,), (2, 2, 2), LENGTHS, "lstm")],
)
through("recurrent", "rnn_states")
through("recurrent_cotangents", "rnn_states")
