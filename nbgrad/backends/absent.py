"""What is not there (the devices ``torch.mps`` and ``torch.xpu``, ``torch.onnx``), for programs that ask before they use it.

>>> import nbgrad
>>> nbgrad.mps.is_available(), nbgrad.xpu.device_count()
(False, 0)
"""

from __future__ import annotations

from typing import Any

from ..base.errors import NotSupportedError

__all__ = ["device_count", "empty_cache", "export", "is_available", "is_in_onnx_export", "manual_seed", "synchronize"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def empty_cache() -> None:
    """Nothing to empty."""


def synchronize() -> None:
    """Nothing to wait for."""


def is_in_onnx_export() -> bool:
    """False: nothing is exported to ONNX, for which models take other ways."""
    return False


def export(*args: Any, **kwargs: Any) -> None:
    """Not there.

    Raises:
        NotSupportedError: always.
    """
    raise NotSupportedError("onnx.export: nothing is exported to ONNX. Hint: nbgrad.jit.save writes a compiled function to a file.")
