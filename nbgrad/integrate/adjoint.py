"""``odeint_adjoint``: gradients by a second equation, which is solved backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..autograd.function import Function, once_differentiable
from ..base.errors import ArgumentError
from .adaptive import root_mean_square
from .events import found_event
from .odeint import odeint, solved
from .problem import CALLBACKS, OF_ADAMS, OF_ADAPTIVE, OF_RUNGE_KUTTA, Problem, Settings, problem_of, settings_of

__all__ = ["odeint_adjoint"]


def odeint_adjoint(
    func: Callable,
    y0: Any,
    t: Tensor,
    *,
    rtol: Any = 1e-7,
    atol: Any = 1e-9,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    event_fn: Any = None,
    adjoint_rtol: Any = None,
    adjoint_atol: Any = None,
    adjoint_method: str | None = None,
    adjoint_options: dict[str, Any] | None = None,
    adjoint_params: Any = None,
) -> Any:
    """``odeint`` whose memory does not grow with the number of steps: backward solves the adjoint equation, the last time first.

    Gradients are those of the exact solution, up to the tolerances; they have no derivatives in turn.

    Args:
        func, y0, t, rtol, atol, method, options, event_fn: see ``odeint``.
        adjoint_rtol, adjoint_atol, adjoint_method, adjoint_options: the same for the way back, of the way there unless given.
            ``adjoint_options={"norm": "seminorm"}`` leaves the gradients of parameters out of the error, which spares steps.
            Callbacks of the way back are ``callback_step_adjoint`` and so on.
        adjoint_params: the tensors that gradients are wanted for beside ``y0`` and ``t``; the parameters of ``func`` unless given.

    Returns:
        As ``odeint``.

    Raises:
        ArgumentError: ``func`` is no Module, and there are no ``adjoint_params``. Others: see ``odeint``.

    Source: R. T. Q. Chen and others, "Neural ordinary differential equations", 2018.

    >>> import nbgrad
    >>> k = nbgrad.tensor(2.0, dtype=nbgrad.float64, requires_grad=True)
    >>> y0, t = nbgrad.ones(1, dtype=nbgrad.float64), nbgrad.tensor([0.0, 1.0], dtype=nbgrad.float64)
    >>> y = nbgrad.integrate.odeint_adjoint(lambda t, y: -k * y, y0, t, adjoint_params=(k,))
    >>> nbgrad.grad(y[-1].sum(), k)[0]
    tensor(-0.1353, dtype=nbgrad.float64)
    """
    if adjoint_params is None:
        if not isinstance(func, nbgrad.nn.Module):
            raise ArgumentError(
                f"odeint_adjoint: func is {type(func).__name__}, whose parameters are not known. "
                "Hint: a Module, or adjoint_params=(p, q); () for none."
            )
        adjoint_params = func.parameters()
    params = tuple(p for p in adjoint_params if p.requires_grad)
    problem = problem_of("odeint_adjoint", func, y0, t)
    there = settings_of(problem, method, rtol, atol, options)
    own = adjoint_options
    if own is None:
        own = {key: value for key, value in there.options.items() if key in EITHER_WAY} if adjoint_method in (None, method) else {}
    seminorm = own.get("norm") == "seminorm"
    back = settings_of(
        problem,
        method if adjoint_method is None else adjoint_method,
        rtol if adjoint_rtol is None else adjoint_rtol,
        atol if adjoint_atol is None else adjoint_atol,
        {key: value for key, value in own.items() if not seminorm or key != "norm"},
    )
    found = None
    if event_fn is not None:
        with nbgrad.no_grad():
            found = found_event(problem, there, event_fn)
        problem = problem._replace(t=nbgrad.stack((problem.t[0], found.time)))
    told = {what: f"callback_{what}_adjoint" for what in CALLBACKS if hasattr(func, f"callback_{what}_adjoint")}
    way_back = Back(back, seminorm, {f"callback_{what}": getattr(func, name) for what, name in told.items()})
    states = problem.restored(Adjoint.apply(problem, there, way_back, problem.y0, problem.t, *params))
    return states if found is None else (found.time, states)


# Options of the way there that the way back has too, unless it has its own.
EITHER_WAY = {*OF_RUNGE_KUTTA, *OF_ADAMS, *OF_ADAPTIVE} - {"norm", "grid_points", "grid_constructor", "interp"}


class Back(NamedTuple):
    """How the adjoint equation is solved: settings, whether gradients of parameters do not count, and callbacks by their names."""

    settings: Settings
    seminorm: bool
    callbacks: dict[str, Callable]

    def tolerance(self, given: Any, params: int) -> Any:
        """That of state, cotangent and gradients of parameters: of several numbers their mean for the last."""
        return given if not isinstance(given, Tensor) else (given, given, *[float(given.mean())] * params)


class Adjoint(Function):
    """The solution; backward, the solution of the adjoint equation."""

    @staticmethod
    def forward(ctx: Any, problem: Problem, there: Settings, back: Back, *tensors: Tensor) -> Tensor:
        """The states at all times, without a record."""
        y0, t, *params = tensors
        with nbgrad.no_grad():
            states = solved(problem._replace(y0=y0.detach(), t=t.detach()), there)
        ctx.func, ctx.back = problem.func, back
        ctx.save_for_backward(t, states, *params)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple:
        """From time to time, the last first: state, its cotangent, and cotangents of the parameters."""
        t, states, *params = ctx.saved_tensors
        t = t.detach()
        func, back = ctx.func, ctx.back
        wanted_t = ctx.needs_input_grad[4]

        def augmented(at: Tensor, state: tuple) -> tuple:
            """The slopes of the state, of its cotangent and of those of the parameters."""
            y, cotangent = state[0].detach().requires_grad_(), state[1]
            with nbgrad.enable_grad():
                slope = func(at, y)
                inputs = (y, *params)
                if not slope.requires_grad:
                    return (slope, *(nbgrad.zeros_like(x) for x in inputs))
                return (slope.detach(), *nbgrad.grad(slope, inputs, -cotangent, materialize_grads=True))

        vars(augmented).update(back.callbacks)
        method, _, rtol, atol, options = back.settings
        rtol, atol, options = back.tolerance(rtol, len(params)), back.tolerance(atol, len(params)), dict(options)
        if back.seminorm:
            kept = 2 * states[0].numel()
            options["norm"] = lambda x: root_mean_square(x[:kept])
        cotangent, totals = g[-1], [nbgrad.zeros_like(p) for p in params]
        of_times = [t.new_zeros(())] * t.shape[0]
        for k in range(t.shape[0] - 1, 0, -1):
            if wanted_t:
                of_times[k] = moved(func(t[k], states[k]), g[k]).to(t.dtype)
            state = (states[k], cotangent, *totals)
            found = odeint(augmented, state, t[[k, k - 1]], rtol=rtol, atol=atol, method=method, options=options)
            cotangent, totals = found[1][-1] + g[k - 1], [x[-1] for x in found[2:]]
        if wanted_t and t.shape[0] > 1:
            of_times[0] = -moved(func(t[0], states[0]), cotangent - g[0]).to(t.dtype)
        return None, None, None, cotangent, nbgrad.stack(of_times) if wanted_t else None, *totals


def moved(slope: Tensor, cotangent: Tensor) -> Tensor:
    """The cotangent of a time: by how much the state moves with it."""
    product = (slope.detach().conj() * cotangent).sum()
    return product.real if product.is_complex() else product
