"""Attention and transformers: against their formulas, and against numbers that torch 2.13 gave once."""

from __future__ import annotations

import ctypes
import math

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.func import grad, jvp
from nbgrad.lowering import attention
from nbgrad.nn import functional as F

DOUBLE = nbgrad.float64
CAUSAL = nn.Transformer.generate_square_subsequent_mask(3, dtype=DOUBLE)
PADDING = nbgrad.tensor([[False, True, False], [False, False, True]])


def wave(*shape: int, phase: float = 0.0) -> nbgrad.Tensor:
    """Numbers without symmetry, the same everywhere."""
    return (nbgrad.arange(math.prod(shape), dtype=DOUBLE) * 1.3 + phase).cos().reshape(shape)


def filled(module: nn.Module) -> nn.Module:
    """The module with parameters that follow from their places."""
    with nbgrad.no_grad():
        for k, parameter in enumerate(module.parameters()):
            parameter.copy_((nbgrad.arange(parameter.numel(), dtype=DOUBLE) * 0.7 + k).sin().reshape(parameter.shape) * 0.3)
    return module


def written_out(query, key, value, mask=None, is_causal=False):
    """Attention by operations that know nothing of one another; of a mask that leaves something in every row."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype is nbgrad.bool else scores + mask
    if is_causal:
        scores = scores + nbgrad.full(scores.shape[-2:], -math.inf, dtype=scores.dtype).triu(1)
    return scores.softmax(-1) @ value


def close(made, expected) -> bool:
    """Whether numbers are equal up to rounding."""
    return made.allclose(expected, rtol=1e-9, atol=1e-11)


SOME = (nbgrad.arange(15) % 4 != 1).reshape(3, 5)


@pytest.mark.parametrize(
    "more",
    [{}, {"is_causal": True}, {"attn_mask": SOME}, {"attn_mask": wave(2, 1, 3, 5)}],
    ids=["plain", "causal", "bool", "added"],
)
def test_attention_is_what_its_formula_says(more):
    """Values, derivatives of two orders by every operand, tangents, batches, and in a graph."""
    values = wave(2, 2, 3, 4), wave(2, 2, 5, 4, phase=1.0), wave(2, 2, 5, 6, phase=2.0)

    def fused(*given):
        return F.scaled_dot_product_attention(*given, **more)

    def plain(*given):
        return written_out(*given, more.get("attn_mask"), more.get("is_causal", False))

    assert close(fused(*values), plain(*values))
    assert close(nbgrad.compile(fused)(*values), plain(*values))
    for k in range(3):

        def first(f, k=k):
            return grad(lambda *given: (f(*given) ** 2).sum(), argnums=k)

        def second(f, k=k):
            return grad(lambda *given: (first(f)(*given) ** 2).sum(), argnums=(k + 1) % 3)

        assert close(first(fused)(*values), first(plain)(*values))
        assert close(second(fused)(*values), second(plain)(*values))
    leaves = [x.clone().requires_grad_() for x in values]  # all three cotangents at once, by one kernel
    for made, expected in zip(*(nbgrad.grad((f(*leaves) ** 2).sum(), leaves) for f in (fused, plain))):
        assert close(made, expected)
    tangents = tuple([x.sin() for x in values])
    assert close(jvp(fused, values, tangents)[1], jvp(plain, values, tangents)[1])
    if more.get("attn_mask") is None or more["attn_mask"].ndim == 2:
        assert close(
            nbgrad.vmap(fused, (0, None, 0))(values[0], values[1][0], values[2]), plain(values[0], values[1][:1], values[2])
        )


def test_long_sequences_are_computed_in_blocks():
    """More rows than a block has, strided operands, in single precision: the result is ordered as the query is, and close."""
    q, k, v = (wave(2, 150, 3, 8, phase=p).float().transpose(1, 2).requires_grad_() for p in (0.0, 1.0, 2.0))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert out.stride() == q.stride() and out.transpose(1, 2).is_contiguous()
    wide = [x.detach().double().requires_grad_() for x in (q, k, v)]
    expected = written_out(*wide, is_causal=True)
    assert out.double().allclose(expected, rtol=1e-5, atol=1e-5)
    weight = wave(2, 3, 150, 8, phase=3.0)
    made = nbgrad.grad(out, (q, k, v), weight.float())
    for found, true in zip(made, nbgrad.grad(expected, wide, weight)):
        assert found.double().allclose(true, rtol=1e-4, atol=1e-4)


def test_queries_that_see_no_key_give_zeros():
    """By a mask of truth values or of -inf, with gradients of 0, by the kernel, in steps, and where there are no keys at all."""
    q, k = (wave(3, 2).requires_grad_() for _ in range(2))
    mask = nbgrad.tensor([[True, True, True], [False] * 3, [True, False, True]])
    for given in (mask, nbgrad.zeros(3, 3, dtype=DOUBLE).masked_fill(~mask, -math.inf)):
        for p in (0.0, 1e-300):
            out = F.scaled_dot_product_attention(q, k, k, given, dropout_p=p)
            grads = nbgrad.grad(out.sum(), (q, k))
            assert out[1].tolist() == [0, 0] and grads[0][1].tolist() == [0, 0] and all(g.isfinite().all() for g in grads)
    assert F.scaled_dot_product_attention(q, k[:0], k[:0]).tolist() == [[0, 0]] * 3
    assert F.scaled_dot_product_attention(q[:0], k, k).shape == (0, 2)


def test_heads_in_groups_and_half_types():
    """Groups of heads share keys and values; half types are computed in single precision; the scale is one's own."""
    q, k = wave(2, 4, 3, 2), wave(2, 2, 5, 2)
    mask = wave(2, 4, 3, 5) > 0
    mask[..., 0] = True
    repeated = k.repeat_interleave(2, 1)
    made = F.scaled_dot_product_attention(q, k, k, mask, enable_gqa=True)
    assert close(made, written_out(q, repeated, repeated, mask))
    half = [x.bfloat16() for x in (q, repeated)]
    made = F.scaled_dot_product_attention(*half, half[1])
    assert made.dtype is nbgrad.bfloat16
    assert made.equal(written_out(*(x.float() for x in (*half, half[1]))).bfloat16())
    assert close(F.scaled_dot_product_attention(q, repeated, repeated, scale=0.0), repeated.mean(2, True).expand(2, 4, 3, 2))


