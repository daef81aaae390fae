"""Functions and classes that nodes hold by their names: ``module:name``."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import Any, Callable

__all__ = ["class_of", "function_named", "name_of"]


@lru_cache(maxsize=256)
def function_named(name: str) -> Callable:
    """A function by ``module:name``."""
    module, _, path = name.partition(":")
    found: Callable = attrgetter(path)(import_module(module))
    return found


def name_of(function: Any) -> Any:
    """``module:name`` if the class of a Function is found by that, else the class."""
    name = f"{function.__module__}:{function.__qualname__}"
    try:
        return name if function_named(name) is function else function
    except (ImportError, AttributeError):
        return function


def class_of(function: Any) -> Any:
    """The class."""
    return function_named(function) if isinstance(function, str) else function
