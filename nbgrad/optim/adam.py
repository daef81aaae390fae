"""Adam and its relatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import Tensor
from ..base.errors import RangeError
from . import rules
from .optimizer import options_in, refuse_both
from .ruled import Ruled, at_least_0, below_1

__all__ = ["Adam", "AdamW", "LIMITS", "means", "rates"]

LIMITS = {"lr": at_least_0, "eps": at_least_0, "weight_decay": at_least_0, "betas[]": below_1}


def means(group: dict[str, Any], decoupled: bool) -> dict[str, Any]:
    """The numbers of running means, of decay and direction; ``decoupled``: the decay shrinks the parameter itself."""
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    return {
        "take1": 1.0 - beta1,
        "keep2": beta2,
        "take2": 1.0 - beta2,
        "eps": group["eps"],
        "shrink": 1.0 - lr * decay if decoupled else 1.0,
        "weight_decay": 0.0 if decoupled else decay,
        "sign": -1.0 if group["maximize"] else 1.0,
    }


def rates(group: dict[str, Any]) -> dict[str, Any]:
    """The options that ``count`` of Adam and its relatives takes."""
    beta1, beta2 = group["betas"]
    return {"lr": group["lr"], "beta1": beta1, "beta2": beta2}


class Adam(Ruled):
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
        foreach: on a GPU, False updates one tensor after the other; otherwise few launches update all. fused: as ``foreach``; every
            update of a tensor is one kernel.
        capturable: the number of the step and what follows from it live on the GPU, so that a CUDA graph can hold a step;
            ``state[p]["step"]`` is a tensor then, and ``lr`` may be one.
        differentiable: as of ``SGD``; not of steps that are counted on the GPU.

    A complex parameter is optimised as its real and imaginary parts, each with moments of its own.

    Raises:
        RangeError: an option out of range.

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
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        refuse_both(self._name, foreach, fused)
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise RangeError(f"{self._name}: lr is a tensor, which foreach=True takes with capturable=True alone.")
        super().__init__(params, options_in(locals()))

    limits = LIMITS
    varying = ("lr", "betas", "eps", "weight_decay", "maximize", "decoupled_weight_decay")
    count, follows = staticmethod(rules.corrections), ("step_size", "root")

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0, **({"max_exp_avg_sq": 0.0} if group["amsgrad"] else {})}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.amsgrad if group["amsgrad"] else rules.adam

    def counting(self, group: dict[str, Any]) -> dict[str, Any]:
        return rates(group)

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        return means(group, self.decoupled or group["decoupled_weight_decay"])


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
        super().__init__(**options_in(locals()), params=params, decoupled_weight_decay=True)
