"""``torch.cuda.amp``: mixed precision on CUDA by its older names."""

from __future__ import annotations

import functools
from collections.abc import Callable

from .. import float16
from ..base.dtypes import DType
from . import autocast_mode, grad_scaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_mode.autocast):  # torch's name
    """``nbgrad.autocast("cuda", ...)``.

    >>> from nbgrad.cuda.amp import autocast
    >>> with autocast(enabled=False):
    ...     pass
    """

    def __init__(self, enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.ScalerOfDevice):
    """``nbgrad.amp.GradScaler("cuda", ...)``.

    >>> from nbgrad.cuda.amp import GradScaler
    >>> GradScaler(enabled=False).get_scale()
    1.0
    """

    _device = "cuda"


def custom_fwd(fwd: Callable | None = None, *, cast_inputs: DType | None = None) -> Callable:
    """``nbgrad.amp.custom_fwd`` for CUDA."""
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


custom_bwd = functools.partial(autocast_mode.custom_bwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU."""
    return not autocast_mode.is_available()
