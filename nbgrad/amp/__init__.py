"""Mixed precision: regions in which products run in half types, and losses that are scaled so that their gradients fit them.

>>> import nbgrad
>>> from nbgrad import amp
>>> with amp.autocast("cpu", dtype=nbgrad.bfloat16):
...     y = nbgrad.ones(2, 3) @ nbgrad.ones(3, 2)
>>> y.dtype
nbgrad.bfloat16
"""

from __future__ import annotations

from . import autocast_mode, grad_scaler
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "autocast_mode", "custom_bwd", "custom_fwd", "grad_scaler", "is_autocast_available"]
