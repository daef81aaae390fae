"""What a launch may ask for, on every GPU that kernels are built for.

Source: CUDA C++ Programming Guide, technical specifications per compute capability.
"""

from __future__ import annotations

__all__ = ["GRID_LIMITS", "SHARED_LIMIT", "THREAD_LIMIT"]

GRID_LIMITS = (2**31 - 1, 65535, 65535)  # blocks along x, y and z
THREAD_LIMIT = 1024  # of a block
SHARED_LIMIT = 48 << 10  # bytes of a block, without asking for more
