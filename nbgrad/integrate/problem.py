"""What ``odeint`` and ``odeint_adjoint`` are asked: the equation as one of a single tensor, and the settings."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from .tableaus import ADAMS, ADAPTIVE, FIXED

__all__ = ["CALLBACKS", "Problem", "Settings", "flattened", "problem_of", "settings_of"]

METHODS = {None: "dopri5", "fixed_adams": "implicit_adams"}  # what torchdiffeq calls them too


class Settings(NamedTuple):
    """How steps are chosen.

    Attributes:
        tableau: of Runge and Kutta's methods.
        rtol, atol: numbers, or a tensor that the state broadcasts with.
    """

    method: str
    tableau: Any
    rtol: Any
    atol: Any
    options: dict[str, Any]


class Problem(NamedTuple):
    """An equation of one tensor.

    Attributes:
        name: of the function that was called.
        func: ``func(t, y)``.
        y0: the state at ``t[0]``.
        t: the times.
        given: the first state as it was given.
        restored: what becomes of a state, or of several, stacked, for the caller.
        callbacks: what the program's ``func`` wants to be told: ``callback(t, y, dt)`` by ``"step"`` and so on.
    """

    name: str
    func: Callable
    y0: Tensor
    t: Tensor
    given: Any
    restored: Callable[[Tensor], Any]
    callbacks: dict[str, Callable]

    @property
    def sign(self) -> float:
        """1.0 where times rise, -1.0 where they fall."""
        return 1.0 if float(self.t[-1]) >= float(self.t[0]) else -1.0

    def call_back(self, what: str, t: Any, y: Tensor, h: Any) -> None:
        """Call a callback, if there is one, with tensors."""
        if what in self.callbacks:
            like = self.t
            self.callbacks[what](nbgrad.as_tensor(t, dtype=like.dtype, device=like.device), self.restored(y), h)


CALLBACKS = ("step", "accept_step", "reject_step")
OF_FIXED = ("step_size", "grid_points", "grid_constructor", "interp")
OF_RUNGE_KUTTA = (*OF_FIXED, "scan")
OF_ADAMS = (*OF_FIXED, "max_order", "max_iters")
TIMES = ("step_t", "grid_points", "jump_t")
OF_ADAPTIVE = ("first_step", "safety", "ifactor", "dfactor", "max_num_steps", "min_step", "max_step", "norm", "dtype", *TIMES)


def settings_of(
    problem: Problem, method: str | None = None, rtol: Any = 1e-7, atol: Any = 1e-9, options: dict | None = None
) -> Settings:
    """The settings, looked at.

    Raises:
        RangeError: no such method or option, or tolerances or a ``step_size`` that are not positive.
    """
    name, method = problem.name, METHODS.get(method, method)
    methods = (*ADAPTIVE, *FIXED, *ADAMS)
    if method not in methods:
        raise RangeError(f"{name}: method is {method!r}, expected one of {', '.join(methods)}.")
    options = dict(options or {})
    known = OF_ADAPTIVE if method in ADAPTIVE else OF_ADAMS if method in ADAMS else OF_RUNGE_KUTTA
    if unknown := sorted(set(options) - set(known)):
        raise RangeError(f"{name}: options have {', '.join(unknown)}; of {method} there are {', '.join(known)}.")
    if (step_size := options.get("step_size")) is not None and not float(step_size) > 0:
        raise RangeError(f"{name}: step_size is {step_size}, expected a positive number.")
    if options.get("interp", "linear") not in ("linear", "cubic"):
        raise RangeError(f"{name}: interp is {options['interp']!r}, expected 'linear' or 'cubic'.")
    allowed = tolerance(problem, "rtol", rtol), tolerance(problem, "atol", atol)
    if method in ADAPTIVE and holds(nbgrad.any, allowed[0] + allowed[1] == 0):
        raise RangeError(f"{name}: rtol is {rtol}, atol {atol}, expected one of them above 0.")
    return Settings(method, FIXED.get(method) or ADAPTIVE.get(method), *allowed, options)


def holds(quantifier: Callable, truth: Tensor | bool) -> bool:
    """Whether a tensor of truth values, or one value, is true, of ``any`` or ``all`` elements."""
    return bool(quantifier(truth)) if isinstance(truth, Tensor) else truth


def tolerance(problem: Problem, which: str, given: Any) -> Any:
    """A tolerance as a number, or as a tensor beside the state; of a tuple of states there may be one for each.

    Raises:
        ShapeError: it does not fit the state. RangeError: it is below 0.
    """
    name, own = problem.name, problem.given
    if isinstance(given, (tuple, list)):
        if not isinstance(own, tuple) or len(own) != len(given):
            raise ShapeError(f"{name}: {which} has {len(given)} parts, expected one for each of a tuple of states, or a number.")
        parts = [nbgrad.as_tensor(part, dtype=y.dtype.to_real(), device=y.device) for part, y in zip(given, own)]
        found: Any = flattened(tuple(part.detach().expand(y.shape) for part, y in zip(parts, own)))
    elif isinstance(given, Tensor) and given.numel() != 1:
        if isinstance(own, tuple) or nbgrad.broadcast_shapes(given.shape, own.shape) != own.shape:
            raise ShapeError(f"{name}: {which} is {list(given.shape)}, expected what broadcasts to a state that is a tensor.")
        found = given.detach()
    else:
        found = float(given)
    if not holds(nbgrad.all, found >= 0):
        raise RangeError(f"{name}: {which} is {given}, expected 0 or more.")
    return found


def flattened(state: tuple[Tensor, ...]) -> Tensor:
    """Several tensors in a row."""
    return nbgrad.cat([x.reshape((-1,)) for x in state])


def problem_of(name: str, func: Callable, y0: Any, t: Any) -> Problem:
    """The equation as one of a single tensor, looked at.

    Raises:
        ArgumentError: no tensors. ShapeError: times that are no vector. DTypeError: times or states of integers.
        RangeError: times that do not rise or fall.
    """
    if not isinstance(t, Tensor) or not all(isinstance(x, Tensor) for x in (y0 if isinstance(y0, tuple) else (y0,))):
        raise ArgumentError(f"{name}: y0 is {type(y0).__name__}, t {type(t).__name__}, expected tensors, or a tuple of them as y0.")
    if t.ndim != 1 or not t.numel():
        raise ShapeError(f"{name}: t is {list(t.shape)}, expected a vector of times.")
    if not t.is_floating_point():
        raise DTypeError(f"{name}: t is {t.dtype.name}, expected floating times.")
    steps = t.detach().diff()
    if not (bool((steps > 0).all()) or bool((steps < 0).all())):
        raise RangeError(f"{name}: t is {t.tolist()[:6]}, expected times that rise, or that fall.")
    told = {what: getattr(func, f"callback_{what}") for what in CALLBACKS if hasattr(func, f"callback_{what}")}
    for x in y0 if isinstance(y0, tuple) else (y0,):
        require_floating(name, x)
    if not isinstance(y0, tuple):
        return Problem(name, lambda t, y: checked(name, func(t, y), y0), y0, t, y0, lambda found: found, told)
    shapes = [x.shape for x in y0]
    sizes = [prod(shape) for shape in shapes]

    def split(flat: Tensor) -> tuple[Tensor, ...]:
        parts = flat.split(sizes, -1)
        return tuple(part.reshape((*flat.shape[:-1], *shape)) for part, shape in zip(parts, shapes))

    def flat(t: Tensor, y: Tensor) -> Tensor:
        found = func(t, split(y))
        return flattened(tuple(checked(name, slope, x) for slope, x in zip(found, y0)))

    return Problem(name, flat, flattened(y0), t, y0, split, told)


def require_floating(name: str, y: Tensor) -> None:
    """Refuse states of integers.

    Raises:
        DTypeError: they are.
    """
    if not (y.is_floating_point() or y.is_complex()):
        raise DTypeError(f"{name}: y0 is {y.dtype.name}, expected floating or complex numbers. Hint: y0.float().")


def checked(name: str, slope: Any, y: Tensor) -> Tensor:
    """A slope that fits the state.

    Raises:
        ShapeError: it does not. ArgumentError: it is no tensor.
    """
    if not isinstance(slope, Tensor):
        raise ArgumentError(f"{name}: func returned {type(slope).__name__}, expected a tensor of shape {list(y.shape)}.")
    if slope.shape != y.shape:
        raise ShapeError(f"{name}: func returned shape {list(slope.shape)}, expected that of the state, {list(y.shape)}.")
    return slope
