"""What programs set for torch and may read again, and the device of new tensors."""

from __future__ import annotations

from typing import Any

from ..base.errors import RangeError
from ..creation.casting import on_device
from ..tensors.storage import CPU, Device

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_default_device",
    "get_float32_matmul_precision",
    "set_default_device",
    "set_float32_matmul_precision",
    "use_deterministic_algorithms",
]


class Settings:
    """What programs set for torch and may read again; nothing here depends on it."""

    deterministic = False
    matmul_precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same in every run: they are anyway, whatever the number of threads.

    >>> nbgrad.use_deterministic_algorithms(True)
    >>> nbgrad.are_deterministic_algorithms_enabled()
    True
    >>> nbgrad.use_deterministic_algorithms(False)
    """
    Settings.deterministic = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was last given."""
    return Settings.deterministic


def set_float32_matmul_precision(precision: str) -> None:
    """Allow less precise products of matrices: they stay as precise as they are.

    Raises:
        RangeError: another word than "highest", "high" or "medium".
    """
    if precision not in ("highest", "high", "medium"):
        raise RangeError(f"set_float32_matmul_precision: got {precision!r}, expected 'highest', 'high' or 'medium'.")
    Settings.matmul_precision = precision


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was last given."""
    return Settings.matmul_precision


def get_default_device() -> Device:
    """Where new tensors are.

    >>> import nbgrad
    >>> nbgrad.get_default_device()
    device(type='cpu')
    """
    return CPU


def set_default_device(device: Any) -> None:
    """Say where new tensors are to be.

    Raises:
        DeviceError, NotSupportedError: elsewhere than on the CPU.

    >>> nbgrad.set_default_device("cpu")
    >>> nbgrad.get_default_device()
    device(type='cpu')
    """
    on_device("set_default_device", device)
