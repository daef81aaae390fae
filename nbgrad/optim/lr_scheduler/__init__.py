"""Schedulers: what the learning rates of an optimizer's groups are, epoch after epoch.

>>> import nbgrad
>>> from nbgrad.optim.lr_scheduler import StepLR
>>> x = nbgrad.tensor([1.0], requires_grad=True)
>>> optimizer = nbgrad.optim.SGD([x], lr=1.0)
>>> scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
>>> rates = []
>>> for epoch in range(5):
...     rates += scheduler.get_last_lr()
...     optimizer.step()
...     scheduler.step()
>>> rates
[1.0, 1.0, 0.5, 0.5, 0.25]
"""

from __future__ import annotations

from .base import LRScheduler, _LRScheduler
from .combined import ChainedScheduler, SequentialLR
from .cosines import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .cycles import CyclicLR, OneCycleLR
from .factors import ConstantLR, ExponentialLR, LinearLR, MultiStepLR, PolynomialLR, StepLR
from .lambdas import LambdaLR, MultiplicativeLR
from .plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]
