"""Steps of lengths that the program says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError
from .adams import Adams, is_close
from .problem import Problem, Settings
from .runge_kutta import Segment, slopes_of, stepped
from .tableaus import ADAMS, FIXED, combined

__all__ = ["by_fixed_steps", "by_scan", "fixed_segments"]


def stepper(func: Callable, settings: Settings) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """``step(t, y, h)``: the state behind a step."""
    if settings.method in ADAMS:
        close = is_close(settings.rtol, settings.atol)
        return Adams(func, settings.method == "implicit_adams", settings.options, close)
    return partial(stepped, func, settings.tableau)


def divisions(t: Tensor, step_size: Any) -> list[int]:
    """Into how many steps each way from time to time is divided."""
    if step_size is None:
        return [1] * (t.shape[0] - 1)
    return [max(1, ceil(abs(way) / float(step_size) - 1e-9)) for way in t.detach().diff().tolist()]


def by_fixed_steps(problem: Problem, settings: Settings) -> Tensor:
    """From time to time, or along a grid of the program's."""
    grid = grid_of(problem, settings)
    return from_time_to_time(problem, settings) if grid is None else along(grid, problem, settings)


def from_time_to_time(problem: Problem, settings: Settings) -> Tensor:
    """Each way in even steps."""
    y, t, step = problem.y0, problem.t, stepper(problem.func, settings)
    states = [y]
    for k, count in enumerate(divisions(t, settings.options.get("step_size"))):
        h = (t[k + 1] - t[k]) / count
        for n in range(count):
            start = t[k] + n * h
            problem.call_back("step", start, y, h)
            y = step(start, y, h)
        states.append(y)
    return nbgrad.stack(states)


def grid_of(problem: Problem, settings: Settings) -> Tensor | None:
    """The times that the program wants steps to end at, from the first to the last.

    Raises:
        RangeError: they begin or end elsewhere, or do not go the same way.
    """
    grid, construct = settings.options.get("grid_points"), settings.options.get("grid_constructor")
    if construct is not None:
        grid = construct(problem.func, problem.y0, problem.t)
    if grid is None:
        return None
    grid = nbgrad.as_tensor(grid, dtype=problem.t.dtype, device=problem.t.device)
    ways, first, last = grid.detach().diff(), problem.t[0], problem.t[-1]
    way = last - first
    if grid.ndim != 1 or bool(grid[0] != first) or bool(grid[-1] != last) or not bool((ways * way.detach() > 0).all()):
        raise RangeError(f"{problem.name}: the grid is {grid.tolist()[:6]}, expected times from t[0] to t[-1], in their order.")
    return grid


def along(grid: Tensor, problem: Problem, settings: Settings) -> Tensor:
    """Steps along a grid; states between its times by lines, or by cubics."""
    func, y, t, step = problem.func, problem.y0, problem.t, stepper(problem.func, settings)
    sign, times, states, cubic = problem.sign, t.detach().tolist(), [y], settings.options.get("interp", "linear") == "cubic"
    for k, end in enumerate(grid.detach().tolist()[1:]):
        start, h = grid[k], grid[k + 1] - grid[k]
        problem.call_back("step", start, y, h)
        after = step(start, y, h)
        while len(states) < len(times) and sign * (times[len(states)] - end) <= 0:
            at = t[len(states)]
            if times[len(states)] == end:
                states.append(after)
            elif cubic:
                states.append(Segment(func, FIXED["euler"], start, h, y, after, [func(start, y), func(start + h, after)]).at(at))
            else:
                states.append(y + (at - start) / h * (after - y))
        y = after
    return nbgrad.stack(states)


def fixed_segments(problem: Problem, settings: Settings) -> Iterator[Segment]:
    """Even steps without an end.

    Raises:
        RangeError: how long they are is not said, or the method has none.
    """
    func, y, t, size = problem.func, problem.y0, problem.t, settings.options.get("step_size")
    if size is None or settings.method in ADAMS:
        raise RangeError(
            f'{problem.name}: {settings.method} steps to an event. Hint: options={{"step_size": 0.01}} of a single-step method.'
        )
    h = problem.sign * float(size)
    n = 0
    while True:
        start = t[0] + n * h
        problem.call_back("step", start, y, h)
        slopes = slopes_of(func, settings.tableau, start, y, h)
        after = y + h * combined(slopes, settings.tableau.result)
        yield Segment(func, settings.tableau, start, h, y, after, [*slopes, func(start + h, after)])
        y, n = after, n + 1


def by_scan(problem: Problem, settings: Settings) -> Tensor:
    """All steps as one loop, whose body is what ``func`` computes once."""
    func, y0, t = problem.func, problem.y0, problem.t
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
