"""A batch norm in evaluation is a product and a sum, which the layer before it can do."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does what one and a batch norm in evaluation do.

    Args:
        conv_w, conv_b: of the convolution. bn_rm, bn_rv, bn_eps, bn_w, bn_b: of the norm.
        transpose: whether the convolution is a transposed one.

    >>> import nbgrad
    >>> one = nbgrad.ones(1)
    >>> weight, bias = fuse_conv_bn_weights(nbgrad.ones(1, 1, 1), None, one, one, 0.0, 2 * one, None)
    >>> weight.item(), bias.item()
    (2.0, -2.0)
    """
    with nbgrad.no_grad():
        factor = nbgrad.rsqrt(bn_rv + bn_eps)
        factor = factor if bn_w is None else factor * bn_w
        shape = [1] * conv_w.ndim
        shape[1 if transpose else 0] = -1
        bias = (0.0 if conv_b is None else conv_b) - bn_rm
        weight, bias = (conv_w * factor.reshape(shape)).to(conv_w.dtype), bias * factor + (0.0 if bn_b is None else bn_b)
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_w.requires_grad)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None
) -> tuple[Parameter, Parameter]:
    """The same of a linear layer.

    >>> import nbgrad
    >>> one = nbgrad.ones(1)
    >>> fuse_linear_bn_weights(nbgrad.ones(1, 1), None, one, one, 0.0, 2 * one, None)[0].item()
    2.0
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fused(layer: Any, norm: Any, transpose: bool) -> Any:
    """A copy of a layer that does what it and a norm do."""
    if layer.training or norm.training:
        raise ArgumentError("fuse: layer and norm train, expected both in evaluation. Hint: layer.eval(), norm.eval().")
    if norm.running_mean is None:
        raise ArgumentError("fuse: the norm has no running statistics, so it depends on each batch.")
    made, parts = deepcopy(layer), (norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias)
    made.weight, made.bias = fuse_conv_bn_weights(layer.weight, layer.bias, *parts, transpose)
    return made


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what ``conv`` and then ``bn`` do, both in evaluation.

    Raises:
        ArgumentError: one of them trains, or the norm has no running statistics.

    >>> import nbgrad
    >>> conv, norm = nbgrad.nn.Conv1d(2, 3, 1).eval(), nbgrad.nn.BatchNorm1d(3).eval()
    >>> x = nbgrad.ones(1, 2, 4)
    >>> fuse_conv_bn_eval(conv, norm)(x).allclose(norm(conv(x)), atol=1e-6)
    True
    """
    return fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what ``linear`` and then ``bn`` do, both in evaluation.

    Raises:
        ArgumentError: one of them trains, or the norm has no running statistics.

    >>> import nbgrad
    >>> linear, norm = nbgrad.nn.Linear(2, 3).eval(), nbgrad.nn.BatchNorm1d(3).eval()
    >>> x = nbgrad.ones(4, 2)
    >>> fuse_linear_bn_eval(linear, norm)(x).allclose(norm(linear(x)), atol=1e-6)
    True
    """
    return fused(linear, bn, False)
