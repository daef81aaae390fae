"""``torch.accelerator``: the GPUs, for programs that do not name their maker.

>>> import nbgrad
>>> nbgrad.accelerator.is_available() == nbgrad.cuda.is_available()
True
"""

from __future__ import annotations

from typing import Any

from ..tensors.storage import Device, device as device_named
from . import current_device, current_stream, device_count, empty_cache, is_available, set_device, set_stream, synchronize

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def current_accelerator(check_available: bool = False) -> Device | None:
    """The kind of accelerator, ``device("cuda")``; None where there is none.

    >>> found = nbgrad.accelerator.current_accelerator()
    >>> device = found.type if found is not None else "cpu"
    """
    return device_named("cuda") if is_available() else None


def current_device_index() -> int:
    """The number of the current GPU."""
    return current_device()


def set_device_index(device: Any) -> None:
    """Let another GPU be the current one."""
    set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index  # torch's older names
