"""Events: times at which a function of time and state is 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, RangeError
from .adaptive import Adaptive
from .fixed import fixed_segments
from .problem import Problem, Settings
from .runge_kutta import Segment
from .tableaus import ADAPTIVE

__all__ = ["Found", "Sought", "found_event"]

HALVINGS = 100  # of a step, at most, in search of an event


class Found(NamedTuple):
    """An event.

    Attributes:
        time: when; without a history.
        state: of the solution there.
        value: ``value(t, y)``: the element of the event function that is 0 there.
        state_at: ``state_at(t)``, near that time.
    """

    time: Tensor
    state: Tensor
    value: Callable[[Tensor, Tensor], Tensor]
    state_at: Callable[[Tensor], Tensor]


def segments_of(problem: Problem, settings: Settings) -> Iterator[Segment]:
    """Steps from ``t[0]`` on, in the direction of the other times."""
    return Adaptive(problem, settings).segments() if settings.method in ADAPTIVE else fixed_segments(problem, settings)


class Sought:
    """An event function, some elements of which may change their signs.

    Attributes:
        signs: of its elements so far; 0 until an element has had another value.
    """

    def __init__(self, name: str, event_fn: Callable, problem: Problem) -> None:
        self.name, self.event_fn, self.problem = name, event_fn, problem
        self.signs = self.values(problem.t[0], problem.y0).sign()

    def values(self, t: Tensor, y: Tensor) -> Tensor:
        """All elements in a row.

        Raises:
            ArgumentError: the function gives no tensor.
        """
        with nbgrad.no_grad():
            return self.differentiable(t.detach(), y.detach())

    def differentiable(self, t: Tensor, y: Tensor) -> Tensor:
        """The same, with their history."""
        found = self.event_fn(t, self.problem.restored(y))
        if not isinstance(found, Tensor):
            raise ArgumentError(f"{self.name}: event_fn returned {type(found).__name__}, expected a tensor.")
        return found.reshape((-1,))

    def passed(self, values: Tensor) -> bool:
        """Whether an element has changed its sign, or reached 0."""
        return bool((values * self.signs < 0).any() or ((values == 0) & (self.signs != 0)).any())

    def note(self, values: Tensor) -> None:
        """Keep signs of elements that had none."""
        self.signs = nbgrad.where(self.signs == 0, values.sign(), self.signs)

    def first(self, values: Tensor) -> int:
        """The element that has changed most."""
        return int(nbgrad.where(self.signs == 0, float("inf"), values * self.signs).argmin())


def found_event(problem: Problem, settings: Settings, event_fn: Callable) -> Found:
    """The first event behind ``t[0]``: a step that passes one is halved.

    Raises:
        RangeError: the steps lead out of all numbers.
    """
    sought, t = Sought(problem.name, event_fn, problem), problem.t
    for segment in segments_of(problem, settings):
        at_end = sought.values(nbgrad.as_tensor(segment.start + segment.h, dtype=t.dtype, device=t.device), segment.after)
        sought.note(at_end)
        if sought.passed(at_end):
            return refined(sought, segment, t)
        if not bool(at_end.isfinite().all()):
            break
    raise RangeError(f"{problem.name}: there is no event before the state, or event_fn, is infinite or NaN.")


def refined(sought: Sought, segment: Segment, t: Tensor) -> Found:
    """The event within a step."""
    start = float(segment.start)
    low, high = start, start + float(segment.h)
    with nbgrad.no_grad():
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            at = t.new_tensor(middle)
            low, high = (low, middle) if sought.passed(sought.values(at, segment.at(at))) else (middle, high)
    time = t.new_tensor(high)
    state = segment.at(time)
    which = sought.first(sought.values(time, state))
    return Found(time, state, lambda t, y: sought.differentiable(t, y)[which], segment.at)
