"""Functions of neural networks under the names that ``torch.nn.functional`` gives them.

Each is the operation of the same name in ``nbgrad``; ``softsign`` is composed of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

from .. import (
    Tensor,
    abs,
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    alpha_dropout,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    celu,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cosine_similarity,
    cross_entropy,
    dropout,
    elu,
    empty_like,
    feature_alpha_dropout,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    huber_loss,
    kl_div,
    l1_loss,
    leaky_relu,
    linear,
    log_softmax as log_softmax_along,
    logsigmoid,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    mish,
    mse_loss,
    nll_loss,
    normalize,
    one_hot,
    pad,
    pairwise_distance,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    smooth_l1_loss,
    softmax as softmax_along,
    softmin as softmin_along,
    softplus,
    softshrink,
    tanh,
    tanhshrink,
    threshold,
    zeros_like,
)
from ..base.errors import ArgumentError, RangeError, ShapeError
from ..base.function_attributes import attach, place
from ..base.user_stack import warn_user
from . import grad  # noqa: F401     # torch.nn.functional.grad
from .attention import multi_head_attention_forward, scaled_dot_product_attention
from .bags import embedding_bag
from .bilinear import bilinear
from .dropout import dropout1d, dropout2d, dropout3d
from .fractional import fractional_max_pool2d, fractional_max_pool3d
from .linear_loss import linear_cross_entropy
from .lookup import embedding
from .loss_functions import (
    cosine_embedding_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_soft_margin_loss,
    pdist,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .normalization import batch_norm, group_norm, instance_norm, local_response_norm, normal_rows, rms_norm
from .rearranging import channel_shuffle, pixel_shuffle, pixel_unshuffle
from .resampling import interpolate, upsample, upsample_bilinear, upsample_nearest
from .sampling import affine_grid, grid_sample
from .sequence_losses import ctc_loss, multilabel_margin_loss
from .windows import fold, lp_pool1d, lp_pool2d, lp_pool3d, max_unpool1d, max_unpool2d, max_unpool3d, unfold

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Shift and scale each sample to mean 0 and variance 1 over its trailing dimensions, then by weight and bias.

    Args:
        input: shape ``(*, *normalized_shape)``, floating.
        normalized_shape: the trailing dimensions that belong to one sample.
        weight, bias: shape ``normalized_shape``; None leaves the step out.
        eps: added to the variance.

    Returns:
        Tensor of the shape and dtype of ``input``.

    Raises:
        ArgumentError: ``input`` is no tensor, or ``normalized_shape`` no sequence.
        ShapeError: ``input.shape`` does not end in ``normalized_shape``.

    Source: Ba, Kiros, Hinton, "Layer Normalization", 2016; the variance is the biased one.

    >>> import nbgrad
    >>> layer_norm(nbgrad.tensor([[1.0, 3.0]]), (2,), eps=0.0)
    tensor([[-1.,  1.]])
    """
    if not isinstance(input, Tensor) or isinstance(normalized_shape, int):
        raise ArgumentError(
            f"layer_norm: expected a Tensor and a sequence of sizes, got {type(input).__name__} and {normalized_shape!r}."
        )
    shape = tuple(normalized_shape)
    if not shape or input.layout.shape[-len(shape) :] != shape:
        raise ShapeError(f"layer_norm: input is {tuple(input.shape)}, expected a shape that ends in normalized_shape {shape}.")
    return normal_rows("layer_norm", input, weight, bias, len(shape), eps)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|): of the shape and dtype of ``input``.

    >>> import nbgrad
    >>> softsign(nbgrad.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """
    return input / (abs(input) + 1)


# ---- softmax over a dimension that may be left out -----------------------------------------------------------------


def given_dim(name: str, dim: int | None, input: Tensor) -> int:
    """The dimension; where none is given, torch's choice of early versions, with a warning."""
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1
        warn_user(f"{name}: dim is not given, {dim} is taken. Hint: say which one is meant.")
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``nbgrad.softmax``: ``exp(input)`` divided by its sum over ``dim``.

    >>> import nbgrad
    >>> softmax(nbgrad.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return softmax_along(input, given_dim("softmax", dim, input) if dim is None else dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``softmax`` of ``-input``.

    >>> import nbgrad
    >>> softmin(nbgrad.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return softmin_along(input, given_dim("softmin", dim, input) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``nbgrad.log_softmax``: the logarithm of ``softmax`` over ``dim``, without overflow.

    >>> import nbgrad
    >>> log_softmax(nbgrad.zeros(2), 0)
    tensor([-0.6931, -0.6931])
    """
    return log_softmax_along(input, given_dim("log_softmax", dim, input) if dim is None else dim, dtype)


def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """``leaky_relu`` with a slope for each element, drawn between ``lower`` and ``upper`` while training, else their mean.

    Raises:
        RangeError: ``lower`` is above ``upper``.

    Source: Xu, Wang, Chen, Li, "Empirical Evaluation of Rectified Activations in Convolutional Network", 2015.

    >>> import nbgrad
    >>> rrelu(nbgrad.tensor([-1.0, 2.0]), 0.25, 0.75).tolist()
    [-0.5, 2.0]
    """
    if not lower <= upper:
        raise RangeError(f"rrelu: lower is {lower}, upper {upper}, expected lower <= upper.")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slopes = empty_like(input, requires_grad=False).uniform_(lower, upper).masked_fill_(input.detach() >= 0, 1.0)
    return input.mul_(slopes) if inplace else input * slopes


native_channel_shuffle = channel_shuffle


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """``softmax`` of ``(logits + noise) / tau`` with noise of Gumbel's distribution: a draw of one class, made differentiable.

    Args:
        logits: unnormalised logarithms of probabilities, any shape.
        tau: the temperature.
        hard: whether the result is 1 for one class and 0 for the others; gradients are those of the soft one.
        eps: without effect, as in torch.
        dim: over which classes lie.

    Source: Jang, Gu, Poole, "Categorical Reparameterization with Gumbel-Softmax", 2016; Maddison et al., 2016.

    >>> import nbgrad
    >>> gumbel_softmax(nbgrad.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
    """
    noise = -empty_like(logits, requires_grad=False).exponential_().log()
    soft = softmax_along((logits + noise) / tau, dim)
    if not hard:
        return soft
    drawn: Any = zeros_like(soft, requires_grad=False)
    return drawn.scatter(dim, soft.detach().argmax(dim, True), 1.0) - soft.detach() + soft


# ---- in place --------------------------------------------------------------------------------------------------------


def overwriting(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function with ``inplace=True``, under its name with an underscore."""
    name = function.__name__ + "_"

    def in_place(input: Tensor, *args: Any, **named: Any) -> Tensor:
        return function(input, *args, **named, inplace=True)

    in_place.__name__ = in_place.__qualname__ = name
    in_place.__doc__ = f"``{function.__name__}``, written into ``input``, which is returned."
    kept = [parameter for parameter in signature(function).parameters.values() if parameter.name != "inplace"]
    attach(in_place, __signature__=Signature(kept))
    return in_place


if TYPE_CHECKING:
    from .overwriting import celu_, elu_, hardtanh_, leaky_relu_, relu_, rrelu_, selu_, threshold_  # a stub alone
else:
    celu_, elu_, hardtanh_, leaky_relu_, relu_, rrelu_, selu_, threshold_ = map(
        overwriting, (celu, elu, hardtanh, leaky_relu, relu, rrelu, selu, threshold)
    )
place(__name__, globals())
