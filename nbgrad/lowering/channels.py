"""Standardised channels, on the CPU and on GPUs: two folds, and one launch for all elements."""

from __future__ import annotations

from ..base.errors import ShapeError
from ..dispatch.lowerings import lowering
from ..ops.channels import channels_in_steps
from .standardise import check_affine

__all__: list[str] = []


@lowering("standardise_channels", style="run", device=None)
def _standardise_channels(op, tensors, attributes):
    x, *parameters = (tensor.layout for tensor in tensors)
    if x.ndim < 2:
        raise ShapeError(f"{op.public}: input is {list(x.shape)}, expected (batch, channels, ...).")
    check_affine(op, x, parameters, x.shape[1:2])
    return channels_in_steps(*tensors, **attributes)
