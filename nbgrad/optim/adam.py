"""Adam and its relatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .. import Tensor, view_as_real, zeros_like
from ..base.errors import ArgumentError
from ..dispatch.updates import changing, followed, fused_update, is_exchanged, step_at_end, steps_ahead
from ..modes.numbers import function_of
from ..modes.traced import Unfit, capture_of_thread
from . import rules
from .optimizer import Optimizer, refuse_differentiable, require, require_numbers

__all__ = ["Adam", "AdamW"]


def as_pairs(x: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, on the same memory."""
    return view_as_real(x.resolve_conj())


class Adam(Optimizer):
    """Steps along a running mean of the gradient, divided by the root of a running mean of its square.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        lr: learning rate.
        betas: what remains at each step of the mean of the gradient, and of its square.
        eps: added to the divisor.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        amsgrad: divide by the largest mean square so far.
        maximize: ascend.
        decoupled_weight_decay: as ``AdamW``.
        foreach, capturable, fused: accepted; every step is fused.

    A complex parameter is optimised as its real and imaginary parts, each with moments of its own.

    Raises:
        RangeError: an option out of range. NotSupportedError: ``differentiable``.

    Source: torch's Adam; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.Adam([x], lr=0.5, weight_decay=0.0)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    decoupled = False  # True: whatever a group, or a state that is loaded, says

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        refuse_differentiable(self._name, differentiable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def check(self, group: dict[str, Any]) -> None:
        """Nothing is negative, betas are below 1."""
        betas = group["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise ArgumentError(f"{self._name}: betas is {betas!r}, expected two numbers.")
        require_numbers(self._name, {name: group[name] for name in ("lr", "eps", "weight_decay")})
        require_numbers(self._name, {f"betas[{index}]": beta for index, beta in enumerate(betas)})
        for name in ("lr", "eps", "weight_decay"):
            require(group[name] >= 0, self._name, name, group[name], "a number that is not negative")
        for index, beta in enumerate(group["betas"]):
            require(0 <= beta < 1, self._name, f"betas[{index}]", beta, "a number from 0 to below 1")

    varying = ("lr", "betas", "eps", "weight_decay", "maximize", "decoupled_weight_decay")

    def is_ready(self, p: Tensor, group: dict[str, Any]) -> bool:
        """Whether there are the running means."""
        return ("max_exp_avg_sq" if group["amsgrad"] else "exp_avg") in self.state.get(p, ())

    def update(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``."""
        rule: rules.Rule = rules.amsgrad if group["amsgrad"] else rules.adam
        scalars: dict[int, dict[str, float]] = {}
        members: dict[int, list[dict[str, Any]]] = {}
        is_captured = capture_of_thread() is not None
        for p in params:
            state = self.state[p]
            tensors: list[Any] = [p, *self._moments(p, state, group["amsgrad"]), p.grad]
            if p.is_complex():
                tensors = list(map(as_pairs, tensors))
            ahead = steps_ahead(state)
            step = state["step"] + 1 + ahead
            if step not in scalars:
                members[step] = []
                if is_exchanged(group):
                    scalars[step] = self._scalars(group, followed(partial(self._of_next_step, float, members[step], step, ahead)))
                else:
                    take = partial(self._scalars, group)
                    scalars[step] = changing(partial(self._of_next_step, take, members[step], step, ahead))
            members[step].append(state)
            fused_update(rule, tensors[:-1], tensors[-1:], scalars[step])
            if not is_captured:
                state["step"] = step
        for states in members.values() if is_captured else ():
            step_at_end(states)

    def _moments(self, p: Tensor, state: dict[str, Any], amsgrad: bool) -> list[Tensor]:
        """The running means that the rule updates, zeros at first."""
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        if not amsgrad:
            return [state["exp_avg"], state["exp_avg_sq"]]
        if "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = zeros_like(p)
        return [state["exp_avg"], state["exp_avg_sq"], state["max_exp_avg_sq"]]

    def _of_next_step(self, take: Callable[[int], Any], states: list[dict[str, Any]], first: int, ahead: int) -> Any:
        """``take`` of the step that parameters with these states take next, ``first`` where there are none yet.

        Args:
            ahead: how many the program takes before that one.

        Raises:
            Unfit: they have taken different numbers of steps.
        """
        steps = {state["step"] + 1 + ahead for state in states} or {first}
        if len(steps) > 1:
            raise Unfit
        return take(steps.pop())

    def _scalars(self, group: dict[str, Any], step: Any) -> dict[str, float]:
        """The numbers of the rule at ``step``, in float64: in float32, ``1 - beta2`` would lose four digits."""
        lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
        decoupled = self.decoupled or group["decoupled_weight_decay"]
        return {
            "step_size": lr / (1.0 - beta1**step),
            "root": math.sqrt(left) if type(left := 1.0 - beta2**step) is float else function_of("sqrt", left),
            "take1": 1.0 - beta1,
            "keep2": beta2,
            "take2": 1.0 - beta2,
            "eps": group["eps"],
            "shrink": 1.0 - lr * decay if decoupled else 1.0,
            "weight_decay": 0.0 if decoupled else decay,
            "sign": -1.0 if group["maximize"] else 1.0,
        }


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself and leaves the gradient alone.

    Args:
        params, lr, betas, eps, amsgrad, maximize, foreach, capturable, fused: as for ``Adam``.
        weight_decay: the parameter is multiplied by ``1 - lr * weight_decay`` at each step.

    Raises:
        RangeError: an option out of range.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.AdamW([x], lr=0.5, weight_decay=0.0)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            differentiable=differentiable,
            decoupled_weight_decay=True,
        )
