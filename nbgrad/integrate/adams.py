"""Adams' methods: states from slopes at several times, evenly apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import nbgrad

from .. import Tensor
from ..base.grad_mode import capture_of_thread
from .runge_kutta import stepped
from .tableaus import FIXED, combined

__all__ = ["Adams", "bashforth", "is_close", "moulton"]


def moments(nodes: range) -> tuple[float, ...]:
    """Weights of slopes at integer nodes, whose sum is the integral from 0 to 1 of all polynomials of a lower degree."""
    powers = np.vander(np.array(nodes, float), increasing=True).T
    weights: tuple[float, ...] = tuple(np.linalg.solve(powers, 1 / np.arange(1.0, len(nodes) + 1)).tolist())
    return weights


@cache
def bashforth(order: int) -> tuple[float, ...]:
    """Adams and Bashforth's weights, of the newest slope first.

    >>> [round(24 * w) for w in bashforth(4)]
    [55, -59, 37, -9]
    """
    return moments(range(0, -order, -1))


@cache
def moulton(order: int) -> tuple[float, ...]:
    """Adams and Moulton's, of the slope behind the step first.

    >>> [round(24 * w) for w in moulton(4)]
    [9, 19, -5, 1]
    """
    return moments(range(1, 1 - order, -1))


class Adams:
    """Steps of Adams and Bashforth, which Adams and Moulton's rule corrects if ``implicit``.

    Until there are as many slopes, evenly apart, as the order, they are Runge and Kutta's.

    Source: Hairer, Norsett and Wanner, "Solving ordinary differential equations I", III.1.

    Attributes:
        past: slopes so far, the newest first, ``width`` apart.
        close: ``(change, state) -> bool``: whether a correction may be the last one.
    """

    def __init__(self, func: Callable, implicit: bool, options: dict[str, Any], close: Callable[[Tensor, Tensor], bool]) -> None:
        self.func, self.implicit, self.close = func, implicit, close
        self.order, self.corrections = int(options.get("max_order", 4)), int(options.get("max_iters", 4))
        self.past: list[Tensor] = []
        self.width = 0.0

    def __call__(self, t: Tensor, y: Tensor, h: Tensor) -> Tensor:
        """The state behind a step."""
        width = float(h.detach()) if capture_of_thread() is None else None  # a graph has steps that are even
        if width is not None and abs(width - self.width) > 1e-6 * abs(width):
            self.past, self.width = [], width
        self.past = [self.func(t, y), *self.past][: self.order]
        if len(self.past) < self.order:
            return stepped(self.func, FIXED["rk4"], t, y, h, self.past[0])
        after = y + h * combined(self.past, bashforth(self.order))
        return self.corrected(t + h, y, after, h) if self.implicit else after

    def corrected(self, end: Tensor, y: Tensor, after: Tensor, h: Tensor) -> Tensor:
        """The state behind a step by the slope there, several times."""
        first, *rest = moulton(self.order)
        known = y + h * combined(self.past, rest)
        for _ in range(self.corrections):
            before, after = after, known + (h * first) * self.func(end, after)
            if capture_of_thread() is None and self.close((after - before).detach(), after.detach()):
                break
        return after


def is_close(rtol: Any, atol: Any) -> Callable[[Tensor, Tensor], bool]:
    """Whether a change is within tolerances."""

    def close(change: Tensor, state: Tensor) -> bool:
        return bool(nbgrad.all(change.abs() <= atol + rtol * state.abs()))

    return close
