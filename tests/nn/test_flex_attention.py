"""Attention with scores that a function changes, and masks by blocks."""

from __future__ import annotations

import math

import pytest
from nbgrad.nn.attention.bias import causal_lower_right, causal_upper_left
from nbgrad.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

import nbgrad
from nbgrad.nn.functional import scaled_dot_product_attention
from tests.helpers import leaf


def causal(b, h, q, k):
    return q >= k


def inputs(heads=2, served=2, queries=5, keys=5, dtype=nbgrad.float64):
    """Query, key, value: leaves, drawn from seed 0."""
    nbgrad.manual_seed(0)
    shapes = (2, heads, queries, 4), (2, served, keys, 4), (2, served, keys, 3)
    return [nbgrad.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("block", [1, 2, 128, (2, 3)])
@pytest.mark.parametrize("separate", [True, False])
def test_a_block_mask_is_the_mask_of_single_scores(block, separate):
    """However the scores are cut into blocks."""
    q, k, v = inputs(queries=7)
    mask = create_block_mask(causal, None, None, 7, 5, BLOCK_SIZE=block, separate_full_blocks=separate)
    assert mask.elements().equal(create_mask(causal, 1, 1, 7, 5))
    expected = scaled_dot_product_attention(q, k, v, causal_upper_left(7, 5))
    assert nbgrad.allclose(flex_attention(q, k, v, block_mask=mask), expected)
    assert nbgrad.allclose(flex_attention(q, k, v, lambda s, b, h, i, j: s, mask), expected)


def test_scores_are_those_of_a_function_of_places():
    """Against all scores at once, with gradients for what the function mentions."""
    q, k, v = inputs()
    slopes = leaf([0.5, 0.25])

    def changed(score, b, h, i, j):
        return nbgrad.tanh(score) * 2 - slopes[h] * (i - j).abs() + 0.1 * b

    out = flex_attention(q, k, v, changed, scale=0.3)
    place = nbgrad.arange(5)
    away = (place.unsqueeze(1) - place).abs()
    scores = nbgrad.tanh(q @ k.mT * 0.3) * 2 - slopes.reshape(2, 1, 1) * away + 0.1 * nbgrad.arange(2).reshape(2, 1, 1, 1)
    expected = scores.softmax(-1) @ v
    assert nbgrad.allclose(out, expected)
    leaves = [q, k, v, slopes]
    for found, right in zip(nbgrad.grad(out.square().sum(), leaves), nbgrad.grad(expected.square().sum(), leaves)):
        assert nbgrad.allclose(found, right)


def test_gradients_of_second_order():
    q, k, v = inputs(heads=1, served=1, queries=3, keys=3)
    mask = create_block_mask(causal, None, None, 3, 3, BLOCK_SIZE=2)
    assert nbgrad.autograd.gradgradcheck(lambda *x: flex_attention(*x, lambda s, b, h, i, j: s * (1 + i - j), mask), (q, k, v))


def test_a_query_that_sees_no_key():
    """Its result is 0, its logarithm -inf, and no gradient is NaN."""
    q, k, v = inputs(queries=3, keys=3)
    mask = create_block_mask(lambda b, h, i, j: i > j, None, None, 3, 3)
    for score_mod in (None, lambda s, b, h, i, j: 2 * s):
        out, aux = flex_attention(q, k, v, score_mod, mask, return_aux=AuxRequest(lse=True, max_scores=True))
        assert not out[:, :, 0].any() and (aux.lse[:, :, 0] == -math.inf).all() and (aux.max_scores[:, :, 0] == -math.inf).all()
        assert all(g.isfinite().all() for g in nbgrad.grad(out.sum() + aux.lse[:, :, 1:].sum(), [q, k, v]))


def test_further_results():
    q, k, v = inputs()
    out, lse = flex_attention(q, k, v, return_lse=True)
    assert nbgrad.allclose(out, scaled_dot_product_attention(q, k, v))
    assert nbgrad.allclose(lse, (q @ k.mT / 2).logsumexp(-1))
    assert flex_attention(q, k, v, return_aux=AuxRequest(max_scores=True))[1].lse is None


def test_heads_in_groups():
    q, k, v = inputs(heads=4)
    expected = scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert nbgrad.allclose(flex_attention(q, k, v, enable_gqa=True), expected)
    assert nbgrad.allclose(flex_attention(q, k, v, lambda s, *place: s, enable_gqa=True), expected)


def test_masks_of_batches_and_heads():
    """A mask may differ by batch and head, and mention tensors."""
    lengths = nbgrad.tensor([2, 5])
    mask = create_block_mask(lambda b, h, q, k: (k < lengths[b]) & (k >= h), 2, 2, 5, 5, BLOCK_SIZE=2)
    q, k, v = inputs()
    place = nbgrad.arange(5)
    seen = (place < lengths.reshape(2, 1, 1, 1)) & (place >= nbgrad.arange(2).reshape(2, 1, 1))
    assert nbgrad.allclose(flex_attention(q, k, v, block_mask=mask), scaled_dot_product_attention(q, k, v, seen.expand(2, 2, 5, 5)))


def test_lists_of_blocks():
    """As torch 2.13 lists them, for 300 queries and 256 keys."""
    mask = create_block_mask(causal, None, None, 300, 256)
    assert mask.shape == (1, 1, 300, 256) and mask.numel() == 76800 and mask.sparsity() == pytest.approx(-6.6667, abs=1e-3)
    assert mask.to_dense().tolist() == [[[[1, 0], [1, 1], [1, 1]]]]
    assert mask.q_num_blocks.tolist() == [[[2, 2]]] and mask.q_indices.tolist() == [[[[0, 2, 1], [1, 2, 0]]]]
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 2]]] and mask.kv_indices.tolist() == [[[[0, 1], [1, 0], [0, 1]]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]] and mask.full_q_num_blocks.tolist() == [[[1, 0]]]


