"""Whether there is a driver of NVIDIA's: asked of the system alone, in less than a millisecond."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from ...base import config

__all__ = ["LIBRARY", "has_driver"]

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@cache
def has_driver() -> bool:
    """Whether the driver's library can be loaded, or is played."""
    if config.EMULATED:
        return True
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True
