"""Attention: rows of scores made softmax, times values; and its cotangents.

NOTE [Attention]: queries ``(..., l, e)``, keys ``(..., s, e)``, values ``(..., s, v)``, whose batches broadcast. ``P`` is the
softmax of ``scale * query @ key.mT`` along its rows, the result ``P @ value``. A mask broadcasts to the scores: of truth values
it says which ones take part, of numbers it is added to them. ``causal`` leaves to row ``i`` the first ``i + 1`` columns. A row of
which nothing is left is 0 in ``P``, as in torch. Nothing but operands is saved: the backward makes each block of rows of ``P``
again, so that neither pass ever holds all of it.

Source: Vaswani et al., "Attention Is All You Need", 2017; Rabe, Staats, "Self-attention Does Not Need O(n^2) Memory", 2021.
"""

from __future__ import annotations

import math

from ..base.dtypes import bool_
from .core import general
from .expr import scalar
from .reduce import cast, wide

__all__ = ["attention_in_steps", "weights"]


def weights(query, key, mask, causal: bool, scale: float):
    """``P`` of NOTE [Attention], in other operations."""
    scores = wide(query) @ wide(key).mT * scale
    if causal:
        scores = scalar.where(scalar.fill(scores, 1.0).tril() > 0, scores, -math.inf)
    if mask is None:
        return scores.softmax(-1)
    scores = scalar.where(mask, scores, -math.inf) if mask.dtype is bool_ else scores + wide(mask)
    left = (scores != -math.inf).any(-1, True)
    return scalar.where(left, scalar.where(left, scores, 0.0).softmax(-1), 0.0)


def attention_in_steps(query, key, value, mask, causal: bool, scale: float):
    """The whole of NOTE [Attention] in other operations."""
    return cast(weights(query, key, mask, causal, scale) @ wide(value), query.dtype)


def of_scores(g, query, key, value, mask, causal, scale):
    """The cotangent of the scores, before the mask."""
    return scalar.softmax_backward(wide(g) @ wide(value).mT, weights(query, key, mask, causal, scale), -1)


def of_query(g, query, key, value, mask, causal, scale):
    """The cotangent of the queries."""
    made = cast(of_scores(g, query, key, value, mask, causal, scale) @ wide(key) * scale, query.dtype)
    return made.sum_to(query.layout.shape)


def of_key(g, query, key, value, mask, causal, scale):
    """The cotangent of the keys."""
    made = cast(of_scores(g, query, key, value, mask, causal, scale).mT @ wide(query) * scale, key.dtype)
    return made.sum_to(key.layout.shape)


def of_value(g, query, key, value_shape, mask, causal, scale):
    """The cotangent of the values."""
    return cast(weights(query, key, mask, causal, scale).mT @ wide(g), g.dtype).sum_to(value_shape)


def of_mask(g, query, key, value, mask, causal, scale):
    """The cotangent of numbers that are added to the scores."""
    return cast(of_scores(g, query, key, value, mask, causal, scale).sum_to(mask.layout.shape), mask.dtype)


def cotangents_in_steps(g, query, key, value, mask, causal, scale):
    """The cotangents of queries, keys and values in other operations, which share the softmax."""
    p = weights(query, key, mask, causal, scale)
    scores = scalar.softmax_backward(wide(g) @ wide(value).mT, p, -1) * scale
    made = scores @ wide(key), scores.mT @ wide(query), p.mT @ wide(g)
    return tuple([cast(each, x.dtype) for each, x in zip(made, (query, key, value))])


def own(made, *operands):
    """Cotangents of the whole batch, summed to the shapes of what they belong to."""
    return tuple([each.sum_to(x.layout.shape) for each, x in zip(made, operands)])


HIDDEN: dict = {"method": False, "function": False, "out": False}
ATTENTION: dict = {
    "node": "ScaledDotProductFlashAttentionForCpuBackward0",
    "public": "scaled_dot_product_attention",
    "batched": "broadcasting",
    **HIDDEN,
}

general(
    "attention",
    lambda query, key, value, causal, scale: query,
    {
        "query": lambda g, query, key, value, causal, scale: of_query(g, query, key, value, None, causal, scale),
        "key": lambda g, query, key, value, causal, scale: of_key(g, query, key, value, None, causal, scale),
        "value": lambda g, query, key, value_shape, causal, scale: of_value(g, query, key, value_shape, None, causal, scale),
    },
    together={
        ("query", "key", "value"): lambda g, query, key, value, causal, scale: own(
            scalar.attention_cotangents(g, query, key, value, causal, scale), query, key, value
        )
    },
    operands=("query", "key", "value"),
    doc="softmax(scale * query @ key.mT) @ value.",
    **ATTENTION,
    aten="_scaled_dot_product_flash_attention_for_cpu",
)
general(
    "attention_masked",
    lambda query, key, value, mask, causal, scale: query,
    {"query": of_query, "key": of_key, "value": of_value, "mask": of_mask},
    together={
        ("query", "key", "value"): lambda g, query, key, value, mask, causal, scale: own(
            scalar.attention_masked_cotangents(g, query, key, value, mask, causal, scale), query, key, value
        )
    },
    operands=("query", "key", "value", "mask"),
    doc="softmax(scale * query @ key.mT), of what a mask leaves of the scores, @ value.",
    **ATTENTION,
    aten="_scaled_dot_product_flash_attention_for_cpu",
)
general(
    "attention_cotangents",
    lambda g, query, key, value, causal, scale: g,
    operands=("g", "query", "key", "value"),
    outputs=3,
    in_steps=lambda g, query, key, value, causal, scale: cotangents_in_steps(g, query, key, value, None, causal, scale),
    doc="The cotangents of queries, keys and values, of the shape of the whole batch.",
    **{**ATTENTION, "node": None},
    aten="_scaled_dot_product_flash_attention_for_cpu_backward",
)
general(
    "attention_masked_cotangents",
    lambda g, query, key, value, mask, causal, scale: g,
    operands=("g", "query", "key", "value", "mask"),
    outputs=3,
    in_steps=cotangents_in_steps,
    doc="The same, of what a mask leaves of the scores.",
    **{**ATTENTION, "node": None},
    aten="_scaled_dot_product_flash_attention_for_cpu_backward",
)
