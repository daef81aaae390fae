"""Adam and its relatives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import Tensor, full, zeros
from ..base.dtypes import DType, float32, float64
from ..base.errors import DeviceError, RangeError
from ..dispatch.updates import Row, changing, fused_updates
from ..modes.numbers import function_of
from ..modes.traced import capture_of_thread
from . import rules
from .optimizer import options_in, refuse_both, together
from .ruled import Ruled, at_least_0, below_1, taker

__all__ = ["Adam", "AdamW", "LIMITS", "means"]

LIMITS = {"lr": at_least_0, "eps": at_least_0, "weight_decay": at_least_0, "betas[]": below_1}


class Numbers:
    """The functions of a rule, of floats and of what a capture follows in their place."""

    @staticmethod
    def sqrt(x: Any) -> Any:
        """The square root."""
        return math.sqrt(x) if type(x) is float else function_of("sqrt", x)


def compute_of(p: Tensor) -> DType:
    """The dtype in which an update of a parameter is computed."""
    dtype = p.dtype.to_real() if p.dtype.is_complex else p.dtype
    return float64 if dtype is float64 else float32


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
        self._kept: dict[Tensor, tuple[Tensor, Tensor]] = {}  # corrections on a GPU, by parameter
        super().__init__(params, options_in(locals()))

    counts_on_gpu = True
    limits = LIMITS
    varying = ("lr", "betas", "eps", "weight_decay", "maximize", "decoupled_weight_decay")

    def is_ready(self, p: Tensor, group: dict[str, Any]) -> bool:
        """Whether there are the running means, and what the GPU counts."""
        counted = not group["capturable"] or (isinstance(self.state.get(p, {}).get("step"), Tensor) and p in self._kept)
        return counted and super().is_ready(p, group)

    def update(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``."""
        if group["capturable"] and not group["differentiable"]:
            self._update_on_device(params, group)
        else:
            super().update(params, group)

    def _update_on_device(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``, whose number and corrections the GPU computes."""
        counts, rows, kept = list[Row](), list[Row](), self.kept(group)
        take = taker(kept)
        for p in params:
            if p.layout.memory is None:
                raise DeviceError(f"{self._name}: capturable=True, and a parameter is on {p.device}; expected it on a GPU.")
            state = self.prepared(p, group, kept)
            outputs, inputs = self.row(p, state, take)
            known = self._corrections(p, state)
            counts.append(((state["step"], *known), ()))
            rows.append((outputs, (*inputs, *known)))
        way = together(group)
        fused_updates(rules.next_corrections, counts, changing(lambda: self._counting(group), group), way, compute=float64)
        fused_updates(self.rule(group), rows, changing(lambda: self._constants(group), group), way, ("step_size", "root"))

    def _be_captured(self) -> None:
        """With what the GPU counts beside the state."""
        super()._be_captured()
        capture = capture_of_thread()
        if capture is not None:
            for p, kept in self._kept.items():
                capture.hold([self._kept, p, kept], kept)

    def _corrections(self, p: Tensor, state: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Where the GPU keeps the corrections of a parameter's step, whose number becomes a tensor there."""
        if not isinstance(state["step"], Tensor) or state["step"].device is not p.device:
            state["step"] = full((), float(state["step"]), dtype=float32, device=p.device)
        found = self._kept.get(p)
        if found is None or found[0].device is not p.device or found[0].dtype is not compute_of(p):
            size, root = (zeros((), dtype=compute_of(p), device=p.device) for _ in range(2))
            found = self._kept[p] = size, root
        return found

    def freezes(self, group: dict[str, Any]) -> str:
        """The number of the step, unless it is kept on the GPU."""
        return "" if group["capturable"] else "the number of the step"

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0, **({"max_exp_avg_sq": 0.0} if group["amsgrad"] else {})}

    def rule(self, group: dict[str, Any]) -> rules.Rule:
        return rules.amsgrad if group["amsgrad"] else rules.adam

    def scalars(self, group: dict[str, Any], step: Any, *numbers: float) -> dict[str, Any]:
        """In float64: in float32, ``1 - beta2`` would lose four digits."""
        beta1, beta2 = group["betas"]
        step_size, root = rules.corrections(Numbers, step, lr=group["lr"], beta1=beta1, beta2=beta2)
        return {"step_size": step_size, "root": root, **self._constants(group)}

    def _counting(self, group: dict[str, Any]) -> dict[str, Any]:
        """The numbers by which a GPU counts."""
        beta1, beta2 = group["betas"]
        return {"lr": group["lr"], "beta1": beta1, "beta2": beta2}

    def _constants(self, group: dict[str, Any]) -> dict[str, Any]:
        """Those of them that are the same at each step."""
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
