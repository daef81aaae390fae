"""Muon: steps of matrices along orthogonal ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from .. import Tensor, addmm, bfloat16, empty_like, zeros_like
from ..base.errors import ArgumentError, ShapeError
from ..dispatch.updates import changing, fused_updates
from ..linalg import vector_norm
from . import rules
from .optimizer import options_in, require, require_numbers
from .ruled import Ruled, at_least_0

__all__ = ["Muon"]

# By the name of adjust_lr_fn: the factor of the learning rate of a matrix of that many rows and columns.
ADJUSTMENTS = {
    None: lambda rows, columns: max(1.0, rows / columns) ** 0.5,
    "original": lambda rows, columns: max(1.0, rows / columns) ** 0.5,
    "match_rms_adamw": lambda rows, columns: 0.2 * max(rows, columns) ** 0.5,
}


class Muon(Ruled):
    """Steps of matrices along the orthogonal matrix that is nearest to a running mean of the gradient.

    For the matrices of hidden layers; biases, embeddings and convolutions are another optimizer's.

    Args:
        params: parameters or groups, as for every ``Optimizer``; real matrices.
        lr: learning rate, which is adjusted to the shape of each matrix.
        weight_decay: the parameter is multiplied by ``1 - lr * weight_decay`` at each step.
        momentum: what remains at each step of the running mean.
        nesterov: look one step ahead.
        ns_coefficients: of the polynomial whose iteration makes a matrix orthogonal, in bfloat16.
        eps: the least norm that a matrix is divided by.
        ns_steps: iterations, fewer than 100.
        adjust_lr_fn: ``"original"`` (None): times ``sqrt(max(1, rows / columns))``; ``"match_rms_adamw"``: times
            ``0.2 * sqrt(max(rows, columns))``, with which rates of AdamW may be kept.

    Raises:
        RangeError: an option out of range. ShapeError: a parameter is no matrix; a ValueError too. DTypeError: a complex one.

    Source: Jordan, "Muon: an optimizer for hidden layers in neural networks", 2024; options as in torch.

    >>> import nbgrad
    >>> x = nbgrad.eye(2).requires_grad_()
    >>> optimizer = nbgrad.optim.Muon([x], lr=0.5, weight_decay=0.0)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> 0.3 < x[0, 0].item() < 0.7, x[0, 1].item()
    (True, 0.0)
    """

    counted, takes_complex = False, False
    varying = ("lr", "weight_decay", "momentum")
    limits = dict.fromkeys(("lr", "weight_decay", "momentum", "eps"), at_least_0)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def check(self, group: dict[str, Any]) -> None:
        """Options are numbers in their ranges; parameters are matrices."""
        super().check(group)
        coefficients, name = group["ns_coefficients"], group["adjust_lr_fn"]
        if not isinstance(coefficients, (tuple, list)) or len(coefficients) != 3:
            raise ArgumentError(f"{self._name}: ns_coefficients is {coefficients!r}, expected three numbers.")
        require_numbers(self._name, {f"ns_coefficients[{index}]": value for index, value in enumerate(coefficients)})
        steps = group["ns_steps"]
        require(isinstance(steps, int) and 0 <= steps < 100, self._name, "ns_steps", steps, "a whole number from 0 to 99")
        require(name in ADJUSTMENTS, self._name, "adjust_lr_fn", repr(name), 'None, "original" or "match_rms_adamw"')
        for position, p in enumerate(group["params"]):
            if p.dim() != 2:
                raise ShapeError(
                    f"{self._name}: params[{position}] has shape {tuple(p.shape)}, expected a matrix. "
                    "Hint: give other parameters to AdamW."
                )

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"momentum_buffer": 0.0}

    def update(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of ``params``."""
        means, ahead = list[Tensor](), list[Tensor]()
        gradients: list[Any] = [p.grad for p in params]
        for p in params:
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = zeros_like(p)
            means.append(state["momentum_buffer"])
        take = changing(lambda: {"take": 1.0 - group["momentum"]}, group)
        if group["nesterov"]:
            ahead = [empty_like(p) for p in params]
            rows: list[Any] = [([mean, x], [g]) for mean, x, g in zip(means, ahead, gradients)]
            fused_updates(rules.running_mean_ahead, rows, take)
        else:
            fused_updates(rules.running_mean, [([mean], [g]) for mean, g in zip(means, gradients)], take)
        for p, x in zip(params, ahead or means):
            direction = orthogonalized(x, group["ns_coefficients"], group["ns_steps"], group["eps"])
            fused_updates(rules.along, [([p], [direction])], changing(partial(self.scalars_of, group, p), group))

    @staticmethod
    def scalars_of(group: dict[str, Any], p: Tensor) -> dict[str, float]:
        """The numbers of a step of that matrix."""
        rows, columns = p.shape
        factor = ADJUSTMENTS[group["adjust_lr_fn"]](rows, columns) if p.numel() else 1.0
        return {"lr": group["lr"] * factor, "shrink": 1.0 - group["lr"] * group["weight_decay"]}


def orthogonalized(x: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """A matrix with the singular vectors of ``x`` and singular values near 1.

    Source: the Newton-Schulz iteration with a polynomial of degree 5.
    """
    a, b, c = coefficients
    is_tall = x.shape[0] > x.shape[1]
    y = x.to(bfloat16)
    y = y.T if is_tall else y
    y = y / vector_norm(y).clamp(min=eps)
    for _ in range(steps):
        gram = y @ y.T
        y = addmm(y, addmm(gram, gram, gram, beta=b, alpha=c), y, beta=a)
    return y.T if is_tall else y