def test_dropout_leaves_out_weights():
    """Each is 0 or grows by 1 / (1 - p), by the numbers of the house's generator."""
    x = nbgrad.zeros(64, 1)
    nbgrad.manual_seed(3)
    made = F.scaled_dot_product_attention(x, x, nbgrad.eye(64), dropout_p=0.25) * 64 * 0.75
    assert set(made.unique().round(decimals=4).tolist()) == {0.0, 1.0} and 0.7 < made.mean() < 0.8
    nbgrad.manual_seed(3)
    assert F.scaled_dot_product_attention(x, x, nbgrad.eye(64), dropout_p=0.25).mul(48).equal(made)


def test_without_memory_results_are_nan(monkeypatch):
    """Kernels that get no memory to work in write NaN everywhere, in results and cotangents."""
    no_memory = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p).value  # a function that leaves what it is given alone
    monkeypatch.setattr(attention, "allocator", lambda: (no_memory, no_memory))
    operands = [nbgrad.randn(2, 41, 3, requires_grad=True) for _ in range(3)]  # of layouts that no other test has plans of
    out = F.scaled_dot_product_attention(*operands)
    assert out.isnan().all()
    assert all(g.isnan().all() for g in nbgrad.autograd.grad(out.sum(), operands))


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (nbgrad.ShapeError, "the same last size", lambda q: F.scaled_dot_product_attention(q, q[..., :1], q)),
        (nbgrad.ShapeError, "a value for each key", lambda q: F.scaled_dot_product_attention(q, q, q[:1])),
        (nbgrad.ShapeError, "two dimensions", lambda q: F.scaled_dot_product_attention(q[0], q, q)),
        (
            nbgrad.ShapeError,
            "cannot broadcast|attn_mask is",
            lambda q: F.scaled_dot_product_attention(q, q[:1], q[:1], nbgrad.ones(3, 2)),
        ),
        (
            nbgrad.ShapeError,
            "4 heads",
            lambda q: F.scaled_dot_product_attention(q.expand(4, 3, 2), *[q.expand(3, 3, 2)] * 2, enable_gqa=True),
        ),
        (nbgrad.DTypeError, "one floating dtype", lambda q: F.scaled_dot_product_attention(q, q.float(), q)),
        (nbgrad.DTypeError, "attn_mask is", lambda q: F.scaled_dot_product_attention(q, q, q, nbgrad.ones(3, 3).int())),
        (nbgrad.RangeError, "dropout_p", lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=2.0)),
        (nbgrad.RangeError, "num_heads", lambda q: nn.MultiheadAttention(4, 3)),
        (nbgrad.RangeError, "activation", lambda q: nn.TransformerEncoderLayer(4, 2, activation="tanh")),
        (nbgrad.ArgumentError, "is_causal", lambda q: nn.MultiheadAttention(2, 1, dtype=DOUBLE)(q, q, q, is_causal=True)),
        (
            nbgrad.ShapeError,
            "key_padding_mask",
            lambda q: nn.MultiheadAttention(2, 1, dtype=DOUBLE)(q, q, q, key_padding_mask=PADDING),
        ),
    ],
)
def test_what_does_not_go_together_is_refused(error, match, call):
    """Sizes, dtypes and numbers, named in the message."""
    with pytest.raises(error, match=match):
        call(wave(3, 2))


