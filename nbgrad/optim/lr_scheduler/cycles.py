"""Schedulers that take learning rates up and down, and momentum the other way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ...base.errors import RangeError
from ..optimizer import Optimizer, require
from .base import LRScheduler, set_option, spread
from .lambdas import load_function, state_of_function

__all__ = ["CyclicLR", "OneCycleLR", "cosine_between", "line_between"]


def line_between(start: Any, end: Any, part: float) -> Any:
    """On the straight way from ``start`` to ``end``."""
    return (end - start) * part + start


def cosine_between(start: Any, end: Any, part: float) -> Any:
    """On half a cosine from ``start`` to ``end``."""
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


WAYS: dict[str, Callable[[Any, Any, float], Any]] = {"cos": cosine_between, "linear": line_between}


class WithMomentum(LRScheduler):
    """Changes the momentum of every group, too, or the first of its betas."""

    cycle_momentum: bool
    use_beta1: bool

    def _bounds(self, optimizer: Optimizer, cycled: bool, least: Any, most: Any) -> tuple[list[Any], list[Any]] | None:
        """The least and the largest momentum of every group; None where it is left alone.

        Raises:
            RangeError: the optimizer has none; another number of them than of groups.
        """
        self.cycle_momentum = cycled
        if not cycled:
            return None
        if not {"momentum", "betas"} & optimizer.defaults.keys():
            raise RangeError(
                f"{self._name}: {type(optimizer).__name__} has neither momentum nor betas to cycle. Hint: cycle_momentum=False."
            )
        self.use_beta1 = "betas" in optimizer.defaults
        return spread(self._name, optimizer, "base_momentum", least), spread(self._name, optimizer, "max_momentum", most)

    def _begin_momentum(self, optimizer: Optimizer, bounds: tuple[list[Any], list[Any]]) -> None:
        """The largest momentum in every group."""
        for group, least, most in zip(optimizer.param_groups, *bounds):
            self._set_momentum(group, most)
            group["max_momentum"], group["base_momentum"] = most, least

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


# Of a mode of CyclicLR: how high a cycle is, and of what that is a function.
HEIGHTS: dict[str, tuple[Callable[[float, float], float], str]] = {
    "triangular": (lambda gamma, x: 1.0, "cycle"),
    "triangular2": (lambda gamma, x: 1 / (2.0 ** (x - 1)), "cycle"),
    "exp_range": (lambda gamma, x: gamma**x, "iterations"),
}


class CyclicLR(WithMomentum):
    """Goes up from ``base_lr`` to ``max_lr`` and down again in straight lines, over and over; to be stepped after every batch.

    Args:
        base_lr, max_lr: one for all groups, or one for each.
        step_size_up, step_size_down: batches on the way up, and on the way down; as many on both where the second is None.
        mode: "triangular"; "triangular2": each cycle is half as high; "exp_range": ``gamma ** batch`` as high.
        scale_fn: a function that says how high, instead of a mode.
        scale_mode: of what: "cycle", the number of the cycle from 1 on, or "iterations", that of the batch.
        cycle_momentum: take momentum, or the first of the betas, the other way, from ``max_momentum`` to ``base_momentum``.

    Raises:
        RangeError: another mode; an optimizer without momentum to cycle; another number of values than of groups.

    Source: Smith, "Cyclical learning rates for training neural networks", 2017.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CyclicLR(optimizer, base_lr=1.0, max_lr=2.0, step_size_up=2, cycle_momentum=False)
    >>> rates = []
    >>> for batch in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 1.5, 2.0, 1.5, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        base_lrs = spread(self._name, self._required(optimizer), "base_lr", base_lr)
        self.max_lrs = spread(self._name, optimizer, "max_lr", max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        require(up > 0, self._name, "step_size_up", step_size_up, "a positive number")
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        require(scale_fn is not None or mode in HEIGHTS, self._name, "mode", mode, f"one of {', '.join(HEIGHTS)}, or scale_fn")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else HEIGHTS[mode][1]
        bounds = self._bounds(optimizer, cycle_momentum, base_momentum, max_momentum)
        if bounds is not None:
            self.base_momentums, self.max_momentums = bounds
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                set_option(group, "lr", lr)
            if bounds is not None:
                self._begin_momentum(optimizer, bounds)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """How high the way is, of a number as ``scale_mode`` says."""
        return HEIGHTS[self.mode][0](self.gamma, x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    def _rates(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)

        def height(least: Any, most: Any) -> Any:
            return (most - least) * part * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)

        if self.cycle_momentum:
            for group, least, most in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, most - height(least, most))
        return [least + height(least, most) for least, most in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; None in the place of a function ``scale_fn``, in that of an object, its attributes."""
        return {**super().state_dict(), "_scale_fn_custom": state_of_function(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned, with the function that there is.

        Raises:
            As every scheduler's. NamingError: no "_scale_fn_custom"; a KeyError too.
        """
        state = dict(self._checked(state_dict, "_scale_fn_custom"))
        attributes = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        load_function(self._scale_fn_custom, attributes)


class OneCycleLR(WithMomentum):
    """Goes up to ``max_lr`` and then far down, once; to be stepped after every batch.

    Args:
        max_lr: one for all groups, or one for each.
        total_steps: the number of batches; or ``epochs`` and ``steps_per_epoch``, whose product it is.
        pct_start: the part of the batches on the way up.
        anneal_strategy: "cos" or "linear" ways.
        cycle_momentum: take momentum, or the first of the betas, from ``max_momentum`` down to ``base_momentum``, and up again.
        div_factor: how many times lower than ``max_lr`` it begins.
        final_div_factor: how many times lower than the beginning it ends.
        three_phase: down to the beginning first, in as many batches as up, and then to the end.

    Raises:
        RangeError: a number out of range, no number of batches, an optimizer without momentum to cycle, another number of values
            than of groups; in ``step``, a batch too many.

    Source: Smith and Topin, "Super-convergence: very fast training of neural networks using large learning rates", 2018.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], momentum=0.9)
    >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, total_steps=5, pct_start=0.6, anneal_strategy="linear")
    >>> rates = []
    >>> for batch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(lr, 4) for lr in rates]
    [0.04, 0.52, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self._required(optimizer)
        self.total_steps = self._steps(total_steps, epochs, steps_per_epoch)
        valid = isinstance(pct_start, float) and 0 <= pct_start <= 1
        require(valid, self._name, "pct_start", pct_start, "a float from 0 to 1")
        require(anneal_strategy in WAYS, self._name, "anneal_strategy", anneal_strategy, "'cos' or 'linear'")
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = self._phases(pct_start, three_phase)
        max_lrs = spread(self._name, optimizer, "max_lr", max_lr)
        bounds = self._bounds(optimizer, cycle_momentum, base_momentum, max_momentum)
        self._place(0)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, max_lrs):
                group["initial_lr"], group["max_lr"] = most / div_factor, most
                group["min_lr"] = group["initial_lr"] / final_div_factor
            if bounds is not None:
                self._begin_momentum(optimizer, bounds)
        super().__init__(optimizer, last_epoch)

    def _steps(self, total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
        """The number of batches."""
        given = {"total_steps": total_steps} if total_steps is not None else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        if None in given.values():
            raise RangeError(f"{self._name}: the number of steps is missing. Hint: total_steps, or epochs and steps_per_epoch.")
        for name, value in given.items():
            require(isinstance(value, int) and value > 0, self._name, name, value, "a positive integer")
        return math.prod(given.values())

    def _phases(self, pct_start: float, three: bool) -> list[dict[str, Any]]:
        """The last batch of every way, and the names of the options that it leads between."""
        last = self.total_steps - 1
        rise: tuple[Any, ...] = (pct_start * self.total_steps - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        ways: list[tuple[Any, ...]] = [rise, (last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        if three:
            fall = (2 * pct_start * self.total_steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
            ways = [rise, fall, (last, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
        return [dict(zip(("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"), way)) for way in ways]

    def _place(self, batch: int) -> tuple[dict[str, Any], float]:
        """The way that a batch is on, and the part of it that lies behind."""
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if batch <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        if end == start:
            raise RangeError(
                f"{self._name}: the way from {phase['start_lr']} to {phase['end_lr']} has no steps at pct_start and "
                f"total_steps={self.total_steps}, expected some. Hint: another pct_start."
            )
        return phase, (batch - start) / (end - start)

    def _rates(self) -> list[Any]:
        if self.last_epoch > self.total_steps:
            raise RangeError(f"{self._name}: step {self.last_epoch} of {self.total_steps}. Hint: count all batches in total_steps.")
        phase, part = self._place(self.last_epoch)
        way, groups = WAYS[self._anneal_func_type], self.optimizer.param_groups
        rates = [way(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]
        if self.cycle_momentum:
            for group in groups:
                self._set_momentum(group, way(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return rates
