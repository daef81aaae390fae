"""Optimizers that divide by roots of squared gradients: Adadelta, Adagrad, RMSprop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..dispatch.updates import Row
from ..tensors.layout import sparse_marks
from ..tensors.tensor import is_sparse
from . import rules
from .optimizer import options_in, refuse_both, refuse_sparse_decay
from .ruled import Ruled, at_least_0, update_at_places

__all__ = ["Adadelta", "Adagrad", "RMSprop"]


def common(group: dict[str, Any]) -> dict[str, Any]:
    """The numbers that every rule has."""
    return {"weight_decay": group["weight_decay"], "eps": group["eps"], "sign": -1.0 if group["maximize"] else 1.0}


class Adadelta(Ruled):
    """Steps in the units of the parameter, which need no learning rate.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        lr: a factor of every step.
        rho: what remains at each step of the mean squares of gradients and of steps.
        eps: added below the roots.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        foreach: as for ``Adam``. capturable: the GPU counts the steps, none of which depends on its number.
        maximize: ascend.

    Raises:
        RangeError: an option out of range.

    Source: torch's Adadelta; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.Adadelta([x], lr=100.0)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> round(x.item(), 4)
    0.6838
    """

    counted = False
    varying = ("lr", "rho", "eps", "weight_decay", "maximize")
    limits = {
        "lr": at_least_0,
        "rho": (lambda rho: 0 <= rho <= 1, "a number from 0 to 1"),
        "eps": at_least_0,
        "weight_decay": at_least_0,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.adadelta

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        return {**common(group), "lr": group["lr"], "keep": group["rho"], "take": 1.0 - group["rho"]}


class Adagrad(Ruled):
    """The gradient over the root of the sum of all its squares.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        lr: learning rate. A sparse gradient moves the rows that it has, and no others.
        lr_decay: the learning rate is divided by ``1 + lr_decay * (number of steps before)``.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        initial_accumulator_value: what the sum begins with.
        eps: added to the root.
        foreach, fused: as for ``Adam``.
        maximize: ascend.

    Raises:
        RangeError: an option out of range. NotSupportedError: ``foreach`` and ``fused``.

    Source: torch's Adagrad; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.Adagrad([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    varying = ("lr", "lr_decay", "eps", "weight_decay", "maximize")
    takes_sparse = True
    count, follows = staticmethod(rules.adagrad_rate), ("lr",)
    limits = dict.fromkeys(("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"), at_least_0)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        refuse_both(self._name, foreach, fused)
        super().__init__(params, options_in(locals()))
        for group in self.param_groups:  # as in torch, before the first step
            for p in group["params"]:
                self.prepared(p, group, self.kept(group))

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"sum": float(group["initial_accumulator_value"])}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.adagrad

    def apply(self, group: dict[str, Any], rows: list[Row], numbers: Callable[[Callable], dict[str, Any]]) -> None:
        """Update parameters; of those with sparse gradients what these have something for.

        Raises:
            NotSupportedError: weight decay of such a one.
        """
        sparse = [row for row in rows if sparse_marks and is_sparse(row[1][0])]
        if sparse:
            refuse_sparse_decay("Adagrad", group)
        for row in sparse:
            update_at_places(rules.adagrad, row, numbers(self.scalars))
        dense = [row for row in rows if not is_sparse(row[1][0])] if sparse else rows
        if dense:
            super().apply(group, dense, numbers)

    def counting(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"lr": group["lr"], "decay": group["lr_decay"]}

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        return common(group)


class RMSprop(Ruled):
    """The gradient over the root of a running mean of its square, with momentum if wanted.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        lr: learning rate.
        alpha: what remains of the mean square at each step.
        eps: added to the root.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        momentum: what remains of the running sum of steps; 0 keeps none.
        centered: divide by the root of the variance.
        foreach: as for ``Adam``. capturable: the GPU counts the steps, none of which depends on its number.
        maximize: ascend.

    Raises:
        RangeError: an option out of range.

    Source: torch's RMSprop; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([2.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.RMSprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> round(x.item(), 4)
    1.0
    """

    counted = False
    varying = ("lr", "alpha", "eps", "weight_decay", "maximize")
    limits = dict.fromkeys(("lr", "eps", "momentum", "weight_decay", "alpha"), at_least_0)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        moving, centered = group["momentum"] > 0, group["centered"]
        return {"square_avg": 0.0, **({"momentum_buffer": 0.0} if moving else {}), **({"grad_avg": 0.0} if centered else {})}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        if group["centered"]:
            return rules.rmsprop_centered_momentum if group["momentum"] > 0 else rules.rmsprop_centered
        return rules.rmsprop_momentum if group["momentum"] > 0 else rules.rmsprop

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        moving = {"momentum": group["momentum"]} if group["momentum"] > 0 else {}
        return {**common(group), "lr": group["lr"], "keep": group["alpha"], "take": 1.0 - group["alpha"], **moving}
