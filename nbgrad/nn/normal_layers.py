"""Modules that normalise: the functions of ``normalization`` with learnt weights and running statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import DivisionError, RangeError, ShapeError
from . import functional as F, init
from .module import Module
from .tuples import _single

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "RMSNorm"]


def ones_and_zeros(module: Any) -> None:
    """Its weight 1, its bias 0, where it has them."""
    if module.weight is not None:
        init.ones_(module.weight)
    if getattr(module, "bias", None) is not None:
        init.zeros_(module.bias)


class _NormBase(Module):
    """What normalises channels: a learnt weight and bias, and running statistics.

    Attributes:
        running_mean, running_var, num_batches_tracked: buffers, used after ``eval()``; None without ``track_running_stats``.
    """

    _version = 2  # the first one did not count batches
    ranks: Sequence[int] = ()
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Any
    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        made: Any = {"device": device, "dtype": dtype}
        ones, zeros = nbgrad.ones(num_features, **made), nbgrad.zeros(num_features, **made)
        self.register_parameter("weight", Parameter(ones) if affine else None)
        self.register_parameter("bias", Parameter(zeros) if affine and bias else None)
        kept = track_running_stats
        self.register_buffer("running_mean", zeros.clone() if kept else None)
        self.register_buffer("running_var", ones.clone() if kept else None)
        self.register_buffer("num_batches_tracked", nbgrad.tensor(0, device=device) if kept else None)

    def _prepare_for(self, state: Any, prefix: str, version: int | None) -> None:
        """States of the first version, and those that do not say, may have counted no batches."""
        if self.num_batches_tracked is not None and (version is None or version < 2):
            own = self.num_batches_tracked
            state.setdefault(prefix + "num_batches_tracked", nbgrad.tensor(0, device="cpu") if own.is_meta else own)

    def reset_running_stats(self) -> None:
        """Forget the batches that were seen."""
        if self.running_mean is not None and self.running_var is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and no batches seen."""
        self.reset_running_stats()
        ones_and_zeros(self)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """Each channel shifted and scaled to mean 0 and variance 1 over the batch, then by a learnt weight and bias."""

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(batch, channels, *)``; a mean over all batches seen if ``momentum`` is None."""
        if input.ndim not in self.ranks:
            raise ShapeError(f"{type(self).__name__}: expected {' or '.join(map(str, self.ranks))} dimensions, got {input.ndim}.")
        tracked = self.training and self.track_running_stats
        momentum = 1 / (1 + float(self.num_batches_tracked)) if tracked and self.momentum is None else self.momentum or 0.0
        own = self.training or self.running_mean is None
        running = (self.running_mean, self.running_var) if not self.training or self.track_running_stats else (None, None)
        out = F.batch_norm(input, *running, self.weight, self.bias, own, momentum, self.eps)
        if tracked:
            self.num_batches_tracked.add_(1)
        return out


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of ``(batch, channels)`` or ``(batch, channels, length)``.

    >>> import nbgrad
    >>> nbgrad.nn.BatchNorm1d(1, eps=0.0)(nbgrad.tensor([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of ``(batch, channels, height, width)``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0, 3.0]).reshape(2, 1, 1, 1)
    >>> nbgrad.nn.BatchNorm2d(1)(x).detach().flatten()
    tensor([-1.0000,  1.0000])
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of ``(batch, channels, depth, height, width)``.

    >>> import nbgrad
    >>> nbgrad.nn.BatchNorm3d(2)(nbgrad.zeros(3, 2, 4, 4, 4)).shape
    nbgrad.Size([3, 2, 4, 4, 4])
    """

    ranks = (5,)


class GroupNorm(Module):
    """The channels of each sample in groups, normalised, then scaled by a learnt weight and bias: see ``functional.group_norm``.

    Raises:
        RangeError: the channels cannot be divided into so many groups. DivisionError: no groups.

    >>> import nbgrad
    >>> nbgrad.nn.GroupNorm(2, 4, affine=False)(nbgrad.tensor([[1.0, 3.0, 10.0, 30.0]]))
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_groups == 0:
            raise DivisionError(f"GroupNorm: {num_channels} channels cannot be divided into 0 groups.")
        if num_channels % num_groups:
            raise RangeError(f"GroupNorm: {num_channels} channels cannot be divided into {num_groups} groups.")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        made: Any = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(nbgrad.ones(num_channels, **made)) if affine else None)
        self.register_parameter("bias", Parameter(nbgrad.zeros(num_channels, **made)) if affine and bias else None)

    def forward(self, input: Tensor) -> Tensor:
        """Shape ``(batch, channels, *)``."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        ones_and_zeros(self)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divided by the root of the mean square over the trailing dimensions, times a learnt weight: see ``functional.rms_norm``.

    >>> import nbgrad
    >>> nbgrad.nn.RMSNorm(2, elementwise_affine=False)(nbgrad.tensor([[3.0, 4.0]]))
    tensor([[0.8485, 1.1314]])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _single(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        ones = nbgrad.ones(self.normalized_shape, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(ones) if elementwise_affine else None)

    def forward(self, x: Tensor) -> Tensor:
        """``(*, *normalized_shape)``."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def reset_parameters(self) -> None:
        """Weight 1."""
        ones_and_zeros(self)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
