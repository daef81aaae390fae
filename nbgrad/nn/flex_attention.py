"""Attention whose scores a function of the user's changes, or leaves out: ``flex_attention`` and its masks.

>>> import nbgrad
>>> from nbgrad.nn.attention.flex_attention import flex_attention
>>> x = nbgrad.ones(1, 2, 3, 4)
>>> slopes = nbgrad.tensor([0.5, 0.25])
>>> flex_attention(x, x, x, score_mod=lambda score, b, h, q, k: score - slopes[h] * abs(q - k)).shape
nbgrad.Size([1, 2, 3, 4])
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

import nbgrad

from .. import Tensor, logsumexp
from ..base.dtypes import bool_
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError, require_callable
from .attention import AttentionError, scaled_dot_product_attention
from .block_mask import _DEFAULT_SPARSE_BLOCK_SIZE, MASKS, BlockMask, mask_of, noop_mask, over_all, places

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

# How many arguments functions of scores take: a score goes before the four places.
SCORES = MASKS + 1


class AuxRequest(NamedTuple):
    """What ``flex_attention`` is to return beside its result.

    >>> AuxRequest(lse=True)
    AuxRequest(lse=True, max_scores=False)
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for; None is what was not.

    >>> AuxOutput().lse is None
    True
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """torch's options of kernels. They have no effect here.

    >>> FlexKernelOptions(num_warps=4)
    {'num_warps': 4}
    """

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    BACKEND: str


# ---- masks of masks ---------------------------------------------------------------------------------------------------


def and_masks(*mask_mods: Callable) -> Callable:
    """The mask that leaves in what all of these do.

    Raises:
        TypeError: one is no function.

    >>> import nbgrad
    >>> near = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    >>> create_mask(near, None, None, 3, 3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=nbgrad.int32)
    """
    return joined("and_masks", mask_mods, True)


def or_masks(*mask_mods: Callable) -> Callable:
    """The mask that leaves in what one of these does.

    Raises:
        TypeError: one is no function.

    >>> import nbgrad
    >>> prefix = or_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: k < 2)
    >>> create_mask(prefix, None, None, 3, 3)[0, 0].int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=nbgrad.int32)
    """
    return joined("or_masks", mask_mods, False)


