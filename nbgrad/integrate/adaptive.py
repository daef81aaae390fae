"""Steps as long as their error allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError
from .problem import Problem, Settings
from .runge_kutta import Segment, slopes_of
from .tableaus import combined

__all__ = ["Adaptive", "root_mean_square"]


def root_mean_square(x: Tensor) -> Tensor:
    """The usual norm of an error."""
    return x.abs().square().mean().sqrt()


class Adaptive:
    """Steps as long as their error allows; states between their ends by polynomials.

    Ends of steps are numbers: gradients by a time go by the polynomial at that time, and, by the first one, by the first state,
    which moves along the solution if its time does.

    Attributes:
        stops: times, the next one last, at which a step has to end; of ``jumps`` slopes are not the same before and behind.
    """

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings, self.tableau = problem, settings, settings.tableau
        self.func, self.t, self.name = problem.func, problem.t, problem.name
        self.times: list[float] = self.t.detach().tolist()
        self.sign = problem.sign
        options = settings.options
        self.norm = options.get("norm") or root_mean_square
        self.safety, self.most, self.least = (
            float(options.get(key, usual)) for key, usual in (("safety", 0.9), ("ifactor", 10.0), ("dfactor", 0.2))
        )
        self.longest, self.shortest = float(options.get("max_step", float("inf"))), float(options.get("min_step", 0.0))
        self.steps_left = int(options.get("max_num_steps", 2**31 - 1))
        self.jumps = {*self.numbers("jump_t")}
        stops = {*self.numbers("step_t"), *self.numbers("grid_points"), *self.jumps}
        self.stops = sorted((at for at in stops if self.sign * (at - self.times[0]) > 0), key=lambda at: -self.sign * at)

    def numbers(self, option: str) -> list[float]:
        """Times that an option has."""
        given = self.settings.options.get(option)
        return [] if given is None else [float(at) for at in (given.tolist() if isinstance(given, Tensor) else given)]

    def slope(self, at: float, y: Tensor) -> Tensor:
        """The slope at a time that is a number."""
        return self.func(self.t.new_tensor(at), y)

    def run(self) -> Tensor:
        """The states at all times, stacked."""
        states = [self.problem.y0]
        if len(self.times) == 1:
            return nbgrad.stack(states)
        for segment in self.segments():
            end = segment.start + segment.h
            while len(states) < len(self.times) and self.sign * (self.times[len(states)] - end) <= 0:
                states.append(segment.at(self.t[len(states)]))
            if len(states) == len(self.times):
                break
        return nbgrad.stack(states)

    def segments(self) -> Iterator[Segment]:
        """The steps that are taken, without an end.

        Raises:
            RangeError: there are more than allowed, or one is too short to move the time.
        """
        start = self.times[0]
        y, first = self.problem.y0, self.slope(start, self.problem.y0)
        if self.t.requires_grad:
            y = y - (self.t[0] - self.t[0].detach()) * first  # the same number; see the class
            first = self.slope(start, y)
        h = self.first_step(start, y, first)
        while True:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise RangeError(f"{self.name}: max_num_steps is not enough: t = {start} was reached. Hint: larger tolerances.")
            wanted = max(min(h, self.longest), self.shortest)
            end, whole = self.end_of(start, wanted)
            length = wanted if whole else self.sign * (end - start)
            self.problem.call_back("step", start, y, self.sign * length)
            segment, error = self.attempt(start, y, end, first)
            accepted = error <= 1 or length <= self.shortest
            self.problem.call_back("accept_step" if accepted else "reject_step", start, y, self.sign * length)
            h = self.next_step(start, length, error)
            if accepted:
                h = h if whole else max(h, wanted)  # a step that was cut says nothing against longer ones
                yield segment
                start, y, first = end, segment.after, self.first_slope(end, segment)

    def end_of(self, start: float, h: float) -> tuple[float, bool]:
        """Where a step of that length ends, and True; or the time before at which one has to."""
        while self.stops and self.sign * (self.stops[-1] - start) <= 0:
            self.stops.pop()
        end = start + self.sign * h
        return (self.stops[-1], False) if self.stops and self.sign * (self.stops[-1] - end) < 0 else (end, True)

    def beside(self, at: float, way: float) -> Tensor:
        """The nearest time that the dtype has, behind or before a jump."""
        return nbgrad.nextafter(self.t.new_tensor(at), self.t.new_tensor(at + way * max(1.0, abs(at))))

    def first_slope(self, end: float, segment: Segment) -> Tensor:
        """The slope with which the next step begins."""
        if end not in self.jumps:
            return segment.slopes[len(self.tableau.times)]
        return self.func(self.beside(end, self.sign), segment.after)

    def attempt(self, start: float, y: Tensor, end: float, first: Tensor) -> tuple[Segment, float]:
        """A step, and its error over what is allowed."""
        tableau, h = self.tableau, end - start
        last = self.beside(end, -self.sign) if end in self.jumps else self.t.new_tensor(end)
        slopes = slopes_of(self.func, tableau, self.t.new_tensor(start), y, h, first, last)
        after = y + h * combined(slopes, tableau.result)
        slopes.append(self.func(last, after))
        with nbgrad.no_grad():
            allowed = self.settings.atol + self.settings.rtol * nbgrad.maximum(y.detach().abs(), after.detach().abs())
            own = [k.detach() for k in slopes]
            error, other = (self.error(weights, own, h, allowed) for weights in (tableau.error, tableau.other_error))
            if error and other:
                error *= error / (error**2 + 0.01 * other**2) ** 0.5  # source: as that of the tableau
        return Segment(self.func, tableau, start, h, y, after, slopes), error

    def error(self, weights: Any, slopes: list[Tensor], h: float, allowed: Any) -> float:
        """The norm of an estimate over what is allowed; 0 where the method has none."""
        return 0.0 if weights is None else float(self.norm(h * combined(slopes, weights) / allowed))

    def next_step(self, start: float, h: float, error: float) -> float:
        """A step that errs as much as is allowed; after a state that is no number, a shorter one.

        Raises:
            RangeError: it is too short to move the time.
        """
        factor = self.most if error == 0 else self.safety * error ** (-1 / self.tableau.order) if error < 1e300 else self.least
        after = h * min(self.most if error <= 1 else 1.0, max(self.least, factor))
        if start + self.sign * after == start:
            raise RangeError(
                f"{self.name}: a step at t = {start} would be {after}, too short to move the time. "
                "Hint: larger tolerances, or double precision; the solution may not exist there."
            )
        return after

    def first_step(self, start: float, y: Tensor, slope: Tensor) -> float:
        """A length to begin with. Source: Hairer, Norsett and Wanner, "Solving ordinary differential equations I", II.4."""
        if self.settings.options.get("first_step") is not None:
            return abs(float(self.settings.options["first_step"]))
        with nbgrad.no_grad():
            y, slope = y.detach(), slope.detach()
            scale = self.settings.atol + self.settings.rtol * y.abs()
            size, speed = float(self.norm(y / scale)), float(self.norm(slope / scale))
            h = 1e-6 if min(size, speed) < 1e-5 else 0.01 * size / speed
            turn = float(self.norm((self.slope(start + self.sign * h, y + self.sign * h * slope) - slope) / scale)) / h
            greatest = max(speed, turn)
            other = max(1e-6, h * 1e-3) if greatest <= 1e-15 else (0.01 / greatest) ** (1 / self.tableau.order)
            return min(100 * h, other)
