"""``torch.compiler``: what programs say to the compiler, and ask of it.

>>> import nbgrad
>>> nbgrad.compiler.is_compiling()
False
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .base.grad_mode import capture_of_thread, traces
from .jit import compile

__all__ = ["allow_in_graph", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "reset"]


def is_compiling() -> bool:
    """Whether this thread's calls are being captured in a graph.

    >>> import nbgrad
    >>> nbgrad.compile(lambda x: x + nbgrad.compiler.is_compiling())(nbgrad.zeros(1))
    tensor([1.])
    """
    return capture_of_thread() is not None


is_dynamo_compiling = is_compiling  # torch's older name


def disable(fn: Callable | None = None, recursive: bool = True, *, reason: str | None = None) -> Callable:
    """A function that no graph may hold: compiled functions that call it run as they are. Also a decorator.

    >>> import nbgrad
    >>> shown = []
    >>> note = nbgrad.compiler.disable(shown.append)
    >>> f = nbgrad.compile(lambda x: (note(1), x * 2)[1])
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        capture = capture_of_thread() if traces else None
        if capture is not None:
            capture.refuse(f"{getattr(fn, '__name__', 'a function')}: it was disabled", reason or "leave compiler.disable out")
        return fn(*args, **kwargs)

    return disabled


def allow_in_graph(fn: Any) -> Any:
    """The function itself: graphs hold what functions call."""
    return fn


def reset() -> None:
    """Without effect: compiled functions share nothing that could be forgotten; make them again."""


def cudagraph_mark_step_begin() -> None:
    """Without effect: compiled functions do not write over their earlier results."""