def joined(name: str, mask_mods: tuple, all_of_them: bool) -> Callable:
    """Masks, as one."""
    for mask_mod in mask_mods:
        require_callable(name, mask_mod)

    def mask(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        result = q.new_full((), all_of_them, dtype=bool_)
        for mask_mod in mask_mods:
            said = mask_mod(b, h, q, k)
            result = result & said if all_of_them else result | said
        return result

    return mask


def create_mask(mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """What a mask's, or a score's, function leaves in, as truth values.

    Args:
        mod_fn: of four numbers (batch, head, query, key), or of five, the first of which is a score: -inf leaves it out.
        B, H: numbers of batches and heads, 1 if None.
        Q_LEN, KV_LEN: numbers of queries and keys.
        device: where it is made.

    Returns:
        [B, H, Q_LEN, KV_LEN], bool.

    Raises:
        ArgumentError: a function of another number of arguments.

    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2).tolist()
    [[[[True, False], [True, True]]]]
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    if arguments_of(mod_fn) == MASKS:
        return mask_of(mod_fn, sizes, device)
    return ~over_all(mod_fn, True)(nbgrad.zeros(sizes, device=device), *places(sizes, device)).isneginf()


def arguments_of(mod_fn: Callable) -> int:
    """How many positional arguments without default a function takes: four or five.

    Raises:
        ArgumentError: another number.
    """
    require_callable("create_mask", mod_fn)
    counted = [
        p
        for p in inspect.signature(mod_fn).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    if len(counted) not in (MASKS, SCORES):
        raise ArgumentError(
            f"create_mask: mod_fn takes {len(counted)} arguments, expected (b, h, q, k) of a mask or (score, b, h, q, k) of scores."
        )
    return len(counted)


def create_block_mask(
    mask_mod: Callable,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """A mask for ``flex_attention``: its function, and which blocks of queries and keys it leaves in, wholly or in part.

    Args:
        mask_mod: ``mask_mod(b, h, q, k)`` of whole numbers, 0-d tensors: True where query q sees key k.
        B, H: numbers of batches and heads; None: the mask is the same for all.
        Q_LEN, KV_LEN: numbers of queries and keys.
        device: where it is made.
        BLOCK_SIZE: sizes of the blocks; one number serves both.
        separate_full_blocks: whether blocks that are left in wholly are listed apart.

    Raises:
        RangeError: a size of blocks below 1.

    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256)
    >>> mask.to_dense().tolist(), mask.sparsity()
    ([[[[1, 0], [1, 1]]]], 25.0)
    """
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    if min(block) < 1:
        raise RangeError(f"create_block_mask: BLOCK_SIZE is {BLOCK_SIZE}, expected numbers from 1.")
    return BlockMask.of_mask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), block, mask_mod, separate_full_blocks)


# ---- attention -------------------------------------------------------------------------------------------------------


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with scores ``score_mod(scale * query . key, b, h, q, k)``, of which ``block_mask`` leaves some out.

    Gradients of every order reach query, key, value and the tensors that ``score_mod`` mentions. Without ``score_mod`` and further
    results it is ``scaled_dot_product_attention``; else all scores are in memory.

    Args:
        query: shape (batch, heads, l, e), floating.
        key: shape (batch, heads, s, e), of the same dtype.
        value: shape (batch, heads, s, v), of the same dtype.
        score_mod: of a score and four whole numbers (batch, head, query, key), all 0-d tensors.
        block_mask: from ``create_block_mask``.
        scale: ``1 / sqrt(e)`` unless given.
        enable_gqa: heads of key and value serve groups of neighbouring heads of the query.
        return_lse: whether the logarithms of the sums of exponentials of the scores are returned, too; torch's old argument.
        kernel_options: have no effect.
        return_aux: what is returned, too.

    Returns:
        (batch, heads, l, v); a query that sees no key gives 0. With ``return_aux`` a pair with an ``AuxOutput``, whose tensors have
        shape (batch, heads, l); with ``return_lse`` a pair with the logarithms.

    Raises:
        AttentionError: sizes do not go together, or the mask is one of other sizes.
        DTypeError: dtypes differ.

    Source: Dong et al., "Flex Attention", 2024.

    >>> import nbgrad
    >>> v = nbgrad.arange(3.0).reshape(1, 1, 3, 1)
    >>> causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 3, 3)
    >>> flex_attention(nbgrad.zeros(1, 1, 3, 4), nbgrad.zeros(1, 1, 3, 4), v, block_mask=causal).flatten()
    tensor([0.0000, 0.5000, 1.0000])
    """
    require_together(query, key, value, enable_gqa)
    sizes = (*query.shape[:3], key.shape[2])
    if block_mask is not None:
        require_mask(block_mask, sizes)
    mask = None if block_mask is None else block_mask.elements()
    aux = return_aux or AuxRequest(lse=return_lse)
    if score_mod is None and not any(aux):
        return scaled_dot_product_attention(query, key, value, mask, scale=scale, enable_gqa=enable_gqa)
    key, value = (x.repeat_interleave(sizes[1] // x.shape[1], 1) if x.shape[1] != sizes[1] else x for x in (key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if score_mod is not None:
        require_callable("flex_attention", score_mod)
        scores = over_all(score_mod, True)(scores, *places(sizes, query.device)).to(query.dtype)
    seen = None if mask is None else mask.expand(sizes)
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    lse = logsumexp(scores, -1)
    nothing = scores.isneginf().all(-1, keepdim=True)
    out = scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0) @ value
    if return_aux is not None:
        return out, AuxOutput(lse if aux.lse else None, scores.amax(-1) if aux.max_scores else None)
    return (out, lse) if return_lse else out


def require_together(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    """Refuse queries, keys and values that do not go together."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim != 4:
            raise ShapeError(f"flex_attention: {name} is {list(x.shape)}, expected 4 dimensions (batch, heads, length, features).")
        if x.dtype is not query.dtype or not x.dtype.is_floating_point:
            raise DTypeError(f"flex_attention: {name} is {x.dtype}, query {query.dtype}, expected one floating dtype.")
    if query.shape[-1] != key.shape[-1] or key.shape[:3] != value.shape[:3] or query.shape[0] != key.shape[0]:
        raise AttentionError(
            f"flex_attention: query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} do not go together: "
            "expected (batch, heads, l, e), (batch, heads, s, e) and (batch, heads, s, v)."
        )
    heads, served = query.shape[1], key.shape[1]
    if heads != served and not (enable_gqa and served and heads % served == 0):
        hint = "one number, or a multiple" if enable_gqa else "one number. Hint: enable_gqa=True"
        raise AttentionError(f"flex_attention: query has {heads} heads, key {served}, expected {hint}.")


def require_mask(mask: BlockMask, sizes: tuple[int, ...]) -> None:
    """Refuse a mask of other sizes; one batch, or one head, of it serves all."""
    if not isinstance(mask, BlockMask):
        raise ArgumentError(f"flex_attention: block_mask is {type(mask).__name__}, expected what create_block_mask returns.")
    own = mask.shape
    if own[2:] != sizes[2:] or any(n not in (1, size) for n, size in zip(own[:2], sizes)):
        raise AttentionError(f"flex_attention: block_mask is for {own} (batch, heads, queries, keys), expected {sizes}.")
