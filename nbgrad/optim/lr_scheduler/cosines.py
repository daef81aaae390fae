"""Schedulers that go down half a cosine."""

from __future__ import annotations

import math
from typing import Any

from ...base.errors import RangeError
from ..optimizer import Optimizer, require
from .base import LRScheduler, options_of

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


def on_cosine(lr: Any, least: float, done: float, length: float) -> Any:
    """Where the way down from ``lr`` to ``least`` is, ``done`` of ``length``."""
    return least + (lr - least) * (1 + math.cos(math.pi * done / length)) / 2


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial learning rate down to ``eta_min`` in ``T_max`` epochs, then up again, and so on.

    A step goes on from the learning rate that there is, so that schedulers may be chained.

    Raises:
        RangeError: ``T_max`` is 0.

    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017; the cosine without restarts.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> [round(lr, 4) for lr in scheduler.get_last_lr()]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        require(T_max != 0, self._name, "T_max", T_max, "a number of epochs")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        rates, before = options_of(self.optimizer, "lr"), self.last_epoch - 1
        if self._is_initial:
            return rates
        if (before - self.T_max) % (2 * self.T_max) == 0:  # at the bottom, where the quotient below is 0 / 0
            rise = 1 - math.cos(math.pi / self.T_max)
            return [lr + (base - self.eta_min) * rise / 2 for lr, base in zip(rates, self.base_lrs)]
        down = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / (1 + math.cos(math.pi * before / self.T_max))
        return [down * (lr - self.eta_min) + self.eta_min for lr in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [on_cosine(lr, self.eta_min, self.last_epoch, self.T_max) for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial learning rate down to ``eta_min``, then again from above.

    Args:
        T_0: epochs until the first restart.
        T_mult: each time as many times the epochs before.
        eta_min: the least learning rate.

    Raises:
        RangeError: ``T_0`` or ``T_mult`` is no positive integer, ``eta_min`` no number.

    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        require(isinstance(T_0, int) and T_0 > 0, self._name, "T_0", T_0, "a positive integer")
        require(isinstance(T_mult, int) and T_mult > 0, self._name, "T_mult", T_mult, "a positive integer")
        require(isinstance(eta_min, (int, float)), self._name, "eta_min", eta_min, "a number")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        return [on_cosine(lr, self.eta_min, self.T_cur, self.T_i) for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``, which may be between two: ``number + batch / batches`` after every batch.

        Raises:
            RangeError: ``epoch`` is negative.
        """
        self._be_outside_graphs()
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self._go_on()
            epoch = self.last_epoch + 1
        else:
            self._go_to(epoch)
        super()._update_lr(math.floor(epoch))

    def _go_on(self) -> None:
        """One epoch further within the cycle, or into the next one."""
        self.T_cur += 1
        if self.T_cur >= self.T_i:
            self.T_cur %= self.T_i
            self.T_i *= self.T_mult

    def _go_to(self, epoch: float) -> None:
        """To the cycle that has ``epoch``."""
        if epoch < 0:
            raise RangeError(f"{self._name}.step: epoch is {epoch}, expected a number that is not negative.")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            cycles = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**cycles - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**cycles
