"""``nbgrad.fx``, for programs that name ``torch.fx`` in passing: its classes, of which nothing is an instance, and ``wrap``.

Programs are not traced symbolically: ``nbgrad.jit.trace`` has the graph of a function.

>>> import nbgrad
>>> isinstance(nbgrad.nn.Tanh(), nbgrad.fx.GraphModule)
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..base.errors import NotSupportedError
from ..nn.module import Module

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "guard_or_false",
    "guard_or_true",
    "map_arg",
    "statically_known_true",
    "symbolic_trace",
    "wrap",
]


def wrap(fn_or_name: Callable | str) -> Any:
    """The function, or the name, itself: nothing is traced into.

    >>> wrap(len) is len
    True
    """
    return fn_or_name


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Not there.

    Raises:
        NotSupportedError: always.

    >>> nbgrad.fx.symbolic_trace(nbgrad.nn.Tanh())
    Traceback (most recent call last):
        ...
    nbgrad.base.errors.NotSupportedError: fx: programs are not traced symbolically. Hint: ...
    """
    raise NotSupportedError("fx: programs are not traced symbolically. Hint: nbgrad.jit.trace has the graph of a function.")


symbolic_trace = map_arg = _copy_attr = refuse


class Graph:
    """Never made.

    Raises:
        NotSupportedError: always.
    """

    __init__ = refuse


class Node(Graph):
    """Never made."""


class Proxy(Graph):
    """Never made."""


class Tracer(Graph):
    """Never made."""


class Interpreter(Graph):
    """Never made."""


class Transformer(Graph):
    """Never made."""


class GraphModule(Module):
    """Never made.

    Raises:
        NotSupportedError: always.
    """

    __init__ = refuse


Target = Callable | str  # of annotations: what a node calls
_CodeOnlyModule = GraphModule
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # torch's: where modules say what copies of their graphs keep


# Sizes are numbers, which nothing has to be guessed of: these are torch.fx.experimental.symbolic_shapes.
def guard_or_false(a: Any) -> bool:
    """Whether it is true.

    >>> guard_or_false(2 > 1)
    True
    """
    return bool(a)


guard_or_true = statically_known_true = guard_or_false
