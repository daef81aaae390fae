"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import Tensor, zeros_like
from ..dispatch.updates import changing, fused_updates
from ..modes.dispatch_modes import are_asked, may_ask
from ..modes.traced import Unfit
from ..tensors.layout import sparse_marks
from ..tensors.tensor import is_sparse
from . import rules
from .optimizer import Optimizer, options_in, refuse_both, refuse_sparse_decay, require, require_numbers, together
from .recorded import recorded_updates

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent, with momentum if wanted.

    Args:
        params: parameters or groups, as for every ``Optimizer``.
        lr: learning rate; may be a tensor of one element, on the GPU of the parameters.
        momentum: what remains of the running sum of gradients at each step; 0 keeps none.
        dampening: the part of each new gradient, from the second step on, that the running sum leaves out.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        nesterov: look one step ahead; needs momentum and no dampening.
        maximize: ascend.
        differentiable: steps are recorded, so that backward goes through them; parameters are then results of operations, whose
            ``grad`` may have a history.
        foreach: on a GPU, False updates one tensor after the other; otherwise few launches update all. fused: as ``foreach``; every
            update of a tensor is one kernel.

    Raises:
        RangeError: an option out of range. NotSupportedError: weight decay of a sparse gradient.

    Source: torch's SGD; the formulas are in ``rules``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.SGD([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> x.tolist()
    [0.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        refuse_both("SGD", foreach, fused)
        super().__init__(params, options_in(locals()))

    def check(self, group: dict[str, Any]) -> None:
        """Learning rate, momentum and weight decay are not negative; nesterov fits the others."""
        require_numbers("SGD", {name: group[name] for name in ("lr", "momentum", "dampening", "weight_decay")})
        for name in ("lr", "momentum", "weight_decay"):
            require(group[name] >= 0, "SGD", name, group[name], "a number that is not negative")
        if group["nesterov"]:
            require(group["momentum"] > 0, "SGD", "momentum", group["momentum"], "a positive number with nesterov")
            require(group["dampening"] == 0, "SGD", "dampening", group["dampening"], "0 with nesterov")

    varying = ("lr", "weight_decay", "dampening", "momentum")
    takes_sparse = True

    def is_ready(self, p: Tensor, group: dict[str, Any]) -> bool:
        """Whether there is a running sum, where one is kept."""
        return not group["momentum"] or "momentum_buffer" in self.state.get(p, ())

    def update(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``."""
        if sparse_marks:
            params = self._update_sparse(params, group)
        if group["momentum"]:
            self._update_with_momentum(params, group)
            return
        scalars = changing(lambda: self._scalars(self._chosen(group, False)), group)
        rows: list[Any] = [((p,), (p.grad,)) for p in params]
        self._apply(rules.sgd, rows, scalars, group)

    def _update_sparse(self, params: list[Tensor], group: dict[str, Any]) -> list[Tensor]:
        """One step of those whose gradient is sparse; the running sum is then sparse too, with all rows that there were.

        Returns:
            The others.

        Raises:
            NotSupportedError: weight decay, which is of all rows.
        """
        others = list[Tensor]()
        for p in params:
            g: Any = p.grad
            if not is_sparse(g):
                others.append(p)
                continue
            refuse_sparse_decay("SGD", group)
            g = -g if group["maximize"] else g
            if group["momentum"]:
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = g.clone()
                else:
                    state["momentum_buffer"].mul_(group["momentum"]).add_(g, alpha=1 - group["dampening"])
                v = state["momentum_buffer"]
                g = g + v * group["momentum"] if group["nesterov"] else v
            p.add_(g, alpha=-group["lr"])
        return others

    def _chosen(self, group: dict[str, Any], sums: bool) -> dict[str, Any]:
        """The options, for a step that keeps running sums or not: a captured one is run again with others.

        Raises:
            Unfit: they ask for the other one.
        """
        if bool(group["momentum"]) is not sums:
            raise Unfit
        return group

    def _scalars(self, group: dict[str, Any]) -> dict[str, float]:
        """The numbers of every rule."""
        return {"lr": group["lr"], "weight_decay": group["weight_decay"], "sign": -1.0 if group["maximize"] else 1.0}

    def _scalars_of_sum(self, group: dict[str, Any], is_first: bool) -> dict[str, float]:
        """The numbers of a rule that keeps a running sum."""
        keep, take = (0.0, 1.0) if is_first else (group["momentum"], 1.0 - group["dampening"])
        looked_ahead = {"momentum": group["momentum"]} if group["nesterov"] else {}
        return {**self._scalars(group), **looked_ahead, "keep": keep, "take": take}

    def _update_with_momentum(self, params: list[Tensor], group: dict[str, Any]) -> None:
        rule: rules.Rule = rules.nesterov if group["nesterov"] else rules.sgd_momentum
        first = self._scalars_of_sum(group, True)
        later = changing(lambda: self._scalars_of_sum(self._chosen(group, True), False), group)
        rows: tuple[list[Any], list[Any]] = [], []
        for p in params:
            state = self.state[p]
            is_first = "momentum_buffer" not in state
            if is_first:
                state["momentum_buffer"] = zeros_like(p)
            rows[is_first].append(((p, state["momentum_buffer"]), (p.grad,)))
        for part, scalars in zip(rows, (later, first)):
            self._apply(rule, part, scalars, group)

    def _apply(self, rule: rules.Rule, rows: list[Any], scalars: dict[str, Any], group: dict[str, Any]) -> None:
        """Write over what the rows update."""
        if group["differentiable"] or may_ask and are_asked(rows):
            recorded_updates(rule, rows, scalars)
        else:
            fused_updates(rule, rows, scalars, together(group))
