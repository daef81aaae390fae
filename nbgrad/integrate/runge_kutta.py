"""Single steps of Runge and Kutta's methods, and states within them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import Tensor
from .tableaus import Tableau, combined

__all__ = ["Segment", "slopes_of", "stepped"]


def slopes_of(
    func: Callable, tableau: Tableau, t: Tensor, y: Tensor, h: Any, first: Tensor | None = None, end: Tensor | None = None
) -> list[Tensor]:
    """All slopes within a step; ``end``: the time for those at its end, where that is not ``t + h``."""
    slopes = [func(t, y) if first is None else first]
    for part, weights in zip(tableau.times[1:], tableau.weights):
        at = t + part * h if end is None or part != 1 else end
        slopes.append(func(at, y + h * combined(slopes, weights)))
    return slopes


def stepped(func: Callable, tableau: Tableau, t: Tensor, y: Tensor, h: Any, first: Tensor | None = None) -> Tensor:
    """The state behind a step."""
    return y + h * combined(slopes_of(func, tableau, t, y, h, first), tableau.result)


class Segment(NamedTuple):
    """A step that was taken, and what is between its ends.

    Attributes:
        start: its time; ``h`` its length, below 0 if times fall.
        y, after: the states before and behind it.
        slopes: of the tableau, and the one behind it.
    """

    func: Callable
    tableau: Tableau
    start: Any
    h: Any
    y: Tensor
    after: Tensor
    slopes: list[Tensor]

    def at(self, time: Tensor) -> Tensor:
        """The state at a time within the step: by the method's polynomial, or by Hermite's."""
        part, h = (time - self.start) / self.h, self.h
        if self.tableau.dense is None:
            rest = 1 - part
            bent = (rest - part) * (self.after - self.y) + (part - 1) * h * self.slopes[0] + part * h * self.slopes[-1]
            return rest * self.y + part * self.after + part * (part - 1) * bent
        slopes = self.all_slopes(time)
        terms = [combined(slopes, weights) for weights in self.tableau.dense]
        total = terms[-1]
        for term in terms[-2::-1]:
            total = total * part + term
        return self.y + h * (total * part)

    def all_slopes(self, like: Tensor) -> list[Tensor]:
        """The slopes with those that only states within the step need, which are taken when the first is asked for."""
        times, rows = self.tableau.extra or ((), ())
        known = len(self.tableau.times) + 1
        for part, weights in list(zip(times, rows))[len(self.slopes) - known :]:
            at = like.detach() * 0 + (self.start + part * self.h)
            self.slopes.append(self.func(at, self.y + self.h * combined(self.slopes, weights)))
        return self.slopes
