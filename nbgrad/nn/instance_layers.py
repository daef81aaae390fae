"""``InstanceNorm`` and ``LocalResponseNorm``: each sample normalised by itself."""

from __future__ import annotations

import math
from typing import Any

from .. import Tensor
from ..base.errors import ShapeError
from ..base.user_stack import warn_user
from . import functional as F
from .module import Module
from .normal_layers import _NormBase

__all__ = ["CrossMapLRN2d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LocalResponseNorm"]


class _InstanceNorm(_NormBase):
    """Each channel of each sample shifted and scaled to mean 0 and variance 1: see ``functional.instance_norm``."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(batch, channels, *)`` or ``(channels, *)``; by running statistics after ``eval()`` where they are tracked."""
        if input.ndim not in (*self.ranks, self.ranks[0] - 1):
            expected = f"{self.ranks[0] - 1} or {self.ranks[0]}"
            raise ShapeError(f"{type(self).__name__}: expected {expected} dimensions, got {input.ndim}.")
        single = input.ndim < self.ranks[0]
        x = input.unsqueeze(0) if single else input
        if x.shape[1] != self.num_features:
            text = f"{type(self).__name__}: input is {list(input.shape)}, expected {self.num_features} channels."
            if self.affine:
                raise ShapeError(text)
            warn_user(f"{text} Without weights nothing is wrong by it.")
        own = self.training or not self.track_running_stats
        if own and math.prod(x.shape[2:]) == 1:
            raise ShapeError(f"{type(self).__name__}: input is {list(input.shape)}, expected more than one element in a channel.")
        out = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, self.momentum or 0.0, self.eps)
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of ``(batch, channels, length)`` or ``(channels, length)``.

    >>> import nbgrad
    >>> InstanceNorm1d(1, eps=0.0)(nbgrad.tensor([[[1.0, 3.0]]])).tolist()
    [[[-1.0, 1.0]]]
    """

    ranks = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of ``(batch, channels, height, width)`` or ``(channels, height, width)``.

    >>> import nbgrad
    >>> InstanceNorm2d(3, affine=True)(nbgrad.ones(2, 3, 4, 4)).abs().max().item()
    0.0
    """

    ranks = (4,)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of ``(batch, channels, depth, height, width)`` or ``(channels, depth, height, width)``.

    >>> import nbgrad
    >>> InstanceNorm3d(3)(nbgrad.ones(3, 4, 4, 4)).shape
    nbgrad.Size([3, 4, 4, 4])
    """

    ranks = (5,)


class LocalResponseNorm(Module):
    """``functional.local_response_norm``.

    >>> import nbgrad
    >>> LocalResponseNorm(2)(nbgrad.ones(1, 4, 3, 3)).shape
    nbgrad.Size([1, 4, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(batch, channels, *)``."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """``LocalResponseNorm`` under the name of its older form, of four dimensions.

    >>> CrossMapLRN2d(2)
    CrossMapLRN2d(2, alpha=0.0001, beta=0.75, k=1)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(batch, channels, height, width)``."""
        if input.ndim != 4:
            raise ShapeError(f"CrossMapLRN2d: expected 4 dimensions, got {input.ndim}.")
        return super().forward(input)
