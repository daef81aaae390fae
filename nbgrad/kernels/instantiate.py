"""One source, many targets: a copy of a plain Python function whose free names are bound to a target and a dtype."""

from __future__ import annotations

import builtins
import types
from functools import cache
from typing import Any, Callable

import numpy as np

from ..base.errors import KernelError
from .texts import ready

__all__ = ["instantiate", "part_of_loop"]


@cache
def part_of_loop(function: Callable) -> Callable:
    """A copy of a function that the CPU's compiler takes as if its text stood in the loops that call it.

    It may then be reordered as they may (``Program.reassociate``); all other functions are called, and keep the order they have.
    """
    function = ready(function)
    copied = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    vars(copied).update(vars(function), part_of_loop=True)
    return copied


def instantiate(
    function: Callable,
    target: dict[str, Any],
    source: dict[str, Any] | None = None,
    dtype=None,
    wrap: Callable = lambda function: function,
    cache: dict | None = None,
) -> Callable:
    """Copy ``function`` with its global names rebound, and so on through the functions it calls.

    Args:
        function: a plain function without closure.
        target: names bound as they are: the target's primitives, ``cuda``, types.
        source: further source, looked up before the function's own globals: what depends on the dtype
            (``scalars.BY_DTYPE``) or on the instance (the scalar of a template). Functions found here or in the globals
            are copied too.
        dtype: float literals and float constants become scalars of it. Without this Numba computes ``x * 0.5`` in
            float64, at 1/64 of the speed on many GPUs.
        wrap: makes a called function callable on the target (a jit decorator). The outermost one stays plain.
        cache: copies made so far, by original; pass one dict to share them (and their compilation) between calls with
            the same target, source, dtype and wrap.

    Returns:
        A new function; the original is untouched. A name known nowhere fails where it is used, as always.

    Raises:
        KernelError: ``function`` has a closure or an inner function, whose names would escape the binding.
    """
    copies = {} if cache is None else cache
    code, scope = ready(function).__code__, {**function.__globals__, **(source or {})}
    if code.co_freevars or any(isinstance(c, types.CodeType) for c in code.co_consts):
        raise KernelError(
            f"instantiate: {function.__qualname__} has a closure or an inner function, expected a plain "
            "function. Hint: use global names, or pass them as source."
        )

    def bind(name):
        if name in target:
            return target[name]
        value = scope[name]
        if not isinstance(value, types.FunctionType):
            return _narrow(value, dtype)
        if value not in copies:
            copies[value] = wrap(instantiate(value, target, source, dtype, wrap, copies))
        return copies[value]

    # co_names holds attribute names too (the x of cuda.threadIdx.x): binding one that is also a global is harmless.
    bound = {name: bind(name) for name in code.co_names if name in target or name in scope}
    code = code.replace(co_consts=tuple(_narrow(c, dtype) for c in code.co_consts))
    copied = types.FunctionType(code, {"__builtins__": builtins, **bound}, function.__name__, function.__defaults__)
    vars(copied).update(vars(function))
    return copied


def _narrow(value, dtype):
    """A Python float as a scalar of ``dtype``; anything else as it is."""
    return np.dtype(dtype).type(value) if dtype is not None and type(value) is float else value
