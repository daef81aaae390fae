"""Copies between devices."""

from __future__ import annotations

import numpy as np

from ..base.calls import CALLS
from ..dispatch.lowerings import lowering
from ..tensors.layout import layout_of
from ..tensors.storage import Device, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor

__all__: list[str] = []


@lowering("to_device", style="run", device=None)
def _to_device(op, tensors, attributes):
    (x,) = tensors
    device: Device = attributes["device"]
    source = x.layout
    if source.conj or source.neg or not source.dense:  # what leaves a device lies without gaps
        x = CALLS["contiguous_copy"](x)
        source = x.layout
    target = layout_of(source.dtype, source.shape, source.strides, device)
    if source.memory is None:
        return native.alias(x) if target.memory is None else to_gpu(x, target)
    return from_gpu(x, target)


def to_gpu(x: Tensor, target) -> Tensor:
    """A tensor of the CPU on a GPU."""
    from ..tensors.gpu import upload

    order = np.ndarray((target.numel,), target.descr, x._storage_.array.view(np.uint8), x._offset_ if target.numel else 0)
    return upload(order, target)


def from_gpu(x: Tensor, target) -> Tensor:
    """A tensor of a GPU on the CPU, or on another GPU."""
    from ..tensors.gpu import download, upload

    order = download(x).view(target.descr)
    return new_tensor(wrap_array(order), target) if target.memory is None else upload(order, target)
