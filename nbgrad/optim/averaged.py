"""Optimizers that need no scale of the gradient, or take a mean of where they were: Rprop, ASGD."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import Tensor
from . import rules
from .optimizer import options_in
from .ruled import Ruled, at_least_0

__all__ = ["ASGD", "Rprop"]


class ASGD(Ruled):
    """Gradient descent with steps that fade; ``state[p]["ax"]`` is the mean of where a parameter was.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        lr: learning rate of the first step.
        lambd: decay, of the parameter and, with ``alpha`` as power, of the learning rate.
        t0: the step from which on the mean is taken.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        foreach, capturable: as for ``Adam``.
        maximize: ascend.

    Raises:
        RangeError: an option out of range.

    Source: torch's ASGD; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.ASGD([x], lr=0.5, lambd=0.0)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> x.tolist()
    [0.0]
    """

    varying = ("lr", "lambd", "alpha", "t0", "weight_decay", "maximize")
    limits = {"lr": at_least_0, "weight_decay": at_least_0}
    numbers = {"eta": 0.0, "mu": 1.0}  # the first eta is lr
    count, follows = staticmethod(rules.asgd_sizes), ("eta", "shrink", "mu")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def prepared(self, p: Tensor, group: dict[str, Any], kept: dict[str, float]) -> dict[str, Any]:
        is_new, state = not self.state[p], super().prepared(p, group, kept)
        if is_new:
            state["eta"] = float(group["lr"])
        return state

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"ax": 0.0}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.asgd

    def counting(self, group: dict[str, Any]) -> dict[str, Any]:
        return {name: group[name] for name in ("lr", "lambd", "alpha", "t0")}

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"weight_decay": group["weight_decay"], "sign": -1.0 if group["maximize"] else 1.0}


class Rprop(Ruled):
    """Steps against the gradient's sign, of sizes that grow while it stays and shrink where it turns.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        lr: size of the first step.
        etas: factors of a step where the sign has turned, and where it has not.
        step_sizes: the smallest step and the greatest.
        foreach: as for ``Adam``. capturable: the GPU counts the steps, none of which depends on its number.
        maximize: ascend.

    Raises:
        RangeError: an option out of range.

    Source: torch's Rprop; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.Rprop([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> x.tolist()
    [0.5]
    """

    counted = False
    varying = ("etas", "step_sizes", "maximize")
    limits = {"lr": at_least_0, "etas": (lambda etas: 0 < etas[0] < 1 < etas[1], "one number between 0 and 1, one above 1")}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"prev": 0.0, "step_size": group["lr"]}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.rprop

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        (shorter, longer), (least, most) = group["etas"], group["step_sizes"]
        return {"shorter": shorter, "longer": longer, "least": least, "most": most, "direction": -1.0 if group["maximize"] else 1.0}
