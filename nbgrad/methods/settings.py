"""What programs set: the device of new tensors; and, by their public place, what has no effect here (base/compat.py)."""

from __future__ import annotations

from typing import Any

from ..base.compat import (
    are_deterministic_algorithms_enabled,
    get_float32_matmul_precision,
    set_float32_matmul_precision,
    use_deterministic_algorithms,
)
from ..creation.casting import on_device
from ..tensors.storage import CPU, Device, choose_default, default_device

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_default_device",
    "get_float32_matmul_precision",
    "set_default_device",
    "set_float32_matmul_precision",
    "use_deterministic_algorithms",
]


def get_default_device() -> Device:
    """Where new tensors are.

    >>> import nbgrad
    >>> nbgrad.get_default_device()
    device(type='cpu')
    """
    return default_device()


def set_default_device(device: Any) -> None:
    """Say where new tensors of this thread are to be, if they are told nothing else and follow no tensor. None: on the CPU.

    Raises:
        DeviceError: a GPU that is not there.

    >>> nbgrad.set_default_device("cpu")
    >>> nbgrad.get_default_device()
    device(type='cpu')
    """
    choose_default(CPU if device is None else on_device("set_default_device", device))
