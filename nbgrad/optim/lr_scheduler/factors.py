"""Schedulers that multiply all learning rates by a factor, each declared by that of an epoch and the product of all so far."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..optimizer import Optimizer, require
from .base import LRScheduler, options_of

__all__ = ["ConstantLR", "ExponentialLR", "LinearLR", "MultiStepLR", "PolynomialLR", "StepLR"]


class ByFactor(LRScheduler):
    """Multiplies the learning rate of every group by ``_factor()``.

    So schedulers may be chained, and learning rates changed in between. ``step(epoch)`` goes back to the initial learning rates,
    which it multiplies by ``_product()``.
    """

    def _factor(self) -> float | None:
        """What a step to ``last_epoch`` multiplies by; None: nothing."""
        raise NotImplementedError(f"{self._name}: _factor is not defined. Hint: define it in the subclass.")

    def _product(self) -> float:
        """The product of all factors up to ``last_epoch``."""
        raise NotImplementedError(f"{self._name}: _product is not defined. Hint: define it in the subclass.")

    def _rates(self) -> list[Any]:
        factor, rates = self._factor(), options_of(self.optimizer, "lr")
        return rates if factor is None else [lr * factor for lr in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self._product() for lr in self.base_lrs]


class StepLR(ByFactor):
    """Multiplies by ``gamma`` every ``step_size`` epochs.

    Raises:
        RangeError: ``step_size`` is 0.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=0.5)
    >>> scheduler = StepLR(optimizer, step_size=1, gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> optimizer.param_groups[0]["lr"]
    0.25
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        require(step_size != 0, self._name, "step_size", step_size, "a number of epochs")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        """``gamma`` where ``step_size`` divides the epoch."""
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else None

    def _product(self) -> float:
        """A power of ``gamma``."""
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(ByFactor):
    """Multiplies by ``gamma`` at each of the epochs ``milestones``; twice at one that is there twice.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = MultiStepLR(optimizer, [1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        """``gamma`` at a milestone."""
        count = self.milestones[self.last_epoch]
        return self.gamma**count if count else None

    def _product(self) -> float:
        """A power of ``gamma``."""
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(ByFactor):
    """Multiplies by ``factor`` until epoch ``total_iters``.

    Raises:
        RangeError: a factor that is not from 0 to 1.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        require(0 <= factor <= 1, self._name, "factor", factor, "a number from 0 to 1")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        """Down at epoch 0, up again at the end."""
        return self.factor if self.last_epoch == 0 else 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _product(self) -> float:
        """``factor``, then 1."""
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(ByFactor):
    """Multiplies by what goes from ``start_factor`` to ``end_factor`` in a straight line, in ``total_iters`` epochs.

    Raises:
        RangeError: a factor that is not from 0 to 1; a ``start_factor`` of 0.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        require(0 < start_factor <= 1, self._name, "start_factor", start_factor, "a number above 0, up to 1")
        require(0 <= end_factor <= 1, self._name, "end_factor", end_factor, "a number from 0 to 1")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        """What is between two points of the line."""
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _product(self) -> float:
        """A point of the line."""
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(ByFactor):
    """Multiplies by ``gamma`` every epoch.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ExponentialLR(optimizer, gamma=0.5)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        """``gamma``, from the second epoch on."""
        return None if self._is_initial else self.gamma

    def _product(self) -> float:
        """A power of ``gamma``."""
        return self.gamma**self.last_epoch


class PolynomialLR(ByFactor):
    """Goes down to 0 in ``total_iters`` epochs as a power of what is left of them.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = PolynomialLR(optimizer, total_iters=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        """What is left, by what was left before."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        return (self._left(self.last_epoch) / self._left(self.last_epoch - 1)) ** self.power

    def _product(self) -> float:
        """A power of what is left."""
        return self._left(min(self.total_iters, self.last_epoch)) ** self.power

    def _left(self, epoch: int) -> float:
        """The part of all epochs that is still to come."""
        return 1.0 - epoch / self.total_iters
