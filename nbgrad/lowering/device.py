"""Copies between devices."""

from __future__ import annotations

import numpy as np

from ..base.calls import CALLS
from ..base.grad_mode import mode, special, traces
from ..creation.pinning import is_pinned
from ..dispatch.lowerings import lowering
from ..dispatch.writes import change
from ..graph.edges import requires_grad
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import Device, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from ..views import check_inplace

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
    non_blocking = bool(attributes["non_blocking"])
    if source.memory is None:
        return native.alias(x) if target.memory is None else to_gpu(x, target, non_blocking)
    return from_gpu(x, target, non_blocking)


def to_gpu(x: Tensor, target: Layout, non_blocking: bool) -> Tensor:
    """A tensor of the CPU on a GPU."""
    from ..tensors.gpu import upload

    order = np.ndarray((target.numel,), target.descr, x._storage_.array.view(np.uint8), x._offset_ if target.numel else 0)
    return upload(order, target, non_blocking)


def from_gpu(x: Tensor, target: Layout, non_blocking: bool) -> Tensor:
    """A tensor of a GPU on the CPU, or on another GPU."""
    from ..tensors.gpu import between, download

    if target.memory is not None:
        return between(x, target)
    return new_tensor(wrap_array(download(x, non_blocking).view(target.descr)), target)


def copy_from(x: Tensor, src: Tensor) -> Tensor:
    """``x.copy_(src, non_blocking=True)``: what is copied between devices need not be there when this returns."""
    source, target = src.layout, x.layout
    if source.device is not target.device and not (special or traces or mode.enabled and (requires_grad(x) or requires_grad(src))):
        if target.memory is not None:
            src = CALLS["to_device"](src, target.device, True)
        elif is_as_it_lies(source, target) and is_pinned(x):
            check_inplace("copy_", x, False)
            change(x, lambda: fetched(x, src))
            return x
    out: Tensor = CALLS["copy_"](x, src)
    return out


def is_as_it_lies(source: Layout, target: Layout) -> bool:
    """Whether a copy between two layouts is one of bytes."""
    return (
        source.dtype is target.dtype
        and source.shape == target.shape
        and source.strides == target.strides
        and source.dense
        and not (source.conj or source.neg or target.conj or target.neg)
    )


def fetched(x: Tensor, src: Tensor) -> None:
    """Copy a GPU's tensor into pinned memory."""
    from ..tensors.gpu import fetch

    nbytes = x.layout.numel * x.layout.dtype.itemsize
    fetch(src, np.ndarray((nbytes,), np.uint8, x._storage_.array.view(np.uint8), x._offset_ if nbytes else 0), True)


CALLS["copy_from"] = copy_from
