"""Attributes of functions: what a function carries for others to read."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any, Callable

__all__ = ["attach", "parameter_names", "place"]


def attach(function: Any, **attributes: Any) -> None:
    """Give a function attributes: a signature to show, functions that may run in its place.

    >>> def double(x):
    ...     return 2 * x
    >>> attach(double, linear=True)
    >>> double.linear
    True
    """
    for name, value in attributes.items():
        setattr(function, name, value)


def place(module: str, functions: Mapping[str, Any]) -> None:
    """Say of functions that were made at run time in which module users find them, and by which name, as ``pickle`` asks them.

    A function that is found where it says already, and all that is no function, stays as it is.
    """
    for name, function in functions.items():
        if type(function) is not FunctionType:
            continue
        there = sys.modules.get(function.__module__)
        if getattr(there, "__dict__", {}).get(function.__qualname__) is not function:
            function.__module__, function.__qualname__ = module, name


def parameter_names(function: Callable) -> tuple[str, ...]:
    """The names in a function's signature, which of a plain function are in its code.

    >>> parameter_names(lambda g, x, *rest, dim=None: g)
    ('g', 'x', 'rest', 'dim')
    """
    if type(function) is not FunctionType or function.__dict__:
        return tuple(inspect.signature(function).parameters)
    code = function.__code__
    names, given = code.co_varnames, code.co_argcount
    only = given + code.co_kwonlyargcount  # what stands behind a star comes after these
    several = bool(code.co_flags & inspect.CO_VARARGS)
    named = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return names[:given] + names[only : only + several] + names[given:only] + names[only + several : only + several + named]
