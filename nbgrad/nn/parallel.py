"""``DataParallel`` and ``SyncBatchNorm``, which programs for many GPUs use, in one process on one device."""

from __future__ import annotations

import sys
from typing import Any

from ..base.errors import NotSupportedError, ShapeError
from .module import Module
from .normal_layers import _BatchNorm

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "SyncBatchNorm",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
    "scatter_kwargs",
]


class DataParallel(Module):
    """``module`` itself under the name "module", so that programs and their states run: nothing is spread over devices.

    Args:
        module: what is called.
        device_ids, output_device, dim: torch's; without effect.

    >>> import nbgrad
    >>> list(DataParallel(nbgrad.nn.Linear(2, 3)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.dim, self.output_device = module, dim, output_device
        self.device_ids = list(device_ids or [])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """Not there: a class that nothing is an instance of, for programs that ask.

    Raises:
        NotSupportedError: always.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotSupportedError(
            "DistributedDataParallel: there are no process groups. Hint: ask nbgrad.distributed.is_available()."
        )


def scatter(*args: Any, **kwargs: Any) -> Any:
    """Not there, as are ``gather``, ``replicate`` and ``parallel_apply``, which programs use where there are several devices.

    Raises:
        NotSupportedError: always.
    """
    raise NotSupportedError("nn.parallel: nothing is spread over devices. Hint: call the module itself, as DataParallel does.")


scatter_kwargs = gather = replicate = parallel_apply = scatter


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of ``(batch, channels, *)``; of one process, whose batch is the whole.

    >>> import nbgrad
    >>> SyncBatchNorm(3)(nbgrad.ones(2, 3, 4)).shape
    nbgrad.Size([2, 3, 4])
    """

    ranks = range(2, sys.maxsize)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Any) -> Any:
        """Shape ``(batch, channels, *)``.

        Raises:
            ShapeError: fewer than two dimensions.
        """
        if input.ndim < 2:
            raise ShapeError(f"SyncBatchNorm: expected two dimensions or more, got {input.ndim}.")
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module, with a ``SyncBatchNorm`` in the place of every batch norm, with the same parameters and buffers.

        >>> import nbgrad
        >>> SyncBatchNorm.convert_sync_batchnorm(nbgrad.nn.Sequential(nbgrad.nn.BatchNorm1d(2)))[0].__class__.__name__
        'SyncBatchNorm'
        """
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name))
            made.training = module.training
            return made
        for name, child in list(module.named_children()):
            changed = cls.convert_sync_batchnorm(child, process_group)
            if changed is not child:
                setattr(module, name, changed)
        return module
