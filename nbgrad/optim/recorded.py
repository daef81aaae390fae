"""Steps that are recorded (``differentiable=True``): an update rule run on tensors, so that backward goes through the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbgrad

from .. import Tensor
from ..dispatch.updates import Row
from .rules import Rule

__all__ = ["OnTensors", "recorded_updates"]


class OnTensors:
    """The functions of an update rule on tensors, with numbers among their arguments: see NOTE [Update rule] of ``rules``."""

    sqrt, abs, sign = staticmethod(Tensor.sqrt), staticmethod(Tensor.abs), staticmethod(Tensor.sign)

    @staticmethod
    def ne(x: Any, y: Any) -> Any:
        """Whether they differ."""
        return x != y

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        """A choice, by elements where the condition is a tensor."""
        if isinstance(condition, Tensor):
            return nbgrad.where(condition, x, y)
        return x if condition else y

    @staticmethod
    def maximum(x: Tensor, y: Any) -> Tensor:
        """The greater."""
        return nbgrad.maximum(x, y) if isinstance(y, Tensor) else x.clamp_min(y)

    @staticmethod
    def minimum(x: Tensor, y: Any) -> Tensor:
        """The smaller."""
        return nbgrad.minimum(x, y) if isinstance(y, Tensor) else x.clamp_max(y)


def recorded_updates(rule: Rule, rows: Sequence[Row], scalars: dict[str, Any]) -> None:
    """``fused_updates`` by operations on tensors, which are recorded.

    The rule gets copies of what it writes over: backward may need what was there before.

    Raises:
        InplaceError: a parameter is a leaf that requires grad.

    >>> w = nbgrad.tensor([1.0], requires_grad=True)
    >>> moved = w.clone()
    >>> recorded_updates(lambda scalar, p, g, lr: (p - lr * g,), [((moved,), (w * w,))], {"lr": 0.25})
    >>> nbgrad.grad(moved, w)[0].tolist()
    [0.5]
    """
    for outs, ins in rows:
        for x, value in zip(outs, rule(OnTensors, *[x.clone() for x in outs], *ins, **scalars)):
            x.copy_(value)
