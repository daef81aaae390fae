"""Schedulers that are made of other ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ...base.errors import ArgumentError, RangeError, ShapeError
from ..optimizer import Optimizer
from .base import LRScheduler, options_of, set_option
from .plateau import ReduceLROnPlateau

__all__ = ["ChainedScheduler", "SequentialLR"]


class Combined(LRScheduler):
    """Schedulers of one optimizer, and their states as one."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
        if not schedulers:
            raise RangeError(f"{self._name}: schedulers is empty, expected at least one.")
        for number, scheduler in enumerate(schedulers):
            found = f"{self._name}: schedulers[{number}] is a {type(scheduler).__name__}"
            if not hasattr(scheduler, "optimizer"):
                raise ArgumentError(f"{found}, expected a scheduler.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise RangeError(f"{found}, whose step needs a metric. Hint: step it by itself.")
            optimizer = optimizer or scheduler.optimizer
            if scheduler.optimizer is not optimizer:
                raise RangeError(f"{found} of another optimizer, expected one optimizer for all.")
        self._schedulers, self.optimizer = schedulers, self._required(optimizer)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; in the place of the schedulers, their states."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned.

        Raises:
            As every scheduler's. NamingError: no "_schedulers"; a KeyError too.
        """
        state = dict(self._checked(state_dict, "_schedulers"))
        states = state.pop("_schedulers")
        if len(states) != len(self._schedulers):
            raise ShapeError(
                f"{self._name}: load_state_dict: the state is of {len(states)} schedulers, expected {len(self._schedulers)}."
            )
        super().load_state_dict(state)
        for scheduler, each in zip(self._schedulers, states):
            scheduler.load_state_dict(each)


class SequentialLR(Combined):
    """One scheduler after the other.

    Args:
        milestones: the epochs in which the second and later ones begin.
        last_epoch: the epoch before the first.

    Raises:
        RangeError: no scheduler, one of another optimizer, a ``ReduceLROnPlateau``; milestones that are not one fewer.

    >>> import nbgrad
    >>> from nbgrad.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> parts = [ConstantLR(optimizer, factor=0.25, total_iters=9), ExponentialLR(optimizer, gamma=0.5)]
    >>> scheduler = SequentialLR(optimizer, parts, milestones=[1])
    >>> rates = []
    >>> for epoch in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.25, 1.0, 0.5]
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1) -> None:
        super().__init__(schedulers, self._required(optimizer))
        if len(milestones) != len(schedulers) - 1:
            raise RangeError(
                f"{self._name}: milestones has {len(milestones)} epochs, expected {len(schedulers) - 1}: "
                "one for every scheduler but the first."
            )
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the first steps of all schedulers, which they took when they were made."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for each in scheduler._schedulers:
                self.recursive_undo(each)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch, by the scheduler whose turn it is."""
        self._be_outside_graphs()
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(Combined):
    """All schedulers at once: each changes the learning rates that the one before has left.

    Args:
        schedulers: of one optimizer.
        optimizer: that one, which may be left out.

    Raises:
        RangeError: no scheduler, one of another optimizer, a ``ReduceLROnPlateau``.

    >>> import nbgrad
    >>> from nbgrad.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> halves = ConstantLR(optimizer, factor=0.5, total_iters=2), ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler, rates = ChainedScheduler(halves), []
    >>> for _ in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.25, 0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        super().__init__(schedulers, optimizer)
        self._last_lr = options_of(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch in all of them."""
        self._be_outside_graphs()
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = options_of(self.optimizer, "lr")
