"""Attention as functions: ``scaled_dot_product_attention``, ``multi_head_attention_forward``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import nbgrad

from .. import Tensor, dropout, linear
from ..base.dtypes import bool_
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ..ops.attention import weights
from ..ops.expr import scalar
from ..ops.kinds import constant_number

__all__ = ["SDPBackend", "multi_head_attention_forward", "scaled_dot_product_attention", "sdpa_kernel"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale * query @ key.mT + mask) @ value, which never holds all scores: NOTE [Attention] of ops/attention.py.

    Args:
        query: shape ``(..., l, e)``, floating.
        key: shape ``(..., s, e)``, of the same dtype.
        value: shape ``(..., s, v)``, of the same dtype.
        attn_mask: broadcasts to ``(..., l, s)``; of truth values those that take part, of numbers what is added.
        dropout_p: probability by which a weight is zeroed, the others being divided by 1 - p; all weights are in memory then.
        is_causal: query ``i`` sees the keys up to ``i``; with a mask, those of them that it leaves.
        scale: ``1 / sqrt(e)`` unless given.
        enable_gqa: the heads, third dimension from behind, of key and value serve groups of neighbouring heads of the query.

    Returns:
        Tensor of shape ``(..., l, v)``, in the order in which the query goes through memory. A query that sees no key gives 0.

    Raises:
        ShapeError: sizes do not go together. DTypeError: dtypes differ, or the mask's is neither bool nor floating.
        RangeError: ``dropout_p`` is no probability.

    Source: Vaswani et al., "Attention Is All You Need", 2017.

    >>> import nbgrad
    >>> q, v = nbgrad.zeros(1, 2, 4), nbgrad.tensor([[[1.0], [3.0]]])
    >>> scaled_dot_product_attention(q, q, v, is_causal=True).tolist()
    [[[1.0], [2.0]]]
    """
    p = constant_number("scaled_dot_product_attention", "dropout_p", dropout_p)
    if not 0 <= p <= 1:
        raise RangeError(f"scaled_dot_product_attention: dropout_p is {dropout_p}, expected a probability, from 0 to 1.")
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, Tensor):
            raise ArgumentError(f"scaled_dot_product_attention: {name} is {type(x).__name__}, expected a Tensor.")
        if x.ndim < 2:
            raise ShapeError(f"scaled_dot_product_attention: {name} is {list(x.shape)}, expected two dimensions or more.")
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1] or 1)
    if enable_gqa and query.ndim > 2 and query.shape[-3] != key.shape[-3]:
        grouped, mask = in_groups(query, key, value, attn_mask)
        return attended(*grouped, mask, p, is_causal, float(scale)).flatten(-4, -3)
    return attended(query, key, value, attn_mask, p, is_causal, float(scale))


def attended(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float, causal: bool, scale: float) -> Tensor:
    """Attention of operands whose batches broadcast."""
    if p:
        if mask is not None and mask.dtype is not bool_ and not mask.dtype.is_floating_point:
            raise DTypeError(f"scaled_dot_product_attention: attn_mask is {mask.dtype}, expected bool or {query.dtype}.")
        kept = dropout(weights(query, key, mask, bool(causal), scale), p)
        return (kept @ value.to(kept.dtype)).to(query.dtype)
    if mask is None:
        return scalar.attention(query, key, value, bool(causal), scale)
    return scalar.attention_masked(query, key, value, mask, bool(causal), scale)


