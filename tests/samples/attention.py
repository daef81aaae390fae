"""Rows of samples of attention and its cotangents."""

from __future__ import annotations

import numpy as np

from .row import REAL, case, row


def probabilities(query, key, mask, causal, scale):
    """The softmax of the scores that a mask and causality leave; 0 in rows of which nothing is left."""
    scores = scale * query @ key.swapaxes(-1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    terms = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    return terms / np.maximum(terms.sum(-1, keepdims=True), np.finfo(float).tiny)


def masked(query, key, value, mask, causal, scale):
    """Those times values."""
    return probabilities(query, key, mask, causal, scale) @ value


def masked_cotangents(g, query, key, value, mask, causal, scale):
    """Of queries, keys and values."""
    p = probabilities(query, key, mask, causal, scale)
    turned = p * (g @ value.swapaxes(-1, -2))
    scores = scale * (turned - p * turned.sum(-1, keepdims=True))
    return scores @ key, scores.swapaxes(-1, -2) @ query, p.swapaxes(-1, -2) @ g


def plain(query, key, value, causal, scale):
    """Without a mask."""
    return masked(query, key, value, None, causal, scale)


def plain_cotangents(g, query, key, value, causal, scale):
    """Without a mask."""
    return masked_cotangents(g, query, key, value, None, causal, scale)


SIZES = (2, 3, 2), (2, 4, 2), (2, 4, 2)
ONE_LEFT_OUT = np.array([[True, False, True, True], [False] * 4, [True, True, False, True]])

row("attention", plain, REAL, case(*SIZES, True, 0.5), case((3, 2), (2, 2), (2, 3), False, 1.0), saves="query key value")
row(
    "attention_masked",
    masked,
    REAL,
    case(*SIZES, ONE_LEFT_OUT, False, 0.5),
    case(*SIZES, (3, 4), True, 0.5),
    saves="query key value mask",
)
row("attention_cotangents", plain_cotangents, REAL, case(SIZES[0], *SIZES, True, 0.5))
row("attention_masked_cotangents", masked_cotangents, REAL, case(SIZES[0], *SIZES, ONE_LEFT_OUT, False, 0.5))
