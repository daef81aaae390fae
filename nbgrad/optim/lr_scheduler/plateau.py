"""A scheduler that watches a metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, SupportsFloat

from ...base.errors import ArgumentError, RangeError
from ..optimizer import Optimizer, require
from .base import LRScheduler, options_of, set_option, spread, warn_of_epoch

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies learning rates by ``factor`` when a metric has not become better for more than ``patience`` epochs.

    Args:
        mode: "min" for a metric that is to go down, "max" for one that is to go up.
        factor: below 1.
        patience: epochs without progress that are borne.
        threshold: what counts as progress: so much better than the best, as a part of it ("rel") or in itself ("abs").
        threshold_mode: "rel" or "abs".
        cooldown: epochs after a change in which nothing is counted.
        min_lr: the least learning rate, one for all groups or one for each.
        eps: changes that are not larger are left out.

    Raises:
        RangeError: a factor that is not below 1, another mode, another number of ``min_lr`` than of groups.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.5):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        require(factor < 1, self._name, "factor", factor, "a number below 1")
        self.optimizer = self._required(optimizer)
        self.min_lrs = spread(self._name, optimizer, "min_lr", min_lr)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = options_of(optimizer, "lr")
        self._set_mode(mode, threshold, threshold_mode)
        self._reset()

    def _set_mode(self, mode: str, threshold: float, threshold_mode: str) -> None:
        require(mode in ("min", "max"), self._name, "mode", mode, "'min' or 'max'")
        require(threshold_mode in ("rel", "abs"), self._name, "threshold_mode", threshold_mode, "'rel' or 'abs'")
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf

    def _reset(self) -> None:
        """Forget what was seen."""
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the metric of an epoch.

        Raises:
            ArgumentError: it is no number.
        """
        self._be_outside_graphs()
        if not hasattr(metrics, "__float__"):
            raise ArgumentError(f"{self._name}.step: metrics must be a number, got {metrics!r}.")
        current = float(metrics)
        if epoch is not None:
            warn_of_epoch(self._name)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = options_of(self.optimizer, "lr")

    def _is_better(self, a: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        needed = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return a < needed if self.mode == "min" else a > needed

    def _reduce_lr(self, epoch: int) -> None:
        """Multiply, unless that changes next to nothing."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RangeError(
                    f"{self._name}.step: there are {len(groups)} groups and {len(self.min_lrs)} least learning rates. "
                    "Hint: after add_param_group, add to min_lrs."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_option(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether nothing is counted now."""
        return self.cooldown_counter > 0

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned.

        Raises:
            As every scheduler's. RangeError: a mode that there is not.
        """
        super().load_state_dict(state_dict)
        self._set_mode(self.mode, self.threshold, self.threshold_mode)
