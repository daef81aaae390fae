"""``MultiheadAttention``."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import SettingError
from . import init
from .attention import multi_head_attention_forward
from .layers import Linear
from .module import Module

__all__ = ["MultiheadAttention", "NonDynamicallyQuantizableLinear"]


class NonDynamicallyQuantizableLinear(Linear):
    """``Linear`` under the name by which torch prints that of ``MultiheadAttention``.

    >>> NonDynamicallyQuantizableLinear(2, 3)
    NonDynamicallyQuantizableLinear(in_features=2, out_features=3, bias=True)
    """


class MultiheadAttention(Module):
    """Attention of several heads, each of which sees products of its own with queries, keys and values.

    Args:
        embed_dim: features of queries and of the result.
        num_heads: by which ``embed_dim`` can be divided.
        dropout: of the weights, while training.
        bias: whether products have one.
        add_bias_kv: whether there is a learnt further key and value.
        add_zero_attn: whether there is one more, of zeros.
        kdim, vdim: features of keys and values; ``embed_dim`` unless given.
        batch_first: ``(n, l, e)`` rather than ``(l, n, e)``.

    Attributes:
        in_proj_weight: of queries, keys and values, ``(3 * embed_dim, embed_dim)``; None where keys or values have other features,
            and there are ``q_proj_weight``, ``k_proj_weight``, ``v_proj_weight``. At first those of Glorot and Bengio.
        in_proj_bias, out_proj, bias_k, bias_v: the others.

    Raises:
        SettingError: the heads do not divide ``embed_dim``, or one of both is not positive.

    Source: Vaswani et al., "Attention Is All You Need", 2017.

    >>> import nbgrad
    >>> out, weights = MultiheadAttention(8, 2)(*[nbgrad.ones(5, 3, 8)] * 3)
    >>> out.shape, weights.shape
    (nbgrad.Size([5, 3, 8]), nbgrad.Size([3, 5, 5]))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise SettingError(
                f"MultiheadAttention: embed_dim is {embed_dim}, num_heads {num_heads}, expected positive ones, the first divisible."
            )
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        made: Any = {"device": device, "dtype": dtype}
        shapes: dict[str, tuple[int, ...] | None] = {
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
            "in_proj_weight": None,
        }
        if self._qkv_same_embed_dim:
            shapes = {"in_proj_weight": (3 * embed_dim, embed_dim), **dict.fromkeys(list(shapes)[:3])}
        shapes["in_proj_bias"] = (3 * embed_dim,) if bias else None
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else Parameter(nbgrad.empty(shape, **made)))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, **made)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, Parameter(nbgrad.empty((1, 1, embed_dim), **made)) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Weights drawn anew, biases 0."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result and the weights, or None: see ``functional.multi_head_attention_forward``.

        ``need_weights=False`` is faster, and keeps no matrix of weights.
        """
        turned = self.batch_first and query.ndim == 3
        if turned:  # one tensor stays one: its products are one then
            query, key, value = swapped_together(query, key, value)
        out, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return out.transpose(0, 1) if turned else out, weights


def swapped_together(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The first two dimensions swapped, of one tensor once."""
    first = query.transpose(0, 1)
    second = first if key is query else key.transpose(0, 1)
    return first, second, second if value is key else value.transpose(0, 1)
