"""What programs set: the device of new tensors; and, by their public place, what has no effect here (base/compat.py)."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from ..base.compat import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_warn_always,
    use_deterministic_algorithms,
)
from ..base.dtypes import set_default_dtype
from ..base.errors import ArgumentError
from ..creation.casting import on_device
from ..tensors.storage import CPU, Device, choose_default, default_device
from .typed_constructors import TensorType, dtype_called

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_warn_always",
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


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype and device by an old constructor: ``FloatTensor``, ``cuda.DoubleTensor`` and their like, or its name.

    Raises:
        ArgumentError: neither; one of integers. DeviceError: a GPU that is not there.

    >>> import nbgrad
    >>> nbgrad.set_default_tensor_type(nbgrad.DoubleTensor)
    >>> nbgrad.zeros(1).dtype
    nbgrad.float64
    >>> nbgrad.set_default_tensor_type("torch.FloatTensor")
    """
    if isinstance(t, str):
        parts = t.split(".")[1:]  # behind the library's name
        dtype = dtype_called(parts[-1]) if parts else None
        place = parts[0] if len(parts) > 1 else "cpu"
    else:
        dtype, place = (t.dtype, t.place or "cpu") if isinstance(t, TensorType) else (None, "")
    if dtype is None:
        raise ArgumentError(f"set_default_tensor_type: got {t!r}, expected a type of tensors, as nbgrad.FloatTensor.")
    set_default_dtype(dtype)
    set_default_device(place)


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device: ``nbgrad.cuda`` or ``nbgrad.cpu``; None: of the default one.

    >>> import nbgrad
    >>> nbgrad.get_device_module("cpu").is_available()
    True
    """
    found = get_default_device() if device is None else on_device("get_device_module", device)
    return import_module(f"nbgrad.{found.type}")
