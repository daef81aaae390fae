"""What ``odeint`` and ``odeint_adjoint`` are asked: the equation as one of a single tensor, and the settings."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, DTypeError, NotSupportedError, RangeError, ShapeError
from .tableaus import ADAPTIVE, FIXED, Tableau

__all__ = ["Problem", "Settings", "flattened", "problem_of", "settings_of"]


class Settings(NamedTuple):
    """How steps are chosen."""

    method: str
    tableau: Tableau
    rtol: float
    atol: float
    options: dict[str, Any]


class Problem(NamedTuple):
    """An equation of one tensor.

    Attributes:
        func: ``func(t, y)``.
        y0: the state at ``t[0]``.
        t: the times.
        restored: what becomes of the states at all times, stacked, for the caller.
    """

    func: Callable
    y0: Tensor
    t: Tensor
    restored: Callable[[Tensor], Any]


OF_FIXED = ("step_size", "scan")
OF_ADAPTIVE = ("first_step", "safety", "ifactor", "dfactor", "max_num_steps", "min_step", "max_step", "norm")


def settings_of(name: str, method: str | None, rtol: Any, atol: Any, options: dict | None) -> Settings:
    """The settings, looked at.

    Raises:
        RangeError: no such method or option, or tolerances or a ``step_size`` that are not positive.
    """
    method = "dopri5" if method is None else method
    if method not in FIXED and method not in ADAPTIVE:
        raise RangeError(f"{name}: method is {method!r}, expected one of {', '.join((*ADAPTIVE, *FIXED))}.")
    options = dict(options or {})
    known = OF_FIXED if method in FIXED else OF_ADAPTIVE
    if unknown := sorted(set(options) - set(known)):
        raise RangeError(f"{name}: options have {', '.join(unknown)}; of {method} there are {', '.join(known)}.")
    if method in ADAPTIVE and not (float(rtol) >= 0 and float(atol) >= 0 and float(rtol) + float(atol) > 0):
        raise RangeError(f"{name}: rtol is {rtol}, atol {atol}, expected numbers of 0 and more, not both 0.")
    if (step_size := options.get("step_size")) is not None and not float(step_size) > 0:
        raise RangeError(f"{name}: step_size is {step_size}, expected a positive number.")
    return Settings(method, FIXED.get(method) or ADAPTIVE[method], float(rtol), float(atol), options)


def flattened(state: tuple[Tensor, ...]) -> Tensor:
    """Several tensors in a row."""
    return nbgrad.cat([x.reshape((-1,)) for x in state])


def problem_of(name: str, func: Callable, y0: Any, t: Any, event_fn: Any) -> Problem:
    """The equation as one of a single tensor, looked at.

    Raises:
        ArgumentError: no tensors. ShapeError: times that are no vector. DTypeError: times or states of integers.
        RangeError: times that do not rise or fall. NotSupportedError: ``event_fn``.
    """
    if event_fn is not None:
        raise NotSupportedError(f"{name}: events are not there. Hint: integrate in pieces, and look at the states.")
    if not isinstance(t, Tensor) or not all(isinstance(x, Tensor) for x in (y0 if isinstance(y0, tuple) else (y0,))):
        raise ArgumentError(f"{name}: y0 is {type(y0).__name__}, t {type(t).__name__}, expected tensors, or a tuple of them as y0.")
    if t.ndim != 1 or not t.numel():
        raise ShapeError(f"{name}: t is {list(t.shape)}, expected a vector of times.")
    if not t.is_floating_point():
        raise DTypeError(f"{name}: t is {t.dtype.name}, expected floating times.")
    steps = t.detach().diff()
    if not (bool((steps > 0).all()) or bool((steps < 0).all())):
        raise RangeError(f"{name}: t is {t.tolist()[:6]}, expected times that rise, or that fall.")
    if not isinstance(y0, tuple):
        require_floating(name, y0)
        return Problem(lambda t, y: checked(name, func(t, y), y0), y0, t, lambda found: found)
    shapes = [x.shape for x in y0]
    sizes = [prod(shape) for shape in shapes]

    def split(flat: Tensor) -> tuple[Tensor, ...]:
        parts = flat.split(sizes, -1)
        return tuple(part.reshape((*flat.shape[:-1], *shape)) for part, shape in zip(parts, shapes))

    def flat(t: Tensor, y: Tensor) -> Tensor:
        found = func(t, split(y))
        return flattened(tuple(checked(name, slope, x) for slope, x in zip(found, y0)))

    for x in y0:
        require_floating(name, x)
    return Problem(flat, flattened(y0), t, split)


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
