"""``Bilinear``: products of two inputs."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import RangeError, ShapeError
from ..modes.autocast import casts
from . import init
from .module import Module

__all__ = ["Bilinear", "bilinear"]


@casts(cpu="plain", cuda="widest")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for every k.

    Args:
        input1, input2: shapes ``(*, in1)`` and ``(*, in2)``.
        weight: shape ``(out, in1, in2)``. bias: shape ``(out,)``.

    Returns:
        Tensor of shape ``(*, out)``.

    Raises:
        ShapeError: shapes do not go together.

    >>> import nbgrad
    >>> bilinear(nbgrad.tensor([1.0, 2.0]), nbgrad.tensor([3.0]), nbgrad.ones(1, 2, 1))
    tensor([9.])
    """
    features = (*input1.shape[-1:], *input2.shape[-1:])
    if input1.shape[:-1] != input2.shape[:-1] or weight.ndim != 3 or tuple(weight.shape[1:]) != features:
        shapes = f"{list(input1.shape)}, {list(input2.shape)}, weight {list(weight.shape)}"
        raise ShapeError(f"bilinear: got {shapes}, expected (*, in1), (*, in2), (out, in1, in2).")
    out, first, second = weight.shape
    rows = input1.reshape((-1, first)) @ weight.permute(1, 0, 2).reshape((first, out * second))
    made = (rows.reshape((-1, out, second)) @ input2.reshape((-1, second, 1))).reshape((*input1.shape[:-1], out))
    return made if bias is None else made + bias


class Bilinear(Module):
    """``functional.bilinear`` with learnt weight and bias.

    Attributes:
        weight: shape ``(out_features, in1_features, in2_features)``; at first uniform within ``±1 / sqrt(in1_features)``.
        bias: shape ``(out_features,)``, at first drawn likewise; or None.

    Raises:
        RangeError: ``in1_features`` is not positive.

    >>> import nbgrad
    >>> Bilinear(3, 4, 2)(nbgrad.ones(5, 3), nbgrad.ones(5, 4)).shape
    nbgrad.Size([5, 2])
    """

    bias: Parameter | None

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise RangeError(f"Bilinear: in1_features is {in1_features}, expected a positive number.")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        made: Any = {"device": device, "dtype": dtype}
        self.weight = Parameter(nbgrad.empty((out_features, in1_features, in2_features), **made))
        self.register_parameter("bias", Parameter(nbgrad.empty((out_features,), **made)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.by_fan_in(self.in1_features, self.weight, self.bias)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """``(*, in1_features)`` and ``(*, in2_features)`` to ``(*, out_features)``."""
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"
