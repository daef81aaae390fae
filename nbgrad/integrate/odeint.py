"""``odeint``: steps, fixed or chosen by their error, recorded as any other program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import GraphError
from ..base.grad_mode import capture_of_thread
from .adaptive import Adaptive
from .events import found_event
from .fixed import by_fixed_steps, by_scan
from .problem import Problem, Settings, problem_of, settings_of
from .tableaus import ADAPTIVE

__all__ = ["odeint", "solved"]


def odeint(
    func: Callable,
    y0: Any,
    t: Tensor,
    *,
    rtol: Any = 1e-7,
    atol: Any = 1e-9,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    event_fn: Any = None,
) -> Any:
    """The solution of ``dy/dt = func(t, y)``, ``y(t[0]) = y0``, at the times ``t``.

    Every step is recorded: gradients by ``y0``, by the times and by what ``func`` captures are those of the computed solution.

    Args:
        func: ``func(t, y) -> dy/dt`` of a 0-d tensor and a state.
        y0: the first state: a tensor, floating or complex, or a tuple of tensors.
        t: shape ``(n,)``: times that rise, or fall.
        rtol, atol: what an adaptive step may be off, relative to the state and absolutely: numbers, or tensors that broadcast to
            the state; of a tuple of states a tuple of such, too. Iterations of ``"implicit_adams"`` end by them.
        method: ``"dopri5"`` (also None), ``"dopri8"``, ``"bosh3"``, ``"fehlberg2"``, ``"adaptive_heun"`` choose their steps;
            ``"euler"``, ``"midpoint"``, ``"heun2"``, ``"heun3"``, ``"rk4"``, and ``"explicit_adams"`` and ``"implicit_adams"``,
            which use slopes of several steps, step from time to time.
        options: of fixed steps ``step_size`` (the longest; each way from time to time is divided evenly), or the ends of steps,
            ``grid_points``, or ``grid_constructor(func, y0, t)``, with states between them by ``interp="linear"`` or ``"cubic"``;
            ``scan`` (True: what ``func`` computes is found out once, and all steps are one loop, see ``nbgrad.scan``); of Adams'
            methods ``max_order`` and ``max_iters``, 4. Of adaptive ones ``first_step``, ``min_step``, ``max_step``,
            ``max_num_steps``, ``safety``, ``ifactor``, ``dfactor``; ``norm``, of a tensor; ``step_t`` or ``grid_points``, where
            steps have to end; ``jump_t``, where slopes jump; ``dtype`` is accepted: times are added in double precision anyway.
        event_fn: ``event_fn(t, y)``, a tensor: the solution ends where one of its elements becomes 0; of the times only the first
            and the direction count. Gradients do not go through the time of the event: ``odeint_event`` has them.

    If ``func`` has attributes ``callback_step``, ``callback_accept_step`` or ``callback_reject_step``, they are called with time,
    state and length of each step that is tried, taken or not.

    Returns:
        Shape ``(n, *y0.shape)``; of a tuple a tuple of such. With ``event_fn`` the time of the event, and the states at the first
        time and there.

    Raises:
        RangeError: times that do not rise or fall, no such method or option, a step that becomes too small, or no event.
        ShapeError: a slope of another shape than the state.
        GraphError: adaptive steps or events in a function that is compiled: their number depends on values.

    >>> import nbgrad
    >>> k = nbgrad.tensor(2.0, dtype=nbgrad.float64, requires_grad=True)
    >>> t = nbgrad.tensor([0.0, 0.5, 1.0], dtype=nbgrad.float64)
    >>> y = nbgrad.integrate.odeint(lambda t, y: -k * y, nbgrad.ones(1, dtype=nbgrad.float64), t)
    >>> nbgrad.grad(y[-1].sum(), k)[0]  # -e**-2
    tensor(-0.1353, dtype=nbgrad.float64)
    """
    problem = problem_of("odeint", func, y0, t)
    settings = settings_of(problem, method, rtol, atol, options)
    if event_fn is None:
        return problem.restored(solved(problem, settings))
    found = found_event(problem, settings, event_fn)
    return found.time, problem.restored(nbgrad.stack((problem.y0, found.state)))


def solved(problem: Problem, settings: Settings) -> Tensor:
    """The states at all times, stacked."""
    if settings.method not in ADAPTIVE:
        return by_scan(problem, settings) if settings.options.get("scan") else by_fixed_steps(problem, settings)
    if capture_of_thread() is not None:
        raise GraphError(
            f"{problem.name}: how many steps {settings.method} takes depends on values, which a graph has not. "
            'Hint: method="rk4", or compile func alone.'
        )
    return Adaptive(problem, settings).run()
