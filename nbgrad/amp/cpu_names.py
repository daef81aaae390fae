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


class GradScaler(grad_scaler.GradScaler):
    """``nbgrad.amp.GradScaler("cpu", ...)``.

    >>> import nbgrad
    >>> nbgrad.cpu.amp.GradScaler().get_scale()
    65536.0
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
