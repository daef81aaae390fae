"""Attributes of functions: what a function carries for others to read."""

from __future__ import annotations

from typing import Any

__all__ = ["attach"]


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
