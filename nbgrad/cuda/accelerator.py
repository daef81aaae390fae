"""``torch.accelerator``: the GPUs of ``nbgrad.cuda`` under names that say nothing of their kind.

>>> import nbgrad
>>> found = nbgrad.accelerator.current_accelerator() if nbgrad.accelerator.is_available() else nbgrad.device("cpu")
>>> nbgrad.ones(2, device=found).sum().item()
2.0
"""

from __future__ import annotations

from ..tensors.storage import Device, device as device_named
from . import (
    Stream,
    current_device as current_device_index,
    current_stream,
    device as device_index,
    device_count,
    empty_cache,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
    set_device as set_device_index,
    set_stream,
    synchronize,
)

__all__ = [
    "Stream",
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]

current_device_idx, set_device_idx = current_device_index, set_device_index


def current_accelerator(check_available: bool = False) -> Device | None:
    """The kind of accelerator, as a device without an index: CUDA's GPUs, where there is one; else None.

    Args:
        check_available: taken and ignored: what is not there is never named.

    >>> found = nbgrad.accelerator.current_accelerator()
    >>> found is None or found.type == "cuda"
    True
    """
    return device_named("cuda") if is_available() else None
