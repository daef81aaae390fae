"""``torch.cpu.amp``: mixed precision on the CPU by its older names."""

from __future__ import annotations

from .. import bfloat16
from ..base.dtypes import DType
from . import autocast_mode, grad_scaler

__all__ = ["GradScaler", "autocast"]


class autocast(autocast_mode.autocast):  # torch's name
    """``nbgrad.autocast("cpu", ...)``.

    >>> import nbgrad
    >>> with nbgrad.cpu.amp.autocast():
    ...     (nbgrad.ones(2, 2) @ nbgrad.ones(2, 2)).dtype
    nbgrad.bfloat16
    """

    def __init__(self, enabled: bool = True, dtype: DType = bfloat16, cache_enabled: bool = True):
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.ScalerOfDevice):
    """``nbgrad.amp.GradScaler("cpu", ...)``.

    >>> import nbgrad
    >>> nbgrad.cpu.amp.GradScaler().get_scale()
    65536.0
    """

    _device = "cpu"
