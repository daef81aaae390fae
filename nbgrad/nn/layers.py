"""Layers: ``Linear``, ``LayerNorm``, ``Flatten``, ``Identity``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbgrad

from .. import Parameter, Tensor
from . import functional as F, init
from .module import Module
from .tuples import _single

__all__ = ["Flatten", "Identity", "LayerNorm", "Linear"]


class Identity(Module):
    """``input`` itself. Takes and ignores any arguments, so that it can stand in for another module.

    >>> import nbgrad
    >>> nbgrad.nn.Identity()(nbgrad.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """``input``."""
        return input


class Linear(Module):
    """``input @ weight.T + bias``.

    Args:
        in_features: size of the last dimension of ``input``.
        out_features: size of the last dimension of the result.
        bias: whether to add one.
        dtype: of weight and bias; the default dtype unless given.

    Attributes:
        weight: shape ``(out_features, in_features)``; at first uniform within ``±1 / sqrt(in_features)``.
        bias: shape ``(out_features,)``, at first drawn likewise; or None.

    >>> import nbgrad
    >>> nbgrad.nn.Linear(3, 2)(nbgrad.ones(5, 3)).shape
    nbgrad.Size([5, 2])
    """

    bias: Parameter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(nbgrad.empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(nbgrad.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.by_fan_in(self.in_features, self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """``(*, in_features)`` to ``(*, out_features)``."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class LayerNorm(Module):
    """Each sample shifted and scaled to mean 0 and variance 1, then by a learnt weight and bias.

    Args:
        normalized_shape: the trailing dimensions of a sample, or the size of the last one.
        eps: added to the variance.
        elementwise_affine: whether there is a weight.
        bias: whether there is a bias too.
        dtype: of weight and bias; the default dtype unless given.

    >>> import nbgrad
    >>> nbgrad.nn.LayerNorm(2, eps=0.0)(nbgrad.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _single(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made: Any = {"device": device, "dtype": dtype}
        ones, zeros = nbgrad.ones(self.normalized_shape, **made), nbgrad.zeros(self.normalized_shape, **made)
        self.register_parameter("weight", Parameter(ones) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros) if elementwise_affine and bias else None)

    def forward(self, input: Tensor) -> Tensor:
        """``(*, *normalized_shape)``; see ``functional.layer_norm``."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class Flatten(Module):
    """Dimensions ``start_dim`` to ``end_dim``, both included, become one.

    >>> import nbgrad
    >>> nbgrad.nn.Flatten()(nbgrad.ones(2, 3, 4)).shape
    nbgrad.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """``input`` in its new shape; a view where strides permit."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
