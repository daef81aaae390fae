"""Functions of networks as torch's own library calls them, beneath ``nn.functional``: ``nbgrad.layer_norm``, ``nbgrad.lstm``.

They take arguments in another order, weights in the place of modules, and numbers where ``nn.functional`` has words: reductions are
0 for none, 1 for the mean and 2 for the sum. Each is the function of ``nn.functional`` with its arguments put in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbgrad

from .. import Tensor
from ..base.dtypes import bool_
from ..base.errors import RangeError, ShapeError
from . import functional as F
from .lookup import shorten
from .packing import plan_of
from .recurrence import all_layers, one_step

__all__ = [
    "affine_grid_generator",
    "alpha_dropout_",
    "batch_norm",
    "constant_pad_nd",
    "conv_tbc",
    "cosine_embedding_loss",
    "ctc_loss",
    "dropout_",
    "embedding",
    "embedding_renorm_",
    "feature_alpha_dropout_",
    "feature_dropout_",
    "frobenius_norm",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "group_norm",
    "gru",
    "gru_cell",
    "hinge_embedding_loss",
    "instance_norm",
    "layer_norm",
    "lstm",
    "lstm_cell",
    "margin_ranking_loss",
    "max_pool1d_with_indices",
    "native_batch_norm",
    "native_channel_shuffle",
    "native_dropout",
    "native_group_norm",
    "native_layer_norm",
    "norm_except_dim",
    "poisson_nll_loss",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "rrelu",
    "rrelu_",
    "triplet_margin_loss",
]

REDUCTIONS = "none", "mean", "sum"
INTERPOLATIONS = "bilinear", "nearest", "bicubic"
PADDINGS = "zeros", "border", "reflection"


def word(op: str, argument: str, number: Any, words: Sequence[str]) -> str:
    """The word for a number; a word is taken, too.

    Raises:
        RangeError: there is none.
    """
    if number in words:
        return str(number)
    if isinstance(number, int) and 0 <= number < len(words):
        return words[number]
    raise RangeError(f"{op}: {argument} is {number!r}, expected 0 to {len(words) - 1} ({', '.join(words)}).")


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Rows of a table by their numbers; ``padding_idx`` -1 is none. See ``nn.functional.embedding``."""
    none = None if padding_idx == -1 else padding_idx
    return F.embedding(indices, weight, none, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows of a table that ``indices`` number down to ``max_norm`` where they are longer, in place.

    >>> embedding_renorm_(nbgrad.tensor([[3.0, 4.0], [3.0, 4.0]]), nbgrad.tensor([1]), 1.0, 2.0)
    tensor([[3.0000, 4.0000],
            [0.6000, 0.8000]])
    """
    shorten(input, indices.reshape((-1,)), max_norm, norm_type)
    return input


# Norms.


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """See ``nn.functional.batch_norm``; ``cudnn_enabled`` chooses nothing here."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """See ``nn.functional.instance_norm``; ``cudnn_enabled`` chooses nothing here."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """See ``nn.functional.layer_norm``; ``cudnn_enable`` chooses nothing here."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """See ``nn.functional.group_norm``; ``cudnn_enabled`` chooses nothing here."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def moments(x: Tensor, dims: tuple[int, ...], eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The mean and the inverse of the standard deviation along ``dims``."""
    variance, mean = nbgrad.var_mean(x, dims, correction=0, keepdim=keepdim)
    return mean, (variance + eps).rsqrt()


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``layer_norm``, and the mean and the inverse standard deviation of each row, whose dimensions stay with size 1.

    >>> [part.shape for part in native_layer_norm(nbgrad.ones(4, 3), (3,), None, None, 1e-5)]
    [nbgrad.Size([4, 3]), nbgrad.Size([4, 1]), nbgrad.Size([4, 1])]
    """
    normed = F.layer_norm(input, normalized_shape, weight, bias, eps)
    return normed, *moments(input, tuple(range(-len(normalized_shape), 0)), eps, True)


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``group_norm``, and the mean and the inverse standard deviation of every group, of shape ``(N, group)``.

    Raises:
        ShapeError: the input does not have N * C * HxW elements.
    """
    if input.numel() != N * C * HxW:
        raise ShapeError(f"native_group_norm: input is {list(input.shape)}, expected {N} * {C} * {HxW} elements.")
    normed = F.group_norm(input, group, weight, bias, eps)
    return normed, *moments(input.reshape(N, group, -1), (2,), eps, False)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """``batch_norm``, and in training the mean and the inverse standard deviation of every channel; empty tensors otherwise."""
    normed = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return normed, input.new_empty(0), input.new_empty(0)
    return normed, *moments(input, tuple(k for k in range(input.ndim) if k != 1), eps, False)


def frobenius_norm(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The root of the sum of squares along ``dim``; of all dimensions if it is empty."""
    return nbgrad.linalg.vector_norm(input, 2, dim if isinstance(dim, int) or len(dim) else None, keepdim, out=out)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm along all dimensions but ``dim``, which stay with size 1; of all elements with -1.

    >>> norm_except_dim(nbgrad.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return nbgrad.norm(v, pow)
    return nbgrad.norm(v, pow, [k for k in range(v.ndim) if k != dim], True)


# Losses.


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int | str = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """See ``nn.functional.ctc_loss``."""
    how = word("ctc_loss", "reduction", reduction, REDUCTIONS)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int | str) -> Tensor:
    """See ``nn.functional.poisson_nll_loss``."""
    how = word("poisson_nll_loss", "reduction", reduction, REDUCTIONS)
    return F.poisson_nll_loss(input, target, log_input=log_input, full=full, eps=eps, reduction=how)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int | str = 1) -> Tensor:
    """See ``nn.functional.cosine_embedding_loss``."""
    how = word("cosine_embedding_loss", "reduction", reduction, REDUCTIONS)
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int | str = 1) -> Tensor:
    """See ``nn.functional.hinge_embedding_loss``."""
    how = word("hinge_embedding_loss", "reduction", reduction, REDUCTIONS)
    return F.hinge_embedding_loss(input, target, margin, reduction=how)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int | str = 1) -> Tensor:
    """See ``nn.functional.margin_ranking_loss``."""
    how = word("margin_ranking_loss", "reduction", reduction, REDUCTIONS)
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=how)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int | str = 1,
) -> Tensor:
    """See ``nn.functional.triplet_margin_loss``."""
    how = word("triplet_margin_loss", "reduction", reduction, REDUCTIONS)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=how)


# Dropouts and slopes.


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """``dropout``, and which elements it kept."""
    if train is False or not p:
        return input.clone(), nbgrad.ones_like(input, dtype=bool_)
    kept = F.dropout(nbgrad.ones_like(input, requires_grad=False), p, True)
    return input * kept, kept != 0


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` that overwrites its argument."""
    return nbgrad.dropout(input, p, train, True)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_dropout`` that overwrites its argument."""
    return nbgrad.feature_dropout(input, p, train, True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` that overwrites its argument."""
    return nbgrad.alpha_dropout(input, p, train, True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_alpha_dropout`` that overwrites its argument."""
    return nbgrad.feature_alpha_dropout(input, p, train, True)


def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """See ``nn.functional.rrelu``."""
    return F.rrelu(input, lower, upper, training)


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """``rrelu`` that overwrites its argument."""
    return F.rrelu(input, lower, upper, training, True)


# Images and sequences.


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """See ``nn.functional.pad``; ``pad`` begins with the last dimension."""
    return F.pad(input, pad, "constant", value)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution along the first dimension of ``(steps, batch, channels)``, by weights ``(steps, channels, results)``.

    >>> conv_tbc(nbgrad.ones(5, 2, 3), nbgrad.ones(2, 3, 4), nbgrad.zeros(4)).shape
    nbgrad.Size([4, 2, 4])
    """
    return F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """See ``nn.functional.channel_shuffle``."""
    return F.channel_shuffle(input, groups)


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """``max_pool1d`` with ``return_indices=True``."""
    values, indices = nbgrad.max_pool1d(input, kernel_size, stride or None, padding, dilation, ceil_mode, True)
    return values, indices


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int | str, padding_mode: int | str, align_corners: bool
) -> Tensor:
    """See ``nn.functional.grid_sample``: modes 0 bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 border, 2 reflection."""
    mode = word("grid_sampler", "interpolation_mode", interpolation_mode, INTERPOLATIONS)
    return F.grid_sample(input, grid, mode, word("grid_sampler", "padding_mode", padding_mode, PADDINGS), align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """See ``nn.functional.affine_grid``."""
    return F.affine_grid(theta, size, align_corners)


# Recurrent layers of given weights.


def layers(mode: str, input: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
    """The outputs of the last layer and the last states of all: of sequences side by side, or packed ones with ``batch_sizes``."""
    is_packed = "batch_sizes" in kwargs or len(args) > 3 and isinstance(args[3], bool)  # where has_biases then stands
    return (packed_layers if is_packed else padded_layers)(mode, input, *args, **kwargs)


def padded_layers(
    mode: str,
    input: Tensor,
    hx: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Of sequences side by side: ``(steps, batch, size)``, or with ``batch_first`` ``(batch, steps, size)``."""
    x = input.transpose(0, 1) if batch_first else input
    weights = weights_of(mode, params, has_biases, num_layers, bidirectional)
    states = list(hx) if mode == "LSTM" else [hx]
    out, last = all_layers(mode, x, weights, states, None, 1 + bidirectional, dropout if train else 0.0)
    return (out.transpose(0, 1) if batch_first else out, *last)


def packed_layers(
    mode: str,
    input: Tensor,
    batch_sizes: Tensor,
    hx: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    """Of the data of packed sequences."""
    weights = weights_of(mode, params, has_biases, num_layers, bidirectional)
    states, plan = list(hx) if mode == "LSTM" else [hx], plan_of(batch_sizes, input.device)
    out, last = all_layers(mode, input, weights, states, plan, 1 + bidirectional, dropout if train else 0.0)
    return (out, *last)


def weights_of(
    mode: str, params: Sequence[Tensor], has_biases: bool, num_layers: int, bidirectional: bool
) -> list[dict[str, Tensor]]:
    """The weights of every layer and direction by their names; an LSTM with one more of them each has projections.

    Raises:
        ShapeError: they are not as many as layers and directions need.
    """
    names = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * has_biases
    parts = num_layers * (1 + bidirectional)
    each = len(params) // parts
    if mode == "LSTM" and each == len(names) + 1:
        names.append("weight_hr")
    if len(params) != parts * len(names):
        raise ShapeError(f"{mode.lower()}: got {len(params)} weights, expected {parts * len(names)}: {', '.join(names)} a layer.")
    return [dict(zip(names, params[k * each : (k + 1) * each])) for k in range(parts)]


def lstm(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """All outputs of the last of several LSTM layers, and the last states ``h`` and ``c`` of all. See ``nn.LSTM``.

    ``lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``, or of packed sequences
    ``lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``.

    Args:
        input: ``(steps, batch, size)``, ``(batch, steps, size)`` with ``batch_first``, or data of packed sequences.
        hx: the first states ``(layers * directions, batch, size)``, two of them.
        params: weights of inputs and of states and their biases, layer by layer and direction by direction; of layers with
            projections those, too.

    Raises:
        ShapeError: there are not as many weights as layers need.

    >>> model = nbgrad.nn.LSTM(3, 4)
    >>> states = nbgrad.zeros(1, 2, 4), nbgrad.zeros(1, 2, 4)
    >>> out, h, c = lstm(nbgrad.ones(5, 2, 3), states, tuple(model.parameters()), True, 1, 0.0, False, False, False)
    >>> bool((out == model(nbgrad.ones(5, 2, 3))[0]).all())
    True
    """
    return layers("LSTM", input, args, kwargs)


def gru(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """As ``lstm``, of GRU layers, which have one state."""
    return layers("GRU", input, args, kwargs)


def rnn_tanh(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """As ``lstm``, of plain layers with ``tanh``, which have one state."""
    return layers("RNN_TANH", input, args, kwargs)


def rnn_relu(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """As ``lstm``, of plain layers with ``relu``, which have one state."""
    return layers("RNN_RELU", input, args, kwargs)


def cell(mode: str, input: Tensor, states: Any, *weights: Tensor | None) -> tuple[Tensor, ...]:
    """The states after one step."""
    return one_step(mode, input, dict(zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights)), tuple(states))


def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The states ``h`` and ``c`` after one step of an LSTM. See ``nn.LSTMCell``."""
    h, c = cell("LSTM", input, hx, w_ih, w_hh, b_ih, b_hh)
    return h, c


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The state after one step of a GRU. See ``nn.GRUCell``."""
    return cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The state after one step of a plain layer with ``tanh``. See ``nn.RNNCell``."""
    return cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The state after one step of a plain layer with ``relu``. See ``nn.RNNCell``."""
    return cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]
