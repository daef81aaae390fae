"""Tensors of the CPU in pinned memory, from which a GPU fetches, and to which it writes, while the program goes on."""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.errors import DeviceError
from ..tensors.layout import Layout
from ..tensors.storage import last_base, wrap_array
from ..tensors.tensor import Tensor, new_tensor
from .casting import on_device

__all__ = ["is_pinned", "pinned", "pinned_empty"]


def is_pinned(x: Tensor) -> bool:
    """Whether a tensor is in pinned memory, from which and to which copies need not be waited for."""
    return x.layout.memory is None and getattr(last_base(x._storage_.array), "is_pinned", False)


def require_host(op: str, layout: Layout, device: Any = None) -> None:
    """Refuse what cannot be in pinned memory.

    Raises:
        DeviceError: a layout on a GPU; or no GPU that fetches from there.
    """
    if layout.memory is not None:
        raise DeviceError(f"{op}: the tensor is on {layout.device}, expected one on the CPU. Hint: x.cpu().pin_memory().")
    on_device(op, "cuda" if device is None else device)


def pinned_empty(op: str, layout: Layout, device: Any = None) -> Tensor:
    """An uninitialised tensor of a dense layout in pinned memory.

    Raises:
        DeviceError: see ``require_host``. OutOfMemoryError: the system gives no such memory.
    """
    require_host(op, layout, device)
    from ..tensors.pinned import pinned_array

    array = pinned_array(layout.numel * layout.dtype.itemsize).view(layout.descr)
    return new_tensor(wrap_array(array), layout.plain())


def pinned(op: str, x: Tensor, device: Any = None) -> Tensor:
    """The tensor in pinned memory; itself where it is there. Errors as of ``pinned_empty``.

    Args:
        device: which GPU it is for: any of them reaches it.
    """
    require_host(op, x.layout, device)
    if is_pinned(x):
        return x
    layout = x.layout if x.layout.dense else x.layout.like()
    out: Tensor = CALLS["copy_"](pinned_empty(op, layout, device), x)
    return out
