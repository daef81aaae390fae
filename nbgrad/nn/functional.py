"""Functions of neural networks under the names that ``torch.nn.functional`` gives them.

Each is the operation of the same name in ``nbgrad``; ``layer_norm`` and ``softsign`` are composed of several.
"""
from __future__ import annotations

from collections.abc import Sequence

from nbgrad import (
    Tensor,
    abs,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    celu,
    cosine_similarity,
    cross_entropy,
    dropout,
    elu,
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
    log_softmax,
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
    rsqrt,
    selu,
    sigmoid,
    silu,
    smooth_l1_loss,
    softmax,
    softmin,
    softplus,
    softshrink,
    tanh,
    tanhshrink,
    threshold,
)

from ..errors import ArgumentError, ShapeError
from .lookup import embedding
from .margins import (
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
from .normalization import batch_norm, group_norm, instance_norm, rms_norm

__all__ = [
    "batch_norm", "cosine_embedding_loss", "embedding", "gaussian_nll_loss", "group_norm", "hinge_embedding_loss", "instance_norm",
    "margin_ranking_loss", "multi_margin_loss", "multilabel_soft_margin_loss", "pdist", "poisson_nll_loss", "rms_norm",
    "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "cosine_similarity", "cross_entropy",
    "dropout", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "huber_loss", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "mish", "mse_loss", "nll_loss",
    "normalize", "one_hot", "pad", "pairwise_distance", "prelu", "relu", "relu6", "selu", "sigmoid", "silu",
    "smooth_l1_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
]


def layer_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Shift and scale each sample to mean 0 and variance 1 over its trailing dimensions, then by weight and bias.

    Args:
        x: shape ``(*, *normalized_shape)``, floating.
        normalized_shape: the trailing dimensions that belong to one sample.
        weight, bias: shape ``normalized_shape``; None leaves the step out.
        eps: added to the variance.

    Returns:
        Tensor of the shape and dtype of ``x``.

    Raises:
        ArgumentError: ``x`` is no tensor, or ``normalized_shape`` no sequence.
        ShapeError: ``x.shape`` does not end in ``normalized_shape``.

    Source: Ba, Kiros, Hinton, "Layer Normalization", 2016; the variance is the biased one.

    >>> import nbgrad
    >>> layer_norm(nbgrad.tensor([[1.0, 3.0]]), (2,), eps=0.0)
    tensor([[-1.,  1.]])
    """
    if not isinstance(x, Tensor) or isinstance(normalized_shape, int):
        raise ArgumentError(f"layer_norm: expected a Tensor and a sequence of sizes, got {type(x).__name__} and "
                            f"{normalized_shape!r}.")
    shape = tuple(normalized_shape)
    if not shape or tuple(x.shape[-len(shape):]) != shape:
        raise ShapeError(f"layer_norm: x is {tuple(x.shape)}, expected a shape that ends in normalized_shape {shape}.")
    dims = tuple(range(-len(shape), 0))
    centred = x - x.mean(dims, keepdim=True)
    out = centred * rsqrt((centred * centred).mean(dims, keepdim=True) + eps)
    if weight is not None:
        out = out * weight
    return out if bias is None else out + bias


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|): of the shape and dtype of ``input``.

    >>> import nbgrad
    >>> softsign(nbgrad.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """
    return input / (abs(input) + 1)
