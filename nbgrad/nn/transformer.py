"""Transformers: encoders, decoders, both."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, ShapeError
from . import functional as F, init
from .container import ModuleList
from .dropout import Dropout
from .layers import LayerNorm, Linear
from .module import Module
from .multihead import MultiheadAttention

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]


def activation_of(given: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function, or that of a name.

    Raises:
        RangeError: a name that is not "relu" or "gelu".
    """
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RangeError(f"transformer: activation is {given!r}, expected 'relu', 'gelu' or a function.")
    return F.relu if given == "relu" else F.gelu


class _Layer(Module):
    """What layers of encoders and decoders share: attentions and two linear layers, with a norm and a dropout for each part."""

    attentions: tuple[str, ...] = ("self_attn",)
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made: Any = {"bias": bias, "device": device, "dtype": dtype}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made))
        self.linear1, self.dropout = Linear(d_model, dim_feedforward, **made), Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        parts = range(1, len(self.attentions) + 2)
        for k in parts:
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, **made))
        for k in parts:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = activation_of(activation)

    def _attended(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool = False) -> Tensor:
        return self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False)[0]

    def _fed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _added(self, x: Tensor, norm: Module, dropout: Module, block: Callable[..., Tensor], *more: Any) -> Tensor:
        """``x`` plus what a block makes of it; the norm comes before the block or after the sum."""
        if self.norm_first:
            return x + dropout(block(norm(x), *more))
        return norm(x + dropout(block(x, *more)))


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then two linear layers at each place; around both a sum and a norm.

    Args:
        d_model: features.
        nhead: heads.
        dim_feedforward: features between the two linear layers.
        dropout: after each part, between the linear layers, and of weights of attention.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: of the norms.
        batch_first: ``(n, l, e)`` rather than ``(l, n, e)``.
        norm_first: norms before the parts rather than after the sums.
        bias: whether linear layers and norms have one.

    Raises:
        RangeError: no such activation; the heads do not divide the features.

    Source: Vaswani et al., "Attention Is All You Need", 2017; Xiong et al., "On Layer Normalization in the Transformer
    Architecture", 2020.

    >>> import nbgrad
    >>> TransformerEncoderLayer(8, 2, 16)(nbgrad.ones(5, 3, 8)).shape
    nbgrad.Size([5, 3, 8])
    """

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Of the shape of ``src``; masks as those of ``MultiheadAttention``."""
        x = self._added(src, self.norm1, self.dropout1, self._attended, src_mask, src_key_padding_mask, is_causal)
        return self._added(x, self.norm2, self.dropout2, self._fed_forward)


class TransformerDecoderLayer(_Layer):
    """A layer of an encoder, with attention to another sequence between its two parts.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation: as of ``TransformerEncoderLayer``, and so are the others.

    Raises:
        RangeError: no such activation; the heads do not divide the features.

    >>> import nbgrad
    >>> TransformerDecoderLayer(8, 2, 16)(nbgrad.ones(5, 3, 8), nbgrad.ones(7, 3, 8)).shape
    nbgrad.Size([5, 3, 8])
    """

    attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the shape of ``tgt``, which sees itself and then ``memory``."""
        x = self._added(tgt, self.norm1, self.dropout1, self._attended, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        given = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        x = self._added(x, self.norm2, self.dropout2, self._attended_to, *given)
        return self._added(x, self.norm3, self.dropout3, self._fed_forward)

    def _attended_to(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        given: Any = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": is_causal, "need_weights": False}
        return self.multihead_attn(x, memory, memory, **given)[0]


def copies(layer: Module, count: int) -> ModuleList:
    """So many layers with parameters of their own, which begin as those of ``layer``."""
    return ModuleList([deepcopy(layer) for _ in range(count)])


_get_clones, _get_activation_fn = copies, activation_of  # torch's names


class TransformerEncoder(Module):
    """Copies of a layer, one after the other.

    Args:
        encoder_layer: what is copied, with its parameters as they are.
        num_layers: how many copies.
        norm: a last module, or None.
        enable_nested_tensor, mask_check: torch's; without effect.

    >>> import nbgrad
    >>> TransformerEncoder(TransformerEncoderLayer(8, 2, 16), 2)(nbgrad.ones(5, 3, 8)).shape
    nbgrad.Size([5, 3, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = copies(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None
    ) -> Tensor:
        """Of the shape of ``src``. ``is_causal``: that ``mask`` is the causal one; None is False."""
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a layer, one after the other, each of which sees ``memory``.

    Args:
        decoder_layer: what is copied, with its parameters as they are.
        num_layers: how many copies.
        norm: a last module, or None.

    >>> import nbgrad
    >>> TransformerDecoder(TransformerDecoderLayer(8, 2, 16), 2)(nbgrad.ones(5, 3, 8), nbgrad.ones(7, 3, 8)).shape
    nbgrad.Size([5, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = copies(decoder_layer, num_layers), num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the shape of ``tgt``."""
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that sees its result.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation: of the layers; layer_norm_eps, batch_first, norm_first, bias, too.
        num_encoder_layers, num_decoder_layers: how many.
        custom_encoder, custom_decoder: modules in their place.

    Weights are at first those of Glorot and Bengio.

    >>> import nbgrad
    >>> model = Transformer(8, 2, 1, 1, 16)
    >>> model(nbgrad.ones(7, 3, 8), nbgrad.ones(5, 3, 8), tgt_mask=model.generate_square_subsequent_mask(5)).shape
    nbgrad.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made: Any = {"bias": bias, "device": device, "dtype": dtype}
        layer: Any = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*layer, **made), num_encoder_layers, LayerNorm(d_model, layer_norm_eps, **made)
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*layer, **made), num_decoder_layers, LayerNorm(d_model, layer_norm_eps, **made)
        )
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the shape of ``tgt``.

        Raises:
            ShapeError: the sequences are not as many, or have other features than ``d_model``.
        """
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise ShapeError(f"Transformer: src is {list(src.shape)}, tgt {list(tgt.shape)}, expected as many sequences.")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ShapeError(f"Transformer: src is {list(src.shape)}, tgt {list(tgt.shape)}, expected {self.d_model} features.")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask: -inf above the diagonal, 0 elsewhere.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return nbgrad.full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)
