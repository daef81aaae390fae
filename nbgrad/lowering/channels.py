"""Standardised channels, on the CPU and on GPUs: two folds, and one launch for all elements."""

from __future__ import annotations

from ..base.errors import DTypeError, ShapeError
from ..dispatch.lowerings import lowering
from ..ops.channels import channels_in_steps
from .standardise import wide_dtype

__all__: list[str] = []


@lowering("standardise_channels", style="run", device=None)
def _standardise_channels(op, tensors, attributes):
    x, *parameters = (tensor.layout for tensor in tensors)
    if not x.dtype.is_floating_point:
        raise DTypeError(f"{op.public}: expected a floating tensor, got {x.dtype}. Hint: x.float().")
    if x.ndim < 2:
        raise ShapeError(f"{op.public}: input is {list(x.shape)}, expected (batch, channels, ...).")
    for given in parameters:
        if given.shape != x.shape[1:2]:
            raise ShapeError(f"{op.public}: weight and bias are {list(given.shape)}, expected {[x.shape[1]]}.")
        if given.dtype is not x.dtype and given.dtype is not wide_dtype(x.dtype):
            raise DTypeError(f"{op.public}: weight and bias are {given.dtype}, expected {x.dtype}.")
    return channels_in_steps(*tensors, **attributes)
