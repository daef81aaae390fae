"""Relatives of Adam: Adamax, NAdam, RAdam."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import rules
from .adam import LIMITS, means, rates
from .optimizer import options_in
from .ruled import Ruled, at_least_0

__all__ = ["Adamax", "NAdam", "RAdam"]


class Adamax(Ruled):
    """Adam with the greatest gradient, of which the past fades, in place of the root of a mean square.

    Args:
        params, lr, betas, eps, weight_decay, foreach, capturable, maximize: as for ``Adam``.

    Raises:
        RangeError: an option out of range.

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
    count, follows = staticmethod(rules.adamax_size), ("step_size",)

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

    def counting(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"lr": group["lr"], "beta1": group["betas"][0]}

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return {
            "take1": 1.0 - beta1,
            "beta2": beta2,
            "eps": group["eps"],
            "weight_decay": group["weight_decay"],
            "sign": -1.0 if group["maximize"] else 1.0,
        }


class NAdam(Ruled):
    """Adam with the gradient looked up one step ahead.

    Args:
        params, lr, betas, eps, weight_decay, decoupled_weight_decay, foreach, capturable, maximize: as for ``Adam``.
        momentum_decay: how quickly momentum reaches ``betas[0]``.

    Raises:
        RangeError: an option out of range.

    Source: torch's NAdam; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.NAdam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> x.item() < 0.6
    True
    """

    varying = ("lr", "betas", "eps", "weight_decay", "momentum_decay", "maximize", "decoupled_weight_decay")
    limits = {**LIMITS, "momentum_decay": at_least_0}
    numbers = {"mu_product": 1.0}  # of all momenta so far
    count, follows = staticmethod(rules.nadam_sizes), ("now", "ahead", "corrected")

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

    def counting(self, group: dict[str, Any]) -> dict[str, Any]:
        return {**rates(group), "decay": group["momentum_decay"]}

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        return means(group, group["decoupled_weight_decay"])


class RAdam(Ruled):
    """Adam that divides by the root of the mean square only when enough gradients have been seen.

    Args:
        params, lr, betas, eps, weight_decay, decoupled_weight_decay, foreach, capturable, maximize: as for ``Adam``.

    Raises:
        RangeError: an option out of range.

    Source: torch's RAdam; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.RAdam([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    varying = ("lr", "betas", "eps", "weight_decay", "maximize", "decoupled_weight_decay")
    limits = LIMITS
    count, follows = staticmethod(rules.radam_sizes), ("step_size", "root")

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

    def counting(self, group: dict[str, Any]) -> dict[str, Any]:
        return rates(group)

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        return means(group, group["decoupled_weight_decay"])
