"""Relatives of Adam: Adamax, NAdam, RAdam."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from . import rules
from .adam import LIMITS, means
from .optimizer import options_in
from .ruled import Ruled, at_least_0

__all__ = ["Adamax", "NAdam", "RAdam"]


class Adamax(Ruled):
    """Adam with the greatest gradient, of which the past fades, in place of the root of a mean square.

    Args:
        params, lr, betas, eps, weight_decay, foreach, maximize: as for ``Adam``.

    Raises:
        RangeError: an option out of range. NotSupportedError: ``capturable``.

    Source: torch's Adamax; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.Adamax([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    varying = ("lr", "betas", "eps", "weight_decay", "maximize")
    limits = LIMITS

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.adamax

    def scalars(self, group: dict[str, Any], step: Any, *numbers: float) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return {
            "step_size": group["lr"] / (1.0 - beta1**step),
            "take1": 1.0 - beta1,
            "beta2": beta2,
            "eps": group["eps"],
            "weight_decay": group["weight_decay"],
            "sign": -1.0 if group["maximize"] else 1.0,
        }


class NAdam(Ruled):
    """Adam with the gradient looked up one step ahead.

    Args:
        params, lr, betas, eps, weight_decay, decoupled_weight_decay, foreach, maximize: as for ``Adam``.
        momentum_decay: how quickly momentum reaches ``betas[0]``.

    Raises:
        RangeError: an option out of range. NotSupportedError: ``capturable``.

    Source: torch's NAdam; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.NAdam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> x.item() < 0.6
    True
    """

    limits = {**LIMITS, "momentum_decay": at_least_0}
    numbers = {"mu_product": 1.0}  # of all momenta so far

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.nadam

    def momentum(self, group: dict[str, Any], step: int) -> float:
        """Of a step. Source: Dozat's schedule."""
        return group["betas"][0] * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))

    def scalars(self, group: dict[str, Any], step: Any, *numbers: float) -> dict[str, Any]:
        (product,) = self.next_numbers(group, step, *numbers)
        mu, following = self.momentum(group, step), self.momentum(group, step + 1)
        return {
            **means(group, group["decoupled_weight_decay"]),
            "now": group["lr"] * (1.0 - mu) / (1.0 - product),
            "ahead": group["lr"] * following / (1.0 - product * following),
            "corrected": 1.0 - group["betas"][1] ** step,
        }

    def next_numbers(self, group: dict[str, Any], step: int, *numbers: float) -> tuple[float, ...]:
        return (numbers[0] * self.momentum(group, step),)


class RAdam(Ruled):
    """Adam that divides by the root of the mean square only when enough gradients have been seen.

    Args:
        params, lr, betas, eps, weight_decay, decoupled_weight_decay, foreach, maximize: as for ``Adam``.

    Raises:
        RangeError: an option out of range. NotSupportedError: ``capturable``.

    Source: torch's RAdam; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.RAdam([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    limits = LIMITS

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.radam

    def scalars(self, group: dict[str, Any], step: Any, *numbers: float) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        step_size, correction = group["lr"] / (1.0 - beta1**step), 1.0 - beta2**step
        most = 2.0 / (1.0 - beta2) - 1.0  # the length of the average, when all has been seen
        length, root = most - 2.0 * step * beta2**step / correction, 0.0
        if length > 5.0:
            step_size *= math.sqrt((length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length))
            root = math.sqrt(correction)
        return {**means(group, group["decoupled_weight_decay"]), "step_size": step_size, "root": root}
