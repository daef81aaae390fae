"""A quasi-Newton method with limited memory, and a search along its directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, RangeError, require_callable
from .optimizer import Optimizer, options_in, require, require_numbers
from .ruled import in_a_row, out_of_a_row

__all__ = ["LBFGS"]


class Point(NamedTuple):
    """A place on a line.

    Attributes:
        t: how far from its beginning, in lengths of the direction; loss, gradient: there. slope: of the loss along the line.
    """

    t: float
    loss: float
    gradient: Tensor
    slope: float


def dot(x: Tensor, y: Tensor) -> float:
    """The product of two vectors."""
    return x.dot(y).item()


def largest(x: Tensor) -> float:
    """The greatest magnitude."""
    return x.abs().max().item()


def cubic_minimum(a: Point, b: Point, least: float, most: float) -> float:
    """Where the cubic with the losses and slopes of two points is least, within bounds; their middle where it has no minimum.

    Source: Nocedal, Wright, "Numerical optimization", 2006, equation 3.59.
    """
    near, far = (a, b) if a.t <= b.t else (b, a)
    middle = near.slope + far.slope - 3 * (near.loss - far.loss) / (near.t - far.t)
    square = middle * middle - near.slope * far.slope
    if not square >= 0:
        return (least + most) / 2
    root = math.sqrt(square)
    t = far.t - (far.t - near.t) * ((far.slope + root - middle) / (far.slope - near.slope + 2 * root))
    return min(max(t, least), most)


class WolfeSearch:
    """A search for a point where the loss has fallen enough, and its slope is flat enough (the strong Wolfe conditions).

    Args:
        at: ``at(t)``: the point there.
        start: the point at 0; length: the direction's greatest component.
        change: the least difference of places that counts. most: points that are looked at behind the first.

    Attributes:
        evaluations: how often ``at`` was called.

    Source: Nocedal, Wright, "Numerical optimization", 2006, algorithms 3.5 and 3.6.
    """

    FALL, FLAT, MOST = 1e-4, 0.9, 25

    def __init__(self, at: Callable[[float], Point], start: Point, length: float, change: float, most: int):
        self.function, self.start, self.length, self.change, self.most = at, start, length, change, min(most, self.MOST)
        self.evaluations = self.rounds = 0

    def at(self, t: float) -> Point:
        """The point there, which is counted."""
        self.evaluations += 1
        return self.function(t)

    def is_high(self, point: Point) -> bool:
        """Whether the loss has not fallen enough."""
        return point.loss > self.start.loss + self.FALL * point.t * self.start.slope

    def is_flat(self, point: Point) -> bool:
        """Whether the slope is flat enough."""
        return abs(point.slope) <= -self.FLAT * self.start.slope

    def found(self, t: float) -> Point:
        """The point that a search from ``t`` on finds."""
        before, point = self.start, self.at(t)
        while self.rounds < self.most:
            if self.is_high(point) or (self.rounds > 1 and point.loss >= before.loss):
                return self.between([before, point])
            if self.is_flat(point):
                return point
            if point.slope >= 0:
                return self.between([before, point])
            least, most = point.t + 0.01 * (point.t - before.t), 10 * point.t
            before, point = point, self.at(cubic_minimum(before, point, least, most))
            self.rounds += 1
        return self.start if self.start.loss <= point.loss else point

    def between(self, ends: list[Point]) -> Point:
        """The point that a search between two finds, of which one is low: at minima of cubics, and not too near an end."""
        low = 0 if ends[0].loss <= ends[1].loss else 1
        was_near = False
        while self.rounds < self.most and abs(ends[1].t - ends[0].t) * self.length >= self.change:
            least, most = sorted((ends[0].t, ends[1].t))
            t, margin = cubic_minimum(ends[0], ends[1], least, most), 0.1 * (most - least)
            is_near = min(most - t, t - least) < margin
            if is_near and (was_near or t >= most or t <= least):
                t = most - margin if abs(t - most) < abs(t - least) else least + margin
                is_near = False
            was_near = is_near
            point = self.at(t)
            self.rounds += 1
            if self.is_high(point) or point.loss >= ends[low].loss:
                ends[1 - low] = point
                low = 0 if ends[0].loss <= ends[1].loss else 1
                continue
            is_found = self.is_flat(point)
            if not is_found and point.slope * (ends[1 - low].t - ends[low].t) >= 0:
                ends[1 - low] = ends[low]
            ends[low] = point
            if is_found:
                break
        return ends[low]


def _cubic_interpolate(
    x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, bounds: tuple[float, float] | None = None
) -> float:
    """``cubic_minimum`` as torch's private function: of places, losses and slopes."""
    least, most = bounds or sorted((x1, x2))
    nothing: Any = None  # the gradients, which it does not look at
    return cubic_minimum(Point(x1, f1, nothing, g1), Point(x2, f2, nothing, g2), least, most)