def in_groups(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor | None]:
    """Queries, keys and values with a dimension for the groups of heads and one for the heads of a group; and the mask.

    Raises:
        ShapeError: the query has no multiple of the heads of key and value.
    """
    heads, own = query.shape[-3], key.shape[-3]
    if key.shape[-3] != value.shape[-3] or not own or heads % own:
        raise ShapeError(
            f"scaled_dot_product_attention: query has {heads} heads, key {own}, value {value.shape[-3]}, expected as many of "
            "key and value, by which those of the query can be divided."
        )
    split = query.unflatten(-3, (own, heads // own))
    if mask is not None and mask.ndim > 2:
        mask = mask.unflatten(-3, (own, heads // own)) if mask.shape[-3] == heads else mask.unsqueeze(-3)
    return (split, key.unsqueeze(-3), value.unsqueeze(-3)), mask


def additive_mask(name: str, mask: Tensor | None, dtype: Any) -> Tensor | None:
    """A mask of truth values, of which true ones are left out, as numbers that are added to scores; others as they are.

    Raises:
        DTypeError: the mask is neither bool nor floating.
    """
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not bool_:
        raise DTypeError(f"{name} is {mask.dtype}, expected bool or a floating dtype. Hint: {name}.bool().")
    return nbgrad.zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads, between products with weights: what ``nn.MultiheadAttention`` computes.

    Args:
        query: shape ``(l, n, e)``, or ``(l, e)`` of one sample; key, value: ``(s, n, ...)``.
        embed_dim_to_check: e.
        num_heads: by which e can be divided.
        in_proj_weight, in_proj_bias: of queries, keys and values, one below the other, ``(3 e, e)`` and ``(3 e,)``.
        bias_k, bias_v: a further key and value, ``(1, 1, e)``.
        add_zero_attn: one more, of zeros.
        dropout_p: of the weights, while ``training``.
        key_padding_mask: ``(n, s)``, true for keys that are left out; or numbers that are added.
        need_weights: whether the weights are returned too, for which all of them are in memory.
        attn_mask: ``(l, s)`` or ``(n * num_heads, l, s)``, true where a query does not see a key; or numbers that are added.
        use_separate_proj_weight: ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight`` in the place of ``in_proj_weight``.
        static_k, static_v: keys and values, ``(n * num_heads, s, e / num_heads)``, in the place of those that are computed.
        average_attn_weights: the weights' mean over the heads.
        is_causal: that ``attn_mask`` is the causal one, which then need not be looked at.

    Returns:
        ``(l, n, e)``, and ``(n, l, s)`` or ``(n, num_heads, l, s)`` or None.

    Raises:
        AttentionError, ShapeError: sizes do not go together. ArgumentError: ``is_causal`` without a mask.

    Source: Vaswani et al., "Attention Is All You Need", 2017.

    >>> import nbgrad
    >>> x, one = nbgrad.ones(5, 3, 4), nbgrad.eye(4)
    >>> rest = {"in_proj_weight": nbgrad.cat([one] * 3), "in_proj_bias": None, "out_proj_weight": one, "out_proj_bias": None}
    >>> rest |= {"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0}
    >>> out, weights = multi_head_attention_forward(x, x, x, 4, 2, **rest)
    >>> out.allclose(x), weights.shape
    (True, nbgrad.Size([3, 5, 5]))
    """
    name = "multi_head_attention_forward"
    require_sequences(name, query, key, value)
    if is_causal and attn_mask is None:
        raise ArgumentError(f"{name}: is_causal says what attn_mask is, which is None. Hint: generate_square_subsequent_mask.")
    single = query.ndim == 2
    if single:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, samples, size = query.shape
    require_features(name, size, embed_dim_to_check, num_heads)
    if key.shape[:2] != value.shape[:2]:
        raise AttentionError(f"{name}: key is {list(key.shape)}, value {list(value.shape)}, expected a value for each key.")
    hinted = is_causal and key_padding_mask is None and not need_weights and bias_k is None and not add_zero_attn
    mask = None if hinted else joint_mask(attn_mask, key_padding_mask, query, (samples, num_heads, length, key.shape[0]))
    if use_separate_proj_weight:
        parts = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        matrices: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = (linear(x, weight, bias) for x, weight, bias in zip((query, key, value), matrices, parts))
    else:
        q, k, v = projected(query, key, value, in_proj_weight, in_proj_bias)
    if bias_k is not None and bias_v is not None:
        k, v = (nbgrad.cat([x, bias.expand(1, samples, size)]) for x, bias in ((k, bias_k), (v, bias_v)))
        mask = with_a_column(mask)
    q, k, v = (in_heads(x, samples, num_heads) for x in (q, k, v))
    k, v = (
        own if given is None else given.reshape(samples, num_heads, *given.shape[1:])
        for own, given in ((k, static_k), (v, static_v))
    )
    if add_zero_attn:
        k, v = (nbgrad.cat([x, x.new_zeros((samples, num_heads, 1, x.shape[-1]))], 2) for x in (k, v))
        mask = with_a_column(mask)
    p = dropout_p if training else 0.0
    if need_weights:
        made, shares = weighted(q, k, v, mask, p)
        shares = shares.mean(1) if average_attn_weights else shares
        shares = shares.squeeze(0) if single else shares
    else:
        made, shares = scaled_dot_product_attention(q, k, v, mask, p, hinted), None
    out = linear(made.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    return out.squeeze(1) if single else out, shares


def require_sequences(name: str, query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse what is neither a batch of sequences nor one alone."""
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        shapes = ", ".join(f"{word} {list(x.shape)}" for word, x in (("query", query), ("key", key), ("value", value)))
        raise AttentionError(f"{name}: got {shapes}, expected three dimensions of each, or two of one sample.")


def require_features(name: str, size: int, expected: int, heads: int) -> None:
    """Refuse queries of other sizes than the heads share."""
    if size != expected or size % heads:
        raise AttentionError(f"{name}: query has {size} features, expected {expected}, which {heads} heads divide.")


def weighted(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float) -> tuple[Tensor, Tensor]:
    """Attention with its weights, some of which are dropped, in memory: the values' sums, and the weights."""
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]))
    shares = dropout((scores if mask is None else scores + mask).softmax(-1), p)
    return shares @ v, shares


def in_heads(x: Tensor, samples: int, heads: int) -> Tensor:
    """``(s, n, heads * size)`` as ``(n, heads, s, size)``."""
    return x.reshape(x.shape[0], samples, heads, x.shape[-1] // heads).permute(1, 2, 0, 3)


def projected(query: Tensor, key: Tensor, value: Tensor, weight: Any, bias: Any) -> tuple[Tensor, ...]:
    """Queries, keys and values by the three parts of one weight, in one product where they come from one tensor."""
    if query is key and key is value:
        return linear(query, weight, bias).chunk(3, -1)
    weights, biases = weight.chunk(3), (None,) * 3 if bias is None else bias.chunk(3)
    return tuple([linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)])


def joint_mask(mask: Tensor | None, padding: Tensor | None, query: Tensor, sizes: tuple[int, int, int, int]) -> Tensor | None:
    """What is added to the scores, ``sizes`` of which are those of samples, heads, queries and keys.

    Raises:
        AttentionError, ShapeError: a mask does not go with the scores.
    """
    samples, heads, length, others = sizes
    mask, padding = additive_mask("attn_mask", mask, query.dtype), additive_mask("key_padding_mask", padding, query.dtype)
    if mask is not None:
        if mask.shape not in ((length, others), (samples * heads, length, others)):
            raise ShapeError(
                f"multi_head_attention_forward: attn_mask is {list(mask.shape)}, expected {[length, others]} "
                f"or {[samples * heads, length, others]}."
            )
        mask = mask if mask.ndim == 2 else mask.reshape(sizes)
    if padding is not None:
        if padding.shape != (samples, others):
            raise AttentionError(
                f"multi_head_attention_forward: key_padding_mask is {list(padding.shape)}, expected {[samples, others]}."
            )
        padding = padding.reshape(samples, 1, 1, others)
        mask = padding if mask is None else mask + padding
    return mask


def with_a_column(mask: Tensor | None) -> Tensor | None:
    """The mask for one more key, which all queries see."""
    return None if mask is None else nbgrad.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)


class AttentionError(ShapeError, AssertionError):
    """Queries, keys, values and masks that do not go together."""


class SDPBackend(Enum):
    """torch's names of ways to compute attention. Here there is one."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """torch's context in which attention is computed in the ways that are named. It has no effect: there is one.

    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     pass
    """
    yield
