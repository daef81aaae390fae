"""``odeint``: steps of Runge and Kutta, fixed or chosen by their error, recorded as any other program."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import GraphError, RangeError
from ..base.grad_mode import capture_of_thread
from .problem import Problem, Settings, problem_of, settings_of
from .tableaus import FIXED, Tableau, combined

__all__ = ["odeint", "solved"]


def odeint(
    func: Callable,
    y0: Any,
    t: Tensor,
    *,
    rtol: float = 1e-7,
    atol: float = 1e-9,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    event_fn: Any = None,
) -> Any:
    """The solution of ``dy/dt = func(t, y)``, ``y(t[0]) = y0``, at the times ``t``.

    Every step is recorded, so that gradients by ``y0``, by the times and by what ``func`` captures are those of what was computed.

    Args:
        func: ``func(t, y) -> dy/dt`` of a 0-d tensor and a state.
        y0: the first state: a tensor, floating or complex, or a tuple of tensors.
        t: shape ``(n,)``: times that rise, or fall.
        rtol, atol: what an adaptive step may be off, relative to the state and absolutely.
        method: ``"dopri5"`` (also None), ``"bosh3"``, ``"adaptive_heun"`` choose their steps; ``"euler"``, ``"midpoint"``,
            ``"heun2"``, ``"heun3"``, ``"rk4"`` step from time to time.
        options: of fixed steps ``step_size`` (the longest; each way from time to time is divided evenly) and ``scan`` (True: what
            ``func`` computes is found out once, and all steps are one loop, see ``nbgrad.scan``); of adaptive ones ``first_step``,
            ``min_step``, ``max_step``, ``max_num_steps``, ``safety``, ``ifactor``, ``dfactor`` and ``norm``, of a tensor.

    Returns:
        Shape ``(n, *y0.shape)``; of a tuple a tuple of such.

    Raises:
        RangeError: times that do not rise or fall, no such method or option, or a step that becomes too small.
        ShapeError: a slope of another shape than the state. NotSupportedError: ``event_fn``.
        GraphError: adaptive steps in a function that is compiled: their number depends on values.

    >>> import nbgrad
    >>> k = nbgrad.tensor(2.0, dtype=nbgrad.float64, requires_grad=True)
    >>> t = nbgrad.tensor([0.0, 0.5, 1.0], dtype=nbgrad.float64)
    >>> y = nbgrad.integrate.odeint(lambda t, y: -k * y, nbgrad.ones(1, dtype=nbgrad.float64), t)
    >>> nbgrad.grad(y[-1].sum(), k)[0]  # -e**-2
    tensor(-0.1353, dtype=nbgrad.float64)
    """
    settings = settings_of("odeint", method, rtol, atol, options)
    problem = problem_of("odeint", func, y0, t, event_fn)
    return problem.restored(solved("odeint", problem, settings))


def solved(name: str, problem: Problem, settings: Settings) -> Tensor:
    """The states at all times, stacked."""
    if settings.method in FIXED:
        return by_scan(problem, settings) if settings.options.get("scan") else by_fixed_steps(problem, settings)
    if capture_of_thread() is not None:
        raise GraphError(
            f"{name}: how many steps {settings.method} takes depends on values, which a graph has not. "
            'Hint: method="rk4", or compile func alone.'
        )
    return Adaptive(name, problem, settings).run()


# ---- fixed steps -----------------------------------------------------------------------------------------------------


def slopes_of(func: Callable, tableau: Tableau, t: Tensor, y: Tensor, h: Any, first: Tensor | None = None) -> list[Tensor]:
    """All slopes within a step."""
    slopes = [func(t, y) if first is None else first]
    for part, weights in zip(tableau.times[1:], tableau.weights):
        slopes.append(func(t + part * h, y + h * combined(slopes, weights)))
    return slopes


def stepped(func: Callable, tableau: Tableau, t: Tensor, y: Tensor, h: Any) -> Tensor:
    """The state behind a step."""
    return y + h * combined(slopes_of(func, tableau, t, y, h), tableau.result)


def divisions(t: Tensor, step_size: Any) -> list[int]:
    """Into how many steps each way from time to time is divided."""
    if step_size is None:
        return [1] * (t.shape[0] - 1)
    return [max(1, ceil(abs(way) / float(step_size) - 1e-9)) for way in t.detach().diff().tolist()]


def by_fixed_steps(problem: Problem, settings: Settings) -> Tensor:
    """From time to time."""
    func, y, t, _ = problem
    states = [y]
    for k, count in enumerate(divisions(t, settings.options.get("step_size"))):
        h = (t[k + 1] - t[k]) / count
        for n in range(count):
            y = stepped(func, settings.tableau, t[k] + n * h, y, h)
        states.append(y)
    return nbgrad.stack(states)


def by_scan(problem: Problem, settings: Settings) -> Tensor:
    """All steps as one loop, whose body is what ``func`` computes once."""
    func, y0, t, _ = problem
    counts = divisions(t, settings.options.get("step_size"))
    if not counts:
        return y0.unsqueeze(0)
    ways = nbgrad.tensor([k for k, count in enumerate(counts) for _ in range(count)], device=t.device)
    within = t.new_tensor([n for count in counts for n in range(count)])
    steps = (t.diff() / t.new_tensor(counts))[ways]

    def step(y: Tensor, at: Any) -> tuple[Tensor, Tensor]:
        start, h = at
        after = stepped(func, settings.tableau, start, y, h)
        return after, after

    _, states = nbgrad.scan(step, y0, (t[ways] + within * steps, steps))
    ends = nbgrad.tensor(counts, device=t.device).cumsum(0) - 1
    return nbgrad.cat((y0.unsqueeze(0), states[ends]))


# ---- adaptive steps --------------------------------------------------------------------------------------------------


def root_mean_square(x: Tensor) -> Tensor:
    """The usual norm of an error."""
    return x.abs().square().mean().sqrt()


class Adaptive:
    """Steps as long as their error allows; states between their ends by polynomials.

    Ends of steps are numbers: gradients by a time go by the polynomial at that time, and, by the first one, by the first state,
    which moves along the solution if its time does.
    """

    def __init__(self, name: str, problem: Problem, settings: Settings) -> None:
        self.name, self.settings, self.tableau = name, settings, settings.tableau
        self.func, self.y0, self.t, _ = problem
        self.times: list[float] = self.t.detach().tolist()
        self.sign = 1.0 if self.times[-1] >= self.times[0] else -1.0
        options = settings.options
        self.norm = options.get("norm") or root_mean_square
        self.safety, self.most, self.least = (
            float(options.get(key, usual)) for key, usual in (("safety", 0.9), ("ifactor", 10.0), ("dfactor", 0.2))
        )
        self.longest, self.shortest = float(options.get("max_step", float("inf"))), float(options.get("min_step", 0.0))
        self.steps_left = int(options.get("max_num_steps", 2**31 - 1))

    def slope(self, at: float, y: Tensor) -> Tensor:
        """The slope at a time that is a number."""
        return self.func(self.t.new_tensor(at), y)

    def run(self) -> Tensor:
        """The states at all times, stacked."""
        start = self.times[0]
        y, first = self.y0, self.slope(start, self.y0)
        if self.t.requires_grad:
            y = y - (self.t[0] - self.t[0].detach()) * first  # the same number; see the class
            first = self.slope(start, y)
        states, h = [self.y0], self.first_step(start, y, first)
        while len(states) < len(self.times):
            self.steps_left -= 1
            if self.steps_left < 0:
                raise RangeError(f"{self.name}: max_num_steps is not enough: t = {start} was reached. Hint: larger tolerances.")
            h = max(min(h, self.longest), self.shortest)
            after, slopes, error = self.attempt(start, y, h, first)
            if error <= 1 or h <= self.shortest:
                end = start + self.sign * h
                while len(states) < len(self.times) and self.sign * (self.times[len(states)] - end) <= 0:
                    states.append(self.within(self.t[len(states)], start, y, after, slopes, self.sign * h))
                start, y, first = end, after, slopes[-1]
            h = self.next_step(start, h, error)
        return nbgrad.stack(states)

    def attempt(self, start: float, y: Tensor, h: float, first: Tensor) -> tuple[Tensor, list[Tensor], float]:
        """A step: the state behind it, all slopes with that behind it, and the error over what is allowed."""
        step = self.sign * h
        slopes = slopes_of(self.func, self.tableau, self.t.new_tensor(start), y, step, first)
        after = y + step * combined(slopes, self.tableau.result)
        slopes.append(self.slope(start + step, after))
        assert self.tableau.error is not None
        with nbgrad.no_grad():
            error = step * combined([k.detach() for k in slopes], self.tableau.error)
            allowed = self.settings.atol + self.settings.rtol * nbgrad.maximum(y.detach().abs(), after.detach().abs())
            return after, slopes, float(self.norm(error / allowed))

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
        if "first_step" in self.settings.options:
            return float(self.settings.options["first_step"])
        with nbgrad.no_grad():
            y, slope = y.detach(), slope.detach()
            scale = self.settings.atol + self.settings.rtol * y.abs()
            size, speed = float(self.norm(y / scale)), float(self.norm(slope / scale))
            h = 1e-6 if min(size, speed) < 1e-5 else 0.01 * size / speed
            turn = float(self.norm((self.slope(start + self.sign * h, y + self.sign * h * slope) - slope) / scale)) / h
            greatest = max(speed, turn)
            other = max(1e-6, h * 1e-3) if greatest <= 1e-15 else (0.01 / greatest) ** (1 / self.tableau.order)
            return min(100 * h, other)

    def within(self, at: Tensor, start: float, y: Tensor, after: Tensor, slopes: list[Tensor], h: float) -> Tensor:
        """The state at a time within a step."""
        part = (at - start) / h
        if self.tableau.dense is not None:
            terms = [combined(slopes, weights) for weights in self.tableau.dense]
            total = terms[-1]
            for term in terms[-2::-1]:
                total = total * part + term
            return y + h * (total * part)
        rest = 1 - part
        bent = (rest - part) * (after - y) + (part - 1) * h * slopes[0] + part * h * slopes[-1]
        return rest * y + part * after + part * (part - 1) * bent