def _strong_wolfe(
    obj_func: Callable[[Tensor, float, Tensor], tuple[float, Tensor]],
    x: Tensor,
    t: float,
    d: Tensor,
    f: float,
    g: Tensor,
    gtd: float,
    c1: float = WolfeSearch.FALL,
    c2: float = WolfeSearch.FLAT,
    tolerance_change: float = 1e-9,
    max_ls: int = WolfeSearch.MOST,
) -> tuple[float, Tensor, float, int]:
    """``WolfeSearch`` as torch's private function, which optimizers elsewhere call: loss, gradient, place, evaluations."""

    def at(t: float) -> Point:
        loss, gradient = obj_func(x, t, d)
        return Point(t, loss, gradient.clone(), dot(gradient, d))  # which the next call may write over

    search = WolfeSearch(at, Point(0.0, f, g, gtd), largest(d), tolerance_change, max_ls)
    search.FALL, search.FLAT, search.most = c1, c2, max_ls
    found = search.found(t)
    return found.loss, found.gradient, found.t, search.evaluations


class LBFGS(Optimizer):
    """Steps along directions of Newton's method, whose inverse Hessian is estimated from the last gradients.

    ``step`` needs a closure, which it calls several times. All parameters are one vector: there is one group.

    Args:
        params: parameters; nothing else than one group.
        lr: the length of steps, or where a search begins.
        max_iter: steps along a direction in a ``step``.
        max_eval: calls of the closure in a ``step``, after which no direction is begun; None: 1.25 times ``max_iter``.
        tolerance_grad: no component of the gradient is greater: that is the minimum.
        tolerance_change: nothing moves, and the loss does not change, by more: that is the end.
        history_size: how many gradients are kept, with as many steps.
        line_search_fn: None, or ``"strong_wolfe"``.

    Raises:
        RangeError: several groups; an option out of range; no gradient anywhere is no error.
        ArgumentError: ``step`` without a closure.

    Source: Nocedal, "Updating quasi-Newton matrices with limited storage", 1980; options and ends as in torch.

    >>> import nbgrad
    >>> x = nbgrad.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = nbgrad.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 1) ** 4).sum() + (x[0] - x[1]) ** 2
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> bool((x - 1).abs().max() < 0.05)
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, options_in(locals()))
        if len(self.param_groups) != 1:
            raise RangeError(f"LBFGS: {len(self.param_groups)} groups of parameters, expected one: all of them are one vector.")

    def check(self, group: dict[str, Any]) -> None:
        """Numbers are numbers, the learning rate is not negative, the search is known."""
        require_numbers(
            "LBFGS", {name: group[name] for name in ("lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change")}
        )
        require(group["lr"] >= 0, "LBFGS", "lr", group["lr"], "a number that is not negative")
        name = group["line_search_fn"]
        require(name in (None, "strong_wolfe"), "LBFGS", "line_search_fn", repr(name), 'None or "strong_wolfe"')

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move along up to ``max_iter`` directions.

        Args:
            closure: computes the loss and its gradients anew.

        Returns:
            The loss before all of them, as ``closure`` gave it.
        """
        if closure is None:
            raise ArgumentError("LBFGS.step: there is no closure, expected a function that computes the loss and its gradients.")
        require_callable("LBFGS.step", closure)
        with nbgrad.no_grad():
            return self.descend(nbgrad.enable_grad()(closure))

    def descend(self, closure: Callable[[], Any]) -> Any:
        """The same where nothing is recorded."""
        group = self.param_groups[0]
        params, state = group["params"], self.state[self.param_groups[0]["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, gradient, evaluations = float(first), self.gradient(params), 1
        state["func_evals"] += 1
        if largest(gradient) <= group["tolerance_grad"]:
            return first
        for number in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self.direction(state, gradient, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = gradient, loss
            t = float(group["lr"])
            if state["n_iter"] == 1:
                t *= min(1.0, 1.0 / gradient.abs().sum().item())
            state["t"] = t
            slope = dot(gradient, direction)
            if slope > -group["tolerance_change"]:
                break
            before, called = loss, 0
            if group["line_search_fn"] is not None:
                start = [p.clone() for p in params]
                point = self.search(closure, params, start, direction, Point(0.0, loss, gradient, slope), t, evaluations)
                t, loss, gradient, called = point
                state["t"] = t
                self.move(params, start, t, direction)
            else:
                self.move(params, params, t, direction)
                if number != group["max_iter"]:
                    loss, gradient, called = float(closure()), self.gradient(params), 1
            evaluations += called
            state["func_evals"] += called
            if (
                number == group["max_iter"]
                or evaluations >= group["max_eval"]
                or largest(gradient) <= group["tolerance_grad"]
                or largest(direction) * abs(t) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first

    def search(
        self,
        closure: Callable[[], Any],
        params: list[Tensor],
        start: list[Tensor],
        direction: Tensor,
        begin: Point,
        t: float,
        called: int,
    ) -> tuple[float, float, Tensor, int]:
        """Where a search along a direction ends, the loss and gradient there, and its calls of the closure behind ``called``."""

        def at(t: float) -> Point:
            self.move(params, start, t, direction)
            loss = float(closure())
            gradient = self.gradient(params)
            return Point(t, loss, gradient, dot(gradient, direction))

        group = self.param_groups[0]
        search = WolfeSearch(at, begin, largest(direction), group["tolerance_change"], group["max_eval"] - called)
        point = search.found(t)
        return point.t, point.loss, point.gradient, search.evaluations

    def direction(self, state: dict[str, Any], gradient: Tensor, most: int) -> Tensor:
        """The next direction, and what is kept for those behind it."""
        if state["n_iter"] == 1:
            state.update(d=-gradient, old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            made: Tensor = state["d"]
            return made
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change, moved = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        product = dot(change, moved)
        if product > 1e-10:
            if len(changes) == most:
                for each in (changes, steps, inverses):
                    each.pop(0)
            changes.append(change)
            steps.append(moved)
            inverses.append(1.0 / product)
            state["H_diag"] = product / dot(change, change)
        q, parts = -gradient, list[float]()
        for y, s, inverse in zip(reversed(changes), reversed(steps), reversed(inverses)):
            parts.append(dot(s, q) * inverse)
            q = q - parts[-1] * y
        q = q * state["H_diag"]
        for y, s, inverse, part in zip(changes, steps, inverses, reversed(parts)):
            q = q + (part - dot(y, q) * inverse) * s
        state["d"] = q
        return q

    @staticmethod
    def gradient(params: list[Tensor]) -> Tensor:
        """The gradients of all parameters as one vector of its own; zeros where there is none, pairs of complex numbers."""
        rows = [in_a_row(nbgrad.zeros_like(p) if p.grad is None else p.grad) for p in params]
        return rows[0].clone() if len(rows) == 1 else nbgrad.cat(rows)

    @staticmethod
    def move(params: list[Tensor], start: list[Tensor], t: float, direction: Tensor) -> None:
        """Put parameters ``t`` directions away from where they were."""
        for p, origin, part in zip(params, start, out_of_a_row(direction, params)):
            p.copy_(origin + part * t)
