"""Functions of neural networks under the names that ``torch.nn.functional`` gives them.

Each is the operation of the same name in ``nbgrad``; ``softsign`` is composed of several.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

from .. import (
    Tensor,
    abs,
    alpha_dropout,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    celu,
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
)
from ..base.errors import ArgumentError, RangeError, ShapeError
from ..base.functions import attach
from .attention import multi_head_attention_forward, scaled_dot_product_attention
from .dropout import dropout1d, dropout2d, dropout3d
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
from .normalization import batch_norm, group_norm, instance_norm, normal_rows, rms_norm

__all__ = [
    "alpha_dropout",
    "celu_",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu_",
    "feature_alpha_dropout",
    "hardtanh_",
    "leaky_relu_",
    "relu_",
    "rrelu_",
    "selu_",
    "threshold_",
    "batch_norm",
    "cosine_embedding_loss",
    "embedding",
    "gaussian_nll_loss",
    "group_norm",
    "hinge_embedding_loss",
    "instance_norm",
    "margin_ranking_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
    "pdist",
    "poisson_nll_loss",
    "rms_norm",
    "scaled_dot_product_attention",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "prelu",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
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
        warnings.warn(f"{name}: dim is not given, {dim} is taken. Hint: say which one is meant.", UserWarning, stacklevel=3)
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