def test_from_lists_of_blocks():
    """Blocks that are not listed are left out, whatever the function says; the function decides in the others, but whole ones."""
    counts, blocks = nbgrad.tensor([[[1, 1]]]), nbgrad.tensor([[[[0, 1], [1, 0]]]])
    mask = BlockMask.from_kv_blocks(counts, blocks, BLOCK_SIZE=2, mask_mod=causal)
    assert mask.elements()[0, 0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    whole = BlockMask.from_kv_blocks(0 * counts, blocks, counts, blocks, 2, causal, seq_lengths=(3, 4))
    assert whole.elements()[0, 0].int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]]
    assert whole.shape == (1, 1, 3, 4)


def test_some_blocks_of_queries():
    """As a decoder takes them: lengths and function are set behind it, and until then it is refused."""
    q, k, v = inputs(queries=1)
    some = create_block_mask(causal, None, None, 5, 5, BLOCK_SIZE=2)[:, :, nbgrad.tensor([1])]
    with pytest.raises(nbgrad.ShapeError, match="hold 2 queries"):
        some.elements()
    some.mask_mod, some.seq_lengths = (lambda b, h, i, j: causal(b, h, i + 3, j)), (1, 5)
    expected = scaled_dot_product_attention(q, k, v, nbgrad.tensor([[True, True, True, True, False]]))
    assert nbgrad.allclose(flex_attention(q, k, v, block_mask=some), expected)


def test_masks_of_masks():
    near = and_masks(causal, lambda b, h, q, k: q - k < 2)
    assert create_mask(near, None, None, 3, 3)[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert create_mask(or_masks(near, lambda b, h, q, k: k == 0), 1, 1, 3, 3)[0, 0].int().tolist() == [
        [1, 0, 0],
        [1, 1, 0],
        [1, 1, 1],
    ]
    assert create_mask(noop_mask, 2, 3, 1, 2).tolist() == nbgrad.ones(2, 3, 1, 2, dtype=nbgrad.bool).tolist()
    assert create_mask(lambda s, b, h, q, k: nbgrad.where(q > k, s, -math.inf), 1, 1, 2, 2).int().tolist() == [[[[0, 0], [1, 0]]]]


def test_pictures():
    mask = create_block_mask(causal, None, None, 5, 4, BLOCK_SIZE=2)
    assert str(mask) == "BlockMask(shape=(1, 1, 5, 4), sparsity=0.00%,\n(0, 0)\n░░  \n██░░\n░░░░\n)"
    assert "mask_mod=causal" in repr(mask)
    assert mask.to_string(limit=1) == "(0, 0)\n░░...\n..."


def test_masks_between_unlike_lengths():
    assert causal_lower_right(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert causal_upper_left(2, 4).int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda q, k, v: (q[0], k, v), "expected 4 dimensions"),
        (lambda q, k, v: (q, k, v[:, :, 1:]), "do not go together"),
        (lambda q, k, v: (q[..., 1:], k, v), "do not go together"),
        (lambda q, k, v: (q, k[:, :1], v[:, :1]), "enable_gqa"),
        (lambda q, k, v: (q, k.float(), v), "expected one floating dtype"),
        (lambda q, k, v: (q, k, v, 3), "expected a function"),
        (lambda q, k, v: (q, k, v, None, create_block_mask(causal, None, None, 9, 5)), "block_mask is for"),
        (lambda q, k, v: (q, k, v, None, create_block_mask(causal, 3, None, 5, 5)), "block_mask is for"),
        (lambda q, k, v: (q, k, v, None, nbgrad.ones(5, 5)), "create_block_mask"),
    ],
)
def test_what_does_not_go_together(change, message):
    with pytest.raises(nbgrad.NbgradError, match=message):
        flex_attention(*change(*inputs()))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: create_block_mask(causal, None, None, 4, 4, BLOCK_SIZE=0), "from 1"),
        (lambda: create_mask(lambda a, b: a, None, None, 2, 2), "takes 2 arguments"),
        (lambda: and_masks(causal, 3), "expected a function"),
        (lambda: BlockMask.from_kv_blocks(nbgrad.zeros(1, 1, 2), nbgrad.zeros(1, 1, 2)), "one dimension more"),
        (lambda: create_block_mask(causal, None, None, 4, 4)[0, 0, 0, 0], "at most"),
    ],
)
def test_masks_that_cannot_be(call, message):
    with pytest.raises(nbgrad.NbgradError, match=message):
        call()