HEADS = {
    "plain": (
        {},
        [0.014377394263395293, -0.2088633909406838, -0.16346457714263155],
        [0.5221293635895748, 0.47787063641042504, 0.0],
    ),
    "of other sizes": (
        {"kdim": 3, "vdim": 5},
        [-0.234330518254723, -0.23738968715747474, 0.11764479812792036],
        [0.46751343201416573, 0.5324865679858343, 0.0],
    ),
    "with more keys": (
        {"add_bias_kv": True, "add_zero_attn": True, "bias": False},
        [0.01870908263228461, -0.03374999416533241, 0.044890914367741515],
        [0.0, 0.23522167476363176, 0.23914416107697692],
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_multihead_attention_has_torch_s_numbers(name):
    """With weights asked for and without, sequences first or batches first, of a batch and of one sample."""
    given, out, shares = HEADS[name]
    module = filled(nn.MultiheadAttention(4, 2, **given, dtype=DOUBLE))
    q, k, v = wave(3, 2, 4), wave(3, 2, module.kdim, phase=1.0), wave(3, 2, module.vdim, phase=2.0)
    made, weights = module(q, k, v, key_padding_mask=PADDING, attn_mask=CAUSAL)
    assert close(made.flatten()[:3], nbgrad.tensor(out, dtype=DOUBLE)) and close(
        weights.flatten()[-3:], nbgrad.tensor(shares, dtype=DOUBLE)
    )
    assert close(module(q, k, v, PADDING, False, CAUSAL < 0)[0], made)
    each = module(q, k, v, key_padding_mask=PADDING, attn_mask=CAUSAL, average_attn_weights=False)[1]
    assert close(each.mean(1), weights)
    one = module(q[:, 1], k[:, 1], v[:, 1], key_padding_mask=PADDING[1], attn_mask=CAUSAL)
    assert close(one[0], made[:, 1]) and close(one[1], weights[1])
    hinted = module(q, k, v, attn_mask=CAUSAL, is_causal=True, need_weights=False)[0]
    assert close(hinted, module(q, k, v, attn_mask=CAUSAL)[0])
    assert module(q[:, :0], k[:, :0], v[:, :0])[0].shape == (3, 0, 4)
    module.batch_first = True
    turned = [x.transpose(0, 1) for x in (q, k, v)]
    assert close(module(*turned, key_padding_mask=PADDING, attn_mask=CAUSAL)[0].transpose(0, 1), made)


NUMBERS: dict = {
    "plain": ({}, [0.08782201753810925, 0.19627421092711825, 0.00970732103620789], 22.01732514550328),
    "norms first": (
        {"norm_first": True, "batch_first": True, "activation": "gelu"},
        [0.5148741709671277, -0.02065513144268157, -0.24925928508329842],
        25.68731414470179,
    ),
    "without biases": ({"bias": False}, [-0.14199796165755502, 0.26541976769285797, 0.07234535270631513], 22.70609301919016),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_transformers_have_torch_s_numbers(name):
    """Results, and the sum of all gradients' sizes."""
    given, out, total = NUMBERS[name]
    model = filled(nn.Transformer(4, 2, 1, 1, 6, 0.0, **given, dtype=DOUBLE))
    shape = (2, 3, 4) if given.get("batch_first") else (3, 2, 4)
    made = model(
        wave(*shape), wave(*shape, phase=1.0), tgt_mask=CAUSAL, src_key_padding_mask=PADDING, memory_key_padding_mask=PADDING
    )
    made.square().sum().backward()
    assert close(made.flatten()[:3], nbgrad.tensor(out, dtype=DOUBLE))
    assert sum(p.grad.abs().sum() for p in model.parameters()).item() == pytest.approx(total, rel=1e-9)


def test_names_and_printed_forms_are_torch_s():
    """Keys of states, which programs load, and what is printed."""
    layer = nn.TransformerDecoderLayer(4, 2, 6)
    assert list(nn.MultiheadAttention(4, 2, kdim=3, add_bias_kv=True).state_dict()) == [
        "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight", "out_proj.bias",
    ]  # fmt: skip
    assert [key for key in layer.state_dict() if key.endswith("weight")] == [
        "self_attn.in_proj_weight", "self_attn.out_proj.weight", "multihead_attn.in_proj_weight", "multihead_attn.out_proj.weight",
        "linear1.weight", "linear2.weight", "norm1.weight", "norm2.weight", "norm3.weight",
    ]  # fmt: skip
    assert [name for name, _ in layer.named_children()] == [
        "self_attn", "multihead_attn", "linear1", "dropout", "linear2", "norm1", "norm2", "norm3",
        "dropout1", "dropout2", "dropout3",
    ]  # fmt: skip
    assert "(out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)" in repr(layer)


def test_a_block_of_a_language_model_trains_alike_in_a_graph():
    """One product for queries, keys and values, split; causal attention; heads joined: the same losses in a graph and out of it."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.all, self.last = nn.Linear(8, 24, dtype=DOUBLE), nn.Linear(8, 8, dtype=DOUBLE)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (y.view(b, t, 2, c // 2).transpose(1, 2) for y in self.all(x).split(c, dim=2))
            return self.last(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))

    losses = []
    for wrap in (lambda f: f, nbgrad.compile):
        model = filled(Block())
        optimizer, run = nbgrad.optim.SGD(model.parameters(), lr=0.1), wrap(model)
        for _ in range(3):
            optimizer.zero_grad()
            loss = (run(wave(2, 4, 8)) - wave(2, 4, 8, phase=0.5)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:3] == pytest.approx(losses[3:], rel=1e-12) and losses[0] > losses[1] > losses[2]
