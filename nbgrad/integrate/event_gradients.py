"""``odeint_event``: gradients through the time of an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Tensor
from ..autograd.function import Function, once_differentiable
from .events import Sought, found_event
from .odeint import odeint
from .problem import problem_of, settings_of

__all__ = ["odeint_event"]


class Once(Function):
    """The same numbers, whose gradients have no derivatives."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """``x``."""
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        """``g``."""
        return g


def moved_time(time: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
    """A time at which ``value`` is 0, as a function of what ``value`` depends on: Newton's step, which leaves it where it is."""
    if not value(time).requires_grad:
        return time
    at = time if time.requires_grad else time.clone().requires_grad_()
    now = value(at)
    (speed,) = nbgrad.grad(now, at, create_graph=True)
    return time - now / speed


def odeint_event(
    func: Callable,
    y0: Any,
    t0: Tensor,
    *,
    event_fn: Callable,
    reverse_time: bool = False,
    odeint_interface: Callable = odeint,
    **settings: Any,
) -> tuple[Tensor, Any]:
    """The solution from ``t0`` to the first event, where ``event_fn`` is 0, with gradients through the time of the event.

    Args:
        func, y0: as of ``odeint``.
        t0: the first time, one element.
        event_fn: ``event_fn(t, y)``, a tensor; the event is where the first of its elements becomes 0, from where it was not.
        reverse_time: whether times fall.
        odeint_interface: ``odeint``, or ``odeint_adjoint``, whose gradients have no derivatives.
        settings: of that function; fixed steps need ``options={"step_size": ...}``.

    Returns:
        The time, 0-d, and the states at ``t0`` and there, of shape ``(2, *y0.shape)``; of a tuple a tuple of such.

    Raises:
        RangeError: no event. Others: see ``odeint``.

    Source: R. T. Q. Chen, B. Amos and M. Nickel, "Learning neural event functions for ordinary differential equations", 2021.

    >>> import nbgrad
    >>> speed = nbgrad.tensor([2.0], dtype=nbgrad.float64, requires_grad=True)  # thrown up, it falls back in 2 v / g
    >>> thrown = (nbgrad.zeros(1, dtype=nbgrad.float64), speed)
    >>> fall = lambda t, y: (y[1], -9.81 + 0 * y[1])
    >>> time, _ = nbgrad.integrate.odeint_event(fall, thrown, nbgrad.tensor(0.0, dtype=nbgrad.float64), event_fn=lambda t, y: y[0])
    >>> time, nbgrad.grad(time, speed)[0]
    (tensor(0.4077, dtype=nbgrad.float64, grad_fn=<SubBackward0>), tensor([0.2039], dtype=nbgrad.float64))
    """
    start = t0.reshape((1,))
    t = nbgrad.cat((start, start.detach() + (-1.0 if reverse_time else 1.0)))
    if odeint_interface is not odeint:
        return by_slope(func, y0, t, event_fn, odeint_interface, settings)
    problem = problem_of("odeint_event", func, y0, t)
    found = found_event(problem, settings_of(problem, **settings), event_fn)
    time = found.time
    for _ in range(2):  # one step has the first derivative, another one those up to the third
        time = moved_time(time, lambda at: found.value(at, found.state_at(at)))
    return time, problem.restored(nbgrad.stack((problem.y0, found.state_at(time))))


def by_slope(
    func: Callable, y0: Any, t: Tensor, event_fn: Callable, odeint_interface: Callable, settings: dict[str, Any]
) -> tuple[Tensor, Any]:
    """The same of a solution that is known at the event alone: there it moves with its slope."""
    time, states = odeint_interface(func, y0, t, event_fn=event_fn, **settings)
    problem = problem_of("odeint_event", func, y0, t)
    rows = states if isinstance(y0, Tensor) else nbgrad.cat([x.flatten(1) for x in states], 1)
    time, last = time.detach(), rows[-1]
    sought = Sought("odeint_event", event_fn, problem)
    which = int(sought.values(time, last).abs().argmin())
    slope = problem.func(time, last).detach()
    moved = Once.apply(moved_time(time, lambda at: sought.differentiable(at, last + (at - time) * slope)[which]))
    return moved, problem.restored(nbgrad.stack((rows[0], last + (moved - time) * slope)))
