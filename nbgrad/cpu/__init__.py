"""``torch.cpu``: the processor as a device, for programs that ask any device the same.

>>> import nbgrad
>>> nbgrad.cpu.is_available(), nbgrad.cpu.device_count()
(True, 1)
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from ..methods.namespaces import module_below

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "stream", "synchronize"]


def is_available() -> bool:
    """True.

    >>> is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """True.

    >>> is_initialized()
    True
    """
    return True


def device_count() -> int:
    """1.

    >>> device_count()
    1
    """
    return 1


def current_device() -> str:
    """``"cpu"``.

    >>> current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Without effect: there is one.

    >>> set_device("cpu")
    """


def synchronize(device: Any = None) -> None:
    """Without effect: calls have ended when they return.

    >>> synchronize()
    """


def stream(stream: Any) -> AbstractContextManager:
    """A context without effect: there are no streams.

    >>> with stream(None):
    ...     x = nbgrad.ones(2)
    """
    return nullcontext()


def __getattr__(name: str) -> ModuleType:
    """``nbgrad.cpu.amp``."""
    return module_below(__name__, name)
