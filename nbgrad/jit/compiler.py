"""``torch.compiler``: what programs ask of, and tell, a compiler."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..modes.traced import capture_of_thread, refuse_in_graph
from .compile import compile

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "reset",
]


def is_compiling() -> bool:
    """Whether this thread captures a graph: where a program is written down, and its values may be others in another run.

    >>> import nbgrad
    >>> seen = []
    >>> f = nbgrad.compile(lambda x: (seen.append(nbgrad.compiler.is_compiling()), x + 1)[1])
    >>> y = f(nbgrad.ones(2))
    >>> seen[0], nbgrad.compiler.is_compiling()
    (True, False)
    """
    return capture_of_thread() is not None


is_dynamo_compiling = is_compiling  # torch's older name


def is_exporting() -> bool:
    """False: programs are captured where they run.

    >>> import nbgrad
    >>> nbgrad.compiler.is_exporting()
    False
    """
    return False


def reset() -> None:
    """Do nothing: compiled functions share nothing that could be forgotten. ``f.clear()`` forgets the variants of one.

    >>> import nbgrad
    >>> nbgrad.compiler.reset()
    """


def disable(fn: Callable | None = None, recursive: bool = True, *, reason: str | None = None) -> Callable:
    """Keep a function out of graphs: a compiled function that calls it runs as it is, with one warning.

    Args:
        fn: the function; without it, a decorator.
        recursive: taken and ignored: what it calls is kept out too.
        reason: what the warning says.

    >>> import nbgrad
    >>> @nbgrad.compiler.disable
    ... def count(x):
    ...     return len(x)
    >>> count(nbgrad.ones(3))
    3
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)

    @functools.wraps(fn)
    def outside(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            refuse_in_graph(f"{getattr(fn, '__qualname__', fn)} is disabled", reason or "compile what is around it")
        return fn(*args, **kwargs)

    return outside


def allow_in_graph(fn: Callable) -> Callable:
    """The function itself: graphs hold whatever is made of operations.

    >>> import nbgrad
    >>> nbgrad.compiler.allow_in_graph(len) is len
    True
    """
    return fn


def assume_constant_result(fn: Callable) -> Callable:
    """The function itself: what it computes without tensors of the graph is a constant of the graph as it is.

    >>> import nbgrad
    >>> nbgrad.compiler.assume_constant_result(len) is len
    True
    """
    return fn


def cudagraph_mark_step_begin() -> None:
    """Do nothing: results of compiled functions have memory of their own, which no later step overwrites.

    >>> import nbgrad
    >>> nbgrad.compiler.cudagraph_mark_step_begin()
    """
