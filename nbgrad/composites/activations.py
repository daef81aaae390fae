"""Activations that take more than one elementwise operation."""

from __future__ import annotations

from typing import Callable

from ..base.calls import CALLS
from ..base.errors import DTypeError, ShapeError
from ..ops.core import composite
from ..ops.expr import scalar
from ..ops.shapes import wrap
from ..ops.variants_of_activations import of_integers

__all__: list[str] = []


def glu(input, dim=-1):
    """The first half along dim times the sigmoid of the second."""
    if not input.ndim:
        raise ShapeError("glu: input is 0-d, expected a dimension of even size.")
    size = input.layout.shape[wrap("glu", dim, input.ndim)]
    if size % 2:
        raise ShapeError(f"glu: dimension {dim} has size {size}, expected an even one.")
    half = size // 2
    if input._needs_grad_ and half:
        return scalar.gated(*input.split_size(half, dim))
    return scalar.gated(input.narrow(dim, 0, half), input.narrow(dim, half, half))  # no cotangents to join


def prelu(input, weight):
    """``input`` where it is > 0, else weight times it; one weight for all, or for each of the second dimension."""
    if weight.numel() == 1:
        weight = weight if weight.ndim <= input.ndim else weight.reshape(())
    elif input.ndim > 1 and weight.shape == input.shape[1:2]:
        weight = weight.reshape((-1,) + (1,) * (input.ndim - 2))
    else:
        raise ShapeError(
            f"prelu: weight has shape {list(weight.shape)}, input {list(input.shape)}; expected one weight, or one "
            "for each of the second dimension."
        )
    return scalar.prelu_by(input, weight)


def relu6(input, inplace=False):
    """``input`` moved into [0, 6]."""
    try:
        return CALLS["hardtanh_" if inplace else "hardtanh"](input, 0.0, 6.0)
    except DTypeError:
        return of_integers("hardtanh", inplace, input, 0, 6)


def softmin(input, dim, dtype=None):
    """The softmax of -input."""
    return (-input).softmax(dim, dtype)


composite("prelu", prelu, doc=str(prelu.__doc__))
_function: Callable
for _function in (glu, relu6, softmin):
    composite(_function.__name__, _function, method=False, doc=_function.__doc__)
